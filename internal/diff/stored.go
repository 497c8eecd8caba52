package diff

import (
	"errors"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// keptVersion is the version of what a run keeps of a comparison, which is all of it.
const keptVersion = 1

// Keep returns what is stored of the comparison, with a run that has nothing else.
func (d *Diffed) Keep() (*result.Answer, error) {
	return result.NewAnswer(result.QuestionDiff, keptVersion, d)
}

// Stored returns the comparison that a run has.
func Stored(run *result.Run) (*Diffed, error) {
	d := &Diffed{}
	if err := run.Answer.Decode(result.QuestionDiff, keptVersion, d); err != nil {
		return nil, err
	}
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("its answer: %w", err)
	}
	return d, nil
}

// Check returns an error if the comparison contradicts itself. It may have been made by others.
func (d *Diffed) Check() error {
	if len(d.Sides) < 2 || len(d.Results) != len(d.Sides)-1 {
		return fmt.Errorf("it compares %d drivers in %d results", len(d.Sides), len(d.Results))
	}
	for _, r := range d.Results {
		if r == nil {
			return errors.New("a result is missing")
		}
		if r.Statements < len(r.Failing) || r.Executions < 0 || r.Most < 0 || r.Rows < 0 || r.Differing < 0 {
			return errors.New("a number is too small")
		}
		for i := range r.Groups {
			g := &r.Groups[i]
			if g.Reason.Side < 0 || g.Reason.Side > 2 {
				return fmt.Errorf("there is no side %d", g.Reason.Side)
			}
			if len(g.Statements) == 0 {
				return errors.New("a group has no statement")
			}
		}
	}
	return nil
}
