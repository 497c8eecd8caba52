package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

var inserts = &Study{
	Name:      "sqlite3perf",
	Asks:      "batches, prepared statements, connect options, verification, pagination, readers and writers together",
	Published: "one run each of a command-line program, with mattn",
	Extra:     []string{"python-fetchall"},
	Rounds:    6,
	had:       []string{"mattn", "python-fetchall"},
	trial:     130 * time.Millisecond,
	legs:      insertLegs(),
	quick: func(*cells) string {
		return "fewer rows, as each table says, and readers and writers together for 0.15 s instead of 60 s, except that lock errors in WAL are counted in one trial of 12 s; if there is too little time for all drivers, options without prepared statements, and readers and writers together without WAL, are left out for drivers that are not in the study"
	},
	tables: insertTables,
	claims: []claim{
		{text: "larger batches are faster, up to 1000 rows", over: fixed(document.Map([][2]int64{{100, 10}, {500, 100}, {1000, 500}}, func(b [2]int64) comparison {
			return comparison{what: fmt.Sprintf("batch %d / %d", b[0], b[1]), m: rowsPerS,
				x: figureOf(insertBatched(b[0])), y: figureOf(insertBatched(b[1])), atLeast: 1}
		})...)},
		{text: "prepared beats not prepared", over: fixed(comparison{what: "batches of 100: prepared / not", m: rowsPerS,
			x: figureOf(insertPrepared(true)), y: figureOf(insertPrepared(false)), atLeast: 1})},
		{text: "_sync=0&_journal=wal with prepared statements is the fastest of the options", over: func(c *cells) []comparison {
			var list []comparison
			first := insertOptionOf(insertFastest)
			seen := []map[string]string{c.applied(first)} // in the published form, several options had the same effect, which is compared only once
			for _, o := range insertOptions {
				alike := func(s map[string]string) bool { return maps.Equal(s, c.applied(o)) }
				if o.dsn == insertNoWAL || slices.ContainsFunc(seen, alike) {
					continue
				}
				seen = append(seen, c.applied(o))
				list = append(list, comparison{what: c.label(first) + " / " + c.label(o), m: rowsPerS,
					x: figureOf(c.connected(first, true)), y: figureOf(c.connected(o, true)), atLeast: 1})
			}
			return list
		}},
		{text: "WAL is much faster than the rollback journal (at least 1.5 times)", over: func(c *cells) []comparison {
			return []comparison{{what: "prepared: _journal=wal / no options", m: rowsPerS,
				x: figureOf(c.connected(insertOptionOf("a.db?_journal=wal"), true)), y: figureOf(c.connected(insertOptionOf("a.db"), true)), atLeast: 1.5}}
		}},
		{text: "keyset pagination beats OFFSET at depth", over: fixed(comparison{what: "keyset / OFFSET", m: nsPerOp, x: figureOf(insertPaged("keyset")), y: figureOf(insertPaged("offset")), atMost: 1})},
		{text: "Go verifies about twice as fast per row as Python", over: func(*cells) []comparison {
			low, high := about(2)
			return []comparison{{what: "time per row: python-fetchall / mattn", m: usPerRow,
				x: figureOf(insertVerified("python-fetchall", insertWholeBench)), y: figureOf(insertVerified("mattn", insertWholeBench)), atLeast: low, atMost: high}}
		}},
		{text: "Python returns from the query sooner, but reaches the first row later", over: fixed(
			comparison{what: "time after query: python-fetchall / mattn", m: milliseconds,
				x: figureOf(insertVerified("python-fetchall", insertAfterQuery)), y: figureOf(insertVerified("mattn", insertAfterQuery)), atMost: 1},
			comparison{what: "time to first row: python-fetchall / mattn", m: milliseconds,
				x: figureOf(insertVerified("python-fetchall", insertFirstRow)), y: figureOf(insertVerified("mattn", insertFirstRow)), atLeast: 1})},
		{text: "WAL lets readers and writers run side by side without \"database is locked\"", over: func(c *cells) []comparison {
			return []comparison{{what: "operations that a lock failed, in WAL", m: lockErrors, x: figureOf(c.counted(insertBeside("wal"))), count: true}}
		}},
	},
}

type insertOption struct {
	dsn, corrected string
	meant, did     map[string]string
}

// Connection strings that the claims name. insertNoWAL was meant to open a database in memory.
// Such a database has no WAL, so it makes no sense to test "_journal=wal" there.
const (
	insertFastest = "a.db?_journal=wal&sync=0"
	insertNoWAL   = "a.db?_journal=wal&mode=memory&sync=0"
)

// insertOptions are the options in the two published tables. If the path is not a URI, mattn removes everything
// after "?", reads only options that begin with an underscore, and ignores those that it does not know. The
// setting "synchronous" is NORMAL unless an option sets it.
var insertOptions = []insertOption{
	{"a.db?_sync=0&mode=memory&cache=shared", "file:a.db?_sync=0&mode=memory&cache=shared",
		map[string]string{"synchronous": "off", "mode": "memory", "cache": "shared", "journal_mode": "memory"}, map[string]string{"synchronous": "off", "journal_mode": "delete"}},
	{"a.db?_sync=0&mode=memory", "file:a.db?_sync=0&mode=memory",
		map[string]string{"synchronous": "off", "mode": "memory", "journal_mode": "memory"}, map[string]string{"synchronous": "off", "journal_mode": "delete"}},
	{"a.db?_sync=0", "a.db?_sync=0",
		map[string]string{"synchronous": "off", "journal_mode": "delete"}, map[string]string{"synchronous": "off", "journal_mode": "delete"}},
	{"a.db", "a.db",
		map[string]string{"synchronous": "normal", "journal_mode": "delete"}, map[string]string{"synchronous": "normal", "journal_mode": "delete"}},
	{insertNoWAL, "file:a.db?_sync=0&mode=memory (a database in memory has no WAL)",
		map[string]string{"synchronous": "off", "mode": "memory", "journal_mode": "memory"}, map[string]string{"synchronous": "normal", "journal_mode": "wal"}},
	{insertFastest, "a.db?_journal=wal&_sync=0",
		map[string]string{"synchronous": "off", "journal_mode": "wal"}, map[string]string{"synchronous": "normal", "journal_mode": "wal"}},
	{"a.db?_journal=wal", "a.db?_journal=wal",
		map[string]string{"synchronous": "normal", "journal_mode": "wal"}, map[string]string{"synchronous": "normal", "journal_mode": "wal"}},
}

func insertOptionOf(dsn string) insertOption {
	return insertOptions[slices.IndexFunc(insertOptions, func(o insertOption) bool { return o.dsn == dsn })]
}

func insertLegs() []leg {
	const generate, adHoc, published = "generate", "generate-ad-hoc", "-as-published"
	legs := []leg{
		insertLeg(generate, 4_000, 10_000, 10, 100),
		insertManyParameters(insertLeg(generate, 4_000, 10_000, 500, 1000)),
		insertLeg(generate, 10_000, 30_000, 100),
		insertLeg(adHoc, 10_000, 30_000, 100),
		{workload: "paginate.yaml", on: library},
		{workload: "verify.yaml", bench: "bench"},
		{workload: "concurrent.yaml", on: library, settings: map[string]string{"journal_mode": "wal"}},
		{workload: "concurrent.yaml", on: library, settings: map[string]string{"journal_mode": "delete"}, fewer: map[string][]int64{duration: {}}},
		// SQLite waits ten seconds for a lock, so only longer phases have lock errors.
		{workload: "concurrent.yaml", on: had("mattn"), settings: map[string]string{"journal_mode": "wal"}, quick: map[string][]int64{duration: {12_000}}},
	}
	bulk := insertManyParameters(insertLeg(generate, 60_000, 10_000_000, 2000))
	bulk.settings = map[string]string{"synchronous": "off"}
	legs = append(legs, bulk)
	for _, o := range insertOptions {
		for _, w := range []string{generate, adHoc} {
			corrected, published := insertLeg(w, 12_000, 50_000, 100), insertLeg(w, 12_000, 50_000, 100)
			corrected.form, corrected.settings = correctedOnly, o.meant
			published.form, published.settings = publishedOnly, o.did
			if w == adHoc { // no claim depends on the ad hoc workload
				corrected.fewer, published.fewer = map[string][]int64{"rows": {}}, map[string][]int64{"rows": {}}
			}
			legs = append(legs, corrected, published)
		}
	}
	return legs
}

// insertLeg returns a leg that inserts rows. The parameters "quick" and "full" are the numbers of
// rows at the scales of these names.
func insertLeg(workload string, quick, full int64, batches ...int64) leg {
	return leg{workload: workload + ".yaml", published: workload + "-as-published.yaml", on: library,
		parameters: map[string][]int64{"rows": {full}, "batch": batches},
		quick:      map[string][]int64{"rows": {quick}}}
}

// insertManyParameters restricts a leg to drivers whose SQLite accepts more than 999 parameters in
// a statement. Since version 3.32.0, SQLite accepts more unless it was compiled with a lower limit.
func insertManyParameters(l leg) leg {
	l.on = func(r build.Ref) bool { return library(r) && !sameDriver("bvinc", r.Name) }
	return l
}

const insertFewParameters = "bvinc's SQLite, of 2019, takes at most 999 parameters, which are 333 rows"

// The workload sqlite3perf-generate is measured with several numbers of rows. Each published table
// uses one of these numbers. Each constant is for one table. It is the index of the table's number of
// rows in the ascending list of these numbers.
const (
	insertBatchRows = iota
	insertPreparedRows
	insertOptionRows
	insertBulkRows
)

func insertKey(prepared bool, rows int) key {
	k := key{workload: "sqlite3perf-generate", phase: "insert", driver: "mattn"}
	if !prepared {
		k.workload = "sqlite3perf-generate-ad-hoc"
		rows -= insertPreparedRows // the ad hoc workload has no table for batches, so its indexes are smaller
	}
	k.nth = map[string]int{"rows": rows}
	return k
}

func insertBatched(n int64) key { return insertKey(true, insertBatchRows).at("batch", n) }
func insertPrepared(prepared bool) key {
	return insertKey(prepared, insertPreparedRows).at("batch", 100)
}
func insertBulk() key { return insertKey(true, insertBulkRows).at("batch", 2000) }

func (c *cells) connected(o insertOption, prepared bool) key {
	k := insertKey(prepared, insertOptionRows).at("batch", 100)
	k.settings = map[string]string{"mode": "", "cache": ""}
	maps.Copy(k.settings, c.applied(o))
	return k
}

func (c *cells) applied(o insertOption) map[string]string {
	return either(c, o.meant, o.did)
}

func (c *cells) label(o insertOption) string {
	if c.asPublished {
		return strings.TrimPrefix(o.dsn, "a.db?")
	}
	return strings.TrimPrefix(strings.TrimPrefix(o.corrected, "file:"), "a.db?")
}

func insertPaged(phase string) key {
	return key{workload: "sqlite3perf-paginate", phase: phase, driver: "mattn"}
}

// The phases of the command `sqlite3perf bench`. The last phase includes the first two.
var insertAfterQuery, insertFirstRow, insertWholeBench = lab.BenchPhases[0], lab.BenchPhases[1], lab.BenchPhases[2]

func insertVerified(driver, phase string) key {
	return key{workload: "sqlite3perf-verify", phase: phase, driver: driver}
}

func insertBeside(journal string) key {
	return key{workload: "sqlite3perf-concurrent", phase: "mix", driver: "mattn", settings: map[string]string{"journal_mode": journal}}
}

func insertTables(c *cells) []report.StudyTable {
	published := publishedFigures("sqlite3perf")
	values := either(c, []string{
		"synchronous is NORMAL where no option says otherwise, as mattn has it, with every driver", "making random bytes and their hashes is not timed",
	}, []string{"making random bytes and their hashes is timed, on the goroutine that inserts"})
	rate := func(title string, labels []string, rows []insertRow, corrected ...string) report.StudyTable {
		t := c.table(report.StudyTable{Title: title, Labels: append(labels, "driver"), Corrected: append(corrected, values...),
			Columns: []report.StudyColumn{{Title: "published", Unit: "rows/s", Published: true}}, Notes: c.hereRows(rows[0].key)},
			column{"here", rowsPerS, median})
		for _, r := range rows {
			for _, d := range c.driversOf(r.key.workload, "mattn") {
				if r.table == "options" && !sameDriver("mattn", d) && !c.planned(r.key.on(d)) {
					continue
				}
				f := report.StudyFigure{Text: "-"}
				if sameDriver("mattn", d) {
					f = given(published.where("table", r.table, "case", r.published).number("value"))
				}
				t.add(r.key.on(d), append(slices.Clone(r.labels), d), f)
			}
		}
		return t.StudyTable
	}

	var batches, ways, options, retest []insertRow
	for _, n := range []int64{10, 100, 500, 1000} {
		batches = append(batches, insertRow{"batch", fmt.Sprintf("batch=%d", n), []string{fmt.Sprint(n)}, insertBatched(n)})
	}
	for _, w := range []string{"yes", "no"} {
		ways = append(ways, insertRow{"prepared", "prepared=" + w, []string{w}, insertPrepared(w == "yes")})
		for i, o := range insertOptions {
			switch r := (insertRow{"options", o.dsn + " prepared=" + w, []string{either(c, o.corrected, o.dsn), w}, c.connected(o, w == "yes")}); {
			case i < 4:
				options = append(options, r)
			case w == "yes":
				r.table = "retest"
				retest = append(retest, r)
			}
		}
	}
	retest = append(retest, insertRow{"retest", "a.db?_sync=0 prepared=yes", []string{"a.db?_sync=0", "yes"}, c.connected(insertOptionOf("a.db?_sync=0"), true)})
	applied := either(c, []string{"options are applied and proven: mode and cache by way of a file: URI, synchronous by its right name; published were three rows of one and the same disk file"},
		[]string{"mode and cache are removed from a plain path, and sync=0 is not an option: they have no effect"})
	tables := []report.StudyTable{
		rate("Size of batches, 10,000 rows, prepared", []string{"batch"}, batches),
		rate("Prepared or not, 30,000 rows, batches of 100", []string{"prepared"}, ways),
		rate("Connect options, 50,000 rows, batches of 100", []string{"options", "prepared"}, options, applied...),
		rate("Connect options, tested again", []string{"options", "prepared"}, retest, applied...),
		rate("10,000,000 rows, batches of 2000, _sync=0, prepared", []string{"options"}, []insertRow{
			{"bulk", "rows=10000000 batch=2000 a.db?_sync=0 prepared=yes", []string{"a.db?_sync=0"}, insertBulk()}}),
		c.paginationTable(published),
		c.verificationTable(published),
		c.besideTable().StudyTable,
	}
	for _, i := range []int{0, 4} { // indexes of the tables for large batches
		if slices.ContainsFunc(c.drivers, func(d string) bool { return sameDriver("bvinc", d) }) {
			tables[i].Notes = append(tables[i].Notes, insertFewParameters)
		}
	}
	return tables
}

// hereRows returns a note with the number of rows of this run. It returns nil if the run has the
// published sizes, or no cell with the key k.
func (c *cells) hereRows(k key) []string {
	n, ok := c.nth(k.workload, "rows", k.nth["rows"])
	if !ok || c.fullSize() {
		return nil
	}
	return []string{"here: " + document.Thousands(n) + " rows"}
}

// insertRow is a row of a table of insert rates. The field "table" is the name of the table in the
// published study, and "published" is the name of the row's case there.
type insertRow struct {
	table, published string
	labels           []string
	key              key
}

func (c *cells) paginationTable(published figures) report.StudyTable {
	t := report.StudyTable{Title: "Five rows at row 2,850,001 of 10,000,000", Labels: []string{"query", "driver"},
		Columns:   []report.StudyColumn{{Title: "published", Unit: "s", Published: true, Statistic: "elapsed"}, {Title: "here", Unit: "ms", Statistic: "median"}},
		Corrected: either(c, []string{"the query alone is timed, in the driver; the sqlite3 shell's time includes starting it"}, nil),
		Notes:     either(c, nil, []string{"not reproduced: the time that the sqlite3 shell takes to start, which no driver has"}),
	}
	for _, n := range c.hereRows(insertPaged("offset")) {
		t.Notes = append(t.Notes, n+", and the offset in proportion")
	}
	for _, q := range [][2]string{{"offset", "limit 5 offset 2850001 of 10000000"}, {"keyset", "where id > 2850000 limit 5 of 10000000"}} {
		for _, d := range c.driversOf("sqlite3perf-paginate", "sqlite3-shell") {
			r := report.StudyRow{Labels: []string{q[1], d}, Figures: []report.StudyFigure{given(published.where("case", q[1], "driver", d).number("value")), {Text: "-"}}}
			if d != "sqlite3-shell" {
				r.Figures[1] = c.figure(insertPaged(q[0]).on(d), msPerOp, median)
			}
			t.Rows = append(t.Rows, r)
		}
	}
	return t
}

func (c *cells) verificationTable(published figures) report.StudyTable {
	t := report.StudyTable{Title: "Verification of 1,500,000 rows", Labels: []string{"measure", "driver"},
		Columns:   []report.StudyColumn{{Title: "published", Published: true}, {Title: "here", Statistic: "median"}},
		Corrected: either(c, []string{"each round verifies its own file, in its own process"}, nil),
		Notes: append(c.hereRows(insertVerified("mattn", insertWholeBench)), "of drivers without a call that begins a query, time after query is that until they are asked for rows",
			"reading is a separate query, without hashing",
			"python-fetchall has all rows fetched before it looks at the first, as the study's program in Python did")}
	for _, r := range []struct {
		published, label, phase string
		m                       measure
	}{
		{"time_after_query", "time after query, ms", insertAfterQuery, milliseconds},
		{"time_to_first_row", "time to first row, from then on, ms", insertFirstRow, milliseconds},
		{"per_row", "time per row, µs", insertWholeBench, usPerRow},
		{"overall", "overall, s", insertWholeBench, seconds},
		{"", "reading alone, µs per row", "read", usPerRow},
	} {
		for _, d := range c.driversOf("sqlite3perf-verify", "mattn", "python-fetchall") {
			name := result.BaseDriver(d)
			if name == "python-fetchall" {
				name = "python"
			}
			t.Rows = append(t.Rows, report.StudyRow{Labels: []string{r.label, d}, Figures: []report.StudyFigure{
				given(published.where("table", "verify", "driver", name, "measure", r.published).number("value")),
				c.figure(insertVerified(d, r.phase), r.m, median)}})
		}
	}
	return t
}

func (c *cells) besideTable() *table {
	t := c.table(report.StudyTable{Title: "Readers and writers side by side, 8 connections", Labels: []string{"journal", "driver"},
		Corrected: either(c, []string{"rates, latency and errors are measured, where the study had none of them and slept inside its loops; 8 clients in one process, each of which reads and writes, not 200 in each of two"}, nil),
		Notes:     either(c, nil, []string{"not reproduced: sleeping inside the loops, which leaves no rate, and two processes of 100 readers and 100 writers on one connection; 8 clients in one process read and write"})},
		column{"here", opsPerS, median}, column{"p99", p99, justMedian}, column{"locked", lockErrors, total}, column{"waited", lockWait, total})
	for _, j := range []string{"wal", "delete"} {
		for _, d := range c.driversOf("sqlite3perf-concurrent", "mattn") {
			k := insertBeside(j).on(d)
			t.add(k, []string{j, d})
			if long := c.counted(k); long.once {
				t.add(long, []string{j + " for " + c.lasts(long), d})
			}
		}
	}
	t.lockNote()
	return t
}
