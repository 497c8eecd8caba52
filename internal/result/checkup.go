package result

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The values of fields that say whether a feature of the machine is on, such as [Machine].Turbo.
const (
	On  = "on"
	Off = "off"
)

// The values of [Checkup].Counters.
const (
	CountersUsable = "usable"
	CountersNone   = "none"   // the processor has no counters, or the hypervisor hides them
	CountersDenied = "denied" // the system does not permit the use of the counters
)

// Checkup describes a machine's fitness for measuring. Unknown fields are nil or "".
type Checkup struct {
	Fitness  Fitness   `json:"fitness"`  // the worst fitness of Findings; fit if there are none
	Findings []Finding `json:"findings"` // the worst findings first

	// Difference is the smallest difference between two drivers that a run of WithinNS nanoseconds
	// can show, as a share: 0.02 is 2 %. It is nil if noise was not measured.
	Difference *float64 `json:"difference,omitempty" jsonschema:"minimum=0"`
	WithinNS   int64    `json:"within_ns"`

	// DifferenceRange is an interval that contains the true Difference about nine times in ten. It
	// is computed from the differences between the rounds of the noise measurement. It is nil if
	// Difference is nil.
	DifferenceRange *Range `json:"difference_range,omitempty"`

	Version string    `json:"tool_version"` // version of sqlite3perf
	Taken   time.Time `json:"taken"`
	Machine Machine   `json:"machine"`

	UsableCores int      `json:"usable_cores"`                           // logical cores on which this process may run
	Quota       *float64 `json:"cpu_quota,omitempty"`                    // CPU time per wall time that the control group allows, in cores; 0 if there is no limit
	OnBattery   *bool    `json:"on_battery,omitempty"`                   // true if the machine runs without mains power
	Steal       *float64 `json:"steal,omitempty" jsonschema:"minimum=0"` // share of the CPUs' working time that the hypervisor gave to other machines while noise was measured

	// Unrecordable says that the file operations of drivers can't be recorded. The command `sqlite3perf
	// crash` needs such recordings.
	Unrecordable bool `json:"unrecordable,omitempty"`

	// The next four fields were read before anything was measured. Load is the load average of the
	// last minute. The three pressures are about the last 10 seconds: the share of this time in
	// which a process waited for a CPU, the disk or memory.
	Load           *float64 `json:"load,omitempty"`
	CPUPressure    *float64 `json:"cpu_pressure,omitempty" jsonschema:"minimum=0"`
	IOPressure     *float64 `json:"io_pressure,omitempty" jsonschema:"minimum=0"`
	MemoryPressure *float64 `json:"memory_pressure,omitempty" jsonschema:"minimum=0"`

	AvailableBytes   *int64 `json:"available_bytes,omitempty"` // memory that can be used without swapping
	SwapUsedBytes    *int64 `json:"swap_used_bytes,omitempty"`
	MemoryLimitBytes *int64 `json:"memory_limit_bytes,omitempty"` // memory that the control group allows; nil if no limit is seen
	FreeBytes        *int64 `json:"free_bytes,omitempty"`         // free space on the file system of the databases

	// Counters says whether the processor's instructions can be counted. It is one of the
	// constants, such as [CountersUsable], or "" if that is not known.
	Counters string `json:"counters,omitempty" jsonschema:"constants=Counters"`

	Fsync   Fsync         `json:"fsync"`
	Clock   Clock         `json:"clock"`
	Tools   Tools         `json:"tools"`
	Drivers []DriverState `json:"drivers"`
	Noise   *Noise        `json:"noise,omitempty"` // nil if noise was not measured

	// NoNoise is the reason why noise could not be measured. It is nil if noise was measured, or if
	// the user did not ask for it.
	NoNoise *protocol.Reason `json:"no_noise,omitempty"`
}

// Fsync describes repeated writes of 4 KiB, each followed by an fsync.
type Fsync struct {
	Count     int   `json:"count"`
	MedianNS  int64 `json:"median_ns"`
	SlowestNS int64 `json:"slowest_ns"`

	// Writes is the number of writes that the device received during the measurement, and Flushes
	// is the number of requests to flush its cache. Both include those of other processes. They are
	// nil if the device is not known.
	Writes  *int64 `json:"device_writes,omitempty"`
	Flushes *int64 `json:"device_flushes,omitempty"`

	Reaches *bool `json:"reaches_device,omitempty"` // whether the writes reached the device; nil if not known
}

// Clock is the clock that measures phases and operations.
type Clock struct {
	Source       string `json:"source,omitempty"` // name of the clock source in the kernel
	ResolutionNS int64  `json:"resolution_ns"`    // the shortest time seen between two readings that differ
	ReadNS       int64  `json:"read_ns"`          // the time to read the clock once
}

// Tools has the versions of the tools that build or run workers. The version of a missing tool is
// "".
type Tools struct {
	Go     string `json:"go,omitempty"`
	CC     string `json:"cc,omitempty"`
	Python string `json:"python,omitempty"`
}

// DriverState says whether a driver can be measured on a machine.
type DriverState struct {
	Name     string           `json:"name"`
	Optional bool             `json:"optional,omitempty"` // the driver is measured only if the user names it
	Reason   *protocol.Reason `json:"reason,omitempty"`   // why the driver has no worker; nil if a worker exists or can be built
}

// Noise says how much measured times vary. A driver is compared with itself: two equal cases of the
// driver are measured in every round.
type Noise struct {
	Driver   string `json:"driver"`
	Version  string `json:"driver_version,omitempty"`
	Workload string `json:"workload"`
	Scale    string `json:"scale"`
	Rounds   int    `json:"rounds"`   // complete rounds
	RoundNS  int64  `json:"round_ns"` // average duration of a round

	Phases []NoisePhase `json:"phases"`

	// Speeds has, for each round, the time of a fixed computing loop that ran before the round,
	// divided by the median of these times.
	Speeds []float64 `json:"speeds,omitempty"`
}

// NoisePhase is the noise of a phase.
type NoisePhase struct {
	Phase  string  `json:"phase"`
	Median float64 `json:"median_s"` // median time of both cases in all rounds, in seconds

	Least float64 `json:"least"` // the shortest time, divided by the median
	Most  float64 `json:"most"`  // the longest time, divided by the median

	Ratios []float64 `json:"ratios"`           // for each round: time of the first case divided by the time of the second
	Half   float64   `json:"half_of_ratios"`   // in half of the rounds, the times of the two cases differ by at least this share
	Widest float64   `json:"widest_of_ratios"` // the greatest share by which the two cases differ in a round

	Smallest []SmallestDifference `json:"tells"` // the smallest differences that runs of different lengths can show, in increasing order of rounds
}

// SmallestDifference is the smallest difference between two drivers that a run of some
// rounds can show.
type SmallestDifference struct {
	Rounds     int     `json:"rounds"`
	TookNS     int64   `json:"took_ns"`    // how long the rounds take
	Difference float64 `json:"difference"` // as a share: 0.02 is 2 %
	Range      Range   `json:"range"`      // contains the true Difference about nine times in ten
}

// Range is an interval.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Fitness says whether a machine is suitable for measuring.
type Fitness string

// The fitnesses, from worst to best. The fitness of a finding is a limit: a machine with this
// finding can't be fitter.
const (
	Unfit      Fitness = "unfit"
	Measurable Fitness = "measurable" // figures are doubtful
	Fit        Fitness = "fit"
)

// Finding is something about a machine that makes the figures measured on it doubtful, or
// limits what they mean.
type Finding struct {
	Code    string  `json:"code"` // kind of finding, such as [WarningLoad] or [FindingMemory]
	Fitness Fitness `json:"fitness"`

	// Value is the measured value, and Limit the value that it was compared with. Their unit
	// depends on the code. Both are 0 for findings without a number.
	Value float64 `json:"value,omitempty"`
	Limit float64 `json:"limit,omitempty"`
}

// The codes of findings, in [Finding].Code. If a finding has a Value, the comment says what the value is. A
// finding can also have the code of a warning about the machine, such as [WarningLoad]. Each code is
// described in docs/doctor.md.
const (
	FindingNoise    = "noise"     // smallest difference that a run can show, as a share
	FindingFailed   = "failed"    // the driver failed while noise was measured
	FindingNoGo     = "no-go"     // no driver can be built
	FindingNoCC     = "no-cc"     // number of drivers that need a C compiler
	FindingCores    = "cores"     // number of usable cores
	FindingBusy     = "busy"      // share of the time in which a process waited for a CPU
	FindingQuota    = "quota"     // the control group's limit of CPU time, in cores
	FindingBattery  = "battery"   // the machine has no mains power
	FindingTurbo    = "turbo"     // the clock rate is boosted while the temperature permits
	FindingSMT      = "smt"       // several logical cores share a physical core
	FindingCrash    = "crash"     // file operations can't be recorded
	FindingMemory   = "memory"    // bytes of available memory
	FindingSwapping = "swapping"  // share of the time in which a process waited for memory
	FindingDisk     = "disk"      // share of the time in which a process waited for the disk
	FindingSpace    = "space"     // free bytes where databases are created
	FindingNetwork  = "network"   // databases are created on a network file system
	FindingCopies   = "copies"    // the file system is copy-on-write: it writes each changed page to a new place
	FindingOverlay  = "overlay"   // databases are created in the writable layer of a container
	FindingSlow     = "slow-sync" // nanoseconds that an fsync takes
	FindingClock    = "clock"     // the clock's resolution, or the time that reading it takes, in nanoseconds
)
