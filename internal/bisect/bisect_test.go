package bisect_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// bench measures imaginary releases with a real [lab.Laboratory]. The clock of bench advances only
// during trials, by one second for each trial.
type bench struct {
	releases []string
	rand     *rand.Rand
	noise    float64                         // standard deviation of the logarithm of a trial's time
	factor   func(release int) float64       // factor by which the phase query takes longer in a release
	outcome  func(release int) *result.Trial // result of every trial of a release; nil if the trials are OK
	missing  func(release int) bool          // whether a release has no worker
	limit    time.Duration                   // time limit of a step; 0 for one hour
	built    map[string]bool
	now      time.Time
	trials   int
	log      []string
	syncs    func(release int) int64 // number of syncs in each sample of a release; nil if syncs are not counted
}

// releases are the releases of mattn from v1.14.22 to v1.14.52, as the module proxy lists them.
func releases() []string {
	var list []string
	for i := 22; i <= 52; i++ {
		if i != 25 && i != 27 {
			list = append(list, fmt.Sprintf("v1.14.%d", i))
		}
	}
	return list
}

func newBench(seed uint64) *bench {
	return &bench{
		releases: releases(), rand: rand.New(rand.NewPCG(seed, 1)), noise: 0.03,
		factor:  func(int) float64 { return 1 },
		outcome: func(int) *result.Trial { return nil },
		missing: func(int) bool { return false },
		built:   map[string]bool{}, now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
	}
}

func (b *bench) Trial(_ context.Context, c *lab.Case, _ uint64) (*result.Trial, error) {
	b.trials++
	b.now = b.now.Add(time.Second)
	release := slices.Index(b.releases, c.Driver)
	if t := b.outcome(release); t != nil {
		t.Case = c.ID
		return t, nil
	}
	t := &result.Trial{Case: c.ID, Status: result.OK, TookNS: 1e9}
	for _, phase := range c.Phases {
		wall := 1e8 * math.Exp(b.noise*b.rand.NormFloat64())
		if phase == "query" {
			wall *= b.factor(release)
		}
		s := result.Sample{Phase: phase, Metric: result.MetricTime, WallNS: int64(wall), Operations: 10}
		if b.syncs != nil {
			s.Syncs, s.Writes = b.syncs(release), 20
		}
		t.Samples = append(t.Samples, s)
	}
	return t, nil
}

func (b *bench) Trials(ctx context.Context, cases []*lab.Case, seed uint64) (list []*result.Trial, err error) {
	for _, c := range cases {
		t, err := b.Trial(ctx, c, seed)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

func (b *bench) BeforeRun() []result.Warning                             { return nil }
func (b *bench) BeforeRound(int)                                         {}
func (b *bench) AfterRun() []result.Warning                              { return nil }
func (b *bench) Steal() *float64                                         { return nil }
func (b *bench) AddTrial(context.Context, int64, *result.Trial) error    { return nil }
func (b *bench) AddWarning(context.Context, int64, result.Warning) error { return nil }
func (b *bench) Finish(context.Context, *result.Run) error               { return nil }

type silent struct{}

func (silent) Planned(lab.Plan) {}

func (silent) Trial(int, int, int, int, time.Duration, *lab.Case, *result.Trial) {}

// search searches the bench's releases for a change.
func (b *bench) search(change ...func(*bisect.Search)) (*bisect.Finding, error) {
	s := &bisect.Search{Releases: b.releases, Margin: 0.05, Measure: b.measure}
	s.End = func(step *bisect.Step) {
		b.log = append(b.log, fmt.Sprintf("%s %s %s", step.First, step.Second, step.Judgment))
	}
	for _, f := range change {
		f(s)
	}
	return s.Run(context.Background())
}

func (b *bench) measure(ctx context.Context, first, second string, _ *bisect.Change, settled func(*result.Run, int) ([]int, bool)) (*stats.Analysis, error) {
	run := &result.Run{Compares: &result.Compares{Factor: result.FactorDriver, First: first, Second: second, Margin: 0.05, Looks: true}}
	limit := b.limit
	if limit == 0 {
		limit = time.Hour
	}
	l := &lab.Laboratory{
		Run: run, Schedule: lab.Schedule{Time: limit, Settled: settled},
		Executor: b, Recorder: b, Noise: b, Progress: silent{}, Now: func() time.Time { return b.now },
	}
	for i, release := range []string{first, second} {
		if b.missing(slices.Index(b.releases, release)) {
			return nil, &bisect.Missing{Release: release, Why: "cannot be built"}
		}
		b.built[release] = true
		c := &lab.Case{}
		c.ID, c.Driver, c.Workload, c.Phases = i+1, release, "real", []string{"insert", "query"}
		l.Cases = append(l.Cases, c)
		run.Cases = append(run.Cases, c.Case)
	}
	err := l.Measure(ctx)
	return stats.Analyze(run, ""), err
}

// atMost returns the greatest number of releases that a search may build if it has n releases to
// choose from.
func atMost(n int) int { return int(math.Ceil(math.Log2(float64(n)))) + 1 }

// TestSyncs searches by the number of syncs. The search must find the release that syncs more often, and
// not another one that is slower. The answer must say by how much the syncs increased. Few trials must be
// enough, because only times have noise.
func TestSyncs(t *testing.T) {
	for _, before := range []int64{0, 30} {
		b := newBench(1)
		b.noise = 0.5
		b.factor = func(release int) float64 { return 1 + float64(release/7) }
		b.syncs = func(release int) int64 {
			if release >= 5 {
				return before + 10
			}
			return before
		}
		f, err := b.search(func(s *bisect.Search) { s.Metric = "syncs" })
		if err != nil || !f.Certain() || f.Bad != b.releases[5] {
			t.Fatalf("from %d syncs: %+v, %v", before, f, err)
		}
		answer := bisect.Bisection{Finding: f, Driver: "toy"}.Answer()
		if before == 30 && !strings.HasPrefix(answer, "toy "+f.Bad+" is the first release in which real query has 33% more syncs") {
			t.Error(answer)
		}
		if b.trials > 200 {
			t.Errorf("%d trials", b.trials)
		}
	}
}

// TestProveTenPercent runs 20 searches. In each, the phase query takes 10 % longer from one release
// on. The search must find that release, and build few releases.
func TestProveTenPercent(t *testing.T) {
	missed := 0
	for seed := range uint64(20) {
		b := newBench(seed)
		from := 1 + int(seed*5)%(len(b.releases)-1)
		b.factor = func(release int) float64 {
			if release >= from {
				return 1.1
			}
			return 1
		}
		f, err := b.search()
		if err != nil {
			t.Fatal(err)
		}
		if f.Bad != b.releases[from] || f.Good != b.releases[from-1] || !f.Certain() || f.Change.Phase != "query" || f.Change.Verdict != stats.Slower {
			t.Errorf("seed %d: good %s, bad %s (certain: %v), want %s:\n%s", seed, f.Good, f.Bad, f.Certain(), b.releases[from], strings.Join(b.log, "\n"))
			continue
		}
		if n := len(b.built); n > atMost(len(b.releases)) {
			t.Errorf("seed %d: %d builds, want at most %d", seed, n, atMost(len(b.releases)))
		}
		i := f.Pair.Cell.Ratio.Interval
		if f.Pair.First != f.Good || f.Pair.Second != f.Bad || i.Low < 1 {
			t.Errorf("seed %d: %s and %s: %v", seed, f.Pair.First, f.Pair.Second, i)
		}
		if i.Low > 1.1 || i.High < 1.1 {
			missed++
		}
		t.Logf("%s: %d builds, %d trials", f.Bad, len(b.built), b.trials)
	}
	if missed > 1 { // an interval of 99 % may miss the true ratio by chance
		t.Errorf("%d of 20 intervals do not contain the true ratio", missed)
	}
}

var errFailed = &protocol.Reason{Code: protocol.CodeChecksum, Phase: "query", Message: "not the expected checksum"}

func bad(from, to int) func(int) *result.Trial {
	return func(release int) *result.Trial {
		if release >= from && release < to {
			return &result.Trial{Status: result.Wrong, Reason: errFailed, TookNS: 1e9}
		}
		return nil
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		name       string
		from, to   int
		untilFixed bool
		want       int
	}{
		{"becomes wrong", 13, 99, false, 13},
		{"is mended", 0, 9, true, 9},
	} {
		b := newBench(1)
		b.outcome = bad(c.from, c.to)
		f, err := b.search(func(s *bisect.Search) { s.UntilFixed = c.untilFixed })
		if err != nil {
			t.Fatal(err)
		}
		if f.Bad != b.releases[c.want] || !f.Certain() || f.Change.Status != result.Wrong || f.Change.Fixed != c.untilFixed || f.Change.Phase != "query" || f.Pair.Cell.Phase != "query" {
			t.Errorf("%s: %s %s, want query %s\n%s", c.name, f.Change, f.Bad, b.releases[c.want], strings.Join(b.log, "\n"))
		}
		if n := len(b.built); n > atMost(len(b.releases)) || b.trials > 6*2*7 {
			t.Errorf("%s: %d builds, %d trials", c.name, n, b.trials)
		}
	}
}

func TestFaster(t *testing.T) {
	b := newBench(3)
	b.factor = func(release int) float64 {
		if release >= 20 {
			return 0.8
		}
		return 1
	}
	for _, untilFixed := range []bool{false, true} {
		f, err := b.search(func(s *bisect.Search) { s.UntilFixed = untilFixed })
		if err != nil || f.Bad != b.releases[20] || f.Change.Verdict != stats.Faster {
			t.Errorf("until fixed %v: %v, %+v", untilFixed, err, f)
		}
	}
	f, err := b.search(func(s *bisect.Search) { s.Phase = "insert" })
	if err != nil || f.Change != nil || !f.Certain() {
		t.Errorf("another phase: %v, %+v", err, f)
	}
}

func TestNothingChanged(t *testing.T) {
	b := newBench(2)
	f, err := b.search()
	if err != nil || f.Change != nil || f.Bad != "" || f.Good != "v1.14.52" || !f.Certain() {
		t.Errorf("%v, %+v", err, f)
	}
	if n := len(b.built); n != atMost(len(b.releases)) {
		t.Errorf("%d builds", n)
	}
}

func TestStartIsWrong(t *testing.T) {
	b := newBench(2)
	b.outcome = bad(0, 5)
	_, err := b.search()
	if start, ok := errors.AsType[*bisect.StartError](err); !ok || start.Release != "v1.14.22" {
		t.Error(err)
	}
	start := &bisect.StartError{Release: "v1.14.22", Cell: stats.TableName{Workload: "simple", Phase: "insert"}, Status: result.Failed,
		Reason: &protocol.Reason{Phase: "query", Message: "no such function: unistr"}}
	if want := "simple query is failed in v1.14.22 already: no such function: unistr"; start.Error() != want {
		t.Errorf("got %q, want %q", start, want)
	}
}

// TestPassedOver checks releases that cannot be built. They must be passed over, and the finding
// must list them in Between if they may have brought the change. If only one release can be built,
// the search must fail.
func TestPassedOver(t *testing.T) {
	slowFrom := func(from int) func(int) float64 {
		return func(release int) float64 {
			if release >= from {
				return 1.2
			}
			return 1
		}
	}
	b := newBench(4)
	b.factor = slowFrom(10)
	b.missing = func(release int) bool { return release < 2 || release == 14 || release == 20 || release == 28 }
	f, err := b.search()
	if err != nil || f.Good != b.releases[9] || f.Bad != b.releases[10] || !f.Certain() {
		t.Errorf("%v, %+v\n%s", err, f, strings.Join(b.log, "\n"))
	}
	b = newBench(4)
	b.factor = slowFrom(10)
	b.missing = func(release int) bool { return release == 10 || release == 11 }
	f, err = b.search()
	if err != nil || f.Good != b.releases[9] || f.Bad != b.releases[12] || f.Certain() || !slices.Equal(f.Between, b.releases[10:12]) || f.Pair.Judgment != bisect.Changed {
		t.Errorf("%v, %+v\n%s", err, f, strings.Join(b.log, "\n"))
	}
	b = newBench(4)
	b.missing = func(release int) bool { return release != 14 }
	if _, err := b.search(); err == nil {
		t.Error("no error although only one release has a worker")
	}
}

// TestUnclear searches with much noise. A large change must still be found. If there is no change,
// the last release must also be compared, and nothing may be certain.
func TestUnclear(t *testing.T) {
	b := newBench(5)
	b.noise, b.limit = 0.2, 40*time.Second // the time limit allows 20 rounds
	b.factor = func(release int) float64 {
		if release >= 25 {
			return 3
		}
		return 1
	}
	f, err := b.search()
	if err != nil || f.Bad != b.releases[25] || !f.Certain() {
		t.Errorf("%v, %+v\n%s", err, f, strings.Join(b.log, "\n"))
	}
	b = newBench(5)
	b.noise, b.limit = 0.2, 40*time.Second
	f, err = b.search()
	if err != nil || f.Change != nil || f.Certain() || len(f.Steps) != 2 || f.Steps[1].Cell.Rounds == 0 {
		t.Errorf("%v, %+v\n%s", err, f, strings.Join(b.log, "\n"))
	}
}
