package tune_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// searches is the number of searches in each simulation.
var searches = flag.Int("searches", 20, "searches of each simulation")

// off has one number for each of several searches: the time with the settings that the search chose,
// divided by the best possible time.
type off []float64

func (o off) String() string {
	sum, within := 0.0, 0
	for _, v := range o {
		sum += v
		if v <= 1.1 {
			within++
		}
	}
	return fmt.Sprintf("%d of %d within 10 %%, %.3f on average, %.2f in the worst", within, len(o), sum/float64(len(o)), slices.Max(o))
}

// found runs searches on hills. The parameter "noise" is the standard deviation of a trial's time, as a
// fraction of the time. The result "levels" says, for each loss of data that may be risked, how far the
// choices are from the best ones. The result "wrong" is how many steps are wrongly called worth setting.
func found(t *testing.T, noise float64) (levels map[int]off, wrong int) {
	t.Helper()
	levels = map[int]off{}
	for seed := range uint64(*searches) {
		l := newLandscape(seed)
		l.noise, l.worth = noise, hills
		f, err := l.search()
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range []int{conditions.LastCommitLost, conditions.CommitsLost} {
			got := l.choice(f, level)
			if conditions.Severity(got) > level {
				t.Errorf("seed %d: level %d: %v can lose more", seed, level, got)
			}
			levels[level] = append(levels[level], hills(got)/l.best(level))
		}
		if f.Took > 3*time.Minute+10*time.Second {
			t.Errorf("seed %d: it took %v", seed, f.Took)
		}
		last := 0
		for i, s := range f.Steps[1:] {
			if s.Ratio.Interval == nil || s.Gain.Interval == nil {
				t.Errorf("seed %d: step %d has no interval", seed, i+1)
			}
			if s.Safer {
				continue
			}
			if s.Before != last {
				t.Errorf("seed %d: step %d is compared with step %d, not with the last one worth setting, %d", seed, i+1, s.Before, last)
			}
			if s.Worth {
				if hills(l.today.With(s.Changes)) >= hills(l.today.With(f.Steps[last].Changes)) {
					wrong++
				}
				last = i + 1
			}
		}
	}
	t.Logf("trials vary by %g: at the risk of today: %v; if commits may be lost: %v; wrong steps: %d", noise, levels[conditions.LastCommitLost], levels[conditions.CommitsLost], wrong)
	return levels, wrong
}

// TestFindsTheBest checks, for each loss of data that may be risked, that the choice is within 10 % of
// the best combination and loses no more than allowed. Hardly any step may be wrongly called worth
// setting.
func TestFindsTheBest(t *testing.T) {
	levels, wrong := found(t, 0.03)
	for level, o := range levels {
		for seed, v := range o {
			if v > 1.1 {
				t.Errorf("seed %d, level %d: %.2f times as long as the best", seed, level, v)
			}
		}
	}
	if wrong > *searches/20 {
		t.Errorf("%d steps are wrongly called worth setting", wrong)
	}
}

// TestNoise checks searches whose trials vary by 10 %. No choice may take more than 1.6 times the best
// possible time, and hardly any step may be wrongly called worth setting.
func TestNoise(t *testing.T) {
	levels, wrong := found(t, 0.1)
	for _, o := range levels {
		if slices.Max(o) > 1.6 {
			t.Error(o)
		}
	}
	if wrong > *searches/20 {
		t.Errorf("%d steps are wrongly called worth setting", wrong)
	}
}

// TestFlat checks that hardly any search recommends a setting if all settings are equally fast.
func TestFlat(t *testing.T) {
	wrong := 0
	for seed := range uint64(*searches) {
		l := newLandscape(seed)
		f, err := l.search()
		if err != nil {
			t.Fatal(err)
		}
		if f.Choice(conditions.DatabaseLost) != 0 {
			wrong++
			t.Logf("seed %d: %v", seed, f.Steps[f.Choice(conditions.DatabaseLost)].Changes)
		}
	}
	t.Logf("%d of %d searches recommend a setting", wrong, *searches)
	if wrong > max(1, *searches/20) {
		t.Errorf("%d of %d searches recommend a setting that gains nothing", wrong, *searches)
	}
}

// TestSteps checks that journal_mode=wal and synchronous=normal, which gains much only with wal,
// are found. They must be separate steps, because only the second one can lose commits.
func TestSteps(t *testing.T) {
	l := newLandscape(1)
	l.names = []string{"journal_mode", "synchronous"}
	l.worth = hills
	f, err := l.search()
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Steps) != 3 || f.Steps[1].Added["journal_mode"] != "wal" || f.Steps[1].Loss != conditions.NothingLost || f.Steps[2].Added["synchronous"] != "normal" || f.Steps[2].Loss != conditions.CommitsLost || f.Steps[2].Before != 1 {
		t.Fatalf("%+v", f.Steps)
	}
	if f.Choice(conditions.LastCommitLost) != 1 || f.Choice(conditions.CommitsLost) != 2 {
		t.Errorf("choices %d and %d", f.Choice(conditions.LastCommitLost), f.Choice(conditions.CommitsLost))
	}
	if g := f.Steps[2].Gain.Interval; g.Low > 0.7 || g.High < 0.7 {
		t.Errorf("the interval of a step worth 0.7 is %+v", g)
	}
	if f.Grid != 4 { // synchronous=full with delete, truncate or wal, and synchronous=normal with wal
		t.Errorf("the grid has %d combinations, want 4", f.Grid)
	}
}

// TestSame checks that with --durability same, settings that can lose more data are not even measured.
func TestSame(t *testing.T) {
	l := newLandscape(2)
	l.worth, l.most = hills, 0
	f, err := l.search()
	if err != nil {
		t.Fatal(err)
	}
	if races := strings.Join(l.races, "\n"); strings.Contains(races, "normal") || strings.Contains(races, "off") {
		t.Error(races)
	}
	if got := l.choice(f, conditions.LastCommitLost); got["journal_mode"] != "wal" {
		t.Error(got)
	}
}

// TestSafer checks that settings that can lose less data than today's are offered, with the time that
// they cost.
func TestSafer(t *testing.T) {
	l := newLandscape(3)
	l.worth, l.names = hills, []string{"synchronous", "cache_size"}
	l.today["journal_mode"], l.today["synchronous"] = "wal", "normal"
	f, err := l.search()
	if err != nil {
		t.Fatal(err)
	}
	last := f.Steps[len(f.Steps)-1]
	if f.Loss != conditions.CommitsLost || !last.Safer || last.Changes["synchronous"] != "full" || last.Loss != 0 || last.Ratio.Median < 1 {
		t.Errorf("%d, %+v", f.Loss, last)
	}
	if got := l.choice(f, conditions.CommitsLost); got["synchronous"] != "normal" || !strings.HasPrefix(got["cache_size"], "-65") {
		t.Error(got)
	}
}

// TestHalves checks that a race leaves out slow candidates before it ends.
func TestHalves(t *testing.T) {
	l := newLandscape(1)
	l.worth = hills
	if _, err := l.search(); err != nil {
		t.Fatal(err)
	}
	halved := 0
	for _, a := range l.analyses {
		trials := map[int]int{}
		for _, x := range a.Run.Trials {
			trials[x.Case]++
		}
		for _, n := range trials {
			if n < trials[1] { // the first candidate stays to the end
				halved++
			}
		}
	}
	if halved == 0 {
		t.Error("no race left out any candidate before its end")
	}
}

// TestOut checks values that are refused, and values with which more operations fail. They must never be
// chosen, even if they seem fast.
func TestOut(t *testing.T) {
	l := newLandscape(4)
	l.worth = func(s driver.Settings) float64 {
		if s["mmap_size"] != "0" || s["temp_store"] == "memory" {
			return 0.05
		}
		return 0.15
	}
	l.outcome = func(s driver.Settings) *result.Trial {
		if s["mmap_size"] == "0" {
			return nil
		}
		return &result.Trial{Status: result.Refused, Reason: &protocol.Reason{Code: protocol.CodeSetting, Message: "wanted 268435456, got 0"}}
	}
	l.failed = func(s driver.Settings) int64 {
		if s["temp_store"] == "memory" {
			return 1
		}
		return 0
	}
	l.cannot = func(name, _ string) string {
		if name == "page_size" {
			return "it cannot be changed"
		}
		return ""
	}
	f, err := l.search()
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Steps) > 0 && f.Choice(conditions.DatabaseLost) != 0 {
		t.Errorf("%v", f.Steps[f.Choice(conditions.DatabaseLost)].Changes)
	}
	for _, x := range f.Tried {
		switch x.Name {
		case "mmap_size":
			if x.Status != result.Refused || x.Why == "" {
				t.Errorf("%+v", x)
			}
		case "temp_store":
			if !x.MoreFailed {
				t.Errorf("%+v", x)
			}
		case "page_size":
			t.Errorf("%+v", x)
		}
	}
	if !slices.ContainsFunc(f.Skipped, func(s tune.Skipped) bool { return s.Setting == "page_size=8192" && s.Why == "it cannot be changed" }) {
		t.Errorf("%+v", f.Skipped)
	}
}

// TestLongTrials checks a search whose trials take so long that there is no time for all values.
// The search must still find journal_mode=wal, one of the most promising values, and must not take much
// longer than its time limit.
func TestLongTrials(t *testing.T) {
	l := newLandscape(5)
	l.overhead = 1500 * time.Millisecond
	l.worth = hills
	f, err := l.search()
	if err != nil {
		t.Fatal(err)
	}
	if !f.Early || l.choice(f, conditions.LastCommitLost)["journal_mode"] != "wal" {
		t.Errorf("early: %v, %v", f.Early, l.choice(f, conditions.LastCommitLost))
	}
	if f.Took > 4*time.Minute+10*time.Second {
		t.Errorf("it took %v", f.Took)
	}
}

// TestTooShort checks a search that has no time to try anything: it must say how much time is
// enough. A search with that much time must try something.
func TestTooShort(t *testing.T) {
	within := func(d time.Duration) *tune.Finding {
		l := newLandscape(5)
		l.overhead, l.worth, l.time = 5*time.Second, hills, d
		f, err := l.search()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := within(45 * time.Second)
	if len(f.Tried) > 0 || !f.Early || f.Enough < 45*time.Second || f.Enough > 5*time.Minute {
		t.Fatalf("%d values tried, early: %v, enough: %v", len(f.Tried), f.Early, f.Enough)
	}
	if g := within(f.Enough * 11 / 10); len(g.Tried) == 0 || g.Enough != 0 {
		t.Errorf("in the time %v, which Enough gave: %d values tried, Enough is %v", f.Enough, len(g.Tried), g.Enough)
	}
}

// TestNeeds checks that a search says at its beginning how much time it needs to try each value
// and to confirm the best settings. With less time, some values must not be tried.
func TestNeeds(t *testing.T) {
	within := func(d time.Duration) (f *tune.Finding, need tune.Need) {
		l := newLandscape(5)
		l.overhead, l.worth, l.time = 5*time.Second, hills, d
		l.needs = func(n tune.Need) {
			if len(l.races) != 1 {
				t.Errorf("Needs is called after %d races, want 1", len(l.races))
			}
			need = n
		}
		f, err := l.search()
		if err != nil {
			t.Fatal(err)
		}
		return f, need
	}
	short := func(f *tune.Finding) bool {
		return slices.ContainsFunc(f.Skipped, func(s tune.Skipped) bool { return strings.Contains(s.Why, "no time") })
	}
	f, need := within(3 * time.Minute)
	if need.Trial < 5*time.Second || need.Trial > 6*time.Second || need.Values < 5 || need.Time < 4*time.Minute || need.Time < tune.Least(need.Trial) {
		t.Fatalf("%+v", need)
	}
	if !short(f) {
		t.Errorf("all %d values were tried within 3 minutes, although the search said that it needs %v", need.Values, need.Time)
	}
	g, again := within(need.Time * 11 / 10)
	if short(g) || len(g.Steps) < 2 || again.Time > need.Time*11/10 || g.Took > need.Time*13/10 {
		t.Errorf("with slightly more than the time %v that the search needs: %d steps in %v, %+v", need.Time, len(g.Steps), g.Took, g.Skipped)
	}
}

func TestBaseFails(t *testing.T) {
	l := newLandscape(6)
	l.outcome = func(driver.Settings) *result.Trial {
		return &result.Trial{Status: result.Failed, Reason: &protocol.Reason{Phase: "query", Message: "no such table"}}
	}
	_, err := l.search()
	base, ok := errors.AsType[*tune.BaseError](err)
	if want := "mine query is failed with its own settings already: no such table"; !ok || base.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestInterrupted checks that an interrupted search keeps its measurements, and confirms
// nothing.
func TestInterrupted(t *testing.T) {
	for stop := 1; stop <= 3; stop++ {
		l := newLandscape(7)
		l.worth, l.stop = hills, stop
		f, err := l.search()
		if !errors.Is(err, errInterrupted) || len(f.Races) != stop || f.Confirmed != nil {
			t.Errorf("race %d: %v, %d races", stop, err, len(f.Races))
		}
	}
}

// TestNothingToTry checks that if no value can be tried, today's settings are the only step.
func TestNothingToTry(t *testing.T) {
	l := newLandscape(8)
	l.names = []string{"txlock", "pool_size", "pool_readers"}
	f, err := l.search()
	if err != nil || len(f.Steps) != 1 || len(f.Skipped) != 3 || f.Choice(conditions.DatabaseLost) != 0 {
		t.Errorf("%v, %+v", err, f)
	}
}

func TestSpace(t *testing.T) {
	at := tune.Situation{InForce: driver.Settings{"journal_mode": "wal", "cache_size": "-2000", "pool_size": "4", "txlock": "deferred"}, DatabaseBytes: 100 << 20, Cannot: func(string, string) string { return "" }}
	space, skipped := tune.Space(at, tune.Names, map[string][]string{"page_size": {"1024"}})
	got := map[string]string{}
	for _, s := range space {
		got[s.Name] = strings.Join(s.Values, " ")
	}
	want := map[string]string{"journal_mode": "truncate delete", "synchronous": "normal full", "cache_size": "-16384 -65536 -262144", "page_size": "1024",
		"mmap_size": "268435456", "txlock": "immediate", "pool_size": "1 2", "pool_readers": "4", "wal_autocheckpoint": "4000 250", "temp_store": "memory"}
	if !maps.Equal(got, want) || len(skipped) != 0 {
		t.Errorf("%v, %v", got, skipped)
	}
	at.OnlyReads = true
	space, skipped = tune.Space(at, tune.Names, map[string][]string{"wal_autocheckpoint": {"77"}})
	tried := []string{}
	for _, s := range space {
		tried = append(tried, s.Name)
	}
	if slices.Contains(tried, "synchronous") || slices.Contains(tried, "txlock") || !slices.Contains(tried, "wal_autocheckpoint") || len(skipped) != 2 {
		t.Errorf("with OnlyReads: %v, %v", tried, skipped)
	}
	at.OnlyReads = false
	at.InForce = driver.Settings{"cache_size": "-2000000"}
	at.Most = conditions.DatabaseLost
	space, skipped = tune.Space(at, []string{"journal_mode", "cache_size", "txlock", "pool_size", "pool_readers"}, nil)
	if len(space) != 1 || len(space[0].Values) != 5 || len(skipped) != 4 {
		t.Errorf("%v, %v", space, skipped)
	}
}
