// Package process runs other programs. When a program or this process ends, even if it is killed, package
// process makes sure that no child process and no temporary directory is left.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// ExitGrace is how long a worker may take to exit after its last answer.
const ExitGrace = 10 * time.Second

// leaveGrace is how long a worker may take, after its input is closed, to remove data that it keeps outside
// its own files, for example a database on a server.
const leaveGrace = 15 * time.Second

// MaxLine is the limit in bytes for one answer of a worker.
const MaxLine = 16 << 20

// Child is a running worker. When it ends, its child processes are killed.
type Child struct {
	*exec.Cmd
	Input  io.WriteCloser
	output io.Reader
	errors Ends
	mark   string
	before map[int]bool // IDs of the processes that existed before this worker started
}

// Start starts a worker in the directory dir, or in this process's working directory if dir is "". It marks the
// worker with the parameter "id", and adds the variables in "env" to its environment. When ctx ends, the
// worker is killed. If the parameter "leaves" is true, the worker has data to remove elsewhere, for example on
// a server. In this case, when ctx ends, the worker's input is closed, and the worker is killed only if it does
// not exit within leaveGrace.
func Start(ctx context.Context, executable string, args []string, dir, id string, leaves bool, env ...string) (*Child, error) {
	c := &Child{Cmd: exec.CommandContext(ctx, executable, args...), mark: id, errors: Ends{Max: 8 * DetailEnd}, before: existing()}
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	Isolate(c.Cmd)
	Mark(c.Cmd, id)
	c.WaitDelay = time.Second
	c.Stderr = &c.errors
	var err error
	if c.Input, err = c.StdinPipe(); err != nil {
		return nil, err
	}
	if c.output, err = c.StdoutPipe(); err != nil {
		return nil, err
	}
	if leaves {
		c.Cancel = c.Input.Close // the worker then cleans up and exits
		c.WaitDelay = leaveGrace
	}
	return c, c.Start()
}

// Send sends a request to the worker. It ignores errors, because if the worker has exited, the code that waits
// for the worker's answer reports this.
func (c *Child) Send(r protocol.Request) { _ = json.NewEncoder(c.Input).Encode(r) }

// Lines returns a scanner over the lines that the worker writes.
func (c *Child) Lines() *bufio.Scanner {
	s := bufio.NewScanner(c.output)
	s.Buffer(make([]byte, 64<<10), MaxLine)
	return s
}

// End closes the worker's input, waits for the worker to exit, and kills the child processes
// that it left running. It does not wait for the end of the worker's output, because a child
// of the worker may keep the pipe open.
func (c *Child) End() error {
	go func() { _, _ = io.Copy(io.Discard, c.output) }()
	c.Input.Close()
	err := c.Wait()
	EndGroup(c.Process.Pid)
	endMarked(c.mark, c.before)
	return err
}

// Errors returns the beginning and the end of the worker's output on standard error.
func (c *Child) Errors() string { return c.errors.String() }

// Death describes how a worker died, given the error of [exec.Cmd.Wait].
func (c *Child) Death(err error) string {
	if Killed(c.ProcessState) {
		return "the worker was killed (SIGKILL), as the kernel does when memory runs out"
	}
	return fmt.Sprintf("the worker crashed: %v", err)
}

// Signal returns the signal that ended a process. It returns 0 if no signal did, as always on Windows.
func Signal(state *os.ProcessState) syscall.Signal {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal()
	}
	return 0
}

// Killed reports whether SIGKILL ended the process.
func Killed(state *os.ProcessState) bool { return Signal(state) == syscall.SIGKILL }

// MarkVariable is an environment variable that marks a process, so that the process can be found and killed.
// Its child processes inherit the mark, and keep it even if they move to another process group.
const MarkVariable = "SQLITE3PERF_MARK"

// Mark adds a mark to a command that has not been started yet.
func Mark(cmd *exec.Cmd, id string) {
	cmd.Env = append(cmd.Environ(), MarkVariable+"="+id)
}

// NewMark returns a mark for a process that does not have a [Scratch] directory.
func NewMark() string { return fmt.Sprintf("%d-%016x", os.Getpid(), rand.Uint64()) }

// ExitedWell reports whether err, from [exec.Cmd.Wait], means exit status 0. ErrWaitDelay counts as success:
// it means that a child process kept the worker's standard error open, but the worker's answers are complete.
func ExitedWell(err error) bool { return err == nil || errors.Is(err, exec.ErrWaitDelay) }

// DetailEnd limits the text that [Detail] returns. Of a longer text, the first and the last DetailEnd bytes are
// kept.
const DetailEnd = 2 << 10

// register matches a line of the register dump at the end of a Go crash. The dump is useless without a
// debugger, and it would push the stack out of the part of the output that is kept.
var register = regexp.MustCompile(`(?m)^[a-z][a-z0-9]{1,7} +0x[0-9a-f]+\n?`)

// Detail returns the parameter "given", which has a worker's details about a failure, followed by the worker's
// standard error without registers. Detail cuts out the middle of a long text.
func Detail(given, stderr string) string {
	e := Ends{Max: DetailEnd}
	for _, s := range []string{given, register.ReplaceAllString(stderr, "")} {
		fmt.Fprintln(&e, strings.TrimSpace(s))
	}
	return e.String()
}

// Ends keeps the first and the last Max bytes written to it. In the output of a crash, the first lines are
// the most useful ones; in a log, the last lines are.
type Ends struct {
	Max int // limit in bytes for the beginning, and for the end

	mu    sync.Mutex
	first []byte
	last  []byte
	cut   bool
}

func (e *Ends) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(p), e.Max-len(e.first))
	e.first = append(e.first, p[:n]...)
	e.last = append(e.last, p[n:]...)
	if over := len(e.last) - e.Max; over > 0 {
		e.last, e.cut = slices.Delete(e.last, 0, over), true
	}
	return len(p), nil
}

func (e *Ends) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	between := ""
	if e.cut {
		between = "\n…\n"
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(e.first)+between+string(e.last), "?"))
}
