package conditions

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// JSONExpectation is what a workload expects of a figure, judged for one case.
type JSONExpectation struct {
	Case    int       `json:"case"` // id of the case in run.cases
	Phase   string    `json:"phase"`
	Driver  string    `json:"driver"`
	Figure  string    `json:"figure"`             // name of the figure, such as p99
	Bound   float64   `json:"bound"`              // the wanted bound, in the unit of the figure: seconds, bytes, operations per second, a share, or a number
	AtLeast bool      `json:"at_least,omitempty"` // true: the figure must be at least Bound; false: it must be at most Bound
	Verdict stats.Met `json:"verdict"`

	*stats.Summary `jsonschema:"optional"` // the figure; absent if there is none
}

// ExpectationsOf returns the JSON form of expectations.
func ExpectationsOf(expected stats.Expectations) (list []JSONExpectation) {
	for _, x := range expected {
		j := JSONExpectation{Case: x.Case.ID, Phase: x.Phase, Driver: x.Case.Driver, Figure: x.Figure, Bound: x.Bound, AtLeast: x.AtLeast, Verdict: x.Met}
		if x.Summary.N > 0 {
			j.Summary = &x.Summary
		}
		list = append(list, j)
	}
	return list
}

// ExpectedAnswer counts expectations by their verdicts. It returns "" if there are none.
func ExpectedAnswer(list stats.Expectations) string {
	if len(list) == 0 {
		return ""
	}
	n := map[stats.Met]int{}
	for _, x := range list {
		n[x.Met]++
	}
	what := document.Counted(len(list), "expectation")
	switch {
	case n[stats.IsMet] == len(list):
		return fmt.Sprintf("What the workloads expect is met (%s).", what)
	case n[stats.NotMet] == 0:
		return fmt.Sprintf("Of %s of the workloads, %d %s not decided.", what, n[stats.Undecided], document.Verb(n[stats.Undecided], "is", "are"))
	}
	words := fmt.Sprintf("Of %s of the workloads, %d %s not met", what, n[stats.NotMet], document.Verb(n[stats.NotMet], "is", "are"))
	if n[stats.Undecided] > 0 {
		words += fmt.Sprintf(", and %d not decided", n[stats.Undecided])
	}
	return words + "."
}

// ExpectedWith lists the expectations with the given verdict, for a warning.
func ExpectedWith(list stats.Expectations, met stats.Met) (words []string) {
	for _, x := range list {
		if x.Met == met {
			words = append(words, fmt.Sprintf("%s %s %s: %s", caseName(x), x.Phase, Label(x.Case), ExpectedWords(x)))
		}
	}
	return words
}

// ExpectedWords says what is expected and what was measured.
func ExpectedWords(x stats.Expected) string {
	switch {
	case x.Summary.N > 0:
		return fmt.Sprintf("%s, measured %s", x.Expectation, measured(x))
	case result.IsAsked(x.Figure) && !x.Counted():
		return fmt.Sprintf("%s, which is counted only with %s=on", x.Expectation, result.CountSyncs)
	}
	return x.String()
}

func caseName(x stats.Expected) string {
	if x.Variant != "" {
		return x.Case.Workload + " " + x.Variant
	}
	return x.Case.Workload
}

// measured formats the figure of an expectation with its interval.
func measured(x stats.Expected) string {
	if x.Summary.N == 0 {
		return document.Absent
	}
	words := x.Value(x.Summary.Median, 3)
	if i := x.Summary.Interval; i != nil && i.High > i.Low {
		words += fmt.Sprintf(" (%s to %s)", x.Value(i.Low, 3), x.Value(i.High, 3))
	}
	return words
}

// Expectations lists what the workloads expect, and whether it is met.
func Expectations(list stats.Expectations) document.Document {
	if len(list) == 0 {
		return nil
	}
	return document.Document{
		document.Heading{Level: 2, Text: "What the workloads expect"},
		document.GridOf(list,
			document.Words("workload", caseName),
			document.Words("phase", func(x stats.Expected) string { return x.Phase }),
			document.Words("driver", func(x stats.Expected) string { return Label(x.Case) }),
			document.Words("expected", func(x stats.Expected) string { return x.String() }),
			document.Words("measured", measured),
			document.Words("verdict", func(x stats.Expected) string { return string(x.Met) })),
		document.Paragraph{Text: fmt.Sprintf("Met: the whole %s interval is within the bound. Not met: the whole interval is beyond it; for errors 0, an operation failed.", document.Percent(stats.Confidence)), Quiet: true},
	}
}
