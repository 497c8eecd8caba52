package worker

import (
	"context"
	"math"
)

// rowTurns divides the executions of a query into slices of rows. Without it, a query that is executed
// only once would be one long slice. The slices of an execution begin after its first row, because the
// first row can take much longer than later rows, for example if SQLite must sort the rows.
//
// The first slice of each execution has another length. Otherwise the leads would always be the same rows,
// and some rows take longer than others, for example because their pages are not in the processor's caches.
type rowTurns struct {
	slicing
	ctx        context.Context
	executions int64

	// firstRow is the time in nanoseconds until the first row of the first execution. It is 0 if
	// there is no row.
	firstRow int64
	next     rowEvent // what happens when slicing.left is 0
	afterRow bool     // the current slice began after a row, so its lead is timed
}

// rowEvent is what happens when a row has been read.
type rowEvent int

const (
	firstRow rowEvent = iota
	leadEnd
	sliceEnd
)

// execution must be called before each execution of the query.
func (t *rowTurns) execution() {
	t.next, t.left, t.afterRow = firstRow, 1, false
	t.executions++
}

// executionEnds must be called after each execution of the query. It records the part of the last slice
// that the execution had rows for.
func (t *rowTurns) executionEnds() {
	switch {
	case !t.afterRow || t.slices < 2:
	case t.next == leadEnd:
		t.leads += now() - t.began
		t.leadOps += t.lead - t.left
	default:
		t.sliceEnds(t.size - t.lead - t.left)
	}
}

// firstSlice returns the number of rows of the first slice of an execution, from 1 to t.size. Over the
// executions, the numbers are evenly distributed: they are multiples of the golden ratio, modulo t.size.
func (t *rowTurns) firstSlice() int64 {
	_, part := math.Modf(float64(t.executions) * math.Phi)
	return 1 + int64(part*float64(t.size))
}

// row must be called with each row that is read. If a slice ends, it waits for this process's next turn.
func (t *rowTurns) row() error {
	if t.left--; t.left > 0 {
		return nil
	}
	if t.next == leadEnd {
		t.leadEnds(t.lead)
		t.next, t.left = sliceEnd, t.size-t.lead
		return nil
	}
	wall := t.watch.wall + now() - t.watch.wall0
	if t.next == firstRow {
		if t.firstRow == 0 {
			t.firstRow = wall
		}
		t.next, t.left = sliceEnd, t.firstSlice()
		if t.size == 0 {
			t.left = math.MaxInt64
		}
		return nil
	}
	if t.afterRow {
		t.sliceEnds(t.size - t.lead)
	}
	t.left = t.size
	if t.lead > 0 {
		t.next, t.left, t.afterRow = leadEnd, t.lead, true
	}
	return t.pause(t.ctx, wall)
}
