package report

import (
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
)

// locksPage is the explanation as a page, with a section for each mix or, if there is one, for
// each driver, and one for where the figures are from.
func locksPage(l *advise.Locks, o Options) document {
	d := locks(l, o).explained()
	origin := slices.IndexFunc(d, func(b block) bool { t, ok := b.(list); return ok && len(t) > 0 && t[0].label == measuredLabel })
	d = slices.Insert(d, origin, block(heading{2, "Where the figures are from"}))
	if len(l.Mixes) > 1 {
		return d
	}
	for i, b := range d {
		if h, ok := b.(heading); ok {
			h.level = min(h.level, 2)
			d[i] = h
		}
	}
	return d
}
