package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// secret is in the database that tests imitate.
const secret = "0c5d7e1a of a customer"

// imitated makes a database that takes a moment to imitate.
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

// exposed returns the files below a directory in which the secret can be read.
func exposed(dir string) (list []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if data, rerr := os.ReadFile(path); err == nil && rerr == nil && bytes.Contains(data, []byte(secret)) {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// TestNoCopyIsLeft checks that nobody can read the user's data after workload from, however
// it ends, and that an interruption is called so.
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

	s := p.start("workload", "from", "app.db")
	working()
	if list := exposed(tmp); len(list) > 0 {
		t.Errorf("meanwhile: %q", list)
	}
	s.signal(os.Interrupt)
	if code := s.wait(); code != exitInterrupted || !strings.HasSuffix(s.said.String(), "\ninterrupted: no workload is written\n") {
		t.Errorf("exit status %d\n%s", code, s.said.String())
	}
	p.nothingLeft()

	s = p.start("workload", "from", "app.db")
	working()
	s.signal(os.Kill)
	s.wait()
	if list := exposed(tmp); len(list) > 0 {
		t.Errorf("after a kill: %q", list)
	}
	if out, err := p.command("workloads").CombinedOutput(); err != nil { // the next command, whatever it is
		t.Errorf("%v\n%s", err, out)
	}
	p.nothingLeft()

	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	cmd := p.command("workload", "from", "app.db")
	cmd.Stdout = write
	err = cmd.Run()
	write.Close()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGPIPE {
		t.Errorf("without a reader: %v, want the signal of a broken pipe", err)
	}
	p.nothingLeft()
}

// TestInterruptedUnread checks that Ctrl-C is the reason why a run ends that nobody reads.
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
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("%v", err)
	}
	p.nothingLeft()
}

// TestEndsThatAreNotUsage checks that no end of the process looks like wrong usage that has
// other reasons.
func TestEndsThatAreNotUsage(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start("run", "--drivers", "./sleeps", "--workloads", "./tiny.yaml")
	p.asleep(s)
	s.signal(syscall.SIGQUIT)
	if code := s.wait(); code == exitUsage || !strings.Contains(s.said.String(), "SIGQUIT") {
		t.Errorf("SIGQUIT: exit status %d\n%s", code, s.said.String())
	}
	// Go's runtime needs about 1 GiB to begin.
	cmd := p.command("runs")
	sh := exec.Command("sh", append([]string{"-c", `ulimit -v 1700000; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)...)
	sh.Dir, sh.Env = cmd.Dir, cmd.Env
	out, err := sh.CombinedOutput()
	if sh.ProcessState.ExitCode() != exitFailed || !strings.HasPrefix(string(out), "sqlite3perf: the address space is limited to 1660 MiB") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestKillsOfEveryCommand ends every command at random moments, by a kill, a signal or a
// reader that goes away. After the next start nothing is left, and no status blames the user
// or a database for it.
func TestKillsOfEveryCommand(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ownTemp()
	p.imitated()
	p.write("db.yaml", "name: db\ndatabase: app.db\nphases: [{name: q, query: SELECT count(*) FROM customers, columns: int}]\n", 0o644)
	for _, dir := range []string{"out", "elsewhere"} {
		if err := os.Mkdir(filepath.Join(p.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	again := func(args ...string) {
		if out, err := p.command(args...).CombinedOutput(); err != nil {
			t.Fatalf("the next start, %v: %v\n%s", args, err, out)
		}
	}
	measured := []string{"--workloads", "./tiny.yaml", "--dir", "databases", "--worker-cache", "cache"}
	with := func(more []string, args ...string) []string { return append(args, more...) }
	again(with(measured, "run", "--drivers", "./good", "--rounds", "6", "--quiet")...)
	again(with(measured, "run", "--drivers", "./good", "--rounds", "6", "--quiet", "--store", "theirs.db")...)
	again("generate", "--driver", "./good", "--db", "generated.db", "--quiet")
	commands := [][]string{
		{"workload", "from", "app.db"},
		{"workload", "from", "app.db", "-o", "out/mine.yaml", "--force"},
		with(measured, "run", "--drivers", "./good,./leaves", "--rounds", "20", "-o", "out/run.csv"),
		{"run", "--drivers", "./good", "--workloads", "./db.yaml", "--rounds", "20", "--dir", "databases"},
		with(measured, "compare", "./good", "./better", "--rounds", "20"),
		with(measured, "gate", "--baseline", "./good", "--drivers", "./better", "--rounds", "20", "--also", "junit=out/gate.xml"),
		with(measured, "profile", "--drivers", "./good", "--phase", "query", "--time", "1s", "-o", "out/profile", "--force"),
		with(measured, "tune", "--drivers", "./good", "--time", "5s"),
		with(measured, "advise", "--drivers", "./good,./better", "--rounds", "6"),
		with(measured, "diff", "./good", "./better"),
		with(measured, "locks", "--drivers", "./good"),
		{"check", "./good", "--dir", "databases"},
		{"doctor", "--no-noise", "--dir", "databases", "-o", "out/doctor.json"},
		{"merge", "theirs.db", "--store", "elsewhere/store.db"},
		{"generate", "--driver", "./good", "--db", "generated.db", "-r", "100000", "--force"},
		{"concurrent", "--driver", "./good", "--db", "generated.db", "-d", "1s"},
		{"serve", "--port", "0"},
		{"report", "1", "-o", "out/run.html"},
		{"show", "1"}, {"runs"}, {"workloads", "./db.yaml"},
	}
	builds := [][]string{
		{"drivers", "--features", "--worker-cache", "cache"},
		{"dsn", "file:app.db?_fk=1", "--drivers", "modernc", "--worker-cache", "cache"},
		with(measured, "bisect", "mattn@v1.14.52..v1.14.53"),
		with(measured, "run", "--drivers", "modernc@latest", "--rounds", "6"),
	}
	if os.Getenv("TEST_TIMES") != "" {
		commands = append(commands, builds...)
	}
	order := rand.Perm(len(commands))
	left := 0
	for k := range 2 * times(t, 2) {
		args := commands[order[k%len(order)]]
		kind := []os.Signal{os.Kill, syscall.SIGTERM, os.Interrupt, syscall.SIGPIPE}[rand.IntN(4)]
		var said bytes.Buffer
		cmd := p.command(args...)
		cmd.Stderr = &said
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = write
		if kind == syscall.SIGPIPE && k%2 == 0 {
			cmd.Stderr = write // 2>&1
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		write.Close()
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		switch kind {
		case syscall.SIGPIPE:
			read.Close()
			// What waits, or measures on, is ended as a user ends it.
			end := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Signal(os.Interrupt) })
			defer end.Stop()
		default:
			_ = cmd.Process.Signal(kind) // it may have ended
		}
		err = cmd.Wait()
		read.Close()
		code := cmd.ProcessState.ExitCode() // -1: a signal
		how := fmt.Sprintf("%v of %v: %v", kind, args, err)
		unread := kind == syscall.SIGPIPE && code == exitFailed && (cmd.Stderr == write || strings.Contains(said.String(), "broken pipe"))
		if code == exitFailed && !unread || code == exitUsage {
			t.Errorf("%s\n%s", how, said.String())
		}
		if entries, _ := os.ReadDir(filepath.Join(p.dir, "tmp")); len(entries) > 0 {
			left++
		}
		if list := exposed(filepath.Join(p.dir, "tmp")); kind != os.Kill && len(list) > 0 {
			t.Errorf("%s: the user's data are in %q", how, list)
		}
		again("check", "./good", "--only", "process", "--dir", "databases", "--quiet")
		again("check", "./good", "--only", "process", "--quiet") // in the usual directory
		again("show", "1", "-o", "out/shown.csv")
		again("merge", "theirs.db", "--store", "elsewhere/store.db", "--quiet")
		if args[0] == "bisect" || args[0] == "drivers" || args[0] == "dsn" || slices.Contains(args, "modernc@latest") {
			again(with(measured, "run", "--drivers", "modernc", "--rounds", "6", "--quiet")...) // with the workers' cache
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
			t.Fatalf("end %d: %s\n%s", k, how, said.String())
		}
	}
	t.Logf("ends that left something temporary for the next start: %d", left)
}
