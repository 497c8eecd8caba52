package machine

import (
	"math"

	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/mem"
)

// Room returns how many bytes of memory are available, and how many bytes can be written to the file system
// of a directory. If one of the two numbers is not known, the greatest possible number is returned for it.
func Room(dir string) (memory, room uint64) {
	memory, room = math.MaxUint64, math.MaxUint64
	if v, err := mem.VirtualMemory(); err == nil {
		memory = v.Available
	}
	if limit := memoryCap(); limit != nil {
		memory = min(memory, uint64(max(0, *limit)))
	}
	if u, err := disk.Usage(dir); err == nil {
		room = u.Free
	}
	return memory, room
}
