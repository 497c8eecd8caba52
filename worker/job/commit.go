package job

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func (c commit) mayWrite(ctx context.Context, r driver.Runner) error {
	return mustBeNew(ctx, r, "transactions are committed to a new one")
}

func (c commit) run(ctx context.Context, d *Database, tell func(protocol.Progress), r *protocol.JobResult) (err error) {
	if err := c.mayWrite(ctx, d.DB); err != nil {
		return err
	}
	r.Commit = &protocol.Committed{}
	k := &committing{commit: c, db: d.DB, out: r.Commit, tell: tell, random: rand.New(rand.NewPCG(d.Seed, 0))}
	if err := k.borrow(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.giveBack()) }()
	if k.gen, err = plan.NewGenerator(d.Seed, c.Plan); err != nil {
		return &Error{protocol.CodePlan, err}
	}
	units, err := k.units()
	if err != nil {
		return err
	}
	if err := k.setUp(ctx); err != nil {
		return err
	}
	for i, u := range units {
		more, err := k.transaction(ctx, i+1, u)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// committing is a running job of the kind commit.
type committing struct {
	commit
	db         driver.DB
	conn       driver.Conn
	gen        *plan.Gen
	statements map[string]driver.Stmt // statements prepared on conn, by their SQL
	random     *rand.Rand
	out        *protocol.Committed
	tell       func(protocol.Progress)
}

// borrow takes a connection from the pool.
func (k *committing) borrow(ctx context.Context) (err error) {
	k.conn, err = k.db.Conn(ctx)
	k.statements = map[string]driver.Stmt{}
	return err
}

// giveBack closes the statements, and returns the connection to the pool.
func (k *committing) giveBack() (err error) {
	for _, st := range k.statements {
		err = errors.Join(err, st.Close())
	}
	return errors.Join(err, k.conn.Close())
}

// unit is a transaction: its statements with their parameters.
type unit []step

type step struct {
	driver.Statement
	batch  *driver.Batch // nil: no parameters
	lo, hi int           // rows of batch
}

// markerSQL sets the number of the last transaction.
const markerSQL = "UPDATE " + protocol.CommitsTable + " SET number = ?"

// setUp creates the schema and carries out the untimed phases. It acknowledges transaction 0.
func (k *committing) setUp(ctx context.Context) error {
	if err := k.conn.Script(ctx, k.Plan.Schema+";\nCREATE TABLE "+protocol.CommitsTable+"(number INTEGER NOT NULL)"); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	for i := range k.Plan.Phases {
		ph := &k.Plan.Phases[i]
		switch {
		case !ph.Untimed:
		case ph.Script != "":
			if err := k.conn.Script(ctx, ph.Script); err != nil {
				return fmt.Errorf("phase %s: %w", ph.Name, err)
			}
		case ph.Insert != nil:
			units, err := k.inserts(ph.Insert, 1<<30)
			if err != nil {
				return err
			}
			for _, u := range units {
				if err := k.attempt(ctx, -1, u); err != nil {
					return fmt.Errorf("phase %s: %w", ph.Name, err)
				}
			}
		}
	}
	// The number is inserted only now, so that a half loaded database has none. In WAL mode, the
	// checkpoint brings what was loaded to the disk.
	if err := k.conn.Script(ctx, "INSERT INTO "+protocol.CommitsTable+" VALUES (0); PRAGMA wal_checkpoint"); err != nil {
		return err
	}
	return k.acknowledge(ctx, 0)
}

// units returns the transactions of the timed phases that write.
func (k *committing) units() (list []unit, err error) {
	for i := range k.Plan.Phases {
		ph := &k.Plan.Phases[i]
		most := k.Transactions - len(list)
		var more []unit
		switch {
		case ph.Untimed || most <= 0:
		case ph.Insert != nil:
			more, err = k.inserts(ph.Insert, most)
		case ph.Mix != nil:
			more, err = k.operations(ph.Name, ph.Mix, most)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	if len(list) == 0 {
		return nil, errorf(protocol.CodeUnsupported, "the workload has no transactions that can be committed one by one: want a timed phase insert (not per row of a set), or a mix with operations that write")
	}
	return list, nil
}

// inserts returns the first transactions of a phase that inserts rows.
func (k *committing) inserts(in *plan.Insert, most int) (list []unit, err error) {
	all := unit{}
	for _, name := range in.Sets {
		ds := k.Plan.DataSet(name)
		if ds == nil {
			return nil, errorf(protocol.CodePlan, "no data set %q", name)
		}
		per := max(in.RowsPerStatement, 1)
		size := map[string]int64{"each": per, "every": max(in.Every, 1)}[in.Transaction]
		if size == 0 {
			size = max(ds.Total, 1) // a transaction for the data set
		}
		for lo := int64(0); lo < ds.Total && len(list) < most; lo += size {
			u, err := k.rows(ds, lo, min(lo+size, ds.Total), per)
			if err != nil {
				return nil, err
			}
			if in.Transaction == "one" || in.Transaction == "per" {
				all = append(all, u...)
			} else {
				list = append(list, u)
			}
		}
	}
	if len(all) > 0 {
		list = append(list, all)
	}
	return list, nil
}

// rows returns the statements that insert the rows lo ≤ r < hi of a data set.
func (k *committing) rows(ds *plan.DataSet, lo, hi, per int64) (u unit, err error) {
	for ; lo < hi; lo += per {
		n := int(min(per, hi-lo))
		b := &driver.Batch{PerExec: n}
		if err := k.gen.Fill(b, ds.Name, lo, lo+int64(n)); err != nil {
			return nil, &Error{protocol.CodePlan, err}
		}
		b.PerExec = n
		sql, types := ds.InsertSQL(n)
		u = append(u, step{driver.Statement{SQL: sql, Params: types}, b, 0, n})
	}
	return u, nil
}

// operations returns the first operations of a mix that write.
func (k *committing) operations(phase string, m *plan.Mix, most int) (list []unit, err error) {
	done := make([]int64, len(m.Operations))
	writes := func(o plan.Operation) bool {
		return !o.Reads && (o.Transaction || slices.ContainsFunc(o.Calls, func(c plan.MixCall) bool { return len(c.Columns) == 0 }))
	}
	if !slices.ContainsFunc(m.Operations, writes) {
		return nil, nil
	}
	count := int64(1 << 30)
	if m.Count > 0 {
		count = m.Count
	}
	for n := int64(0); n < count && len(list) < most; n++ {
		i := int(k.gen.Order(nil, phase, m.Operations, n, 1, 1)[0])
		o := &m.Operations[i]
		if !writes(*o) {
			continue
		}
		var u unit
		for j := range o.Calls {
			c := &o.Calls[j].Call
			s := step{Statement: driver.Statement{SQL: c.SQL, Columns: c.Columns}, hi: 1}
			if len(c.Parameters) > 0 {
				s.batch = &driver.Batch{PerExec: 1}
				if err := k.gen.FillParameters(s.batch, phase+"."+o.Name, c.Parameters, "", done[i], 1, 1); err != nil {
					return nil, &Error{protocol.CodePlan, err}
				}
				s.batch.PerExec = 1
				for _, p := range c.Parameters {
					s.Params = append(s.Params, p.Type)
				}
			}
			u = append(u, s)
		}
		done[i]++
		list = append(list, u)
	}
	return list, nil
}

// transaction commits one transaction and acknowledges it. It reports false if all attempts failed.
func (k *committing) transaction(ctx context.Context, n int, u unit) (more bool, err error) {
	for i := range k.Attempts {
		began := time.Now()
		canceled := i == 0 && k.CancelNS > 0
		var err error
		if canceled {
			err = k.canceledAttempt(ctx, n, u)
		} else {
			err = k.attempt(ctx, n, u)
		}
		if err == nil {
			k.out.CommitNS = append(k.out.CommitNS, time.Since(began).Nanoseconds())
			return true, k.acknowledge(ctx, n)
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		k.out.Failures = append(k.out.Failures, failed(n, err))
		if canceled {
			if err := k.lookAfterCancel(ctx, n); err != nil {
				return false, err
			}
		}
		if last, err := LastTransaction(ctx, k.conn); err == nil && last == int64(n) {
			return true, k.acknowledge(ctx, n)
		}
	}
	k.out.GaveUp = true
	return false, nil
}

func failed(n int, err error) protocol.CommitFailure {
	f := protocol.CommitFailure{Transaction: n, Message: err.Error()}
	if e, ok := errors.AsType[*driver.Error](err); ok {
		f.Code = e.Code
	}
	return f
}

// canceledAttempt runs transaction n with a context that ends at a random time.
func (k *committing) canceledAttempt(ctx context.Context, n int, u unit) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(k.random.Int64N(k.CancelNS)))
	defer cancel()
	return k.attempt(ctx, n, u)
}

// lookAfterCancel returns the connection of a canceled attempt to the pool and borrows one. It reports
// what that has left of the attempt.
func (k *committing) lookAfterCancel(ctx context.Context, n int) error {
	_ = k.giveBack() // may say again that the attempt was canceled
	if err := k.borrow(ctx); err != nil {
		return fmt.Errorf("borrowing a connection after transaction %d was canceled: %w", n, err)
	}
	disturbed := func(what string, err error) {
		f := failed(n, err)
		f.Message = what + ": " + f.Message
		k.out.Disturbed = append(k.out.Disturbed, f)
	}
	if _, err := LastTransaction(ctx, k.conn); err != nil {
		disturbed("a read fails", err)
	}
	if err := k.conn.Script(ctx, "BEGIN; ROLLBACK"); err != nil {
		disturbed("a transaction can't begin", err)
		_ = k.conn.Script(ctx, "ROLLBACK") // so that the next attempt can
	}
	return nil
}

// LastTransaction returns the number of the last transaction in a database.
func LastTransaction(ctx context.Context, r driver.Runner) (int64, error) {
	return driver.Number(ctx, r, "SELECT number FROM "+protocol.CommitsTable)
}

// acknowledge reports that transaction n is committed.
func (k *committing) acknowledge(ctx context.Context, n int) error {
	if !k.Early || n == 0 {
		k.say(n)
	}
	if k.Digests {
		d, err := Digest(ctx, k.conn)
		if err != nil {
			return err
		}
		k.out.Digests = append(k.out.Digests, d)
	}
	return nil
}

func (k *committing) say(n int) {
	k.out.Acknowledged = n
	k.tell(protocol.Progress{Stage: protocol.StageCommit, Rows: int64(n)})
}

// attempt runs transaction n. If n is negative, the number in the database is not changed.
func (k *committing) attempt(ctx context.Context, n int, u unit) error {
	tx, err := k.conn.Begin(ctx)
	if err != nil {
		return err
	}
	err = k.statementsOf(ctx, tx, n, u)
	if k.Early && n > 0 {
		k.say(n)
	}
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err != nil {
		// The error of the rollback says no more: a failed commit may have rolled back.
		_ = tx.Rollback(context.WithoutCancel(ctx))
	}
	return err
}

func (k *committing) statementsOf(ctx context.Context, tx driver.Tx, n int, u unit) error {
	for i := range u {
		if err := k.execute(ctx, tx, &u[i]); err != nil {
			return err
		}
	}
	if n < 0 {
		return nil
	}
	b := &driver.Batch{PerExec: 1, Columns: []driver.Column{{Type: driver.Int, Ints: []int64{int64(n)}}}}
	return k.execute(ctx, tx, &step{driver.Statement{SQL: markerSQL, Params: []driver.Type{driver.Int}}, b, 0, 1})
}

func (k *committing) execute(ctx context.Context, tx driver.Tx, s *step) error {
	prepared, ok := k.statements[s.SQL]
	if !ok {
		var err error
		if prepared, err = k.conn.Prepare(ctx, s.Statement); err != nil {
			return err
		}
		k.statements[s.SQL] = prepared
	}
	st, err := tx.Stmt(ctx, prepared)
	if err != nil {
		return err
	}
	if len(s.Columns) > 0 {
		return st.Query(ctx, s.batch, 0, func(driver.Row) error { return nil })
	}
	return st.Exec(ctx, s.batch, s.lo, s.hi)
}
