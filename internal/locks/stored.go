package locks

import (
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// keptVersion is the version of what a run keeps of an explanation. All of it follows from the
// samples.
const keptVersion = 1

// Keep returns what is stored of the explanation, with its run.
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
