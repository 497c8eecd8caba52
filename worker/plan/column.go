package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// column makes the values of one generated column or parameter. Each field's comment begins with
// the kinds of generators that use the field, such as [GenRef].
type column struct {
	name string
	typ  driver.Type
	gen  *Generator

	stream
	nulls, lengths stream

	linked  linkState
	sources []*column // kind format, sha256, coalesce: one column for each name in Of; ref, pick, words: one column
	per     int64     // kind ref: how many rows share one row of the source
	total   uint64    // kind pick, words: how many rows the source's data set has
	number  *column   // kind pick: the column with the number of the picked row; nil if the row is drawn at random
	zipf    *zipf     // kind zipf, pick, words: draws numbers with a skew; nil if all numbers are equally likely
	shuffle *shuffle  // kind shuffle: the permutation
	weights weights   // kind choice, int: the weights of the values, if they have any
	pieces  []Piece   // kind format: the parsed format
	json    []int     // kind format: indexes of the sources that are written as JSON, with null for NULL

	// base is the column from which the values come. A column of the kind ref or pick has the
	// values of its source, which may be of the kind ref or pick too; base is the end of this chain.
	// For other kinds, base is the column itself.
	base  *column
	arena []byte        // kind text, blob: random bytes for large values
	fixed []byte        // kind const, repeat, choice, list: the bytes of all values
	spans []driver.Span // kind choice, list: the position of each value in the field "fixed"
	given *given        // kind list: the values, except for texts and blobs
}

type linkState uint8

const (
	unlinked linkState = iota
	linking
	linked
)

func newColumn(seed uint64, name string, typ driver.Type, gen *Generator) *column {
	return &column{
		name: name, typ: typ, gen: gen,
		stream:  newStream(seed, name),
		nulls:   newStream(seed, name+"#null"),
		lengths: newStream(seed, name+"#length"),
	}
}

// The method "link" checks the generator and finds its sources, which are the columns whose values
// it uses. The map "siblings" has the columns of the same set, or the parameters of the same
// statement.
func (c *column) link(g *Gen, set *genSet, siblings map[string]*column) error {
	switch c.linked {
	case linked:
		return nil
	case linking:
		return fmt.Errorf("column %s is made from itself", c.name)
	}
	c.linked, c.base = linking, c
	if err := checkType(c.typ, c.gen); err != nil {
		return c.bad("%v", err)
	}
	if c.gen.NullPermille < 0 || c.gen.NullPermille > 1000 {
		return c.bad("%d of 1000 values NULL", c.gen.NullPermille)
	}
	var err error
	switch c.gen.Kind {
	case GenFormat, GenSHA256, GenCoalesce:
		err = c.linkSiblings(g, set, siblings)
	case GenRef, GenPick, GenWords:
		err = c.linkSource(g, set, siblings)
	default:
		err = c.prepare()
	}
	if err == nil {
		c.linked = linked
	}
	return err
}

func (c *column) bad(format string, args ...any) error {
	return fmt.Errorf("column %s: %s: %s", c.name, c.gen.Kind, fmt.Sprintf(format, args...))
}

// The method "prepare" checks a generator that uses no other column. It also computes the data from
// which the values are made, such as a permutation or the texts of a choice.
func (c *column) prepare() error {
	gen := c.gen
	if err := c.checkBounds(); err != nil {
		return err
	}
	switch gen.Kind {
	case GenSerial:
		if gen.Every < 0 || gen.Every > 1 && gen.Step < 0 {
			return c.bad("step %d every %d rows", gen.Step, gen.Every)
		}
	case GenShuffle:
		if gen.Low > gen.High || gen.Step < 1 {
			return c.bad("from %d to %d with step %d", gen.Low, gen.High, gen.Step)
		}
		c.shuffle = newShuffle((uint64(gen.High)-uint64(gen.Low))/uint64(gen.Step) + 1)
	case GenInt:
		if gen.Low > gen.High {
			return c.bad("from %d to %d", gen.Low, gen.High)
		}
		if gen.Weights != nil && len(gen.Weights) != len(gen.Bounds) {
			return c.bad("%d weights of %d values", len(gen.Weights), len(gen.Bounds))
		}
	case GenZipf:
		if gen.Low > gen.High || !(gen.Skew > 0) {
			return c.bad("from %d to %d with skew %v", gen.Low, gen.High, gen.Skew)
		}
		c.zipf = newZipf(uint64(gen.High)-uint64(gen.Low)+1, gen.Skew)
	case GenReal:
		if !(gen.RealLow <= gen.RealHigh) {
			return c.bad("from %v to %v", gen.RealLow, gen.RealHigh)
		}
	case GenText, GenBlob, GenHex:
		if gen.Low < 0 || gen.Low > gen.High || gen.High > MaxValueBytes {
			return c.bad("%d to %d bytes", gen.Low, gen.High)
		}
		if gen.Kind != GenHex && gen.High > drawnBytes {
			c.arena = arena(gen.Kind == GenText, gen.High)
		}
	case GenConst:
		if c.typ == driver.Text {
			c.fixed = append([]byte{}, gen.Text...)
		}
	case GenRepeat:
		if gen.Times < 0 || int64(len(gen.Text)) > 0 && gen.Times > MaxValueBytes/int64(len(gen.Text)) {
			return c.bad("%d times", gen.Times)
		}
		c.fixed = []byte(strings.Repeat(gen.Text, int(gen.Times)))
	case GenList:
		return c.readList()
	case GenChoice:
		if len(gen.Choice) == 0 {
			return c.bad("from an empty list")
		}
		if gen.Weights != nil && len(gen.Weights) != len(gen.Choice) {
			return c.bad("%d weights of %d texts", len(gen.Weights), len(gen.Choice))
		}
		c.fixed = []byte{}
		for _, t := range gen.Choice {
			c.spans = append(c.spans, driver.Span{Off: uint32(len(c.fixed)), Len: uint32(len(t))})
			c.fixed = append(c.fixed, t...)
		}
	}
	return nil
}

// checkBounds checks the fields Bounds, RealBounds and Weights of the column's generator.
func (c *column) checkBounds() error {
	gen := c.gen
	if n := max(len(gen.Bounds), len(gen.RealBounds)); n == 1 && gen.Weights == nil || n > MaxValues {
		return c.bad("%d bounds", n)
	}
	if gen.Weights == nil && !slices.IsSorted(gen.Bounds) || !slices.IsSorted(gen.RealBounds) {
		return c.bad("the bounds are not in order")
	}
	if n := len(gen.Bounds); gen.Weights == nil && n > 0 && (gen.Low != gen.Bounds[0] || gen.High != gen.Bounds[n-1]) {
		return c.bad("from %d to %d, with bounds from %d to %d", gen.Low, gen.High, gen.Bounds[0], gen.Bounds[n-1])
	}
	var err error
	if c.weights, err = newWeights(gen.Weights); err != nil {
		return c.bad("%v", err)
	}
	return nil
}

// linkSiblings finds and checks the sources of a column of the kind "format", "sha256" or
// "coalesce". The sources are the other columns of the same row from which the column's values are
// made.
func (c *column) linkSiblings(g *Gen, set *genSet, siblings map[string]*column) error {
	gen := c.gen
	for _, name := range gen.Of {
		s := siblings[name]
		if s == nil {
			return c.bad("no column %q in the same row", name)
		}
		if err := s.link(g, set, siblings); err != nil {
			return err
		}
		if s.gen.Kind == GenCoalesce {
			return c.bad("%s is known only to SQLite", name)
		}
		c.sources = append(c.sources, s)
	}
	if gen.Kind == GenCoalesce {
		if len(c.sources) < 2 || set == nil {
			return c.bad("it must be of two columns of a data set, or more")
		}
		return nil
	}
	if gen.Kind == GenSHA256 {
		if len(c.sources) != 1 || c.sources[0].typ != driver.Text && c.sources[0].typ != driver.Blob {
			return c.bad("it must be of one text or blob column")
		}
		if gen.Hex && c.sources[0].gen.Kind != GenHex {
			return c.bad("%s is not made by hex", gen.Of[0])
		}
		return nil
	}
	var err error
	if c.pieces, err = ParseFormat(gen.Format); err != nil {
		return c.bad("%v", err)
	}
	types := make([]driver.Type, len(c.sources))
	for j, s := range c.sources {
		types[j] = s.typ
	}
	if err := CheckFormat(c.pieces, gen.Of, types); err != nil {
		return c.bad("%v", err)
	}
	c.json = InJSON(c.pieces)
	return nil
}

// linkSource finds and checks the source of a column of the kind "ref", "pick" or "words". The
// source is a column of a data set. The values are taken from rows of that data set.
func (c *column) linkSource(g *Gen, set *genSet, siblings map[string]*column) error {
	gen := c.gen
	if len(gen.Of) != 1 {
		return c.bad("it must be of one set.column")
	}
	from, src, err := g.lookup(gen.Of[0])
	if err != nil {
		return c.bad("%v", err)
	}
	if err := src.link(g, from, from.columns); err != nil {
		return err
	}
	if src.gen.Kind == GenCoalesce {
		return c.bad("%s is known only to SQLite", gen.Of[0])
	}
	if src.typ != c.typ {
		return c.bad("%s is %s, not %s", gen.Of[0], src.typ, c.typ)
	}
	c.sources = []*column{src}
	if gen.Kind == GenWords {
		if err := c.checkBounds(); err != nil {
			return err
		}
		if src.mayBeNull() {
			return c.bad("%s may be NULL", gen.Of[0])
		}
		if gen.Low < 0 || gen.Low > gen.High || gen.High > MaxWords || gen.High*(src.longest()+1) > MaxValueBytes {
			return c.bad("%d to %d words of up to %d bytes", gen.Low, gen.High, src.longest())
		}
	} else {
		c.base = src.base
	}
	if gen.Kind == GenRef {
		var ok bool
		if set != nil {
			c.per, ok = set.rowsPer(from)
		}
		if !ok || from == set {
			return c.bad("it is not nested in %q", from.def.Name)
		}
		return nil
	}
	if from.def.Total == 0 {
		return c.bad("%q has no rows", from.def.Name)
	}
	c.total = uint64(from.def.Total)
	if gen.At != "" {
		if c.number = siblings[gen.At]; c.number == nil {
			return c.bad("no column %q in the same row", gen.At)
		}
		if err := c.number.link(g, set, siblings); err != nil {
			return err
		}
		if t := c.number.typ; t != driver.Int || c.number.gen.Kind == GenCoalesce || gen.Skew != 0 {
			return c.bad("at %s, which is %s, with skew %v", gen.At, t, gen.Skew)
		}
	}
	if gen.Skew != 0 {
		if !(gen.Skew > 0) {
			return c.bad("skew %v", gen.Skew)
		}
		c.zipf = newZipf(c.total, gen.Skew)
	}
	return nil
}

// Limits of generators.
const (
	MaxValueBytes = 1_000_000_000 // greatest number of bytes of a text or blob; SQLite's default limit
	MaxValues     = 10_000        // greatest number of bounds of a generator, or of values with weights
	MaxWords      = 1 << 16       // greatest number of words in one value
)

var (
	integers = []driver.Type{driver.Int, driver.Bool, driver.Time}
	anyType  = []driver.Type{driver.Int, driver.Bool, driver.Time, driver.Real, driver.Text, driver.Blob}
	texts    = []driver.Type{driver.Text}
)

// The map "makes" lists the types of values that each kind of generator can make.
var makes = map[string][]driver.Type{
	GenSerial: integers, GenInt: integers, GenZipf: integers, GenShuffle: integers,
	GenTime: {driver.Time}, GenReal: {driver.Real}, GenBlob: {driver.Blob},
	GenFormat: texts, GenText: texts, GenRepeat: texts, GenChoice: texts, GenHex: texts, GenSHA256: texts, GenWords: texts,
	GenConst: {driver.Int, driver.Bool, driver.Time, driver.Text, driver.Real},
	GenNull:  anyType, GenRef: anyType, GenPick: anyType, GenList: anyType, GenCoalesce: anyType,
}

// checkType returns an error if the generator cannot make values of type t.
func checkType(t driver.Type, gen *Generator) error {
	switch types, known := makes[gen.Kind]; {
	case !known:
		return fmt.Errorf("no such generator")
	case !slices.Contains(types, t):
		return fmt.Errorf("it cannot make %s", t)
	}
	return nil
}

func (c *column) mayBeNull() bool {
	if c.gen.NullPermille > 0 || c.gen.Kind == GenNull || c.given != nil && c.given.nulls != nil || c.number != nil && c.number.mayBeNull() {
		return true
	}
	for j, s := range c.sources {
		if s.mayBeNull() && !slices.Contains(c.json, j) {
			return true
		}
	}
	return false
}
