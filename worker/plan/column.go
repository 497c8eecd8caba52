package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// column makes the values of one generated column or parameter.
type column struct {
	name string
	typ  driver.Type
	gen  *Generator

	stream
	nulls, lengths stream

	linked  linkState
	sources []*column // format, sha256, coalesce: one for each Of; ref, pick, words: one
	per     int64     // ref: rows that share the source's row
	total   uint64    // pick, words: rows of the source's set
	number  *column   // pick: has the number of the row
	zipf    *zipf     // zipf; pick, words with a skew
	shuffle *shuffle  // shuffle
	weights weights   // choice, int
	pieces  []Piece   // format
	json    []int     // format: the sources that are written as JSON, of which NULL is null

	// base is the column at the end of a chain of ref and pick. Without a chain
	// it is the column itself.
	base  *column
	arena []byte        // text, blob: random bytes for large values
	fixed []byte        // const, repeat, choice, list: the bytes of all values
	spans []driver.Span // choice, list: the position of each value in fixed
	given *given        // list
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

// link checks the generator and finds its sources. siblings are the columns of the
// same set, or the parameters of the same statement.
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

// prepare checks a generator that uses no other column, and makes what its values
// are taken from.
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

// checkBounds checks Bounds, RealBounds and Weights.
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

// linkSiblings links a column whose values are made from siblings.
func (c *column) linkSiblings(g *Gen, set *genSet, siblings map[string]*column) error {
	gen := c.gen
	for _, name := range gen.Of {
		s := siblings[name]
		if s == nil {
			return c.bad("no column %q beside it", name)
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

// linkSource links a column whose values are those of another set's rows.
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
			return c.bad("no column %q beside it", gen.At)
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

// Bounds of generators.
const (
	MaxValueBytes = 1_000_000_000 // the length of a text or blob: SQLite's default limit
	MaxValues     = 10_000        // bounds, or values with weights
	MaxWords      = 1 << 16       // of one value
)

// checkType reports whether a generator can make values of a type.
func checkType(t driver.Type, gen *Generator) error {
	var ok bool
	integer := t == driver.Int || t == driver.Bool || t == driver.Time
	switch gen.Kind {
	case GenSerial, GenInt, GenZipf, GenShuffle:
		ok = integer
	case GenTime:
		ok = t == driver.Time
	case GenReal:
		ok = t == driver.Real
	case GenFormat, GenText, GenRepeat, GenChoice, GenHex, GenSHA256, GenWords:
		ok = t == driver.Text
	case GenBlob:
		ok = t == driver.Blob
	case GenConst:
		ok = integer || t == driver.Text || t == driver.Real
	case GenNull, GenRef, GenPick, GenList, GenCoalesce:
		ok = true
	default:
		return fmt.Errorf("no such generator")
	}
	if !ok {
		return fmt.Errorf("it cannot make %s", t)
	}
	return nil
}

// steps reports whether the values are Low + Step*i.
func (c *column) steps() bool {
	return c.gen.Kind == GenSerial && c.gen.Every <= 1 || c.gen.Kind == GenTime && c.gen.High <= c.gen.Low
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

// null reports whether the value of row i is NULL, either by itself or because a
// value that it is made from is NULL.
func (c *column) null(i int64) bool {
	if c.gen.Kind == GenNull {
		return true
	}
	if c.gen.NullPermille > 0 && below(c.nulls.draw(i, 0), 1000) < uint64(c.gen.NullPermille) {
		return true
	}
	if c.given != nil && c.given.null(i) || c.number != nil && c.number.mayBeNull() && c.number.null(i) {
		return true
	}
	for j, s := range c.sources {
		if s.mayBeNull() && !slices.Contains(c.json, j) && s.null(c.sourceRow(i)) {
			return true
		}
	}
	return false
}

// sourceRow returns the row of the sources that row i is made from.
func (c *column) sourceRow(i int64) int64 {
	switch {
	case c.gen.Kind == GenRef:
		return i / c.per
	case c.gen.Kind != GenPick:
		return i
	case c.number != nil:
		n := c.number.int(i) % int64(c.total)
		if n < 0 {
			n += int64(c.total)
		}
		return n
	default:
		return c.drawnRow(i)
	}
}

// drawnRow returns the row of the source that the i-th draw picks.
func (c *column) drawnRow(i int64) int64 {
	if c.zipf != nil {
		return int64(c.zipf.at(c.stream, i) - 1)
	}
	return int64(below(c.draw(i, 0), c.total))
}

// row returns the row of base that row i takes its value from.
func (c *column) row(i int64) int64 {
	for c != c.base {
		i, c = c.sourceRow(i), c.sources[0]
	}
	return i
}

// int returns the value of row i of a column of integers, bools or times.
func (c *column) int(i int64) int64 {
	if c != c.base {
		return c.base.int(c.row(i))
	}
	gen := c.gen
	switch {
	case c.steps():
		return gen.Low + gen.Step*i
	case gen.Kind == GenSerial:
		hi, lo := bits.Mul64(uint64(gen.Step), uint64(i))
		q, _ := bits.Div64(hi%uint64(gen.Every), lo, uint64(gen.Every)) // modulo 2^64
		return gen.Low + int64(q)
	case gen.Kind == GenShuffle:
		return gen.Low + gen.Step*int64(c.shuffle.at(c.stream, i))
	case c.weights != nil:
		return gen.Bounds[c.weights.of(c.draw(i, 0))]
	case gen.Kind == GenInt:
		low, high, k := c.interval(c.stream, i)
		return low + int64(below(c.draw(i, k), uint64(high)-uint64(low)+1))
	case gen.Kind == GenTime:
		return gen.Low + int64(below(c.draw(i, 0), uint64(gen.High)-uint64(gen.Low)))
	case gen.Kind == GenZipf:
		return gen.Low + int64(c.zipf.at(c.stream, i)-1)
	case gen.Kind == GenList:
		return c.given.ints[c.given.at(i)]
	default: // const, null
		return gen.Int
	}
}

// real returns the value of row i of a column of reals.
func (c *column) real(i int64) float64 {
	if c != c.base {
		return c.base.real(c.row(i))
	}
	gen := c.gen
	switch gen.Kind {
	case GenReal:
	case GenList:
		return c.given.reals[c.given.at(i)]
	default:
		return gen.RealLow
	}
	low, high, k := gen.RealLow, gen.RealHigh, uint64(0)
	if n := len(gen.RealBounds); n > 0 {
		j := below(c.draw(i, 0), uint64(n-1))
		low, high, k = gen.RealBounds[j], gen.RealBounds[j+1], 1
	}
	x := low + float64(unit(c.draw(i, k))*(high-low))
	if x >= high { // rounded up
		return low
	}
	return x
}

// interval returns the bounds between which the value, or length, of row i lies, and the
// draw of the stream that says where.
func (c *column) interval(s stream, i int64) (low, high int64, k uint64) {
	b := c.gen.Bounds
	if len(b) == 0 {
		return c.gen.Low, c.gen.High, 0
	}
	j := below(s.draw(i, 0), uint64(len(b)-1))
	return b[j], b[j+1], 1
}

// length returns the number of random bytes in the value of row i.
func (c *column) length(i int64) int64 {
	if c.gen.Low == c.gen.High {
		return c.gen.Low
	}
	low, high, k := c.interval(c.lengths, i)
	return low + int64(below(c.lengths.draw(i, k), uint64(high-low)+1))
}

// span returns the position in fixed of the value of row i.
func (c *column) span(i int64) driver.Span {
	switch c.gen.Kind {
	case GenList:
		return c.spans[c.given.at(i)]
	case GenChoice:
		if c.weights != nil {
			return c.spans[c.weights.of(c.draw(i, 0))]
		}
		return c.spans[below(c.draw(i, 0), uint64(len(c.spans)))]
	}
	return driver.Span{Len: uint32(len(c.fixed))}
}

// random appends n random bytes.
func (c *column) random(b []byte, i, n int64) []byte {
	var word [8]byte
	for k := uint64(0); n > 0; k++ {
		binary.LittleEndian.PutUint64(word[:], c.draw(i, k))
		b = append(b, word[:min(n, 8)]...)
		n -= 8
	}
	return b
}

// hexPairs has the two hex digits of each byte as they are in memory.
var hexPairs = func() (pairs [256]uint16) {
	const digits = "0123456789abcdef"
	for x := range pairs {
		pairs[x] = uint16(digits[x>>4]) | uint16(digits[x&15])<<8
	}
	return pairs
}()

// hexInPlace converts the bytes from start on to hex digits. It starts with the last
// byte, so that no byte is overwritten before it is read.
func hexInPlace(b []byte, start int) []byte {
	n := len(b) - start
	b = append(b, b[start:]...)
	for v := b[start:]; n > 0; {
		n--
		binary.LittleEndian.PutUint16(v[2*n:], hexPairs[v[n]])
	}
	return b
}

// append appends the value of row i of a column of texts or blobs.
func (c *column) append(b []byte, i int64) []byte {
	if c != c.base {
		return c.base.append(b, c.row(i))
	}
	switch {
	case c.arena != nil:
		off := int64(c.draw(i, 0) >> (64 - arenaBits))
		return append(b, c.arena[off:off+c.length(i)]...)
	case c.fixed != nil:
		s := c.span(i)
		return append(b, c.fixed[s.Off:s.Off+s.Len]...)
	}
	start := len(b)
	switch c.gen.Kind {
	case GenText:
		b = c.random(b, i, c.length(i))
		letters(b[start:])
	case GenBlob:
		b = c.random(b, i, c.length(i))
	case GenHex:
		b = c.random(b, i, c.length(i))
		b = hexInPlace(b, start)
	case GenSHA256:
		if source := c.sources[0]; c.gen.Hex {
			b = source.random(b, i, source.length(i)) // the bytes that its hex digits encode
		} else {
			b = source.append(b, i)
		}
		sum := sha256.Sum256(b[start:])
		b = hexInPlace(append(b[:start], sum[:]...), start)
	case GenFormat:
		b = c.format(b, i)
	case GenWords:
		for k := range c.length(i) {
			if k > 0 {
				b = append(b, ' ')
			}
			b = c.sources[0].append(b, c.drawnRow(i<<wordBits+k))
		}
	}
	return b
}

// wordBits is the number of bits that the number of a word takes in that of its draw.
const wordBits = 16

// rowBytes returns approximately how many bytes a value takes in a batch.
func (c *column) rowBytes() int64 {
	if c.gen.Kind == GenCoalesce {
		n := int64(0)
		for _, s := range c.sources {
			n += s.rowBytes()
		}
		return n
	}
	if c.typ != driver.Text && c.typ != driver.Blob {
		return 9
	}
	if c.base.arena != nil || c.base.fixed != nil {
		return 9
	}
	return 9 + c.base.longest()
}

// longest returns approximately the maximum number of bytes of a value.
func (c *column) longest() int64 {
	if c != c.base {
		return c.base.longest()
	}
	switch c.gen.Kind {
	case GenText, GenBlob:
		return c.gen.High
	case GenHex:
		return 2 * c.gen.High
	case GenSHA256:
		return 2 * sha256.Size
	case GenWords:
		return c.gen.High * (c.sources[0].longest() + 1)
	case GenFormat:
		n := int64(len(c.gen.Format))
		for _, p := range c.pieces {
			n += int64(p.Width)
		}
		for j, s := range c.sources {
			if n += s.longest(); slices.Contains(c.json, j) {
				n += int64(len(`""`))
			}
		}
		return n
	case GenConst, GenRepeat:
		return int64(max(len(c.fixed), 20))
	case GenChoice, GenList:
		n := int64(0)
		for _, s := range c.spans {
			n = max(n, int64(s.Len))
		}
		return n
	default:
		return 20
	}
}
