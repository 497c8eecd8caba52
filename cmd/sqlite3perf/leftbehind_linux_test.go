package main

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// secret is a text in the user's database. No file that a command leaves behind may contain it.
const secret = "0c5d7e1a of a customer"

// imitated creates app.db, the database to imitate. It is so large that a test can interrupt the
// command "workload from" while the command imitates the database.
func (p *place) imitated() {
	p.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(p.dir, "app.db"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec(`CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, born INTEGER);
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) INSERT INTO customers SELECT i, ? || i, i * 7919 % 80 FROM n`, secret)
	if err != nil {
		p.t.Fatal(err)
	}
}

// exposed returns the files below a directory that contain the secret in readable form.
func exposed(dir string) (list []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if data, rerr := os.ReadFile(path); err == nil && rerr == nil && bytes.Contains(data, []byte(secret)) {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// TestNoCopyIsLeft ends the command "workload from" in various ways. After that, nobody must be
// able to read the user's data. An interruption must be reported as an interruption.
func TestNoCopyIsLeft(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ownTemp()
	p.imitated()
	tmp := filepath.Join(p.dir, "tmp")
	working := func() {
		eventually(t, "the copy is open, and the imitation is made", func() bool {
			made, _ := filepath.Glob(filepath.Join(tmp, "*", "imitation-*"))
			return len(made) > 0
		})
	}

	for tries := 1; ; tries++ {
		s := p.start("workload", "from", "app.db")
		working()
		if list := exposed(tmp); len(list) > 0 {
			t.Errorf("meanwhile: %q", list)
		}
		s.signal(os.Interrupt)
		code := s.wait()
		p.nothingLeft()
		if code == cli.ExitOK && tries < 20 { // the command was faster than the signal
			continue
		}
		if code != cli.ExitInterrupted || !strings.HasSuffix(s.said.String(), "\ninterrupted: no workload is written\n") {
			t.Errorf("exit status %d\n%s", code, s.said.String())
		}
		break
	}

	s := p.start("workload", "from", "app.db")
	working()
	s.signal(os.Kill)
	s.wait()
	if list := exposed(tmp); len(list) > 0 {
		t.Errorf("after a kill: %q", list)
	}
	if out, err := p.command("workloads").CombinedOutput(); err != nil { // any command removes the files that the previous one left
		t.Errorf("%v\n%s", err, out)
	}
	p.nothingLeft()

	p.unread("workload", "from", "app.db")
	p.nothingLeft()
}

// unread runs a command whose output nobody reads. The command must end by SIGPIPE.
func (p *place) unread(args ...string) {
	p.t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	read.Close()
	cmd := p.command(args...)
	cmd.Stdout = write
	err = cmd.Run()
	write.Close()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGPIPE {
		p.t.Errorf("%q without a reader: %v, want the signal of a broken pipe", args, err)
	}
}

// TestUnreadLeaveNothing checks that commands that end because nobody reads their output remove
// the files that they created.
func TestUnreadLeaveNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ownTemp()
	p.unread("check", "./good", "--dir", "databases")
	p.unread("doctor", "--no-noise", "--dir", "databases")
	p.nothingLeft()
}

// TestLookUpLeavesNothing ends a command while the go command looks up releases for it. Neither command
// may leave a process or a file.
func TestLookUpLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ownTemp()
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	// This script imitates the go command: it creates a temporary directory as the real go command
	// does, and then waits, as for a server.
	if err := os.Mkdir(filepath.Join(p.dir, "path"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("path/go", "#!/bin/sh\n[ \"$1\" = list ] || exec "+real+" \"$@\"\nmkdir \"${GOTMPDIR:-$TMPDIR}/go-build7\"\nsleep 3600\n", 0o755)
	p.env = append(p.env, "PATH="+filepath.Join(p.dir, "path")+":"+os.Getenv("PATH"))
	tmp := filepath.Join(p.dir, "tmp")
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, os.Kill} {
		s := p.start("bisect", "mattn@v1.14.52..v1.14.53", "--workloads", "./tiny.yaml", "--dir", "databases")
		eventually(t, "the look-up", func() bool {
			made, _ := filepath.Glob(filepath.Join(tmp, "*", "go-build7"))
			here, _ := filepath.Glob(filepath.Join(tmp, "go-build7"))
			return len(made)+len(here) > 0
		})
		s.signal(sig)
		if code := s.wait(); sig != os.Kill && code != cli.ExitInterrupted && code != -1 {
			t.Errorf("%v: exit status %d\n%s", sig, code, s.said.String())
		}
		if sig == os.Kill {
			if out, err := p.command("workloads").CombinedOutput(); err != nil { // any command removes the files that the previous one left
				t.Errorf("%v\n%s", err, out)
			}
		}
		p.nothingLeft()
	}
}

// TestUnwritableOutput checks that every command that writes a file reports a usage error if the file
// cannot be written.
func TestUnwritableOutput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.imitated()
	if out, err := p.command("run", "--drivers", "./good", "--workloads", "./tiny.yaml", "--rounds", "6", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	flags := map[string]string{"output": "/proc/x.json", "also": "junit=/proc/x.xml", "html": "/proc/x.html", "keep": "/proc/x.db"}
	special := map[string]string{"report --output": "/proc/x.html", "workload from --output": "/proc/x.yaml"}
	commands, builds := everyCommand([]string{"--workloads", "./tiny.yaml"})
	commands = append(commands, builds...)
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			check(sub)
		}
		name := strings.TrimPrefix(c.CommandPath(), "sqlite3perf ")
		for flag, value := range flags {
			f := c.Flags().Lookup(flag)
			if f == nil || c.Hidden {
				continue
			}
			i := slices.IndexFunc(commands, func(args []string) bool { return strings.HasPrefix(strings.Join(args, " ")+" ", name+" ") })
			if i < 0 {
				t.Errorf("%s has --%s, but this test has no call of it", name, flag)
				continue
			}
			var args []string
			for k := 0; k < len(commands[i]); k++ {
				if a := commands[i][k]; a == "-o" || a == "--"+flag {
					k++
				} else {
					args = append(args, a)
				}
			}
			args = append(args, "--"+flag, cmp.Or(special[name+" --"+flag], value))
			cmd := p.command(args...)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != cli.ExitUsage || !strings.Contains(string(out), "/proc/x") || !strings.Contains(string(out), "cannot write there") {
				t.Errorf("%q: %v\n%s", args, err, out)
			}
		}
	}
	check(rootCommand(&cli.Environment{}))
}

// TestInterruptedUnread interrupts a run whose output nobody reads. The exit status must be that of an
// interruption.
func TestInterruptedUnread(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ownTemp()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := p.command("run", "--drivers", "./good", "--workloads", "./tiny.yaml", "--rounds", "100000", "--dir", "databases")
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	read.Close()
	eventually(t, "trials are stored", func() bool {
		_, err := os.Stat(filepath.Join(p.dir, ".home/data/sqlite3perf/results.db"))
		return err == nil && p.stored() > 1
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != cli.ExitInterrupted {
		t.Errorf("%v", err)
	}
	p.nothingLeft()
}

// TestEndsThatAreNotUsage ends processes for reasons other than wrong usage. None of them may exit
// with the status for wrong usage.
func TestEndsThatAreNotUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ownTemp()
	s := p.start("run", "--drivers", "./sleeps", "--workloads", "./tiny.yaml", "--dir", "databases")
	p.asleep(s)
	s.signal(syscall.SIGQUIT)
	if code := s.wait(); code == cli.ExitUsage || !strings.Contains(s.said.String(), "SIGQUIT") {
		t.Errorf("SIGQUIT: exit status %d\n%s", code, s.said.String())
	}
	if out, err := p.command("doctor", "--no-noise", "--dir", "databases").CombinedOutput(); err != nil {
		t.Errorf("the next start: %v\n%s", err, out)
	}
	p.nothingLeft()
	// Go's runtime needs about 1 GiB of address space to start. The limit here is above that, so the
	// command starts, but below the 2 GiB that the command requires.
	cmd := p.command("runs")
	sh := exec.Command("sh", append([]string{"-c", `ulimit -v 1700000; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)...)
	sh.Dir, sh.Env = cmd.Dir, cmd.Env
	out, err := sh.CombinedOutput()
	if sh.ProcessState.ExitCode() != cli.ExitFailed || !strings.HasPrefix(string(out), "sqlite3perf: the address space is limited to 1660 MiB") {
		t.Errorf("%v\n%s", err, out)
	}
}

// ended is a command that [TestKillsOfEveryCommand] ends at a random moment.
type ended struct {
	args []string
	most time.Duration // longest time after which the test ends the command; shorter than the command takes
}

// everyCommand returns a call of each command. The calls in the list "builds" build workers first; the
// other calls are in the list "commands". The parameter "measured" has flags for the commands that
// measure a workload.
func everyCommand(measured []string) (commands, builds [][]string) {
	with := func(args ...string) []string { return append(args, measured...) }
	commands = [][]string{
		{"workload", "from", "app.db"},
		{"workload", "from", "app.db", "-o", "out/mine.yaml", "--keep", "out/imitation.db", "--force"},
		with("run", "--drivers", "./good,./leaves", "--rounds", "20", "-o", "out/run.csv"),
		with("run", "--resume", "2", "--drivers", "./good"),
		{"run", "--drivers", "./good", "--workloads", "./db.yaml", "--rounds", "20", "--dir", "databases"},
		with("compare", "./good", "./better", "--rounds", "20"),
		with("gate", "--baseline", "./good", "--drivers", "./better", "--rounds", "20", "--also", "junit=out/gate.xml"),
		with("profile", "--drivers", "./good", "--phase", "query", "--time", "1s", "-o", "out/profile", "--force"),
		with("tune", "--drivers", "./good", "--time", "60s"),
		with("advise", "--drivers", "./good,./better", "--rounds", "6"),
		with("diff", "./good", "./better"),
		with("locks", "--drivers", "./good"),
		{"reproduce", "cgo-or-not", "--drivers", "./good", "--rounds", "6", "--dir", "databases", "--worker-cache", "cache"},
		{"check", "./good", "--dir", "databases"},
		{"doctor", "--no-noise", "--dir", "databases", "-o", "out/doctor.json"},
		{"merge", "theirs.db", "--store", "elsewhere/store.db"},
		{"generate", "--driver", "./good", "--db", "generated.db", "-r", "100000", "--force"},
		{"bench", "--driver", "./good", "--db", "kept.db"},
		{"pragma", "journal_mode", "--driver", "./good", "--db", "kept.db"},
		{"paginate", "--driver", "./good", "--db", "kept.db"},
		{"concurrent", "--driver", "./good", "--db", "kept.db", "-d", "1s"},
		{"serve", "--port", "0"},
		{"report", "1", "-o", "out/run.html"}, {"site", "out/site"},
		{"show", "1"}, {"runs"}, {"workloads", "./db.yaml"}, {"drivers", "--defects"},
	}
	builds = [][]string{
		{"drivers", "--features", "--worker-cache", "cache"},
		{"dsn", "file:app.db?_fk=1", "--drivers", "modernc", "--worker-cache", "cache"},
		with("bisect", "mattn@v1.14.52..v1.14.53"),
		with("run", "--drivers", "modernc@latest", "--rounds", "6"),
		{"crash", "--drivers", "modernc", "--judges", "modernc", "--set", "journal_mode=wal", "--faults", "ordered,errors", "--dir", "databases", "--worker-cache", "cache"},
		{"cluster", "--local", "none", "--nodes", "1,3", "--clients", "1", "--batch", "1", "--duration", "1s", "--dir", "databases"},
	}
	return commands, builds
}

// TestEveryCommandIsKilled checks that everyCommand and docs/interruption.md leave out no command. The
// test is cheap. So its name doesn't begin with TestKills, because "make test" skips tests with such names.
func TestEveryCommandIsKilled(t *testing.T) {
	t.Parallel()
	commands, builds := everyCommand(nil)
	doc, err := os.ReadFile("../../docs/interruption.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range rootCommand(&cli.Environment{}).Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if !slices.ContainsFunc(append(commands, builds...), func(args []string) bool { return args[0] == c.Name() }) {
			t.Errorf("everyCommand has no call of %s", c.Name())
		}
		if name := regexp.MustCompile("`" + c.Name() + "[` ]"); !name.Match(doc) {
			t.Errorf("docs/interruption.md does not say how %s ends", c.Name())
		}
	}
}

// TestKillsOfEveryCommand ends every command at random moments. Half of the time it kills the
// command. Otherwise it sends a signal, or the reader of the output goes away. After the next
// start nothing may be left. No exit status may mean wrong usage or a failure.
func TestKillsOfEveryCommand(t *testing.T) {
	t.Parallel()
	var p *place
	all := os.Getenv("TEST_TIMES") != ""
	if all {
		p = clusterPlace(t)
	} else {
		p = newPlace(t)
		p.ownTemp()
	}
	p.imitated()
	p.write("db.yaml", "name: db\ndatabase: app.db\nphases: [{name: q, query: SELECT count(*) FROM customers, columns: int}]\n", 0o644)
	for _, dir := range []string{"out", "elsewhere"} {
		if err := os.Mkdir(filepath.Join(p.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	again := func(args ...string) {
		t.Helper()
		if out, err := p.command(args...).CombinedOutput(); err != nil {
			t.Fatalf("the next start, %v: %v\n%s", args, err, out)
		}
	}
	measured := []string{"--workloads", "./tiny.yaml", "--dir", "databases", "--worker-cache", "cache"}
	with := func(args ...string) []string { return append(args, measured...) }
	again(with("run", "--drivers", "./good", "--rounds", "6", "--quiet")...)
	again(with("run", "--drivers", "./good", "--rounds", "6", "--quiet", "--store", "theirs.db")...)
	for _, db := range []string{"generated.db", "kept.db"} {
		again("generate", "--driver", "./good", "--db", db, "--quiet")
	}
	s := p.start(with("run", "--drivers", "./good", "--rounds", "100000")...) // starts run 2, which one of the commands resumes
	s.until("round 1 of")
	s.signal(os.Kill)
	s.wait()
	commands, builds := everyCommand(measured)
	var list []*ended
	for _, args := range commands {
		list = append(list, &ended{args, 1500 * time.Millisecond})
	}
	if all {
		for _, args := range builds {
			list = append(list, &ended{args, 10 * time.Second})
		}
	}
	kinds := map[os.Signal]int{}
	left, late := 0, 0
	var order []int
	for n := 2 * times(t, 1); kinds[os.Kill] < n || kinds[syscall.SIGTERM]+kinds[os.Interrupt]+kinds[syscall.SIGPIPE] < n; {
		if len(order) == 0 {
			order = rand.Perm(len(list))
		}
		c := list[order[0]]
		order = order[1:]
		kind := []os.Signal{os.Kill, os.Kill, os.Kill, syscall.SIGTERM, os.Interrupt, syscall.SIGPIPE}[rand.IntN(6)]
		_ = os.Remove(filepath.Join(p.dir, "out", "imitation.db")) // the command "workload from" does not replace an existing file
		var said bytes.Buffer
		cmd := p.command(c.args...)
		cmd.Stderr = &said
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = write
		if kind == syscall.SIGPIPE && rand.IntN(2) == 0 {
			cmd.Stderr = write // standard error goes to the same pipe, like 2>&1 in a shell
		}
		begin := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		write.Close()
		over := make(chan error, 1)
		go func() { over <- cmd.Wait() }()
		ends := false
		select {
		case err = <-over: // the command ended before the signal
			ends = true
			c.most = max(min(c.most, time.Since(begin)), 10*time.Millisecond)
			late++
		case <-time.After(rand.N(c.most)):
			kinds[kind]++
		}
		if !ends && kind == syscall.SIGPIPE {
			read.Close()
			select {
			case err = <-over:
				ends = true
			case <-time.After(10 * time.Second): // the command is still measuring or waiting; end it as a user would
				_ = cmd.Process.Signal(os.Interrupt)
			}
		} else if !ends {
			_ = cmd.Process.Signal(kind) // the command may have ended already
		}
		if !ends {
			err = <-over
		}
		read.Close()
		code := cmd.ProcessState.ExitCode() // -1 if a signal ended the command
		how := fmt.Sprintf("%v of %v: %v", kind, c.args, err)
		unread := kind == syscall.SIGPIPE && code == cli.ExitFailed && (cmd.Stderr == write || strings.Contains(said.String(), "broken pipe"))
		if code == cli.ExitFailed && !unread || code == cli.ExitUsage {
			t.Errorf("%s\n%s", how, said.String())
		}
		if entries, _ := os.ReadDir(filepath.Join(p.dir, "tmp")); len(entries) > 0 {
			left++
		} else if entries, _ := os.ReadDir(filepath.Join(p.dir, "databases")); len(entries) > 0 {
			left++
		}
		if list := exposed(filepath.Join(p.dir, "tmp")); kind != os.Kill && len(list) > 0 {
			t.Errorf("%s: the user's data are in %q", how, list)
		}
		again("doctor", "--no-noise", "--dir", "databases")
		again("doctor", "--no-noise") // this command removes what is left in the default directory
		again("show", "1", "-o", "out/shown.csv")
		again("merge", "theirs.db", "--store", "elsewhere/store.db", "--quiet")
		if slices.ContainsFunc(builds, func(args []string) bool { return slices.Equal(args, c.args) }) {
			again(with("run", "--drivers", "modernc", "--rounds", "6", "--quiet")...) // this command removes what is left in the cache of workers
		}
		p.nothingLeft()
		for _, dir := range []string{".", "out", "elsewhere", ".home/cache/sqlite3perf/databases"} {
			list, _ := filepath.Glob(filepath.Join(p.dir, dir, "*sqlite3perf-*"))
			hidden, _ := filepath.Glob(filepath.Join(p.dir, dir, ".sqlite3perf-*"))
			building, _ := filepath.Glob(filepath.Join(p.dir, "cache", "building-*"))
			hidden = append(hidden, building...)
			for _, path := range append(list, hidden...) {
				t.Errorf("left behind: %s", path)
			}
		}
		if t.Failed() {
			t.Fatalf("%v: %s\n%s", kinds, how, said.String())
		}
	}
	t.Logf("ends: %v; they left something for the next start: %d; commands that had ended: %d", kinds, left, late)
}
