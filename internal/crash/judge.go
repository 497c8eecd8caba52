package crash

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/record"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// A process of a judge (a driver) examines at most "batch" states of the disk. It examines fewer if
// their files have batchBytes or more.
const batch, batchBytes = 64, 32 << 20

// gathered collects states of the disk, and has them judged as soon as there are enough for a
// batch.
type gathered struct {
	judge func([]candidate) error
	list  []candidate
	bytes int
}

func (x *Explorer) gather(ctx context.Context, r *recorded, out *Outcome) *gathered {
	return &gathered{judge: func(list []candidate) error { return x.judgeBatch(ctx, r, list, out) }}
}

func (g *gathered) add(c candidate) error {
	g.list = append(g.list, c)
	for _, content := range c.Image {
		g.bytes += len(content)
	}
	if len(g.list) < batch && g.bytes < batchBytes {
		return nil
	}
	return g.finish()
}

// finish judges the states that were gathered.
func (g *gathered) finish() error {
	err := g.judge(g.list)
	g.list, g.bytes = nil, 0
	return err
}

// candidate is a state of the disk after a fault, which the judges will examine.
type candidate struct {
	*disk.State
	dir      string       // directory in which the files were written
	trace    *trace.Trace // nil if nothing was recorded
	fault    Fault
	model    disk.Model
	injected *record.Fault // nil if no call was made to fail
	others   []int64       // least and greatest number of rows that another process can have inserted; nil if there was no other process
	when     string        // says when the fault was; if it is "", the trace says when
}

// judge makes the states of the disk that follow from a recording, and judges them.
func (x *Explorer) judge(ctx context.Context, r *recorded, o disk.Options) (*Outcome, error) {
	out := &Outcome{}
	list, n := x.gather(ctx, r, out), 0
	err := disk.States(&r.rec.Trace, o, func(s *disk.State) error {
		if n++; n%2 == 0 && o.Model != disk.Kill && len(s.Shared) > 0 {
			maps.Copy(s.Image, s.Shared)
			s.Persisted += " and the old shared memory"
		}
		return list.add(candidate{State: s, dir: r.rec.Dir, trace: &r.rec.Trace, fault: Fault(o.Model), model: o.Model})
	})
	if err == nil {
		err = list.finish()
	}
	return out, err
}

// judgeBatch lets the driver that wrote the files judge the states, and then lets the judges judge them. It
// adds their findings to the parameter "out".
func (x *Explorer) judgeBatch(ctx context.Context, r *recorded, list []candidate, out *Outcome) error {
	if len(list) == 0 {
		return nil
	}
	began := time.Now()
	judges := []Planned{{Worker: r.plan.Worker, Settings: r.plan.judging()}}
	for _, j := range x.Judges {
		if j.Ref.Name != r.plan.Ref.Name && !r.plan.server() {
			judges = append(judges, Planned{Worker: j, Settings: driver.Settings{"pool_size": "1"}})
		}
	}
	worst := make([]Failure, len(list))
	for i := range worst {
		worst[i].Grade = Kept
	}
	for k := range judges {
		states, err := x.opened(ctx, &judges[k], list)
		if err != nil {
			return err
		}
		for i, s := range states {
			c := &list[i]
			g, why := r.expect.grade(c.Acknowledged, c.others, &s)
			if g.rank() <= worst[i].Grade.rank() {
				continue
			}
			worst[i] = Failure{Grade: g, Judge: judges[k].Ref.Name, Why: why, Fault: c.fault, Model: c.model, Injected: c.injected, Boundary: c.Boundary,
				Operation: cmp.Or(c.when, operation(c.trace, c.Boundary)), Persisted: c.Persisted, Acknowledged: c.Acknowledged, Found: s.Transaction}
		}
	}
	for i := range worst {
		if err := x.count(r, out, &list[i], &worst[i]); err != nil {
			return err
		}
	}
	r.cell.Recorded.JudgedNS += time.Since(began).Nanoseconds()
	r.cell.Recorded.Judgments += len(list)
	return nil
}

// count adds a judged state to an outcome.
func (x *Explorer) count(r *recorded, out *Outcome, c *candidate, f *Failure) error {
	out.States++
	switch f.Grade {
	case Kept:
		return nil
	case Lost:
		out.Lost++
		lost := f.Acknowledged - max(int(f.Found), 0) // if Found is -1, not even transaction 0 is there
		out.MostLost = max(out.MostLost, lost, 1)
	case Broken:
		out.Broken++
	}
	if len(out.Failing) == mostFailures && f.Grade.rank() <= out.Failing[mostFailures-1].Grade.rank() {
		return nil
	}
	if err := x.keep(r, c, f); err != nil {
		return err
	}
	out.Failing = append(out.Failing, *f)
	slices.SortStableFunc(out.Failing, func(a, b Failure) int {
		return cmp.Or(b.Grade.rank()-a.Grade.rank(), b.Acknowledged-int(b.Found)-(a.Acknowledged-int(a.Found)))
	})
	out.Failing = out.Failing[:min(len(out.Failing), mostFailures)]
	return nil
}

// opened lets a judge open a copy of each state. If the judge's process dies while it judges a state,
// the error of the process becomes the error of the state.
func (x *Explorer) opened(ctx context.Context, p *Planned, list []candidate) ([]protocol.JudgedState, error) {
	dir, err := x.directory(cmp.Or(x.Memory, x.Dir))
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	job := &protocol.Judge{Attached: len(x.Attach) > 0}
	for i, s := range list {
		sub := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(sub, 0o700); err != nil {
			return nil, err
		}
		if err := s.Image.Moved(s.dir, sub).Write(sub); err != nil {
			return nil, err
		}
		job.Paths = append(job.Paths, filepath.Join(sub, databaseName))
	}
	req := x.request(p, dir, protocol.Job{Judge: job})
	req.Settings = req.Settings.With(driver.Settings{"synchronous": "off"}) // the state already says what the disk holds, so syncs would only take time
	res, err := lab.RunJob(ctx, p.Executable, req, nil)
	told, isJob := errors.AsType[*lab.JobError](err)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil && len(res.Judge) == len(list):
		return res.Judge, nil
	case !isJob:
		return nil, fmt.Errorf("%s: %w", p.Ref.Name, err)
	case told.Reason.Code != protocol.CodeCrash && told.Reason.Code != protocol.CodeTimeout:
		return nil, fmt.Errorf("%s, judging: %w", p.Ref.Name, reasonOf(err))
	case len(list) == 1:
		return []protocol.JudgedState{{Error: told.Reason.Message, Transaction: -1}}, nil
	}
	half := len(list) / 2
	first, err := x.opened(ctx, p, list[:half])
	if err != nil {
		return nil, err
	}
	second, err := x.opened(ctx, p, list[half:])
	return append(first, second...), err
}

// operation says in words when a fault happened: before an operation, or at the end.
func operation(t *trace.Trace, n int) string {
	if t == nil || n >= len(t.Ops) {
		return "at the end"
	}
	return "before the " + operationName(&t.Ops[n])
}

func operationName(o *trace.Op) string {
	switch o.Kind {
	case trace.Write:
		return fmt.Sprintf("write of %d bytes to %s at %d", len(o.Data), o.Name, o.Offset)
	case trace.Truncate:
		return fmt.Sprintf("truncation of %s to %d bytes", o.Name, o.Size)
	case trace.Sync:
		return o.Call + " of " + o.Name
	case trace.SyncDir:
		return o.Call + " of the directory"
	case trace.Create:
		return "creation of " + o.Name
	case trace.Remove:
		return "removal of " + o.Name
	}
	return "renaming of " + o.Name
}

// Artifact describes a failing state whose files are kept.
type Artifact struct {
	Driver   string          `json:"driver"`
	Settings driver.Settings `json:"settings"`
	Attach   []string        `json:"attach,omitempty"` // tables in an attached database
	Dir      string          `json:"dir"`              // directory of the files; super-journals contain its path
	Failure  Failure         `json:"failure"`
	Digests  []string        `json:"digests"` // hash of all tables after each transaction, beginning with transaction 0
}

// artifactFile is the name of the file that describes a state.
const artifactFile = "failure.json"

var unfit = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// keep writes the files of a failing state to the directory that the user named.
func (x *Explorer) keep(r *recorded, s *candidate, f *Failure) error {
	if x.Keep == "" {
		return nil
	}
	name := unfit.ReplaceAllString(strings.Join([]string{r.plan.Ref.Name, settingsWords(r.plan.Settings, r.plan.Own, quiet), string(f.Fault)}, " "), "-")
	if f.Injected != nil {
		name += "-" + unfit.ReplaceAllString(f.Injected.String(), "-")
	}
	f.Kept = filepath.Join(x.Keep, fmt.Sprintf("%s-%d", name, s.Boundary))
	for n := 2; ; n++ {
		err := os.Mkdir(f.Kept, 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrExist) {
			return err
		}
		f.Kept = filepath.Join(x.Keep, fmt.Sprintf("%s-%d.%d", name, s.Boundary, n))
	}
	dir, err := resolved(f.Kept)
	if err != nil {
		return err
	}
	if err := s.Image.Moved(s.dir, dir).Write(f.Kept); err != nil {
		return err
	}
	text, err := json.MarshalIndent(Artifact{r.plan.Ref.Name, r.plan.Settings, x.Attach, dir, *f, r.expect}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.Kept, artifactFile), append(text, '\n'), 0o644)
}
