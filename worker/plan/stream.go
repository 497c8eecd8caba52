package plan

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// gamma is the increment of the pseudorandom number generator SplitMix64.
const gamma = 0x9e3779b97f4a7c15

// mix is the output function of SplitMix64 (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, OOPSLA 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// stream is a named random sequence. Its draws can be made in any order.
type stream uint64

func newStream(seed uint64, name string) stream {
	h := uint64(14695981039346656037) // the FNV-1a hash of the stream's name
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return stream(mix(seed ^ h))
}

// draw returns the k-th random number of row i.
func (s stream) draw(i int64, k uint64) uint64 {
	r := mix(uint64(s) + (uint64(i)+1)*gamma)
	if k == 0 {
		return r
	}
	return mix(r + k*gamma)
}

// The function "below" maps a random number u to a number 0 ≤ x < n. n = 0 means 2^64.
func below(u, n uint64) uint64 {
	if n == 0 {
		return u
	}
	hi, _ := bits.Mul64(u, n)
	return hi
}

// unit maps a random number u to a number 0 ≤ x < 1.
func unit(u uint64) float64 { return float64(u>>11) * 0x1p-53 }

// An arena is a block of random bytes from which the large values of columns are cut. arenaBits is
// the binary logarithm of the number of bytes after which an arena repeats.
const arenaBits = 20

// drawnBytes is the size up to which a text or blob is drawn in full. A column with
// larger values takes them from an arena (a block of random bytes), so that making
// them costs almost nothing and takes no memory.
const drawnBytes = 256

var arenas = struct {
	sync.Mutex
	made map[arenaKey][]byte
}{made: map[arenaKey][]byte{}}

type arenaKey struct {
	text bool
	size int
}

// arena returns random bytes, or random letters if the parameter "text" is true. A value of any
// length up to the parameter "longest" can begin at any of the first 2^arenaBits positions.
func arena(text bool, longest int64) []byte {
	const once = 1 << arenaBits
	size := once + max(1, int(longest+once-1)/once)*once
	arenas.Lock()
	defer arenas.Unlock()
	key := arenaKey{text, size}
	if a := arenas.made[key]; a != nil {
		return a
	}
	a := make([]byte, size)
	for j := 0; j < once; j += 8 {
		binary.LittleEndian.PutUint64(a[j:], mix(uint64(j/8+1)*gamma))
	}
	if text {
		letters(a[:once])
	}
	for n := once; n < size; n *= 2 {
		copy(a[n:], a[:n])
	}
	a = a[:size:size]
	arenas.made[key] = a
	return a
}

// letters converts random bytes to lower-case letters.
func letters(b []byte) {
	for j, x := range b {
		b[j] = 'a' + byte(uint(x)*26>>8)
	}
}

// zipf draws 1 ≤ k ≤ n with probability proportional to k^-s, by rejection and
// inversion (Hörmann, Derflinger: Rejection-inversion to generate variates from
// monotone discrete distributions, ACM TOMACS 6, 1996).
type zipf struct {
	n                  uint64
	s                  float64
	first, last, close float64
}

func newZipf(n uint64, s float64) *zipf {
	z := &zipf{n: n, s: s}
	z.first = z.area(1.5) - 1
	z.last = z.area(float64(n) + 0.5)
	z.close = 2 - z.inverse(z.area(2.5)-power(2, -s))
	return z
}

// area is the integral of t^-s over t from 1 to x. Its inverse function is the method "inverse".
func (z *zipf) area(x float64) float64 {
	if z.s == 1 {
		return logarithm(x)
	}
	return (power(x, 1-z.s) - 1) / (1 - z.s)
}

func (z *zipf) inverse(a float64) float64 {
	if z.s == 1 {
		return exponential(a)
	}
	return power(1+float64(a*(1-z.s)), 1/(1-z.s))
}

func (z *zipf) at(s stream, i int64) uint64 {
	for k := uint64(0); ; k++ {
		u := z.last + float64(unit(s.draw(i, k))*(z.first-z.last))
		x := z.inverse(u)
		r := math.Floor(x + 0.5)
		r = max(1, min(r, float64(z.n)))
		if r-x <= z.close || u >= z.area(r+0.5)-power(r, -z.s) {
			return uint64(r)
		}
	}
}

// A value of type "weights" draws an index with probability proportional to its weight. Entry i is
// the sum of the weights up to and including weight i.
type weights []uint64

func newWeights(list []int64) (weights, error) {
	var w weights
	sum := uint64(0)
	for _, x := range list {
		if x < 0 || x > MaxCount {
			return nil, fmt.Errorf("weight %d", x)
		}
		sum += uint64(x)
		w = append(w, sum)
	}
	if list != nil && sum == 0 {
		return nil, fmt.Errorf("the weights are 0")
	}
	return w, nil
}

func (w weights) of(u uint64) int {
	i, _ := slices.BinarySearch(w, below(u, w[len(w)-1])+1)
	return i
}

// shuffle is a permutation of 0 ≤ x < n: a Feistel network over the next power of four,
// applied until the result is below n (J. Black, P. Rogaway: Ciphers with arbitrary finite
// domains, CT-RSA 2002).
type shuffle struct {
	n    uint64 // 0 means 2^64
	half uint   // bits of each of the two halves that the network swaps
}

func newShuffle(n uint64) *shuffle {
	return &shuffle{n, max(1, uint(bits.Len64(n-1)+1)/2)}
}

// The method "at" applies the permutation to the number (i modulo n).
func (p *shuffle) at(s stream, i int64) uint64 {
	x := uint64(i)
	if p.n != 0 {
		x %= p.n
	}
	for {
		l, r := x>>p.half, x&(1<<p.half-1)
		for round := uint64(1); round <= 4; round++ {
			l, r = r, l^s.draw(int64(r), round)>>(64-p.half)
		}
		if x = l<<p.half | r; x < p.n || p.n == 0 {
			return x
		}
	}
}

// The functions below replace those of package math, which differ in the last bit
// between platforms and languages. They use only operations that IEEE 754 defines
// exactly. The conversions to float64 prevent the compiler from fusing a product with
// a sum.

func power(x, y float64) float64 { return exponential(float64(y * logarithm(x))) }

func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	t := (m - 1) / (m + 1)
	p := 0.0
	for k := 25; k >= 1; k -= 2 {
		p = float64(p*float64(t*t)) + 1/float64(k)
	}
	return float64(float64(2*t)*p) + float64(float64(e)*math.Ln2)
}

func exponential(x float64) float64 {
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := x - float64(k*math.Ln2)
	p := 1.0
	for j := 18; j >= 1; j-- {
		p = 1 + float64(p*r)/float64(j)
	}
	return math.Ldexp(p, int(k))
}
