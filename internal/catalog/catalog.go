// Package catalog writes three lists. The list of drivers says whether each driver can be built
// here, what it cannot do or does differently, its known defects, and what sqlite3perf adds to its
// time. The list of workloads says what each workload does. The list of runs says which runs a
// store has.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// indented returns a paragraph whose lines are all indented like the first line of text.
func indented(text string) document.Paragraph {
	rest := strings.TrimLeft(text, " ")
	return document.Paragraph{Label: text[:len(text)-len(rest)], Text: rest}
}

// Drivers returns the table of drivers, followed by notes about each driver. The shorter form of the
// document leaves out the notes.
func (p *Catalog) Drivers(ctx context.Context, refs []build.Ref) (List, error) {
	const titles = "DRIVER|VERSION|RELEASED|KIND|INTERFACE|WORKER"
	list := List{Drivers: []JSONDriver{}}
	var rows, short [][]string
	var about document.Document // notes about all drivers
	for _, ref := range refs {
		d, notes, err := p.about(ctx, ref)
		if err != nil {
			return List{}, err
		}
		list.Drivers = append(list.Drivers, d)
		row := []string{d.Name, d.Version, cmp.Or(d.Released, "-"), string(d.Kind), string(d.Interface), d.Worker}
		rows, about = append(rows, row), append(about, notes...)
		row = slices.Clone(row)
		row[1] = conditions.ShortVersion(row[1])
		short = append(short, row)
	}
	table := func(rows [][]string, notes document.Document) document.Document {
		grid := document.TableOf(titles, rows)
		grid.Columns[2].Drop = 1 // a narrow terminal has no room for the day of the release
		if notes == nil {
			return document.Document{grid}
		}
		return append(document.Document{grid, document.Space{}}, notes...)
	}
	const missing = "what each cannot do or does differently, its known defects, whether it is maintained, and what sqlite3perf adds to its time"
	forms := []document.Form{{Body: table(rows, about)}, {Body: table(short, nil), Missing: missing}}
	list.Document = document.Document{document.Section{Forms: forms}}
	return list, nil
}

// about describes a driver, and returns notes about it.
func (p *Catalog) about(ctx context.Context, ref build.Ref) (d JSONDriver, notes document.Document, err error) {
	var k build.Known
	if ref.Known != nil {
		k = *ref.Known
		k.Name = ref.Name
		d.Version, d.Worker, err = p.Builder.State(ctx, ref)
	} else {
		var proof protocol.Proof
		k.Info, proof, err = build.DescribeRef(ctx, ref.Path, ref)
		d.Version, d.Worker = cmp.Or(proof.ModuleVersion, "-"), ref.Name
	}
	missing, unavailable := errors.AsType[*build.BuildError](err)
	if err != nil && (!unavailable || ref.Known == nil) {
		return d, nil, err
	}
	d.describe(k)
	var lines []string
	if unavailable {
		d.Unavailable = missing.Error()
		lines = append(lines, "unavailable: "+d.Unavailable)
	}
	lines = append(lines, releaseLines(d)...)
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
	return d, notes, nil
}

// Features returns a table with a row for each feature, and a column for each driver whose worker is
// available. Notes below the table say how to get features that a driver lacks.
func (p *Catalog) Features(ctx context.Context, refs []build.Ref) (document.Document, error) {
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
	for _, k := range p.Known {
		for _, key := range slices.Sorted(maps.Keys(k.Variants)) {
			d = append(d, document.Paragraph{Text: fmt.Sprintf("%s, %s: %[1]s:%[3]s has it", k.Name, key, k.Variants[key])})
		}
		for _, key := range slices.Sorted(maps.Keys(k.Obtain)) {
			d = append(d, document.Paragraph{Text: fmt.Sprintf("%s, %s: %s", k.Name, key, k.Obtain[key])})
		}
	}
	return d, nil
}
