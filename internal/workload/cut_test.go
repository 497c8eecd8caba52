package workload_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestReplayEvents expects a replay to be cut between transactions. The transactions that remain
// must keep their values, errors and inserted IDs.
func TestReplayEvents(t *testing.T) {
	text := recordingHeader + `{"sql":1,"text":"SELECT ?"}` + "\n" + `{"sql":2,"text":"INSERT INTO t VALUES (?)"}` + "\n" +
		`{"at":0,"took":1,"conn":7,"tx":1,"do":"begin"}` + "\n" +
		`{"at":1,"took":1,"conn":8,"sql":1,"args":["a"],"rows":1}` + "\n" +
		`{"at":2,"took":1,"conn":8,"sql":2,"args":[5],"affected":1}` + "\n" +
		`{"at":2,"conn":8,"id":57}` + "\n" +
		`{"at":4,"took":1,"conn":7,"tx":1,"sql":2,"args":[6],"affected":1}` + "\n" +
		`{"at":6,"took":1,"conn":7,"tx":1,"do":"commit"}` + "\n" +
		`{"at":8,"took":1,"conn":8,"sql":2,"args":[null],"error":{"code":19}}` + "\n" +
		`{"at":9,"took":1,"conn":8,"sql":1,"args":["b"],"rows":1}` + "\n"
	for events, want := range map[string]string{
		// The SELECT ran while the transaction was open, but before the transaction wrote anything, so the
		// SELECT comes first.
		"1": "1 connections 1 clients [SELECT] | SELECT ? [a] [] | 0/0/0",
		"2": "1 connections 1 clients [SELECT INSERT t] | SELECT ? [a] []; INSERT INTO t VALUES (?) [5] [] | 0/0/0 1/0/1 inserted 1 57",
		"3": "2 connections 1 clients [BEGIN SELECT INSERT t COMMIT] |  [] []; SELECT ? [a] []; INSERT INTO t VALUES (?) [5 6] [];  [] [] | 0/0/2 1/1/0 2/1/1 2/0/2 3/0/2 inserted 2 57",
		"6": "2 connections 1 clients [BEGIN SELECT INSERT t COMMIT] |  [] []; SELECT ? [a] []; INSERT INTO t VALUES (?) [5 6 0] [2];  [] [] | 0/0/2 1/1/0 2/1/1 2/0/2 3/0/2 2/1/3 failed 5 19 inserted 2 57",
	} {
		r, _ := replayPlan(t, "{name: r, replay: app.jsonl, clients: 1, events: "+events+"}", "app.jsonl", text)
		if err := r.Check(); err != nil {
			t.Errorf("%s events: %v", events, err)
		}
		if got := told(r); got != want {
			t.Errorf("%s events:\n%s, want\n%s", events, got, want)
		}
	}
	whole, _ := replayPlan(t, "{name: r, replay: app.jsonl, clients: 1}", "app.jsonl", text)
	if got := workload.FirstEvents(whole, 7); got != whole {
		t.Error("a replay with no more than 7 events is cut")
	}
	if _, err := parseReplay("{name: r, replay: app.jsonl, events: 0}", "app.jsonl", text); err == nil || !strings.Contains(err.Error(), "events is 0") {
		t.Errorf("error %v", err)
	}
}

// told describes a replay in one line.
func told(r *plan.Replay) string {
	var statements, events []string
	for _, s := range r.Statements {
		var values []string
		nulls := []int{}
		for _, p := range s.Parameters {
			for _, v := range p.Ints {
				values = append(values, fmt.Sprint(v))
			}
			for _, v := range p.Bytes {
				values = append(values, string(v))
			}
			nulls = append(nulls, p.Nulls...)
		}
		statements = append(statements, fmt.Sprintf("%s %v %v", s.SQL, values, nulls))
	}
	e := &r.Events
	for i, s := range e.Statement {
		events = append(events, fmt.Sprintf("%d/%d/%d", s, e.Connection[i], e.Transaction[i]))
	}
	for k, i := range e.Failed {
		events = append(events, fmt.Sprintf("failed %d %d", i, e.Codes[k]))
	}
	for _, x := range e.Inserted {
		events = append(events, fmt.Sprintf("inserted %d %d", x.Event, x.ID))
	}
	return fmt.Sprintf("%d connections %d clients %v | %s | %s", r.Connections, r.Clients, r.Operations, strings.Join(statements, "; "), strings.Join(events, " "))
}
