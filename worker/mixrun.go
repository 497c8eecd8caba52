package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// run does the client's operations. The parameter "begin" is the time at which the client begins.
// The client's own time includes its waits for other clients, which may be generating parameters.
// It excludes the pauses in which other trials have their turns, and the time in which the client
// itself generates parameters. To exclude such a time, run moves "begin" forward by this time, and
// also the times that depend on "begin".
func (c *mixClient) run(ctx context.Context, begin int64) error {
	deadline := int64(1<<63 - 1)
	if c.mix.DurationMS > 0 {
		deadline = begin + c.mix.DurationMS*1e6
	}
	if c.turn != nil {
		defer c.turn.together.Leave()
	}
	rate, j := c.mix.Rate, int64(0)
	start := begin
	for len(c.order) > 0 {
		for _, i := range c.order {
			if c.turn != nil {
				waited, err := c.turn.operation(c.elapsed)
				if err != nil {
					return err
				}
				start += waited.all
				begin += waited.pause
				if c.mix.DurationMS > 0 {
					deadline += waited.pause
				}
			}
			if rate > 0 {
				start = begin + int64(float64(c.number(j))/rate*1e9)
				if start < deadline {
					waitUntil(start)
				}
			}
			if start >= deadline {
				c.record()
				return nil
			}
			op := &c.ops[i]
			var err error
			var early bool
			if c.state != nil {
				c.state.begins(int(i), start)
			}
			if q := op.query; q != nil { // this code is inline, because the stack frame of a function would no longer be in the processor's cache when SQLite returns
				before := c.rows
				if err = q.stmt.Query(ctx, q.batch, op.row, c.count); err == nil && q.want >= 0 && c.rows-before != q.want {
					err = q.mismatch(c.rows - before)
				}
			} else if op.plainTx {
				early, err = c.transaction(ctx, op, op.row)
			} else if op.TimeoutMS > 0 {
				early, err = c.limited(ctx, op, op.row)
			} else {
				early, err = c.attempt(ctx, op, op.row)
			}
			if err != nil && c.mix.Retry != nil && op.TimeoutMS == 0 {
				early, err = c.retry(ctx, op, op.row, err)
			}
			end := now()
			if c.state != nil {
				c.state.ends(end)
			}
			c.elapsed = end - begin
			op.row++
			op.done++
			j++
			took := end - start
			switch {
			case err != nil:
				if err := c.ended(op, err, took); err != nil {
					return &operationError{op.Name, err}
				}
			case early:
				op.early++
			}
			c.took = append(c.took, took)
			start = end
		}
		if err := c.refill(); err != nil {
			return err
		}
		pause := now() - start
		start += pause
		begin += pause
		if c.turn != nil {
			c.turn.exclude(pause)
		}
		if c.mix.DurationMS > 0 {
			deadline += pause
		}
	}
	return nil
}

// refill records the latencies of a chunk of operations and generates the next chunk. It measures
// the CPU time and the instructions that this takes, if the system reports them.
func (c *mixClient) refill() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	user, system := threadCPU()
	counted := c.counter.thread()
	c.record()
	err := c.fill()
	c.counted.add(counted())
	u, s := threadCPU()
	c.user += u - user
	c.system += s - system
	return err
}

// record moves the latencies of the chunk to the histograms. The time that this takes does not
// count as the client's time.
func (c *mixClient) record() {
	for i, ns := range c.took {
		c.ops[c.order[i]].latency.Record(ns)
	}
	c.took = c.took[:0]
}

// attempt does an operation with row r of its parameters. If op.mutex is set, attempt holds the mutex
// while the operation runs. It reports whether the operation ended early because a statement returned
// no rows.
func (c *mixClient) attempt(ctx context.Context, op *mixOp, r int) (early bool, err error) {
	if op.mutex {
		c.lock()
	}
	if op.Transaction {
		early, err = c.transaction(ctx, op, r)
	} else {
		var last *mixCall
		last, err = c.calls(ctx, op, nil, r)
		early = last != nil
	}
	if op.mutex {
		c.mutex.Unlock()
	}
	return early, err
}

// limited does an operation with a context that ends after the operation's timeout. The operation
// counts as canceled if it ends with the context's error. It also counts as canceled if it ends
// with a lock error after the timeout, because some libraries report a canceled wait as a lock that
// was not granted.
func (c *mixClient) limited(ctx context.Context, op *mixOp, r int) (early bool, err error) {
	timeout := time.Duration(op.TimeoutMS) * time.Millisecond
	began := now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	early, err = c.attempt(ctx, op, r)
	if err != nil && c.mix.Retry != nil {
		early, err = c.retry(ctx, op, r, err)
	}
	if err != nil && (canceled(err) || locked(err) && now()-began >= int64(timeout)) {
		err = &driver.Error{Code: driver.CodeCanceled, Err: err}
	}
	return early, err
}

// canceled reports whether an error says that a statement was interrupted.
func canceled(err error) bool {
	return driver.PrimaryCode(err) == driver.CodeInterrupt || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// locked reports whether the code of an error is SQLITE_BUSY or SQLITE_LOCKED.
func locked(err error) bool { return driver.IsLock(driver.PrimaryCode(err)) }

// retry repeats an operation as long as it fails because of a lock, the mix's Retry has
// attempts left, and the operation's timeout has not passed.
func (c *mixClient) retry(ctx context.Context, op *mixOp, r int, err error) (early bool, _ error) {
	backoff := time.Duration(c.mix.Retry.BackoffUS) * time.Microsecond
	for range c.mix.Retry.Attempts - 1 {
		if !locked(err) {
			return false, err
		}
		began, in := now(), true
		if op.TimeoutMS == 0 {
			time.Sleep(backoff)
		} else {
			in = sleep(ctx, backoff)
		}
		c.backedOff.Add(1, now()-began)
		if !in {
			return false, err
		}
		backoff = min(2*backoff, time.Hour)
		c.retries++
		if early, err = c.attempt(ctx, op, r); err == nil {
			return early, nil
		}
	}
	return false, err
}

// sleep sleeps for d, or until ctx ends. It returns false if the deadline of ctx has passed or ctx
// has ended. ctx must have a deadline.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		deadline, _ := ctx.Deadline()
		return time.Now().Before(deadline)
	case <-ctx.Done():
		return false
	}
}

// The method "ended" counts an operation that ended with an error. It counts the operation as
// failed if the cause is a lock or the operation's timeout, and as succeeded if the operation
// declares the error as a result. It returns any other error.
func (c *mixClient) ended(op *mixOp, err error, took int64) error {
	var e *driver.Error
	switch {
	case !errors.As(err, &e):
		return err
	case locked(err), e.Code == driver.CodeCanceled:
		op.failed++
		c.errors.Add(e.Code, 1, took)
	case op.IsResult(e.Code, c.primaryOnly):
		c.results.Add(e.Code, 1, took)
	default:
		return undeclared(err)
	}
	return nil
}

// undeclared adds a hint to an error: how an operation declares this error as a result. It adds
// nothing if operations cannot declare errors with this code.
func undeclared(err error) error {
	if e, ok := errors.AsType[*driver.Error](err); ok && driver.MayBeResult(e.Code) {
		return fmt.Errorf("%w (if this error is expected, declare it in the operation: results: [%s])", err, driver.CodeName(e.Code))
	}
	return err
}

func (c *mixClient) transaction(ctx context.Context, op *mixOp, r int) (early bool, err error) {
	tx, err := op.runner.Begin(ctx)
	if err != nil {
		return false, err
	}
	last, err := c.calls(ctx, op, tx, r)
	switch {
	case err != nil:
		_ = tx.Rollback(ctx) // an error is ignored, because SQLite may already have rolled back
		return false, err
	case last != nil && last.IfEmpty == plan.EmptyRollback:
		return true, tx.Rollback(ctx)
	}
	if err := tx.Commit(ctx); err != nil {
		_ = tx.Rollback(ctx)
		return false, err
	}
	return last != nil, nil
}

// The method "calls" runs an operation's statements with row r of their parameters, within tx
// unless tx is nil. If a statement ended the operation early because it returned no rows, calls
// returns that statement.
func (c *mixClient) calls(ctx context.Context, op *mixOp, tx driver.Tx, r int) (last *mixCall, err error) {
	for i := range op.calls {
		call := &op.calls[i]
		stmt := call.stmt
		if tx != nil && !call.another {
			if stmt, err = tx.Stmt(ctx, stmt); err != nil {
				return nil, err
			}
		}
		before := c.rows
		if call.exclusive {
			c.lock()
		}
		if !call.reads {
			err = stmt.Exec(ctx, call.batch, r, r+1)
		} else if err = stmt.Query(ctx, call.batch, r, c.count); err == nil {
			err = call.check(c.rows - before)
		}
		if call.exclusive {
			c.mutex.Unlock()
		}
		if err != nil {
			return nil, err
		}
		if call.ends && c.rows == before {
			return call, nil
		}
	}
	return nil, nil
}

// check returns an error unless the number of rows is the expected one. 0 rows are also correct
// if they end the operation.
func (c *mixCall) check(rows int64) error {
	if c.want < 0 || rows == c.want || c.ends && rows == 0 {
		return nil
	}
	return c.mismatch(rows)
}

func (c *mixCall) mismatch(rows int64) error {
	return failf(protocol.CodeRows, "%s returned %d rows, expected %d", c.SQL, rows, c.Rows)
}
