package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// remote returns options whose SSH client is a script for sh instead of a connection to
// another machine, with shorter timeouts.
func remote(t *testing.T, script string) *Options {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	return &Options{SSH: []string{sh, "-c", script}, Executable: "/proc/self/exe", Version: "v1",
		hasty: &patience{300 * time.Millisecond, 100 * time.Millisecond, time.Second}}
}

// TestHostileRemote checks that a broken or malicious machine can neither crash this process
// nor exhaust its memory. Whatever the machine sends, before or after the agent's first
// line, leads to an error of one line.
func TestHostileRemote(t *testing.T) {
	long := func(n int) string { return fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; ", n) }
	first := fmt.Sprintf(`echo '{"sqlite3perf_agent": %d}'; read r; `, protocolVersion)
	answer := func(begin string, n int, end string) string {
		return first + "printf '%s' '" + begin + "'; " + long(n) + "printf '%s\\n' '" + end + "'; cat >/dev/null"
	}
	for name, x := range map[string]struct{ script, want string }{
		"zeros":              {"cat /dev/zero", "it says more than 64 kB before an agent answers"},
		"lines":              {"yes", "it says more than 64 kB before an agent answers"},
		"nothing":            {"sleep 60", "no agent has answered within 300ms: connect once with: "},
		"a drip":             {"while echo; do sleep 0.01; done", "no agent has answered within 300ms"},
		"a killed client":    {"kill -9 $$", "the connection ended: the SSH client here was killed (SIGKILL)"},
		"zeros later":        {first + "cat /dev/zero", "an answer is longer than 16 MiB"},
		"no JSON":            {first + "printf '\\033[2J::error::x\\n'; cat >/dev/null", `an answer is not understood: invalid character '\x1b' looking for beginning of value: "\x1b[2J::error::x\n"`},
		"a long answer":      {answer(`{"id":1,"result":"`, 50<<20, `"}`), "an answer is longer than 16 MiB"},
		"a long error":       {answer(`{"id":1,"error":"`, 15<<20, `"}`), "xxx …"},
		"another type":       {first + `echo '{"id":1,"result":{"a":NaN}}'; cat >/dev/null`, "an answer is not understood"},
		"silence":            {first + "sleep 60", "the agent there has not answered for "},
		"pings without end":  {first + "sleep 0.5; echo '{\"id\":1,\"error\":\"alive\"}' & while echo '{\"event\":\"ping\"}'; do sleep 0.02; done", "alive"},
		"events without end": {first + `yes '{"id":1,"event":"prepare"}'`, "it tells of progress without end"},
		"other IDs":          {first + `echo '{"id":7,"result":1}'; echo '{"id":-1,"error":"x"}'; echo '{"id":1,"error":"mine"}'; cat >/dev/null`, "mine"},
		"an end":             {first + "exit 0", "the agent there ended"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			options := remote(t, x.script)
			if name != "silence" { // the other cases get more time, because the machine may be busy
				options.hasty.ping = 6 * time.Second
			}
			m, _, err := options.launch(t.Context(), "pi", "true")
			if err == nil && m == nil {
				t.Fatal("launch returned neither a Machine nor an error")
			}
			if err == nil {
				err = m.call(t.Context(), methodSteal, nil, new(*float64), nil)
				m.Close()
			}
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "host pi: ") || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 3000 {
				t.Errorf("it says %.4000v\nwant %s", err, x.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 200<<20 {
				t.Errorf("the call allocated %d MiB", used>>20)
			}
		})
	}
}

// TestHostileCopy checks that copying gives up if the machine reads nothing, or prints too much
// during the copy.
func TestHostileCopy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		"sleep 60":                   "it took nothing for 300ms",
		"cat >/dev/null; sleep 60":   "it took nothing for 300ms",
		"cat >/dev/null; yes":        "it says more than 64 kB while sqlite3perf is copied to it",
		"cat >/dev/null; exit 1":     "copying sqlite3perf to its cache directory: ",
		"cat >/dev/null; kill -9 $$": "the SSH client here was killed",
	} {
		if err := remote(t, script).copy(t.Context(), "pi", file, strings.Repeat("a", 64)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
}

// TestLyingRemote checks that trials reported by another machine are checked as strictly as
// a worker's answers.
func TestLyingRemote(t *testing.T) {
	sum := strings.Repeat("a", 64)
	c := &lab.Case{
		Case: result.Case{ID: 1, Phases: []string{"insert", "read"}, Settings: driver.Settings{"journal_mode": "wal"}},
		Plan: &plan.Plan{Phases: []plan.Phase{{Name: "insert", Insert: &plan.Insert{}}, {Name: "read", Query: &plan.Query{}}}},
		Expect: map[string]lab.Expectation{
			"insert": {Operations: 1000, Rows: 1000},
			"read":   {Operations: 1, Rows: 1000, Checksum: sum},
		},
	}
	honest := func() *result.Trial {
		return &result.Trial{
			Case: 1, Started: time.Now(), TookNS: 1e6, Status: result.OK,
			Proof: &protocol.Proof{Connections: []driver.Settings{{"journal_mode": "wal"}}, SQLiteVersion: "3.50.0"},
			Samples: []result.Sample{
				{Phase: "insert", WallNS: 1e6, Operations: 1000, Rows: 1000, Metric: result.MetricTime},
				{Phase: "read", WallNS: 1e6, Operations: 1, Rows: 1000, Metric: result.MetricTime, Checksum: sum},
			},
		}
	}
	check := func(t *testing.T, lie func(*result.Trial)) *result.Trial {
		t.Helper()
		said := honest()
		lie(said)
		text, err := json.Marshal([]*result.Trial{said})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "answer")
		if err := os.WriteFile(file, fmt.Appendf(nil, `{"id":1,"result":%s}`+"\n", text), 0o600); err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf(`echo '{"sqlite3perf_agent": %d}'; read r; sleep 0.02; cat '%s'; cat >/dev/null`, protocolVersion, file)
		m, _, err := remote(t, script).launch(t.Context(), "pi", "true")
		if err != nil || m == nil {
			t.Fatal(m, err)
		}
		defer m.Close()
		list, err := m.Trials(context.Background(), []*lab.Case{c}, 1)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0]
	}
	if got := check(t, func(*result.Trial) {}); got.Status != result.OK || len(got.Samples) != 2 {
		t.Fatalf("an honest trial: %s %+v", got.Status, got.Reason)
	}
	for name, x := range map[string]struct {
		lie    func(*result.Trial)
		status result.Status
		want   string // part of the reason's message
	}{
		"another case":         {func(t *result.Trial) { t.Case = 99 }, result.Failed, "other trials than were asked for"},
		"no sample":            {func(t *result.Trial) { t.Samples = nil }, result.Failed, "has 0 entries: want 2"},
		"a sample more":        {func(t *result.Trial) { t.Samples = append(t.Samples, t.Samples[0]) }, result.Failed, "want those of insert, read"},
		"another phase":        {func(t *result.Trial) { t.Samples[1].Phase = "../../etc/passwd" }, result.Failed, "want those of insert, read"},
		"a wrong checksum":     {func(t *result.Trial) { t.Samples[1].Checksum = strings.Repeat("b", 64) }, result.Wrong, "the values returned are not the expected ones"},
		"no checksum":          {func(t *result.Trial) { t.Samples[1].Checksum = "" }, result.Failed, "checksum is missing"},
		"rows":                 {func(t *result.Trial) { t.Samples[1].Rows = 1 }, result.Wrong, "expected 1000"},
		"a negative time":      {func(t *result.Trial) { t.Samples[0].WallNS = -1 }, result.Failed, "wall_ns is -1"},
		"a huge time":          {func(t *result.Trial) { t.Samples[0].WallNS = 1 << 62 }, result.Failed, "wall_ns is "},
		"no time":              {func(t *result.Trial) { t.Samples[0].WallNS = 1 }, result.Failed, "no SQLite does this much in less"},
		"longer than it took":  {func(t *result.Trial) { t.Samples[0].WallNS = int64(time.Hour) }, result.Failed, "all the time that has gone by"},
		"negative memory":      {func(t *result.Trial) { t.Samples[0].PeakRSSBytes = -5 }, result.Failed, "peak_rss_bytes is -5"},
		"negative CPU":         {func(t *result.Trial) { t.CPU = &result.CPU{UserNS: -1} }, result.Failed, "cpu.user_ns is -1"},
		"a negative end":       {func(t *result.Trial) { t.TookNS = -1 }, result.Failed, "took_ns is -1"},
		"another setting":      {func(t *result.Trial) { t.Proof.Connections[0] = driver.Settings{"journal_mode": "off"} }, result.Refused, "journal_mode"},
		"no proof":             {func(t *result.Trial) { t.Proof = nil }, result.Failed, "proof is missing"},
		"another status":       {func(t *result.Trial) { t.Status = "\x1b[2Jgreat" }, result.Failed, "status is "},
		"failed for no reason": {func(t *result.Trial) { t.Status = result.Failed }, result.Failed, "reason is missing"},
		"a reason of megabytes": {func(t *result.Trial) {
			t.Status, t.Reason = result.Failed, &protocol.Reason{Message: strings.Repeat("x", 1<<16), Detail: strings.Repeat("y", 1<<16)}
		}, result.Failed, "xxx …"},
		"its place in the run": {func(t *result.Trial) { t.Round, t.Order, t.Repeated = -1, 1<<40, true }, result.OK, ""},
		"warnings": {func(t *result.Trial) {
			for range 1000 {
				t.Warnings = append(t.Warnings, result.Warning{Case: 99, Round: -7, Deviation: 1e300, Share: -4, Message: strings.Repeat("z", 10_000)})
			}
		}, result.OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := check(t, x.lie)
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != x.status || !strings.Contains(string(text), x.want) || len(text) > 1<<20 {
				t.Errorf("%s, %d bytes: %+v\nwant %s", got.Status, len(text), got.Reason, x.want)
			}
			if got.Case != 1 || got.Round != 0 || got.Order != 0 || got.Repeated || len(got.Warnings) > 100 {
				t.Errorf("kept: case %d, round %d, order %d, repeated %v, %d warnings", got.Case, got.Round, got.Order, got.Repeated, len(got.Warnings))
			}
			for _, w := range got.Warnings {
				if w.Case != 1 || w.Round != 0 || w.Deviation != 0 || w.Share != 0 {
					t.Errorf("kept: %+v", w)
				}
			}
		})
	}
}
