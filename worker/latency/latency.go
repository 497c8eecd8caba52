// Package latency keeps distributions of latencies.
package latency

import (
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/sqlite3perf/sqlite3perf/worker/result"
)

// longest is the greatest latency in ns that is told from greater ones.
const longest = int64(120e9)

// Histogram is the distribution of an operation's latency, to three digits. It
// is to be used by one goroutine at a time.
type Histogram struct{ h *hdrhistogram.Histogram }

// New returns an empty one.
func New() *Histogram { return &Histogram{hdrhistogram.New(1, longest, 3)} }

// Record adds one latency, in nanoseconds.
func (l *Histogram) Record(ns int64) {
	_ = l.h.RecordValue(min(max(ns, 1), longest)) // cannot fail within the bounds
}

// Merge adds all latencies of other.
func (l *Histogram) Merge(other *Histogram) { l.h.Merge(other.h) }

// Reset empties it.
func (l *Histogram) Reset() { l.h.Reset() }

// Summary is the distribution under the operation's name.
func (l *Histogram) Summary(operation string) result.Latency {
	r := result.Latency{
		Operation: operation,
		Count:     l.h.TotalCount(),
		MeanNS:    int64(l.h.Mean()),
		P50NS:     l.h.ValueAtQuantile(50),
		P90NS:     l.h.ValueAtQuantile(90),
		P99NS:     l.h.ValueAtQuantile(99),
		P999NS:    l.h.ValueAtQuantile(99.9),
		P9999NS:   l.h.ValueAtQuantile(99.99),
		MaxNS:     l.h.Max(),
	}
	// Encoding in memory fails only by a bug of the library's, and then the
	// figures above still stand.
	if enc, err := l.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err == nil {
		r.Histogram = string(enc)
	}
	return r
}

// Decode reads a histogram as [Histogram.Summary] encodes it. Another range or
// precision is an error: its counts would stand for other values.
func Decode(encoded string) (*Histogram, error) {
	if encoded == "" {
		return nil, errors.New("it is empty")
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, err
	}
	if h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != longest || h.SignificantFigures() != 3 {
		return nil, fmt.Errorf("it is of values from %d to %d to %d digits: want 1 to %d to 3 digits",
			h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures(), longest)
	}
	return &Histogram{h}, nil
}

// Least is the least that the latencies can add up to, and the least that the
// greatest of them can be: each may be any that its count stands for, down to 0
// for the first.
func (l *Histogram) Least() (sum float64, greatest int64) {
	for _, bar := range l.h.Distribution() {
		if bar.Count > 0 {
			greatest = bar.From
			sum += float64(bar.Count) * float64(bar.From-1)
		}
	}
	return sum, greatest
}
