package build

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// DescribeLimit is how long an executable may take to answer Describe.
const DescribeLimit = 30 * time.Second

// Describe asks a worker executable to describe itself. If the answer is missing or invalid,
// the error is a [*BuildError].
func Describe(ctx context.Context, executable string, args ...string) (driver.Info, protocol.Proof, error) {
	a, stderr, err := describe(ctx, executable, args)
	switch {
	case ctx.Err() != nil:
		return driver.Info{}, protocol.Proof{}, ctx.Err()
	case err != nil:
	case a.Type == protocol.TypeFailed && a.Reason != nil:
		err = errors.New(a.Reason.Message)
	case a.Type == protocol.TypeInfo && a.Info == nil:
		err = errors.New("its answer lacks the info")
	case a.Type != protocol.TypeInfo:
		err = fmt.Errorf("it answers %q instead of %q", a.Type, protocol.TypeInfo)
	case a.Protocol != protocol.Version:
		err = fmt.Errorf("it speaks protocol %d, this sqlite3perf %d: rebuild one of them", a.Protocol, protocol.Version)
	}
	if err != nil {
		return driver.Info{}, protocol.Proof{}, &BuildError{Reason: protocol.Reason{
			Code: protocol.CodeStart, Message: fmt.Sprintf("%s does not answer as a worker: %v", strings.Join(append([]string{executable}, args...), " "), err), Detail: stderr,
		}}
	}
	proof := protocol.Proof{}
	if a.Proof != nil {
		proof = *a.Proof
	}
	return *a.Info, proof, nil
}

// DescribeRef is [Describe] for a driver that a user named. If there is a driver.json in the directory
// of the executable, DescribeRef returns the info in that file instead of the info from the executable.
func DescribeRef(ctx context.Context, executable string, ref Ref) (driver.Info, protocol.Proof, error) {
	info, proof, err := Describe(ctx, executable, ref.Args()...)
	if err == nil && ref.Beside != nil {
		info = *ref.Beside
	}
	return info, proof, err
}

// describe returns the worker's first answer and its output on stderr.
func describe(ctx context.Context, executable string, args []string) (a protocol.Response, stderr string, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	limit := process.NewAlarm(DescribeLimit, func() { end(fmt.Errorf("no answer within %v", DescribeLimit)) })
	defer limit.Stop()
	w, err := process.Start(ctx, executable, args, "", process.NewMark(), false)
	if err != nil {
		return a, "", err
	}
	w.Send(protocol.Request{Type: protocol.TypeDescribe, Protocol: protocol.Version})
	lines := w.Lines()
	answered := lines.Scan()
	if answered && json.Unmarshal(lines.Bytes(), &a) != nil {
		err = fmt.Errorf("it printed no protocol line: %.80q", lines.Bytes())
	}
	if answered || errors.Is(lines.Err(), bufio.ErrTooLong) {
		end(lines.Err()) // the worker is not needed any longer
	}
	switch exit := w.End(); {
	case answered:
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case process.ExitedWell(exit):
		err = errors.New("it exits without an answer")
	default:
		err = exit
	}
	return a, w.Errors(), err
}
