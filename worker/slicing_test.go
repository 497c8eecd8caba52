package worker

import (
	"runtime"
	"testing"
)

// TestCold checks how much longer the leads of slices are said to have taken than other operations.
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

// TestRound checks that slices become as long as several groups of operations, and that the current
// slice changes only if it has not begun.
func TestRound(t *testing.T) {
	for _, tc := range []struct{ size, left, n, wantSize, wantLeft, wantLead int64 }{
		{8, 8, 2, 8, 8, 2},
		{8, 8, 6, 6, 6, 0},
		{10, 10, 3, 9, 9, 3},
		{2, 2, 5, 5, 5, 0},
		{10, 4, 3, 9, 4, 3},
	} {
		s := slicing{size: tc.size, left: tc.left}
		if s.round(tc.n); s.size != tc.wantSize || s.left != tc.wantLeft || s.lead != tc.wantLead {
			t.Errorf("%+v: %d operations, %d left, a lead of %d", tc, s.size, s.left, s.lead)
		}
	}
}

// TestPause checks that what is allocated during pauses does not count.
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

// TestFirstLead checks that the first slice does not count, because every phase begins like it.
func TestFirstLead(t *testing.T) {
	s := slicing{size: 3, lead: 1}
	for range 2 {
		s.led(1)
		s.followed(2)
	}
	if s.leadOps != 1 || s.restOps != 2 {
		t.Errorf("%d operations in leads, %d after them: want those of the second slice", s.leadOps, s.restOps)
	}
}
