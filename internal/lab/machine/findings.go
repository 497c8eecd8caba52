package machine

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Limits for the facts of a checkup. A fact beyond its limit becomes a finding. The limits in
// warnings.go apply too. docs/doctor.md gives the reasons.
const (
	maxPressure    = 0.10      // share of the last 10 s in which some process waited for the CPU or the disk
	maxMemoryWaits = 0.01      // share of the last 10 s in which some process waited for memory
	minAvailable   = 1 << 30   // bytes of available memory
	minSpace       = 256 << 20 // bytes free on the file system
	maxFsync       = 2 * time.Millisecond
	maxResolution  = time.Microsecond
	maxRead        = 200 * time.Nanosecond

	// Limits for the smallest relative difference that a run of the length NoiseTime detects. Up to
	// fitDifference, the machine is fit. Above measurableDifference, it is unfit.
	fitDifference        = 0.03
	measurableDifference = 0.10
)

// NoiseTime is the length of run for which the smallest detectable difference is computed.
// It is the default time of a run.
const NoiseTime = 5 * time.Minute

var (
	networkKinds     = []string{"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "afpfs", "webdav"}
	copyOnWriteKinds = []string{"btrfs", "zfs", "bcachefs", "apfs"}
	slowClocks       = []string{"hpet", "acpi_pm", "jiffies", "refined-jiffies"}
)

// Judge judges the facts of a checkup. It sets the fields of c that follow from other
// fields, such as Findings.
func Judge(c *result.Checkup) {
	c.WithinNS = int64(NoiseTime)
	c.Difference, c.DifferenceRange = difference(c.Noise)
	c.Fsync.Reaches = syncReaches(c)
	c.Findings = slices.Concat(cpuFindings(c), diskFindings(c), toolFindings(c), noiseFindings(c)) // causes come before effects
	order := []result.Fitness{result.Unfit, result.Measurable, result.Fit}
	slices.SortStableFunc(c.Findings, func(a, b result.Finding) int {
		return cmp.Compare(slices.Index(order, a.Fitness), slices.Index(order, b.Fitness))
	})
	c.Fitness = result.Fit
	if len(c.Findings) > 0 {
		c.Fitness = c.Findings[0].Fitness
	}
}

// findings is the list to which the methods below add the findings of a checkup.
type findings []result.Finding

// add adds a finding if the parameter "applies" is true. The finding has no value and no limit.
func (l *findings) add(applies bool, code string, f result.Fitness) {
	l.measured(applies, code, f, 0, 0)
}

// measured adds a finding with a value and a limit if the parameter "applies" is true.
func (l *findings) measured(applies bool, code string, f result.Fitness, value, limit float64) {
	if applies {
		*l = append(*l, result.Finding{Code: code, Fitness: f, Value: value, Limit: limit})
	}
}

// above adds a finding if the parameter "value" is not nil and is greater than the limit.
func (l *findings) above(code string, f result.Fitness, value *float64, limit float64) {
	if value != nil {
		l.measured(*value > limit, code, f, *value, limit)
	}
}

// below adds a finding if the parameter "value" is not nil and is less than the limit.
func (l *findings) below(code string, f result.Fitness, value *int64, limit float64) {
	if value != nil {
		l.measured(float64(*value) < limit, code, f, float64(*value), limit)
	}
}

// difference returns the smallest relative difference that is detectable in all phases, and the range in
// which it probably lies. For each phase, it uses the figures for the greatest number of rounds. Both results
// are nil if noise was not measured.
func difference(n *result.Noise) (*float64, *result.Range) {
	if n == nil {
		return nil, nil
	}
	d, r := 0.0, result.Range{}
	for _, p := range n.Phases {
		most := p.Smallest[len(p.Smallest)-1]
		d, r.Low, r.High = max(d, most.Difference), max(r.Low, most.Range.Low), max(r.High, most.Range.High)
	}
	return &d, &r
}

func noiseFindings(c *result.Checkup) (list findings) {
	failed := c.NoNoise != nil && c.NoNoise.Code != protocol.CodeNoGo // a missing Go has its own finding
	list.add(failed, result.FindingFailed, result.Unfit)
	if c.Noise == nil {
		return list
	}
	off := 0.0
	for _, s := range c.Noise.Speeds {
		if math.Abs(s-1) > math.Abs(off) {
			off = s - 1
		}
	}
	list.measured(math.Abs(off) > result.OffSpeed && len(c.Noise.Speeds) >= 3, result.WarningCalibration, result.Measurable, off, result.OffSpeed)
	if *c.Difference > measurableDifference {
		list.above(result.FindingNoise, result.Unfit, c.Difference, measurableDifference)
	} else {
		list.above(result.FindingNoise, result.Measurable, c.Difference, fitDifference)
	}
	return list
}

func cpuFindings(c *result.Checkup) (list findings) {
	cores := float64(c.UsableCores)
	list.above(result.WarningLoad, result.Measurable, c.Load, maxLoadPerCore*cores)
	if len(list) == 0 {
		list.above(result.FindingBusy, result.Measurable, c.CPUPressure, maxPressure)
	}
	list.above(result.WarningSteal, result.Measurable, c.Steal, maxSteal)
	list.add(c.OnBattery != nil && *c.OnBattery, result.FindingBattery, result.Measurable)
	list.add(c.Machine.Governor != "" && c.Machine.Governor != "performance", result.WarningGovernor, result.Measurable)
	if c.Quota != nil {
		list.measured(*c.Quota > 0 && *c.Quota < cores, result.FindingQuota, result.Measurable, *c.Quota, cores)
	}
	list.measured(c.UsableCores == 1, result.FindingCores, result.Measurable, 1, 2)
	slow := slices.Contains(slowClocks, c.Clock.Source) || c.Clock.ResolutionNS > int64(maxResolution) || c.Clock.ReadNS > int64(maxRead)
	list.measured(slow, result.FindingClock, result.Measurable, float64(max(c.Clock.ReadNS, c.Clock.ResolutionNS)), float64(maxRead))
	memory := c.AvailableBytes
	if l := c.MemoryLimitBytes; l != nil && (memory == nil || *l < *memory) {
		memory = l
	}
	list.below(result.FindingMemory, result.Measurable, memory, minAvailable)
	if len(list) == 0 || list[len(list)-1].Code != result.FindingMemory {
		list.above(result.FindingSwapping, result.Measurable, c.MemoryPressure, maxMemoryWaits)
	}
	list.add(c.Machine.Virtual != "", result.WarningVirtual, result.Fit)
	list.add(c.Machine.Turbo == result.On, result.FindingTurbo, result.Fit)
	list.add(c.Machine.SMT == result.On, result.FindingSMT, result.Fit)
	list.add(c.Unrecordable, result.FindingCrash, result.Fit)
	return list
}

// syncReaches reports whether fsync reached a device. It returns nil if that is not known. Each fsync that
// reaches the device is counted there as at least one write. Other processes may have written too, so true is
// less certain than false.
func syncReaches(c *result.Checkup) *bool {
	f := c.Fsync
	free := c.Machine.SyncFree || f.MedianNS > 0 && f.MedianNS < int64(minFsync)
	if !free && f.Writes == nil {
		return nil
	}
	return new(!free && *f.Writes >= int64(f.Count))
}

func diskFindings(c *result.Checkup) (list findings) {
	list.below(result.FindingSpace, result.Unfit, c.FreeBytes, minSpace)
	list.above(result.FindingDisk, result.Measurable, c.IOPressure, maxPressure)
	if r := c.Fsync.Reaches; r != nil && !*r {
		list.add(true, result.WarningSync, result.Measurable)
	} else {
		list.measured(c.Fsync.MedianNS > int64(maxFsync), result.FindingSlow, result.Fit, float64(c.Fsync.MedianNS), float64(maxFsync))
	}
	kind := strings.ToLower(c.Machine.FileSystem)
	list.add(slices.Contains(networkKinds, kind), result.FindingNetwork, result.Measurable)
	list.add(slices.Contains(copyOnWriteKinds, kind), result.FindingCopies, result.Fit)
	list.add(c.Machine.FileSystem == "overlay", result.FindingOverlay, result.Fit)
	return list
}

func toolFindings(c *result.Checkup) (list findings) {
	noCC := 0
	for _, d := range c.Drivers {
		if !d.Optional && d.Reason != nil && d.Reason.Code == protocol.CodeNoCC {
			noCC++
		}
	}
	list.add(c.Tools.Go == "", result.FindingNoGo, result.Unfit)
	list.measured(c.Tools.Go != "" && noCC > 0, result.FindingNoCC, result.Fit, float64(noCC), 0)
	return list
}
