package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestAlternate runs trials of two workers together and checks the order of their steps, which the workers
// write to a file. A worker that cannot alternate, or that ends early, must not delay the other worker.
func TestAlternate(t *testing.T) {
	t.Parallel()
	const first = "talkative" // a worker without a fault, under another name
	for second, want := range map[string]struct {
		notes  string
		status result.Status
	}{
		"none":             {"B begins insert,B ends insert,A begins insert,A ends insert,B begins query,B ends query,A begins query,A ends query,B closes,A closes", result.OK},
		"never-alternates": {"B begins insert,B ends insert,B begins query,B ends query,B closes,A begins insert,A ends insert,A begins query,A ends query,A closes", result.OK},
		"silent":           {"A begins insert,A ends insert,A begins query,A ends query,A closes", result.Failed},
		"dies":             {"B begins insert,B ends insert,A begins insert,A ends insert,B begins query,A begins query,A ends query,A closes", result.Failed},
		"sleeps":           {"B begins insert,B ends insert,A begins insert,A ends insert,B begins query,A begins query,A ends query,A closes", result.Failed},
	} {
		t.Run(second, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			limit := time.Minute
			if second == "sleeps" {
				limit = 10 * time.Second // long enough for the first worker to end
			}
			p := &lab.Processes{Dir: dir, Limit: limit, Slice: -1} // without slices, there is no pilot trial
			got, err := p.Trials(t.Context(), []*lab.Case{tinyCase(t, faulty(t, first)), tinyCase(t, faulty(t, second))}, 7)
			if err != nil {
				t.Fatal(err)
			}
			said, err := os.ReadFile(filepath.Join(dir, "notes"))
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.NewReplacer(first, "A", second, "B", "\n", ",").Replace(strings.TrimSpace(string(said)))
			if diff := cmp.Diff(want.notes, notes); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got[0].Status != result.OK || got[1].Status != want.status {
				t.Errorf("%s %+v, %s %+v", got[0].Status, got[0].Reason, got[1].Status, got[1].Reason)
			}
			for _, trial := range got {
				if trial.Alternated != (second == "none" || second == "dies" || second == "sleeps") {
					t.Errorf("%s: alternated %v", trial.Status, trial.Alternated)
				}
			}
		})
	}
}

// TestSoakWaitingIsNotRunning lets two of three trials use up their time limits. The third
// trial, which waited for them, must not time out.
func TestSoakWaitingIsNotRunning(t *testing.T) {
	t.Parallel()
	p := &lab.Processes{Dir: t.TempDir(), Limit: 8 * time.Second}
	got, err := p.Trials(t.Context(), []*lab.Case{tinyCase(t, faulty(t, "sleeps")), tinyCase(t, faulty(t, "sleeps")), tinyCase(t, faulty(t, "none"))}, 7)
	if err != nil {
		t.Fatal(err)
	}
	if got[2].Status != result.OK {
		t.Errorf("%+v", got[2].Reason)
	}
}

// TestAlternatingInterrupted interrupts trials while one runs and the others wait. All trials must end, and
// leave no files.
func TestAlternatingInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	var cases []*lab.Case
	for range 3 {
		cases = append(cases, tinyCase(t, faulty(t, "sleeps")))
	}
	got, err := (&lab.Processes{Dir: dir, Limit: time.Minute}).Trials(ctx, cases, 7)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", got, err)
	}
	empty(t, dir)
}

// together is an executor that records which cases are run together. The first trial of one case in round 20
// is robbed of CPU time.
type together struct {
	*bench
	robbed int // ID of the case
	groups [][]int
}

func (e *together) Trials(ctx context.Context, cases []*lab.Case, seed uint64) ([]*result.Trial, error) {
	var ids []int
	for _, c := range cases {
		ids = append(ids, c.ID)
	}
	e.groups = append(e.groups, slices.Sorted(slices.Values(ids)))
	return oneByOne(e.Trial).Trials(ctx, cases, seed)
}

// TestSidesAreTogether checks which cases run together. In a comparison, these are the cases that differ only
// in the side. Otherwise, these are the cases that do the same work. If one case of a group is robbed of CPU
// time, all cases of the group must run again.
func TestSidesAreTogether(t *testing.T) {
	t.Parallel()
	for _, by := range []*result.Compares{
		{Factor: result.FactorDriver, First: "a", Second: "b"},
		{Factor: result.FactorSetting, Name: "synchronous", First: "off", Second: "full"},
		{Factor: result.FactorParameter, Name: "n", First: "1", Second: "2"},
		nil,
	} {
		b := newBench(t)
		e := &together{bench: b, robbed: 3}
		b.outcome = func(id, round int) *result.Trial {
			if id == e.robbed && round == 20 && b.runs[id] == 20 {
				return robbedTrial(b, id, round)
			}
			return nil
		}
		r, err := b.measure(4, lab.Schedule{Rounds: 20}, func(l *lab.Laboratory) {
			l.Executor, l.Run.Compares = e, by
			for i, c := range l.Cases {
				c.Driver, c.Workload = "a", []string{"v", "w"}[i/2]
				c.Settings, c.Parameters = driver.Settings{"pool_size": "1"}, map[string]int64{"m": int64(i / 2)}
				if by == nil {
					continue
				}
				switch at := i % 2; by.Factor {
				case result.FactorDriver:
					c.Driver = []string{"a", "b"}[at]
				case result.FactorSetting:
					c.Settings[by.Name] = []string{"off", "full"}[at]
				case result.FactorParameter:
					c.Parameters[by.Name], c.Settings["pool_size"] = int64(at+1), fmt.Sprint(at+1)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"[1 2]": 20, "[3 4]": 21}
		got := map[string]int{}
		for _, g := range e.groups {
			got[fmt.Sprint(g)]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: -want +got:\n%s", by, diff)
		}
		again := map[int]int{}
		for _, trial := range r.Trials {
			if trial.Repeated {
				again[trial.Case] = trial.Round
			}
		}
		twice := map[int]int{3: 20, 4: 20}
		if diff := cmp.Diff(twice, again); diff != "" {
			t.Errorf("%+v: measured again: -want +got:\n%s", by, diff)
		}
	}
}
