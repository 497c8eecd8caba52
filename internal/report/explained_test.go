package report_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// reprepared returns the analysis of a run in which the second driver takes twice the time. The drivers
// are two versions of mattn.
func reprepared(first, second string) *stats.Analysis {
	run := newRun(16)
	run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn@" + first, Second: "mattn@" + second, Margin: 0.05}
	add(run, "simple", nil, rollback, []string{run.Compares.First, run.Compares.Second}, bulk("query", 812_000_000, 1_000_000, 1))
	spoil(run, "simple", run.Compares.Second, func(t *result.Trial) { t.Samples[0].WallNS *= 2 })
	return stats.Analyze(run, "native")
}

// TestExplained checks that a comparison, a gate and a bisection name a known defect that may
// explain why a side is slower. They must not name a defect that both sides have, or that only the
// faster side has.
func TestExplained(t *testing.T) {
	for _, c := range []struct {
		first, second string
		named         bool
	}{
		{"v1.14.52", "v1.14.53", true},
		{"v1.14.53", "v1.14.52", false},
		{"v1.14.53", "v1.14.54", false},
	} {
		a := reprepared(c.first, c.second)
		comparison := stats.CompareRun(a)
		compared := compare.Compared{Comparison: comparison, First: a, Second: a}
		gated := gate.Gated{Gate: stats.NewGate(0.05, comparison), Runs: []*stats.Analysis{a}, Where: "go.mod"}
		x := comparison.Cells[0]
		step := &bisect.Step{First: c.first, Second: c.second, Judgment: bisect.Changed, Cell: x, Analysis: a}
		found := bisect.Bisection{Driver: "mattn", Finding: &bisect.Finding{Releases: []string{c.first, c.second}, Good: c.first, Bad: c.second, Pair: step,
			Steps: []*bisect.Step{step}, Change: &bisect.Change{TableName: x.TableName, Verdict: x.Verdict}}}
		const line = "known defect mattn-reprepare may explain why mattn@v1.14.53 needs more time in simple query: prepared statements are compiled again on every execution. It needs prepared statements with a col = ?"
		const field = `"known_defects": [ { "defect": "mattn-reprepare", `
		for _, f := range []struct {
			what, want string
			write      func(*strings.Builder) error
		}{
			{"comparison", line, func(b *strings.Builder) error { return compare.Formats.Write(b, "table", compared, document.Options{}) }},
			{"comparison in JSON", field, func(b *strings.Builder) error { return compare.Formats.Write(b, "json", compared, document.Options{}) }},
			{"gate", line, func(b *strings.Builder) error { return gate.Formats.Write(b, "table", gated, document.Options{}) }},
			{"gate in JSON", field, func(b *strings.Builder) error { return gate.Formats.Write(b, "json", gated, document.Options{}) }},
			{"annotation", "; known defect: mattn-reprepare may explain it", func(b *strings.Builder) error { return gate.Formats.Write(b, "github", gated, document.Options{}) }},
			{"JUnit", "; known defect: mattn-reprepare may explain it", func(b *strings.Builder) error { return gate.Formats.Write(b, "junit", gated, document.Options{}) }},
			{"bisection", line, func(b *strings.Builder) error { return bisect.Formats.Write(b, "table", found, document.Options{}) }},
			{"bisection in JSON", field, func(b *strings.Builder) error { return bisect.Formats.Write(b, "json", found, document.Options{}) }},
		} {
			var b strings.Builder
			if err := f.write(&b); err != nil {
				t.Fatal(err)
			}
			text := strings.Join(strings.Fields(b.String()), " ")
			if strings.Contains(text, f.want) != c.named || !c.named && strings.Contains(text, "known defect") {
				t.Errorf("%s of %s and %s: want the defect named: %v\n%s", f.what, c.first, c.second, c.named, b.String())
			}
		}
	}
	var b strings.Builder
	a := reprepared("v1.14.52", "v1.14.53")
	if err := compare.Formats.Write(&b, "json", compare.Compared{Comparison: stats.CompareRun(a), First: a, Second: a}, document.Options{}); err != nil {
		t.Fatal(err)
	}
	validate(t, compiled(t, "comparison"), b.String())
}
