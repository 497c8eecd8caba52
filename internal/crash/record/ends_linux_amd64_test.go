package record

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// TestKilled kills a program and its child process while both write. The recording must have all
// their operations. Afterwards, no process may be left, and the socket's directory must be gone.
func TestKilled(t *testing.T) {
	s := start(t, "endless", nil)
	pid, err := strconv.Atoi(s.line())
	if err != nil {
		t.Fatal(err)
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(process)
	for s.line() != "ack 0" {
	}
	scratch := filepath.Dir(s.recorder.address)
	if _, err := os.Stat(scratch); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(-s.command.Process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-s.ended; err != nil {
		t.Fatal(err)
	}
	_ = s.command.Wait() // it was killed
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, -1)
		if n == 1 {
			break // the child process has ended
		}
		if !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
	if what := s.unexplained(); what != "" {
		t.Error(what)
	}
	acknowledged := 0
	for i := range s.rec.Ops {
		if s.rec.Ops[i].Kind == trace.Acknowledge {
			acknowledged++
		}
	}
	if acknowledged == 0 {
		t.Error("the acknowledgment was not kept")
	}
	s.end()
	if _, err := os.Stat(scratch); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket's directory is left: %v", err)
	}
}

// TestClosedWhileRunning checks that Close ends a recording whose program goes on: Run returns what was
// recorded before, and the program's later calls fail.
func TestClosedWhileRunning(t *testing.T) {
	s := start(t, "patient", nil)
	if got := s.line(); got != "ready" {
		t.Fatalf("the program says %q", got)
	}
	s.recorder.Close()
	if err := <-s.ended; err != nil {
		t.Fatal(err)
	}
	same(t, s.rec.Ops, []string{"create 1 a.db", `write 1 a.db "before" at 0 (pwrite64)`})
	if _, err := s.stdin.Write([]byte("go on\n")); err != nil {
		t.Fatal(err)
	}
	err := s.command.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 {
		t.Errorf("the program ends with %v, want exit status 7, because its write fails: %s", err, &s.stderr)
	}
}

// TestNoProgram checks the errors of Run if there is no program to record.
func TestNoProgram(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("this is not a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for executable, want := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "no such file or directory",
		t.TempDir():                        "is a directory",
		text:                               "exec format error",
	} {
		s := startExecutable(t, executable, "", nil)
		if err := <-s.ended; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one with %q", executable, err, want)
		}
		err := s.command.Wait()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 125 {
			t.Errorf("%s: the stage ends with %v, want exit status 125", executable, err)
		}
	}
}

// TestClosedBeforeStart checks that Run returns an error if Close is called and no program ever starts.
func TestClosedBeforeStart(t *testing.T) {
	for _, first := range []string{"Close", "Run"} {
		r, err := New(Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		run := func() {
			_, err := r.Run()
			ended <- err
		}
		if first == "Run" {
			go run()
			r.Close() // Close may be called before Run waits
		} else {
			r.Close()
			run()
		}
		if err := <-ended; err == nil {
			t.Errorf("%s first: Run returns no error", first)
		}
		r.Close() // a second call does nothing
	}
}

// TestNoDirectory checks that New returns an error if there is no directory to record.
func TestNoDirectory(t *testing.T) {
	if _, err := New(Options{Dir: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
}

// TestStageWithoutRecorder checks that a stage (the process that later becomes the recorded program)
// ends if no recorder waits for it.
func TestStageWithoutRecorder(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {filepath.Join(t.TempDir(), "none"), "/bin/true"}} {
		err := exec.Command(executable, append([]string{StageArgument}, args...)...).Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 125 {
			t.Errorf("%q: the stage ends with %v, want exit status 125", args, err)
		}
	}
}
