package diff

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Diffed compares the answers of drivers with those of the first driver.
type Diffed struct {
	Sides   []DiffSide `json:"sides"`
	Seed    uint64     `json:"seed"`
	Results []*Result  `json:"results"` // one for each side but the first
	Skipped []string   `json:"skipped,omitempty"`
	Most    int        `json:"most_executions"` // so many executions of each statement are compared

	// TimesAsText are the sides that bind no time.Time: they were passed recorded times as texts.
	TimesAsText []string `json:"times_as_text,omitempty"`
}

// DiffSide is a driver whose answers are compared.
type DiffSide struct {
	Name          string `json:"name"`
	ModuleVersion string `json:"module_version,omitempty"`
	SQLiteVersion string `json:"sqlite_version,omitempty"`
}

// DiffSideOf describes a driver by its worker's proof.
func DiffSideOf(name string, p *protocol.Proof) DiffSide {
	s := DiffSide{Name: name}
	if p != nil {
		s.ModuleVersion, s.SQLiteVersion = p.ModuleVersion, p.SQLiteVersion
	}
	return s
}

// Differ reports whether any answer differs.
func (d *Diffed) Differ() bool {
	return slices.ContainsFunc(d.Results, func(r *Result) bool { return r.Differing > 0 })
}

// Answered reports whether every comparison has a statement that returned more than an error.
func (d *Diffed) Answered() bool {
	return !slices.ContainsFunc(d.Results, func(r *Result) bool { return r.Answered() == 0 })
}

// keptVersion is the version of a [Diffed] that a run keeps.
const keptVersion = 1

// Limits of stored comparisons. Larger ones of others would take long to write.
const (
	mostSides  = 100
	mostGroups = 2000 // in all results
)

// Keep returns the comparison as it is stored. Its run has nothing else.
func (d *Diffed) Keep() (*result.Answer, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
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

// Check returns an error if the comparison contradicts itself or is too large, because others may
// have made it.
func (d *Diffed) Check() error {
	groups := 0
	if len(d.Sides) < 2 || len(d.Sides) > mostSides || len(d.Results) != len(d.Sides)-1 {
		return fmt.Errorf("it compares %d drivers in %d results", len(d.Sides), len(d.Results))
	}
	for _, r := range d.Results {
		if r == nil {
			return errors.New("a result is missing")
		}
		if r.Statements < len(r.Failing) || r.Executions < 0 || r.Most < 0 || r.Rows < 0 || r.Differing < 0 {
			return errors.New("a number is too small")
		}
		if groups += len(r.Groups); groups > mostGroups {
			return fmt.Errorf("it has more than %d groups of differences", mostGroups)
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
