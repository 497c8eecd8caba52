package dsn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func parse(t *testing.T, text string) *dsn.Name {
	t.Helper()
	n, err := dsn.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestParse(t *testing.T) {
	n := parse(t, "file:x.db?_journal=WAL&_sync=1&_pragma=busy_timeout(5000)&_fk=yes&mode=rw&_rt=1&_loc=auto")
	want := []dsn.Wants{
		{"journal_mode", "wal"}, {"synchronous", "normal"}, {"busy_timeout", "5000"}, {"foreign_keys", "on"},
		{"mode", "rw"}, {"recursive_triggers", "on"},
	}
	if diff := cmp.Diff(want, n.Wanted()); diff != "" {
		t.Error(diff)
	}
	for i := range n.Options {
		if o := &n.Options[i]; o.Problem != "" {
			t.Errorf("%s: %s", o, o.Problem)
		}
	}
}

func TestProblems(t *testing.T) {
	for option, want := range map[string]string{
		"_jounal=WAL":                 `did you mean "_journal"?`,
		"journal_mode=WAL":            `did you mean "_journal_mode"?`,
		"_journal=WALL":               "want one of delete, truncate",
		"_pragma=journal":             "want _pragma=name(value)",
		"_pragma=jounal_mode(wal)":    `did you mean "journal_mode"?`,
		"_pragma=foreign_keys(maybe)": "bad value",
	} {
		n := parse(t, "x.db?"+option)
		if got := n.Options[0].Problem; !strings.Contains(got, want) {
			t.Errorf("%s: problem %q does not say %q", option, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "names no file",
		"file:":                                 "names no file",
		"/var/lib/":                             "names no file",
		"x.db?_fk=1;_journal=wal":               `options are separated by "&"`,
		"x.db?_pragma=foreign_keys(1)%3BATTACH": "could run any SQL",
		"sqlite3://x.db?_fk=1":                  `such as "file:x.db"`,
		"x.db?_fk=%zz":                          "invalid URL escape",
		"x.db%00?_fk=1":                         "NUL",
		"x.db?_pragma=a b(1)":                   "is not the name of a pragma",
	} {
		if _, err := dsn.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not say %q", text, err, want)
		}
	}
}

// TestNeverTheUsersFile checks that every database is opened in its own directory, whatever file
// the DSN names. A path must remain a path, and a URI must remain a URI.
func TestNeverTheUsersFile(t *testing.T) {
	for text, want := range map[string]string{
		"x.db?_fk=1":                      "x.db?_fk=1",
		"../data/x.db?_fk=1":              "x.db?_fk=1",
		"/var/lib/x.db?_fk=1":             "/tmp/q/2/x.db?_fk=1",
		"file:x.db?_fk=1":                 "file:x.db?_fk=1",
		"file:../../x.db?_fk=1":           "file:x.db?_fk=1",
		"file:..%2F..%2Fetc%2Fx.db?_fk=1": "file:x.db?_fk=1",
		"file:/var/lib/x.db?_fk=1":        "file:/tmp/q/2/x.db?_fk=1",
		"file:///var/lib/x%20y.db?_fk=1":  "file:///tmp/q/2/x%20y.db?_fk=1",
		"file://localhost/var/x.db?_fk=1": "file://localhost/tmp/q/2/x.db?_fk=1",
		"file://x.db?_fk=1":               "file://x.db?_fk=1", // SQLite refuses this URI
		":memory:?_fk=1":                  ":memory:?_fk=1",
		"file::memory:?_fk=1":             "file::memory:?_fk=1",
	} {
		q := dsn.Ask(parse(t, text), "/tmp/q")
		found := false
		for _, o := range q.Openings {
			found = found || strings.ReplaceAll(o.DSN, "/1/", "/2/") == want
			if path, _, _ := strings.Cut(o.DSN, "?"); strings.Contains(path, "..") || strings.Contains(path, "var") || strings.Contains(path, "etc") {
				t.Errorf("%s: opens %s", text, o.DSN)
			}
		}
		if !found {
			t.Errorf("%s: %s is not opened: %+v", text, want, q.Openings)
		}
	}
}

func TestMask(t *testing.T) {
	n := parse(t, "file:x.db?_auth_user=admin&_auth_pass=h%20ello&_pragma=key('s3cret')&_crypt=abc&_foreign_keys=1")
	want := "file:x.db?_auth_user=admin&_auth_pass=***&_pragma=key('***')&_crypt=***&_foreign_keys=1"
	if got := n.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := n.Mask("bad password h ello: s3cret"); got != "bad password ***: ***" {
		t.Errorf("got %s", got)
	}
}

// library imitates a library that applies only some options.
type library struct {
	options  map[string]string // name of the setting that each option sets, by name of the option; with "any", _pragma sets any setting
	defaults driver.Settings
	refuses  string // name of an option that the library refuses
	once     bool   // options apply to the first connection only
}

func (l *library) open(list []protocol.Opening) (got []protocol.Opened) {
	for _, o := range list {
		first := l.defaults.With(nil)
		_, query, _ := strings.Cut(o.DSN, "?")
		var r protocol.Opened
		for _, option := range strings.Split(query, "&") {
			key, value, _ := strings.Cut(option, "=")
			setting := l.options[key]
			if key == "_pragma" && setting != "" {
				setting, value, _ = strings.Cut(strings.TrimSuffix(value, ")"), "(")
			}
			if v, err := driver.ParseSetting(setting, value); err == nil {
				first[setting] = v
			} else if setting != "" {
				r.Failed = "syntax error"
			}
			if key != "" && key == l.refuses {
				r.Failed = "invalid " + key
			}
		}
		second := first
		if l.once {
			second = l.defaults.With(nil)
		}
		for _, sql := range o.Init {
			name, value, _ := strings.Cut(strings.TrimPrefix(sql, "PRAGMA "), "=")
			first[name], second[name] = value, value
		}
		if r.Failed == "" {
			r.Connections = []protocol.OpenedConn{{Settings: first}, {Settings: second}}
			r.Seen = driver.Settings{"txlock": "deferred", "mode": "rwc", "cache": "private"}
			r.Files = []string{o.File}
		}
		got = append(got, r)
	}
	return got
}

func (l *library) tell(t *testing.T, text string) *dsn.Told {
	t.Helper()
	q := dsn.Ask(parse(t, text), "/tmp/q")
	got := l.open(q.Openings)
	told, err := q.Judge(got)
	if err != nil {
		t.Fatal(err)
	}
	if s := q.Spell(got, told, "/tmp/r"); s != nil {
		told.Spelling = s.Prove(l.open(s.Openings))
	}
	return told
}

var ordinary = driver.Settings{"journal_mode": "delete", "synchronous": "full", "busy_timeout": "5000", "foreign_keys": "off"}

// TestJudge checks the verdicts on imitated libraries that each apply different options.
func TestJudge(t *testing.T) {
	const text = "file:x.db?_journal=WAL&_pragma=busy_timeout(5000)"
	mattns := map[string]string{"_journal": "journal_mode", "_journal_mode": "journal_mode", "_busy_timeout": "busy_timeout"}
	for name, test := range map[string]struct {
		library
		want     []dsn.Outcome
		spelling dsn.Spelling
	}{
		"both": {
			library{options: map[string]string{"_journal": "journal_mode", "_pragma": "any"}, defaults: ordinary},
			[]dsn.Outcome{dsn.Applied, dsn.Applied},
			dsn.Spelling{DSN: text},
		},
		"one, and the default is the wanted value": {
			library{options: mattns, defaults: ordinary},
			[]dsn.Outcome{dsn.Applied, dsn.Default},
			dsn.Spelling{DSN: "file:x.db?_journal=WAL&_busy_timeout=5000"},
		},
		"one": {
			library{options: mattns, defaults: ordinary.With(driver.Settings{"busy_timeout": "0"})},
			[]dsn.Outcome{dsn.Applied, dsn.Ignored},
			dsn.Spelling{DSN: "file:x.db?_journal=WAL&_busy_timeout=5000"},
		},
		"none": {
			library{defaults: ordinary.With(driver.Settings{"busy_timeout": "0"})},
			[]dsn.Outcome{dsn.Ignored, dsn.Ignored},
			dsn.Spelling{DSN: "file:x.db", Init: []string{"PRAGMA busy_timeout=5000", "PRAGMA journal_mode=wal"}},
		},
		"refused": {
			library{options: map[string]string{"_pragma": "any"}, defaults: ordinary, refuses: "_journal"},
			[]dsn.Outcome{dsn.Refused, dsn.Applied},
			dsn.Spelling{DSN: "file:x.db?_pragma=journal_mode(wal)&_pragma=busy_timeout(5000)"},
		},
		"first connection only": {
			library{options: map[string]string{"_journal": "journal_mode", "_pragma": "any"}, defaults: ordinary, once: true},
			[]dsn.Outcome{dsn.FirstOnly, dsn.Default},
			dsn.Spelling{DSN: "file:x.db", Init: []string{"PRAGMA busy_timeout=5000", "PRAGMA journal_mode=wal"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := test.tell(t, text)
			var got []dsn.Outcome
			for _, v := range told.Options {
				got = append(got, v.Outcome)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(&test.spelling, told.Spelling); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOverruled checks an option that another option undoes.
func TestOverruled(t *testing.T) {
	l := library{options: map[string]string{"_journal": "journal_mode", "_pragma": "any"}, defaults: ordinary}
	told := l.tell(t, "x.db?_journal=WAL&_pragma=journal_mode(truncate)")
	if v := told.Options[0]; v.Outcome != dsn.Overruled || v.Is != "truncate" {
		t.Errorf("%+v", v)
	}
	if v := told.Options[1]; v.Outcome != dsn.Applied {
		t.Errorf("%+v", v)
	}
}

func TestDifferences(t *testing.T) {
	n := parse(t, "x.db?_journal=WAL")
	l := library{defaults: ordinary}
	a, b, c := l.tell(t, "x.db?_journal=WAL"), l.tell(t, "x.db?_journal=WAL"), l.tell(t, "x.db?_journal=WAL")
	a.Driver, b.Driver, c.Driver = "a", "b", "c"
	b.InForce["synchronous"], c.InForce["synchronous"], c.InForce["journal_mode"] = "normal", "normal", "wal"
	b.InForce["busy_timeout"], b.Waits = "0", true
	want := []dsn.Difference{
		{"busy_timeout", []dsn.Side{{"5000", []string{"a", "c"}}, {dsn.WithoutLimit, []string{"b"}}}},
		{"synchronous", []dsn.Side{{"normal", []string{"b", "c"}}, {"full", []string{"a"}}}},
	}
	if diff := cmp.Diff(want, dsn.Differences(n, []*dsn.Told{a, b, c})); diff != "" {
		t.Error(diff)
	}
}

// TestWaits checks that Told.Waits is true for a library that waits for locks, even if the DSN
// makes connections share a cache. With a shared cache, waiting cannot be observed.
func TestWaits(t *testing.T) {
	q := dsn.Ask(parse(t, "file:x.db?cache=shared"), "/tmp/q")
	var got []protocol.Opened
	for _, o := range q.Openings {
		r := protocol.Opened{
			Connections: []protocol.OpenedConn{{Settings: driver.Settings{"busy_timeout": "0"}}}, Files: []string{"x.db"},
			Seen: driver.Settings{"cache": "private"}, Waits: true,
		}
		if strings.Contains(o.DSN, "cache=shared") {
			r.Seen["cache"], r.Waits = "shared", false
		}
		got = append(got, r)
	}
	told, err := q.Judge(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(told.Options[0].Changes) > 0 || !told.Waits {
		t.Errorf("%+v", told)
	}
}
