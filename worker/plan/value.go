package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// steps reports whether the value of every row i is Low + Step*i.
func (c *column) steps() bool {
	return c.gen.Kind == GenSerial && c.gen.Every <= 1 || c.gen.Kind == GenTime && c.gen.High <= c.gen.Low
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

// sourceRow returns the number of the row of c.sources from which the value of row i is made.
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

// drawnRow returns the number of the row that random draw i picks from the source's data set.
func (c *column) drawnRow(i int64) int64 {
	if c.zipf != nil {
		return int64(c.zipf.at(c.stream, i) - 1)
	}
	return int64(below(c.draw(i, 0), c.total))
}

// row returns the number of the row of c.base from which row i of c has its value. c.base is the column
// from which c takes its values.
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
		q, _ := bits.Div64(hi%uint64(gen.Every), lo, uint64(gen.Every)) // q is the quotient modulo 2^64
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
	default: // the kinds "const" and "null"
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
	if x >= high { // rounding has made x too large
		return low
	}
	return x
}

// interval returns the bounds of the value, or of its length, in row i. The caller must then draw a
// value between these bounds from the stream s, with draw number k of row i.
func (c *column) interval(s stream, i int64) (low, high int64, k uint64) {
	b := c.gen.Bounds
	if len(b) == 0 {
		return c.gen.Low, c.gen.High, 0
	}
	j := below(s.draw(i, 0), uint64(len(b)-1))
	return b[j], b[j+1], 1
}

// length returns the number of random bytes in the value of row i, or the number of its words.
func (c *column) length(i int64) int64 {
	if c.gen.Low == c.gen.High {
		return c.gen.Low
	}
	low, high, k := c.interval(c.lengths, i)
	return low + int64(below(c.lengths.draw(i, k), uint64(high-low)+1))
}

// span returns the position of the value of row i in c.fixed.
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

// The method "random" appends the n random bytes of row i to b.
func (c *column) random(b []byte, i, n int64) []byte {
	var word [8]byte
	for k := uint64(0); n > 0; k++ {
		binary.LittleEndian.PutUint64(word[:], c.draw(i, k))
		b = append(b, word[:min(n, 8)]...)
		n -= 8
	}
	return b
}

// hexPairs has the two hex digits of each byte. The low byte of an entry is the first digit.
var hexPairs = func() (pairs [256]uint16) {
	const digits = "0123456789abcdef"
	for x := range pairs {
		pairs[x] = uint16(digits[x>>4]) | uint16(digits[x&15])<<8
	}
	return pairs
}()

// hexInPlace converts the bytes b[start:] to hex digits. It converts the last byte first, so
// that no byte is overwritten before it is read.
func hexInPlace(b []byte, start int) []byte {
	n := len(b) - start
	b = append(b, b[start:]...)
	for v := b[start:]; n > 0; {
		n--
		binary.LittleEndian.PutUint16(v[2*n:], hexPairs[v[n]])
	}
	return b
}

// append appends the value of row i to b. The column must have texts or blobs.
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
			b = source.random(b, i, source.length(i)) // the bytes that the source's hex digits encode
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

// wordBits is the number of bits for the index of a word within its value. Word k of row i is
// picked by the draw with the number i<<wordBits + k.
const wordBits = 16

// rowBytes returns approximately how many bytes a value takes in a batch.
func (c *column) rowBytes() int64 {
	if c.typ != driver.Text && c.typ != driver.Blob || c.base.arena != nil || c.base.fixed != nil {
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
