package machine

import (
	"fmt"
	"io/fs"
)

// Functions that tests call with test data.
var (
	Governor  = governor
	Virtual   = virtual
	Turbo     = turbo
	SMT       = smt
	Facts     = facts
	Quota     = quota
	OnBattery = onBattery

	MemoryLimit = memoryLimit
	Counters    = counters
)

// FileSystem returns the file system of a path according to the text of a mountinfo file.
func FileSystem(mountinfo, path string) (kind, device string, syncFree bool) {
	list := parseMounts(mountinfo)
	if m := list.of(path); m != nil {
		return m.kind, m.device, list.syncFree(m)
	}
	return "", "", false
}

// Steal returns the stolen share of CPU time between two states of /proc, or -1 if it is not
// known.
func Steal(before, after fs.FS) float64 {
	a, ok := readCPUTime(before)
	b, ok2 := readCPUTime(after)
	if !ok || !ok2 {
		return -1
	}
	return stolen(a, b)
}

// Counted returns the counters of the disk with this device number.
func Counted(root fs.FS, number string) string {
	c, ok := findDevice(root, number).counted()
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%d writes, %d flushes", c.writes, c.flushes)
}
