package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// profileBench provides a Profiler whose trials take one second on the simulated clock "now".
type profileBench struct {
	now     time.Time
	samples map[string]int64 // number of samples per trial, by driver
	ran     []string
	failing string
	noise   []string // calls of the methods that observe the machine, in order
}

func (b *profileBench) BeforeRun() []result.Warning {
	b.noise = append(b.noise, "before")
	return []result.Warning{{Code: result.WarningLoad}}
}

func (b *profileBench) BeforeRound(n int) { b.noise = append(b.noise, fmt.Sprint("round ", n)) }

func (b *profileBench) AfterRun() []result.Warning {
	b.noise = append(b.noise, "after")
	return []result.Warning{{Code: result.WarningSteal}}
}

func (b *profileBench) Steal() *float64 { return nil }

func (b *profileBench) profiler(limit time.Duration, stop chan struct{}) *Profiler {
	return &Profiler{
		Phase: "query", Time: limit, Perf: "perf", Noise: b, Now: func() time.Time { return b.now }, Stop: stop,
		Progress: func(*Case, int64, *result.Trial) {},
		Trial: func(_ context.Context, c *Case, want Profiling) (*result.Trial, error) {
			b.now = b.now.Add(time.Second)
			b.ran = append(b.ran, c.Driver)
			if c.Driver == b.failing {
				return &result.Trial{Status: result.Failed, Reason: &protocol.Reason{Code: protocol.CodeCrash, Message: "it crashed"}}, nil
			}
			if b.samples[c.Driver] < 0 {
				return nil, errNoProfile
			}
			want.Into.Perf = append(want.Into.Perf, stacks.Stack{Samples: b.samples[c.Driver]})
			want.Into.EndTrial(0)
			return &result.Trial{Status: result.OK, Warnings: []result.Warning{{Code: result.WarningStopped}}}, nil
		},
	}
}

func profileCases(names ...string) (list []*Case) {
	for i, n := range names {
		c := &Case{}
		c.ID, c.Driver = i+1, n
		list = append(list, c)
	}
	return list
}

func TestProfilerStops(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples map[string]int64
		limit   time.Duration
		want    string
	}{
		{"each has enough", map[string]int64{"a": 250, "b": 500}, time.Hour, "a b a"},
		{"the time is over", map[string]int64{"a": 1, "b": 1}, 3 * time.Second, "a b a"},
		{"each has at least one", map[string]int64{"a": 1, "b": 1}, time.Nanosecond, "a b"},
		{"no profile", map[string]int64{"a": -1, "b": 500}, time.Hour, "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &profileBench{samples: c.samples}
			done, err := b.profiler(c.limit, nil).Run(context.Background(), profileCases("a", "b"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(b.ran, " "); got != c.want {
				t.Errorf("trials: %s, want %s", got, c.want)
			}
			if unsupported := done[0].Status == result.Unavailable && done[0].Reason.Code == protocol.CodeUnsupported; unsupported != (c.samples["a"] < 0) {
				t.Errorf("%+v", done[0])
			}
		})
	}
}

// TestProfilerObserves checks that the Profiler observes noise at the same times as a run: before the first
// round, between the rounds, and at the end.
func TestProfilerObserves(t *testing.T) {
	b := &profileBench{samples: map[string]int64{"a": 250, "b": 500}}
	p := b.profiler(time.Hour, nil)
	cases := profileCases("a", "b")
	cases[1].Beforehand = []result.Warning{{Code: result.WarningIdle}}
	if _, err := p.Run(context.Background(), cases); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(b.noise, ", "); got != "before, round 1, round 2, after" || p.Rounds != 2 {
		t.Errorf("%d rounds: %s", p.Rounds, got)
	}
	want := []result.Warning{{Code: result.WarningLoad}, {Code: result.WarningIdle, Case: 2},
		{Code: result.WarningStopped, Case: 1, Round: 1}, {Code: result.WarningStopped, Case: 2, Round: 1}, {Code: result.WarningStopped, Case: 1, Round: 2},
		{Code: result.WarningSteal}}
	if diff := cmp.Diff(want, p.Warnings); diff != "" {
		t.Error(diff)
	}
}

// TestProfilerPartly checks that there is a warning if several processes share the profiled
// phase, because only the first process is profiled.
func TestProfilerPartly(t *testing.T) {
	b := &profileBench{samples: map[string]int64{"a": 500, "b": 500, "c": 500}}
	p := b.profiler(time.Hour, nil)
	p.Phase = "mix"
	cases := profileCases("a", "b", "c")
	phases := []plan.Phase{{Name: "mix", Mix: &plan.Mix{Clients: 4}}}
	cases[0].Settings, cases[0].Plan = driver.Settings{"processes": "3"}, &plan.Plan{Phases: phases}
	cases[1].Settings, cases[1].Plan = driver.Settings{"processes": "3"}, &plan.Plan{Phases: []plan.Phase{{Name: "mix", Query: &plan.Query{}}}}
	cases[2].Plan = &plan.Plan{Phases: phases}
	if _, err := p.Run(context.Background(), cases); err != nil {
		t.Fatal(err)
	}
	var got []result.Warning
	for _, w := range p.Warnings {
		if w.Code == result.WarningPart {
			got = append(got, w)
		}
	}
	want := []result.Warning{{Code: result.WarningPart, Case: 1, Phase: "mix", Message: "3 processes share the mix; only the first one, with its share of the clients, was profiled"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestProfilerFailures checks that the failure of one driver does not affect the other drivers.
func TestProfilerFailures(t *testing.T) {
	b := &profileBench{samples: map[string]int64{"b": 300}, failing: "a"}
	cases := profileCases("a", "b", "c")
	cases[2].Unavailable = &protocol.Reason{Code: protocol.CodeBuild, Message: "it cannot be built"}
	done, err := b.profiler(time.Hour, nil).Run(context.Background(), cases)
	if err != nil {
		t.Fatal(err)
	}
	if done[0].Status != result.Failed || done[1].Status != result.OK || done[1].Recording.Trials != 2 || done[2].Status != result.Unavailable {
		t.Errorf("%+v, %+v, %+v", done[0], done[1], done[2])
	}
	stop := make(chan struct{})
	close(stop)
	if done, err := b.profiler(time.Hour, stop).Run(context.Background(), profileCases("b")); err != nil || done[0].Recording.Trials != 0 {
		t.Errorf("stopped: %+v, %v", done[0], err)
	}
	p := b.profiler(time.Hour, nil)
	p.Perf = ""
	for _, kind := range []driver.Kind{driver.Subprocess, driver.Cluster} {
		apart := profileCases("b")
		apart[0].Info.Kind = kind
		if done, err := p.Run(context.Background(), apart); err != nil || done[0].Status != result.Unavailable {
			t.Errorf("%s without perf: %+v, %v", kind, done[0], err)
		}
	}
}

func TestFindPerf(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	path, why := FindPerf(context.Background(), t.TempDir())
	if path != "" || !strings.Contains(why, "there is no perf in PATH: install") {
		t.Errorf("%q, %q", path, why)
	}
	if err := os.WriteFile(filepath.Join(dir, "perf"), []byte("#!/bin/sh\necho 'no permission for you' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path, why = FindPerf(context.Background(), t.TempDir())
	if path != "" || !strings.Contains(why, "perf cannot record here: no permission for you") && !strings.Contains(why, "kernel.perf_event_paranoid is") {
		t.Errorf("%q, %q", path, why)
	}
}
