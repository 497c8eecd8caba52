package record

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// programVariable is the environment variable with the name of a program in [programs]. If it is
// set, the test executable runs that program.
const programVariable = "RECORD_TEST_PROGRAM"

// elsewhereVariable is the environment variable with a directory that is not recorded.
const elsewhereVariable = "RECORD_TEST_ELSEWHERE"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == StageArgument {
		os.Exit(Stage(os.Args[2:]))
	}
	if name := os.Getenv(programVariable); name != "" {
		program, known := programs[name]
		if !known {
			panic("there is no program " + name)
		}
		program()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// session is one recorded run of a program.
type session struct {
	t         *testing.T
	dir       string
	elsewhere string
	recorder  *Recorder
	command   *exec.Cmd
	stdin     io.WriteCloser
	stdout    *bufio.Reader
	stderr    bytes.Buffer
	ended     chan error // what Run returned
	rec       *Recording
	end       func()
}

// start runs a program of [programs] under the recorder.
func start(t *testing.T, name string, fault *Fault) *session {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startExecutable(t, executable, name, fault)
}

func startExecutable(t *testing.T, executable, name string, fault *Fault) *session {
	t.Helper()
	if err := Available(); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, dir: filepath.Join(t.TempDir(), "recorded"), elsewhere: t.TempDir(), ended: make(chan error, 1)}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.recorder, err = New(Options{Dir: s.dir, Fault: fault, Acknowledged: acknowledgment}); err != nil {
		t.Fatal(err)
	}
	through, args := s.recorder.Through(executable, []string{"argument"})
	s.command = exec.Command(through, args...)
	s.command.Dir = s.dir
	// Without GORACE, a program with the race detector waits for a second before it ends.
	s.command.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", programVariable+"="+name, elsewhereVariable+"="+s.elsewhere)
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.command.Stderr = &s.stderr
	out, err := s.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdout = bufio.NewReader(out)
	if s.stdin, err = s.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	go func() {
		rec, err := s.recorder.Run()
		s.rec = rec
		s.ended <- err
	}()
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	s.end = sync.OnceFunc(func() {
		_ = unix.Kill(-s.command.Process.Pid, unix.SIGKILL)
		_ = s.command.Wait()
		s.recorder.Close()
	})
	t.Cleanup(s.end)
	return s
}

// line reads a line of the program's standard output.
func (s *session) line() string {
	s.t.Helper()
	text, err := s.stdout.ReadString('\n')
	if err != nil {
		s.t.Fatalf("the program's output ends with %q: %v; it says: %s", text, err, &s.stderr)
	}
	return strings.TrimSuffix(text, "\n")
}

// finish waits until the program and its recording have ended without an error. It returns the lines of
// the program's standard output.
func (s *session) finish() []string {
	s.t.Helper()
	text, err := io.ReadAll(s.stdout)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.command.Wait(); err != nil {
		s.t.Errorf("the program: %v: %s", err, &s.stderr)
	}
	if err := <-s.ended; err != nil {
		s.t.Fatal(err)
	}
	if what := s.unexplained(); what != "" {
		s.t.Error(what)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// unexplained names a file of the directory whose content the recording does not explain. It
// returns "" if there is none.
func (s *session) unexplained() string {
	s.t.Helper()
	d := disk.New(disk.Kill)
	for i := range s.rec.Ops {
		if err := d.Apply(i, &s.rec.Ops[i]); err != nil {
			s.t.Fatal(err)
		}
	}
	what, err := d.Differs(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return what
}

// acknowledgment finds the number in a line such as "ack 3".
func acknowledgment(line []byte) (n int, ok bool) {
	_, err := fmt.Sscanf(string(line), "ack %d", &n)
	return n, err == nil
}

var kindNames = map[trace.Kind]string{
	trace.Write: "write", trace.Truncate: "truncate", trace.Sync: "sync", trace.SyncDir: "syncdir", trace.Create: "create",
	trace.Remove: "remove", trace.Rename: "rename", trace.Acknowledge: "acknowledge", trace.Map: "map",
}

// words describes operations. Each element of the list describes one operation.
func words(ops []trace.Op) (list []string) {
	for i := range ops {
		o := &ops[i]
		var s string
		switch o.Kind {
		case trace.Acknowledge:
			s = fmt.Sprintf("acknowledge %d", o.Number)
		case trace.SyncDir:
			s = fmt.Sprintf("syncdir %s (%s)", o.Name, o.Call)
		default:
			s = fmt.Sprintf("%s %d %s", kindNames[o.Kind], o.File, o.Name)
			switch o.Kind {
			case trace.Write:
				s += fmt.Sprintf(" %q at %d (%s)", o.Data, o.Offset, o.Call)
			case trace.Truncate:
				s += fmt.Sprintf(" to %d (%s)", o.Size, o.Call)
			case trace.Sync:
				s += fmt.Sprintf(" (%s)", o.Call)
			case trace.Rename:
				s += " to " + o.To
			case trace.Map:
				s += fmt.Sprintf(" %q", bytes.TrimRight(o.Data, "\x00"))
			}
		}
		if o.Failed {
			s += " failed"
		}
		list = append(list, s)
	}
	return list
}

// same checks that operations, as the function "words" describes them, equal the wanted lines.
func same(t *testing.T, ops []trace.Op, want []string) {
	t.Helper()
	got := words(ops)
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("operation %d:\n got %s\nwant %s", i, g, w)
		}
	}
}
