// Package defects knows defects of SQLite and of drivers' libraries by their versions: what
// they mean, what they need to do harm, and where that is written. The data are in
// defects.json; docs/defects.md is made of it.
package defects

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/mod/semver"
)

// OfSQLite is the value of Defect.Of for a defect of SQLite itself. Other defects have the path
// of a Go module.
const OfSQLite = "sqlite"

// Effect is the worst that a defect does.
type Effect string

// The effects, the worst first.
const (
	Corruption  Effect = "corruption"
	LostWrites  Effect = "lost writes"
	WrongAnswer Effect = "wrong answers"
	Security    Effect = "security"
	Crash       Effect = "crash"
	Withdrawn   Effect = "withdrawn" // the authors withdrew the version without saying why
	Leak        Effect = "leak"
	StrayErrors Effect = "stray errors"
	Slow        Effect = "slow"
)

var effects = []Effect{Corruption, LostWrites, WrongAnswer, Security, Crash, Withdrawn, Leak, StrayErrors, Slow}

// Falsifies reports whether data can be lost, damaged or wrong.
func (e Effect) Falsifies() bool { return e == Corruption || e == LostWrites || e == WrongAnswer }

// Defect is a defect that some versions have.
type Defect struct {
	ID       string   `json:"id"`
	Of       string   `json:"of"` // [OfSQLite], or the path of a module
	Title    string   `json:"title"`
	Effect   Effect   `json:"effect"`
	Affected []Range  `json:"affected"`
	Patched  []Patch  `json:"patched,omitempty"`
	Needs    Needs    `json:"needs,omitzero"`
	Means    string   `json:"means"`
	Do       string   `json:"do"`
	Sources  []string `json:"sources"`
}

// Range is a range of versions.
type Range struct {
	From  string `json:"from,omitempty"`  // first affected version; "" if that is not known
	Fixed string `json:"fixed,omitempty"` // first version without the defect; "" if there is none yet
}

// Patch says from which version on a module has its own fix for a defect of SQLite, while it
// still links an affected SQLite.
type Patch struct {
	Module string `json:"module"`
	From   string `json:"from"`
}

// Needs lists the conditions under which a defect does harm; all of them must be met. A zero
// field is no condition.
type Needs struct {
	OS           []string `json:"os,omitempty"` // one of these, as GOOS
	Arch         []string `json:"arch,omitempty"`
	WAL          bool     `json:"wal,omitempty"`         // journal_mode=wal
	Rollback     bool     `json:"rollback,omitempty"`    // any journal_mode except wal
	Connections  bool     `json:"connections,omitempty"` // more than one connection, in one or several processes
	Cancellation bool     `json:"cancellation,omitempty"`
	Other        string   `json:"other,omitempty"` // a condition in words, which only the reader can check
}

//go:embed defects.json
var data []byte

var read = sync.OnceValue(func() []Defect {
	var list []Defect
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		panic(fmt.Sprintf("defects.json: %v", err)) // a test reads it, too
	}
	return list
})

// All lists all defects, in the order of the data.
func All() []Defect { return slices.Clone(read()) }

// Library is a version of a library as it is linked into a program. Unknown fields are "".
type Library struct {
	Module  string
	Version string
	SQLite  string            // version of SQLite, such as 3.51.2
	Linked  map[string]string // versions of the other linked modules, by module path
}

// Known lists the defects of a library, worst first.
func Known(l Library) []Defect {
	var list []Defect
	for _, d := range read() {
		if d.in(l) {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b Defect) int {
		return cmp.Compare(slices.Index(effects, a.Effect), slices.Index(effects, b.Effect))
	})
	return list
}

// in reports whether a library has the defect.
func (d *Defect) in(l Library) bool {
	version := l.Version
	switch d.Of {
	case OfSQLite:
		version = l.SQLite
		if slices.ContainsFunc(d.Patched, func(p Patch) bool { return p.by(l) }) {
			return false
		}
	case l.Module:
	default:
		return false
	}
	return slices.ContainsFunc(d.Affected, func(r Range) bool { return r.has(version) })
}

// by reports whether a library has the patch.
func (p Patch) by(l Library) bool {
	version := l.Linked[p.Module]
	if p.Module == l.Module {
		version = l.Version
	}
	return Range{From: p.From}.has(version)
}

// has reports whether a version is in the range. An unknown or malformed version is not in any
// range.
func (r Range) has(version string) bool {
	if _, ok := compare(version, version); !ok {
		return false
	}
	if r.From != "" {
		if c, ok := compare(version, r.From); !ok || c < 0 {
			return false
		}
	}
	if r.Fixed != "" {
		if c, ok := compare(version, r.Fixed); !ok || c >= 0 {
			return false
		}
	}
	return true
}

// compare compares two versions of a Go module, such as v1.2.3, or of SQLite, such as 3.51.2.
// ok is false unless both are of the same kind.
func compare(a, b string) (order int, ok bool) {
	if strings.HasPrefix(a, "v") {
		return semver.Compare(a, b), semver.IsValid(a) && semver.IsValid(b)
	}
	x, okX := numbers(a)
	y, okY := numbers(b)
	return slices.Compare(x, y), okX && okY
}

// numbers splits a version of SQLite: 3.8.4.2 has four numbers, and 3.51.0 is 3.51.
func numbers(version string) (list []int, ok bool) {
	for s := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return nil, false
		}
		list = append(list, n)
	}
	for len(list) > 1 && list[len(list)-1] == 0 {
		list = list[:len(list)-1]
	}
	return list, true
}

// Use is how a library is used, as far as that is known.
type Use struct {
	OS, Arch    string // as GOOS and GOARCH; "": not known
	WAL         Answer
	Connections Answer // is there more than one?
	Cancels     Answer // are contexts canceled, or do they have deadlines?
}

// Answer is yes, no, or not known.
type Answer int

// The answers.
const (
	NotKnown Answer = iota
	Yes
	No
)

// Unmet lists which needs of a defect a use is known not to meet: "os", "arch", "wal",
// "rollback", "connections" or "cancellation". A defect with an unmet need does no harm.
func (n Needs) Unmet(u Use) (list []string) {
	note := func(need string, unmet bool) {
		if unmet {
			list = append(list, need)
		}
	}
	note("os", n.OS != nil && u.OS != "" && !slices.Contains(n.OS, u.OS))
	note("arch", n.Arch != nil && u.Arch != "" && !slices.Contains(n.Arch, u.Arch))
	note("wal", n.WAL && u.WAL == No)
	note("rollback", n.Rollback && u.WAL == Yes)
	note("connections", n.Connections && u.Connections == No)
	note("cancellation", n.Cancellation && u.Cancels == No)
	return list
}
