package report_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// doubtfulRun returns a run with the warnings that no fixture has.
func doubtfulRun() *result.Run {
	run := newRun(8)
	add(run, "simple", nil, rollback, []string{"mattn", "zombiezen", "crawshaw", "bvinc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	for i := range run.Cases {
		run.Cases[i].Added = []result.AddedTime{{Phase: "insert", Row: estimate.Estimate{Low: -5000, High: 5000}}}
	}
	ended(run, result.Failed, protocol.CodeUnsupported, "this worker cannot", "crawshaw")
	spoil(run, "simple", "bvinc", func(t *result.Trial) {
		t.Samples[0].Failed, t.Samples[0].Errors = 1, []protocol.ErrorCount{{Name: "SQLITE_CONSTRAINT", Count: 1, Message: "UNIQUE constraint failed"}}
	})
	run.Cases[0].Expects = []result.Expectation{{Phase: "insert", Figure: "time"}, {Phase: "insert", Figure: "p99", Bound: 1}} // the first expectation is not met, and the second cannot be decided
	run.Warnings = []result.Warning{{Code: result.WarningUnverified, Case: 1, Phase: "insert", Message: "nobody can check the rows"}}
	return run
}

// TestWarningsHaveOneName checks that every format shows a warning under the same name and with
// the same sentence, and all warnings about noise in one line.
func TestWarningsHaveOneName(t *testing.T) {
	covered := map[string]bool{}
	runs := maps.Clone(fixtures)
	runs["doubtful"] = doubtfulRun
	for name, make := range runs {
		run := make()
		if run.Compares != nil || run.Profiles != nil {
			continue // a comparison and a profile have other kinds of reports
		}
		for code := range recorded(t) {
			if code != result.WarningUnverified && code != result.WarningLeftOut { // warnings with these codes are about a case, not about the run
				run.Warnings = append(run.Warnings, result.Warning{Code: code, Message: "message of " + code})
			}
		}
		o := report.Options{Options: document.Options{Hints: document.Hints{Workloads: "--workloads", AddedCost: "sqlite3perf drivers --added-cost"}}}
		said := report.AnswersOf(stats.Analyze(run, "native"), o)
		noise := 0
		items := report.CaveatItems(said.Caveats)
		for _, it := range items {
			if it.Label == conditions.Noise {
				noise++
			}
		}
		if noise != 1 {
			t.Errorf("%s: %d lines about noise", name, noise)
		}
		for _, c := range said.Caveats {
			covered[c.Code] = true
			if k := conditions.KindOf(c.Code); !slices.ContainsFunc(items, func(it document.Item) bool { return strings.TrimPrefix(it.Label, "* ") == k.Name }) {
				t.Errorf("%s: no warning has the name %s of %s", name, k.Name, c.Code)
			}
		}
		html := html.UnescapeString(write(t, "html", run, "native", document.Options{}))
		for format, out := range map[string]string{
			"screen":   screen(t, run, document.Options{Width: 4000, Lines: 1000}),
			"table":    write(t, "table", run, "native", document.Options{Width: 4000}),
			"markdown": strings.NewReplacer(`\`, "", "- **", "", "** ", " ", "&lt;", "<", "&gt;", ">").Replace(write(t, "markdown", run, "native", document.Options{})),
			"html":     strings.NewReplacer("</dt><dd>", " ", "<dt>", "").Replace(html),
		} {
			out = strings.Join(strings.Fields(out), " ")
			for _, it := range items {
				if want := strings.Join(strings.Fields(it.Label+" "+it.Text), " "); !strings.Contains(out, want) {
					t.Errorf("%s %s: no %q", name, format, want)
				}
			}
		}
	}
	covered[conditions.CaveatSpeed], covered[conditions.CaveatTimes] = true, true // only comparisons have these warnings; TestMachineChanged checks them
	for _, k := range conditions.Kinds {
		if !covered[k.Code] && k.Code != "" {
			t.Errorf("no run has %q", k.Code)
		}
	}
}

// recorded returns the codes of warnings that runs record.
func recorded(t *testing.T) map[string]bool {
	codes := map[string]bool{}
	f, err := parser.ParseFile(token.NewFileSet(), "../result/codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Warning") {
			codes[strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)] = true
		}
		return true
	})
	return codes
}

// TestWarningKinds checks that every warning that runs record has a kind, and that every kind has
// a short name. Only the kinds of noise may share a name.
func TestWarningKinds(t *testing.T) {
	codes := recorded(t)
	if len(codes) < 20 {
		t.Fatalf("%d codes", len(codes))
	}
	for code := range codes {
		if conditions.KindOf(code).Code != code {
			t.Errorf("%s has no kind", code)
		}
	}
	codeOf := map[string]string{}
	for _, k := range conditions.Kinds {
		if other, ok := codeOf[k.Name]; ok && k.Name != conditions.Noise {
			t.Errorf("%s and %s are both called %s", other, k.Code, k.Name)
		}
		codeOf[k.Name] = k.Code
		if len(k.Name) > len("unavailable")+1 || k.Name == "" {
			t.Errorf("%s: the name %q is too long or empty", k.Code, k.Name)
		}
	}
}
