package imitate

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// sampleSize is the greatest number of values in a sample.
const sampleSize = 4096

// reservoir is a uniform sample of values (J. Vitter: Random sampling with a reservoir,
// ACM TOMS 11, 1985).
type reservoir[T any] struct {
	seen   int64
	sample []T
	random *rand.Rand
}

func (r *reservoir[T]) add(v T, size int) {
	if slot := r.slot(size); slot != nil {
		*slot = v
	}
}

// slot returns the place for the next value in the sample, or nil if that value is not part of the sample.
func (r *reservoir[T]) slot(size int) *T {
	if r.random == nil {
		r.random = rand.New(rand.NewPCG(1, 2)) // a constant seed, so that the same database always results in the same workload
	}
	r.seen++
	if len(r.sample) < size {
		var none T
		r.sample = append(r.sample, none)
		return &r.sample[len(r.sample)-1]
	}
	if k := r.random.Int64N(r.seen); k < int64(size) {
		return &r.sample[k]
	}
	return nil
}

// The constant "most" is the greatest number of distinct values that are counted one by one.
const most = 4096

// distinct counts the distinct values of a column, and measures how unequal their frequencies are.
// If there are more values than the constant "most" says, it makes estimates that are right to about
// 2 %. It estimates the number of values by HyperLogLog (P. Flajolet and others, AofA 2007), and the
// sum of the squared frequencies by a count sketch (M. Charikar and others, ICALP 2002).
type distinct struct {
	n       int64
	counts  map[uint64]int64
	log     *[4096]uint8 // like the field "squares", this is nil while values are counted one by one
	squares *[8192]int64
}

func (d *distinct) add(hash uint64) {
	if d.n++; d.n == 1 {
		d.counts = map[uint64]int64{}
	}
	if d.counts == nil {
		d.estimate(hash, 1)
		return
	}
	if d.counts[hash]++; len(d.counts) > most {
		d.log, d.squares = new([4096]uint8), new([8192]int64)
		for hash, n := range d.counts {
			d.estimate(hash, n)
		}
		d.counts = nil
	}
}

func (d *distinct) estimate(hash uint64, n int64) {
	i, rest := hash>>52, hash<<12|1<<11
	d.log[i] = max(d.log[i], uint8(bits.LeadingZeros64(rest)+1))
	other := scramble(hash)
	d.squares[other>>51] += n * (int64(other&1)*2 - 1)
}

// values returns the number of distinct values. A number greater than the constant "most" is an estimate.
func (d *distinct) values() int64 {
	if d.n == 0 || d.counts != nil {
		return int64(len(d.counts))
	}
	const m = float64(len(d.log))
	sum, empty := 0.0, 0.0
	for _, x := range d.log {
		sum += math.Exp2(-float64(x))
		if x == 0 {
			empty++
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate < 2.5*m && empty > 0 {
		estimate = m * math.Log(m/empty)
	}
	return min(d.n, int64(math.Round(estimate)))
}

// repeats estimates the probability that two rows have the same value.
func (d *distinct) repeats() float64 {
	if d.n < 2 {
		return 0
	}
	sum := 0.0
	if d.counts != nil {
		for _, c := range d.counts {
			sum += float64(c) * float64(c)
		}
	} else {
		for _, c := range d.squares {
			sum += float64(c) * float64(c)
		}
	}
	return max(0, (sum-float64(d.n))/float64(d.n)/float64(d.n-1))
}

// repeated reports whether values occur several times. They do if there are fewer than half as many
// distinct values as rows, or if a row shares its value with more than 0.5 other rows on average.
func (d *distinct) repeated() bool {
	return d.values() < d.n/2 || d.repeats()*float64(d.n) > 0.5
}

// choices estimates the number of values from which the rows' values were chosen. The estimate is at
// least the number of values that occur. The estimate is greater if equal rows are rarer than they
// would be after a choice from only these values.
func (d *distinct) choices() int64 {
	n := d.values()
	if p := d.repeats(); p*float64(n) < 1 {
		return max(n, int64(min(4*float64(n), 1/p)))
	}
	return n
}

// skewed returns the option "skew" of a generator, which is the exponent of a Zipf distribution
// over n values. With this exponent, two random values are equal with the probability p. If p is
// about the probability of a uniform distribution, skewed returns nil.
func skewed(n int64, p float64) []string {
	if n < 2 || p < 1.1/float64(n) {
		return nil
	}
	low, high := 0.01, 8.0
	for range 40 {
		if s := (low + high) / 2; equal(n, s) < p {
			low = s
		} else {
			high = s
		}
	}
	return []string{fmt.Sprintf("skew: %g", math.Round(low*100)/100)}
}

// equal returns the probability that two random values of a Zipf distribution are equal. The
// distribution has n values and the exponent s.
func equal(n int64, s float64) float64 {
	sum, squares := 0.0, 0.0
	for k := int64(1); k <= n; {
		// Each step of the loop computes a range of values, because there may be billions of values.
		to := min(n, max(k, k+k/64))
		p, count := math.Pow(float64(k+to)/2, -s), float64(to-k+1)
		sum += count * p
		squares += count * p * p
		k = to + 1
	}
	return squares / sum / sum
}

// scramble is the output function of SplitMix64: similar numbers get very different results.
func scramble(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// hashBytes returns the FNV-1a hash of the bytes, scrambled by the function "scramble".
func hashBytes[T ~string | ~[]byte](b T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(b) {
		h = (h ^ uint64(b[i])) * 1099511628211
	}
	return scramble(h)
}

// quantiles returns at most intervals+1 bounds, in ascending order. Between any two neighboring bounds lie
// about equally many values of the sample.
func quantiles[T int64 | float64](sample []T, intervals int) []T {
	sample = slices.Sorted(slices.Values(sample))
	intervals = min(intervals, max(1, len(sample)-1))
	list := make([]T, intervals+1)
	for i := range list {
		list[i] = sample[i*(len(sample)-1)/intervals]
	}
	return list
}
