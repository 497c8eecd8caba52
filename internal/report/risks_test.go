package report_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// settingsAre returns a run of modernc with several choices of settings. Each choice takes twice
// the time of the previous choice.
func settingsAre(list ...driver.Settings) *result.Run {
	run := newRun(12)
	for i, s := range list {
		add(run, "mine", nil, s, []string{"modernc"}, bulk("insert", 10_000_000<<i, 1000, 1000))
	}
	return run
}

// TestRisks checks that the report says what data settings can lose, whether or not this differs
// between the rows of a table.
func TestRisks(t *testing.T) {
	const power = " if the operating system crashes or the power fails"
	off, full := driver.Settings{"journal_mode": "wal", "synchronous": "off"}, driver.Settings{"journal_mode": "wal", "synchronous": "full"}
	normal := driver.Settings{"journal_mode": "wal", "synchronous": "normal"}
	journal := func(mode, sync string) driver.Settings {
		return driver.Settings{"journal_mode": mode, "synchronous": sync}
	}
	for _, tc := range []struct {
		settings []driver.Settings
		risks    []string // lines about risks at the beginning of the report
		column   []string // values in the column "can lose"
	}{
		{[]driver.Settings{full, journal("delete", "extra"), journal("truncate", "full"), journal("persist", "full")}, nil, nil},
		{[]driver.Settings{journal("delete", "full"), full}, []string{"with journal_mode=delete synchronous=full: the last commit can be lost if the power fails just after it; the database stays intact"}, []string{"last commit", "-"}},
		{[]driver.Settings{journal("delete", "full").With(driver.Settings{"locking_mode": "exclusive"}), full}, []string{"with locking_mode=exclusive: after its first write, no other connection or program can use the database until this one closes it"}, nil},
		{[]driver.Settings{normal, normal.With(driver.Settings{"cache_size": "100"})}, []string{"with journal_mode=wal synchronous=normal: the last transactions can be lost (the database stays intact)" + power}, nil},
		{[]driver.Settings{normal, full}, []string{"with journal_mode=wal synchronous=normal: the last transactions can be lost (the database stays intact)" + power}, []string{"commits", "-"}},
		{[]driver.Settings{off, off.With(driver.Settings{"cache_size": "100"})}, []string{"with synchronous=off: the database can be corrupt" + power}, nil},
		{[]driver.Settings{off, full}, []string{"with synchronous=off: the database can be corrupt" + power}, []string{"database", "-"}},
		{[]driver.Settings{journal("off", "full"), journal("memory", "full")}, []string{
			"with journal_mode=off: ROLLBACK does not work, and if the program crashes in a transaction, the database is very likely corrupt",
			"with journal_mode=memory: if the program crashes in a transaction, the database is very likely corrupt"}, nil},
		{[]driver.Settings{journal("truncate", "normal"), full}, []string{"with journal_mode=truncate synchronous=normal: a power failure at just the wrong moment can corrupt the database on an old file system, but that is very unlikely"}, []string{"rarely", "-"}},
		{[]driver.Settings{full.With(driver.Settings{"locking_mode": "exclusive"}), full}, []string{"with locking_mode=exclusive: after its first write, no other connection or program can use the database until this one closes it"}, nil},
		{[]driver.Settings{{"mode": "memory", "journal_mode": "memory", "synchronous": "off"}, full}, []string{"with mode=memory: the database is only in memory, and is gone when its last connection is closed"}, []string{"database", "-"}},
	} {
		run := settingsAre(tc.settings...)
		text := write(t, "table", run, "", document.Options{Width: 300})
		if strings.Contains(write(t, "html", run, "", document.Options{}), "<dt>risk</dt><dd></dd>") {
			t.Errorf("%s: the page says nothing about a risk", tc.settings)
		}
		var told []string
		for line := range strings.Lines(text) {
			for _, label := range []string{"risk", "last commit"} {
				if words, ok := strings.CutPrefix(line, label+" "); ok {
					told = append(told, strings.TrimSpace(words))
				}
			}
		}
		if !slices.Equal(told, tc.risks) {
			t.Errorf("%v: risks %q, want %q", tc.settings, told, tc.risks)
		}
		if has := strings.Contains(text, "can lose  "); has != (tc.column != nil) {
			t.Errorf("%v: the column \"can lose\" is shown: %v\n%s", tc.settings, has, text)
		}
		for _, word := range tc.column {
			if !strings.Contains(text, "  "+word+"  ") {
				t.Errorf("%v: no row has %q\n%s", tc.settings, word, text)
			}
		}
		for _, r := range tc.risks {
			if md := strings.ReplaceAll(write(t, "markdown", run, "", document.Options{}), `\_`, "_"); !strings.Contains(md, "** "+r+"\n") {
				t.Errorf("Markdown lacks %q:\n%s", r, md)
			}
		}
	}
}

// TestRisksOfCluster checks that, in a cluster, settings of the nodes' databases are not listed as
// risks, but queued writes are.
func TestRisksOfCluster(t *testing.T) {
	off := driver.Settings{"synchronous": "off"}
	for _, tc := range []struct {
		kind   driver.Kind
		queued string
		want   string
	}{
		{driver.Cluster, "off", ""},
		{driver.Cluster, "on", "with queued_writes=on: writes that a node has acknowledged"},
		{driver.Cgo, "on", "with synchronous=off: the database can be corrupt if the operating system crashes"},
	} {
		run := settingsAre(off.With(driver.Settings{"queued_writes": tc.queued}))
		for i := range run.Cases {
			run.Cases[i].Info.Kind = tc.kind
		}
		_, told, has := strings.Cut(write(t, "table", run, "", document.Options{Width: 300}), "\nrisk")
		if has != (tc.want != "") || !strings.HasPrefix(strings.TrimSpace(told), tc.want) {
			t.Errorf("%s, queued %s: %.100q, want %q", tc.kind, tc.queued, told, tc.want)
		}
	}
}

// TestRisksNameWorkloads checks that the text of a risk names the workloads that have it, if other
// workloads of the run do not have it.
func TestRisksNameWorkloads(t *testing.T) {
	run := settingsAre(driver.Settings{"journal_mode": "wal", "synchronous": "normal"})
	add(run, "safe", nil, driver.Settings{"journal_mode": "wal", "synchronous": "full"}, []string{"modernc"}, bulk("insert", 10_000_000, 1000, 1000))
	text := write(t, "table", run, "", document.Options{Width: 300})
	if !strings.Contains(text, "if the operating system crashes or the power fails (as in mine)\n") {
		t.Error(text)
	}
}

// TestRisksOfAllDrivers checks that the text of a risk says "whatever the driver" if every driver has
// the risk. A page must have this text twice: before the first picture, and in the list of all warnings.
func TestRisksOfAllDrivers(t *testing.T) {
	const with, lost = "with journal_mode=wal synchronous=normal", ": the last transactions can be lost (the database stays intact) if the operating system crashes or the power fails"
	normal := driver.Settings{"journal_mode": "wal", "synchronous": "normal"}
	for _, tc := range []struct {
		other driver.Kind // kind of the second driver
		want  string
	}{{driver.Cgo, with + ", whatever the driver" + lost}, {driver.Cluster, with + lost}} {
		run := newRun(9)
		add(run, "mine", nil, normal, []string{"mattn", "modernc"}, bulk("insert", 10_000_000, 10, 10))
		run.Cases[1].Info.Kind = tc.other
		if text := write(t, "table", run, "", document.Options{Width: 300}); !strings.Contains(text, "\nrisk          "+tc.want+"\n") {
			t.Errorf("%s: no %q in\n%s", tc.other, tc.want, text)
		}
		if n := strings.Count(write(t, "html", run, "", document.Options{}), "<dt>risk</dt><dd>"+tc.want+"</dd>"); n != 2 {
			t.Errorf("%s: the page has the risk %d times", tc.other, n)
		}
	}
}

// TestRisksInJSON checks that each cell has the risks of all settings in force in its phase,
// including defaults and settings that the workload itself changes.
func TestRisksInJSON(t *testing.T) {
	run := newRun(6)
	add(run, "mine", nil, driver.Settings{"journal_mode": "wal"}, []string{"modernc"}, bulk("safe", 10_000_000, 10, 10), bulk("fast", 10_000_000, 10, 10))
	run.Cases[0].InForce = map[string]driver.Settings{"fast": {"journal_mode": "wal", "synchronous": "off"}}
	spoil(run, "mine", "modernc", func(t *result.Trial) { t.Proof.Connections[0]["synchronous"] = "normal" })
	text := write(t, "json", run, "", document.Options{})
	validate(t, compiled(t, "report"), text)
	var got struct {
		Cells []struct {
			Phase string
			Risks []conditions.Risk
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []conditions.Loss{conditions.LoseCommits, conditions.LoseDatabase} {
		if r := got.Cells[i].Risks; len(r) != 1 || r[0].CanLose != want {
			t.Errorf("%s: %+v, want %s", got.Cells[i].Phase, r, want)
		}
	}
}

// TestComparedRisks checks that the answer of a comparison names the data that only one side can lose,
// and that a list names the data that both sides can lose.
func TestComparedRisks(t *testing.T) {
	const text = "with synchronous=off: the database can be corrupt if the operating system crashes or the power fails"
	sides := func(run *result.Run, by result.Compares) string {
		run.Compares = &by
		return comparisonText(t, compared(run))
	}
	got := sides(settingsAre(driver.Settings{"synchronous": "off"}, driver.Settings{"synchronous": "full"}),
		result.Compares{Factor: result.FactorSetting, Name: "synchronous", First: "off", Second: "full", Margin: 0.02})
	if !strings.Contains(got, "With synchronous=off, the database can be corrupt if the operating system crashes") || strings.Contains(got, "risk  ") {
		t.Errorf("one side:\n%s", got)
	}
	run := newRun(12)
	add(run, "mine", nil, driver.Settings{"synchronous": "off"}, []string{"mattn", "modernc"}, bulk("insert", 10_000_000, 10, 10))
	got = sides(run, result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.02})
	if strings.Contains(got, "With synchronous=off") || strings.Count(got, text) != 1 {
		t.Errorf("both sides:\n%s", got)
	}
}

func comparisonText(t *testing.T, c compare.Compared) string {
	t.Helper()
	var b strings.Builder
	if err := compare.Formats.Write(&b, "table", c, document.Options{Width: 300}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
