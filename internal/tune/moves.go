package tune

import (
	"cmp"
	"context"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// change is a candidate that differs from another candidate in one value.
type change struct {
	value string // as name=value
	to    driver.Settings
}

// changes returns the allowed candidates that differ from candidate c in one value that has an effect.
func (s *Search) changes(c driver.Settings) (list []change) {
	for _, x := range s.space {
		for _, v := range x.Values {
			if next := s.normal(c.With(driver.Settings{x.Name: v})); next[x.Name] == v && s.allowed(next) {
				list = append(list, change{x.Name + "=" + v, next})
			}
		}
	}
	return list
}

func (s *Search) singles(ctx context.Context) error {
	_, err := s.further(ctx, "each setting by itself", append([]driver.Settings{{}}, s.untried(nil)...))
	if s.found.Early && len(s.found.Tried) == 0 {
		s.found.Enough = s.enough()
	}
	return err
}

// gains returns values of settings that made the work faster by more than half of s.Margin in their
// first race, at most one value for each setting. The fastest value is first.
func (s *Search) gains() (list []*Tried) {
	for _, t := range s.found.Tried {
		if t.Status != result.OK || t.MoreFailed || !(t.perSuccess < 1-s.Margin/2) || t.Ratio.N == 0 {
			continue
		}
		i := slices.IndexFunc(list, func(o *Tried) bool { return o.Name == t.Name })
		switch {
		case i < 0:
			list = append(list, t)
		case t.perSuccess < list[i].perSuccess:
			list[i] = t
		}
	}
	slices.SortStableFunc(list, func(a, b *Tried) int { return cmp.Compare(a.perSuccess, b.perSuccess) })
	return list
}

// stacks measures candidates that combine values of the list s.gains(): the best two values, the best three,
// and so on. It does so for each level of data loss that the user permits. Some values are possible only
// together with others, so they could not be tried by themselves. stacks adds each of them to the candidate
// that has the most values.
func (s *Search) stacks(ctx context.Context) (more bool, err error) {
	list := append([]driver.Settings{{}}, s.incumbents()...)
	for level := range min(conditions.DatabaseLost, max(s.Most, s.found.Loss)) + 1 {
		c := driver.Settings{}
		if level < s.found.Loss && s.best[level] != nil {
			c = s.best[level]
		}
		for _, t := range s.gains() {
			if next := s.normal(c.With(driver.Settings{t.Name: t.Value})); s.allowed(next) && s.loss(next) <= level && len(next) > len(c) {
				list, c = append(list, next), next
			}
		}
		list = append(list, s.untried(c)...)
	}
	return s.further(ctx, "the faster ones together", list)
}

// untried returns copies of candidate c, each with one value that no candidate has had so far.
func (s *Search) untried(c driver.Settings) (list []driver.Settings) {
	for _, x := range s.changes(c) {
		if !s.tried[x.value] {
			list = append(list, x.to)
		}
	}
	return list
}

// The constant "hopeless" is the ratio of times above which a value is not tried together with others.
const hopeless = 1.1

// mostNeighbors is the greatest number of neighbors (see [Search.neighbors]) in a race. With more
// neighbors, a race would leave no time for later races.
const mostNeighbors = 24

// neighbors measures candidates that differ from the best ones in one setting.
func (s *Search) neighbors(ctx context.Context) (more bool, err error) {
	list := append([]driver.Settings{{}}, s.incumbents()...)
	var exchanged []change // candidates whose new value was not hopeless in the first race with this value
	for _, c := range s.incumbents() {
		list = append(list, s.untried(c)...)
		for _, name := range stats.SettingNames(c) {
			next := driver.Settings{}.With(c)
			delete(next, name)
			if next = s.normal(next); s.allowed(next) {
				list = append(list, next)
			}
		}
		for _, x := range s.changes(c) {
			if t := s.alone[x.value]; t != nil && t.Status == result.OK && !(t.Ratio.Median > hopeless) {
				exchanged = append(exchanged, x)
			}
		}
	}
	ratio := func(x change) float64 { return s.alone[x.value].Ratio.Median }
	slices.SortStableFunc(exchanged, func(a, b change) int { return cmp.Compare(ratio(a), ratio(b)) })
	for _, x := range exchanged {
		if len(list) < mostNeighbors {
			list = append(list, x.to)
		}
	}
	return s.further(ctx, "what differs from the best in one setting", list)
}

// further measures candidates and updates the best ones. It reports whether the search should go
// on.
func (s *Search) further(ctx context.Context, what string, list []driver.Settings) (more bool, err error) {
	f, rest, err := s.race(ctx, what, list)
	if err != nil {
		return false, err
	}
	if s.found.Early = len(rest) > 0; f == nil {
		return len(rest) == 0, nil
	}
	for i, c := range f.list {
		for j, without := range f.list {
			if name := oneMore(without, c); name != "" {
				s.note(f, name, c[name], i, j)
			}
		}
	}
	return s.update(f) || len(rest) > 0, nil
}
