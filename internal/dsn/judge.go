package dsn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Outcome is the effect of an option in a library.
type Outcome string

// The outcomes of an option.
const (
	Applied   Outcome = "applied"    // it takes effect, and so does another value
	Default   Outcome = "default"    // it is ignored, and the value is the default anyway
	Ignored   Outcome = "ignored"    // it is ignored, and another value is in force
	Refused   Outcome = "refused"    // with an error
	Differs   Outcome = "differs"    // it takes effect, but with another value than the one given
	Overruled Outcome = "overruled"  // it takes effect alone, and not with the other options
	FirstOnly Outcome = "first-only" // it takes effect on the first connection only
	Heeded    Outcome = "heeded"     // the library refuses a nonsensical value; the effect cannot be read back
	Changes   Outcome = "changes"    // the option is unknown, but changes something
	Unseen    Outcome = "unseen"     // it is accepted, and nothing that can be read back changes
	Void      Outcome = "void"       // it means nothing in a database that is in memory
)

// Holds reports whether the option has the effect that it should have.
func (o Outcome) Holds() bool { return o == Applied || o == Heeded || o == Changes }

// Verdict says how a library treats one option.
type Verdict struct {
	Option  string   `json:"option"`
	Outcome Outcome  `json:"outcome"`
	Is      string   `json:"is,omitempty"`      // the value in force with this option alone; with all of them, if it is overruled
	Default string   `json:"default,omitempty"` // the value without options
	Error   string   `json:"error,omitempty"`
	Changes []Change `json:"changes,omitempty"` // what else changes with this option alone
}

// Change is a setting that an option changes without being asked.
type Change struct {
	Setting string `json:"setting"`
	From    string `json:"from"`
	To      string `json:"to"`
}

// Told says how a library treats a DSN.
type Told struct {
	Driver        string `json:"driver"`
	ModuleVersion string `json:"module_version,omitempty"`
	SQLiteVersion string `json:"sqlite_version,omitempty"`

	Call           string `json:"call,omitempty"`            // by which its users open a database
	EachConnection string `json:"each_connection,omitempty"` // where they run statements on each new connection

	// Failed is the library's error for the DSN without options, and Refused is its error for the
	// complete DSN.
	Failed  string `json:"failed,omitempty"`
	Refused string `json:"refused,omitempty"`

	Options  []Verdict       `json:"options"`
	Defaults driver.Settings `json:"defaults,omitempty"` // without options
	InForce  driver.Settings `json:"in_force,omitempty"` // with the complete DSN, as are the next fields

	Second string `json:"second,omitempty"`        // why a second connection cannot be opened
	Own    bool   `json:"own_databases,omitempty"` // each connection has its own database
	Waits  bool   `json:"waits,omitempty"`         // it waits for locks though busy_timeout is 0
	File   string `json:"file,omitempty"`          // the file that is created under a wrong name

	Spelling *Spelling `json:"spelling,omitempty"`
}

// Judge says how a library treats the DSN, from the results of the questions' openings.
func (q *Questions) Judge(got []protocol.Opened) (*Told, error) {
	if len(got) != len(q.Openings) {
		return nil, fmt.Errorf("%d answers to %d openings", len(got), len(q.Openings))
	}
	plain, all := &answer{&got[q.plain]}, &answer{&got[q.all]}
	t := &Told{Failed: q.Name.Mask(plain.Failed), Refused: q.Name.Mask(all.Failed), Defaults: plain.settings(), InForce: all.settings()}
	if all.Failed == "" {
		t.Second, t.Own = q.Name.Mask(all.Second), all.Own
		// Only with private caches can waiting for a lock be observed.
		t.Waits = all.Waits || plain.Waits && all.Seen["cache"] != "private" && t.InForce["busy_timeout"] == "0"
		t.File = q.Name.Mask(q.Name.misnamed(all.Files))
	}
	for i := range q.Name.Options {
		o := &q.Name.Options[i]
		of := q.of[i]
		v := Verdict{Option: o.String()}
		if plain.Failed != "" {
			v.Outcome, v.Error = Refused, plain.Failed
		} else {
			q.judge(&v, o, plain, at(got, of.alone), at(got, of.another), at(got, of.nonsense), all)
		}
		v.Error, v.Is = q.Name.Mask(v.Error), q.Name.Mask(v.Is)
		t.Options = append(t.Options, v)
	}
	return t, nil
}

// misnamed returns the name of the created file if it is a wrong one.
func (n *Name) misnamed(files []string) string {
	if len(files) == 0 || slices.Contains(files, n.file) {
		return ""
	}
	return files[0]
}

// answer is the result of one opening.
type answer struct{ *protocol.Opened }

func at(got []protocol.Opened, i int) *answer {
	if i < 0 {
		return nil
	}
	return &answer{&got[i]}
}

func (a *answer) settings() driver.Settings {
	if len(a.Connections) == 0 {
		return nil
	}
	s := a.Connections[0].Settings.With(a.Seen)
	delete(s, "pool_size")
	return s
}

func (a *answer) value(connection int, setting string) (string, bool) {
	switch {
	case a == nil || a.Failed != "" || connection >= len(a.Connections):
		return "", false
	case setting == "nolock":
		return onOff(a.NoLocks), a.NoLocks || a.Seen["cache"] != ""
	case setting == "immutable":
		return onOff(a.Seen["mode"] == "ro"), a.Seen["mode"] != ""
	}
	if d, ok := driver.LookupSetting(setting); ok && !d.Pragma {
		v, ok := a.Seen[setting]
		return v, ok
	} else if ok {
		v, ok := a.Connections[connection].Settings[setting]
		return v, ok
	}
	raw, ok := a.Connections[connection].Pragmas[setting]
	if !ok {
		return "", false
	}
	if v, err := canonical(setting, raw); err == nil {
		raw = v
	}
	return raw, true
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

func (a *answer) has(connection int, setting, value string) bool {
	got, ok := a.value(connection, setting)
	if !ok {
		return false
	}
	// In WAL mode an exclusive transaction is an immediate one.
	if setting == "txlock" && value == "exclusive" && got == "immediate" {
		return a.Connections[0].Settings["journal_mode"] == "wal"
	}
	return got == value
}

func (a *answer) everywhere(setting, value string) bool {
	if a == nil {
		return false
	}
	for i := range a.Connections {
		if !a.has(i, setting, value) {
			return false
		}
	}
	return len(a.Connections) > 0
}

func (q *Questions) judge(v *Verdict, o *Option, plain, alone, another, nonsense, all *answer) {
	if alone.Failed != "" {
		v.Outcome, v.Error = Refused, alone.Failed
		return
	}
	v.Is, _ = alone.value(0, o.Setting)
	v.Default, _ = plain.value(0, o.Setting)
	if alone.Waits && o.Setting == "busy_timeout" && v.Is != o.Wanted {
		v.Is, v.Default = WithoutLimit, timeout(plain.settings(), plain.Waits)
	}
	except := o.Setting
	if except == "immutable" { // which shows as mode=ro
		except = "mode"
	}
	v.Changes = changes(plain, alone, except)
	looked := nonsense != nil && nonsense.Failed != ""
	switch {
	case o.Wanted == "" || v.Is == "":
		v.Outcome = q.unread(v, o, looked)
	case alone.everywhere(o.Setting, o.Wanted):
		v.Outcome = Applied
		if v.Default == v.Is && !heeds(plain, another, o.Setting, o.Wanted) {
			v.Outcome = Default
		}
	case alone.has(0, o.Setting, o.Wanted):
		v.Outcome = FirstOnly
	case q.Name.Memory && o.Setting == "journal_mode":
		v.Outcome = Void
	case v.Is != v.Default || heeds(plain, another, o.Setting, o.Wanted):
		v.Outcome = Differs
	default:
		v.Outcome = Ignored
	}
	if is, ok := all.value(0, o.Setting); ok && (v.Outcome == Applied || v.Outcome == Default) && !all.everywhere(o.Setting, o.Wanted) {
		v.Outcome, v.Is = Overruled, is
	}
}

// unread judges an option whose effect cannot be read back.
func (q *Questions) unread(v *Verdict, o *Option, looked bool) Outcome {
	switch {
	case o.Key == "_pragma" && !looked:
		return Ignored // its value would have to run as SQL
	case o.Setting != "" && o.Wanted == "" && v.Is != "" && v.Is == v.Default:
		return Ignored // a value that is none
	case len(v.Changes) > 0:
		return Changes
	case looked && o.Problem == "":
		return Heeded
	}
	return Unseen
}

// heeds reports whether an opening with another value than the wanted one has that value,
// which is not the default, or is refused. If the library ignores the option, neither happens.
func heeds(plain, other *answer, setting, wanted string) bool {
	if other == nil || other.Failed != "" {
		return other != nil
	}
	value := another(setting, wanted)
	return other.everywhere(setting, value) && !plain.everywhere(setting, value)
}

func changes(from, to *answer, except string) (list []Change) {
	a, b := from.settings(), to.settings()
	for _, d := range driver.Vocabulary {
		if x, y := a[d.Name], b[d.Name]; d.Name != except && x != y && x != "" && y != "" {
			list = append(list, Change{d.Name, x, y})
		}
	}
	if from.Waits != to.Waits && a["cache"] == "private" && b["cache"] == "private" {
		list = append(list, Change{"busy_timeout", timeout(a, from.Waits), timeout(b, to.Waits)})
	}
	return list
}

// WithoutLimit is the value of busy_timeout if the library's own busy handler waits.
const WithoutLimit = "without limit"

func timeout(s driver.Settings, waits bool) string {
	if waits {
		return WithoutLimit
	}
	return s["busy_timeout"]
}

// Difference is a setting that the DSN does not set and in which the libraries differ.
type Difference struct {
	Setting string `json:"setting"`
	Values  []Side `json:"values"`
}

// Side is a value, and who has it.
type Side struct {
	Value   string   `json:"value"`
	Drivers []string `json:"drivers"`
}

// Differences returns the settings that the DSN does not ask for and in which the
// libraries differ when they have opened it. The value of most is first.
func Differences(n *Name, all []*Told) (list []Difference) {
	asked := map[string]bool{"mode": true, "pool_size": true}
	for _, o := range n.Options {
		asked[o.Setting] = true
	}
	for _, d := range driver.Vocabulary {
		if asked[d.Name] {
			continue
		}
		diff := Difference{Setting: d.Name}
		for _, t := range all {
			v := t.InForce[d.Name]
			if d.Name == "busy_timeout" {
				v = timeout(t.InForce, t.Waits)
			}
			if v == "" {
				continue
			}
			i := slices.IndexFunc(diff.Values, func(s Side) bool { return s.Value == v })
			if i < 0 {
				i = len(diff.Values)
				diff.Values = append(diff.Values, Side{Value: v})
			}
			diff.Values[i].Drivers = append(diff.Values[i].Drivers, t.Driver)
		}
		if len(diff.Values) > 1 {
			slices.SortStableFunc(diff.Values, func(a, b Side) int {
				return cmp.Or(len(b.Drivers)-len(a.Drivers), strings.Compare(a.Value, b.Value))
			})
			list = append(list, diff)
		}
	}
	return list
}
