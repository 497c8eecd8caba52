package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/defects"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// Catalog describes drivers. It runs their workers if that is necessary.
type Catalog struct {
	Builder *build.Builder
	Known   []build.Known                    // all drivers of the source tree
	Scratch func() (*process.Scratch, error) // creates a directory for workers
	Note    func(format string, args ...any) // tells the user that a worker is built or left out; may be nil if only the method Drivers is used
	Naming  string                           // the flag that names the drivers to measure, such as --drivers

	scratch *process.Scratch // nil until the first worker runs
}

// Close removes the directory for workers.
func (p *Catalog) Close() {
	if p.scratch != nil {
		p.scratch.Remove()
	}
}

// processes returns a runner of workers. [Catalog.Close] removes the runner's directory.
func (p *Catalog) processes() (*lab.Processes, error) {
	if p.scratch == nil {
		var err error
		if p.scratch, err = p.Scratch(); err != nil {
			return nil, err
		}
	}
	return &lab.Processes{Dir: p.scratch.Dir, Limit: time.Minute}, nil
}

// library returns the versions of a driver's library without building a worker. The result "unknown" is the
// reason why the version of SQLite is not known, or "".
func (p *Catalog) library(ctx context.Context, ref build.Ref) (l defects.Library, unknown string) {
	if ref.Known != nil {
		if built, err := p.Builder.Built(ctx, ref); err != nil || !built {
			return pinnedLibrary(ref), "its worker is not built yet"
		}
	}
	l, err := p.worker(ctx, ref, nil)
	if err != nil {
		return l, document.Line(err.Error())
	}
	return l, ""
}

func (p *Catalog) worker(ctx context.Context, ref build.Ref, building func()) (defects.Library, error) {
	l := pinnedLibrary(ref)
	path, with, err := p.Builder.Worker(ctx, ref, building)
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
		if l.Linked, err = p.Builder.Linked(ctx, ref); err != nil {
			return l, err
		}
	}
	processes, err := p.processes()
	if err == nil {
		l.SQLite, err = processes.SQLiteVersion(ctx, ref, path)
	}
	return l, err
}

// pinnedLibrary returns the library of a driver in the version that would be measured. The version is
// "" if it is not known, as for a library in a directory.
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

// defectLines returns a line for each known defect of a library. The parameter "unknown" is the reason why
// defects of SQLite are not known, or "".
func defectLines(l defects.Library, unknown string) (lines []string) {
	for _, d := range defects.Known(l) {
		lines = append(lines, fmt.Sprintf("known defect %s: %s", d.ID, d.Title))
	}
	if unknown != "" {
		lines = append(lines, "known defects of its SQLite: not known, because "+unknown)
	}
	return lines
}

// Defects returns a table of the known defects of each driver, followed by a description of each
// defect.
func (p *Catalog) Defects(ctx context.Context, refs []build.Ref) (document.Document, error) {
	var rows [][]string
	var all []defects.Defect
	for _, ref := range refs {
		if ref.Name == lab.Floor {
			continue // the floor driver is left out: it is plain C for comparison, which no application uses
		}
		l, err := p.worker(ctx, ref, func() { p.Note("building the worker for %s", ref.Name) })
		if _, unavailable := errors.AsType[*build.BuildError](err); err != nil && !unavailable {
			return nil, err
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
	list := document.Document{document.TableOf("DRIVER|VERSION|SQLITE|KNOWN DEFECTS", rows)}
	for _, d := range all {
		list = append(list, describeDefect(d)...)
	}
	return list, nil
}

func describeDefect(d defects.Defect) document.Document {
	about := document.Document{
		document.Space{},
		document.Paragraph{Text: fmt.Sprintf("%s (%s): %s", d.ID, d.Effect, d.Title)},
		document.Paragraph{Label: "  versions    ", Text: conditions.DefectVersions(&d)},
		document.Paragraph{Label: "  needs       ", Text: conditions.DefectNeeds(d.Needs)},
		document.Paragraph{Label: "  means       ", Text: d.Means},
		document.Paragraph{Label: "  what to do  ", Text: d.Do},
	}
	for _, source := range d.Sources {
		about = append(about, document.Paragraph{Label: "  source      ", Text: source})
	}
	return about
}
