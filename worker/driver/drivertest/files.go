package drivertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

func fileChecks() []Check {
	return []Check{
		{Name: "files/ATTACH and VACUUM INTO are refused", Key: driver.LimitFiles, Test: alone(filesRefused)},
		{Name: "files/extensions, directories and modules", Test: on(nil, "", noOtherWay)},
		{Name: "files/plain VACUUM", Test: on(nil, "CREATE TABLE t (a); CREATE INDEX u ON t(a)", plainVacuum)},
		{Name: "files/random scripts", Test: alone(randomScripts)},
		{Name: "files/allowed", Needs: driver.LimitFiles, Test: alone(filesAllowed)},
	}
}

// The function "hidden" returns scripts that contain the statement sql. Some parsers do not find
// the statement in these scripts, because they split SQL into tokens in another way than SQLite.
func hidden(sql string) []string {
	var list []string
	for _, parameter := range []string{"$a::(')", "@a::(')", ":a::(')", "#a::(')", "$a(')"} {
		list = append(list, "SELECT "+parameter+"; "+sql+"; --'")
	}
	return append(list, "SELECT '\\'; "+sql+"; --'", "/*/*/ "+sql+" /**/", "SELECT 1;\uFEFF"+sql, "SELECT \"\"\"';\"; "+sql)
}

// filesRefused runs statements that would write to another database file, in every way in which a
// driver runs SQL. It fails if such a file exists afterwards.
func filesRefused(t test) {
	other, copied := filepath.Join(t.dir, "other.db"), filepath.Join(t.dir, "copied.db")
	attach := fmt.Sprintf("ATTACH '%s' AS other; CREATE TABLE other.owned (a)", other)
	into := fmt.Sprintf("VACUUM INTO '%s'", copied)
	scripts := slices.Concat([]string{attach, into, "VACUUM; " + attach, "VACUUM main; " + into}, hidden(attach), hidden(into))
	run := func(r runner) {
		for _, sql := range scripts {
			_ = r.Script(r.ctx, sql)
		}
		for _, sql := range []string{fmt.Sprintf("ATTACH '%s' AS other", other), into, "VACUUM", "VACUUM main INTO '" + copied + "'"} {
			for _, adHoc := range []bool{false, true} {
				if s, err := r.Prepare(r.ctx, driver.Statement{SQL: sql, AdHoc: adHoc}); err == nil {
					_ = s.Exec(r.ctx, nil, 0, 0)
					_ = s.Query(r.ctx, nil, 0, ignore)
					_ = s.Close()
				}
			}
		}
		_ = r.Script(r.ctx, "CREATE TABLE other.owned (a)")
	}
	t.open(driver.Settings{"pool_size": "2"}, "CREATE TABLE t (a)", func(x *db) {
		run(x.runner)
		x.conn(func(c runner) {
			run(c)
			if a, ok := c.Runner.(driver.Asker); ok {
				for _, sql := range []string{attach, into} {
					_, _ = a.Ask(c.ctx, driver.Question{SQL: sql}, func([]any) error { return nil })
				}
			}
			x.conn(run)
		})
		for _, path := range []string{other, copied} {
			if _, err := os.Stat(path); err == nil {
				fatalf("SQL has made %s: on each connection, SQLITE_LIMIT_ATTACHED must be 0 unless the context allows files", filepath.Base(path))
			}
		}
	})
}

// insideModules are the modules of virtual tables that access nothing outside the database
// except SQLite's own state.
var insideModules = []string{
	"fts3", "fts4", "fts5", "fts4aux", "fts3tokenize", "fts5vocab", "rtree", "rtree_i32", "geopoly", "dbstat", "vec0", "vec_each", "vec_npy_each", "vec_static_blobs", "vec_static_blob_entries",
	"json_each", "json_tree", "jsonb_each", "jsonb_tree", "bytecode", "tables_used", "sqlite_stmt", "generate_series", "completion", "carray", "sqlite_dbpage", "dbpage",
}

// noOtherWay fails if a library's SQLite has a function, or a module of virtual tables, that
// reaches files outside the database.
func noOtherWay(x *db) {
	if err := x.Script(x.ctx, "SELECT load_extension('/nonexistent/x')"); err == nil || !strings.Contains(err.Error(), "not authorized") && !strings.Contains(err.Error(), "no such function") {
		fatalf("load_extension() is enabled: %v", err)
	}
	for _, f := range []string{"readfile", "writefile", "edit", "fsdir", "lsdir"} {
		if err := x.Script(x.ctx, "SELECT "+f+"('/nonexistent/x')"); err == nil || !strings.Contains(err.Error(), f) {
			fatalf("there is a function %s(): %v", f, err)
		}
	}
	if err := x.Script(x.ctx, "SELECT fts3_tokenizer('simple', x'0000000000000000')"); err == nil {
		fatalf("fts3_tokenizer() with two arguments is enabled")
	}
	var list [][]any // empty if SQLite is too old to list its modules
	_ = try(func() {
		list = x.rows("SELECT name FROM pragma_module_list WHERE name NOT LIKE 'pragma\\_%' ESCAPE '\\'", driver.ColumnType{Type: driver.Text})
	})
	for _, row := range list {
		if name := row[0].(string); !slices.Contains(insideModules, strings.ToLower(name)) {
			fatalf("there is a module %s of virtual tables: if it stays within the database, list it in drivertest", name)
		}
	}
}

// plainVacuum fails unless VACUUM works in scripts and statements. The check filesRefused tests that
// no file can be attached after a VACUUM.
func plainVacuum(x *db) {
	for _, sql := range []string{"VACUUM", "vacuum;", "-- all\nVACUUM main /* it */;", "INSERT INTO t VALUES (1); VACUUM; INSERT INTO t VALUES (2); VACUUM"} {
		within(fmt.Sprintf("script %q", sql), func() { x.script(sql) })
	}
	within("statement", func() { x.exec("VACUUM", nil) })
	within("statement on a connection", func() { x.conn(func(c runner) { c.exec("VACUUM main;", nil) }) })
	x.want("SELECT count(*) FROM t", 2)
}

// filesAllowed fails unless SQL can create other files in a context from [driver.AllowFiles].
func filesAllowed(t test) {
	other, copied := filepath.Join(t.dir, "other.db"), filepath.Join(t.dir, "copied.db")
	t.ctx = driver.AllowFiles(t.ctx)
	t.open(nil, "CREATE TABLE t (a)", func(x *db) {
		x.script(fmt.Sprintf("VACUUM; ATTACH '%s' AS other; CREATE TABLE other.u (a); DETACH other; VACUUM INTO '%s'", other, copied))
		for _, path := range []string{other, copied} {
			_, err := os.Stat(path)
			must(err)
		}
	})
}

// Pieces are pieces of scripts that two parsers of SQL may interpret differently. FILE stands for
// a path outside of the database.
var Pieces = []string{
	"ATTACH FILE AS y", "ATTACH FILE AS y", "attach database\"FILE\"as y", "VACUUM INTO FILE", "VACUUM main INTO FILE", "VACUUM", "VACUUM", "CREATE TABLE IF NOT EXISTS y.t(a)",
	"PRAGMA temp_store_directory=FILE", "SELECT load_extension(FILE)", "CREATE VIRTUAL TABLE v USING csv(FILE)", "EXPLAIN", "SELECT 1", "SELECT 1", "SELECT", "SELECT 1,",
	"'", "'", "\"", "`", "[", "]", "--", "/*", "*/", "/", "*", ";", ";", ";", ";", "; ", "; ", "\n", "\n", "\r", "\v", "\f", " ", " ", " ",
	"x'00'", "x'", "x'0", "$a::(", "@a::(", ":a::(", "#a::(", "$a(", "(", ")", ")", "$a", ":a", "@a::b", "::", ":", "$", "@", "#", "?1", "?", "?9", "\uFEFF", "\xef\xbb", "\u00a0", "\\",
	"1e", "0x", "1.", "1_", "_", "->", "||", "a", "''", "''''", "\"\"", "!", "!=", "BEGIN", "COMMIT", "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1", "END",
}

// RandomScript joins random [Pieces]. The path "file" replaces FILE in the pieces.
func RandomScript(r *rand.Rand, file string) string {
	var script strings.Builder
	for range 1 + r.IntN(9) {
		script.WriteString(strings.ReplaceAll(Pieces[r.IntN(len(Pieces))], "FILE", "'"+file+"'"))
	}
	return script.String()
}

// RandomScripts returns how many random scripts a test tries. The environment variable TEST_SCRIPTS
// gives the number. If it is not set, the number is the parameter "few".
func RandomScripts(few int) int {
	if n, err := strconv.Atoi(os.Getenv("TEST_SCRIPTS")); err == nil {
		return n
	}
	return few
}

// randomScripts fails if a random script creates a file, with or without bound parameters. It leaves out
// scripts that a worker refuses because they contain certain words.
func randomScripts(t test) {
	t.ctx = context.WithoutCancel(t.ctx) // the test may run millions of scripts, which takes longer than the time limit of a check
	outside := filepath.Join(t.dir, "outside")
	must(os.Mkdir(outside, 0o777))
	refused := driver.DirectoryPragma
	if _, unlimited := t.driver.Info().Limits[driver.LimitFiles]; unlimited {
		refused = driver.FilesWords
	}
	r := rand.New(rand.NewPCG(1, uint64(RandomScripts(1))))
	const batch = 1000 // scripts that run before the database is opened again
	for left := RandomScripts(200); left > 0; left -= batch {
		t.open(nil, "CREATE TABLE IF NOT EXISTS t (a)", func(x *db) {
			x.conn(func(c runner) {
				for range min(left, batch) {
					script := RandomScript(r, filepath.Join(outside, "x"))
					if refused(script) != "" {
						continue
					}
					runAndAsk(c, script)
					if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
						fatalf("the script %q made a file: %v", script, err)
					}
				}
				_ = c.Script(c.ctx, "ROLLBACK")
			})
		})
	}
}

// runAndAsk runs a script, and also passes it to Ask as one statement with all its parameters
// bound.
func runAndAsk(c runner, script string) {
	_ = c.Script(c.ctx, script)
	asker, asks := c.Runner.(driver.Asker)
	// Some libraries crash on an empty statement.
	if !asks || driver.TrimScript(script) == "" || driver.TrimScript(strings.TrimSpace(script)) == "" {
		return
	}
	q := driver.Question{SQL: script}
	for token := range sqltext.Tokens(script) {
		if token.Kind == sqltext.Parameter {
			q.Args = append(q.Args, int64(1))
		}
	}
	_, _ = asker.Ask(c.ctx, q, func([]any) error { return nil })
}
