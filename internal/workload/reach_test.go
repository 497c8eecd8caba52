package workload_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// reaching has scripts that reach files other than their own database. The value is a part of the
// error that must be reported.
var reaching = map[string]string{
	"ATTACH '/home/me/app.db' AS a":                       "line 1 of x.sql has ATTACH: it reaches",
	"attach database 'a.db' as a":                         "ATTACH",
	"SELECT 1;\n;; \n  aTtAcH 'a' AS a":                   "line 3 of x.sql has ATTACH: it reaches",
	"/* x */ATTACH/**/'a'AS a":                            "ATTACH",
	"/*/ ATTACH */ATTACH 'a' AS a":                        "ATTACH",
	"-- it's\nATTACH 'a' AS a":                            "line 2 of x.sql has ATTACH: it reaches",
	"\v\f\r\tATTACH 'a' AS a":                             "ATTACH",
	"\uFEFFATTACH 'a' AS a":                               "ATTACH",
	"ATTACH \"a\" AS a":                                   "ATTACH",
	"ATTACH a":                                            "ATTACH",
	"ATTACH ':memory:' || 'x' AS a":                       "ATTACH",
	"ATTACH '' || '/a' AS a":                              "ATTACH",
	"ATTACH '''' AS a":                                    "ATTACH",
	"ATTACH 'file::memory:?cache=shared' AS a":            "ATTACH",
	"SELECT 'it''s'; ATTACH 'a' AS a":                     "ATTACH",
	"SELECT x'00'; ATTACH 'a' AS a":                       "ATTACH",
	"SELECT [']; ATTACH 'a' AS a; --']":                   "ATTACH",
	"SELECT ['] ; ATTACH 'a' AS a --'":                    "ATTACH",
	"SELECT `'`;ATTACH 'a' AS a":                          "ATTACH",
	"ATTACH ':memory:' AS a":                              "ATTACH",
	"SELECT 1; ATTACH DATABASE '' AS b":                   "ATTACH",
	"SELECT 'PRAGMA temp_store_directory'":                "PRAGMA temp_store_directory, as a word",
	"SELECT 1;\x00ATTACH 'a' AS a":                        "a NUL byte",
	"CREATE TABLE t(a); ATTACH 'a' AS a":                  "ATTACH",
	"VACUUM INTO 'a'":                                     "VACUUM INTO",
	"vacuum/**/main -- x\n into\n'a'":                     "VACUUM INTO",
	"PRAGMA temp_store_directory = '/tmp'":                "PRAGMA temp_store_directory",
	"PRAGMA main.\"Temp_Store_Directory\"('/tmp')":        "PRAGMA Temp_Store_Directory",
	"PRAGMA 'data_store_directory'='x'":                   "PRAGMA data_store_directory",
	"PRAGMA writable_schema=1":                            "PRAGMA writable_schema",
	"SELECT load_extension('x')":                          "load_extension()",
	"SELECT 1, \"Load_Extension\" /**/ ('x')":             "\"Load_Extension\"()",
	"SELECT " + strings.Repeat("1,", 99) + "writefile(1)": "writefile()",
	"CREATE VIRTUAL TABLE IF NOT EXISTS main.v USING /**/ csv(filename='/etc/passwd')": "module csv",
	"CREATE VIRTUAL TABLE \"using\" USING \"CSV\"(a)":                                  "module \"CSV\"",
}

// within are scripts that stay within their own database.
var within = []string{
	"SELECT 'ATTACH', \"ATTACH 'a' AS a\", attach FROM vacuum",
	"SELECT '; ATTACH ''a'' AS a'",
	"-- ATTACH 'a' AS a\n/* ; ATTACH 'a' AS a; VACUUM INTO 'x' */ SELECT 1",
	"CREATE TABLE attach(attach, vacuum, into_x, load_extension); INSERT INTO attach VALUES ('load_extension', 'x')",
	"VACUUM; VACUUM main; SELECT 1; INSERT INTO t SELECT 1",
	"PRAGMA journal_mode=WAL; PRAGMA temp_store=file; PRAGMA main.table_info(writable_schema)",
	"CREATE VIRTUAL TABLE f USING fts5(a, tokenize='porter'); CREATE VIRTUAL TABLE r USING RTREE(a,b,c)",
	"CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; UPDATE attach SET x = 1; END",
	"SELECT count(*) FROM a JOIN b USING (c)",
	"SELECT x FROM t -- no end",
	"SELECT 1 /* no end; ATTACH 'a' AS a",
	"",
}

// parameters has scripts in which SQLite reads a parameter. Some of the scripts hide the SQL after the
// parameter from programs that do not divide SQL into the same tokens as SQLite.
var parameters = map[string]string{
	"SELECT :a, 1":                                   "line 1 has the parameter :a, and nothing binds it",
	"SELECT 1;\nSELECT ?1":                           "line 2 has the parameter ?1",
	"SELECT $a('); ATTACH '/x' AS y; --')":           "$a('), which builds of SQLite read differently",
	"SELECT $a::('); ATTACH '/x' AS y; --';":         "$a::('), which",
	"SELECT @a::('); ATTACH '/x' AS y; --';":         "@a::('), which",
	"SELECT :a::('); ATTACH '/x' AS y; --';":         ":a::('), which",
	"SELECT #a::('); ATTACH '/x' AS y; --';":         "#a::('), which",
	"SELECT 1, $a::b::(\"), 1; VACUUM INTO 'x' --\"": "$a::b::(\"), which",
}

// TestParametersInScripts checks that scripts with parameters are refused. With such a script, a
// workload once wrote to another database.
func TestParametersInScripts(t *testing.T) {
	for sql, want := range parameters {
		if err := parseScript(sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v: want %s", sql, err, want)
		}
		if err := parseScript(sql, workload.AllowFiles); err == nil || !strings.Contains(err.Error(), "nothing binds it: write the value") {
			t.Errorf("%q with AllowFiles: %v", sql, err)
		}
		schema := fmt.Appendf(nil, "name: x\nschema: |\n  %s\nphases: [{name: p, script: VACUUM}]\n", strings.ReplaceAll(sql, "\n", "\n  "))
		if _, err := workload.Parse("x.yaml", schema, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("schema %q: %v: want %s", sql, err, want)
		}
	}
}

// parseScript parses a workload with this SQL in a .sql file.
func parseScript(sql string, options ...workload.Option) error {
	file := "name: x\nphases: [{name: p, script: x.sql}]\n"
	_, err := workload.Parse("x.yaml", []byte(file), fstest.MapFS{"x.sql": {Data: []byte(sql)}}, options...)
	return err
}

func TestSQLThatReachesOut(t *testing.T) {
	for sql, want := range reaching {
		err := parseScript(sql)
		var problems workload.Problems
		if !errors.As(err, &problems) || !problems[0].Outside || !strings.Contains(err.Error(), want) || problems[0].Line != 2 || problems[0].Column != 28 {
			t.Errorf("%q: %v: want %s", sql, err, want)
		}
		if err := parseScript(sql, workload.AllowFiles); err != nil {
			t.Errorf("%q with AllowFiles: %v", sql, err)
		}
	}
	for _, sql := range within {
		var problems workload.Problems
		if err := parseScript(sql); errors.As(err, &problems) && problems[0].Outside {
			t.Errorf("%q: %v", sql, err)
		}
	}
}

// TestSQLThatReachesOutAnywhere checks SQL that reaches other files. It must be found in the schema,
// and in scripts, queries, HTTP phases and mixes.
func TestSQLThatReachesOutAnywhere(t *testing.T) {
	for i, phases := range []string{
		"schema: VACUUM INTO 'x'\nphases: [{name: p, script: ANALYZE}]",
		"phases: [{name: p, untimed: true, script: VACUUM INTO 'x'}, {name: q, script: ANALYZE}]",
		"phases: [{name: p, query: VACUUM INTO 'x', columns: int}]",
		"phases: [{name: p, http: VACUUM INTO 'x', columns: {a: int}, count: 1}]",
		"phases: [{name: p, count: 1, mix: [{name: o, sql: VACUUM INTO 'x'}]}]",
		"phases: [{name: p, count: 1, mix: [{name: o, statements: [SELECT 1, VACUUM INTO 'x']}]}]",
		"phases: [{name: p, count: 1, mix: [{name: o, statements: [{sql: VACUUM INTO 'x'}]}]}]",
		"phases: [{name: p, count: 1, mix: [{name: o, sql: 'ATTACH :a AS b', parameters: {a: {text: 3}}}]}]",
	} {
		_, err := workload.Parse("x.yaml", fmt.Append(nil, "name: x\n", phases), nil)
		var problems workload.Problems
		if !errors.As(err, &problems) || !problems[0].Outside {
			t.Errorf("%d: %v", i, err)
		}
	}
}
