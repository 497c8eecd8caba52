// Package record records what a program does to the files of one directory, as one sequence of calls.
// It can also make calls fail. It works on Linux (amd64). It needs only the rights of the user who runs the
// program, and works for programs with and without C.
//
// A stage, which is another process of this executable, installs a seccomp filter that notifies the
// recorder of each system call that may change files. The stage then becomes the program. The
// recorder carries out the calls on files of the directory itself, one after another, and answers
// with the result (seccomp_unotify(2)). So there is one order of all calls of all threads and child
// processes.
package record

import (
	"errors"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// StageArgument is the first argument that makes this executable the stage. See [Stage].
const StageArgument = "record-stage"

// Class is a class of calls that can be made to fail.
type Class string

// The classes of calls.
const (
	Writes    Class = "write" // write, pwrite64 and others
	Syncs     Class = "sync"  // fsync and fdatasync of files
	Truncates Class = "truncate"
	Removes   Class = "remove" // unlink and others
)

// Fault makes a call fail.
type Fault struct {
	Class   Class  `json:"class"`
	File    string `json:"file"` // kind of the file, as [trace.FileKind] returns it
	At      int    `json:"at"`   // number of the call that fails, among the calls of this class on this kind of file; counted from 1 after transaction 0 was acknowledged
	Error   string `json:"error"`
	Lasting bool   `json:"lasting,omitempty"` // all later calls of the class fail too
	Short   bool   `json:"short,omitempty"`   // a write first writes half of its bytes
}

// The errors of a [Fault].
const (
	EIO    = "EIO"
	ENOSPC = "ENOSPC"
)

func (f *Fault) String() string {
	s := fmt.Sprintf("%s of %s %d: %s", f.Class, f.File, f.At, f.Error)
	if f.Short {
		s += ", short"
	}
	if f.Lasting {
		s += ", lasting"
	}
	return s
}

// ErrUnsupported is the error on systems where nothing can be recorded.
var ErrUnsupported = errors.New("file operations can be recorded only on Linux (amd64), with Linux 5.19 or newer")

// Options say what to record.
type Options struct {
	// Dir is the directory whose files are recorded. It must exist and be empty.
	Dir string

	// Fault is a call that is made to fail. It is nil if no call is made to fail.
	Fault *Fault

	// Acknowledged returns the number of the transaction that a line of the program's standard
	// output acknowledges.
	Acknowledged func(line []byte) (number int, ok bool)
}

// Recording is the result of recording a program.
type Recording struct {
	trace.Trace
	Dir        string // directory in which the program worked
	Injected   int    // number of calls that were made to fail
	InjectedAt int    // number of recorded operations before the first call that was made to fail
}
