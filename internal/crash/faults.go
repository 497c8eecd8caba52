package crash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/record"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// faultsFor returns the faults to inject: into one call of each class on each kind of file, at random,
// an I/O error; into writes also a full disk, with and without a short write; and a sync that fails from
// then on.
func faultsFor(t *trace.Trace, random *rand.Rand) (list []record.Fault) {
	counts := map[record.Fault]int{}
	began := false
	for i := range t.Ops {
		o := &t.Ops[i]
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

// liveTransactions is how many transactions the faults [Shared] and [Cancel] run. Their timing is
// left to chance, so they run more transactions than are recorded.
const liveTransactions = 150

// live commits a cell's transactions without recording them, and judges what is left. change changes the
// job. with is called with the database's directory. It returns a function that live calls after
// transaction 0, and one that live calls at the end, which returns how many rows another process has
// inserted, at least and at most; nil: there was no other process.
func (x *Explorer) live(ctx context.Context, r *recorded, f Fault, change func(*protocol.Commit), with func(dir string) (started func(), end func() ([]int64, error))) (*Outcome, error) {
	dir, err := x.directory()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	job := x.commit()
	job.Transactions, job.Attempts = min(liveTransactions, len(r.expect.digests)-1), 20
	change(job)
	req := x.request(r.plan, dir, protocol.Job{Commit: job})
	if f == Shared && req.Settings["busy_timeout"] == "" {
		req.Settings = req.Settings.With(driver.Settings{"busy_timeout": "10000"}) // to wait for the other process is no fault
	}
	started, end := with(dir)
	acknowledged := 0
	req.Progress = func(p *protocol.Progress) {
		if p.Stage != protocol.StageCommit {
			return
		}
		if acknowledged = int(p.Rows); acknowledged == 0 {
			started()
		}
	}
	res, err := lab.RunJob(ctx, r.plan.Executable, req, nil)
	others, otherErr := end()
	out := &Outcome{Runs: 1}
	told, failed := errors.AsType[*lab.JobError](err)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case otherErr != nil:
		return nil, fmt.Errorf("%s: the other process: %w", f, reasonOf(otherErr))
	case failed:
		out.Trouble = told.Reason.Message
	case err != nil:
		return nil, err
	default:
		out.Refused = len(res.Commit.Failures)
		if d := res.Commit.Disturbed; len(d) > 0 {
			out.Trouble = fmt.Sprintf("after transaction %d was canceled, %s", d[0].Transaction, d[0].Message)
		}
		if res.Commit.GaveUp {
			out.Trouble = "a transaction failed in all attempts: " + res.Commit.Failures[len(res.Commit.Failures)-1].Message
		}
	}
	if others != nil {
		out.Others = others[0]
	}
	image, err := imageOf(dir)
	if err != nil {
		return nil, err
	}
	c := candidate{State: &disk.State{Image: image, Acknowledged: acknowledged, Persisted: "everything"}, fault: f, others: others}
	return out, x.judgeBatch(ctx, r, []candidate{c}, out)
}

// canceling commits transactions whose contexts end at random times.
func (x *Explorer) canceling(ctx context.Context, r *recorded) (*Outcome, error) {
	return x.live(ctx, r, Cancel, func(c *protocol.Commit) { c.CancelNS = max(2*r.cell.CommitNS, 1000) },
		func(string) (func(), func() ([]int64, error)) {
			return func() {}, func() ([]int64, error) { return nil, nil }
		})
}

// sharing commits transactions while a process of another driver writes to the same database, and
// checkpoints it. The other driver is the first judge that is not the cell's own.
func (x *Explorer) sharing(ctx context.Context, r *recorded) (*Outcome, error) {
	other := x.Judges[0]
	for _, j := range x.Judges {
		if j.Ref.Name != r.plan.Ref.Name {
			other = j
			break
		}
	}
	type ended struct {
		res *protocol.JobResult
		err error
	}
	with := func(dir string) (func(), func() ([]int64, error)) {
		stop, done := make(chan struct{}), make(chan ended, 1)
		running := false
		started := func() {
			running = true
			p := &Planned{Worker: other, Settings: driver.Settings{"pool_size": "3", "busy_timeout": "10000"}}
			req := x.request(p, dir, protocol.Job{Concurrent: &protocol.Concurrent{Table: protocol.OthersTable, Writers: 1, From: 1,
				DurationMS: max(x.Limit, time.Second).Milliseconds(), Clear: true, Force: true, Own: true, Checkpoints: true}})
			req.Mark = "" // processes with the same mark end together
			go func() {
				res, err := lab.RunJob(ctx, p.Executable, req, stop)
				done <- ended{res, err}
			}()
		}
		return started, func() ([]int64, error) {
			close(stop)
			if !running {
				return nil, nil
			}
			e := <-done
			if e.err != nil || e.res.Concurrent == nil {
				return nil, e.err
			}
			w := e.res.Concurrent.Writers
			return []int64{w.Rows, w.Operations}, nil
		}
	}
	return x.live(ctx, r, Shared, func(c *protocol.Commit) { c.AwaitOthers = true }, with)
}

// imageOf reads the files of a directory.
func imageOf(dir string) (disk.Image, error) {
	image := disk.Image{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || e.Name() == artifactFile {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		image[rel], err = os.ReadFile(path)
		return err
	})
	return image, err
}
