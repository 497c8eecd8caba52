package driver_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func TestLacking(t *testing.T) {
	for message, want := range map[string]string{
		"schema: SQLITE_ERROR: no such module: fts5":                  "fts5",
		"no such function: json_extract":                              "json",
		"no such function: jsonb_set (SELECT 1)":                      "jsonb",
		"no such function: SIN":                                       "math",
		`near "RETURNING": syntax error`:                              "returning",
		"RIGHT and FULL OUTER JOINs are not currently supported":      "full_join",
		"no such table: dbstat":                                       "dbstat",
		"no such module: vec0":                                        "vec0",
		"no such function: Levenshtein":                               "levenshtein",
		"no such table: users":                                        "",
		`near "SELEC": syntax error`:                                  "",
		"SQLITE_CONSTRAINT_UNIQUE: UNIQUE constraint failed: users.x": "",
	} {
		if key, name := driver.Lacking(message); key != want || (name == "") != (want == "") {
			t.Errorf("%s: %q (%s), want %q", message, key, name, want)
		}
	}
}

func TestHas(t *testing.T) {
	for _, f := range driver.Features {
		if has, ok := f.Has(""); !has || !ok {
			t.Errorf("%s: after a probe that succeeded, Has returned %v, %v", f.Name, has, ok)
		}
		if has, ok := f.Has("disk I/O error"); ok && f.Key != "load_extension" {
			t.Errorf("%s: after an error of the disk, Has returned %v and ok = true", f.Name, has)
		}
	}
}
