package report_test

import (
	"bytes"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// impreciseRun returns a run with two tables. In both tables, the interval of modernc's ratio is
// wide. In one table, mattn's ratio does not differ significantly from 1.
func impreciseRun() *result.Run {
	run := newRun(9)
	run.Precision, run.Stopped = 0.05, result.StoppedTime
	drivers := []string{"native", "mattn", "modernc"}
	add(run, "simple", nil, rollback, drivers, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	add(run, "real", nil, rollback, drivers, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	vary := func(workload, driver string, by int64) {
		spoil(run, workload, driver, func(t *result.Trial) { t.Samples[0].WallNS += t.Samples[0].WallNS * int64(t.Round%3) * by / 100 })
	}
	vary("simple", "modernc", 10)
	vary("real", "modernc", 20)
	spoil(run, "real", "mattn", func(t *result.Trial) { t.Samples[0].WallNS = 812_000_000 + int64(t.Round%3-1)*100_000_000 })
	return run
}

// pageOf returns the result of a command as a page.
func pageOf[T any](t *testing.T, write func(io.Writer, string, T, document.Options) error, answer T) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, "html", answer, document.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// listOf returns the lines of a text from a heading to the next empty line.
func listOf(text, heading string) string {
	_, list, _ := strings.Cut(text, "\n"+heading+"\n")
	list, _, _ = strings.Cut(list, "\n\n")
	return list
}

// imprecise is the heading of the list of imprecise figures, in a report whose figures are ratios.
const imprecise = report.ImpreciseHeading + ": ratios"

// TestImpreciseFigures checks that a run has one list of imprecise figures, those with the widest
// intervals first. The list must mark rows without a clear difference, and name the command that
// measures the missing rounds.
func TestImpreciseFigures(t *testing.T) {
	run := impreciseRun()
	hints := document.Hints{Full: "sqlite3perf show 12 --full", FullFlag: "--full", Further: "sqlite3perf run --resume 12 --time 9m"}
	got := listOf(write(t, "table", run, "native", document.Options{Hints: hints}), imprecise)
	want := `1 of 4 ratios of cells to plain C is precise to ±5\.0%; 2 of the others show which is faster\. The intervals \(95%\) of these figures reach more than ±5\.0% from the ratio\. The widest come first\. ` +
		`Not clear: .+ Times are not listed: each table has their ±\. to be sure +about \d+ more rounds, fewer if cases settle earlier: sqlite3perf run --resume 12 --time 9m ` +
		`workload +phase +driver +× native +interval +± +difference ` +
		`real +insert +modernc +\d\S+x +\(\S+ to \S+\) +±1\d% +slower real +insert +mattn +\d\S+x +\(\S+ to \S+\) +±1\d% +not clear simple +insert +modernc +\d\S+x +\(\S+ to \S+\) +±\S+% +slower`
	if one := strings.Join(strings.Fields(got), " "); !regexp.MustCompile("^" + want + "$").MatchString(one) {
		t.Errorf("want %s\ngot %s", want, one)
	}
	if got := write(t, "table", run, "native", document.Options{}); !strings.Contains(got, "\n"+imprecise+"\n") || !strings.Contains(got, "\nto be sure    measure again while nothing else runs, ") {
		t.Errorf("without a command:\n%s", got)
	}

	// A warning says how many figures are imprecise, and what the ratios are relative to. Nothing
	// else on the screen repeats that.
	const many = "1 of 4 ratios of cells to plain C is precise to ±5.0%"
	if got := screen(t, run, document.Options{Width: 400, Lines: 60, Hints: hints}); strings.Count(got, "±5.0%") != 1 || !strings.Contains(got, many+"; 2 of the others show which is faster; the least precise: ") || strings.Contains(got, imprecise) {
		t.Errorf("screen:\n%s", got)
	}
	// If the warning has one line, it names the figures with the widest intervals, and where all
	// imprecise figures are listed.
	if got := screen(t, screens()["large"], document.Options{Width: 160, Lines: 24, Hints: hints}); !regexp.MustCompile(`\nprecision +132 of 480 ratios to plain C within ±2\.0%; --full lists all; the widest: .+ ±\S+%…?\n`).MatchString(got) {
		t.Errorf("the widest:\n%s", got)
	}
	// However low the screen is, it says which driver to take without a C compiler, how sure the
	// answer is, and how many figures are precise.
	for lines := 16; lines <= 24; lines++ {
		got := screen(t, screens()["large"], document.Options{Width: 80, Lines: lines, Hints: hints})
		if !strings.Contains(got, "\nwithout cgo ") || !strings.Contains(got, "\nhow sure      mattn was faster than zombiezen in 60 of 60 cells, slower in none\n") || !strings.Contains(got, "\nprecision     132 of 480 ratios to plain C within ±2.0%; --full lists all") {
			t.Errorf("%d lines:\n%s", lines, got)
		}
	}
	page := html.UnescapeString(write(t, "html", run, "native", document.Options{Hints: hints}))
	for _, want := range []string{"<dt>precision</dt><dd>" + many + "; 2 of the others show which is faster; the least precise: ", `<h2 id="imprecise-figures">` + imprecise + "</h2>", `<a href="#imprecise-figures">` + imprecise + "</a>", "not clear"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(page, hints.Full) {
		t.Error("the page names the command although it has the list itself")
	}
}

// TestNothingImprecise checks that if all figures are precise, the report says so in one sentence
// instead of a list, and that a run that asks for no precision has no list.
func TestNothingImprecise(t *testing.T) {
	run := impreciseRun()
	run.Precision = 0.9
	for _, format := range []string{"table", "html"} {
		if got := write(t, format, run, "native", document.Options{Width: 400}); !strings.Contains(got, "Every ratio of a cell is precise to ±90%") || strings.Contains(got, imprecise) {
			t.Errorf("%s:\n%.5000s", format, got)
		}
	}
	if n := report.FurtherRounds(stats.Analyze(run, "native")); n != 0 {
		t.Errorf("%d more rounds", n)
	}
	run.Precision = 0
	if got := write(t, "table", run, "native", document.Options{}); strings.Contains(got, imprecise) || strings.Contains(got, "imprecise") {
		t.Errorf("no precision asked for:\n%s", got)
	}
}

// TestFewRoundsAreImprecise checks that the list of imprecise figures begins with the figures that
// have no interval because they have too few rounds.
func TestFewRoundsAreImprecise(t *testing.T) {
	run := impreciseRun()
	run.Trials = slices.DeleteFunc(run.Trials, func(tr result.Trial) bool { return tr.Case == run.Cases[1].ID && tr.Round > 2 })
	list := listOf(write(t, "table", run, "native", document.Options{}), imprecise)
	_, rows, _ := strings.Cut(list, "difference\n")
	if first, _, _ := strings.Cut(rows, "\n"); !strings.HasPrefix(first, "simple    insert  mattn") || !strings.Contains(first, "n<6") || !strings.Contains(first, "not clear") {
		t.Errorf("first is %q of\n%s", first, list)
	}
}

// TestPagesNameTheirRuns checks that each picture of a page names the run, its date and its machine
// when it is saved, whichever command wrote the page.
func TestPagesNameTheirRuns(t *testing.T) {
	source := regexp.MustCompile(`data-source="([^"]*)"`)
	for name, page := range map[string]string{
		"run":     write(t, "html", fullRun(), "native", document.Options{}),
		"compare": writeCompared(t, "html", compared(comparedRun())),
		"gate":    pageOf(t, gate.Formats.Write, gatedRun()),
		"bisect":  pageOf(t, bisect.Formats.Write, bisection("simple insert", "v1.1.0")),
		"advise":  pageOf(t, advise.Formats.Write, advised(fixtures["full"]())),
	} {
		all := source.FindAllStringSubmatch(page, -1)
		if len(all) == 0 {
			t.Errorf("%s: no picture", name)
		}
		for _, m := range all {
			if !regexp.MustCompile(`^sqlite3perf · run \d+ · 2026-11-2\d \d\d:\d\d UTC · 2 × AMD EPYC 7763 · linux/amd64 · lab1`).MatchString(m[1]) {
				t.Errorf("%s: the source of a picture is %q", name, m[1])
			}
		}
	}
}
