package worker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestReplayPauses checks that a replay in slices pauses between two transactions. If the end of
// the first transaction was not recorded, the replay must not pause, because other clients could wait for
// the lock of the open transaction.
func TestReplayPauses(t *testing.T) {
	for name, tc := range map[string]struct {
		statements []int // 0 begins a transaction, 1 reads, 2 commits
		units      []int
		pauses     int
	}{
		"complete": {[]int{0, 1, 2, 1}, []int{0, 0, 0, 1}, 1},
		"no end":   {[]int{0, 1, 1}, []int{0, 0, 1}, 0},
	} {
		n := len(tc.statements)
		r := &plan.Replay{Operations: []string{"all"}, Connections: 1,
			Statements: []plan.Replayed{{Do: plan.ReplayBegin}, {SQL: "SELECT 1", Reads: true}, {Do: plan.ReplayCommit}},
			Events:     plan.Events{Statement: tc.statements, Connection: make([]int, n), Transaction: tc.units, Rows: make([]int64, n)}}
		for i, s := range tc.statements {
			r.Events.Rows[i] = int64(s % 2)
		}
		f := newFake()
		f.answer = one
		req := trialOf(t, blog(1, plan.Phase{Name: "replay", Replay: r}), driver.Settings{"pool_size": "1"})
		req.Alternate, req.Slices = true, map[string]int64{"replay": 1}
		line, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		pauses := 0
		got := serveLine(t, f, string(line)+strings.Repeat("\n"+`{"type":"proceed","protocol":2}`, 9))
		for _, a := range got {
			if a.Type == protocol.TypeWaiting && a.Phase == "replay" {
				pauses++
			}
		}
		if last := got[len(got)-1]; last.Type != protocol.TypeDone || pauses != tc.pauses {
			t.Errorf("%s: %d pauses, want %d; %+v", name, pauses, tc.pauses, last.Reason)
		}
	}
}
