package record

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// TestFaults checks which calls fail, with which error, and that they fail only after the
// acknowledgment of transaction 0. A failed sync must be in the recording. Other failed calls must
// not be in it.
func TestFaults(t *testing.T) {
	usual := start(t, "faults", nil)
	usual.finish()
	for _, c := range []struct {
		name    string
		fault   Fault
		failing []string // what the program prints about calls that do not end as usual
		less    int      // how many calls of the class the recording lacks
		bytes   int      // how many written bytes the recording lacks
	}{
		{"once", Fault{Class: Writes, File: "database", At: 2, Error: EIO}, []string{"write database 2 -1 input/output error"}, 1, 8},
		{"of another file", Fault{Class: Writes, File: "wal", At: 1, Error: EIO}, nil, 0, 0},
		{"never reached", Fault{Class: Writes, File: "database", At: 5, Error: EIO}, nil, 0, 0},
		{"lasting", Fault{Class: Writes, File: "journal", At: 3, Error: ENOSPC, Lasting: true}, []string{
			"write journal 3 -1 no space left on device", "write journal 4 -1 no space left on device"}, 2, 16},
		{"short", Fault{Class: Writes, File: "database", At: 1, Error: ENOSPC, Short: true}, []string{
			"write database 1 4 <nil>", "write database 2 -1 no space left on device"}, 1, 12},
		{"short and lasting", Fault{Class: Writes, File: "database", At: 2, Error: ENOSPC, Short: true, Lasting: true}, []string{
			"write database 2 4 <nil>", "write database 3 -1 no space left on device", "write database 4 -1 no space left on device"}, 2, 20},
		{"fsync", Fault{Class: Syncs, File: "database", At: 3, Error: EIO}, []string{"sync database 3 0 input/output error"}, 1, 0},
		{"fdatasync", Fault{Class: Syncs, File: "journal", At: 3, Error: EIO, Lasting: true}, []string{
			"sync journal 3 0 input/output error", "sync journal 4 0 input/output error"}, 2, 0},
		{"ftruncate", Fault{Class: Truncates, File: "database", At: 4, Error: EIO}, []string{"truncate database 4 0 input/output error"}, 1, 0},
		{"unlink", Fault{Class: Removes, File: "journal", At: 4, Error: EIO}, []string{"remove journal 4 0 input/output error"}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, "faults", &c.fault)
			before, after, _ := strings.Cut(strings.Join(s.finish(), "\n"), "ack 0\n")
			if got := unusual(before); len(got) > 0 {
				t.Errorf("calls before the acknowledgment ended with %q", got)
			}
			if got := unusual(after); !slices.Equal(got, c.failing) {
				t.Errorf("calls ended with\n%q, want\n%q", got, c.failing)
			}
			if s.rec.Injected != len(c.failing) {
				t.Errorf("%d calls were made to fail, want %d", s.rec.Injected, len(c.failing))
			}
			all, _, allBytes := count(usual.rec.Ops, c.fault.Class)
			done, failed, bytes := count(s.rec.Ops, c.fault.Class)
			if all-done != c.less || allBytes-bytes != c.bytes {
				t.Errorf("the recording lacks %d calls and %d bytes, want %d and %d", all-done, allBytes-bytes, c.less, c.bytes)
			}
			if want := map[Class]int{Syncs: c.less}[c.fault.Class]; failed != want {
				t.Errorf("the recording has %d calls that failed, want %d", failed, want)
			}
		})
	}
}

// count counts the calls of a class that did not fail, all failed calls, and the bytes of all calls in a
// recording.
func count(ops []trace.Op, class Class) (done, failed, bytes int) {
	kind := map[Class]trace.Kind{Writes: trace.Write, Syncs: trace.Sync, Truncates: trace.Truncate, Removes: trace.Remove}[class]
	for i := range ops {
		o := &ops[i]
		switch {
		case o.Failed:
			failed++
		case o.Kind == kind:
			done++
		}
		bytes += len(o.Data)
	}
	return done, failed, bytes
}

// unusual returns the program's lines about calls that failed or wrote only a part.
func unusual(text string) (list []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		usual := " 0 <nil>"
		if strings.HasPrefix(line, "write") {
			usual = " 8 <nil>"
		}
		if !strings.HasSuffix(line, usual) {
			list = append(list, line)
		}
	}
	return list
}

// TestFaultInWords checks how a fault is described.
func TestFaultInWords(t *testing.T) {
	f := &Fault{Class: Writes, File: "wal", At: 3, Error: ENOSPC, Short: true, Lasting: true}
	if got, want := f.String(), "write of wal 3: ENOSPC, short, lasting"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
