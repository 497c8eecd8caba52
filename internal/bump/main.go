// Bump updates the drivers to newer releases of the libraries that they use. Run it in the root of
// a clone:
//
//	go run ./internal/bump             lists newer releases and changes nothing
//	go run ./internal/bump mattn …     updates these drivers to their newest releases
//	go run ./internal/bump all         updates all drivers that have a newer release
//
// For each driver it changes go.mod, go.sum and the release in driver.json. Then it runs the
// driver's tests, which include the conformance suite, measures the old release against the new
// one, and adds a line to CHANGELOG.md. If the tests fail, the driver keeps the new release, so
// that you can fix the driver; git restore undoes the update.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"golang.org/x/mod/semver"
)

func main() {
	b := &bumper{root: ".", out: os.Stdout, tool: []string{"go", "run", "./cmd/sqlite3perf"}}
	flag.StringVar(&b.workloads, "workloads", "simple,real,point-read", "`workloads` with which the releases are compared")
	flag.StringVar(&b.time, "time", "1m", "`limit` of the time for comparing the releases of a driver")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bump:", err)
		os.Exit(1)
	}
}

// bumper updates the drivers of a clone.
type bumper struct {
	root            string
	out             io.Writer
	tool            []string // command that runs sqlite3perf, in the directory root
	workloads, time string
	builder         *build.Builder
}

// run lists newer releases, or updates the named drivers to them.
func (b *bumper) run(ctx context.Context, names []string) error {
	source, err := build.FindSource(b.root)
	if err != nil {
		return err
	}
	b.root, b.builder = source.Root, &build.Builder{Source: source}
	known, err := source.Drivers()
	if err != nil {
		return err
	}
	known = slices.DeleteFunc(known, func(k build.Known) bool { return len(k.Command) > 0 })
	for _, name := range names {
		if name != "all" && !slices.ContainsFunc(known, func(k build.Known) bool { return k.Name == name }) {
			return fmt.Errorf("unknown driver %q: want all, or a directory of drivers/ with a go.mod", name)
		}
	}
	all := slices.Contains(names, "all")
	if !all && len(names) > 0 {
		known = slices.DeleteFunc(known, func(k build.Known) bool { return !slices.Contains(names, k.Name) })
	}
	newest, failed := b.newest(ctx, known)
	if len(names) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	if all {
		failed = nil // a module whose releases cannot be looked up is not an error here, because the table names it
	}
	for _, k := range known {
		if r, ok := newest[k.Name]; ok {
			if err := b.take(ctx, k, r); err != nil {
				fmt.Fprintf(b.out, "%s: %v\n", k.Name, err)
				failed = append(failed, k.Name)
			}
		}
	}
	if failed != nil {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	return ctx.Err()
}

// newest prints the pinned and the newest release of each driver. The result "take" has the
// releases to write to driver.json, by driver: newer releases, and pinned releases that driver.json
// lacks or has with another date. The result "failed" lists the drivers whose releases cannot be
// looked up.
func (b *bumper) newest(ctx context.Context, known []build.Known) (take map[string]build.Release, failed []string) {
	take = map[string]build.Release{}
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "DRIVER\tPINNED\tNEWEST\tRELEASED")
	for _, k := range known {
		r, err := b.builder.Released(ctx, &k, "latest")
		if err == nil && semver.Compare(r.Version, k.Version) <= 0 {
			r, err = b.builder.Released(ctx, &k, k.Version) // the pinned version may be a commit that is newer than the newest release
		}
		switch {
		case err != nil:
			failed = append(failed, k.Name)
			fmt.Fprintf(w, "%s\t%s\t%v\n", k.Name, k.Version, err)
			continue
		case r.Version == k.Version:
			fmt.Fprintf(w, "%s\t%s\tpinned\t%s\n", k.Name, k.Version, r.Date)
		default:
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", k.Name, k.Version, r.Version, r.Date)
		}
		if r.Version != k.Version || k.Release == nil || *k.Release != r {
			take[k.Name] = r
		}
	}
	return take, failed
}
