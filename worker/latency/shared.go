package latency

import "sync"

// Shared is a distribution that several goroutines record into at once, each with its own
// Recorder. A histogram takes 230 KB, so ten thousand histograms would take gigabytes. If there
// are more goroutines than histograms, some goroutines share a histogram.
type Shared struct{ shards []shard }

type shard struct {
	mu sync.Mutex
	h  *Histogram
}

// NewShared returns an empty distribution for a number of goroutines, with at most
// the given number of histograms.
func NewShared(goroutines, histograms int) *Shared {
	s := &Shared{shards: make([]shard, max(1, min(goroutines, histograms)))}
	for i := range s.shards {
		s.shards[i].h = New()
	}
	return s
}

// Recorder returns the recorder of goroutine i. Goroutines are counted from 0. The parameter
// "goroutines" is their total number.
func (s *Shared) Recorder(i, goroutines int) Recorder {
	shard := &s.shards[i%len(s.shards)]
	if goroutines <= len(s.shards) {
		return Recorder{h: shard.h}
	}
	return Recorder{h: shard.h, mu: &shard.mu}
}

// Histogram returns everything that was recorded. No goroutine may still be
// recording.
func (s *Shared) Histogram() *Histogram {
	all := New()
	for i := range s.shards {
		all.Merge(s.shards[i].h)
	}
	return all
}

// Recorder records latencies into a part of a Shared.
type Recorder struct {
	h  *Histogram
	mu *sync.Mutex // nil if no other Recorder uses h
}

// Record adds one latency, in nanoseconds.
func (r Recorder) Record(ns int64) {
	if r.mu != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	r.h.Record(ns)
}
