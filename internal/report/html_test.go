package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/doctor"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

var (
	styleElement  = regexp.MustCompile(`(?s)<style>(.*?)</style>`)
	scriptElement = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	policy        = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`)
	hash          = regexp.MustCompile(`sha256-[^']*?&#39;`)
	svgElement    = regexp.MustCompile(`(?s)<svg .*?</svg>`)
	moreRows      = regexp.MustCompile(`(?s)(<tbody>\n<tr.*?</tr>\n)(<tr.*?)(</tbody>)`)
)

// skeleton returns a page without its style, its script and the contents of its pictures. It keeps
// only the first row of each table.
func skeleton(page string) string {
	page = styleElement.ReplaceAllString(page, "<style></style>")
	page = scriptElement.ReplaceAllString(page, "<script></script>")
	page = svgElement.ReplaceAllString(page, "<svg></svg>")
	page = hash.ReplaceAllString(page, "sha256-…&#39;")
	return moreRows.ReplaceAllString(page, "$1…$3")
}

// element is the start tag of an element of a page, with the text after it.
type element struct {
	name       string
	attributes map[string]string
	text       string // text after the start tag, up to the next tag
}

// elements lists the elements of a page, which must be well-formed. It skips the contents of style
// and script.
func elements(t *testing.T, page string) (list []element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(scriptElement.ReplaceAllString(styleElement.ReplaceAllString(page, "<style></style>"), "<script></script>")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%v after %v", err, list[max(0, len(list)-3):])
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				if _, twice := e.attributes[a.Name.Local]; twice {
					t.Errorf("<%s> has %s twice", e.name, a.Name.Local)
				}
				e.attributes[a.Name.Local] = a.Value
			}
			list = append(list, e)
		case xml.CharData:
			if len(list) > 0 {
				list[len(list)-1].text += string(token)
			}
		}
	}
}

// checkPage checks the rules for every page: it loads nothing, it runs only its own script, and a
// screen reader can present it.
func checkPage(t *testing.T, page string) {
	t.Helper()
	allowed := policy.FindStringSubmatch(page)
	if allowed == nil {
		t.Fatal("no content security policy")
	}
	directives := html.UnescapeString(allowed[1])
	for directive, part := range map[string]*regexp.Regexp{"style-src": styleElement, "script-src": scriptElement} {
		found := part.FindAllStringSubmatch(page, -1)
		if len(found) != 1 {
			t.Fatalf("%d elements for %s", len(found), directive)
		}
		sum := sha256.Sum256([]byte(found[0][1]))
		if want := fmt.Sprintf("; %s 'sha256-%s';", directive, base64.StdEncoding.EncodeToString(sum[:])); !strings.Contains(directives, want) {
			t.Errorf("policy %s\nlacks %s", directives, want)
		}
	}
	if !strings.HasPrefix(directives, "default-src 'none'; ") {
		t.Errorf("policy %s", directives)
	}
	ids := map[string]bool{}
	level := 0
	for _, e := range elements(t, page) {
		for name, value := range e.attributes {
			if strings.HasPrefix(name, "on") || name == "style" || name == "src" {
				t.Errorf("<%s %s=%q>", e.name, name, value)
			}
			if name == "href" && e.name != "a" {
				t.Errorf("<%s> refers to %q", e.name, value)
			}
		}
		if id, ok := e.attributes["id"]; ok && (ids[id] || id == "") {
			t.Errorf("id %q is there twice or empty", id)
		} else if ok {
			ids[id] = true
		}
		switch e.name {
		case "h1", "h2", "h3", "h4":
			n := int(e.name[1] - '0')
			if n > level+1 || n == 1 && level > 0 {
				t.Errorf("<%s> %q follows a heading of level %d", e.name, e.text, level)
			}
			level = n
		case "html":
			if e.attributes["lang"] == "" {
				t.Error("no language")
			}
		case "th":
			if e.attributes["scope"] == "" {
				t.Errorf("<th> %q has no scope", e.text)
			}
		}
	}
	for _, e := range elements(t, page) {
		for _, name := range []string{"href", "aria-labelledby", "aria-describedby"} {
			target, ok := e.attributes[name]
			if ok && name == "href" {
				if target, ok = strings.CutPrefix(target, "#"); !ok && e.name == "a" && !strings.HasPrefix(e.attributes[name], "https://") {
					t.Errorf("<a> refers to %q", e.attributes[name])
				}
			}
			if ok && !ids[target] {
				t.Errorf("<%s %s> refers to %q, which is not there", e.name, name, target)
			}
			if _, section, ok := strings.Cut(e.attributes[name], "docs/methodology.md#"); ok {
				if !slices.Contains(sections(t, "../../docs/methodology.md"), section) {
					t.Errorf("the methodology has no section %q", section)
				}
			}
		}
	}
	if !ids["main"] || level == 0 {
		t.Error("no main or no heading")
	}
}

// sections lists the headings of a document in the form that links use.
func sections(t *testing.T, name string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if title := strings.TrimLeft(line, "#"); title != line {
			list = append(list, strings.ReplaceAll(strings.ToLower(strings.TrimSpace(title)), " ", "-"))
		}
	}
	return list
}

func TestPages(t *testing.T) {
	for name, run := range fixtures {
		t.Run(name, func(t *testing.T) { checkPage(t, write(t, "html", run(), "native", document.Options{})) })
	}
	others := map[string]func(io.Writer) error{
		"comparison": func(w io.Writer) error {
			return compare.Formats.Write(w, "html", compared(comparedRun()), document.Options{})
		},
		"gate": func(w io.Writer) error { return gate.Formats.Write(w, "html", gatedRun(), document.Options{}) },
		"bisection": func(w io.Writer) error {
			return bisect.Formats.Write(w, "html", bisection("simple insert"), document.Options{})
		},
		"locks": func(w io.Writer) error {
			run := locksRun(lockSettings("deferred", "5000", "4"), lockSettings("immediate", "5000", "4"), lockSettings("deferred", "5000", "1"))
			return locks.Formats.Write(w, "html", locks.ExplainLocks(stats.Analyze(run, "native")), document.Options{})
		},
		"locks of several mixes": func(w io.Writer) error {
			run := locksRun(lockSettings("immediate", "5000", "4"))
			for i := range run.Cases[:1] {
				run.Cases[i].Workload = "shop"
			}
			return locks.Formats.Write(w, "html", locks.ExplainLocks(stats.Analyze(run, "native")), document.Options{})
		},
		"locks of nothing": func(w io.Writer) error {
			return locks.Formats.Write(w, "html", locks.ExplainLocks(stats.Analyze(newRun(6), "native")), document.Options{})
		},
		"checkup": func(w io.Writer) error { return doctor.Formats.Write(w, "html", busyCheckup(), document.Options{}) },
		"profile": func(w io.Writer) error {
			return profile.Formats.Write(w, "html", profiledPair(profiledDriver(1, "mattn", 20, 22), profiledDriver(2, "modernc", 30, 34)), document.Options{})
		},
	}
	for name, write := range others {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			checkPage(t, b.String())
		})
	}
}

// TestHostilePage checks that HTML in texts from others is shown as text, and that a very long text
// is cut and marked as cut.
func TestHostilePage(t *testing.T) {
	run := serverRun()
	script := `</script></style><script>alert(1)</script><img src=x onerror=alert(1)>" onload="alert(1) {{.}} \x1b[31m` + "\x1b[31m\u202e"
	for i := range run.Cases {
		c := &run.Cases[i]
		c.Workload = "../../" + script
		c.Driver = script + c.Driver
		if i == 0 {
			c.Driver = strings.Repeat("long ", 2<<20)
		}
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		t.Warnings = append(t.Warnings, result.Warning{Code: "a", Message: script})
		t.Proof.SQLiteVersion = script
	}
	run.Trials[1].Samples[0].WallNS = -5
	run.Trials[2].Samples = nil
	page := write(t, "html", run, "native", document.Options{})
	checkPage(t, page)
	if len(page) > 2<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	for _, bad := range []string{"<img", "\x1b", "\u202e", "<script>alert"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, said := range []string{"a time or count is negative", "(cut: it has 10,485,7", "&lt;img src=x"} {
		if !strings.Contains(page, said) {
			t.Errorf("the page does not say %q", said)
		}
	}
}

// TestPageAssets checks that a page that loads its style and script from files has no copy of the
// style and script.
func TestPageAssets(t *testing.T) {
	var b bytes.Buffer
	if err := report.Write(&b, "html", stats.Analyze(singleRun(), ""), report.Options{Options: document.Options{Assets: "/assets/"}}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{`<link rel="stylesheet" href="/assets/page.css">`, `<script src="/assets/page.js" defer></script>`, "style-src &#39;self&#39;; script-src &#39;self&#39;"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if styleElement.MatchString(page) || scriptElement.MatchString(page) {
		t.Error("style or script is in the page")
	}
	for _, name := range []string{"page.css", "page.js"} {
		f, err := document.Assets.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

// TestPageColors checks that the style of pages sets the colors that package chart requires.
func TestPageColors(t *testing.T) {
	style, err := fs.ReadFile(document.Assets, "page.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, dark := range []bool{false, true} {
		if want := chart.Properties(dark); !strings.Contains(string(style), want) {
			t.Errorf("page.css lacks %s", want)
		}
	}
}

// TestPageSize checks that the page of a run with 150 cells and 20 rounds has less than 2 MB.
func TestPageSize(t *testing.T) {
	run := newRun(20)
	drivers := []string{"native", "mattn", "tailscale", "modernc", "zombiezen", "ncruces", "crawshaw", "bvinc", "eatonphil", "mattn@v1.14.22"}
	for i := range 5 {
		add(run, fmt.Sprintf("workload-%d", i), nil, rollback, drivers,
			bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 402_000_000, 1_000_000, 1), mix("mix", "time/op", true))
	}
	if size := len(write(t, "html", run, "native", document.Options{})); size > 2_000_000 {
		t.Errorf("the page has %d bytes", size)
	}
}

// TestStudyPage checks that the page of a study begins with the claims, and that a published
// figure is shown next to the measured one, in the same unit.
func TestStudyPage(t *testing.T) {
	run := clientsRun(stats.Scaling{Lambda: 10_000}, 1, 2)
	s := &report.Study{Name: "queries", Published: "somewhere", Tables: []report.StudyTable{{
		Title: "Queries", Labels: []string{"rows", "driver"},
		Columns: []report.StudyColumn{{Title: "published", Unit: "s", Published: true}, {Title: "here", Unit: "ms", Statistic: "median"}, {Title: "p99", Unit: "ms", Statistic: "median alone"}},
	}}, Claims: []report.Claim{{Claim: "all is well", Verdict: report.Holds}}}
	table := &s.Tables[0]
	for i := range 30 {
		here := report.StudyFigure{Value: pointer(1500.0 + float64(i)), Interval: &stats.Interval{Low: 1400, High: 1700, Confidence: 0.95}, N: 8, Case: 1, Phase: "mix"}
		if i == 3 {
			here = report.StudyFigure{Text: "failed"}
		}
		table.Rows = append(table.Rows, report.StudyRow{Labels: []string{fmt.Sprint(i / 10), fmt.Sprintf("d%d", i%10)},
			Figures: []report.StudyFigure{{Value: pointer(2.5)}, here, {}}})
	}
	opts := report.Options{Study: s}
	page := write(t, "html", run, "native", opts)
	checkPage(t, page)
	if claims, figures := strings.Index(page, `<h2 id="claims">`), strings.Index(page, `<h3 id="queries`); claims < 0 || figures < claims {
		t.Errorf("claims at %d, figures at %d", claims, figures)
	}
	var titles []string
	for _, p := range report.Pictures(stats.Analyze(run, "native"), opts) {
		titles = append(titles, p.Title)
		_, rows := chart.Table(p.Chart(0))
		if text := fmt.Sprint(rows); !strings.Contains(text, "2.50k") && !strings.Contains(text, "2.500k") {
			t.Errorf("%s is not in ms: %s", p.Title, text)
		}
	}
	if want := []string{"Queries: rows 0 to 1", "Queries: rows 2"}; !slices.Equal(titles, want) {
		t.Errorf("pictures %q, want %q", titles, want)
	}
}

// TestBriefPage checks that a brief page has no samples, and that the targets of its links exist.
func TestBriefPage(t *testing.T) {
	link := regexp.MustCompile(`href="#([^"]*)"`)
	for name, run := range map[string]*result.Run{"full": fullRun(), "matrix": matrixRun(), "settings": settingsRun(), "single": singleRun()} {
		pages := map[bool]string{}
		for _, brief := range []bool{false, true} {
			var b bytes.Buffer
			if err := report.Write(&b, "html", stats.Analyze(run, "native"), report.Options{Brief: brief}); err != nil {
				t.Fatal(err)
			}
			pages[brief] = b.String()
		}
		if len(pages[true]) >= len(pages[false]) || strings.Contains(pages[true], `id="samples-and-proven-settings"`) {
			t.Errorf("%s: %d bytes, %d in full", name, len(pages[true]), len(pages[false]))
		}
		for _, m := range link.FindAllStringSubmatch(pages[true], -1) {
			if !strings.Contains(pages[true], `id="`+m[1]+`"`) {
				t.Errorf("%s: a link to #%s leads nowhere", name, m[1])
			}
		}
	}
}
