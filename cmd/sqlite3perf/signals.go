package main

import (
	"context"
	"os"
	"os/signal"
)

// catchInterrupts returns where each Ctrl-C comes from then on, instead of ending
// the process.
func catchInterrupts() <-chan os.Signal {
	interrupts := make(chan os.Signal, 2)
	for _, sig := range interruptSignals {
		// Under nohup a hangup is to be ignored. Ctrl-C is caught even where the
		// shell that started us in the background has it ignored.
		if sig == os.Interrupt || !signal.Ignored(sig) {
			signal.Notify(interrupts, sig)
		}
	}
	return interrupts
}

// stopping is what comes of the first Ctrl-C where there is nothing to wait for.
func stopping() string { return "stopping" }

// interruptible catches Ctrl-C: the first closes stop, and is answered with what
// comes of it then; the second ends the context. Release ends that.
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

// until is a context that ends when stop does.
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

func interrupted(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
