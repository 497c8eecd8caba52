package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// signals handles the signals that would otherwise end the process immediately.
type signals struct {
	// interrupts receives each Ctrl-C after the method catch was called. Before that, Ctrl-C removes
	// the process's temporary files and ends it.
	interrupts chan os.Signal
	caught     atomic.Bool
}

// OwnedVariable is an environment variable. If it is set, the end of standard input has the effect of
// Ctrl-C. A process sets this variable for its child processes, so that they end when the process ends.
const OwnedVariable = "SQLITE3PERF_OWNED"

func watchSignals() *signals {
	s := &signals{interrupts: make(chan os.Signal, 2)}
	early := make(chan os.Signal, 2)
	for _, sig := range interruptSignals {
		if !signal.Ignored(sig) {
			signal.Notify(early, sig)
		}
	}
	go func() {
		for sig := range early {
			if !s.caught.Load() {
				endBy(sig)
			}
			select {
			case s.interrupts <- sig:
			default: // two signals have not been read yet, so this signal is dropped
			}
		}
	}()
	if os.Getenv(OwnedVariable) != "" {
		os.Unsetenv(OwnedVariable) // the variable is not meant for processes that this process starts
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			early <- os.Interrupt
		}()
	}
	catchPipes()
	return s
}

// catch returns a channel that receives each later Ctrl-C. After this call, Ctrl-C no longer ends the
// process.
func (s *signals) catch() <-chan os.Signal {
	// Under nohup, hangups stay ignored. Ctrl-C is caught even if a shell that started the command
	// in the background made the command ignore it.
	if !s.caught.Swap(true) && signal.Ignored(os.Interrupt) {
		signal.Notify(s.interrupts, os.Interrupt)
	}
	return s.interrupts
}

// endBy ends the process as if by the signal sig, after removing temporary files.
func endBy(sig os.Signal) {
	process.RemoveScratches()
	raise(sig)
	os.Exit(ExitFailed)
}

// outlet is standard output or standard error. If the reader has gone away, as the program head does after
// some lines, a write ends the process. If the field "outlives" is true, the write returns an error
// instead.
type outlet struct {
	file     *os.File
	outlives *atomic.Bool
}

func (o outlet) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if errors.Is(err, syscall.EPIPE) && !o.outlives.Load() {
		process.RemoveScratches()
		signal.Reset(syscall.SIGPIPE)
		return o.file.Write(p[n:]) // this write ends the process
	}
	return n, err
}

// OutliveReaders makes later writes to a reader that has gone away return an error instead of
// ending the process.
func (env *Environment) OutliveReaders() { env.outlives.Store(true) }

// Unread reports whether err only means that, after Ctrl-C, the reader of the output has gone away.
func (env *Environment) Unread(err error) bool {
	return env.Interrupted.Load() && errors.Is(err, syscall.EPIPE)
}

// Stopping returns the message to print after the first Ctrl-C if there is nothing to wait for.
func Stopping() string { return "stopping" }

// StoppingTrials returns a function for [Environment.Interruptible]. That function returns the
// message to print after the first Ctrl-C of a run. While trials are measured, the message says
// that the current trials are finished first.
func StoppingTrials(measuring func() bool) func() string {
	return func() string {
		if measuring() {
			return "stopping when the current trials have ended"
		}
		return Stopping()
	}
}

// Interruptible catches Ctrl-C. The first Ctrl-C closes the channel "stop". It also calls the function
// "what" and prints the returned message with the function "say". The second Ctrl-C ends the returned
// context. The function "release" ends the context. If there was a Ctrl-C, "release" waits until the
// message has been printed.
func (env *Environment) Interruptible(ctx context.Context, say func(format string, args ...any), what func() string) (_ context.Context, stop <-chan struct{}, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	interrupts := env.Catch()
	silent := make(chan struct{}) // closed when there is nothing more to print
	go func() {
		select {
		case <-interrupts:
		case <-ctx.Done():
			close(silent)
			return
		}
		env.Interrupted.Store(true)
		message := what()
		close(stopped)
		say("%s; Ctrl-C again stops at once", message)
		close(silent)
		select {
		case <-interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, stopped, func() {
		cancel()
		<-silent
	}
}

// Until returns a context that ends when the channel "stop" is closed or receives a value, or when ctx
// ends.
func Until[T any](ctx context.Context, stop <-chan T) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-stop:
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx
}

// UnlessInterrupted returns the exit status of an interruption if there was a Ctrl-C, and otherwise err.
func UnlessInterrupted(stop <-chan struct{}, err error) error {
	if Interrupted(stop) {
		return StatusError(ExitInterrupted)
	}
	return err
}

// Interrupted reports whether there was a Ctrl-C, which closes the channel "stop".
func Interrupted(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// Orderly runs the function "work". The first Ctrl-C cancels the context that "work" gets. Orderly returns
// [ExitInterrupted] as a [StatusError] if there was a Ctrl-C, and otherwise the error of "work".
func (env *Environment) Orderly(ctx context.Context, quiet bool, work func(context.Context, *Progress) error) error {
	show := NewProgress(env, quiet)
	defer show.Finish()
	ctx, stop, release := env.Interruptible(ctx, show.Say, Stopping)
	defer release()
	err := work(Until(ctx, stop), show)
	return UnlessInterrupted(stop, err)
}
