package report

import (
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// Functions of package document that tests call.
var (
	Probability = document.Probability
	Times       = document.Times
	Interval    = document.Interval
	Human       = document.Human
	Each        = document.Each
	Scaled      = document.Scaled
)

// CaveatItems returns an item for each warning, for a report whose rows can have the mark "*".
func CaveatItems(list []conditions.Caveat) document.List { return caveatItems(list, true) }

var TimeToSettle = compare.TimeToSettle
