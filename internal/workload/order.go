package workload

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/record"
)

// unit is what the order of a recording's transactions is found by. A statement outside of any
// is a transaction of its own.
type unit struct {
	read  time.Duration // when the first statement began
	write time.Duration // when the first write had ended; 0: none
	end   time.Duration // when the last event had ended
	began bool          // a statement other than BEGIN has been run
	seen  time.Duration // when others could see what was written or, of a reader, when it read
}

// add adds an event.
func (u *unit) add(e *record.Event, writes, controls bool) {
	if !u.began {
		u.read, u.began = e.At, !controls
	}
	u.end = max(u.end, e.At+e.Took)
	if writes && u.write == 0 {
		u.write = max(u.end, 1)
	}
}

// inOrder returns the place of each transaction in the order in which SQLite ran them: not
// that of BEGIN, because a deferred transaction has no place before its first statement. The
// writers follow one another from the end of their first write, since only one at a time has
// the lock. Readers come after those whose writes they could see. By that end and not by its
// beginning: a statement may have waited for the lock.
func inOrder(units []unit) []int {
	var writers []int
	for i := range units {
		if units[i].write > 0 {
			writers = append(writers, i)
		} else {
			units[i].seen = units[i].read
		}
	}
	slices.SortStableFunc(writers, func(a, b int) int { return cmp.Compare(units[a].write, units[b].write) })
	// What one has written is there when the next one has ended, however late COMMIT returned.
	next := time.Duration(1<<63 - 1)
	for _, i := range slices.Backward(writers) {
		next = min(next, units[i].end)
		units[i].seen = next
	}
	place := make([]int, len(units)) // of each writer among the writers
	for k, i := range writers {
		place[i] = k
	}
	all := make([]int, len(units))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int {
		x, y := &units[a], &units[b]
		if c := cmp.Compare(x.seen, y.seen); c != 0 {
			return c
		}
		switch {
		case x.write > 0 && y.write > 0:
			return place[a] - place[b]
		case x.write > 0:
			return -1
		case y.write > 0:
			return 1
		}
		return a - b
	})
	order := make([]int, len(units))
	for k, i := range all {
		order[i] = k
	}
	return order
}

// effect reports whether a statement writes, and whether it only begins or ends a transaction.
func effect(sql string, reads bool) (writes, controls bool) {
	switch strings.ToUpper(firstWord(sql)) {
	case "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE":
		return false, true
	case "INSERT", "REPLACE", "UPDATE", "DELETE": // also with RETURNING
		return true, false
	case "EXPLAIN", "PRAGMA":
		return false, false
	}
	return !reads, false
}
