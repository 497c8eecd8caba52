package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestTypesOfResults checks the error for a value whose storage class does not match the declared type. The
// error must be the same with every worker, although some libraries would convert the value.
func TestTypesOfResults(t *testing.T) {
	t.Parallel()
	const head = `
name: typed
schema: CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'a'), (2, 7), (3, NULL), (4, 1.5)
phases:
`
	for _, test := range []struct{ name, phase, want string }{
		{"an integer as text", "{name: p, query: SELECT v FROM t WHERE id < 3 ORDER BY id, columns: text}",
			"column 1 (v) is declared text and holds INTEGER in row 2: declare it int, or convert it in the SQL"},
		{"a text as an integer", "{name: p, query: \"SELECT id, v FROM t WHERE id < 3 ORDER BY id\", columns: [int, int]}",
			"column 2 (v) is declared int and holds TEXT in row 1: declare it text, or convert it in the SQL"},
		{"NULL", "{name: p, query: SELECT v FROM t WHERE id = 3, columns: text}",
			"column 1 (v) is declared text and holds NULL in row 1: declare it text or null, or convert it in the SQL"},
		{"a real as an integer", "{name: p, query: SELECT v FROM t WHERE id > 2 ORDER BY id, columns: int or null}",
			"column 1 (v) is declared int or null and holds REAL in row 2: declare it real, or convert it in the SQL"},
		{"one of two statements", `{name: p, count: 20, mix: [{name: a, statements: [{sql: "SELECT id, 1 AS one FROM t", columns: [int, int]}, {sql: "SELECT id, v AS two FROM t", columns: [int, int or null]}]}]}`,
			"column 2 is declared int or null and holds TEXT in row 1: declare it text"},
		{"an expression with a parameter", "{name: p, query: SELECT :x || v FROM t WHERE id = 2 -- why, parameters: {x: 1}, columns: int}",
			"column 1 (? || v) is declared int and holds TEXT in row 1: declare it text"},
		{"an integer as a real", "{name: p, query: \"SELECT v FROM t WHERE id IN (2, 4)\", columns: real}", ""},
		{"a mix", "{name: p, count: 20, mix: [{name: a, sql: SELECT v FROM t WHERE id = 2, columns: text}]}",
			"column 1 (v) is declared text and holds INTEGER in row 1: declare it int"},
		{"a mix that returns what it writes", `{name: p, count: 20, mix: [{name: a, sql: "INSERT INTO t(v) VALUES (1) RETURNING v", columns: int}]}`, ""},
		{"a PRAGMA", "{name: p, query: PRAGMA journal_mode, columns: text}", ""},
		{"requests", "{name: p, count: 20, http: SELECT v FROM t WHERE id = 2, columns: {v: text}}",
			"column 1 (v) is declared text and holds INTEGER in row 1: declare it int"},
	} {
		for name, executable := range realWorkers(t) {
			if name == "python" && test.name == "requests" {
				continue // the Python worker does not serve HTTP
			}
			t.Run(test.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				got := trialOf(t, casesOf(t, executable, 7, nil, nil, parse(t, head+"  - "+test.phase+"\n"))[0])
				if test.want == "" {
					if got.Status != result.OK {
						t.Errorf("%s: %+v", got.Status, got.Reason)
					}
					return
				}
				if got.Status != result.Failed || got.Reason.Code != "type" || got.Reason.Phase != "p" {
					t.Fatalf("%s: %+v", got.Status, got.Reason)
				}
				message := strings.TrimPrefix(got.Reason.Message, "verifying operation a: ")
				if !strings.HasPrefix(message, test.want) {
					t.Errorf("%s, want %s", got.Reason.Message, test.want)
				}
			})
		}
	}
}

// TestTypesAreCheckedOnce checks that workers need not check the types of values again after a trial of the
// case was OK. The second request says that the types are known, and the worker in this test then fails.
func TestTypesAreCheckedOnce(t *testing.T) {
	t.Parallel()
	c := tinyCase(t, faulty(t, "types-known"))
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
	for i, want := range []result.Status{result.OK, result.Failed} {
		got, err := p.Trial(t.Context(), c, 7)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != want {
			t.Errorf("trial %d: %s: %+v, want %s", i+1, got.Status, got.Reason, want)
		}
	}
}
