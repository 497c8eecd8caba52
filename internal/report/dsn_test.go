package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func dsnFixture(t *testing.T) *dsn.DSN {
	t.Helper()
	n, err := dsn.Parse("x.db?_journal=WAL&_auth_pass=hunter2")
	if err != nil {
		t.Fatal(err)
	}
	return &dsn.DSN{Name: n, Told: []*dsn.Told{
		{
			Driver: "a", InForce: driver.Settings{"busy_timeout": "0"}, Waits: true,
			Options:  []dsn.Verdict{{Option: "_journal=WAL", Outcome: dsn.Applied, Is: "wal", Default: "delete"}, {Option: "_auth_pass=***", Outcome: dsn.Heeded}},
			Spelling: &dsn.Spelling{DSN: "x.db?_journal=WAL&_auth_pass=***"},
		},
		{
			Driver: "b", ModuleVersion: "v1.0.2", InForce: driver.Settings{"busy_timeout": "5000"}, File: "x.db?_journal=WAL", EachConnection: "Hook",
			Options: []dsn.Verdict{
				{Option: "_journal=WAL", Outcome: dsn.Ignored, Is: "delete", Default: "delete"},
				{Option: "_auth_pass=***", Outcome: dsn.Unseen, Changes: []dsn.Change{{Setting: "foreign_keys", From: "on", To: "off"}}},
			},
			Spelling: &dsn.Spelling{DSN: "file:x.db", Init: []string{"PRAGMA journal_mode=wal"}, LeftOut: []string{"_auth_pass=***"}},
		},
		{
			Driver: "c", Refused: "no such user",
			Options:  []dsn.Verdict{{Option: "_journal=WAL", Outcome: dsn.Default, Is: "wal", Default: "wal"}, {Option: "_auth_pass=***", Outcome: dsn.Refused, Error: "no such user"}},
			Spelling: &dsn.Spelling{DSN: "file:x.db", Missing: []driver.Mismatch{{Setting: "journal_mode", Wanted: "wal", Got: "delete"}}},
		},
	}}
}

func TestDSNTable(t *testing.T) {
	var out bytes.Buffer
	if err := dsn.Formats.Write(&out, "table", dsnFixture(t), document.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if !strings.HasPrefix(got, "1 of 3 drivers applies all 2 options: a. c refuses the name.\n") {
		t.Errorf("the answer is not first:\n%s", got)
	}
	for _, want := range []string{
		"_journal=WAL is silently ignored by b.\n",
		"_journal=WAL is ignored by c, but is the default there.\n",
		"a       yes           checked\n",
		"b       no, is delete  unseen\n",
		"c       no, default   refused\n",
		"Versions: b v1.0.2. Others may take other options",
		"* b: the file that is made is named \"x.db?_journal=WAL\"",
		"* b: _auth_pass=*** changes foreign_keys from on to off\n",
		"* c: _auth_pass=*** is refused: no such user\n",
		"  busy_timeout  5000: b\n                without limit: a\n",
		"  b\n    file:x.db\n    and in code (Hook): PRAGMA journal_mode=wal\n    no such option here: _auth_pass=***\n",
		"    not possible here: journal_mode is delete, not wal\n",
	} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if len(line) > 81 {
			t.Errorf("wider than 80: %q", line)
		}
	}
	if strings.Contains(got, "hunter2") {
		t.Error("a secret is shown")
	}
}

// TestDSNSharedCache expects the answer to name the error that connections get if they share a cache,
// even on a terminal with few lines.
func TestDSNSharedCache(t *testing.T) {
	d := dsnFixture(t)
	d.Told[0].InForce["cache"], d.Told[1].InForce["cache"] = "shared", "private"
	var out bytes.Buffer
	if err := dsn.Formats.Write(&out, "table", d, document.Options{Width: 80, Lines: 1}); err != nil {
		t.Fatal(err)
	}
	want := "! a: connections share one cache and lock its tables. SQLite returns SQLITE_LOCKED (\"database table is locked\") for that, for which no busy_timeout waits"
	if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, want) || strings.Contains(got, "! b") {
		t.Error(got)
	}
}

// TestDSNOnOneScreen expects a terminal to show the answer and the table. Other parts must be
// shown completely or not at all, and a line must name the parts that are not shown.
func TestDSNOnOneScreen(t *testing.T) {
	text := func(o document.Options) string {
		var out bytes.Buffer
		o.Width = 100
		if err := dsn.Formats.Write(&out, "table", dsnFixture(t), o); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	whole := text(document.Options{})
	got := text(document.Options{Lines: 24, Hints: document.Hints{Rest: []document.Hint{{Shows: "all of it", Command: "the same command with --full"}}}})
	head, _, _ := strings.Cut(whole, "\nNot set by")
	if n := strings.Count(got, "\n"); n > 24 || !strings.HasPrefix(got, head) || strings.Contains(got, "own spelling") ||
		!strings.Contains(got, "\nnot shown     how each driver spells it; versions\n") || !strings.HasSuffix(got, "\nall of it     the same command with --full\n") {
		t.Errorf("%d lines:\n%s", n, got)
	}
	if got := text(document.Options{Lines: 200}); got != whole {
		t.Errorf("there is room for everything, but something is missing:\n%s", got)
	}
}

func TestDSNJSON(t *testing.T) {
	var out bytes.Buffer
	if err := dsn.Formats.Write(&out, "json", dsnFixture(t), document.Options{}); err != nil {
		t.Fatal(err)
	}
	var got dsn.JSONDSN
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Drivers) != 3 || len(got.Options) != 2 || got.Options[0].Wanted != "wal" || len(got.Differences) != 1 || got.Answer == "" {
		t.Errorf("%+v", got)
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Error("a secret is shown")
	}
}

func TestDSNUnknownFormat(t *testing.T) {
	if err := dsn.Formats.Check("jsn"); err == nil || !strings.Contains(err.Error(), `"json"`) {
		t.Error(err)
	}
}
