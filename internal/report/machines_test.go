package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// onMachine returns a run on a host. The times of the driver mattn in the phase "query" are
// multiplied by the parameter "mattn".
func onMachine(host string, id int64, mattn int64) *result.Run {
	run := newRun(9)
	run.ID, run.Host, run.Machine.Hostname = id, &result.Host{Name: host}, host
	drivers := []string{"native", "mattn", "modernc"}
	add(run, "simple", nil, rollback, drivers, bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 302_000_000, 1_000_000, 1))
	spoil(run, "simple", "mattn", func(t *result.Trial) { t.Samples[1].WallNS *= mattn })
	return run
}

// comparedOnMachine returns a run on a host that compares the drivers mattn and modernc. The times
// of mattn in the phase "query" are multiplied by the parameter "mattn".
func comparedOnMachine(id, mattn int64) *result.Run {
	run := newRun(9)
	run.ID, run.Host = id, &result.Host{Name: fmt.Sprint("m", id)}
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.02}
	add(run, "simple", nil, rollback, []string{"mattn", "modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 302_000_000, 1_000_000, 1))
	spoil(run, "simple", "mattn", func(t *result.Trial) { t.Samples[1].WallNS *= mattn })
	return run
}

func onMachines(runs ...*result.Run) []machines.OnMachine {
	var list []machines.OnMachine
	for _, run := range runs {
		list = append(list, machines.OnMachine{Name: run.Host.Name, Analysis: stats.Analyze(run, "native")})
	}
	return list
}

func writeMachines(t *testing.T, format string, list []machines.OnMachine, opts document.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := machines.Formats.Write(&b, format, list, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMachinesGolden(t *testing.T) {
	for _, format := range machines.Formats.Names() {
		list := append(onMachines(onMachine("pi", 3, 1), onMachine("vm1", 4, 4)), machines.OnMachine{Name: "nvme", Failure: "no driver has a worker: nothing is measured or stored"})
		golden(t, "machines."+extension[format], writeMachines(t, format, list, document.Options{}))
	}
}

// noisy makes the times of a driver vary so much that it does not differ significantly from any
// other driver.
func noisy(run *result.Run, driver string) *result.Run {
	spoil(run, "simple", driver, func(t *result.Trial) {
		for i := range t.Samples {
			t.Samples[i].WallNS = t.Samples[i].WallNS * 3 / 2
			if t.Round%2 == 0 {
				t.Samples[i].WallNS *= 4
			}
		}
	})
	return run
}

// TestMachinesFirst checks that machines contradict each other only if both have a significant
// difference, in opposite directions.
func TestMachinesFirst(t *testing.T) {
	for _, tc := range []struct {
		runs []*result.Run
		want string
	}{
		{[]*result.Run{onMachine("a", 3, 1), noisy(onMachine("b", 4, 1), "mattn")},
			"First on a: mattn; b: mattn or modernc, tied; no comparison turns around. Of 2 comparisons"},
		{[]*result.Run{noisy(onMachine("a", 3, 1), "mattn"), onMachine("b", 4, 1), onMachine("c", 5, 1)},
			"First on a: mattn or modernc, tied; b, c: mattn; no comparison turns around. Of 2 comparisons"},
		{[]*result.Run{noisy(onMachine("a", 3, 1), "mattn"), noisy(onMachine("b", 4, 1), "mattn")},
			"First on both machines (a, b): mattn or modernc, tied."},
		{[]*result.Run{onMachine("a", 3, 1), onMachine("b", 4, 99)},
			"Who comes first depends on the machine. a: mattn; b: modernc."},
	} {
		if got := machines.MachinesAnswer(onMachines(tc.runs...)); !strings.HasPrefix(got, tc.want) {
			t.Errorf("the answer is %s, want %s", got, tc.want)
		}
	}
}

// TestMachinesTrust checks that the report says for each machine how certain its results are, even on
// a terminal with few lines.
func TestMachinesTrust(t *testing.T) {
	disturbed := onMachine("vm1", 4, 1)
	disturbed.Warnings = []result.Warning{{Code: result.WarningLoad, Message: "the load average was 9"}}
	for _, lines := range []int{0, 24} {
		got := writeMachines(t, "table", onMachines(onMachine("pi", 3, 1), disturbed), document.Options{Lines: lines, Width: 200})
		for _, want := range []string{"how sure  pi: 9 rounds: mattn was faster than modernc in 2 of 2 cells, slower in none (p<0.05); overall, in every round (p=0.004). ", "vm1: 9 rounds: mattn was faster than modernc in 2 of 2 cells, slower in none (p<0.05); overall, in every round (p=0.004). ", "Noise: other processes ran: trust ratios more than times"} {
			if !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%d lines: want %q in\n%s", lines, want, got)
			}
		}
	}
	if got := writeMachines(t, "table", onMachines(comparedOnMachine(1, 1), comparedOnMachine(2, 9)), document.Options{Width: 200}); !strings.Contains(got, "m2: 9 rounds. If the sides were equally fast, the chance of any \"slower\" or \"faster\" here would be at most 1%") {
		t.Errorf("runs of two sides: the report does not say how sure the results are:\n%s", got)
	}
}

// TestMachinesShared checks that if two hosts are the same machine, the report says so once, before
// their results.
func TestMachinesShared(t *testing.T) {
	a, b := onMachine("a", 3, 1), onMachine("b", 4, 1)
	const words = "a and b are one machine"
	a.Warnings = []result.Warning{{Code: result.WarningShared, Message: words}}
	b.Warnings = a.Warnings
	got := writeMachines(t, "table", onMachines(a, b), document.Options{Lines: 24, Width: 100})
	if strings.Count(got, words) != 1 || strings.Index(got, words) > strings.Index(got, "how sure") {
		t.Errorf("want %q exactly once, before the results:\n%s", words, got)
	}
}

// TestMachinesOnScreen checks that a terminal shows only the common results of all machines, and
// the commands that show the rest.
func TestMachinesOnScreen(t *testing.T) {
	list := onMachines(onMachine("pi", 3, 1), onMachine("vm1", 4, 1))
	for i := range list {
		list[i].Options.Hints.Rest = []document.Hint{{Shows: "all tables", Command: "show it"}}
	}
	got := writeMachines(t, "table", list, document.Options{Lines: 40, Width: 100})
	first, _, _ := strings.Cut(got, "\n")
	if want := "First on both machines (pi, vm1): mattn. Of 2 comparisons of two drivers, 2 the same on both"; !strings.HasPrefix(first, want) {
		t.Errorf("it begins with %s", first)
	}
	if strings.Count(got, "show it") != 2 || strings.Contains(got, "databases") {
		t.Errorf("want both commands, and nothing about single machines:\n%s", got)
	}
}

// TestMachineLost checks that results of a machine are still compared if the connection to it was
// lost later.
func TestMachineLost(t *testing.T) {
	lost := onMachine("vm1", 4, 1)
	for i := range lost.Trials[len(lost.Trials)-3:] {
		x := &lost.Trials[len(lost.Trials)-3+i]
		x.Status, x.Samples, x.Reason = result.Failed, nil, &protocol.Reason{Code: result.CodeHost, Message: "host vm1: the connection ended"}
	}
	got := writeMachines(t, "json", onMachines(onMachine("pi", 3, 1), lost), document.Options{})
	var j machines.JSONMachines
	if err := json.Unmarshal([]byte(got), &j); err != nil {
		t.Fatal(err)
	}
	if want := "vm1 went away before its run had ended."; !strings.Contains(j.Answer, want) {
		t.Errorf("the answer is %s, want %s in it", j.Answer, want)
	}
	list := onMachines(onMachine("pi", 3, 1), lost)
	for i := range list {
		list[i].Options.Hints.Resume = fmt.Sprint("go on with ", list[i].Analysis.Run.ID)
	}
	got = writeMachines(t, "table", list, document.Options{Lines: 24, Width: 200})
	if !strings.Contains(got, "go on with 4 measures the rest on vm1") || strings.Contains(got, "go on with 3") {
		t.Errorf("want only the command that continues the run on vm1:\n%s", got)
	}
	if len(j.Machines) != 2 || j.Machines[1].Run != 4 || j.Machines[1].Report == nil {
		t.Errorf("machines: %+v", j.Machines)
	}
}

// TestMachinesSides checks the answer of runs that compare two sides. It must count the cells in which
// the second side is slower on all machines, and the cells in which machines contradict each other.
func TestMachinesSides(t *testing.T) {
	got := machines.MachinesAnswer(onMachines(comparedOnMachine(1, 1), comparedOnMachine(2, 9)))
	if want := "modernc against mattn, in 2 cells: slower on both machines in 1, turned around in 1."; got != want {
		t.Errorf("the answer is %s, want %s", got, want)
	}
}

// TestGates checks that a gate (a check for regressions) on several machines passes only if it
// passes on all of them.
func TestGates(t *testing.T) {
	list := []machines.GatedOn{{Name: "pi", Gated: gate.Gated{Gate: stats.NewGate(0.05)}}, {Name: "vm1", Gated: gatedRun()}}
	for format, want := range map[string]string{"table": "Failed on vm1. Not passed on pi.\n", "json": `"passed": false`} {
		var b bytes.Buffer
		if err := machines.GateFormats.Write(&b, format, list, document.Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s: no %s in\n%s", format, want, b.String())
		}
	}
}

// TestRunOfLostMachine checks the report of a run that lost the connection to its machine. The
// report must say that the connection was lost, and how to continue the run. It must not say that
// nothing is left to measure.
func TestRunOfLostMachine(t *testing.T) {
	lost := onMachine("vm1", 4, 1)
	gone := slices.Clone(lost.Trials[:len(lost.Cases)])
	for i := range gone {
		gone[i].Case, gone[i].Round = lost.Cases[i].ID, lost.Rounds+1
		gone[i].Status, gone[i].Samples, gone[i].Reason = result.Failed, nil, &protocol.Reason{Code: result.CodeHost, Message: "host vm1: the connection ended"}
	}
	lost.Trials, lost.Stopped = append(lost.Trials, gone...), result.StoppedNothingLeft
	opts := document.Options{Width: 200, Hints: document.Hints{Resume: "go on with it"}}
	a := stats.Analyze(lost, "")
	var out, screen, compared bytes.Buffer
	if err := report.Write(&out, "table", a, report.Options{Options: opts}); err != nil {
		t.Fatal(err)
	}
	opts.Lines = 16
	if err := report.Write(&screen, "table", a, report.Options{Options: opts}); err != nil {
		t.Fatal(err)
	}
	lost.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.02}
	a = stats.Analyze(lost, "")
	if err := compare.Formats.Write(&compared, "table", compare.Compared{Comparison: stats.CompareRun(a), First: a, Second: a}, document.Options{Width: 200, Hints: opts.Hints}); err != nil {
		t.Fatal(err)
	}
	for _, b := range []*bytes.Buffer{&screen, &compared} {
		if !strings.Contains(b.String(), "go on with it") {
			t.Errorf("the report does not say how to continue the run:\n%s", b.String())
		}
	}
	for _, want := range []string{
		fmt.Sprintf("There are no figures: after %d complete rounds the machine went away.", lost.Rounds),
		"complete: then the machine went away", "go on with it measures the rest",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}
}

// TestMachinesNothing checks that the rule for counting differences is explained only if something
// was compared.
func TestMachinesNothing(t *testing.T) {
	const words = "A difference counts on a machine"
	nothing := []machines.OnMachine{{Name: "pi", Failure: "interrupted"}, {Name: "vm1", Failure: "interrupted"}}
	if got := writeMachines(t, "table", nothing, document.Options{}); strings.Contains(got, words) || !strings.Contains(got, "Nothing was compared on more than one machine.") {
		t.Errorf("the rule is explained although nothing was compared:\n%s", got)
	}
	if got := writeMachines(t, "table", onMachines(onMachine("pi", 3, 1), onMachine("vm1", 4, 1)), document.Options{}); !strings.Contains(got, words) {
		t.Errorf("the rule is not explained for two machines:\n%s", got)
	}
}
