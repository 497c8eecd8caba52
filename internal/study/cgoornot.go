package study

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

var cgoOrNot = &Study{
	Name:      "cgo-or-not",
	Asks:      "what SQLite without cgo costs: ingest and GROUP BY in memory, mattn against modernc",
	Published: "mean and standard deviation of ten rounds, mattn and modernc",
	Rounds:    10,
	had:       []string{"mattn", "modernc"},
	quick: func(*cells) string {
		return "tables of 10,000, 47,983 and 239,914 people instead of 10,000, 479,827 and 4,798,270"
	},
	legs: []leg{{workload: "people.yaml", published: "people-as-published.yaml"}},
	tables: func(c *cells) []report.StudyTable {
		t := c.table(report.StudyTable{
			Title:  "Mean and standard deviation of the rounds",
			Labels: []string{"category", "rows published", "rows here", "driver"},
			Columns: []report.StudyColumn{
				{Title: "published mean", Unit: "s", Published: true, Statistic: "mean"},
				{Title: "published sd", Unit: "s", Published: true, Statistic: "standard deviation"},
			},
			Corrected: either(c, []string{
				"the query is stepped to its end on every driver, and its answer verified",
				"each round has its own process and database, so that no result leaks from one into the next",
				"making the random words is not timed",
				"journal_mode=WAL and mmap_size are left out: they mean nothing for a database in memory",
				"the words are random letters from the seed, as many as the list had",
			}, []string{
				"making the random words is timed as part of inserting",
				"journal_mode=WAL and mmap_size are asked for, and have no effect in memory",
			}),
			Notes: either(c, nil, []string{"not reproduced: a query that is not stepped to its end, and rounds in databases that are empty for that reason, since they measure nothing"}),
		}, column{"mean", seconds, mean}, column{"sd", seconds, deviation}, column{"median", seconds, median})
		for nth, rows := range cgoPeople {
			here := "-"
			if n, ok := c.nth("cgo-or-not", "people", nth); ok {
				here = fmt.Sprint(n)
			}
			for _, phase := range []string{"insert", "group_by"} {
				for _, d := range c.driversOf("cgo-or-not", "mattn", "modernc") {
					p := publishedFigures("cgo-or-not").where("category", phase, "rows", rows, "driver", result.BaseDriver(d))
					t.add(cgoKey(phase, d, nth), []string{phase, rows, here, d}, given(p.number("mean_s")), given(p.number("stddev_s")))
				}
			}
		}
		return []report.StudyTable{t.StudyTable}
	},
	claims: []claim{
		{text: "modernc takes about twice as long to insert", over: func(c *cells) []comparison {
			low, high := about(2)
			return cgoTranslated(c, "insert", low, high)
		}},
		{text: "modernc takes between 10% longer and twice as long to group", over: func(c *cells) []comparison {
			return cgoTranslated(c, "group_by", 1.1, 2)
		}},
		{text: "the difference in grouping shrinks as the table grows", over: func(*cells) []comparison {
			ratio := func(nth int) operand {
				return per(cgoKey("group_by", "modernc", nth), cgoKey("group_by", "mattn", nth))
			}
			return []comparison{{what: "group_by, modernc / mattn: largest / smallest table", m: seconds, x: ratio(2), y: ratio(0), atMost: 1}}
		}},
	},
}

var cgoPeople = []string{"10000", "479827", "4798270"}

func cgoKey(phase, driver string, nth int) key {
	return key{workload: "cgo-or-not", phase: phase, driver: driver, nth: map[string]int{"people": nth}}
}

func cgoTranslated(c *cells, phase string, atLeast, atMost float64) []comparison {
	var list []comparison
	for nth := range cgoPeople {
		rows, _ := c.nth("cgo-or-not", "people", nth)
		list = append(list, comparison{
			what: fmt.Sprintf("%s, %d rows: modernc / mattn", phase, rows), m: seconds,
			x: figureOf(cgoKey(phase, "modernc", nth)), y: figureOf(cgoKey(phase, "mattn", nth)), atLeast: atLeast, atMost: atMost,
		})
	}
	return list
}
