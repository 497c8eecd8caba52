package job

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// replay runs all transactions one after another, in the order in which they began, and reports
// the answers to the first executions of each statement. If an event fails that did not fail
// when it was recorded, its transaction is rolled back.
func (p *asking) replay(ctx context.Context, at protocol.Answer, r *plan.Replay) error {
	if err := p.learnTimes(ctx, r); err != nil {
		return err
	}
	batches := make([]*driver.Batch, len(r.Statements))
	for i := range r.Statements {
		batches[i] = p.gen.ReplayBatch(fmt.Sprintf("%s.%d", at.Phase, i), &r.Statements[i])
	}
	if err := p.askTimes(ctx, at, r, batches); err != nil {
		return err
	}
	row := make([]int, r.Events.Len()) // for each event, the number of its statement's execution
	executions := make([]int, len(r.Statements))
	for i, s := range r.Events.Statement {
		row[i] = executions[s]
		executions[s]++
	}
	for _, unit := range r.Events.Units() {
		if err := p.replayed(ctx, at, r, batches, row, unit); err != nil {
			return err
		}
	}
	return nil
}

// learnTimes finds out how the library stores a time.Time, if the replay has parameters of that
// type. It records the result in p.out.Times and p.out.TimesAsText.
func (p *asking) learnTimes(ctx context.Context, r *plan.Replay) error {
	if !slices.ContainsFunc(r.Statements, func(s plan.Replayed) bool {
		return slices.ContainsFunc(s.Parameters, func(c plan.Recorded) bool { return len(c.Times) > 0 })
	}) {
		return nil
	}
	var asTime, asText []any
	p.out.Times = nil
	for _, t := range protocol.Times() {
		asTime, asText = append(asTime, t), append(asText, t.Format(plan.TimeFormat))
		p.out.Times = append(p.out.Times, t.Format(plan.TimeFormat))
	}
	ask := func(args []any) error {
		// The columns of the result have no declared type, so no library converts the texts to
		// time.Time.
		q := driver.Question{SQL: "SELECT CAST(? AS TEXT), CAST(? AS TEXT)", Args: args, Rows: true}
		_, err := p.asker.Ask(ctx, q, func(row []any) error {
			for i, v := range row[:len(p.out.Times)] {
				p.out.Times[i] = protocol.NewValue(v).Bytes()
			}
			return nil
		})
		return err
	}
	p.out.TimesAsText = ask(asTime) != nil
	if p.out.TimesAsText && ctx.Err() == nil {
		_ = ask(asText) // if "ask" fails, the statements of the replay will fail too
	}
	return ctx.Err()
}

// askTimes reports how the library stores two recorded times: the first time without a reading of
// the monotonic clock, and the first time with such a reading. It asks with its own statement,
// because the recorded statements may never read the times that they write.
func (p *asking) askTimes(ctx context.Context, at protocol.Answer, r *plan.Replay, batches []*driver.Batch) error {
	var first [2]any // the first time without a monotonic reading, and the first time with a monotonic reading
	for n := range r.Statements {
		s := &r.Statements[n]
		for j := range s.Parameters {
			c := &s.Parameters[j]
			for _, e := range c.Times {
				k := 0
				if _, monotonic := slices.BinarySearch(c.Monotonic, e); monotonic {
					k = 1
				}
				if first[k] != nil {
					continue
				}
				args := arguments(batches[n], e, e+1)
				if err := p.bindTimes(args, s, e); err != nil {
					return err
				}
				first[k] = args[j]
			}
		}
	}
	// SQLite's function quote() returns a text. No library converts this text back to a time.Time.
	q := driver.Question{SQL: "SELECT quote(?)", Rows: true}
	at.Operation = "stored times"
	for _, t := range first {
		if t == nil {
			continue
		}
		q.Args = []any{t}
		if _, err := p.ask(ctx, at, q); err != nil {
			return err
		}
		at.Number++
	}
	return nil
}

// bindTimes changes the arguments that were times in the recording from texts back to values of
// type time.Time. It does nothing if the library cannot bind a time.Time.
func (p *asking) bindTimes(args []any, s *plan.Replayed, row int) error {
	if p.out.TimesAsText {
		return nil
	}
	for j := range s.Parameters {
		text, ok := args[j].(string)
		if !ok { // the argument is NULL
			continue
		}
		t, is, err := s.Parameters[j].Time(row, text)
		if err != nil {
			return &Error{protocol.CodePlan, err}
		}
		if is {
			args[j] = t
		}
	}
	return nil
}

// replayed runs the events of one transaction, or a statement outside of transactions.
func (p *asking) replayed(ctx context.Context, at protocol.Answer, r *plan.Replay, batches []*driver.Batch, row, unit []int) (err error) {
	var tx driver.Tx
	opened := false // set if a statement may have begun a transaction
	end := func(commit bool) error {
		if tx == nil {
			return nil
		}
		ended := tx
		tx = nil
		if commit && ended.Commit(ctx) == nil {
			return nil
		}
		// The error of a failed commit is not returned. Later answers show that the commit failed,
		// because they lack the rows of the transaction.
		_ = ended.Rollback(context.WithoutCancel(ctx))
		return ctx.Err()
	}
	defer func() {
		err = errors.Join(err, end(false))
		if opened {
			_ = p.conn.Script(context.WithoutCancel(ctx), "ROLLBACK") // this fails if the transaction has already ended
		}
	}()
	if len(unit) > 1 {
		p.transactions++
		at.Transaction = p.transactions
	}
	for _, i := range unit {
		n := r.Events.Statement[i]
		s := &r.Statements[n]
		switch s.Do {
		case plan.ReplayBegin:
			if err := end(false); err != nil { // if a transaction is still open, the recording lacks its end
				return err
			}
			if tx, err = p.conn.Begin(ctx); err != nil {
				return fmt.Errorf("beginning a transaction: %w", err)
			}
			continue
		case plan.ReplayCommit, plan.ReplayRollback:
			if err := end(s.Do == plan.ReplayCommit); err != nil {
				return err
			}
			continue
		}
		at.Operation, at.Number, at.Execution = r.Operations[s.Operation], n, row[i]
		if s.Script {
			if err := p.script(ctx, at, s.SQL); err != nil {
				return err
			}
			continue
		}
		q := driver.Question{SQL: s.SQL, Rows: s.Reads}
		if b := batches[n]; b != nil {
			q.Args = arguments(b, row[i], row[i]+1)
			if err := p.bindTimes(q.Args, s, row[i]); err != nil {
				return err
			}
		}
		answer := p.answer
		if row[i] < p.Executions {
			answer = p.ask
		}
		opened = opened || len(unit) > 1 && tx == nil
		a, err := answer(ctx, at, q)
		if err != nil {
			return err
		}
		if a.Error != nil && !slices.Contains(r.Events.Failed, i) {
			return nil
		}
	}
	return nil
}
