package main

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// storedRun returns the run with the given ID from the default store of p's commands.
func (p *place) storedRun(id string) *result.Run {
	p.t.Helper()
	return p.shown(id).Run
}

// TestSoakResumeAfterKills repeatedly kills a run at random moments, and resumes it. Trials that were
// stored must not change, and at the end each case must have exactly one valid trial in each round.
func TestSoakResumeAfterKills(t *testing.T) {
	t.Parallel()
	const rounds = 12
	p := newPlace(t)
	p.ownTemp()
	args := []string{"run", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--rounds", "12", "--dir", "databases"}
	again := []string{"run", "--resume", "last", "--dir", "databases", "--drivers", "./good,./better"}
	s := p.start(args...)
	s.until("round 1 of")
	if out, err := p.command(again...).CombinedOutput(); err == nil || !strings.Contains(string(out), "run 1 has not ended, and something is being measured in ") {
		t.Errorf("resuming a run that is being measured: %v\n%s", err, out)
	}
	var before []result.Trial
	resumed, running := 0, true
	for k := range times(t, 4) {
		if k > 0 {
			time.Sleep(time.Duration(rand.IntN(400_000)) * time.Microsecond)
		}
		s.signal(os.Kill)
		running = false
		if code := s.wait(); code == cli.ExitOK {
			break // the run ended before the kill
		}
		r := p.storedRun("1")
		for i := range before {
			if d := cmp.Diff(before[i], r.Trials[i]); d != "" {
				t.Fatalf("trial %d has changed: -before +after:\n%s", i+1, d)
			}
		}
		if before = r.Trials; countDone(r) == 2*rounds {
			break // the run was killed after its last trial
		}
		resumed++
		s, running = p.start(again...), true
		s.until(" trials in ") // the command prints this text in its estimate or, if the first round is not complete, in its plan
	}
	if running {
		s.wait()
	}
	if out, err := p.command(again...).CombinedOutput(); err != nil && !strings.Contains(string(out), "is complete") {
		t.Fatalf("at last: %v\n%s", err, out)
	}
	r := p.storedRun("1")
	if r.Stopped != result.StoppedRounds || r.Rounds != rounds || len(r.Trials) != 2*rounds || countDone(r) != 2*rounds {
		t.Errorf("stopped: %q, %d rounds, %d trials; %d pairs of a case and a round have a valid trial", r.Stopped, r.Rounds, len(r.Trials), countDone(r))
	}
	warned := 0
	for _, w := range r.Warnings {
		if w.Code == result.WarningResumed {
			warned++
		}
	}
	if warned == 0 && resumed > 0 || len(r.Resumed) < resumed {
		t.Errorf("it was resumed %d times: %d warnings, %+v", resumed, warned, r.Resumed)
	}
	if !slices.IsSortedFunc(r.Trials, func(a, b result.Trial) int { return a.Order - b.Order }) {
		t.Error("the trials are not in order")
	}
	p.nothingLeft()
}

// countDone returns the number of combinations of case and round for which a run has a trial that
// was OK and was not repeated.
func countDone(r *result.Run) int {
	done := map[[2]int]bool{}
	for _, t := range r.Trials {
		if t.Status == result.OK && !t.Repeated {
			done[[2]int{t.Case, t.Round}] = true
		}
	}
	return len(done)
}

// TestSoakResumeHost measures on two hosts, one of which goes away. It resumes that host's run,
// and merges both runs into another store.
func TestSoakResumeHost(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := newNetwork(t, p, "pi", "vm1")
	const rounds = 40
	s := p.start(n.on("pi,vm1", append(onHosts, "--rounds", "40")...)...)
	s.until("pi: round 1")
	for _, pid := range n.agents("pi") {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if code := s.wait(); code != cli.ExitIncomplete {
		t.Fatalf("exit status %d\n%s", code, s.said.String())
	}
	pi := ""
	for _, id := range []string{"1", "2"} {
		if r := p.storedRun(id); r.Host.Name == "pi" {
			pi = id
		}
	}
	before := p.storedRun(pi)
	s = p.start(n.on("pi", "run", "--resume", pi)...)
	if code := s.wait(); code != cli.ExitOK {
		t.Fatalf("exit status %d\n%s", code, s.said.String())
	}
	r := p.storedRun(pi)
	if countDone(r) != rounds || r.Rounds != rounds || r.Stopped != result.StoppedRounds || r.Host.Name != "pi" {
		t.Errorf("resumed: %d rounds are measured, %d complete, stopped for %s, on %v", countDone(r), r.Rounds, r.Stopped, r.Host)
	}
	again := 0
	for i, b := range before.Trials {
		if r.Trials[i].Repeated != b.Repeated {
			again++
			b.Repeated = true
		}
		if d := cmp.Diff(b, r.Trials[i]); d != "" {
			t.Errorf("trial %d has changed: -before +after:\n%s", i+1, d)
		}
	}
	if again == 0 {
		t.Error("no trial failed")
	}
	n.leftNothing()
	out, err := p.command("merge", ".home/data/sqlite3perf/results.db", "--store", "all.db").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "2 runs merged into all.db (") {
		t.Errorf("%v\n%s", err, out)
	}
}
