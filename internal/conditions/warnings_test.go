package conditions_test

import (
	"slices"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestListed checks that a list of runs names each kind of warning once, and leaves out the kinds
// that nearly every run has.
func TestListed(t *testing.T) {
	codes := []string{result.WarningVirtual, result.WarningRobbed, result.WarningGovernor, result.WarningLoad, "new", result.WarningClock, "newer"}
	if got, want := conditions.Listed(codes), []string{"clock", "warning", "noise"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	usual := []string{result.WarningVirtual, result.WarningGovernor, conditions.CaveatUnsettled, conditions.CaveatLeftOut}
	if got := conditions.Listed(usual); got != nil {
		t.Errorf("%q, although nearly every run has these", got)
	}
}

// TestNoise checks that all warnings about noise share one line. If nearly every run has these
// warnings, the line must not be an alarm.
func TestNoise(t *testing.T) {
	usual := []result.Warning{{Code: result.WarningGovernor, Message: "powersave"}, {Code: result.WarningVirtual, Message: "kvm"}}
	all := slices.Concat(usual, []result.Warning{
		{Code: result.WarningLoad, Message: "load"}, {Code: result.WarningFsync, Message: "fsync"},
		{Code: result.WarningRobbed, Message: "robbed", Share: 0.25}, {Code: result.WarningSteal, Message: "steal", Share: 0.03},
		{Code: result.WarningCalibration, Round: 2, Deviation: -0.2}, {Code: result.WarningCalibration, Round: 7, Deviation: 0.5},
		{Code: result.WarningClock, Message: "the clock"},
	})
	for _, tc := range []struct {
		warnings []result.Warning
		rounds   int
		want     string
		alarm    bool
	}{
		{usual, 9, "the clock rate is not fixed and the machine is virtual: trust ratios more than times", false},
		{all[:8], 9, "other processes disturbed 25% of the trials, other processes ran, the speed changed in 2 of 9 rounds (-20% to +50%), " +
			"other virtual machines took 3.0% of the CPU time, the disk's speed changed, the clock rate is not fixed and the machine is virtual: trust ratios more than times", true},
		{all[6:8], 0, "the speed changed in 2 of 7 rounds (-20% to +50%): trust ratios more than times", true},
		{[]result.Warning{{Code: result.WarningRobbed}, {Code: result.WarningCalibration, Round: 2}}, 9, // as in an older run, whose warnings have no shares
			"other processes disturbed trials and the speed changed in 1 of 9 rounds: trust ratios more than times", true},
	} {
		l := conditions.MachineWarnings(tc.warnings, tc.rounds)
		if len(l) != 1 || l[0].Label != "noise" || l[0].Text != tc.want || l[0].Alarm != tc.alarm {
			t.Errorf("%+v, want %s", l, tc.want)
		}
	}
	if l := conditions.MachineWarnings(all, 9); len(l) != 2 || l[0].Label != "clock" || l[1].Label != "noise" {
		t.Errorf("%+v", l)
	}
}

// TestKept checks that a screen keeps warnings about lost or falsified data, and that these come
// first.
func TestKept(t *testing.T) {
	list := []conditions.Caveat{{Code: conditions.CaveatUnsettled, Text: "x"}, {Code: string(result.Wrong), Text: "x"}, {Code: conditions.CaveatDefect, Text: "x"}, {Code: conditions.CaveatRisk, Text: "x"}}
	conditions.SortCaveats(list)
	for i, it := range conditions.CaveatItems(list) {
		if it.Kept != (i < 2) || !it.Warning || it.Alarm != (i < 3) {
			t.Errorf("%d: %+v", i, it)
		}
	}
}

// TestSliceTime checks the typical time of slices. The time of a repeated query is a mean per execution, but a
// slice may have several executions.
func TestSliceTime(t *testing.T) {
	run := &result.Run{Trials: []result.Trial{{Samples: []result.Sample{
		{WallNS: 900}, {WallNS: 900, Slices: 3}, {WallNS: 900, Slices: 3, Repeats: 10}, {WallNS: 900, Repeats: 10},
	}}}}
	if got := conditions.SliceTime(run); got != 3000 {
		t.Errorf("%v, want 3µs", got)
	}
	run.Trials[0].Samples = run.Trials[0].Samples[:1]
	if got := conditions.SliceTime(run); got != 0 {
		t.Errorf("%v without slices", got)
	}
}

// TestTurns checks that long phases that were not divided into slices are named.
func TestTurns(t *testing.T) {
	sliced, long, short := result.Sample{Phase: "query", WallNS: 90e6, Slices: 18}, result.Sample{Phase: "mix", WallNS: 90e6}, result.Sample{Phase: "insert", WallNS: 9e6}
	failed := result.Trial{Case: 1, Status: result.Failed, Samples: []result.Sample{{Phase: "query", WallNS: 90e6}}}
	for _, x := range []struct {
		samples []result.Sample
		want    string
	}{
		{[]result.Sample{long, short}, "taking turns at each phase"},
		{[]result.Sample{sliced, short}, "taking turns every 5ms"},
		{[]result.Sample{sliced, sliced, long, short}, "taking turns every 5ms (in locks mix only after the whole phase)"},
	} {
		first := result.Trial{Case: 1, Status: result.OK, Alternated: true, Samples: x.samples}
		run := &result.Run{Cases: []result.Case{{ID: 1, Workload: "locks"}}, Trials: []result.Trial{first, failed, first}}
		if got := conditions.Turns(run); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
