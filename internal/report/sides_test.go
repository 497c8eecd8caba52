package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
)

// TestComparisonPage checks that the page of a comparison shows every cell with its verdict, or
// with the reason why there is none, and that cells that differ link to their samples.
func TestComparisonPage(t *testing.T) {
	page := writeCompared(t, "html", compared(comparedRun()))
	wide := regexp.MustCompile(`(?s)<div class="wide"><svg.*?</svg>`).FindString(page)
	for _, want := range []string{
		"no such function: json_extract", "read-write mix", // the reason and the name of a cell without a ratio
		`2.30x (2.24 to 2.36) slower, `, `) probably slower, `, `aria-label="simple insert, `,
		"modernc is slower", "within ±2%", "p 0.002, n 16", "to be sure: ",
		`<a href="#picture-order-1"`,
	} {
		if !strings.Contains(wide, want) {
			t.Errorf("the picture of all cells lacks %q", want)
		}
	}
	differs := page[strings.Index(page, `<h2 id="what-differs-between-the-sides">`):]
	for _, want := range []string{`<table class="stacks" role="table">`, `<td role="cell" data-title="modernc">modernc</td>`, "SQLite", "3.54.1", "compile options", "the same", "by the cell", `id="picture-order-1"`} {
		if !strings.Contains(differs, want) {
			t.Errorf("the page lacks %q after the picture", want)
		}
	}
	if strings.Contains(page, `id="picture-order-3"`) {
		t.Error("the page has samples of a cell that is neither slower nor faster")
	}
}

// TestHostileSides checks that HTML in names from others is shown as text in pages about two sides.
func TestHostileSides(t *testing.T) {
	const script = `</script></svg><script>alert(1)</script><img src=x onerror=alert(1)>" onload="alert(1)` + "\x1b[31m\u202e"
	run := comparedRun()
	for i := range run.Cases {
		run.Cases[i].Workload += script
	}
	for i := range run.Trials {
		if p := run.Trials[i].Proof; p != nil {
			p.SQLiteVersion, p.Module = script, strings.Repeat(script, 1000)
			p.Build = map[string]string{script: script}
		}
		if r := run.Trials[i].Reason; r != nil {
			r.Message = script
		}
	}
	c := compared(run)
	c.Comparison.Second += script
	gated := gatedRun()
	gated.Candidate += script
	for _, x := range gated.Cells {
		x.Phase += script
	}
	bisected := bisection("simple insert")
	for _, s := range bisected.Steps {
		s.First += script
	}
	var b bytes.Buffer
	if err := gate.Formats.Write(&b, "html", gated, document.Options{}); err != nil {
		t.Fatal(err)
	}
	gate := b.String()
	b.Reset()
	if err := bisect.Formats.Write(&b, "html", bisected, document.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]string{"comparison": writeCompared(t, "html", c), "gate": gate, "bisection": b.String()} {
		checkPage(t, page)
		for _, bad := range []string{"<img", "\x1b", "\u202e", "<script>alert"} {
			if strings.Contains(page, bad) {
				t.Errorf("the page of the %s has %q", name, bad)
			}
		}
		if !strings.Contains(page, "img src=x") {
			t.Errorf("the page of the %s lacks the text", name)
		}
	}
}

// TestStepsPicture checks that the page of a bisection shows the releases in their order,
// with their ratios.
func TestStepsPicture(t *testing.T) {
	var b bytes.Buffer
	if err := bisect.Formats.Write(&b, "html", bisection("simple insert"), document.Options{}); err != nil {
		t.Fatal(err)
	}
	picture := svgElement.FindString(b.String())
	for _, want := range []string{" against ", "changed", "no change: within ±"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
}
