package locks

import (
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// keptVersion is the version of the stored form of an explanation. A run stores only this number and no
// explanation, because [Stored] computes the explanation again from the samples.
const keptVersion = 1

// Keep returns the explanation in the form in which a run stores it.
func (l *Locks) Keep() (*result.Answer, error) {
	return result.NewAnswer(result.QuestionLocks, keptVersion, struct{}{})
}

// Stored returns the explanation that is stored with an analyzed run.
func Stored(a *stats.Analysis) (*Locks, error) {
	if err := a.Run.Answer.Decode(result.QuestionLocks, keptVersion, &struct{}{}); err != nil {
		return nil, err
	}
	return ExplainLocks(a), nil
}
