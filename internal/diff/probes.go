package diff

import (
	_ "embed"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Probes returns statements with values that libraries treat differently, even if no workload uses them:
// times, booleans, NULs in texts, texts that are not UTF-8, empty texts, long texts, great integers, reals
// without fraction, infinite reals, NULL, and columns with mixed types. The values are bound or written in
// SQL, and read back. Some statements also select typeof(value) and quote(value), which show how SQLite
// stores the value.
func Probes() []protocol.Ask {
	var p probes
	p.script(scalars)
	p.times()
	p.script(language)
	return p
}

// The file scalars.sql has statements about texts, blobs, integers, reals and booleans. The file language.sql
// has statements about mixed types, constraints, views and functions. Each line has one statement. Its
// arguments follow, each after a tab, in the form that [literal] reads.
var (
	//go:embed scalars.sql
	scalars string
	//go:embed language.sql
	language string
)

type probes []protocol.Ask

func (p *probes) ask(sql string, args ...any) {
	a := protocol.Ask{SQL: sql}
	for _, v := range args {
		a.Arguments = append(a.Arguments, protocol.NewValue(v))
	}
	*p = append(*p, a)
}

func (p *probes) script(lines string) {
	for line := range strings.Lines(lines) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		p.ask(fields[0], document.Map(fields[1:], literal)...)
	}
}

// literal reads an argument: NULL, a bool, an integer, a real, a blob such as x'00ff', or a text in
// quotation marks as in Go.
func literal(s string) any {
	if s == "NULL" {
		return nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	if b, err := strconv.ParseBool(s); err == nil {
		return b
	}
	if text, err := strconv.Unquote(s); err == nil {
		return text
	}
	blob, err := hex.DecodeString(strings.Trim(s, "x'"))
	if err != nil {
		panic(err) // cannot happen: the files are part of the program
	}
	return blob
}

// times adds statements about times in columns of several declared types.
func (p *probes) times() {
	zone := time.FixedZone("", 2*60*60)
	for _, typ := range []string{"DATETIME", "TIMESTAMP", "DATE", "TEXT", "INTEGER"} {
		table := "times_" + strings.ToLower(typ)
		p.ask("CREATE TABLE " + table + " (id INTEGER PRIMARY KEY, value " + typ + ")")
		p.ask("INSERT INTO "+table+" (value) VALUES (?)", time.Date(2024, 2, 29, 12, 34, 56, 789_000_000, time.UTC))
		p.ask("INSERT INTO "+table+" (value) VALUES (?)", time.Date(2024, 2, 29, 12, 34, 56, 0, zone))
		p.ask("SELECT typeof(value), quote(value) FROM " + table + " ORDER BY id")
		table = "literal_" + table
		p.ask("CREATE TABLE " + table + " (id INTEGER PRIMARY KEY, value " + typ + ")")
		p.ask("INSERT INTO " + table + " (value) VALUES ('2024-02-29 12:34:56'), ('2024-02-29T12:34:56.789Z'), ('2024-02-29 12:34:56+02:00'), ('2024-02-29'), (1709210096), (1709210096789), ('not a time'), (NULL)")
		p.ask("SELECT id, value FROM " + table + " WHERE id < 7 ORDER BY id")
		p.ask("SELECT id, value FROM " + table + " WHERE id >= 7 ORDER BY id")
		p.ask("SELECT max(value) FROM " + table + " WHERE id < 4")
	}
}
