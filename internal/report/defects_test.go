package report_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// defectsIn returns the IDs of a driver's known defects in the JSON report of a run, and whether
// that report lists the driver.
func defectsIn(t *testing.T, run *result.Run, driver string) (ids []string, listed bool) {
	t.Helper()
	var out struct{ Defects []conditions.DriverDefects }
	if err := json.Unmarshal([]byte(write(t, "json", run, "native", document.Options{})), &out); err != nil {
		t.Fatal(err)
	}
	for _, d := range out.Defects {
		if d.Driver == driver {
			listed = true
			for _, x := range d.Known {
				ids = append(ids, x.ID)
			}
		}
	}
	return ids, listed
}

// TestDefects checks which drivers of a run have known defects, and where a report shows them.
func TestDefects(t *testing.T) {
	run := fullRun()
	if ids, _ := defectsIn(t, run, "zombiezen"); !slices.Equal(ids, []string{"wal-reset", "CVE-2026-11822"}) { // these are defects of SQLite 3.51.2, which zombiezen contains
		t.Errorf("zombiezen: %v", ids)
	}
	if ids, listed := defectsIn(t, run, "modernc"); !listed || ids != nil {
		t.Errorf("modernc: %v, %v", ids, listed)
	}
	for _, unlisted := range []string{"native", "python"} { // plain C, and a driver whose worker reported nothing
		if _, listed := defectsIn(t, run, unlisted); listed {
			t.Errorf("%s is listed", unlisted)
		}
	}
	said := report.AnswersOf(stats.Analyze(run, "native"), report.Options{})
	i := slices.IndexFunc(said.Caveats, func(c conditions.Caveat) bool { return c.Code == conditions.CaveatDefect })
	if i < 0 || !strings.Contains(said.Caveats[i].Text, "zombiezen") && !strings.Contains(said.Caveats[i].Text, "others: wal-reset (") {
		t.Errorf("caveats: %+v", said.Caveats)
	}
	for _, format := range []string{"table", "markdown", "html"} {
		text := write(t, format, run, "native", document.Options{Width: 300})
		for _, want := range []string{"wal-reset", "committed pages can be lost", "journal_mode=wal; several connections"} {
			if !strings.Contains(strings.ReplaceAll(text, `\`, ""), want) {
				t.Errorf("%s lacks %q", format, want)
			}
		}
	}
}

// TestDefectsNotHere checks that a defect of another operating system is listed, but that there is
// no warning about it.
func TestDefectsNotHere(t *testing.T) {
	run := newRun(6)
	add(run, "simple", nil, wal, []string{"native", "modernc", "ncruces@v0.29.0"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	if ids, _ := defectsIn(t, run, "ncruces@v0.29.0"); !slices.Equal(ids, []string{"ncruces-404"}) {
		t.Fatalf("%v", ids)
	}
	has := func() bool {
		said := report.AnswersOf(stats.Analyze(run, "native"), report.Options{})
		return slices.ContainsFunc(said.Caveats, func(c conditions.Caveat) bool { return c.Code == conditions.CaveatDefect })
	}
	if has() {
		t.Error("a defect of Windows is a caveat on Linux")
	}
	run.Machine.OS = "windows"
	if !has() {
		t.Error("a defect of Windows is not a caveat on Windows")
	}
}

// TestDefectOfCheckout checks that no defects of a library are listed if it was built from a
// directory, because the directory may contain a state between two releases. Defects of SQLite are
// still listed.
func TestDefectOfCheckout(t *testing.T) {
	run := newRun(6)
	add(run, "simple", nil, wal, []string{"mattn"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000))
	c := &run.Cases[0]
	proof := run.Trials[0].Proof
	if l := conditions.LibraryOf(c, proof); !slices.ContainsFunc(defects.Known(l), func(d defects.Defect) bool { return d.ID == "mattn-681" }) {
		t.Errorf("%+v has no mattn-681", l)
	}
	c.Build["directory"] = "/src/go-sqlite3"
	if l := conditions.LibraryOf(c, proof); l.Version != "" || l.SQLite == "" || defects.Known(l) != nil {
		t.Errorf("%+v: %v", l, defects.Known(l))
	}
}

func TestDefectWords(t *testing.T) {
	d := defects.Defect{Of: defects.OfSQLite, Affected: []defects.Range{{}, {From: "3.1.0"}, {Fixed: "3.2.0"}, {From: "3.4.0", Fixed: "3.5.0"}},
		Patched: []defects.Patch{{Module: "m", From: "v1.2.3"}}}
	if got, want := conditions.DefectVersions(&d), "SQLite all so far; since 3.1.0; before 3.2.0; since 3.4.0, fixed in 3.5.0; m repaired it from v1.2.3 on"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	n := defects.Needs{OS: []string{"windows"}, Arch: []string{"amd64", "386"}, WAL: true, Connections: true, Cancellation: true, Other: "luck"}
	if got, want := conditions.DefectNeeds(n), "windows; amd64 or 386; journal_mode=wal; several connections; contexts that are canceled or time out; luck"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := conditions.DefectNeeds(defects.Needs{}); got != "nothing more" {
		t.Errorf("%q", got)
	}
}
