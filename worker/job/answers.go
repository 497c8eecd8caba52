package job

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"regexp"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// mayWrite returns an error unless the database is new, or is a copy of a user's database.
func (a answers) mayWrite(ctx context.Context, r driver.Runner) error {
	if a.Loaded {
		return nil
	}
	return mustBeNew(ctx, r, "answers are compared on a new one")
}

func (a answers) run(ctx context.Context, d *Database, tell func(protocol.Progress), r *protocol.JobResult) (err error) {
	if err := a.mayWrite(ctx, d.DB); err != nil {
		return err
	}
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	asker, ok := conn.(driver.Asker)
	if !ok {
		return errorf(protocol.CodeUnsupported, "its adapter cannot report the values that the library returns")
	}
	p := &asking{answers: a, conn: conn, asker: asker, tell: tell, out: &protocol.Answered{}}
	r.Answers = p.out
	if a.Plan != nil {
		if p.gen, err = plan.NewGenerator(d.Seed, a.Plan); err != nil {
			return &Error{protocol.CodePlan, err}
		}
		if err := p.script(ctx, protocol.Answer{Part: protocol.PartSchema}, a.Plan.Schema); err != nil {
			return err
		}
		for i := range a.Plan.Phases {
			if err := p.phase(ctx, &a.Plan.Phases[i]); err != nil {
				return fmt.Errorf("phase %s: %w", a.Plan.Phases[i].Name, err)
			}
		}
	}
	for i, s := range a.Statements {
		q := driver.Question{SQL: s.SQL, Rows: driver.ReturnsRows(s.SQL)}
		for _, v := range s.Arguments {
			x, err := v.Any()
			if err != nil {
				return &Error{protocol.CodeUsage, err}
			}
			q.Args = append(q.Args, x)
		}
		if _, err := p.ask(ctx, protocol.Answer{Part: protocol.PartStatements, Number: i}, q); err != nil {
			return err
		}
	}
	return nil
}

// asking is a running job of the kind "answers".
type asking struct {
	answers
	conn  driver.Conn
	asker driver.Asker
	gen   *plan.Gen
	tell  func(protocol.Progress)
	out   *protocol.Answered

	transactions int // how many transactions have begun
}

// ask runs a statement and reports the library's answer to the lab. An error of the library is also
// an answer, so ask returns an error only if ctx ends.
func (p *asking) ask(ctx context.Context, at protocol.Answer, q driver.Question) (*protocol.Answer, error) {
	a, err := p.answer(ctx, at, q)
	if err != nil {
		return nil, err
	}
	p.out.Answers++
	p.tell(protocol.Progress{Stage: "answer", Answer: a})
	return a, nil
}

// answer runs a statement like [asking.ask]. It returns the library's answer instead of reporting it.
func (p *asking) answer(ctx context.Context, a protocol.Answer, q driver.Question) (*protocol.Answer, error) {
	a.SQL = strings.TrimSpace(q.SQL)
	for _, v := range q.Args {
		a.Arguments = append(a.Arguments, protocol.NewValue(v))
	}
	var sums []*columnSum
	anyOrder := uint64(0) // the sum of the rows' hashes, which does not depend on the order of the rows
	reply, err := p.asker.Ask(ctx, q, func(row []any) error {
		if sums == nil {
			for range row {
				sums = append(sums, &columnSum{map[string]int64{}, sha256.New()})
			}
		}
		hash := sha256.New()
		var values []protocol.Value
		for i, v := range row {
			v = hideMonotonic(v)
			content := protocol.Content(v)
			sums[i].add(v, content)
			writeSized(hash, content)
			if a.RowCount < int64(p.Rows) {
				values = append(values, protocol.NewValue(v))
			}
		}
		anyOrder += binary.LittleEndian.Uint64(hash.Sum(nil))
		if a.RowCount++; values != nil {
			a.Rows = append(a.Rows, values)
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	a.Names, a.Declared, a.Affected, a.LastInsertID = reply.Names, reply.Declared, reply.Affected, reply.LastInsertID
	for _, s := range sums {
		a.Columns = append(a.Columns, protocol.ColumnSum{Types: s.types, Content: hex.EncodeToString(s.hash.Sum(nil)[:16])})
	}
	if a.RowCount > 0 {
		a.AnyOrder = fmt.Sprintf("%016x", anyOrder)
	}
	var e *driver.Error
	var cannot *driver.CannotAsk
	switch {
	case errors.As(err, &cannot):
		a.Unasked = cannot.Reason
	case errors.As(err, &e):
		a.Error = &protocol.AnswerError{Code: e.Code, Message: err.Error(), Type: fmt.Sprintf("%T", e.Err)}
	case err != nil:
		a.Error = &protocol.AnswerError{Message: err.Error(), Type: fmt.Sprintf("%T", err)}
	}
	return &a, nil
}

// monotonic matches the reading of the monotonic clock in the text of a time.Time.
var monotonic = regexp.MustCompile(`^('?\d{4,}-\d\d-\d\d \d\d:\d\d:\d\d.* m=[+-])\d+\.\d+('?)$`)

// hideMonotonic replaces the reading of the monotonic clock in a text. The reading differs in
// each process, so texts that have one could not be compared.
func hideMonotonic(v any) any {
	switch s := v.(type) {
	case string:
		if strings.Contains(s, " m=") {
			return monotonic.ReplaceAllString(s, "${1}…${2}")
		}
	case []byte:
		if bytes.Contains(s, []byte(" m=")) {
			return monotonic.ReplaceAll(s, []byte("${1}…${2}"))
		}
	}
	return v
}

// columnSum counts the Go types of a column's values and hashes the values.
type columnSum struct {
	types map[string]int64
	hash  hash.Hash
}

func (s *columnSum) add(v any, content string) {
	typ := "nil"
	switch v.(type) {
	case nil:
	case []byte:
		typ = "[]byte"
	default:
		typ = fmt.Sprintf("%T", v)
	}
	s.types[typ]++
	writeSized(s.hash, content)
}

// writeSized hashes the length of a text and then the text. So the hash of two texts differs from
// the hash of their concatenation.
func writeSized(h hash.Hash, s string) {
	h.Write(binary.AppendUvarint(nil, uint64(len(s))))
	h.Write([]byte(s))
}

// script runs each statement of a script, and reports the library's answer to each statement.
func (p *asking) script(ctx context.Context, at protocol.Answer, sql string) error {
	for statement := range driver.Statements(sql) {
		q := driver.Question{SQL: statement, Rows: driver.ReturnsRows(statement)}
		if _, err := p.ask(ctx, at, q); err != nil {
			return err
		}
		at.Number++
	}
	return nil
}

func (p *asking) phase(ctx context.Context, ph *plan.Phase) error {
	at := protocol.Answer{Part: protocol.PartPhase, Phase: ph.Name}
	switch {
	case ph.Insert != nil:
		for i, name := range ph.Insert.Sets {
			at.Operation, at.Number = name, i
			if err := p.insert(ctx, at, ph.Insert); err != nil {
				return err
			}
		}
		return nil
	case ph.Query != nil:
		n := int64(1)
		if ph.Query.ForEach != "" {
			ds := p.Plan.DataSet(ph.Query.ForEach)
			if ds == nil {
				return errorf(protocol.CodePlan, "no data set %q", ph.Query.ForEach)
			}
			n = ds.Total
		}
		return p.call(ctx, at, &ph.Query.Call, ph.Query.ForEach, n)
	case ph.Mix != nil:
		for i := range ph.Mix.Operations {
			at.Operation = ph.Mix.Operations[i].Name
			if err := p.operation(ctx, at, ph.Mix, &ph.Mix.Operations[i]); err != nil {
				return err
			}
		}
		return nil
	case ph.HTTP != nil:
		if ph.HTTP.SQL == "" {
			return nil
		}
		n := int64(p.Executions)
		if ph.HTTP.Count > 0 {
			n = min(n, ph.HTTP.Count)
		}
		return p.call(ctx, at, &ph.HTTP.Call, "", n)
	case ph.Replay != nil:
		return p.replay(ctx, at, ph.Replay)
	case ph.Script != "":
		return p.script(ctx, at, ph.Script)
	}
	p.out.Skipped = append(p.out.Skipped, ph.Name)
	return nil
}

// call runs the first executions of a statement and reports their answers. The parameter n is the
// number of executions in the workload. call runs at most p.Executions of them.
func (p *asking) call(ctx context.Context, at protocol.Answer, c *plan.Call, forEach string, n int64) error {
	if len(c.Parameters) == 0 {
		n = 1 // all executions are the same
	}
	k := int(min(n, int64(p.Executions)))
	b, err := p.parameters(at.Phase, c, forEach, k)
	if err != nil {
		return err
	}
	for at.Execution = range k {
		if _, err := p.ask(ctx, at, question(c, b, at.Execution)); err != nil {
			return err
		}
	}
	return nil
}

func (p *asking) parameters(prefix string, c *plan.Call, forEach string, n int) (*driver.Batch, error) {
	b := &driver.Batch{PerExec: 1}
	if len(c.Parameters) == 0 {
		return b, nil
	}
	if err := p.gen.FillParameters(b, prefix, c.Parameters, forEach, 0, 1, n); err != nil {
		return nil, &Error{protocol.CodePlan, err}
	}
	return b, nil
}

func question(c *plan.Call, b *driver.Batch, row int) driver.Question {
	return driver.Question{SQL: c.SQL, Args: arguments(b, row, row+1), Rows: len(c.Columns) > 0, Columns: c.Columns}
}

// arguments returns the values of the rows lo ≤ r < hi of b. It copies texts, because the next fill
// of the batch overwrites their memory.
func arguments(b *driver.Batch, lo, hi int) []any {
	args := b.Append(nil, lo, hi)
	for i, v := range args {
		if s, ok := v.(string); ok {
			args[i] = strings.Clone(s)
		}
	}
	return args
}

// operation runs the first executions of an operation of a mix and reports their answers. It runs
// at most p.Executions of them. If the operation is a transaction and a statement fails, the
// transaction is rolled back.
func (p *asking) operation(ctx context.Context, at protocol.Answer, m *plan.Mix, o *plan.Operation) error {
	k := p.Executions
	if m.Count > 0 {
		k = int(min(int64(k), m.Count))
	}
	batches := make([]*driver.Batch, len(o.Calls))
	for i := range o.Calls {
		var err error
		if batches[i], err = p.parameters(at.Phase+"."+o.Name, &o.Calls[i].Call, "", k); err != nil {
			return err
		}
	}
	for at.Execution = range k {
		if err := p.execution(ctx, at, o, batches); err != nil {
			return err
		}
	}
	return nil
}

func (p *asking) execution(ctx context.Context, at protocol.Answer, o *plan.Operation, batches []*driver.Batch) error {
	var tx driver.Tx
	if o.Transaction {
		var err error
		if tx, err = p.conn.Begin(ctx); err != nil {
			return fmt.Errorf("operation %s: %w", o.Name, err)
		}
		p.transactions++
		at.Transaction = p.transactions
	}
	commit := true
	for i := range o.Calls {
		c := &o.Calls[i]
		at.Number = i
		a, err := p.ask(ctx, at, question(&c.Call, batches[i], at.Execution))
		if err != nil {
			if tx != nil {
				err = errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
			}
			return err
		}
		if a.Error != nil {
			commit = false
			break
		}
		if c.IfEmpty != "" && a.RowCount == 0 {
			commit = c.IfEmpty != plan.EmptyRollback
			break
		}
	}
	if tx == nil {
		return nil
	}
	if commit {
		if err := tx.Commit(ctx); err == nil {
			return nil
		}
		// The error of a failed commit is not returned. Later answers show that the commit failed,
		// because they lack the rows of the transaction.
	}
	return tx.Rollback(ctx)
}

// insert runs the first INSERTs of a data set and reports their answers. It runs at most
// p.Executions of them. The method "load" inserts the remaining rows.
func (p *asking) insert(ctx context.Context, at protocol.Answer, in *plan.Insert) error {
	ds := p.Plan.DataSet(at.Operation)
	if ds == nil {
		return errorf(protocol.CodePlan, "no data set %q", at.Operation)
	}
	per := max(in.RowsPerStatement, 1)
	next := int64(0)
	var b driver.Batch
	for at.Execution = 0; at.Execution < p.Executions && next < ds.Total; at.Execution++ {
		n := min(per, ds.Total-next)
		if err := p.gen.Fill(&b, ds.Name, next, next+n); err != nil {
			return &Error{protocol.CodePlan, err}
		}
		sql, _ := ds.InsertSQL(int(n))
		if _, err := p.ask(ctx, at, driver.Question{SQL: sql, Args: arguments(&b, 0, int(n))}); err != nil {
			return err
		}
		next += n
	}
	if next == ds.Total {
		return nil
	}
	err := p.load(ctx, ds, next)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// If the method "load" fails, later queries find too few rows. Only the answer that is reported
	// here says why.
	if e, ok := errors.AsType[*driver.Error](err); ok {
		at.SQL, _ = ds.InsertSQL(1)
		at.Error = &protocol.AnswerError{Code: e.Code, Message: err.Error()}
		p.out.Answers++
		p.tell(protocol.Progress{Stage: "answer", Answer: &at})
		return nil
	}
	return err
}

// load inserts the remaining rows of a data set in one transaction. The first of them is the row
// whose number is in the parameter "from".
func (p *asking) load(ctx context.Context, ds *plan.DataSet, from int64) (err error) {
	tx, err := p.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
		}
	}()
	sql, types := ds.InsertSQL(1)
	prepared, err := p.conn.Prepare(ctx, driver.Statement{SQL: sql, Params: types})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prepared.Close()) }()
	stmt, err := tx.Stmt(ctx, prepared)
	if err != nil {
		return err
	}
	b := driver.Batch{PerExec: 1}
	step := p.gen.RowsFitting(ds.Name)
	for lo := from; lo < ds.Total; lo += step {
		hi := min(lo+step, ds.Total)
		if err := p.gen.Fill(&b, ds.Name, lo, hi); err != nil {
			return &Error{protocol.CodePlan, err}
		}
		if err := stmt.Exec(ctx, &b, 0, int(hi-lo)); err != nil {
			return fmt.Errorf("inserting rows %d to %d into %s: %w", lo, hi-1, ds.Table, err)
		}
	}
	return tx.Commit(ctx)
}
