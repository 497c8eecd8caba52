package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
)

// spent matches the line in which the command "run" says where its time went.
var spent = regexp.MustCompile(`This took (\S+): (\S+) of downloads before anything could be built, (\S+) of builds, (\S+) of measuring\.`)

// BenchmarkFirstAnswer measures how long a user waits after installing sqlite3perf, until the first
// answer and until all drivers are measured. The user has none of the modules from which workers are
// built, so everything is downloaded and compiled. TEST_TOOL can name the executable of another version,
// and TEST_FLAGS can have flags for the command "run".
func BenchmarkFirstAnswer(b *testing.B) {
	tool := os.Getenv("TEST_TOOL")
	if tool == "" {
		tool = filepath.Join(b.TempDir(), "sqlite3perf")
		if out, err := exec.Command("go", "build", "-trimpath", "-o", tool, "../../cmd/sqlite3perf").CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	for b.Loop() {
		home := b.TempDir()
		cmd := exec.Command(tool, append([]string{"run"}, strings.Fields(os.Getenv("TEST_FLAGS"))...)...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "GOWORK=off", "HOME="+home, "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "XDG_DATA_HOME=",
			"GOPATH="+filepath.Join(home, "go"), "GOMODCACHE=", "GOCACHE=", "GOFLAGS=-modcacherw", "TERM=xterm")
		terminal := start(b, cmd)
		follow(b, terminal)
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		terminal.Close()
	}
}

// follow logs what appears on a terminal. It reports when the first and the last answer appeared,
// and how the command says that it spent the time.
func follow(b *testing.B, terminal *os.File) {
	b.Helper()
	lines := bufio.NewScanner(terminal)
	lines.Buffer(nil, 64<<20) // the progress bar is drawn again and again in the same line
	before, _ := machine.ReadCPUTime()
	began := time.Now()
	answer := "first"
	for lines.Scan() {
		line, elapsed := shown(lines.Text()), time.Since(began).Seconds()
		b.Logf("%6.1fs %s", elapsed, line)
		if strings.HasPrefix(line, "First answer") {
			now, _ := machine.ReadCPUTime()
			b.ReportMetric(elapsed, "s/first")
			b.ReportMetric(100*(now.Worked-before.Worked).Seconds()/elapsed/float64(runtime.NumCPU()), "busy%/first")
		}
		part := spent.FindStringSubmatch(line)
		for i, name := range []string{"download", "build", "measure"} {
			if part == nil {
				break
			}
			d, err := time.ParseDuration(part[i+2])
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(d.Seconds(), "s-"+name+"/"+answer)
		}
		if part != nil {
			answer = "all"
		}
	}
	b.ReportMetric(time.Since(began).Seconds(), "s/all")
}

// escapes matches escape sequences that move the cursor of a terminal or change colors.
var escapes = regexp.MustCompile(`\x1b\[[\d;]*[A-Za-z]`)

// shown returns what a line of a terminal shows after the progress bar has been removed from it.
func shown(line string) string {
	if i := strings.LastIndex(line, erased); i >= 0 {
		line = line[i+len(erased):]
	}
	line = strings.TrimRight(escapes.ReplaceAllString(line, ""), "\r")
	return line[strings.LastIndex(line, "\r")+1:]
}

// erased is the escape sequence with which the command "run" removes the progress bar.
const erased = "\x1b[2K"

// start starts a command on a new terminal, and returns the other end of this terminal.
func start(b *testing.B, cmd *exec.Cmd) *os.File {
	b.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		b.Fatal(err)
	}
	fd := int(terminal.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		b.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer tty.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return terminal
}
