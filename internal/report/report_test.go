package report_test

import (
	"bytes"
	"flag"
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

var extension = map[string]string{"table": "txt", "markdown": "md", "csv": "csv", "json": "json", "benchfmt": "bench", "html": "html"}

// runOptions are options of a run's report, or those that any answer has.
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

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if strings.HasSuffix(name, ".html") {
		got = skeleton(got)
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
		t.Errorf("%s differs (go test ./report -update rewrites it):\n%s", path, d)
	}
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
