package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// prober asks workers for the versions that defects follow from.
type prober struct {
	builder *build.Builder
	scratch *process.Scratch // nil until the first worker is asked
}

func (p *prober) close() {
	if p.scratch != nil {
		p.scratch.Remove()
	}
}

// sqlite asks a worker for its version of SQLite.
func (p *prober) sqlite(ctx context.Context, ref build.Ref, path string) (string, error) {
	if p.scratch == nil {
		parent, err := databasesDirectory("")
		if err != nil {
			return "", err
		}
		if p.scratch, err = process.NewScratch(parent, runDirectory); err != nil {
			return "", err
		}
	}
	return (&lab.Processes{Dir: p.scratch.Dir, Limit: time.Minute}).SQLiteVersion(ctx, ref, path)
}

// library returns what is known of a driver's versions without building anything. sqlite is
// why SQLite's version is not known, or "".
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

// worker returns the versions that a driver's worker has, and builds it if necessary.
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
	l.SQLite, err = p.sqlite(ctx, ref, path)
	return l, err
}

// pinnedLibrary returns a driver's library in the version that would be measured.
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

// defectLines says in a line each which known defects a driver has, and what is not known.
func defectLines(l defects.Library, unknown string) (lines []string) {
	for _, d := range defects.Known(l) {
		lines = append(lines, fmt.Sprintf("known defect %s: %s", d.ID, d.Title))
	}
	if unknown != "" {
		lines = append(lines, "known defects of its SQLite: not known, because "+unknown)
	}
	return lines
}

// listDefects prints which known defects each driver has, and then all that is said of them.
func listDefects(ctx context.Context, env *environment, b *build.Builder, known []build.Known, named []string) error {
	refs, err := listed(ctx, b, known, named)
	if err != nil {
		return err
	}
	p := &prober{builder: b}
	defer p.close()
	show := newProgress(env, false)
	defer show.finish()
	ctx, stop, release := env.interruptible(ctx, show.say, stopping)
	defer release()
	w := &strings.Builder{}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DRIVER\tVERSION\tSQLITE\tKNOWN DEFECTS")
	var all []defects.Defect
	seen := map[string]bool{}
	for _, ref := range refs {
		if ref.Name == floorDriver {
			continue // nobody ships it
		}
		l, err := p.worker(until(ctx, stop), ref, func() { show.say("building the worker for %s", ref.Name) })
		if err := unlessInterrupted(stop, nil); err != nil {
			return err
		}
		if _, unavailable := errors.AsType[*build.BuildError](err); err != nil && !unavailable {
			return err
		}
		var ids []string
		for _, d := range defects.Known(l) {
			ids = append(ids, d.ID)
			if !seen[d.ID] {
				seen[d.ID] = true
				all = append(all, d)
			}
		}
		words := cmp.Or(strings.Join(ids, ", "), "none known here")
		if err != nil {
			words = strings.Join(append(ids, "of its SQLite not known, since there is no worker"), ", ")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", document.Line(ref.Name), document.Line(cmp.Or(l.Version, "-")), document.Line(cmp.Or(l.SQLite, "-")), words)
	}
	show.finish()
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range all {
		describeDefect(w, d)
	}
	_, err = io.WriteString(env.stdout, w.String())
	return err
}

// describeDefect prints all that is said of a defect.
func describeDefect(w io.Writer, d defects.Defect) {
	fmt.Fprintf(w, "\n%s (%s): %s\n", d.ID, d.Effect, d.Title)
	fmt.Fprintf(w, "  versions    %s\n", conditions.DefectVersions(&d))
	fmt.Fprintf(w, "  needs       %s\n", conditions.DefectNeeds(d.Needs))
	fmt.Fprintf(w, "  means       %s\n", d.Means)
	fmt.Fprintf(w, "  what to do  %s\n", d.Do)
	for _, s := range d.Sources {
		fmt.Fprintf(w, "  source      %s\n", s)
	}
}
