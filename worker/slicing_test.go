package worker

import (
	"runtime"
	"slices"
	"testing"
)

// TestCold checks the result of [slicing.cold].
func TestCold(t *testing.T) {
	for _, tc := range []struct {
		s    slicing
		want int64
	}{
		{slicing{slices: 5, leads: 900, leadOps: 10, rests: 1000, restOps: 20}, 400},
		{slicing{slices: 5, leads: 2000, leadOps: 10, rests: 1000, restOps: 20}, 750},
		{slicing{slices: 5, leads: 400, leadOps: 10, rests: 1000, restOps: 20}, 0}, // the leads took less
		{slicing{slices: 4, leads: 900, leadOps: 10, rests: 1000, restOps: 20}, 0}, // too few
		{slicing{slices: 5, leads: 900, leadOps: 10}, 0},
		{slicing{}, 0},
	} {
		if got := tc.s.cold(); got != tc.want {
			t.Errorf("%+v: %d, want %d", tc.s, got, tc.want)
		}
	}
}

// TestRound checks that the size of a slice is rounded to a multiple of n, and that the current
// slice changes only if it has not begun.
func TestRound(t *testing.T) {
	for _, tc := range []struct{ size, left, n, wantSize, wantLeft int64 }{
		{8, 8, 2, 8, 8},
		{8, 8, 6, 6, 6},
		{10, 10, 3, 9, 9},
		{2, 2, 5, 5, 5},
		{10, 4, 3, 9, 4},
	} {
		s := slicing{size: tc.size, left: tc.left}
		if s.round(tc.n); s.size != tc.wantSize || s.left != tc.wantLeft {
			t.Errorf("%+v: %d operations, %d left", tc, s.size, s.left)
		}
	}
}

// TestPause checks that memory allocated during pauses does not count.
func TestPause(t *testing.T) {
	var w Stopwatch
	w.Start()
	kept := make([]*[64]byte, 0, 4000)
	for range 4 {
		err := w.Pause(func() error {
			for range 1000 {
				kept = append(kept, new([64]byte))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.Stop()
	runtime.KeepAlive(kept)
	if w.allocs > 100 {
		t.Errorf("%d objects count", w.allocs)
	}
}

// TestFirstLead checks that the times of the first slice are not counted.
func TestFirstLead(t *testing.T) {
	s := slicing{size: 3, lead: 1}
	for range 2 {
		s.leadEnds(1)
		s.sliceEnds(2)
	}
	if s.leadOps != 1 || s.restOps != 2 {
		t.Errorf("%d operations in leads, %d after them: want those of the second slice", s.leadOps, s.restOps)
	}
}

// TestCount checks after which operations slices and their leads end.
func TestCount(t *testing.T) {
	s := slicing{size: 6, left: 6, lead: 2}
	var ended []int
	for op := range 18 {
		if s.count() {
			ended = append(ended, op)
		}
	}
	if !slices.Equal(ended, []int{6, 12}) || s.slices != 3 || s.leadOps != 4 || s.restOps != 4 {
		t.Errorf("slices ended before operations %d; %d leads, %d operations in leads, %d after them", ended, s.slices, s.leadOps, s.restOps)
	}
	var whole slicing
	for range 3 {
		if whole.count() {
			t.Error("a phase that is not divided has slices")
		}
	}
}

// BenchmarkSlicing measures what slices add to each operation of an insert, and to each operation of a
// client, while no slice ends.
func BenchmarkSlicing(b *testing.B) {
	b.Run("insert", func(b *testing.B) {
		s := slicing{size: 1 << 40, left: 1 << 40, lead: 1 << 20}
		b.ReportAllocs()
		for b.Loop() {
			s.count()
		}
	})
	b.Run("client", func(b *testing.B) {
		turns := newClientTurns(b.Context(), slicing{size: 1 << 40, lead: 1 << 20}, 1)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := turns.operation(true, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestFirstSlice checks that the first slices of the executions have all lengths about equally often.
func TestFirstSlice(t *testing.T) {
	rows := rowTurns{slicing: slicing{size: 10}}
	lengths := make([]int, rows.size+1)
	for range 1000 {
		rows.execution()
		n := rows.firstSlice()
		if n < 1 || n > rows.size {
			t.Fatalf("%d rows", n)
		}
		lengths[n]++
	}
	for n, often := range lengths[1:] {
		if often < 90 || often > 110 {
			t.Errorf("%d of 1000 first slices have %d rows", often, n+1)
		}
	}
}

// TestExecutionEnds checks that the rows of an incomplete slice count, but not the rows of the first
// slice of an execution.
func TestExecutionEnds(t *testing.T) {
	for _, tc := range []struct {
		next       rowEvent
		left       int64
		afterRow   bool
		lead, rest int64
	}{
		{next: sliceEnd, left: 4},
		{next: leadEnd, left: 2, afterRow: true, lead: 1},
		{next: sliceEnd, left: 4, afterRow: true, rest: 2},
	} {
		rows := rowTurns{slicing: slicing{size: 9, lead: 3, left: tc.left, slices: 2}, next: tc.next, afterRow: tc.afterRow}
		if rows.executionEnds(); rows.leadOps != tc.lead || rows.restOps != tc.rest {
			t.Errorf("%+v: %d rows in leads, %d after them", tc, rows.leadOps, rows.restOps)
		}
	}
}
