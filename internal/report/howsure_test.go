package report_test

import (
	"html"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// howSure returns the sentences about how certain the answer of a run is.
func howSure(run *result.Run, o report.Options) string {
	a := stats.Analyze(run, "native")
	said := report.AnswersOf(a, o)
	return report.HowSure(a, &said, o)
}

func TestHowSure(t *testing.T) {
	const known = " or better (95% intervals)"
	slower := func(rounds, faster int) *result.Run { // modernc is faster in the first rounds; the parameter "faster" is the number of these rounds
		run := insertRun(rounds, "mattn", "modernc")
		spoil(run, "mine", "modernc", func(t *result.Trial) {
			if t.Round <= faster {
				t.Samples[0].WallNS /= 10
			}
		})
		return run
	}
	rough := insertRun(9, "mattn", "modernc")
	spoil(rough, "mine", "modernc", func(t *result.Trial) { t.Samples[0].WallNS *= int64(t.Round) })
	sides := insertRun(9, "mattn", "modernc")
	sides.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.02}
	for _, tc := range []struct {
		name  string
		run   *result.Run
		begin string
		end   string
	}{
		{"all rounds agree", insertRun(9, "mattn", "modernc"), "9 rounds: mattn was faster than modernc in every round (p=0.004). The ratios are known to ±", known},
		{"many rounds", insertRun(19, "mattn", "modernc"), "19 rounds: mattn was faster than modernc in every round (p<0.001). ", known + ". Every ratio of a cell is precise to ±2.0%"},
		{"most rounds agree", slower(19, 2), "19 rounds: mattn was faster than modernc in 17 of 19 rounds (p", known},
		{"one that is left out is as fast", insertRun(9, "mattn", "tailscale", "modernc"), "9 rounds: mattn was faster than modernc in every round (p=0.004). ", known},
		{"several cells", cellByCell(), "9 rounds: mattn was faster than modernc in 2 of 3 cells, slower in 1 (p<0.05); overall, in every round (p=0.004). ", known},
		{"the other is left out", insertRun(9, "mattn", "tailscale"), "9 rounds. The ratios are known to ±", known},
		{"rough", rough, "9 rounds: mattn was faster than modernc in every round (p=0.004). The ratios are rough, ±", " at worst (95% intervals)"},
		{"few rounds", insertRun(3, "mattn", "modernc"), "3 rounds", "3 rounds"},
		{"alone", insertRun(9, "mattn"), "9 rounds. The times are known to ±", " or better (95% intervals). Every median of a cell is precise to ±2.0%"},
		{"nothing", newRun(0), "0 rounds", "0 rounds"},
		{"sides", sides, "9 rounds. If the sides were equally fast, the chance of any \"slower\" or \"faster\" here would be at most 1%", ""},
	} {
		got := howSure(tc.run, report.Options{})
		if !strings.HasPrefix(got, tc.begin) || !strings.HasSuffix(got, tc.end) {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
	study := report.Options{Study: &report.Study{}}
	if got := howSure(insertRun(9, "mattn", "modernc"), study); !strings.HasPrefix(got, "9 rounds. The ratios are known to ±") || strings.Contains(got, "chance") {
		t.Errorf("study: %s", got)
	}
}

// TestHowSureShort checks a run in which one row was measured in fewer rounds than other rows. If two
// rows are compared, the text must count only the rounds that both have.
func TestHowSureShort(t *testing.T) {
	run := insertRun(19, "mattn", "modernc")
	var kept []result.Trial
	for _, tr := range run.Trials {
		if tr.Case != run.Cases[1].ID || tr.Round <= 12 {
			kept = append(kept, tr)
		}
	}
	run.Trials = kept
	if got := howSure(run, report.Options{}); !strings.HasPrefix(got, "mattn was faster than modernc in all 12 rounds that both have (p<0.001). At least 12 rounds. ") {
		t.Error(got)
	}
	run = cellByCell()
	add(run, "risky", nil, driver.Settings{"journal_mode": "memory", "synchronous": "off"}, []string{"mattn", "modernc"}, bulk("insert", 10_000_000, 10, 10))
	run.Trials = slices.DeleteFunc(run.Trials, func(tr result.Trial) bool { return run.Cases[tr.Case-1].Driver == "modernc" && tr.Round > 7 })
	if got := howSure(run, report.Options{}); !strings.HasPrefix(got, "mattn was faster than modernc in 3 of 4 cells, slower in 1 (p<0.05); overall, in all 7 rounds that have all cells (p=0.016). At least 7 rounds in each cell, as many as it needed. ") {
		t.Error(got)
	}
	if got := screen(t, run, document.Options{Width: 80, Lines: 16}); !strings.Contains(got, "\nhow sure      mattn was faster than modernc in 3 of 4 cells, slower in 1\n") {
		t.Error(got)
	}
}

// TestHowSureEverywhere checks that all formats have the same text about how certain the answer
// is.
func TestHowSureEverywhere(t *testing.T) {
	for name, make := range fixtures {
		run := make()
		if run.Compares != nil || run.Profiles != nil {
			continue // a comparison and a profile have other kinds of reports
		}
		want := howSure(run, report.Options{})
		for format, out := range map[string]string{
			"screen":   screen(t, run, document.Options{Width: 2000, Lines: 1000}),
			"table":    write(t, "table", run, "native", document.Options{Width: 2000}),
			"markdown": html.UnescapeString(strings.ReplaceAll(write(t, "markdown", run, "native", document.Options{}), `\`, "")),
			"html":     html.UnescapeString(write(t, "html", run, "native", document.Options{})),
		} {
			for _, sentence := range strings.Split(want, ". ") { // between the sentences, some formats say where the imprecise figures are listed
				if !strings.Contains(out, sentence) {
					t.Errorf("%s %s: no %q in\n%.3000s", name, format, sentence, out)
				}
			}
		}
	}
}

// cellByCell returns a run in which mattn is faster than modernc over all cells, but slower in one
// of the three cells.
func cellByCell() *result.Run {
	run := insertRun(9, "mattn", "modernc")
	add(run, "other", nil, nil, []string{"mattn", "modernc"}, bulk("insert", 10_000_000, 10, 10))
	add(run, "slower", nil, nil, []string{"mattn", "modernc"}, bulk("insert", 10_000_000, 10, 10))
	spoil(run, "slower", "mattn", func(t *result.Trial) { t.Samples[0].WallNS *= 3 })
	return run
}
