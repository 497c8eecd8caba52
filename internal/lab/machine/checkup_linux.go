package machine

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// examine adds to c the facts that only Linux reports. It returns the block device that contains
// dir.
func examine(c *result.Checkup, dir string) blockDevice {
	root := os.DirFS("/")
	facts(c, root)
	c.Counters = counters(countInstructions())
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return blockDevice{}
	}
	if at := parseMounts(read(root, "proc/self/mountinfo")).of(resolved); at != nil {
		return findDevice(root, at.number)
	}
	return blockDevice{}
}

// facts adds to c the facts found in /proc and /sys.
func facts(c *result.Checkup, root fs.FS) {
	c.Quota = quota(root)
	c.MemoryLimitBytes = memoryLimit(root)
	c.OnBattery = onBattery(root)
	c.CPUPressure = pressure(root, "cpu")
	c.IOPressure = pressure(root, "io")
	c.MemoryPressure = pressure(root, "memory")
	c.Clock.Source = read(root, "sys/devices/system/clocksource/clocksource0/current_clocksource")
}

// countInstructions tries to open the instruction counter that workers use.
func countInstructions() error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_INSTRUCTIONS,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Bits: unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// counters translates an error of countInstructions to a value for result.Checkup.Counters; see
// perf_event_open(2).
func counters(err error) string {
	switch {
	case err == nil:
		return result.CountersUsable
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return result.CountersDenied
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOSYS):
		return result.CountersNone
	}
	return ""
}

func usableCores() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err == nil {
		return set.Count()
	}
	return runtime.NumCPU()
}

// switched reads a file that contains 1 or 0. It returns the parameter "one" if the file contains 1, and the
// parameter "zero" if the file contains 0. Otherwise it returns "".
func switched(root fs.FS, name, one, zero string) string {
	switch read(root, name) {
	case "1":
		return one
	case "0":
		return zero
	}
	return ""
}

// turbo reports whether the clock rate may be boosted. Most of Linux's frequency drivers have the file
// "boost"; the driver intel_pstate has the file "no_turbo" instead.
func turbo(root fs.FS) string {
	if s := switched(root, "sys/devices/system/cpu/cpufreq/boost", result.On, result.Off); s != "" {
		return s
	}
	return switched(root, "sys/devices/system/cpu/intel_pstate/no_turbo", result.Off, result.On)
}

// smt reports whether a core runs several threads at the same time.
func smt(root fs.FS) string {
	return switched(root, "sys/devices/system/cpu/smt/active", result.On, result.Off)
}

// pressure returns the fraction of the last 10 seconds in which some process waited for the resource (cpu, io
// or memory). It returns nil if that is not known. See https://docs.kernel.org/accounting/psi.html.
func pressure(root fs.FS, resource string) *float64 {
	for line := range strings.Lines(read(root, "proc/pressure/"+resource)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "some" {
			continue
		}
		if text, ok := strings.CutPrefix(f[1], "avg10="); ok {
			if percent, err := strconv.ParseFloat(text, 64); err == nil {
				return new(percent / 100)
			}
		}
	}
	return nil
}

// groups returns the directories of this process's control group and of its parent groups. The result v1 has
// the directories of version 1 for the given controller. The result v2 has the directories of version 2,
// which has the same directories for all controllers.
func groups(root fs.FS, controller string) (v1, v2 []string) {
	for line := range strings.Lines(read(root, "proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		for group := path.Clean(f[2]); ; group = path.Dir(group) {
			switch {
			case f[1] == "":
				v2 = append(v2, path.Join("sys/fs/cgroup", group))
			case slices.Contains(strings.Split(f[1], ","), controller):
				v1 = append(v1, path.Join("sys/fs/cgroup", f[1], group))
			}
			if group == "/" {
				break
			}
		}
	}
	return v1, v2
}

// quota returns how much CPU time the process's control group may use, as a number of cores. 0 means that
// there is no limit, and nil that the limit is not known. Parent groups count too, because they can be
// stricter. See cpu.max in https://docs.kernel.org/admin-guide/cgroup-v2.html, and for version 1
// https://docs.kernel.org/scheduler/sched-bwc.html.
func quota(root fs.FS) *float64 {
	var least *float64
	limit := func(quota, period string) {
		v := 0.0
		if q, err := strconv.ParseFloat(quota, 64); err == nil && q > 0 {
			p, err := strconv.ParseFloat(period, 64)
			if err != nil || p <= 0 {
				return
			}
			v = q / p
		} else if quota != "max" && quota != "-1" {
			return
		}
		if least == nil || *least == 0 || v > 0 && v < *least {
			least = &v
		}
	}
	v1, v2 := groups(root, "cpu")
	for _, dir := range v1 {
		limit(read(root, dir+"/cpu.cfs_quota_us"), read(root, dir+"/cpu.cfs_period_us"))
	}
	for _, dir := range v2 {
		if w := strings.Fields(read(root, dir+"/cpu.max")); len(w) == 2 {
			limit(w[0], w[1])
		}
	}
	// In version 2 of control groups, the root group has no file cpu.max, and no limit.
	if least == nil && slices.Contains(strings.Fields(read(root, "sys/fs/cgroup/cgroup.controllers")), "cpu") {
		least = new(float64)
	}
	return least
}

// memoryLimit returns how many bytes of memory this process's control group may use, or nil
// if it finds no limit. Version 1 of control groups expresses "no limit" as a huge number.
func memoryLimit(root fs.FS) *int64 {
	var least *int64
	v1, v2 := groups(root, "memory")
	for name, dirs := range map[string][]string{"memory.limit_in_bytes": v1, "memory.max": v2} {
		for _, dir := range dirs {
			if n, err := strconv.ParseInt(read(root, dir+"/"+name), 10, 64); err == nil && n < 1<<60 && (least == nil || n < *least) {
				least = &n
			}
		}
	}
	return least
}

// memoryCap returns how many bytes of memory this process's control group may use, or nil if it
// finds no limit.
func memoryCap() *int64 { return memoryLimit(os.DirFS("/")) }

// onBattery reports whether the machine runs without mains power. It returns nil if Linux
// lists no mains supply.
func onBattery(root fs.FS) *bool {
	files, _ := fs.Glob(root, "sys/class/power_supply/*/type")
	var without *bool
	for _, f := range files {
		if read(root, f) != "Mains" {
			continue
		}
		off := read(root, path.Join(path.Dir(f), "online")) == "0"
		if without == nil || !off {
			without = &off
		}
	}
	return without
}

// tick is the unit of times in /proc/stat: 1/USER_HZ, which is 10 ms on every Linux platform
// that Go runs on.
const tick = time.Second / 100

// readCPUTime reads the first line of /proc/stat; see proc_stat(5). ok is false if the line
// has no steal time.
func readCPUTime(root fs.FS) (t CPUTime, ok bool) {
	line, _, _ := strings.Cut(read(root, "proc/stat"), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return t, false
	}
	for i, text := range f[1:9] { // fields: user nice system idle iowait irq softirq steal
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return t, false
		}
		spent := time.Duration(n) * tick
		switch i {
		case 0, 1:
			t.User += spent
		case 3, 4: // idle and iowait
			continue
		case 7:
			t.Stolen = spent
		}
		t.Worked += spent
	}
	return t, true
}

// ReadCPUTime returns the CPU time of the machine. ok is false if it cannot be read.
func ReadCPUTime() (t CPUTime, ok bool) { return readCPUTime(os.DirFS("/")) }

// blockDevice is a disk. The zero value means that the disk is not known.
type blockDevice struct {
	root fs.FS
	dir  string // directory of the disk below /sys/block
}

// findDevice returns the disk with this device number. For the number of a partition it
// returns the partition's disk, because partitions do not count flushes.
func findDevice(root fs.FS, number string) blockDevice {
	for _, pattern := range []string{"sys/block/*/dev", "sys/block/*/*/dev"} {
		files, _ := fs.Glob(root, pattern)
		for _, f := range files {
			if read(root, f) == number {
				return blockDevice{root, path.Join("sys/block", strings.Split(f, "/")[2])}
			}
		}
	}
	return blockDevice{}
}

// counted reads the disk's counters of writes and flushes. See
// https://docs.kernel.org/admin-guide/iostats.html, fields 5 and 16. Linux before 5.5 does
// not count flushes, which are then 0.
func (d blockDevice) counted() (c ioCounts, ok bool) {
	if d.root == nil {
		return c, false
	}
	f := strings.Fields(read(d.root, d.dir+"/stat"))
	if len(f) < 11 {
		return c, false
	}
	var err error
	if c.writes, err = strconv.ParseInt(f[4], 10, 64); err != nil {
		return c, false
	}
	if len(f) > 15 {
		c.flushes, err = strconv.ParseInt(f[15], 10, 64)
	}
	return c, err == nil
}
