package lab

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Conversation is one worker process that is spoken to line by line, without
// any judgment of what it answers: [Describe] and package conformance use it.
type Conversation struct {
	Executable string
	Args       []string
	Dir        string // the worker's working directory; "": the lab's own

	// Hear is called with each line that the worker writes. When it returns
	// false the worker's standard input is closed, as it is when the lab goes
	// away; lines are still heard.
	Hear func(line []byte) bool

	// Stderr is what the worker wrote to standard error: its beginning and its
	// end. It is filled in by Run.
	Stderr string
}

// Run starts the worker, sends it the line and returns when it has exited. The
// error is a [*exec.ExitError] where the exit status is not 0, and the cause of
// ctx's end where that ended it.
func (c *Conversation) Run(ctx context.Context, line []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, c.Executable, c.Args...)
	isolate(cmd)
	cmd.Dir = c.Dir
	id := mark(cmd, newMark())
	cmd.WaitDelay = time.Second
	stderr := &ends{max: 2 << 10}
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	closeInput := sync.OnceFunc(func() { stdin.Close() })
	// A worker that exits without reading is noticed by its silence.
	_, _ = stdin.Write(append(line, '\n'))
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if !c.Hear(lines.Bytes()) {
			closeInput()
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		cancel(err)
	}
	closeInput()
	err = cmd.Wait()
	endGroup(cmd.Process.Pid)
	endMarked(id)
	c.Stderr = strings.TrimSpace(stderr.String())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case exitedWell(err):
		return nil
	}
	return err
}
