package stats_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// settling simulates a run in which a case is no longer measured when its figures are precise
// enough. The function "time" returns the time of a phase in a round, in seconds.
type settling struct {
	run     *result.Run
	time    func(id int, phase string, round int) float64
	outcome func(id, round int) result.Status
}

func newSettling(phases []string, drivers ...string) *settling {
	s := &settling{run: &result.Run{}, outcome: func(int, int) result.Status { return result.OK }}
	for i, d := range drivers {
		s.run.Cases = append(s.run.Cases, result.Case{ID: i + 1, Driver: d, Workload: "w", Phases: phases})
	}
	return s
}

// until measures rounds until no case needs further trials, but at most the number of rounds in the
// parameter "most". It returns the number of rounds of each case.
func (s *settling) until(most int, floor string, precision float64) map[int]int {
	judge := stats.UntilSettled(floor, precision)
	rounds := map[int]int{}
	done := map[int]bool{}
	for round := 1; round <= most; round++ {
		for _, c := range s.run.Cases {
			if done[c.ID] {
				continue
			}
			rounds[c.ID]++
			t := result.Trial{Case: c.ID, Round: round, Order: len(s.run.Trials) + 1, Status: s.outcome(c.ID, round)}
			for _, p := range c.Phases {
				t.Samples = append(t.Samples, result.Sample{Phase: p, Metric: result.MetricTime, WallNS: int64(1e9 * s.time(c.ID, p, round)), Operations: 1})
			}
			s.run.Trials = append(s.run.Trials, t)
		}
		if ids, judged := judge(s.run, round); judged {
			clear(done)
			for _, id := range ids {
				done[id] = true
			}
		}
	}
	return rounds
}

// swing returns a factor that is far from 1 in some rounds.
func swing(round int) float64 { return []float64{1, 1.5, 0.7}[round%3] }

func TestUntilSettled(t *testing.T) {
	both := []string{"insert", "query"}
	for _, tc := range []struct {
		name    string
		phases  []string
		drivers []string
		time    func(id int, phase string, round int) float64
		want    map[int]int // expected number of rounds of each case, at most 20
	}{
		{"ratios, not medians", both, []string{"native", "b", "c"},
			func(id int, _ string, round int) float64 { return float64(id) * swing(round) }, map[int]int{1: 6, 2: 6, 3: 6}},
		{"the base goes on with another", both, []string{"native", "b", "c"},
			func(id int, _ string, round int) float64 {
				if id == 3 {
					return swing(round)
				}
				return float64(id)
			}, map[int]int{1: 20, 2: 6, 3: 20}},
		{"all phases of a case", both, []string{"native", "b", "c"},
			func(id int, phase string, round int) float64 {
				if id == 3 && phase == "query" {
					return swing(round)
				}
				return 1
			}, map[int]int{1: 20, 2: 6, 3: 20}},
		{"precise enough, except in the summary", both, []string{"native", "b", "c"},
			func(id int, _ string, round int) float64 {
				if id == 2 {
					return 1 + 0.04*float64(round%2*2-1)
				}
				return float64(id)
			}, map[int]int{1: 20, 2: 20, 3: 6}},
		{"half of them more precise", both, []string{"native", "b", "c", "d"},
			func(id int, phase string, round int) float64 {
				swing := []float64{0, 0.01, 0.04, 0.04}[id-1] * float64(round%2*2-1)
				if phase == "query" {
					swing = -swing // the two phases vary in opposite directions, so the summary does not vary
				}
				return 1 + swing
			}, map[int]int{1: 20, 2: 6, 3: 20, 4: 20}},
		{"the more precise half", both, []string{"native", "b", "c", "d"},
			func(id int, phase string, round int) float64 {
				swing := []float64{0, 0.01, 0.035, 0.045}[id-1] * float64(round%2*2-1)
				if phase == "query" {
					swing = -swing
				}
				return 1 + swing
			}, map[int]int{1: 20, 2: 6, 3: 20, 4: 6}},
		{"one alone", both, []string{"b"},
			func(int, string, int) float64 { return 1 }, map[int]int{1: 6}},
		{"one alone, by its median", both, []string{"b"},
			func(_ int, _ string, round int) float64 { return swing(round) }, map[int]int{1: 20}},
		{"no time at all", both, []string{"native", "b"},
			func(int, string, int) float64 { return 0 }, map[int]int{1: 20, 2: 20}},
		{"the base is not the floor", both, []string{"a", "b"},
			func(id int, _ string, round int) float64 { return swing(round) / float64(id) }, map[int]int{1: 6, 2: 6}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSettling(tc.phases, tc.drivers...)
			s.time = tc.time
			if d := cmp.Diff(tc.want, s.until(20, "native", 0.05)); d != "" {
				t.Errorf("rounds by case: -want +got:\n%s", d)
			}
		})
	}
}

// TestUntilSettledAnew checks ratios relative to a case that fails. After the failure, they must be
// relative to another case. A case that needed no further trials must be measured again if its new
// ratio is not precise enough.
func TestUntilSettledAnew(t *testing.T) {
	s := newSettling([]string{"insert"}, "native", "b", "c")
	s.time = func(id int, _ string, round int) float64 {
		if id == 2 {
			return swing(round)
		}
		return float64(id)
	}
	s.outcome = func(id, round int) result.Status {
		if id == 1 && round == 10 {
			return result.Failed
		}
		return result.OK
	}
	if d := cmp.Diff(map[int]int{1: 10, 2: 20, 3: 16}, s.until(20, "native", 0.05)); d != "" {
		t.Errorf("rounds by case: -want +got:\n%s", d)
	}
}

// TestUntilSettledSideBySide checks cases with different settings, which are in one table. A case is
// measured until its ratio to the case with the fastest setting is precise enough.
func TestUntilSettledSideBySide(t *testing.T) {
	s := newSettling([]string{"insert"}, "b", "b", "b")
	for i, v := range []string{"wal", "delete", "truncate"} {
		s.run.Cases[i].Settings = map[string]string{"journal_mode": v}
	}
	s.time = func(id int, _ string, round int) float64 { return float64(id) * swing(round) }
	if d := cmp.Diff(map[int]int{1: 6, 2: 6, 3: 6}, s.until(20, "native", 0.05)); d != "" {
		t.Errorf("rounds by case: -want +got:\n%s", d)
	}
}

func TestFigures(t *testing.T) {
	s := newSettling([]string{"insert"}, "native", "b")
	s.time = func(id int, _ string, round int) float64 {
		if id == 2 && round > 3 {
			return 2 * 1.04
		}
		return float64(id)
	}
	s.until(8, "native", 0)
	figures := stats.Analyze(s.run, "native").Figures()
	if len(figures) != 1 {
		t.Fatalf("%d figures, want one ratio", len(figures))
	}
	f := figures[0]
	if f.String() != "w insert" || f.Cell.Case.ID != 2 || f.Base.Case.ID != 1 || f.Summary.Interval == nil {
		t.Errorf("%+v", f)
	}
	if !f.Settled(0.05) || f.Settled(0.01) {
		t.Errorf("settled at 5 %%: %v, at 1 %%: %v", f.Settled(0.05), f.Settled(0.01))
	}
}
