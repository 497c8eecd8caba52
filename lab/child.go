package lab

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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// exitGrace is how long a worker may take to exit after its last answer.
const exitGrace = 10 * time.Second

// maxLine is the longest answer that is accepted from a worker.
const maxLine = 16 << 20

// child is a worker's process. Nothing that it has started outlives it.
type child struct {
	*exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	stderr ends
	mark   string
}

// startChild starts a worker in dir ("": the lab's own), marked, with env added to
// its environment. It is killed when ctx ends.
func startChild(ctx context.Context, executable string, args []string, dir, id string, env ...string) (*child, error) {
	c := &child{Cmd: exec.CommandContext(ctx, executable, args...), stderr: ends{max: 2 << 10}}
	c.Dir = dir
	c.Env = append(os.Environ(), env...)
	isolate(c.Cmd)
	c.mark = mark(c.Cmd, id)
	c.WaitDelay = time.Second
	c.Stderr = &c.stderr
	var err error
	if c.stdin, err = c.StdinPipe(); err != nil {
		return nil, err
	}
	if c.stdout, err = c.StdoutPipe(); err != nil {
		return nil, err
	}
	return c, c.Start()
}

// send sends a request. A worker that exits without reading is noticed by its
// silence.
func (c *child) send(r protocol.Request) { _ = json.NewEncoder(c.stdin).Encode(r) }

// answers splits what a worker writes into lines.
func answers(stdout io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(stdout)
	s.Buffer(make([]byte, 64<<10), maxLine)
	return s
}

// end closes the worker's input, waits for its exit and ends what it has left
// behind. What it still says is not waited for: a child of its own may hold the
// other end.
func (c *child) end() error {
	go func() { _, _ = io.Copy(io.Discard, c.stdout) }()
	c.stdin.Close()
	err := c.Wait()
	endGroup(c.Process.Pid)
	endMarked(c.mark)
	return err
}

// death says how a worker that did not exit well, as [exec.Cmd.Wait] has said, came
// to its end.
func (c *child) death(err error) string {
	if killed(c.ProcessState) {
		return "the worker was killed (SIGKILL), as the kernel does when memory runs out"
	}
	return fmt.Sprintf("the worker crashed: %v", err)
}

// markVariable is the environment variable by which what a process has started is
// known, whatever group it has moved to.
const markVariable = "SQLITE3PERF_MARK"

// mark marks a process that is to be started.
func mark(cmd *exec.Cmd, id string) string {
	cmd.Env = append(cmd.Environ(), markVariable+"="+id)
	return id
}

// newMark is a mark for a process that has no directory of ours.
func newMark() string { return fmt.Sprintf("%d-%016x", os.Getpid(), rand.Uint64()) }

// exitedWell reports whether [exec.Cmd.Wait] saw exit status 0. A child left
// behind with the worker's standard error is ended, and no fault of its answers.
func exitedWell(err error) bool { return err == nil || errors.Is(err, exec.ErrWaitDelay) }

// ends keeps the first and the last bytes that are written to it: of a crash
// the first lines say most, of a log the last.
type ends struct {
	mu    sync.Mutex
	max   int // of each
	first []byte
	last  []byte
	cut   bool
}

func (e *ends) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(p), e.max-len(e.first))
	e.first = append(e.first, p[:n]...)
	e.last = append(e.last, p[n:]...)
	if over := len(e.last) - e.max; over > 0 {
		e.last, e.cut = slices.Delete(e.last, 0, over), true
	}
	return len(p), nil
}

func (e *ends) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	between := ""
	if e.cut {
		between = "\n…\n"
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(e.first)+between+string(e.last), "?"))
}
