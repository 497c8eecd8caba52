package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// NeedsPerf reports whether drivers of this kind spend time where Go's profiler cannot see
// it.
func NeedsPerf(kind driver.Kind) bool { return kind != driver.Transpiled && kind != driver.Wasm }

// FindPerf looks for Linux's perf and makes a test recording in the directory dir. The result "path" is the
// path of perf, or "" if perf is missing or must not record here. The result "why" describes what is wrong and
// what to do about it, or is "" if perf can record everything. If both results are set, perf works but cannot
// see time in the kernel.
func FindPerf(ctx context.Context, dir string) (path, why string) {
	path, err := exec.LookPath("perf")
	if err != nil {
		return "", "there is no perf in PATH: install Linux's perf (Debian: apt-get install linux-perf)"
	}
	probe, err := os.MkdirTemp(dir, "perf-")
	if err != nil {
		return "", fmt.Sprintf("perf has no place to record: %v", err)
	}
	defer os.RemoveAll(probe)
	ctx, cancel := context.WithTimeout(ctx, build.DescribeLimit)
	defer cancel()
	// The recorded program is perf itself, because that certainly exists.
	cmd := exec.CommandContext(ctx, path, append(perfRecord(true), path, "version")...)
	cmd.Dir = probe
	process.Isolate(cmd)
	process.Mark(cmd, probe)
	out, err := cmd.CombinedOutput()
	data, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	level, unknown := strconv.Atoi(strings.TrimSpace(string(data)))
	switch {
	case err != nil && unknown == nil && level > 2:
		return "", fmt.Sprintf("perf may not record here, because kernel.perf_event_paranoid is %d: set it to 1 with sysctl, or run as root", level)
	case err != nil:
		return "", "perf cannot record here: " + build.FirstComplaint(string(out), err)
	case unknown == nil && level > 1 && os.Geteuid() != 0:
		return path, fmt.Sprintf("time in the kernel is not seen, because kernel.perf_event_paranoid is %d: set it to 1 with sysctl, or run as root", level)
	}
	return path, ""
}

// perfRecord returns the arguments with which perf records a command to perf.data in the working directory.
// The caller appends the command. If c is set, the command may run C code. perf samples CPU time, which works
// without hardware counters in virtual machines. Go code has frame pointers, but C code is compiled without
// them, so stacks of C code need unwind tables. perf uses the same clock as the worker, so that their times
// can be compared.
func perfRecord(c bool) []string {
	callGraph := "fp"
	if c {
		callGraph = "dwarf,8192"
	}
	return []string{"record", "-q", "-N", "-operf.data", "-e", "cpu-clock", "-F", fmt.Sprint(stacks.PerfFrequency), "-k", "CLOCK_MONOTONIC", "--call-graph", callGraph, "--"}
}

// Profiling says which phase a profiled trial records, and how.
type Profiling struct {
	Phase string
	Perf  string // path of perf; "": do not use perf
	Into  *stacks.Recording
}

var errNoProfile = errors.New("its worker does not write profiles, as docs/worker-protocol.md says under Profiles")

// Profile runs one trial of a case. It adds to want.Into the functions in which a phase spent its time. The
// trial's measurements do not count, because the profilers take time.
func (p *Processes) Profile(ctx context.Context, c *Case, seed uint64, want Profiling) (*result.Trial, error) {
	if err := p.ceiling(ctx, c, seed); err != nil {
		return nil, err
	}
	list, _, err := p.together(ctx, []*Case{c}, seed, purpose{profiles: &want})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// request returns the request for a profile. It creates the directory for the profile below
// dir, the trial's directory.
func (w *Profiling) request(dir string) (*protocol.Profile, error) {
	if w == nil {
		return nil, nil
	}
	dir = filepath.Join(dir, "profile")
	return &protocol.Profile{Phase: w.Phase, Directory: dir}, os.Mkdir(dir, 0o700)
}

// command returns the command that starts the worker. If perf records the trial, perf starts the worker.
func (w *Profiling) command(worker string, kind driver.Kind, args []string) (string, []string) {
	if w == nil || w.Perf == "" {
		return worker, args
	}
	return w.Perf, append(append(perfRecord(NeedsPerf(kind)), worker), args...)
}

// keep adds to w.Into the recordings of a trial that was OK.
func (w *Profiling) keep(ctx context.Context, dir string, t *result.Trial) error {
	into := *w.Into // a copy, so that a trial is added completely or not at all
	clock, written, err := into.Add(filepath.Join(dir, "profile"))
	if err != nil {
		return fmt.Errorf("reading the worker's profiles: %w", err)
	}
	if !written {
		return errNoProfile
	}
	if w.Perf != "" {
		cmd := exec.CommandContext(ctx, w.Perf, "script", "-iperf.data", "--no-inline", "-F", stacks.PerfFields)
		cmd.Dir = dir
		process.Isolate(cmd)
		process.Mark(cmd, dir)
		var complaint bytes.Buffer
		cmd.Stderr = &complaint
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return fmt.Errorf("perf script: %w", err)
		}
		stacks, misread := stacks.ReadPerf(out, clock)
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			return fmt.Errorf("perf script: %s", build.FirstComplaint(complaint.String(), err))
		}
		if misread != nil {
			return misread
		}
		into.Perf = append(into.Perf, stacks...)
	}
	wall := int64(0)
	for _, s := range t.Samples {
		if s.Phase == w.Phase {
			wall += s.WallNS
		}
	}
	into.EndTrial(wall)
	*w.Into = into
	return nil
}

// Profiler profiles a phase of several cases in extra trials. The cases take turns.
type Profiler struct {
	Phase string
	Time  time.Duration // after this time no trial begins, except the first trial of each case
	Trial func(context.Context, *Case, Profiling) (*result.Trial, error)
	Perf  string // path of perf; "": do not use perf
	Noise Noise
	Now   func() time.Time
	Stop  <-chan struct{}

	// Progress is called after each trial with the number of the case's samples so far.
	Progress func(c *Case, samples int64, t *result.Trial)

	// Run sets the next two fields: the number of rounds that have begun, and the warnings about the run.
	Rounds   int
	Warnings []result.Warning
}

// EnoughSamples is the number of samples after which a case has no further trials. With so many samples, the
// 95 % confidence interval of any fraction of the samples extends at most 5 percentage points to either side.
const EnoughSamples = 500

// Profiled is the profile of a case.
type Profiled struct {
	Case      *Case
	Recording stacks.Recording
	Perf      bool             // whether perf recorded the trials
	Status    result.Status    // OK, or the status that says why the case has no profile
	Reason    *protocol.Reason // why there is no profile; nil if Status is OK
}

// Run runs trials until every case has enough samples or the time is up. It returns an error only if it could
// not continue. A failed trial is not an error; [Profiled.Reason] says why it failed.
func (p *Profiler) Run(ctx context.Context, cases []*Case) ([]*Profiled, error) {
	p.Warnings = slices.Concat(p.Noise.BeforeRun(), beforehand(cases), p.partly(cases))
	list, err := p.run(ctx, cases)
	p.Warnings = append(p.Warnings, p.Noise.AfterRun()...)
	return list, err
}

// partly returns a warning for each case whose mix runs in several processes, because only
// the first process, the trial's own worker, is profiled.
func (p *Profiler) partly(cases []*Case) (list []result.Warning) {
	for _, c := range cases {
		n := c.Settings.Processes()
		if n < 2 || !slices.ContainsFunc(c.Plan.Phases, func(ph plan.Phase) bool { return ph.Name == p.Phase && ph.Mix != nil }) {
			continue
		}
		list = append(list, result.Warning{Code: result.WarningPart, Case: c.ID, Phase: p.Phase,
			Message: fmt.Sprintf("%d processes share the mix; only the first one, with its share of the clients, was profiled", n)})
	}
	return list
}

func (p *Profiler) run(ctx context.Context, cases []*Case) ([]*Profiled, error) {
	var list []*Profiled
	for _, c := range cases {
		d := &Profiled{Case: c, Status: result.OK, Perf: p.Perf != ""}
		switch {
		case c.Unavailable != nil:
			d.Status, d.Reason = result.Unavailable, c.Unavailable
		case p.Perf == "" && (c.Info.Kind == driver.Subprocess || c.Info.Kind == driver.Cluster):
			d.Status, d.Reason = result.Unavailable, &protocol.Reason{Code: protocol.CodeNoExecutable, Message: "its SQLite runs in another process, which only perf sees"}
		}
		list = append(list, d)
	}
	began := p.Now()
	for open := true; open; {
		open = false
		for _, d := range list {
			first := d.Recording.Trials == 0
			if d.Status != result.OK || stacks.Samples(d.Recording.Stacks()) >= EnoughSamples || !first && p.Now().Sub(began) >= p.Time {
				continue
			}
			if !open {
				p.Rounds++
				p.Noise.BeforeRound(p.Rounds)
			}
			open = true
			if closed(p.Stop) {
				return list, nil
			}
			if err := p.trial(ctx, d); err != nil {
				if ctx.Err() != nil {
					return list, nil
				}
				return list, err
			}
		}
	}
	return list, nil
}

// trial runs one profiled trial of a case.
func (p *Profiler) trial(ctx context.Context, d *Profiled) error {
	t, err := p.Trial(ctx, d.Case, Profiling{Phase: p.Phase, Perf: p.Perf, Into: &d.Recording})
	if errors.Is(err, errNoProfile) {
		d.Status, d.Reason = result.Unavailable, &protocol.Reason{Code: protocol.CodeUnsupported, Message: err.Error()}
		return nil
	}
	if err != nil {
		return err
	}
	d.Status, d.Reason = t.Status, t.Reason
	for _, w := range t.Warnings {
		w.Case, w.Round = d.Case.ID, p.Rounds
		p.Warnings = append(p.Warnings, w)
	}
	p.Progress(d.Case, stacks.Samples(d.Recording.Stacks()), t)
	return nil
}
