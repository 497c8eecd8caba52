package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/report"
)

// place is a directory with the test's workers, and an environment in which the command
// stores everything in that directory.
type place struct {
	t   testing.TB
	dir string
	env []string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{t: t, dir: t.TempDir()}
	env, err := surroundings(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	p.env = append(os.Environ(), env...)
	for name := range workers {
		if err := link(name, p.dir); err != nil {
			t.Fatal(err)
		}
	}
	tiny, err := os.ReadFile("testdata/tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.write("tiny.yaml", string(tiny), 0o644)
	if err := os.Mkdir(filepath.Join(p.dir, "databases"), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) write(name, content string, mode os.FileMode) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), mode); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.Command("sqlite3perf", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// patience is how long a test waits for an expected event before it fails. With the race detector,
// on a slow and busy machine, a trial may take minutes.
const patience = 10 * time.Minute

// eventually waits until is() returns true. The parameter "what" describes that condition in
// errors.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

// session is a running command.
type session struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdout bytes.Buffer
	lines  chan string // lines of standard error
	said   strings.Builder
}

func (p *place) start(args ...string) *session {
	p.t.Helper()
	return p.started(p.command(args...))
}

func (p *place) started(cmd *exec.Cmd) *session {
	p.t.Helper()
	s := &session{t: p.t, cmd: cmd, lines: make(chan string, 1<<16)}
	if cmd.Stdout == nil {
		cmd.Stdout = &s.stdout
	}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // the process has already ended if the test succeeded
	go func() {
		defer close(s.lines)
		for sc := bufio.NewScanner(stderr); sc.Scan(); {
			s.lines <- sc.Text()
		}
	}()
	return s
}

// until waits for a line on standard error that contains the parameter "part".
func (s *session) until(part string) {
	s.t.Helper()
	late := time.After(patience)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				s.t.Fatalf("the command ended without saying %q:\n%s", part, s.said.String())
			}
			s.said.WriteString(line + "\n")
			if strings.Contains(line, part) {
				return
			}
		case <-late:
			s.t.Fatalf("the command does not say %q:\n%s", part, s.said.String())
		}
	}
}

// untilRound waits until run 1 of the default store, which the session s measures, has a trial of round n.
// It does not wait for a printed line, because s measures many rounds between two lines.
func (p *place) untilRound(s *session, n int) {
	p.t.Helper()
	s.until("round 1 of")
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		out, err := p.command("show", "1", "--format", "json").Output()
		if err != nil {
			continue // the run is not in the store yet
		}
		j, err := load(out)
		if err != nil {
			p.t.Fatal(err)
		}
		if trials := j.Run.Trials; len(trials) > 0 && trials[len(trials)-1].Round >= n {
			return
		}
	}
	p.t.Fatalf("round %d has not begun:\n%s", n, s.said.String())
}

func (s *session) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// The method "wait" returns the exit status, or -1 if a signal ended the command.
func (s *session) wait() int {
	s.t.Helper()
	for line := range s.lines {
		s.said.WriteString(line + "\n")
	}
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// The method "last" returns the newest run that has ended, from the default store of p's commands.
func (p *place) last() *report.JSON {
	p.t.Helper()
	return p.shown("last")
}

// shown returns the JSON report of a run in the default store of p's commands. The parameter "run" is
// the run's ID or "last".
func (p *place) shown(run string) *report.JSON {
	p.t.Helper()
	out, err := p.command("show", run, "--format", "json").Output()
	if err != nil {
		p.t.Fatalf("show %s: %v", run, err)
	}
	j, err := load(out)
	if err != nil {
		p.t.Fatal(err)
	}
	return j
}

// The method "alone" checks that no worker is running and that no database is left.
func (p *place) alone() {
	p.t.Helper()
	p.ended(true)
}

// The method "ended" checks that no worker is running and, if the parameter "databases" is true,
// that no database is left.
func (p *place) ended(databases bool) {
	p.t.Helper()
	var left []string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		left = left[:0]
		procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			p.t.Fatal(err)
		}
		for _, f := range procs {
			line, err := os.ReadFile(f)
			if err == nil && bytes.Contains(line, []byte(p.dir)) {
				left = append(left, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			}
		}
		_ = filepath.WalkDir(p.dir, func(path string, _ os.DirEntry, _ error) error { // files may be removed during the walk
			if databases && strings.HasPrefix(filepath.Base(path), "test.db") {
				left = append(left, path)
			}
			return nil
		})
		if len(left) == 0 {
			return
		}
	}
	p.t.Errorf("left behind: %v", left)
}

// asleep waits until the worker "sleeps" has created its database.
func (p *place) asleep(s *session) {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			p.t.Fatal(err)
		}
		for _, f := range procs {
			line, err := os.ReadFile(f)
			if err != nil || !bytes.HasPrefix(line, []byte(filepath.Join(p.dir, "sleeps"))) {
				continue
			}
			cwd, err := os.Readlink(filepath.Join(filepath.Dir(f), "cwd"))
			if err != nil {
				continue
			}
			if fi, err := os.Stat(filepath.Join(cwd, "test.db")); err == nil && fi.Size() > 0 {
				return
			}
		}
		select {
		case line, ok := <-s.lines:
			s.said.WriteString(line + "\n")
			if !ok {
				p.t.Fatalf("the command has ended:\n%s", s.said.String())
			}
		case <-time.After(10 * time.Millisecond):
		}
	}
	p.t.Fatalf("the worker \"sleeps\" has not started:\n%s", s.said.String())
}
