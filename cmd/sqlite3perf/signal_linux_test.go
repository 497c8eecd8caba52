package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestInterruptedComputing sends an interrupt while the expected results of a workload are computed.
// The command must end by the signal, without output.
func TestInterruptedComputing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("large.yaml", `
name: large
schema: CREATE TABLE t(id INTEGER PRIMARY KEY)
rows: {t: {count: 1_000_000_000_000, columns: {id: serial}}}
phases: [{name: q, query: SELECT id FROM t, columns: int, expect: {returns: t}}]
`, 0o644)
	s := p.start("run", "--drivers", "./good", "--workloads", "./large.yaml")
	s.until("computing what large must return: 0 of 1000000000000 rows")
	s.signal(os.Interrupt)
	if status := s.wait(); status != -1 || s.stdout.Len() > 0 {
		t.Errorf("status %d, output %q", status, s.stdout.String())
	}
}

// TestInterruptedBeforeItBegins interrupts the command before it has created anything. The command
// must end by the signal.
func TestInterruptedBeforeItBegins(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := p.command("run", "--drivers", "./good", "--workloads", "/dev/fd/3")
	cmd.ExtraFiles = []*os.File{r}
	s := p.started(cmd)
	r.Close()
	// The text is longer than the buffer of a pipe, so writing it returns only when the command
	// reads it.
	if _, err := w.WriteString(strings.Repeat("#", 1<<17)); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s.signal(os.Interrupt)
	if code := s.wait(); code != -1 {
		t.Errorf("exit status %d, want an end by the signal\n%s", code, s.said.String())
	}
}

func TestInterruptedOnce(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			s := p.start("run", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--rounds", "100000")
			p.untilRound(s, 4)
			s.signal(sig)
			if code := s.wait(); code != 130 {
				t.Errorf("exit status %d", code)
			}
			if !strings.Contains(s.said.String(), "Ctrl-C again stops at once") {
				t.Errorf("it said:\n%s", s.said.String())
			}
			if out := s.stdout.String(); !strings.Contains(out, "./better") || !strings.Contains(out, "insert") {
				t.Errorf("no table of the measured phases:\n%s", out)
			}
			r := p.last().Run
			if r.Stopped != result.StoppedInterrupted || r.Rounds < 3 || len(r.Trials) < 6 || len(r.Trials) > 2*r.Rounds+1 || r.Ended.IsZero() {
				t.Errorf("stopped %q after %d rounds and %d trials at %v", r.Stopped, r.Rounds, len(r.Trials), r.Ended)
			}
			for _, tr := range r.Trials {
				if tr.Status != result.OK {
					t.Errorf("trial %d: %+v", tr.Order, tr.Reason)
				}
			}
			p.alone()
			if _, err := os.Stat(filepath.Join(p.dir, ".home/cache/sqlite3perf/databases")); !os.IsNotExist(err) {
				t.Errorf("the directory for databases: %v", err)
			}
		})
	}
}

// TestInterruptedGate checks that an interrupted gate has not passed, and that all requested
// outputs say so.
func TestInterruptedGate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start("gate", "--baseline", "./good", "--drivers", "./better", "--workloads", "./tiny.yaml", "--rounds", "100000", "--also", "junit=gate.xml")
	p.untilRound(s, 4)
	s.signal(os.Interrupt)
	if code := s.wait(); code != 130 {
		t.Errorf("exit status %d", code)
	}
	if out := strings.Join(strings.Fields(s.stdout.String()), " "); !strings.HasPrefix(out, "Not passed: ./better against ./good: ") || !strings.Contains(out, "interrupted before it was decided") {
		t.Errorf("it printed:\n%s", out)
	}
	file, err := os.ReadFile(filepath.Join(p.dir, "gate.xml"))
	if err != nil || !strings.Contains(string(file), `name="measured to the end"`) {
		t.Errorf("%v:\n%s", err, file)
	}
	p.alone()
}

// TestInterruptedDoctor checks that the command "doctor", if interrupted, prints the facts that it has
// already found.
func TestInterruptedDoctor(t *testing.T) {
	t.Parallel()
	cache, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	s := p.start("doctor", "--worker-cache", cache)
	s.until("round 1 of at least 6:")
	s.signal(os.Interrupt)
	if code := s.wait(); code != 130 {
		t.Errorf("exit status %d", code)
	}
	if out := s.stdout.String(); !strings.Contains(out, "\nFacts\n") {
		t.Errorf("it printed:\n%s", out)
	}
	p.alone()
}

// TestSoakInterruptedProfile checks that the command "profile", if interrupted, prints and writes the
// samples taken so far.
func TestSoakInterruptedProfile(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	args := []string{"profile", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--phase", "query", "--time", "1h", "-o", "out"}
	s := p.start(args...)
	s.until("./good: ")
	s.signal(os.Interrupt)
	if code := s.wait(); code != 130 || !strings.Contains(s.said.String(), "stopping when the current trials have ended; Ctrl-C again stops at once\n") {
		t.Errorf("exit status %d\n%s", code, s.said.String())
	}
	if out := s.stdout.String(); !regexp.MustCompile(`(?m)^\./good +\d+ samples? in \d+ trials?, by `).MatchString(out) {
		t.Errorf("it printed:\n%s", out)
	}
	p.alone()

	args[2] = "./good,./sleeps"
	s = p.start(args...)
	p.asleep(s)
	s.signal(os.Interrupt)
	s.until("Ctrl-C again stops at once")
	s.signal(os.Interrupt)
	if code := s.wait(); code != 130 {
		t.Errorf("exit status %d\n%s", code, s.said.String())
	}
	if out := s.stdout.String(); !strings.Contains(out, " in 1 trial, by ") || !strings.Contains(out, "./sleeps      not measured: it was interrupted before the first trial had ended") {
		t.Errorf("it printed:\n%s", out)
	}
	if out, err := p.command("runs").CombinedOutput(); err != nil || !strings.Contains(string(out), "profile of query, interrupted") {
		t.Errorf("%v: the profile is not stored:\n%s", err, out)
	}
	for name, want := range map[string]bool{"good.allocs.pprof": true, "sleeps.allocs.pprof": false} {
		if _, err := os.Stat(filepath.Join(p.dir, "out", name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.alone()
}

func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start("run", "--drivers", "./good,./sleeps", "--workloads", "./tiny.yaml", "--rounds", "6", "--seed", "1", "--dir", "databases")
	p.asleep(s)
	s.signal(os.Interrupt)
	s.until("Ctrl-C again stops at once")
	s.signal(os.Interrupt)
	if code := s.wait(); code != 130 {
		t.Errorf("exit status %d", code)
	}
	p.alone()
	if list, err := os.ReadDir(filepath.Join(p.dir, "databases")); err != nil || len(list) > 0 {
		t.Errorf("in the directory for databases: %v, %v", list, err)
	}
	r := p.last().Run
	if r.Stopped != result.StoppedInterrupted || r.Rounds != 0 || len(r.Trials) > 1 {
		t.Errorf("stopped %q after %d rounds and %d trials", r.Stopped, r.Rounds, len(r.Trials))
	}
}

// TestKilled kills the command, so that it cannot clean up. The finished trials must be in the
// store, and the worker must notice by itself that the command has gone.
func TestKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start("run", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--rounds", "100000")
	p.untilRound(s, 5)
	s.signal(os.Kill)
	if code := s.wait(); code != -1 {
		t.Errorf("exit status %d", code)
	}
	p.ended(false) // databases are not checked, because a kill just before the removal of a database leaves it for the next run to remove
	if out, err := p.command("show", "last").CombinedOutput(); err == nil || !strings.Contains(string(out), "no run has ended. The newest, 1, ") {
		t.Errorf("show last: %v\n%s", err, out)
	}
	j := p.shown("1")
	if n := len(j.Run.Trials); n < 8 || j.Run.Stopped != "" {
		t.Errorf("%d trials, stopped %q", n, j.Run.Stopped)
	}
	for _, c := range j.Cells {
		if c.Status != result.OK || c.N < 4 {
			t.Errorf("%s on %s: %s, %d samples", c.Phase, c.Driver, c.Status, c.N)
		}
	}
	out, err := p.command("runs").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "unfinished") {
		t.Errorf("runs: %v\n%s", err, out)
	}
	// The next run must work as if nothing had happened, and leave nothing.
	if out, err := p.command("run", "--drivers", "./good", "--workloads", "./tiny.yaml", "--rounds", "6", "--quiet").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	p.alone()
}

func TestKilledWithAWorkerAsleep(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start("run", "--drivers", "./sleeps", "--workloads", "./tiny.yaml", "--rounds", "6")
	p.asleep(s)
	s.signal(os.Kill)
	s.wait()
	p.alone()
}

// stopped returns how many workers are stopped (SIGSTOP).
func (p *place) stopped() int {
	n := 0
	for _, pid := range p.workerPIDs() {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") T ") {
			n++
		}
	}
	return n
}

// TestKilledWhileWorkersAreStopped kills the command while one worker measures and other workers are
// stopped (SIGSTOP) until it is their turn. The stopped workers must go on, remove their databases and
// end.
func TestKilledWhileWorkersAreStopped(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.start("run", "--drivers", "./good,./sleeps", "--workloads", "./tiny.yaml", "--rounds", "6", "--quiet", "--seed", "1") // with this seed, good comes first
	p.asleep(s)
	// The database of the worker "sleeps" appears a moment before the worker "good" is stopped.
	for end := time.Now().Add(patience); p.stopped() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no worker is stopped")
		}
	}
	s.signal(os.Kill)
	s.wait()
	p.alone()
}

// TestWorkerThatNobodyReads runs a worker whose output nobody reads, as after the command was killed.
// Writing to the closed pipe sends a signal to the worker. This signal must not end the worker, because
// then its database would be left behind.
func TestWorkerThatNobodyReads(t *testing.T) {
	t.Parallel()
	w, err := workload.Load("testdata/tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pl, err := w.Plan(workload.Quick, nil)
	if err != nil {
		t.Fatal(err)
	}
	python, err := filepath.Abs("../../drivers/python/worker.py")
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string][]string{"Go": {"./good"}, "Python": {"python3", python}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			read.Close()
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Dir, cmd.Env, cmd.Stdout = p.dir, p.env, write
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			write.Close()
			err = json.NewEncoder(in).Encode(protocol.Request{
				Type: protocol.TypeTrial, Protocol: protocol.Version, Path: filepath.Join(p.dir, "test.db"), Settings: w.Settings, Plan: pl,
			})
			if err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("it ended with %v, want exit status 1", err)
			}
			p.alone()
		})
	}
}

// TestReaderGoesAway runs the command while nobody reads its output, because the reader has gone away, as
// the program head does after some lines. The run must not end early. All its results must be stored, the
// error must say how to print them, and nothing may be left behind.
func TestReaderGoesAway(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ownTemp()
	for i, both := range []bool{false, true} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		read.Close()
		cmd := p.command("run", "--drivers", "./good", "--workloads", "./tiny.yaml", "--rounds", "6", "--dir", "databases")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = write, &said
		if both {
			cmd.Stderr = write
		}
		err = cmd.Run()
		write.Close()
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitFailed {
			t.Errorf("%v: exit status %d", err, code)
		}
		if want := fmt.Sprintf("broken pipe: sqlite3perf show %d prints it again\n", i+1); !both && !strings.HasSuffix(said.String(), want) {
			t.Errorf("it said:\n%s", said.String())
		}
		if r := p.last().Run; r.ID != int64(i+1) || len(r.Trials) != 6 || r.Stopped != result.StoppedRounds {
			t.Errorf("run %d: %d trials, stopped %q", r.ID, len(r.Trials), r.Stopped)
		}
		p.nothingLeft()
	}
}

// TestInterruptedBuild checks that Ctrl-C ends the building of workers at once, and that nothing is
// left of a build.
func TestInterruptedBuild(t *testing.T) {
	t.Parallel()
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "--drivers", "modernc", "--workloads", "./tiny.yaml", "--rounds", "6"},
		{"profile", "--drivers", "modernc", "--workloads", "./tiny.yaml", "--phase", "query"},
		{"check", "modernc"}, {"drivers", "--features"}, {"generate", "--driver", "modernc", "--db", "a.db"},
	} {
		p := newPlace(t)
		if err := os.Mkdir(filepath.Join(p.dir, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		p.write("bin/go", "#!/bin/sh\ncase $1 in build) touch "+p.dir+"/under-way; sleep 3600;; *) exec "+gocmd+" \"$@\";; esac\n", 0o755)
		p.env = append(p.env, "PATH="+filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"))
		s := p.start(append(args, "--worker-cache", "workers")...)
		s.until("building ")
		eventually(t, "the build is under way", func() bool {
			_, err := os.Stat(filepath.Join(p.dir, "under-way"))
			return err == nil
		})
		s.signal(os.Interrupt)
		if code := s.wait(); code != cli.ExitInterrupted || !strings.Contains(s.said.String(), "\nstopping; Ctrl-C again stops at once\n") {
			t.Errorf("%v: exit status %d\n%s", args, code, s.said.String())
		}
		p.alone()
		left, err := os.ReadDir(filepath.Join(p.dir, "workers"))
		if err != nil || len(left) > 0 {
			t.Errorf("%v: in the workers' cache: %v, %v", args, left, err)
		}
		for _, dir := range []string{".home/cache/sqlite3perf/databases", "a.db"} {
			if _, err := os.Stat(filepath.Join(p.dir, dir)); !os.IsNotExist(err) {
				t.Errorf("%v: %s is there, %v", args, dir, err)
			}
		}
		if out, err := p.command("show", "last").CombinedOutput(); err == nil {
			t.Errorf("%v: there is a run:\n%s", args, out)
		}
	}
}

// TestInterruptedSays checks that the function "release", which Interruptible returns, waits until the
// message about Ctrl-C has been printed, even if the command ends at once.
func TestInterruptedSays(t *testing.T) {
	t.Parallel()
	interrupts := make(chan os.Signal, 1)
	env := &cli.Environment{Interrupted: new(atomic.Bool), Catch: func() <-chan os.Signal { return interrupts }}
	ended, said := make(chan struct{}), false
	_, stop, release := env.Interruptible(t.Context(), func(string, ...any) {
		<-ended
		said = true
	}, cli.Stopping)
	interrupts <- os.Interrupt
	<-stop
	close(ended)
	release()
	if !said {
		t.Error("the message was not printed")
	}
}
