package tune_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// landscape imitates a workload whose time depends on settings, and measures it with the real
// package lab. Its clock advances only during trials.
type landscape struct {
	rand     *rand.Rand
	noise    float64                             // standard deviation of a trial's time, as a fraction of it
	overhead time.Duration                       // time of a trial in addition to its phase
	today    driver.Settings                     // settings in force if nothing is set
	worth    func(driver.Settings) float64       // time of the phase in seconds, with the given settings
	memory   func(driver.Settings) int64         // peak RSS with the given settings
	outcome  func(driver.Settings) *result.Trial // outcome of a trial; nil if it is OK
	failed   func(driver.Settings) int64         // number of failed operations among the 10 of a trial
	database int64                               // size of the database in bytes
	space    map[string][]string                 // values that the user gave, by setting
	names    []string                            // settings to search; nil for all
	cannot   func(name, value string) string     // returns why a value cannot be tried; nil if all values can
	stop     int                                 // number of the race that is interrupted, from 1; 0 for none, -1 for the second confirmation
	most     int                                 // the worst loss of data that may be risked, as in Search
	time     time.Duration                       // time limit of the search; 0 for 3 minutes
	needs    func(tune.Need)
	races    []string
	analyses []*stats.Analysis // analyses of the races
	now      time.Time

	confirmations int
}

func newLandscape(seed uint64) *landscape {
	return &landscape{
		rand: rand.New(rand.NewPCG(seed, 2)), noise: 0.03, overhead: 150 * time.Millisecond, database: 40 << 20, most: conditions.CommitsLost,
		today: driver.Settings{"journal_mode": "delete", "synchronous": "full", "cache_size": "-2000", "page_size": "4096",
			"mmap_size": "0", "temp_store": "default", "wal_autocheckpoint": "1000"},
		worth:   func(driver.Settings) float64 { return 0.15 },
		memory:  func(driver.Settings) int64 { return 20 << 20 },
		outcome: func(driver.Settings) *result.Trial { return nil },
		failed:  func(driver.Settings) int64 { return 0 },
		now:     time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
	}
}

func (l *landscape) Trial(_ context.Context, c *lab.Case, _ uint64) (*result.Trial, error) {
	s := l.today.With(c.Settings)
	wall := l.worth(s)
	l.now = l.now.Add(l.overhead + time.Duration(1e9*wall))
	t := &result.Trial{Case: c.ID, Status: result.OK, TookNS: int64(l.overhead) + int64(1e9*wall), Proof: &protocol.Proof{Connections: []driver.Settings{s}}}
	if bad := l.outcome(s); bad != nil {
		t.Status, t.Reason = bad.Status, bad.Reason
		return t, nil
	}
	for _, phase := range c.Phases {
		each := wall
		if phase == "other" {
			each = 0.05
		}
		t.Samples = append(t.Samples, result.Sample{Phase: phase, Metric: result.MetricTime, Operations: 10, Failed: l.failed(s),
			WallNS: int64(1e9 * each * math.Exp(l.noise*l.rand.NormFloat64())), Costs: protocol.Costs{PeakRSSBytes: l.memory(s), DatabaseBytes: l.database}})
	}
	return t, nil
}

func (l *landscape) Trials(ctx context.Context, cases []*lab.Case, seed uint64) (list []*result.Trial, err error) {
	for _, c := range cases {
		t, err := l.Trial(ctx, c, seed)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

func (l *landscape) BeforeRun() []result.Warning                             { return nil }
func (l *landscape) BeforeRound(int)                                         {}
func (l *landscape) AfterRun() []result.Warning                              { return nil }
func (l *landscape) Steal() *float64                                         { return nil }
func (l *landscape) AddTrial(context.Context, int64, *result.Trial) error    { return nil }
func (l *landscape) AddWarning(context.Context, int64, result.Warning) error { return nil }
func (l *landscape) Finish(context.Context, *result.Run) error               { return nil }

type silent struct{}

func (silent) Planned(lab.Plan) {}

func (silent) Trial(int, int, int, int, time.Duration, *lab.Case, *result.Trial) {}

var errInterrupted = errors.New("interrupted")

func (l *landscape) measure(ctx context.Context, p tune.Plan) (*stats.Analysis, error) {
	run := &result.Run{ID: int64(len(l.races) + 1), Started: l.now}
	m := &lab.Laboratory{
		Run: run, Schedule: lab.Schedule{Rounds: p.Rounds, Settled: p.Settled},
		Executor: l, Recorder: l, Noise: l, Progress: silent{}, Now: func() time.Time { return l.now },
	}
	var words []string
	for i, s := range p.Candidates {
		c := &lab.Case{}
		c.ID, c.Driver, c.Workload, c.Phases, c.Settings = i+1, "modernc", "mine", []string{"query"}, s
		m.Cases = append(m.Cases, c)
		run.Cases = append(run.Cases, c.Case)
		words = append(words, fmt.Sprint(s))
	}
	l.races = append(l.races, strings.Join(words, " "))
	err := m.Measure(ctx)
	if p.What == "confirmation" {
		l.confirmations++
	}
	if l.stop == len(l.races) || l.stop == -1 && l.confirmations == 2 {
		err = errInterrupted
	}
	l.analyses = append(l.analyses, stats.Analyze(run, ""))
	return l.analyses[len(l.analyses)-1], err
}

func (l *landscape) search() (*tune.Finding, error) {
	s := &tune.Search{Time: cmp.Or(l.time, 3*time.Minute), Margin: 0.02, Loss: conditions.Severity, Most: l.most, Measure: l.measure, Needs: l.needs, Now: func() time.Time { return l.now }}
	s.Space = func(at tune.Situation) ([]tune.Setting, []tune.Skipped) {
		if at.Cannot = l.cannot; at.Cannot == nil {
			at.Cannot = func(string, string) string { return "" }
		}
		names := l.names
		if names == nil {
			names = tune.Names
		}
		return tune.Space(at, names, l.space)
	}
	return s.Run(context.Background())
}

// choice returns the settings that a finding recommends if the parameter "level" is the worst loss of
// data that may be risked.
func (l *landscape) choice(f *tune.Finding, level int) driver.Settings {
	return l.today.With(f.Steps[f.Choice(level)].Changes)
}

// hills returns the time of a phase in seconds. Gains depend on each other: a larger cache makes
// mapping the file worthless, and synchronous and wal_autocheckpoint have an effect only with a
// WAL.
func hills(s driver.Settings) float64 {
	t := 0.15
	wal := s["journal_mode"] == "wal"
	switch {
	case wal:
		t *= 0.6
	case s["journal_mode"] == "truncate":
		t *= 0.95
	}
	switch {
	case s["synchronous"] == "normal" && wal:
		t *= 0.7
	case s["synchronous"] == "normal":
		t *= 0.97
	}
	large := s["cache_size"] == "-65536" || s["cache_size"] == "-262144"
	switch {
	case large:
		t *= 0.8
	case s["cache_size"] == "-16384":
		t *= 0.9
	}
	if s["mmap_size"] != "0" && !large {
		t *= 0.9
	}
	switch s["page_size"] {
	case "8192":
		t *= 0.93
	case "16384":
		t *= 0.99
	}
	if s["wal_autocheckpoint"] == "4000" && wal {
		t *= 0.95
	}
	return t
}

// best returns the least time of all combinations of settings that risk no greater loss of data than the
// parameter "level".
func (l *landscape) best(level int) float64 {
	values := map[string][]string{"journal_mode": {"delete", "truncate", "wal"}, "synchronous": {"full", "normal"}, "cache_size": {"-2000", "-16384", "-65536"},
		"mmap_size": {"0", "268435456"}, "page_size": {"4096", "8192", "16384"}, "temp_store": {"default", "memory"}, "wal_autocheckpoint": {"250", "1000", "4000"}}
	all := []driver.Settings{l.today}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var next []driver.Settings
		for _, s := range all {
			for _, v := range values[name] {
				next = append(next, s.With(driver.Settings{name: v}))
			}
		}
		all = next
	}
	least := math.Inf(1)
	for _, s := range all {
		if conditions.Severity(s) <= level {
			least = min(least, l.worth(s))
		}
	}
	return least
}
