package recommend_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// fake describes an imitated driver.
type fake struct {
	name      string
	kind      driver.Kind
	direct    bool
	module    string
	version   string
	sqlite    string
	factor    float64 // factor by which the driver's times are multiplied
	noise     float64 // greatest deviation of a time, as a fraction of it
	memory    int64   // MB
	tail      float64 // factor by which the 99th percentile is multiplied
	failed    int64   // number of failed operations in each round
	replayed  int64   // number of replayed events in each round that violated a constraint
	status    result.Status
	unlike    float64 // additional factor for the times of the second phase; 0 means 1
	size      int64   // size of the binary in MB
	journal   string  // journal_mode
	connected int     // number of connections
	salt      uint64  // seed of the noise, if this is the first driver given to the function story
}

var (
	mattn   = fake{name: "mattn", kind: driver.Cgo, module: "github.com/mattn/go-sqlite3", version: "v1.14.52", sqlite: "3.53.4", factor: 1, noise: 0.01, memory: 24, tail: 1}
	modernc = fake{name: "modernc", kind: driver.Transpiled, module: "modernc.org/sqlite", version: "v1.61.1", sqlite: "3.54.1", factor: 1.5, noise: 0.01, memory: 24, tail: 1}
	other   = fake{name: "zombiezen", kind: driver.Transpiled, direct: true, module: "zombiezen.com/go/sqlite", version: "v1.4.2", sqlite: "3.53.4", factor: 1, noise: 0.01, memory: 24, tail: 1}
)

// with returns a copy of f that the function "change" has changed.
func with(f fake, change func(*fake)) fake {
	change(&f)
	return f
}

// story returns the analysis of a run of the given drivers on a workload with two phases.
func story(rounds int, drivers ...fake) *stats.Analysis {
	r := &result.Run{ID: 7, Started: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), Rounds: rounds, Precision: 0.05, Stopped: result.StoppedRounds,
		Machine: result.Machine{OS: "linux", Arch: "amd64"}}
	random := rand.New(rand.NewPCG(1, 2+drivers[0].salt))
	for i, d := range drivers {
		iface := driver.DatabaseSQL
		if d.direct {
			iface = driver.Direct
		}
		r.Cases = append(r.Cases, result.Case{ID: i + 1, Workload: "mine", Driver: d.name, Phases: []string{"write", "read"},
			Info: driver.Info{Name: d.name, Module: d.module, Kind: d.kind, Interface: iface}})
	}
	for round := 1; round <= rounds; round++ {
		for i, d := range drivers {
			t := result.Trial{Case: i + 1, Round: round, Order: len(r.Trials) + 1, Status: result.OK,
				Proof: &protocol.Proof{Module: d.module, ModuleVersion: d.version, SQLiteVersion: d.sqlite}}
			for range max(1, d.connected) {
				mode := "wal"
				if d.journal != "" {
					mode = d.journal
				}
				t.Proof.Connections = append(t.Proof.Connections, driver.Settings{"journal_mode": mode})
			}
			if d.status != "" {
				t.Status, t.Reason = d.status, &protocol.Reason{Code: "checksum", Message: "42 rows instead of 43"}
				r.Trials = append(r.Trials, t)
				continue
			}
			for k, phase := range []string{"write", "read"} {
				const operations = 1000
				ns := 1e9 * d.factor * (1 + d.noise*(2*random.Float64()-1))
				if k == 1 && d.unlike > 0 {
					ns *= d.unlike
				}
				s := result.Sample{Phase: phase, Metric: result.MetricTimePerOp, WallNS: int64(ns), Operations: operations, Failed: d.failed, Costs: protocol.Costs{PeakRSSBytes: d.memory * 1e6}}
				p99 := int64(5e6 * d.tail * (1 + d.noise*(2*random.Float64()-1)))
				s.Latency = []latency.Summary{{Operation: phase, Count: operations, P99NS: p99}}
				if d.failed > 0 {
					s.Errors = []protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: d.failed}}
				}
				if d.replayed > 0 {
					s.Failed, s.Different = s.Failed+d.replayed, d.replayed
					s.Errors = append(s.Errors, protocol.ErrorCount{Code: 787, Name: "SQLITE_CONSTRAINT_FOREIGNKEY", Count: d.replayed})
				}
				t.Samples = append(t.Samples, s)
			}
			r.Trials = append(r.Trials, t)
		}
	}
	return stats.Analyze(r, "native")
}

// told returns the recommendation for the run that the function "story" returns, and a short
// description of the recommendation.
func told(rounds int, drivers ...fake) (*recommend.Advice, string) {
	footprints := map[string]*result.Footprint{}
	for _, d := range drivers {
		footprints[d.name] = &result.Footprint{SizeBytes: d.size * 1e6}
	}
	a := recommend.Decide(recommend.FactsOf(story(rounds, drivers...), footprints))
	// The names are sorted, because chance decides which of two equally fast candidates is first.
	words := []string{strings.TrimSpace(string(a.Verdict) + " " + a.Take + strings.Join(slices.Sorted(slices.Values(a.Among)), "+"))}
	for _, r := range a.Because {
		words = append(words, strings.TrimSpace(fmt.Sprintf("because %s %s %s", r.Of, r.Advantage, r.Over)))
	}
	slices.Sort(words[1:])
	for _, r := range a.Rejected {
		var ids []string
		for _, d := range r.Defects {
			ids = append(ids, d.ID)
		}
		line := strings.TrimSpace(fmt.Sprintf("not %s %s%s %s", r.Name, r.Cause, r.Status, strings.Join(ids, ",")))
		if r.AsFast {
			line += " as fast"
		}
		words = append(words, line)
	}
	for _, o := range a.Overturn {
		line := strings.TrimSpace(fmt.Sprintf("unless %s %s %s", o.Change, o.For, o.Advantage))
		if o.Among != nil {
			line += ": " + strings.Join(slices.Sorted(slices.Values(o.Among)), "+")
		}
		words = append(words, line)
	}
	return a, strings.Join(words, "\n")
}

// TestStories checks the decision for runs with different kinds of results.
func TestStories(t *testing.T) {
	for _, c := range []struct {
		name    string
		rounds  int
		drivers []fake
		want    string
		hidden  bool // noise hides a difference
	}{
		{"one wins clearly", 12, []fake{modernc, mattn}, `take mattn
because mattn faster modernc
not modernc slower
unless need modernc fewer-risks
unless need modernc without-c`, false},

		{"none wins, and each is better in something", 20, []fake{mattn, with(modernc, func(f *fake) { f.factor, f.memory = 1, 60 })}, `undecided mattn+modernc
because mattn less-memory modernc
because modernc fewer-risks mattn
because modernc without-c mattn`, false},

		{"as fast, and nowhere worse", 20, []fake{other, with(modernc, func(f *fake) { f.factor = 1 })}, `take modernc
because modernc database-sql zombiezen
not zombiezen dominated`, false},

		{"as fast, and alike in everything", 20, []fake{with(other, func(f *fake) { f.name, f.direct = "fork", false }), with(modernc, func(f *fake) { f.factor = 1 })}, `undecided fork+modernc`, false},

		{"the fastest is wrong", 12, []fake{with(mattn, func(f *fake) { f.status = result.Wrong }), modernc, with(other, func(f *fake) { f.factor = 2 })}, `take modernc
because modernc faster zombiezen
not zombiezen slower
not mattn statuswrong
unless status mattn`, false},

		{"the fastest has a known defect", 12, []fake{with(mattn, func(f *fake) { f.version, f.sqlite = "v1.14.33", "3.51.2" }), modernc}, `take modernc
because modernc only
not mattn defect wal-reset as fast
unless defect mattn`, false},

		{"the fastest of those that can be taken, and one with a defect is as fast", 12, []fake{mattn, modernc, with(other, func(f *fake) { f.sqlite, f.noise, f.memory = "3.49.2", 0.3, 15 })}, `take mattn
because mattn faster modernc
not zombiezen defect wal-reset as fast
not modernc slower
unless defect zombiezen: mattn+zombiezen
unless need modernc fewer-risks
unless need modernc without-c`, false},

		{"one with a defect is as fast, and nothing would speak for it without the defect", 20, []fake{with(mattn, func(f *fake) { f.factor = 2 }), with(modernc, func(f *fake) { f.factor = 1 }), with(other, func(f *fake) { f.sqlite = "3.49.2" })}, `take modernc
because modernc faster mattn
not zombiezen defect wal-reset as fast
not mattn slower`, false},

		{"the workload excludes the defect of the fastest", 12, []fake{with(mattn, func(f *fake) { f.version, f.sqlite, f.journal = "v1.14.33", "3.51.2", "delete" }), with(modernc, func(f *fake) { f.journal = "delete" })}, `take mattn
because mattn faster modernc
not modernc slower
unless need modernc fewer-risks
unless need modernc without-c`, false},

		{"all have such defects", 12, []fake{with(mattn, func(f *fake) { f.sqlite = "3.51.2" }), with(modernc, func(f *fake) { f.version, f.sqlite = "v1.46.1", "3.51.2" })}, `conditional mattn
because mattn faster modernc
not modernc slower
unless need modernc without-c`, false},

		{"everything is too noisy", 8, []fake{with(mattn, func(f *fake) { f.noise = 0.5 }), with(modernc, func(f *fake) { f.factor, f.noise = 1.1, 0.5 })}, `undecided mattn+modernc
because modernc fewer-risks mattn
because modernc without-c mattn
unless rounds`, true},

		{"too few rounds", 3, []fake{mattn, modernc}, `undecided mattn+modernc
because modernc fewer-risks mattn
because modernc without-c mattn
unless rounds`, true},

		{"faster by less than matters", 30, []fake{with(mattn, func(f *fake) { f.noise = 0.002 }), with(modernc, func(f *fake) { f.factor, f.noise = 1.03, 0.002 })}, `take modernc
because modernc fewer-risks mattn
because modernc without-c mattn
not mattn dominated
unless cell mattn`, false},

		{"operations of one fail", 20, []fake{with(other, func(f *fake) { f.failed = 30 }), with(other, func(f *fake) { f.name = "fork" })}, `take fork
because fork only
not zombiezen errors`, false},

		{"one has a long tail", 20, []fake{with(other, func(f *fake) { f.tail = 3 }), with(other, func(f *fake) { f.name = "fork" })}, `take fork
because fork shorter-tail zombiezen
not zombiezen dominated`, false},

		{"one has the smaller binary", 20, []fake{with(other, func(f *fake) { f.size = 12 }), with(other, func(f *fake) { f.name, f.size = "fork", 8 })}, `take fork
because fork smaller zombiezen
not zombiezen dominated`, false},

		{"each is the fastest in a phase", 20, []fake{mattn, with(modernc, func(f *fake) { f.factor, f.unlike = 2, 0.3 })}, `take mattn
because mattn faster modernc
not modernc slower
unless need modernc fewer-risks
unless need modernc without-c
unless cell modernc`, false},

		{"nobody is right", 12, []fake{with(mattn, func(f *fake) { f.status = result.Wrong }), with(modernc, func(f *fake) { f.status = result.Failed })}, `none
not mattn statuswrong
not modernc statusfailed`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, got := told(c.rounds, c.drivers...)
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if hidden := a.Hidden > 0 || a.Untold; hidden != c.hidden {
				t.Errorf("hidden %v, untold %v", a.Hidden, a.Untold)
			}
			if a.Untold != (c.rounds < stats.MinSamples) {
				t.Errorf("untold %v with %d rounds", a.Untold, c.rounds)
			}
			if (a.Further > 0) != c.hidden {
				t.Errorf("%d more rounds, and hidden is %v", a.Further, c.hidden)
			}
		})
	}
}

// TestFurther repeats the run with as many more rounds as Advice.Further estimates, and checks that
// the estimate has not grown. It also checks the estimates for two and for three candidates after
// three rounds.
func TestFurther(t *testing.T) {
	noisy := func(f *fake) { f.noise = 0.2 }
	slower := func(f *fake) { f.factor, f.noise = 1.1, 0.2 }
	alike := func(f *fake) { f.factor, f.noise = 1, 0.2 }
	for name, c := range map[string]struct {
		rounds  int
		drivers []fake
	}{
		"too few for an interval": {3, []fake{mattn, modernc}},
		"one is slower":           {8, []fake{with(mattn, noisy), with(modernc, slower)}},
		"equally fast":            {8, []fake{with(mattn, noisy), with(modernc, alike)}},
		"three":                   {8, []fake{with(mattn, noisy), with(other, slower), with(modernc, func(f *fake) { f.factor, f.noise = 1.3, 0.2 })}},
	} {
		a, _ := told(c.rounds, c.drivers...)
		if a.Further < 1 || a.Further >= stats.MaxRounds {
			t.Errorf("%s: %d more rounds", name, a.Further)
			continue
		}
		if then, _ := told(c.rounds+a.Further, c.drivers...); then.Further > a.Further {
			t.Errorf("%s: the estimate grew: %d more rounds at first, and after them %d more", name, a.Further, then.Further)
		}
	}
	if a, _ := told(3, mattn, modernc); a.Further != stats.MinSamples-3 {
		t.Errorf("%d more rounds after 3, want %d in total", a.Further, stats.MinSamples)
	}
	if a, _ := told(3, mattn, modernc, other); a.Further != stats.Telling(3)-3 {
		t.Errorf("%d more rounds after 3 for three candidates, want %d in total", a.Further, stats.Telling(3))
	}
}

// TestFloor checks that the driver native, which is measured for comparison, is a candidate only if
// there are no other drivers. It also checks the order of the candidates and the ratio of their
// times.
func TestFloor(t *testing.T) {
	native := with(mattn, func(f *fake) { f.name, f.factor = "native", 0.5 })
	f := recommend.FactsOf(story(12, modernc, native, mattn), nil)
	var names []string
	for _, c := range f.Candidates {
		names = append(names, c.Name)
	}
	if !slices.Equal(names, []string{"mattn", "modernc"}) {
		t.Fatalf("candidates %v", names)
	}
	if len(f.Pairs) != 1 || !f.Pairs[0].Told || f.Pairs[0].Time.Median < 1.45 || f.Pairs[0].Time.Median > 1.55 {
		t.Errorf("pairs %+v", f.Pairs)
	}
	if len(f.Cells) != 2 {
		t.Errorf("cells %v", f.Cells)
	}
	only := recommend.FactsOf(story(12, native), nil)
	if len(only.Candidates) != 1 || only.Candidates[0].Name != "native" {
		t.Errorf("alone: %+v", only.Candidates)
	}
	if a := recommend.Decide(only); a.Verdict != recommend.Take || a.Take != "native" {
		t.Errorf("alone: %+v", a)
	}
}

// TestErrors checks that the errors of a candidate are added up over its phases.
func TestErrors(t *testing.T) {
	f := recommend.FactsOf(story(10, with(mattn, func(f *fake) { f.failed = 7 }), modernc), nil)
	i := slices.IndexFunc(f.Candidates, func(c recommend.Candidate) bool { return c.Name == "mattn" })
	c := f.Candidates[i]
	if c.Failed != 140 || c.Operations != 20_000 || len(c.Errors) != 1 || c.Errors[0].Count != 140 || c.MemoryBytes != 24e6 {
		t.Errorf("%+v", c)
	}
}

// TestCircle has three candidates, each of which is slower than another: 1 than 0, 2 than 1, and 0
// than 2. No decision between them is expected.
func TestCircle(t *testing.T) {
	slower := stats.Summary{Median: 1.2, Interval: &stats.Interval{Low: 1.1, High: 1.3}}
	f := recommend.Facts{Pairs: []recommend.Pair{
		{First: 0, Second: 1, Time: slower, Told: true},
		{First: 1, Second: 2, Time: slower, Told: true},
		{First: 0, Second: 2, Time: slower.Inverse(), Told: true},
	}}
	for _, name := range []string{"a", "b", "c"} {
		f.Candidates = append(f.Candidates, recommend.Candidate{Name: name, Status: result.OK})
	}
	if a := recommend.Decide(&f); a.Verdict != recommend.Undecided || len(a.Among) != 3 {
		t.Errorf("%+v", a)
	}
}

// TestReplayIsNotTheDriver checks a candidate whose replayed statements fail. If they violated a
// constraint, the replay is the cause, so the candidate must not be rejected. If they failed for another
// reason, it must be rejected.
func TestReplayIsNotTheDriver(t *testing.T) {
	for want, f := range map[string]fake{
		"not zombiezen errors": with(other, func(f *fake) { f.failed = 12 }),
		"":                     with(other, func(f *fake) { f.replayed = 12 }),
	} {
		a, words := told(8, mattn, f)
		if got := strings.Contains(words, "errors"); got != (want != "") || !strings.Contains(words, want) {
			t.Errorf("%s: %s, want %q", a.Verdict, words, want)
		}
	}
}

// TestNeeds checks what is recommended to readers who need database/sql, or have no C compiler.
func TestNeeds(t *testing.T) {
	crawshaw := with(mattn, func(f *fake) {
		f.name, f.direct, f.module, f.sqlite, f.factor = "crawshaw", true, "crawshaw.io/sqlite", "3.32.2", 0.8
	})
	direct := with(other, func(f *fake) { f.sqlite, f.factor = "3.54.1", 0.5 })
	noisy := func(f *fake) { f.noise = 0.5 }
	for name, c := range map[string]struct {
		drivers []fake
		want    string
	}{
		"the fastest can lose data": {[]fake{crawshaw, mattn, modernc}, `Take mattn, the fastest without a known defect that can lose data in these workloads: modernc, the next such driver, is 50% slower (50% to 51%).
without cgo: modernc, 50% slower than mattn (50% to 51%)
faster: crawshaw (mattn is 25.0% slower), but can lose or falsify data: wal-reset, upsert-trigger, crawshaw-94`},
		"the second can lose data": {[]fake{mattn, with(modernc, func(f *fake) { f.name, f.sqlite, f.factor = "glebarez", "3.32.2", 1.2 }), modernc},
			`Take mattn, the fastest: modernc, the next without a known defect that can lose data in these workloads, is 50% slower (50% to 51%).
without cgo: modernc, 50% slower than mattn (50% to 51%); glebarez is faster (modernc is 25% slower), but can lose or falsify data: wal-reset, upsert-trigger`},
		"the fastest is not used through database/sql": {[]fake{direct, mattn, modernc}, `Take zombiezen, the fastest: mattn, the next, is 2.00 times as slow (1.99 to 2.00).
database/sql: mattn, 2.00 times as slow as zombiezen (1.99 to 2.00)
sql, no cgo: modernc, 3.00 times as slow as zombiezen (3.00 to 3.01)`},
		"two need no C compiler": {[]fake{mattn, modernc, with(modernc, func(f *fake) { f.name, f.factor = "ncruces", 3 })},
			`Take mattn, the fastest: modernc, the next, is 50.0% slower (49.5% to 50.4%).
without cgo: modernc, 50.0% slower than mattn (49.5% to 50.4%); then ncruces, 2.00 times as slow as modernc (2.00 to 2.01)`},
		"nothing to add": {[]fake{modernc, with(mattn, func(f *fake) { f.factor = 3 })}, `Take modernc, the fastest: mattn, the next, is 2.00 times as slow (1.99 to 2.01).`},
		"a defect can make it slow": {[]fake{with(modernc, func(f *fake) { f.version = "v1.61.0" }), with(mattn, func(f *fake) { f.factor = 3 })}, `Take modernc, the fastest: mattn, the next, is 2.00 times as slow (1.99 to 2.01).
can be slow: modernc-264: prepared statements are compiled again on every execution. It needs prepared statements with a col = ? in a join or with ORDER BY. Use v1.61.1 or newer`},
		"noise": {[]fake{with(mattn, noisy), with(modernc, func(f *fake) { f.factor, f.noise = 1.1, 0.5 })},
			`Take mattn or modernc: no clear difference yet, one of them may be up to 25% slower; about 249 more rounds would tell.
without cgo: modernc, about as fast as mattn so far`},
		"only one is right": {[]fake{with(mattn, func(f *fake) { f.status = result.Wrong }), modernc},
			`Take modernc: it is the only one that is right in every cell, fails no more often than others and has no known defect that can lose or falsify data here.`},
		"none is right": {[]fake{with(mattn, func(f *fake) { f.status = result.Wrong }), with(modernc, func(f *fake) { f.status = result.Failed })},
			`Take none of these drivers: each failed or gave a wrong answer somewhere.`},
	} {
		r := recommend.Of(story(20, c.drivers...), nil)
		got := r.Answer()
		for _, i := range r.Alternatives() {
			got += "\n" + i.Label + ": " + i.Text
		}
		if got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
