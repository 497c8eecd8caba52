// Package defects lists known defects of SQLite and of drivers' libraries, by version. It says
// what each defect does, under which conditions it does harm, and where it is documented. The
// data are in defects.json, from which docs/defects.md is generated.
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

// OfSQLite is the value of Defect.Of for a defect of SQLite itself. For other defects, the value is
// the path of a Go module.
const OfSQLite = "sqlite"

// Effect is the worst effect of a defect.
type Effect string

// The values of Effect, worst first.
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

// Falsifies reports whether a defect with this effect can lose or damage data, or make answers
// wrong.
func (e Effect) Falsifies() bool { return e == Corruption || e == LostWrites || e == WrongAnswer }

// Defect describes a defect of some versions of SQLite or of a Go module.
type Defect struct {
	ID       string   `json:"id"`
	Of       string   `json:"of"` // what has the defect: [OfSQLite], or the path of a Go module
	Title    string   `json:"title"`
	Effect   Effect   `json:"effect"`
	Affected []Range  `json:"affected"`
	Patched  []Patch  `json:"patched,omitempty"`
	Needs    Needs    `json:"needs,omitzero"`
	Means    string   `json:"means"`
	Do       string   `json:"do"`
	Sources  []string `json:"sources"`
}

// Range is a range of affected versions.
type Range struct {
	From  string `json:"from,omitempty"`  // first affected version; "" if that is not known
	Fixed string `json:"fixed,omitempty"` // first version without the defect; "" if there is no such version yet
}

// Patch describes a Go module that links a SQLite with the defect, but has its own fix for the defect.
// From is the module's first version with the fix.
type Patch struct {
	Module string `json:"module"`
	From   string `json:"from"`
}

// Needs lists the conditions under which a defect does harm. All conditions must be met. A field with
// its zero value is not a condition.
type Needs struct {
	OS           []string `json:"os,omitempty"` // operating systems, as GOOS; the program must run on one of them
	Arch         []string `json:"arch,omitempty"`
	WAL          bool     `json:"wal,omitempty"`         // journal_mode=wal
	Rollback     bool     `json:"rollback,omitempty"`    // any journal_mode except wal
	Connections  bool     `json:"connections,omitempty"` // more than one connection, in one or several processes
	Cancellation bool     `json:"cancellation,omitempty"`
	Other        string   `json:"other,omitempty"` // a condition in words, which no program can check
	Words        []string `json:"words,omitempty"` // words of SQL or names of types, in lower case; the condition Other is met only if the program uses all of them
}

//go:embed defects.json
var data []byte

var read = sync.OnceValue(func() []Defect {
	var list []Defect
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		panic(fmt.Sprintf("defects.json: %v", err)) // cannot happen, because a test reads the file
	}
	return list
})

// Library describes a library that is linked into a program. Unknown fields are "".
type Library struct {
	Module  string
	Version string
	SQLite  string            // version of SQLite, such as 3.51.2
	Linked  map[string]string // versions of the other linked modules, by module path
}

// Known lists the known defects of a library, worst first.
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

// The method "in" reports whether a library has defect d.
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

// The method "by" reports whether a library has patch p.
func (p Patch) by(l Library) bool {
	version := l.Linked[p.Module]
	if p.Module == l.Module {
		version = l.Version
	}
	return Range{From: p.From}.has(version)
}

// has reports whether a version is in range r. It returns false for an unknown or malformed
// version.
func (r Range) has(version string) bool {
	order, ok := compare(version, cmp.Or(r.From, version))
	if !ok || order < 0 || r.Fixed == "" {
		return ok && order >= 0
	}
	order, ok = compare(version, r.Fixed)
	return ok && order < 0
}

// compare compares two versions of a Go module, such as v1.2.3, or of SQLite, such as 3.51.2. ok is
// false if a version is malformed, or if only one of them is a version of a Go module.
func compare(a, b string) (order int, ok bool) {
	if strings.HasPrefix(a, "v") {
		return semver.Compare(a, b), semver.IsValid(a) && semver.IsValid(b)
	}
	x, okX := numbers(a)
	y, okY := numbers(b)
	return slices.Compare(x, y), okX && okY
}

// numbers splits a version of SQLite into numbers: 3.8.4.2 has four numbers. It drops zeros at the end,
// so 3.51.0 equals 3.51.
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

// Use says how a program uses a library.
type Use struct {
	OS, Arch    string // operating system and processor, as GOOS and GOARCH; "" if not known
	WAL         Answer
	Connections Answer // is there more than one connection?
	Cancels     Answer // are contexts canceled, or do they have deadlines?
	Text        string // in lower case, a text that contains all SQL and the names of all types of parameters; "" if not known
}

// Answer is yes, no, or not known.
type Answer int

// The values of Answer.
const (
	NotKnown Answer = iota
	Yes
	No
)

// Unmet lists the conditions of a defect that are known to be unmet in the use u: "os", "arch", "wal",
// "rollback", "connections", "cancellation" or "words". If there is one, the defect does no harm.
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
	note("words", u.Text != "" && slices.ContainsFunc(n.Words, func(w string) bool { return !strings.Contains(u.Text, w) }))
	return list
}
