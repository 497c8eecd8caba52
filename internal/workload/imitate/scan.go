package imitate

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The storage classes of values that are not NULL.
const (
	ints = iota
	reals
	texts
	blobs
	classes
)

// A column counts as having few values if the number of its distinct values is at most the constant "fewest",
// and none of its texts has more bytes than the constant "longest". In the imitation of such a column, each
// value, or its replacement, is as frequent as in the database.
const (
	fewest  = 30
	longest = 100
)

// The constant "probes" is the number of sampled rows of a table that are kept as parameters of queries.
const probes = 200

// columnStats has statistics of a column's values.
type columnStats struct {
	rows, nulls int64
	class       [classes]classStats
	few         map[any]int64 // how often each integer or text occurs; nil if the column has no values, has values of other classes, or does not have few values (see fewest)
	pairs, up   int64         // number of pairs of neighboring rows, and number of those pairs that do not descend
	same        int64         // number of pairs of neighboring rows with equal values
	last        any
	words       *wordStats
	moments     momentStats
	document    documentStats
}

// classStats has statistics of a column's values of one storage class.
type classStats struct {
	n         int64
	low, high int64   // least and greatest integer, or length of a text or blob
	sum       float64 // sum of the integers, or of the lengths of texts and blobs
	numbers   reservoir[int64]
	real      reservoir[float64]
	fraction  bool // at least one of the reals is not a whole number
	distinct  distinct
}

// wordStats has statistics of the words in a column's texts.
type wordStats struct {
	distinct distinct
	lengths  classStats
	counts   classStats // how many words each text has
	sample   reservoir[string]
}

func (c *classStats) number(x int64) {
	if c.n == 0 {
		c.low, c.high = x, x
	}
	c.n++
	c.low, c.high = min(c.low, x), max(c.high, x)
	c.sum += float64(x)
	c.numbers.add(x, sampleSize)
}

func (s *columnStats) add(v any) uint64 {
	s.rows++
	var class int
	var hash uint64
	switch v := v.(type) {
	case nil:
		s.nulls++
		return 0
	case int64:
		class, hash = ints, scramble(uint64(v)+1)
		s.class[ints].number(v)
	case float64:
		class, hash = reals, scramble(math.Float64bits(v)^math.MaxUint64)
		c := &s.class[reals]
		c.real.add(v, sampleSize)
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			c.fraction = true
			c.n++
		} else {
			c.number(int64(v))
		}
	case string:
		class, hash = texts, hashBytes(v)
		if s.moments.n == s.class[texts].n {
			s.moments.add(v)
		}
		s.class[texts].number(int64(len(v)))
		s.document.add(v)
		if s.words != nil {
			s.words.add(v)
		}
	case []byte:
		class, hash = blobs, ^hashBytes(v)
		s.class[blobs].number(int64(len(v)))
	default:
		class, hash = texts, hashBytes(fmt.Sprint(v))
	}
	s.class[class].distinct.add(hash)
	if s.rows == s.nulls+1 {
		s.few = map[any]int64{}
	} else {
		s.pairs++
		switch c := order(s.last, v); {
		case c == 0:
			s.same++
			s.up++
		case c < 0:
			s.up++
		}
	}
	s.last = v
	if s.few == nil {
		return hash
	}
	if t, ok := v.(string); class != ints && class != texts || ok && len(t) > longest {
		s.few = nil
	} else if s.few[v]++; len(s.few) > fewest {
		s.few = nil
	}
	return hash
}

// order compares two values as SQLite does: numbers come before texts, and texts before blobs.
func order(a, b any) int {
	if classes := cmp.Compare(rank(a), rank(b)); classes != 0 {
		return classes
	}
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	case string:
		return cmp.Compare(x, b.(string))
	case []byte:
		return bytes.Compare(x, b.([]byte))
	}
	return cmp.Compare(float(a), float(b))
}

func rank(v any) int {
	switch v.(type) {
	case string:
		return 1
	case []byte:
		return 2
	}
	return 0
}

func float(number any) float64 {
	if n, ok := number.(int64); ok {
		return float64(n)
	}
	f, _ := number.(float64)
	return f
}

func (w *wordStats) add(text string) {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return r < 0x80 && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	w.counts.number(int64(len(words)))
	for _, word := range words {
		word = strings.ToLower(word)
		w.lengths.number(int64(len(word)))
		w.distinct.add(hashBytes(word))
		w.sample.add(word, probes)
	}
}

// present returns the storage classes of the column's values.
func (s *columnStats) present() []int {
	var list []int
	for i := range s.class {
		if s.class[i].n > 0 {
			list = append(list, i)
		}
	}
	return list
}

// several reports whether the values have several storage classes.
func (s *columnStats) several() bool { return len(s.present()) > 1 }

// values returns the number of distinct values in the column.
func (s *columnStats) values() int64 {
	n := int64(0)
	for i := range s.class {
		n += s.class[i].distinct.values()
	}
	return n
}

// ascends reports whether the values ascend from row to row, with few exceptions.
func (s *columnStats) ascends() bool {
	return s.pairs > 1 && float64(s.up) >= 0.995*float64(s.pairs)
}

// distinctive reports whether almost every row has its own value.
func (s *columnStats) distinctive() bool {
	return float64(s.values()) >= 0.95*float64(s.rows-s.nulls)
}

// scan reads all rows of a table once, in the table's order. It counts the rows, adds their values to the
// statistics of the columns and of t.composite, and takes a sample of the rows. If the table is WITHOUT
// ROWID, it sets t.packed.
func (t *table) scan(ctx context.Context, db *sql.DB, tell func(rows int64)) error {
	if len(t.columns) == 0 {
		return nil
	}
	// The + before a column hides its declared type. Otherwise the library would convert the values to
	// that type.
	var names []string
	for _, c := range t.columns {
		names = append(names, "+"+driver.Quote(c.name))
		if c.prose {
			c.stats.words = &wordStats{}
		}
	}
	from := " FROM main." + driver.Quote(t.name)
	if t.virtual == "" {
		from += " NOT INDEXED"
	}
	values := make([]any, len(t.columns))
	dest := make([]any, len(values))
	for i := range values {
		dest[i] = &values[i]
	}
	hashes := make([]uint64, len(values))
	err := all(ctx, db, "SELECT "+strings.Join(names, ", ")+from, nil, dest, func() error {
		for i, c := range t.columns {
			hashes[i] = c.stats.add(values[i])
		}
		if x := t.composite; x != nil {
			hash := uint64(0)
			for j, c := range x.columns {
				hash = scramble(hash + hashes[slices.Index(t.columns, c)] + 1)
				if t.rows == 0 || hash != x.last[j] {
					x.changes[j]++
				}
				x.last[j] = hash
				x.groups[j].add(hash)
			}
		}
		if t.rows++; t.rows%1000 == 0 {
			tell(t.rows)
		}
		if slot := t.sample.slot(probes); slot != nil {
			*slot = slices.Clone(values) // copying the slice is enough, because Scan has already copied the blobs
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("table %s: %w", t.name, err)
	}
	for _, c := range t.columns {
		c.stats.last = nil
	}
	if t.noRowid {
		t.packed = t.filled(ctx, db)
	}
	return nil
}

// filled reports whether the pages of a table WITHOUT ROWID are as full as after inserting its
// rows in the order of the key. Reading always returns rows in that order, so only the pages
// show in which order they were inserted.
func (t *table) filled(ctx context.Context, db *sql.DB) bool {
	var pages int64
	var used, room sql.NullFloat64
	err := db.QueryRowContext(ctx, `SELECT count(*), sum(pgsize - unused), sum(pgsize) FROM dbstat WHERE name = ? AND pagetype = 'leaf'`, t.name).Scan(&pages, &used, &room)
	return err == nil && pages > 0 && used.Float64 > 0.85*room.Float64
}
