package stats_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// wave has the times of six rounds, in percent of a phase's time. They vary a little.
var wave = []int64{100, 101, 99, 102, 98, 103}

// lab builds a run like those of package lab, without measuring anything.
type lab struct{ run result.Run }

// add adds a case with one trial in each of six rounds. Each of phases has the form "name=ms", with the
// phase's time in milliseconds.
func (l *lab) add(workload, driver string, settings driver.Settings, phases ...string) *result.Case {
	c := result.Case{ID: len(l.run.Cases) + 1, Workload: workload, Driver: driver, Settings: settings}
	var times []int64
	for _, p := range phases {
		name, ms, _ := strings.Cut(p, "=")
		n, err := strconv.ParseInt(ms, 10, 64)
		if err != nil {
			panic(err) // only if a test passes a malformed phase
		}
		c.Phases, times = append(c.Phases, name), append(times, n)
	}
	for round := 1; round <= 6; round++ {
		t := result.Trial{Case: c.ID, Round: round, Order: len(l.run.Trials) + 1, Status: result.OK}
		for i, p := range c.Phases {
			t.Samples = append(t.Samples, result.Sample{Phase: p, Metric: "time", WallNS: times[i] * 10000 * wave[(round+c.ID)%6], Operations: 1})
		}
		l.run.Trials = append(l.run.Trials, t)
	}
	l.run.Cases = append(l.run.Cases, c)
	return &l.run.Cases[len(l.run.Cases)-1]
}

// trial returns the trial of a case in a round.
func (l *lab) trial(id, round int) *result.Trial {
	for i := range l.run.Trials {
		if t := &l.run.Trials[i]; t.Case == id && t.Round == round {
			return t
		}
	}
	panic("no such trial")
}

func (l *lab) outcomes() map[string]*stats.Outcome {
	m := map[string]*stats.Outcome{}
	for _, g := range stats.Analyze(&l.run, "native").Groups {
		for _, o := range g.Outcomes {
			m[o.Case.Driver] = o
		}
	}
	return m
}

func TestStatusOfCase(t *testing.T) {
	var l lab
	for _, d := range []string{"fine", "failed", "wrong", "refused", "unknown", "silent", "begun"} {
		l.add("simple", d, nil, "insert=10")
	}
	set := func(id, round int, s result.Status, message string) {
		l.trial(id, round).Status, l.trial(id, round).Reason = s, &protocol.Reason{Message: message}
	}
	set(2, 5, result.Failed, "second")
	set(2, 3, result.Failed, "first")
	set(3, 1, result.Failed, "crash")
	set(3, 2, result.Refused, "setting")
	set(3, 6, result.Wrong, "rows") // this status is worse than those of the earlier trials
	set(4, 1, result.Failed, "crash")
	set(4, 2, result.Refused, "setting")
	l.trial(5, 1).Status = "odd"
	l.trial(6, 1).Status = result.Failed // this trial has no reason
	l.run.Trials = l.run.Trials[:36]
	l.run.Cases[6].Phases = nil

	got := map[string]string{}
	for d, o := range l.outcomes() {
		got[d] = fmt.Sprintf("%s %d/%d", o.Status, o.Bad, len(o.Trials))
		if o.Reason != nil {
			got[d] += " " + o.Reason.Message
		}
	}
	want := map[string]string{
		"fine": "ok 0/6", "failed": "failed 2/6 first", "wrong": "wrong 3/6 rows", "refused": "refused 2/6 setting",
		"unknown": `failed 1/6 the trial ended with unknown status "odd"`, "silent": "failed 1/6 no reason was recorded",
		"begun": "not measured 0/0 the run ended before its first trial",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if stats.Analyze(&l.run, "").Complete() {
		t.Error("the run is called complete")
	}
}

// TestHungCheck checks a trial that hung while its rows were checked. It must cause a warning, and
// the case's other trials must count. If all trials of a case hung, the case has failed.
func TestHungCheck(t *testing.T) {
	var l lab
	l.add("simple", "some", nil, "insert=10")
	l.add("simple", "all", nil, "insert=10")
	hung := func(id, round int) {
		l.trial(id, round).Status, l.trial(id, round).Reason = result.Failed, &protocol.Reason{Code: protocol.CodeCheck, Phase: "insert", Message: "the check hung"}
	}
	hung(1, 4)
	for round := 1; round <= 6; round++ {
		hung(2, round)
	}
	o := l.outcomes()
	if some := o["some"]; some.Status != result.OK || some.Bad != 1 || len(some.Warnings) != 1 || some.Warnings[0].Code != result.WarningUnverified || some.Warnings[0].Round != 4 {
		t.Errorf("%s, %d bad, %+v", some.Status, some.Bad, some.Warnings)
	}
	if o["all"].Status != result.Failed {
		t.Error(o["all"].Status)
	}
	for _, c := range stats.Analyze(&l.run, "").Groups[0].Tables[0].Cells {
		if want := map[string]int{"some": 5, "all": 0}[c.Case.Driver]; c.Summary.N != want {
			t.Errorf("%s has %d figures, want %d", c.Case.Driver, c.Summary.N, want)
		}
	}
}

func TestNoOperationIsNoFigure(t *testing.T) {
	var l lab
	l.add("mix", "a", nil, "mix=10")
	for i := range l.run.Trials {
		s := &l.run.Trials[i].Samples[0]
		s.Metric, s.Operations = "time/op", 0
		s.Errors = []protocol.ErrorCount{{Name: "SQLITE_BUSY", Count: 7}}
	}
	if o := l.outcomes()["a"]; o.Status != result.Failed || o.Reason.Message != "no operation succeeded (7 × SQLITE_BUSY)" {
		t.Errorf("%s: %+v", o.Status, o.Reason)
	}
}

func TestChecksumsMustAgree(t *testing.T) {
	sums := func(of ...string) map[string]*stats.Outcome {
		var l lab
		for i, sum := range of {
			l.add("simple", fmt.Sprint("d", i), nil, "query=10", "other=10")
			for round := 1; round <= 6; round++ {
				l.trial(i+1, round).Samples[0].Checksum = strings.Repeat(sum, 64)
			}
		}
		switch of[0] {
		case "e":
			l.trial(1, 4).Samples[0].Checksum = strings.Repeat("f", 64)
		case "c", "d": // the trials of later rounds have no checksums, except one trial in case "d"
			for i := range of {
				for round := 2; round <= 6; round++ {
					l.trial(i+1, round).Samples[0].Checksum = ""
				}
			}
			if of[0] == "d" {
				l.trial(1, 5).Samples[0].Checksum = strings.Repeat("f", 64)
			}
		}
		return l.outcomes()
	}
	check := func(name string, got map[string]*stats.Outcome, want ...result.Status) {
		t.Helper()
		for i, w := range want {
			if o := got[fmt.Sprint("d", i)]; o.Status != w || (o.Reason != nil) != (w != result.OK) {
				t.Errorf("%s: driver %d is %s (%+v), want %s", name, i, o.Status, o.Reason, w)
			}
		}
	}
	check("all agree", sums("a", "a", "a"), result.OK, result.OK, result.OK)
	check("one differs", sums("a", "b", "a"), result.OK, result.Wrong, result.OK)
	check("no majority", sums("a", "b"), result.Wrong, result.Wrong)
	check("one has none", sums("a", "", "a"), result.OK, result.OK, result.OK)
	check("only the first trials have one", sums("c", "c", "c"), result.OK, result.OK, result.OK)
	check("only the first trials have one, and one differs", sums("c", "a", "c"), result.OK, result.Wrong, result.OK)
	check("one errs in a later trial", sums("d", "d"), result.Wrong, result.OK)
	check("one differs from itself", sums("e", "e", "e"), result.Wrong, result.OK, result.OK)
}

// TestChecksumWords checks the message for the first driver if its checksum is malformed or differs
// from others. The message must give the reason. If no checksum has a majority, it must also say
// which driver to add.
func TestChecksumWords(t *testing.T) {
	long := func(of string) string { return of + strings.Repeat("0", 64-len(of)) }
	for _, test := range []struct {
		drivers, sums []string
		want          string // message for the first driver
	}{
		{[]string{"mattn", "modernc"}, []string{long("a"), long("b")},
			"answer differs from that of modernc, and two drivers cannot show which of them is wrong: add native to the run; checksum a0000000…, b0000000… of modernc"},
		{[]string{"native@v2", "modernc"}, []string{long("a"), long("b")},
			"answer differs from that of modernc, and two drivers cannot show which of them is wrong: add ncruces to the run; checksum a0000000…, b0000000… of modernc"},
		{[]string{"a", "b", "c"}, []string{long("a"), long("b"), long("c")},
			"answer differs from that of b and c, and no answer has a majority: add native to the run; checksum a0000000…, b0000000… of b, c0000000… of c"},
		{[]string{"a", "b", "c"}, []string{long("123456789a"), long("123456789b"), long("123456789b")},
			"answer differs from that of 2 drivers: checksum 123456789a… instead of 123456789b…"},
		{[]string{"a", "b"}, []string{"123456789abc", long("123456789abc")},
			`checksum "123456789abc" is not 64 lower-case hexadecimal digits`},
	} {
		var l lab
		for i, d := range test.drivers {
			l.add("simple", d, nil, "query=10")
			for round := 1; round <= 6; round++ {
				l.trial(i+1, round).Samples[0].Checksum = test.sums[i]
			}
		}
		if o := l.outcomes()[test.drivers[0]]; o.Reason == nil || o.Reason.Message != test.want {
			t.Errorf("got %+v, want %q", o.Reason, test.want)
		}
	}
}

func TestGroupsAndVariants(t *testing.T) {
	var l lab
	for _, mode := range []string{"wal", "delete"} {
		for _, d := range []string{"native", "mattn"} {
			c := l.add("many", d, driver.Settings{"journal_mode": mode, "synchronous": "full"}, "query=10")
			c.Parameters = map[string]int64{"users": 10, "repeats": 3}
		}
	}
	l.add("many", "mattn", driver.Settings{"synchronous": "full"}, "query=10").Parameters = map[string]int64{"users": 100, "repeats": 3}
	l.add("simple", "mattn", driver.Settings{"synchronous": "full"}, "query=10")
	var got []string
	for _, g := range stats.Analyze(&l.run, "native").Groups {
		got = append(got, fmt.Sprintf("%s [%s] %d", g.Workload, g.Variant(), len(g.Outcomes)))
	}
	want := []string{
		"many [users=10 journal_mode=wal] 2", "many [users=10 journal_mode=delete] 2",
		"many [users=100 journal_mode not set] 1", "simple [] 1",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTableOrderAndBase(t *testing.T) {
	var l lab
	l.add("simple", "slow", nil, "insert=50")
	l.add("simple", "native@v2", nil, "insert=20")
	l.add("simple", "broken", nil, "insert=5")
	l.add("simple", "fast", nil, "insert=10")
	l.trial(3, 1).Status = result.Failed
	order := func(floor string) (names []string, base string, isFloor bool) {
		tab := stats.Analyze(&l.run, floor).Groups[0].Tables[0]
		for _, c := range tab.Cells {
			names = append(names, fmt.Sprint(c.Case.Driver, " ", c.Rank))
		}
		return names, tab.Cells[tab.Base].Case.Driver, tab.IsFloor
	}
	names, base, isFloor := order("native")
	if d := cmp.Diff([]string{"fast 1", "native@v2 0", "slow 2", "broken 0"}, names); d != "" {
		t.Error(d)
	}
	if base != "native@v2" || !isFloor {
		t.Errorf("base %s, floor %v", base, isFloor)
	}
	if _, base, isFloor = order("broken"); base != "fast" || isFloor { // ratios cannot be relative to a driver without figures
		t.Errorf("base %s, floor %v", base, isFloor)
	}
	l.run.Cases[0].Driver = "native@v1" // ratios are relative to the first version of native, although it is not the fastest
	if _, base, isFloor = order("native"); base != "native@v1" || !isFloor {
		t.Errorf("with two versions of native: base %s, floor %v", base, isFloor)
	}
	l.run.Cases[1].Driver = "native" // this name is preferred to names with a version
	if _, base, isFloor = order("native"); base != "native" || !isFloor {
		t.Errorf("with native and native@v1: base %s, floor %v", base, isFloor)
	}
	tab := stats.Analyze(&l.run, "native").Groups[0].Tables[0]
	if r := tab.Cells[2].Ratio; r.N != 6 || r.Median < 2.4 || r.Median > 2.6 || r.Interval == nil {
		t.Errorf("slow against native: %+v", r)
	}
	a, ok := tab.Against(0, 2)
	b, ok2 := tab.Against(2, 0)
	if !ok || !ok2 || a.Delta != -1 || b.Delta != 1 || a.Adjusted != b.Adjusted {
		t.Errorf("against: %+v, %+v", a, b)
	}
}

func TestOneDriverHasNothingToCompare(t *testing.T) {
	var l lab
	l.add("simple", "mattn", nil, "insert=50")
	a := stats.Analyze(&l.run, "native")
	tab := a.Groups[0].Tables[0]
	if tab.Base != -1 || tab.Cells[0].Ratio != nil || tab.Cells[0].Rank != 1 || len(a.Overall.Drivers) != 0 {
		t.Errorf("table %+v, cell %+v, overall %+v", tab, tab.Cells[0], a.Overall)
	}
}

func TestOverall(t *testing.T) {
	var l lab
	l.add("a", "native", nil, "x=10", "y=10")
	l.add("a", "mattn", nil, "x=20", "y=80")
	l.add("a", "rare", nil, "x=20", "y=80")
	l.add("b", "native", nil, "z=10")
	l.add("b", "mattn", nil, "z=7")
	l.add("b", "python", nil, "z=30")
	// The times do not vary, so the means are exact.
	for i := range l.run.Trials {
		for j := range l.run.Trials[i].Samples {
			s := &l.run.Trials[i].Samples[j]
			s.WallNS = s.WallNS / wave[(l.run.Trials[i].Round+l.run.Trials[i].Case)%6] * 100
		}
	}
	o := stats.Analyze(&l.run, "native").Overall
	if o.Base != "native" || !o.IsFloor {
		t.Errorf("base %s, floor %v", o.Base, o.IsFloor)
	}
	// The driver python has figures in 1 of 3 tables, so it is left out. The driver rare has no
	// figures in the table "b z", so this table is left out for all drivers.
	if d := cmp.Diff([]stats.LeftOut{{Driver: "python", Code: stats.FewFigures, Figures: 1, Tables: 3}}, o.Absent); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]stats.LeftOut{{Table: &stats.TableName{Workload: "b", Phase: "z"}, Code: stats.NoFigures, Drivers: []string{"rare"}}}, o.LeftOut); d != "" {
		t.Error(d)
	}
	got := map[string]float64{}
	for _, d := range o.Drivers {
		got[d.Case.Driver] = d.Ratio.Median
	}
	if d := cmp.Diff(map[string]float64{"native": 1, "mattn": 4, "rare": 4}, got, cmp.Comparer(near)); d != "" { // 4 is √(2·8), the geometric mean of the ratios in two tables
		t.Error(d)
	}
	want := []stats.Standing{{Floor: true}, {Rank: 1, Tied: []int{2}}, {Rank: 2, Tied: []int{1}}}
	for i, d := range o.Drivers {
		if d := cmp.Diff(want[i], d.Standing); d != "" {
			t.Errorf("standing %d: %s", i, d)
		}
	}
	for _, p := range o.Pairs {
		if p.First == 0 && (!near(p.P, 2./64) || p.Delta != -1) { // there are six ratios, one per round, and not 36 pairs of samples
			t.Errorf("against the base: %+v", p)
		}
	}

	// A round in which a driver lacks a figure in any table does not count.
	l.trial(2, 3).Samples = l.trial(2, 3).Samples[:1]
	o = stats.Analyze(&l.run, "native").Overall
	for _, d := range o.Drivers {
		if d.Case.Driver == "mattn" && (d.Ratio.N != 5 || d.Rank != 0 || d.Ratio.Interval != nil) {
			t.Errorf("mattn with a round missing: %+v", d)
		}
	}
	// If the driver in the parameter "floor" was not measured, ratios are relative to the fastest driver.
	if o := stats.Analyze(&l.run, "sqinn").Overall; o.Base != "native" || o.IsFloor {
		t.Errorf("base %s, floor %v", o.Base, o.IsFloor)
	}
}

func TestWarningsFindTheirCase(t *testing.T) {
	var l lab
	l.add("a", "native", nil, "x=10")
	l.run.Warnings = []result.Warning{{Code: "load"}, {Code: "spread", Case: 1}, {Code: "stray", Case: 9}}
	l.trial(1, 2).Warnings = []result.Warning{{Code: "rss"}}
	a := stats.Analyze(&l.run, "native")
	if d := cmp.Diff([]result.Warning{{Code: "load"}, {Code: "stray", Case: 9}}, a.Warnings); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]result.Warning{{Code: "spread", Case: 1}, {Code: "rss", Case: 1, Round: 2}}, a.Groups[0].Outcomes[0].Warnings); d != "" {
		t.Error(d)
	}
}

// TestRepeatedTrialsDoNotCount checks a trial that was measured again. Its samples must not count,
// but its checksums must still be verified.
func TestRepeatedTrialsDoNotCount(t *testing.T) {
	var l lab
	c := l.add("simple", "mattn", nil, "query=10")
	again := *l.trial(c.ID, 3)
	robbed := l.trial(c.ID, 3)
	robbed.Robbed, robbed.Repeated = true, true
	robbed.Samples[0].WallNS = 1e12
	again.Order, again.Samples = 7, []result.Sample{again.Samples[0]}
	again.Samples[0].WallNS = 1e7
	l.run.Trials = append(l.run.Trials, again)
	cell := stats.Analyze(&l.run, "native").Groups[0].Tables[0].Cells[0]
	if s := cell.Summary; s.N != 6 || len(cell.Trials) != 7 || s.Interval.High > 0.02 {
		t.Errorf("%d trials: %+v", len(cell.Trials), s)
	}
	for i := range l.run.Trials {
		l.run.Trials[i].Samples[0].Checksum = strings.Repeat("a", 64)
	}
	l.trial(c.ID, 3).Samples[0].Checksum = strings.Repeat("b", 64)
	if o := l.outcomes()["mattn"]; o.Status != result.Wrong {
		t.Errorf("a wrong answer in a trial that was repeated: status %s", o.Status)
	}
}

// TestNotMeasuredAgain checks a case without any trial that counts. Its status must be NotMeasured,
// unless a checksum was wrong.
func TestNotMeasuredAgain(t *testing.T) {
	var l lab
	for _, d := range []string{"mattn", "modernc", "ncruces"} {
		l.add("simple", d, nil, "query=10")
	}
	l.run.Trials = slices.DeleteFunc(l.run.Trials, func(t result.Trial) bool { return t.Round > 1 })
	late := l.trial(3, 1)
	late.Robbed, late.Repeated = true, true
	if o := l.outcomes()["ncruces"]; o.Status != stats.NotMeasured || o.Reason == nil || o.Reason.Message != "its trial does not count, and the run ended before it was measured again" {
		t.Errorf("not measured again: %s, %+v", o.Status, o.Reason)
	}
	for i := range l.run.Trials {
		l.run.Trials[i].Samples[0].Checksum = strings.Repeat("a", 64)
	}
	late.Samples[0].Checksum = strings.Repeat("b", 64)
	if o := l.outcomes()["ncruces"]; o.Status != result.Wrong {
		t.Errorf("a wrong answer in a trial that does not count: status %s", o.Status)
	}
}

// TestTooFew compares two drivers over eight tables. One driver is faster in all rounds, but there
// are too few rounds for this to be significant after the correction for eight tables. TooFew must
// report that, with the number of rounds that would suffice.
func TestTooFew(t *testing.T) {
	tables := func(rounds int, drivers ...string) []*stats.Table {
		var l lab
		for w := range 8 {
			for _, d := range drivers {
				l.add(fmt.Sprint(w), d, nil, "insert=10")
			}
		}
		l.run.Trials = nil
		for _, c := range l.run.Cases {
			for round := 1; round <= rounds; round++ {
				wall := int64(1e9)
				switch last := c.Driver == drivers[len(drivers)-1]; {
				case last && c.Workload == "0":
					for range round - 1 { // up to 3^15 times the time, so that rounds differ greatly
						wall *= 3
					}
					wall += 1e6
				case last:
					wall += int64(round%2*2-1) * 1e7
				case c.Driver != drivers[0]:
					wall += int64(round%3-1) * 1e6
				}
				l.run.Trials = append(l.run.Trials, result.Trial{Case: c.ID, Round: round, Order: len(l.run.Trials) + 1, Status: result.OK,
					Samples: []result.Sample{{Phase: "insert", Metric: result.MetricTime, WallNS: wall, Operations: 1}}})
			}
		}
		var list []*stats.Table
		for _, g := range stats.Analyze(&l.run, "").Groups {
			list = append(list, g.Tables...)
		}
		return list
	}
	enough, few := tables(6, "a", "z")[0].Pairs[0].TooFew()
	if !few || enough != 9 {
		t.Errorf("%v %d, want 9 rounds", few, enough)
	}
	for i, table := range tables(6, "a", "z")[1:] {
		if enough, few := table.Pairs[0].TooFew(); few {
			t.Errorf("table %d: neither driver is faster in all rounds, but TooFew says that %d rounds are enough", i+2, enough)
		}
	}
	if x := tables(9, "a", "z")[0].Pairs[0]; !x.Significant() {
		t.Errorf("9 rounds are not enough: %+v", x.Test)
	} else if _, few := x.TooFew(); few {
		t.Error("TooFew is true although the difference is significant")
	}
	// With three drivers, only the exact signed-rank test is used from 16 rounds on. With fewer rounds,
	// a t test is used too, and nobody can predict its result.
	first, last := 0, 0
	for _, p := range tables(6, "a", "b", "z")[0].Pairs {
		if enough, few := p.TooFew(); few {
			first, last = max(first, enough), last+1
		}
	}
	if first != 16 || last == 0 {
		t.Errorf("TooFew is true for %d pairs and asks for up to %d rounds, want at least one pair and 16 rounds", last, first)
	}
	for _, p := range tables(16, "a", "b", "z")[0].Pairs {
		if math.Abs(p.Delta) == 1 && !p.Significant() {
			t.Errorf("16 rounds are not enough: %+v", p.Test)
		}
	}
}
