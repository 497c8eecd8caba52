package result

import (
	"encoding/json"
	"fmt"
	"slices"
)

// The values of [Answer].Question: the names of the commands that store an answer with their run.
const (
	QuestionAdvise  = "advise"
	QuestionCluster = "cluster"
	QuestionCrash   = "crash"
	QuestionDiff    = "diff"
	QuestionGate    = "gate"
	QuestionLocks   = "locks"
	QuestionTune    = "tune"
)

// Answer is the part of a command's result that cannot be computed from the run that it is stored
// with. The command's package, such as package tune, formats its report from the answer and the
// run.
type Answer struct {
	Question string `json:"question"` // the question, such as [QuestionTune]
	Version  int    `json:"version"`  // version of the format of Value, from 1

	// Runs has the numbers of the earlier runs that the answer mentions. The number 0 means a run
	// that is not in this store.
	Runs []int64 `json:"runs,omitempty"`

	Value json.RawMessage `json:"value"` // a JSON object
}

// UnsampledQuestions lists the commands (values of [Answer].Question) whose runs have only an answer,
// and no samples.
var UnsampledQuestions = []string{QuestionCluster, QuestionCrash, QuestionDiff}

// Unsampled says what a run has instead of samples, such as "profiles". It returns "" if the run has
// samples, or was meant to have samples.
func (r *Run) Unsampled() string {
	switch {
	case r.Profiles != nil:
		return "profiles"
	case r.Answer != nil && slices.Contains(UnsampledQuestions, r.Answer.Question):
		return "the answer of " + r.Answer.Question
	}
	return ""
}

// Checker is the value of an [Answer] that can be checked for contradictions. The check is
// necessary, because somebody else may have stored the answer.
type Checker interface{ Check() error }

func check(value any) error {
	if c, ok := value.(Checker); ok {
		return c.Check()
	}
	return nil
}

// NewAnswer returns an answer whose field Value is the JSON encoding of the parameter "value", which may be a
// [Checker].
func NewAnswer(question string, version int, value any, runs ...int64) (*Answer, error) {
	if err := check(value); err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return &Answer{Question: question, Version: version, Runs: runs, Value: text}, nil
}

// Decode decodes the answer's Value into the parameter "value", and checks it if it is a [Checker]. It returns
// an error if a is nil, if a.Question is not the given question, or if a.Version is above the parameter
// "newest".
func (a *Answer) Decode(question string, newest int, value any) error {
	switch {
	case a == nil || a.Question != question:
		return fmt.Errorf("it has no answer of %s", question)
	case a.Version > newest:
		return fmt.Errorf("its answer was made by a newer sqlite3perf (its version is %d, known are up to %d)", a.Version, newest)
	}
	err := json.Unmarshal(a.Value, value)
	if err == nil {
		err = check(value)
	}
	if err != nil {
		return fmt.Errorf("its answer: %w", err)
	}
	return nil
}
