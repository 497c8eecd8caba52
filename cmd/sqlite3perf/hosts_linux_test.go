package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

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
		{"chatty", cli.ExitIncomplete, []string{"--ssh", chatty}, "host chatty: its answer is not understood: Welcome"},
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
		t.Skip("this system doesn't let the test mount a file system, even in a new namespace")
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

// TestSoakQuestionsOnHosts runs the commands "compare", "gate" and "reproduce" on two hosts. Both hosts
// must get the same seed, and there must be one answer for both.
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
		"the baseline is stored":             {"gate", "--baseline", "last"},
		"one host at a time":                 {"gate", "--baseline", "modernc", "--drivers", "ncruces", "--also", "junit=x.xml"},
		"show RUN --format csv":              {"run", "--format", "csv"},
		"report RUN writes the page of each": {"run", "--html", "x.html"},
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
	// Besides PATH, the agent looks for Go in some usual directories. So the test changes the names of
	// these directories in the command that starts the agent. It also sets PATH in that command,
	// because a shell's startup file may have set PATH.
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
