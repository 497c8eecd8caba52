package advise

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// keptVersion is the version of the JSON form in which a run stores [Looked].
const keptVersion = 1

// Looked has the facts for advice that don't come from the samples.
type Looked struct {
	Footprints map[string]*result.Footprint `json:"footprints,omitempty"` // sizes and build times of workers, by the driver's name in the run
	Answers    *diff.Diffed                 `json:"answers,omitempty"`    // comparison of the drivers' answers; nil if they were not compared

	Diff    bool   `json:"diff,omitempty"`     // the user asked to compare answers
	NotDiff string `json:"not_diff,omitempty"` // why answers could not be compared
	Cold    bool   `json:"cold,omitempty"`     // the user asked for build times with an empty build cache
	Targets bool   `json:"targets,omitempty"`  // the user asked for builds for other platforms
}

// Of makes advice from an analyzed run and the other facts that l has. The parameter "unasked" lists the
// facts that were not collected. Each has the flag that collects it, or the reason why it is missing.
func Of(a *stats.Analysis, l Looked, unasked ...string) Advised {
	return Advised{Recommendation: recommend.Of(a, l.Footprints), Of: a, Answers: l.Answers, NotIn: unasked}
}

// Keep returns the facts in the form in which a run stores them. All other parts of the advice are
// computed from the samples.
func (l Looked) Keep() (*result.Answer, error) {
	return result.NewAnswer(result.QuestionAdvise, keptVersion, l)
}

// Stored returns the facts that were stored with a run of the command "advise".
func Stored(run *result.Run) (l Looked, err error) {
	err = run.Answer.Decode(result.QuestionAdvise, keptVersion, &l)
	return l, err
}

// Check returns an error if the facts contradict themselves.
func (l Looked) Check() error {
	for name, f := range l.Footprints {
		if f != nil && (f.SizeBytes < 0 || f.WarmNS < 0 || f.ColdNS < 0) {
			return fmt.Errorf("the build of %.40q: a number is below 0", name)
		}
	}
	if l.Answers == nil {
		return nil
	}
	return l.Answers.Check()
}
