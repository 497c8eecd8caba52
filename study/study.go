// Package study measures published benchmarks of SQLite from Go again: what each
// did, as workloads; the figures that it published; and what it claimed, as
// comparisons that a run can decide. It measures nothing and prints nothing.
package study

import (
	"embed"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/workload"
)

//go:embed */*.yaml
var files embed.FS

// Study is a published benchmark.
type Study struct {
	Name      string
	Asks      string // what it asks, in one line
	About     string // what is done, where it is not plain from the tables
	Published string // when, and of what

	// Rounds is how many are made unless the user says how long to go on.
	Rounds int

	// QuickDrivers are measured at the scale quick unless the user names others;
	// nil: all. Why says why so few.
	QuickDrivers []string
	Why          string

	legs   []leg
	tables func(*cells) []Table
	claims []claim
}

// leg is a part of a study's plan: a workload with some of its parameters and
// settings.
type leg struct {
	workload  string // a file of the study's directory, or the name of a built-in workload
	published string // the same for --as-published; "": no different
	form      form
	on        func(lab.Ref) bool // the drivers that it is for; nil: all

	parameters map[string][]int64 // at every scale
	quick      map[string][]int64 // at the scale quick
	settings   map[string]string
}

// form says in which of its forms a study has a leg.
type form int

const (
	both form = iota
	correctedOnly
	publishedOnly
)

var studies = []*Study{cgoOrNot, driverComparison, httpServer, inserts, writers}

// All lists the studies, by name.
func All() []*Study {
	return slices.SortedFunc(slices.Values(studies), func(a, b *Study) int { return strings.Compare(a.Name, b.Name) })
}

// Find returns the study of a name. The error of an unknown one names the
// nearest.
func Find(name string) (*Study, error) {
	var names []string
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	if n := driver.Nearest(name, names); n != "" {
		return nil, fmt.Errorf("unknown study %q: did you mean %q?", name, n)
	}
	return nil, fmt.Errorf("unknown study %q: one of %s", name, strings.Join(names, ", "))
}

// load reads a leg's workload.
func (s *Study) load(l *leg, asPublished bool) (*workload.Workload, error) {
	name := l.workload
	if asPublished && l.published != "" {
		name = l.published
	}
	if !strings.HasSuffix(name, ".yaml") {
		return workload.Load(name)
	}
	dir, err := fs.Sub(files, s.Name)
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil, err
	}
	return workload.Parse(s.Name+"/"+name, data, dir)
}

// Cases is what the study measures at a scale on these drivers, in its corrected
// form or as it was published.
func (s *Study) Cases(scale string, asPublished bool, drivers []lab.Ref, seed uint64) ([]*lab.Case, error) {
	var all []*lab.Case
	seen := map[string]bool{}
	for i := range s.legs {
		l := &s.legs[i]
		if l.form == correctedOnly && asPublished || l.form == publishedOnly && !asPublished {
			continue
		}
		w, err := s.load(l, asPublished)
		if err != nil {
			return nil, err
		}
		m := lab.Matrix{Drivers: l.drivers(drivers), Workloads: []*workload.Workload{w}, Scale: scale, Seed: seed,
			Parameters: map[string][]int64{}, Settings: map[string][]string{}}
		for name, v := range l.parameters {
			m.Parameters[name] = scaled(w, name, v, scale)
		}
		if scale == workload.Quick {
			for name, v := range l.quick {
				m.Parameters[name] = v
			}
		}
		for name, v := range l.settings {
			m.Settings[name] = []string{v}
		}
		cases, err := m.Cases()
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			key := fmt.Sprintf("%s %v %q %s", c.Workload, c.Parameters, c.Settings, c.Driver)
			if seen[key] { // two legs, or two scaled sizes, may come to the same
				continue
			}
			seen[key] = true
			c.ID = len(all) + 1
			all = append(all, c)
		}
	}
	return all, nil
}

// scaled multiplies values of a parameter where the scale is a number, as the
// workload does with its own.
func scaled(w *workload.Workload, name string, values []int64, scale string) []int64 {
	factor, err := strconv.ParseFloat(scale, 64)
	if err != nil || !slices.Contains(w.Factor, name) {
		return values
	}
	var list []int64
	for _, v := range values {
		if x := max(1, int64(math.Round(float64(v)*factor))); !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}

// drivers are those of the run that the leg is for.
func (l *leg) drivers(refs []lab.Ref) []lab.Ref {
	if l.on == nil {
		return refs
	}
	return slices.DeleteFunc(slices.Clone(refs), func(r lab.Ref) bool { return !l.on(r) })
}

// databaseSQL are the drivers whose pool is database/sql's.
func databaseSQL(r lab.Ref) bool {
	return r.Known != nil && r.Known.Interface == driver.DatabaseSQL
}

// direct are those whose pool is not.
func direct(r lab.Ref) bool { return !databaseSQL(r) }

// python is the interpreter, which takes part in some of a study only.
func python(r lab.Ref) bool { return strings.HasPrefix(r.Name, "python") }

// library are all drivers but python.
func library(r lab.Ref) bool { return !python(r) }
