package lab

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// JobRequest asks a worker to do a job on the database at Path: the user's database or a new database.
type JobRequest struct {
	Job      protocol.Job
	Path     string
	Settings driver.Settings
	Seed     uint64
	Ref      build.Ref // driver to which the worker belongs
	Mark     string    // text that marks the worker's processes (see [process.MarkVariable]); "": a new text

	// Limit is how long the job may take; 0: no limit. Time in which this process is stopped
	// does not count.
	Limit time.Duration

	// Through returns the program that starts the worker, and the arguments of that program. If Through is
	// nil, the worker is started directly.
	Through func(executable string, args []string) (string, []string)

	Ready    func(*protocol.Proof)      // called when the database is open and the settings are verified; may be nil
	Progress func(p *protocol.Progress) // called for each report of progress; may be nil
}

// JobError says why a worker did not do a job.
type JobError struct{ Reason protocol.Reason }

func (e *JobError) Error() string { return e.Reason.Message }

// RunJob starts a worker and makes it do a job. When the channel "stop" is closed, the worker is asked to stop,
// and the result covers the work done until then. When ctx ends, the worker is killed. If the worker gives a
// reason why it has not done the job, the error is a [*JobError]. In this case, there may also be a result,
// which describes the part of the job that was done.
func RunJob(ctx context.Context, executable string, r JobRequest, stop <-chan struct{}) (*protocol.JobResult, error) {
	path, err := filepath.Abs(r.Path)
	if err != nil {
		return nil, err
	}
	given := ctx
	ctx, cancelCause := context.WithCancelCause(ctx)
	cancel := func() { cancelCause(nil) }
	defer cancel()
	if r.Limit > 0 {
		limit := process.NewAlarm(r.Limit, func() { cancelCause(errTimeout) })
		defer limit.Stop()
	}
	args := r.Ref.Args()
	if r.Through != nil {
		executable, args = r.Through(executable, args)
	}
	w, err := process.Start(ctx, executable, args, "", cmp.Or(r.Mark, process.NewMark()), r.Ref.Elsewhere(), r.Ref.Env()...)
	if err != nil {
		return nil, fmt.Errorf("the worker does not start: %w", err)
	}
	begin := time.Now()
	w.Send(protocol.Request{
		Type: protocol.TypeJob, Protocol: protocol.Version, Seed: r.Seed, Path: path, Settings: r.Settings, Job: &r.Job, Environment: r.Ref.Variables(),
	})
	ended := make(chan struct{})
	go func() {
		select {
		case <-stop:
			w.Input.Close()
		case <-ended:
		}
	}()
	res, err := hearJob(w.Lines(), &r, begin)
	close(ended)
	if told, ok := errors.AsType[*JobError](err); ok && (told.Reason.Code == protocol.CodeProtocol || told.Reason.Code == protocol.CodeVariant) {
		cancel() // the worker's further answers are not needed
	}
	exit := process.NewAlarm(process.ExitGrace, cancel)
	werr := w.End()
	exit.Stop()
	switch {
	case err == nil && res != nil:
		return res, nil
	case given.Err() != nil:
		return nil, given.Err() // ignore the output of a worker that is being killed
	case errors.Is(context.Cause(ctx), errTimeout):
		return nil, &JobError{protocol.Reason{Code: protocol.CodeTimeout, Message: fmt.Sprintf("no end within the trial's limit of %v", r.Limit), Detail: w.Errors()}}
	case err != nil:
		return res, err
	}
	message := "the worker exited before it had answered"
	if werr != nil {
		message = w.Death(werr)
	}
	return nil, &JobError{protocol.Reason{Code: protocol.CodeCrash, Message: message, Detail: w.Errors()}}
}

// hearJob reads a worker's answers to a request, up to the last answer. The parameter "begin" is the time at
// which the request was sent. If the worker ends without a last answer, hearJob returns nil without an error,
// because the worker's exit status says more about the cause.
func hearJob(lines *bufio.Scanner, r *JobRequest, begin time.Time) (*protocol.JobResult, error) {
	unusable := func(format string, args ...any) error {
		return &JobError{protocol.Reason{Code: protocol.CodeProtocol, Message: fmt.Sprintf(format, args...)}}
	}
	for lines.Scan() {
		var a protocol.Response
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return nil, unusable("the worker's answer is not understood: %v: %.80q", err, lines.Text())
		}
		switch {
		case a.Type == protocol.TypeReady && a.Protocol != protocol.Version:
			return nil, unusable("the worker speaks protocol %d, this sqlite3perf %d: rebuild the worker", a.Protocol, protocol.Version)
		case a.Type == protocol.TypeReady && a.Proof != nil:
			if bad := driver.Differences(r.Settings, a.Proof.Connections, nil); bad != "" {
				return nil, unusable("%s: the worker did not notice it", bad)
			}
			if bad := r.Ref.Unproven(a.Proof); bad != "" {
				return nil, &JobError{protocol.Reason{Code: protocol.CodeVariant, Message: bad}}
			}
			if r.Ready != nil {
				r.Ready(a.Proof)
			}
		case a.Type == protocol.TypeProgress && a.Progress != nil:
			if r.Progress != nil {
				r.Progress(a.Progress)
			}
		case a.Type == protocol.TypeResult && a.Result != nil:
			if a.Result.Interrupted {
				return a.Result, nil
			}
			if faults := CheckJob(&r.Job, a.Result, time.Since(begin)); len(faults) > 0 {
				return nil, unusable("%s", faults[0].Message)
			}
			return a.Result, nil
		case a.Type == protocol.TypeFailed && a.Reason != nil:
			return a.Result, &JobError{*a.Reason}
		default:
			return nil, unusable("the worker answered a job with %.80q", lines.Text())
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, os.ErrClosed) {
		return nil, unusable("reading the worker's answers: %v", err)
	}
	return nil, nil
}

// Answered holds a driver's answers to the statements of a job, the proof in which the worker reports
// its versions and settings, and the other parts of the job's result.
type Answered struct {
	*protocol.Answered
	Proof   *protocol.Proof
	Answers []protocol.Answer
}

// Answers makes a worker run the statements of the job r.Job.Answers on a new database. It
// returns the answers.
func Answers(ctx context.Context, executable string, r JobRequest) (*Answered, error) {
	a := &Answered{}
	r.Ready = func(p *protocol.Proof) { a.Proof = p }
	r.Progress = func(p *protocol.Progress) {
		if p.Answer != nil {
			a.Answers = append(a.Answers, *p.Answer)
		}
	}
	res, err := RunJob(ctx, executable, r, nil)
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
