package trace

import (
	"reflect"
	"testing"
)

// TestCost checks that a cost counts the operations between the first and the last acknowledgment,
// by kind of file. Failed operations must not count.
func TestCost(t *testing.T) {
	write := func(name string, n int) Op {
		return Op{Kind: Write, Call: "pwrite64", Name: name, Data: make([]byte, n)}
	}
	tr := &Trace{Ops: []Op{
		{Kind: Create, Name: "a.db"}, write("a.db", 1000), {Kind: Sync, Call: "fsync", Name: "a.db"}, {Kind: SyncDir, Call: "fsync", Name: "."},
		{Kind: Acknowledge, Number: 0},
		write("a.db", 10), write("a.db", 20), write("a.db-wal", 3), write("a.db-journal", 4), write("other", 5),
		{Kind: Write, Name: "a.db", Data: make([]byte, 500), Failed: true},
		{Kind: Sync, Call: "fsync", Name: "a.db"}, {Kind: Sync, Call: "fdatasync", Name: "a.db"}, {Kind: Sync, Call: "fdatasync", Name: "a.db-wal"},
		{Kind: Sync, Call: "fdatasync", Name: "a.db-wal", Failed: true},
		{Kind: SyncDir, Call: "fsync", Name: "."}, {Kind: SyncDir, Call: "fdatasync", Name: "."},
		{Kind: Acknowledge, Number: 1},
		{Kind: Truncate, Name: "a.db"}, {Kind: Create, Name: "b.db"}, {Kind: Remove, Name: "b.db"}, {Kind: Rename, Name: "a.db"},
		{Kind: Map, Name: "a.db-shm", Data: make([]byte, 32768)}, write("a.db-shm", 7),
		{Kind: Acknowledge, Number: 2},
		write("a.db", 1000), {Kind: Sync, Call: "fsync", Name: "a.db"},
	}}
	want := Cost{Transactions: 2, Syncs: 1, DataSyncs: 2, DirSyncs: 2, Writes: 6, Bytes: 49, Files: map[string]FileCost{
		"database": {Syncs: 2, Writes: 2, Bytes: 30},
		"wal":      {Syncs: 1, Writes: 1, Bytes: 3},
		"journal":  {Writes: 1, Bytes: 4},
		"shm":      {Writes: 1, Bytes: 7},
		"other":    {Writes: 1, Bytes: 5},
	}}
	if got := tr.Cost(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestNoCost checks that a trace without transactions costs nothing.
func TestNoCost(t *testing.T) {
	write := Op{Kind: Write, Name: "a.db", Data: []byte("x")}
	want := Cost{Files: map[string]FileCost{}}
	for _, ops := range [][]Op{
		nil,
		{write},
		{write, {Kind: Acknowledge}, write},
	} {
		if got := (&Trace{Ops: ops}).Cost(); !reflect.DeepEqual(got, want) {
			t.Errorf("%d operations cost %+v", len(ops), got)
		}
	}
}

// TestFileKind checks which files of SQLite are of which kind.
func TestFileKind(t *testing.T) {
	for name, want := range map[string]string{
		"test.db": "database", "sub/test.db": "database", "test.db-wal": "wal", "test.db-journal": "journal", "test.db-shm": "shm",
		"test.db-mj5F3A7B9C9": "journal", "x-mj0/test.db": "database", "test.db.bak": "other", "": "other",
	} {
		if got := FileKind(name); got != want {
			t.Errorf("the kind of %q is %s, want %s", name, got, want)
		}
	}
}
