package main

import (
	"context"
	"os"
	"os/signal"
)

// catchInterrupts returns a channel that receives each Ctrl-C from then on. Ctrl-C no
// longer ends the process.
func catchInterrupts() <-chan os.Signal {
	interrupts := make(chan os.Signal, 2)
	for _, sig := range interruptSignals {
		// Under nohup a hangup must be ignored. Ctrl-C is caught even if a shell
		// that started the command in the background made it ignore Ctrl-C.
		if sig == os.Interrupt || !signal.Ignored(sig) {
			signal.Notify(interrupts, sig)
		}
	}
	return interrupts
}

// stopping says what the first Ctrl-C does if there is nothing to wait for.
func stopping() string { return "stopping" }

// stoppingTrials says what the first Ctrl-C does: nothing waits for the end of a trial
// until trials are measured.
func stoppingTrials(measuring func() bool) func() string {
	return func() string {
		if measuring() {
			return "stopping when the current trial has ended"
		}
		return stopping()
	}
}

// interruptible catches Ctrl-C. The first one closes stop, and what says what will
// happen. The second one ends the context. release stops catching.
func (env *environment) interruptible(ctx context.Context, say func(format string, args ...any), what func() string) (_ context.Context, stop <-chan struct{}, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	interrupts := env.catch()
	go func() {
		select {
		case <-interrupts:
		case <-ctx.Done():
			return
		}
		close(stopped)
		say("%s; Ctrl-C again stops at once", what())
		select {
		case <-interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, stopped, cancel
}

// until returns a context that ends when stop is closed.
func until(ctx context.Context, stop <-chan struct{}) context.Context {
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

// unlessInterrupted returns err, or the exit status of an interruption if there was one.
func unlessInterrupted(stop <-chan struct{}, err error) error {
	if interrupted(stop) {
		return statusError(exitInterrupted)
	}
	return err
}

func interrupted(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
