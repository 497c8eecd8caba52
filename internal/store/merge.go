package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// The outcomes of merging a run, in [Merged].What.
const (
	MergedNew       = "new"       // the run was added
	MergedThere     = "there"     // this store already had the run
	MergedContinued = "continued" // an earlier merge had added a part of the run, and this merge added the missing parts
	MergedLeftOut   = "left-out"
)

// Merged says what a merge did with one run of the other store.
type Merged struct {
	Store  string `json:"store"`            // path of the other store
	Run    int64  `json:"run"`              // number of the run in the other store
	What   string `json:"what"`             // the outcome, such as [MergedNew]
	Is     int64  `json:"is,omitempty"`     // number of the run in this store; 0 if this store does not have it
	Trials int    `json:"trials,omitempty"` // number of trials that were added
	Reason string `json:"reason,omitempty"` // why the run was left out; "" if it was not
}

// A merge begins a new transaction after this many runs or this many rows.
const (
	mergedRuns = 100
	mergedRows = 20_000
)

// merge is the state of a merge.
type merge struct {
	to, from *Store
	list     []Merged
	ids      map[string][]int64 // numbers of this store's runs; the map's keys come from the function "key"
	numbers  map[int64]int64    // the run numbers in this store, by the run numbers in the other store

	pending []*result.Run // runs to be written in one transaction
	places  []int         // for each run in the field "pending", its index in the field "list"
	rows    int           // number of rows that the pending runs need
}

// Merge adds the runs of another store to s. If s already has a run, only the parts that s lacks
// are added. A run that cannot be read is left out. A run is added completely or not at all. If
// there is an error or ctx ends, Merge returns the outcomes so far together with the error, and a
// later Merge adds the remaining runs.
//
// If the function "told" is not nil, Merge calls it before each run, with the number of finished runs
// and the number of all runs.
func (s *Store) Merge(ctx context.Context, from *Store, told func(done, of int)) ([]Merged, error) {
	m := &merge{to: s, from: from, ids: map[string][]int64{}, numbers: map[int64]int64{}}
	ids, err := m.begin(ctx)
	for i, id := range ids {
		if err != nil || ctx.Err() != nil {
			break
		}
		if told != nil {
			told(i, len(ids))
		}
		err = m.run(ctx, id)
	}
	if err == nil {
		err = m.flush(ctx)
	}
	m.list = slices.DeleteFunc(m.list, func(x Merged) bool { return x.What == "" }) // remove runs that were not written
	if err == nil {
		err = ctx.Err()
	}
	return m.list, err
}

// Mergeable reports whether any run of the store can be read, and so can be merged into another
// store. If there is none, the result "leftOut" has the reason for each run.
func (s *Store) Mergeable(ctx context.Context) (some bool, leftOut []Merged, err error) {
	ids, err := s.ids(ctx)
	m := &merge{from: s}
	for _, id := range ids {
		_, e := s.Load(ctx, id)
		switch {
		case ctx.Err() != nil:
			return false, m.list, ctx.Err()
		case e == nil:
			return true, nil, nil
		}
		m.leaveOut(id, unreadable(e))
	}
	return false, m.list, err
}

// ids returns the numbers of all runs, in order.
func (s *Store) ids(ctx context.Context) (ids []int64, err error) {
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) (err error) {
		ids, err = runIDs(ctx, c)
		return err
	})
	return ids, err
}

// begin prepares a merge. It returns the numbers of the other store's runs, and reads the keys of
// this store's runs.
func (m *merge) begin(ctx context.Context) (ids []int64, err error) {
	if ids, err = m.from.ids(ctx); err != nil {
		return nil, err
	}
	return ids, m.to.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		return scan(ctx, c, `SELECT run_id, seed, json FROM runs ORDER BY run_id`, func(rows *sql.Rows) error {
			var id int64
			var seed sql.NullString
			var record sql.RawBytes
			if err := rows.Scan(&id, &seed, &record); err != nil {
				return err
			}
			r := &result.Run{}
			if decodeRun(r, seed.String, record) == nil { // a damaged run gets no key, so that no other run matches it
				m.ids[key(r)] = append(m.ids[key(r)], id)
			}
			return nil
		})
	})
}

// key returns a string that identifies a run. Two runs with the same key are the same run, or
// began in the same nanosecond on the same machine.
func key(r *result.Run) string {
	host := ""
	if r.Host != nil {
		host = r.Host.Name
	}
	return fmt.Sprintf("%s %d %q %q %q", r.Started.UTC().Format(time.RFC3339Nano), r.Seed, r.Machine.Hostname, host, r.Command)
}

// run adds a run of the other store to this store. If this store has the run already, it adds only
// the missing parts.
func (m *merge) run(ctx context.Context, id int64) error {
	r, err := m.from.Load(ctx, id)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // Merge returns the error of ctx
	}
	if err != nil {
		m.leaveOut(id, unreadable(err))
		return nil
	}
	if r.Answer != nil && len(r.Answer.Runs) > 0 {
		if err := m.flush(ctx); err != nil { // makes sure that m.numbers has the runs that the answer of this run names
			return err
		}
		for i, there := range r.Answer.Runs {
			r.Answer.Runs[i] = m.numbers[there] // 0 if this store does not have that run
		}
	}
	k := key(r)
	if len(m.ids[k]) > 0 || slices.ContainsFunc(m.pending, func(o *result.Run) bool { return key(o) == k }) {
		if err := m.flush(ctx); err != nil {
			return err
		}
		for _, here := range m.ids[k] {
			if done, err := m.compare(ctx, here, id, r); done || err != nil {
				return err
			}
		}
	}
	r.Merged = m.from.path
	m.list = append(m.list, Merged{Store: m.from.path, Run: id, Trials: len(r.Trials)})
	m.pending, m.places = append(m.pending, r), append(m.places, len(m.list)-1)
	m.rows += len(r.Cases) + 3*len(r.Trials)
	if r.Answer != nil {
		m.rows += len(r.Answer.Value) >> 10 // an answer's value of 1 KiB needs about as much memory as a row
	}
	if len(m.pending) >= mergedRuns || m.rows >= mergedRows {
		return m.flush(ctx)
	}
	return nil
}

// unreadable returns, in one line, why a run cannot be read.
func unreadable(err error) string {
	if d, ok := errors.AsType[*DamagedError](err); ok {
		err = d.Reason
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

func (m *merge) leaveOut(id int64, why string) {
	m.list = append(m.list, Merged{Store: m.from.path, Run: id, What: MergedLeftOut, Reason: why})
}

// flush writes the pending runs.
func (m *merge) flush(ctx context.Context) error {
	if len(m.pending) == 0 {
		return nil
	}
	if err := m.to.add(ctx, m.pending); err != nil {
		return err
	}
	for i, r := range m.pending {
		x := &m.list[m.places[i]]
		x.What, x.Is = MergedNew, r.ID
		m.numbers[x.Run] = r.ID
		m.ids[key(r)] = append(m.ids[key(r)], r.ID)
	}
	m.pending, m.places, m.rows = nil, nil, 0
	return nil
}

// compare compares a run of the other store ("theirs") with the run of this store that has the number id. The
// result "done" is true if they are the same run. If this store got its copy of the run by a merge, compare
// adds the parts that this copy lacks. A run that was measured into this store is never changed. "done" is
// false if the runs are different, or if this store's run is damaged.
func (m *merge) compare(ctx context.Context, id, there int64, theirs *result.Run) (done bool, err error) {
	ours, err := m.to.Load(ctx, id)
	if errors.Is(err, ErrDamaged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	more := len(theirs.Trials) - len(ours.Trials)
	common, whole, err := overlap(ours, theirs)
	if err != nil || !common {
		return false, err
	}
	m.numbers[there] = id
	switch {
	case more <= 0 && whole:
		m.list = append(m.list, Merged{Store: m.from.path, Run: there, What: MergedThere, Is: id})
	case ours.Merged == "":
		m.leaveOut(there, fmt.Sprintf("it is run %d here, which was measured into this store and has %d trials, there %d: merge both into another store to have the longer one",
			id, len(ours.Trials), len(theirs.Trials)))
	default:
		if err := m.to.extend(ctx, ours, theirs); err != nil {
			return false, err
		}
		m.list = append(m.list, Merged{Store: m.from.path, Run: there, What: MergedContinued, Is: id, Trials: more})
	}
	return true, nil
}

// overlap compares two runs with the same key, up to the end of the shorter list of trials. The result
// "common" is true if they have the same cases, profiles and trials. The result "whole" is true if "ours"
// also has everything else that "theirs" has: its end, its answer, and the mark of each trial that was
// repeated.
func overlap(ours, theirs *result.Run) (common, whole bool, err error) {
	equal := func(a, b any) bool {
		x, e1 := encode(a)
		y, e2 := encode(b)
		err = errors.Join(err, e1, e2)
		return x == y
	}
	if !equal(ours.Cases, theirs.Cases) || !equal(ours.Profiles, theirs.Profiles) {
		return false, false, err
	}
	whole = (theirs.Ended.IsZero() || !ours.Ended.IsZero()) && (theirs.Answer == nil || ours.Answer != nil)
	for i := range min(len(ours.Trials), len(theirs.Trials)) {
		a, b := ours.Trials[i], theirs.Trials[i]
		if b.Repeated && !a.Repeated {
			whole = false
		}
		if a.Status != result.OK {
			a.Repeated, b.Repeated = false, false // ignores Repeated, because it may have been set later, when the run was resumed
		}
		if !equal(a, b) {
			return false, false, err
		}
	}
	return true, whole, err
}

// extend adds missing parts to "ours", a run of this store. These parts are in "theirs", a longer copy of the
// same run. extend replaces the record of "ours" by the record of "theirs". In memory, "theirs" gets the
// number of "ours".
func (s *Store) extend(ctx context.Context, ours, theirs *result.Run) error {
	return s.write(ctx, func(ctx context.Context, c *sql.Conn) error {
		for i := range theirs.Trials {
			t := &theirs.Trials[i]
			var err error
			switch {
			case i >= len(ours.Trials):
				err = addTrial(ctx, c, ours.ID, t)
			case t.Repeated && !ours.Trials[i].Repeated:
				err = markRepeated(ctx, c, ours.ID, t.Order)
			}
			if err != nil {
				return err
			}
		}
		here := map[result.Warning]bool{} // a map, because a run may have very many warnings
		for _, w := range ours.Warnings {
			here[w] = true
		}
		for _, w := range theirs.Warnings {
			if !here[w] {
				if err := addWarnings(ctx, c, ours.ID, nil, []result.Warning{w}); err != nil {
					return err
				}
			}
		}
		if ours.Answer == nil && theirs.Answer != nil {
			for i, id := range theirs.Answer.Runs {
				if id >= ours.ID { // an answer may name only earlier runs
					theirs.Answer.Runs[i] = 0
				}
			}
			if err := addAnswer(ctx, c, ours.ID, theirs.Answer); err != nil {
				return err
			}
		}
		theirs.ID, theirs.Merged = ours.ID, ours.Merged
		return replaceRecord(ctx, c, theirs)
	})
}

// markRepeated notes that a trial does not count, because its case was measured again.
func markRepeated(ctx context.Context, c *sql.Conn, runID int64, order int) error {
	_, err := c.ExecContext(ctx, `UPDATE trials SET json = json_set(json, '$.repeated', json('true')) WHERE run_id = ? AND trial_id = ?`, runID, order)
	return err
}

// replaceRecord replaces the record of a run. It does not change the run's cases, trials and
// warnings, which are in other tables.
func replaceRecord(ctx context.Context, c *sql.Conn, r *result.Run) error {
	record, err := encode(runRecord{Run: r})
	if err != nil {
		return err
	}
	_, err = c.ExecContext(ctx, `UPDATE runs SET json = ? WHERE run_id = ?`, record, r.ID)
	return err
}
