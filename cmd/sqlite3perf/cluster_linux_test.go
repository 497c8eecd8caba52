package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// clusterPlace returns a [place] whose environment names the executable rqlited. It builds rqlited
// unless Go's build cache has it.
func clusterPlace(t *testing.T) *place {
	t.Helper()
	if testing.Short() {
		t.Skip("builds rqlited and workers")
	}
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	find := exec.Command("go", "tool", "-n", "rqlited")
	find.Dir = filepath.Join(source.Root, "drivers", "rqlite", "rqlited")
	find.Env = append(find.Environ(), "GOWORK=off")
	rqlited, err := find.Output()
	if err != nil {
		t.Fatalf("building rqlited, which needs a C compiler: %v", err)
	}
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	p.ownTemp()
	p.env = append(p.env, "RQLITED_PATH="+strings.TrimSpace(string(rqlited)), "SQLITE3PERF_WORKER_CACHE="+cache, "GOWORK=off")
	return p
}

// TestSoakCluster measures real clusters and a local driver. The latencies in the answer must include
// the delay between nodes.
func TestSoakCluster(t *testing.T) {
	t.Parallel()
	p := clusterPlace(t)
	const delay = 30 * time.Millisecond
	cmd := p.command("cluster", "--local", "modernc", "--nodes", "1,3", "--delay", "0,"+delay.String(), "--clients", "1", "--batch", "1,10", "--duration", "100ms",
		"--rounds", "2", "--dir", "databases", "--format", "json")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.nothingLeft()
	var got cluster.JSONClusters
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Answer, "3 nodes of rqlite acknowledge ") || !strings.Contains(got.Answer, " where modernc does ") {
		t.Error(got.Answer)
	}
	if m := got.Machine; m.OS == "" || m.Cores < 1 || filepath.Base(m.Directory) != "databases" {
		t.Errorf("machine %+v", m)
	}
	if len(got.Trials) != 4 {
		t.Fatalf("%d trials: want modernc, 1 node, 3 nodes, and 3 nodes with a delay", len(got.Trials))
	}
	for i, nodes := range []int{0, 1, 3, 3} {
		c := got.Trials[i]
		if c.Nodes != nodes || c.Result == nil || len(c.Result.Loads) != 2 || len(c.Rates) != 2 || c.Rates[0].N != 2 || len(c.Result.Members) != max(nodes, 1) {
			t.Fatalf("trial %d: %+v", i, c)
		}
		for _, l := range c.Result.Loads {
			if l.Acknowledged.P50NS == 0 || l.Visible.P50NS == 0 || l.CPUNS == 0 || (l.MemberCPUNS > 0) != (nodes > 0) {
				t.Errorf("trial %d: %+v", i, l)
			}
			if at := time.Duration(min(l.Acknowledged.P50NS, l.Visible.P50NS)); c.DelayNS > 0 && at < 2*delay {
				t.Errorf("with %v between the nodes a write took %v", delay, at)
			}
		}
		if c.Result.DiskBytes == 0 || c.Result.PeakRSSBytes == 0 {
			t.Errorf("trial %d: %+v", i, c.Result)
		}
		for _, m := range c.Result.Members {
			if m.DelayNS != c.DelayNS {
				t.Errorf("trial %d: %+v, want a delay of %d", i, m, c.DelayNS)
			}
		}
	}
}

// TestBadCluster checks that a mistake in the environment variables for rqlite is reported in one
// line, before anything is stored.
func TestBadCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("runs commands that ask Go for its version")
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	host := other.Listener.Addr().String()
	p := newPlace(t)
	env := append(p.env, "RQLITE_ADDRESSES=")
	const run, cluster = "run --drivers rqlite --workloads simple --quiet --store results.db", "cluster --dir ."
	const own = "cluster starts its own nodes: unset RQLITE_ADDRESSES"
	for _, c := range []struct {
		variable, args string
		code           int
		want           string
	}{
		{"RQLITE_ADDRESSES=ftp://secret@x", run, cli.ExitUsage, "driver rqlite: RQLITE_ADDRESSES has an invalid address: want addresses such as http://"},
		{"RQLITE_ADDRESSES=" + host, run, cli.ExitIncomplete, "the program that answers at " + host + " is not rqlited: correct RQLITE_ADDRESSES"},
		{"RQLITE_ADDRESSES=http//u:secret@127.0.0.1:1", run, cli.ExitUsage, "driver rqlite: RQLITE_ADDRESSES has an invalid address: want addresses such as http://"},
		{"RQLITE_ADDRESSES=" + host, cluster, cli.ExitUsage, own},
		{"RQLITE_ADDRESSES=ftp://secret@x", cluster + " --kill 1", cli.ExitUsage, own},
		{"RQLITED_PATH=/bin/true", cluster, cli.ExitIncomplete, "RQLITED_PATH=/bin/true is not the rqlited that it needs: with -version it says nothing: type make rqlited"},
		{"RQLITE_ADDRESSES=127.0.0.1:1", run, cli.ExitIncomplete, "nothing listens at 127.0.0.1:1: start rqlited there, or correct RQLITE_ADDRESSES"},
		{"RQLITED_PATH=/bin/true", run, cli.ExitIncomplete, "RQLITED_PATH=/bin/true is not the rqlited that it needs: with -version it says nothing: type make rqlited"},
		{"RQLITED_PATH=/tmp", cluster, cli.ExitIncomplete, "RQLITED_PATH=/tmp is a directory: want the path of rqlited itself, or type make rqlited"},
	} {
		p.env = append(env, c.variable)
		out, err := p.command(strings.Fields(c.args)...).CombinedOutput()
		said := string(out)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != c.code || strings.Count(said, "\n") != 1 || !strings.Contains(said, c.want) || strings.Contains(said, "secret") {
			t.Errorf("%s %s: %v, want exit status %d and one line with %q\n%s", c.variable, c.args, err, c.code, c.want, said)
		}
	}
	out, err := p.command("runs", "--store", "results.db").CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("want no stored run, got %s (%v)", out, err)
	}
	out, err = p.command("drivers").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "unavailable: rqlite cannot be measured: RQLITED_PATH=/tmp is a directory: ") {
		t.Errorf("drivers: %v\n%s", err, out)
	}
}

// TestSoakClusterLeavesNothing interrupts the command "cluster" while it kills nodes. Then it kills the
// command in another run. No process, database or temporary file may be left.
func TestSoakClusterLeavesNothing(t *testing.T) {
	t.Parallel()
	p := clusterPlace(t)
	small := []string{"cluster", "--local", "none", "--nodes", "1", "--clients", "1", "--batch", "1", "--duration", "20ms", "--dir", "databases"}
	if out, err := p.command(small...).CombinedOutput(); err != nil { // the command builds the worker
		t.Fatalf("%v\n%s", err, out)
	}
	for _, sig := range []os.Signal{os.Interrupt, os.Kill} {
		s := p.start("cluster", "--kill", "1000", "--dir", "databases")
		s.until("1/1000 kill")
		s.signal(sig)
		if code := s.wait(); (code == cli.ExitInterrupted) != (sig == os.Interrupt) {
			t.Errorf("%v: exit status %d\n%s", sig, code, s.said.String())
		}
		if sig == os.Kill { // after a kill, the next command removes leftovers
			if out, err := p.command(small...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		p.nothingLeft()
	}
}

// TestSoakClusterStoppedNode suspends nodes with SIGSTOP. The command must not wait forever. Its error
// must name one of these nodes, or the trial's time limit.
func TestSoakClusterStoppedNode(t *testing.T) {
	t.Parallel()
	p := clusterPlace(t)
	if out, err := p.command("cluster", "--local", "none", "--nodes", "1", "--clients", "1", "--batch", "1", "--duration", "20ms", "--dir", "databases").CombinedOutput(); err != nil { // the command builds the worker
		t.Fatalf("%v\n%s", err, out)
	}
	for _, x := range []struct {
		stopped []string
		args    []string
		want    string // expected error; "%" stands for the node's address
	}{
		{[]string{"1"}, []string{"--patience", "1s"}, "no write was acknowledged within 1s: node 1 at % answers nothing: is it stopped?"},
		{[]string{"3"}, []string{"--patience", "1s"}, "but is not visible at every member after 1s: node 3 at % answers nothing: is it stopped?"},
		{[]string{"1", "2", "3"}, []string{"--patience", "1h", "--trial-limit", "1s"}, "no end within the trial's limit of "},
	} {
		s := p.start(append([]string{"cluster", "--local", "none", "--nodes", "3", "--clients", "1", "--batch", "1", "--duration", "3s", "--dir", "databases"}, x.args...)...)
		address := ""
		var pids []int
		eventually(t, "the nodes write", func() bool {
			written := false
			pids = pids[:0]
			for _, pid := range p.rqlited() {
				line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
				id := args[max(slices.Index(args, "-node-id"), 0)+1]
				dir := args[len(args)-1]
				if slices.Contains(x.stopped, id) {
					pids = append(pids, pid)
					address = args[slices.Index(args, "-raft-adv-addr")+1]
				}
				fi, err := os.Stat(filepath.Join(dir, "db.sqlite-wal"))
				written = written || err == nil && fi.Size() > 20_000
			}
			return written && len(pids) == len(x.stopped)
		})
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		code := s.wait()
		out := strings.Join(strings.Fields(s.stdout.String()), " ")
		if want := strings.ReplaceAll(x.want, "%", address); code != cli.ExitIncomplete || !strings.Contains(out, want) {
			t.Errorf("%v stopped: exit status %d\n%s%s\nwant %s", x.stopped, code, s.said.String(), s.stdout.String(), want)
		}
		p.nothingLeft()
	}
}

// rqlited returns the process IDs of the rqlite nodes that p's commands have started.
func (p *place) rqlited() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, _ := os.ReadFile(f)
		if bytes.Contains(line, []byte(p.dir+"/databases/")) && bytes.Contains(line, []byte("-raft-adv-addr")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			pids = append(pids, pid)
		}
	}
	return pids
}
