package tune

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Race is one run of a search. It compares candidates, which are choices of settings.
type Race struct {
	What       string          `json:"what"`
	Run        int64           `json:"run"` // ID of the run; 0 if the store that has the answer does not have this run
	Candidates int             `json:"candidates"`
	Trials     int             `json:"trials"`
	Seconds    float64         `json:"seconds"`
	Analysis   *stats.Analysis `json:"-"` // analysis of the run; nil in a stored answer

	took time.Duration
}

// Tried is what a race showed about one value of a setting.
type Tried struct {
	Name       string          `json:"setting"`
	Value      string          `json:"value"`
	With       driver.Settings `json:"with,omitempty"` // other changes, which are the same with and without the value
	Ratio      stats.Summary   `json:"ratio,omitzero"` // time with the value, divided by the time without it
	Status     result.Status   `json:"status"`
	Why        string          `json:"why,omitempty"`         // why Status is not OK
	MoreFailed bool            `json:"more_failed,omitempty"` // operations failed significantly more often with the value than without it, or more often in every round of its race

	memory     float64 // peak resident set with the value, divided by the peak without it; 0 if unknown
	perSuccess float64 // like the median of Ratio, but with the time per successful operation
}

// String returns the setting as name=value.
func (t *Tried) String() string { return t.Name + "=" + t.Value }

// Step is a choice of settings that the search offers. It is worth setting if it is significantly faster
// than the step whose index is Before, and by at least the margin.
type Step struct {
	Changes driver.Settings    `json:"changes"`           // changes of the workloads' own settings; empty in the first step
	Added   driver.Settings    `json:"added,omitempty"`   // the difference from the step Before; the value is "" for a setting that returns to the workload's own value
	Before  int                `json:"before"`            // index of the step with which this one is compared: the last step before it that is worth setting
	CanLose string             `json:"can_lose"`          // Loss in words; set only in JSON
	Verdict string             `json:"verdict,omitempty"` // whether the step is worth setting, in words; set only in JSON
	Worth   bool               `json:"worth"`
	Ratio   stats.Summary      `json:"ratio,omitzero"` // times of this step divided by the times of the first step
	Gain    stats.Summary      `json:"gain,omitzero"`  // times of this step divided by the times of the step Before
	Memory  float64            `json:"peak_rss_bytes,omitempty"`
	Phases  []stats.PhaseRatio `json:"phases,omitempty"` // times of each phase divided by the times in the first step

	Loss       int  `json:"-"` // the worst loss of data that the step can cause, numbered as in Search.Loss
	Level      int  `json:"-"` // this step leads to the best of the candidates that risk no greater loss of data than Level
	MoreFailed bool `json:"-"` // operations failed significantly more often than in the first step
	Safer      bool `json:"-"` // the step can lose less than today's settings
}

// Finding is the result of a search. Its JSON form is part of the answer that a run stores.
type Finding struct {
	Base    driver.Settings `json:"base"` // settings in force in the first timed phase if the search changes nothing
	Loss    int             `json:"loss"` // the worst loss of data that today's settings can cause, numbered as in Search.Loss
	Most    int             `json:"-"`
	Margin  float64         `json:"margin"`
	Phase   string          `json:"phase,omitempty"` // name of the only phase whose time counts; "" if all phases count
	Steps   []*Step         `json:"-"`               // steps that the run Confirmed measured; the first step changes nothing
	Tried   []*Tried        `json:"tried"`
	Skipped []Skipped       `json:"skipped"`
	Races   []*Race         `json:"-"`

	Confirmed *stats.Analysis `json:"-"`
	Tests     int             `json:"tests,omitempty"`     // number of tests for which the intervals are corrected: one for each step, in each of at most two confirmations
	Rounds    int             `json:"-"`                   // number of rounds of the confirming run
	Took      time.Duration   `json:"took_ns"`             // time of the entire search
	Grid      int             `json:"grid"`                // number of combinations of all values that are allowed and in which every setting has an effect
	Early     bool            `json:"early,omitempty"`     // the time was over before the search was complete
	Enough    time.Duration   `json:"enough_ns,omitempty"` // time that a search would need to try one value and confirm it; 0 if there was enough time
}

// Trials returns the number of trials in all races of the search.
func (f *Finding) Trials() (n int) {
	for _, r := range f.Races {
		n += r.Trials
	}
	return n
}

// Choice returns the index of the step to recommend. The parameter "level" is the greatest loss of data
// that may be risked. Choice goes through the steps in order. It takes a step that is worth setting,
// risks no greater loss, is not Safer, and was compared with the step taken last (at first step 0, which
// changes nothing). The result is the step taken last.
func (f *Finding) Choice(level int) int {
	best := 0
	for i, s := range f.Steps {
		if i > 0 && !s.Safer && s.Level <= level && s.Worth && s.Before == best {
			best = i
		}
	}
	return best
}
