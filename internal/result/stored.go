package result

import (
	"encoding/json"
	"fmt"
)

// The questions whose answers are stored, in [Answer].Question.
const (
	QuestionAdvise  = "advise"
	QuestionCluster = "cluster"
	QuestionDiff    = "diff"
	QuestionLocks   = "locks"
	QuestionTune    = "tune"
)

// Answer is the part of an answer that does not follow from the run that it is stored with. The
// package of the question makes the text of the answer from both.
type Answer struct {
	Question string `json:"question"` // such as [QuestionTune]
	Version  int    `json:"version"`  // of Value, from 1

	// Runs has the numbers of earlier runs of the same store that the answer names. 0 is a run
	// that is not in this store.
	Runs []int64 `json:"runs,omitempty"`

	Value json.RawMessage `json:"value"` // a JSON object
}

// Unsampled says what a run has instead of samples, such as "profiles". It returns "" if the
// run was made to have samples.
func (r *Run) Unsampled() string {
	switch {
	case r.Profiles != nil:
		return "profiles"
	case r.Answer != nil && (r.Answer.Question == QuestionDiff || r.Answer.Question == QuestionCluster):
		return "the answer of " + r.Answer.Question
	}
	return ""
}

// NewAnswer returns an answer with a value, which is encoded as JSON.
func NewAnswer(question string, version int, value any, runs ...int64) (*Answer, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return &Answer{Question: question, Version: version, Runs: runs, Value: text}, nil
}

// Decode decodes the value of an answer to a question, of which versions up to newest are
// known.
func (a *Answer) Decode(question string, newest int, value any) error {
	switch {
	case a == nil || a.Question != question:
		return fmt.Errorf("it has no answer of %s", question)
	case a.Version > newest:
		return fmt.Errorf("its answer was made by a newer sqlite3perf (its version is %d, known are up to %d)", a.Version, newest)
	}
	if err := json.Unmarshal(a.Value, value); err != nil {
		return fmt.Errorf("its answer: %w", err)
	}
	return nil
}
