package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/host"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// network is an SSH server on this machine, with a configuration for SSH clients. The configuration
// has several names for the server. Each name stands for a different machine, with its own cache
// directory.
type network struct {
	t      testing.TB
	place  *place
	dir    string // directory of the server, its keys and the client's configuration
	port   int
	client string // command line of the SSH client, for --ssh
	hosts  map[string]string
}

// newNetwork starts the server. Each element of the parameter "hosts" is the name of a host. Further
// lines in an element are added to the host's part of the client's configuration.
func newNetwork(t testing.TB, p *place, hosts ...string) *network {
	t.Helper()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
	}
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("there is no SSH server: make sshd installs it on Debian; elsewhere install OpenSSH's")
	}
	n := &network{t: t, place: p, dir: t.TempDir(), hosts: map[string]string{}}
	for _, key := range []string{"server", "user", "stranger"} {
		n.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", n.path(key))
	}
	n.port = freePort(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	n.write("sshd_config", fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPidFile none\nAcceptEnv *\n",
		n.port, n.path("server"), n.path("user.pub")))
	known := n.read("server.pub")
	n.write("known", fmt.Sprintf("[127.0.0.1]:%d %s", n.port, known))
	n.write("known-other", fmt.Sprintf("[127.0.0.1]:%d %s", n.port, n.read("stranger.pub")))
	workers, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		t.Fatal(err)
	}
	config := ""
	for _, h := range hosts {
		name, more, _ := strings.Cut(h, "\n")
		cache := filepath.Join(p.dir, "hosts", name)
		n.hosts[name] = cache
		if err := os.MkdirAll(filepath.Join(cache, "sqlite3perf"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(workers, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(workers, filepath.Join(cache, "sqlite3perf", "workers")); err != nil {
			t.Fatal(err)
		}
		// If an option is repeated, ssh uses the first value.
		config += fmt.Sprintf("Host %s\n%s\nHostName 127.0.0.1\nPort %d\nUser %s\nIdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s\nGlobalKnownHostsFile none\nSetEnv XDG_CACHE_HOME=%s %s\n",
			name, more, n.port, me.Username, n.path("user"), n.path("known"), cache, strings.Join(n.goEnvironment(), " "))
	}
	n.write("config", config)
	n.client = "ssh -F " + n.path("config")
	if os.Geteuid() == 0 { // as root, sshd drops its privileges in this directory
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.serve(sshd)
	return n
}

// goEnvironment returns Go's own environment variables, which sshd does not pass on.
func (n *network) goEnvironment() (list []string) {
	for _, v := range n.place.env {
		if strings.HasPrefix(v, "GO") && !strings.ContainsAny(v, " \"'") {
			list = append(list, v)
		}
	}
	return append(list, "PATH="+os.Getenv("PATH"))
}

func (n *network) path(name string) string { return filepath.Join(n.dir, name) }

func (n *network) write(name, text string) {
	n.t.Helper()
	if err := os.WriteFile(n.path(name), []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *network) read(name string) string {
	n.t.Helper()
	text, err := os.ReadFile(n.path(name))
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}

func (n *network) run(name string, args ...string) {
	n.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// serve starts the server and waits until it listens.
func (n *network) serve(sshd string) {
	n.t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(sshd, "-D", "-e", "-f", n.path("sshd_config"))
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	ended, gone := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- cmd.Wait()
		close(gone)
	}()
	n.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-gone
	})
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", n.port)); err == nil {
			c.Close()
			return
		}
		select {
		case err := <-ended:
			n.t.Fatalf("sshd ended: %v\n%s", err, log.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	n.t.Fatalf("sshd does not listen\n%s", log.String())
}

// changed returns the path of a client that edits its arguments with a sed script before it connects.
// Tests use such clients to imitate other machines.
func (n *network) changed(name, script string) string {
	n.t.Helper()
	n.write(name, "#!/bin/sh\nn=$#\nfor a; do\n\tset -- \"$@\" \"$(printf %s \"$a\" | sed '"+script+"')\"\ndone\nshift $n\nexec "+n.client+" \"$@\"\n")
	if err := os.Chmod(n.path(name), 0o755); err != nil {
		n.t.Fatal(err)
	}
	return n.path(name)
}

// The method "on" returns the arguments of a command that measures on hosts.
func (n *network) on(hosts string, args ...string) []string {
	return slices.Concat(args[:1], []string{"--hosts", hosts, "--ssh", n.client}, args[1:])
}

// agents returns the process IDs of the agents, the processes of sqlite3perf that work on a host.
func (n *network) agents(name string) (pids []int) {
	n.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		n.t.Fatal(err)
	}
	for _, f := range files {
		line, _ := os.ReadFile(f)
		if args := strings.Split(string(line), "\x00"); strings.HasPrefix(args[0], n.hosts[name]) && slices.Contains(args, host.AgentCommand) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// leftNothing checks that neither this machine nor a host has a process or a database left.
func (n *network) leftNothing() {
	n.t.Helper()
	n.place.alone()
	for name, cache := range n.hosts {
		left, err := os.ReadDir(filepath.Join(cache, "sqlite3perf", "databases"))
		if err != nil && !errors.Is(err, os.ErrNotExist) || len(left) > 0 {
			n.t.Errorf("left on %s: %v, %v", name, left, err)
		}
	}
}

var onHosts = []string{"run", "--drivers", "modernc", "--workloads", "./tiny.yaml", "--seed", "7"}

// TestOneHost measures on a host. The run must be in the local store, with the name of the host.
func TestOneHost(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := newNetwork(t, p, "pi")
	for _, again := range []bool{false, true} {
		s := p.start(n.on("pi", append(onHosts, "--rounds", "6")...)...)
		if code := s.wait(); code != cli.ExitOK {
			t.Fatalf("exit status %d\n%s", code, s.said.String())
		}
		if copied := strings.Contains(s.said.String(), "copying sqlite3perf to pi"); copied == again {
			t.Errorf("again: %v, copied: %v\n%s", again, copied, s.said.String())
		}
		j := p.last()
		if h := j.Run.Host; h == nil || h.Name != "pi" {
			t.Errorf("measured on %v", h)
		}
		if want := filepath.Join(n.hosts["pi"], "sqlite3perf", "databases"); j.Run.Machine.Directory != want {
			t.Errorf("databases in %s, want %s", j.Run.Machine.Directory, want)
		}
		if len(j.Run.Trials) < 6 || !strings.HasPrefix(j.Run.Cases[0].Worker, n.hosts["pi"]) {
			t.Errorf("%d trials by %s", len(j.Run.Trials), j.Run.Cases[0].Worker)
		}
		n.leftNothing()
	}

	// A damaged copy of the executable is replaced.
	copies, err := filepath.Glob(filepath.Join(n.hosts["pi"], "sqlite3perf", "hosts", "*", "sqlite3perf"))
	if err != nil || len(copies) != 1 {
		t.Fatal(copies, err)
	}
	if err := os.WriteFile(copies[0], []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := p.start(n.on("pi", append(onHosts, "--rounds", "6")...)...)
	if code := s.wait(); code != cli.ExitOK || !strings.Contains(s.said.String(), "copying sqlite3perf") {
		t.Errorf("damaged: exit status %d\n%s", code, s.said.String())
	}
}

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
					t.Errorf("while it is measured it is resumed: %v\n%s", err, out)
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

// TestSoakHostMistakes checks that the message for each mistake about hosts is one line that
// says what to do, and that nothing is measured.
func TestSoakHostMistakes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := newNetwork(t, p, "pi", "unknown\nUserKnownHostsFile /dev/null", "changed", "locked", "closed", "full", "other", "older", "chatty")
	n.write("config", n.read("config")+"Host nowhere\nHostName nowhere.invalid\n")
	n.write("config", strings.NewReplacer(
		"Host changed\n", "Host changed\nUserKnownHostsFile "+n.path("known-other")+"\n",
		"Host locked\n", "Host locked\nPubkeyAuthentication no\n",
		"Host closed\n", fmt.Sprintf("Host closed\nPort %d\n", freePort(t)),
	).Replace(n.read("config")))
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "mine.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE t(id INTEGER PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	p.write("mine.yaml", "name: mine\ndatabase: ./mine.db\nphases: [{name: q, query: SELECT id FROM t, columns: int, expect: {rows: 0}}]\n", 0o644)
	full := n.changed("full", `s#cat > "$t"#cat > /dev/full#`)
	other := n.changed("other", `s#$(uname -s) $(uname -m)#Plan9 vax#; s#command -v sqlite3perf#false#`)
	older := n.changed("older", `s#$(uname -s) $(uname -m)#Plan9 vax#; s#command -v sqlite3perf#true#; s#exec sqlite3perf host-agent#echo "{\\\"sqlite3perf_agent\\\": 1, \\\"version\\\": \\\"v0.0.1\\\"}"#`)
	chatty := n.changed("chatty", `s#exec sh.*#echo Welcome#`)
	for _, x := range []struct {
		hosts string
		code  int
		args  []string
		want  string
	}{
		{"unknown", cli.ExitIncomplete, nil, "host unknown: its key is not known here: connect once with: ssh -F "},
		{"changed", cli.ExitIncomplete, nil, n.path("known-other")},
		{"locked", cli.ExitIncomplete, nil, "host locked: it does not accept your key: "},
		{"closed", cli.ExitIncomplete, nil, "host closed: it refuses the connection: "},
		{"nowhere", cli.ExitIncomplete, nil, "host nowhere: there is no such machine: "},
		{"pi,closed", cli.ExitIncomplete, nil, "host closed: it refuses the connection: "},
		{"pi,pi", cli.ExitUsage, nil, "host pi is named twice: name it once"},
		{"-oProxyCommand=x", cli.ExitUsage, nil, `"-oProxyCommand=x" is not the name of a host`},
		{"pi", cli.ExitIncomplete, []string{"--ssh", "ssh -F /no/such/file"}, "Can't open user config file /no/such/file: No such file or directory: name a file that exists after -F"},
		{"pi", cli.ExitUsage, []string{"--ssh", "no-such-client"}, "there is no no-such-client here: install the OpenSSH client"},
		{"pi", cli.ExitUsage, []string{"--drivers", "./good"}, "driver ./good is an executable of this machine"},
		{"full", cli.ExitIncomplete, []string{"--ssh", full}, "host full: copying sqlite3perf to its cache directory: its disk is full: make room there: "},
		{"other", cli.ExitIncomplete, []string{"--ssh", other}, "host other: it has no sqlite3perf in PATH, and none can be made for plan9/vax here"},
		{"older", cli.ExitIncomplete, []string{"--ssh", older}, "host older: it has sqlite3perf v0.0.1 in PATH, and this is "},
		{"chatty", cli.ExitIncomplete, []string{"--ssh", chatty}, "host chatty: what it answers is not understood: Welcome"},
		{"pi", cli.ExitUsage, []string{"--workloads", "./mine.yaml"}, "workload mine begins with a database of this machine, which is not sent to hosts: "},
		{"pi", cli.ExitIncomplete, []string{"--dir", "/no/such/directory"}, "host pi: it has no directory /no/such/directory: create it there"},
	} {
		s := p.start(n.on(x.hosts, slices.Concat(onHosts, []string{"--rounds", "6", "--quiet"}, x.args)...)...)
		code := s.wait()
		said := s.said.String()
		if code != x.code || !strings.Contains(said, x.want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s %v: exit status %d, want %d; it says:\n%swant one line with %s", x.hosts, x.args, code, x.code, said, x.want)
		}
	}
	// A gate measures nothing until all hosts are connected. If a host cannot be reached, the gate
	// still writes the reason to the output file.
	s := p.start(n.on("pi,closed", "gate", "--baseline", "modernc", "--drivers", "ncruces", "--workloads", "./tiny.yaml", "--rounds", "6", "--quiet", "--format", "json", "-o", "gate.json")...)
	if code := s.wait(); code != cli.ExitIncomplete || !strings.Contains(s.said.String(), "host closed: it refuses the connection: ") || strings.Count(s.said.String(), "\n") != 1 {
		t.Errorf("gate: exit status %d, want %d; it says:\n%s", code, cli.ExitIncomplete, s.said.String())
	}
	var gates machines.JSONGates
	if text, err := os.ReadFile(filepath.Join(p.dir, "gate.json")); err != nil || json.Unmarshal(text, &gates) != nil || gates.Passed ||
		len(gates.Machines) != 2 || !strings.Contains(fmt.Sprint(gates.Machines[0].Gate), "another machine did not answer") || !strings.Contains(fmt.Sprint(gates.Machines[1].Gate), "it refuses the connection") {
		t.Errorf("gate.json: %v\n%s", err, text)
	}
	// If no driver has a worker, standard output must stay empty.
	s = p.start(n.on("pi,full", "run", "--drivers", "modernc:GOEXPERIMENT=nosuchthing", "--workloads", "./tiny.yaml", "--rounds", "6", "--quiet")...)
	if code := s.wait(); code != cli.ExitIncomplete || s.stdout.Len() > 0 || strings.Count(s.said.String(), "no driver has a worker") != 2 {
		t.Errorf("no worker: exit status %d\n%s%s", code, s.said.String(), s.stdout.String())
	}
	if out, _ := p.command("runs").CombinedOutput(); strings.Contains(string(out), "tiny") {
		t.Errorf("stored:\n%s", out)
	}
	n.leftNothing()
}

// TestSoakHostDiskFull measures on a host with small disks, which are in a mount namespace of the
// agent (the process of sqlite3perf on the host). Each time a file does not fit, the error must be
// one line that says what to do, and nothing may be left on the disks.
func TestSoakHostDiskFull(t *testing.T) {
	namespace := mountNamespace()
	if namespace == nil {
		t.Skip("this system lets nobody mount a file system, not even in a namespace of its own")
	}
	p := newPlace(t)
	n := newNetwork(t, p, "pi")
	p.write("heavy.yaml", "name: heavy\nschema: CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL)\n"+
		"rows: {t: {count: 1000, columns: {id: serial, name: {text: 1000}}}}\nphases: [{name: insert, insert: t}]\n", 0o644)
	dir := filepath.Join(p.dir, "small")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// The script must not have single quotes, because a shell reads it within single quotes.
	small := func(name, on, size, first string) string {
		return n.changed(name, `s#exec "$f" host-agent#exec `+strings.Join(namespace, " ")+` sh -c "mkdir -p `+on+`; mount -t tmpfs -o mode=755,size=`+size+` none `+on+`; `+first+`$f host-agent; ls -A `+on+` >`+n.path(name+".left")+`"#`)
	}
	full := `cat /dev/zero >` + dir + `/ballast 2>/dev/null; `
	sources, workers := filepath.Join(n.hosts["pi"], "sqlite3perf", "sources"), filepath.Join(n.hosts["pi"], "sqlite3perf", "workers")
	for _, x := range []struct {
		name, client, dir, want, left string
		lines                         int // number of lines of the error; 0 for any
	}{
		{"some", small("some", dir, "400k", ""), dir, "modernc on heavy: failed: SQLITE_FULL: database or disk is full (13): make room in " + dir + ", or name another directory with --dir\n", "", 0},
		{"none", small("none", dir, "64k", full), dir, "host pi: directory for databases: write " + dir, "ballast\n", 1},
		{"sources", small("sources", sources, "64k", ""), p.dir, "host pi: unpacking the sources of the workers: write " + sources, "", 1},
		{"workers", small("workers", workers, "64k", ""), p.dir, "modernc: cannot be built: the disk of " + workers + ", of ", "", 1},
	} {
		s := p.start("run", "--hosts", "pi", "--ssh", x.client, "--dir", x.dir, "--drivers", "modernc", "--workloads", "./tiny.yaml,./heavy.yaml", "--rounds", "6", "--quiet="+strconv.FormatBool(x.lines > 0))
		code := s.wait()
		said := strings.TrimPrefix(s.said.String(), "copying sqlite3perf to pi\n")
		if code != cli.ExitIncomplete || !strings.Contains(said, x.want) || !strings.Contains(said, "make room ") || x.lines > 0 && strings.Count(said, "\n") != x.lines {
			t.Errorf("%s: exit status %d; it says:\n%swant %s", x.name, code, said, x.want)
		}
		if left := n.read(x.name + ".left"); left != x.left {
			t.Errorf("%s: left on the disk:\n%s", x.name, left)
		}
		n.leftNothing()
	}
	got := map[string]result.Status{}
	for _, c := range p.last().Cells {
		got[c.Workload+" "+c.Phase] = c.Status
	}
	if got["heavy insert"] != result.Failed || got["tiny insert"] != result.OK {
		t.Errorf("the cells are %v", got)
	}
}

// TestSoakQuestionsOnHosts runs compare, gate and reproduce on two hosts. Both hosts must get
// the same seed, and there must be one answer for both.
func TestSoakQuestionsOnHosts(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := newNetwork(t, p, "pi", "vm1")
	for _, x := range []struct {
		args []string
		want string // text that the answer must contain
	}{
		{[]string{"compare", "modernc", "ncruces", "--workloads", "./tiny.yaml", "--rounds", "8"}, "ncruces against modernc, in 3 cells: "},
		{[]string{"gate", "--baseline", "modernc", "--drivers", "ncruces", "--workloads", "./tiny.yaml", "--rounds", "8"}, " on "},
		{[]string{"reproduce", "cgo-or-not", "--drivers", "modernc,ncruces", "--rounds", "6", "--scale", "0.0001"}, " of cgo-or-not, "},
	} {
		s := p.start(n.on("pi,vm1", append(x.args, "--format", "json")...)...)
		code := s.wait()
		if code == cli.ExitFailed || code == cli.ExitUsage {
			t.Fatalf("%s: exit status %d\n%s", x.args, code, s.said.String())
		}
		var j struct {
			Answer   string
			Machines []struct{ Name string }
		}
		if err := json.Unmarshal(s.stdout.Bytes(), &j); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(j.Answer, x.want) || len(j.Machines) != 2 || j.Machines[0].Name != "pi" || j.Machines[1].Name != "vm1" {
			t.Errorf("%s: the answer is %s, of %v", x.args, j.Answer, j.Machines)
		}
	}
	n.leftNothing()

	st, err := store.OpenReadOnly(t.Context(), filepath.Join(p.dir, ".home/data/sqlite3perf/results.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	seeds := map[uint64]int{}
	list, err := st.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		run, err := st.Load(t.Context(), e.ID)
		if err != nil {
			t.Fatal(err)
		}
		seeds[run.Seed]++
	}
	for seed, runs := range seeds {
		if runs%2 != 0 {
			t.Errorf("%d runs have the seed %d", runs, seed)
		}
	}

	for want, args := range map[string][]string{
		"the baseline is stored":         {"gate", "--baseline", "last"},
		"one host at a time":             {"gate", "--baseline", "modernc", "--drivers", "ncruces", "--also", "junit=x.xml"},
		"show RUN --format csv":          {"run", "--format", "csv"},
		"report RUN writes that of each": {"run", "--html", "x.html"},
	} {
		s := p.start(n.on("pi,vm1", args...)...)
		if code := s.wait(); code != cli.ExitUsage || !strings.Contains(s.said.String(), strings.TrimPrefix(want, "the baseline ")) {
			t.Errorf("%s: exit status %d\n%s", args, code, s.said.String())
		}
	}
}

// TestSoakOtherPlatform measures on a host that claims to have a 32-bit platform, for which
// sqlite3perf is built on this machine. If the command is killed during that build, the next
// command must remove what is left.
func TestSoakOtherPlatform(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("runs programs for linux/386")
	}
	p := newPlace(t)
	n := newNetwork(t, p, "pi")
	n.client = n.changed("small", `s#$(uname -m)#i686#`)
	p.ownTemp()
	s := p.start(n.on("pi", append(onHosts, "--rounds", "6")...)...)
	s.until("building sqlite3perf for linux/386")
	eventually(t, "the go command is at work", func() bool {
		made, _ := filepath.Glob(filepath.Join(p.dir, "tmp", "*", "go-build*"))
		return len(made) > 0
	})
	s.signal(os.Kill)
	s.wait()
	if out, err := p.command("workloads").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.nothingLeft()

	s = p.start(n.on("pi", append(onHosts, "--rounds", "6")...)...)
	if code := s.wait(); code != cli.ExitOK || !strings.Contains(s.said.String(), "building sqlite3perf for linux/386") {
		t.Fatalf("exit status %d\n%s", code, s.said.String())
	}
	if arch := p.last().Run.Machine.Arch; arch != "386" {
		t.Errorf("the agent is for %s", arch)
	}
	n.leftNothing()
}

// TestSoakHostWithoutGo measures on a host without Go. A worker that needs no C compiler is built
// on this machine and sent. A driver that needs one is unavailable.
func TestSoakHostWithoutGo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	n := newNetwork(t, p, "pi")
	tools := filepath.Join(p.dir, "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sh", "uname", "mkdir", "cat", "wc", "chmod", "mv", "rm"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	// Besides PATH, the agent looks for Go in some usual directories, so the test changes these names
	// in the command that starts the agent. It also sets PATH there, because a shell's startup file
	// may have set PATH.
	n.client = n.changed("goless", `s#/go/bin#/nowhere#g; s#PATH="$PATH#PATH="`+tools+`#`)
	// Remove the symbolic link to the user's cache: with the workers there, the host would not need
	// Go.
	cache := filepath.Join(n.hosts["pi"], "sqlite3perf", "workers")
	if err := os.Remove(cache); err != nil {
		t.Fatal(err)
	}
	s := p.start(n.on("pi", "run", "--drivers", "modernc,mattn", "--workloads", "./tiny.yaml", "--rounds", "6")...)
	if code := s.wait(); code != cli.ExitIncomplete {
		t.Errorf("exit status %d, want %d", code, cli.ExitIncomplete)
	}
	for _, want := range []string{"sending the worker for modernc to pi", "mattn is unavailable: mattn needs a C compiler, so it is built on the machine that it runs on"} {
		if !strings.Contains(s.said.String(), want) {
			t.Errorf("no %q in\n%s", want, s.said.String())
		}
	}
	j := p.last()
	for _, x := range j.Run.Trials {
		if driver := j.Run.Cases[x.Case-1].Driver; driver == "modernc" && x.Status != result.OK {
			t.Errorf("%s: %s %+v", driver, x.Status, x.Reason)
		}
	}
	if w := j.Run.Cases[0].Worker; !strings.HasPrefix(w, cache) || len(j.Run.Cases[0].Linked) == 0 {
		t.Errorf("worker %s, linked %v", w, j.Run.Cases[0].Linked)
	}
	n.leftNothing()
}
