package driver

import (
	"fmt"
	"regexp"
	"strings"
)

// Feature is a part of SQLite that some libraries lack, because it is compiled out or their
// version of SQLite is too old.
type Feature struct {
	Name string // name in SQLite's documentation
	Key  string // short name, for commands and exports

	// Probe is a script that fails if SQLite lacks the feature. It runs on an empty database.
	Probe string

	lacking *regexp.Regexp // matches SQLite's error messages if SQLite lacks the feature
}

// Features lists the features that are probed.
var Features = []Feature{
	module("FTS5", "fts5", "x"),
	module("FTS4", "fts4", "x"),
	module("R*Tree", "rtree", "id, low, high"),
	module("Geopoly", "geopoly", "x"),
	function("JSON", "json", "json('{}')", `json|json_\w+`),
	function("JSONB", "jsonb", "jsonb('{}')", `jsonb\w*`),
	function("math functions", "math", "sin(1), log(10), pow(2, 3)",
		`a?(cos|sin|tan)h?|atan2|ceil|ceiling|floor|trunc|exp|ln|log|log10|log2|mod|pi|pow|power|sqrt|degrees|radians`),
	function("percentile functions", "percentile", "median(1), percentile(1, 50)", `median|percentile\w*`),
	function("soundex", "soundex", "soundex('x')", "soundex"),
	function("REGEXP", "regexp", "'x' REGEXP 'x'", "REGEXP"),
	function("ICU", "icu", "icu_load_collation('en_US', 'english')", `icu_\w+`),
	function("load_extension", "load_extension", "load_extension('/nonexistent')", "load_extension"),
	module("dbstat", "dbstat", ""),
	{Name: "generate_series", Key: "series", Probe: "SELECT * FROM generate_series(1, 2)", lacking: regexp.MustCompile(`no such (table|module): generate_series`)},
	compiled("sessions", "sessions", "ENABLE_SESSION"),
	compiled("sqlite_stat4", "stat4", "ENABLE_STAT4"),
	syntax("UPSERT", "upsert", "CREATE TABLE t (a PRIMARY KEY); INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2", `near "ON": syntax error`),
	syntax("window functions", "window", "SELECT row_number() OVER ()", `near "\(": syntax error|no such function: (row_number|rank|dense_rank|lag|lead|ntile)`),
	syntax("generated columns", "generated", "CREATE TABLE t (a, b AS (a + 1))", `near "AS": syntax error`),
	syntax("UPDATE FROM", "update_from", "CREATE TABLE t (a); UPDATE t SET a = u.a FROM (SELECT 1 AS a) AS u", `near "FROM": syntax error`),
	syntax("RETURNING", "returning", "CREATE TABLE t (a); INSERT INTO t VALUES (1) RETURNING a", `near "RETURNING": syntax error`),
	syntax("STRICT tables", "strict", "CREATE TABLE t (a INTEGER) STRICT", `unknown table option: STRICT|near "STRICT": syntax error`),
	syntax("RIGHT and FULL JOIN", "full_join", "CREATE TABLE t (a); SELECT * FROM t FULL JOIN t AS u ON t.a = u.a", `RIGHT and FULL OUTER JOINs are not currently supported`),
	syntax("DELETE LIMIT", "delete_limit", "CREATE TABLE t (a); DELETE FROM t LIMIT 1", `near "LIMIT": syntax error`),
}

// FeatureKeys returns the keys of [Features], in their order.
func FeatureKeys() []string {
	keys := make([]string, len(Features))
	for i, f := range Features {
		keys[i] = f.Key
	}
	return keys
}

func module(name, key, columns string) Feature {
	probe := fmt.Sprintf("CREATE VIRTUAL TABLE t USING %s(%s)", key, columns)
	if columns == "" {
		probe = "SELECT count(*) FROM " + key
	}
	return Feature{name, key, probe, regexp.MustCompile(`(?i)no such (module|table): ` + key + `\b`)}
}

func function(name, key, call, names string) Feature {
	return Feature{name, key, "SELECT " + call, regexp.MustCompile(`(?i)no such function: (` + names + `)\b`)}
}

// compiled returns a feature of SQLite's C interface. In SQL, only a compile option shows whether
// SQLite has the feature. If the option is not set, the probe fails with an integer overflow. The probe
// contains a random number because old versions of SQLite compute constant expressions even in
// branches that are not taken.
func compiled(name, key, option string) Feature {
	return Feature{
		Name: name, Key: key,
		Probe: fmt.Sprintf("SELECT CASE sqlite_compileoption_used('%s') WHEN 1 THEN 1 ELSE abs(-9223372036854775808 + 0 * random()) END", option),
	}
}

func syntax(name, key, probe, messages string) Feature {
	return Feature{name, key, probe, regexp.MustCompile(messages)}
}

// Has reports whether SQLite has the feature. The parameter "message" is the error message of the
// feature's probe, or "" if the probe succeeded. The result "ok" is false if the error has another
// cause than a missing feature. If load_extension exists but is not allowed, Has returns true.
func (f Feature) Has(message string) (has, ok bool) {
	switch {
	case message == "":
		return true, true
	case f.lacking == nil:
		return false, strings.Contains(message, "integer overflow")
	case f.lacking.MatchString(message):
		return false, true
	}
	return true, f.Key == "load_extension"
}

var noSuch = regexp.MustCompile(`no such (module|function): (\w+)`)

// Lacking returns the key and the name of the feature whose absence caused an error of SQLite.
// For a missing module or function that is not in [Features], it returns the name of the module
// or function in lower case, and a description. For any other error it returns "" and "".
func Lacking(message string) (key, name string) {
	for _, f := range Features {
		if f.lacking != nil && f.lacking.MatchString(message) {
			return f.Key, f.Name
		}
	}
	if m := noSuch.FindStringSubmatch(message); m != nil {
		return strings.ToLower(m[2]), "the " + m[1] + " " + m[2]
	}
	return "", ""
}
