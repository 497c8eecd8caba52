// Package latency keeps distributions of latencies.
package latency

import (
	"errors"
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Summary is the distribution of one operation's latency. It includes all executions, however
// they ended.
type Summary struct {
	Operation  string `json:"operation"`
	Count      int64  `json:"count"`
	Failed     int64  `json:"failed,omitempty"`      // executions, included in Count, that failed
	EndedEarly int64  `json:"ended_early,omitempty"` // executions, included in Count, that ended early because a statement returned no row
	MeanNS     int64  `json:"mean_ns"`
	P50NS      int64  `json:"p50_ns"`
	P90NS      int64  `json:"p90_ns"`
	P99NS      int64  `json:"p99_ns"`
	P999NS     int64  `json:"p99_9_ns"`
	P9999NS    int64  `json:"p99_99_ns"`
	MaxNS      int64  `json:"max_ns"`

	// Histogram is the whole distribution, in HdrHistogram's V2 compressed
	// encoding, base64, in nanoseconds.
	Histogram string `json:"histogram"`
}

// The constant "longest" is the greatest latency in ns that a histogram can record. A greater latency is
// recorded as this value.
const longest = int64(120e9)

// Histogram is the distribution of an operation's latency, with a precision of three digits. Only
// one goroutine at a time may use it.
type Histogram struct{ h *hdrhistogram.Histogram }

// New returns an empty histogram.
func New() *Histogram { return &Histogram{hdrhistogram.New(1, longest, 3)} }

// Record adds one latency, in nanoseconds.
func (l *Histogram) Record(ns int64) {
	_ = l.h.RecordValue(min(max(ns, 1), longest)) // within these bounds, RecordValue cannot fail
}

// Merge adds all latencies of the histogram "other" to l.
func (l *Histogram) Merge(other *Histogram) { l.h.Merge(other.h) }

// Reset removes all latencies.
func (l *Histogram) Reset() { l.h.Reset() }

// Summary returns the summary of the histogram, with the given name of the operation.
func (l *Histogram) Summary(operation string) Summary {
	return Summary{
		Operation: operation,
		Count:     l.Count(),
		MeanNS:    int64(l.h.Mean()),
		P50NS:     l.h.ValueAtQuantile(50),
		P90NS:     l.h.ValueAtQuantile(90),
		P99NS:     l.h.ValueAtQuantile(99),
		P999NS:    l.h.ValueAtQuantile(99.9),
		P9999NS:   l.h.ValueAtQuantile(99.99),
		MaxNS:     l.h.Max(),
		Histogram: l.Encode(),
	}
}

// Count returns how many latencies have been recorded.
func (l *Histogram) Count() int64 { return l.h.TotalCount() }

// Encode returns the whole distribution in HdrHistogram's V2 compressed encoding,
// base64.
func (l *Histogram) Encode() string {
	enc, err := l.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "" // encoding in memory can fail only because of a bug in the library
	}
	return string(enc)
}

// Decode decodes the result of [Histogram.Encode]. A histogram with another range or precision
// is an error, because its counts would mean other values.
func Decode(encoded string) (*Histogram, error) {
	if encoded == "" {
		return nil, errors.New("it is empty")
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, err
	}
	if h.LowestTrackableValue() != 1 || h.HighestTrackableValue() != longest || h.SignificantFigures() != 3 {
		return nil, fmt.Errorf("it has values from %d to %d with %d digits: want values from 1 to %d with 3 digits",
			h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures(), longest)
	}
	return &Histogram{h}, nil
}

// Least returns the least possible sum of the latencies, and the least possible value of the
// greatest latency. A histogram knows only a range for each latency. Record counts a latency of 0
// as 1 ns, so the sum has 1 ns less than the beginning of each range.
func (l *Histogram) Least() (sum float64, greatest int64) {
	for _, bar := range l.h.Distribution() {
		if bar.Count > 0 {
			greatest = bar.From
			sum += float64(bar.Count) * float64(bar.From-1)
		}
	}
	return sum, greatest
}
