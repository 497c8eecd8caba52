package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func driversCommand(env *cli.Environment) *cobra.Command {
	o := &driversOptions{}
	cmd := &cobra.Command{
		Use:   "drivers [DRIVER]...",
		Short: "List the drivers, whether they can be built here, and their limits",
		Long: `Drivers lists the drivers with the version that is measured unless another is
named (mattn@v1.14.22), whether their worker is built or can be built on this
machine, and what the library cannot do or does differently. It also lists the
variants and the paths of workers that are named. If a driver of the list is named,
only what is named is listed. A terminal gets the table; drivers NAME prints the rest of
one driver, and --full that of all.

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
  sqlite3perf drivers mattn
  sqlite3perf drivers ./my-worker
  sqlite3perf drivers --features
  sqlite3perf drivers --features mattn:tags=sqlite_fts5
  sqlite3perf drivers --defects zombiezen
  sqlite3perf drivers --defects mattn@v1.14.22
  sqlite3perf drivers --added-cost`,
		Args: cli.Arguments(0, -1, "the driver"),
		RunE: func(cmd *cobra.Command, args []string) error { return listDrivers(cmd, env, o, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.features, "features", false, "try which parts of SQLite each driver has")
	f.BoolVar(&o.defects, "defects", false, "all that is said of the known defects of each driver")
	f.BoolVar(&o.addedCost, "added-cost", false, "what sqlite3perf adds to the time of each library")
	o.workers.AddFlags(f)
	o.output.AddFlags(f)
	o.output.AddFullFlag(f)
	o.output.SetFormats("how the list is printed", driversFormats.Names(), driversFormats.Check)
	return cmd
}

type driversOptions struct {
	workers                      cli.WorkerOptions
	output                       cli.OutputOptions
	features, defects, addedCost bool
}

func listDrivers(cmd *cobra.Command, env *cli.Environment, o *driversOptions, args []string) error {
	var asked []string
	for _, f := range []string{"features", "defects", "added-cost"} {
		if on, err := cmd.Flags().GetBool(f); err == nil && on {
			asked = append(asked, "--"+f)
		}
	}
	if len(asked) > 1 {
		return cli.Usagef("%s and %s exclude each other: give one of them", asked[0], asked[1])
	}
	if err := o.output.Check(); err != nil {
		return err
	}
	shop, err := o.workers.Workshop()
	if err != nil {
		return err
	}
	if o.addedCost {
		return printDrivers(env, &o.output, addedCostTable(shop.Known), false)
	}
	refs, err := listed(cmd.Context(), shop, args)
	if err != nil {
		return err
	}
	fits := len(refs) > len(args)
	if o.features || o.defects {
		fits = false
	}
	d, err := o.list(cmd.Context(), env, shop, refs)
	if err != nil {
		return err
	}
	return printDrivers(env, &o.output, d, fits)
}

// list returns what the flags ask for.
func (o *driversOptions) list(ctx context.Context, env *cli.Environment, shop cli.Workshop, refs []build.Ref) (d document.Document, err error) {
	c := &driverCatalog{Builder: shop.Builder, Known: shop.Known, Naming: "--drivers", Scratch: func() (*process.Scratch, error) {
		parent, err := cli.DatabasesDirectory("")
		if err != nil {
			return nil, err
		}
		return cli.NewScratch(parent)
	}}
	defer c.Close()
	if !o.features && !o.defects {
		return c.Drivers(ctx, refs)
	}
	err = env.Orderly(ctx, false, func(ctx context.Context, show *cli.Progress) (err error) {
		c.Note = show.Say
		if o.features {
			d, err = c.Features(ctx, refs)
		} else {
			d, err = c.Defects(ctx, refs)
		}
		return err
	})
	return d, err
}

// listed returns all drivers of the source tree, followed by the named variants and workers. If a
// driver of the source tree is named, it returns only the named ones.
func listed(ctx context.Context, s cli.Workshop, named []string) ([]build.Ref, error) {
	own, err := s.Refs(ctx, named...)
	if err != nil || slices.ContainsFunc(s.Known, func(k build.Known) bool { return slices.Contains(named, k.Name) }) {
		return own, err
	}
	var refs []build.Ref
	for i := range s.Known {
		refs = append(refs, build.Ref{Name: s.Known[i].Name, Known: &s.Known[i]})
	}
	return append(refs, own...), nil
}

var driversFormats = document.Question[document.Document]{Name: "list of drivers", Fits: true,
	Document: func(d document.Document, _ document.Options) document.Document { return d }}.Formats()

// printDrivers prints a list of drivers. If fits is set, a terminal gets as much of it as fits.
// Elsewhere no line is wrapped.
func printDrivers(env *cli.Environment, o *cli.OutputOptions, d document.Document, fits bool) error {
	return o.Print(env, func(w io.Writer, format string, opts document.Options) error {
		opts.Width = cmp.Or(opts.Width, document.Unlimited)
		opts.Hints.Rest = []document.Hint{{Shows: "details", Command: "sqlite3perf drivers NAME"}, {Shows: "all of it", Command: "sqlite3perf drivers --full"}}
		if fits {
			opts.Lines = o.Screen(env)
		}
		return driversFormats.Write(w, format, d, opts)
	}, "the same command")
}

// indented returns a paragraph whose lines are all indented like the first line of text.
func indented(text string) document.Paragraph {
	rest := strings.TrimLeft(text, " ")
	return document.Paragraph{Label: text[:len(text)-len(rest)], Text: rest}
}

// Drivers returns the table of drivers, followed by notes about each. Its shorter forms
// have notes only about what is not in the list without being named.
func (p *driverCatalog) Drivers(ctx context.Context, refs []build.Ref) (document.Document, error) {
	const titles = "DRIVER|VERSION|KIND|INTERFACE|WORKER"
	var rows, short, ofNamed [][]string
	var about, named document.Document // notes about all, and about the variants and workers that are named
	for _, ref := range refs {
		row, notes, err := p.about(ctx, ref)
		if err != nil {
			return nil, err
		}
		rows, about = append(rows, row), append(about, notes...)
		row = slices.Clone(row)
		row[1] = shortVersion(row[1])
		short = append(short, row)
		if ref.Known == nil || ref.Name != ref.Known.Name {
			named, ofNamed = append(named, notes...), append(ofNamed, row)
		}
	}
	table := func(rows [][]string, notes document.Document) document.Document {
		if notes == nil {
			return document.Document{document.TableOf(titles, rows)}
		}
		return append(document.Document{document.TableOf(titles, rows), document.Space{}}, notes...)
	}
	const missing = "what each cannot do or does differently, its known defects, and what sqlite3perf adds to its time"
	forms := []document.Form{{Body: table(rows, about)}, {Body: table(short, named), Missing: missing}}
	if named != nil {
		forms = append(forms, document.Form{Body: table(ofNamed, named), Missing: "the other drivers"})
	}
	return document.Document{document.Section{Forms: forms}}, nil
}

// shortVersion shortens a version without a release, such as v0.0.0-20240816174256-9328d0478def, to
// its date.
func shortVersion(v string) string {
	if m := pseudoVersion.FindStringSubmatch(v); m != nil {
		return m[1] + "…"
	}
	return v
}

var pseudoVersion = regexp.MustCompile(`^(v[0-9.]+-(?:[0-9.]*\.)?[0-9]{8})[0-9]{6}-[0-9a-f]{12}$`)

// about returns a driver's row in the table of drivers, and notes about it.
func (p *driverCatalog) about(ctx context.Context, ref build.Ref) (row []string, notes document.Document, err error) {
	var k build.Known
	var version, state string
	if ref.Known != nil {
		k = *ref.Known
		k.Name = ref.Name
		version, state, err = p.Builder.State(ctx, ref)
	} else {
		var proof protocol.Proof
		k.Info, proof, err = build.DescribeRef(ctx, ref.Path, ref)
		version, state = cmp.Or(proof.ModuleVersion, "-"), ref.Name
	}
	missing, unavailable := errors.AsType[*build.BuildError](err)
	if err != nil && (!unavailable || ref.Known == nil) {
		return nil, nil, err
	}
	var lines []string
	if unavailable {
		lines = append(lines, fmt.Sprintf("unavailable: %v", missing))
	}
	for _, what := range slices.Sorted(maps.Keys(k.Limits)) {
		lines = append(lines, document.Line(what)+": "+document.Line(k.Limits[what]))
	}
	if !unavailable && ref.Name != lab.Floor {
		lines = append(lines, defectLines(p.library(ctx, ref))...)
	}
	lines = append(lines, addedCostLines(k.AddedCost)...)
	if k.Optional {
		lines = append(lines, "optional: measured only where it is named, as in "+p.Naming+" mattn,"+k.Name)
	}
	notes = append(notes, document.Paragraph{Text: fmt.Sprintf("%s (%s): %s", document.Line(k.Name), document.Line(k.Module), document.Line(k.About))})
	for _, line := range lines {
		notes = append(notes, indented("  "+line))
	}
	return []string{k.Name, version, string(k.Kind), string(k.Interface), state}, notes, nil
}

// Features returns a table with a row for each feature, and a column for each driver whose
// worker is available.
func (p *driverCatalog) Features(ctx context.Context, refs []build.Ref) (document.Document, error) {
	titles := []string{"FEATURE"}
	rows := make([][]string, len(driver.Features))
	for i, f := range driver.Features {
		rows[i] = []string{f.Name}
	}
	for _, ref := range refs {
		path, _, err := p.Builder.Worker(ctx, ref, func() { p.Note("building the worker for %s", ref.Name) })
		if unavailable, ok := errors.AsType[*build.BuildError](err); ok {
			p.Note("%s is left out: %v", ref.Name, unavailable)
			continue
		}
		if err != nil {
			return nil, err
		}
		processes, err := p.processes()
		if err != nil {
			return nil, err
		}
		has, err := processes.Features(ctx, ref, path)
		if err != nil {
			return nil, err
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
	d := document.Document{document.TableOf(strings.Join(titles, "|"), rows)}
	for i := range p.Known {
		k := &p.Known[i]
		for _, key := range slices.Sorted(maps.Keys(k.Variants)) {
			d = append(d, document.Paragraph{Text: fmt.Sprintf("%s, %s: %[1]s:%[3]s has it", k.Name, key, k.Variants[key])})
		}
		for _, key := range slices.Sorted(maps.Keys(k.Obtain)) {
			d = append(d, document.Paragraph{Text: fmt.Sprintf("%s, %s: %s", k.Name, key, k.Obtain[key])})
		}
	}
	return d, nil
}

// addedCostTable returns the added cost of every driver for which it was measured, with causes for
// costs above the bound.
func addedCostTable(known []build.Known) document.Document {
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
				causes = distinct.Append(causes, cause)
				of[cause] = append(of[cause], k.Name+" "+p.Phase)
			}
			rows = append(rows, []string{k.Name, p.Phase, fmt.Sprintf("%.0f ns", p.Hand), ratio(p.WallRatio), ratio(p.CPURatio), nanoseconds(p.WallAdded) + mark, nanoseconds(p.CPUAdded)})
		}
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
	d := document.Document{document.TableOf("DRIVER|PHASE|>BY HAND|TIME, RATIO|CPU, RATIO|TIME ADDED|CPU ADDED", rows)}
	for _, line := range lines {
		d = append(d, document.Paragraph{Text: line})
	}
	return d
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
