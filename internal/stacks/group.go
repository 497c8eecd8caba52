package stacks

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Group is a part of a worker in which time is spent.
type Group string

// The groups, in the order in which reports list them.
const (
	SQLite      Group = "SQLite"
	InC         Group = "in C" // SQLite and the driver's C code, which Go's profiler cannot distinguish
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

var Groups = []Group{SQLite, InC, CLibrary, Driver, DatabaseSQL, Crossing, Collection, Runtime, System, Ours, Unknown}

var about = map[Group]string{
	SQLite:      "SQLite itself: C, or code that was translated from it",
	InC:         "SQLite and the driver's C, which Go's profiler cannot tell apart",
	CLibrary:    "mutexes, memory and more that SQLite calls: libc, or modernc.org/libc in Go",
	Driver:      "the driver's library, and the packages that it links",
	DatabaseSQL: "Go's package database/sql",
	Crossing:    "calls from Go to C and back",
	Collection:  "allocating and collecting memory",
	Runtime:     "scheduling, maps, channels, conversions",
	System:      "system calls and the kernel",
	Ours:        "the adapter and the engine of sqlite3perf",
}

// About describes the group in words.
func (g Group) About() string { return cmp.Or(about[g], "stacks without a name that is known") }

// ours is the path of sqlite3perf's module. The paths of its packages begin with it.
const ours = "github.com/sqlite3perf/sqlite3perf"

// Grouper assigns the stacks of one driver's worker to groups.
type Grouper struct {
	Module string // module path of the driver's library
	Opaque bool   // true if stacks are from Go's profiler: they contain the call from Go to C, but no C functions
}

// Of returns the group of a stack. That is the group of its innermost function. Functions of
// Go's standard library, and functions that copy or compare memory, belong to the group of
// their caller.
func (g Grouper) Of(frames []Frame) Group {
	for i, f := range frames {
		if group := g.frame(frames[i:], f); group != "" {
			return group
		}
	}
	return Unknown
}

// frame returns the group of the function f, which is the first element of the parameter "frames". It returns
// "" if f belongs to the group of its caller.
func (g Grouper) frame(frames []Frame, f Frame) Group {
	if f.Function == "" || f.Function == "[unknown]" {
		return ""
	}
	object := path.Base(f.Object)
	switch {
	case strings.HasPrefix(f.Object, "[") && f.Object != "[unknown]": // such as [kernel.kallsyms], a kernel module, or [vdso]
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

// ofC returns the group of a function that is not written in Go. SQLite's internal functions
// can have any name, but one of their callers has a name that begins with sqlite3.
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

// assembly has functions of the Go runtime whose names have no package.
var assembly = []string{"gogo", "callRet", "setg_gcc", "gosave_systemstack_switch", "debugCall32"}

// memory has functions of the Go runtime that copy or compare memory for their caller, or that
// interrupt their caller.
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
	case !strings.Contains(strings.SplitN(pkg, "/", 2)[0], "."): // a package of the standard library
		return ""
	}
	return Driver
}

// ofRuntime returns the group of a stack whose innermost function is in the Go runtime. The group
// depends on all functions of the runtime up to the first caller outside the runtime.
func ofRuntime(frames []Frame) Group {
	group := Runtime
	for i, f := range frames {
		pkg, _ := goPackage(f.Function)
		if !below(pkg, "runtime") && !below(pkg, "internal/runtime") {
			if group == Runtime && i > 0 && strings.HasSuffix(frames[i-1].Function, "syscall") && !below(pkg, "internal/runtime") {
				return System // entering a system call, or returning from it
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

// collecting has prefixes of the names of the runtime's functions that allocate memory and
// collect garbage.
var collecting = []string{
	"_GC", "gc", "bgsweep", "bgscavenge", "sweep", "mark", "scan", "grey", "wbBuf", "wbMove", "wbZero", "malloc", "newobject", "newarray",
	"makeslice", "growslice", "rawbyteslice", "rawstring", "heapBits", "heapSetType", "writeHeapBits", "nextFreeFast", "deduct", "findObject", "spanOf", "bulkBarrier",
	"typeBitsBulkBarrier", "typePointers", "(*mheap)", "(*mspan)", "(*mcache)", "(*mcentral)", "(*gcWork)", "(*gcBits)", "(*gcControllerState)",
	"(*gcCPULimiterState)", "(*sweepLocked)", "(*sweepLocker)", "(*pageAlloc)", "(*scavengerState)", "(*limiterEvent)", "(*lfstack)", "(*spanSet)",
	"(*activeSweep)", "getempty", "putempty", "putfull", "trygetfull", "handoff", "tryDeferToSpanScan", "(*spanInlineMarkBits)",
}

// goPackage returns the path of the package of a Go function. It returns false for functions in other
// languages. A dot in a name means a Go function, because compilers write a dot into the name of a C
// function only before a suffix such as .cold.
func goPackage(name string) (string, bool) {
	name, _, _ = strings.Cut(name, "[") // type arguments contain paths, too
	slash := strings.LastIndexByte(name, '/') + 1
	if i := strings.IndexByte(name, '('); i >= 0 && i < slash {
		slash = strings.LastIndexByte(name[:i], '/') + 1
	}
	pkg, rest, ok := strings.Cut(name[slash:], ".")
	if !ok || pkg == "" || slash == 0 && hasAnyPrefix(rest, "isra", "part", "constprop", "cold", "lto_priv", "llvm") {
		// Without a package, the name belongs to a function in C or assembly. Such a function is
		// part of the Go runtime only if it is in the list "memory".
		return "runtime", slices.Contains(memory, name)
	}
	return strings.ReplaceAll(name[:slash]+pkg, "%2e", "."), true
}

// Short returns shorter names of a Go function, the longest first: without the path of its
// package, and without its package. For a C function it returns nil.
func Short(function string) []string {
	if _, isGo := goPackage(function); !isGo {
		return nil
	}
	path, _, _ := strings.Cut(function, "[") // type arguments contain paths, too
	path, _, _ = strings.Cut(path, "(")
	name := function[strings.LastIndexByte(path, '/')+1:]
	_, own, ok := strings.Cut(name, ".")
	if !ok {
		return nil
	}
	return []string{name, own}
}

// The function "below" reports whether a package has the path in the parameter "at", or a path
// below it.
func below(pkg, at string) bool {
	return at != "" && (pkg == at || strings.HasPrefix(pkg, at+"/"))
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
