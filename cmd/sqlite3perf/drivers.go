package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func driversCommand(env *environment) *cobra.Command {
	var workers workerOptions
	var features, addedCost, inFull bool
	cmd := &cobra.Command{
		Use:   "drivers [DRIVER]...",
		Short: "List the drivers, whether they can be built here, and their limits",
		Long: `Drivers lists the drivers with the version that is measured unless another is
named (mattn@v1.14.22), whether their worker is built or can be built on this
machine, and what the library cannot do or does differently. It also lists the
variants and the paths of workers that are named. If a driver of the list is named,
only what is named is listed.

A variant of a driver is another version (mattn@v1.14.22, mattn@latest), a checkout
of its library (mattn=../go-sqlite3), or has options (mattn:tags=sqlite_fts5,GOGC=400):
  tags=A+B                build tags
  cflags=FLAGS            for the C compiler, added to CGO_CFLAGS
  GOAMD64=v3, GOARM64=v8.1, GOEXPERIMENT=A+B   how Go code is built
  GOGC=400, GOMEMLIMIT=512MiB, GOMAXPROCS=1    how it is run
  env.NAME=value          an environment variable of the worker
A comma in a value is written \, there.

With --features it builds the workers that are not built yet, and lists which
parts of SQLite, such as FTS5, each driver's SQLite has, by trying them.

With --defects it builds them too, and lists the known defects of each driver's versions:
what they mean, what they need to do harm, what to do, and who says so.

With --added-cost it lists what sqlite3perf adds to the time of each library, as
it was measured against loops written by hand (docs/proofs.md).`,
		Example: `  sqlite3perf drivers
  sqlite3perf drivers ./my-worker
  sqlite3perf drivers --features
  sqlite3perf drivers --features mattn:tags=sqlite_fts5
  sqlite3perf drivers --defects zombiezen
  sqlite3perf drivers --defects mattn@v1.14.22
  sqlite3perf drivers --added-cost`,
		Args: arguments(0, -1, "the driver"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var asked []string
			for _, f := range []string{"features", "defects", "added-cost"} {
				if on, err := cmd.Flags().GetBool(f); err == nil && on {
					asked = append(asked, "--"+f)
				}
			}
			if len(asked) > 1 {
				return usagef("%s and %s exclude each other: give one of them", asked[0], asked[1])
			}
			shop, err := workers.workshop()
			if err != nil {
				return err
			}
			if addedCost {
				return listAddedCost(env.stdout, shop.known)
			}
			refs, err := shop.listed(cmd.Context(), args)
			switch {
			case err != nil:
				return err
			case features:
				return shop.listFeatures(cmd.Context(), env, refs)
			case inFull:
				return shop.listDefects(cmd.Context(), env, refs)
			}
			return shop.listDrivers(cmd.Context(), env, refs)
		},
	}
	cmd.Flags().BoolVar(&features, "features", false, "try which parts of SQLite each driver has")
	cmd.Flags().BoolVar(&inFull, "defects", false, "all that is said of the known defects of each driver")
	cmd.Flags().BoolVar(&addedCost, "added-cost", false, "what sqlite3perf adds to the time of each library")
	workers.addFlags(cmd.Flags())
	return cmd
}

// listed returns all drivers of the source tree, followed by the named variants and workers. If a
// driver of the source tree is named, it returns only the named ones.
func (s workshop) listed(ctx context.Context, named []string) ([]build.Ref, error) {
	own, err := s.refs(ctx, named...)
	if err != nil || slices.ContainsFunc(s.known, func(k build.Known) bool { return slices.Contains(named, k.Name) }) {
		return own, err
	}
	var refs []build.Ref
	for i := range s.known {
		refs = append(refs, build.Ref{Name: s.known[i].Name, Known: &s.known[i]})
	}
	return append(refs, own...), nil
}

// listDrivers prints the list of drivers, followed by notes about each.
func (s workshop) listDrivers(ctx context.Context, env *environment, refs []build.Ref) error {
	p := &prober{builder: s.builder}
	defer p.close()
	var rows [][]string
	var about strings.Builder
	for _, ref := range refs {
		var k build.Known
		var version, state string
		var err error
		if ref.Known != nil {
			k = *ref.Known
			k.Name = ref.Name
			version, state, err = s.workerState(ctx, ref)
		} else {
			var proof protocol.Proof
			k.Info, proof, err = build.DescribeRef(ctx, ref.Path, ref)
			version, state = cmp.Or(proof.ModuleVersion, "-"), ref.Name
		}
		missing, unavailable := errors.AsType[*build.BuildError](err)
		if err != nil && (!unavailable || ref.Known == nil) {
			return err
		}
		rows = append(rows, []string{k.Name, version, string(k.Kind), string(k.Interface), state})
		var lines []string
		if unavailable {
			lines = append(lines, fmt.Sprintf("unavailable: %v", missing))
		}
		for _, what := range slices.Sorted(maps.Keys(k.Limits)) {
			lines = append(lines, document.Line(what)+": "+document.Line(k.Limits[what]))
		}
		if !unavailable && ref.Name != floorDriver {
			lines = append(lines, defectLines(p.library(ctx, ref))...)
		}
		lines = append(lines, addedCostLines(k.AddedCost)...)
		if k.Optional {
			lines = append(lines, "optional: measured only where it is named, as in --drivers mattn,"+k.Name)
		}
		fmt.Fprintf(&about, "%s (%s): %s\n", document.Line(k.Name), document.Line(k.Module), document.Line(k.About))
		for _, line := range lines {
			fmt.Fprintf(&about, "  %s\n", line)
		}
	}
	if err := printTable(env.stdout, "DRIVER|VERSION|KIND|INTERFACE|WORKER", rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(env.stdout, "\n%s", about.String())
	return err
}

// workerState returns the version of a driver that would be measured, and the state of its worker.
// The error is a [*build.BuildError] if the worker cannot be built.
func (s workshop) workerState(ctx context.Context, ref build.Ref) (version, state string, err error) {
	version = cmp.Or(ref.Version, ref.Known.Version, "-")
	if ref.Dir != "" {
		version = "-"
	}
	if len(ref.Known.Command) > 0 {
		_, with, err := s.builder.Worker(ctx, ref, nil)
		if err != nil {
			return version, "unavailable", err
		}
		return with["module_version"], "found", nil
	}
	built, err := s.builder.Built(ctx, ref)
	switch {
	case err != nil:
		return version, "unavailable", err
	case built:
		return version, "built", nil
	}
	return version, "not built yet", nil
}

// listFeatures prints a table with a row for each feature, and a column for each driver whose
// worker is available.
func (s workshop) listFeatures(ctx context.Context, env *environment, refs []build.Ref) error {
	titles := []string{"FEATURE"}
	rows := make([][]string, len(driver.Features))
	for i, f := range driver.Features {
		rows[i] = []string{f.Name}
	}
	err := env.orderly(ctx, false, func(ctx context.Context, show *progress) error {
		p := &prober{builder: s.builder}
		defer p.close()
		for _, ref := range refs {
			path, _, err := s.builder.Worker(ctx, ref, func() { show.say("building the worker for %s", ref.Name) })
			if unavailable, ok := errors.AsType[*build.BuildError](err); ok {
				show.say("%s is left out: %v", ref.Name, unavailable)
				continue
			}
			if err != nil {
				return err
			}
			processes, err := p.processes()
			if err != nil {
				return err
			}
			has, err := processes.Features(ctx, ref, path)
			if err != nil {
				return err
			}
			titles = append(titles, ref.Name)
			for i := range rows {
				word := "-"
				if has[i] {
					word = "yes"
				}
				rows[i] = append(rows[i], word)
			}
		}
		return nil
	})
	if err == nil {
		err = printTable(env.stdout, strings.Join(titles, "|"), rows)
	}
	if err != nil {
		return err
	}
	for i := range s.known {
		k := &s.known[i]
		for _, key := range slices.Sorted(maps.Keys(k.Variants)) {
			fmt.Fprintf(env.stdout, "%s, %s: %[1]s:%[3]s has it\n", k.Name, key, k.Variants[key])
		}
		for _, key := range slices.Sorted(maps.Keys(k.Obtain)) {
			fmt.Fprintf(env.stdout, "%s, %s: %s\n", k.Name, key, k.Obtain[key])
		}
	}
	return nil
}

// listAddedCost prints the added cost of every driver for which it was measured, with causes for
// costs above the bound.
func listAddedCost(out io.Writer, known []build.Known) error {
	var lines, causes, not []string
	var rows [][]string
	of := map[string][]string{} // phases that a cause explains, by cause
	for _, k := range known {
		c := k.AddedCost
		if c == nil {
			continue
		}
		for _, p := range c.Phases {
			mark := ""
			if lab.AddsTooMuch(p) {
				mark = " *"
				cause := c.Causes[p.Phase]
				causes = with(causes, cause)
				of[cause] = append(of[cause], k.Name+" "+p.Phase)
			}
			rows = append(rows, []string{k.Name, p.Phase, fmt.Sprintf("%.0f ns", p.Hand), ratio(p.WallRatio), ratio(p.CPURatio), nanoseconds(p.WallAdded) + mark, nanoseconds(p.CPUAdded)})
		}
	}
	if err := printTable(out, "DRIVER|PHASE|>BY HAND|TIME, RATIO|CPU, RATIO|TIME ADDED|CPU ADDED", rows); err != nil {
		return err
	}
	for _, cause := range causes {
		lines = append(lines, fmt.Sprintf("* %s: %s", strings.Join(of[cause], ", "), cause))
	}
	for _, k := range known {
		c := k.AddedCost
		switch {
		case c != nil:
			how := fmt.Sprintf("measured %s, %s, %s", c.Measured, c.Machine, c.Runtime)
			if !slices.Contains(lines, how) {
				lines = append(lines, how)
			}
		case len(k.Command) == 0:
			not = append(not, k.Name)
		}
	}
	if not != nil {
		lines = append(lines, "not measured: "+strings.Join(not, ", "))
	}
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}

func ratio(e estimate.Estimate) string {
	return fmt.Sprintf("%.3f [%.3f, %.3f]", e.Median, e.Low, e.High)
}

func nanoseconds(e estimate.Estimate) string {
	return fmt.Sprintf("%.0f ns [%.0f, %.0f]", e.Median, e.Low, e.High)
}

// addedCostLines describes a driver's added cost, as lines for the list of drivers.
func addedCostLines(c *driver.AddedCost) []string {
	if c == nil {
		return nil
	}
	var words []string
	for _, p := range c.Phases {
		share := fmt.Sprintf("%+.1f%%", 100*(p.WallRatio.Median-1))
		if p.WallAdded.Low <= 0 && p.WallAdded.High >= 0 {
			share = "not told from 0"
		}
		words = append(words, fmt.Sprintf("%s %s (%s)", p.Phase, nanoseconds(p.WallAdded), share))
	}
	lines := []string{"sqlite3perf adds, per row or operation: " + strings.Join(words, ", ")}
	for _, phase := range slices.Sorted(maps.Keys(c.Causes)) {
		if i := slices.IndexFunc(c.Phases, func(p driver.AddedPhase) bool { return p.Phase == phase }); i >= 0 && lab.AddsTooMuch(c.Phases[i]) {
			lines = append(lines, "  "+phase+": "+c.Causes[phase])
		}
	}
	return lines
}

type prober struct {
	builder *build.Builder
	scratch *process.Scratch // directory for workers; nil until the first worker runs
}

func (p *prober) close() {
	if p.scratch != nil {
		p.scratch.Remove()
	}
}

// processes returns a runner of workers. Their directory is removed by close.
func (p *prober) processes() (*lab.Processes, error) {
	if p.scratch == nil {
		parent, err := databasesDirectory("")
		if err != nil {
			return nil, err
		}
		if p.scratch, err = newScratch(parent); err != nil {
			return nil, err
		}
	}
	return &lab.Processes{Dir: p.scratch.Dir, Limit: time.Minute}, nil
}

// library returns the versions of a driver's library without building anything. unknown is the
// reason why the version of SQLite is not known, or "".
func (p *prober) library(ctx context.Context, ref build.Ref) (l defects.Library, unknown string) {
	if ref.Known != nil {
		if built, err := p.builder.Built(ctx, ref); err != nil || !built {
			return pinnedLibrary(ref), "its worker is not built yet"
		}
	}
	l, err := p.worker(ctx, ref, nil)
	if err != nil {
		return l, document.Line(err.Error())
	}
	return l, ""
}

func (p *prober) worker(ctx context.Context, ref build.Ref, building func()) (defects.Library, error) {
	l := pinnedLibrary(ref)
	path, with, err := p.builder.Worker(ctx, ref, building)
	if err != nil {
		return l, err
	}
	if v := with["module_version"]; l.Version == "" && ref.Dir == "" {
		l.Version = v
	}
	if ref.Known == nil {
		info, proof, err := build.DescribeRef(ctx, path, ref)
		if err != nil {
			return l, err
		}
		l.Module, l.Version = cmp.Or(proof.Module, info.Module), proof.ModuleVersion
	} else if len(ref.Known.Command) == 0 {
		if l.Linked, err = p.builder.Linked(ctx, ref); err != nil {
			return l, err
		}
	}
	processes, err := p.processes()
	if err == nil {
		l.SQLite, err = processes.SQLiteVersion(ctx, ref, path)
	}
	return l, err
}

// pinnedLibrary returns the library of a driver in the version that would be measured.
func pinnedLibrary(ref build.Ref) (l defects.Library) {
	if ref.Known == nil {
		return l
	}
	l.Module = ref.Known.Module
	if ref.Dir == "" {
		l.Version = cmp.Or(ref.Version, ref.Known.Version)
	}
	return l
}

// defectLines returns a line for each known defect of a library. unknown is the reason why defects
// of SQLite are not known, or "".
func defectLines(l defects.Library, unknown string) (lines []string) {
	for _, d := range defects.Known(l) {
		lines = append(lines, fmt.Sprintf("known defect %s: %s", d.ID, d.Title))
	}
	if unknown != "" {
		lines = append(lines, "known defects of its SQLite: not known, because "+unknown)
	}
	return lines
}

func (s workshop) listDefects(ctx context.Context, env *environment, refs []build.Ref) error {
	var rows [][]string
	var all []defects.Defect
	err := env.orderly(ctx, false, func(ctx context.Context, show *progress) error {
		p := &prober{builder: s.builder}
		defer p.close()
		for _, ref := range refs {
			if ref.Name == floorDriver {
				continue // no application uses the floor driver
			}
			l, err := p.worker(ctx, ref, func() { show.say("building the worker for %s", ref.Name) })
			if _, unavailable := errors.AsType[*build.BuildError](err); err != nil && !unavailable {
				return err
			}
			var ids []string
			for _, d := range defects.Known(l) {
				ids = append(ids, d.ID)
				if !slices.ContainsFunc(all, func(other defects.Defect) bool { return other.ID == d.ID }) {
					all = append(all, d)
				}
			}
			words := cmp.Or(strings.Join(ids, ", "), "none known here")
			if err != nil {
				words = strings.Join(append(ids, "of its SQLite not known, since there is no worker"), ", ")
			}
			rows = append(rows, []string{ref.Name, cmp.Or(l.Version, "-"), cmp.Or(l.SQLite, "-"), words})
		}
		return nil
	})
	if err == nil {
		err = printTable(env.stdout, "DRIVER|VERSION|SQLITE|KNOWN DEFECTS", rows)
	}
	for _, d := range all {
		if err == nil {
			err = describeDefect(env.stdout, d)
		}
	}
	return err
}

func describeDefect(w io.Writer, d defects.Defect) error {
	_, err := fmt.Fprintf(w, "\n%s (%s): %s\n  versions    %s\n  needs       %s\n  means       %s\n  what to do  %s\n",
		d.ID, d.Effect, d.Title, conditions.DefectVersions(&d), conditions.DefectNeeds(d.Needs), d.Means, d.Do)
	for _, s := range d.Sources {
		fmt.Fprintf(w, "  source      %s\n", s)
	}
	return err
}
