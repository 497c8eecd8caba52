package machine

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// platform adds to m the facts that only Linux reports. dir is a path without symbolic links.
func platform(m *result.Machine, dir string) {
	root := os.DirFS("/")
	m.Governor = governor(root)
	m.Turbo = turbo(root)
	m.SMT = smt(root)
	m.Virtual = virtual(root)
	if text := read(root, "proc/self/mountinfo"); text != "" {
		mounts := parseMounts(text)
		if at := mounts.of(dir); at != nil {
			m.FileSystem, m.Device, m.SyncFree = at.kind, at.device, mounts.syncFree(at)
		}
	}
}

// read returns the text of a file without surrounding white space and NULs, or "" if it
// cannot be read.
func read(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.Trim(string(b), " \t\n\x00")
}

// governor returns the name of the CPUs' frequency governor. If CPUs differ, it returns
// several names.
func governor(root fs.FS) string {
	files, _ := fs.Glob(root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
	var names []string
	for _, f := range files {
		if g := read(root, f); g != "" && !slices.Contains(names, g) {
			names = append(names, g)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// makers are words in the DMI names of virtual machines. They identify virtual machines whose CPU flags do not
// include the flag "hypervisor".
var makers = []string{
	"KVM", "QEMU", "VMware", "VirtualBox", "Virtual Machine", "Xen", "Bochs", "Parallels", "BHYVE",
	"Apple Virtualization", "Google Compute Engine", "OpenStack",
}

// virtual returns the name of the hypervisor, or "" if none is found. Containers do not
// count, because they share the machine's kernel and clock.
func virtual(root fs.FS) string {
	name := strings.TrimSpace(read(root, "sys/class/dmi/id/sys_vendor") + " " + read(root, "sys/class/dmi/id/product_name"))
	if slices.ContainsFunc(makers, func(m string) bool { return strings.Contains(name, m) }) {
		return name
	}
	for _, file := range []string{"sys/hypervisor/type", "proc/device-tree/hypervisor/compatible"} {
		if h := read(root, file); h != "" {
			return h
		}
	}
	for line := range strings.Lines(read(root, "proc/cpuinfo")) {
		key, flags, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "flags" && slices.Contains(strings.Fields(flags), "hypervisor") {
			if name == "" {
				return "unknown hypervisor"
			}
			return name
		}
	}
	return ""
}

// mount is a line of /proc/self/mountinfo; see proc_pid_mountinfo(5).
type mount struct {
	point, kind, device string
	number              string   // major:minor of the device
	options             []string // options of the file system
}

type mounts []mount

func parseMounts(mountinfo string) mounts {
	var list mounts
	for line := range strings.Lines(mountinfo) {
		front, back, ok := strings.Cut(line, " - ")
		f, b := strings.Fields(front), strings.Fields(back)
		if !ok || len(f) < 5 || len(b) < 3 {
			continue
		}
		list = append(list, mount{unescape.Replace(f[4]), b[0], unescape.Replace(b[1]), f[2], strings.Split(unescape.Replace(b[2]), ",")})
	}
	return list
}

// unescape decodes the kernel's escape sequences in a field of /proc/self/mountinfo.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#")

// list.of(path) returns the mount that contains an absolute path. This is the mount with the longest mount
// point that is a prefix of the path. If several mounts have that mount point, it is the last of them,
// because the last mount hides the others.
func (list mounts) of(path string) *mount {
	var best *mount
	for i := range list {
		m := &list[i]
		below := strings.TrimSuffix(m.point, "/") + "/"
		if (path == m.point || strings.HasPrefix(path, below)) && (best == nil || len(m.point) >= len(best.point)) {
			best = m
		}
	}
	return best
}

// syncFree reports whether it is certain that fsync on the mount m reaches no device.
func (list mounts) syncFree(m *mount) bool {
	switch m.kind {
	case "tmpfs", "ramfs", "devtmpfs", "rootfs":
		return true
	case "overlay":
		if slices.Contains(m.options, "volatile") {
			return true
		}
		for _, o := range m.options {
			// A container usually cannot see the upper directory of its overlay. The path of that
			// directory then seems to be on the overlay itself.
			if dir, ok := strings.CutPrefix(o, "upperdir="); ok {
				upper := list.of(dir)
				return upper != nil && upper.kind != "overlay" && list.syncFree(upper)
			}
		}
	}
	return false
}
