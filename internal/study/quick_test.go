package study_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/study"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestQuickIsSmaller checks that the sizes and durations of a study's quick form (scale "quick")
// are limited, that its cases are numbered from 1, and that no two of them are alike.
func TestQuickIsSmaller(t *testing.T) {
	for _, s := range study.All() {
		t.Run(s.Name, func(t *testing.T) {
			cases, err := s.Cases("quick", false, everyone[:1], 1)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for i, c := range cases {
				key := fmt.Sprint(c.Workload, c.Parameters, c.Settings, c.Driver)
				if c.ID != i+1 || seen[key] {
					t.Errorf("case %d: %s", c.ID, key)
				}
				seen[key] = true
				if c.Parameters["rows"] > 100_000 || c.Parameters["people"] > 240_000 || c.Parameters["users"] > 100_000 || c.Parameters["time"] > 12_000 {
					t.Errorf("%s at quick: %v", c.Workload, c.Parameters)
				}
			}
		})
	}
}

// TestQuickIsPlanned checks that a study's quick form (scale "quick") leaves time for work without
// a fixed duration, whatever the number of drivers. Phases of fixed duration share the rest of the
// time, and the drivers of the study keep all values of the parameters.
func TestQuickIsPlanned(t *testing.T) {
	s, err := study.Find("writers")
	if err != nil {
		t.Fatal(err)
	}
	drivers := refs("bvinc", "crawshaw", "eatonphil", "glebarez", "mattn", "modernc", "native", "ncruces", "tailscale", "zombiezen")
	last := int64(0)
	for n := len(drivers); n >= 1; n-- {
		some := slices.Clone(drivers[:n])
		some[0] = drivers[4]
		if n > 4 {
			some[4] = drivers[0]
		}
		for _, asPublished := range []bool{false, true} {
			cases, err := s.Cases("quick", asPublished, some, 1)
			if err != nil {
				t.Fatal(err)
			}
			if least := study.Least(cases, s.Rounds); least > 4*time.Minute {
				t.Errorf("%d drivers: at least %v", n, least)
			}
			points, each, long := map[string]int{}, cases[0].Parameters["time"], 0
			for _, c := range cases {
				if c.Parameters["time"] == 6_000 && c.Driver == "mattn" && c.Parameters["writers"] == 256 {
					long++ // the phase is longer than SQLite waits for a lock
					continue
				}
				points[c.Driver]++
				if c.Parameters["time"] != each {
					t.Errorf("%d drivers: %s lasts %d ms, another %d", n, c.Workload, c.Parameters["time"], each)
				}
			}
			if long != 6 {
				t.Errorf("%d drivers: %d long phases", n, long)
			}
			if want := 46; !asPublished && points["mattn"] != want {
				t.Errorf("%d drivers: mattn is measured at %d points, want %d", n, points["mattn"], want)
			}
			if asPublished {
				continue
			}
			if each < 50 || each > 500 || n < 2 && each < last {
				t.Errorf("%d drivers: %d ms, and %d ms with one more", n, each, last)
			}
			if all := points["native"]; n == 10 && (all == 0 || all >= 46) {
				t.Errorf("native is measured at %d points", all)
			}
			last = each
		}
	}
}

// TestLeast checks that the result of Least includes all three parts: starting processes, opening
// connections, and phases of fixed duration.
func TestLeast(t *testing.T) {
	var few, slow lab.Case
	few.Settings = driver.Settings{"pool_size": "1"}
	slow.Settings, slow.Parameters = driver.Settings{"pool_size": "256"}, map[string]int64{"time": 1000}
	a, b := study.Least([]*lab.Case{&few}, 6), study.Least([]*lab.Case{&few, &slow}, 6)
	if a <= 0 || b-a != 6*(a/6+255*time.Millisecond+time.Second) {
		t.Errorf("%v, %v", a, b)
	}
}
