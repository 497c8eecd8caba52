package dsn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Outcome says what effect an option has in a library.
type Outcome string

// The outcomes of an option.
const (
	Applied   Outcome = "applied"    // the option takes effect: the wanted value is in force, and not only because it is the default
	Default   Outcome = "default"    // the library ignores the option, but the wanted value is the library's default
	Ignored   Outcome = "ignored"    // the library ignores the option, and a value other than the wanted value is in force
	Refused   Outcome = "refused"    // the library returns an error
	Differs   Outcome = "differs"    // the option takes effect, but sets a value other than the wanted value
	Overruled Outcome = "overruled"  // the option takes effect alone, but not together with the other options
	FirstOnly Outcome = "first-only" // the option takes effect on the first connection only
	Heeded    Outcome = "heeded"     // the effect cannot be read back, but the library refuses a nonsensical value
	Changes   Outcome = "changes"    // the effect cannot be read back, but the option changes settings that it is not meant for
	Unseen    Outcome = "unseen"     // the library accepts the option, but no change can be read back
	Void      Outcome = "void"       // the option has no meaning for a database in memory
)

// Holds reports whether the outcome is the intended effect of the option.
func (o Outcome) Holds() bool { return o == Applied || o == Heeded || o == Changes }

// Verdict says how a library treats one option.
type Verdict struct {
	Option  string   `json:"option"`
	Outcome Outcome  `json:"outcome"`
	Is      string   `json:"is,omitempty"`      // the value in force with this option alone; for the outcome Overruled, the value in force with all options
	Default string   `json:"default,omitempty"` // the value in force without options
	Error   string   `json:"error,omitempty"`
	Changes []Change `json:"changes,omitempty"` // other settings that change with this option alone
}

// Change is a setting that an option changes as a side effect. The option is meant for another setting.
type Change struct {
	Setting string `json:"setting"`
	From    string `json:"from"`
	To      string `json:"to"`
}

// Told says how a library treats a DSN and each of its options.
type Told struct {
	Driver        string `json:"driver"`
	ModuleVersion string `json:"module_version,omitempty"`
	SQLiteVersion string `json:"sqlite_version,omitempty"`

	Call           string `json:"call,omitempty"`            // function by which users of the library open a database
	EachConnection string `json:"each_connection,omitempty"` // where users of the library run statements on each new connection

	// Failed is the library's error for the DSN without options. Refused is the library's error for
	// the complete DSN.
	Failed  string `json:"failed,omitempty"`
	Refused string `json:"refused,omitempty"`

	Options  []Verdict       `json:"options"`
	Defaults driver.Settings `json:"defaults,omitempty"` // settings in force without options
	InForce  driver.Settings `json:"in_force,omitempty"` // settings in force with the complete DSN; the following fields are about the complete DSN, too

	Second string `json:"second,omitempty"`        // error if a second connection could not be opened
	Own    bool   `json:"own_databases,omitempty"` // each connection has its own database
	Waits  bool   `json:"waits,omitempty"`         // the library waits for locks although busy_timeout is 0
	File   string `json:"file,omitempty"`          // name of the created file, if it is not the intended file

	Spelling *Spelling `json:"spelling,omitempty"`
}

// holds reports whether each option has its intended effect.
func (t *Told) holds() bool {
	return !slices.ContainsFunc(t.Options, func(v Verdict) bool { return !v.Outcome.Holds() })
}

// Judge says how a library treats a DSN. The parameter "got" has the results of q.Openings, in the same
// order.
func (q *Questions) Judge(got []protocol.Opened) (*Told, error) {
	if len(got) != len(q.Openings) {
		return nil, fmt.Errorf("%d answers to %d openings", len(got), len(q.Openings))
	}
	plain, all := at(got, q.plain), at(got, q.all)
	t := &Told{Failed: q.Name.Mask(plain.Failed), Refused: q.Name.Mask(all.Failed), Defaults: plain.settings(), InForce: all.settings()}
	if all.Failed == "" {
		t.Second, t.Own = q.Name.Mask(all.Second), all.Own
		// If connections share a cache, waiting for a lock cannot be observed. In this case, the database
		// that was opened without options shows whether the library waits.
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

// misnamed returns the name of the file that the library created, if it is not the intended file.
// Otherwise it returns "".
func (n *Name) misnamed(files []string) string {
	if len(files) == 0 || slices.Contains(files, n.file) {
		return ""
	}
	return files[0]
}

// answer is the result of opening one database.
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
	// In WAL mode SQLite treats an exclusive transaction as an immediate one.
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
	if except == "immutable" { // settings that are read back from an immutable database have mode=ro
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

// unread returns the outcome of an option whose effect cannot be read back. The parameter "looked"
// is true if the library refused a nonsensical value of the option.
func (q *Questions) unread(v *Verdict, o *Option, looked bool) Outcome {
	switch {
	case o.Key == "_pragma" && !looked:
		return Ignored // if the library read the option, SQLite would have run the nonsensical value as SQL and returned an error
	case o.Setting != "" && o.Wanted == "" && v.Is != "" && v.Is == v.Default:
		return Ignored // the value is not valid for the setting
	case len(v.Changes) > 0:
		return Changes
	case looked && o.Problem == "":
		return Heeded
	}
	return Unseen
}

// heeds reports whether a library reads an option. The parameter "other" is the result of opening a
// database with the option's value another(setting, wanted), or nil if none was opened in this way. The
// library reads the option if it refused this value, or if this value is in force and is not the default.
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

// WithoutLimit is shown as the value of busy_timeout if the library's own busy handler waits
// forever.
const WithoutLimit = "without limit"

func timeout(s driver.Settings, waits bool) string {
	if waits {
		return WithoutLimit
	}
	return s["busy_timeout"]
}

// Difference is a setting that the DSN does not set and whose value differs between libraries.
type Difference struct {
	Setting string `json:"setting"`
	Values  []Side `json:"values"`
}

// Side is a value of a setting, with the drivers that have it.
type Side struct {
	Value   string   `json:"value"`
	Drivers []string `json:"drivers"`
}

// Differences returns the settings that the DSN does not set and whose values differ between
// libraries after they opened the DSN. For each setting, the value that most drivers have comes
// first.
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
			s := distinct.Find(&diff.Values, Side{Value: v}, func(s Side) bool { return s.Value == v })
			s.Drivers = append(s.Drivers, t.Driver)
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
