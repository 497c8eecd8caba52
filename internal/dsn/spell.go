package dsn

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Of returns a data source name that asks for the given settings. Its spelling still has to be adapted to a
// library. The result "rest" has the settings that no data source name can express, such as the size of a
// pool.
func Of(file string, set driver.Settings) (name string, rest driver.Settings) {
	var options []string
	rest = driver.Settings{}
	for _, d := range driver.Vocabulary {
		value, ok := set[d.Name]
		switch {
		case !ok:
		case d.Pragma || slices.Contains([]string{"txlock", "mode", "cache"}, d.Name):
			options = append(options, optionsFor(d.Name, value)[0])
		default:
			rest[d.Name] = value
		}
	}
	return withOptions("file:"+escape(file), options), rest
}

// Spelling says how users of a library get the settings that a DSN asks for.
type Spelling struct {
	DSN   string   `json:"dsn"`
	Init  []string `json:"init,omitempty"`  // statements to be run on each new connection
	Begin string   `json:"begin,omitempty"` // statement that begins a transaction

	// LeftOut lists options for which this library has no known equivalent.
	LeftOut []string `json:"left_out,omitempty"`

	// Missing lists the wanted settings that have another value when they are read back, even with
	// this spelling.
	Missing []driver.Mismatch `json:"missing,omitempty"`

	// Failed is the library's error if it cannot open this DSN. Otherwise it is "".
	Failed string `json:"failed,omitempty"`
}

// Words says which calls are needed in addition to the DSN, and which settings are impossible. The parameter
// "each" is [Told.EachConnection].
func (s *Spelling) Words(each string) (list []string) {
	if len(s.Init) > 0 {
		list = append(list, fmt.Sprintf("and in code (%s): %s", cmp.Or(each, "on each new connection"), strings.Join(s.Init, "; ")))
	}
	if s.Begin != "" {
		list = append(list, "and begin transactions that write with "+s.Begin)
	}
	if len(s.LeftOut) > 0 {
		list = append(list, "no such option here: "+strings.Join(s.LeftOut, ", "))
	}
	for _, m := range s.Missing {
		list = append(list, fmt.Sprintf("not possible here: %s is %s, not %s", m.Setting, m.Got, m.Wanted))
	}
	if s.Failed != "" {
		list = append(list, "not possible here: "+s.Failed)
	}
	return list
}

// Spellings are proposed ways to get the wanted settings from a library. The worker must still try whether
// they work.
type Spellings struct {
	Openings []protocol.Opening

	q     *Questions
	tries []Spelling
}

// Spell proposes how to get the wanted settings from a library. The parameter "got" has the results of
// q.Openings. dir is the directory of the worker's next job. Spell returns nil if the library cannot open the
// DSN in any form.
func (q *Questions) Spell(got []protocol.Opened, t *Told, dir string) *Spellings {
	uri, ok := q.form(got, t)
	if !ok {
		return nil
	}
	s := &Spellings{q: q}
	// A library may apply options in an order in which some of them have no effect. In this case, only the
	// second spelling helps, which has statements in place of options.
	for i, inDSN := range []bool{true, false} {
		try, options := q.propose(got, t, uri, inDSN)
		o := q.Name.opening(filepath.Join(dir, strconv.Itoa(i)), uri, options)
		o.Init, o.Begin = try.Init, try.Begin
		s.Openings, s.tries = append(s.Openings, o), append(s.tries, try)
		if len(options) == 0 {
			break // the second spelling would be the same
		}
	}
	return s
}

// form decides whether the DSN is spelled as a URI. ok is false if the intended database is opened
// neither by a URI nor by a path.
func (q *Questions) form(got []protocol.Opened, t *Told) (uri, ok bool) {
	right := func(i int) bool {
		return i >= 0 && got[i].Failed == "" && q.Name.misnamed(got[i].Files) == ""
	}
	switch typed, other := right(q.plain), right(q.other); {
	case typed && (!other || t.holds()):
		return q.Name.uri, true
	case other:
		return typed || !q.Name.uri, true
	}
	return false, false
}

// propose returns a spelling for the wanted settings, and the options of its DSN. If inDSN is true, the
// settings that the library applies from a DSN become options of the DSN. Otherwise all pragmas become
// statements.
func (q *Questions) propose(got []protocol.Opened, t *Told, uri, inDSN bool) (p Spelling, options []string) {
	plain := at(got, q.plain)
	var code []Wants
	for _, w := range q.Name.Wanted() {
		d, vocabulary := driver.LookupSetting(w.Setting)
		pragma := vocabulary && d.Pragma || !vocabulary && isPragma(w.Setting)
		option := q.heeded(got, t, w)
		switch {
		case option != "" && (inDSN || !pragma):
			options = append(options, option)
		case pragma:
			code = append(code, w)
		case plain.everywhere(w.Setting, w.Value):
			// The value is the default, so nothing needs to be set.
		case w.Setting == "txlock" && w.Value != "deferred":
			p.Begin = driver.Settings{"txlock": w.Value}.Begin()
		default:
			p.LeftOut = append(p.LeftOut, w.Setting+"="+w.Value)
		}
	}
	for i, o := range q.Name.Options {
		switch {
		case o.Wanted != "":
		case t.Options[i].Outcome.Holds():
			options = append(options, o.raw)
		case t.Options[i].Outcome != Void:
			p.LeftOut = append(p.LeftOut, o.String())
		}
	}
	slices.SortStableFunc(code, func(a, b Wants) int { return rank(a.Setting) - rank(b.Setting) })
	for _, w := range code {
		p.Init = append(p.Init, "PRAGMA "+w.Setting+"="+quoted(w.Value))
	}
	p.DSN = q.Name.Mask(withOptions(q.Name.as(uri), options))
	return p, options
}

// unquoted matches values that need no quotes in a PRAGMA: words and numbers. A word with a hyphen, such as
// utf-8, needs quotes.
var unquoted = regexp.MustCompile(`^([-0-9][-0-9a-z_]*|[a-z_][0-9a-z_]*)$`)

func quoted(value string) string {
	if unquoted.MatchString(value) {
		return value
	}
	return "'" + value + "'"
}

func rank(setting string) int {
	i := slices.IndexFunc(driver.Vocabulary, func(d driver.SettingDef) bool { return d.Name == setting })
	if i < 0 {
		return len(driver.Vocabulary)
	}
	return i
}

// heeded returns an option by which the library applies the setting w. It returns the option as typed,
// if that has an effect. Otherwise it returns another spelling that had an effect with two different
// values. If no such option is known, heeded returns "".
func (q *Questions) heeded(got []protocol.Opened, t *Told, w Wants) string {
	for i, o := range q.Name.Options {
		if o.Setting != w.Setting || o.Wanted != w.Value {
			continue
		}
		outcome := t.Options[i].Outcome
		if outcome == Applied || outcome == Overruled && heeds(at(got, q.plain), at(got, q.of[i].another), w.Setting, w.Value) {
			return o.raw
		}
	}
	for _, way := range q.ways[w] {
		if at(got, way.alone).everywhere(w.Setting, w.Value) && at(got, way.another).everywhere(w.Setting, another(w.Setting, w.Value)) {
			return way.option
		}
	}
	return ""
}

// Prove returns the first spelling with which all wanted settings are in force. If there is no such
// spelling, it returns the spelling that opens a database and lacks the fewest settings. It returns nil
// if the parameter "got" is empty.
func (s *Spellings) Prove(got []protocol.Opened) *Spelling {
	var best *Spelling
	for i := range min(len(s.tries), len(got)) {
		try, a := &s.tries[i], at(got, i)
		try.Failed = s.q.Name.Mask(a.Failed)
		if a.Failed == "" {
			try.Missing = a.missing(s.q.Name.Wanted())
		}
		if best == nil || best.Failed != "" && try.Failed == "" || try.Failed == "" && len(try.Missing) < len(best.Missing) {
			best = try
		}
	}
	return best
}

func (a *answer) missing(wanted []Wants) (list []driver.Mismatch) {
	for _, w := range wanted {
		for c := range a.Connections {
			if is, ok := a.value(c, w.Setting); ok && !a.has(c, w.Setting, w.Value) {
				list = append(list, driver.Mismatch{Setting: w.Setting, Wanted: w.Value, Got: is})
				break
			}
		}
	}
	return list
}
