//go:build unix

package worker

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// asStdin keeps the test's file from being garbage-collected. The garbage collector would close the
// file descriptor, and by then the descriptor may belong to another file.
var asStdin *os.File

// TestInput checks that reading from a pipe on standard input waits in the runtime's poller, and not in
// a system call. Only the poller obeys deadlines.
func TestInput(t *testing.T) {
	var pipe [2]int // a pipe whose reads block, like the standard input of a new process; os.Pipe returns a non-blocking pipe
	if err := syscall.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pipe[1])
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	asStdin = os.NewFile(uintptr(pipe[0]), "stdin")
	os.Stdin = asStdin
	in := input()
	defer in.Close()
	if err := in.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("read: %v, want a timeout", err)
	}
}
