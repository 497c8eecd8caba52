package job

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// work is the work of a job of the kind "commit": the phases before the first transaction, and the
// transactions.
type work struct {
	*plan.Plan
	gen     *plan.Gen
	most    int // maximum number of transactions
	first   []*plan.Phase
	units   []unit
	inserts map[string]*statement // the statements that insert rows, by number of rows and data set
}

// unit is a transaction. Its values are generated only when it is run.
type unit struct {
	steps     []step
	operation *plan.Operation // the operation of a mix that the transaction runs; nil if it inserts rows of a data set
}

// step is one statement of a transaction, with the rows of its parameters.
type step struct {
	*statement
	fill    func(b *driver.Batch) error // generates the parameters; nil if the statement has none
	rows    int
	perExec int
	ifEmpty string // says how the operation ends if the statement returns no rows; see [plan.MixCall]
}

// statement is a statement that is prepared when it is first needed.
type statement struct {
	driver.Statement
	stmt driver.Stmt
}

func newWork(gen *plan.Gen, p *plan.Plan, most int) *work {
	return &work{Plan: p, gen: gen, most: most, inserts: map[string]*statement{}}
}

// plan finds out which phases come before the first transaction, and which transactions there are. The
// transactions come from the timed inserts and the timed mixes. If a transaction is followed by another
// phase that changes the database, such as a script, plan ignores that phase and all later phases.
func (w *work) plan() (err error) {
	var unfit *plan.Phase // a phase before the first transaction that changes the database, but is neither an insert nor a script
	for i := range w.Phases {
		ph := &w.Phases[i]
		var more []unit
		switch {
		case ph.Insert != nil && !ph.Untimed:
			more, err = w.insertions(ph.Insert)
		case ph.Mix != nil && !ph.Untimed:
			more = w.operations(ph.Name, ph.Mix)
		case !changes(ph):
		case len(w.units) > 0:
			return nil
		case ph.Insert == nil && ph.Script == "":
			unfit = ph
		default:
			w.first = append(w.first, ph)
		}
		if err != nil {
			return err
		}
		if unfit != nil && len(more) > 0 {
			return errorf(protocol.CodeUnsupported, "phase %s comes before the first transaction: want an insert or a script there", unfit.Name)
		}
		w.units = append(w.units, more...)
		if len(w.units) >= w.most {
			return nil
		}
	}
	if len(w.units) == 0 {
		return errorf(protocol.CodeUnsupported, "the workload has no transactions that can be committed one by one: want a timed phase insert, or a timed mix with operations that write")
	}
	return nil
}

// changes reports whether a phase may change the database.
func changes(ph *plan.Phase) bool {
	switch {
	case ph.Mix != nil:
		return slices.ContainsFunc(ph.Mix.Operations, writes)
	case ph.Replay != nil:
		return slices.ContainsFunc(ph.Replay.Statements, func(s plan.Replayed) bool { return !s.Reads })
	}
	return ph.Insert != nil || ph.Script != ""
}

func writes(o plan.Operation) bool { return !o.Reads }

func (w *work) set(name string) (*plan.DataSet, error) {
	if ds := w.DataSet(name); ds != nil {
		return ds, nil
	}
	return nil, errorf(protocol.CodePlan, "no data set %q", name)
}

// insertions returns the transactions of a phase that inserts rows. It stops when w has w.most
// transactions in total.
func (w *work) insertions(in *plan.Insert) (list []unit, err error) {
	var all unit
	var sets []*plan.DataSet
	for _, name := range in.Sets {
		set, err := w.set(name)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	left := w.most - len(w.units)
	if in.Transaction == "per" {
		root := sets[0]
		for r := int64(0); r < root.Total && len(list) < left; r++ {
			list = append(list, unit{steps: w.tree(root, sets, r, r+1, in.RowsPerStatement)})
		}
		return list, nil
	}
	for _, set := range sets {
		size := map[string]int64{"each": max(in.RowsPerStatement, 1), "every": max(in.Every, 1)}[in.Transaction]
		if size == 0 {
			size = max(set.Total, 1)
		}
		for lo := int64(0); lo < set.Total && len(list) < left; lo += size {
			steps := w.rows(set, lo, min(lo+size, set.Total), in.RowsPerStatement)
			if in.Transaction == "one" {
				all.steps = append(all.steps, steps...)
			} else {
				list = append(list, unit{steps: steps})
			}
		}
	}
	if len(all.steps) > 0 {
		list = append(list, all)
	}
	return list, nil
}

// tree returns the statements that insert the rows lo ≤ r < hi of a data set. After each row, they
// insert the rows that are nested in this row.
func (w *work) tree(set *plan.DataSet, all []*plan.DataSet, lo, hi, per int64) (list []step) {
	var children []*plan.DataSet
	for _, c := range all {
		if c.Parent == set.Name {
			children = append(children, c)
		}
	}
	if len(children) == 0 {
		return w.rows(set, lo, hi, per)
	}
	for r := lo; r < hi; r++ {
		list = append(list, w.rows(set, r, r+1, per)...)
		for _, c := range children {
			list = append(list, w.tree(c, all, r*c.Count, (r+1)*c.Count, per)...)
		}
	}
	return list
}

// rows returns the statements that insert the rows lo ≤ r < hi of a data set. Each step has as many
// rows as fit into memory.
func (w *work) rows(set *plan.DataSet, lo, hi, per int64) (list []step) {
	per = max(per, 1)
	size := max(w.gen.RowsFitting(set.Name)/per, 1) * per
	for lo < hi {
		n := min(size, hi-lo)
		if n > per {
			n = n / per * per
		}
		first := lo
		each := min(per, n)
		list = append(list, step{
			statement: w.insert(set, int(each)), rows: int(n), perExec: int(each),
			fill: func(b *driver.Batch) error { return w.gen.Fill(b, set.Name, first, first+n) },
		})
		lo += n
	}
	return list
}

// insert returns the statement that inserts a number of rows into a data set's table.
func (w *work) insert(set *plan.DataSet, rows int) *statement {
	key := fmt.Sprintf("%d %s", rows, set.Name)
	if w.inserts[key] == nil {
		sql, types := set.InsertSQL(rows)
		w.inserts[key] = &statement{Statement: driver.Statement{SQL: sql, Params: types}}
	}
	return w.inserts[key]
}

// operations returns the first transactions of a mix: one for each execution of an operation that
// writes.
func (w *work) operations(phase string, m *plan.Mix) (list []unit) {
	if !slices.ContainsFunc(m.Operations, writes) {
		return nil
	}
	statements := make([][]*statement, len(m.Operations))
	for i := range m.Operations {
		for _, c := range m.Operations[i].Calls {
			st := &statement{Statement: driver.Statement{SQL: c.SQL, Columns: c.Columns}}
			for _, p := range c.Parameters {
				st.Params = append(st.Params, p.Type)
			}
			statements[i] = append(statements[i], st)
		}
	}
	done := make([]int64, len(m.Operations))
	left := w.most - len(w.units)
	for n := int64(0); (n < m.Count || m.Count == 0) && len(list) < left; n++ {
		i := int(w.gen.Order(nil, phase, m.Operations, n, 1, 1)[0])
		o := &m.Operations[i]
		if !writes(*o) {
			continue
		}
		u := unit{operation: o}
		number := done[i]
		for j := range o.Calls {
			c := &o.Calls[j]
			s := step{statement: statements[i][j], rows: 1, perExec: 1, ifEmpty: c.IfEmpty}
			if len(c.Parameters) > 0 {
				s.fill = func(b *driver.Batch) error {
					return w.gen.FillParameters(b, phase+"."+o.Name, c.Parameters, "", number, 1, 1)
				}
			}
			u.steps = append(u.steps, s)
		}
		done[i]++
		list = append(list, u)
	}
	return list
}
