// Package trace defines how a recording describes what a process did to the files of a directory:
// all operations in one order, with the data that was written.
package trace

import (
	"path"
	"strings"
)

// Kind is the kind of an operation.
type Kind uint8

// The kinds of operations. Reads change nothing, so they are not recorded.
const (
	Write       Kind = iota // writes Data at Offset
	Truncate                // sets the size of the file to Size
	Sync                    // fsync or fdatasync of a file
	SyncDir                 // fsync or fdatasync of the directory Name
	Create                  // creates the file as Name
	Remove                  // removes Name
	Rename                  // renames Name to To
	Acknowledge             // the application was told that transaction Number is committed
	Map                     // the file was changed through a memory map, not by system calls; Data is its whole content
)

// Op is one operation.
type Op struct {
	Kind Kind
	Call string // name of the system call, such as pwrite64

	// File is the number of the file. A file keeps its number when it is renamed. If a file is removed and
	// another file is created with the same name, the new file has another number. The number is 0 in
	// SyncDir and Acknowledge.
	File int

	Name, To string // path of the file in the recorded directory; "." is that directory itself
	Offset   int64
	Size     int64
	Data     []byte
	Number   int

	// Failed is set if the operation was made to fail, and did nothing. If a Sync failed, the kernel
	// forgets that the file's pages must still be written, although they can be read until the power
	// fails (https://wiki.postgresql.org/wiki/Fsync_Errors).
	Failed bool
}

// Trace has all operations on the files of a directory, in their order. The directory was empty
// before the first operation.
type Trace struct{ Ops []Op }

// Cost counts what transactions did to the files. Only operations between the acknowledgments of
// transaction 0 and of the last transaction count.
type Cost struct {
	Transactions int   `json:"transactions"`
	Syncs        int64 `json:"syncs"`     // fsync of files
	DataSyncs    int64 `json:"datasyncs"` // fdatasync of files
	DirSyncs     int64 `json:"dir_syncs"` // fsync and fdatasync of directories
	Writes       int64 `json:"writes"`
	Bytes        int64 `json:"bytes"` // bytes written

	// Files has the costs for each kind of file, as [FileKind] returns it.
	Files map[string]FileCost `json:"files,omitempty"`
}

// FileCost is the part of a [Cost] of one kind of file.
type FileCost struct {
	Syncs  int64 `json:"syncs"` // fsync and fdatasync
	Writes int64 `json:"writes"`
	Bytes  int64 `json:"bytes"`
}

// Kinds lists what [FileKind] returns.
var Kinds = []string{"database", "journal", "wal", "shm", "other"}

// FileKind returns the kind of a file of SQLite. The kind depends on the end of the file's name.
func FileKind(name string) string {
	switch {
	case strings.HasSuffix(name, "-wal"):
		return "wal"
	case strings.HasSuffix(name, "-journal"), strings.Contains(path.Base(name), "-mj"):
		return "journal"
	case strings.HasSuffix(name, "-shm"):
		return "shm"
	case strings.HasSuffix(name, ".db"):
		return "database"
	}
	return "other"
}

// Cost counts what the transactions did.
func (t *Trace) Cost() Cost {
	c := Cost{Files: map[string]FileCost{}}
	first, last := -1, -1
	for i := range t.Ops {
		if t.Ops[i].Kind != Acknowledge {
			continue
		}
		if first < 0 {
			first = i
		} else {
			c.Transactions++
		}
		last = i
	}
	for i := first + 1; i < last; i++ {
		if o := &t.Ops[i]; !o.Failed {
			c.add(o)
		}
	}
	return c
}

func (c *Cost) add(o *Op) {
	kind := FileKind(o.Name)
	f := c.Files[kind]
	switch o.Kind {
	case Write:
		f.Writes++
		f.Bytes += int64(len(o.Data))
		c.Writes++
		c.Bytes += int64(len(o.Data))
	case Sync:
		f.Syncs++
		if o.Call == "fdatasync" {
			c.DataSyncs++
		} else {
			c.Syncs++
		}
	case SyncDir:
		c.DirSyncs++
		return
	default:
		return
	}
	c.Files[kind] = f
}
