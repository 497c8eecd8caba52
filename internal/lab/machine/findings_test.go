package machine_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// quiet returns a checkup without findings.
func quiet() *result.Checkup {
	return &result.Checkup{
		Machine:     result.Machine{Cores: 4, Governor: "performance", Turbo: result.Off, SMT: result.Off, FileSystem: "ext4", Directory: "/data"},
		UsableCores: 4, Quota: value(0.0), OnBattery: new(bool), Steal: value(0.01),
		Load: value(2.0), CPUPressure: value(0.1), IOPressure: value(0.1), MemoryPressure: value(0.01),
		AvailableBytes: value[int64](1 << 30), SwapUsedBytes: value[int64](1 << 40), FreeBytes: value[int64](256 << 20),
		Fsync: result.Fsync{Count: 25, MedianNS: 2e6, SlowestNS: 1e9, Writes: value[int64](25), Flushes: value[int64](0)},
		Clock: result.Clock{Source: "tsc", ResolutionNS: 1000, ReadNS: 200},
		Tools: result.Tools{Go: "go1.26"},
		Noise: noise(0.03, 1, 1.0625, 0.9375),
	}
}

func value[T any](v T) *T { return &v }

// found returns a finding with a value and a limit.
func found(code string, f result.Fitness, value, limit float64) result.Finding {
	return result.Finding{Code: code, Fitness: f, Value: value, Limit: limit}
}

// noise returns noise with two phases. With 30 rounds, a difference of 0.01 is detectable in the first phase,
// and the given difference in the second.
func noise(difference float64, speeds ...float64) *result.Noise {
	return &result.Noise{Speeds: speeds, Phases: []result.NoisePhase{
		{Smallest: []result.SmallestDifference{{Rounds: 6, Difference: 0.5}, {Rounds: 30, Difference: 0.01, Range: result.Range{Low: 0.008, High: 0.5}}}},
		{Smallest: []result.SmallestDifference{{Rounds: 6, Difference: 0.5}, {Rounds: 30, Difference: difference, Range: result.Range{Low: difference / 2, High: difference * 2}}}},
	}}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*result.Checkup)
		want   []result.Finding
	}{
		{"quiet", nil, nil},
		{"nothing known", func(c *result.Checkup) {
			*c = result.Checkup{UsableCores: 2, Tools: result.Tools{Go: "go1.26"}, Fsync: result.Fsync{Count: 25, MedianNS: 1e6}}
		}, nil},
		{"noise", func(c *result.Checkup) { c.Noise = noise(0.031) }, []result.Finding{found(result.FindingNoise, result.Measurable, 0.031, 0.03)}},
		{"much noise", func(c *result.Checkup) { c.Noise = noise(0.11) }, []result.Finding{found(result.FindingNoise, result.Unfit, 0.11, 0.1)}},
		{"a slow round", func(c *result.Checkup) { c.Noise = noise(0, 1, 0.95, 1.25) }, []result.Finding{found(result.WarningCalibration, result.Measurable, 0.25, 0.1)}},
		{"a fast round", func(c *result.Checkup) { c.Noise = noise(0, 1, 0.5, 1.25) }, []result.Finding{found(result.WarningCalibration, result.Measurable, -0.5, 0.1)}},
		{"two rounds", func(c *result.Checkup) { c.Noise = noise(0, 1, 2) }, nil},
		{"failed", func(c *result.Checkup) { c.Noise, c.NoNoise = nil, &protocol.Reason{Code: protocol.CodeCrash} },
			[]result.Finding{{Code: result.FindingFailed, Fitness: result.Unfit}}},
		{"no Go", func(c *result.Checkup) {
			c.Noise, c.NoNoise, c.Tools.Go = nil, &protocol.Reason{Code: protocol.CodeNoGo}, ""
			c.Drivers = []result.DriverState{{Reason: c.NoNoise}}
		}, []result.Finding{{Code: result.FindingNoGo, Fitness: result.Unfit}}},
		{"no C compiler", func(c *result.Checkup) {
			r := &protocol.Reason{Code: protocol.CodeNoCC}
			c.Drivers = []result.DriverState{{Name: "a", Reason: r}, {Name: "b"}, {Name: "c", Reason: r}, {Name: "d", Reason: r, Optional: true}}
		}, []result.Finding{found(result.FindingNoCC, result.Fit, 2, 0)}},
		{"load", func(c *result.Checkup) { c.Load, c.CPUPressure = value(2.01), value(0.5) }, []result.Finding{found(result.WarningLoad, result.Measurable, 2.01, 2)}},
		{"load on few cores", func(c *result.Checkup) { c.UsableCores = 2 }, []result.Finding{found(result.WarningLoad, result.Measurable, 2, 1)}},
		{"busy before the load shows it", func(c *result.Checkup) { c.CPUPressure = value(0.11) }, []result.Finding{found(result.FindingBusy, result.Measurable, 0.11, 0.1)}},
		{"steal", func(c *result.Checkup) { c.Steal = value(0.02) }, []result.Finding{found(result.WarningSteal, result.Measurable, 0.02, 0.01)}},
		{"battery", func(c *result.Checkup) { c.OnBattery = value(true) }, []result.Finding{{Code: result.FindingBattery, Fitness: result.Measurable}}},
		{"governor", func(c *result.Checkup) { c.Machine.Governor = "powersave" }, []result.Finding{{Code: result.WarningGovernor, Fitness: result.Measurable}}},
		{"quota", func(c *result.Checkup) { c.Quota = value(1.5) }, []result.Finding{found(result.FindingQuota, result.Measurable, 1.5, 4)}},
		{"quota of all cores", func(c *result.Checkup) { c.Quota = value(4.0) }, nil},
		{"one core", func(c *result.Checkup) { c.UsableCores, c.Load = 1, nil }, []result.Finding{found(result.FindingCores, result.Measurable, 1, 2)}},
		{"coarse clock", func(c *result.Checkup) { c.Clock.ResolutionNS = 1001 }, []result.Finding{found(result.FindingClock, result.Measurable, 1001, 200)}},
		{"slow clock", func(c *result.Checkup) { c.Clock = result.Clock{ReadNS: 201, ResolutionNS: 1} }, []result.Finding{found(result.FindingClock, result.Measurable, 201, 200)}},
		{"clock outside of the CPU", func(c *result.Checkup) { c.Clock.Source = "hpet" }, []result.Finding{found(result.FindingClock, result.Measurable, 1000, 200)}},
		{"memory", func(c *result.Checkup) { c.AvailableBytes, c.MemoryPressure = value[int64](1e9), value(0.5) }, []result.Finding{found(result.FindingMemory, result.Measurable, 1e9, 1<<30)}},
		{"memory of a container", func(c *result.Checkup) { c.MemoryLimitBytes = value[int64](1e9) }, []result.Finding{found(result.FindingMemory, result.Measurable, 1e9, 1<<30)}},
		{"waiting for memory", func(c *result.Checkup) { c.MemoryPressure = value(0.02) }, []result.Finding{found(result.FindingSwapping, result.Measurable, 0.02, 0.01)}},
		{"disk", func(c *result.Checkup) { c.IOPressure = value(0.5) }, []result.Finding{found(result.FindingDisk, result.Measurable, 0.5, 0.1)}},
		{"space", func(c *result.Checkup) { c.FreeBytes = value[int64](1e8) }, []result.Finding{found(result.FindingSpace, result.Unfit, 1e8, 256<<20)}},
		{"memory instead of a disk", func(c *result.Checkup) { c.Machine.SyncFree = true }, []result.Finding{{Code: result.WarningSync, Fitness: result.Measurable}}},
		{"fsync too quick", func(c *result.Checkup) { c.Fsync = result.Fsync{Count: 25, MedianNS: 9999} }, []result.Finding{{Code: result.WarningSync, Fitness: result.Measurable}}},
		{"fsync without a write", func(c *result.Checkup) { c.Fsync.Writes = value[int64](24) }, []result.Finding{{Code: result.WarningSync, Fitness: result.Measurable}}},
		{"slow fsync", func(c *result.Checkup) { c.Fsync.MedianNS = 3e6 }, []result.Finding{found(result.FindingSlow, result.Fit, 3e6, 2e6)}},
		{"network", func(c *result.Checkup) { c.Machine.FileSystem = "nfs4" }, []result.Finding{{Code: result.FindingNetwork, Fitness: result.Measurable}}},
		{"copies", func(c *result.Checkup) { c.Machine.FileSystem = "btrfs" }, []result.Finding{{Code: result.FindingCopies, Fitness: result.Fit}}},
		{"no recording", func(c *result.Checkup) { c.Unrecordable = true }, []result.Finding{{Code: result.FindingCrash, Fitness: result.Fit}}},
		{"container", func(c *result.Checkup) { c.Machine.FileSystem = "overlay" }, []result.Finding{{Code: result.FindingOverlay, Fitness: result.Fit}}},
		{"causes before effects", func(c *result.Checkup) {
			c.Load, c.Noise = value(9.0), noise(0.05, 1, 1, 2)
		}, []result.Finding{found(result.WarningLoad, result.Measurable, 9, 2), found(result.WarningCalibration, result.Measurable, 1, 0.1), found(result.FindingNoise, result.Measurable, 0.05, 0.03)}},
		{"the worst first", func(c *result.Checkup) {
			c.Machine.Virtual, c.Machine.Turbo, c.Machine.SMT = "KVM", result.On, result.On
			c.Load, c.FreeBytes = value(9.0), value[int64](0)
		}, []result.Finding{found(result.FindingSpace, result.Unfit, 0, 256<<20), found(result.WarningLoad, result.Measurable, 9, 2),
			{Code: result.WarningVirtual, Fitness: result.Fit}, {Code: result.FindingTurbo, Fitness: result.Fit}, {Code: result.FindingSMT, Fitness: result.Fit}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := quiet()
			if c.change != nil {
				c.change(got)
			}
			machine.Judge(got)
			if d := cmp.Diff(c.want, got.Findings); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			want := result.Fit
			if len(c.want) > 0 {
				want = c.want[0].Fitness
			}
			if got.Fitness != want {
				t.Errorf("%s, want %s", got.Fitness, want)
			}
			if (got.Difference == nil) != (got.Noise == nil) {
				t.Errorf("difference %v of noise %v", got.Difference, got.Noise)
			}
		})
	}
}

// TestDifferenceRange checks the range in which the detectable difference lies. Its upper end must be the
// greatest upper end among the phases.
func TestDifferenceRange(t *testing.T) {
	c := quiet()
	c.Noise = noise(0.02)
	machine.Judge(c)
	if d := cmp.Diff(&result.Range{Low: 0.01, High: 0.5}, c.DifferenceRange); d != "" || *c.Difference != 0.02 {
		t.Errorf("%v: -want +got:\n%s", *c.Difference, d)
	}
}

func TestSyncReaches(t *testing.T) {
	for _, c := range []struct {
		name    string
		fsync   result.Fsync
		free    bool
		reaches *bool
	}{
		{"not known", result.Fsync{Count: 25, MedianNS: 1e6}, false, nil},
		{"written", result.Fsync{Count: 25, MedianNS: 1e6, Writes: value[int64](30)}, false, value(true)},
		{"not written", result.Fsync{Count: 25, MedianNS: 1e6, Writes: value[int64](3)}, false, value(false)},
		{"in memory", result.Fsync{Count: 25, MedianNS: 1e6, Writes: value[int64](30)}, true, value(false)},
	} {
		got := &result.Checkup{UsableCores: 2, Fsync: c.fsync, Machine: result.Machine{SyncFree: c.free}}
		machine.Judge(got)
		if d := cmp.Diff(c.reaches, got.Fsync.Reaches); d != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, d)
		}
	}
}

// TestExamine examines this machine. It can check only facts that are true of every machine.
func TestExamine(t *testing.T) {
	c, err := machine.Examine(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if c.UsableCores < 1 || c.UsableCores > c.Machine.Cores || c.FreeBytes == nil || c.AvailableBytes == nil || *c.AvailableBytes > c.Machine.MemoryBytes {
		t.Errorf("got %+v", c)
	}
	if f := c.Fsync; f.Count != 25 || f.MedianNS <= 0 || f.SlowestNS < f.MedianNS || f.Writes != nil && *f.Writes < 0 {
		t.Errorf("got %+v", f)
	}
	if c.Clock.ResolutionNS <= 0 || c.Clock.ReadNS <= 0 {
		t.Errorf("got %+v", c.Clock)
	}
	if _, err := machine.Examine(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("no error for a directory that is absent")
	}
}

func TestObserverSpeeds(t *testing.T) {
	o, err := machine.Observe(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if o.Speeds() != nil || o.Steal() != nil {
		t.Errorf("before the first round: %v, %v", o.Speeds(), o.Steal())
	}
	for round := range 3 {
		o.BeforeRound(round + 1)
	}
	o.AfterRun()
	if s := o.Speeds(); len(s) != 3 || s[0] != 1 && s[1] != 1 && s[2] != 1 {
		t.Errorf("speeds %v", s)
	}
	if s := o.Steal(); s != nil && (*s < 0 || *s > 1) {
		t.Errorf("steal %v", *s)
	}
}
