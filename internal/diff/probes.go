package diff

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Probes returns statements with values that libraries treat differently, even if no workload uses
// them: times, booleans, NULs in texts, texts that are not UTF-8, empty texts, long texts, great
// integers, reals without fraction, infinite reals, NULL, and columns with mixed types. The values
// are bound or written in SQL, and read back. The statements also read SQLite's typeof and quote of the stored value.
func Probes() []protocol.Ask {
	var p probes
	p.values()
	p.times()
	for line := range strings.Lines(language) {
		sql, arg, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if n, err := strconv.ParseInt(arg, 10, 64); err == nil {
			p.ask(sql, n)
		} else if arg != "" {
			p.ask(sql, arg)
		} else {
			p.ask(sql)
		}
	}
	return p
}

// language has statements about mixed types, constraints, views and functions, one in each line.
// An argument follows after a tab.
//
//go:embed language.sql
var language string

type probes []protocol.Ask

func (p *probes) ask(sql string, args ...any) {
	a := protocol.Ask{SQL: sql}
	for _, v := range args {
		a.Arguments = append(a.Arguments, protocol.NewValue(v))
	}
	*p = append(*p, a)
}

// stored adds a statement that reads what SQLite stored in a column.
func (p *probes) stored(table, column string) {
	p.ask("SELECT typeof(" + column + "), quote(" + column + ") FROM " + table + " ORDER BY id")
}

func (p *probes) values() {
	p.ask("CREATE TABLE texts (id INTEGER PRIMARY KEY, value TEXT)")
	for _, s := range []string{"plain", "", "a\x00b", "\x00", "Grüße, 世界", "not UTF-8: \xff\xfe."} {
		p.ask("INSERT INTO texts (value) VALUES (?)", s)
	}
	p.ask("INSERT INTO texts (value) VALUES (replace(printf('%5000s', ''), ' ', 'x'))")
	p.ask("INSERT INTO texts (value) VALUES (?)", nil)
	p.ask("SELECT id, value FROM texts ORDER BY id")
	p.ask("SELECT id, length(value), hex(value) FROM texts WHERE id < 7 ORDER BY id")
	p.ask("SELECT id FROM texts WHERE value = ?", "a\x00b")

	p.ask("CREATE TABLE blobs (id INTEGER PRIMARY KEY, value BLOB)")
	for _, b := range []string{"\x00\x01\xff", ""} {
		p.ask("INSERT INTO blobs (value) VALUES (?)", []byte(b))
	}
	p.ask("INSERT INTO blobs (value) VALUES (zeroblob(0)), (NULL), (zeroblob(1000)), ('a text')")
	p.ask("SELECT id, value FROM blobs ORDER BY id")
	p.stored("blobs", "value")

	p.ask("CREATE TABLE integers (id INTEGER PRIMARY KEY, value INTEGER)")
	for _, n := range []int64{0, -1, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64} {
		p.ask("INSERT INTO integers (value) VALUES (?)", n)
	}
	p.ask("INSERT INTO integers (value) VALUES (?)", 2.5)
	p.ask("INSERT INTO integers (value) VALUES (?)", "a text")
	p.ask("SELECT id, value FROM integers ORDER BY id")
	p.ask("SELECT sum(value) FROM integers WHERE id <= 5")
	p.stored("integers", "value")

	p.ask("CREATE TABLE reals (id INTEGER PRIMARY KEY, value REAL, any)")
	for _, f := range []float64{0, 1, 0.1, -2.5, 1e300, 5e-324, 1 << 60, math.Inf(1), math.Inf(-1)} {
		p.ask("INSERT INTO reals (value, any) VALUES (?1, ?1)", f)
	}
	p.ask("INSERT INTO reals (value, any) VALUES (?, ?)", int64(3), int64(3))
	p.ask("SELECT id, value, any FROM reals ORDER BY id")
	p.ask("SELECT sum(value), avg(value), total(value) FROM reals WHERE id <= 4")
	p.ask("SELECT sum(value) FROM (SELECT 0.1 AS value UNION ALL SELECT 0.2 UNION ALL SELECT 0.3 UNION ALL SELECT 1e16 UNION ALL SELECT -1e16)")
	p.ask("SELECT 0.1 + 0.2, CAST(0.1 + 0.2 AS TEXT), 1.0, 1e0 = 1, 9007199254740993.0")
	p.stored("reals", "value")

	p.ask("CREATE TABLE booleans (id INTEGER PRIMARY KEY, value BOOLEAN)")
	p.ask("INSERT INTO booleans (value) VALUES (?)", true)
	p.ask("INSERT INTO booleans (value) VALUES (?)", false)
	p.ask("INSERT INTO booleans (value) VALUES (TRUE), (2), (NULL), ('true')")
	p.ask("SELECT id, value FROM booleans WHERE id < 6 ORDER BY id")
	p.ask("SELECT value FROM booleans WHERE id = 6")
	p.ask("SELECT value = 1, NOT value FROM booleans ORDER BY id")
	p.stored("booleans", "value")
}

// times adds statements about times in columns of several declared types.
func (p *probes) times() {
	zone := time.FixedZone("", 2*60*60)
	for _, typ := range []string{"DATETIME", "TIMESTAMP", "DATE", "TEXT", "INTEGER"} {
		table := "times_" + strings.ToLower(typ)
		p.ask("CREATE TABLE " + table + " (id INTEGER PRIMARY KEY, value " + typ + ")")
		p.ask("INSERT INTO "+table+" (value) VALUES (?)", time.Date(2024, 2, 29, 12, 34, 56, 789_000_000, time.UTC))
		p.ask("INSERT INTO "+table+" (value) VALUES (?)", time.Date(2024, 2, 29, 12, 34, 56, 0, zone))
		p.stored(table, "value")
		table = "literal_" + table
		p.ask("CREATE TABLE " + table + " (id INTEGER PRIMARY KEY, value " + typ + ")")
		p.ask("INSERT INTO " + table + " (value) VALUES ('2024-02-29 12:34:56'), ('2024-02-29T12:34:56.789Z'), ('2024-02-29 12:34:56+02:00'), ('2024-02-29'), (1709210096), (1709210096789), ('not a time'), (NULL)")
		p.ask("SELECT id, value FROM " + table + " WHERE id < 7 ORDER BY id")
		p.ask("SELECT id, value FROM " + table + " WHERE id >= 7 ORDER BY id")
		p.ask("SELECT max(value) FROM " + table + " WHERE id < 4")
	}
}
