package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/conformance"
)

type checkOptions struct {
	workers   cli.WorkerOptions
	dir, only string
	quiet     bool
}

func checkCommand(env *cli.Environment) *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check WORKER",
		Short: "Check that a worker, in any language, keeps the worker protocol",
		Long: `Check talks to a worker as a run does and checks each promise of the worker protocol:
messages, generated values, settings, phases, failures, jobs. For a broken promise it
shows the phase, the key, the expected value, and the limit to declare if there is one.
WORKER is the path of an executable, or a driver's name. See docs/worker-protocol.md.

Exit status: 0 every promise is kept; 4 some are not; 1 or 2 as usual.`,
		Example: "  sqlite3perf check ./my-worker\n  sqlite3perf check mattn --only generators",
		Args:    cli.Arguments(1, 1, "the worker"),
		RunE:    func(cmd *cobra.Command, args []string) error { return check(cmd.Context(), env, o, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.only, "only", "", "run only the checks whose name matches this regular `expression`")
	cli.AddDirFlag(f, &o.dir)
	o.workers.AddFlags(f)
	f.BoolVar(&o.quiet, "quiet", false, "print only the checks that fail")
	return cmd
}

func check(ctx context.Context, env *cli.Environment, o *checkOptions, name string) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return cli.Usagef("--only %q: %v: want a name or the beginning of one, such as generators", o.only, err)
	}
	if !slices.ContainsFunc(conformance.Checks(), func(c conformance.Check) bool { return only.MatchString(c.Name) }) {
		return cli.Usagef("--only %s matches no check: want messages, process, generators, settings, insert, query, mix, script, http, failures or jobs", o.only)
	}
	parent, err := cli.DatabasesDirectory(o.dir)
	if err != nil {
		return err
	}
	return env.Orderly(ctx, o.quiet, func(ctx context.Context, show *cli.Progress) error {
		s, err := o.subject(ctx, name, show)
		if err != nil {
			return err
		}
		scratch, err := cli.NewScratch(parent)
		if err != nil {
			return err
		}
		defer scratch.Remove()
		s.Dir = scratch.Dir
		show.Finish()
		return o.report(ctx, env, s, name, only)
	})
}

func (o *checkOptions) report(ctx context.Context, env *cli.Environment, s *conformance.Subject, name string, only *regexp.Regexp) error {
	fmt.Fprintf(env.Stdout, "%s (%s): %s, %s\n", document.Line(s.Info.Name), name, document.Line(string(s.Info.Kind)), document.Line(string(s.Info.Interface)))
	passed, failed := 0, 0
	err := conformance.Run(ctx, s, only.MatchString, func(check string, err error) {
		switch {
		case err != nil:
			failed++
			fmt.Fprintf(env.Stdout, "FAIL  %s: %s\n", check, strings.ReplaceAll(err.Error(), "\n", "\n      "))
		default:
			passed++
			if !o.quiet {
				fmt.Fprintf(env.Stdout, "ok    %s\n", check)
			}
		}
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, conformance.ErrUnusable):
		fmt.Fprintf(env.Stdout, "FAIL  %v\n", err)
		return cli.StatusError(cli.ExitIncomplete)
	case err != nil:
		return err
	}
	for _, limit := range conformance.NotShown(s.Info) {
		fmt.Fprintf(env.Stdout, "limit %q is declared: the protocol has no way to show it\n", limit)
	}
	fmt.Fprintf(env.Stdout, "%d of %d checks passed\n", passed, passed+failed)
	return cli.CompleteIf(failed == 0)
}

func (o *checkOptions) subject(ctx context.Context, name string, show *cli.Progress) (*conformance.Subject, error) {
	shop := cli.Workshop{Builder: &build.Builder{}}
	if !build.NamesExecutable(name) {
		var err error
		if shop, err = o.workers.Workshop(); err != nil {
			return nil, err
		}
	}
	refs, err := shop.Refs(ctx, name)
	if err != nil {
		return nil, err
	}
	ref := refs[0]
	path, _, err := shop.Builder.Worker(ctx, ref, func() { show.Say("building %s", name) })
	if err != nil {
		return nil, err
	}
	info, _, err := build.DescribeRef(ctx, path, ref)
	if err != nil {
		return nil, err
	}
	return &conformance.Subject{Ref: ref, Worker: path, Info: info}, nil
}
