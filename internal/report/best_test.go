package report_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestBestSettings checks the answer of a run with several settings. It must claim only
// significant differences, and say what data the fastest settings can lose.
func TestBestSettings(t *testing.T) {
	setting := func(sync string) driver.Settings { return driver.Settings{"journal_mode": "wal", "synchronous": sync} }
	same := newRun(12)
	for _, sync := range []string{"normal", "full"} {
		add(same, "mine", nil, setting(sync), []string{"modernc"}, bulk("insert", 10_000_000, 10, 10))
	}
	tied := newRun(12) // the first two settings are tied, and the third is slower
	for i, sync := range []string{"off", "normal", "full"} {
		add(tied, "mine", nil, setting(sync), []string{"modernc"}, bulk("insert", []int64{9_900_000, 10_000_000, 20_000_000}[i], 10, 10))
	}
	type row struct {
		journal, sync string
		ms            float64
	}
	rows := func(list ...row) *result.Run {
		run := newRun(12)
		for _, r := range list {
			add(run, "mine", nil, driver.Settings{"journal_mode": r.journal, "synchronous": r.sync}, []string{"modernc"}, bulk("insert", int64(r.ms*1e6), 10, 10))
		}
		return run
	}
	failing := settingsAre(setting("normal"), setting("full"), setting("extra"))
	for i := range failing.Trials {
		if tr := &failing.Trials[i]; tr.Case == 3 {
			tr.Status, tr.Samples = result.Failed, nil
		}
	}
	looked := settingsAre(setting("normal"), setting("full"))
	looked.Compares = &result.Compares{Factor: result.FactorSetting, Name: "synchronous", First: "normal", Second: "full", Looks: true}
	short := newRun(12)
	for i, sync := range []string{"normal", "full"} {
		add(short, "mine", nil, setting(sync), []string{"modernc"}, bulk("insert", 10_000<<i, 10, 10))
	}
	for _, tc := range []struct {
		name, want string
		run        *result.Run
	}{
		{"clear", "In mine insert, synchronous=normal is fastest, but can lose the last commits; the fastest that loses nothing is synchronous=full, 99% slower (96% to 102%).", settingsAre(setting("normal"), setting("full"))},
		{"same", "In mine insert, there is no clear difference.", same},
		{"tied", "In mine insert, none is clearly faster than synchronous=normal, which can lose the last commits (tied with synchronous=off, which can lose more); " +
			"the fastest that loses nothing is synchronous=full, 2.01 times as slow (1.98 to 2.04).", tied},
		{"risky", "In mine insert, synchronous=off is fastest, but can lose the database; the fastest that loses nothing is synchronous=full, 99% slower (96% to 102%).",
			settingsAre(setting("off"), setting("full"))},
		{"each loss", "In mine insert, synchronous=off is fastest, but can lose the database; the fastest that can lose only the last commits is synchronous=normal, 2.00 times as slow (1.98 to 2.03); " +
			"the fastest that loses nothing is synchronous=extra (tied with synchronous=full), 3.99 times as slow (3.96 to 4.02).", rows(row{"wal", "full", 40}, row{"wal", "extra", 40}, row{"wal", "normal", 20}, row{"wal", "off", 10})},
		{"slower and riskier", "In mine insert, none is clearly faster than journal_mode=wal synchronous=normal, which can lose the last commits (tied with journal_mode=wal synchronous=off, which can lose more); " +
			"the fastest that loses nothing is journal_mode=wal synchronous=full, 6.4 times as slow (6.4 to 6.5).", rows(row{"wal", "off", 9.9}, row{"wal", "normal", 10}, row{"delete", "off", 37}, row{"wal", "full", 64})},
		{"safe", "In mine insert, synchronous=full is fastest, and loses nothing.", rows(row{"wal", "full", 10}, row{"wal", "normal", 20})},
		{"safe ones", "In mine insert, journal_mode=wal synchronous=full is fastest, and loses nothing; next is journal_mode=truncate synchronous=full, 4.0 times as slow (3.9 to 4.0).", rows(row{"wal", "full", 10}, row{"wal", "normal", 20}, row{"truncate", "full", 40})},
		{"rarely", "In mine insert, synchronous=normal is fastest, but can lose the database, if very rarely; the fastest that can lose only the last commit is synchronous=full, 99% slower (96% to 102%); the fastest that loses nothing is synchronous=extra, 4.0 times as slow (3.9 to 4.0).", rows(row{"delete", "normal", 10}, row{"delete", "full", 20}, row{"delete", "extra", 40})},
		{"same risk", "In mine insert, journal_mode=wal is fastest; next is journal_mode=delete, 99% slower (96% to 102%).", rows(row{"wal", "off", 10}, row{"delete", "off", 20})},
		{"failing", "In mine insert, synchronous=normal is fastest, but can lose the last commits; the fastest that loses nothing is synchronous=full, 99% slower (96% to 102%); 1 row without a rank.", failing},
		{"short", "In mine insert (less than 1 ms, too short to judge by), synchronous=normal is fastest, but can lose the last commits; the fastest that loses nothing is synchronous=full, 99% slower (96% to 102%).", short},
		{"looked", "synchronous=full is 99% slower than synchronous=normal (92% to 106%). With journal_mode=wal synchronous=normal, the last transactions can be lost (the database stays intact) if the operating system crashes or the power fails.", looked},
		{"one", "In mine insert, modernc took 42.3 ms, ±1.3%.", settingsAre(setting("normal"))},
		{"few rounds", "Nothing is known yet: 3 complete rounds so far, and drivers are ranked after 6.", interruptedRun()},
	} {
		text := write(t, "table", tc.run, "", document.Options{Width: 400})
		answer, _, ok := strings.Cut(text, "\n\nsqlite3perf ")
		if !ok || strings.HasPrefix(text, "sqlite3perf ") {
			answer = ""
		}
		if answer != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, answer, tc.want)
		}
		var got struct{ Answer string }
		if err := json.Unmarshal([]byte(write(t, "json", tc.run, "", document.Options{})), &got); err != nil || got.Answer != tc.want {
			t.Errorf("%s: JSON has %q, %v", tc.name, got.Answer, err)
		}
	}
}

// TestEffects checks an effect that depends on another setting. The report must have a row for each
// value of that setting, and no mean. JSON must have the rows and the mean.
func TestEffects(t *testing.T) {
	times := map[string]int64{"wal normal": 10, "wal full": 45, "delete normal": 40, "delete full": 40}
	run := newRun(16)
	for _, journal := range []string{"wal", "delete"} {
		for _, sync := range []string{"normal", "full"} {
			add(run, "mine", nil, driver.Settings{"journal_mode": journal, "synchronous": sync}, []string{"modernc"}, bulk("insert", 1_000_000*times[journal+" "+sync], 10, 10))
		}
	}
	got := write(t, "table", run, "", document.Options{Width: 300})
	for _, want := range []string{"because a mean would be misleading.\nchange ", "\nsynchronous=full instead of normal, with journal_mode=wal     4.5", "\nsynchronous=full instead of normal, with journal_mode=delete  1.0",
		"\njournal_mode=delete instead of wal, with synchronous=normal   3.9"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "instead of normal  ") {
		t.Errorf("a mean is shown:\n%s", got)
	}
	text := write(t, "json", run, "", document.Options{})
	validate(t, compiled(t, "report"), text)
	var j report.JSON
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	for _, e := range j.Factorials[0].Effects {
		if d := e.Dependences; len(d) != 1 || !d[0].Significant || len(d[0].Effects) != 2 || e.Over != 2 {
			t.Errorf("%s instead of %s: %+v", e.To, e.From, d)
		}
	}
}
