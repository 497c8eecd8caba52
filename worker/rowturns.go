package worker

import (
	"context"
	"math"
)

// rowTurns divides the executions of a query into slices of rows. Without rowTurns, a query that is
// executed only once would be one long slice. A slice may begin in one execution and end in a later
// one. The first row of each execution, and the time until that row, belong to no slice. This time
// can be much longer than the time of later rows, for example if SQLite must sort the rows.
type rowTurns struct {
	slicing
	ctx      context.Context
	executed int64 // time at which the current execution began

	// firstRow is the time in nanoseconds until the first row of the first execution. It is 0 if
	// there is no row.
	firstRow int64

	next     rowEvent // what happens when slicing.left becomes 0
	then     rowEvent // value of the field "next" to restore when the first row of the execution has been read
	thenLeft int64    // value of slicing.left to restore at the same time
}

// rowEvent is what may happen in a query when a row has been read.
type rowEvent int

const (
	firstRow rowEvent = iota
	leadEnd
	sliceEnd
)

// newRowTurns returns rowTurns that divide executions as the parameter s says.
func newRowTurns(ctx context.Context, s slicing) *rowTurns {
	t := &rowTurns{slicing: s, ctx: ctx}
	t.begin()
	return t
}

// begin begins a slice.
func (t *rowTurns) begin() {
	switch {
	case t.size == 0:
		t.next, t.left = sliceEnd, math.MaxInt64
	case t.lead > 0:
		t.next, t.left = leadEnd, t.lead
	default:
		t.next, t.left = sliceEnd, t.size
	}
}

// execution must be called before each execution of the query.
func (t *rowTurns) execution() {
	t.executed = now()
	if t.next != firstRow { // if t.next is firstRow, the previous execution returned no row, and the saved values are still right
		t.then, t.thenLeft = t.next, t.left
	}
	t.next, t.left = firstRow, 1
}

// row must be called with each row that is read. If a slice ends, row waits until the other trials
// have had their turns.
func (t *rowTurns) row() error {
	if t.left--; t.left > 0 {
		return nil
	}
	switch t.next {
	case firstRow:
		at := now()
		if t.firstRow == 0 {
			t.firstRow = t.watch.wall + at - t.watch.wall0
		}
		t.began += at - t.executed
		t.next, t.left = t.then, t.thenLeft
		return nil
	case leadEnd:
		t.leadEnds(t.lead)
		t.next, t.left = sliceEnd, t.size-t.lead
		return nil
	}
	t.sliceEnds(t.size - t.lead)
	t.begin()
	return t.pause(t.ctx, t.watch.wall+now()-t.watch.wall0)
}
