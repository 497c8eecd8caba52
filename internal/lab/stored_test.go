package lab_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// manyTables is a workload with tables whose rows after an insert are hard to predict, for example because of
// triggers, conflicts or converted values.
const manyTables = `
name: many-tables
schema: |
  CREATE TABLE plain (id INTEGER PRIMARY KEY, word TEXT, at INTEGER NOT NULL DEFAULT 7, ok BOOLEAN, x REAL, raw BLOB);
  CREATE TABLE keyed (word TEXT, id INT, PRIMARY KEY (word, id)) WITHOUT ROWID;
  CREATE TABLE converted (id REAL, word NUMERIC, digits TEXT, x INTEGER, anything);
  CREATE TABLE numbered (id INTEGER PRIMARY KEY, word TEXT);
  CREATE INDEX words ON plain (word);
  CREATE TABLE strict (word TEXT, id INTEGER) STRICT;
  CREATE TABLE source (id INTEGER);
  CREATE TABLE copies (id INTEGER);
  CREATE TRIGGER copy AFTER INSERT ON source BEGIN INSERT INTO copies VALUES (new.id); END;
  CREATE TABLE unlike (id INTEGER UNIQUE ON CONFLICT REPLACE);
  CREATE TABLE choosy (id INTEGER);
  CREATE TRIGGER choose BEFORE INSERT ON choosy WHEN new.id % 2 BEGIN SELECT RAISE(IGNORE); END;
  CREATE VIEW looks AS SELECT id FROM source;
  CREATE TRIGGER look INSTEAD OF INSERT ON looks BEGIN SELECT 1; END;
  CREATE VIRTUAL TABLE texts USING fts5(word);
rows:
  plain: {count: 100, columns: {id: serial, word: {text: [0, 9], nulls: 20%}, at: {time: 2024-01-01T00:00:00Z, step: 1s}, ok: {int: [0, 1], type: bool}, x: {real: [-1, 1]}, raw: {blob: [0, 9]}}}
  later: {table: plain, count: 50, columns: {word: {text: [0, 9], nulls: 20%}, id: {serial: 1000}}}
  again: {table: plain, count: 30, columns: {id: {serial: 2000}, word: {text: 5}}}
  keyed: {count: 60, columns: {id: serial, hidden: {text: 5, hidden: true}, word: {format: "%s!", of: hidden}}}
  converted: {count: 20, columns: {id: serial, word: {text: 3}, digits: {int: [0, 9]}, x: {real: [0, 1]}, anything: {text: 4}}}
  numbered: {count: 20, columns: {id: null, word: {text: 3}}}
  strict: {count: 20, columns: {id: serial, word: {text: 3}}}
  source: {count: 20, columns: {id: serial}}
  copies: {count: 20, columns: {id: serial}}
  unlike: {count: 20, columns: {id: {int: [1, 5]}}}
  choosy: {count: 20, columns: {id: serial}}
  looks: {count: 20, columns: {id: serial}}
  texts: {count: 20, columns: {word: {text: 5}}}
phases:
  - {name: load, untimed: true, insert: [plain, later]}
  - {name: more, insert: [again], transaction: every 10 rows, rows per statement: 5}
  - {name: others, insert: [keyed, converted, numbered, strict, source]}
  - {name: unknown, insert: [copies, unlike, choosy, looks, texts]}
`

func TestInserted(t *testing.T) {
	t.Parallel()
	workers := map[string]string{"engine": faulty(t, "server-none")}
	if python := pythonWorker(t); python != "" {
		workers["python"] = python
	}
	for name, executable := range workers {
		c := casesOf(t, executable, 7, nil, nil, parse(t, manyTables))[0]
		var got []string
		for _, phase := range []string{"load", "more", "others", "unknown"} {
			for _, table := range c.Expect[phase].Tables {
				got = append(got, fmt.Sprintf("%s %s %d: %s", phase, table.Table, table.Rows, strings.Join(table.Columns, " ")))
			}
		}
		want := []string{
			"load plain 150: id word", "more plain 30: id word", "others keyed 60: id word", "others converted 20: anything",
			"others numbered 20: word", "others strict 20: id word", "others source 20: id",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("tables that are verified (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]result.Warning{{Code: "unverified", Phase: "unknown", Message: "nobody can check the rows inserted " +
			"into copies, which may be changed by the trigger copy; into unlike, which resolves conflicts by IGNORE or REPLACE; " +
			"into choosy, which may be changed by the trigger choose; into looks, which is a view; into texts, which is a virtual table"},
		}, c.Beforehand); d != "" {
			t.Errorf("warnings about tables that are not verified (-want +got):\n%s", d)
		}
		p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
		for range 2 { // the second trial only counts rows
			if got, err := p.Trial(t.Context(), c, 7); err != nil || got.Status != result.OK {
				t.Errorf("%s: %v, %+v", name, err, got.Reason)
			}
		}
	}
}

// TestWrongInserts checks that a driver that stores wrong rows fails its first trial.
func TestWrongInserts(t *testing.T) {
	t.Parallel()
	const yaml = `
name: words
schema: CREATE TABLE words (id INTEGER, word TEXT)
rows:
  words: {count: 100, columns: {id: serial, word: {text: 5}}}
phases:
  - {name: insert, UNTIMED insert: words}
  - {name: query, query: SELECT 1, columns: [int]}
`
	for fault, want := range map[string]string{
		"drops":   "rows phase insert: tables[0].rows is 99: expected 100: words must have that many more rows than before",
		"doubles": "rows phase insert: tables[0].rows is 101: expected 100: words must have that many more rows than before",
		"swaps":   "checksum phase insert: tables[0].checksum is ",
	} {
		for _, untimed := range []string{"", "untimed: true,"} {
			c := casesOf(t, faulty(t, "server-"+fault), 7, nil, nil, parse(t, strings.Replace(yaml, "UNTIMED", untimed, 1)))[0]
			p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
			got, err := p.Trial(t.Context(), c, 7)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != result.Wrong || !strings.HasPrefix(got.Reason.Code+" "+got.Reason.Message, want) {
				t.Errorf("%s %s %+v, want %q", fault, got.Status, got.Reason, want)
			}
		}
	}
}

func TestCheckInserted(t *testing.T) {
	p := &plan.Phase{Name: "insert"}
	want := []lab.Table{
		{Stored: plan.Stored{Table: "a", Columns: []string{"id"}}, Rows: 5, Checksum: someChecksum},
		{Stored: plan.Stored{Table: "b"}, Rows: 6},
	}
	told := func(table string, rows int64, checksum string) protocol.Inserted {
		return protocol.Inserted{Table: table, Rows: rows, Checksum: checksum}
	}
	for _, c := range []struct {
		hashed bool
		said   []protocol.Inserted
		want   string // message of the only fault; "": none
	}{
		{true, []protocol.Inserted{told("a", 5, someChecksum), told("b", 6, "")}, ""},
		{false, []protocol.Inserted{told("a", 5, ""), told("b", 6, "")}, ""},
		{false, []protocol.Inserted{told("a", 5, "")}, "protocol phase insert: tables has 1 entries: want 2"},
		{false, []protocol.Inserted{told("a", 5, ""), told("c", 6, "")}, `protocol phase insert: tables[1].table is "c": want "b"`},
		{false, []protocol.Inserted{told("a", 5, ""), told("b", 7, "")}, "rows phase insert: tables[1].rows is 7: expected 6"},
		{false, []protocol.Inserted{told("a", 5, someChecksum), told("b", 6, "")}, "protocol phase insert: tables[0].checksum is set: want none"},
		{true, []protocol.Inserted{told("a", 5, ""), told("b", 6, "")}, `protocol phase insert: tables[0].checksum is "": want 64`},
		{true, []protocol.Inserted{told("a", 5, "f"+someChecksum[1:]), told("b", 6, "")}, "checksum phase insert: tables[0].checksum is f123456789ab…: expected 0123456789ab…"},
		{true, []protocol.Inserted{told("a", 5, someChecksum), told("b", 6, someChecksum)}, "protocol phase insert: tables[1].checksum is set: want none"},
	} {
		got := ""
		for _, f := range lab.CheckInserted(p, want, c.hashed, c.said) {
			got += f.Code + " " + f.Message
		}
		if !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%+v: got %q, want %q", c.said, got, c.want)
		}
	}
}
