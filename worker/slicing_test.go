package worker

import (
	"runtime"
	"slices"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestCold checks the time that [slicing.cold] returns for the cost of cold caches.
func TestCold(t *testing.T) {
	for _, tc := range []struct {
		s    slicing
		want int64
	}{
		{slicing{slices: 5, leads: 900, leadOps: 10, rests: 1000, restOps: 20}, 400},
		{slicing{slices: 5, leads: 2000, leadOps: 10, rests: 1000, restOps: 20}, 1500},
		{slicing{slices: 5, leads: 400, leadOps: 10, rests: 1000, restOps: 20}, -100},
		{slicing{slices: 5, leads: 100, leadOps: 100, rests: 1000, restOps: 10}, -550},
		{slicing{slices: 4, leads: 900, leadOps: 10, rests: 1000, restOps: 20}, 0}, // too few slices
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

// TestPause checks that the stopwatch does not count memory that is allocated during pauses.
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
		t.Errorf("%d objects were counted, want few", w.allocs)
	}
}

// TestFirstLead checks that slicing counts no times of the first slice.
func TestFirstLead(t *testing.T) {
	s := slicing{size: 3, lead: 1}
	for range 2 {
		s.leadEnds(1)
		s.sliceEnds(2)
	}
	if s.leadOps != 1 || s.restOps != 2 {
		t.Errorf("%d operations in leads, %d after them: want 1 and 2, from the second slice only", s.leadOps, s.restOps)
	}
}

// TestCount checks after which operations slices end, and after which operations their leads (the
// first operations of a slice) end.
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
			t.Error("a slice ended in a phase that is not divided")
		}
	}
}

// BenchmarkSlicing measures the cost of slicing, as long as no slice ends: the time that it adds to each
// inserted row, and to each operation of a client.
func BenchmarkSlicing(b *testing.B) {
	b.Run("insert", func(b *testing.B) {
		s := slicing{size: 1 << 40, left: 1 << 40, lead: 1 << 20}
		b.ReportAllocs()
		for b.Loop() {
			s.count()
		}
	})
	b.Run("client", func(b *testing.B) {
		turn := newClientTurns(b.Context(), slicing{size: 1 << 40, left: 1 << 40, lead: 1 << 20}, 1).client(-1)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := turn.operation(0); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("clients", func(b *testing.B) { // as many clients as processors
		turns := newClientTurns(b.Context(), slicing{size: 1 << 40}, max(2, runtime.GOMAXPROCS(0)))
		clients := make(chan *clientTurn, turns.clients)
		for range turns.clients {
			clients <- turns.client(-1)
		}
		b.ReportAllocs()
		b.RunParallel(func(b *testing.PB) {
			for turn := <-clients; b.Next(); {
				if _, err := turn.operation(0); err != nil {
					panic(err)
				}
			}
		})
	})
}

// TestOneBusyClient checks that a slice ends even if one of four clients does all operations. It ends at
// most an eighth of its size too late.
func TestOneBusyClient(t *testing.T) {
	for _, size := range []int64{1, 7, 8, 1000} {
		turns := newClientTurns(t.Context(), slicing{size: size}, 4)
		turn := turns.client(-1)
		var n int64
		for turn.add(1); !turns.ended.Load(); n++ { // the first call comes before the first operation
			turn.add(1)
		}
		if n < size || n > size+size/8 {
			t.Errorf("a slice of %d operations ended after %d operations", size, n)
		}
	}
}

// TestPauseOfClients checks that the pause, in which all clients wait, is excluded from the phase's
// time. A client's wait for other clients that still work must not be excluded.
func TestPauseOfClients(t *testing.T) {
	turns := newClientTurns(t.Context(), slicing{size: 1, watch: &Stopwatch{}, trial: &trial{req: &protocol.Request{}}}, 2)
	turns.ended.Store(true)
	first := make(chan wait)
	began := now()
	go func() {
		w, err := turns.client(-1).park(10)
		if err != nil {
			t.Error(err)
		}
		first <- w
	}()
	for now() < began+10e6 { // most of this time, the first client waits for the second
		runtime.Gosched()
	}
	parked := now()
	second, err := turns.client(-1).park(11)
	took := now() - parked
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []wait{<-first, second} {
		if w.pause <= 0 || w.pause > took {
			t.Errorf("a client's pause is %d ns, but all clients waited for %d ns at most", w.pause, took)
		}
	}
	if wall := turns.wall.Load(); wall != 11 {
		t.Errorf("the phase has taken %d ns, want 11, the time of the slower client", wall)
	}
}

// TestRowsOfExecutions checks that slices go on from one execution to the next, that the first rows of
// executions belong to no slice, and that the times until the first rows are not counted.
func TestRowsOfExecutions(t *testing.T) {
	rows := newRowTurns(t.Context(), slicing{size: 9, left: 9, lead: 3, watch: &Stopwatch{}})
	rows.slices = 1 // the lead of a first slice has ended; only later leads are counted
	read := func(n int) {
		for range n {
			if err := rows.row(); err != nil {
				t.Fatal(err)
			}
		}
	}
	rows.began = now()
	for _, tc := range []struct {
		rows       int
		next       rowEvent
		left       int64
		leads, all int64 // operations counted in leads, and operations counted in leads and after them
	}{
		{rows: 1, next: leadEnd, left: 3},
		{rows: 0, next: firstRow, left: 1},
		{rows: 3, next: leadEnd, left: 1},
		{rows: 6, next: sliceEnd, left: 2, leads: 3, all: 3},
	} {
		rows.execution()
		rows.executed -= 1e9 // as if the time until the first row were a second longer
		rows.began -= 1e9
		if read(tc.rows); tc.rows == 0 {
			rows.began += 1e9
		}
		if rows.next != tc.next || rows.left != tc.left || rows.leadOps != tc.leads || rows.leadOps+rows.restOps != tc.all {
			t.Errorf("after %d rows: event %d after %d more rows; %d rows in leads, %d after them", tc.rows, rows.next, rows.left, rows.leadOps, rows.restOps)
		}
	}
	if rows.leads > 5e8 {
		t.Errorf("the leads took %d ns, want far less than 1 s, the simulated time until a first row", rows.leads)
	}
}

// TestExecutionSlicing checks how many executions of a query a slice has.
func TestExecutionSlicing(t *testing.T) {
	for clients, sizes := range map[int]map[int64]int64{1: {2: 2, 24: 2, 25: 3, 1000: 84}, 4: {2: 2, 12: 2, 24: 4, 25: 5}} {
		for executions, want := range sizes {
			p := plan.Phase{Query: &plan.Query{Clients: clients}}
			if got := new(trial).executionSlicing(&p, &Stopwatch{}, executions); got.size != want || got.left != want || got.lead != max(1, want/3) {
				t.Errorf("%d clients, %d executions: %+v", clients, executions, got)
			}
		}
	}
}
