package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// findingWords has the texts of a finding. Each text is a sentence without its full stop, except the
// field "clause", which completes the answer: "Measurable, but CLAUSE" or "Not fit to measure: CLAUSE".
type findingWords struct{ title, clause, found, effect, do string }

func finding(f result.Finding, c *result.Checkup, h document.Hints) findingWords {
	words, known := findings[f.Code]
	if !known {
		return findingWords{f.Code, f.Code, fmt.Sprintf("%s: %g", f.Code, f.Value), unknown, unknown}
	}
	replace := values(f, c, h).Replace
	words.found, words.do = replace(words.found), replace(words.do)
	return words
}

// values returns a replacer that replaces the names in braces in the texts of [findings] by the values
// of a checkup.
func values(f result.Finding, c *result.Checkup, h document.Hints) *strings.Replacer {
	elsewhere, good, waited, failure := "Name a directory on another file system", "good", "", ""
	if h.Directory != "" {
		elsewhere += " with " + h.Directory
	}
	if f.Fitness == result.Unfit {
		good = "measurable"
	}
	if c.CPUPressure != nil {
		waited = fmt.Sprintf(". In %s of the last 10 seconds a process waited for a CPU", document.Percent(*c.CPUPressure))
	}
	if c.NoNoise != nil {
		failure = c.NoNoise.Message
	}
	sync := fmt.Sprintf("fsync took %s in the median", document.Nanoseconds(c.Fsync.MedianNS))
	switch {
	case c.Machine.SyncFree:
		sync = "Databases are created on " + c.Machine.FileSystem + ", which is in memory"
	case c.Fsync.Writes != nil:
		sync += fmt.Sprintf(", and the device counted %s for %d of them", document.Counted(*c.Fsync.Writes, "write"), c.Fsync.Count)
	}
	return strings.NewReplacer(
		"{elsewhere}", elsewhere, "{good}", good, "{waited}", waited, "{failure}", failure, "{sync}", sync,
		"{value}", fmt.Sprintf("%.2f", f.Value), "{limit}", document.Number(f.Limit),
		"{share}", document.Percent(f.Value), "{most}", document.Percent(f.Limit), "{times}", document.Times(1+f.Value),
		"{size}", document.Size(int64(f.Value)), "{enough}", document.Size(int64(f.Limit)), "{ns}", document.Nanoseconds(int64(f.Value)),
		"{drivers}", document.Counted(int64(f.Value), "driver"), "{limit cores}", document.Counted(int64(f.Limit), "core"),
		"{cores}", document.Counted(int64(c.UsableCores), "core"), "{minutes}", document.Minutes(c.WithinNS),
		"{clock}", cmp.Or(c.Clock.Source, "source unknown"), "{resolution}", document.Nanoseconds(c.Clock.ResolutionNS), "{reading}", document.Nanoseconds(c.Clock.ReadNS),
		"{governor}", c.Machine.Governor, "{virtual}", c.Machine.Virtual, "{directory}", c.Machine.Directory, "{file system}", c.Machine.FileSystem)
}

// processesEffect describes how other processes affect measurements.
const processesEffect = "They take time from trials: times are longer, and rounds differ. Ratios need more rounds, and can differ from those on a quiet machine"

// findings has the texts of all findings, by code. [values] replaces the names in braces.
var findings = map[string]findingWords{
	result.FindingNoise: {"The times vary", "the times vary",
		"A driver compared with itself shows that only differences of about {share} can be measured in {minutes}. At {most} or less, the machine would be {good}",
		"Smaller differences between drivers are reported as ties, or take longer",
		"Follow the other findings, or measure longer and fewer drivers at once"},
	result.FindingFailed: {"The noise could not be measured", "nothing could be measured",
		"{failure}", "A run is likely to fail in the same way",
		"Remove the cause, and check again"},
	result.FindingNoGo: {"Go is missing or too old", "no driver can be built without a new enough Go",
		"There is no go in PATH, or it is too old and can't download a newer one", "No driver can be built; only workers that are executables already can be measured",
		"Install Go from https://go.dev/dl"},
	result.FindingNoCC: {"C compiler", "",
		"{drivers} cannot be built for want of a C compiler, or because cgo is turned off", "They are left out; the others are measured",
		"Install gcc or clang (Debian: apt-get install gcc libc6-dev), and do not set CGO_ENABLED=0"},
	result.WarningLoad: {"Other processes are running", "other processes take CPU time",
		"The load average is {value}; up to {limit} would be quiet on {cores}{waited}", processesEffect,
		"Stop them (top shows which), or wait: the load average lags by a minute"},
	result.FindingBusy: {"Other processes are running", "other processes take CPU time",
		"In {share} of the last 10 seconds a process waited for a CPU", processesEffect,
		"Stop them (top shows which), or wait"},
	result.WarningSteal: {"Steal time", "other machines of the same host take CPU time",
		"The hypervisor gave {share} of the CPU time that the noise measurement could have used to other machines",
		"Times are longer by about as much, and not evenly; of single operations mostly the slowest (p99 and more)",
		"Take an instance with dedicated cores, or another time of day; otherwise more rounds"},
	result.WarningCalibration: {"The speed changes", "the machine changes its speed",
		"Before one of the rounds a fixed computing loop took {times} its median time",
		"Absolute times of different rounds are not alike. Ratios vary less, since they are formed within rounds",
		"See to load, governor and heat; do not compare with absolute times of another run"},
	result.FindingBattery: {"Battery", "it runs on battery",
		"There is no mains power", "The system lowers the clock rate to save power",
		"Plug it in"},
	result.WarningGovernor: {"Frequency governor", "the clock rate depends on what ran before",
		"The governor is {governor}, not performance", "The clock rate depends on what ran before: short phases and the first after a pause are slower",
		"While measuring: sudo cpupower frequency-set -g performance"},
	result.FindingQuota: {"CPU time is limited", "its CPU time is limited",
		"The control group allows CPU time for {value} of {limit cores}",
		"If a trial uses more it is stopped until the next period, for up to 100 ms; concurrent workloads and drivers with helper threads suffer most",
		"Raise the limit (docker run --cpus, resources.limits.cpu), or remove it while measuring"},
	result.FindingCores: {"One core", "there is only one core",
		"Processes can use one logical core", "Workloads with several clients measure the scheduler; a server shares the core with the load generator",
		"Take two cores or more for workloads with several clients; the others can be measured"},
	result.FindingClock: {"The clock is slow or coarse", "its clock is slow or coarse",
		"The clock ({clock}) has a resolution of {resolution}, and a reading costs {reading}",
		"Each operation of a mix reads the clock once: its latencies, and rates of short operations, include that",
		"If tsc is among /sys/devices/system/clocksource/clocksource0/available_clocksource, use it; otherwise do not judge by short operations"},
	result.FindingMemory: {"Little memory", "memory is short",
		"{size} of memory are available; {enough} are enough",
		"Databases do not stay in the system's cache, so that reading measures the disk; workers may be killed",
		"Close other programs, or take a smaller scale"},
	result.FindingSwapping: {"Processes wait for memory", "memory is short",
		"In {share} of the last 10 seconds a process waited for memory", "Trials wait with them while the system swaps",
		"Close other programs, or take a smaller scale"},
	result.FindingDisk: {"The disk is busy", "other processes use the disk",
		"In {share} of the last 10 seconds a process waited for the disk", "Transactions that wait for fsync take longer, and not evenly",
		"Stop what uses the disk (iotop shows it), or wait"},
	result.FindingSpace: {"No room", "there is no room for databases",
		"{size} are free in {directory}", "Trials fail with SQLITE_FULL",
		"Make room. {elsewhere}"},
	result.WarningSync: {"fsync reaches no device", "fsync reaches no device",
		"{sync}", "Transactions cost less than on a disk, and synchronous=full and off take the same time",
		"{elsewhere}, if writing is what you want to know; reading is not affected"},
	result.FindingNetwork: {"Network file system", "databases are on a network file system",
		"Databases are created on {file system}", "Each lock and each fsync goes through another machine, and WAL does not work between machines",
		"{elsewhere}, a local one"},
	result.FindingCopies: {"copy on write", "",
		"Databases are created on {file system}, which writes each changed page to another place",
		"Updates cost more than on ext4 or xfs, and more with the age of a file",
		"{elsewhere}, if production uses another one"},
	result.FindingOverlay: {"container", "",
		"Databases are created in a container's layer (overlay)",
		"New files cost little more than on the disk below; whether fsync reaches it is not known",
		"{elsewhere}, such as a volume"},
	result.FindingSlow: {"slow fsync", "",
		"An fsync takes {ns}", "Phases with a transaction for each row measure the disk, not the driver",
		"To compare drivers there, use synchronous=off"},
	result.WarningVirtual: {"virtual", "",
		"This is a virtual machine ({virtual})", "Its neighbors take time that it cannot see, and its disk may only pretend to sync",
		"Compare ratios, which are formed within rounds. For absolute times, take a machine of your own"},
	result.FindingTurbo: {"turbo", "",
		"The CPU raises its clock rate as heat and the number of busy cores allow",
		"One client runs at a higher clock rate than several; absolute times depend on the temperature",
		"For absolute times, turn it off while measuring: echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost, or 1 into intel_pstate/no_turbo"},
	result.FindingCrash: {"recording", "",
		"File operations of drivers can't be recorded", "sqlite3perf crash tries only the faults kill, shared and cancel here, no power cuts",
		"For power cuts, run crash on Linux (amd64), outside a container that forbids seccomp's user notification or pidfd_getfd"},
	result.FindingSMT: {"SMT", "",
		"Two logical cores share a core", "Several clients gain less than the number of logical cores says",
		"To see what cores give, turn it off while measuring: echo off | sudo tee /sys/devices/system/cpu/smt/control"},
}
