package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
)

// prober asks workers for the versions that defects follow from.
type prober struct {
	builder *lab.Builder
	scratch *lab.Scratch // nil until the first worker is asked
}

func (p *prober) close() {
	if p.scratch != nil {
		p.scratch.Remove()
	}
}

// processes runs workers in a directory that close removes.
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

// library returns what is known of a driver's versions without building anything. sqlite is
// why SQLite's version is not known, or "".
func (p *prober) library(ctx context.Context, ref lab.Ref) (l defects.Library, unknown string) {
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
func (p *prober) worker(ctx context.Context, ref lab.Ref, building func()) (defects.Library, error) {
	l := pinnedLibrary(ref)
	path, with, err := p.builder.Worker(ctx, ref, building)
	if err != nil {
		return l, err
	}
	if v := with["module_version"]; l.Version == "" && ref.Dir == "" {
		l.Version = v
	}
	if ref.Known == nil {
		info, proof, err := lab.DescribeRef(ctx, path, ref)
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

// pinnedLibrary returns a driver's library in the version that would be measured.
func pinnedLibrary(ref lab.Ref) (l defects.Library) {
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
func (s workshop) listDefects(ctx context.Context, env *environment, refs []lab.Ref) error {
	var rows [][]string
	var all []defects.Defect
	err := env.orderly(ctx, false, func(ctx context.Context, show *progress) error {
		p := &prober{builder: s.builder}
		defer p.close()
		for _, ref := range refs {
			if ref.Name == floorDriver {
				continue // nobody ships it
			}
			l, err := p.worker(ctx, ref, func() { show.say("building the worker for %s", ref.Name) })
			if _, unavailable := errors.AsType[*lab.BuildError](err); err != nil && !unavailable {
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

// describeDefect prints all that is said of a defect.
func describeDefect(w io.Writer, d defects.Defect) error {
	_, err := fmt.Fprintf(w, "\n%s (%s): %s\n  versions    %s\n  needs       %s\n  means       %s\n  what to do  %s\n",
		d.ID, d.Effect, d.Title, conditions.DefectVersions(&d), conditions.DefectNeeds(d.Needs), d.Means, d.Do)
	for _, s := range d.Sources {
		fmt.Fprintf(w, "  source      %s\n", s)
	}
	return err
}
