package machine_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// tree returns a root directory that contains these files.
func tree(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

// laptop contains the files in /proc and /sys of a machine about which every fact is known.
var laptop = map[string]string{
	"proc/pressure/cpu":                                               "some avg10=12.50 avg60=62.53 avg300=74.37 total=13755745253\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=0\n",
	"proc/pressure/io":                                                "some avg10=0.00 avg60=10.09 avg300=14.31 total=2326148412\n",
	"proc/pressure/memory":                                            "some avg10=100.00 avg60=0.00 avg300=0.00 total=0\n",
	"proc/self/cgroup":                                                "0::/user.slice/shell\n",
	"sys/fs/cgroup/user.slice/cpu.max":                                "max 100000\n",
	"sys/class/power_supply/BAT0/type":                                "Battery\n",
	"sys/class/power_supply/AC/type":                                  "Mains\n",
	"sys/class/power_supply/AC/online":                                "0\n",
	"sys/devices/system/cpu/cpufreq/boost":                            "1\n",
	"sys/devices/system/cpu/smt/active":                               "0\n",
	"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
}

func TestFacts(t *testing.T) {
	known := func(v float64) *float64 { return &v }
	battery := true
	var c result.Checkup
	machine.Facts(&c, tree(laptop))
	want := result.Checkup{Quota: known(0), OnBattery: &battery, CPUPressure: known(0.125), IOPressure: known(0), MemoryPressure: known(1), Clock: result.Clock{Source: "hpet"}}
	if d := cmp.Diff(want, c); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	c = result.Checkup{}
	machine.Facts(&c, tree(nil))
	if d := cmp.Diff(result.Checkup{}, c); d != "" {
		t.Errorf("where nothing is known: -want +got:\n%s", d)
	}
	c = result.Checkup{}
	machine.Facts(&c, tree(map[string]string{"proc/pressure/cpu": "some avg10=much\n", "proc/pressure/io": "some\n\nfull avg10=1\n", "proc/self/cgroup": "x\n0::relative\n1:cpu\n"}))
	if d := cmp.Diff(result.Checkup{}, c); d != "" {
		t.Errorf("with files that are not understood: -want +got:\n%s", d)
	}
}

func TestSwitches(t *testing.T) {
	const boost, noTurbo, smt = "sys/devices/system/cpu/cpufreq/boost", "sys/devices/system/cpu/intel_pstate/no_turbo", "sys/devices/system/cpu/smt/active"
	for _, c := range []struct {
		files      map[string]string
		turbo, smt string
	}{
		{nil, "", ""},
		{map[string]string{boost: "1\n", smt: "1\n"}, result.On, result.On},
		{map[string]string{boost: "0\n", smt: "0\n"}, result.Off, result.Off},
		{map[string]string{noTurbo: "0\n", smt: "-1\n"}, result.On, ""},
		{map[string]string{noTurbo: "1\n"}, result.Off, ""},
	} {
		if turbo, smt := machine.Turbo(tree(c.files)), machine.SMT(tree(c.files)); turbo != c.turbo || smt != c.smt {
			t.Errorf("%v: turbo %q, SMT %q; want %q, %q", c.files, turbo, smt, c.turbo, c.smt)
		}
	}
}

func TestQuota(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  float64 // -1: not known
	}{
		{"nothing", nil, -1},
		{"root of version 2", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io\n"}, 0},
		{"without the controller", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "cpuset io\n"}, -1},
		{"a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5},
		{"the strictest counts", map[string]string{"proc/self/cgroup": "0::/a/b/c\n", "sys/fs/cgroup/a/cpu.max": "50000 100000\n",
			"sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/a/b/c/cpu.max": "200000 100000\n"}, 0.5},
		{"version 1", map[string]string{"proc/self/cgroup": "4:memory:/m\n3:cpu,cpuacct:/docker/x\n",
			"sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us": "25000\n", "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000\n"}, 0.25},
		{"version 1 without a limit", map[string]string{"proc/self/cgroup": "1:cpu:/\n0::/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 0},
		{"a period of 0", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 0\n"}, -1},
	} {
		got := machine.Quota(tree(c.files))
		if (got == nil) != (c.want < 0) || got != nil && *got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64 // -1: none
	}{
		{"nothing", nil, -1},
		{"none", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, -1},
		{"none in version 1", map[string]string{"proc/self/cgroup": "6:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, -1},
		{"a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		{"the strictest counts", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/a/b/memory.max": "2000\n"}, 1000},
		{"version 1", map[string]string{"proc/self/cgroup": "6:memory:/x\n0::/\n", "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "3000\n"}, 3000},
	} {
		got := machine.MemoryLimit(tree(c.files))
		if (got == nil) != (c.want < 0) || got != nil && *got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestOnBattery(t *testing.T) {
	const ac, dock = "sys/class/power_supply/AC/", "sys/class/power_supply/DOCK/"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a desktop", nil, "unknown"},
		{"only a mouse", map[string]string{"sys/class/power_supply/mouse/type": "Battery\n"}, "unknown"},
		{"unplugged", map[string]string{ac + "type": "Mains\n", ac + "online": "0\n"}, "battery"},
		{"plugged in", map[string]string{ac + "type": "Mains\n", ac + "online": "1\n"}, "mains"},
		{"one of two", map[string]string{ac + "type": "Mains\n", ac + "online": "1\n", dock + "type": "Mains\n", dock + "online": "0\n"}, "mains"},
		{"the other of two", map[string]string{ac + "type": "Mains\n", ac + "online": "0\n", dock + "type": "Mains\n", dock + "online": "1\n"}, "mains"},
	} {
		got := "unknown"
		if b := machine.OnBattery(tree(c.files)); b != nil {
			got = map[bool]string{true: "battery", false: "mains"}[*b]
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSteal(t *testing.T) {
	at := func(line string) fstest.MapFS {
		return tree(map[string]string{"proc/stat": line + "\ncpu0 1 1\nintr 1\n"})
	}
	for _, c := range []struct {
		name, before, after string
		want                float64 // -1: not known
	}{
		{"none", "cpu  100 0 0 1000 0 0 0 0 0 0", "cpu  200 0 0 2000 0 0 0 0 0 0", 0},
		{"a tenth of the work", "cpu  100 1 2 1000 7 3 4 10 50 60", "cpu  150 11 12 9000 9000 8 19 20 90 90", 0.1},
		{"idle", "cpu  100 0 0 1000 0 0 0 0 0 0", "cpu  100 0 0 2000 0 0 0 0 0 0", 0},
		{"a counter that went back", "cpu  100 0 0 1000 0 0 0 9 0 0", "cpu  200 0 0 2000 0 0 0 8 0 0", 0},
		{"an old kernel", "cpu  100 0 0 1000", "cpu  200 0 0 2000", -1},
		{"no number", "cpu  100 0 0 1000 0 0 0 0 0 0", "cpu  a 0 0 2000 0 0 0 0 0 0", -1},
	} {
		if got := machine.Steal(at(c.before), at(c.after)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDevice(t *testing.T) {
	const stat = "5906434 786651 157984794 49276766 172 1854683 768770088 6885575 0 3433044 57928365 2472375 1080 468003808 1018561 51 747461\n"
	root := tree(map[string]string{
		"sys/block/vda/dev":      "254:0\n",
		"sys/block/vda/stat":     stat,
		"sys/block/vda/vda1/dev": "254:1\n",
		"sys/block/sda/dev":      "8:0\n",
		"sys/block/sda/stat":     "1 2 3 4 5 6 7 8 9 10 11\n",
		"sys/block/sdb/dev":      "8:16\n",
		"sys/block/sdb/stat":     "1 2 3\n",
	})
	for number, want := range map[string]string{
		"254:0": "172 writes, 51 flushes", "254:1": "172 writes, 51 flushes", "8:0": "5 writes, 0 flushes", "8:16": "unknown", "0:26": "unknown", "": "unknown",
	} {
		if got := machine.Counted(root, number); got != want {
			t.Errorf("device %s: %s, want %s", number, got, want)
		}
	}
}

func TestCounters(t *testing.T) {
	for err, want := range map[error]string{
		nil: result.CountersUsable, unix.EACCES: result.CountersDenied, unix.EPERM: result.CountersDenied,
		unix.ENOENT: result.CountersNone, unix.EOPNOTSUPP: result.CountersNone, unix.EINVAL: "",
	} {
		if got := machine.Counters(err); got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
	c, err := machine.Examine(t.TempDir())
	if err != nil || c.Counters == "" {
		t.Errorf("the counters of this machine: %q, %v", c.Counters, err)
	}
}
