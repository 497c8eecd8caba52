package lab_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// upgrades is a workload whose transactions read and then write. Each transaction that commits inserts a row
// with a unique key. Two clients with the same number would generate equal keys, which would end the trial.
const upgrades = `
name: upgrades
settings: {journal_mode: wal, synchronous: "off", busy_timeout: 5s, txlock: deferred, processes: PROCESSES}
schema: |
  CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
  CREATE TABLE done (key INTEGER PRIMARY KEY);
rows:
  t: {count: 2_000, columns: {id: serial, n: 0}}
phases:
  - {name: load, insert: t, untimed: true}
  - name: warm
    untimed: true
    mix:
      - {name: read, sql: "SELECT n FROM t WHERE id = :id", columns: [int], parameters: {id: {pick: t.id}}, expect: {rows: 1}}
    clients: CLIENTS
    count: 100
  - name: mix
    mix:
      - name: change
        transaction: true
        statements:
          - {sql: SELECT sum(n) FROM t, columns: [int], expect: {rows: 1}}
          - UPDATE t SET n = n + 1 WHERE id = :id
          - INSERT INTO done VALUES (:key)
        parameters: {id: {pick: t.id}, key: serial}
    clients: CLIENTS
    connection: own
    END
  - {name: left, query: SELECT key FROM done, columns: [int]}
`

// sharedCase returns the case of the workload "upgrades" for an executable. The parameter "words" has
// replacements for words in the workload's text.
func sharedCase(t *testing.T, executable string, words ...string) *lab.Case {
	t.Helper()
	return casesOf(t, executable, 7, nil, nil, parse(t, strings.NewReplacer(words...).Replace(upgrades)))[0]
}

// TestProcesses runs a mix in two processes with one client each. An operation of one process can fail only
// because of the other process. The database must contain what the two processes report.
func TestProcesses(t *testing.T) {
	t.Parallel()
	got := runTrial(t, sharedCase(t, faulty(t, "server-none"), "PROCESSES", "2", "CLIENTS", "2", "END", "count: 1_000"), 7)
	mix, left := &got.Samples[0], &got.Samples[1]
	if mix.Operations != 1000 || mix.Latency[0].Count != 1000 {
		t.Errorf("%d operations, %d latencies: want 1000", mix.Operations, mix.Latency[0].Count)
	}
	if mix.Failed == 0 {
		t.Error("no operation failed because of the other process")
	}
	for _, e := range mix.Errors {
		if e.Name != "SQLITE_BUSY" && e.Name != "SQLITE_BUSY_SNAPSHOT" {
			t.Errorf("%d × %s", e.Count, e.Name)
		}
	}
	if done := mix.Operations - mix.Failed; left.Rows != done {
		t.Errorf("the database has %d rows, want %d, one for each operation that did not fail", left.Rows, done)
	}
	if mix.ApartNS == nil || left.ApartNS != nil {
		t.Errorf("ApartNS is %v for the mix and %v for the query: want it only for the mix", mix.ApartNS, left.ApartNS)
	}
	if n := got.Proof.Connections[0]["processes"]; n != "2" || len(got.Proof.Connections) != 1 {
		t.Errorf("%d connections in each of %s processes: want 1 in each of 2", len(got.Proof.Connections), n)
	}
}

// TestProcessesLast runs a mix with a duration, with more clients than processes. The
// operations of every client must be counted, and the database must have a row for each
// operation that did not fail.
func TestProcessesLast(t *testing.T) {
	t.Parallel()
	got := runTrial(t, sharedCase(t, faulty(t, "server-none"), "PROCESSES", "3", "CLIENTS", "4", "END", "duration: 200ms", "connection: own", "connection: pool"), 7)
	mix, left := &got.Samples[0], &got.Samples[1]
	done := int64(0)
	for _, n := range mix.Clients {
		done += n
	}
	if len(mix.Clients) != 4 || done != mix.Operations-mix.Failed || left.Rows != done {
		t.Errorf("clients %v of %d operations, of which %d failed; %d rows", mix.Clients, mix.Operations, mix.Failed, left.Rows)
	}
	// The clients of this mix only read, because a client that writes may never get the lock.
	text := strings.NewReplacer("processes: 2", "processes: 3", "clients: 2", "clients: 4", "count: 3_000", "duration: 1s").Replace(reading)
	got = runTrial(t, casesOf(t, faulty(t, "server-none"), 7, nil, nil, parse(t, text))[0], 7)
	if clients := got.Samples[0].Clients; len(clients) != 4 || slices.Contains(clients, 0) {
		t.Errorf("clients %v: want each of 4 to have done something", clients)
	}
}

// reading is a workload with statements in which a faulty worker can fail.
const reading = `
name: reading
settings: {journal_mode: wal, busy_timeout: 5s, processes: 2}
schema: CREATE TABLE foo (id INTEGER PRIMARY KEY, n INTEGER)
rows: {foo: {count: 100, columns: {id: serial, n: 0}}}
phases:
  - {name: load, insert: foo, untimed: true}
  - name: mix
    mix:
      - {name: read, sql: SELECT * FROM foo WHERE id = :id, columns: [int, int], parameters: {id: {pick: foo.id}}, expect: {rows: 1}}
    clients: 2
    count: 3_000
`

// TestProcessesFail makes one of the two processes fail. The trial must fail at once with the reason of that
// process, and leave no files.
func TestProcessesFail(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]struct {
		status  result.Status
		code    string
		message string
	}{
		"second-dies":  {result.Failed, protocol.CodeCrash, "process 2 of 2: the worker crashed: exit status 3"},
		"second-error": {result.Failed, protocol.CodeSQLite, "process 2 of 2: "},
		"second-hangs": {result.Failed, protocol.CodeTimeout, "process 2 of 2 had not done its share of the mix within the trial's limit of "},
		"first-dies":   {result.Failed, protocol.CodeCrash, "the worker crashed: exit status 3"},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			limit := time.Minute
			if fault == "second-hangs" {
				limit = 15 * time.Second // long enough for the second process to begin
			}
			c := casesOf(t, faulty(t, "server-"+fault), 7, nil, nil, parse(t, reading))[0]
			got, err := (&lab.Processes{Dir: dir, Limit: limit}).Trial(t.Context(), c, 7)
			if err != nil {
				t.Fatal(err)
			}
			r := got.Reason
			if got.Status != want.status || r == nil || r.Code != want.code || !strings.HasPrefix(r.Message, want.message) || r.Phase != "mix" {
				t.Errorf("%s: %+v", got.Status, r)
			}
			if strings.HasSuffix(fault, "dies") && !strings.Contains(r.Detail, "the last words") {
				t.Errorf("detail %q", r.Detail)
			}
			empty(t, dir)
			text, err := os.ReadFile(c.Worker + ".pids")
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range strings.Fields(string(text)) {
				pid, err := strconv.Atoi(word)
				if err != nil {
					t.Fatal(err)
				}
				gone(t, pid)
			}
		})
	}
}

// inProcess returns the fault of this process of a trial. A fault with the prefix first- or second- is the
// fault of one process only: for "second-dies", inProcess returns "dies" in the second process, and "none" in
// the first. inProcess also records the process ID.
func inProcess(d *faultyDriver, fault string) string {
	_, second := strings.CutSuffix(os.Getenv("SQLITE3PERF_MARK"), "/process-2")
	for which, here := range map[string]bool{"first-": !second, "second-": second} {
		rest, ok := strings.CutPrefix(fault, which)
		if !ok {
			continue
		}
		f, err := os.OpenFile(os.Args[0]+".pids", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = fmt.Fprintln(f, os.Getpid())
		}
		if err != nil {
			os.Exit(9)
		}
		if here {
			return rest
		}
		return "none"
	}
	return fault
}

// TestProcessesUnknown checks that a worker that can do a mix only in one process is refused if a
// workload has a mix in several processes.
func TestProcessesUnknown(t *testing.T) {
	t.Parallel()
	got := trialOf(t, sharedCase(t, pythonWorker(t), "PROCESSES", "2", "CLIENTS", "2", "END", "count: 100"))
	if got.Status != result.Refused || !strings.Contains(got.Reason.Message, "processes: its worker does a mix in one process") {
		t.Errorf("%s: %+v", got.Status, got.Reason)
	}
}

func TestProcessesRefused(t *testing.T) {
	t.Parallel()
	plain := strings.NewReplacer("PROCESSES", "2", "CLIENTS", "2", "END", "count: 10").Replace(upgrades)
	for want, c := range map[string]struct {
		from, to string
		over     map[string][]string
	}{
		"processes=2: each process would have its own database in memory":                     {over: map[string][]string{"mode": {"memory"}}},
		"cold_caches=on: a database in memory has no files":                                   {over: map[string][]string{"mode": {"memory"}, "processes": {"1"}, "cold_caches": {"on"}}},
		"processes=2: with locking_mode=exclusive one process locks out the others":           {over: map[string][]string{"locking_mode": {"exclusive"}}},
		"processes=2: write_mutex=on is a mutex in one process; between processes only":       {over: map[string][]string{"write_mutex": {"on"}}},
		"processes=3: phase warm has 2 clients for them":                                      {over: map[string][]string{"processes": {"3"}}},
		"processes=2: phase mix has a mutex, which holds in one process":                      {from: "connection: own", to: "mutex: true"},
		"processes=2: phase relax changes settings, which each process sets when it opens":    {from: "  - name: mix\n", to: "  - {name: relax, untimed: true, script: PRAGMA synchronous = NORMAL, changes settings: {synchronous: normal}}\n  - name: mix\n"},
		"pool_size=1: its 2 clients keep a connection each: want at least 2, or leave it out": {from: "clients: 2\n    connection: own", to: "clients: 4\n    connection: own", over: map[string][]string{"pool_size": {"1"}}},
	} {
		text := strings.Replace(plain, c.from, c.to, 1)
		if strings.Contains(want, "pool_size") {
			text = strings.Replace(text, "processes: 2", "processes: 2, pool_size: 2", 1)
		}
		m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{parse(t, text)}, Scale: "quick", Settings: c.over}
		if _, err := m.Cases(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	m := lab.Matrix{Drivers: []build.Ref{{Name: "a"}}, Workloads: []*workload.Workload{replayed(t, `"do":"begin"`, "")}, Scale: "quick", Settings: map[string][]string{"processes": {"2"}}}
	if _, err := m.Cases(); err == nil || !strings.Contains(err.Error(), "processes=2: phase replay is a replay, which is done in one process: leave it out") {
		t.Errorf("a replay: %v", err)
	}
}

// halfOf returns the sample of one of two processes that share a mix, each with one client. Each operation took
// 1 ms. Some operations failed.
func halfOf(operations, failed int64) *protocol.Sample {
	h := latency.New()
	for range operations {
		h.Record(1e6)
	}
	s := &protocol.Sample{Phase: "mix", WallNS: operations * 1e6, UserNS: 7e6, SystemNS: 1e6, Operations: operations, Failed: failed, Rows: operations - failed,
		Costs: protocol.Costs{Allocs: 10, AllocBytes: 100, Instructions: 1000, PeakRSSBytes: 1 << 20}, Clients: []int64{operations - failed},
		Latency: []protocol.Latency{{Operation: "a", Count: operations, Failed: failed, Histogram: h.Encode()}}}
	if failed > 0 {
		s.Errors = []protocol.ErrorCount{{Code: 5, Count: failed, WaitNS: failed * 1e6}}
	}
	return s
}

func TestMergeShares(t *testing.T) {
	t.Parallel()
	first, second := halfOf(20, 5), halfOf(30, 30)
	first.Waits = []protocol.Wait{{For: protocol.WaitConnection, Count: 3, WaitNS: 30}, {For: protocol.WaitRetry, Count: 1, WaitNS: 1}}
	second.Waits = []protocol.Wait{{For: protocol.WaitConnection, Count: 4, WaitNS: 40}}
	first.Checksum, first.DatabaseBytes, first.WALBytes, first.CheckpointNS, first.WALRestarts = "c", 4096, 512, 9, 2
	second.Errors = append(second.Errors[:0], protocol.ErrorCount{Code: 5, Count: 10, WaitNS: 10}, protocol.ErrorCount{Code: 517, Count: 20, WaitNS: 20})
	first.Caches, second.Caches = &protocol.Caches{FileBytes: 100, CachedBytes: 50}, &protocol.Caches{FileBytes: 100}
	got, err := lab.MergeShares([]*protocol.Sample{first, second})
	if err != nil {
		t.Fatal(err)
	}
	h, err := latency.Decode(got.Latency[0].Histogram)
	if err != nil || h.Count() != 50 {
		t.Errorf("%d latencies, %v", h.Count(), err)
	}
	got.Latency[0].Histogram = ""
	want := &protocol.Sample{Phase: "mix", WallNS: 30e6, UserNS: 14e6, SystemNS: 2e6, Operations: 50, Failed: 35, Rows: 15,
		Clients:  []int64{15, 0},
		Checksum: "c", Costs: protocol.Costs{Allocs: 20, AllocBytes: 200, Instructions: 2000, PeakRSSBytes: 2 << 20, DatabaseBytes: 4096, WALBytes: 512, CheckpointNS: 9}, WALRestarts: 2,
		Caches:  &protocol.Caches{FileBytes: 100},
		Waits:   []protocol.Wait{{For: protocol.WaitConnection, Count: 7, WaitNS: 70}},
		Errors:  []protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: 15, WaitNS: 5e6 + 10}, {Code: 517, Name: "SQLITE_BUSY_SNAPSHOT", Count: 20, WaitNS: 20}},
		Latency: []protocol.Latency{{Operation: "a", Count: 50, Failed: 35}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	second.Instructions = 0
	if got, err = lab.MergeShares([]*protocol.Sample{first, second}); err != nil || got.Instructions != 0 {
		t.Errorf("%d instructions, although one process does not report them: want 0, %v", got.Instructions, err)
	}
}

// TestApart checks the warning about processes that do not begin a mix together. There must be a warning if
// the time between the first and the last beginning is longer than a hundredth of the mix's time. If a
// process does not report when it began, there must be no warning.
func TestApart(t *testing.T) {
	t.Parallel()
	at := func(us int64) *protocol.Sample { return &protocol.Sample{BeganUS: us} }
	const epoch = 1_700_000_000_000_000
	for _, c := range []struct {
		all  []*protocol.Sample
		want int64 // in ns; -1: not known
		warn string
	}{
		{[]*protocol.Sample{at(epoch), at(epoch), at(epoch)}, 0, ""},
		{[]*protocol.Sample{at(epoch + 400), at(epoch + 1000), at(epoch)}, 1e6, ""},
		{[]*protocol.Sample{at(epoch + 30), at(epoch), at(epoch + 3000)}, 3e6, "its 3 processes began 3ms apart, 3% of the 100ms that it took"},
		{[]*protocol.Sample{at(epoch), at(0)}, -1, ""},
		{[]*protocol.Sample{at(0), at(epoch)}, -1, ""},
	} {
		apart, doubts := lab.ApartIn(100*time.Millisecond, c.all...)
		if known := apart != nil; known != (c.want >= 0) || known && *apart != c.want {
			t.Errorf("%v apart, want %d", apart, c.want)
		}
		if (len(doubts) > 0) != (c.warn != "") || len(doubts) > 0 && (doubts[0].Code != result.WarningApart || doubts[0].Phase != "mix" || !strings.HasPrefix(doubts[0].Message, c.warn)) {
			t.Errorf("%+v, want %q", doubts, c.warn)
		}
	}
}

// TestSharesChecked checks that a false value from one process is found even if the combined sample looks
// right.
func TestSharesChecked(t *testing.T) {
	t.Parallel()
	p := &plan.Phase{Name: "mix", Mix: &plan.Mix{Clients: 2, DurationMS: 10, Operations: []plan.Operation{{Name: "a", Weight: 1}}}}
	for want, lie := range map[string]func(*protocol.Sample){
		"":                                      func(*protocol.Sample) {},
		"phase mix, process 2 of 2: rows is -1": func(s *protocol.Sample) { s.Rows = -1 },
		"phase mix, process 2 of 2: began_us is -7":                                                func(s *protocol.Sample) { s.BeganUS = -7 },
		"phase mix, process 2 of 2: wall_ns is 0":                                                  func(s *protocol.Sample) { s.WallNS = 0 },
		"phase mix, process 2 of 2: errors counts 5 in all: want 6":                                func(s *protocol.Sample) { s.Failed = 6 },
		"phase mix, process 2 of 2: clients has 2 entries":                                         func(s *protocol.Sample) { s.Clients = []int64{7, 8} },
		"phase mix, process 2 of 2: latency counts 20 in all: want 21":                             func(s *protocol.Sample) { s.Operations++ },
		"phase mix, process 2 of 2: latency[0].histogram has a latency of 999.936µs: want at most": func(s *protocol.Sample) { s.WallNS = 1e5 },
		`phase mix, process 2 of 2: waits[0].for is "luck"`:                                        func(s *protocol.Sample) { s.Waits = []protocol.Wait{{For: "luck"}} },
		"phase mix, process 2 of 2: checksum is set":                                               func(s *protocol.Sample) { s.Checksum = strings.Repeat("0", 64) },
	} {
		s := halfOf(20, 5)
		lie(s)
		faults := lab.CheckShare(p, 1, 2, s)
		if want == "" && len(faults) > 0 || want != "" && !slices.ContainsFunc(faults, func(f lab.Fault) bool { return strings.HasPrefix(f.Message, want) }) {
			t.Errorf("%v\nwant %q", faults, want)
		}
	}
}
