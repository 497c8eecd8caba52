package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/conformance"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// checkOptions are the flags of check as typed.
type checkOptions struct {
	workers   workerOptions
	dir, only string
	quiet     bool
}

func checkCommand(env *environment) *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check WORKER",
		Short: "Check that a worker, in any language, keeps the worker protocol",
		Long: `Check talks to a worker as a run does and says whether it keeps each promise of the
worker protocol: messages, generated values, settings, phases, failures, jobs. A
broken promise is shown with the phase, the key and what was expected, and with the
limit to declare if there is one. WORKER is the path of an executable, or a driver's
name. See docs/worker-protocol.md.

Exit status: 0 every promise is kept; 4 some are not; 1 or 2 as usual.`,
		Example: "  sqlite3perf check ./my-worker\n  sqlite3perf check mattn --only generators",
		Args:    arguments(1, 1, "the worker"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return check(cmd.Context(), env, o, args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.only, "only", "", "run only the checks whose name matches this regular `expression`")
	f.StringVar(&o.dir, "dir", "", "`directory` where databases are created and removed (default: in the user's cache directory)")
	o.workers.addFlags(f)
	f.BoolVar(&o.quiet, "quiet", false, "print only the checks that fail")
	return cmd
}

func check(ctx context.Context, env *environment, o *checkOptions, name string) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return usagef("--only %q: %v: want a name or the beginning of one, such as generators", o.only, err)
	}
	if !slices.ContainsFunc(conformance.Checks(), func(c conformance.Check) bool { return only.MatchString(c.Name) }) {
		return usagef("--only %s matches no check: want messages, process, generators, settings, insert, query, mix, script, http, failures or jobs", o.only)
	}
	parent, err := databasesDirectory(o.dir)
	if err != nil {
		return err
	}
	show := newProgress(env, o.quiet)
	defer show.finish()
	ctx, stop, release := env.interruptible(ctx, show.say, stopping)
	defer release()
	ctx = until(ctx, stop)
	s, err := o.subject(ctx, name, show)
	if err := unlessInterrupted(stop, err); err != nil {
		return err
	}
	scratch, err := process.NewScratch(parent, runDirectory)
	if err != nil {
		return fmt.Errorf("directory for databases: %w: name another with --dir", err)
	}
	defer scratch.Remove()
	s.Dir = scratch.Dir
	show.finish()
	fmt.Fprintf(env.stdout, "%s (%s): %s, %s\n", document.Line(s.Info.Name), name, document.Line(string(s.Info.Kind)), document.Line(string(s.Info.Interface)))
	passed, failed := 0, 0
	err = conformance.Run(ctx, s, only.MatchString, func(check string, err error) {
		switch {
		case err != nil:
			failed++
			fmt.Fprintf(env.stdout, "FAIL  %s: %s\n", check, strings.ReplaceAll(err.Error(), "\n", "\n      "))
		default:
			passed++
			if !o.quiet {
				fmt.Fprintf(env.stdout, "ok    %s\n", check)
			}
		}
	})
	switch {
	case interrupted(stop):
		return statusError(exitInterrupted)
	case errors.Is(err, conformance.ErrUnusable):
		fmt.Fprintf(env.stdout, "FAIL  %v\n", err)
		return statusError(exitIncomplete)
	case err != nil:
		return err
	}
	for _, limit := range conformance.NotShown(s.Info) {
		fmt.Fprintf(env.stdout, "limit %q is declared: the protocol has no way to show it\n", limit)
	}
	fmt.Fprintf(env.stdout, "%d of %d checks passed\n", passed, passed+failed)
	if failed > 0 {
		return statusError(exitIncomplete)
	}
	return nil
}

// subject finds or builds the worker.
func (o *checkOptions) subject(ctx context.Context, name string, show *progress) (*conformance.Subject, error) {
	var source build.Source
	var known []build.Known
	if !build.NamesExecutable(name) {
		var err error
		if source, known, err = o.workers.find(); err != nil {
			return nil, err
		}
	}
	b, err := o.workers.builder(source)
	if err != nil {
		return nil, err
	}
	ref, err := findDriver(ctx, b, name, known)
	if err != nil {
		return nil, err
	}
	path, _, err := b.Worker(ctx, ref, func() { show.say("building %s", name) })
	if err != nil {
		return nil, err
	}
	info, _, err := build.DescribeRef(ctx, path, ref)
	if err != nil {
		return nil, err
	}
	return &conformance.Subject{Ref: ref, Worker: path, Info: info}, nil
}
