package disk

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
)

// commits returns the operations of n transactions. Each transaction writes some pages of a file
// and syncs the file.
func commits(n int) []trace.Op {
	ops := []trace.Op{create(1, "a"), sync(1), syncDir("."), acknowledge(0)}
	for i := range n {
		letter := string(rune('A' + i))
		ops = append(ops, write(1, 0, pages(letter+letter+letter+letter+letter+letter)), sync(1), acknowledge(i+1))
	}
	return ops
}

// TestAcknowledged checks a state that several faults leave: it must have the greatest number of
// acknowledged transactions. There must be no state from before transaction 0 was acknowledged.
func TestAcknowledged(t *testing.T) {
	ops := []trace.Op{create(1, "a"), write(1, 0, pages("X")), write(1, 0, pages("A")), sync(1), syncDir("."), acknowledge(0),
		write(1, 0, pages("B")), sync(1), acknowledge(1), write(1, 0, pages("B")), acknowledge(2), write(1, 0, pages("C")), acknowledge(3)}
	for m, want := range map[Model]map[string]int{
		Kill:    {"a=A8": 0, "a=B8": 2, "a=C8": 3},
		Ordered: {"a=A8": 0, "a=B8": 3, "a=C8": 3},
	} {
		got := map[string]int{}
		for w, s := range statesOf(t, ops, Options{Model: m}) {
			got[w] = s.Acknowledged
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: the states and their acknowledged transactions are %v, want %v", m, got, want)
		}
	}
}

// TestBoundaries checks before which operations faults are tried, and that a state's boundary is
// the operation before which the fault leaves this state.
func TestBoundaries(t *testing.T) {
	ops := []trace.Op{create(1, "a"), sync(1), acknowledge(0), write(1, 0, "x"), {Kind: trace.Map, File: 1}, sync(1), acknowledge(1)}
	tr := &trace.Trace{Ops: ops}
	if got, want := boundariesOf(tr, 0), []int{3, 5, 7}; !slices.Equal(got, want) {
		t.Errorf("the boundaries are %v, want %v", got, want)
	}
	if got, want := boundariesOf(tr, 1<<30), []int{7}; !slices.Equal(got, want) {
		t.Errorf("the boundaries at the end are %v, want %v", got, want)
	}
	if got := boundariesOf(&trace.Trace{Ops: ops[:2]}, 0); got != nil {
		t.Errorf("without an acknowledgment the boundaries are %v", got)
	}
	ops = commits(2)
	states := statesOf(t, ops, Options{Model: Kill})
	for want, at := range map[string]int{"a=": 4, "a=A48": 7, "a=B48": 10} {
		if s, ok := states[want]; !ok || s.Boundary != at || s.Persisted != "everything" {
			t.Errorf("the state %s is before operation %d with %q, want %d with everything", want, s.Boundary, s.Persisted, at)
		}
	}
}

// list returns all states in their order, each in words.
func list(t *testing.T, ops []trace.Op, o Options) (out []string) {
	t.Helper()
	err := States(&trace.Trace{Ops: ops}, o, func(s *State) error {
		out = append(out, fmt.Sprint(s.Boundary, s.Acknowledged, s.Persisted, s.Image.Sum()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestMost checks that there are at most as many states as wanted, and that they are in the order of the
// trace.
func TestMost(t *testing.T) {
	ops := commits(10)
	for _, m := range []Model{Ordered, Posix} {
		all := len(list(t, ops, Options{Model: m}))
		for _, most := range []int{1, 7, 30} {
			got := list(t, ops, Options{Model: m, Most: most})
			if len(got) != most {
				t.Errorf("%s: there are %d states, want %d of about %d", m, len(got), most, all)
			}
			before := -1
			for _, s := range got {
				var at int
				if _, err := fmt.Sscan(s, &at); err != nil || at < before {
					t.Errorf("%s: boundary %d is after %d, %v", m, at, before, err)
				}
				before = at
			}
		}
		if all <= 30 {
			t.Errorf("%s: there are only %d states in all", m, all)
		}
	}
}

// TestSeed checks that the same seed gives the same states, and that another seed gives other
// states.
func TestSeed(t *testing.T) {
	ops := commits(10)
	for _, m := range []Model{Ordered, Posix} {
		o := Options{Model: m, Seed: 7, Most: 20}
		first := list(t, ops, o)
		for range 5 {
			if again := list(t, ops, o); !slices.Equal(first, again) {
				t.Fatalf("%s: the same seed gives other states:\n%q\n%q", m, first, again)
			}
		}
		o.Seed = 8
		if other := list(t, ops, o); slices.Equal(first, other) {
			t.Errorf("%s: another seed gives the same states", m)
		}
	}
}

// TestExtremes checks the states after many waiting changes. There must be a state with all
// changes, a state with none, and states with all changes but one.
func TestExtremes(t *testing.T) {
	ops := join([]trace.Op{acknowledge(0)}, durableFile(1, "a", "AAAAAA"), []trace.Op{write(1, 0, pages("BCDEFG"))})
	for _, m := range []Model{Ordered, Posix} {
		states := statesOf(t, ops, Options{Model: m, From: 1 << 30})
		for want, persisted := range map[string]string{"a=A48": "no waiting change", "a=B8C8D8E8F8G8": "every waiting change"} {
			// No change of a name is waiting. So this state is the same whether or not changes of names
			// persist.
			if _, ok := states[want]; !ok {
				t.Errorf("%s: the state with %s is missing", m, persisted)
			}
		}
		counts := map[string]int{}
		for _, s := range states {
			counts[s.Persisted]++
		}
		for _, kind := range []string{"all waiting changes but one", "one waiting change", "the first waiting changes", "half of the waiting changes, at random"} {
			if counts[kind] == 0 {
				t.Errorf("%s: no state has %s: %v", m, kind, counts)
			}
		}
	}
}

// TestVisitError checks that States ends if the function "visit" returns an error.
func TestVisitError(t *testing.T) {
	stop, calls := errors.New("stop"), 0
	err := States(&trace.Trace{Ops: commits(3)}, Options{Model: Ordered}, func(*State) error {
		calls++
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("the error is %v after %d calls", err, calls)
	}
}

// TestChoices checks that states have all kinds of choices of the waiting changes, although fewer states are
// wanted than there are operations.
func TestChoices(t *testing.T) {
	tr := &trace.Trace{Ops: []trace.Op{create(1, "a"), acknowledge(0)}}
	for i := range 40 {
		tr.Ops = append(tr.Ops, write(1, int64(i)<<12, pages(string(rune('A'+i)))))
	}
	halves := 0
	err := States(tr, Options{Model: Ordered, Seed: 1, Most: 30}, func(s *State) error {
		if s.Persisted == "half of the waiting changes, at random" {
			halves++
		}
		return nil
	})
	if err != nil || halves < 3 {
		t.Errorf("%d of 30 states have half of the changes, %v", halves, err)
	}
}

// TestSampled checks that faults are tried only at some operations of a long trace, including the
// last one.
func TestSampled(t *testing.T) {
	boundaries := make([]int, 5000)
	for i := range boundaries {
		boundaries[i] = 3 * i
	}
	got := sampled(boundaries, Options{Seed: 1, Most: 10})
	if len(got) != 10*mostBoundaries || !slices.IsSorted(got) || got[len(got)-1] != 3*4999 || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("%d operations: %v", len(got), got)
	}
	for _, o := range []Options{{}, {Most: 5000}} {
		if got := sampled(boundaries, o); len(got) != 5000 {
			t.Errorf("%+v: %d operations of 5000", o, len(got))
		}
	}
	if got := sampled(boundaries, Options{Seed: 2, Most: 10}); slices.Equal(got, sampled(boundaries, Options{Seed: 1, Most: 10})) {
		t.Error("seeds 1 and 2 choose the same operations")
	}
}
