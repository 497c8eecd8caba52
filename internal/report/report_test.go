package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var extension = map[string]string{"table": "txt", "markdown": "md", "csv": "csv", "json": "json", "benchfmt": "bench", "html": "html", "firefox": "firefox.json"}

// runOptions are the options of a run's report, or the options that the reports of all commands
// share.
type runOptions interface {
	document.Options | report.Options
}

func ofRun[O runOptions](o O) report.Options {
	if opts, ok := any(o).(report.Options); ok {
		return opts
	}
	return report.Options{Options: any(o).(document.Options)}
}

// write returns a run's report. It ends the test if there is an error.
func write[O runOptions](t testing.TB, format string, run *result.Run, floor string, o O) string {
	t.Helper()
	var b bytes.Buffer
	opts := ofRun(o)
	opts.Hints.Workloads, opts.Hints.AddedCost = "--workloads", "sqlite3perf drivers --added-cost"
	if err := report.Write(&b, format, stats.Analyze(run, floor), opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// inAllFormats names the reports that [golden] compares in every format. It does not compare the
// pages (HTML) and the Markdown of other reports.
var inAllFormats = []string{"full", "single", "gate", "advice-full", "comparison-compared", "checkup-busy", "cluster", "locks", "profile"}

// golden compares a report with a file of testdata, or writes that file if the flag -update is set.
// It reduces a page to its skeleton, and shortens most JSON (see [abridged]).
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	base, format, _ := strings.Cut(name, ".")
	switch all := slices.Contains(inAllFormats, base); {
	case (format == "html" || format == "md") && !all:
		return
	case format == "html":
		got = skeleton(got)
	case format == "json" && base != "single":
		got = abridged(t, got)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s differs (go test ./internal/report -update rewrites it):\n%s", path, d)
	}
}

// abridged returns JSON with shortened lists. A list keeps its first element. Another element is
// kept only if it has a field that did not occur before.
func abridged(t *testing.T, text string) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var b bytes.Buffer
	abridge(t, d, &b, map[string]bool{}, "")
	var out bytes.Buffer
	if err := json.Indent(&out, b.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n"
}

// abridge copies a JSON value from d to b in shortened form, and reports whether the value has a
// field that no earlier value had.
func abridge(t *testing.T, d *json.Decoder, b *bytes.Buffer, seen map[string]bool, path string) (news bool) {
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	open, ok := token.(json.Delim)
	if !ok {
		news = !seen[path]
		seen[path] = true
		text, _ := json.Marshal(token)
		b.Write(text)
		return news
	}
	b.WriteRune(rune(open))
	for n := 0; d.More(); {
		at := b.Len()
		if n > 0 {
			b.WriteByte(',')
		}
		key := path + "[]"
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(b, "%q:", name)
			key = fmt.Sprintf("%s.%s", path, name)
		}
		if abridge(t, d, b, seen, key) {
			news = true
		} else if open == '[' && n > 0 {
			b.Truncate(at)
			continue
		}
		n++
	}
	end, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	b.WriteRune(rune(end.(json.Delim)))
	return news
}

func TestGolden(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(fixtures)) {
		for _, format := range report.Formats() {
			t.Run(name+"/"+format, func(t *testing.T) {
				golden(t, name+"."+extension[format], write(t, format, fixtures[name](), "native", document.Options{}))
			})
		}
	}
	t.Run("full/table/80", func(t *testing.T) {
		golden(t, "full-80.txt", write(t, "table", fullRun(), "native", document.Options{Width: 80}))
	})
	t.Run("full/table/color", func(t *testing.T) {
		golden(t, "full-color.txt", write(t, "table", fullRun(), "native", document.Options{Color: true}))
	})
}

func TestUnknownFormat(t *testing.T) {
	for format, want := range map[string]string{
		"jsno":    `unknown format "jsno": did you mean "json"?`,
		"":        `unknown format "": known are table, markdown, html, csv, json, benchfmt`,
		"picture": `unknown format "picture": known are table, markdown, html, csv, json, benchfmt`,
	} {
		var b strings.Builder
		err := report.Write(&b, format, stats.Analyze(fullRun(), ""), report.Options{})
		if err == nil || err.Error() != want || b.Len() > 0 {
			t.Errorf("Write(%q) = %v, wrote %q; want %s", format, err, b.String(), want)
		}
	}
}
