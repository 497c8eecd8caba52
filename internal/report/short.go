package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// tooShort says which cells of a phase are too short to judge the drivers by, and what to
// do. It returns "" if none is.
func tooShort(cells []*stats.Cell, h Hints) string {
	var names []string
	shortest := stats.TooShort
	var example *stats.Cell
	for _, c := range cells {
		if c.TooShort() {
			names = append(names, name(c.Outcome))
			if wall := c.Wall(); wall < shortest {
				shortest, example = wall, c
			}
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("%s: less than %s, too short to judge a driver by: how a phase begins, and every interruption, count for too much; %s",
		strings.Join(names, ", "), shortLimit(), lengthen(example, shortest, h))
}

// shortLimit formats the limit below which a phase is too short.
func shortLimit() string { return fmt.Sprintf("%d ms", stats.TooShort.Milliseconds()) }

// lengthen says how to make a phase long enough that takes some time.
func lengthen(c *stats.Cell, wall time.Duration, h Hints) string {
	how := []string{}
	s := c.Samples[0]
	switch {
	case s.Metric == result.MetricTimePerOp:
		how = append(how, "a greater count, or a duration, of the phase")
	case s.Checksum != "" || len(s.Latency) > 0:
		how = append(how, "a greater repeat of the phase")
	}
	if h.Scale != "" {
		how = append(how, "a greater "+h.Scale)
	}
	if len(how) == 0 {
		how = append(how, "a larger scale")
	}
	factor := math.Ceil(float64(stats.TooShort) / float64(max(wall, 1)))
	return fmt.Sprintf("make it at least %s times as long, with %s", Thousands(int64(factor)), strings.Join(how, " or "))
}

// comparedTooShort lists the compared cells that are too short.
func comparedTooShort(cells []*stats.Compared, h Hints) (l list) {
	for _, x := range cells {
		if !x.TooShort() {
			continue
		}
		if text := tooShort([]*stats.Cell{x.First, x.Second}, h); text != "" {
			l = append(l, item{"too short", x.String() + ": " + text, true})
		}
	}
	if more := len(l) - mostWithout; more > 0 {
		l = append(l[:mostWithout], item{label: "and", text: Thousands(int64(more)) + " more, all in JSON", alarm: true})
	}
	return l
}

// countTooShort counts the cells that are too short, as a sentence after a space. It
// returns "" if there are none.
func countTooShort(cells []*stats.Compared) string {
	n := 0
	for _, x := range cells {
		if x.TooShort() {
			n++
		}
	}
	switch {
	case n == 0:
		return ""
	case len(cells) == 1:
		return fmt.Sprintf(" The phase takes less than %s: too short to judge a driver by.", shortLimit())
	}
	return fmt.Sprintf(" In %d of %d cells the phase takes less than %s: too short to judge a driver by.", n, len(cells), shortLimit())
}

// marked adds to a verdict that its cell is too short.
func marked(verdict string, x *stats.Compared) string {
	if x.TooShort() {
		return verdict + ", too short"
	}
	return verdict
}

// mostWithout is how many lines there are about cells without a ratio.
const mostWithout = 12
