package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

const recordingHeader = `{"format":"sqlite3perf-recording","version":1,"began":"2026-11-23T01:24:04Z","args":"values"}` + "\n"

// statements returns a recording of SQL texts that one connection runs, one after the other.
func statements(texts ...string) string {
	var b strings.Builder
	b.WriteString(recordingHeader)
	for i, sql := range texts {
		fmt.Fprintf(&b, `{"sql":%d,"text":%q}`+"\n"+`{"at":%d,"took":1,"conn":1,"sql":%d,"affected":0}`+"\n", i+1, sql, 10*i, i+1)
	}
	return b.String()
}

func parseReplay(phase, name, text string) (*workload.Workload, error) {
	return workload.Parse("app.yaml", []byte("name: app\nphases:\n  - "+phase+"\n"), fstest.MapFS{name: {Data: []byte(text)}})
}

func replayPlan(t *testing.T, phase, name, text string) (*plan.Replay, *workload.Workload) {
	t.Helper()
	w, err := parseReplay(phase, name, text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Plan(workload.Full, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Phases[0].Replay, w
}

func TestReplayMistakes(t *testing.T) {
	good := statements("SELECT 1")
	for _, m := range []struct{ phase, name, text, want string }{
		{"{name: r, replay: there.jsonl}", "app.jsonl", good, `cannot read the file "there.jsonl"`},
		{"{name: r, replay: ../app.jsonl}", "app.jsonl", good, `cannot open the file "../app.jsonl"`},
		{"{name: r, replay: app.jsonl}", "app.jsonl", "{}\n", "line 1: it is not the header of a recording"},
		{"{name: r, replay: app.jsonl}", "app.jsonl", recordingHeader, "nothing was run"},
		{"{name: r, replay: app.jsonl}", "app.jsonl", good + "nonsense\n", "line 4"},
		{"{name: r, replay: app.jsonl, speed: fast}", "app.jsonl", good, `want max, recorded, or a factor such as 2x`},
		{"{name: r, replay: app.jsonl, speed: -2x}", "app.jsonl", good, `want max, recorded, or a factor such as 2x`},
		{"{name: r, replay: app.sql, speed: recorded}", "app.sql", "SELECT 1", "app.sql does not say when its statements were run"},
		{"{name: r, replay: app.sql}", "app.sql", "SELECT 1;\n.mode csv\n", `line 2: ".mode" is a command of the sqlite3 shell`},
		{"{name: r, replay: app.jsonl}", "app.jsonl", "-- what?\nGARBAGE\n", `line 2: "GARBAGE" begins no statement of SQL: want a recording, a script, or what .trace prints`},
		{"{name: r, replay: app.sql}", "app.sql", "SELECT 1;\n}{ SELECT", `line 2: "}" begins no statement of SQL`},
		{"{name: r, replay: app.jsonl, clients: 0}", "app.jsonl", good, "clients"},
		{"{name: r, replay: app.jsonl, rate: 5}", "app.jsonl", good, `unknown key "rate"`},
		{"{name: r, replay: app.jsonl}", "app.jsonl", statements("PRAGMA synchronous = off"), "none of its 1 events can be replayed: 1 of 1 events are left out: they are PRAGMAs that change settings: write them under settings, such as synchronous: off"},
		{"{name: r, replay: app.jsonl}", "app.jsonl", statements("ATTACH 'other.db' AS o"), "reach files other than the workload's own database (ATTACH)"},
	} {
		if _, err := parseReplay(m.phase, m.name, m.text); err == nil || !strings.Contains(err.Error(), m.want) || !strings.Contains(err.Error(), "app.yaml:3:") {
			t.Errorf("%s: error %v, want %q", m.phase, err, m.want)
		}
	}
}

func TestReplayLeftOut(t *testing.T) {
	text := statements("SELECT 1", "PRAGMA busy_timeout(5000)", "ATTACH 'x' AS y", "-- nothing") +
		`{"sql":9,"text":"UPDATE t SET a = ?; UPDATE t SET b = ?"}` + "\n" +
		`{"at":90,"took":1,"conn":1,"sql":9,"args":[1,2]}` + "\n" +
		`{"sql":10,"text":"UPDATE t SET a = ?"}` + "\n" +
		`{"at":91,"took":1,"conn":1,"sql":10,"args":[{"other":"*mine.T"}]}` + "\n" +
		`{"at":92,"took":1,"conn":1,"sql":10,"args":[]}` + "\n" +
		`{"at":93,"took":1,"conn":1,"sql":10,"args":[{"real":"+Inf"}]}` + "\n" + `{"at":94,"to`
	r, w := replayPlan(t, "{name: r, replay: app.jsonl}", "app.jsonl", text)
	if n := r.Events.Len(); n != 1 {
		t.Errorf("%d events are left, want 1", n)
	}
	got := strings.Join(w.Phases[0].LeftOut, "\n")
	for _, want := range []string{
		"busy_timeout: 5000", "(ATTACH)", "have no statement", "several statements in one text", "only its library knows", "lack a parameter",
		"an infinite number", "line 16 has no end: the program was killed while it was written; everything before it is replayed",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no message says %q:\n%s", want, got)
		}
	}
}

// TestReplayFiles checks that a recorded ATTACH lets the worker use other files only if the user
// allows it.
func TestReplayFiles(t *testing.T) {
	text := statements("SELECT 1", "ATTACH 'x' AS y")
	for _, allowed := range []bool{false, true} {
		var options []workload.Option
		if allowed {
			options = append(options, workload.AllowFiles)
		}
		w, err := workload.Parse("app.yaml", []byte("name: app\nphases:\n  - {name: r, replay: app.jsonl}\n"),
			fstest.MapFS{"app.jsonl": {Data: []byte(text)}}, options...)
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.Plan(workload.Full, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := p.Phases[0].Replay.Events.Len(); p.Files != allowed || n == 1 == allowed {
			t.Errorf("allowed %t: the plan allows files: %t, and has %d events", allowed, p.Files, n)
		}
	}
}

// TestReplayUnexpanded checks that the replay of a trace without the values of parameters says how
// the shell can include them.
func TestReplayUnexpanded(t *testing.T) {
	_, w := replayPlan(t, "{name: r, replay: trace.sql}", "trace.sql", "SELECT 1;\nSELECT * FROM sqlite_schema WHERE name = :name;\n")
	want := "1 of 2 events are left out: they lack a parameter: its value is in what .trace FILE --expanded prints"
	if got := strings.Join(w.Phases[0].LeftOut, "\n"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestReplayNumbers expects parameters to be numbered as in SQLite.
func TestReplayNumbers(t *testing.T) {
	text := recordingHeader +
		`{"sql":1,"text":"SELECT ?2, :a, ?, @b, ':a', :a -- :c"}` + "\n" +
		`{"at":0,"took":1,"conn":1,"sql":1,"args":[1,2,3,4,5],"rows":1}` + "\n" +
		`{"at":1,"took":1,"conn":1,"sql":1,"args":[1,"two",3,null,5],"rows":1}` + "\n"
	r, _ := replayPlan(t, "{name: r, replay: app.jsonl}", "app.jsonl", text)
	if got, want := r.Statements[0].SQL, "SELECT ?, ?, ?, ?, ':a', ? -- :c"; got != want {
		t.Errorf("SQL %s, want %s", got, want)
	}
	// The second parameter is an int in one execution and a text in another, so there are two
	// statements.
	if len(r.Statements) != 2 {
		t.Fatalf("%d statements, want 2", len(r.Statements))
	}
	var got []int64
	for _, p := range r.Statements[0].Parameters {
		got = append(got, p.Ints...)
	}
	if fmt.Sprint(got) != "[2 3 4 5 3]" {
		t.Errorf("values %v, want [2 3 4 5 3]", got)
	}
	if p := r.Statements[1].Parameters; string(p[0].Bytes[0]) != "two" || p[2].Nulls[0] != 0 {
		t.Errorf("parameters %+v", p)
	}
}

// TestReplayTimes expects recorded times to be marked as times, in a recording with values and in
// a recording without values.
func TestReplayTimes(t *testing.T) {
	insert := `{"sql":1,"text":"INSERT INTO t VALUES (?)"}` + "\n"
	event := `{"at":%d,"took":1,"conn":1,"sql":1,"args":[%s],"affected":1}` + "\n"
	for header, args := range map[string][]string{
		recordingHeader: {`"2026"`, `{"time":"2026-03-02T01:00:00.5+01:00"}`, `null`, `{"time":"2026-03-02T00:00:00+01:00","zone":"CET"}`, `{"time":"2026-03-02T00:00:00Z","monotonic":true}`},
		strings.Replace(recordingHeader, "values", "types", 1): {`{"text":4}`, `{"time":8}`, `null`, `{"time":8}`, `{"time":8,"monotonic":true}`},
	} {
		text := header + insert
		for i, a := range args {
			text += fmt.Sprintf(event, i, a)
		}
		r, _ := replayPlan(t, "{name: r, replay: app.jsonl}", "app.jsonl", text)
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		p := &r.Statements[0].Parameters[0]
		if !slices.Equal(p.Times, []int{1, 3, 4}) || !slices.Equal(p.Nulls, []int{2}) {
			t.Errorf("times %v, nulls %v; want 1, 3 and 4, and 2", p.Times, p.Nulls)
		}
		gen, err := plan.NewGenerator(1, &plan.Plan{})
		if err != nil {
			t.Fatal(err)
		}
		b := gen.ReplayBatch("r.0", &r.Statements[0])
		for _, i := range p.Times {
			text := b.Columns[0].Any(i).(string)
			got, ok, err := p.Time(i, text)
			if !ok || err != nil {
				t.Errorf("%q is not a time: %v", text, err)
			}
			if p.Lengths != nil && int64(len(text)) != p.Lengths[i] {
				t.Errorf("%q has %d bytes, want %d", text, len(text), p.Lengths[i])
			}
			if clock := strings.Contains(got.String(), " m="); clock != (i == 4) {
				t.Errorf("%q stands for %v: want a reading of the monotonic clock only if it was recorded with one", text, got)
			}
			if i == 3 && p.Lengths == nil && !strings.HasPrefix(got.String(), "2026-03-02 00:00:00 +0100 CET") {
				t.Errorf("%q stands for %v", text, got)
			}
			if i == 1 && p.Lengths == nil && got.Format(time.RFC3339Nano) != "2026-03-02T01:00:00.5+01:00" {
				t.Errorf("%q stands for %v", text, got)
			}
			if i == 3 && p.Lengths != nil && got.Location() != time.UTC {
				t.Errorf("%q has the zone %v, want UTC", text, got.Location())
			}
		}
	}
}

func TestReplayConnections(t *testing.T) {
	text := recordingHeader + `{"sql":1,"text":"SELECT 1"}` + "\n"
	for _, e := range [][3]int{{0, 10, 1}, {5, 10, 2}, {20, 5, 3}, {21, 2, 4}, {40, 1, 3}} {
		text += fmt.Sprintf(`{"at":%d,"took":%d,"conn":%d,"sql":1,"rows":1}`+"\n", e[0], e[1], e[2])
	}
	r, _ := replayPlan(t, "{name: r, replay: app.jsonl, speed: 2x}", "app.jsonl", text)
	if got := fmt.Sprint(r.Connections, r.AtOnce(), r.Events.Connection, r.Events.Transaction, r.Events.AtNS, r.Speed); got != "2 2 [0 1 0 1 0] [0 1 2 3 4] [0 5 20 21 40] 2" {
		t.Error(got)
	}
}

// TestReplayAffected expects the numbers of rows affected to be compared only for statements
// that change rows and return none.
func TestReplayAffected(t *testing.T) {
	text := recordingHeader
	for i, sql := range []string{
		"BEGIN", "INSERT INTO t VALUES (1)", "with x AS (SELECT 1) UPDATE t SET a = 1", "WITH x AS (SELECT 1) SELECT * FROM x",
		"DELETE FROM t RETURNING a", "CREATE TABLE u (a)", "-- why\nREPLACE INTO t VALUES (1)", "COMMIT",
	} {
		text += fmt.Sprintf(`{"sql":%d,"text":%q}`+"\n"+`{"at":%d,"took":1,"conn":1,"sql":%d,"affected":%d}`+"\n", i+1, sql, 10*i, i+1, i)
	}
	text += `{"at":99,"took":1,"conn":1,"sql":2,"error":{"code":5}}` + "\n"
	text += `{"at":10,"conn":1,"id":57}` + "\n" + `{"at":50,"conn":1,"id":57}` + "\n" // only the ID after an INSERT has a meaning
	r, _ := replayPlan(t, "{name: r, replay: app.jsonl}", "app.jsonl", text)
	if got := fmt.Sprint(r.Events.Inserted); got != "[{1 57}]" {
		t.Errorf("inserted %s", got)
	}
	if got := fmt.Sprint(r.Events.Affected); got != "[-1 1 2 -1 -1 -1 6 -1 -1]" {
		t.Error(got)
	}
	if r, _ := replayPlan(t, "{name: r, replay: app.sql}", "app.sql", "DELETE FROM t"); r.Events.Affected != nil {
		t.Errorf("numbers of affected rows of a script: %v, want nil", r.Events.Affected)
	}
}

// TestReplayNames expects an operation for each of the most frequent kinds of statements, and one
// operation for all other kinds together.
func TestReplayNames(t *testing.T) {
	var texts []string
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("SELECT * FROM t%02d", i))
	}
	texts = append(texts, "INSERT OR IGNORE INTO \"a.b\" VALUES (1)", "INSERT INTO \"a.b\" VALUES (2)", "WITH x AS (SELECT 1 FROM y) SELECT * FROM x")
	r, _ := replayPlan(t, "{name: r, replay: app.jsonl}", "app.jsonl", statements(texts...))
	if n := len(r.Operations); n != 24 || r.Operations[0] != "INSERT a_b" || r.Operations[n-1] != "other statements" {
		t.Errorf("%d operations: %q", n, r.Operations)
	}
}

// TestReplayHash expects a change of the recording to change the workload's hash.
func TestReplayHash(t *testing.T) {
	_, a := replayPlan(t, "{name: r, replay: app.sql}", "app.sql", "SELECT 1")
	_, b := replayPlan(t, "{name: r, replay: app.sql}", "app.sql", "SELECT 2")
	if a.SHA256() == b.SHA256() {
		t.Error("two recordings have the same hash")
	}
}
