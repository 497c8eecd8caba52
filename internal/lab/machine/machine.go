// Package machine describes this machine and its noise. It warns if the machine or the noise makes a result
// doubtful.
package machine

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Read describes this machine and the file system of dir, the directory for databases. Fields
// that cannot be determined remain empty. The only possible error is that dir is not a
// directory. The field Cores counts logical cores.
func Read(dir string) (result.Machine, error) {
	m := result.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return m, fmt.Errorf("directory for databases: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return m, fmt.Errorf("directory for databases: %w", err)
	}
	if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
		return m, fmt.Errorf("directory for databases: %s is not a directory", dir)
	}
	m.Directory = abs
	m.Hostname, _ = os.Hostname()
	m.Kernel, _ = host.KernelVersion()
	m.Cores = runtime.NumCPU()
	if n, err := cpu.Counts(true); err == nil && n > 0 {
		m.Cores = n
	}
	if list, err := cpu.Info(); err == nil && len(list) > 0 {
		m.CPU = list[0].ModelName
	}
	if v, err := mem.VirtualMemory(); err == nil {
		m.MemoryBytes = int64(v.Total)
	}
	platform(&m, resolved)
	return m, nil
}

// Boot returns an identifier that changes when the machine is restarted. All processes on the machine get the
// same identifier, also in containers. Boot returns "" if no identifier is available.
func Boot() string {
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		return strings.TrimSpace(string(id))
	}
	name, err := os.Hostname()
	since, failed := exec.Command("sysctl", "kern.boottime").Output() // macOS and the BSDs have this value
	if words := strings.Fields(string(since)); err == nil && failed == nil && len(words) > 0 {
		return name + " " + strings.Join(words, " ")
	}
	return ""
}

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
