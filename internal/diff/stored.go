package diff

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Diffed has comparisons of the first driver's answers with those of each other driver.
type Diffed struct {
	Sides   []DiffSide `json:"sides"`
	Seed    uint64     `json:"seed"`
	Results []*Result  `json:"results"` // one result for each side except the first
	Skipped []string   `json:"skipped,omitempty"`
	Most    int        `json:"most_executions"` // greatest number of executions of each statement that are compared

	// TimesAsText lists the sides that cannot bind a time.Time. Recorded times were passed to them
	// as texts.
	TimesAsText []string `json:"times_as_text,omitempty"`
}

// DiffSide is a driver whose answers are compared.
type DiffSide struct {
	Name          string `json:"name"`
	ModuleVersion string `json:"module_version,omitempty"`
	SQLiteVersion string `json:"sqlite_version,omitempty"`
}

// DiffSideOf describes a driver by the versions that its worker reported.
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

// Answered reports whether each comparison has a statement that returned something other than an
// error.
func (d *Diffed) Answered() bool {
	return !slices.ContainsFunc(d.Results, func(r *Result) bool { return r.Answered() == 0 })
}

// keptVersion is the version of the JSON form in which a run stores a [Diffed].
const keptVersion = 1

// Limits of stored comparisons. A comparison may come from somebody else's store, and a larger
// comparison would take too long to show.
const (
	mostSides  = 100
	mostGroups = 2000 // groups in all results together
)

// Keep returns the comparison in the form in which a run stores it. Such a run has no samples.
func (d *Diffed) Keep() (*result.Answer, error) {
	return result.NewAnswer(result.QuestionDiff, keptVersion, d)
}

// Stored returns the comparison that is stored with a run.
func Stored(run *result.Run) (*Diffed, error) {
	d := &Diffed{}
	return d, run.Answer.Decode(result.QuestionDiff, keptVersion, d)
}

// Check returns an error if the comparison contradicts itself or exceeds the limits.
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
		for _, g := range r.Groups {
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
