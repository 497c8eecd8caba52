package dsn

import (
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Questions lists the databases that a worker must open to find out how its library treats a DSN.
// The questions are the same for all drivers.
type Questions struct {
	Name     *Name
	Openings []protocol.Opening

	dir   string
	index distinct.Index[string] // indexes of Openings, by the DSN as a user would type it
	plain int                    // index in Openings of the database that is opened without the DSN's options
	other int                    // like plain, but for the other form of the DSN: a path if the user gave a URI, a URI if the user gave a path; -1 if there is no other form
	all   int
	of    []ofOption
	ways  map[Wants][]way
}

// ofOption has the indexes of three entries of Questions.Openings. Each entry opens a database with only
// one option of the user's data source name. The option has the user's value in the entry "alone", a
// different value in "another", and a nonsensical value in "nonsense". The index "another" or
// "nonsense" is -1 if there is no such value.
type ofOption struct{ alone, another, nonsense int }

// way is an option that may give a setting its wanted value. The fields "alone" and "another" are indexes
// in Questions.Openings of databases that are opened with only this option: "alone" with the wanted
// value, and "another" with another value.
type way struct {
	option         string
	alone, another int
}

// Ask returns the databases that a worker must open to find out how its library treats a DSN. The worker
// creates them in dir, the directory of its job.
func Ask(n *Name, dir string) *Questions {
	q := &Questions{Name: n, dir: dir, other: -1, ways: map[Wants][]way{}}
	typed := document.Map(n.Options, func(o Option) string { return o.raw })
	q.plain = q.add(n.uri, nil)
	if !n.fixed {
		q.other = q.add(!n.uri, nil)
	}
	q.all = q.add(n.uri, typed)
	for _, o := range n.Options {
		of := ofOption{alone: q.add(n.uri, []string{o.raw}), another: -1, nonsense: -1}
		if value := another(o.Setting, o.Wanted); o.Wanted != "" && value != "" {
			of.another = q.add(n.uri, []string{o.set(value)})
		}
		if o.Setting != "mode" && o.Setting != "cache" {
			of.nonsense = q.add(n.uri, []string{o.nonsense()})
		}
		q.of = append(q.of, of)
	}
	for _, w := range n.Wanted() {
		uri := n.uri || !n.fixed // whether the spellings that are proposed to users are URIs
		others := optionsFor(w.Setting, another(w.Setting, w.Value))
		for i, option := range optionsFor(w.Setting, w.Value) {
			q.ways[w] = append(q.ways[w], way{option, q.add(uri, []string{option}), q.add(uri, []string{others[i]})})
		}
	}
	return q
}

// optionsFor returns the options of a data source name, such as _txlock=immediate, by which some library may
// set the setting to the given value.
func optionsFor(setting, value string) []string {
	d, known := driver.LookupSetting(setting)
	switch {
	case setting == "txlock":
		return []string{"_txlock=" + value}
	case known && !d.Pragma || slices.Contains(observed, setting):
		return []string{setting + "=" + value}
	}
	return []string{"_pragma=" + setting + "(" + value + ")", "_" + setting + "=" + value}
}

// add returns the index in q.Openings of the database that is opened with the given options. If
// q.Openings does not have it yet, add adds it.
func (q *Questions) add(uri bool, options []string) int {
	i := q.index.Of(withOptions(q.Name.as(uri), options))
	if i == len(q.Openings) {
		q.Openings = append(q.Openings, q.Name.opening(filepath.Join(q.dir, strconv.Itoa(i)), uri, options))
	}
	return i
}

func (n *Name) opening(dir string, uri bool, options []string) protocol.Opening {
	return protocol.Opening{DSN: withOptions(n.at(dir, uri), options), File: n.file, Pragmas: n.pragmas()}
}
