package diff

import (
	"math"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Probes returns statements with the values in which libraries differ, whether or not a
// workload has them: times, booleans, NULs in texts, texts that are not UTF-8, empty ones,
// long ones, great integers, reals without fraction, infinite ones, NULL, and columns in
// which types are mixed. Each is bound and read back; what SQLite stored is asked of
// SQLite itself, by typeof and quote.
func Probes() []protocol.Ask {
	var list []protocol.Ask
	ask := func(sql string, args ...any) {
		a := protocol.Ask{SQL: sql}
		for _, v := range args {
			a.Arguments = append(a.Arguments, protocol.NewValue(v))
		}
		list = append(list, a)
	}
	stored := func(table, column string) {
		ask("SELECT typeof(" + column + "), quote(" + column + ") FROM " + table + " ORDER BY id")
	}

	ask("CREATE TABLE texts (id INTEGER PRIMARY KEY, value TEXT)")
	for _, s := range []string{"plain", "", "a\x00b", "\x00", "Grüße, 世界", "not UTF-8: \xff\xfe.", strings.Repeat("x", 300)} {
		if len(s) > 256 {
			ask("INSERT INTO texts (value) VALUES (replace(printf('%5000s', ''), ' ', 'x'))")
			continue
		}
		ask("INSERT INTO texts (value) VALUES (?)", s)
	}
	ask("INSERT INTO texts (value) VALUES (?)", nil)
	ask("SELECT id, value FROM texts ORDER BY id")
	ask("SELECT id, length(value), hex(value) FROM texts WHERE id < 7 ORDER BY id")
	ask("SELECT id FROM texts WHERE value = ?", "a\x00b")

	ask("CREATE TABLE blobs (id INTEGER PRIMARY KEY, value BLOB)")
	for _, b := range []string{"\x00\x01\xff", ""} {
		ask("INSERT INTO blobs (value) VALUES (?)", []byte(b))
	}
	ask("INSERT INTO blobs (value) VALUES (zeroblob(0)), (NULL), (zeroblob(1000)), ('a text')")
	ask("SELECT id, value FROM blobs ORDER BY id")
	stored("blobs", "value")

	ask("CREATE TABLE integers (id INTEGER PRIMARY KEY, value INTEGER)")
	for _, n := range []int64{0, -1, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64} {
		ask("INSERT INTO integers (value) VALUES (?)", n)
	}
	ask("INSERT INTO integers (value) VALUES (?)", 2.5)
	ask("INSERT INTO integers (value) VALUES (?)", "a text")
	ask("SELECT id, value FROM integers ORDER BY id")
	ask("SELECT sum(value) FROM integers WHERE id <= 5")
	stored("integers", "value")

	ask("CREATE TABLE reals (id INTEGER PRIMARY KEY, value REAL, any)")
	for _, f := range []float64{0, 1, 0.1, -2.5, 1e300, 5e-324, 1 << 60, math.Inf(1), math.Inf(-1)} {
		ask("INSERT INTO reals (value, any) VALUES (?1, ?1)", f)
	}
	ask("INSERT INTO reals (value, any) VALUES (?, ?)", int64(3), int64(3))
	ask("SELECT id, value, any FROM reals ORDER BY id")
	ask("SELECT sum(value), avg(value), total(value) FROM reals WHERE id <= 4")
	ask("SELECT sum(value) FROM (SELECT 0.1 AS value UNION ALL SELECT 0.2 UNION ALL SELECT 0.3 UNION ALL SELECT 1e16 UNION ALL SELECT -1e16)")
	ask("SELECT 0.1 + 0.2, CAST(0.1 + 0.2 AS TEXT), 1.0, 1e0 = 1, 9007199254740993.0")
	stored("reals", "value")

	ask("CREATE TABLE booleans (id INTEGER PRIMARY KEY, value BOOLEAN)")
	ask("INSERT INTO booleans (value) VALUES (?)", true)
	ask("INSERT INTO booleans (value) VALUES (?)", false)
	ask("INSERT INTO booleans (value) VALUES (TRUE), (2), (NULL), ('true')")
	ask("SELECT id, value FROM booleans WHERE id < 6 ORDER BY id")
	ask("SELECT value FROM booleans WHERE id = 6")
	ask("SELECT value = 1, NOT value FROM booleans ORDER BY id")
	stored("booleans", "value")

	zone := time.FixedZone("", 2*60*60)
	for _, typ := range []string{"DATETIME", "TIMESTAMP", "DATE", "TEXT", "INTEGER"} {
		table := "times_" + strings.ToLower(typ)
		ask("CREATE TABLE " + table + " (id INTEGER PRIMARY KEY, value " + typ + ")")
		ask("INSERT INTO "+table+" (value) VALUES (?)", time.Date(2024, 2, 29, 12, 34, 56, 789_000_000, time.UTC))
		ask("INSERT INTO "+table+" (value) VALUES (?)", time.Date(2024, 2, 29, 12, 34, 56, 0, zone))
		stored(table, "value")
		table = "literal_" + table
		ask("CREATE TABLE " + table + " (id INTEGER PRIMARY KEY, value " + typ + ")")
		ask("INSERT INTO " + table + " (value) VALUES ('2024-02-29 12:34:56'), ('2024-02-29T12:34:56.789Z'), ('2024-02-29 12:34:56+02:00'), ('2024-02-29'), (1709210096), (1709210096789), ('not a time'), (NULL)")
		ask("SELECT id, value FROM " + table + " WHERE id < 7 ORDER BY id")
		ask("SELECT id, value FROM " + table + " WHERE id >= 7 ORDER BY id")
		ask("SELECT max(value) FROM " + table + " WHERE id < 4")
	}

	ask("CREATE TABLE mixed (id INTEGER PRIMARY KEY, value)")
	ask("INSERT INTO mixed (value) VALUES (1), (1.5), ('1'), (x'31'), (NULL)")
	ask("SELECT value, value AS renamed, value + 0, mixed.value, count(*) OVER () FROM mixed ORDER BY id")
	ask("SELECT * FROM mixed AS a JOIN mixed AS b ON a.id = b.id ORDER BY a.id")
	ask("SELECT count(*), sum(id), group_concat(value), max(id) + 1, 'text', NULL FROM mixed")
	ask("SELECT value FROM mixed WHERE value = ?", "1")
	ask("SELECT value FROM mixed WHERE value = ?", int64(1))

	ask("CREATE TABLE accounts (name TEXT PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0)) WITHOUT ROWID")
	ask("INSERT INTO accounts VALUES ('a', 10), ('b', 20)")
	ask("INSERT INTO accounts VALUES ('a', 1)")
	ask("INSERT INTO accounts VALUES ('c', -1)")
	ask("INSERT INTO accounts VALUES ('d', NULL)")
	ask("INSERT OR IGNORE INTO accounts VALUES ('a', 1)")
	ask("REPLACE INTO accounts VALUES ('a', 11)")
	ask("UPDATE accounts SET balance = balance + 1")
	ask("UPDATE accounts SET balance = 0 WHERE name = 'nobody'")
	ask("DELETE FROM accounts WHERE name = 'b'")
	ask("INSERT INTO mixed (value) VALUES ('returned') RETURNING id, value, upper(value)")
	ask("CREATE TABLE generated (id INTEGER PRIMARY KEY, net INTEGER, gross REAL AS (net * 1.19) STORED)")
	ask("INSERT INTO generated (net) VALUES (100)")
	ask("SELECT * FROM generated")
	ask("CREATE TABLE typed (id INTEGER PRIMARY KEY, value INTEGER) STRICT")
	ask("INSERT INTO typed (value) VALUES (?)", "a text")
	ask("CREATE TABLE children (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES mixed(id))")
	ask("INSERT INTO children (parent) VALUES (999)")
	ask("CREATE VIEW views AS SELECT id, value AS shown FROM mixed")
	ask("SELECT * FROM views ORDER BY id")
	ask(`SELECT json_extract('{"a": [1, 2.0, "x", null, true]}', '$.a[1]'), json_extract('{"a": true}', '$.a'), json('{"a" : 1}')`)
	ask("SELECT upper('grüße'), 'A' LIKE 'a', 'Ä' LIKE 'ä', x'61' LIKE 'a', 'a' = 'A' COLLATE NOCASE")
	ask(`SELECT "no such column"`)
	ask("SELECT 1/0, 7/2, -7/2, -7%3, 1 << 63, 9223372036854775807 + 1, round(2.5), round(-0.4)")
	ask("SELECT date('2024-02-30'), datetime(1709210096, 'unixepoch'), julianday('2024-02-29'), strftime('%s', '2024-02-29'), unixepoch('2024-02-29')")
	ask("SELECT pow(2, 10), log(100), sqrt(2)")
	ask("SELEC 1")
	ask("SELECT no_such_function(1)")
	ask("SELECT * FROM no_such_table")
	return list
}
