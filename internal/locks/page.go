package locks

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// locksPage is the explanation as a page, with a section for each mix or, if there is one, for
// each driver, and one for where the figures are from.
func locksPage(l *Locks, o document.Options) document.Document {
	d := locks(l, o).Explained()
	origin := slices.IndexFunc(d, func(b document.Block) bool {
		t, ok := b.(document.List)
		return ok && len(t) > 0 && t[0].Label == measuredLabel
	})
	d = slices.Insert(d, origin, document.Block(document.Heading{Level: 2, Text: "Where the figures are from"}))
	if len(l.Mixes) > 1 {
		return d
	}
	for i, b := range d {
		if h, ok := b.(document.Heading); ok {
			h.Level = min(h.Level, 2)
			d[i] = h
		}
	}
	return d
}
