package crash

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/record"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Worker is the executable of a driver.
type Worker struct {
	Ref        build.Ref
	Executable string
}

// Planned is a driver with settings whose transactions are to be recorded.
type Planned struct {
	Worker
	Settings driver.Settings
	Own      bool // the driver's own defaults are in force, as in [Cell]
}

// Explorer finds out which transactions survive which faults. With the fault Shared, a process of each of the
// Judges writes to a cell's database at the same time as the cell's driver.
type Explorer struct {
	Cells        []Planned
	Plan         *plan.Plan
	Workload     string
	Judges       []Worker // the drivers that judge states; the first also computes what databases must contain
	Faults       []Fault
	Transactions int
	Attach       []string // tables that are in an attached database
	States       int      // number of states of the disk to judge for each fault
	Seed         uint64
	Limit        time.Duration // time limit of each job
	Budget       time.Duration // how long the fault Shared is repeated for each cell; if it is 0, the fault is tried once with each judge
	Dir          string        // directory for databases
	Memory       string        // directory in memory for the states to judge; "" to use Dir instead
	Keep         string        // directory for the files of failing states; "" if they are not kept
	Note         func(format string, args ...any)

	// Unrecorded says why nothing can be recorded on this system. It is nil if recording works. If
	// it is not nil, Faults has only [LiveFaults].
	Unrecorded error

	proofs []Proof     // made by the first call of Run
	expect expectation // what the database contains after each transaction if the first judge writes it
	mu     sync.Mutex  // guards serial
	serial int
}

// recorded is a cell (a driver with settings) with its recording.
type recorded struct {
	plan   *Planned
	cell   *Cell
	rec    *record.Recording
	expect expectation // what the cell's driver writes to the database if there is no fault
}

// Run explores all cells (drivers with settings). Before that, the first call of Run lets x check
// itself with proofs. If Run returns an error, it also returns the cells that were explored before
// the error.
func (x *Explorer) Run(ctx context.Context) (*Crashes, error) {
	out := &Crashes{Workload: x.Workload, Transactions: x.Transactions, States: x.States, Seed: x.Seed, Faults: x.Faults, Attach: x.Attach}
	if x.Unrecorded != nil {
		out.Unrecorded = x.Unrecorded.Error()
	}
	for _, j := range x.Judges {
		out.Judges = append(out.Judges, j.Ref.Name)
	}
	var err error
	if x.proofs == nil {
		if err := x.learn(ctx); err != nil {
			return out, err
		}
		x.Note("proofs")
		keep, attach := x.Keep, x.Attach
		x.Keep, x.Attach = "", nil // databases of proofs are not kept for the user, because some of them must be broken; proofs attach no database
		if x.proofs, err = x.prove(ctx); err != nil {
			x.proofs = nil
			return out, err
		}
		x.Keep, x.Attach = keep, attach
	}
	out.Proofs = x.proofs
	out.Cells = make([]Cell, len(x.Cells))
	list := make([]*recorded, len(x.Cells))
	for i := range x.Cells {
		x.Note("recording %d/%d %s", i+1, len(x.Cells), x.Cells[i].name())
		if list[i], err = x.record(ctx, &x.Cells[i], &out.Cells[i]); err != nil {
			out.Cells = out.Cells[:0]
			return out, err
		}
	}
	if err := x.proveServers(ctx, list, out); err != nil {
		out.Cells = out.Cells[:0]
		return out, err
	}
	// Recordings were timed, so they ran one after another. The states of several cells are judged
	// at the same time.
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i, r := range list {
		group.Go(func() error {
			if r.cell.Reason != "" || ctx.Err() != nil {
				return context.Cause(ctx)
			}
			x.Note("%d/%d %s", i+1, len(list), x.Cells[i].name())
			if err := x.explore(ctx, r); err != nil && ctx.Err() == nil {
				r.cell.Reason = reasonOf(err).Error()
			}
			r.rec = nil // frees the recording's memory, which the next cells may need
			return context.Cause(ctx)
		})
	}
	return out, group.Wait()
}

// quiet lists settings that are left out of the names of cells.
var quiet = []string{"pool_size", "busy_timeout", "foreign_keys"}

func (p *Planned) name() string { return p.Ref.Name + ", " + settingsWords(p.Settings, p.Own, quiet) }

// directory creates a new directory in the directory "parent". The new directory is for the files of one
// recorded program, or for copies of a database as crashes would leave it.
func (x *Explorer) directory(parent string) (string, error) {
	x.mu.Lock()
	x.serial++
	dir := filepath.Join(parent, strconv.Itoa(x.serial))
	x.mu.Unlock()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return resolved(dir)
}

// resolved returns the absolute path of a directory, without symbolic links. SQLite writes such paths into
// super-journals.
func resolved(dir string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

// databaseName is the name of the database file in each directory.
const databaseName = "test.db"

func (x *Explorer) request(p *Planned, dir string, job protocol.Job) lab.JobRequest {
	return lab.JobRequest{Job: job, Path: filepath.Join(dir, databaseName), Settings: p.Settings, Seed: x.Seed, Ref: p.Ref, Limit: x.Limit, Mark: dir}
}

func (x *Explorer) commit() *protocol.Commit {
	return &protocol.Commit{Plan: x.Plan, Transactions: x.Transactions, Attempts: 3, Attach: x.Attach}
}

// learn lets the first judge run the transactions, to compute what the database must contain after each of
// them.
func (x *Explorer) learn(ctx context.Context) error {
	p := &Planned{Worker: x.Judges[0], Settings: driver.Settings{"pool_size": "1", "synchronous": "off"}}
	done, err := x.plainly(ctx, p, &Cell{})
	if told, ok := errors.AsType[*lab.JobError](err); ok && told.Reason.Code == protocol.CodeUnsupported {
		return &WorkloadError{told.Reason.Message}
	} else if err != nil {
		return reasonOf(err)
	}
	x.expect = done.Digests
	x.Transactions = min(x.Transactions, done.Acknowledged)
	return nil
}

// WorkloadError says why a workload cannot be explored.
type WorkloadError struct{ why string }

func (e *WorkloadError) Error() string { return e.why }

// reasonOf returns the error of a job with its details. It returns other errors unchanged.
func reasonOf(err error) error {
	if told, ok := errors.AsType[*lab.JobError](err); ok {
		return errors.New(told.Reason.Message + conditions.Said(&told.Reason))
	}
	return err
}

// record measures a cell's transactions, and then records them. If measuring or recording fails, it
// writes the reason to the cell. It returns an error only if ctx has ended.
func (x *Explorer) record(ctx context.Context, p *Planned, c *Cell) (*recorded, error) {
	*c = Cell{Driver: p.Ref.Name, Settings: p.Settings, Own: p.Own, Attached: len(x.Attach) > 0, Results: map[Fault]*Outcome{}}
	r := &recorded{plan: p, cell: c}
	plain, err := x.plainly(ctx, p, c)
	if err == nil {
		r.expect = plain.Digests
		c.Differs = firstDifference(plain.Digests, x.expect)
		c.CommitNS = median(plain.CommitNS)
		if x.Unrecorded == nil {
			err = x.recordCell(ctx, r)
		} else if p.server() {
			err = x.Unrecorded // the proof for servers needs a recording
		}
	}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if err != nil {
		c.Reason = reasonOf(err).Error()
	}
	return r, nil
}

// recordCell records the transactions of a cell. They must have been measured already.
func (x *Explorer) recordCell(ctx context.Context, r *recorded) error {
	rec, done, err := x.recording(ctx, r.plan, x.commit(), nil)
	if err != nil {
		return err
	}
	r.rec, r.cell.Cost = rec, rec.Cost()
	r.cell.Recorded.Operations = len(rec.Ops)
	if t := r.cell.CommitNS; t > 0 {
		r.cell.Recorded.Slower = float64(median(done.CommitNS)) / float64(t)
	}
	return nil
}

// firstDifference returns the first transaction after which two databases differ, or 0 if they do not.
func firstDifference(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return max(i, 1)
		}
	}
	return 0
}

// plainly commits a cell's transactions without recording them. It also learns what the database
// contains after each transaction.
func (x *Explorer) plainly(ctx context.Context, p *Planned, c *Cell) (*protocol.Committed, error) {
	dir, err := x.directory(x.Dir)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	job := x.commit()
	job.Digests, job.Transactions = true, max(x.Transactions, liveTransactions)
	req := x.request(p, dir, protocol.Job{Commit: job})
	req.Ready = func(proof *protocol.Proof) {
		c.Module = proof.Module
		c.ModuleVersion, c.SQLiteVersion = cmp.Or(proof.ModuleVersion, proof.Runtime), proof.SQLiteVersion
		c.InForce = driver.Settings{}
		for _, name := range p.decisive() {
			c.InForce[name] = proof.Connections[0][name]
		}
	}
	res, err := lab.RunJob(ctx, p.Executable, req, nil)
	if err != nil {
		return nil, err
	}
	if f := res.Commit.Failures; len(f) > 0 {
		return nil, fmt.Errorf("transaction %d of workload %s fails without a fault: %s", f[0].Transaction, x.Workload, f[0].Message)
	}
	return res.Commit, nil
}

// recording runs transactions under the recorder.
func (x *Explorer) recording(ctx context.Context, p *Planned, job *protocol.Commit, fault *record.Fault) (*record.Recording, *protocol.Committed, error) {
	dir, err := x.directory(x.Dir)
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	rec, err := record.New(record.Options{Dir: dir, Fault: fault, Acknowledged: acknowledged})
	if err != nil {
		return nil, nil, err
	}
	defer rec.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var out *record.Recording
	var recorder errgroup.Group
	recorder.Go(func() (err error) {
		if out, err = rec.Run(); err != nil {
			cancel() // end the program, because nothing answers its calls any more
		}
		return err
	})
	req := x.request(p, dir, protocol.Job{Commit: job})
	req.Through = rec.Through
	res, jobErr := lab.RunJob(ctx, p.Executable, req, nil)
	if jobErr != nil {
		rec.Close()
	}
	if err := recorder.Wait(); err != nil {
		return nil, nil, err
	}
	if jobErr != nil && fault == nil {
		return nil, nil, jobErr
	}
	out.Dir = dir
	d := disk.New(disk.Kill)
	for i := range out.Ops {
		if err := d.Apply(i, &out.Ops[i]); err != nil {
			return nil, nil, err
		}
	}
	if what, err := d.Differs(dir); err != nil || what != "" {
		return nil, nil, cmp.Or(err, fmt.Errorf("the recording is incomplete: %s", what))
	}
	if res == nil || res.Commit == nil {
		return out, &protocol.Committed{}, nil // the job failed because of the fault
	}
	return out, res.Commit, nil
}

// acknowledged returns the number of the transaction that a line of a worker's output acknowledges.
func acknowledged(line []byte) (int, bool) {
	var a protocol.Response
	if json.Unmarshal(line, &a) != nil || a.Type != protocol.TypeProgress || a.Progress == nil || a.Progress.Stage != protocol.StageCommit {
		return 0, false
	}
	return int(a.Progress.Rows), true
}

// explore judges the states of a cell after each kind of fault.
func (x *Explorer) explore(ctx context.Context, r *recorded) error {
	faults := r.plan.faults(x.Faults)
	if len(faults) == 0 {
		return errors.New("a server is explored only after the faults kill, ordered and posix")
	}
	for _, f := range faults {
		var o *Outcome
		var err error
		switch f {
		case Errors:
			o, err = x.failing(ctx, r)
		case Shared:
			o, err = x.shared(ctx, r)
		case Cancel:
			o = &Outcome{}
			err = x.live(ctx, r, nil, x.Seed, o)
		default:
			o = &Outcome{}
			if r.rec != nil { // if nothing was recorded, f is Kill, and only the real kills below are judged
				o, err = x.judge(ctx, r, disk.Options{Model: disk.Model(f), Seed: x.Seed, Most: r.plan.states(x.States)})
			}
			if f == Kill && err == nil {
				err = x.killed(ctx, r, o)
			}
		}
		if err != nil {
			return err
		}
		r.cell.Results[f] = o
	}
	return nil
}

// failing runs the transactions again, each time with a fault that is injected into a call. Then it
// judges what is left if the process is killed, and if the power fails.
func (x *Explorer) failing(ctx context.Context, r *recorded) (*Outcome, error) {
	out := &Outcome{}
	list := x.gather(ctx, r, out)
	for _, f := range faultsFor(&r.rec.Trace, rand.New(rand.NewPCG(x.Seed, 2))) {
		rec, done, err := x.recording(ctx, r.plan, x.commit(), &f)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			return out, fmt.Errorf("%v: %w", &f, reasonOf(err))
		}
		out.Runs++
		out.Refused += len(done.Failures)
		for _, m := range []disk.Model{disk.Kill, disk.Ordered} {
			o := disk.Options{Model: m, Seed: x.Seed, Most: statesAfterErrors, From: rec.InjectedAt}
			err := disk.States(&rec.Trace, o, func(s *disk.State) error {
				return list.add(candidate{State: s, dir: rec.Dir, trace: &rec.Trace, fault: Errors, model: m, injected: &f})
			})
			if err != nil {
				return out, err
			}
		}
	}
	return out, list.finish()
}

// statesAfterErrors is how many states of the disk are judged for each failed call and model.
const statesAfterErrors = 8

// mostFailures is how many failing states an outcome describes.
const mostFailures = 3
