// Package cli has what the subcommands share: streams and signals, groups of flags and where their
// defaults come from, where results go, exit statuses, progress, and how workers are found.
package cli

import (
	"errors"
	"fmt"
	"slices"
)

// The exit statuses that `sqlite3perf --help` lists.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitRegression  = 3
	ExitIncomplete  = 4
	ExitInterrupted = 130
)

// UsageError is an error in the command line.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// WrongUsage returns an error with the exit status of wrong usage, or nil if err is nil.
func WrongUsage(err error) error {
	if err == nil {
		return nil
	}
	return UsageError{err}
}

func Usagef(format string, args ...any) error { return WrongUsage(fmt.Errorf(format, args...)) }

// IncompleteError is the reason why nothing can be measured.
type IncompleteError struct{ error }

func (e IncompleteError) Unwrap() error { return e.error }

// Incomplete returns an error with the exit status of a command that measured nothing, or nil if err is nil.
func Incomplete(err error) error {
	if err == nil {
		return nil
	}
	return IncompleteError{err}
}

// CompleteIf returns nil if an answer is complete and good, and otherwise the exit status of an incomplete
// answer.
func CompleteIf(complete bool) error {
	if complete {
		return nil
	}
	return StatusError(ExitIncomplete)
}

// StatusError is an exit status without a message, because all messages have been printed.
type StatusError int

func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// StatusOf returns the exit status of a command that ends with an error, or with nil.
func StatusOf(err error) int {
	var status StatusError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &status):
		return int(status)
	case errors.As(err, new(UsageError)):
		return ExitUsage
	case errors.As(err, new(IncompleteError)):
		return ExitIncomplete
	}
	return ExitFailed
}

// Worst returns the worst exit status of several failures, or nil if there are none. The
// messages of the failures have already been printed.
func Worst(failures []error) error {
	order := []int{ExitOK, ExitIncomplete, ExitUsage, ExitRegression, ExitFailed, ExitInterrupted}
	worst := 0
	for _, err := range failures {
		worst = max(worst, slices.Index(order, StatusOf(err)))
	}
	if worst == 0 {
		return nil
	}
	return StatusError(order[worst])
}

// InOrder calls steps until one returns an error, and returns that error.
func InOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
