package imitate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// generated is a column of a data set, as the workload language writes it.
type generated struct {
	name   string
	kind   string
	value  string
	also   []string // further keys
	nulls  int64    // of 1000 rows
	hidden bool
}

func (g generated) String() string {
	if g.kind == "const" && g.value == "null" && !g.hidden {
		return "null"
	}
	parts := append([]string{g.kind + ": " + g.value}, g.also...)
	if g.nulls > 0 {
		parts = append(parts, fmt.Sprintf("nulls: %s%%", strconv.FormatFloat(float64(g.nulls)/10, 'f', -1, 64)))
	}
	if g.hidden {
		parts = append(parts, "hidden: true")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// dataSet is a data set of the workload.
type dataSet struct {
	name    string
	table   string // "" if it is not inserted
	count   string
	columns []generated
}

// add adds a column. If the name is taken, it gets another one.
func (d *dataSet) add(g generated) string {
	name := g.name
	for i := 2; slices.ContainsFunc(d.columns, func(c generated) bool { return strings.EqualFold(c.name, g.name) }); i++ {
		g.name = fmt.Sprintf("%s_%d", name, i)
	}
	d.columns = append(d.columns, g)
	return g.name
}

// help adds a hidden column for the column c.
func (d *dataSet) help(c *column, suffix string, g generated, avoid []*column) string {
	g.name, g.hidden = identifierOf(c.name)+"_"+suffix, true
	for slices.ContainsFunc(avoid, func(c *column) bool { return strings.EqualFold(c.name, g.name) }) {
		g.name += "_"
	}
	return d.add(g)
}

// identifierOf returns a name of letters, digits and _.
func identifierOf(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c < 0x80 && wordByte(byte(c)) {
			b.WriteRune(c)
		} else {
			b.WriteByte('_')
		}
	}
	if s := b.String(); s != "" && (s[0] < '0' || s[0] > '9') {
		return s
	}
	return "_" + b.String()
}

// yamlText writes a text so that YAML reads the same.
func yamlText(s string) string {
	b, _ := json.Marshal(s) // of a string, it cannot fail
	return string(b)
}

// yamlName writes a name without quotes if they are not needed.
func yamlName(s string) string {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return yamlText(s)
	}
	if identifierOf(s) == s {
		return s
	}
	return yamlText(s)
}

// intervals is how many parts of equal weight a distribution is told in.
const intervals = 16

// column adds the generator of a column to the data set of table t. With more, the rows are
// those that are inserted after the imitation has been loaded.
func (b *builder) column(d *dataSet, t *table, c *column, more bool) {
	st := &c.stats
	present := st.present()
	nulls := share(st.nulls, st.rows)
	g := generated{name: c.name, kind: "const", value: "null"}
	switch {
	case len(present) == 0:
		d.add(g)
		return
	case c.rowid:
		low, step := b.steps(&st.class[ints], t)
		g.kind, g.value, g.also = "serial", fmt.Sprint(low), []string{fmt.Sprintf("step: %d", step)}
		if more {
			g.value = fmt.Sprintf("%d + %d * $%s", low, step, t.set)
		}
		d.add(g)
		return
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

// share returns how many of 1000 a part is.
func share(part, of int64) int64 {
	if of == 0 {
		return 0
	}
	return int64(math.Round(1000 * float64(part) / float64(of)))
}

// mixed makes a column with values of several classes: a hidden column for each of them.
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

// steps returns the first value and the distance of a serial with about the range of the
// values.
func (b *builder) steps(c *classStats, t *table) (low, step int64) {
	bounds := b.anonymousInts([]int64{c.low, c.high})
	if c.low > -100 && c.low < 100 {
		bounds[0] = c.low
	}
	step = 1
	if t.rows > 1 {
		step = max(1, int64((float64(bounds[1])-float64(bounds[0]))/float64(t.rows-1)))
	}
	if c.high-c.low == t.rows-1 {
		step = 1
	}
	return bounds[0], step
}

// class returns the generator of a column's values of one class.
func (b *builder) class(d *dataSet, t *table, c *column, class int, more bool) generated {
	st := &c.stats
	s := &st.class[class]
	several := len(st.present()) > 1
	if class == reals && !s.fraction && c.affinity == "REAL" {
		class = ints // SQLite stores them as integers, too
	}
	switch class {
	case ints:
		return b.integers(d, t, c, s, several, more)
	case reals:
		return b.realNumbers(t, c, s)
	case texts:
		return b.text(d, t, c, s, several, more)
	}
	if n := s.distinct.values(); n < s.n/2 && !c.unique {
		return b.fromFew(t, c, s, generated{kind: "blob", value: lengths(s)})
	}
	return generated{kind: "blob", value: lengths(s)}
}

func (b *builder) integers(d *dataSet, t *table, c *column, s *classStats, several, more bool) generated {
	st := &c.stats
	low, step := b.steps(s, t)
	first := fmt.Sprint(low)
	if more {
		first = fmt.Sprintf("%d + %d * $%s", low, step, t.set)
	}
	switch {
	case c.unique && !several && !st.ascends() && !more:
		return generated{kind: "shuffle", value: fmt.Sprintf("[%d, %d + %d * ($%s - 1)]", low, low, step, t.set), also: []string{fmt.Sprintf("step: %d", step)}}
	case c.unique || st.ascends() && st.distinctive() && !several:
		return generated{kind: "serial", value: first, also: []string{fmt.Sprintf("step: %d", step)}}
	case len(st.few) > 1:
		return b.fewInts(c)
	case st.ascends() && !several && !more:
		bounds := b.anonymousInts([]int64{s.low, s.high})
		return generated{kind: "serial", value: fmt.Sprint(bounds[0]), also: []string{fmt.Sprintf("step: %d", bounds[1]-bounds[0]), "every: $" + t.set}}
	}
	g := generated{kind: "int", value: list(b.anonymousInts(quantiles(s.numbers.sample, intervals)))}
	n := s.distinct.values()
	if n > 1 && n < s.n/2 && float64(n) < 0.5*(float64(s.high)-float64(s.low)) {
		bounds := b.anonymousInts([]int64{s.low, s.high})
		step := max(1, (bounds[1]-bounds[0])/(n-1))
		return b.fromFew(t, c, s, generated{kind: "shuffle", value: fmt.Sprintf("[%d, %d]", bounds[0], bounds[0]+step*(n-1)), also: []string{fmt.Sprintf("step: %d", step)}})
	}
	return g
}

// fewInts returns the shares of the values of a column that has few.
func (b *builder) fewInts(c *column) generated {
	var values []int64
	for v := range c.stats.few {
		if x, ok := v.(int64); ok {
			values = append(values, x)
		}
	}
	slices.Sort(values)
	var parts []string
	used := map[int64]bool{}
	for i, v := range values {
		name := v
		if !b.keep && (v >= 10 || v <= -10) {
			digits := len(strconv.FormatInt(v, 10))
			if v < 0 {
				digits--
			}
			name = int64(math.Pow10(digits-1)) + int64(i)
			if v < 0 {
				name = -int64(math.Pow10(digits-1)) - int64(len(values)-i)
			}
		}
		for used[name] {
			name++
		}
		used[name] = true
		c.call("i"+strconv.FormatInt(v, 10), strconv.FormatInt(name, 10))
		parts = append(parts, fmt.Sprintf("%d: %d", name, c.weight(v)))
	}
	return generated{kind: "int", value: "{" + strings.Join(parts, ", ") + "}"}
}

// weight returns how often a value occurs, of about 1000 rows.
func (c *column) weight(v any) int64 {
	return max(1, share(c.stats.few[v], c.stats.rows-c.stats.nulls))
}

// call notes what a value is called in the workload.
func (c *column) call(value, name string) {
	if c.names == nil {
		c.names = map[string]string{}
	}
	c.names[value] = name
}

// fewTexts returns the shares of the texts of a column that has few.
func (b *builder) fewTexts(c *column) generated {
	var values []string
	for v := range c.stats.few {
		if x, ok := v.(string); ok {
			values = append(values, x)
		}
	}
	slices.SortFunc(values, func(x, y string) int {
		if d := c.stats.few[y] - c.stats.few[x]; d != 0 {
			return int(max(-1, min(1, d)))
		}
		return strings.Compare(x, y)
	})
	var parts []string
	used := map[string]bool{"": true}
	var moments map[string]string
	if c.stats.isMoments() && !b.keep {
		moments = c.stats.moments.anonymousTexts(values)
	}
	for i, v := range values {
		name := v
		if moments != nil {
			name = moments[v]
		} else if !b.keep || !utf8.ValidString(v) {
			for try := uint64(0); used[name] || name == v && v != ""; try++ {
				name = letters(scramble(uint64(i)*1000+try+1), max(len(v), int(try/200)))
			}
		}
		used[name] = true
		c.call("t"+v, name)
		parts = append(parts, fmt.Sprintf("%s: %d", yamlText(name), c.weight(v)))
	}
	return generated{kind: "choice", value: "{" + strings.Join(parts, ", ") + "}"}
}

func (b *builder) realNumbers(t *table, c *column, s *classStats) generated {
	bounds := quantiles(s.real.sample, intervals)
	if !b.keep {
		bounds = anonymousReals(bounds)
	}
	g := generated{kind: "real", value: list(bounds)}
	if n := s.distinct.values(); n < s.n/2 {
		return b.fromFew(t, c, s, g)
	}
	return g
}

func (b *builder) text(d *dataSet, t *table, c *column, s *classStats, several, more bool) generated {
	st := &c.stats
	switch {
	case s.n > 0 && st.json == s.n:
		return b.document(d, t, c, s)
	case c.prose && st.words.distinct.n > 0:
		return b.prose(c)
	case st.isMoments() && (st.few == nil || c.unique):
		return b.moments(d, t, c, several, more)
	case c.unique && !several, st.ascends() && st.distinctive() && !several && st.few == nil:
		return b.uniqueText(d, t, c, s, more)
	case len(st.few) > 0:
		return b.fewTexts(c)
	case st.ascends() && !several && !more:
		return b.ascendingText(d, t, c, s)
	}
	g := generated{kind: "text", value: lengths(s)}
	if s.distinct.values() < s.n/2 {
		return b.fromFew(t, c, s, g)
	}
	return g
}

// uniqueText makes texts of which no two are equal, of about the right length. Numbers begin
// with a letter, so that SQLite does not convert them.
func (b *builder) uniqueText(d *dataSet, t *table, c *column, s *classStats, more bool) generated {
	width := int64(len(strconv.FormatInt(t.rows, 10)))
	ascending := c.stats.ascends() && (!t.noRowid || c.key == 0 || t.packed)
	first := "0"
	if more {
		first = "$" + t.set
	}
	number := generated{kind: "serial", value: first}
	const prefix = 3 // letters in front of the number put it in a random place
	if !ascending && s.low >= width+prefix {
		n := d.help(c, "n", number, t.columns)
		pad := d.help(c, "pad", generated{kind: "text", value: lessLengths(s, width)}, t.columns)
		return generated{kind: "format", value: yamlText(fmt.Sprintf("%%s%%0%dd", width)), also: []string{"of: [" + pad + ", " + n + "]"}}
	}
	if !ascending && !more {
		number = generated{kind: "shuffle", value: fmt.Sprintf("[0, $%s - 1]", t.set)}
	}
	n := d.help(c, "n", number, t.columns)
	pad := d.help(c, "pad", generated{kind: "text", value: lessLengths(s, width+1)}, t.columns)
	return generated{kind: "format", value: yamlText(fmt.Sprintf("k%%0%dd%%s", width)), also: []string{"of: [" + n + ", " + pad + "]"}}
}

// document makes JSON: an object with the keys that the schema's paths name, or an array.
func (b *builder) document(d *dataSet, t *table, c *column, s *classStats) generated {
	keys := b.schema.paths()
	if c.stats.arrays > s.n/2 || len(keys) == 0 {
		keys = []string{"value"}
	}
	format := ""
	for i, key := range keys {
		if i > 0 {
			format += ","
		}
		format += `"` + strings.ReplaceAll(key, "%", "%%") + `":"%s"`
	}
	if format = "{" + format + "}"; c.stats.arrays > s.n/2 {
		format = `["%s"]`
	}
	// The texts share what the rest of the document leaves of its length.
	rest := lessLengthsOf(s, int64(len(format)-2*len(keys)), int64(len(keys)))
	var of []string
	for range keys {
		of = append(of, d.help(c, "text", generated{kind: "text", value: rest}, t.columns))
	}
	return generated{kind: "format", value: yamlText(format), also: []string{"of: [" + strings.Join(of, ", ") + "]"}}
}

// paths returns the keys of JSON that the schema's expressions name.
func (s *schema) paths() []string {
	var keys []string
	for _, o := range s.objects {
		for _, t := range significant(o.sql) {
			key, ok := strings.CutPrefix(t.name(), "$.")
			if ok && t.kind == quotedText && isPlain(key) && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// ascendingText makes texts that ascend from row to row, each for several rows.
func (b *builder) ascendingText(d *dataSet, t *table, c *column, s *classStats) generated {
	values := s.distinct.values()
	width := int64(len(strconv.FormatInt(values, 10)))
	n := d.help(c, "n", generated{kind: "serial", value: "0", also: []string{fmt.Sprintf("step: %d", values), fmt.Sprintf("every: %d", max(1, t.rows))}}, t.columns)
	pad := d.help(c, "pad", generated{kind: "text", value: lessLengths(s, width+1)}, t.columns)
	return generated{kind: "format", value: yamlText(fmt.Sprintf("k%%0%dd%%s", width)), also: []string{"of: [" + n + ", " + pad + "]"}}
}

// prose makes texts of words.
func (b *builder) prose(c *column) generated {
	w := c.stats.words
	set := b.vocabulary(c)
	g := generated{kind: "words", value: lengths(&w.counts), also: []string{"of: " + set + ".word"}}
	if s := skew(w.distinct.values(), w.distinct.repeats()); s > 0 {
		g.also = append(g.also, fmt.Sprintf("skew: %g", s))
	}
	return g
}

// vocabulary returns the data set with the words of a column.
func (b *builder) vocabulary(c *column) string {
	if b.vocabularies[c] == "" {
		w := c.stats.words
		d := b.newSet(c.name+"_words", "", fmt.Sprint(max(1, w.distinct.values())))
		d.add(generated{name: "word", kind: "text", value: lengths(&w.lengths)})
		b.vocabularies[c] = d.name
	}
	return b.vocabularies[c]
}

// fromFew makes a column whose values occur several times: they are picked from a data set.
func (b *builder) fromFew(t *table, c *column, s *classStats, g generated) generated {
	key := fmt.Sprintf("%p", s)
	if b.dictionaries[key] == "" {
		d := b.newSet(t.set+"_"+c.name+"_values", "", fmt.Sprint(s.distinct.choices()))
		g.name = "value"
		d.add(g)
		b.dictionaries[key] = d.name
	}
	g = generated{kind: "pick", value: b.dictionaries[key] + ".value"}
	if s := skew(s.distinct.values(), s.distinct.repeats()); s > 0 {
		g.also = []string{fmt.Sprintf("skew: %g", s)}
	}
	return g
}

// pickable reports whether the values of a foreign key can be picked from the rows of its
// parent.
func (b *builder) pickable(c *column) bool {
	f := c.foreign
	to := f.to[slices.Index(f.columns, c)]
	if f.parent.rows == 0 || len(to.stats.present()) != 1 {
		return false
	}
	// A key that refers to itself over others cannot be made from itself.
	for at, n := to, 0; at.foreign != nil && !at.rowid; n++ {
		if n > 10 || at == c {
			return false
		}
		at = at.foreign.to[slices.Index(at.foreign.columns, at)]
	}
	return true
}

// reference makes a foreign key.
func (b *builder) reference(d *dataSet, t *table, c *column, more bool) generated {
	f := c.foreign
	st := &c.stats
	to := f.to[slices.Index(f.columns, c)]
	g := generated{kind: "pick", value: f.parent.set + "." + yamlName(to.name)}
	if !isPlain(to.name) {
		g.value = yamlText(f.parent.set + "." + to.name)
	}
	at := func(suffix string, n generated) generated {
		if b.numbers[d.name+" "+suffix] == "" {
			b.numbers[d.name+" "+suffix] = d.help(f.columns[0], suffix, n, t.columns)
		}
		g.also = []string{"at: " + b.numbers[d.name+" "+suffix]}
		return g
	}
	values, parents := st.values(), f.parent.rows
	number := fmt.Sprintf("row%d", slices.Index(t.foreign, f))
	var repeats float64
	for i := range st.class {
		if st.class[i].n > 0 {
			repeats = st.class[i].distinct.repeats()
		}
	}
	s := skew(parents, repeats)
	switch {
	case f.parent == t && more:
	case f.parent == t: // of a row that is inserted earlier
		return at(number, generated{kind: "serial", value: "0", also: []string{"step: 1", "every: 2"}})
	case c.unique && st.ascends() && !more:
		return at(number, generated{kind: "serial", value: "0", also: []string{"step: $" + f.parent.set, "every: $" + t.set}})
	case c.unique:
		n := generated{kind: "shuffle", value: fmt.Sprintf("[0, $%s - 1]", f.parent.set)}
		if more {
			n = generated{kind: "serial", value: "$" + t.set}
		}
		return at(number, n)
	case st.ascends() && !more:
		return at(number, generated{kind: "serial", value: "0", also: []string{fmt.Sprintf("step: %d", min(values, parents)), fmt.Sprintf("every: %d", t.rows)}})
	case !more && float64(values) > 0.95*float64(parents) && repeats*float64(t.rows)+0.5 < float64(t.rows)/float64(parents):
		// About as many rows for each parent.
		return at(number, generated{kind: "shuffle", value: fmt.Sprintf("[0, $%s - 1]", t.set)})
	case len(f.columns) > 1 && s > 0:
		return at(number, generated{kind: "zipf", value: fmt.Sprintf("[0, $%s - 1]", f.parent.set), also: []string{fmt.Sprintf("skew: %g", s)}})
	case len(f.columns) > 1:
		return at(number, generated{kind: "int", value: fmt.Sprintf("[0, $%s - 1]", f.parent.set)})
	}
	if s > 0 {
		g.also = []string{fmt.Sprintf("skew: %g", s)}
	}
	return g
}

func isPlain(name string) bool { return identifierOf(name) == name }

// part makes a column of a unique index of several columns. The rows of another data set
// have combinations of which no two are equal: the first columns stay the same for runs of
// rows, as long as in the original, and the last one counts.
func (b *builder) part(d *dataSet, t *table, c *column, more bool) generated {
	x := t.composite
	j, last := slices.Index(t.parts(), c), len(x.columns)-1
	keys := b.keys(t)
	first := x.columns[0]
	if !more {
		n := generated{kind: "serial", value: "0"}
		if ascending := first.stats.ascends() && (!t.noRowid || t.packed); !ascending {
			n = generated{kind: "shuffle", value: fmt.Sprintf("[0, $%s - 1]", t.set)}
		}
		if b.numbers[d.name] == "" {
			b.numbers[d.name] = d.help(first, "row", n, t.columns)
		}
		return generated{kind: "pick", value: fmt.Sprintf("%s.part%d", keys, j), also: []string{"at: " + b.numbers[d.name]}}
	}
	if j < last {
		if b.numbers[d.name] == "" {
			b.numbers[d.name] = d.help(first, "row", generated{kind: "serial", value: "0", also: []string{"step: $" + t.set, "every: $" + b.inserts}}, t.columns)
		}
		return generated{kind: "pick", value: fmt.Sprintf("%s.part%d", keys, j), also: []string{"at: " + b.numbers[d.name]}}
	}
	next := generated{kind: "serial", value: "0"}
	if c.foreign != nil && b.pickable(c) { // what comes after the run that has been inserted
		next = generated{kind: "serial", value: fmt.Sprint(x.run(t.rows)), also: []string{"step: $" + t.set, "every: $" + b.inserts}}
	}
	return generated{kind: "pick", value: b.domain(t, j, true), also: []string{"at: " + d.help(c, "next", next, t.columns)}}
}

// run returns up to how many rows have the same values in all but the last column.
func (x *index) run(rows int64) int64 {
	groups := max(1, x.different(len(x.columns)-2))
	return (rows + groups - 1) / groups
}

// different returns how many combinations the first columns have, up to and including
// number j.
func (x *index) different(j int) int64 {
	n := min(x.groups[j].values(), x.changes[j])
	if first := &x.columns[0].stats; j == 0 && first.up == first.pairs {
		n = x.changes[0] // equal ones follow each other
	}
	if f := x.columns[j].foreign; f != nil && j == 0 {
		n = min(n, f.parent.rows)
	}
	return max(1, n)
}

// extendable reports whether rows can be added to a table that its unique indexes allow.
func (b *builder) extendable(t *table) bool {
	for _, c := range t.columns {
		if c.unique && c.foreign != nil && b.pickable(c) {
			return false // perhaps all parents have a child
		}
	}
	if x := t.composite; x != nil {
		for _, last := range t.parts()[len(x.columns)-1:] {
			if last.foreign == nil || !b.pickable(last) || last.foreign.parent.rows >= 2*x.run(t.rows) {
				continue
			}
			return false
		}
	}
	return true
}

// parts returns the columns of the unique index that rows must satisfy, and the last ones of
// others that begin with the same columns.
func (t *table) parts() []*column {
	if t.composite == nil {
		return nil
	}
	return slices.Concat(t.composite.columns, t.siblings)
}

// keys returns the data set with the combinations of a unique index.
func (b *builder) keys(t *table) string {
	if name := b.dictionaries["keys "+t.name]; name != "" {
		return name
	}
	x := t.composite
	d := b.newSet(t.set+"_keys", "", "$"+t.set)
	b.dictionaries["keys "+t.name] = d.name
	for j := range t.parts() {
		number := generated{name: fmt.Sprintf("row%d", j), hidden: true, kind: "serial", value: "0"}
		if j < len(x.columns)-1 {
			number.also = []string{fmt.Sprintf("step: %d", x.different(j)), fmt.Sprintf("every: %d", max(1, t.rows))}
		}
		d.add(number)
		d.add(generated{name: fmt.Sprintf("part%d", j), kind: "pick", value: b.domain(t, j, false), also: []string{"at: " + number.name}})
	}
	return d.name
}

// domain returns the column whose values a column of a unique index takes in turn.
// With more, they are others.
func (b *builder) domain(t *table, j int, more bool) string {
	x := t.composite
	c := t.parts()[j]
	if c.foreign != nil && b.pickable(c) {
		to := c.foreign.to[slices.Index(c.foreign.columns, c)]
		name := c.foreign.parent.set + "." + to.name
		if !isPlain(to.name) {
			return yamlText(name)
		}
		return name
	}
	key := fmt.Sprintf("domain %s %d %v", t.name, j, more)
	if name := b.dictionaries[key]; name != "" {
		return name + ".value"
	}
	n := max(1, c.stats.values())
	if j >= len(x.columns)-1 {
		n = max(n, x.run(t.rows))
	}
	from := int64(0)
	if more {
		from, n = n, small
	}
	d := b.newSet(t.set+"_"+c.name+"_values", "", fmt.Sprint(n))
	b.dictionaries[key] = d.name
	present := c.stats.present()
	s := &c.stats.class[present[0]]
	apart := func(low, high, unit int64) int64 { return max(unit, (high-low)/max(1, max(from, n)-1)/unit*unit) }
	switch {
	case c.stats.isMoments():
		m := &c.stats.moments
		bounds := b.anonymousMoments(m, []int64{m.low, m.high})
		step := apart(bounds[0], bounds[1], m.unit())
		value := m.written(generated{kind: "serial", value: fmt.Sprint(bounds[0] + step*from), also: []string{fmt.Sprintf("step: %d", step)}}, func(suffix string, g generated) string {
			g.name, g.hidden = suffix, true
			return d.add(g)
		})
		value.name = "value"
		d.add(value)
	case present[0] == texts:
		width := int64(len(strconv.FormatInt(n+from, 10)))
		d.add(generated{name: "n", kind: "serial", value: fmt.Sprint(from), hidden: true})
		d.add(generated{name: "pad", kind: "text", value: lessLengths(s, width+1), hidden: true})
		d.add(generated{name: "value", kind: "format", value: yamlText(fmt.Sprintf("k%%0%dd%%s", width)), also: []string{"of: [n, pad]"}})
	case present[0] == blobs:
		d.add(generated{name: "value", kind: "blob", value: fmt.Sprint(max(8, int64(math.Round(s.sum/float64(s.n)))))})
	default:
		bounds := b.anonymousInts([]int64{s.low, s.high})
		step := apart(bounds[0], bounds[1], 1)
		d.add(generated{name: "value", kind: "serial", value: fmt.Sprint(bounds[0] + step*from), also: []string{fmt.Sprintf("step: %d", step)}})
	}
	return d.name + ".value"
}

// lengths returns the lengths of texts or blobs, with the right mean.
func lengths(s *classStats) string { return lessLengths(s, 0) }

// lessLengths returns lengths with less characters each.
func lessLengths(s *classStats, less int64) string { return lessLengthsOf(s, less, 1) }

// lessLengthsOf returns the lengths of parts of texts with less characters.
func lessLengthsOf(s *classStats, less, parts int64) string {
	if s.low == s.high {
		return fmt.Sprint(max(0, s.low-less) / parts)
	}
	bounds := quantiles(s.numbers.sample, intervals)
	bounds[0] = s.low
	// Within an interval all lengths are equally likely, which is too long for the last one
	// if only few texts are very long.
	m := len(bounds) - 1
	mean := 0.0
	for i := range m {
		mean += float64(bounds[i]+bounds[i+1]) / 2 / float64(m)
	}
	off := s.sum/float64(s.n) - mean
	bounds[m] = max(bounds[m-1], bounds[m]+int64(math.Round(2*float64(m)*off)))
	for i := range bounds {
		bounds[i] = max(0, bounds[i]-less) / parts
	}
	return list(bounds)
}

// list writes bounds. Equal ones are written once if there are no others.
func list[T int64 | float64](bounds []T) string {
	if bounds[0] == bounds[len(bounds)-1] {
		bounds = []T{bounds[0], bounds[0]}
	}
	parts := make([]string, len(bounds))
	for i, x := range bounds {
		parts[i] = decimal(x)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func decimal[T int64 | float64](x T) string {
	if f, ok := any(x).(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(x)
}

// anonymousInts returns integers with about the same range and distribution. Large numbers
// are rounded, or moved if they are too near to each other for that.
func (b *builder) anonymousInts(list []int64) []int64 {
	list = slices.Clone(list)
	low, high := list[0], list[len(list)-1]
	if b.keep {
		return list
	}
	size := math.Max(math.Abs(float64(low)), math.Abs(float64(high)))
	spread := float64(high) - float64(low)
	if size >= 1e5 && spread < size/100 {
		unit := int64(math.Pow10(int(math.Log10(size)) - 1))
		for i := range list {
			list[i] += low/unit*unit - low
		}
		low = low / unit * unit
	}
	if spread >= 500 {
		grid := int64(math.Pow10(int(math.Log10(spread / 50))))
		for i, x := range list {
			list[i] = x - x%grid
		}
		return list
	}
	if size < 1000 {
		return list
	}
	base := int64(math.Pow10(int(math.Log10(size))))
	if high < 0 {
		base = -base - int64(spread)
	}
	for i := range list {
		list[i] += base - low
	}
	return list
}

// anonymousReals returns numbers with about the same range and distribution, rounded.
func anonymousReals(list []float64) []float64 {
	list = slices.Clone(list)
	spread := list[len(list)-1] - list[0]
	if !(spread > 0) || math.IsInf(spread, 0) {
		spread = math.Max(math.Abs(list[0]), 1)
		if math.IsInf(spread, 0) {
			spread = 1e300
		}
	}
	digits := int(math.Floor(math.Log10(spread / 20)))
	for i, x := range list {
		x = math.Max(-1e300, math.Min(1e300, x))
		rounded := math.Round(x/math.Pow10(digits)) * math.Pow10(digits)
		// The product may have more digits than were meant.
		text := strconv.FormatFloat(rounded, 'f', max(0, -digits), 64)
		if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) {
			rounded = f
		}
		list[i] = rounded
	}
	return list
}
