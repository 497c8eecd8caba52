package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// AnswerWriter writes an answer in one of its formats.
type AnswerWriter func(w io.Writer, format string, opts document.Options) error

// PrintAnswer prints an answer to o.File or, if that is "", to standard output. The parameter "again" is the
// command that prints the answer once more. If "again" is empty, hints and errors name "the same command".
func (o *OutputOptions) PrintAnswer(env *Environment, write AnswerWriter, again string) error {
	return o.Print(env, func(w io.Writer, format string, opts document.Options) error {
		opts.Lines, opts.Hints, opts.Source = o.Screen(env), AllOfIt, o.Source
		if again != "" {
			opts.Hints = document.Hints{Rest: []document.Hint{{Shows: "all of it", Command: InStore(o.Store, again+" --full")}}}
		}
		return write(w, format, opts)
	}, o.Again(cmp.Or(again, "the same command")))
}

// ShowAgain returns the command that prints the answer of a run, given by its ID. It returns "" if the
// ID is 0, because such a run was not stored.
func ShowAgain(run int64) string {
	if run == 0 {
		return ""
	}
	return fmt.Sprintf("sqlite3perf show %d", run)
}

type keeper interface {
	Keep() (*result.Answer, error)
}

// Answer stores an answer as [Keep] does, and prints the answer.
func (o *OutputOptions) Answer(ctx context.Context, env *Environment, run *result.Run, answer keeper, write AnswerWriter) error {
	Keep(ctx, env, o.Store, run, answer)
	return o.PrintStored(env, run, write)
}

// PrintStored prints the answer of a run as PrintAnswer does.
func (o *OutputOptions) PrintStored(env *Environment, run *result.Run, write AnswerWriter) error {
	o.Source = conditions.PageSource(run)
	return o.PrintAnswer(env, write, ShowAgain(run.ID))
}

// Keep stores an answer with the run that it is about. If run.ID is 0, the run has an answer instead of
// samples and is not stored yet, so Keep also stores the run and sets run.ID. If storing fails, Keep prints
// the reason and returns no error, so that the caller still prints the answer. A new run's ID is then 0.
func Keep(ctx context.Context, env *Environment, storeFile string, run *result.Run, answer keeper) {
	begun := run.ID != 0
	if !begun {
		run.Ended, run.Stopped = env.Now().UTC(), cmp.Or(run.Stopped, result.StoppedRounds)
	}
	if err := keep(ctx, storeFile, run, answer); err != nil {
		fmt.Fprintf(env.Stderr, "the answer is not stored: %v\n", err)
		if !begun {
			run.ID = 0
		}
	}
}

func keep(ctx context.Context, storeFile string, run *result.Run, answer keeper) error {
	a, err := answer.Keep()
	if err != nil {
		return err
	}
	path, err := StorePath(storeFile)
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	defer st.Close()
	if run.ID != 0 {
		return st.SetAnswer(ctx, run.ID, a)
	}
	run.Answer = a
	return st.Begin(ctx, run)
}

// ReadStore opens a store for reading only. The parameter "file" is the store that the user named. If
// it is "", ReadStore opens the default store. It also returns the store's path.
func ReadStore(ctx context.Context, file string) (st *store.Store, path string, err error) {
	if path, err = StorePath(file); err == nil {
		st, err = store.OpenReadOnly(ctx, path)
	}
	return st, path, err
}

// MachineHere describes this machine, as far as its properties can be found out. dir is the directory
// of the databases.
func MachineHere(dir string) result.Machine {
	m, _ := machine.Read(dir)
	if m.Hostname == "" {
		m.Hostname, _ = os.Hostname()
	}
	m.Directory = dir
	return m
}

// Analyzed returns a function that loads and analyzes runs from the store in storeFile. If storeFile is
// "", it uses the default store.
func Analyzed(ctx context.Context, storeFile string) Loader {
	return func(id int64) (*stats.Analysis, error) {
		st, _, err := ReadStore(ctx, storeFile)
		if err != nil {
			return nil, err
		}
		defer st.Close()
		run, err := st.Load(ctx, id)
		if err != nil {
			return nil, err
		}
		return stats.Analyze(run, lab.Floor), nil
	}
}

// Loader loads the run with the given ID from a store, and analyzes it.
type Loader = func(run int64) (*stats.Analysis, error)

// AllOfIt is the hint on how to print everything, for commands whose answer is not stored.
var AllOfIt = document.Hints{Rest: []document.Hint{{Shows: "all of it", Command: "the same command with --full"}}}
