package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// locksRun returns a run of one mix with several choices of settings, each measured with two
// drivers.
func locksRun(choices ...driver.Settings) *result.Run {
	run := newRun(6)
	for i, s := range choices {
		for j, name := range []string{"mattn", "modernc"} {
			c := result.Case{ID: len(run.Cases) + 1, Workload: "bank", Scale: "quick", Driver: name, Info: driver.Info{Name: name}, Settings: s, Phases: []string{"mix"}}
			run.Cases = append(run.Cases, c)
			for round := 1; round <= 6; round++ {
				t := result.Trial{Case: c.ID, Round: round, Order: len(run.Trials) + 1, Status: result.OK}
				x := result.Sample{Phase: "mix", Metric: result.MetricTimePerOp, WallNS: 1e9, Operations: int64(float64(10000*(i+1)-3000*j) * wobble[round]),
					Costs: protocol.Costs{WALBytes: 4 << 20}, WALRestarts: 3, Clients: []int64{2500, 2400, 2600, 2500}}
				x.Waits = []protocol.Wait{{For: protocol.WaitConnection}}
				if s["pool_readers"] != "" {
					x.Waits[0] = protocol.Wait{For: protocol.WaitConnection, Count: 9000, WaitNS: int64(2+j) * 1e9}
				}
				if s["txlock"] == "deferred" {
					x.Failed = 40
					x.Errors = []protocol.ErrorCount{{Code: 517, Name: "SQLITE_BUSY_SNAPSHOT", Count: 40, WaitNS: 400_000}}
				}
				if s["busy_timeout"] == "0" {
					x.Failed += 7
					x.Errors = append([]protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: 7, WaitNS: 70_000}}, x.Errors...)
				}
				x.Latency = []latency.Summary{{Operation: "change", Count: x.Operations, Failed: x.Failed, MeanNS: 4e5, P50NS: 1e5, P99NS: 2e6, P999NS: int64(i+1) * 3e6, MaxNS: 21e6}}
				if s["pool_size"] == "1" && s["pool_readers"] == "" {
					t.Status, t.Reason = result.Failed, &protocol.Reason{Code: protocol.CodeEndless, Phase: "mix", Message: "no operation has ended for 5s"}
				} else {
					t.Samples = []result.Sample{x}
				}
				run.Trials = append(run.Trials, t)
				if t.Status != result.OK {
					break
				}
			}
		}
	}
	return run
}

func lockSettings(lock, timeout, size string) driver.Settings {
	return driver.Settings{"journal_mode": "wal", "txlock": lock, "busy_timeout": timeout, "pool_size": size}
}

func lockReport(t *testing.T, format string, run *result.Run, opts document.Options) string {
	t.Helper()
	var buf bytes.Buffer
	if err := locks.Formats.Write(&buf, format, locks.ExplainLocks(stats.Analyze(run, "native")), opts); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestLocks(t *testing.T) {
	readers := lockSettings("immediate", "5000", "1").With(driver.Settings{"pool_readers": "4"})
	run := locksRun(lockSettings("deferred", "0", "4"), lockSettings("deferred", "5000", "4"), lockSettings("immediate", "5000", "4"), readers, lockSettings("deferred", "5000", "1"))
	for format, file := range map[string]string{"table": "locks.txt", "markdown": "locks.md", "json": "locks.json"} {
		golden(t, file, lockReport(t, format, run, document.Options{}))
	}
	golden(t, "locks-80.txt", lockReport(t, "table", run, document.Options{Width: 80}))
}

// TestLocksPage checks that the page has a heading for each part, and no headings below the second
// level.
func TestLocksPage(t *testing.T) {
	got := lockReport(t, "html", locksRun(lockSettings("immediate", "5000", "4")), document.Options{})
	if !strings.Contains(got, "Where the figures are from</h2>") || strings.Contains(got, "<h3") {
		t.Error(got)
	}
}

func TestLocksAnswer(t *testing.T) {
	for want, choices := range map[string][]driver.Settings{
		"No operation failed because of a lock, in 2 cases.":                                                                                  {lockSettings("immediate", "5000", "4")},
		"Operations failed because of locks in 2 of 2 cases. No measured setting ends this on all drivers.":                                   {lockSettings("deferred", "5000", "4")},
		"Operations waited forever in 2 of 4 cases. Set journal_mode=wal txlock=immediate busy_timeout=5000 and pool of 4, which ends it and": {lockSettings("deferred", "5000", "1"), lockSettings("immediate", "5000", "4")},
		"is the fastest that does (mattn 20.0k/s, modernc 17.0k/s).":                                                                          {lockSettings("deferred", "5000", "4"), lockSettings("immediate", "5000", "4")},
	} {
		if got := locks.LocksAnswer(locks.ExplainLocks(stats.Analyze(locksRun(choices...), "native"))); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if got := locks.LocksAnswer(&locks.Locks{}); !strings.Contains(got, "Neither a mix nor a replay was measured") {
		t.Error(got)
	}
}

// TestLocksToday expects an answer about the workload's own settings: whether operations fail with
// them. If no operation fails with any settings, it expects the fastest choice, and the choice
// with which operations wait least.
func TestLocksToday(t *testing.T) {
	said := func(today int, choices ...driver.Settings) string {
		run := locksRun(choices...)
		for i := range run.Cases {
			run.Cases[i].Today = i/2 == today
		}
		validate(t, compiled(t, "locks"), lockReport(t, "json", run, document.Options{}))
		validate(t, compiled(t, "report"), write(t, "json", run, "native", document.Options{}))
		return strings.Join(strings.Fields(lockReport(t, "table", run, document.Options{Width: 300})), " ")
	}
	slow, fast, failing := lockSettings("immediate", "10000", "8"), lockSettings("immediate", "10000", "4"), lockSettings("deferred", "5000", "4")
	for want, got := range map[string]string{
		"No operation failed because of a lock, in 4 cases. The fastest is wal immediate 10000 pool of 4 (mattn 20.0k/s, modernc 17.0k/s), 2.2 times as fast as with your settings (2.2 to 2.2 times as fast; wal immediate 10000 pool of 8: mattn 10.0k/s, modernc 7.01k/s). " +
			"Operations wait least with wal immediate 10000 pool of 8 (mattn p99.9 3.00 ms with fairness 1.00, modernc p99.9 3.00 ms with fairness 1.00), which you have now.": said(0, slow, fast),
		"Operations failed because of locks in 2 of 4 cases. Your settings (wal deferred 5000 pool of 4) cause this. Set ":     said(0, failing, fast),
		"Operations failed because of locks in 2 of 4 cases. Your settings (wal immediate 10000 pool of 4) don't cause this. ": said(1, failing, fast),
		"wal immediate 10000 pool of 8 (as now) 10.0k":                                    said(0, slow, fast),
		"mattn wal deferred 5000 pool of 4 (as now) 240 × BUSY_SNAPSHOT txlock=immediate": said(0, failing, lockSettings("immediate", "5000", "4")),
		"connections: as now: the workload's own settings.":                               said(0, slow, fast),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if got := said(7, slow, fast); strings.Contains(got, "as now") {
		t.Errorf("the workload's own settings are mentioned, but they were not measured:\n%s", got)
	}
}

// TestLocksTied checks that the answer says so if the times of two choices of settings do not differ
// significantly.
func TestLocksTied(t *testing.T) {
	run := locksRun(lockSettings("immediate", "5000", "4"), lockSettings("immediate", "5000", "2"))
	for i := range run.Trials {
		x := &run.Trials[i].Samples[0]
		x.Operations = 10_000 + int64(i*7%5)*100
		x.Latency[0].P999NS = 3e6
	}
	run.Cases[2].Today, run.Cases[3].Today = true, true
	got := locks.LocksAnswer(locks.ExplainLocks(stats.Analyze(run, "native")))
	for _, want := range []string{"The fastest is wal immediate 5000 pool of ", "/s), but there is no clear difference between all choices. Operations wait least with ", "fairness 1.00), but there is no clear difference between all choices."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// TestLocksLegend expects explanations of exactly the columns that are shown, and separate ratios
// for the operations that failed and for all others.
func TestLocksLegend(t *testing.T) {
	run := locksRun(lockSettings("deferred", "0", "4"), lockSettings("immediate", "5000", "4"))
	for i := range run.Trials {
		x := &run.Trials[i].Samples[0]
		x.Latency = append(x.Latency, latency.Summary{Operation: "read", Count: 30_000 / int64((run.Trials[i].Case+1)/2), MeanNS: 1e4})
	}
	wide, narrow := lockReport(t, "table", run, document.Options{Width: 300}), lockReport(t, "table", run, document.Options{Width: 80})
	for _, word := range []string{"in vain: ", "restarts: ", "fair: "} {
		if !strings.Contains(wide, word) || strings.Contains(narrow, word) {
			t.Errorf("%q must be in the wide report, which shows the column, and not in the narrow report", word)
		}
	}
	if !strings.Contains(lockReport(t, "markdown", run, document.Options{}), "in vain: ") {
		t.Error("Markdown, which has all columns, does not explain them")
	}
	for _, want := range []string{"2.01x (2.01 to 2.01) 0.50x", "the rest: the same of all other kinds"} {
		if got := strings.Join(strings.Fields(wide), " "); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestLocksPaced expects an answer about latency, not rates, if operations are due at a fixed
// rate.
func TestLocksPaced(t *testing.T) {
	run := locksRun(lockSettings("deferred", "5000", "4"), lockSettings("immediate", "5000", "4"))
	for i := range run.Trials {
		run.Trials[i].Samples[0].Metric = result.MetricLatency
	}
	got := locks.LocksAnswer(locks.ExplainLocks(stats.Analyze(run, "native")))
	if want := "and pool of 4, which ends it and is the fastest that does (mattn p99 2.00 ms, modernc p99 2.00 ms)."; !strings.Contains(got, want) || strings.Contains(got, "/s") {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestLocksWaited expects the report to show the time that clients waited for connections, the
// mutex and so on, and the names of the drivers for which that is not known.
func TestLocksWaited(t *testing.T) {
	readers := lockSettings("immediate", "5000", "1").With(driver.Settings{"pool_readers": "4"})
	run := locksRun(lockSettings("immediate", "5000", "4"), readers)
	for i := range run.Trials {
		x := &run.Trials[i].Samples[0]
		switch run.Cases[run.Trials[i].Case-1].Driver {
		case "mattn":
			x.Waits = append(x.Waits, protocol.Wait{For: protocol.WaitMutex, Count: 5, WaitNS: 1e9})
		default:
			x.Waits = nil
		}
	}
	words := strings.Join(strings.Fields(lockReport(t, "table", run, document.Options{Width: 300})), " ")
	for _, want := range []string{
		"waited 25% of the clients' time, 99.8 µs per operation, for a connection of the pool: mattn with wal; immediate; busy_timeout=5000; 1 writer + 4 readers, which is the most",
		"for the application's mutex: mattn with wal; immediate; busy_timeout=5000; pool of 4, which is the most",
		"waited not known of modernc: the worker does not tell",
		"21.0 ms 25% 100%",
		"21.0 ms 25% pool, 12% mutex 100%",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in\n%s", want, words)
		}
	}
}

// TestLocksTold checks that the answer does not call a choice of settings the fastest if it is not
// significantly faster than another choice. Failures for other reasons than locks must be listed
// separately.
func TestLocksTold(t *testing.T) {
	run := locksRun(lockSettings("deferred", "5000", "4"), lockSettings("immediate", "5000", "4"), lockSettings("immediate", "5000", "2"))
	for i := range run.Trials {
		tr := &run.Trials[i]
		x := &tr.Samples[0]
		if tr.Case > 4 { // the third choice of settings is alternately slower and faster than the second
			x.Operations = x.Operations * 2 / 3 * int64(86+tr.Round%2*22) / 100
		} else if tr.Case < 3 {
			x.Skipped, x.Different, x.Latency[0].Failed = 5, 6, 40
			x.Errors = append(x.Errors, protocol.ErrorCount{Code: 2067, Name: "SQLITE_CONSTRAINT_UNIQUE", Count: 3, WaitNS: 3e6})
			x.Failed += 3
		}
	}
	validate(t, compiled(t, "locks"), lockReport(t, "json", run, document.Options{}))
	got := strings.Join(strings.Fields(lockReport(t, "table", run, document.Options{Width: 300})), " ")
	for _, want := range []string{
		"and pool of 4, which ends it (mattn 20.0k/s, modernc 17.0k/s). 1 other choice ends it and is as fast.",
		"as fast wal immediate 5000 pool of 2",
		"SQLITE_BUSY_SNAPSHOT mattn, modernc with wal; deferred; busy_timeout=5000; pool of 4, 480 in all, after 10.0 µs on average",
		"SQLITE_CONSTRAINT_UNIQUE mattn, modernc with wal; deferred; busy_timeout=5000; pool of 4, 36 in all, after 1.00 ms on average: not an error of a lock",
		"failed 480 × change",
		"restarts not run not as recorded",
		"not run 60 events of a replay, because a lock had stopped their transaction",
		"not run: events of a replay whose transaction a lock had stopped.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestLocksProcesses expects a separate answer for each number of processes, and a note about what
// processes do not share.
func TestLocksProcesses(t *testing.T) {
	in := func(n string, s driver.Settings) driver.Settings { return s.With(driver.Settings{"processes": n}) }
	run := locksRun(in("1", lockSettings("immediate", "5000", "4")), in("2", lockSettings("deferred", "5000", "2")), in("2", lockSettings("immediate", "5000", "2")))
	for i := range run.Trials {
		if c := run.Cases[run.Trials[i].Case-1]; c.Settings["txlock"] == "deferred" {
			run.Trials[i].Samples[0].Errors = []protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: 40, WaitNS: 40 * 5e9}}
		}
	}
	words := strings.Join(strings.Fields(lockReport(t, "table", run, document.Options{Width: 200})), " ")
	for _, want := range []string{
		"bank mix: no operation failed because of a lock, in 2 cases.",
		"bank mix in 2 processes: operations failed because of locks in 2 of 4 cases. Set journal_mode=wal txlock=immediate busy_timeout=5000 and pool of 2",
		"processes don't queue",
		"processes each of the 2 has its own pools: a pool of one, or with one writer, orders only the clients of its own process",
		"bank mix in 2 processes, mattn",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in\n%s", want, words)
		}
	}
	got := lockReport(t, "json", run, document.Options{})
	validate(t, compiled(t, "locks"), got)
	if !strings.Contains(got, `"processes": 2`) {
		t.Errorf("JSON does not say in how many processes:\n%s", got)
	}
}

func TestLocksSchema(t *testing.T) {
	s := compiled(t, "locks")
	run := locksRun(lockSettings("deferred", "0", "4"), lockSettings("immediate", "5000", "4"), lockSettings("deferred", "5000", "1"))
	x := &run.Trials[0].Samples[0]
	x.Errors = append(x.Errors, protocol.ErrorCount{Code: driver.CodeCanceled, Name: driver.CodeName(driver.CodeCanceled), Count: 2, WaitNS: 1e8})
	x.Failed += 2
	got := lockReport(t, "json", run, document.Options{})
	if !strings.Contains(got, `"why": "canceled"`) {
		t.Errorf("no operation was canceled:\n%s", got)
	}
	validate(t, s, got)
	if words := strings.Join(strings.Fields(lockReport(t, "table", run, document.Options{})), " "); !strings.Contains(words, "the operation's timeout in the workload had passed") {
		t.Errorf("the report does not say why operations were canceled:\n%s", words)
	}
}

// TestLocksNearest checks two choices of settings whose times do not differ significantly. The answer
// must begin with the choice that changes fewer of the workload's own settings.
func TestLocksNearest(t *testing.T) {
	run := locksRun(lockSettings("deferred", "5000", "4"), lockSettings("immediate", "5000", "4"), lockSettings("immediate", "5000", "2"))
	run.Cases[0].Today, run.Cases[1].Today = true, true
	for i := range run.Trials {
		if tr := &run.Trials[i]; tr.Case > 4 { // the third choice of settings is alternately slower and much faster than the second
			tr.Samples[0].Operations = tr.Samples[0].Operations * 2 / 3 * int64(95+tr.Round%2*22) / 100
		}
	}
	want := "Your settings (wal deferred 5000 pool of 4) cause this. Set txlock=immediate, which ends it (mattn 20.0k/s, modernc 17.0k/s). " +
		"1 other choice ends it and is as fast, such as wal immediate 5000 pool of 2 (mattn 2"
	if got := locks.LocksAnswer(locks.ExplainLocks(stats.Analyze(run, "native"))); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	got := lockReport(t, "json", run, document.Options{})
	validate(t, compiled(t, "locks"), got)
	if !strings.Contains(got, `"nearest"`) {
		t.Errorf("no nearest choice:\n%s", got)
	}
	if got := lockReport(t, "table", run, document.Options{Width: 300}); !strings.Contains(got, "as fast               wal immediate 5000 pool of 2\n") {
		t.Errorf("the choice that is as fast is not listed:\n%s", got)
	}
}

// TestLocksRecorded checks lock errors that were recorded, so the replay expects them. They are
// listed with their causes, so they must also count as failed operations.
func TestLocksRecorded(t *testing.T) {
	run := locksRun(lockSettings("deferred", "5000", "4"), lockSettings("immediate", "5000", "4"))
	for i := range run.Trials {
		if x := &run.Trials[i].Samples[0]; run.Trials[i].Case < 3 {
			x.Results = []protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: 3, WaitNS: 3e6}}
		}
	}
	got := strings.Join(strings.Fields(lockReport(t, "table", run, document.Options{Width: 300})), " ")
	for _, want := range []string{"pool of 4, 480 in all", "pool of 4, 36 in all", "failed 480 × change; 36 that had failed in the recording too"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestLocksOnOneScreen expects a terminal to show every cause, and all remedies for the workload's
// own settings. In the remaining room it must show as many other cells as fit, and each table
// completely or not at all.
func TestLocksOnOneScreen(t *testing.T) {
	run := locksRun(lockSettings("deferred", "0", "8"), lockSettings("deferred", "0", "4"), lockSettings("deferred", "5000", "4"), lockSettings("immediate", "5000", "4"), lockSettings("immediate", "0", "4"),
		lockSettings("deferred", "5000", "1"), lockSettings("deferred", "0", "1"))
	run.Cases[4].Today, run.Cases[5].Today = true, true
	hints := document.Hints{Rest: []document.Hint{{Shows: "all of it", Command: "sqlite3perf locks 12 --full"}}}
	for _, lines := range []int{24, 38} {
		got := lockReport(t, "table", run, document.Options{Lines: lines, Width: 100, Hints: hints})
		if n := strings.Count(got, "\n"); n > lines {
			t.Errorf("%d lines, want at most %d:\n%s", n, lines, got)
		}
		words := strings.Join(strings.Fields(got), " ")
		for _, want := range []string{
			"SQLITE_BUSY_SNAPSHOT 1,440 in 6 cases, also with your settings: it read, another committed, then it tried to write. BEGIN IMMEDIATE prevents this",
			"SQLITE_BUSY 252 in 6 cases: another connection held the lock, and busy_timeout=0 means not to wait",
			"endless wait 4 cases: deadlock: each operation held a connection and waited for a second one, but the pool had none left. Make the pool larger",
			"driver with ends with what failed mattn wal deferred 5000 pool of 4 (as",
			"what failed: successes per second of the operations that failed",
		} {
			if !strings.Contains(words, want) {
				t.Errorf("%d lines: no %q in\n%s", lines, want, got)
			}
		}
		if strings.Contains(got, "…") || strings.Contains(got, "\nbank mix, mattn\n") != strings.Contains(got, "\njournal  txlock") {
			t.Errorf("%d lines: a text or a table is not shown completely:\n%s", lines, got)
		}
	}
}
