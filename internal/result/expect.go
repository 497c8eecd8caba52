package result

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Expectation is a bound on a figure of a phase, as a workload file states it.
type Expectation struct {
	Phase   string  `json:"phase"`
	Figure  string  `json:"figure"`             // one of [ExpectedFigures]
	Bound   float64 `json:"bound"`              // the bound, in the unit of the figure: seconds, bytes, operations per second, a share, or a number
	AtLeast bool    `json:"at_least,omitempty"` // true: the figure must be at least Bound; false: at most Bound
}

// The figures for which a workload file can state a bound, in addition to the [Metrics].
const (
	FigureTime       = "time"       // time per operation
	FigureP50        = "p50"        // 50th percentile of the latency of the slowest kind of operation
	FigureP90        = "p90"        // 90th percentile of the same latency as for FigureP50
	FigureP99        = "p99"        // 99th percentile of the same latency as for FigureP50
	FigureMax        = "max"        // maximum of the same latency as for FigureP50
	FigureThroughput = "throughput" // operations per second
	FigureErrors     = "errors"     // share of the operations that failed
)

// ExpectedFigures lists the figures for which a workload file can state a bound.
func ExpectedFigures() []string {
	list := []string{FigureTime, FigureP50, FigureP90, FigureP99, FigureMax, FigureThroughput, FigureErrors}
	for _, m := range Metrics {
		list = append(list, m.Name)
	}
	return list
}

// ParseExpectation reads the bound of a figure, such as "< 5ms". The comparison sign may be left out.
func ParseExpectation(figure, text string) (e Expectation, err error) {
	e = Expectation{Figure: figure, AtLeast: figure == FigureThroughput}
	sign, bound, example := "<", "an upper", boundExample(figure)
	if e.AtLeast {
		sign, bound = ">", "a lower"
	}
	number := strings.ReplaceAll(strings.TrimSpace(text), "_", "")
	if strings.HasPrefix(number, "<") || strings.HasPrefix(number, ">") {
		if number[:1] != sign {
			return e, fmt.Errorf("%s %s: want %s bound, such as %s", figure, text, bound, example)
		}
		number = strings.TrimSpace(strings.TrimPrefix(number[1:], "="))
	}
	if e.Bound, err = boundOf(figure, number); err != nil || e.Bound < 0 || math.IsInf(e.Bound, 0) || math.IsNaN(e.Bound) {
		return e, fmt.Errorf("%s %s: want such as %s", figure, text, example)
	}
	return e, nil
}

// unitOf returns the unit of a figure: "s", "B", "%", "/s", or "" for a number.
func unitOf(figure string) string {
	switch figure {
	case FigureThroughput:
		return "/s"
	case FigureErrors:
		return "%"
	case "checkpoint":
		return "s"
	}
	switch m := MetricNamed(figure); {
	case m == nil:
		return "s"
	case m.Binary:
		return "B"
	}
	return ""
}

func boundExample(figure string) string {
	return map[string]string{"s": "< 5ms", "B": "< 64MiB", "%": "0 or < 1%", "/s": `"> 1000/s"`, "": "< 100"}[unitOf(figure)]
}

func boundOf(figure, text string) (float64, error) {
	switch unitOf(figure) {
	case "s":
		d, err := time.ParseDuration(text)
		return d.Seconds(), err
	case "B":
		for i, unit := range []string{"KiB", "MiB", "GiB"} {
			if n, ok := strings.CutSuffix(text, unit); ok {
				v, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
				return v * float64(int64(1)<<(10*(i+1))), err
			}
		}
		return strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "B")), 64)
	case "%":
		n, share := strings.CutSuffix(text, "%")
		v, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
		if !share && v != 0 || v > 100 {
			return 0, strconv.ErrSyntax
		}
		return v / 100, err
	case "/s":
		return strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "/s")), 64)
	}
	return strconv.ParseFloat(text, 64)
}

// String formats the expectation as a workload file states it, such as "p99 < 5ms".
func (e Expectation) String() string {
	if e.Bound == 0 && !e.AtLeast {
		return e.Figure + " 0"
	}
	sign := " < "
	if e.AtLeast {
		sign = " > "
	}
	return e.Figure + sign + e.Value(e.Bound, -1)
}

// Value formats a value of the expectation's figure, with its unit, rounded to the given number of
// significant digits. If the parameter "digits" is -1, the value is not rounded.
func (e Expectation) Value(v float64, digits int) string {
	rounded := func(v float64) float64 {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
		return v
	}
	number := func(v float64) string { return strconv.FormatFloat(rounded(v), 'f', -1, 64) }
	switch unitOf(e.Figure) {
	case "s":
		if v < 1e-6 {
			return number(v*1e9) + "ns"
		}
		return time.Duration(math.Round(rounded(v) * 1e9)).String()
	case "B":
		for i, unit := range []string{"GiB", "MiB", "KiB"} {
			if size := float64(int64(1) << (30 - 10*i)); v >= size {
				return number(v/size) + unit
			}
		}
		return number(v) + "B"
	case "%":
		return number(100*v) + "%"
	case "/s":
		return number(v) + "/s"
	}
	return number(v)
}
