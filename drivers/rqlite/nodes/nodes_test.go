package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes"
	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes/nodestest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("NODES_OF_TEST"); dir != "" { // this is the process that TestNodesDieWithTheirProcess starts
		c, err := nodes.Start(context.Background(), nodes.Config{Nodes: 1, Dir: dir})
		fmt.Println(err, c.Nodes[0].PID())
		time.Sleep(time.Hour)
	}
	if taken := os.Getenv("TAKEN_BY_TEST"); taken != "" { // this is the rqlited that TestPortTaken starts
		os.Exit(takePort(taken))
	}
	if err := nodestest.Set(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// start starts a cluster, and stops it when the test ends.
func start(t *testing.T, c nodes.Config) *nodes.Cluster {
	t.Helper()
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	cluster, err := nodes.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Kill(); err != nil {
			t.Error(err)
		}
		for _, n := range cluster.Nodes {
			if n.Alive() {
				t.Errorf("node %s still runs", n.ID)
			}
		}
	})
	return cluster
}

func status(t *testing.T, n *nodes.Node) *nodes.Status {
	t.Helper()
	s, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// leader waits until the living nodes agree on a leader, which must be one of them.
func leader(t *testing.T, c *nodes.Cluster) *nodes.Node {
	t.Helper()
	for t.Context().Err() == nil {
		votes, living := map[string]int{}, 0
		for _, n := range c.Nodes {
			if !n.Alive() {
				continue
			}
			living++
			if s, err := n.Status(t.Context()); err == nil {
				votes[s.Leader]++
			}
		}
		for _, n := range c.Nodes {
			if n.Alive() && votes[n.ID] == living {
				return n
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("there is no leader")
	return nil
}

// TestCluster checks that the cluster is ready when Start returns: each node votes and knows the
// same leader. If the leader is killed, another node becomes the leader, and the killed node can
// come back.
func TestCluster(t *testing.T) {
	c := start(t, nodes.Config{Nodes: 3})
	for _, n := range c.Nodes {
		if s := status(t, n); s.Leader != "1" || s.Voters != 3 {
			t.Errorf("node %s: leader %q, %d voting nodes, want 1 and 3", n.ID, s.Leader, s.Voters)
		}
	}
	first := leader(t, c)
	if first != c.Nodes[0] {
		t.Fatalf("the leader is node %s, want node 1", first.ID)
	}
	if err := first.Kill(); err != nil || first.Alive() {
		t.Fatalf("killing node 1: %v, alive %v", err, first.Alive())
	}
	second := leader(t, c)
	if second == first {
		t.Fatal("the killed leader is still the leader")
	}
	if err := first.Restart(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if s := status(t, first); s.State != "Follower" || s.Leader != second.ID {
		t.Errorf("node 1 came back as a %s of %s, want a Follower of %s", s.State, s.Leader, second.ID)
	}
	if err := first.Restart(t.Context(), 3); err == nil {
		t.Error("restarting a running node: no error")
	}
}

// TestAdvertisedAddress checks that nodes talk to each other through the addresses that
// RaftAddress returns.
func TestAdvertisedAddress(t *testing.T) {
	var through atomic.Int64
	proxy := func(_ int, real string) (string, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				in, err := l.Accept()
				if err != nil {
					return
				}
				out, err := net.Dial("tcp", real)
				if err != nil {
					in.Close()
					continue
				}
				through.Add(1)
				go func() { _, _ = out.(*net.TCPConn).ReadFrom(in); out.Close() }()
				go func() { _, _ = in.(*net.TCPConn).ReadFrom(out); in.Close() }()
			}
		}()
		return l.Addr().String(), nil
	}
	c := start(t, nodes.Config{Nodes: 2, RaftAddress: proxy})
	for _, n := range c.Nodes {
		if n.Advertised == n.Raft {
			t.Errorf("node %s is reached at its own address", n.ID)
		}
	}
	if through.Load() < 2 {
		t.Errorf("%d connections through the proxies, want at least one each way", through.Load())
	}
}

func TestBadExecutable(t *testing.T) {
	script := filepath.Join(t.TempDir(), "rqlited")
	write := func(text string) {
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, path, script, want string }{
		{"absent", "/nonexistent/rqlited", "", "RQLITED_PATH names no program that runs"},
		{"none in PATH", "", "", "type make rqlited, and set RQLITED_PATH to bin/rqlited"},
		{"silent", script, "exit 3", "ended (exit status 3) without a word: is it an rqlited?"},
		{"fatal", script, "echo fatal: no data directory set >&2; exit 1", "rqlited ended (exit status 1): no data directory set"},
		{"ports in use", script, "echo >> " + script + ".times; echo 'listen tcp: bind: address already in use' >&2; exit 1", "address already in use"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(nodes.Env, c.path)
			t.Setenv("PATH", t.TempDir()+":/usr/bin:/bin")
			write(c.script)
			_, err := nodes.Start(t.Context(), nodes.Config{Nodes: 2, Dir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %q, want one line with %q", err, c.want)
			}
		})
	}
	times, err := os.ReadFile(script + ".times")
	if n := strings.Count(string(times), "\n"); err != nil || n < 5 {
		t.Errorf("nodes were started %d times on ports in use (%v), want at least 5", n, err)
	}
}

// takePort is run in place of rqlited. It listens at the API's address, which is in os.Args, and
// then runs the real rqlited with the same arguments. The real rqlited fails, because the port is in
// use. takePort also creates an empty file at the path in the parameter "taken", unless the
// parameter is the constant "never". If this file already exists, takePort only replaces this
// process by the real rqlited.
func takePort(taken string) int {
	if _, err := os.Stat(taken); err == nil {
		// Exec keeps this process and only replaces its program by rqlited. So rqlited still ends when
		// the parent process ends.
		path := os.Getenv(nodes.Env)
		fmt.Fprintln(os.Stderr, syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ()))
		return 1
	}
	l, err := net.Listen("tcp", os.Args[slices.Index(os.Args, "-http-addr")+1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer l.Close()
	if taken != never {
		if err := os.WriteFile(taken, nil, 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	cmd := exec.Command(os.Getenv(nodes.Env), os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Run() // ExitCode below tells how it ended
	return cmd.ProcessState.ExitCode()
}

const never = "/nonexistent/taken"

// TestPortTaken checks that the cluster starts with other ports if another program takes a port
// after it was chosen. If that happens at each attempt, the error says so in one line, and no
// process is left.
func TestPortTaken(t *testing.T) {
	for taken := range 2 {
		var calls int
		raft := func(_ int, real string) (string, error) {
			if calls++; calls == taken+1 {
				l, err := net.Listen("tcp", real)
				if err != nil {
					return "", err
				}
				t.Cleanup(func() { l.Close() })
			}
			return real, nil
		}
		start(t, nodes.Config{Nodes: 2, RaftAddress: raft})
		if calls < 4 {
			t.Errorf("the port of node %d was taken, and the addresses for other nodes were not chosen again", taken+1)
		}
	}

	once := filepath.Join(t.TempDir(), "taken")
	t.Setenv("TAKEN_BY_TEST", once)
	c, err := nodes.Start(t.Context(), nodes.Config{Executable: os.Args[0], Nodes: 1, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(once); err != nil {
		t.Error("no port was taken")
	}

	t.Setenv("TAKEN_BY_TEST", never)
	_, err = nodes.Start(t.Context(), nodes.Config{Executable: os.Args[0], Nodes: 1, Dir: t.TempDir()})
	if want := "other programs have taken the ports of the nodes 5 times, after they were chosen: try again: node 1: address already in use: "; err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line with %q", err, want)
	}
}

// TestNodesDieWithTheirProcess checks that nodes end with the process that started them, even if
// that process is killed.
func TestNodesDieWithTheirProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("the kernel of this system cannot do that")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NODES_OF_TEST="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var failed string
	var pid int
	_, err = fmt.Fscan(out, &failed, &pid)
	if err = errors.Join(err, cmd.Process.Kill()); err != nil || failed != "<nil>" {
		t.Fatalf("%s, %v", failed, err)
	}
	_ = cmd.Wait() // returns an error, because the process was killed
	for stat := fmt.Sprintf("/proc/%d/stat", pid); ; time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(stat)
		if err != nil || strings.Contains(string(data), ") Z ") {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("rqlited %d still runs", pid)
		}
	}
}

// TestStartCancelled checks that Start stops if the context ends, and leaves no process.
func TestStartCancelled(t *testing.T) {
	script := filepath.Join(t.TempDir(), "rqlited")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho $$ >> "+script+".pids\nexec sleep 3600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for range 10_000 {
			if _, err := os.Stat(script + ".pids"); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := nodes.Start(ctx, nodes.Config{Executable: script, Nodes: 1, Dir: t.TempDir()})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's error", err)
	}
	data, err := os.ReadFile(script + ".pids")
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("kill", "-0", strings.TrimSpace(string(data))).Run(); err == nil {
		t.Errorf("process %s is left", data)
	}
}
