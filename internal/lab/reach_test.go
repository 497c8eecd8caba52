package lab_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/drivertest"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// reached returns the actions of a script outside its database, as SQLite's authorizer reports them. The
// authorizer denies all of these actions.
func reached(t *testing.T, script string) (what []string) {
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	conn, err := pool.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	pragmas := []string{"temp_store_directory", "data_store_directory", "lock_proxy_file", "writable_schema"}
	modules := []string{"fts3", "fts4", "fts5", "fts4aux", "fts3tokenize", "fts5vocab", "rtree", "rtree_i32", "geopoly", "dbstat", "vec0"}
	functions := []string{"load_extension", "readfile", "writefile", "fts3_tokenizer"}
	err = conn.Raw(func(c any) error {
		return c.(sqlite.AuthorizerRegisterer).RegisterAuthorizer(func(action sqlite.AuthorizerActionCode, arg1, arg2, _, _ string) sqlite.AuthorizerReturnCode {
			word := func(list []string, s string) bool { return slices.Contains(list, strings.ToLower(s)) }
			switch {
			case action == sqlite3.SQLITE_ATTACH && arg1 != "" && arg1 != ":memory:",
				action == sqlite3.SQLITE_PRAGMA && word(pragmas, arg1),
				action == sqlite3.SQLITE_CREATE_VTABLE && !word(modules, arg2),
				action == sqlite3.SQLITE_FUNCTION && word(functions, arg2):
				what = append(what, arg1+" "+arg2)
				return sqlite.AuthorizerDeny
			case action == sqlite3.SQLITE_RECURSIVE: // a recursive query may never end
				return sqlite.AuthorizerDeny
			}
			return sqlite.AuthorizerOK
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.ExecContext(ctx, script, make([]any, 40)...) // NULL for each parameter that the script can have
	return what
}

// FuzzReach compares the loader of workloads, which only reads the tokens of SQL, with SQLite. The loader must
// refuse every script with which SQLite would act outside the database.
func FuzzReach(f *testing.F) {
	for _, s := range []string{
		"SELECT $a('); ATTACH 'x' AS y; --')", "SELECT 1;\v \vATTACH 'x' AS y", "\uFEFFATTACH 'x' AS y",
		"/*/ */ATTACH 'x' AS y", "SELECT x'00'';ATTACH'x'AS y", "PRAGMA\"main\".'temp_store_directory'='x'",
		"VACUUM main INTO 'x'", "CREATE VIRTUAL TABLE [a] USING\"csv\"(b)", "SELECT[load_extension]('x')",
		"SELECT 1--\r;\nATTACH 'x' AS y", "SELECT 1e;ATTACH 'x' AS y", "CREATE TABLE t(a);CREATE TRIGGER u AFTER INSERT ON t BEGIN SELECT ';'; END;ATTACH 'x' AS y",
		"SELECT \";ATTACH 'x' AS y;\"", "SELECT `;ATTACH 'x' AS y;`", "SELECT #a; ATTACH 'x' AS y", "EXPLAIN ATTACH 'x' AS y; VACUUM",
		"SELECT 1 /* ATTACH 'x' AS y", "SELECT 1 -> '$.a'; ATTACH DATABASE 'x' AS y", "ATTACH ':memory:' AS a; ATTACH '' AS b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, script string) {
		holdAgainstSQLite(t, script)
	})
}

// holdAgainstSQLite reports whether the script acts outside its database according to SQLite. It fails the
// test if the loader of workloads accepts such a script.
func holdAgainstSQLite(t *testing.T, script string) bool {
	what := reached(t, script)
	_, err := workload.Parse("x.yaml", []byte("name: x\nphases: [{name: p, script: x.sql}]\n"), fstest.MapFS{"x.sql": {Data: []byte(script)}})
	var problems workload.Problems
	refused := errors.As(err, &problems) && slices.ContainsFunc(problems, func(p workload.Problem) bool { return p.Outside })
	if len(what) > 0 && !refused && !strings.Contains(strings.ToUpper(script), "EXPLAIN") { // EXPLAIN executes nothing
		t.Errorf("%q does %q, and the loader accepts it (%v)", script, what, err)
	}
	return len(what) > 0
}

// TestReach does what FuzzReach does, with random scripts. TEST_SCRIPTS=5000000 sets their number.
func TestReach(t *testing.T) {
	n := drivertest.RandomScripts(3000)
	random := rand.New(rand.NewPCG(1, uint64(n)))
	reaching := 0
	for range n {
		if holdAgainstSQLite(t, drivertest.RandomScript(random, "x")) {
			reaching++
		}
	}
	t.Logf("%d of %d scripts reach out, and all of them are refused", reaching, n)
	if reaching < n/50 {
		t.Errorf("%d scripts reach out: too few to show anything", reaching)
	}
}

// TestTokens compares the tokens that package sqltext finds with the tokens that SQLite's syntax errors name.
// The SQL comes from the table of package sqltext, and from random scripts.
func TestTokens(t *testing.T) {
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	n := drivertest.RandomScripts(3000)
	random := rand.New(rand.NewPCG(2, uint64(n)))
	data, err := os.ReadFile("../../worker/sqltext/testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct{ SQL string }
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i := range len(table) + n {
		var script string
		if i < len(table) {
			script = table[i].SQL
		} else {
			script = drivertest.RandomScript(random, "x")
		}
		for token := range sqltext.Tokens(script) {
			if token.Kind == sqltext.Word || token.Text == ";" {
				continue // a statement may begin with this token
			}
			// A statement cannot begin with any other token.
			stmt, err := conn.PrepareContext(t.Context(), script[token.At:])
			if err == nil {
				defer stmt.Close()
				t.Fatalf("%q: SQLite compiles it", script[token.At:])
			}
			compared++
			near := fmt.Sprintf("near \"%s\": syntax error", token.Text)
			if token.Kind == sqltext.Illegal && !strings.Contains(err.Error(), "syntax error") { // exception: SQLite reads a number with _ as a token, then reports a syntax error
				near = fmt.Sprintf("unrecognized token: \"%s\"", token.Text)
			}
			if !strings.Contains(err.Error(), near) {
				t.Fatalf("%q: the first token is %q (%d), and SQLite says %v", script[token.At:], token.Text, token.Kind, err)
			}
		}
	}
	t.Logf("%d tokens", compared)
}
