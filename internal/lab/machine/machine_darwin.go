package machine

import (
	"golang.org/x/sys/unix"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// platform adds to m the facts that only macOS reports.
func platform(m *result.Machine, dir string) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err == nil {
		m.FileSystem = unix.ByteSliceToString(s.Fstypename[:])
		m.Device = unix.ByteSliceToString(s.Mntfromname[:])
		m.SyncFree = m.FileSystem == "tmpfs"
	}
	if v, err := unix.SysctlUint32("kern.hv_vmm_present"); err == nil && v != 0 {
		m.Virtual = "unknown hypervisor"
	}
}
