package stacks

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Group is a part of a worker that time is spent in.
type Group string

// The groups, in the order in which they are listed.
const (
	SQLite      Group = "SQLite"
	InC         Group = "in C" // SQLite and the driver's C, which Go's profiler cannot tell apart
	CLibrary    Group = "C library"
	Driver      Group = "driver"
	DatabaseSQL Group = "database/sql"
	Crossing    Group = "cgo crossing"
	Collection  Group = "garbage collection"
	Runtime     Group = "Go runtime, other"
	System      Group = "system"
	Ours        Group = "sqlite3perf"
	Unknown     Group = "unknown"
)

// Groups lists all groups.
var Groups = []Group{SQLite, InC, CLibrary, Driver, DatabaseSQL, Crossing, Collection, Runtime, System, Ours, Unknown}

var about = map[Group]string{
	SQLite:      "SQLite itself: C, or what was translated from it",
	InC:         "SQLite and the driver's C, which Go's profiler cannot tell apart",
	CLibrary:    "mutexes, memory and more that SQLite calls: libc, or modernc.org/libc in Go",
	Driver:      "the driver's library, and what it links",
	DatabaseSQL: "Go's package database/sql",
	Crossing:    "calls from Go to C and back",
	Collection:  "allocating and collecting memory",
	Runtime:     "scheduling, maps, channels, conversions",
	System:      "system calls and the kernel",
	Ours:        "the adapter and the engine of sqlite3perf",
}

// About describes a group.
func (g Group) About() string { return cmp.Or(about[g], "stacks without a name that is known") }

// ours is the path that the packages of sqlite3perf begin with.
const ours = "github.com/sqlite3perf/sqlite3perf"

// Grouper assigns stacks of one driver's worker to groups.
type Grouper struct {
	Module string // the path of the driver's library
	Opaque bool   // C is seen only as a call from Go
}

// Of returns the group of a stack. It is that of the innermost function, except that Go's
// standard library, and memory that is copied or compared, belong to their caller.
func (g Grouper) Of(frames []Frame) Group {
	for i, f := range frames {
		if group := g.frame(frames[i:], f); group != "" {
			return group
		}
	}
	return Unknown
}

// frame returns the group of the first frame of a stack, or "" if it belongs to its
// caller.
func (g Grouper) frame(frames []Frame, f Frame) Group {
	if f.Function == "" || f.Function == "[unknown]" {
		return ""
	}
	object := path.Base(f.Object)
	switch {
	case strings.HasPrefix(f.Object, "[") && f.Object != "[unknown]": // [kernel.kallsyms], a module, [vdso]
		return System
	case hasAnyPrefix(object, "libc.", "libc-", "ld-", "ld.", "libm.", "libpthread", "libdl"):
		return CLibrary
	case hasAnyPrefix(object, "libsqlite3"):
		return SQLite
	}
	if pkg, ok := goPackage(f.Function); ok {
		return g.ofGo(frames, pkg)
	}
	return g.ofC(frames, f.Function)
}

// ofC groups a function that is not Go's. SQLite's own functions have any name, but are
// below one whose name begins with sqlite3.
func (g Grouper) ofC(frames []Frame, name string) Group {
	if hasAnyPrefix(name, "_cgo_", "x_cgo_", "crosscall") {
		return Crossing
	}
	if slices.Contains(assembly, name) {
		return Runtime
	}
	for _, f := range frames {
		if _, isGo := goPackage(f.Function); isGo {
			break
		}
		if strings.HasPrefix(f.Function, "sqlite3") {
			return SQLite
		}
	}
	return Driver
}

// assembly are functions of the Go runtime whose names have no package.
var assembly = []string{"gogo", "callRet", "setg_gcc", "gosave_systemstack_switch", "debugCall32"}

// memory are functions of the Go runtime that copy or compare memory for their caller, or
// that interrupt it.
var memory = []string{
	"memeqbody", "cmpbody", "indexbytebody", "countbody", "aeshashbody",
	"runtime.memmove", "runtime.typedmemmove", "runtime.asyncPreempt", "runtime.asyncPreempt2", "runtime.memclrNoHeapPointers", "runtime.memequal", "runtime.memequal_varlen", "runtime.duffcopy", "runtime.duffzero",
}

func (g Grouper) ofGo(frames []Frame, pkg string) Group {
	name := frames[0].Function
	switch {
	case slices.Contains(memory, name):
		return ""
	case g.Opaque && slices.Contains([]string{"runtime.cgocall", "runtime.asmcgocall", "runtime._ExternalCode"}, name):
		return InC
	case name == "runtime._System" || name == "runtime._VDSO":
		return System
	case below(pkg, "runtime") || below(pkg, "internal/runtime") && !below(pkg, "internal/runtime/syscall"):
		return ofRuntime(frames)
	case below(pkg, "syscall"), below(pkg, "internal/runtime/syscall"), below(pkg, "golang.org/x/sys"), below(pkg, "internal/poll"), below(pkg, "internal/syscall"), pkg == "os":
		return System
	case below(pkg, "modernc.org/libc"), below(pkg, "modernc.org/memory"):
		return CLibrary
	case below(pkg, "modernc.org/sqlite/lib"), below(pkg, "github.com/ncruces/go-sqlite3-wasm"):
		return SQLite
	case below(pkg, "database/sql"):
		return DatabaseSQL
	case below(pkg, g.Module):
		return Driver
	case pkg == "main", below(pkg, ours):
		return Ours
	case !strings.Contains(strings.SplitN(pkg, "/", 2)[0], "."): // the standard library
		return ""
	}
	return Driver
}

// ofRuntime groups a stack that begins in the Go runtime, by all its functions up to the
// first one outside.
func ofRuntime(frames []Frame) Group {
	group := Runtime
	for i, f := range frames {
		pkg, _ := goPackage(f.Function)
		if !below(pkg, "runtime") && !below(pkg, "internal/runtime") {
			if group == Runtime && i > 0 && strings.HasSuffix(frames[i-1].Function, "syscall") && !below(pkg, "internal/runtime") {
				return System // entering a system call, or coming back from one
			}
			break
		}
		name := strings.TrimPrefix(f.Function, "runtime.")
		switch {
		case hasAnyPrefix(name, collecting...) || below(pkg, "internal/runtime/gc"):
			return Collection
		case hasAnyPrefix(name, "cgo", "asmcgocall", "syscall.cgocaller"):
			group = Crossing
		}
	}
	return group
}

// collecting begins the names of the runtime's functions that allocate and collect.
var collecting = []string{
	"_GC", "gc", "bgsweep", "bgscavenge", "sweep", "mark", "scan", "grey", "wbBuf", "wbMove", "wbZero", "malloc", "newobject", "newarray",
	"makeslice", "growslice", "rawbyteslice", "rawstring", "heapBits", "heapSetType", "writeHeapBits", "nextFreeFast", "deduct", "findObject", "spanOf", "bulkBarrier",
	"typeBitsBulkBarrier", "typePointers", "(*mheap)", "(*mspan)", "(*mcache)", "(*mcentral)", "(*gcWork)", "(*gcBits)", "(*gcControllerState)",
	"(*gcCPULimiterState)", "(*sweepLocked)", "(*sweepLocker)", "(*pageAlloc)", "(*scavengerState)", "(*limiterEvent)", "(*lfstack)", "(*spanSet)",
	"(*activeSweep)", "getempty", "putempty", "putfull", "trygetfull", "handoff", "tryDeferToSpanScan", "(*spanInlineMarkBits)",
}

// goPackage returns the path of the package of a function of Go. C compilers put a point
// only before the name of a part of a function.
func goPackage(name string) (string, bool) {
	name, _, _ = strings.Cut(name, "[") // type arguments have paths of their own
	slash := strings.LastIndexByte(name, '/') + 1
	if i := strings.IndexByte(name, '('); i >= 0 && i < slash {
		slash = strings.LastIndexByte(name[:i], '/') + 1
	}
	pkg, rest, ok := strings.Cut(name[slash:], ".")
	if !ok || pkg == "" || slash == 0 && hasAnyPrefix(rest, "isra", "part", "constprop", "cold", "lto_priv", "llvm") {
		// assembly without a package is the runtime's if it is in the list
		return "runtime", slices.Contains(memory, name)
	}
	return strings.ReplaceAll(name[:slash]+pkg, "%2e", "."), true
}

// Short returns shorter names of a function of Go, the longest first: without the path of
// its package, and without the package. A function of C has none.
func Short(function string) []string {
	if _, isGo := goPackage(function); !isGo {
		return nil
	}
	path, _, _ := strings.Cut(function, "[") // type arguments have paths of their own
	path, _, _ = strings.Cut(path, "(")
	name := function[strings.LastIndexByte(path, '/')+1:]
	_, own, ok := strings.Cut(name, ".")
	if !ok {
		return nil
	}
	return []string{name, own}
}

// below reports whether a package is the one at the path, or below it.
func below(pkg, at string) bool {
	return at != "" && (pkg == at || strings.HasPrefix(pkg, at+"/"))
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
