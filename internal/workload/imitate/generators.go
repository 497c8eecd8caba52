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

// column adds the generator of a column to the data set d of table t. The parameter "more" is true if the
// rows of d are inserted after the imitation has been loaded.
func (b *builder) column(d *dataSet, t *table, c *column, more bool) {
	st := &c.stats
	present := st.present()
	nulls := share(st.nulls, st.rows)
	g := generated{kind: "const", value: "null"}
	switch {
	case len(present) == 0:
	case c.rowid:
		low, step := b.steps(&st.class[ints], t)
		g = t.serial(low, step, more)
	case slices.Contains(t.parts(), c):
		g = b.part(d, t, c, more)
	case c.foreign != nil && b.pickable(c):
		g = b.reference(d, t, c, more)
	case len(present) > 1:
		b.mixed(d, t, c, more)
		return
	default:
		g = b.class(d, t, c, present[0], more)
	}
	g.name, g.nulls = c.name, nulls
	d.add(g)
}

// serial returns the generator of low, low + step, low + 2 * step and so on. If the parameter "more" is
// true, the values continue after the value of the last loaded row.
func (t *table) serial(low, step int64, more bool) generated {
	first := fmt.Sprint(low)
	if more {
		first = fmt.Sprintf("%d + %d * $%s", low, step, t.set)
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
func (b *builder) mixed(d *dataSet, t *table, c *column, more bool) {
	st := &c.stats
	left := st.rows
	var of []string
	for _, class := range st.present() {
		g := b.class(d, t, c, class, more)
		g.nulls = 1000 - share(st.class[class].n, left)
		left -= st.class[class].n
		of = append(of, d.help(c, [...]string{"int", "real", "text", "blob"}[class], g, t.columns))
	}
	d.add(generated{name: c.name, kind: "coalesce", value: "[" + strings.Join(of, ", ") + "]"})
}

// class returns a generator for a part of a column's values: the values of the given storage class, such as
// ints.
func (b *builder) class(d *dataSet, t *table, c *column, class int, more bool) generated {
	st := &c.stats
	s := &st.class[class]
	several := len(st.present()) > 1
	if class == reals && !s.fraction && c.affinity == "REAL" {
		class = ints // SQLite, too, stores whole numbers in a REAL column as integers
	}
	switch class {
	case ints:
		return b.integers(t, c, s, several, more)
	case reals:
		return b.realNumbers(t, c, s)
	case texts:
		return b.text(d, t, c, s, several, more)
	}
	if s.distinct.repeated() && !c.unique {
		return b.fromFew(t, c, s, generated{kind: "blob", value: lengths(s)})
	}
	return generated{kind: "blob", value: lengths(s)}
}

// fromFew returns the generator of a column whose values occur several times. The generator picks the
// values from a data set with one column, whose generator is g.
func (b *builder) fromFew(t *table, c *column, s *classStats, g generated) generated {
	key := fmt.Sprintf("%p", s)
	if b.dictionaries[key] == "" {
		d := b.newSet(t.set+"_"+c.name+"_values", "", fmt.Sprint(s.distinct.choices()))
		g.name = "value"
		d.add(g)
		b.dictionaries[key] = d.name
	}
	return generated{kind: "pick", value: b.dictionaries[key] + ".value", also: skewed(s.distinct.values(), s.distinct.repeats())}
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
