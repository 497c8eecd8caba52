package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// replay is a replay phase in progress. The slices took, rows, affected, code and otherID have one
// entry for each event. Only the client that runs the event writes its entry.
type replay struct {
	*plan.Replay
	batches []*driver.Batch // the parameters of each statement
	row     []int32         // for each event, the row of its parameters in its statement's batch
	failed  map[int]int     // the codes of events that failed when they were recorded, by event; 0 if the code is not known

	took     []int64 // latency in ns; notRun if the event was skipped
	rows     []int64 // how many rows the event has read
	affected []int64 // how many rows the event has changed; before the event runs, the recorded number
	code     []int32 // SQLite's result code; 0 if the event succeeded

	inserted map[int]int64 // the last insert IDs that were recorded, by event
	otherID  []bool        // whether the last insert ID differs from the recorded ID; nil if the field "inserted" is nil
}

const notRun = -1

// replayClient is a client of a replay. It runs events on its own connection.
type replayClient struct {
	*replay
	conn    driver.Conn
	stmts   []driver.Stmt // an entry is nil until the statement is prepared
	tx      driver.Tx     // the transaction that the driver's method Begin has begun, or nil
	next    func() []int  // returns the events of the next transaction, or nil after the last
	read    int64
	count   func(driver.Row) error
	result  driver.Result // the result of the current event; nil if it need not be compared with the recording
	said    map[int]said  // the first error with each code, by code; without lock errors, and without errors that are also in the recording
	elapsed int64
	asking  int64        // time in ns spent on asking the library for results
	turn    *clientTurn  // pauses the replay after each slice (a part of the replay), so that other trials can run; nil if the replay is measured in one piece
	state   *clientState // nil if the replay's PatienceMS is 0
	err     error
}

// The type "said" has an event and the message of the event's error.
type said struct {
	event   int
	message string
}

func (t *trial) replay(ctx context.Context, p *plan.Phase, s *protocol.Sample, w *Stopwatch) (err error) {
	if why, limited := t.drv.Info().Limit("columns", "any"); limited {
		return failf(protocol.CodeUnsupported, "a replay reads columns of which nothing is known, and %s", why)
	}
	r := t.newReplay(p)
	var clients []*replayClient
	defer func() {
		for _, c := range clients {
			err = errors.Join(err, c.close())
		}
	}()
	var states []*clientState
	for _, next := range r.deal() {
		c := &replayClient{replay: r, next: next, stmts: make([]driver.Stmt, len(r.Statements)), said: map[int]said{}}
		c.count = func(driver.Row) error { c.read++; return nil }
		if c.conn, err = t.db.Conn(ctx); err != nil {
			return err
		}
		clients = append(clients, c)
		if r.PatienceMS > 0 {
			c.state = &clientState{}
			states = append(states, c.state)
		}
	}

	if r.Speed == 0 {
		turns := newClientTurns(ctx, t.slicing(p, w), len(clients))
		for _, c := range clients {
			c.turn = turns.client(0)
		}
	}
	all := clients
	forConnections := t.countWaits()
	w.Start()
	begin := now()
	run := func(i int) { all[i].err = all[i].run(ctx, begin) }
	if err := runClients(len(all), run, states, r.Operations, begin, r.PatienceMS); err != nil {
		clients = nil // the clients still run, so they cannot be closed
		return err
	}
	w.Stop()
	s.Waits = forConnections()
	w.wall = 0
	for _, c := range clients {
		w.wall = max(w.wall, c.elapsed)
		if c.err != nil {
			return c.err
		}
	}
	first := map[int]said{}
	for _, c := range clients {
		for code, x := range c.said {
			if before, known := first[code]; !known || x.event < before.event {
				first[code] = x
			}
		}
	}
	return r.collect(s, first)
}

// newReplay returns a replay with the parameters of all statements, before any event has run.
func (t *trial) newReplay(p *plan.Phase) *replay {
	e := &p.Replay.Events
	n := e.Len()
	r := &replay{
		Replay: p.Replay, row: make([]int32, n), failed: make(map[int]int, len(e.Failed)),
		took: make([]int64, n), rows: make([]int64, n), affected: slices.Clone(e.Affected), code: make([]int32, n),
	}
	for i := range p.Replay.Statements {
		r.batches = append(r.batches, t.gen.ReplayBatch(fmt.Sprintf("%s.%d", p.Name, i), &p.Replay.Statements[i]))
	}
	executions := make([]int32, len(p.Replay.Statements))
	for i, s := range e.Statement {
		r.row[i] = executions[s]
		executions[s]++
		r.took[i] = notRun
	}
	for k, i := range e.Failed {
		r.failed[i] = 0
		if e.Codes != nil {
			r.failed[i] = e.Codes[k]
		}
	}
	if len(e.Inserted) > 0 {
		r.inserted, r.otherID = make(map[int]int64, len(e.Inserted)), make([]bool, n)
		for _, x := range e.Inserted {
			r.inserted[x.Event] = x.ID
		}
	}
	return r
}

// deal returns a function "next" for each client. Each call of this function returns the events of
// the client's next transaction. If r.Clients is set, all clients take transactions from one list,
// in the recorded order. Otherwise there is a client for each recorded connection.
func (r *replay) deal() []func() []int {
	units := r.Events.Units()
	clients := make([]func() []int, r.AtOnce())
	if r.Clients > 0 {
		var dealt atomic.Int64
		for i := range clients {
			clients[i] = func() []int {
				if n := int(dealt.Add(1)); n <= len(units) {
					return units[n-1]
				}
				return nil
			}
		}
		return clients
	}
	own := make([][][]int, r.Connections)
	for _, unit := range units {
		c := r.Events.Connection[unit[0]]
		own[c] = append(own[c], unit)
	}
	for i := range clients {
		clients[i] = func() (unit []int) {
			if len(own[i]) > 0 {
				unit, own[i] = own[i][0], own[i][1:]
			}
			return unit
		}
	}
	return clients
}

// run runs the client's events. If c.Speed is set, each event is due at a fixed time, and its
// latency counts from that time, even if the event begins later.
func (c *replayClient) run(ctx context.Context, begin int64) error {
	start := begin
	if c.turn != nil {
		defer c.turn.together.Leave()
	}
	ended := 0 // events since the last call of c.turn.transaction
	for unit := c.next(); unit != nil; unit = c.next() {
		if c.turn != nil && ended > 0 && c.tx == nil { // within a transaction the client must not wait for a turn, because other clients may wait for the transaction's lock
			waited, err := c.turn.transaction(ended, c.elapsed)
			if err != nil {
				return err
			}
			start += waited.all
			begin += waited.pause
			ended = 0
		}
		ended += len(unit)
		for k, i := range unit {
			if c.Speed > 0 {
				start = begin + int64(float64(c.Events.AtNS[i])/c.Speed)
				waitUntil(start)
			}
			c.read, c.result = 0, nil
			if c.state != nil {
				c.state.begins(c.Statements[c.Events.Statement[i]].Operation, start)
			}
			err := c.event(ctx, i)
			end := now()
			if c.state != nil {
				c.state.ends(end)
			}
			c.elapsed = end - begin - c.asking
			c.took[i], c.rows[i] = end-start, c.read
			start = end
			if c.result != nil {
				// The application may not have asked for the result, so asking is not timed.
				err = c.ask(i)
				start = now()
				c.asking += start - end
			}
			if err == nil {
				continue
			}
			e, ok := errors.AsType[*driver.Error](err)
			if !ok {
				return &operationError{c.Operations[c.Statements[c.Events.Statement[i]].Operation], err}
			}
			c.code[i] = int32(e.Code)
			if _, known := c.said[e.Code]; !known && !driver.IsLock(e.Code) && !c.expected(i) {
				m := e.Error()
				c.said[e.Code] = said{i, strings.ToValidUTF8(m[:min(len(m), protocol.MaxMessage)], "")}
			}
			if c.ends(i, k, err) && len(unit) > 1 {
				c.rollback(ctx)
				break // the rest of the transaction is skipped, because the application would not have run it
			}
		}
	}
	return nil
}

// ask asks the library how many rows event i has changed. It also asks for the last insert ID if
// the recorded application asked for it.
func (c *replayClient) ask(i int) (err error) {
	if c.affected[i], err = c.result.RowsAffected(); err != nil {
		return err
	}
	if want, asked := c.inserted[i]; asked {
		var id int64
		id, err = c.result.LastInsertId()
		c.otherID[i] = id != want
	}
	return err
}

// ends reports whether the error err of event i ends the event's transaction. If the event also
// failed in the recording, the transaction goes on. Otherwise the transaction ends after a lock
// error, and after any error of its first event. The parameter k is the number of the event in the
// transaction, from 0.
func (c *replayClient) ends(i, k int, err error) bool {
	_, then := c.failed[i]
	return !then && (locked(err) || k == 0)
}

// event runs event number i of the recording.
func (c *replayClient) event(ctx context.Context, i int) (err error) {
	n := c.Events.Statement[i]
	s := &c.Statements[n]
	switch {
	case s.Do == plan.ReplayBegin:
		if c.tx != nil { // the recording lacks the end of the previous transaction, and some libraries would wait forever for that end
			c.rollback(ctx)
		}
		c.tx, err = c.conn.Begin(ctx)
		if err != nil {
			c.tx = nil
		}
		return err
	case s.Do != "":
		return c.end(ctx, s.Do)
	case s.Script:
		return c.conn.Script(ctx, s.SQL)
	}
	stmt := c.stmts[n]
	if stmt == nil {
		if stmt, err = c.conn.Prepare(ctx, replayed(s)); err != nil {
			return err
		}
		c.stmts[n] = stmt
	}
	if c.tx != nil {
		if stmt, err = c.tx.Stmt(ctx, stmt); err != nil {
			return err
		}
	}
	row, batch := int(c.row[i]), c.batches[n]
	switch {
	case s.Reads:
		return stmt.Query(ctx, batch, row, c.count)
	case c.affected != nil && c.affected[i] >= 0:
		c.result, err = stmt.ExecResult(ctx, batch, row)
		return err
	}
	return stmt.Exec(ctx, batch, row, row+1)
}

// replayed converts a statement of the replay to a statement for the driver.
func replayed(s *plan.Replayed) driver.Statement {
	st := driver.Statement{SQL: s.SQL, AnyColumns: s.Reads, AdHoc: s.AdHoc}
	for _, p := range s.Parameters {
		st.Params = append(st.Params, p.Type)
	}
	return st
}

// end rolls back c.tx if the parameter "do" is [plan.ReplayRollback], and commits it otherwise. If
// there is no transaction, end does nothing, because the transaction may have ended earlier.
func (c *replayClient) end(ctx context.Context, do string) error {
	tx := c.tx
	if tx == nil {
		return nil
	}
	c.tx = nil
	if do == plan.ReplayRollback {
		return tx.Rollback(ctx)
	}
	err := tx.Commit(ctx)
	if err != nil {
		_ = tx.Rollback(ctx) // only the error of Commit matters
	}
	return err
}

// rollback rolls back the current transaction, if there is one.
func (c *replayClient) rollback(ctx context.Context) {
	if c.tx != nil {
		_ = c.end(ctx, plan.ReplayRollback)
		return
	}
	// A statement may have begun a transaction. If none is open, ROLLBACK fails, which does not
	// matter.
	_ = c.conn.Script(ctx, "ROLLBACK")
}

// close rolls back a transaction that is still open, and closes the statements and the
// connection.
func (c *replayClient) close() (err error) {
	c.rollback(context.Background())
	for _, s := range c.stmts {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return errors.Join(err, c.conn.Close())
}

// collect adds up the measurements of all events, and writes the sums to s. The parameter "first" has
// the first error of each code.
func (r *replay) collect(s *protocol.Sample, first map[int]said) error {
	histograms := make([]*latency.Histogram, len(r.Operations))
	failures := make([]int64, len(r.Operations))
	for i := range histograms {
		histograms[i] = latency.New()
	}
	failed, results, unlocked := protocol.ErrorCounts{}, protocol.ErrorCounts{}, protocol.ErrorCounts{}
	for i, took := range r.took {
		if took == notRun {
			s.Skipped++
			continue
		}
		st := &r.Statements[r.Events.Statement[i]]
		histograms[st.Operation].Record(took)
		s.Operations++
		s.Rows += r.rows[i]
		code, same := int(r.code[i]), r.asRecorded(i)
		switch then := r.failed[i]; {
		case code != 0 && same:
			results.Add(code, 1, took)
		case code != 0:
			failures[st.Operation]++
			failed.Add(code, 1, took)
		case !same && driver.IsLock(then):
			unlocked.Add(then, 1, took)
			continue
		}
		if !same {
			s.Different++
		}
	}
	for code, e := range failed {
		e.Message = first[code].message
	}
	s.Errors, s.Results, s.Unlocked = failed.List(), results.List(), unlocked.List()
	for i, h := range histograms {
		s.Latency = append(s.Latency, protocol.Latency{Operation: r.Operations[i], Count: h.Count(), Failed: failures[i], Histogram: h.Encode()})
		s.Failed += failures[i]
	}
	if s.Operations == s.Failed {
		return failf(protocol.CodeNoOperation, "not one event of the replay succeeded: %v", s.Errors)
	}
	return nil
}

// expected reports whether event i, which has failed, also failed when it was recorded. If the
// recorded code is known, the primary codes must be equal. Extended codes are not compared, because
// not all libraries report them.
func (r *replay) expected(i int) bool {
	then, failed := r.failed[i]
	return failed && (then == 0 || then&0xff == int(r.code[i])&0xff)
}

// asRecorded reports whether event i, which has run, had the recorded outcome.
func (r *replay) asRecorded(i int) bool {
	e := &r.Events
	_, failed := r.failed[i]
	switch {
	case (r.code[i] != 0) != failed:
		return false
	case failed:
		return r.expected(i)
	case r.Statements[e.Statement[i]].Reads:
		return e.Rows[i] < 0 || e.Rows[i] == r.rows[i]
	case e.Affected != nil && e.Affected[i] != r.affected[i]:
		return false
	}
	return r.otherID == nil || !r.otherID[i]
}
