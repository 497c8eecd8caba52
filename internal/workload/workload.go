// Package workload implements the language in which workloads are written. It loads
// and checks YAML files, and resolves them to plans. It opens no database and measures
// nothing. It can be given a copy of a database, from which it reads rows.
package workload

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

//go:embed builtin
var builtin embed.FS

// The scales that every workload has. A number is a scale too: it multiplies the
// values of the full scale.
const (
	Full  = "full"
	Quick = "quick"
)

// maxCases limits the number of combinations of the parameters' values.
const maxCases = 1000

// Workload is a workload file, read and checked.
type Workload struct {
	Name       string
	About      string
	Database   string          // path of the database, as the user wrote it; each trial begins with a copy of this database; "" if there is none
	Settings   driver.Settings // settings at the quick scale, with the first value of each parameter
	Parameters []Values        // parameters in the order of the file, with values at the full scale
	Quick      map[string][]int64
	Factor     []string // the parameters that a numeric scale multiplies
	Phases     []PhaseInfo
	Changes    driver.Settings // settings that the schema declares to change
	Needs      []string        // keys of the features of SQLite that the workload declares, or that its SQL or database needs; each key occurs once
	Warnings   []Problem       // problems that do not prevent a run, such as PRAGMAs that a run will probably refuse

	file   string
	fsys   fs.FS
	source []byte
	root   *fields

	files   bool                  // SQL may reach files other than its own database
	scripts map[*yaml.Node]script // SQL that has been read, by its node in the file

	includes []result.TextFile // the .sql files read so far

	snapshot *snapshot.Snapshot // copy of Database; nil until Begin

	// query runs a query on the snapshot, and returns a list of values for each column. It is nil until Begin.
	query func(sql string, columns []driver.ColumnType) ([][]json.RawMessage, error)

	recordings map[string]*recording // recordings that have been read, by the name that replay phases give them
	uncut      bool                  // a replay phase has no key "events", so the parameter "events" applies to it
}

// Values are the values of a parameter. There is a case for each combination of the values of all
// parameters.
type Values struct {
	Name   string
	Values []int64 // if it is empty, the parameter has a value only if the user gives a value
}

// EventsParameter is the name of the parameter that limits how many events of its recordings a workload
// replays. If the parameter has no value, all events are replayed. A workload has this parameter if any of
// its replay phases has no key "events".
const EventsParameter = "events"

// PhaseInfo describes a phase to the user.
type PhaseInfo struct {
	Name    string
	Kind    string // "insert", "query", "mix", "http", "replay" or "script"
	About   string // the description in the file
	Untimed bool
	Changes driver.Settings // settings that the phase declares to change
	LeftOut []string        // messages that say which parts of the phase's recording are not replayed, and why
}

// Case is one set of values for a workload's parameters.
type Case struct {
	Parameters map[string]int64 // the value of every parameter
	Settings   driver.Settings  // the workload's settings, with parameters replaced by their values
	Expects    []result.Expectation
	Plan       *plan.Plan // the workload, resolved for these values
}

// Builtins lists the names of the built-in workloads, sorted.
func Builtins() []string {
	files, err := fs.Glob(builtin, "builtin/*.yaml")
	if err != nil {
		panic(err)
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(f, "builtin/"), ".yaml")
	}
	slices.Sort(names)
	return names
}

// Parse reads and checks a workload. It looks in fsys for the .sql files and recordings that the
// workload names. If fsys is nil, there are no such files. The error is a [Problems] that lists all
// mistakes found.
func Parse(filename string, data []byte, fsys fs.FS, options ...Option) (*Workload, error) {
	return (&reader{file: filename}).parse(data, fsys, options)
}

func (r *reader) parse(data []byte, fsys fs.FS, options []Option) (*Workload, error) {
	if len(data) > MaxFile {
		r.errorf(nil, "the file has %d bytes: want at most %d; a long schema goes into a .sql file", len(data), MaxFile)
		return nil, r.err()
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.errorf(nil, "the file is empty: want a workload, such as: name: mine")
		return nil, r.err()
	case err != nil:
		r.syntax(err, data)
		return nil, r.err()
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		r.errorf(&second, "a second document in the file: want one workload in a file")
		return nil, r.err()
	case !errors.Is(err, io.EOF):
		r.syntax(err, data)
		return nil, r.err()
	}
	w := &Workload{file: r.file, fsys: fsys, source: data, scripts: map[*yaml.Node]script{}, recordings: map[string]*recording{}}
	for _, option := range options {
		option(w)
	}
	w.header(r, doc.Content[0])
	if w.root == nil {
		return nil, r.err()
	}
	w.resolveAll(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	if w.uncut && !slices.Contains(w.names(), EventsParameter) {
		w.Parameters = append(w.Parameters, Values{Name: EventsParameter})
	}
	return w, nil
}

// resolveAll resolves the workload at both scales with every combination of its parameters.
func (w *Workload) resolveAll(r *reader) {
	for _, scale := range []string{Full, Quick} {
		cases, err := w.expand(scale, nil)
		if err != nil {
			r.errorf(w.root.key("parameters"), "%v", err)
			break
		}
		for i, values := range cases {
			if i > 0 || scale != Full {
				r.note = " (at scale " + scale + ")"
			}
			l := w.resolver(r, values)
			l.resolve()
			w.Needs = distinct.Append(w.Needs, l.features...)
			if i == 0 && scale == Quick {
				w.Settings, w.Phases, w.Changes, w.Warnings = l.settings, l.infos, l.plan.Changes, l.warnings
			}
		}
	}
}

// header reads the parts of a workload file that do not depend on the values of its parameters.
func (w *Workload) header(r *reader, n *yaml.Node) {
	f, ok := r.object(n, "a workload", "name: mine", keys["workload"])
	if !ok {
		return
	}
	w.root = f
	name := r.required(f, "name", "the workload has no name: write name: and a word")
	if v, ok := r.text(name, "name", "name: mine"); ok {
		if w.Name = v; strings.Trim(v, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || v == "" {
			r.errorf(name, "bad name %q of a workload: want lower-case letters, digits and -, such as my-reads", v)
		}
	}
	about, _ := r.text(f.get("about"), "about", "about: one row per statement")
	w.About = strings.TrimSpace(about)
	if n := f.get("database"); n != nil {
		w.database(r, n)
	}
	if n := f.get("needs"); n != nil {
		w.Needs = needs(r, n)
	}
	if n := f.get("parameters"); n != nil {
		if f, ok := r.mapping(n, "parameters", "parameters: {n: 100}"); ok {
			w.Parameters = values(r, f)
		}
	}
	if n := f.get("scales"); n != nil {
		w.scales(r, n)
	}
}

// needs reads the features of SQLite that a workload needs.
func needs(r *reader, n *yaml.Node) []string {
	var list []string
	for _, n := range r.list(n) {
		key, ok := r.text(n, "needs", "needs: [fts5]")
		switch known := driver.FeatureKeys(); {
		case !ok:
		case !slices.Contains(known, key):
			r.errorf(n, "needs the unknown feature %q: %s", key, driver.Suggest(key, known))
		case slices.Contains(list, key):
			r.errorf(n, "needs %s twice: leave one out", key)
		default:
			list = append(list, key)
		}
	}
	return list
}

// values reads parameters with their values.
func values(r *reader, f *fields) []Values {
	var list []Values
	if len(f.keys) > maxParameters {
		r.errorf(f.node, "there are %d parameters: want at most %d", len(f.keys), maxParameters)
		return nil
	}
	for i, k := range f.keys {
		if !r.identifier(k, "a parameter") {
			continue
		}
		v := Values{Name: k.Value}
		if n := len(f.values[i].Content); n > maxCases {
			r.errorf(f.values[i], "parameter %s has %d values: want at most %d, since each makes a case", k.Value, n, maxCases)
			continue
		}
		for _, n := range r.list(f.values[i]) {
			x := int64(1)
			switch {
			case n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&x) != nil:
				r.errorf(n, "parameter %s is %s: want a whole number, or a list of them such as [10, 100]", k.Value, describe(n))
			case slices.Contains(v.Values, x):
				r.errorf(n, "parameter %s has the value %d twice: leave one of them out", k.Value, x)
				continue
			}
			v.Values = append(v.Values, x)
		}
		if len(v.Values) == 0 {
			r.errorf(f.values[i], "parameter %s has no value: want a whole number, or a list of them such as [10, 100]", k.Value)
			v.Values = []int64{1}
		}
		list = append(list, v)
	}
	return list
}

func (w *Workload) scales(r *reader, n *yaml.Node) {
	f, ok := r.object(n, "scales", "scales: {full: {rows: 1000}, quick: {rows: 10}}", keys["scales"])
	if !ok {
		return
	}
	if n := f.get(Full); n != nil {
		if f, ok := r.mapping(n, "scale full", "full: {rows: 1000}"); ok {
			for _, v := range values(r, f) {
				*distinct.Find(&w.Parameters, v, func(p Values) bool { return p.Name == v.Name }) = v
			}
		}
	}
	names := w.names()
	if n := f.get(Quick); n != nil {
		w.Quick = map[string][]int64{}
		if f, ok := r.mapping(n, "scale quick", "quick: {rows: 10}"); ok {
			for _, v := range values(r, f) {
				if !slices.Contains(names, v.Name) {
					r.errorf(f.key(v.Name), "scale quick sets the unknown parameter %q: %s", v.Name, driver.Suggest(v.Name, names))
				}
				w.Quick[v.Name] = v.Values
			}
		}
	}
	if n := f.get("factor"); n != nil {
		for _, n := range r.list(n) {
			if v, ok := r.text(n, "factor", "factor: [rows]"); ok {
				if !slices.Contains(names, v) {
					r.errorf(n, "factor names the unknown parameter %q: %s", v, driver.Suggest(v, names))
				}
				w.Factor = append(w.Factor, v)
			}
		}
	}
}

func (w *Workload) names() []string {
	list := make([]string, len(w.Parameters))
	for i, p := range w.Parameters {
		list[i] = p.Name
	}
	return list
}

// at returns the values of every parameter at a scale, in the order of the file.
func (w *Workload) at(scale string) ([]Values, error) {
	list := slices.Clone(w.Parameters)
	switch scale {
	case Full:
		return list, nil
	case Quick:
		for i, p := range list {
			if v, ok := w.Quick[p.Name]; ok {
				list[i].Values = v
			}
		}
		return list, nil
	}
	factor, err := strconv.ParseFloat(scale, 64)
	if err != nil {
		return nil, fmt.Errorf("unknown scale %q: %s (or a number, such as 0.5, that multiplies the full scale)", scale, driver.Suggest(scale, []string{Full, Quick}))
	}
	if !(factor > 0) || math.IsInf(factor, 0) {
		return nil, fmt.Errorf("bad scale %q: want full, quick or a number above 0", scale)
	}
	if len(w.Factor) == 0 {
		return nil, fmt.Errorf("bad scale %q: workload %s has nothing to multiply: want full or quick, or name parameters under scales, such as factor: [rows]", scale, w.Name)
	}
	for i, p := range list {
		if !slices.Contains(w.Factor, p.Name) {
			continue
		}
		list[i].Values = slices.Clone(p.Values)
		for j, v := range p.Values {
			x := math.Round(float64(v) * factor)
			if x > 1<<53 {
				return nil, fmt.Errorf("bad scale %q: %s would be %g: want a smaller number", scale, p.Name, x)
			}
			list[i].Values[j] = max(1, int64(x))
		}
	}
	return list, nil
}

// expand returns every combination of the parameters' values at a scale. Lists in the parameter "given"
// replace the values at that scale. The last parameter varies fastest.
func (w *Workload) expand(scale string, given map[string][]int64) ([]map[string]int64, error) {
	list, err := w.at(scale)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(w.names(), name)
		if i < 0 {
			return nil, fmt.Errorf("workload %s has no parameter %q: %s", w.Name, name, driver.Suggest(name, w.names()))
		}
		if len(given[name]) == 0 {
			return nil, fmt.Errorf("parameter %s is given without a value: want a whole number", name)
		}
		list[i].Values = given[name]
	}
	cases := []map[string]int64{{}}
	for _, p := range list {
		if len(p.Values) == 0 {
			continue
		}
		if len(cases)*len(p.Values) > maxCases {
			return nil, fmt.Errorf("workload %s: the lists of values of its parameters multiply to more than %d cases: want shorter lists", w.Name, maxCases)
		}
		var next []map[string]int64
		for _, c := range cases {
			for _, v := range p.Values {
				m := maps.Clone(c)
				m[p.Name] = v
				next = append(next, m)
			}
		}
		cases = next
	}
	return cases, nil
}

// Cases lists every combination of the parameters' values at a scale: "full", "quick" or a
// number. Values in params replace the values at that scale.
func (w *Workload) Cases(scale string, params map[string][]int64) ([]Case, error) {
	all, err := w.expand(scale, params)
	if err != nil {
		return nil, err
	}
	cases := make([]Case, len(all))
	for i, values := range all {
		l, err := w.check(values)
		if err != nil {
			return nil, err
		}
		cases[i] = Case{values, l.settings, l.expects, l.plan}
	}
	return cases, nil
}

// Plan resolves the workload at a scale. Values in params replace the values at that scale. If
// the scale has a list for a parameter that is not in params, the first value of the list is
// used.
func (w *Workload) Plan(scale string, params map[string]int64) (*plan.Plan, error) {
	given := map[string][]int64{}
	for name, v := range params {
		given[name] = []int64{v}
	}
	all, err := w.expand(scale, given)
	if err != nil {
		return nil, err
	}
	l, err := w.check(all[0]) // all[0] has the first value of each list
	if err != nil {
		return nil, err
	}
	return l.plan, nil
}

// check resolves the workload for these values of its parameters.
func (w *Workload) check(values map[string]int64) (*resolver, error) {
	r := &reader{file: w.file}
	l := w.resolver(r, values)
	l.resolve()
	return l, r.err()
}
