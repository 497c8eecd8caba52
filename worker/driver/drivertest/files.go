package drivertest

import (
	"context"
	"errors"
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
		{Name: "files/ATTACH and VACUUM INTO are refused", Key: driver.LimitFiles, Test: filesRefused},
		{Name: "files/extensions, directories and modules", Test: on(nil, "", noOtherWay)},
		{Name: "files/plain VACUUM", Test: plainVacuum},
		{Name: "files/random scripts", Test: randomScripts},
		{Name: "files/allowed", Needs: driver.LimitFiles, Test: filesAllowed},
	}
}

// hidden returns scripts in which SQL is hidden from those that read other tokens than SQLite.
func hidden(sql string) []string {
	var list []string
	for _, parameter := range []string{"$a::(')", "@a::(')", ":a::(')", "#a::(')", "$a(')"} {
		list = append(list, "SELECT "+parameter+"; "+sql+"; --'")
	}
	return append(list, "SELECT '\\'; "+sql+"; --'", "/*/*/ "+sql+" /**/", "SELECT 1;\uFEFF"+sql, "SELECT \"\"\"';\"; "+sql)
}

// filesRefused runs, in every way to run SQL, what would write to another database.
func filesRefused(ctx context.Context, d driver.Driver, dir string) error {
	other, copied := filepath.Join(dir, "other.db"), filepath.Join(dir, "copied.db")
	attach := fmt.Sprintf("ATTACH '%s' AS other; CREATE TABLE other.owned (a)", other)
	into := fmt.Sprintf("VACUUM INTO '%s'", copied)
	return with(ctx, d, dir, driver.Settings{"pool_size": "2"}, "CREATE TABLE t (a)", func(x *db) error {
		run := func(r driver.Runner) {
			for _, sql := range append([]string{attach, into, "VACUUM; " + attach, "VACUUM main; " + into}, append(hidden(attach), hidden(into)...)...) {
				_ = r.Script(ctx, sql)
			}
			for _, sql := range []string{fmt.Sprintf("ATTACH '%s' AS other", other), into, "VACUUM", "VACUUM main INTO '" + copied + "'"} {
				for _, adHoc := range []bool{false, true} {
					if s, err := r.Prepare(ctx, driver.Statement{SQL: sql, AdHoc: adHoc}); err == nil {
						_ = s.Exec(ctx, nil, 0, 0)
						_ = s.Query(ctx, nil, 0, func(driver.Row) error { return nil })
						_ = s.Close()
					}
				}
			}
			_ = r.Script(ctx, "CREATE TABLE other.owned (a)")
		}
		run(x)
		err := withConn(ctx, x, func(c driver.Conn) error {
			run(c)
			if a, ok := c.(driver.Asker); ok {
				for _, sql := range []string{attach, into} {
					_, _ = a.Ask(ctx, driver.Question{SQL: sql}, func([]any) error { return nil })
				}
			}
			return withConn(ctx, x, func(second driver.Conn) error { run(second); return nil })
		})
		if err != nil {
			return err
		}
		for _, path := range []string{other, copied} {
			if _, err := os.Stat(path); err == nil {
				return fmt.Errorf("SQL has made %s: on each connection, SQLITE_LIMIT_ATTACHED must be 0 unless the context allows files", filepath.Base(path))
			}
		}
		return nil
	})
}

// insideModules are the modules of virtual tables that stay within the database or show
// what SQLite itself knows.
var insideModules = []string{
	"fts3", "fts4", "fts5", "fts4aux", "fts3tokenize", "fts5vocab", "rtree", "rtree_i32", "geopoly", "dbstat", "vec0", "vec_each", "vec_npy_each", "vec_static_blobs", "vec_static_blob_entries",
	"json_each", "json_tree", "jsonb_each", "jsonb_tree", "bytecode", "tables_used", "sqlite_stmt", "generate_series", "completion", "carray", "sqlite_dbpage", "dbpage",
}

// noOtherWay holds that a library has no other function, and no module, that reaches files.
func noOtherWay(ctx context.Context, x *db) error {
	if err := x.Script(ctx, "SELECT load_extension('/nonexistent/x')"); err == nil || !strings.Contains(err.Error(), "not authorized") && !strings.Contains(err.Error(), "no such function") {
		return fmt.Errorf("load_extension() is enabled: %v", err)
	}
	text := driver.ColumnType{Type: driver.Text}
	for _, f := range []string{"readfile", "writefile", "edit", "fsdir", "lsdir"} {
		if err := x.Script(ctx, "SELECT "+f+"('/nonexistent/x')"); err == nil || !strings.Contains(err.Error(), f) {
			return fmt.Errorf("there is a function %s(): %v", f, err)
		}
	}
	if err := x.Script(ctx, "SELECT fts3_tokenizer('simple', x'0000000000000000')"); err == nil {
		return errors.New("fts3_tokenizer() with two arguments is enabled")
	}
	list, err := rows(ctx, x, "SELECT name FROM pragma_module_list WHERE name NOT LIKE 'pragma\\_%' ESCAPE '\\'", text)
	if err != nil {
		return nil //nolint:nilerr // an old SQLite cannot list them
	}
	for _, row := range list {
		if name := row[0].(string); !slices.Contains(insideModules, strings.ToLower(name)) {
			return fmt.Errorf("there is a module %s of virtual tables: if it stays within the database, list it in drivertest", name)
		}
	}
	return nil
}

// plainVacuum holds that VACUUM works wherever it may be, and that nothing can be attached
// afterwards.
func plainVacuum(ctx context.Context, d driver.Driver, dir string) error {
	return with(ctx, d, dir, nil, "CREATE TABLE t (a); CREATE INDEX u ON t(a)", func(x *db) error {
		for _, sql := range []string{"VACUUM", "vacuum;", "-- all\nVACUUM main /* it */;", "INSERT INTO t VALUES (1); VACUUM; INSERT INTO t VALUES (2); VACUUM"} {
			if err := x.Script(ctx, sql); err != nil {
				return fmt.Errorf("script %q: %w", sql, err)
			}
		}
		if err := exec(ctx, x, "VACUUM", nil); err != nil {
			return fmt.Errorf("statement: %w", err)
		}
		err := withConn(ctx, x, func(c driver.Conn) error { return exec(ctx, c, "VACUUM main;", nil) })
		if err != nil {
			return fmt.Errorf("statement on a connection: %w", err)
		}
		return want(ctx, x, "SELECT count(*) FROM t", 2)
	})
}

// filesAllowed holds that a context that allows files allows them.
func filesAllowed(ctx context.Context, d driver.Driver, dir string) error {
	other, copied := filepath.Join(dir, "other.db"), filepath.Join(dir, "copied.db")
	return with(driver.AllowFiles(ctx), d, dir, nil, "CREATE TABLE t (a)", func(x *db) error {
		err := x.Script(ctx, fmt.Sprintf("VACUUM; ATTACH '%s' AS other; CREATE TABLE other.u (a); DETACH other; VACUUM INTO '%s'", other, copied))
		for _, path := range []string{other, copied} {
			if _, serr := os.Stat(path); err == nil {
				err = serr
			}
		}
		return err
	})
}

// Pieces of which scripts are made that readers of SQL may read differently. FILE is a path
// outside of the database.
var Pieces = []string{
	"ATTACH FILE AS y", "ATTACH FILE AS y", "attach database\"FILE\"as y", "VACUUM INTO FILE", "VACUUM main INTO FILE", "VACUUM", "VACUUM", "CREATE TABLE IF NOT EXISTS y.t(a)",
	"PRAGMA temp_store_directory=FILE", "SELECT load_extension(FILE)", "CREATE VIRTUAL TABLE v USING csv(FILE)", "EXPLAIN", "SELECT 1", "SELECT 1", "SELECT", "SELECT 1,",
	"'", "'", "\"", "`", "[", "]", "--", "/*", "*/", "/", "*", ";", ";", ";", ";", "; ", "; ", "\n", "\n", "\r", "\v", "\f", " ", " ", " ",
	"x'00'", "x'", "x'0", "$a::(", "@a::(", ":a::(", "#a::(", "$a(", "(", ")", ")", "$a", ":a", "@a::b", "::", ":", "$", "@", "#", "?1", "?", "?9", "\uFEFF", "\xef\xbb", "\u00a0", "\\",
	"1e", "0x", "1.", "1_", "_", "->", "||", "a", "''", "''''", "\"\"", "!", "!=", "BEGIN", "COMMIT", "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1", "END",
}

// RandomScript makes a script of [Pieces]. file is the path in it.
func RandomScript(r *rand.Rand, file string) string {
	var script strings.Builder
	for range 1 + r.IntN(9) {
		script.WriteString(strings.ReplaceAll(Pieces[r.IntN(len(Pieces))], "FILE", "'"+file+"'"))
	}
	return script.String()
}

// RandomScripts is how many random scripts a test tries: TEST_SCRIPTS, or few.
func RandomScripts(few int) int {
	if n, err := strconv.Atoi(os.Getenv("TEST_SCRIPTS")); err == nil {
		return n
	}
	return few
}

// randomScripts holds that random scripts make no file, with and without parameters bound.
func randomScripts(ctx context.Context, d driver.Driver, dir string) error {
	ctx = context.WithoutCancel(ctx) // millions take as long as they do
	outside := filepath.Join(dir, "outside")
	if err := os.Mkdir(outside, 0o777); err != nil {
		return err
	}
	refused := driver.DirectoryPragma
	if _, unlimited := d.Info().Limits[driver.LimitFiles]; unlimited {
		refused = driver.FilesWords
	}
	r := rand.New(rand.NewPCG(1, uint64(RandomScripts(1))))
	const batch = 1000 // scripts for each database
	for left := RandomScripts(200); left > 0; left -= batch {
		err := with(ctx, d, dir, nil, "CREATE TABLE IF NOT EXISTS t (a)", func(x *db) error {
			return withConn(ctx, x, func(c driver.Conn) error {
				asker, asks := c.(driver.Asker)
				for range min(left, batch) {
					script := RandomScript(r, filepath.Join(outside, "x"))
					if refused(script) != "" {
						continue
					}
					_ = c.Script(ctx, script)
					if asks && driver.TrimScript(script) != "" && driver.TrimScript(strings.TrimSpace(script)) != "" { // some libraries crash on nothing
						q := driver.Question{SQL: script}
						for token := range sqltext.Tokens(script) {
							if token.Kind == sqltext.Parameter {
								q.Args = append(q.Args, int64(1))
							}
						}
						_, _ = asker.Ask(ctx, q, func([]any) error { return nil })
					}
					if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
						return fmt.Errorf("the script %q made a file: %v", script, err)
					}
				}
				_ = c.Script(ctx, "ROLLBACK")
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
