package imitate

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The constant "intervals" is the number of intervals, of equal probability, that describe a
// distribution.
const intervals = 16

// column adds the generator of a column of d.table to the data set d.
func (b *builder) column(d *dataSet, c *column) {
	t, st := d.table, &c.stats
	present := st.present()
	nulls := share(st.nulls, st.rows)
	g := generated{kind: "const", value: "null"}
	switch {
	case len(present) == 0:
	case c.rowid:
		low, step := b.steps(&st.class[ints], t)
		g = d.serial(low, step)
	case slices.Contains(t.parts(), c):
		g = b.part(d, c)
	case c.foreign != nil && b.pickable(c):
		g = b.reference(d, c)
	case len(present) > 1:
		b.mixed(d, c)
		return
	default:
		g = b.class(d, c, present[0])
	}
	g.name, g.nulls = c.name, nulls
	d.add(g)
}

// serial returns the generator of low, low + step, low + 2 * step and so on. If d.more is true, the values
// continue after the value of the last loaded row.
func (d *dataSet) serial(low, step int64) generated {
	first := fmt.Sprint(low)
	if d.more {
		first = fmt.Sprintf("%d + %d * $%s", low, step, d.table.set)
	}
	return generated{kind: "serial", value: first, also: []string{fmt.Sprintf("step: %d", step)}}
}

// share returns 1000 * part / of, rounded. It returns 0 if the parameter "of" is 0.
func share(part, of int64) int64 {
	if of == 0 {
		return 0
	}
	return int64(math.Round(1000 * float64(part) / float64(of)))
}

// mixed adds a column with values of several classes, such as integers and texts. Each class has a
// hidden column.
func (b *builder) mixed(d *dataSet, c *column) {
	st := &c.stats
	left := st.rows
	var of []string
	for _, class := range st.present() {
		g := b.class(d, c, class)
		g.nulls = 1000 - share(st.class[class].n, left)
		left -= st.class[class].n
		of = append(of, d.help(c, [...]string{"int", "real", "text", "blob"}[class], g))
	}
	d.add(generated{name: c.name, kind: "coalesce", value: "[" + strings.Join(of, ", ") + "]"})
}

// class returns a generator for a part of a column's values: the values of the given storage class, such as
// ints.
func (b *builder) class(d *dataSet, c *column, class int) generated {
	s := &c.stats.class[class]
	if class == reals && !s.fraction && c.affinity == "REAL" {
		class = ints // SQLite, too, stores whole numbers in a REAL column as integers
	}
	switch class {
	case ints:
		return b.integers(d, c, s)
	case reals:
		return b.realNumbers(d.table, c, s)
	case texts:
		return b.text(d, c, s)
	}
	if s.distinct.repeated() && !c.unique {
		return b.fromFew(d.table, c, s, generated{kind: "blob", value: lengths(s)})
	}
	return generated{kind: "blob", value: lengths(s)}
}

// fromFew returns the generator of a column whose values occur several times. The generator picks the
// values from a data set with one column, whose generator is g.
func (b *builder) fromFew(t *table, c *column, s *classStats, g generated) generated {
	few := b.once("few", s, func() string {
		d := b.newSet(t.set+"_"+c.name+"_values", fmt.Sprint(s.distinct.choices()))
		g.name = "value"
		d.add(g)
		return d.name
	})
	return generated{kind: "pick", value: few + ".value", also: skewed(s.distinct.values(), s.distinct.repeats())}
}

// weight returns how many of 1000 values of the column, not counting NULLs, are equal to v. It
// returns at least 1.
func (c *column) weight(v any) int64 {
	return max(1, share(c.stats.few[v], c.stats.rows-c.stats.nulls))
}

// fewOf returns the values of the type T of a column that has few distinct values.
func fewOf[T any](c *column) (values []T) {
	for v := range c.stats.few {
		if x, ok := v.(T); ok {
			values = append(values, x)
		}
	}
	return values
}

// call notes that a value of the column is replaced in the workload. The parameter "name" is the replacement.
func (c *column) call(value, name string) {
	if c.names == nil {
		c.names = map[string]string{}
	}
	c.names[value] = name
}

// list returns bounds as a YAML list. If all bounds are equal, the list has the bound twice.
func list[T int64 | float64](bounds []T) string {
	if bounds[0] == bounds[len(bounds)-1] {
		bounds = []T{bounds[0], bounds[0]}
	}
	parts := make([]string, len(bounds))
	for i, x := range bounds {
		parts[i] = fmt.Sprint(x)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
