package plan

import (
	"fmt"
	"math"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// chunkBytes is the approximate size, in bytes, of the largest batch that [Gen.RowsFitting]
// allows.
const chunkBytes = 32 << 20

// Gen makes the values of a plan's data sets and parameters. Each value is computed
// only from the seed, its column's name and its row's number, so any row can be made
// without making the previous ones. docs/generated-values.md defines every value to
// the bit. Multiple goroutines may use a Gen simultaneously.
type Gen struct {
	seed uint64
	sets map[string]*genSet
}

type genSet struct {
	def     *DataSet
	parent  *genSet
	columns map[string]*column
	bound   []*column // the columns whose values Fill makes, in the order of [DataSet.Bound]
}

// NewGenerator returns a Gen for a plan. It returns an error if a generator of the plan is invalid.
func NewGenerator(seed uint64, p *Plan) (*Gen, error) {
	g := &Gen{seed: seed, sets: map[string]*genSet{}}
	for i := range p.DataSets {
		d := &p.DataSets[i]
		if g.sets[d.Name] != nil {
			return nil, fmt.Errorf("data set %q is there twice", d.Name)
		}
		if d.Count < 0 || d.Total < 0 {
			return nil, fmt.Errorf("data set %q: negative count", d.Name)
		}
		s := &genSet{def: d, columns: map[string]*column{}}
		if d.Parent != "" {
			if s.parent = g.sets[d.Parent]; s.parent == nil {
				return nil, fmt.Errorf("data set %q: its parent %q does not come before it", d.Name, d.Parent)
			}
		}
		for j := range d.Columns {
			c := &d.Columns[j]
			if s.columns[c.Name] != nil {
				return nil, fmt.Errorf("column %s.%s is there twice", d.Name, c.Name)
			}
			s.columns[c.Name] = newColumn(seed, d.Name+"."+c.Name, c.Type, &c.Generator)
		}
		g.sets[d.Name] = s
	}
	for _, s := range g.sets {
		for _, c := range s.def.Columns {
			if err := s.columns[c.Name].link(g, s, s.columns); err != nil {
				return nil, err
			}
		}
		for _, c := range s.def.Bound() {
			s.bound = append(s.bound, s.columns[c.Name])
		}
	}
	return g, nil
}

// lookup finds the column with the name "set.column", and its set.
func (g *Gen) lookup(name string) (*genSet, *column, error) {
	set, col, _ := strings.Cut(name, ".")
	s := g.sets[set]
	if s == nil {
		return nil, nil, fmt.Errorf("no data set %q, wanted for %q", set, name)
	}
	c := s.columns[col]
	if c == nil {
		return nil, nil, fmt.Errorf("data set %q has no column %q", set, col)
	}
	return s, c, nil
}

// rowsPer returns how many rows of s are nested in one row of the set "ancestor", or false if s is
// not nested in "ancestor". If s is "ancestor" itself, rowsPer returns 1.
func (s *genSet) rowsPer(ancestor *genSet) (int64, bool) {
	n := int64(1)
	for ; s != nil; s = s.parent {
		if s == ancestor {
			return max(n, 1), true
		}
		n *= s.def.Count
	}
	return 0, false
}

// nested finds the column with this name. The column must belong to the data set itself, or to one
// of the sets in which the data set is nested. The second result is how many rows of the data set
// share one value of the column.
func (g *Gen) nested(set, name string) (*column, int64, error) {
	s := g.sets[set]
	if s == nil {
		return nil, 0, fmt.Errorf("no data set %q", set)
	}
	from, c, err := g.lookup(name)
	if err != nil {
		return nil, 0, err
	}
	per, ok := s.rowsPer(from)
	if !ok {
		return nil, 0, fmt.Errorf("column %q: data set %q is not nested in %q", name, set, from.def.Name)
	}
	return c, per, nil
}

// Fill makes the columns that [DataSet.Bound] returns, for the rows lo ≤ i < hi of a data set.
// It reuses the memory of dst, and sets dst.PerExec only if that is 0.
func (g *Gen) Fill(dst *driver.Batch, set string, lo, hi int64) error {
	s := g.sets[set]
	if s == nil {
		return fmt.Errorf("no data set %q", set)
	}
	shape(dst, len(s.bound))
	for j, c := range s.bound {
		if err := c.fill(&dst.Columns[j], numbers{lo, 1, 1}, int(hi-lo)); err != nil {
			return err
		}
	}
	return nil
}

// FillColumns makes columns for the rows lo ≤ i < hi of a data set. The parameter "cols" has names
// such as "users.id". Each column, hidden or not, must belong to the data set itself, or to one of
// the sets in which it is nested.
func (g *Gen) FillColumns(dst *driver.Batch, cols []string, set string, lo, hi int64) error {
	shape(dst, len(cols))
	for j, name := range cols {
		c, per, err := g.nested(set, name)
		if err != nil {
			return err
		}
		if c.gen.Kind == GenCoalesce {
			return fmt.Errorf("column %s: its values are known only to SQLite", c.name)
		}
		if err := c.fill(&dst.Columns[j], numbers{lo, 1, per}, int(hi-lo)); err != nil {
			return err
		}
	}
	return nil
}

// FillParameters makes the parameters of n executions, whose numbers are first, first+stride,
// first+2*stride, …. In a mix with C clients, "first" is c for client number c, and "stride" is C.
//
// A parameter with a Column takes its value from the data set in the parameter "forEach", from the
// row with the execution's number. A parameter with a Generator draws from its own stream. The name
// of the stream is the text in "prefix", a dot, and the parameter's name. For a query, "prefix" is
// the name of the phase. For an operation of a mix it is the names of the phase and the operation
// with a dot between them.
func (g *Gen) FillParameters(dst *driver.Batch, prefix string, params []Parameter, forEach string, first, stride int64, n int) error {
	shape(dst, len(params))
	own := map[string]*column{}
	for _, p := range params {
		if p.Generator != nil {
			own[p.Name] = newColumn(g.seed, prefix+"."+p.Name, p.Type, p.Generator)
		}
	}
	for j, p := range params {
		c, per := own[p.Name], int64(1)
		var err error
		if p.Generator != nil {
			err = c.link(g, nil, own)
		} else if c, per, err = g.nested(forEach, p.Column); err != nil {
			err = fmt.Errorf("parameter %q: %w", p.Name, err)
		}
		if err != nil {
			return err
		}
		if err := c.fill(&dst.Columns[j], numbers{first, stride, per}, n); err != nil {
			return err
		}
	}
	return nil
}

// RowsFitting returns how many rows of a data set should be made at once: as many as fit in about
// 32 MiB of memory, but at least one. If "cols" is empty, the rows have the columns that Fill
// makes. Otherwise they have the columns in "cols", as FillColumns makes them.
func (g *Gen) RowsFitting(set string, cols ...string) int64 {
	s := g.sets[set]
	if s == nil {
		return 1
	}
	bytes := int64(1)
	if len(cols) == 0 {
		for _, c := range s.bound {
			bytes += c.rowBytes()
		}
	}
	for _, name := range cols {
		if _, c, err := g.lookup(name); err == nil {
			bytes += c.rowBytes()
		}
	}
	return max(1, chunkBytes/bytes)
}

// shape gives dst n columns. It keeps the memory of existing columns.
func shape(dst *driver.Batch, n int) {
	if dst.PerExec == 0 {
		dst.PerExec = 1
	}
	dst.Columns = dst.Columns[:cap(dst.Columns)]
	if len(dst.Columns) < n {
		dst.Columns = append(dst.Columns, make([]driver.Column, n-len(dst.Columns))...)
	}
	dst.Columns = dst.Columns[:n]
}

// numbers are the row numbers (first + k*stride) / per, for k = 0, 1, 2, …
type numbers struct{ first, stride, per int64 }

func (r numbers) at(k int) int64 {
	i := r.first + int64(k)*r.stride
	if r.per == 1 {
		return i
	}
	return i / r.per
}

// sized returns s with length n. It keeps the memory of s if there is enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// fill makes n values of the column. The parameter "at" has the numbers of their rows.
func (c *column) fill(dst *driver.Column, at numbers, n int) error {
	dst.Type = c.typ
	dst.Ints, dst.Reals, dst.Spans = dst.Ints[:0], dst.Reals[:0], dst.Spans[:0]
	nulls := dst.Nulls
	dst.Nulls = nil
	if c.mayBeNull() {
		dst.Nulls = sized(nulls, n)
		for k := range n {
			dst.Nulls[k] = c.null(at.at(k))
		}
	}
	switch c.typ {
	case driver.Real:
		dst.Reals = sized(dst.Reals, n)
		for k := range n {
			dst.Reals[k] = c.real(at.at(k))
		}
		return nil
	case driver.Text, driver.Blob:
		return c.fillBytes(dst, at, n)
	}
	dst.Ints = sized(dst.Ints, n)
	gen := c.gen
	switch {
	case c.steps():
		for k := range n {
			dst.Ints[k] = gen.Low + gen.Step*at.at(k)
		}
	case gen.Kind == GenConst:
		for k := range n {
			dst.Ints[k] = gen.Int
		}
	default:
		for k := range n {
			dst.Ints[k] = c.int(at.at(k))
		}
	}
	return nil
}

// fillBytes makes n texts or blobs. Equal values share their bytes if it is known in advance that
// they are equal.
//
// After an earlier call, dst.Data may be an arena (random bytes from which large values are cut).
// Columns share their arenas, so fillBytes must not overwrite an arena. The capacity of an arena is
// its length. So if dst.Data has spare capacity, it is not an arena, and fillBytes reuses it.
func (c *column) fillBytes(dst *driver.Column, at numbers, n int) error {
	own := dst.Data[:0]
	if cap(dst.Data) == len(dst.Data) {
		own = nil
	}
	dst.Spans = sized(dst.Spans, n)
	base := c.base
	switch {
	case base.arena != nil:
		dst.Data = base.arena
		for k := range n {
			i := c.row(at.at(k))
			dst.Spans[k] = driver.Span{Off: uint32(base.draw(i, 0) >> (64 - arenaBits)), Len: uint32(base.length(i))}
		}
		return nil
	case base.fixed != nil:
		dst.Data = append(own, base.fixed...)
		for k := range n {
			dst.Spans[k] = base.span(c.row(at.at(k)))
		}
		return nil
	}
	for k := range n {
		if dst.Null(k) {
			dst.Spans[k] = driver.Span{}
			continue
		}
		if k > 0 && at.per > 1 && at.at(k) == at.at(k-1) {
			dst.Spans[k] = dst.Spans[k-1]
			continue
		}
		off := len(own)
		own = base.append(own, c.row(at.at(k)))
		if int64(len(own)) > math.MaxUint32 {
			return fmt.Errorf("column %s: more than 4 GiB of values in one batch: make fewer rows at once", c.name)
		}
		dst.Spans[k] = driver.Span{Off: uint32(off), Len: uint32(len(own) - off)}
	}
	dst.Data = own
	return nil
}
