package process

import (
	"bufio"
	"context"
	"errors"
)

// Conversation talks to one worker process line by line, without judging its answers. Package conformance uses
// it, and so does the function Describe of package build.
type Conversation struct {
	Executable string
	Args       []string
	Env        []string // NAME=value, added to the environment of this process
	Dir        string   // the worker's working directory; "": that of this process

	// Hear is called with each line that the worker writes. When Hear returns false, the
	// worker's standard input is closed, as if sqlite3perf had exited. Hear is still called
	// with later lines.
	Hear func(line []byte) bool

	// Stderr is the beginning and the end of the worker's standard error. Run sets it.
	Stderr string

	// BytesRead is how many bytes the worker and its children have read from disks. Run sets it. It is 0 if
	// the system does not count them.
	BytesRead int64
}

// Run starts the worker, sends it the line and waits until the worker exits. If the exit status is not 0, the
// error is a [*exec.ExitError]. If ctx ended first, the worker is killed, and the error is the cause with
// which ctx ended.
func (c *Conversation) Run(ctx context.Context, line []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w, err := Start(ctx, c.Executable, c.Args, c.Dir, NewMark(), false, c.Env...)
	if err != nil {
		return err
	}
	_, _ = w.Input.Write(append(line, '\n'))
	lines := w.Lines()
	for lines.Scan() {
		if !c.Hear(lines.Bytes()) {
			w.Input.Close()
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		cancel(err)
	}
	err = w.End()
	c.Stderr = w.Errors()
	c.BytesRead = bytesRead(w.ProcessState)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case ExitedWell(err):
		return nil
	}
	return err
}
