package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// TestReplayOrder expects a recording's transactions in the order in which SQLite ran them. With
// the speed "recorded", it expects them in the order of their recorded times.
func TestReplayOrder(t *testing.T) {
	const texts = `{"sql":1,"text":"INSERT INTO t VALUES (1)"}` + "\n" + `{"sql":2,"text":"SELECT * FROM t"}` + "\n" +
		`{"sql":3,"text":"BEGIN"}` + "\n" + `{"sql":4,"text":"COMMIT"}` + "\n" + `{"sql":5,"text":"INSERT INTO t VALUES (2) RETURNING a"}` + "\n"
	for name, c := range map[string]struct {
		events string // events of the recording: time, duration, connection, transaction, and what is done
		want   string // expected order of the transactions, each named by the time of its first event
		begun  string // expected order with the speed "recorded"
	}{
		"a deferred one that writes late": {
			"0 1 1 1 begin; 5 1 2 2 begin; 7 1 2 2 1; 9 1 2 2 commit; 20 1 1 1 1; 22 1 1 1 commit", "5 0", "0 5"},
		"begun by SQL": {
			"0 1 1 1 3; 5 1 2 2 3; 7 1 2 2 1; 9 1 2 2 4; 20 1 1 1 1; 22 1 1 1 4", "5 0", "0 5"},
		"a write that waits for the lock": {
			"0 1 1 1 begin; 1 1 1 1 1; 2 20 2 0 1; 10 2 1 1 commit; 12 5 3 0 1", "0 12 2", "0 2 12"},
		"a reader sees what is committed": {
			"0 1 1 1 begin; 1 1 1 1 1; 4 1 2 0 2; 6 1 1 1 commit; 8 1 3 0 2", "4 0 8", "0 4 8"},
		"a reader's transaction": {
			"0 1 2 2 begin; 1 1 1 0 1; 4 1 2 2 2; 6 1 1 0 1; 8 1 2 2 2; 9 1 2 2 commit", "1 0 6", "0 1 6"},
		"a commit that returns late": {
			"0 1 1 1 begin; 1 1 1 1 1; 3 50 1 1 commit; 4 6 2 0 1; 11 1 2 0 2", "0 4 11", "0 4 11"},
		"rows of an insert": {
			"0 1 1 1 begin; 1 1 2 0 1; 4 1 1 1 5; 6 1 1 1 commit", "1 0", "0 1"},
		"all at the same time": {
			"0 0 1 0 1; 0 0 1 0 2; 0 0 1 0 1", "0 0 0", "0 0 0"},
	} {
		text := recordingHeader + texts
		for _, e := range strings.Split(c.events, "; ") {
			var at, took, conn, tx int64
			var what string
			if _, err := fmt.Sscan(e, &at, &took, &conn, &tx, &what); err != nil {
				t.Fatal(err)
			}
			if what == "begin" || what == "commit" {
				what = fmt.Sprintf(`"do":%q`, what)
			} else {
				what = `"sql":` + what
			}
			text += fmt.Sprintf(`{"at":%d,"took":%d,"conn":%d,"tx":%d,%s}`+"\n", at, took, conn, tx, what)
		}
		for speed, want := range map[string]string{"max": c.want, "recorded": c.begun} {
			r, _ := replayPlan(t, "{name: r, replay: app.jsonl, clients: 1, speed: "+speed+"}", "app.jsonl", text)
			paced, _ := replayPlan(t, "{name: r, replay: app.jsonl, clients: 1, speed: recorded}", "app.jsonl", text)
			if err := r.Check(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			var got []string
			for _, unit := range r.Events.Units() {
				if !slices.IsSorted(unit) {
					t.Errorf("%s: a transaction's events are %v", name, unit)
				}
				got = append(got, fmt.Sprint(paced.Events.AtNS[unit[0]]))
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%s at speed %s: %s, want %s", name, speed, s, want)
			}
		}
	}
}

// TestReplayForeignKeys expects a replay to have the same foreign_keys with every driver: the
// workload's value, or else the value that the recording shows, or else SQLite's default. If the
// value matters and the workload does not set it, a message must say so.
func TestReplayForeignKeys(t *testing.T) {
	create := "CREATE TABLE a (b REFERENCES c)"
	failed := `{"at":90,"took":1,"conn":1,"sql":1,"error":{"code":787}}` + "\n"
	for _, c := range []struct {
		more, text, want, says string
	}{
		{"", statements("SELECT 1"), "off", ""},
		{"", statements(create), "off", "foreign_keys is off with every driver: the drivers' defaults differ, and this is SQLite's. If your application uses another value, write it under settings"},
		{"", statements(create, "PRAGMA foreign_keys = 1"), "on", "foreign_keys is on with every driver: the recording shows it"},
		{"", statements(create) + failed, "on", "foreign_keys is on with every driver: the recording shows it"},
		{"settings: {foreign_keys: on}\n", statements(create), "on", ""},
		{"schema: PRAGMA foreign_keys = on\nchanges settings: {foreign_keys: on}\n", statements(create), "", ""},
	} {
		text := "name: app\n" + c.more + "phases:\n  - {name: r, replay: app.jsonl}\n"
		w, err := workload.Parse("app.yaml", []byte(text), fstest.MapFS{"app.jsonl": {Data: []byte(c.text)}})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, p := range w.Warnings {
			if strings.Contains(p.Message, "with every driver") {
				said = append(said, p.Message)
			}
		}
		if got := strings.Join(said, "\n"); w.Settings["foreign_keys"] != c.want || !strings.Contains(got, c.says) || (got == "") != (c.says == "") {
			t.Errorf("%sfrom %s: %q, said %q", c.more, c.text, w.Settings["foreign_keys"], got)
		}
	}
}
