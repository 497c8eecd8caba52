package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/host"
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

// newNetwork starts the server. The first line of each element of the parameter "hosts" is the name of a
// host. The further lines of the element are added to the host's part of the client's configuration.
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
	// An agent that starts a worker has, for a moment, a child with the agent's own command line.
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return slices.Contains(pids, parentOf(pid)) })
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
