package conditions

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// TooShort names the cells whose phase is too short to judge a driver by, and says how to make the
// phase longer. It returns "" if there are no such cells.
func TooShort(cells []*stats.Cell, h document.Hints) string {
	var names []string
	shortest := stats.TooShort
	var example *stats.Cell
	for _, c := range cells {
		if c.TooShort() {
			names = append(names, Name(c.Outcome))
			if wall := c.Wall(); wall < shortest {
				shortest, example = wall, c
			}
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("%s: less than %s, too short to judge a driver by: the start of the phase and each interruption weigh too much; %s",
		strings.Join(names, ", "), ShortLimit(), lengthen(example, shortest, h))
}

// ShortLimit formats the duration below which a phase is too short to judge a driver by.
func ShortLimit() string { return fmt.Sprintf("%d ms", stats.TooShort.Milliseconds()) }

func lengthen(c *stats.Cell, wall time.Duration, h document.Hints) string {
	how := []string{}
	s := c.Samples[0]
	switch {
	case s.Metric == result.MetricTimePerOp:
		how = append(how, "a larger count or duration of the phase")
	case s.Checksum != "" || len(s.Latency) > 0:
		how = append(how, "a larger repeat of the phase")
	}
	if h.Scale != "" {
		how = append(how, "a larger "+h.Scale)
	}
	if len(how) == 0 {
		how = append(how, "a larger scale")
	}
	factor := math.Ceil(float64(stats.TooShort) / float64(max(wall, 1)))
	return fmt.Sprintf("make it at least %s times as long, with %s", document.Thousands(int64(factor)), document.Or(how))
}

// ComparedTooShort lists the compared cells whose phase is too short to judge a driver by.
func ComparedTooShort(cells []*stats.Compared, h document.Hints) (l document.List) {
	for _, x := range cells {
		if !x.TooShort() {
			continue
		}
		if text := TooShort([]*stats.Cell{x.First, x.Second}, h); text != "" {
			l = append(l, KindOf(CaveatTooShort).Item(x.String()+": "+text))
		}
	}
	return Limited(l)
}

// Limited shortens a list about cells that are too short or have no ratio. If the list has more than
// mostWithout items, one item replaces all further items and says how many they are.
func Limited(l document.List) document.List {
	const mostWithout = 12
	if more := len(l) - mostWithout; more > 0 {
		l = append(l[:mostWithout], document.Item{Label: "and", Text: document.Thousands(int64(more)) + " more, all in JSON", Alarm: true})
	}
	return l
}

// CountTooShort returns a sentence with the number of cells whose phase is too short. The sentence
// begins with a space. CountTooShort returns "" if there are no such cells.
func CountTooShort(cells []*stats.Compared) string {
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
		return fmt.Sprintf(" The phase takes less than %s: too short to judge a driver by.", ShortLimit())
	}
	return fmt.Sprintf(" In %d of %d cells the phase takes less than %s: too short to judge a driver by.", n, len(cells), ShortLimit())
}

// Marked appends ", too short" to a verdict if the cell's phase is too short.
func Marked(verdict string, x *stats.Compared) string {
	if x.TooShort() {
		return verdict + ", too short"
	}
	return verdict
}
