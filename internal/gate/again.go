package gate

import (
	"context"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Repeat is a second measurement of cases that have cells (timed phases) with a doubtful first
// result.
type Repeat struct {
	Cases    []*lab.Case
	Compares *result.Compares // the two sides that are measured; nil if the candidate's new figures are compared with stored figures
}

func (r *Repeat) add(c *lab.Case) {
	next := *c
	next.ID = len(r.Cases) + 1
	r.Cases = append(r.Cases, &next)
}

// Repeats plans the second measurement of doubtful cells. If the baseline is stored, its driver is
// measured together with the candidate, because otherwise a change of the machine would look like a
// change of the candidate. Each pair of drivers gets its own run. If the baseline's driver cannot be
// built, only the candidate is measured. If both sides of a cell are the same build, Repeats dismisses
// the cell instead of measuring it again. The parameter "cases" has the cases of the first measurement,
// and "compares" has its two sides. The parameter "looks" says whether the new runs may end as soon as
// their verdicts are clear (see [result.Compares].Looks). The function "driver" builds the worker of a
// stored case's driver, and returns the driver. The parameter "version" is the version of this
// sqlite3perf.
func (g *Gated) Repeats(ctx context.Context, cases []*lab.Case, compares *result.Compares, looks bool, version string,
	driver func(before *result.Case, now *lab.Case) (build.Ref, error)) ([]*Repeat, error) {
	doubtful := g.Doubtful()
	if g.Base == nil {
		both := &Repeat{Compares: compares}
		for _, c := range cases {
			if slices.ContainsFunc(doubtful, func(d *stats.Gated) bool { return c.ID == d.Second.Case.ID || c.ID == d.First.Case.ID }) {
				both.add(c)
			}
		}
		return nonEmpty(both), nil
	}
	apart, byPair := &Repeat{}, map[[2]string]*Repeat{}
	list := []*Repeat{apart}
	for _, c := range cases {
		cells := slices.DeleteFunc(slices.Clone(doubtful), func(d *stats.Gated) bool { return c.ID != d.Second.Case.ID })
		if len(cells) == 0 {
			continue
		}
		before := cells[0].First.Case
		ref, err := driver(before, c)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			g.Apart = err.Error()
			apart.add(c)
		case ref.Same(c.Ref):
			for _, d := range cells {
				why, same := WhySame(g.Base.Run, before, d.Second.Case, ref.Name, version)
				g.Dismiss(d, why, same)
			}
		default:
			pair := [2]string{ref.Name, c.Driver}
			if byPair[pair] == nil {
				byPair[pair] = &Repeat{Compares: &result.Compares{Factor: result.FactorDriver, First: ref.Name, Second: c.Driver, Margin: g.Max, Looks: looks}}
				list = append(list, byPair[pair])
			}
			byPair[pair].add(c.With(ref))
			byPair[pair].add(c)
		}
	}
	return nonEmpty(list...), nil
}

func nonEmpty(list ...*Repeat) []*Repeat {
	return slices.DeleteFunc(list, func(r *Repeat) bool { return len(r.Cases) == 0 })
}
