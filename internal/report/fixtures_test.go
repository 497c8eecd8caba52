package report_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// fixtures are the runs from which golden files are made.
var fixtures = map[string]func() *result.Run{
	"full":        fullRun,
	"matrix":      matrixRun,
	"interrupted": interruptedRun,
	"server":      serverRun,
	"single":      singleRun,
	"settings":    settingsRun,
	"nofloor":     noFloorRun,
	"empty":       emptyRun,
}

// library describes a driver of the fixtures.
type library struct {
	info                    driver.Info
	version, sqlite         string
	options                 []string
	factor                  float64 // the driver's time divided by the time of the driver native
	allocs                  int64   // allocations per row of a bulk phase
	cacheSize, busyTimeout  string  // values that connections read back, if the run does not request others
	unavailable, noChecksum bool
}

var libraries = map[string]library{
	"native": {driver.Info{Name: "native", Module: "github.com/mattn/go-sqlite3", Kind: driver.Cgo, Interface: driver.Direct},
		"v1.14.52", "3.53.4", []string{"THREADSAFE=1", "DEFAULT_WAL_SYNCHRONOUS=1", "COMPILER=gcc-14"}, 1, 0, "-2000", "5000", false, false},
	"mattn": {driver.Info{Name: "mattn", Module: "github.com/mattn/go-sqlite3", Kind: driver.Cgo, Interface: driver.DatabaseSQL},
		"v1.14.52", "3.53.4", []string{"THREADSAFE=1", "DEFAULT_WAL_SYNCHRONOUS=1", "COMPILER=gcc-14"}, 1.83, 9, "-2000", "5000", false, false},
	"tailscale": {driver.Info{Name: "tailscale", Module: "github.com/tailscale/sqlite", Kind: driver.Cgo, Interface: driver.DatabaseSQL},
		"v0.0.0-20240816174256-9328d0478def", "3.46.1", []string{"THREADSAFE=2", "DQS=0", "DEFAULT_MEMSTATUS=0", "OMIT_DEPRECATED", "COMPILER=gcc-14"}, 1.835, 4, "-2000", "0", false, false},
	"modernc": {driver.Info{Name: "modernc", Module: "modernc.org/sqlite", Kind: driver.Transpiled, Interface: driver.DatabaseSQL},
		"v1.61.1", "3.54.1", []string{"THREADSAFE=1", "DEFAULT_MEMSTATUS=0", "COMPILER=ccgo"}, 4.2, 11, "-2000", "0", false, false},
	"zombiezen": {driver.Info{Name: "zombiezen", Module: "zombiezen.com/go/sqlite", Kind: driver.Transpiled, Interface: driver.Direct},
		"v1.4.2", "3.51.2", []string{"THREADSAFE=1", "DEFAULT_MEMSTATUS=0", "COMPILER=ccgo"}, 3.1, 1, "-2000", "0", false, false},
	"ncruces": {driver.Info{Name: "ncruces", Module: "github.com/ncruces/go-sqlite3", Kind: driver.Wasm, Interface: driver.DatabaseSQL},
		"v0.35.6", "3.53.4", []string{"THREADSAFE=0", "DQS=0", "OMIT_SHARED_CACHE", "COMPILER=clang-20"}, 3.4, 6, "-8000", "60000", false, false},
	"crawshaw": {driver.Info{Name: "crawshaw", Module: "crawshaw.io/sqlite", Kind: driver.Cgo, Interface: driver.Direct},
		"v0.3.2", "3.33.0", []string{"THREADSAFE=2", "COMPILER=gcc-14"}, 1.5, 0, "-2000", "10000", false, false},
	"bvinc": {driver.Info{Name: "bvinc", Module: "github.com/bvinc/go-sqlite-lite", Kind: driver.Cgo, Interface: driver.Direct},
		"v0.6.1", "3.29.0", []string{"THREADSAFE=2", "COMPILER=gcc-14"}, 1.6, 0, "-2000", "0", false, false},
	"eatonphil": {driver.Info{Name: "eatonphil", Module: "github.com/eatonphil/gosqlite", Kind: driver.Cgo, Interface: driver.Direct},
		"v0.10.0", "3.46.0", []string{"THREADSAFE=2", "COMPILER=gcc-14"}, 1.7, 0, "-2000", "0", false, false},
	"python": {info: driver.Info{Name: "python", Kind: driver.OtherLanguage, Interface: driver.Direct}, factor: 2, unavailable: true},
}

// wobble has factors by which times are multiplied to imitate noise. The samples of a phase use these
// factors in turn. The first factor depends on the case, so that in a round different drivers usually
// have different factors.
var wobble = []float64{1.000, 1.012, 0.991, 1.024, 0.985, 1.006, 0.997, 1.019, 1.003}

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func newRun(rounds int) *result.Run {
	return &result.Run{
		ID: 12, Version: "v0.1.0", Started: start, Ended: start.Add(4*time.Minute + 12*time.Second),
		Command: []string{"sqlite3perf", "run"}, Seed: 42, Scale: "quick", Rounds: rounds, Precision: 0.02, Stopped: "rounds",
		Machine: result.Machine{Hostname: "lab1", OS: "linux", Arch: "amd64", Kernel: "6.1.0", CPU: "AMD EPYC 7763", Cores: 2,
			MemoryBytes: 8 << 30, Virtual: "kvm", Directory: "/var/bench", FileSystem: "ext4", Device: "/dev/vda1"},
	}
}

// measure makes one sample of a fixture. Functions that return a measure have a parameter "base":
// the time of the driver native, in nanoseconds.
type measure func(l library, round int, noise float64) result.Sample

func bulk(phase string, base, rows, operations int64) measure {
	return func(l library, _ int, noise float64) result.Sample {
		wall := int64(float64(base) * l.factor * noise)
		s := result.Sample{
			Phase: phase, Metric: "time", WallNS: wall, UserNS: wall * 8 / 10, SystemNS: wall * 15 / 100,
			Operations: operations, Rows: rows, Costs: protocol.Costs{Allocs: l.allocs * rows, AllocBytes: 24 * l.allocs * rows, PeakRSSBytes: 24<<20 + int64(l.factor*float64(4<<20)), DatabaseBytes: 64 << 20},
		}
		if !l.noChecksum && phase == "query" {
			s.Checksum = strings.Repeat("3fa9", 16)
		}
		return s
	}
}

func mix(phase, metric string, errors bool) measure {
	return func(l library, round int, noise float64) result.Sample {
		op := 20000 * l.factor * noise
		const wall = 2_000_000_000
		s := result.Sample{Phase: phase, Metric: metric, WallNS: wall, UserNS: wall, SystemNS: wall / 2, Operations: int64(wall / op),
			Costs: protocol.Costs{Allocs: l.allocs * 1000, AllocBytes: l.allocs * 64000, PeakRSSBytes: 30 << 20, DatabaseBytes: 16 << 20, WALBytes: 4 << 20, CheckpointNS: int64(3_000_000 * noise)}}
		for i, name := range []string{"read", "write"} {
			x := int64(op) * int64(1+9*i)
			s.Latency = append(s.Latency, latency.Summary{Operation: name, Count: s.Operations * int64(9-8*i) / 10, MeanNS: x, P50NS: x,
				P90NS: 2 * x, P99NS: 5 * x, P999NS: 9 * x, P9999NS: 20 * x, MaxNS: 40*x + int64(round), Histogram: "HISTFAAAAA=="})
		}
		if errors && l.info.Name == "mattn" {
			s.Errors = []protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: 100 * int64(round), WaitNS: int64(round) * 5_000_000_000},
				{Code: 517, Name: "SQLITE_BUSY_SNAPSHOT", Count: 300, WaitNS: 6_000_000}}
			s.Results = []protocol.ErrorCount{{Code: 2067, Name: "SQLITE_CONSTRAINT_UNIQUE", Count: 12, WaitNS: 70_000}}
			s.Failed = 100*int64(round) + 300
			s.Latency[1].Failed, s.Latency[1].EndedEarly = s.Failed, 40
		}
		return s
	}
}

// server returns a function that makes the samples of an http phase. If rate is 0, each client sends its
// next request after the last response; otherwise requests are sent at that rate per second.
func server(phase string, rate float64) measure {
	return func(l library, round int, noise float64) result.Sample {
		s := mix(phase, "time/op", false)(l, round, noise)
		s.Latency = s.Latency[:1]
		s.Latency[0].Operation, s.Latency[0].Count = phase, s.Operations
		s.Load = &result.Load{Clients: 50, Ceiling: 61_000, Rate: rate}
		if rate > 0 {
			s.Metric, s.Operations, s.Latency[0].Count, s.Load.LateP99NS = "latency", 20_000, 20_000, 70_000
		}
		return s
	}
}

// add adds a workload to a run, with a case for each driver and a trial per round.
func add(run *result.Run, workload string, parameters map[string]int64, settings driver.Settings, drivers []string, measures ...measure) {
	var phases []string
	for _, m := range measures {
		phases = append(phases, m(library{factor: 1}, 1, 1).Phase)
	}
	for _, d := range drivers {
		name, version, _ := strings.Cut(d, "@")
		l := libraries[name]
		if version != "" {
			l.version = version
			l.factor *= 1.1
		}
		c := result.Case{ID: len(run.Cases) + 1, Workload: workload, Scale: run.Scale, Parameters: parameters, Driver: d, Info: l.info,
			Settings: settings, Phases: phases, Worker: "0123abcd", Build: map[string]string{"go": "go1.26.8"}}
		run.Cases = append(run.Cases, c)
		for round := 1; round <= run.Rounds; round++ {
			t := result.Trial{Case: c.ID, Round: round, Order: len(run.Trials) + 1, Status: result.OK, TookNS: 1e9,
				Started: run.Started.Add(time.Duration(len(run.Trials)) * time.Second)}
			if l.unavailable {
				t.Status = result.Unavailable
				t.Reason = &protocol.Reason{Code: "start", Message: "python3 is not installed: apt-get install python3"}
				run.Trials = append(run.Trials, t)
				break
			}
			t.Proof = &protocol.Proof{SQLiteVersion: l.sqlite, SQLiteSourceID: "2026-01-01 " + l.sqlite, CompileOptions: l.options,
				Module: l.info.Module, ModuleVersion: l.version, Runtime: "go1.26.8",
				Connections: []driver.Settings{settings.With(driver.Settings{"cache_size": l.cacheSize})}}
			if settings["busy_timeout"] == "" {
				t.Proof.Connections[0]["busy_timeout"] = l.busyTimeout
			}
			for i, m := range measures {
				t.Samples = append(t.Samples, m(l, round, wobble[(round*2+c.ID*(i+1))%len(wobble)]))
			}
			run.Trials = append(run.Trials, t)
		}
	}
}

// spoil calls f with each trial of a driver in a workload, to change it.
func spoil(run *result.Run, workload, driver string, f func(*result.Trial)) {
	for _, c := range run.Cases {
		if c.Workload == workload && c.Driver == driver {
			for i := range run.Trials {
				if run.Trials[i].Case == c.ID {
					f(&run.Trials[i])
				}
			}
		}
	}
}

var (
	rollback = driver.Settings{"journal_mode": "delete", "synchronous": "full", "foreign_keys": "on", "busy_timeout": "5000"}
	wal      = driver.Settings{"journal_mode": "wal", "synchronous": "normal", "pool_size": "4"}
)

// fullRun returns a complete run with examples of all kinds of problems: refused settings, failed and
// wrong trials, workloads and drivers that were left out, and warnings.
func fullRun() *result.Run {
	run := newRun(6)
	run.LeftOut = []result.LeftOut{{Workload: "complex", Code: result.LeftOutTime}, {Workload: "large", Code: result.LeftOutTime},
		{Driver: "python", Code: protocol.CodeNoExecutable, Message: "python needs --drivers python"}}
	all := []string{"native", "mattn", "tailscale", "modernc", "zombiezen", "ncruces", "crawshaw", "bvinc", "eatonphil", "python"}
	add(run, "simple", nil, rollback, all, bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 402_000_000, 1_000_000, 1))
	add(run, "read-write", nil, wal, all, mix("mix", "time/op", true))
	spoil(run, "simple", "crawshaw", func(t *result.Trial) {
		t.Status, t.Samples = result.Refused, nil
		t.Reason = &protocol.Reason{Code: "setting", Message: "journal_mode: wanted delete, got wal"}
	})
	spoil(run, "simple", "bvinc", func(t *result.Trial) {
		if t.Round == 4 {
			t.Status, t.Samples = result.Failed, t.Samples[:1]
			t.Reason = &protocol.Reason{Code: "crash", Phase: "query", Message: "the worker ended with exit status 2",
				Detail: "panic: runtime error: \x1b[31mindex out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/drivers/bvinc/main.go:17 +0x1d"}
		}
	})
	spoil(run, "simple", "eatonphil", func(t *result.Trial) { t.Samples[1].Checksum = strings.Repeat("00c1", 16) })
	spoil(run, "read-write", "ncruces", func(t *result.Trial) {
		if t.Round > 3 {
			t.Status, t.Samples = result.Failed, nil
			t.Reason = &protocol.Reason{Code: "timeout", Phase: "mix", Message: "no answer within 30s; killed"}
		}
	})
	run.Warnings = []result.Warning{
		{Code: "virtual", Message: "a virtual machine (kvm): neighbors may take time from trials"},
		{Code: "load", Message: "load average 2.1 on 2 cores when the run began"},
		{Code: "calibration", Message: "the calibration loop took 11.2ms in round 4, +12 % from the run's median of 10ms: the machine ran at another speed", Deviation: 0.12, Round: 4},
		{Code: "spread", Message: "samples fall into two groups", Case: 4, Phase: "insert"},
	}
	spoil(run, "read-write", "mattn", func(t *result.Trial) {
		if t.Round%2 == 0 {
			t.Warnings = []result.Warning{{Code: "rss", Message: fmt.Sprintf("resident memory grew by %d MiB", 100+t.Round), Phase: "mix"}}
		}
	})
	return run
}

// matrixRun returns a run that varies a parameter of one workload and two settings of
// another.
func matrixRun() *result.Run {
	run := newRun(9)
	run.Stopped, run.Precision = "settled", 0.05
	run.Machine.FileSystem, run.Machine.SyncFree, run.Machine.Directory, run.Machine.Device = "tmpfs", true, "/dev/shm", ""
	drivers := []string{"native", "mattn", "mattn@v1.14.22"}
	for _, n := range []int64{10, 100} {
		add(run, "many", map[string]int64{"users": n, "repeats": 1000}, rollback, drivers, bulk("query", 50_000*n, 1000*n, 1000))
	}
	for _, journal := range []string{"wal", "delete"} {
		for _, sync := range []string{"normal", "full"} {
			add(run, "point-read", nil, driver.Settings{"journal_mode": journal, "synchronous": sync}, drivers, mix("read", "latency", false))
		}
	}
	return run
}

// serverRun returns a run of HTTP servers under load.
func serverRun() *result.Run {
	run := newRun(6)
	for _, pool := range []int64{1, 50} {
		add(run, "http-server", map[string]int64{"pool": pool, "connections": 50}, wal, []string{"native", "mattn"}, server("requests", 0), server("steady", 10_000))
	}
	spoil(run, "http-server", "mattn", func(t *result.Trial) {
		for i := range t.Samples {
			s := &t.Samples[i]
			s.Failed, s.Latency[0].Failed = s.Operations/7, s.Operations/7
			s.Errors = []protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: s.Failed, WaitNS: 1e9}}
		}
	})
	spoil(run, "http-server", "native", func(t *result.Trial) {
		t.Warnings = []result.Warning{{Code: "ceiling", Phase: "requests", Message: "50000 requests/s is 82 % of the ceiling"}}
	})
	return run
}

// interruptedRun returns a run with too few samples, and with two cases that have no trial.
func interruptedRun() *result.Run {
	run := newRun(3)
	run.Stopped = "interrupted"
	add(run, "simple", nil, rollback, []string{"native", "mattn", "modernc", "zombiezen"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 402_000_000, 1_000_000, 1))
	run.Trials = run.Trials[:6] // the trials of the other two drivers have not been run
	last := &run.Trials[5]
	last.Samples = last.Samples[:1]
	return run
}

// singleRun returns a run with one driver. All figures of the phase "nothing" are 0.
func singleRun() *result.Run {
	run := newRun(6)
	run.Stopped = "time"
	run.Precision = 0.01
	add(run, "simple", nil, nil, []string{"modernc"}, bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("nothing", 0, 0, 0))
	hash := strings.Repeat("5a", 32)
	run.Workloads = []result.Workload{{Name: "simple", Text: "name: simple\nschema: simple.sql\n", SHA256: hash,
		Includes: []result.TextFile{{Name: "simple.sql", Text: "CREATE TABLE t(id)"}}}}
	run.Cases[0].WorkloadSHA256 = hash
	return run
}

// noFloorRun returns a run that compares two drivers without the floor (plain C). One of the drivers
// failed in a workload.
func noFloorRun() *result.Run {
	run := newRun(6)
	two := []string{"modernc", "mattn"}
	add(run, "simple", nil, rollback, two, bulk("insert", 812_000_000, 1_000_000, 1_000_000), bulk("query", 402_000_000, 1_000_000, 1))
	add(run, "group-by", nil, rollback, two, bulk("insert", 900_000_000, 500_000, 500_000), bulk("group", 90_000_000, 110, 1))
	add(run, "analytics", nil, rollback, two, bulk("json", 90_000_000, 110, 1))
	spoil(run, "analytics", "mattn", func(t *result.Trial) {
		t.Status, t.Samples = result.Failed, nil
		t.Reason = &protocol.Reason{Code: "sqlite", Phase: "json", Message: "no such function: json_extract | `x` <b>*y*</b>"}
	})
	return run
}

// settingsRun returns a run of one driver with four combinations of two settings. The last
// combination fails from the third round on.
func settingsRun() *result.Run {
	run := newRun(9)
	for _, journal := range []string{"wal", "delete"} {
		for _, sync := range []string{"normal", "full"} {
			add(run, "read-write", nil, driver.Settings{"journal_mode": journal, "synchronous": sync, "busy_timeout": "5000"}, []string{"modernc"}, mix("mix", "time/op", false))
		}
	}
	for i := range run.Trials {
		t := &run.Trials[i]
		if c := run.Cases[t.Case-1]; c.Settings["journal_mode"] == "delete" {
			t.Samples[0].Operations /= 2
			t.Samples[0].Latency[1].P99NS *= 3
		} else if c.Settings["synchronous"] == "full" {
			t.Samples[0].Operations = t.Samples[0].Operations * 9 / 10
		}
	}
	for i := range run.Trials {
		if t := &run.Trials[i]; t.Case == 4 && t.Round > 2 {
			t.Status, t.Samples = result.Failed, nil
			t.Reason = &protocol.Reason{Code: "timeout", Phase: "mix", Message: "no answer within 30s; killed"}
		}
	}
	return run
}

func emptyRun() *result.Run { return &result.Run{Version: "v0.1.0", Started: start} }
