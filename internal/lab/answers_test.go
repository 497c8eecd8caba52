package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// hear lets a new session read the bytes in the parameter "said", as if a worker had written them and exited.
// It returns the session and its case.
func hear(said []byte) (*session, *Case) {
	c := &Case{
		Plan: &plan.Plan{Phases: []plan.Phase{{Name: "insert", Insert: &plan.Insert{}}, {Name: "query", Query: &plan.Query{Clients: 1}}}},
		Expect: map[string]Expectation{
			"insert": {Operations: 3, Rows: 3},
			"query":  {Operations: 1, Rows: 3, Checksum: strings.Repeat("0", 64)},
		},
	}
	c.Phases = []string{"insert", "query"}
	c.Settings = driver.Settings{"journal_mode": "wal", "pool_size": "2"}
	s := &session{trial: &result.Trial{Status: result.OK}, want: c, started: time.Now()}
	cause := s.listen(linesOf(bytes.NewReader(said)))
	s.ended(nil, nil, cause)
	return s, c
}

// linesOf returns a scanner over a worker's output.
func linesOf(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, process.MaxLine)
	return s
}

const (
	saidReady  = `{"type":"ready","protocol":2,"proof":{"connections":[{"journal_mode":"wal"},{"journal_mode":"wal"}]}}` + "\n"
	saidSchema = `{"type":"settings","connections":[{"journal_mode":"wal"},{"journal_mode":"wal"}]}` + "\n"
	saidInsert = `{"type":"phase","phase":"insert"}` + "\n" +
		`{"type":"settings","phase":"insert","connections":[{"journal_mode":"wal"},{"journal_mode":"wal"}]}` + "\n" +
		`{"type":"sample","sample":{"phase":"insert","wall_ns":500,"operations":3,"rows":3}}` + "\n"
	saidQuery = `{"type":"phase","phase":"query"}` + "\n" +
		`{"type":"settings","phase":"query","connections":[{"journal_mode":"wal"},{"journal_mode":"wal"}]}` + "\n" +
		`{"type":"sample","sample":{"phase":"query","wall_ns":500,"operations":1,"rows":3,"checksum":"0000000000000000000000000000000000000000000000000000000000000000"}}` + "\n"
	saidDone   = `{"type":"done"}` + "\n"
	saidFailed = `{"type":"failed","reason":{"code":"sqlite","phase":"insert","message":"SQLITE_IOERR: one\ntwo","sqlite":778}}` + "\n"
)

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		said, want string // want is part of the message of the trial's reason, or "" if the trial is OK
	}{
		{saidReady + saidSchema + saidInsert + saidQuery + saidDone, ""},
		{saidReady + saidFailed, "SQLITE_IOERR: one two"},
		{saidReady + `{"type":"failed","reason":{"message":"oh"}}`, "without a reason"},
		{saidReady + saidReady, `"ready" twice`},
		{saidReady + strings.Replace(saidSchema, `,{"journal_mode":"wal"}`, "", 1), "settings of 1 connections after the schema, with a pool of 2"},
		{saidReady + saidSchema + saidQuery + saidDone, `began phase "query": want "insert"`},
		{saidReady + saidSchema + strings.SplitAfter(saidInsert, "\n")[2], "before it had begun it"},
		{saidReady + saidSchema + strings.Join(strings.SplitAfter(saidInsert, "\n")[:2], "") + saidQuery, `before it sent the sample of "insert"`},
		{saidReady + saidSchema + saidInsert + saidQuery + saidQuery, `began phase "query" after the last one`},
		{saidReady + saidSchema + saidInsert + strings.Replace(saidQuery, `"operations":1`, `"operations":7`, 1), "operations is 7: want 1"},
		{saidReady + saidSchema + strings.Replace(saidInsert, `"wall_ns":500`, `"wall_ns":3600000000000`, 1), "all the time that has gone by since the request"},
		{strings.Replace(saidReady, `,{"journal_mode":"wal"}`, "", 1), "1 connections, with a pool of 2"},
	} {
		s, _ := hear([]byte(test.said))
		switch got := s.trial; {
		case test.want == "":
			if got.Status != result.OK || len(got.Samples) != 2 {
				t.Errorf("%s %+v with %d samples", got.Status, got.Reason, len(got.Samples))
			}
		case got.Reason == nil || !strings.Contains(got.Reason.Message, test.want) || strings.HasSuffix(test.said, saidFailed) && got.Reason.SQLite != 778:
			t.Errorf("%s %+v, want %q", got.Status, got.Reason, test.want)
		}
	}
}

// FuzzAnswers lets a worker answer anything. A trial that is OK must then have everything
// that the lab asked for, and any other trial must have a reason.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(saidReady + saidSchema + saidInsert + saidQuery + saidDone))
	f.Add([]byte(saidReady + saidFailed))
	f.Add([]byte(saidReady + saidSchema + strings.Replace(saidInsert, `"rows":3`, `"rows":3,"latency":[{"operation":"a","histogram":"HISTEg=="}]`, 1) + saidDone))
	f.Add([]byte("Traceback (most recent call last):\n"))
	f.Add([]byte("{\"type\":\"ready\"}\n\x00\xff\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		s, c := hear(said)
		got := s.trial
		if (got.Status == result.OK) != (got.Reason == nil) {
			t.Fatalf("%s with reason %+v", got.Status, got.Reason)
		}
		if got.Reason != nil && (got.Reason.Code == "" || strings.Contains(got.Reason.Message, "\n")) {
			t.Errorf("reason %q: %q", got.Reason.Code, got.Reason.Message)
		}
		for i, m := range got.Samples {
			if m.Phase != c.Phases[i] || m.Value() <= 0 || m.Operations <= 0 {
				t.Errorf("sample %d is %+v", i, m)
			}
		}
		if got.Status == result.OK {
			if len(got.Samples) != len(c.Phases) || got.Samples[1].Rows != 3 || len(got.Proof.Connections) < 2 {
				t.Errorf("OK with %+v", got)
			}
			for _, conn := range got.Proof.Connections {
				if bad := driver.Check(c.Settings, conn); len(bad) > 0 {
					t.Errorf("OK with %v", bad)
				}
			}
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("cannot be stored: %v", err)
		}
	})
}

// TestLoadedAnswers checks that forbidden answers are refused. It tests a worker that loads a database, and a
// worker that begins with a loaded database.
func TestLoadedAnswers(t *testing.T) {
	const (
		load      = `{"type":"phase","phase":"load"}` + "\n"
		after     = `{"type":"settings","phase":"load","connections":[{"journal_mode":"wal"},{"journal_mode":"wal"}]}` + "\n"
		isLoaded  = `{"type":"loaded","tables":[{"table":"t","rows":3}]}` + "\n"
		nobodys   = `{"type":"loaded"}` + "\n"
		another   = `{"type":"loaded","tables":[{"table":"u","rows":3}]}` + "\n"
		fewer     = `{"type":"loaded","tables":[{"table":"t","rows":2}]}` + "\n"
		negative  = `{"type":"loaded","tables":[{"table":"t","rows":-1}]}` + "\n"
		opened    = saidReady + saidSchema
		wholeLoad = opened + load + after
	)
	for _, test := range []struct {
		loads      bool
		said, want string // want is part of the message of the trial's reason, or "" if the trial is OK
	}{
		{true, wholeLoad + isLoaded + saidDone, ""},
		{true, wholeLoad + saidDone, `answered "done" without having answered "loaded"`},
		{true, wholeLoad + fewer + saidDone, "tables[0].rows is 2: expected 3 in t"},
		{true, wholeLoad + negative + saidDone, "tables[0].rows is -1: want a number from 0"},
		{true, wholeLoad + nobodys + saidDone, "tables has 0 entries: want 1"},
		{true, wholeLoad + another + saidDone, `tables[0].table is "u": want "t"`},
		{true, wholeLoad + isLoaded + isLoaded, "was not asked for, or has been answered"},
		{true, wholeLoad + isLoaded + saidQuery, `began phase "query" after the last one`},
		{true, opened + isLoaded, `answered "loaded" after 0 of 1 phases`},
		{true, opened + load + isLoaded, "without having read the settings back after phase load"},
		{false, opened + isLoaded + saidQuery + saidDone, ""},
		{false, opened + saidQuery, `answered "phase" without having answered "loaded"`},
		{false, opened + saidDone, `answered "done" without having answered "loaded"`},
		{false, opened + fewer, "tables[0].rows is 2: expected 3 in t"},
		{false, opened + isLoaded + load, `began phase "load": want "query"`},
		{false, saidReady + isLoaded, "without having read the settings back after the schema"},
	} {
		c := &Case{Plan: &plan.Plan{Phases: []plan.Phase{
			{Name: "load", Untimed: true, Insert: &plan.Insert{}}, {Name: "query", Query: &plan.Query{Clients: 1}},
		}}}
		c.Expect = map[string]Expectation{"query": {Operations: 1, Rows: 3}}
		c.Phases, c.Settings = []string{"query"}, driver.Settings{"journal_mode": "wal", "pool_size": "2"}
		s := &session{trial: &result.Trial{Status: result.OK}, want: c, started: time.Now(), untold: true, loads: test.loads,
			tables: []Table{{Stored: plan.Stored{Table: "t"}, Rows: 3}}, next: 1}
		if test.loads {
			c.Phases, c.Plan.Phases, s.next = nil, c.Plan.Phases[:1], 0
		}
		s.ended(nil, nil, s.listen(linesOf(strings.NewReader(test.said))))
		if got := s.trial; test.want == "" && got.Status != result.OK || test.want != "" && (got.Reason == nil || !strings.Contains(got.Reason.Message, test.want)) {
			t.Errorf("loads %v: %s %+v, want %q", test.loads, got.Status, got.Reason, test.want)
		}
	}
}

// TestWhole checks that a loaded database is refused if some of its content is in other
// files.
func TestWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	whole := func(want string) {
		t.Helper()
		s := &session{trial: &result.Trial{Status: result.OK}}
		sum := s.whole(path)
		if got := s.trial; want == "" && (got.Status != result.OK || len(sum) != 64) || want != "" && (got.Reason == nil || !strings.Contains(got.Reason.Message, want)) {
			t.Errorf("%s %+v with %q, want %q", got.Status, got.Reason, sum, want)
		}
	}
	write := func(name string, n int) {
		if err := os.WriteFile(name, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole("no such file")
	write(path, 4096)
	whole("")
	write(path+"-wal", 0)
	whole("")
	write(path+"-wal", 32)
	whole("left 32 bytes in test.db-wal: want all of it in the one file")
}
