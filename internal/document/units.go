package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/perf/benchunit"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Absent is shown in place of a missing figure.
const Absent = "-"

// Scaled formats values in a common unit. The smallest value has three significant digits, because noise
// makes further digits meaningless. The result "unit" is the unit in the parameter "base" with a prefix,
// such as "ms" for "s".
func Scaled(values []float64, class benchunit.Class, base string) (words []string, unit string) {
	return ScaledTo(3, values, class, base)
}

// ScaledTo is [Scaled] with the given number of significant digits.
func ScaledTo(digits int, values []float64, class benchunit.Class, base string) (words []string, unit string) {
	scale := benchunit.CommonScale(values, class)
	least := math.Inf(1)
	for _, v := range values {
		if v = math.Abs(v); v > 0 {
			least = min(least, v)
		}
	}
	places := 0
	if !math.IsInf(least, 0) {
		places = max(0, digits-1-int(math.Floor(math.Log10(least/scale.Factor))))
	}
	for _, v := range values {
		words = append(words, strconv.FormatFloat(v/scale.Factor, 'f', places, 64))
	}
	return words, scale.Prefix + base
}

// LatencyWords formats latencies in a common unit with three significant digits, the precision of
// the latency histograms. It shows no fractions of 1 ns.
func LatencyWords(seconds []float64) (words []string, unit string) {
	scale := benchunit.CommonScale(seconds, benchunit.Decimal)
	if most := slices.Max(append([]float64{0}, seconds...)); most/scale.Factor >= 10_000 {
		scale = benchunit.CommonScale([]float64{most}, benchunit.Decimal)
	}
	unit = scale.Prefix + "s"
	for _, v := range seconds {
		v, _ := strconv.ParseFloat(strconv.FormatFloat(v/scale.Factor, 'g', 3, 64), 64)
		places := 0
		if v > 0 && unit != "ns" {
			places = max(0, 2-int(math.Floor(math.Log10(v))))
		}
		words = append(words, strconv.FormatFloat(v, 'f', places, 64))
	}
	return words, unit
}

// Counted formats a number with a noun, such as "1 row" or "2 rows".
func Counted[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if what == "query" {
		what = "querie"
	}
	return Thousands(int64(n)) + " " + what + "s"
}

// Human formats a value with three significant digits and an SI prefix.
func Human(v float64) string { return HumanTo(3, v) }

// HumanTo is [Human] with the given number of significant digits.
func HumanTo(digits int, v float64) string {
	if v != 0 && math.Abs(v) < 1 {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	if v == math.Trunc(v) && math.Abs(v) < 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64) // round first, so that 999.6 becomes 1.00k
	words, prefix := ScaledTo(digits, []float64{v}, benchunit.Decimal, "")
	return words[0] + prefix
}

// Each formats an average number per operation. Numbers near zero become "<0.01".
func Each(digits int, v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.005:
		return "<0.01"
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', digits-1, 64)
	}
	return HumanTo(digits, v)
}

// Thousands formats an integer with separators of thousands.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Percent formats a fraction as a percentage: 0.0123 as "1.2%". Fractions below 1 are never rounded
// to 100%, so 726/727 is "99.8%". Fractions above 0 that would be rounded to 0% are "<0.1%".
func Percent(v float64) string {
	p := 100 * v
	switch {
	case p == 0:
		return "0%"
	case p < 0.05:
		return "<0.1%"
	case p < 9.95:
		return strconv.FormatFloat(p, 'f', 1, 64) + "%"
	case p >= 99.5 && p < 100:
		return strconv.FormatFloat(math.Floor(10*p)/10, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + "%"
}

// PercentOK formats the share of operations that succeeded. It returns "100%" only if no operation
// failed, and "0%" only if all operations failed.
func PercentOK(failed, operations int64) string {
	switch {
	case failed == 0:
		return "100%"
	case failed >= operations:
		return "0%"
	}
	permille := (operations - failed) * 1000 / operations
	if permille == 0 {
		return "<0.1%"
	}
	return fmt.Sprintf("%d.%d%%", permille/10, permille%10)
}

// Spread formats the interval of a summary as a spread around the median, such as "±3%". If there are
// too few samples for an interval, it returns how many samples are needed, such as "n<6".
func Spread(s stats.Summary) string {
	if s.Interval == nil {
		return fmt.Sprintf("n<%d", stats.MinSamples)
	}
	v, ok := s.Spread()
	if !ok {
		return "±?"
	}
	return "±" + Percent(v)
}

// Widest is the widest spread that [Ends] shows as one figure. Wider intervals seldom have both
// ends equally far from the median.
const Widest = 0.5

// Ends formats the interval of a summary: both ends if the interval is wide, otherwise a spread.
func Ends(s stats.Summary) string {
	if v, ok := s.Spread(); !ok || v <= Widest {
		return Spread(s)
	}
	return fmt.Sprintf("(%+.0f%% to %+.0f%%)", 100*(s.Interval.Low/s.Median-1), 100*(s.Interval.High/s.Median-1))
}

// Times formats a ratio, such as 1.52x.
func Times(v float64) string {
	switch {
	case v < 0.0995:
		return fmt.Sprintf("%.2gx", v)
	case v < 9.995:
		return fmt.Sprintf("%.2fx", v)
	case v < 99.95:
		return fmt.Sprintf("%.1fx", v)
	}
	return fmt.Sprintf("%.0fx", v)
}

// Slower says what a ratio of two times means, with its interval: "33% slower (30% to 36%)".
// Percentages are of the time, so a ratio of 0.75 is "25% faster". If one time is at least twice the
// other time, Slower writes a number instead of a percentage: "2.1 times as slow (1.9 to 2.3)".
func Slower(s stats.Summary) string { return SlowerBy(s) + " (" + SlowerWithin(s) + ")" }

// SlowerThan is [Slower] with the name of the other side: "33% slower than mattn (30% to 36%)".
func SlowerThan(s stats.Summary, what string) string {
	return Than(SlowerBy(s), what) + " (" + SlowerWithin(s) + ")"
}

// SlowerWithin returns the interval that [Slower] adds to the words of [SlowerBy]: "30% to 36%".
func SlowerWithin(s stats.Summary) string { return within(s, ofTime) }

// MoreWithin returns the interval of a ratio of amounts, for a text that begins with the words of
// [MoreBy]: "30% to 36%".
func MoreWithin(s stats.Summary) string { return within(s, ofAmount) }

func within(s stats.Summary, w paceWords) string {
	if s.Interval == nil {
		return "too few rounds for an interval"
	}
	return newPace(s, w).ends(*s.Interval, false)
}

// SlowerBy is [Slower] without the interval: "33% slower".
func SlowerBy(s stats.Summary) string {
	switch {
	case s.Median == 1:
		return "equally fast"
	case !(s.Median > 0):
		return Absent
	}
	return newPace(s, ofTime).end(s.Median, true)
}

// SlowerRange says what the interval of a ratio of two times means: "30% to 36% slower".
func SlowerRange(i *stats.Interval) string { return rangeOf(i, ofTime) }

// MoreBy is [SlowerBy] for a ratio of amounts, such as of memory: "33% more".
func MoreBy(s stats.Summary) string {
	if s.Median == 1 {
		return "the same"
	}
	return newPace(s, ofAmount).end(s.Median, true)
}

// MoreRange is [SlowerRange] for a ratio of amounts: "30% to 36% more".
func MoreRange(i *stats.Interval) string { return rangeOf(i, ofAmount) }

func rangeOf(i *stats.Interval, w paceWords) string {
	if i == nil {
		return "too few rounds for an interval"
	}
	middle := stats.Summary{Median: math.Sqrt(i.Low * i.High), Interval: i}
	return newPace(middle, w).ends(*i, true)
}

// Than adds the name of the other side to a text from [SlowerBy] or [MoreBy]: "33% slower than mattn",
// "2.1 times as slow as mattn".
func Than(words, what string) string {
	switch {
	case words == "equally fast":
		return "as fast as " + what
	case words == "the same" || strings.Contains(words, " times as "):
		return words + " as " + what
	}
	return words + " than " + what
}

// paceWords are the words for a ratio above and below 1.
type paceWords struct{ above, below, timesAbove, timesBelow string }

var (
	ofTime   = paceWords{"slower", "faster", "times as slow", "times as fast"}
	ofAmount = paceWords{"more", "less", "times as much", ""}
)

// pace says how to write a ratio and the ends of its interval. The ratio and both ends are written in
// the same way, so that readers can compare them.
type pace struct {
	paceWords
	times  bool // whether a figure is a factor, such as 2.1 times, and not a percentage
	places int  // decimals
}

// paceOf returns how to write a ratio that has an interval of the given width.
func paceOf(ratio, width float64, w paceWords) pace {
	p := pace{paceWords: w, times: ratio >= 1.995 || ratio <= 0.5 && w.timesBelow != ""}
	if p.times || math.Abs(ratio-1) < 0.0995 && width < 0.02 {
		p.places = 1
	}
	return p
}

func newPace(s stats.Summary, w paceWords) pace {
	if s.Interval == nil {
		return paceOf(s.Median, 0, w)
	}
	low, high := s.Interval.Low, s.Interval.High
	p := paceOf(s.Median, high-low, w)
	finer := p
	for ; finer.places <= 3; finer.places++ { // add decimals, up to three, until the two ends of the interval differ
		if finer.figure(low) != finer.figure(high) {
			return finer
		}
	}
	return p
}

// figure formats a ratio as a positive number: as a number of times if p.times is set, otherwise as
// a percentage. It adds decimals so that a figure is not rounded to 1 time, 0% or 100%.
func (p pace) figure(ratio float64) string {
	v, unit := 100*math.Abs(ratio-1), "%"
	exact := []float64{0}
	if ratio < 1 {
		exact = []float64{0, 100}
	}
	if p.times {
		v, unit, exact = max(ratio, 1/ratio), "", []float64{1}
	}
	places := p.places
	switch {
	case v > 1e12:
		return ">1,000,000,000,000" + unit
	case v >= 999.5:
		return Thousands(int64(math.Round(v))) + unit
	case p.times && v >= 9.95:
		places--
	}
	for ; ; places++ {
		words := strconv.FormatFloat(v, 'f', places, 64)
		rounded, _ := strconv.ParseFloat(words, 64)
		if places >= 15 || rounded == v || !slices.Contains(exact, rounded) {
			return words + unit
		}
	}
}

// end formats a ratio. If the parameter "named" is true, it adds the direction, such as "slower".
func (p pace) end(ratio float64, named bool) string {
	word := p.above
	switch {
	case p.times && ratio < 1:
		word = p.timesBelow
	case p.times:
		word = p.timesAbove
	case ratio < 1:
		word = p.below
	}
	if !named {
		return p.figure(ratio)
	}
	return p.figure(ratio) + " " + word
}

// ends formats an interval, the smaller figure first. If the parameter "named" is true, it adds the
// direction. An interval that includes the ratio 1 always has the direction of each end: "5% faster
// to 12% slower".
func (p pace) ends(i stats.Interval, named bool) string {
	if i.Low < 1 && i.High > 1 {
		width := i.High - i.Low
		return paceOf(i.Low, width, p.paceWords).end(i.Low, true) + " to " + paceOf(i.High, width, p.paceWords).end(i.High, true)
	}
	if i.High <= 1 {
		i.Low, i.High = i.High, i.Low
	}
	return p.end(i.Low, false) + " to " + p.end(i.High, named)
}

// Probability formats a p-value. A value below a level of significance is never rounded up to that
// level.
func Probability(p float64) string {
	rounded := fmt.Sprintf("%.3f", p)
	for _, level := range []float64{0.001, stats.Doubt, stats.Alpha} {
		if p < level && (level == 0.001 || rounded == fmt.Sprintf("%.3f", level)) {
			return fmt.Sprintf("<%.3f", level)
		}
	}
	return rounded
}

// Duration formats a time with three significant digits.
func Duration(d time.Duration) string { return Nanoseconds(d.Nanoseconds()) }

// Nanoseconds formats nanoseconds with three significant digits.
func Nanoseconds(ns int64) string {
	words, unit := Scaled([]float64{float64(ns) / 1e9}, benchunit.Decimal, "s")
	return words[0] + " " + unit
}

// Elapsed formats a time in seconds, or in milliseconds if it is below a second, without decimals.
func Elapsed(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// WithSpreads joins each figure with its spread, and aligns figures and spreads within a column.
func WithSpreads(figures, spreads []string) []string {
	left, right := 0, 0
	for i := range figures {
		left = max(left, Width(figures[i]))
		right = max(right, Width(spreads[i]))
	}
	joined := make([]string, len(figures))
	for i := range figures {
		joined[i] = strings.TrimRight(fmt.Sprintf("%s %s",
			text.AlignRight.Apply(figures[i], left), text.AlignLeft.Apply(spreads[i], right)), " ")
	}
	return joined
}

// Interval formats the ends of a ratio's interval. An end near 1 has up to six digits, because "1"
// would say that the two compared times may be equal.
func Interval(i *stats.Interval) string {
	if i == nil {
		return "(too few rounds)"
	}
	end := func(v float64) string {
		if v >= 1000 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		digits := 3
		for digits < 6 && v != 1 && strconv.FormatFloat(v, 'g', digits, 64) == "1" {
			digits++
		}
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	return "(" + end(i.Low) + " to " + end(i.High) + ")"
}

// Share formats a fraction as a percentage with up to six significant digits.
func Share(v float64) string { return strconv.FormatFloat(100*v, 'g', 6, 64) + "%" }

// States maps the status of a case without figures to the word that comparisons use for it.
var States = map[result.Status]string{
	result.Wrong: "wrong", result.Refused: "refused", result.Failed: "failing", result.Unavailable: "unavailable",
	stats.NotMeasured: "not measured",
}

func Size(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }

// Number formats a number. An integer has separators of thousands and no decimals; other numbers
// have one decimal.
func Number(v float64) string {
	if v == math.Trunc(v) {
		return Thousands(int64(v))
	}
	return fmt.Sprintf("%.1f", v)
}

func Minutes(ns int64) string {
	return Counted(int64(math.Round(time.Duration(ns).Minutes())), "minute")
}

// Bytes formats a number of bytes in binary units.
func Bytes(n int64) string { return BytesOf(float64(n)) }

// Megabytes formats a size of n bytes in decimal units, kB or MB.
func Megabytes(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// BytesOf is [Bytes] for a number that need not be an integer.
func BytesOf(v float64) string {
	words, unit := Scaled([]float64{v}, benchunit.Binary, "B")
	return words[0] + " " + unit
}

// SecondsOf returns a function that formats seconds in a fitting unit, followed by the text
// "word".
func SecondsOf(word string) func(float64) string {
	return func(v float64) string {
		words, unit := Scaled([]float64{v}, benchunit.Decimal, "s")
		return words[0] + " " + unit + word
	}
}

// Ticks returns a function that formats the ticks of an axis. It formats each value with the
// function "format" and removes trailing zeros.
func Ticks(format func(float64) string) func(float64) string {
	return func(v float64) string {
		if v == 0 {
			return "0"
		}
		figure, unit, _ := strings.Cut(format(v), " ")
		if strings.Contains(figure, ".") {
			if digits := strings.TrimRight(figure, "x"); digits != figure {
				unit, figure = figure[len(digits):], digits
			} else if unit != "" {
				unit = " " + unit
			}
			return strings.TrimRight(strings.TrimRight(figure, "0"), ".") + unit
		}
		return format(v)
	}
}

// OfSummary returns the median of a summary and the ends of its interval. The ends are 0 if the
// summary has no interval.
func OfSummary(s stats.Summary) (value, low, high float64) {
	if s.Interval == nil {
		return s.Median, 0, 0
	}
	return s.Median, s.Interval.Low, s.Interval.High
}
