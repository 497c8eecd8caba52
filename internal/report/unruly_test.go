package report_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// unruly returns a run such as a slow and busy machine may produce: rounds are missing, trials
// have failed, and times are mostly noise. It changes one of the fixtures or a run about locks.
func unruly(r *rand.Rand) *result.Run {
	var run *result.Run
	if names := slices.Sorted(maps.Keys(fixtures)); r.IntN(5) > 0 {
		run = fixtures[names[r.IntN(len(names))]]()
	} else {
		run = locksRun(lockSettings("deferred", "0", "4"), lockSettings("immediate", "5000", "4"), lockSettings("deferred", "5000", "1"))
	}
	sigma := []float64{0, 0.01, 1, 5}[r.IntN(4)]
	rounds, missing, failing, zero := 1+r.IntN(9), r.Float64(), r.Float64()/2, r.IntN(4) == 0
	apart := r.IntN(3) == 0 // some cases have no round in common
	reasons := []protocol.Reason{{Code: protocol.CodeCrash, Phase: "mix", Message: "it crashed"}, {Code: result.CodeHost, Message: "it went away"}, {Code: protocol.CodeUnsupported, Message: "no"}}
	run.Trials = slices.DeleteFunc(run.Trials, func(t result.Trial) bool {
		return t.Round > rounds || apart && (t.Round+t.Case/2)%2 == 0 || r.IntN(3) == 0 && r.Float64() < missing*missing
	})
	for i := range run.Trials {
		t := &run.Trials[i]
		if r.Float64() < failing*failing {
			t.Status, t.Reason, t.Repeated = result.Failed, &reasons[r.IntN(len(reasons))], r.IntN(2) == 0
			t.Samples = t.Samples[:r.IntN(len(t.Samples)+1)]
		}
		if r.IntN(20) == 0 && t.Status == result.OK {
			t.Samples = t.Samples[:r.IntN(len(t.Samples)+1)]
		}
		for j := range t.Samples {
			s := &t.Samples[j]
			noise := math.Exp(sigma * r.NormFloat64())
			s.WallNS, s.Operations = int64(float64(s.WallNS)*noise), max(int64(float64(s.Operations)/noise), 1)
			for k := range s.Latency {
				l := &s.Latency[k]
				l.P99NS, l.P999NS = int64(float64(l.P99NS)*noise), int64(float64(l.P999NS)*noise)
			}
			switch r.IntN(30) {
			case 0:
				s.Latency = nil
			case 1:
				s.PeakRSSBytes, s.CheckpointNS = 0, 0
			case 2:
				s.Failed = s.Operations / 2
			case 3:
				s.Checksum = "other"
			case 4, 5, 6, 7:
				if zero {
					s.WallNS = 0
				}
			}
		}
	}
	run.Rounds = rounds
	run.Stopped = []string{result.StoppedRounds, result.StoppedTime, result.StoppedSettled, result.StoppedInterrupted}[r.IntN(4)]
	return run
}

// scripts matches the parts of a page that may contain any word.
var scripts = regexp.MustCompile(`(?s)<(script|style)\b.*?</(script|style)>`)

// TestSoakUnrulyRuns writes the reports of all commands about runs with too few rounds, or too much
// noise, for some of their figures. Missing figures must be left out, and must never be printed as
// NaN or Inf.
func TestSoakUnrulyRuns(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		run, again := unruly(r), unruly(r)
		run.Host, again.Host = &result.Host{Name: "pi"}, &result.Host{Name: "vm1"}
		floor := []string{"native", "", "modernc"}[r.IntN(3)]
		a, b := stats.Analyze(run, floor), stats.Analyze(again, floor)
		opts := document.Options{Width: []int{0, 40, 80, 200}[r.IntN(4)], ASCII: seed%2 == 0}
		said := func(what string, formats []string, write func(b *bytes.Buffer, format string) error) {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("seed %d: %s: %v\n%s", seed, what, p, debug.Stack())
				}
			}()
			for _, format := range formats {
				var out bytes.Buffer
				if err := write(&out, format); err != nil || out.Len() == 0 && what != "gate" {
					t.Errorf("seed %d: %s as %s: %d bytes, %v", seed, what, format, out.Len(), err)
				}
				text := scripts.ReplaceAll(out.Bytes(), nil)
				for _, bad := range []string{"NaN", "+Inf", "-Inf", "%!"} {
					if i := bytes.Index(text, []byte(bad)); i >= 0 {
						t.Errorf("seed %d: %s as %s contains %q: %q", seed, what, format, bad, text[max(0, i-150):min(len(text), i+50)])
					}
				}
			}
		}
		said("run", report.Formats(), func(b *bytes.Buffer, format string) error {
			return report.Write(b, format, a, report.Options{Options: opts})
		})
		said("screen", []string{"table"}, func(b *bytes.Buffer, format string) error {
			return report.Write(b, format, a, report.Options{Options: document.Options{Width: 80, Lines: 10 + r.IntN(40)}})
		})
		comparisons := []compare.Compared{{Comparison: stats.CompareRuns([2]string{"run 1", "run 2"}, a, b, 0.02), First: a, Second: b}}
		if n := len(run.Cases); n > 0 {
			first, second := run.Cases[r.IntN(n)].Driver, run.Cases[r.IntN(n)].Driver
			comparisons = append(comparisons, compare.Compared{Comparison: stats.CompareDrivers(a, first, second, 0.02), First: a, Second: a})
			run.Compares = &result.Compares{Factor: result.FactorDriver, First: first, Second: second, Margin: 0.02}
			comparisons = append(comparisons, compare.Compared{Comparison: stats.CompareRun(a), First: a, Second: a})
		}
		for i, c := range comparisons {
			said(fmt.Sprintf("comparison %d", i), compare.Formats.Names(), func(b *bytes.Buffer, format string) error { return compare.Formats.Write(b, format, c, opts) })
			said(fmt.Sprintf("comparison %d on a screen", i), []string{"table"}, func(b *bytes.Buffer, format string) error {
				return compare.Formats.Write(b, format, c, document.Options{Width: 80, Lines: 20})
			})
		}
		for _, c := range comparisons {
			said("gate", gate.Formats.Names(), func(b *bytes.Buffer, format string) error {
				g := stats.NewGate(0.05, c.Comparison)
				if seed%3 > 0 {
					g.Confirm(comparisons[0].Comparison)
				}
				return gate.Formats.Write(b, format, gate.Gated{Gate: g, Runs: []*stats.Analysis{a, a}, Where: "go.mod"}, opts)
			})
		}
		said("advice", advise.Formats.Names(), func(b *bytes.Buffer, format string) error { return advise.Formats.Write(b, format, advised(run), opts) })
		said("locks", locks.Formats.Names(), func(b *bytes.Buffer, format string) error {
			return locks.Formats.Write(b, format, locks.ExplainLocks(a), opts)
		})
		said("machines", machines.Formats.Names(), func(out *bytes.Buffer, format string) error {
			return machines.Formats.Write(out, format, []machines.OnMachine{{Name: "pi", Analysis: a, Options: report.Options{Options: opts}}, {Name: "vm1", Analysis: b, Options: report.Options{Options: opts}}}, opts)
		})
	}
}
