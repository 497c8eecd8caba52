package workload

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/record"
)

// unit is a transaction of a recording. Its times show whether SQLite ran it before or after other
// transactions. A statement outside of transactions is a unit by itself.
type unit struct {
	read  time.Duration // when the first statement other than BEGIN began
	write time.Duration // when the first write ended; 0 if the unit writes nothing
	end   time.Duration // when the last event ended
	began bool          // a statement other than BEGIN has been run
	seen  time.Duration // for a writer: when its changes became visible to other transactions; for a reader: when it read
}

// add adds an event to the unit. The parameters "writes" and "controls" are the results of the
// function "effect" for the event's statement.
func (u *unit) add(e *record.Event, writes, controls bool) {
	if !u.began {
		u.read, u.began = e.At, !controls
	}
	u.end = max(u.end, e.At+e.Took)
	if writes && u.write == 0 {
		u.write = max(u.end, 1)
	}
}

// inOrder returns the position of each transaction in the order in which SQLite ran them.
//
// Writers are ordered by the end of their first write, because only one writer at a time has the
// lock. The beginning of the write cannot be used, because the statement may have waited for the
// lock. BEGIN cannot be used either, because a deferred transaction gets its position with its
// first statement. A reader comes after the writers whose writes it could see.
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
	// A writer's changes are visible at the latest when the next writer has ended, even if the recording
	// says that the writer's own COMMIT returned later.
	next := time.Duration(1<<63 - 1)
	for _, i := range slices.Backward(writers) {
		next = min(next, units[i].end)
		units[i].seen = next
	}
	all := make([]int, len(units))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int {
		x, y := &units[a], &units[b]
		switch bySeen := cmp.Compare(x.seen, y.seen); {
		case bySeen != 0:
			return bySeen
		case x.write > 0 && y.write > 0:
			return cmp.Compare(x.write, y.write)
		case x.write > 0:
			return -1
		case y.write > 0:
			return 1
		}
		return 0
	})
	order := make([]int, len(units))
	for k, i := range all {
		order[i] = k
	}
	return order
}

// effect reports whether a statement writes, and whether it only begins or ends a transaction. The
// parameter "reads" is true if the statement returns rows. A statement with an unknown first word
// counts as writing unless it returns rows.
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
