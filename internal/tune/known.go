package tune

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// note stores how a value of the setting x changes the time, unless that is stored already. The
// parameters "i" and "without" are the indexes of two candidates, which differ only in that
// candidate i has the value. The ratio of their times is stored.
func (s *Search) note(f *field, x, value string, i, without int) {
	if s.alone[x+"="+value] != nil {
		return
	}
	t := &Tried{Name: x, Value: value, With: f.list[without], MoreFailed: f.failed(i), perSuccess: f.perSuccess(i, without)}
	if r := f.to(i, without); r.N > 0 {
		t.Ratio = r
	}
	status, reason := f.a.Bad(i)
	if t.Status = status; reason != nil {
		t.Why = reason.Message
	}
	if m, before := f.a.Memory(i), f.a.Memory(without); before > 0 {
		t.memory = m / before
	}
	s.found.Tried = append(s.found.Tried, t)
	s.alone[t.String()] = t
}

func (s *Search) levels() []int { return slices.Sorted(maps.Keys(s.best)) }

// update sets s.best: for each loss of data that may be risked, the best candidate (choice of settings).
// It reports whether any of these candidates has changed.
func (s *Search) update(f *field) bool {
	for _, c := range f.list {
		if _, known := s.best[s.loss(c)]; !known && s.allowed(c) {
			s.best[s.loss(c)] = nil
		}
	}
	changed := false
	for _, level := range s.levels() {
		best, least := -1, math.Inf(1)
		for i, c := range f.list {
			if v := f.value(i); !f.out[i] && s.loss(c) <= level && v < least {
				best, least = i, v
			}
		}
		if best < 0 {
			if s.best[level] == nil {
				delete(s.best, level)
			}
			continue
		}
		// Among equally fast candidates, choose the one with the fewest changes, then the least
		// memory.
		for i, c := range f.list {
			if !f.out[i] && s.loss(c) <= level && f.value(i) <= least*(1+s.Margin) &&
				cmp.Or(cmp.Compare(len(c), len(f.list[best])), cmp.Compare(f.a.Memory(i), f.a.Memory(best))) < 0 {
				best = i
			}
		}
		if now := f.list[best]; s.best[level] == nil || !maps.Equal(now, s.best[level]) {
			s.best[level], changed = now, true
		}
	}
	return changed
}

func (s *Search) incumbents() []driver.Settings {
	return document.Map(s.levels(), func(level int) driver.Settings { return s.best[level] })
}
