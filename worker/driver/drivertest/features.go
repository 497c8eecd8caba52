package drivertest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The map "since" maps a feature's key to the version of SQLite that introduced the feature. Later
// versions also have the feature unless it is compiled out.
var since = map[string]string{
	"json": "3.38.0", "jsonb": "3.45.0", "upsert": "3.24.0", "window": "3.25.0", "generated": "3.31.0",
	"update_from": "3.33.0", "returning": "3.35.0", "strict": "3.37.0", "full_join": "3.39.0",
}

var option = map[string]string{
	"fts5": "ENABLE_FTS5", "fts4": "ENABLE_FTS4", "rtree": "ENABLE_RTREE", "geopoly": "ENABLE_GEOPOLY", "json": "ENABLE_JSON1",
	"math": "ENABLE_MATH_FUNCTIONS", "percentile": "ENABLE_PERCENTILE", "soundex": "SOUNDEX", "icu": "ENABLE_ICU",
	"dbstat": "ENABLE_DBSTAT_VTAB", "sessions": "ENABLE_SESSION", "stat4": "ENABLE_STAT4",
} // the option ENABLE_UPDATE_DELETE_LIMIT is left out, because SQLite's amalgamation ignores it

func featureChecks() []Check {
	list := make([]Check, len(driver.Features))
	for i, f := range driver.Features {
		list[i] = Check{Name: "features/" + f.Key, Test: on(nil, "", func(x *db) { feature(x, f) })}
	}
	return list
}

// feature compares the result of a probe with SQLite's version and compile options. If the
// version and options promise the feature, it must be present. If the probe fails, its error
// must say that the feature is missing.
func feature(x *db, f driver.Feature) {
	promised := promised(x, f.Key)
	message := ""
	if err := x.Script(x.ctx, f.Probe); err != nil {
		message = err.Error()
	}
	has, ok := f.Has(message)
	if !ok {
		fatalf("the probe fails with an error that is not about %s: %s", f.Name, message)
	}
	if promised && !has {
		fatalf("version and compile options promise %s, the probe says no: %s", f.Name, message)
	}
}

func promised(x *db, key string) bool {
	text := driver.ColumnType{Type: driver.Text}
	version := x.rows("SELECT sqlite_version()", text)
	options := x.rows("SELECT compile_options FROM pragma_compile_options", text)
	has := func(name string) bool {
		return slices.ContainsFunc(options, func(row []any) bool { return row[0] == name })
	}
	if v := since[key]; v != "" && atLeast(version[0][0].(string), v) && !has("OMIT_"+strings.ToUpper(key)) {
		return true
	}
	return option[key] != "" && has(option[key])
}

// atLeast reports whether a version, such as 3.46.1, is equal to the version in the parameter
// "least" or newer.
func atLeast(version, least string) bool {
	numbers := func(s string) (list []int) {
		for _, p := range strings.Split(s, ".") {
			n, _ := strconv.Atoi(p)
			list = append(list, n)
		}
		return list
	}
	return slices.Compare(numbers(version), numbers(least)) >= 0
}
