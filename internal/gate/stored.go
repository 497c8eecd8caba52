package gate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// keptVersion is the version of the JSON form of [kept].
const keptVersion = 1

// kept is the part of a gate's result that is stored with the gate's last run. It has no cells, because
// [Stored] judges them again from the gate's runs. Answer and Decision are for readers who do not have
// all of these runs.
type kept struct {
	Asked
	Answer      string         `json:"answer"`
	Decision    stats.Decision `json:"decision"`
	Max         float64        `json:"max_regression"`
	Strict      bool           `json:"strict"`
	Stored      bool           `json:"stored,omitempty"` // the baseline is stored; its run is the first of the runs in [result.Answer]
	Differences []string       `json:"differences,omitempty"`
	Apart       string         `json:"apart,omitempty"`
	Why         string         `json:"why,omitempty"`
	Interrupted bool           `json:"interrupted,omitempty"`
	Dismissed   []dismissed    `json:"dismissed,omitempty"`
}

// dismissed is a cell that was not measured again: see [stats.Gate.Dismiss].
type dismissed struct {
	Case   int          `json:"case"` // ID of the candidate's case
	Phase  string       `json:"phase"`
	Metric stats.Metric `json:"metric"`
	Why    string       `json:"why"`
	Same   bool         `json:"same,omitempty"`
}

func (d *dismissed) is(c *stats.Gated) bool {
	return c.Second.Case.ID == d.Case && c.Phase == d.Phase && c.Metric == d.Metric
}

// Keep returns the result in the form in which the gate's last run stores it.
func (g Gated) Keep() (*result.Answer, error) {
	k := kept{Asked: g.Asked, Answer: g.Answer(), Decision: g.Decision(), Max: g.Max, Strict: g.Strict, Stored: g.Base != nil,
		Differences: g.Differences, Apart: g.Apart, Why: g.Why, Interrupted: g.Interrupted}
	for _, c := range g.Cells {
		if c.Moot != "" {
			k.Dismissed = append(k.Dismissed, dismissed{c.Second.Case.ID, c.Phase, c.Metric, c.Moot, c.Excluded})
		}
	}
	var runs []int64
	for _, r := range g.measured() {
		runs = append(runs, r.ID)
	}
	if g.Report {
		runs[0] = 0
	}
	return result.NewAnswer(result.QuestionGate, keptVersion, k, runs[:len(runs)-1]...)
}

// Stored returns the result that is stored with an analyzed run. The function "load" returns the
// analysis of another run of the same store. If the store lacks one of the gate's runs, the result has
// the gate's answer, but no cells.
func Stored(own *stats.Analysis, load func(run int64) (*stats.Analysis, error)) (g Gated, err error) {
	var k kept
	if err := own.Run.Answer.Decode(result.QuestionGate, keptVersion, &k); err != nil {
		return g, err
	}
	if err := k.check(len(own.Run.Answer.Runs)); err != nil {
		return g, fmt.Errorf("its answer: %w", err)
	}
	g = Gated{Gate: stats.NewGate(k.Max), Asked: k.Asked, Differences: k.Differences, Apart: k.Apart, Why: k.Why}
	g.Baseline, g.Candidate, g.Strict = k.Sides[0], k.Sides[1], k.Strict
	for _, id := range own.Run.Answer.Runs {
		a, err := load(id)
		if err != nil {
			g.Runs, g.told = nil, k.Answer
			return g, nil
		}
		g.Runs = append(g.Runs, a)
	}
	g.Runs = append(g.Runs, own)
	if k.Stored {
		g.Base, g.Runs = g.Runs[0], g.Runs[1:]
	}
	for _, a := range g.Runs {
		if g.Base == nil && a.Run.Compares == nil {
			return g, fmt.Errorf("its answer: run %d compares nothing", a.Run.ID)
		}
	}
	g.judge(&k)
	return g, nil
}

// judge judges the cells from the runs again, in the same way as after the measurement.
func (g *Gated) judge(k *kept) {
	g.Gate = stats.NewGate(k.Max, g.Compare(g.Runs[0])...)
	g.Strict, g.Interrupted, g.Expected = k.Strict, k.Interrupted, g.Runs[0].ExpectationsOfSecond()
	for _, d := range k.Dismissed {
		for _, c := range g.Doubtful() {
			if d.is(c) {
				g.Dismiss(c, d.Why, d.Same)
			}
		}
	}
	var again []*stats.Comparison
	for _, a := range g.Runs[1:] {
		again = append(again, g.Compare(a)...)
	}
	g.Confirm(again...)
}

// check returns an error if a stored result is invalid, because the store may be from somebody else. The
// parameter "others" is the number of other runs that the result names.
func (k *kept) check(others int) error {
	switch {
	case k.Stored && others == 0:
		return errors.New("it names no baseline")
	case !slices.Contains([]stats.Decision{stats.Failed, stats.NotPassed, stats.NotExcluded, stats.Passed}, k.Decision):
		return fmt.Errorf("there is no decision %.40q", k.Decision)
	case k.Answer == "":
		return errors.New("it says nothing")
	case !(k.Max >= 0 && k.Max <= 1e6):
		return fmt.Errorf("its limit is %v", k.Max)
	case len(k.Metrics) == 0 || len(k.Metrics) > len(stats.Metrics):
		return fmt.Errorf("it judges %d metrics", len(k.Metrics))
	}
	for _, m := range k.Metrics {
		if !slices.Contains(stats.Metrics, m) {
			return fmt.Errorf("there is no metric %.40q", m)
		}
	}
	return nil
}
