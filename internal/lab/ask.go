package lab

import (
	"context"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Answered holds a driver's answers to the statements of a job, the proof in which the worker reports
// its versions and settings, and the other parts of the job's result.
type Answered struct {
	*protocol.Answered
	Proof   *protocol.Proof
	Answers []protocol.Answer
}

// Answers makes a worker run the statements of the job r.Job.Answers on a new database. It
// returns the answers.
func Answers(ctx context.Context, executable string, r JobRequest, stop <-chan struct{}) (*Answered, error) {
	a := &Answered{}
	r.Ready = func(p *protocol.Proof) { a.Proof = p }
	r.Progress = func(p *protocol.Progress) {
		if p.Answer != nil {
			a.Answers = append(a.Answers, *p.Answer)
		}
	}
	res, err := RunJob(ctx, executable, r, stop)
	if err != nil {
		return nil, err
	}
	if res.Interrupted {
		return nil, context.Canceled
	}
	if n := int64(len(a.Answers)); n != res.Answers.Answers || a.Proof == nil {
		return nil, &JobError{protocol.Reason{Code: protocol.CodeProtocol, Message: "the worker's answers are not as many as its result says"}}
	}
	a.Answered = res.Answers
	return a, nil
}
