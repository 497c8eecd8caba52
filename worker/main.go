// Package worker runs one trial of one driver. It reads back the settings, runs the phases,
// times only the driver, and verifies the answers. An executable that contains exactly one
// driver calls [Main], and the lab talks to that executable with the worker protocol. The
// package does not repeat trials and does not judge results.
package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Main is the entire main function of a worker program. It serves one request of the worker
// protocol on standard input and output with driver d, and exits.
func Main(d driver.Driver) {
	if len(os.Args) > 1 {
		fmt.Fprintf(os.Stderr, "%s is the sqlite3perf worker for %s. sqlite3perf starts it. It takes no arguments, and speaks the worker protocol on standard input and output\n", os.Args[0], d.Info().Name)
		os.Exit(2)
	}
	sampleNoAllocations()
	// If the lab (the program that started this worker) has exited, writing an answer causes
	// SIGPIPE. The signal is caught, because otherwise it would end the process before the database
	// is removed.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// If the lab dies while this process is stopped, the system sends SIGHUP to this process and
	// resumes it. The process must then still remove the database.
	signal.Ignore(syscall.SIGHUP)
	// A phase may run for a long time with a context that cannot be canceled. So if the lab has
	// exited, the only way to stop the phase is to end the whole process.
	abandon := func() { os.Exit(1) }
	if err := serve(context.Background(), d, input(), os.Stdout, abandon); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Serve reads one request from r, answers on w, and returns. If a trial fails, Serve sends the
// failure as an answer and returns no error. It returns an error if it cannot read the request or
// write an answer. When r ends, the program that sent the request has exited, so Serve gives up the
// trial.
func Serve(ctx context.Context, d driver.Driver, r io.Reader, w io.Writer) error {
	return serve(ctx, d, r, w, func() {})
}

func serve(ctx context.Context, d driver.Driver, r io.Reader, w io.Writer, abandon func()) error {
	in := bufio.NewReaderSize(r, 1<<16)
	line, err := in.ReadBytes('\n')
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return fmt.Errorf("worker: no request: %w", err)
	}
	out := &answers{enc: json.NewEncoder(w)}
	var req protocol.Request
	if err := json.Unmarshal(line, &req); err != nil {
		return out.refuse("request is not understood: %v", err)
	}
	if req.Protocol != protocol.Version {
		return out.refuse("request speaks protocol %d, this worker %d", req.Protocol, protocol.Version)
	}
	if req.FilesAllowed() {
		ctx = driver.AllowFiles(ctx)
	}
	switch req.Type {
	case protocol.TypeDescribe:
		info := d.Info()
		proof := linked(info.Module, nil)
		return out.send(protocol.Response{Type: protocol.TypeInfo, Protocol: protocol.Version, Info: &info, Proof: &proof})
	case protocol.TypeTrial, protocol.TypeServe:
		if req.Plan == nil || req.Path == "" {
			return out.refuse("a trial needs a path and a plan")
		}
		t := &trial{req: &req, plan: req.Plan, drv: d, out: out}
		if req.Type == protocol.TypeServe || req.Alternate || req.Settings.Processes() > 1 {
			return t.obey(ctx, in, abandon)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() {
			_, err := io.Copy(io.Discard, in)
			t.giveUp(err, cancel, abandon)
		}()
		return t.serve(ctx)
	case protocol.TypeJob:
		if req.Job == nil || req.Path == "" {
			return out.refuse("a job needs a path and says what to do")
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		// When the input ends, the job is stopped and sends its result.
		go func() {
			_, _ = io.Copy(io.Discard, in)
			stop()
		}()
		return serveJob(ctx, d, &req, out)
	default:
		return out.refuse("unknown request %q: %s", req.Type, driver.Suggest(req.Type, []string{protocol.TypeDescribe, protocol.TypeTrial, protocol.TypeServe, protocol.TypeJob}))
	}
}

// The type "answers" writes responses, one per line.
type answers struct {
	mu  sync.Mutex
	enc *json.Encoder
}

func (a *answers) send(r protocol.Response) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.enc.Encode(r); err != nil {
		return fmt.Errorf("worker: cannot answer: %w", err)
	}
	return nil
}

// refuse sends a response which says that the request breaks the protocol.
func (a *answers) refuse(format string, args ...any) error {
	return a.send(protocol.Response{Type: protocol.TypeFailed, Reason: &protocol.Reason{Code: protocol.CodeProtocol, Message: fmt.Sprintf(format, args...)}})
}

// failure is an error with the code for the [protocol.Reason] in the answer.
type failure struct {
	code string
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failf(code, format string, args ...any) error {
	return &failure{code, fmt.Errorf(format, args...)}
}

// operationError is an error of one operation of a mix. It adds the name of the operation.
type operationError struct {
	name string
	err  error
}

func (o *operationError) Error() string { return "operation " + o.name + ": " + o.err.Error() }
func (o *operationError) Unwrap() error { return o.err }

// reasonOf converts an error to the reason that the worker sends.
func reasonOf(err error, phase string) *protocol.Reason {
	r := &protocol.Reason{Code: protocol.CodeError, Phase: phase, Message: err.Error()}
	var f *failure
	var e *driver.Error
	var j *job.Error
	var typ *driver.TypeError
	var setting *driver.SettingError
	var cannot *driver.UnsupportedError
	if errors.As(err, &e) {
		r.SQLite = e.Code
	}
	if op, ok := errors.AsType[*operationError](err); ok {
		r.Operation = op.name
	}
	switch {
	case errors.As(err, &f):
		r.Code = f.code
	case errors.As(err, &j):
		r.Code = j.Code
		if e != nil {
			r.Message = fmt.Sprintf("%s (%s)", err, driver.CodeName(e.Code))
		}
	case errors.As(err, &setting):
		r.Code, r.Message = protocol.CodeSetting, setting.Error()
	case errors.As(err, &cannot):
		r.Code = protocol.CodeUnsupported
	case errors.As(err, &typ):
		r.Code, r.Column = protocol.CodeType, typ.Column
	case e != nil:
		r.Code = protocol.CodeSQLite
		r.Message = fmt.Sprintf("%s: %s", driver.CodeName(e.Code), err)
		if e.Primary() == driver.CodeFull {
			r.Code = protocol.CodeDiskFull
		}
	}
	if wrong, ok := errors.AsType[*protocol.FieldError](err); ok {
		r.Fields, r.Message = wrong.Fields, wrong.Problem
	}
	r.Message = shorten(r.Message)
	return r
}

// shorten removes the middle of a long error message. Some libraries put the whole statement
// into their messages.
func shorten(s string) string {
	const most, end = 600, 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-end], "") + " … " + strings.ToValidUTF8(s[len(s)-end:], "")
}
