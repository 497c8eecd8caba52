package study

import "github.com/sqlite3perf/sqlite3perf/internal/report"

// Decide gives a comparison its verdict in the same way as [Evaluate].
func Decide(c *report.Comparison, count bool) { decide(c, count) }

// Combine returns the verdict on a claim of several comparisons.
var Combine = combine

// PublishedRows counts the rows of a study's published figures.
func PublishedRows(name string) int { return len(publishedFigures(name)) }

// PublishedNumbers lists the figures of a column as they are in the file.
func PublishedNumbers(name, column string) []float64 {
	var list []float64
	for _, row := range publishedFigures(name) {
		if v := (figures{row}).number(column); v != nil {
			list = append(list, *v)
		}
	}
	return list
}
