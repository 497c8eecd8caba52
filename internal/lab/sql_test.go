package lab_test

import (
	"cmp"
	"database/sql/driver"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"modernc.org/sqlite"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// peopleFile is a workload without mistakes in its SQL.
const peopleFile = `name: people
schema: |
  CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
rows:
  people:
    count: 5
    columns:
      id: serial
      name: {text: 10}
phases:
  - name: fill
    insert: people
    transaction: one
  - name: index
    script: CREATE INDEX by_name ON people(name)
  - name: read
    query: SELECT id, name FROM people INDEXED BY by_name WHERE id > 2
    columns: [int, text]
`

func TestCheckSQL(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"right":     {},
		"schema":    {"CREATE TABLE", "CREAT TABLE", `^people.yaml:3:3: schema: .*near "CREAT": syntax error`},
		"table":     {"TABLE people", "TABLE person", "^people.yaml:12:13: phase fill: .*no such table: people"},
		"column":    {"SELECT id, name", "SELECT id, nam", "^people.yaml:17:12: phase read: .*no such column: nam"},
		"generated": {"name TEXT", "nom TEXT", "phase fill: .*table people has no column named name"},
		"script":    {"CREATE INDEX", "CREATE INDX", "phase index: .*syntax error"},
		"index":     {"by_name ON", "by_nome ON", "phase read: .*no such index: by_name"},
		"columns":   {"SELECT id, name", "SELECT id, name, 3", "phase read: its rows have 3 columns, and columns lists 2"},
		"no rows":   {"SELECT id, name FROM people INDEXED BY by_name WHERE id > 2", "DELETE FROM people", "phase read: it returns no rows, and columns lists 2: write it as a script"},
		"pragma":    {"SELECT id, name FROM people INDEXED BY by_name WHERE id > 2", "PRAGMA optimize", ""},
		"rows":      {"CREATE INDEX by_name ON people(name)", "CREATE INDEX by_name ON people(name); INSERT INTO people(name) SELECT max(name) FROM people", ""}, // the INSERT fails only because there are no rows yet
		"long":      {"CREATE INDEX by_name ON people(name)", "CREATE INDEX by_name ON people(name); WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT max(n) FROM c", ""},
		"long name": {"SELECT id, name", "SELECT id, " + strings.Repeat("x", 200_000), "phase read: .*no such column: x{400,600}…"},
		"function":  {"SELECT id, name", "SELECT id, ours(name)", ""}, // a driver may have this function
		"module":    {"CREATE TABLE people (", "CREATE VIRTUAL TABLE people USING ours(", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := workload.Parse("people.yaml", []byte(strings.Replace(peopleFile, tc.old, tc.new, 1)), nil, workload.AllowFiles)
			if err != nil {
				t.Fatal(err)
			}
			pl, err := w.Plan(workload.Quick, nil)
			if err != nil {
				t.Fatal(err)
			}
			check(t, lab.CheckSQL(w, pl), tc.want)
		})
	}
}

// TestCheckSQLOfParentheses checks the error for SQL that SQLite cannot parse. The error must give the
// position, however long the SQL is.
func TestCheckSQLOfParentheses(t *testing.T) {
	const n = 100_000
	text := strings.Replace(peopleFile, "WHERE id > 2", "WHERE id > "+strings.Repeat("(", n)+"2"+strings.Repeat(")", n), 1)
	w, err := workload.Parse("people.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := w.Plan(workload.Quick, nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, lab.CheckSQL(w, plan), "^people.yaml:17:12: phase read: SQL logic error: ")
}

// TestCheckSQLLines checks that an error in SQL with several lines is reported at its line
// or, if that is not known, at the first line of its statement.
func TestCheckSQLLines(t *testing.T) {
	const file = `name: lines
schema: |

  -- Two tables.
  CREATE TABLE one (id INTEGER); CREATE TRIGGER t AFTER INSERT ON one BEGIN
    SELECT 1;
  END;
  CREATE TABLE two (
    id INTEGER,
    name TEXT
  );
phases:
  - name: read
    query: |
      SELECT id,
        name
      FROM two
      WHERE id = :id AND name = :name
    parameters: {id: 1, name: {const: x}}
    columns: [int, text]
  - name: write
    script: "

      DELETE FROM two"
  - name: more
    script: more.sql
`
	for _, tc := range []struct{ old, new, want string }{
		{"DELETE", "DELETE", ""},
		{"name TEXT", "name TEXT,", `^lines.yaml:11:3: schema: .*near "\)": syntax error`},
		{"SELECT 1;", "SELECT 1 1;", `^lines.yaml:6:5: schema: .*near "1": syntax error`},
		{"SELECT 1;", "SELECT 1 'a", "^lines.yaml:5:3: schema: .*unrecognized token"},
		{"INTEGER,\n    name", "INTEGER,\n    name REFERENCES one ONE,\n    id", `^lines.yaml:10:5: schema: .*near "ONE"`},
		{"id INTEGER,", "name,", `^lines.yaml:8:3: schema: .*duplicate column name: name`},
		{"  name\n", "  name name name\n", `^lines.yaml:16:9: phase read: .*near "name": syntax error`},
		{":id AND name", ":id ADD name", `^lines.yaml:18:7: phase read: .*near "ADD": syntax error`},
		{"  name\n", "  names\n", "^lines.yaml:15:7: phase read: .*no such column: names"},
		{"DELETE", "DELE", `^lines.yaml:22:13: phase write: .*near "DELE": syntax error`},
		{"more.sql", "wrong.sql", `^lines.yaml:26:13: line 4 of wrong.sql: phase more: .*near "FROM": syntax error`},
	} {
		w, err := workload.Parse("lines.yaml", []byte(strings.Replace(file, tc.old, tc.new, 1)), fstest.MapFS{
			"more.sql":  {Data: []byte("DELETE FROM one")},
			"wrong.sql": {Data: []byte("\nDELETE FROM one;\nDELETE\nFROM FROM one")},
		})
		if err != nil {
			t.Fatal(err)
		}
		pl, err := w.Plan(workload.Quick, nil)
		if err != nil {
			t.Fatal(err)
		}
		check(t, lab.CheckSQL(w, pl), tc.want)
	}
}

// TestCheckSQLOfMix checks that an error in a mix is reported at the position of its SQL.
func TestCheckSQLOfMix(t *testing.T) {
	const mix = `name: mine
schema: CREATE TABLE t (id INTEGER)
phases:
  - name: serve
    count: 1
    mix:
      - name: one
        sql: SELECT a FROM t
        columns: [int]
      - sql: SELECT b FROM t
        name: two
        columns: [int]
      - name: three
        transaction: true
        statements:
          - DELETE FROM t
          - UPDATE t SET c = 1
          - {columns: [int], sql: SELECT d FROM t}
`
	for column, want := range map[string]string{
		"a": "^mine.yaml:8:14: phase serve: operation one: .*no such column: a",
		"b": "^mine.yaml:10:14: phase serve: operation two: .*no such column: b",
		"c": "^mine.yaml:17:13: phase serve: operation three: .*no such column: c",
		"d": "^mine.yaml:18:35: phase serve: operation three: .*no such column: d",
	} {
		text := mix
		for _, other := range []string{"SELECT a", "SELECT b", "SET c", "SELECT d"} {
			if !strings.HasSuffix(other, " "+column) {
				text = strings.Replace(text, other, other[:len(other)-1]+"id", 1)
			}
		}
		w, err := workload.Parse("mine.yaml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := w.Plan(workload.Quick, nil)
		if err != nil {
			t.Fatal(err)
		}
		check(t, lab.CheckSQL(w, pl), want)
	}
}

func TestCheckSQLWritesNoFile(t *testing.T) {
	for _, script := range []string{"ATTACH 'other.db' AS other", "VACUUM INTO 'other.db'"} {
		t.Chdir(t.TempDir())
		w, err := workload.Parse("people.yaml", []byte(strings.Replace(peopleFile, "CREATE INDEX by_name ON people(name)", script, 1)), nil, workload.AllowFiles)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := w.Plan(workload.Quick, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := lab.CheckSQL(w, pl); err != nil {
			t.Errorf("%s: %v", script, err)
		}
		if _, err := os.Stat("other.db"); err == nil {
			t.Errorf("%s made its file", script)
		}
	}
}

func TestCheckSQLOfBuiltins(t *testing.T) {
	for _, name := range workload.Builtins() {
		w, err := workload.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := w.Plan(workload.Quick, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := lab.CheckSQL(w, pl); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// check compares an error with a regular expression. If want is "", there must be no error.
func check(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("no error, want %s", want)
	case err != nil && (want == "" || !regexp.MustCompile(want).MatchString(err.Error())):
		t.Errorf("%v, want %s", err, cmp.Or(want, "no error"))
	}
}

// init registers an SQL function with the name "stuck" that never returns.
func init() {
	sqlite.MustRegisterScalarFunction("stuck", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) { select {} })
}

// TestCheckSQLIsBounded checks that there is no error for SQL that exceeds the limits, nor for mistakes after
// such SQL. For SQL with a function that never returns, there must be an error.
func TestCheckSQLIsBounded(t *testing.T) {
	checked := func(schema string) error {
		w, err := workload.Parse("mine.yaml", fmt.Appendf(nil, "name: mine\nschema: |\n  %s;\n  not SQL\nphases: [{name: p, script: ANALYZE}]\n", schema), nil)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := w.Plan(workload.Quick, nil)
		if err != nil {
			t.Fatal(err)
		}
		return lab.CheckSQL(w, pl)
	}
	for _, schema := range []string{
		"SELECT length(zeroblob(20000000) || '')", "SELECT length(printf('%.*c', 20000000, 'x'))",
		"SELECT replace(hex(zeroblob(1000)), '0', '" + strings.Repeat("0", 600) + "')",
		"CREATE TABLE t AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM r LIMIT 100) SELECT zeroblob(1000000) FROM r",
		"PRAGMA max_page_count = 1000000000; CREATE TEMP TABLE t AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM r LIMIT 100) SELECT zeroblob(1000000) FROM r",
		"SELECT 'aaaaaaaaaaa' LIKE '%a%a%a%a%a%a%a%a%a%a%a%ab'",
	} {
		if err := checked(schema); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
	if err := checked("CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(1000))"); err == nil {
		t.Error("a mistake after a harmless statement is not found")
	}
	defer lab.SetStuckLimit(time.Millisecond)()
	if err := checked("SELECT stuck()"); err == nil || !strings.Contains(err.Error(), "workload mine: compiling its SQL and running its scripts on an empty database did not end within 1ms") {
		t.Errorf("stuck: %v", err)
	}
}
