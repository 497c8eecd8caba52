package stats

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TooShort is a duration. If the median time for which a trial measures a phase is shorter, drivers
// are not judged by the phase. In such a phase, costs that occur only at its beginning, such as
// cold caches and page faults, are about a tenth of the time. A single interruption by the system
// takes longer than the phase. See docs/methodology.md.
const TooShort = time.Millisecond

// TooShort reports whether the phase is too short to judge a driver by. A phase at a fixed rate is
// never too short, because the workload says how long it lasts.
func (c *Cell) TooShort() bool {
	return len(c.Samples) > 0 && c.Samples[0].Metric != result.MetricLatency && c.Wall() < TooShort
}

// Wall returns the median of the times for which trials measured the phase. If a trial repeated the
// phase, this is the time of all repetitions.
func (c *Cell) Wall() time.Duration {
	var all []float64
	for _, s := range c.Samples {
		all = append(all, float64(s.WallNS*max(1, s.Repeats)))
	}
	return time.Duration(Summarize(all).Median)
}

// TooShort reports whether the phase is too short, on either side, to judge a driver's time
// by.
func (x *Compared) TooShort() bool {
	return x.Metric == Time && x.Measured() && (x.First.TooShort() || x.Second.TooShort())
}
