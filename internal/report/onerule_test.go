package report_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// shortRun returns a run with so few rounds that most differences between drivers are only probable,
// not clear.
func shortRun() *result.Run {
	run := newRun(8)
	for i := range 6 {
		add(run, fmt.Sprint("w", i), nil, wal, []string{"native", "mattn", "modernc", "zombiezen", "ncruces"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	}
	return run
}

// TestOneRule checks that the report of a run and the comparison of two of its drivers say the same
// about every cell. The report must call a difference significant exactly if the comparison calls one
// side slower, at least probably. The p-values and intervals must be the same.
func TestOneRule(t *testing.T) {
	probable := 0
	for name, run := range map[string]*result.Run{"short": shortRun(), "full": fullRun(), "cells": cellByCell(), "large": large()} {
		a := stats.Analyze(run, "native")
		compared := map[[2]string]*stats.Comparison{}
		for _, g := range a.Groups {
			for _, table := range g.Tables {
				for _, p := range table.Pairs {
					first, second := table.Cells[p.First], table.Cells[p.Second]
					drivers := [2]string{first.Case.Driver, second.Case.Driver}
					if compared[drivers] == nil {
						compared[drivers] = stats.CompareDrivers(a, drivers[0], drivers[1], 0.02)
					}
					c := compared[drivers]
					i := slices.IndexFunc(c.Cells, func(x *stats.Compared) bool {
						return x.First == first || x.First.Case == first.Case && x.Phase == table.Phase
					})
					if i < 0 || !c.Cells[i].Measured() {
						continue
					}
					x := c.Cells[i]
					where := fmt.Sprintf("%s, %s: %s and %s", name, x, c.First, c.Second)
					told := compare.Told(x)
					says := strings.HasSuffix(told, "slower") || strings.HasSuffix(told, "faster")
					if says != p.Significant() && x.Verdict != stats.Same {
						t.Errorf("%s: the report has p %v, the comparison says %s", where, p.Adjusted, told)
					}
					if x.Likely() != 0 && x.Likely() != -p.Sign() { // opposite signs, because p compares the first driver with the second, and x the second with the first
						t.Errorf("%s: %s, but the report says the opposite", where, told)
					}
					ratio, shown := x.ShownRatio(), x.ShownP()
					if shown != p.Adjusted || *ratio.Interval != *table.Ratio(stats.Pair{First: p.Second, Second: p.First}).Interval {
						t.Errorf("%s: p %v and %v, want those of the report: %v", where, shown, *ratio.Interval, p.Adjusted)
					}
					if x.Verdict == stats.Unclear && x.Likely() != 0 {
						probable++
					}
				}
			}
		}
	}
	if probable == 0 {
		t.Error("the runs have no difference that is probable but not clear")
	}
}

// TestSameCount checks that the answer of a run and the comparison of the same two drivers have the
// same number of cells in which the recommended driver is faster, and that the JSON report also has
// that number.
func TestSameCount(t *testing.T) {
	run := cellByCell()
	a := stats.Analyze(run, "native")
	said := report.AnswersOf(a, report.Options{})
	if got := report.HowSure(a, &said, report.Options{}); !strings.Contains(got, "mattn was faster than modernc in 2 of 3 cells, slower in 1 (p<0.05); ") {
		t.Error(got)
	}
	c := compare.Compared{Comparison: stats.CompareDrivers(a, "mattn", "modernc", 0.02), First: a, Second: a}
	counts := map[string]int{}
	for _, cell := range compare.JSONOf(c).Cells {
		counts[cell.Likely]++
		if cell.InRun == nil || cell.InRun.PAdjusted >= stats.Alpha || cell.InRun.Ratio.Interval == nil {
			t.Errorf("%s: in_run is %+v", cell.TableName, cell.InRun)
		}
	}
	if counts["slower"] != 2 || counts["faster"] != 1 {
		t.Errorf("cells by verdict about modernc: %v, want 2 slower and 1 faster", counts)
	}
}

// TestTwoLevels checks that the texts of a run and of a comparison name no levels of confidence except
// 95 % and 99 % (5 % and 1 %).
func TestTwoLevels(t *testing.T) {
	run := shortRun()
	run.Precision, run.Stopped = 0.05, result.StoppedSettled
	a := stats.Analyze(run, "native")
	if a.Confidence == stats.Confidence {
		t.Fatal("the run did not stop early")
	}
	var b strings.Builder
	c := compare.Compared{Comparison: stats.CompareDrivers(a, "mattn", "modernc", 0.02), First: a, Second: a}
	if err := compare.Formats.Write(&b, "table", c, document.Options{Width: 300}); err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"table": write(t, "table", run, "native", document.Options{Width: 300}),
		"page": write(t, "html", run, "native", document.Options{}), "comparison": b.String()} {
		if strings.Contains(text, "97%") || strings.Contains(text, "96.87") {
			t.Errorf("%s has a third level of confidence:\n%.3000s", what, text)
		}
	}
}

// TestSoundInEachCell checks that every view of a cell names the fastest driver without a known
// defect that can do harm in the cell's workload. The defect wal-reset of zombiezen needs
// journal_mode=wal.
func TestSoundInEachCell(t *testing.T) {
	run := newRun(12)
	names := []string{"native", "zombiezen", "modernc"}
	add(run, "safe", nil, rollback, names, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	add(run, "read", nil, wal, names, bulk("query", 812_000_000, 1_000_000, 1_000_000))
	for _, w := range []string{"safe", "read"} {
		spoil(run, w, "zombiezen", func(t *result.Trial) { t.Samples[0].WallNS /= 3 })
	}
	a := stats.Analyze(run, "native")
	var out struct {
		Answers struct {
			Tables []struct{ Best, Sound *report.Place }
		}
	}
	if err := json.Unmarshal([]byte(write(t, "json", run, "native", document.Options{})), &out); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"zombiezen", "modernc"} {
		if x := out.Answers.Tables[i]; x.Best.Name != "zombiezen" || x.Sound == nil || x.Sound.Name != want {
			t.Errorf("cell %d: best %+v, best without a defect %+v", i, x.Best, x.Sound)
		}
	}
	const sentence = "Without a known defect that can lose or falsify data here, the fastest is modernc, 4.1 times as slow as zombiezen"
	text := write(t, "table", run, "native", document.Options{Width: 400})
	for _, want := range []string{"first without !", "! marks a driver with a known defect that can lose or falsify data and that nothing in that workload rules out.", sentence,
		"1  zombiezen v1.4.2 ", "1  zombiezen v1.4.2! "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if page := write(t, "html", run, "native", document.Options{}); strings.Count(page, sentence) != 1 {
		t.Errorf("the page has the sentence %d times", strings.Count(page, sentence))
	}
	shown := screen(t, run, document.Options{Width: 120, Lines: 38})
	if !strings.Contains(shown, "; then the best without !") || !strings.Contains(shown, "read query  zombiezen!  1.03x ±1.6%  modernc 4.21x\n") || !strings.Contains(shown, "safe insert  zombiezen  1.03x") {
		t.Errorf("screen:\n%s", shown)
	}
	for _, h := range []conditions.Harmful{conditions.HarmfulDefects(a), conditions.HarmfulIn(a, a.Groups[1].Tables[0])} {
		if h["zombiezen"] == nil {
			t.Errorf("%v", h)
		}
	}
	// The run has workloads with and without a WAL. So it excludes neither defects that need a WAL
	// nor defects that need another journal mode.
	if use := conditions.UseOf(a); use.WAL != defects.NotKnown {
		t.Errorf("the run's use of WAL: %v", use.WAL)
	}
	if h := conditions.HarmfulIn(a, a.Groups[0].Tables[0]); h["zombiezen"] != nil {
		t.Errorf("with journal_mode=delete: %v", h)
	}
}

// TestRuledOutBySQL checks that a driver is not marked in a workload whose SQL lacks a word that
// its defect needs, and that it is marked if the SQL is not known. SQLite 3.49.1 has the defect
// count-of-view.
func TestRuledOutBySQL(t *testing.T) {
	for _, c := range []struct {
		text   string
		marked bool
	}{
		{"phases: [{query: SELECT count(*) FROM v}]", false},
		{"phases: [{query: \"SELECT count(*) FROM (SELECT D\\x49STINCT a FROM t)\"}]", true},
		{"phases: [{query: SELECT count(*) FROM v}, {replay: app.jsonl}]", true},
		{"database: app.db", true},
		{"", true},
	} {
		run := newRun(12)
		add(run, "read", nil, rollback, []string{"native", "zombiezen", "modernc"}, bulk("query", 812_000_000, 1_000_000, 1_000_000))
		spoil(run, "read", "zombiezen", func(tr *result.Trial) { tr.Proof.SQLiteVersion = "3.49.1" })
		run.Workloads = []result.Workload{{Name: "read", Text: c.text}}
		a := stats.Analyze(run, "native")
		if h := conditions.HarmfulIn(a, a.Groups[0].Tables[0]).IDs("zombiezen"); slices.Contains(h, "count-of-view") != c.marked {
			t.Errorf("%s: %v, want it to be marked: %v", c.text, h, c.marked)
		}
	}
}

// TestMeasuredWorkload checks what the command "show" prints after the text of a workload: the answer
// of each cell, how sure the answer is, the warnings of the workload, and the settings in force. If
// the workload has one phase, the driver to take comes first. The settings have at most three lines.
// Settings that differ between drivers are listed by driver.
func TestMeasuredWorkload(t *testing.T) {
	run := newRun(9)
	names := []string{"native", "mattn", "tailscale", "modernc"}
	add(run, "mine", nil, wal, names, bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 402_000_000, 1_000_000, 1))
	for _, d := range names {
		spoil(run, "mine", d, func(tr *result.Trial) {
			all := driver.Settings{"txlock": "deferred", "cache_size": "-2000", "page_size": "4096", "temp_store": "default", "locking_mode": "normal", "mmap_size": "0", "secure_delete": "off"}
			if d == "tailscale" {
				all["txlock"] = "immediate"
			}
			tr.Proof.Connections = []driver.Settings{all.With(wal)}
		})
	}
	add(run, "other", nil, rollback, names, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	for _, d := range names {
		spoil(run, "other", d, func(tr *result.Trial) { tr.Status, tr.Samples = result.Failed, nil })
	}
	a := stats.Analyze(run, "native")
	for _, width := range []int{80, 100, 160} {
		var b strings.Builder
		if err := report.WriteMeasured(&b, a, "mine", document.Options{Width: width, Color: true}); err != nil {
			t.Fatal(err)
		}
		text, apart := strings.CutPrefix(b.String(), "\n")
		if risk, settings := strings.Index(text, "\n# risk "), strings.Index(text, "\n# in force "); !apart || risk < 0 || risk > settings || strings.Contains(text, "failed") {
			t.Errorf("%d columns: want only the warnings of the workload before its settings:\n%s", width, text)
		}
		if words := strings.Join(strings.Fields(strings.ReplaceAll(text, "\n#", "")), " "); strings.Count(words, "mattn was faster than modernc in every round (p=0.004)") != 2 {
			t.Errorf("%d columns: the text does not say how sure each of the two answers is:\n%s", width, text)
		}
		for _, want := range []string{"# What run 12 measured with this workload\n", "\n# insert ", "\n# query ", "\n# in force ", "journal_mode=wal", "\n# differ        txlock=immediate with tailscale, deferred with the others\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, text)
			}
		}
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") || utf8.RuneCountInString(line) > width+1 {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		if _, settings, _ := strings.Cut(text, "# in force"); strings.Count(settings, "\n") > 3 {
			t.Errorf("%d columns: settings take more than three lines:\n%s", width, settings)
		}
	}
	one := newRun(9)
	add(one, "mine", nil, wal, names, bulk("query", 402_000_000, 1_000_000, 1))
	add(one, "other", nil, wal, names, bulk("query", 402_000_000, 1_000_000, 1))
	var answer strings.Builder
	if err := report.WriteMeasured(&answer, stats.Analyze(one, "native"), "mine", document.Options{Width: 100}); err != nil || !strings.Contains(answer.String(), "\n# Take mattn, the fastest") || !strings.Contains(answer.String(), "\n# without cgo   modernc, ") || !strings.Contains(answer.String(), "\n# how sure      mattn was faster than modernc in every round (p") {
		t.Errorf("a workload with one phase: %v, no answer in\n%s", err, answer.String())
	}
	var none strings.Builder
	if err := report.WriteMeasured(&none, a, "another", document.Options{}); err != nil || none.Len() > 0 {
		t.Errorf("%v, %q", err, none.String())
	}
}
