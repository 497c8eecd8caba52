package tune

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Race is a run of a search.
type Race struct {
	What       string          `json:"what"`
	Run        int64           `json:"run"` // 0: it is not in this store
	Candidates int             `json:"candidates"`
	Trials     int             `json:"trials"`
	Seconds    float64         `json:"seconds"`
	Analysis   *stats.Analysis `json:"-"` // nil in a stored answer

	took time.Duration
}

// Tried is a value of a setting as it was measured in a race.
type Tried struct {
	Name       string          `json:"setting"`
	Value      string          `json:"value"`
	With       driver.Settings `json:"with,omitempty"` // what else was changed on both sides of the ratio
	Ratio      stats.Summary   `json:"ratio,omitzero"` // the times with it divided by those without
	Status     result.Status   `json:"status"`
	Why        string          `json:"why,omitempty"`         // unless the status is ok
	MoreFailed bool            `json:"more_failed,omitempty"` // more operations failed with it, in each round of its race

	memory     float64 // peak resident set with it, divided by that without; 0: not known
	perSuccess float64 // like Ratio, for each operation that did not fail
}

// String returns the setting as name=value.
func (t *Tried) String() string { return t.Name + "=" + t.Value }

// Step is a choice that the search offers. It is worth it if it is significantly faster than the
// step before, by more than the margin.
type Step struct {
	Changes driver.Settings    `json:"changes"`           // of the workloads' own settings; none in the first step
	Added   driver.Settings    `json:"added,omitempty"`   // the difference from the step before; "" if the workload's own value is back
	Before  int                `json:"before"`            // index of the step before: the last that is worth it
	CanLose string             `json:"can_lose"`          // only in JSON, as Loss in words
	Verdict string             `json:"verdict,omitempty"` // only in JSON
	Worth   bool               `json:"worth"`
	Ratio   stats.Summary      `json:"ratio,omitzero"` // of its times to those of the first step
	Gain    stats.Summary      `json:"gain,omitzero"`  // of its times to those of the step before
	Memory  float64            `json:"peak_rss_bytes,omitempty"`
	Phases  []stats.PhaseRatio `json:"phases,omitempty"` // of its times to those of the first step

	Loss       int  `json:"-"` // the worst that can be lost
	Level      int  `json:"-"` // the step is the choice, or leads to it, if so much may be lost
	MoreFailed bool `json:"-"` // more operations failed than in the first step
	Safer      bool `json:"-"` // less can be lost than today
}

// Finding is what a search found. Its JSON form is part of what a run keeps of the answer.
type Finding struct {
	Base    driver.Settings `json:"base"` // in force today, in the first phase that is timed
	Loss    int             `json:"loss"` // the worst that can be lost today
	Most    int             `json:"-"`
	Margin  float64         `json:"margin"`
	Phase   string          `json:"phase,omitempty"` // the only phase that counts; "": all
	Steps   []*Step         `json:"-"`               // confirmed in one run, Confirmed; the first one changes nothing
	Tried   []*Tried        `json:"tried"`
	Skipped []Skipped       `json:"skipped"`
	Races   []*Race         `json:"-"`

	Confirmed *stats.Analysis `json:"-"`
	Tests     int             `json:"tests,omitempty"`     // intervals are corrected for so many: the steps, in at most two confirmations
	Rounds    int             `json:"-"`                   // of the confirming run
	Took      time.Duration   `json:"took_ns"`             // in all
	Grid      int             `json:"grid"`                // number of combinations of all values that do not lose too much
	Early     bool            `json:"early,omitempty"`     // the time was over before the search had ended
	Enough    time.Duration   `json:"enough_ns,omitempty"` // a search must take so long to try one value and confirm it; 0 if there was time
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
