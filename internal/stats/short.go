package stats

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TooShort is the time inside the clock below which a phase is too short to judge a driver
// by. What a phase costs only at its beginning, for cold caches and page faults, is some
// tenth of it, and one interruption by the system takes longer. See docs/methodology.md.
const TooShort = time.Millisecond

// TooShort reports whether the phase is too short to judge a driver by. A phase at a fixed
// rate lasts as long as the workload says, and is never too short.
func (c *Cell) TooShort() bool {
	return len(c.Samples) > 0 && c.Samples[0].Metric != result.MetricLatency && c.Wall() < TooShort
}

// Wall returns the median time inside the clock.
func (c *Cell) Wall() time.Duration {
	var all []float64
	for _, s := range c.Samples {
		all = append(all, float64(s.WallNS))
	}
	return time.Duration(Summarize(all).Median)
}

// TooShort reports whether the phase of a side is too short to judge a driver's time by.
func (x *Compared) TooShort() bool {
	return x.Metric == Time && x.Measured() && (x.First.TooShort() || x.Second.TooShort())
}
