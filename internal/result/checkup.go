package result

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The values of a switch of the machine, such as [Machine].Turbo.
const (
	On  = "on"
	Off = "off"
)

// The values of [Checkup].Counters.
const (
	CountersUsable = "usable"
	CountersNone   = "none"   // the processor has none, or the hypervisor hides them
	CountersDenied = "denied" // the system does not permit their use
)

// Checkup describes a machine's fitness for measuring. Unknown fields are nil or "".
type Checkup struct {
	Fitness  Fitness   `json:"fitness"`  // the worst of the findings'
	Findings []Finding `json:"findings"` // the worst first

	// Difference is the smallest difference between two drivers that can be told within
	// WithinNS, as a share. It is nil if noise was not measured.
	Difference *float64 `json:"difference,omitempty" jsonschema:"minimum=0"`
	WithinNS   int64    `json:"within_ns"`

	// DifferenceRange is where Difference lies, about nine times of ten, by how much the
	// rounds of the noise measurement differ. It is nil if Difference is.
	DifferenceRange *Range `json:"difference_range,omitempty"`

	Version string    `json:"tool_version"` // of sqlite3perf
	Taken   time.Time `json:"taken"`
	Machine Machine   `json:"machine"`

	UsableCores int      `json:"usable_cores"`                           // logical cores on which this process may run
	Quota       *float64 `json:"cpu_quota,omitempty"`                    // cores' worth of time that the control group allows; 0: no limit
	OnBattery   *bool    `json:"on_battery,omitempty"`                   // no mains power
	Steal       *float64 `json:"steal,omitempty" jsonschema:"minimum=0"` // while noise was measured: share of the CPUs' working time that the hypervisor gave to others

	// Before anything was measured: the load average of the last minute, and the shares
	// of the last 10 seconds in which a process waited for a CPU, the disk or memory.
	Load           *float64 `json:"load,omitempty"`
	CPUPressure    *float64 `json:"cpu_pressure,omitempty" jsonschema:"minimum=0"`
	IOPressure     *float64 `json:"io_pressure,omitempty" jsonschema:"minimum=0"`
	MemoryPressure *float64 `json:"memory_pressure,omitempty" jsonschema:"minimum=0"`

	AvailableBytes   *int64 `json:"available_bytes,omitempty"` // memory that can be had without swapping
	SwapUsedBytes    *int64 `json:"swap_used_bytes,omitempty"`
	MemoryLimitBytes *int64 `json:"memory_limit_bytes,omitempty"` // that the control group allows; nil if no limit is seen
	FreeBytes        *int64 `json:"free_bytes,omitempty"`         // on the file system of the databases

	// Counters says whether instructions are counted, such as [CountersUsable], or "" if
	// that is not known.
	Counters string `json:"counters,omitempty" jsonschema:"constants=Counters"`

	Fsync   Fsync         `json:"fsync"`
	Clock   Clock         `json:"clock"`
	Tools   Tools         `json:"tools"`
	Drivers []DriverState `json:"drivers"`
	Noise   *Noise        `json:"noise,omitempty"` // nil if it was not measured

	// NoNoise says why noise could not be measured. It is nil if it was measured, or was
	// not asked for.
	NoNoise *protocol.Reason `json:"no_noise,omitempty"`
}

// Fsync is the time of writing 4 KiB to the device.
type Fsync struct {
	Count     int   `json:"count"`
	MedianNS  int64 `json:"median_ns"`
	SlowestNS int64 `json:"slowest_ns"`

	// What the device counted in the meantime, on behalf of all processes: writes, and
	// requests to flush its cache. They are nil if the device cannot be found out.
	Writes  *int64 `json:"device_writes,omitempty"`
	Flushes *int64 `json:"device_flushes,omitempty"`

	Reaches *bool `json:"reaches_device,omitempty"` // the device was written to; nil if not known
}

// Clock is the clock that phases and operations are timed by.
type Clock struct {
	Source       string `json:"source,omitempty"` // as the kernel names it
	ResolutionNS int64  `json:"resolution_ns"`    // the shortest time seen between two readings that differ
	ReadNS       int64  `json:"read_ns"`          // the time that one reading takes
}

// Tools has the versions of the tools that build or run workers, or "" for missing ones.
type Tools struct {
	Go     string `json:"go,omitempty"`
	CC     string `json:"cc,omitempty"`
	Python string `json:"python,omitempty"`
}

// DriverState says whether a driver can be measured on a machine.
type DriverState struct {
	Name     string           `json:"name"`
	Optional bool             `json:"optional,omitempty"` // measured only if it is named
	Reason   *protocol.Reason `json:"reason,omitempty"`   // why there is no worker; nil if there is one, or it can be built
}

// Noise says how much times differ if a driver is compared with itself, as two equal cases
// that are measured in every round.
type Noise struct {
	Driver   string `json:"driver"`
	Version  string `json:"driver_version,omitempty"`
	Workload string `json:"workload"`
	Scale    string `json:"scale"`
	Rounds   int    `json:"rounds"`   // complete
	RoundNS  int64  `json:"round_ns"` // how long a round took on average

	Phases []NoisePhase `json:"phases"`

	// Speeds has, for each round, the time of a fixed computing loop before it, divided
	// by the median of these times.
	Speeds []float64 `json:"speeds,omitempty"`
}

// NoisePhase is the noise of a phase.
type NoisePhase struct {
	Phase  string  `json:"phase"`
	Median float64 `json:"median_s"` // of all times, in seconds

	Least float64 `json:"least"` // the shortest time, divided by the median
	Most  float64 `json:"most"`  // the longest

	Ratios []float64 `json:"ratios"`           // of the times of the two cases, by round
	Half   float64   `json:"half_of_ratios"`   // in half of the rounds the two differ by at least this share
	Widest float64   `json:"widest_of_ratios"` // by which they differ at most

	Smallest []SmallestDifference `json:"tells"` // by number of rounds
}

// SmallestDifference is the smallest difference between two drivers that a run of some
// rounds can show.
type SmallestDifference struct {
	Rounds     int     `json:"rounds"`
	TookNS     int64   `json:"took_ns"`    // how long the rounds take
	Difference float64 `json:"difference"` // as a share: 0.02 is 2 %
	Range      Range   `json:"range"`      // where Difference lies, about nine times of ten
}

// Range is an interval.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Fitness says whether a machine can be measured on.
type Fitness string

// The fitnesses, the worst first. That of a finding is the best that a machine with it
// can have.
const (
	Unfit      Fitness = "unfit"
	Measurable Fitness = "measurable" // with doubts
	Fit        Fitness = "fit"
)

// Finding is something about a machine that makes the figures measured on it doubtful, or
// limits what they mean.
type Finding struct {
	Code    string  `json:"code"` // such as [WarningLoad] or [FindingMemory]
	Fitness Fitness `json:"fitness"`

	// Value is what was found, and Limit what it was compared with, in the unit of the
	// code. They are 0 for findings without a number.
	Value float64 `json:"value,omitempty"`
	Limit float64 `json:"limit,omitempty"`
}

// The codes of findings, in [Finding].Code, in addition to those of warnings about the
// machine. Each is described in docs/doctor.md.
const (
	FindingNoise    = "noise"     // share: the smallest difference that can be told
	FindingFailed   = "failed"    // the driver failed while noise was measured
	FindingNoGo     = "no-go"     // no driver can be built
	FindingNoCC     = "no-cc"     // number: drivers that need a C compiler
	FindingCores    = "cores"     // number: usable cores
	FindingBusy     = "busy"      // share: of the time in which a process waited for a CPU
	FindingQuota    = "quota"     // cores: the control group's limit
	FindingBattery  = "battery"   // no mains power
	FindingTurbo    = "turbo"     // the clock rate is boosted as heat allows
	FindingSMT      = "smt"       // logical cores share a core
	FindingMemory   = "memory"    // bytes: available
	FindingSwapping = "swapping"  // share: of the time in which a process waited for memory
	FindingDisk     = "disk"      // share: of the time in which processes waited for the disk
	FindingSpace    = "space"     // bytes: free where databases are created
	FindingNetwork  = "network"   // databases are created on a network file system
	FindingCopies   = "copies"    // the file system writes each page to another place
	FindingOverlay  = "overlay"   // databases are created in a container's layer
	FindingSlow     = "slow-sync" // nanoseconds: of an fsync
	FindingClock    = "clock"     // nanoseconds: resolution, or cost of a reading
)
