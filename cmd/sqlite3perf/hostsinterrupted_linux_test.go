package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestSoakHostGone ends the connection to one of two hosts. Only the phases on that host may have failed.
// It must be possible to resume the run once the host is back, and no machine may keep files or processes of the run.
func TestSoakHostGone(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := newNetwork(t, p, "pi", "vm1")
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
	if want := "pi and vm1 are one machine"; !strings.Contains(s.said.String(), want) || !strings.Contains(s.stdout.String(), want) {
		t.Errorf("want %s in progress and report:\n%s%s", want, s.said.String(), s.stdout.String())
	}
	p.alone()
	seen, lost := 0, ""
	for _, id := range []string{"1", "2"} {
		out, err := p.command("show", id, "--format", "json").Output()
		if err != nil {
			t.Fatal(err)
		}
		j, err := load(out)
		if err != nil {
			t.Fatal(err)
		}
		last := j.Run.Trials[len(j.Run.Trials)-1]
		switch j.Run.Host.Name {
		case "pi":
			lost = id
			if seen++; last.Status != result.Failed || last.Reason.Code != result.CodeHost || j.Run.Trials[0].Status != result.OK {
				t.Errorf("pi: %s, %+v", last.Status, last.Reason)
			}
		case "vm1":
			if seen++; last.Status != result.OK || j.Run.Rounds != 40 || j.Run.Seed != 7 {
				t.Errorf("vm1: %d rounds, %s, %+v", j.Run.Rounds, last.Status, last.Reason)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d of 2 hosts are in the store", seen)
	}
	out, err := p.command("runs").Output()
	if lines := strings.Split(string(out), "\n"); err != nil || len(lines) < 3 || !strings.HasSuffix(lines[0], "MACHINE") || strings.HasSuffix(lines[1], " pi") == strings.HasSuffix(lines[2], " pi") {
		t.Errorf("runs: %v\n%s", err, out)
	}

	// The host is back. The next agent (the process that works on a host) removes the files that a
	// killed agent has left.
	s = p.start(n.on("pi", "run", "--resume", lost)...)
	if code := s.wait(); code != cli.ExitOK {
		t.Fatalf("resumed: exit status %d\n%s", code, s.said.String())
	}
	n.leftNothing()
	out, err = p.command("show", lost, "--format", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	j, err := load(out)
	if err != nil {
		t.Fatal(err)
	}
	rounds := map[int]bool{}
	for _, x := range j.Run.Trials {
		if x.Status == result.OK && !x.Repeated {
			rounds[x.Round] = true
		}
	}
	if j.Run.Rounds != 40 || len(rounds) != 40 || j.Cells[0].Status != result.OK {
		t.Errorf("resumed: %d rounds, %d with a trial that counts, the first cell is %s", j.Run.Rounds, len(rounds), j.Cells[0].Status)
	}

	// Both runs are shown side by side, also if they were merged into another store.
	if out, err := p.command("merge", filepath.Join(p.dir, ".home/data/sqlite3perf/results.db"), "--store", "merged.db").CombinedOutput(); err != nil {
		t.Fatalf("merge: %v\n%s", err, out)
	}
	out, err = p.command("show", "1", "2", "--store", "merged.db", "--format", "json").Output()
	var both machines.JSONMachines
	if err == nil {
		err = json.Unmarshal(out, &both)
	}
	if err != nil || len(both.Machines) != 2 || both.Machines[0].Name == both.Machines[1].Name || strings.Contains(both.Answer, "went away") {
		t.Errorf("show 1 2: %v\n%+v", err, both)
	}
}

// TestSoakHostsInterrupted checks that Ctrl-C ends the runs on all hosts, and that nothing is left
// on them even if this command is killed.
func TestSoakHostsInterrupted(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			n := newNetwork(t, p, "pi", "vm1")
			s := p.start(n.on("pi,vm1", append(onHosts, "--rounds", "100000")...)...)
			s.until("pi: round 1")
			if sig == syscall.SIGINT {
				out, err := p.command(n.on(p.storedRun("2").Host.Name, "run", "--resume", "2")...).CombinedOutput()
				if err == nil || !strings.Contains(string(out), ": something is being measured in ") || strings.Count(string(out), "\n") != 1 {
					t.Errorf("resuming a run that is being measured: %v\n%s", err, out)
				}
			}
			s.signal(sig)
			want := cli.ExitInterrupted
			if sig == syscall.SIGKILL {
				want = -1
			}
			if code := s.wait(); code != want {
				t.Errorf("exit status %d, want %d\n%s", code, want, s.said.String())
			}
			n.leftNothing()
		})
	}
}

// parentOf returns the ID of the parent of a process, or 0 if the process has ended.
func parentOf(pid int) (parent int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if _, rest, ok := strings.Cut(string(text), ") "); ok {
		if f := strings.Fields(rest); len(f) > 1 {
			parent, _ = strconv.Atoi(f[1])
		}
	}
	return parent
}

// childrenOf returns the IDs of the children of a process.
func childrenOf(pid int) (list []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		if child, _ := strconv.Atoi(filepath.Base(filepath.Dir(f))); parentOf(child) == pid {
			list = append(list, child)
		}
	}
	return list
}

// TestKillsConnection cuts the connection to a host at random moments, by killing one or two of the
// processes that the connection needs. The error must name the killed client or agent. If the server's
// process is killed, the error must say that the connection ended. Nothing may be left on the host.
func TestKillsConnection(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := newNetwork(t, p, "pi")
	for k := range times(t, 4) {
		kind := []string{"the client", "the server's process", "the agent", "both"}[k%4]
		s := p.start(n.on("pi", append(onHosts, "--rounds", "100000")...)...)
		s.until("round 1")
		time.Sleep(time.Duration(rand.IntN(500_000)) * time.Microsecond)
		agents := n.agents("pi")
		if len(agents) != 1 {
			t.Fatalf("%d agents", len(agents))
		}
		clients := childrenOf(s.cmd.Process.Pid)
		server := parentOf(agents[0])
		if len(clients) != 1 || server <= 1 {
			t.Fatalf("clients %v, server %d", clients, server)
		}
		for _, pid := range map[string][]int{"the client": clients, "the server's process": {server}, "the agent": agents, "both": {server, clients[0]}}[kind] {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the second process may have ended together with the first
		}
		want := map[string]string{
			"the client":           "the connection ended: the SSH client here was killed (SIGKILL)",
			"the server's process": "the connection ended: ", // the client notices this while it reads or writes
			"the agent":            "the agent there was killed",
			"both":                 "the connection ended: ",
		}[kind]
		if code := s.wait(); code != cli.ExitIncomplete || !strings.Contains(s.said.String(), "host pi: "+want) {
			t.Errorf("cut %d, %s killed: exit status %d\n%swant %s", k, kind, code, s.said.String(), want)
		}
		if kind == "the agent" { // a killed agent cannot remove anything, but the next agent does
			if out, err := p.command(n.on("pi", append(onHosts, "--rounds", "6", "--quiet")...)...).CombinedOutput(); err != nil {
				t.Errorf("the next run: %v\n%s", err, out)
			}
		}
		n.leftNothing()
		if t.Failed() {
			t.Fatalf("cut %d: %s", k, kind)
		}
	}
}

// TestKillsConnectionWhileBuilding cuts the connection before anything is measured. Nothing may
// be left on the host.
func TestKillsConnectionWhileBuilding(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := newNetwork(t, p, "pi")
	workers := filepath.Join(n.hosts["pi"], "sqlite3perf", "workers")
	for range (times(t, 1) + 9) / 10 {
		if err := os.RemoveAll(workers); err != nil { // in the first round, workers is a symbolic link
			t.Fatal(err)
		}
		s := p.start(n.on("pi", append(onHosts, "--rounds", "6")...)...)
		s.until("building the worker")
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		for _, pid := range n.agents("pi") {
			_ = syscall.Kill(parentOf(pid), syscall.SIGKILL)
		}
		if code := s.wait(); code != cli.ExitIncomplete || !strings.Contains(s.said.String(), "host pi: the connection ended: ") {
			t.Errorf("exit status %d\n%s", code, s.said.String())
		}
		n.leftNothing()
		if left, _ := filepath.Glob(filepath.Join(workers, "building-*")); len(left) > 0 {
			t.Errorf("left on pi: %q", left)
		}
	}
}

// TestSoakHostsStoppedAtOnce checks that a second Ctrl-C does not wait for trials to end, and that
// nothing is left.
func TestSoakHostsStoppedAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := newNetwork(t, p, "pi", "vm1")
	p.write("endless.yaml", `
name: endless
schema: CREATE TABLE t(id INTEGER PRIMARY KEY)
rows: {t: {count: 10, columns: {id: serial}}}
phases:
  - {name: insert, insert: t}
  - name: mix
    mix: [{name: get, sql: SELECT id FROM t WHERE id = :id, parameters: {id: {pick: t.id}}, columns: int, expect: {rows: 1}}]
    duration: 1h
`, 0o644)
	s := p.start(n.on("pi,vm1", "run", "--drivers", "modernc", "--workloads", "./endless.yaml", "--trial-limit", "2h")...)
	for running := 0; running < len(n.hosts); time.Sleep(10 * time.Millisecond) {
		running = 0
		for _, cache := range n.hosts {
			if found, _ := filepath.Glob(filepath.Join(cache, "sqlite3perf/databases/*/*/test.db")); len(found) > 0 {
				running++
			}
		}
	}
	s.signal(os.Interrupt)
	s.until("stopping when the current trials have ended; Ctrl-C again stops at once")
	s.signal(os.Interrupt)
	if code := s.wait(); code != cli.ExitInterrupted {
		t.Errorf("exit status %d\n%s", code, s.said.String())
	}
	n.leftNothing()
}
