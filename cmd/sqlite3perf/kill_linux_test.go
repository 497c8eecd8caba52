package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func init() {
	workers["holds"] = func() { worker.Main(&holding{honest()}) }
	workers["leaves"] = func() { worker.Main(&leaving{honest()}) }
	workers["lingers"] = func() { worker.Main(&lingering{honest()}) }
}

// holding is a driver whose trials wait until the test allows them to continue by a call of
// [place.let].
type holding struct{ driver.Driver }

// held adds the calling process to a count, and waits until the test has allowed that many processes to
// continue. The file "begun" has one byte for each counted process.
var held = sync.OnceValue(func() error {
	dir := filepath.Dir(os.Getenv("HOME")) // HOME is a directory within the test's own directory
	begun, err := os.OpenFile(filepath.Join(dir, "begun"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = begun.WriteString(".")
	processes, serr := begun.Stat()
	if err := errors.Join(err, serr, begun.Close()); err != nil {
		return err
	}
	for ; ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(dir, "let"))
		if err != nil {
			return err
		}
		if n, err := strconv.ParseInt(string(text), 10, 64); err != nil || n >= processes.Size() {
			return err
		}
	}
})

func (d *holding) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	if err := held(); err != nil {
		return nil, err
	}
	return d.Driver.Open(ctx, path, s)
}

// leaving is a driver that starts a process in another process group (setsid) and does not end it.
type leaving struct{ driver.Driver }

func (d *leaving) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	cmd := exec.Command("sh", "-c", "sleep 3600; : "+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return d.Driver.Open(ctx, path, s)
}

// lingering is a driver whose databases never finish closing, like a database with very
// many connections.
type lingering struct{ driver.Driver }

func (d *lingering) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	db, err := d.Driver.Open(ctx, path, s)
	return lingeringDB{db}, err
}

type lingeringDB struct{ driver.DB }

func (lingeringDB) Close() error {
	time.Sleep(time.Hour)
	return nil
}

// times returns the number of repetitions of a test. It is the value of the environment variable
// TEST_TIMES if that is set, as in "make kills". Otherwise it is the parameter "few".
func times(t *testing.T, few int) int {
	t.Helper()
	v := os.Getenv("TEST_TIMES")
	if v == "" {
		return few
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("TEST_TIMES=%s: %v", v, err)
	}
	return n
}

// ownTemp gives p's commands their own directory for temporary files.
func (p *place) ownTemp() {
	p.t.Helper()
	if err := os.Mkdir(filepath.Join(p.dir, "tmp"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.env = append(p.env, "TMPDIR="+filepath.Join(p.dir, "tmp"))
}

// nothingLeft checks that after a run no process, database or temporary file is left. The cache of workers
// may keep its lock file, and workers of the driver modernc.
func (p *place) nothingLeft() {
	p.t.Helper()
	p.alone()
	for _, dir := range []string{"tmp", "databases", "workers"} {
		_ = filepath.WalkDir(filepath.Join(p.dir, dir), func(path string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(p.dir, path)
			if err != nil || rel == dir || strings.HasPrefix(rel, "workers/modernc-") || rel == "workers/use.lock" {
				return nil //nolint:nilerr // it does not exist, as it should be
			}
			p.t.Errorf("left behind: %s", rel)
			return nil
		})
	}
}

// stored returns the number of trials with samples in the store. It counts the trials of all runs.
func (p *place) stored() (n int) {
	p.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.dir, ".home/data/sqlite3perf/results.db")+"?mode=ro&_pragma=busy_timeout(30000)")
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(`SELECT count(*) FROM trials WHERE EXISTS
		(SELECT 1 FROM samples WHERE samples.run_id = trials.run_id AND samples.trial_id = trials.trial_id)`).Scan(&n); err != nil {
		return 0 // the store does not exist yet
	}
	return n
}

// workerPIDs returns the process IDs of the running workers whose executables are in p.dir.
func (p *place) workerPIDs() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil || !bytes.HasPrefix(line, []byte(p.dir+"/")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestKillsLeaveNothing kills the command, its worker or both at random moments. No measured trial
// may be lost, and nothing may be left after the next run.
func TestKillsLeaveNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ownTemp()
	again := []string{"run", "--drivers", "./good", "--workloads", "./tiny.yaml", "--rounds", "6", "--quiet", "--dir", "databases", "--worker-cache", "workers"}
	left := map[string]int{}   // number of kills that left something for the next run to remove
	killed := map[string]int{} // number of workers that were killed, or that were running when the command was killed
	for k := range times(t, 6) {
		kind := []string{"lab", "worker", "both"}[k%3]
		s := p.start("run", "--drivers", "./good,./leaves", "--workloads", "./tiny.yaml", "--rounds", "8", "--dir", "databases", "--worker-cache", "workers")
		s.until("round 1 of")
		time.Sleep(time.Duration(rand.IntN(200_000)) * time.Microsecond)
		before := p.stored()
		pids := p.workerPIDs()
		for tries := 0; kind == "worker" && len(pids) == 0 && tries < 1000; tries++ {
			pids = p.workerPIDs() // usually one worker is running
		}
		if kind == "both" {
			_ = syscall.Kill(s.cmd.Process.Pid, syscall.SIGSTOP) // stops the command, so that it starts no other worker
			pids = p.workerPIDs()
		}
		if kind != "worker" {
			s.signal(os.Kill)
		}
		killed[kind] += len(pids)
		if kind != "lab" {
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL) // the worker may have ended already
			}
		}
		code := s.wait()
		if kind == "worker" && code != cli.ExitOK && code != cli.ExitIncomplete || kind != "worker" && code != -1 {
			t.Errorf("kill %d of %s: exit status %d\n%s", k, kind, code, s.said.String())
		}
		if entries, _ := os.ReadDir(filepath.Join(p.dir, "databases")); len(entries) > 0 {
			left[kind]++
		}
		if now := p.stored(); now < before {
			t.Errorf("kill %d of %s: %d trials of %d are in the store", k, kind, now, before)
		}
		if out, err := p.command(again...).CombinedOutput(); err != nil {
			t.Fatalf("kill %d of %s: the next run: %v\n%s", k, kind, err, out)
		}
		p.nothingLeft()
		if t.Failed() {
			t.Fatalf("kill %d of %s", k, kind)
		}
	}
	t.Logf("kills that left something for the next run: %v; killed or running workers: %v", left, killed)
}

// TestKillsWhileBuilding kills the command while it builds a worker. After the next run, nothing of the
// killed build may be left in the workers' cache or among the temporary files.
func TestKillsWhileBuilding(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ownTemp()
	args := []string{"run", "--drivers", "modernc", "--workloads", "./tiny.yaml", "--rounds", "6", "--dir", "databases", "--worker-cache", "workers"}
	left := 0
	for range (times(t, 1) + 9) / 10 {
		os.RemoveAll(filepath.Join(p.dir, "workers"))
		s := p.start(args...)
		s.until("building the worker for modernc")
		time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
		s.signal(os.Kill)
		s.wait()
		if entries, _ := os.ReadDir(filepath.Join(p.dir, "workers")); len(entries) > 0 {
			left++
		}
		if out, err := p.command(args...).CombinedOutput(); err != nil {
			t.Fatalf("the next run: %v\n%s", err, out)
		}
		p.nothingLeft()
	}
	t.Logf("builds that left something for the next run: %d", left)
}

// TestWorkerThatLeavesAProcess runs a worker that starts a process in another process group. The
// process must not outlive the trial.
func TestWorkerThatLeavesAProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ownTemp()
	if out, err := p.command("run", "--drivers", "./leaves", "--workloads", "./tiny.yaml", "--rounds", "6", "--quiet", "--dir", "databases").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.nothingLeft()
	if out, err := p.command("generate", "--driver", "./leaves", "--db", "a.db", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.nothingLeft()
	if _, err := os.Stat(filepath.Join(p.dir, "a.db")); err != nil {
		t.Errorf("the user's database: %v", err)
	}
}

// TestSignals interrupts a run at a random moment with SIGINT, SIGTERM or SIGHUP, sent once or
// twice. Each time the run must end as interrupted and keep its finished trials.
func TestSignals(t *testing.T) {
	t.Parallel()
	// Hangups may be ignored here, as under nohup. The commands would inherit an ignored signal, but not
	// a caught one. So the test catches hangups.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	p := newPlace(t)
	p.ownTemp()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		statuses := map[int]int{}
		for k := range times(t, 2) {
			s := p.start("run", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--rounds", "100000", "--dir", "databases")
			s.until("round 1 of")
			time.Sleep(time.Duration(rand.IntN(100_000)) * time.Microsecond)
			before := p.stored()
			s.signal(sig)
			if k%2 == 1 {
				s.signal(sig)
			}
			code := s.wait()
			statuses[code]++
			said := s.said.String()
			if code != cli.ExitInterrupted || !strings.Contains(said, "stopping when the current trials have ended; Ctrl-C again stops at once") {
				t.Errorf("%v: exit status %d\n%s", sig, code, said)
			}
			if now := p.stored(); now < before {
				t.Errorf("%v: %d trials of %d are in the store", sig, now, before)
			}
			r := p.last().Run
			if r.Stopped != result.StoppedInterrupted || r.Ended.IsZero() {
				t.Errorf("%v: stopped %q at %v", sig, r.Stopped, r.Ended)
			}
			for _, tr := range r.Trials {
				if tr.Status != result.OK {
					t.Errorf("%v: trial %d: %+v", sig, tr.Order, tr.Reason)
				}
			}
			p.nothingLeft()
			if t.Failed() {
				t.FailNow()
			}
		}
		t.Logf("%v: exit statuses %v", sig, statuses)
	}
}

// TestHangupUnderNohup checks that a hangup under nohup does not end a run. The run's rounds
// continue.
func TestHangupUnderNohup(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	cmd := p.command("run", "--drivers", "./good", "--workloads", "./tiny.yaml", "--rounds", "100000", "--dir", "databases")
	sh := exec.Command("sh", append([]string{"-c", `trap "" HUP; exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)...)
	sh.Dir, sh.Env = cmd.Dir, cmd.Env
	s := p.started(sh)
	s.until("round 1 of")
	before := p.stored()
	s.signal(syscall.SIGHUP)
	eventually(t, "more trials are stored", func() bool { return p.stored() >= before+3 })
	s.signal(os.Interrupt)
	if code := s.wait(); code != cli.ExitInterrupted || strings.Count(s.said.String(), "stopping") != 1 {
		t.Errorf("exit status %d\n%s", code, s.said.String())
	}
	p.nothingLeft()
}

// locked makes another process hold the store's lock until the test ends.
func (p *place) locked() {
	p.t.Helper()
	for range 200 {
		cmd := exec.Command("locker", "file:"+filepath.Join(p.dir, ".home/data/sqlite3perf/results.db")+"?_pragma=busy_timeout(60000)")
		in, err := cmd.StdinPipe()
		if err != nil {
			p.t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			p.t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			p.t.Fatal(err)
		}
		said, _ := bufio.NewReader(out).ReadString('\n')
		if strings.TrimSpace(said) == "locked <nil>" {
			p.t.Cleanup(func() {
				in.Close()
				_ = cmd.Wait() // the error may describe how the process ended
			})
			return
		}
		in.Close()
		_ = cmd.Wait() // the current run held the lock, so try again
	}
	p.t.Fatal("the store cannot be locked")
}

// TestSoakInterruptedWhileTheStoreIsLocked checks that Ctrl-C works while a command waits for
// a store that another process has locked.
func TestSoakInterruptedWhileTheStoreIsLocked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	args := []string{"run", "--drivers", "./good", "--workloads", "./tiny.yaml", "--dir", "databases", "--rounds"}
	if out, err := p.command(append(args, "6")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := p.stored()

	// While trials are measured, the first Ctrl-C still waits for the lock, but a second one does
	// not.
	s := p.start(append(args, "100000")...)
	s.until("round 1 of")
	p.locked()
	s.signal(os.Interrupt)
	s.until("Ctrl-C again stops at once")
	s.signal(os.Interrupt)
	if code := s.wait(); code != cli.ExitFailed || !strings.Contains(s.said.String(), "is locked by another process, and the wait for it was interrupted") {
		t.Errorf("exit status %d\n%s", code, s.said.String())
	}
	if !strings.Contains(s.stdout.String(), "insert") {
		t.Errorf("no table of the measured phases:\n%s", s.stdout.String())
	}

	// Before anything is measured, the first Ctrl-C is enough.
	s = p.start(append(args, "6")...)
	eventually(t, "the directory for databases", func() bool {
		list, _ := os.ReadDir(filepath.Join(p.dir, "databases"))
		return len(list) > 0
	})
	s.signal(os.Interrupt)
	if code := s.wait(); code != cli.ExitInterrupted {
		t.Errorf("exit status %d\n%s", code, s.said.String())
	}
	if before == 0 {
		t.Error("no trial was stored")
	}
}

// The method "let" allows trials of drivers of the type "holding" to continue until the given number
// of trials have run. The pilot trial, which runs before all other trials, does not count.
func (p *place) let(trials int) {
	p.t.Helper()
	// The file is renamed, so that no worker reads half of it.
	p.write("new", strconv.Itoa(1+trials), 0o644)
	if err := os.Rename(filepath.Join(p.dir, "new"), filepath.Join(p.dir, "let")); err != nil {
		p.t.Fatal(err)
	}
}

// inTrialAfter waits until the given number of trials are stored and the next trial waits for
// [place.let].
func (p *place) inTrialAfter(trials int) {
	p.t.Helper()
	eventually(p.t, "the next trial is held", func() bool {
		held, err := os.Stat(filepath.Join(p.dir, "begun"))
		return err == nil && held.Size() == int64(1+trials+1) && p.stored() == trials
	})
}

// TestInterruptedInTheLastTrial checks that the command returns the exit status of an interruption
// after Ctrl-C in the last trial, although the run is complete.
func TestInterruptedInTheLastTrial(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.let(5)
	s := p.start("run", "--drivers", "./holds", "--workloads", "./tiny.yaml", "--rounds", "6")
	p.inTrialAfter(5)
	s.signal(os.Interrupt)
	s.until("stopping when the current trials have ended")
	p.let(6)
	if code := s.wait(); code != cli.ExitInterrupted {
		t.Errorf("exit status %d\n%s", code, s.said.String())
	}
	if r := p.last().Run; len(r.Trials) != 6 || r.Rounds != 6 || r.Stopped != result.StoppedRounds {
		t.Errorf("%d trials in %d rounds, stopped %q", len(r.Trials), r.Rounds, r.Stopped)
	}
}

// TestInterruptedWhileClosing checks that Ctrl-C works even if a database takes forever
// to close.
func TestInterruptedWhileClosing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, said := range []string{"1s  reads", "2s  reads"} {
		out := p.interrupted(said, "concurrent", "--driver", "./lingers", "--db", "a.db?_busy_timeout=60000", "-r", "1", "-w", "1", "-d", "2s")
		if !strings.Contains(out, "readers") {
			t.Errorf("it printed:\n%s", out)
		}
	}
}

// TestSoakStoppedAndContinued stops the command (SIGSTOP) for longer than a trial may take, and
// continues it. The trial must not fail because of the time limit. The command must repeat the
// trial and print a message about that.
func TestSoakStoppedAndContinued(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.let(2)
	const limit = 20 * time.Second
	s := p.start("run", "--drivers", "./holds", "--workloads", "./tiny.yaml", "--rounds", "6", "--trial-limit", limit.String())
	p.inTrialAfter(2)
	s.signal(syscall.SIGSTOP)
	p.let(7)
	time.Sleep(limit + time.Second) // longer than the time limit of a trial
	s.signal(syscall.SIGCONT)
	if code := s.wait(); code != cli.ExitOK || !strings.Contains(s.said.String(), "which was discarded and done again") {
		t.Errorf("exit status %d\n%s", code, s.said.String())
	}
	if out := strings.Join(strings.Fields(s.stdout.String()), " "); !strings.Contains(out, "which was discarded and done again") {
		t.Errorf("the report does not mention the repeated trial:\n%s", out)
	}
	r := p.last().Run
	stopped := 0
	for _, tr := range r.Trials {
		for _, w := range tr.Warnings {
			if w.Code == result.WarningStopped && w.Round == tr.Round && tr.Order == 3 {
				stopped++
			}
		}
		if tr.Status != result.OK {
			t.Errorf("trial %d: %+v", tr.Order, tr.Reason)
		}
	}
	if len(r.Trials) != 6 || stopped != 1 {
		t.Errorf("%d trials, %d of them done again", len(r.Trials), stopped)
	}
}
