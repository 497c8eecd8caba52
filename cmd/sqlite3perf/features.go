package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// listFeatures prints a line for each feature. It has a column for each driver whose
// worker is available, and for each that is named.
func listFeatures(ctx context.Context, env *environment, b *build.Builder, known []build.Known, named []string) error {
	refs, err := listed(ctx, b, known, named)
	if err != nil {
		return err
	}
	show := newProgress(env, false)
	defer show.finish()
	ctx, stop, release := env.interruptible(ctx, show.say, stopping)
	defer release()
	names, has, err := tryFeatures(until(ctx, stop), b, refs, show.say)
	if err := unlessInterrupted(stop, err); err != nil {
		return err
	}
	show.finish()
	if err := featureTable(env.stdout, names, has); err != nil {
		return err
	}
	for i := range known {
		k := &known[i]
		for _, key := range slices.Sorted(maps.Keys(k.Variants)) {
			fmt.Fprintf(env.stdout, "%s, %s: %[1]s:%[3]s has it\n", k.Name, key, k.Variants[key])
		}
		for _, key := range slices.Sorted(maps.Keys(k.Obtain)) {
			fmt.Fprintf(env.stdout, "%s, %s: %s\n", k.Name, key, k.Obtain[key])
		}
	}
	return nil
}

// tryFeatures asks every driver whose worker is available. names are the drivers' names,
// and has holds their answers to [driver.Features].
func tryFeatures(ctx context.Context, b *build.Builder, refs []build.Ref, say func(string, ...any)) (names []string, has [][]bool, err error) {
	parent, err := databasesDirectory("")
	if err != nil {
		return nil, nil, err
	}
	scratch, err := process.NewScratch(parent, runDirectory)
	if err != nil {
		return nil, nil, err
	}
	defer scratch.Remove()
	p := &lab.Processes{Dir: scratch.Dir, Limit: time.Minute}
	for _, ref := range refs {
		path, _, err := b.Worker(ctx, ref, func() { say("building the worker for %s", ref.Name) })
		var unavailable *build.BuildError
		if errors.As(err, &unavailable) {
			say("%s is left out: %v", ref.Name, unavailable)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		answers, err := p.Features(ctx, ref, path)
		if err != nil {
			return nil, nil, err
		}
		names, has = append(names, ref.Name), append(has, answers)
	}
	return names, has, nil
}

func featureTable(out io.Writer, names []string, has [][]bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "FEATURE\t%s\n", strings.Join(names, "\t"))
	for i, f := range driver.Features {
		fmt.Fprint(w, f.Name)
		for d := range names {
			word := "-"
			if has[d][i] {
				word = "yes"
			}
			fmt.Fprint(w, "\t"+word)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
