package machine_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
)

const mountinfo = `22 28 0:21 / /proc rw,nosuid - proc proc rw
28 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard
30 28 0:26 / /tmp rw shared:3 master:1 - tmpfs tmpfs rw,size=1024k
31 28 254:2 / /home rw - xfs /dev/mapper/home rw
32 31 254:3 / /home/my\040disk rw - ext4 /dev/disk\040one rw
33 28 254:4 / /mnt/twice rw - ext4 /dev/vdb rw
34 33 0:40 / /mnt/twice rw - tmpfs over rw
40 28 0:50 / /over/disk rw - overlay overlay rw,lowerdir=/home/l,upperdir=/home/u,workdir=/home/w
41 28 0:51 / /over/memory rw - overlay overlay rw,lowerdir=/home/l,upperdir=/tmp/u,workdir=/tmp/w
42 28 0:52 / /over/volatile rw - overlay overlay rw,lowerdir=/home/l,upperdir=/home/u,workdir=/home/w,volatile
43 28 0:53 / /over/hidden rw - overlay overlay rw,lowerdir=/over/hidden/l,upperdir=/over/hidden/u
44 28 0:54 / /over/readonly ro - overlay overlay ro,lowerdir=/tmp/l
a line that is none
`

func TestFileSystem(t *testing.T) {
	for _, c := range []struct {
		path, kind, device string
		syncFree           bool
	}{
		{"/", "ext4", "/dev/vda1", false},
		{"/var/lib", "ext4", "/dev/vda1", false},
		{"/tmp", "tmpfs", "tmpfs", true},
		{"/tmp/a/b", "tmpfs", "tmpfs", true},
		{"/tmpfiles", "ext4", "/dev/vda1", false}, // the path is not below /tmp
		{"/home/me", "xfs", "/dev/mapper/home", false},
		{"/home/my disk/db", "ext4", "/dev/disk one", false},
		{"/mnt/twice/db", "tmpfs", "over", true},
		{"/over/disk/db", "overlay", "overlay", false},
		{"/over/memory/db", "overlay", "overlay", true},
		{"/over/volatile/db", "overlay", "overlay", true},
		{"/over/hidden/db", "overlay", "overlay", false},
		{"/over/readonly/db", "overlay", "overlay", false},
	} {
		kind, device, free := machine.FileSystem(mountinfo, c.path)
		if kind != c.kind || device != c.device || free != c.syncFree {
			t.Errorf("%s: got %s on %s, sync free %v; want %s on %s, %v", c.path, kind, device, free, c.kind, c.device, c.syncFree)
		}
	}
	if kind, _, _ := machine.FileSystem("", "/"); kind != "" {
		t.Errorf("file system without any mounts: %s", kind)
	}
}

// TestReadAgainstStatfs checks that Read and the kernel agree on which file systems are
// tmpfs.
func TestReadAgainstStatfs(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/dev/shm", link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/", "/dev", "/dev/shm", "/tmp", "/proc", t.TempDir(), link} {
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil {
			continue // not every system has all of these directories
		}
		m, err := machine.Read(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		inMemory := m.FileSystem == "tmpfs" || m.FileSystem == "devtmpfs"
		if inMemory != (s.Type == unix.TMPFS_MAGIC) || inMemory != m.SyncFree {
			t.Errorf("%s: %s, sync free %v; statfs says type %#x", dir, m.FileSystem, m.SyncFree, s.Type)
		}
	}
}

func TestGovernor(t *testing.T) {
	cpu := func(n, g string) (string, *fstest.MapFile) {
		return "sys/devices/system/cpu/cpu" + n + "/cpufreq/scaling_governor", &fstest.MapFile{Data: []byte(g + "\n")}
	}
	root := fstest.MapFS{"sys/devices/system/cpu/cpufreq/other": {}}
	if g := machine.Governor(root); g != "" {
		t.Errorf("without any governor: %q", g)
	}
	for _, n := range []string{"0", "1", "10"} {
		name, file := cpu(n, "powersave")
		root[name] = file
	}
	if g := machine.Governor(root); g != "powersave" {
		t.Errorf("with one kind of governor: %q", g)
	}
	name, file := cpu("2", "performance")
	root[name] = file
	if g := machine.Governor(root); g != "performance, powersave" {
		t.Errorf("with two kinds of governors: %q", g)
	}
}

func TestVirtual(t *testing.T) {
	const (
		vendor  = "sys/class/dmi/id/sys_vendor"
		product = "sys/class/dmi/id/product_name"
		cpuinfo = "proc/cpuinfo"
		guest   = "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n"
	)
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing known", nil, ""},
		{"hardware", map[string]string{vendor: "LENOVO\n", product: "20XW\n", cpuinfo: "flags\t: fpu vme lahf_lm\n"}, ""},
		{"hardware that is named after a guest's flag", map[string]string{cpuinfo: "model name\t: hypervisor\nflags\t: fpu\n"}, ""},
		{"flag alone", map[string]string{cpuinfo: guest}, "unknown hypervisor"},
		{"flag and name", map[string]string{vendor: "Amazon EC2\n", product: "m5.large\n", cpuinfo: guest}, "Amazon EC2 m5.large"},
		{"metal of the same maker", map[string]string{vendor: "Amazon EC2\n", product: "m5.metal\n", cpuinfo: "flags\t: fpu\n"}, ""},
		{"no flag on arm64", map[string]string{vendor: "QEMU\n", product: "KVM Virtual Machine\n", cpuinfo: "Features\t: fp asimd\n"}, "QEMU KVM Virtual Machine"},
		{"device tree", map[string]string{"proc/device-tree/hypervisor/compatible": "linux,kvm\x00"}, "linux,kvm"},
		{"xen", map[string]string{"sys/hypervisor/type": "xen\n", cpuinfo: guest}, "xen"},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := machine.Virtual(root); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
