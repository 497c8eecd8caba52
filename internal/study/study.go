// Package study defines published benchmarks of SQLite from Go so that they can be measured again.
// Each benchmark has workloads to measure, its published figures, and its claims. A claim is a list
// of comparisons that a run can decide. The package itself measures nothing and prints nothing.
package study

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

//go:embed */*.yaml
var files embed.FS

// Study is a published benchmark.
type Study struct {
	Name      string
	Asks      string // the question that the study answers, in one line
	Published string // describes the published figures, such as their unit, rounds or dates

	// Rounds is the number of rounds at scales other than "quick", unless the user gives a time.
	Rounds int

	// Extra has drivers that the study measured but that are optional here. They are measured only
	// if they are installed.
	Extra []string

	had   []string // drivers for which the study published figures
	timed bool     // the study's phases have a fixed duration, which the quick form (scale "quick") must choose

	// trial is how long a trial of the study's quick form (at the scale "quick") takes. It is set
	// only if the study is not timed and may have too many cases for the quick form.
	trial time.Duration

	legs   []leg
	quick  func(*cells) string // says what the quick form (scale "quick") leaves out
	tables func(*cells) []report.StudyTable
	claims []claim
}

// leg is a part of a study's plan: a workload with some parameters and settings.
type leg struct {
	workload  string // name of a file in the study's directory, or of a built-in workload
	published string // the workload for --as-published; "" if it is the same workload
	form      form
	on        func(build.Ref) bool // selects the drivers; nil means all

	parameters map[string][]int64 // values at every scale
	quick      map[string][]int64 // values at the scale "quick", which replace the values in the field "parameters"
	settings   map[string]string

	// fewer is for drivers without published figures, if the quick form (scale "quick") would take
	// too long. It has values that replace the values in the field "quick". If the list of a
	// parameter is empty, these drivers are not measured in this leg (part of the study's plan).
	fewer map[string][]int64

	bench string // table to verify in a separate process, as the command `sqlite3perf bench` does; "" if no table is verified
}

type form int

const (
	both form = iota
	correctedOnly
	publishedOnly
)

var studies = []*Study{cgoOrNot, driverComparison, httpServer, inserts, writers}

// All returns the studies, sorted by name.
func All() []*Study {
	return slices.SortedFunc(slices.Values(studies), func(a, b *Study) int { return strings.Compare(a.Name, b.Name) })
}

// Find returns the study with the given name. If there is none, the error suggests the most similar
// name.
func Find(name string) (*Study, error) {
	var names []string
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("unknown study %q: %s", name, driver.Suggest(name, names))
}

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

// Cases returns the cases that the study measures on these drivers at a scale. The study has two forms: as it
// was published, or corrected. At the scale "quick", Cases chooses cases that can be measured in time.
func (s *Study) Cases(scale string, asPublished bool, drivers []build.Ref, seed uint64) ([]*lab.Case, error) {
	p := plan{study: s, scale: scale, asPublished: asPublished, drivers: drivers, seed: seed}
	if scale == workload.Quick && s.timed {
		return p.inTime()
	}
	cases, err := p.cases()
	if err != nil || scale != workload.Quick || time.Duration(len(cases)*lab.MinRounds)*s.trial <= budget {
		return cases, err
	}
	p.fewer = true
	return p.cases()
}

type plan struct {
	study       *Study
	scale       string
	asPublished bool
	drivers     []build.Ref
	seed        uint64
	fewer       bool  // use the values in leg.fewer
	time        int64 // length of phases of fixed duration in milliseconds; 0 for the length in the workload
}

func (p *plan) cases() ([]*lab.Case, error) {
	var all []*lab.Case
	seen := map[string]bool{}
	for i := range p.study.legs {
		l := &p.study.legs[i]
		if l.form == correctedOnly && p.asPublished || l.form == publishedOnly && !p.asPublished {
			continue
		}
		w, err := p.study.load(l, p.asPublished)
		if err != nil {
			return nil, err
		}
		cases, err := p.ofLeg(l, w)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			key := fmt.Sprintf("%s %v %q %s", c.Workload, c.Parameters, c.Settings, c.Driver)
			if seen[key] { // two legs, or two scaled values of a parameter, may result in the same case
				continue
			}
			seen[key] = true
			c.ID, c.Once = len(all)+1, once(&c.Case)
			if l.bench != "" {
				c.AddBench(l.bench)
			}
			all = append(all, c)
		}
	}
	return all, nil
}

func (p *plan) ofLeg(l *leg, w *workload.Workload) ([]*lab.Case, error) {
	parameters := map[string][]int64{}
	for name, v := range l.parameters {
		parameters[name] = scaled(w, name, v, p.scale)
	}
	if p.scale == workload.Quick {
		maps.Copy(parameters, l.quick)
		if p.time > 0 && slices.Contains(w.Factor, duration) && l.quick[duration] == nil {
			parameters[duration] = []int64{p.time}
		}
	}
	drivers := p.drivers
	if l.on != nil {
		drivers = only(drivers, l.on)
	}
	if !p.fewer || l.fewer == nil {
		return p.matrix(l, w, drivers, parameters)
	}
	known := had(p.study.had...)
	cases, err := p.matrix(l, w, only(drivers, known), parameters)
	if err != nil {
		return nil, err
	}
	maps.Copy(parameters, l.fewer)
	for _, v := range l.fewer {
		if len(v) == 0 {
			return cases, nil
		}
	}
	others, err := p.matrix(l, w, slices.DeleteFunc(slices.Clone(drivers), known), parameters)
	return append(cases, others...), err
}

func (p *plan) matrix(l *leg, w *workload.Workload, drivers []build.Ref, parameters map[string][]int64) ([]*lab.Case, error) {
	if len(drivers) == 0 {
		return nil, nil
	}
	m := lab.Matrix{Drivers: drivers, Workloads: []*workload.Workload{w}, Scale: p.scale, Seed: p.seed, Parameters: parameters, Settings: map[string][]string{}}
	for name, v := range l.settings {
		m.Settings[name] = []string{v}
	}
	return m.Cases()
}

// scaled multiplies values of a parameter by the scale, rounds them to whole numbers and removes
// duplicates. It returns the values unchanged if the scale is not a number, or if the workload does
// not scale this parameter.
func scaled(w *workload.Workload, name string, values []int64, scale string) []int64 {
	factor, err := strconv.ParseFloat(scale, 64)
	if err != nil || !slices.Contains(w.Factor, name) {
		return values
	}
	var list []int64
	for _, v := range values {
		list = distinct.Append(list, max(1, int64(math.Round(float64(v)*factor))))
	}
	return list
}

func only(refs []build.Ref, is func(build.Ref) bool) []build.Ref {
	return slices.DeleteFunc(slices.Clone(refs), func(r build.Ref) bool { return !is(r) })
}

func databaseSQL(r build.Ref) bool {
	return r.Known != nil && r.Known.Interface == driver.DatabaseSQL
}

func had(drivers ...string) func(build.Ref) bool {
	return func(r build.Ref) bool {
		return slices.ContainsFunc(drivers, func(d string) bool { return sameDriver(d, r.Name) })
	}
}

func serves(r build.Ref) bool {
	if r.Known == nil {
		return true // the worker of an unknown driver reports by itself whether it can serve HTTP
	}
	_, limited := r.Known.Limit("http", "")
	return !limited
}

// library reports whether a driver does not use Python. Drivers that use Python are measured only
// in some legs.
func library(r build.Ref) bool { return !strings.HasPrefix(r.Name, "python") }
