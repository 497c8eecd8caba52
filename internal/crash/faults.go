package crash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/record"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// faultsFor returns the faults to inject. For each class of calls and each kind of file, a random
// call fails with an I/O error. Writes also fail because the disk is full: once after a short
// write, and once together with all later writes. Syncs also fail once together with all later
// syncs.
func faultsFor(t *trace.Trace, random *rand.Rand) (list []record.Fault) {
	counts := map[record.Fault]int{}
	began := false
	for _, o := range t.Ops {
		began = began || o.Kind == trace.Acknowledge
		class, ok := map[trace.Kind]record.Class{trace.Write: record.Writes, trace.Sync: record.Syncs, trace.Truncate: record.Truncates, trace.Remove: record.Removes}[o.Kind]
		if kind := trace.FileKind(o.Name); began && ok && (kind == "database" || kind == "journal" || kind == "wal") {
			counts[record.Fault{Class: class, File: kind}]++
		}
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b record.Fault) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.File, b.File))
	})
	for _, k := range keys {
		one := func(error string, lasting, short bool) {
			list = append(list, record.Fault{Class: k.Class, File: k.File, At: 1 + random.IntN(counts[k]), Error: error, Lasting: lasting, Short: short})
		}
		one(record.EIO, false, false)
		switch k.Class {
		case record.Writes:
			one(record.ENOSPC, false, true)
			one(record.ENOSPC, true, false)
		case record.Syncs:
			one(record.EIO, true, false)
		}
	}
	return list
}

// liveTransactions is how many transactions are run without a recording, for faults at random times. Such
// faults need more transactions than faults in a recording.
const liveTransactions = 150

func liveTransactionsOf(r *recorded) int { return min(liveTransactions, len(r.expect)-1) }

// The method "while" returns a time in nanoseconds within which a transaction most likely ends.
func (c *Cell) while() int64 { return max(2*c.CommitNS, 1000) }

// shared runs a cell's transactions once for each judge, while a process of the judge writes to the
// same database.
func (x *Explorer) shared(ctx context.Context, r *recorded) (*Outcome, error) {
	out := &Outcome{}
	return out, x.repeat(func(seed uint64) error {
		for i := range x.Judges {
			if err := x.live(ctx, r, &x.Judges[i], seed, out); err != nil {
				return err
			}
		}
		return nil
	})
}

// repeat calls the function "one" with the seed x.Seed, and then with further seeds until the time
// x.Budget is over.
func (x *Explorer) repeat(one func(seed uint64) error) error {
	began := time.Now()
	for seed := x.Seed; ; seed++ {
		if err := one(seed); err != nil || time.Since(began) >= x.Budget {
			return err
		}
	}
}

// live commits a cell's transactions without recording them, and judges what is left. At the same time, a
// process of the worker "beside" writes to the database. If there is no such worker (nil), the contexts of
// the transactions end at random times instead.
func (x *Explorer) live(ctx context.Context, r *recorded, beside *Worker, seed uint64, out *Outcome) error {
	dir, err := x.directory(x.Dir)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	job := x.commit()
	job.Transactions, job.Attempts = liveTransactionsOf(r), 20
	req := x.request(r.plan, dir, protocol.Job{Commit: job})
	c := candidate{dir: dir, fault: Cancel}
	var other *otherProcess
	if beside == nil {
		job.CancelNS = r.cell.while()
	} else {
		c.fault, c.when = Shared, "at the end, beside "+beside.Ref.Name
		job.AwaitOthers = true
		if req.Settings["busy_timeout"] == "" {
			req.Settings = req.Settings.With(driver.Settings{"busy_timeout": "10000"}) // waiting for the other process is not a fault
		}
		other = x.other(r, *beside, dir, seed)
	}
	acknowledged := 0
	together, cancel := context.WithCancel(ctx)
	defer cancel()
	req.Progress = func(p *protocol.Progress) {
		if p.Stage != protocol.StageCommit {
			return
		}
		if acknowledged = int(p.Rows); acknowledged == 0 && other != nil {
			other.start(together, cancel)
		}
	}
	res, err := lab.RunJob(together, r.plan.Executable, req, nil)
	others, otherErr := other.end()
	told, failed := errors.AsType[*lab.JobError](err)
	var wrong string
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case otherErr != nil:
		return fmt.Errorf("%s: the other process, of %s: %w", c.fault, beside.Ref.Name, reasonOf(otherErr))
	case failed:
		wrong = told.Reason.Message
	case err != nil:
		return err
	default:
		out.Refused += len(res.Commit.Failures)
		wrong = trouble(res.Commit)
	}
	out.Runs++
	if wrong != "" && beside != nil {
		wrong = "beside " + beside.Ref.Name + ", " + wrong
	}
	out.Trouble = cmp.Or(out.Trouble, wrong)
	if others != nil {
		out.Others += others[0]
	}
	image, err := disk.Read(dir)
	if err != nil {
		return err
	}
	c.State, c.others = &disk.State{Image: image, Acknowledged: acknowledged, Persisted: "everything"}, others
	return x.judgeBatch(ctx, r, []candidate{c}, out)
}

// trouble says what went wrong besides lost or damaged data. It returns "" if nothing else went wrong.
func trouble(c *protocol.Committed) string {
	switch {
	case c.GaveUp:
		return "a transaction failed in all attempts: " + c.Failures[len(c.Failures)-1].Message
	case len(c.Disturbed) > 0:
		return fmt.Sprintf("after transaction %d was canceled, %s", c.Disturbed[0].Transaction, c.Disturbed[0].Message)
	}
	return ""
}

// otherProcess writes to the database of a cell and checkpoints it, while the cell's transactions run.
type otherProcess struct {
	executable string
	request    lab.JobRequest
	stop       chan struct{}
	running    errgroup.Group      // empty if the process was not started
	result     *protocol.JobResult // set when the process has ended
}

// The method "other" prepares a process of the worker w, which is to write to the cell's database in dir
// while the cell's driver writes to it. The process uses the journal mode of the cell.
func (x *Explorer) other(r *recorded, w Worker, dir string, seed uint64) *otherProcess {
	p := &Planned{Worker: w, Settings: driver.Settings{"pool_size": "3", "busy_timeout": "10000", "journal_mode": r.cell.InForce["journal_mode"]}}
	req := x.request(p, dir, protocol.Job{Concurrent: &protocol.Concurrent{Table: protocol.OthersTable, Writers: 1, From: 1,
		DurationMS: max(x.Limit, time.Second).Milliseconds(), Clear: true, Force: true, Own: true, Checkpoints: true}})
	req.Seed = seed
	req.Mark = "" // the process gets a new mark, because all processes with the same mark are killed together
	return &otherProcess{executable: w.Executable, request: req, stop: make(chan struct{})}
}

// start starts the process. If the process fails, the function "failed" is called.
func (o *otherProcess) start(ctx context.Context, failed func()) {
	o.running.Go(func() (err error) {
		if o.result, err = lab.RunJob(ctx, o.executable, o.request, o.stop); err != nil {
			failed()
		}
		return err
	})
}

// end stops the process. It returns the least and the greatest number of rows that the process can
// have inserted. It returns nil if the process was not started, or if o is nil.
func (o *otherProcess) end() ([]int64, error) {
	if o == nil {
		return nil, nil
	}
	close(o.stop)
	if err := o.running.Wait(); err != nil || o.result == nil || o.result.Concurrent == nil {
		return nil, err
	}
	w := o.result.Concurrent.Writers
	return []int64{w.Rows, w.Operations}, nil
}
