package imitate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// documentStats has statistics of those texts of a column that are JSON objects or arrays.
type documentStats struct {
	n, arrays int64
	blank     int64 // bytes of white space in the objects
	objects   objectStats
	buffer    bytes.Buffer
}

// objectStats has statistics of JSON objects. The objects are texts of a column or members of
// other objects.
type objectStats struct {
	n       int64
	members map[string]*member
}

// member has statistics of the values of a member, such as "name", in several objects.
type member struct {
	column  *column // statistics of the values that are texts, numbers, false or true; false and true are counted as 0 and 1
	bools   int64
	arrays  classStats // lengths of arrays, in bytes
	items   []*member  // the first items of arrays
	bytes   int64      // total size in bytes, if the member is an item of arrays
	objects objectStats
}

// Limits on the parts of a JSON document that are imitated.
const (
	maxMembers = 40 // imitated members of an object
	maxItems   = 4  // imitated items of an array; further items become one text
	maxNested  = 4
	rareMember = 0.01 // a member is not imitated if less than this fraction of the objects has it
)

// add counts a text if it is a JSON object or array.
func (s *documentStats) add(text string) {
	if text == "" || text[0] != '{' && text[0] != '[' || !json.Valid([]byte(text)) {
		return
	}
	s.n++
	if text[0] == '[' {
		s.arrays++
		return
	}
	s.buffer.Reset()
	_ = json.Compact(&s.buffer, []byte(text)) // cannot fail, because the text is valid JSON
	s.blank += int64(len(text) - s.buffer.Len())
	d := json.NewDecoder(&s.buffer)
	d.UseNumber()
	var o map[string]any
	if d.Decode(&o) == nil {
		s.objects.add(o, 0)
	}
}

func (s *objectStats) add(o map[string]any, depth int) {
	for name, v := range o {
		m := s.members[name]
		if m == nil {
			if len(s.members) == maxMembers || depth == maxNested {
				continue
			}
			if s.members == nil {
				s.members = map[string]*member{}
			}
			m = &member{column: &column{name: name}}
			m.column.stats.rows, m.column.stats.nulls = s.n, s.n
			s.members[name] = m
		}
		m.add(v, depth)
	}
	s.n++
	for _, m := range s.members {
		if m.column.stats.rows < s.n { // this object lacks the member
			m.column.stats.add(nil)
		}
	}
}

func (m *member) add(v any, depth int) {
	st := &m.column.stats
	switch v := v.(type) {
	case bool:
		m.bools++
		if v {
			st.add(int64(1))
		} else {
			st.add(int64(0))
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			st.add(n)
		} else if f, err := v.Float64(); err == nil {
			st.add(f)
		}
	case string:
		st.add(v)
	case []any:
		text, _ := json.Marshal(v) // cannot fail, because the value was read from JSON
		m.addItems(v, depth)
		m.arrays.number(int64(len(text)))
	case map[string]any:
		m.objects.add(v, depth+1)
	}
	// Objects, arrays and null count as missing values of the member's column.
}

// addItems counts the first items of an array. It must be called before the array itself is counted.
func (m *member) addItems(list []any, depth int) {
	for i := len(m.items); i < min(len(list), maxItems); i++ {
		item := &member{column: &column{}}
		item.column.stats.rows, item.column.stats.nulls = m.arrays.n, m.arrays.n
		m.items = append(m.items, item)
	}
	for i, item := range m.items {
		if i < len(list) {
			text, _ := json.Marshal(list[i]) // cannot fail, because the value was read from JSON
			item.bytes += int64(len(text))
			item.add(list[i], depth)
		}
		if item.column.stats.rows == m.arrays.n { // the item is missing, or is an object, an array or null
			item.column.stats.add(nil)
		}
	}
}

// scalars returns how many of the values are neither objects, arrays nor null.
func (m *member) scalars() int64 { return m.column.stats.rows - m.column.stats.nulls }

// document returns the generator of a column of JSON. It generates arrays if most of the column's
// values are arrays, and otherwise objects with the members that the column's objects have.
func (b *builder) document(d *dataSet, c *column, s *classStats) generated {
	st := c.stats.document
	w := &documentWriter{b: b, d: d, colon: ":", comma: ",", present: 1}
	if st.arrays > st.n/2 {
		text := d.help(c, "text", generated{kind: "text", value: lessLengths(s, int64(len(`[""]`)))})
		return generated{kind: "format", value: yamlText("[%j]"), also: []string{"of: " + text}}
	}
	w.keys, w.items = b.schema.keysOfJSON()
	blank := float64(st.blank) / float64(max(1, st.objects.n))
	if n := float64(2*len(st.objects.members) - 1); n > 0 && blank > 0.75*n {
		w.colon, w.comma = ": ", ", "
		blank -= n
	}
	w.object(c.name, &st.objects)
	if len(w.of) == 0 {
		w.format = `{"value":%j}`
		w.of = []string{d.help(c, "text", generated{kind: "text", value: lessLengths(s, int64(len(w.format)))})}
	}
	format := w.format[:len(w.format)-1] + strings.Repeat(" ", int(min(1000, max(0, math.Round(blank))))) + "}"
	return generated{kind: "format", value: yamlText(format), also: []string{"of: [" + strings.Join(w.of, ", ") + "]"}}
}

// documentWriter writes the format of a document, and the hidden columns of its values.
type documentWriter struct {
	b      *builder
	d      *dataSet
	keys   map[string]bool // names of members that occur in the schema's expressions
	items  int             // number of items that an array needs, because the schema's expressions use them
	format string
	of     []string

	colon, comma string

	// present is the fraction of the database's documents that have the object or array being written. In the
	// imitation, every document has it, but in the remaining fraction of the documents its values are NULL.
	present float64
}

// object appends the format of a JSON object to w.format. The names of the hidden columns begin
// with the parameter "name".
func (w *documentWriter) object(name string, o *objectStats) {
	w.format += "{"
	begin := len(w.format)
	for i, key := range slices.Sorted(maps.Keys(o.members)) {
		m := o.members[key]
		all := m.scalars() + m.arrays.n + m.objects.n
		if !w.keys[key] && float64(all) < rareMember*float64(o.n) {
			continue
		}
		if len(w.format) > begin {
			w.format += w.comma
		}
		shown := key
		if !w.keys[key] && !w.b.keep {
			shown = letters(scramble(uint64(i)+1), max(2, len(key)))
		}
		quoted, _ := json.Marshal(shown) // a string can always be marshaled
		w.format += strings.ReplaceAll(string(quoted), "%", "%%") + w.colon
		w.member(name+"_"+shown, m, all)
	}
	w.format += "}"
}

func (w *documentWriter) member(name string, m *member, all int64) {
	c := m.column
	c.name = name
	add := func(verb, suffix string, g generated) {
		w.format += verb
		w.of = append(w.of, w.d.help(c, suffix, g))
	}
	switch {
	case all == 0:
		w.format += "null"
	case m.objects.n > all/2:
		defer w.within(m, m.objects.n)()
		w.object(name, &m.objects)
	case m.arrays.n > all/2:
		defer w.within(m, m.arrays.n)()
		w.format += "["
		other := int64(len(`[""]`))
		for i, item := range m.items[:min(w.items, len(m.items))] {
			w.member(fmt.Sprintf("%s_%d", name, i), item, item.scalars()+item.arrays.n+item.objects.n)
			w.format += w.comma
			other += item.bytes/m.arrays.n + 1
		}
		add("%j]", "array", generated{kind: "text", value: lessLengths(&m.arrays, other)})
	case m.bools == m.scalars():
		add("%s", "bool", w.bools(m))
	default:
		w.scalar(c, add)
	}
}

// within notes that the values written next are inside the member m. In the database, n of the
// objects that can have this member have an object or array as its value. The returned function
// must be called after the last of the values inside m.
func (w *documentWriter) within(m *member, n int64) func() {
	before := w.present
	w.present *= float64(n) / float64(m.column.stats.rows)
	return func() { w.present = before }
}

// nulls returns how many of 1000 documents lack a member's value. In the database, st.rows objects
// can have the member, and n of them have a value for it.
func (w *documentWriter) nulls(st *columnStats, n int64) int64 {
	return int64(math.Round(1000 * (1 - w.present*float64(n)/float64(st.rows))))
}

// bools returns a generator of the words true, false and null, for a member that is true, false or
// missing.
func (w *documentWriter) bools(m *member) generated {
	st := &m.column.stats
	var parts []string
	for _, v := range []int64{0, 1} {
		if n := st.few[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%q: %d", fmt.Sprint(v == 1), max(1, 1000-w.nulls(st, n))))
		}
	}
	if n := w.nulls(st, st.rows-st.nulls); n > 0 {
		parts = append(parts, fmt.Sprintf(`"null": %d`, n))
	}
	return generated{kind: "choice", value: "{" + strings.Join(parts, ", ") + "}"}
}

// scalar appends the format of a member that is a text or a number to w.format. If its values have
// several types, only the most frequent type is imitated.
func (w *documentWriter) scalar(c *column, add func(verb, suffix string, g generated)) {
	st := &c.stats
	class := slices.MaxFunc(st.present(), func(x, y int) int { return cmp.Compare(st.class[x].n, st.class[y].n) })
	if class == reals && st.class[reals].fraction {
		// A format cannot contain real numbers. So only the part before the point has the column's
		// distribution; the digits after the point are random.
		whole := make([]int64, 0, intervals+1)
		for _, x := range quantiles(st.class[reals].real.sample, intervals) {
			whole = append(whole, int64(max(-1e18, min(1e18, x))))
		}
		add("%d.", "whole", generated{kind: "int", value: list(w.b.anonymousInts(whole))})
		add("%02d", "fraction", generated{kind: "int", value: "[0, 99]"})
		return
	}
	if class == reals {
		class = ints
		st.class[ints], st.class[reals] = st.class[reals], classStats{}
	}
	g := w.b.class(w.d, c, class)
	g.nulls = w.nulls(st, st.class[class].n)
	add("%j", "value", g)
}

// keysOfJSON returns the names of members that occur in the schema's expressions. It also returns how many
// items an array needs, so that paths such as $[2] in these expressions find an item.
func (s *schema) keysOfJSON() (keys map[string]bool, items int) {
	keys = map[string]bool{}
	for _, o := range s.objects {
		list := significant(o.sql)
		calls := callers(list)
		for i, t := range list {
			if t.Kind != sqltext.Text || !isPath(list, i, calls[i]) {
				continue
			}
			path := t.Unquoted()
			if !strings.HasPrefix(path, "$") { // the text is a key on the right side of ->
				keys[path] = true
				continue
			}
			for _, key := range strings.FieldsFunc(path[1:], func(r rune) bool { return r == '.' || r == '[' || r == ']' || r == '"' }) {
				keys[key] = true
			}
			for _, n := range itemNumber.FindAllStringSubmatch(path, -1) {
				if k, err := strconv.Atoi(n[1]); err == nil {
					items = max(items, k+1)
				}
			}
		}
	}
	return keys, items
}

var itemNumber = regexp.MustCompile(`\[(\d+)\]`)
