package tune

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Race is a run of a search.
type Race struct {
	Run        int64 // 0: it is not in this store
	What       string
	Candidates int
	Trials     int
	Took       time.Duration
	Analysis   *stats.Analysis // nil in a stored answer
}

// Tried is a change of one setting, measured in a race.
type Tried struct {
	Name, Value string
	With        driver.Settings // what else was changed, in both of the sides that Ratio is of
	Ratio       stats.Summary   // of the times with it to those without
	Memory      float64         // peak resident set with it, divided by that without; 0: not known
	Status      result.Status
	Reason      *protocol.Reason // unless Status is OK
	MoreFailed  bool             // more operations failed with it, in each round of its race

	perSuccess float64 // as Ratio, for each operation that did not fail
}

// String returns the setting as name=value.
func (t *Tried) String() string { return t.Name + "=" + t.Value }

// Step is a choice that the search offers.
type Step struct {
	Changes driver.Settings // of the workloads' own settings; none in the first step
	Added   driver.Settings // what differs from the step before; the value is "" if that of the workload is back
	Before  int             // index of the last step before that is worth it, with which it is compared
	Loss    int             // the worst that can be lost
	Level   int             // up to which loss the step is the choice, or on the way to it

	Ratio stats.Summary // of its times to those of the first step
	Gain  stats.Summary // of its times to those of the step before

	// Worth says that it is told apart as faster than the step before, and by more than the
	// margin. Without it, the choice ends with a step before.
	Worth bool

	MoreFailed bool // more operations failed than in the first step
	Memory     float64
	Phases     []stats.PhaseRatio // of the ratio to the first step

	Safer bool // less can be lost than today
}

// Finding is what a search found.
type Finding struct {
	Base    driver.Settings // what is in force today, in the first phase that is timed
	Loss    int             // the worst that can be lost today
	Most    int
	Margin  float64
	Phase   string  // the only one that counts; "": all
	Steps   []*Step // confirmed in one run, Confirmed; the first one changes nothing
	Tried   []*Tried
	Skipped []Skipped
	Races   []*Race

	Confirmed *stats.Analysis
	Tests     int           // that intervals are corrected for: the steps, in at most two confirmations
	Rounds    int           // of the confirming run
	Took      time.Duration // in all
	Grid      int           // combinations of all values that may be lost
	Early     bool          // the time was over before the search had come to an end
	Enough    time.Duration // of the search, to try one value and confirm it; 0 if there was time
}

// Trials returns how many trials the search took.
func (f *Finding) Trials() (n int) {
	for _, r := range f.Races {
		n += r.Trials
	}
	return n
}

// Choice returns the index of the last step on the way to a level that is worth it, as all
// steps before it are. It is 0 if nothing is worth setting.
func (f *Finding) Choice(level int) int {
	best := 0
	for i, s := range f.Steps {
		if i > 0 && !s.Safer && s.Level <= level && s.Worth && s.Before == best {
			best = i
		}
	}
	return best
}
