package job

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func (c cluster) mayWrite(ctx context.Context, r driver.Runner) error {
	return mustBeNew(ctx, r, "a cluster is measured on a new one")
}

const clusterTable = "sqlite3perf_cluster"

// body is the value of the column "body" in each row.
const body = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// writing is a running job of the kind "cluster".
type writing struct {
	cluster
	*Database
	members []driver.Member // the cluster's members; if the database is not a cluster, a single member without a name
	next    atomic.Int64    // the greatest ID that any client has given to a row so far
}

func (c cluster) run(ctx context.Context, d *Database, tell func(protocol.Progress), r *protocol.JobResult) error {
	if err := c.mayWrite(ctx, d.DB); err != nil {
		return err
	}
	w := &writing{cluster: c, Database: d, members: []driver.Member{{}}}
	nodes, several := d.DB.(driver.ClusterDB)
	if several {
		w.members = nodes.Members()
	}
	if c.Harm != nil && !several {
		return errorf(protocol.CodeUsage, "its database is not a cluster, so there is no member to kill or cut off")
	}
	if err := d.DB.Script(ctx, "CREATE TABLE "+clusterTable+"(id INTEGER PRIMARY KEY, body TEXT NOT NULL)"); err != nil {
		return err
	}
	out := &protocol.Clustered{}
	for _, l := range c.Loads {
		tell(protocol.Progress{Stage: "cluster", Rows: out.Rows})
		one, rows, err := w.load(ctx, l)
		if err != nil {
			return err
		}
		out.Loads, out.Rows = append(out.Loads, *one), out.Rows+rows
	}
	if c.Harm != nil {
		h := &harming{writing: w, nodes: nodes, tell: tell}
		harmed, err := h.run(ctx)
		if err != nil {
			return err
		}
		out.Harmed, out.Rows = harmed, out.Rows+harmed.Acknowledged
	}
	for _, m := range w.members {
		disk := size(m.Dir)
		if !several {
			disk = sizeOfFiles(d.Path)
		}
		out.Members = append(out.Members, protocol.ClusterMember{ID: m.ID, Address: m.Address, DelayNS: int64(m.Delay), Version: m.Version, DiskBytes: disk})
		out.DiskBytes += disk
	}
	out.PeakRSSBytes = d.PeakRSS(several)
	r.Cluster = out
	return nil
}

// size returns the size of the files below a directory. It skips files that disappear.
func size(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if i, err := e.Info(); err == nil {
				sum += i.Size()
			}
		}
		return nil
	})
	return sum
}

// sizeOfFiles returns the size of a database with its journal and WAL.
func sizeOfFiles(path string) (sum int64) {
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if i, err := os.Stat(path + suffix); err == nil {
			sum += i.Size()
		}
	}
	return sum
}

// load puts the database under the load l twice. It polls the members for new rows only the
// second time, because polling takes CPU time.
func (w *writing) load(ctx context.Context, l protocol.ClusterLoad) (*protocol.LoadResult, int64, error) {
	acknowledged, err := w.write(ctx, l, nil)
	if err != nil {
		return nil, 0, err
	}
	visible := latency.New()
	second, err := w.write(ctx, l, visible)
	if err != nil {
		return nil, 0, err
	}
	r := &protocol.LoadResult{
		ClusterLoad: l, WallNS: acknowledged.wall, Failed: acknowledged.failed, CPUNS: acknowledged.cpu, MemberCPUNS: acknowledged.members,
		Acknowledged: acknowledged.hist.Summary("acknowledged"), Visible: visible.Summary("visible"),
	}
	if acknowledged.err != nil {
		r.Error = acknowledged.err.Error()
	}
	return r, (acknowledged.hist.Count() + second.hist.Count()) * int64(l.Batch), nil
}

// written has the measurements of clients that wrote. The field "wall" is the elapsed time. The
// field "cpu" is the CPU time of all processes, and "members" is the part of it that the cluster's
// members used. All three are in ns.
type written struct {
	wall, cpu, members int64
	failed             int64
	err                error // the error of the first write that failed
	hist               *latency.Histogram
}

// write runs clients that write for DurationMS. If the histogram "visible" is not nil, the first client
// waits after each write until every member shows the row. For each such write it records in "visible"
// the time from the beginning of the write to the end of the wait.
func (w *writing) write(ctx context.Context, l protocol.ClusterLoad, visible *latency.Histogram) (*written, error) {
	sum := &written{hist: latency.New()}
	var mu sync.Mutex
	var wg sync.WaitGroup
	own, members := w.CPU()
	begin := time.Now()
	end := begin.Add(time.Duration(w.DurationMS) * time.Millisecond)
	var broken error
	for i := range l.Clients {
		wg.Go(func() {
			seen := visible
			if i > 0 {
				seen = nil
			}
			one, err := w.client(ctx, l.Batch, end, seen)
			mu.Lock()
			defer mu.Unlock()
			broken = errors.Join(broken, err)
			if err == nil {
				sum.hist.Merge(one.hist)
				sum.failed += one.failed
				if sum.err == nil {
					sum.err = one.err
				}
			}
		})
	}
	wg.Wait()
	sum.wall = int64(time.Since(begin))
	own2, members2 := w.CPU()
	sum.members = max(members2-members, 0) // "members2" may be less than "members", because it lacks the processes that have ended
	sum.cpu = max(own2-own, 0) + sum.members
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case broken != nil:
		return nil, broken
	case sum.hist.Count() == 0 && sum.err != nil:
		return nil, errorf(protocol.CodeNoOperation, "no write was acknowledged: %w", sum.err)
	case visible != nil && visible.Count() == 0:
		return nil, errorf(protocol.CodeNoOperation, "no write of the first client was acknowledged")
	}
	return sum, nil
}

// client writes until the time in the parameter "end", but at least once.
func (w *writing) client(ctx context.Context, batch int, end time.Time, visible *latency.Histogram) (_ *written, err error) {
	st := driver.Statement{SQL: "INSERT INTO " + clusterTable + "(id, body) VALUES (?, ?)" + strings.Repeat(", (?, ?)", batch-1)}
	b := &driver.Batch{PerExec: batch, Columns: []driver.Column{{Type: driver.Int, Ints: make([]int64, batch)}, {Type: driver.Text, Data: []byte(body)}}}
	for range batch {
		st.Params = append(st.Params, driver.Int, driver.Text)
		b.Columns[1].Spans = append(b.Columns[1].Spans, driver.Span{Len: uint32(len(body))})
	}
	stmt, err := w.DB.Prepare(ctx, st)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	out := &written{hist: latency.New()}
	for first := true; ctx.Err() == nil && (first || time.Now().Before(end)); first = false {
		last := w.next.Add(int64(batch))
		for i := range batch {
			b.Columns[0].Ints[i] = last - int64(batch-1-i)
		}
		b.Ready = nil
		begin := time.Now()
		limited, cancel := context.WithTimeout(ctx, w.within())
		err := stmt.Exec(limited, b, 0, batch)
		endless := limited.Err() != nil && ctx.Err() == nil
		cancel()
		if err != nil && endless {
			return nil, errorf(protocol.CodeEndless, "no write was acknowledged within %v%s", w.within(), w.silent(ctx))
		}
		if err != nil {
			out.failed++
			if out.err == nil {
				out.err = err
			}
			pause(ctx, retryAfter)
			continue
		}
		out.hist.Record(int64(time.Since(begin)))
		if visible != nil {
			if err := w.await(ctx, last); err != nil {
				return nil, err
			}
			visible.Record(int64(time.Since(begin)))
		}
	}
	return out, ctx.Err()
}

// retryAfter is how long a client waits after a write that failed.
const retryAfter = 5 * time.Millisecond

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// The method "within" returns the time limit of a write. After the write, the same limit applies to
// the wait until every member shows the row.
func (c cluster) within() time.Duration {
	if c.Patience == 0 {
		return time.Minute
	}
	return time.Duration(c.Patience) * time.Millisecond
}

// answersWithin is how long a member may take to answer before it counts as stopped.
const answersWithin = 2 * time.Second

// silent returns the end of an error message that names the members that do not answer, or ""
// if all answer.
func (w *writing) silent(ctx context.Context) string {
	errs := w.atAll(func(member int) error {
		limited, cancel := context.WithTimeout(ctx, answersWithin)
		defer cancel()
		_, err := w.ints(limited, member, driver.ReadLevels[0], selectID, 0)
		return err
	})
	var list []string
	for i, m := range w.members {
		if errs[i] != nil && m.ID != "" {
			list = append(list, m.ID+" at "+m.Address)
		}
	}
	if list == nil {
		return ""
	}
	return ": node " + strings.Join(list, ", and node ") + " answers nothing: is it stopped?"
}

// await waits until a row is visible at every member.
func (w *writing) await(ctx context.Context, id int64) error {
	limited, cancel := context.WithTimeout(ctx, w.within())
	defer cancel()
	errs := w.atAll(func(member int) (err error) {
		for limited.Err() == nil {
			var list []int64
			if list, err = w.ints(limited, member, driver.ReadLevels[0], selectID, id); len(list) > 0 {
				return err
			}
		}
		return errors.Join(limited.Err(), err)
	})
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		return errorf(protocol.CodeEndless, "row %d was acknowledged, but is not visible at every member after %v%s: %w", id, w.within(), w.silent(ctx), err)
	}
	return ctx.Err()
}

// atAll runs f for all members at once and returns the error of each member.
func (w *writing) atAll(f func(member int) error) []error {
	errs := make([]error, len(w.members))
	var all sync.WaitGroup
	for i := range w.members {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errs
}

const selectID = "SELECT id FROM " + clusterTable + " WHERE id = ?"

// ints runs a query at a member, with the SQL parameter "id", and returns the first column of its
// rows.
func (w *writing) ints(ctx context.Context, member int, level, sql string, id int64) (list []int64, err error) {
	if nodes, ok := w.DB.(driver.ClusterDB); ok {
		return nodes.IntsAt(ctx, member, level, sql, id)
	}
	stmt, err := w.DB.Prepare(ctx, driver.Statement{SQL: sql, Params: []driver.Type{driver.Int}, Columns: []driver.ColumnType{{Type: driver.Int}}})
	if err != nil {
		return nil, err
	}
	b := integers(id)
	list, err = read(ctx, stmt, &b)
	return list, errors.Join(err, stmt.Close())
}
