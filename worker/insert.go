package worker

import (
	"cmp"
	"context"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// inserter runs an insert phase on one connection. It generates the rows chunk by chunk while the
// stopwatch is stopped, unless the phase also times the generation of values.
type inserter struct {
	t     *trial
	in    *plan.Insert
	conn  driver.Conn
	sets  map[string]*insertSet
	watch *Stopwatch
	tx    driver.Tx

	slices slicing
	rows   int64 // rows that the phase inserts
}

// insertSet has the statements of one data set, and a chunk of its rows.
type insertSet struct {
	*plan.DataSet
	children []*insertSet // the phase's data sets that are nested in this data set
	stmts    map[int]driver.Stmt
	batch    driver.Batch
	base     int64 // number of the chunk's first row in the data set
}

func (t *trial) insert(ctx context.Context, p *plan.Phase, s *protocol.Sample, w *Stopwatch) (err error) {
	in := p.Insert
	conn, err := t.db.Conn(ctx)
	if err != nil {
		return err
	}
	i := &inserter{t: t, in: in, conn: conn, sets: map[string]*insertSet{}, watch: w, slices: t.slicing(p, w)}
	defer func() { err = cmp.Or(err, i.close(ctx)) }()
	for _, name := range in.Sets {
		ds := t.plan.DataSet(name)
		set := &insertSet{DataSet: ds, stmts: map[int]driver.Stmt{}}
		i.sets[name] = set
		if parent := i.sets[ds.Parent]; parent != nil {
			parent.children = append(parent.children, set)
		}
		s.Rows += ds.Total
	}
	s.Operations, i.rows = s.Rows, s.Rows
	defer func() { s.ColdNS = i.slices.cold() }()
	if in.Transaction == "per" {
		return i.perRow(ctx, i.sets[in.Per])
	}
	return i.bySet(ctx)
}

// close rolls back a transaction that is still open, and closes the statements and the connection.
// It returns the first error.
func (i *inserter) close(ctx context.Context) (err error) {
	if i.tx != nil {
		err = i.tx.Rollback(ctx)
	}
	for _, set := range i.sets {
		for _, st := range set.stmts {
			err = cmp.Or(err, st.Close())
		}
	}
	return cmp.Or(err, i.conn.Close())
}

// bySet inserts one data set after another.
func (i *inserter) bySet(ctx context.Context) error {
	for _, name := range i.in.Sets {
		set := i.sets[name]
		step := i.chunkRows(set)
		for lo := int64(0); lo < set.Total; lo += step {
			hi := min(lo+step, set.Total)
			if err := i.slices.next(ctx); err != nil {
				return err
			}
			if err := i.fill(set, lo, hi); err != nil {
				return err
			}
			begins := i.slices.left == i.slices.size
			i.slices.left -= hi - lo
			i.watch.Start()
			err := i.sliced(ctx, set, int(hi-lo), begins)
			if err == nil && hi == set.Total && i.in.Transaction == "set" {
				err = i.commit(ctx)
			}
			i.watch.Stop()
			if err != nil {
				return err
			}
		}
	}
	i.watch.Start()
	defer i.watch.Stop()
	return i.commit(ctx)
}

// chunkRows returns how many rows of the set are generated at a time. If the field Transaction is
// "every", the number is a multiple of the field Every. Otherwise it is a multiple of the field
// RowsPerStatement. So only the last transaction or statement has fewer rows.
func (i *inserter) chunkRows(set *insertSet) int64 {
	n := i.t.gen.RowsFitting(set.Name)
	per := i.in.RowsPerStatement
	if i.in.Transaction == "every" {
		per = i.in.Every
	}
	if i.slices.size == 0 {
		return max(n/per, 1) * per
	}
	n = max(min(n, i.slices.size)/per, 1) * per
	i.slices.round(n)
	i.slices.lead = n / 3 / per * per
	return n
}

// sliced inserts a chunk of n rows. If the parameter "begins" is true, the chunk is the beginning of
// a slice. In that case sliced also measures how long the first operations of the slice (its lead,
// see [slicing]) take.
func (i *inserter) sliced(ctx context.Context, set *insertSet, n int, begins bool) error {
	lead := int(i.slices.lead)
	if !begins || lead == 0 || lead >= n || i.in.TimedValues {
		return i.chunk(ctx, set, 0, n)
	}
	i.slices.began = i.watch.wall0
	if err := i.chunk(ctx, set, 0, lead); err != nil {
		return err
	}
	i.slices.leadEnds(int64(lead))
	err := i.chunk(ctx, set, lead, n)
	i.slices.sliceEnds(int64(n - lead))
	return err
}

// chunk inserts the rows lo ≤ r < hi of the chunk of rows that was generated for a data set.
func (i *inserter) chunk(ctx context.Context, set *insertSet, lo, hi int) error {
	switch i.in.Transaction {
	case "each":
		return i.exec(ctx, set, lo, hi)
	case "every":
		every := int(i.in.Every)
		for ; lo < hi; lo += every {
			if err := i.begin(ctx); err != nil {
				return err
			}
			if err := i.exec(ctx, set, lo, min(lo+every, hi)); err != nil {
				return err
			}
			if err := i.commit(ctx); err != nil {
				return err
			}
		}
		return nil
	default:
		if err := i.begin(ctx); err != nil {
			return err
		}
		return i.exec(ctx, set, lo, hi)
	}
}

// perRow inserts each row of the data set "root", and all rows nested in it, in its own
// transaction.
func (i *inserter) perRow(ctx context.Context, root *insertSet) error {
	step := i.t.gen.RowsFitting(root.Name)
	var shrink func(set *insertSet, perRoot int64)
	shrink = func(set *insertSet, perRoot int64) {
		step = min(step, max(i.t.gen.RowsFitting(set.Name)/perRoot, 1))
		for _, c := range set.children {
			shrink(c, max(perRoot*c.Count, 1))
		}
	}
	shrink(root, 1)
	tree := max(1, i.rows/max(1, root.Total)) // rows that are inserted with each row of root
	if i.slices.size > 0 {
		step = min(step, max(1, i.slices.size/tree))
		i.slices.round(step * tree)
	}
	for lo := int64(0); lo < root.Total; lo += step {
		hi := min(lo+step, root.Total)
		if err := i.slices.next(ctx); err != nil {
			return err
		}
		if err := i.fillTree(root, lo, hi); err != nil {
			return err
		}
		i.slices.left -= (hi - lo) * tree
		i.watch.Start()
		err := i.rowTransactions(ctx, root, int(hi-lo))
		i.watch.Stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func (i *inserter) rowTransactions(ctx context.Context, root *insertSet, n int) error {
	for r := range n {
		if err := i.begin(ctx); err != nil {
			return err
		}
		if err := i.tree(ctx, root, r, r+1); err != nil {
			return err
		}
		if err := i.commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tree inserts the rows lo ≤ r < hi of the chunk of rows that was generated for a data set. After each
// row it inserts the rows that are nested in this row.
func (i *inserter) tree(ctx context.Context, set *insertSet, lo, hi int) error {
	if len(set.children) == 0 {
		return i.exec(ctx, set, lo, hi)
	}
	for r := lo; r < hi; r++ {
		if err := i.exec(ctx, set, r, r+1); err != nil {
			return err
		}
		for _, c := range set.children {
			if err := i.tree(ctx, c, r*int(c.Count), (r+1)*int(c.Count)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i *inserter) fillTree(set *insertSet, lo, hi int64) error {
	if err := i.fill(set, lo, hi); err != nil {
		return err
	}
	for _, c := range set.children {
		if err := i.fillTree(c, lo*c.Count, hi*c.Count); err != nil {
			return err
		}
	}
	return nil
}

// fill generates the rows lo ≤ r < hi of a data set into set.batch.
func (i *inserter) fill(set *insertSet, lo, hi int64) error {
	set.base = lo
	if i.in.TimedValues {
		i.watch.Start()
		defer i.watch.Stop()
	}
	if err := i.t.gen.Fill(&set.batch, set.Name, lo, hi); err != nil {
		return &failure{protocol.CodePlan, err}
	}
	return nil
}

func (i *inserter) begin(ctx context.Context) (err error) {
	if i.tx == nil {
		i.tx, err = i.conn.Begin(ctx)
	}
	return err
}

func (i *inserter) commit(ctx context.Context) error {
	if i.tx == nil {
		return nil
	}
	if err := i.tx.Commit(ctx); err != nil {
		return err
	}
	i.tx = nil
	return nil
}

// exec inserts the rows lo ≤ r < hi of the chunk of rows that was generated for a data set. Each
// statement inserts RowsPerStatement rows. A shorter statement inserts the remaining rows.
func (i *inserter) exec(ctx context.Context, set *insertSet, lo, hi int) error {
	per := int(i.in.RowsPerStatement)
	whole := lo + (hi-lo)/per*per
	if whole > lo {
		if err := i.execGroups(ctx, set, per, lo, whole); err != nil {
			return err
		}
	}
	if hi > whole {
		return i.execGroups(ctx, set, hi-whole, whole, hi)
	}
	return nil
}

func (i *inserter) execGroups(ctx context.Context, set *insertSet, groups, lo, hi int) error {
	st, err := i.stmt(ctx, set, groups)
	if err != nil {
		return err
	}
	set.batch.PerExec = groups
	if err := st.Exec(ctx, &set.batch, lo, hi); err != nil {
		return fmt.Errorf("inserting into %s, rows %d to %d: %w", set.Table, set.base+int64(lo), set.base+int64(hi)-1, err)
	}
	return nil
}

// stmt returns a prepared INSERT. The parameter "groups" is the number of rows that it inserts. stmt
// prepares the INSERT when it is first needed. If a transaction is open, the result is bound to the
// transaction.
func (i *inserter) stmt(ctx context.Context, set *insertSet, groups int) (driver.Stmt, error) {
	st := set.stmts[groups]
	if st == nil {
		sql, types := set.InsertSQL(groups)
		var err error
		if st, err = i.conn.Prepare(ctx, driver.Statement{SQL: sql, Params: types, AdHoc: i.in.AdHoc}); err != nil {
			return nil, fmt.Errorf("preparing the INSERT into %s: %w", set.Table, err)
		}
		set.stmts[groups] = st
	}
	if i.tx != nil {
		return i.tx.Stmt(ctx, st)
	}
	return st, nil
}
