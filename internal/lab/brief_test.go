package lab_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// verifiedTwice is a workload with one phase of each kind that later trials need not verify in full.
const verifiedTwice = `
name: verified
schema: CREATE TABLE t(id INTEGER PRIMARY KEY, n INTEGER NOT NULL)
rows: {t: {count: 20, columns: {id: serial, n: {int: [0, 9]}}}}
phases:
  - {name: insert, insert: t}
  - {name: known, query: SELECT id FROM t ORDER BY id, columns: int, expect: {returns: {t: [id]}}}
  - {name: agreed, query: SELECT sum(n) FROM t, columns: int}
  - {name: warm, untimed: true, query: SELECT sum(id) FROM t, columns: int}
  - {name: mix, count: 10, mix: [{name: read, sql: SELECT n FROM t WHERE id = :id, parameters: {id: {pick: t.id}}, columns: int}]}
`

// TestBrief checks that the first trial verifies all phases, and that each later group of
// eight trials verifies each phase once, in a trial that the seed chooses.
func TestBrief(t *testing.T) {
	t.Parallel()
	p := casesOf(t, faulty(t, "none"), 7, nil, nil, parse(t, verifiedTwice))[0].Plan
	if got := lab.Brief("w", p, 7, 0); got != nil {
		t.Errorf("the first trial does not verify %v", got)
	}
	const seeds = 400
	turns := map[string]int{} // by position of the trial within its group: how often that trial verifies a phase
	together, alike := 0, 0   // how often the same trial verifies two phases, and how often two groups verify a phase at the same position
	turn := func(seed uint64, group int, phase string) (at int) {
		at = -1
		for i := range 8 {
			if slices.Contains(lab.Brief("w", p, seed, 1+8*group+i), phase) {
				continue
			}
			if at >= 0 {
				t.Fatalf("seed %d: %s is verified in trials %d and %d of group %d", seed, phase, at, i, group)
			}
			at = i
		}
		if at < 0 {
			t.Fatalf("seed %d: %s is not verified in group %d", seed, phase, group)
		}
		return at
	}
	for seed := range uint64(seeds) {
		known, agreed, later := turn(seed, 0, "known"), turn(seed, 0, "agreed"), turn(seed, 1, "known")
		turn(seed, 0, "mix")
		turns[string(rune('0'+known))]++
		if known == agreed {
			together++
		}
		if known == later {
			alike++
		}
		for _, phase := range []string{"insert", "warm"} {
			if slices.Contains(lab.Brief("w", p, seed, 3), phase) {
				t.Errorf("%s: Brief lists this phase, although it has no verification to leave out", phase)
			}
		}
	}
	for at, n := range turns {
		if n < seeds/16 {
			t.Errorf("trial %s of a group is chosen %d times of %d", at, n, seeds)
		}
	}
	if len(turns) != 8 || together > seeds/4 || alike > seeds/4 {
		t.Errorf("%d of 8 positions are ever chosen; two phases share a trial %d times of %d, two groups share a position %d times", len(turns), together, seeds, alike)
	}
}

// TestErrsLater runs a driver whose answers are wrong from its second trial on. The first later trial that
// verifies the phase "query" must detect the wrong answers.
func TestErrsLater(t *testing.T) {
	t.Parallel()
	c := tinyCase(t, faulty(t, "errs-later"))
	p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
	for n := range 9 {
		got, err := p.Trial(t.Context(), c, 7)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(lab.Brief(c.Workload, c.Plan, 7, n), "query") || n == 0 {
			if got.Status != result.OK || (got.Samples[1].Checksum == "") != (n > 0) {
				t.Fatalf("trial %d: %s: %+v, samples %+v", n, got.Status, got.Reason, got.Samples)
			}
			continue
		}
		if got.Status != result.Wrong || got.Reason.Code != "checksum" || got.Reason.Phase != "query" {
			t.Errorf("trial %d: %s: %+v", n, got.Status, got.Reason)
		}
		return
	}
	t.Error("nine trials did not detect the wrong answers")
}

// TestForgetsChecksum runs a driver that sends no checksum for a phase that must have one. The
// trial must fail.
func TestForgetsChecksum(t *testing.T) {
	t.Parallel()
	got, _ := trial(t, "no-checksum", time.Minute)
	if got.Status != result.Failed || got.Reason.Code != "protocol" || got.Reason.Phase != "query" {
		t.Errorf("%s: %+v", got.Status, got.Reason)
	}
}

// TestLaterTrials checks which phases have checksums in later trials of real workers.
func TestLaterTrials(t *testing.T) {
	t.Parallel()
	for name, executable := range realWorkers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := casesOf(t, executable, 7, nil, nil, parse(t, verifiedTwice))[0]
			p := &lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
			made := map[string]string{} // checksums by name of the phase
			for n := range 4 {
				got, err := p.Trial(t.Context(), c, 7)
				if err != nil || got.Status != result.OK {
					t.Fatalf("trial %d: %+v, %v", n, got, err)
				}
				left := lab.Brief(c.Workload, c.Plan, 7, n)
				for _, s := range got.Samples {
					ph := c.Plan.Phases[slices.IndexFunc(c.Plan.Phases, func(p plan.Phase) bool { return p.Name == s.Phase })]
					due := ph.Mix != nil || ph.Query != nil && !slices.Contains(left, s.Phase)
					if due != (s.Checksum != "") {
						t.Errorf("trial %d: checksum of %s is %q, due: %v", n, s.Phase, s.Checksum, due)
					}
					if due && n == 0 {
						made[s.Phase] = s.Checksum
					}
					if due && s.Checksum != made[s.Phase] {
						t.Errorf("trial %d: checksum of %s is %s, in the first trial %s", n, s.Phase, s.Checksum, made[s.Phase])
					}
				}
			}
		})
	}
}
