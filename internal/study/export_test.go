package study

import "github.com/sqlite3perf/sqlite3perf/internal/report"

// Decide sets the verdict of a comparison as [Evaluate] does.
func Decide(c *report.Comparison, count bool) { decide(c, count) }

// Combine returns the verdict on a claim from the verdicts of its comparisons.
var Combine = combine

// PublishedRows returns the number of rows in a study's published figures.
func PublishedRows(name string) int { return len(publishedFigures(name)) }

// PublishedNumbers returns the numbers of a column in the file of a study's published figures.
func PublishedNumbers(name, column string) []float64 {
	var list []float64
	for _, row := range publishedFigures(name) {
		if v := (figures{row}).number(column); v != nil {
			list = append(list, *v)
		}
	}
	return list
}
