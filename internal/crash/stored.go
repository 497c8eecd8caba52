package crash

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// JSONCrashes is the JSON form of [Crashes].
type JSONCrashes struct {
	Version  int              `json:"version"`
	Answer   string           `json:"answer"`
	Machine  result.Machine   `json:"machine"`
	Warnings []result.Warning `json:"warnings,omitempty"` // warnings about the machine
	*Crashes
}

// keptVersion is the version of the JSON form in which a run stores [Crashes].
const keptVersion = 1

// Keep returns c in the form in which a run stores it. The machine and warnings are not included,
// because the run has them.
func (c *Crashes) Keep() (*result.Answer, error) {
	return result.NewAnswer(result.QuestionCrash, keptVersion, c)
}

// Stored returns the [Crashes] that are stored with a run.
func Stored(run *result.Run) (*Crashes, error) {
	c := &Crashes{}
	if err := run.Answer.Decode(result.QuestionCrash, keptVersion, c); err != nil {
		return nil, err
	}
	c.Machine, c.Warnings = run.Machine, run.Warnings
	return c, nil
}

// mostCells is how many cells a stored answer may have. A store from somebody else may have more, which
// would take too long to show.
const mostCells = 2000

// Check returns an error if values of c, which may come from a store, contradict each other.
func (c *Crashes) Check() error {
	if len(c.Judges) == 0 || len(c.Cells) == 0 || len(c.Cells) > mostCells || len(c.Proofs) > mostCells || len(c.Attach) > mostCells {
		return fmt.Errorf("it has %d cells", len(c.Cells))
	}
	for _, f := range c.Faults {
		if !slices.Contains(Faults, f) {
			return fmt.Errorf("there is no fault %q", document.Line(string(f)))
		}
	}
	for i := range c.Cells {
		if err := c.Cells[i].check(); err != nil {
			return fmt.Errorf("cell %d: %w", i+1, err)
		}
	}
	return nil
}

func (c *Cell) check() error {
	for name, value := range c.Settings {
		if canonical, err := driver.ParseSetting(name, value); err != nil || canonical != value {
			return fmt.Errorf("%s=%s is not a setting", document.Line(name), document.Line(value))
		}
	}
	n := c.Cost
	if n.Transactions < 0 || n.Syncs < 0 || n.DataSyncs < 0 || n.DirSyncs < 0 || n.Writes < 0 || n.Bytes < 0 || c.CommitNS < 0 {
		return errors.New("a number is negative")
	}
	for f, o := range c.Results {
		if !slices.Contains(Faults, f) || o == nil {
			return fmt.Errorf("there is no result of the fault %q", document.Line(string(f)))
		}
		if o.Lost < 0 || o.Broken < 0 || o.Others < 0 || o.States < o.Lost+o.Broken || o.MostLost < 0 || len(o.Failing) > mostFailures {
			return errors.New("the numbers of states contradict each other")
		}
	}
	return nil
}
