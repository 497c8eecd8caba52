package stacks

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestGroup(t *testing.T) {
	const sqlite, mattn, ncruces = "modernc.org/sqlite", "github.com/mattn/go-sqlite3", "github.com/ncruces/go-sqlite3"
	worker, libc, kernel := "/cache/mattn-v1", "/usr/lib/libc.so.6", "[kernel.kallsyms]"
	in := func(object string, names ...string) (list []Frame) {
		for _, n := range names {
			list = append(list, Frame{n, object})
		}
		return list
	}
	for _, c := range []struct {
		name   string
		g      Grouper
		frames []Frame
		want   Group
	}{
		{"nothing", Grouper{}, nil, Unknown},
		{"no name", Grouper{}, in(worker, "[unknown]"), Unknown},
		{"modernc's SQLite", Grouper{Module: sqlite}, in("", "modernc.org/sqlite/lib._sqlite3VdbeExec"), SQLite},
		{"glebarez's SQLite", Grouper{Module: "github.com/glebarez/go-sqlite"}, in("", "modernc.org/sqlite/lib.Xsqlite3_step"), SQLite},
		{"ncruces' SQLite", Grouper{Module: ncruces}, in("", "github.com/ncruces/go-sqlite3-wasm/v6.(*Module).f123"), SQLite},
		{"the driver", Grouper{Module: sqlite}, in("", "modernc.org/sqlite.(*conn).columnText"), Driver},
		{"a driver's package", Grouper{Module: ncruces}, in("", "github.com/ncruces/go-sqlite3/vfs.vfsRead"), Driver},
		{"a driver's dependency", Grouper{Module: ncruces}, in("", "github.com/ncruces/julianday.Date"), Driver},
		{"database/sql", Grouper{Module: sqlite}, in("", "database/sql.convertAssignRows", "database/sql.(*Rows).Scan"), DatabaseSQL},
		{"its helper", Grouper{Module: sqlite}, in("", "strconv.ParseInt", "database/sql.convertAssignRows"), DatabaseSQL},
		{"memory of SQLite", Grouper{Module: sqlite}, in("", "runtime.memmove", "modernc.org/sqlite/lib._sqlite3VdbeExec"), SQLite},
		{"memory without a package", Grouper{Module: sqlite}, in("", "memeqbody", "modernc.org/sqlite/lib._sqlite3VdbeExec"), SQLite},
		{"type arguments", Grouper{Module: sqlite}, in("", "slices.pdqsort[go.shape.struct { a/b.C }]", "modernc.org/sqlite.(*rows).Next"), Driver},
		{"allocation", Grouper{Module: sqlite}, in("", "runtime.nextFreeFast", "runtime.mallocgc", "runtime.newobject", "modernc.org/sqlite.(*rows).Next"), Collection},
		{"collection", Grouper{Module: sqlite}, in("", "runtime.procyield", "runtime.lock2", "runtime.gcDrain", "runtime.gcBgMarkWorker"), Collection},
		{"scheduling", Grouper{Module: sqlite}, in("", "runtime.futex", "runtime.notesleep", "runtime.schedule", "runtime.park_m"), Runtime},
		{"a system call", Grouper{Module: sqlite}, in("", "internal/runtime/syscall/linux.Syscall6", "syscall.RawSyscall6", "syscall.Pread"), System},
		{"entering one", Grouper{Module: sqlite}, in("", "runtime.exitsyscall", "syscall.Syscall", "syscall.Pread"), System},
		{"modernc's libc", Grouper{Module: sqlite}, in("", "modernc.org/libc.Xmemcpy", "modernc.org/sqlite/lib._x"), CLibrary},
		{"the adapter", Grouper{Module: sqlite}, in("", "github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver.(*stmt).Query"), Ours},
		{"C by Go's profiler", Grouper{Module: mattn, Opaque: true}, in("", "runtime.cgocall", "github.com/mattn/go-sqlite3._Cfunc_sqlite3_step"), InC},
		{"the way to C by perf", Grouper{Module: mattn}, in(worker, "runtime.cgocall", "github.com/mattn/go-sqlite3._Cfunc_sqlite3_step"), Crossing},
		{"back from C", Grouper{Module: mattn}, in(worker, "runtime.exitsyscall", "runtime.cgocall", "github.com/mattn/go-sqlite3._Cfunc_x"), Crossing},
		{"cgo's wrapper", Grouper{Module: mattn}, in(worker, "_cgo_e780bd1fee59_Cfunc_sqlite3_step", "runtime.asmcgocall"), Crossing},
		{"SQLite in C", Grouper{Module: mattn}, in(worker, "columnMem", "sqlite3_column_type", "_cgo_1_Cfunc_x", "runtime.asmcgocall"), SQLite},
		{"a part of a function", Grouper{Module: mattn}, in(worker, "sqlite3VdbeExec.cold", "sqlite3_step"), SQLite},
		{"the driver's C", Grouper{Module: mattn}, in(worker, "_sqlite3_step_row_internal", "_cgo_1_Cfunc_x"), Driver},
		{"libc", Grouper{Module: mattn}, in(libc, "__memmove_avx"), CLibrary},
		{"the kernel", Grouper{Module: mattn}, append(in(kernel, "ext4_lookup", "do_syscall_64"), in(worker, "unixAccess", "sqlite3_step")...), System},
		{"a shared SQLite", Grouper{Module: "sqlite3"}, in("/usr/lib/libsqlite3.so.0.8.6", "btreeNext"), SQLite},
		{"another language", Grouper{Module: "sqlite3"}, in("/usr/bin/python3.11", "_PyEval_EvalFrameDefault"), Driver},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.g.Of(c.frames); got != c.want {
				t.Errorf("%v: %q, want %q", c.frames, got, c.want)
			}
		})
	}
}

// TestCLibrary checks functions of the C library that the SQLite of zombiezen, glebarez and
// modernc calls. They must be in the group of the C library, like mattn's libc. The stacks are
// from real profiles of the phase query of the workload real.
func TestCLibrary(t *testing.T) {
	for _, c := range []struct{ module, stack string }{
		{"modernc.org/sqlite", "modernc.org/libc.Xpthread_mutex_unlock modernc.org/sqlite/lib._pthreadMutexLeave modernc.org/sqlite/lib.Xsqlite3_mutex_leave modernc.org/sqlite/lib._columnMallocFailure"},
		{"modernc.org/sqlite", "modernc.org/libc.(*TLS).Alloc modernc.org/sqlite/lib._vdbeSorterCompare modernc.org/sqlite/lib._vdbeSorterMerge"},
		{"zombiezen.com/go/sqlite", "runtime.memmove modernc.org/libc.Xmemcpy modernc.org/sqlite/lib._sqlite3VdbeSorterWrite"},
		{"zombiezen.com/go/sqlite", "modernc.org/memory.(*Allocator).UintptrRealloc modernc.org/libc.Xrealloc modernc.org/sqlite/lib._sqlite3MemRealloc"},
		{"github.com/glebarez/go-sqlite", "modernc.org/memory.(*Allocator).newPage modernc.org/memory.(*Allocator).UintptrMalloc modernc.org/libc.Xrealloc"},
		{"github.com/glebarez/go-sqlite", "modernc.org/libc.X__fstat modernc.org/libc.Xfstat modernc.org/sqlite/lib._unixFileSize"},
		{"github.com/glebarez/go-sqlite", "modernc.org/libc.GoString github.com/glebarez/go-sqlite.(*conn).columnText"},
	} {
		var frames []Frame
		for name := range strings.FieldsSeq(c.stack) {
			frames = append(frames, Frame{Function: name})
		}
		if got := (Grouper{Module: c.module}).Of(frames); got != CLibrary {
			t.Errorf("%s: %s is in %q", c.module, frames[0].Function, got)
		}
	}
}

// TestGroupsDocumented checks that docs/profiling.md describes each group.
func TestGroupsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/profiling.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range Groups {
		if g != Unknown && !strings.Contains(string(text), "\n| "+string(g)+" | ") {
			t.Errorf("docs/profiling.md does not describe %q", g)
		}
		if g != Unknown && g.About() == Unknown.About() {
			t.Errorf("%q is not described", g)
		}
	}
}

func TestShort(t *testing.T) {
	for name, want := range map[string]string{
		"modernc.org/sqlite/lib._sqlite3Step":    "[lib._sqlite3Step _sqlite3Step]",
		"database/sql.(*Rows).Next":              "[sql.(*Rows).Next (*Rows).Next]",
		"a/b.(*T[c/d.E]).Method":                 "[b.(*T[c/d.E]).Method (*T[c/d.E]).Method]",
		"slices.Sort[go.shape.struct { a/b.C }]": "[slices.Sort[go.shape.struct { a/b.C }] Sort[go.shape.struct { a/b.C }]]",
		"runtime.mallocgc":                       "[runtime.mallocgc mallocgc]",
		"sqlite3VdbeExec.cold":                   "[]",
		"sqlite3VdbeExec":                        "[]",
		"memeqbody":                              "[]",
		"_cgo_e780bd1fee59_Cfunc_sqlite3_step":   "[]",
	} {
		if got := fmt.Sprint(Short(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestLayers(t *testing.T) {
	of := func(names ...string) []Stack {
		s := Stack{Samples: 1, Value: 10}
		for _, n := range names {
			s.Frames = append(s.Frames, Frame{Function: n})
		}
		return []Stack{s}
	}
	inGo := Layers(of("modernc.org/sqlite/lib._columnMem", "modernc.org/sqlite/lib.Xsqlite3_column_type", "modernc.org/sqlite.(*rows).Next"), Grouper{Module: "modernc.org/sqlite"})
	inC := Layers(of("columnMem", "sqlite3_column_type", "_cgo_1_Cfunc_x", "runtime.asmcgocall"), Grouper{Module: "github.com/mattn/go-sqlite3"})
	for _, l := range [][]Stack{inGo, inC} {
		var names []string
		for _, f := range l[0].Frames {
			names = append(names, f.Function)
		}
		if len(names) != 3 || names[0] != "SQLite" || names[1] != "sqlite3_column_type" || names[2] != "columnMem" {
			t.Errorf("%q", names)
		}
	}
}
