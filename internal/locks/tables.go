package locks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Titles of the columns that show how a remedy changes the rate of operations.
const (
	whatFailed = "what failed"
	theRest    = "the rest"
)

// remedies returns a table of the cells with lock errors. It lists the first two remedies of each cell. If a
// cell has no remedy, the table says that no measured change of settings ends the errors.
func remedies(cells []*LockCell) document.Grid {
	type row struct {
		of     *LockCell
		second bool // the previous row is about the same cell
		LockRemedy
	}
	var rows []row
	for _, c := range cells {
		for i, r := range c.Remedies[:min(len(c.Remedies), 2)] {
			rows = append(rows, row{c, i > 0, r})
		}
		if c.Trouble() && len(c.Remedies) == 0 {
			rows = append(rows, row{of: c})
		}
	}
	first := func(of func(*LockCell) string) func(row) string {
		return func(r row) string {
			if r.second {
				return ""
			}
			return of(r.of)
		}
	}
	columns := []document.ColumnOf[row]{
		document.Words("driver", first(func(c *LockCell) string { return c.Driver })),
		document.Words("with", first(func(c *LockCell) string { return choiceShort(c.Choice) + markToday(c) })),
		{Column: document.Column{Title: "failed", Drop: 3}, Cell: first(troubleShort)},
		document.Words("ends with", func(r row) string {
			if r.Changes == nil {
				return "none that was measured"
			}
			return changesWords(r.Changes)
		}),
		{Column: document.Column{Title: whatFailed, Whole: true}, Cell: func(r row) string { return priceWords(r.Price) }},
		{Column: document.Column{Title: theRest, Whole: true}, Cell: func(r row) string { return priceWords(r.Others) }},
		document.Figures("p99.9 before", 2, func(r row) string {
			if r.of.Rate.N == 0 || len(r.of.Remedies) == 0 {
				return document.Absent
			}
			return document.Nanoseconds(r.of.P999)
		}),
		document.Figures("after", 1, func(r row) string {
			if r.Changes == nil {
				return document.Absent
			}
			return document.Nanoseconds(r.P999)
		}),
	}
	if !slices.ContainsFunc(rows, func(r row) bool { return r.Others != nil }) {
		columns = slices.Delete(columns, 5, 6)
	}
	return document.GridOf(rows, columns...)
}

// priceWords formats a ratio of rates. It returns a dash if s is nil.
func priceWords(s *stats.Summary) string {
	switch {
	case s == nil:
		return document.Absent
	case s.Interval == nil:
		return document.Times(s.Median)
	}
	return document.Times(s.Median) + " " + document.Interval(s.Interval)
}

func troubleShort(c *LockCell) string {
	if c.Endless {
		return "endless wait"
	}
	return document.Join(c.Errors, ", ", func(e protocol.ErrorCount) string {
		return document.Thousands(e.Count) + " × " + strings.TrimPrefix(e.Name, "SQLITE_")
	})
}

func markToday(c *LockCell) string {
	if c.Today {
		return " (as now)"
	}
	return ""
}

func lockGrid(cells []*LockCell) document.Grid {
	type column = document.ColumnOf[*LockCell]
	count := func(title string, drop int, of func(*LockCell) int64) column {
		return document.Figures(title, drop, func(c *LockCell) string { return document.Thousands(of(c)) })
	}
	figure := func(title string, drop int, of func(*LockCell) string) column {
		return document.Figures(title, drop, func(c *LockCell) string {
			if c.Rate.N == 0 {
				return document.Absent
			}
			return of(c)
		})
	}
	wal := func(title string, drop int, of func(*LockCell) string) column {
		return figure(title, drop, func(c *LockCell) string {
			if c.Choice.JournalMode != "wal" {
				return document.Absent
			}
			return of(c)
		})
	}
	columns := []column{
		document.Words("cache", func(c *LockCell) string { return c.Choice.Cache }),
		document.Words("journal", func(c *LockCell) string { return c.Choice.JournalMode }),
		document.Words("txlock", func(c *LockCell) string { return c.Choice.TxLock }),
		document.Figures("timeout", 0, func(c *LockCell) string { return c.Choice.BusyTimeout }),
		document.Words("connections", func(c *LockCell) string { return c.Choice.Pool() + markToday(c) }),
		{Column: document.Column{Title: "ok/s", Whole: true}, Cell: figure("", 0, func(c *LockCell) string { return document.Human(c.Rate.Median) }).Cell,
			Spread: func(c *LockCell) string {
				if c.Rate.N == 0 {
					return ""
				}
				return document.Spread(c.Rate)
			}},
		figure("p99.9", 0, func(c *LockCell) string { return document.Nanoseconds(c.P999) }),
		figure("longest", 1, func(c *LockCell) string { return document.Nanoseconds(c.Longest) }),
		document.Figures("queued", 2, waitShort),
		figure("ok", 3, func(c *LockCell) string { return document.PercentOK(c.Failed, c.Operations) }),
		document.Words("errors", func(c *LockCell) string {
			if c.Rate.N == 0 && !c.Endless {
				return string(c.Status)
			}
			return troubleShort(c)
		}),
		figure("in vain", 5, func(c *LockCell) string { return document.Percent(c.InVain) }),
		figure("fair", 4, func(c *LockCell) string {
			if c.Fairness == 0 {
				return document.Absent
			}
			return fmt.Sprintf("%.2f", c.Fairness)
		}),
		wal("WAL", 6, func(c *LockCell) string { return document.Human(float64(c.WALBytes)) + "B" }),
		wal("restarts", 7, func(c *LockCell) string { return document.Each(2, c.Restarts) }),
	}
	if slices.ContainsFunc(cells, func(c *LockCell) bool { return c.Skipped+c.Different > 0 }) {
		columns = append(columns,
			count("not run", 8, func(c *LockCell) int64 { return c.Skipped }),
			count("not as recorded", 9, func(c *LockCell) int64 { return c.Different }))
	}
	if !slices.ContainsFunc(cells, func(c *LockCell) bool { return c.Choice.Cache != "" }) {
		columns = columns[1:]
	}
	return document.GridOf(cells, columns...)
}

func driverTables(m *LockedMix) (d document.Document) {
	for _, driver := range m.Drivers() {
		cells := slices.DeleteFunc(slices.Clone(m.Cells), func(c *LockCell) bool { return c.Driver != driver })
		d = append(d, document.Heading{Level: 3, Text: m.String() + ", " + driver}, lockGrid(cells))
	}
	return d
}

// lockLegend explains the columns of the tables.
var lockLegend = document.Glossary{
	{Column: "ok/s", Text: "operations per second that did not fail, the median of the rounds; its interval is too narrow if the machine drifts during the run. Operations that fail at once leave more time to others, so rows with errors are not compared with rows without."},
	{Column: "connections", Text: "as now: the workload's own settings."},
	{Column: "p99.9", Text: "latency of all operations, however they ended."},
	{Column: "longest", Text: "the longest latency."},
	{Column: "queued", Text: "time of clients that waited for a connection of the pool, for the mutex or before another attempt, as a share of all their time. " +
		"Waits inside SQLite's calls, such as for another connection's lock, are not included, because no library reports them. The latencies include them."},
	{Column: "in vain", Text: "time of clients in operations that failed."},
	{Column: "fair", Text: "Jain's index of what each client did, 1 if all did the same."},
	{Column: "WAL", Text: "its greatest size."},
	{Column: "restarts", Text: "how often the WAL was begun again after a checkpoint had copied all of it."},
	{Column: "not run", Text: "events of a replay whose transaction a lock had stopped."},
	{Column: "not as recorded", Text: "events that ended with another number of rows, another ID or another error than in the recording; reads by a key find nothing if it has no values."},
	{Column: whatFailed, Text: "how many operations succeed per second with the change, divided by how many do without it, round by round, with the 95% interval: only the kinds of operations that failed without it."},
	{Column: theRest, Text: "the same of all other kinds, which get less time where the first take theirs."},
}
