package study_test

import (
	"bytes"
	"flag"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/study"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// slower has the factor by which each driver takes longer than native, which is plain C. The times in golden
// files are made with these factors.
var slower = map[string]float64{"native": 1, "crawshaw": 1.5, "mattn": 2, "zombiezen": 2.5, "modernc": 4, "sqinn": 3, "python-fetchall": 6}

// fixed returns a made-up time for a phase of a case, in nanoseconds. It increases with rows,
// writers and bytes, and varies a little between rounds.
func fixed(c *result.Case, phase string, round int) int64 {
	h := fnv.New32()
	_, _ = h.Write([]byte(c.Workload + phase))
	ns := 1e6 + float64(h.Sum32()%9e6)
	for _, p := range []string{"rows", "people", "users", "writers", "size", "n", "batch", "pool"} {
		if v := c.Parameters[p]; v > 0 {
			ns *= 1 + float64(v)/(float64(v)+1e4)
		}
	}
	if c.Settings["synchronous"] == "full" {
		ns *= 3
	}
	_, _ = h.Write([]byte(c.Driver))
	wobble := float64((h.Sum32()+uint32(round)*7919)%100) / 2000
	return int64(ns * slower[c.Driver] * (1 + wobble))
}

// golden returns a run with figures for every column of the study's tables.
func golden(t *testing.T, name string, asPublished bool, drivers []build.Ref) *result.Run {
	run := made(t, name, "quick", asPublished, drivers, 6, fixed)
	run.Version, run.Seed, run.Precision = "v0.1.0", 42, 0.02
	run.Started = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	run.Ended = run.Started.Add(4 * time.Minute)
	run.Command = []string{"reproduce", name}
	run.Machine = result.Machine{Hostname: "lab1", OS: "linux", Arch: "amd64", CPU: "AMD EPYC", Cores: 2, MemoryBytes: 8 << 30, Directory: "/var/bench", FileSystem: "ext4", Device: "/dev/vda1"}
	for i := range run.Trials {
		tr := &run.Trials[i]
		c := &run.Cases[tr.Case-1]
		tr.Proof = &protocol.Proof{Connections: []driver.Settings{c.Settings}, SQLiteVersion: "3.53.4", Module: c.Info.Module, ModuleVersion: "v1.0.0", Runtime: "go1.26.0"}
		for j := range tr.Samples {
			s := &tr.Samples[j]
			s.UserNS, s.SystemNS, s.PeakRSSBytes = s.WallNS*7/10, s.WallNS/10, 20<<20
			each := s.WallNS / 1000
			s.Latency = []latency.Summary{{Operation: s.Phase, Count: 1000, P50NS: each, P99NS: 5 * each, P999NS: 8 * each, P9999NS: 12 * each, MaxNS: 20 * each}}
			if w := c.Parameters["writers"]; w == 256 && c.Workload == "writers-parallel" && c.Driver == "modernc" {
				s.Errors = []protocol.ErrorCount{{Code: 5, Name: "SQLITE_BUSY", Count: 3, WaitNS: 15e9}, {Code: 517, Name: "SQLITE_BUSY_SNAPSHOT", Count: 1, WaitNS: 1e6}}
				s.Failed = 4
			}
			switch s.Phase {
			case "requests":
				s.Metric, s.Load = "time/op", &result.Load{Clients: 50, Ceiling: 700e9 / float64(s.WallNS) * 1.1 * slower[c.Driver]}
			case "steady":
				s.Metric, s.Load = "latency", &result.Load{Clients: 50, Rate: 2000, LateP99NS: 2 * each, Ceiling: 60_000}
				if c.Driver == "crawshaw" {
					s.Load.LateP99NS = 4 * each
				}
			}
		}
	}
	return run
}

// TestGolden compares the report on each study, made from fixed figures, with golden files.
func TestGolden(t *testing.T) {
	drivers := refs("mattn", "modernc", "native")
	for _, s := range study.All() {
		own := drivers
		switch s.Name {
		case "driver-comparison":
			own = slices.Concat(drivers, refs("sqinn"))
		case "http-server":
			own = slices.Concat(drivers, refs("crawshaw", "zombiezen"))
		case "sqlite3perf":
			own = slices.Concat(drivers, refs("python-fetchall"))
		}
		for _, asPublished := range []bool{false, true} {
			name := s.Name
			if asPublished {
				name += ".as-published"
			}
			t.Run(name, func(t *testing.T) {
				var b bytes.Buffer
				a := stats.Analyze(golden(t, s.Name, asPublished, own), "native")
				if err := report.Write(&b, "table", a, report.Options{Study: study.Evaluate(a, "--scale full")}); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join("testdata", name+".txt")
				if *update {
					if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), b.String()); d != "" {
					t.Errorf("%s differs (go test ./internal/study -update rewrites it):\n%s", path, d)
				}
			})
		}
	}
}
