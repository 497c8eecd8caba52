package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Orphans is the number of orphans in a table. An orphan is a row whose run is not in the store:
// another program deleted the run while foreign keys were turned off.
type Orphans struct {
	Table string `json:"table"`
	Rows  int    `json:"rows"`
}

// orphans is a query that counts the orphans in the table TABLE. It searches the index from one run
// to the next instead of reading all rows, because a store may have a million samples.
const orphans = `
WITH RECURSIVE ids(id) AS (
  SELECT min(run_id) FROM TABLE
  UNION ALL
  SELECT (SELECT min(run_id) FROM TABLE WHERE run_id > id) FROM ids WHERE id IS NOT NULL)
SELECT count(*) FROM TABLE WHERE run_id IN (SELECT id FROM ids WHERE id NOT IN (SELECT run_id FROM runs))`

// Orphans lists the tables that have orphans (rows of runs that are not in the store). List and Load ignore
// orphans. Load reports other damage to a run: rows that are missing, and rows whose case or trial is missing.
func (s *Store) Orphans(ctx context.Context) ([]Orphans, error) {
	var list []Orphans
	err := s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		for _, table := range []string{"cases", "trials", "samples", "profiles", "answers", "warnings"} {
			o := Orphans{Table: table}
			if err := c.QueryRowContext(ctx, strings.ReplaceAll(orphans, "TABLE", table)).Scan(&o.Rows); err != nil {
				return err
			}
			if o.Rows > 0 {
				list = append(list, o)
			}
		}
		return nil
	})
	return list, err
}

// OrphansText returns a sentence about rows that are ignored. It returns "" if the list is empty.
func OrphansText(list []Orphans) string {
	var parts []string
	for _, o := range list {
		rows := "rows"
		if o.Rows == 1 {
			rows = "row"
		}
		parts = append(parts, fmt.Sprintf("%d %s of the table %s", o.Rows, rows, o.Table))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " left out: the run, case or trial that they belong to is not in the store; another program has deleted it without them"
}

// DamagedError says that the record of a run contradicts itself. It wraps [ErrDamaged].
type DamagedError struct {
	Path   string // path of the store
	Run    int64
	Reason error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("store %s: run %d %v: %v: use a copy of the file that is whole, or delete the run with PRAGMA foreign_keys = ON; DELETE FROM runs WHERE run_id = %[2]d", e.Path, e.Run, ErrDamaged, e.Reason)
}

// Unwrap returns [ErrDamaged] and the reason.
func (e *DamagedError) Unwrap() []error { return []error{ErrDamaged, e.Reason} }

var metrics = []string{result.MetricTime, result.MetricTimePerOp, result.MetricLatency}

var statuses = []result.Status{result.OK, result.Wrong, result.Refused, result.Failed, result.Unavailable}

func checkCase(id int64, c *result.Case) error {
	if int64(c.ID) != id {
		return fmt.Errorf("case %d: its record says that it is case %d", id, c.ID)
	}
	for i, p := range c.Phases {
		if slices.Contains(c.Phases[:i], p) {
			return fmt.Errorf("case %d: it has the phase %q twice", id, p)
		}
	}
	return nil
}

func checkTrial(id, caseID int64, t *result.Trial) error {
	switch {
	case int64(t.Order) != id || int64(t.Case) != caseID:
		return fmt.Errorf("trial %d of case %d: its record says that it is trial %d of case %d", id, caseID, t.Order, t.Case)
	case !slices.Contains(statuses, t.Status):
		return fmt.Errorf("trial %d: there is no status %q", id, t.Status)
	case t.Status != result.OK && t.Reason == nil:
		return fmt.Errorf("trial %d: it is %s without a reason", id, t.Status)
	case t.Round < 0 || t.TookNS < 0:
		return fmt.Errorf("trial %d: a number is below 0", id)
	}
	if c := t.CPU; c != nil {
		for _, n := range []*int64{&c.UserNS, &c.SystemNS, c.Switches, c.WaitedNS, c.StolenNS, c.OthersNS} {
			if n != nil && *n < 0 {
				return fmt.Errorf("trial %d: a number is below 0", id)
			}
		}
	}
	return nil
}

// maxProfile is the greatest size in bytes of a profile's record. A decoded profile takes at
// most about 20 times as much memory.
const maxProfile = 16 << 20

// checkProfile returns an error if a profile contradicts itself or is too large. The parameter "size" is the
// length of the profile's record in bytes.
func checkProfile(p *result.Profile, size int64) error {
	switch {
	case size > maxProfile:
		return fmt.Errorf("it has %d bytes: want at most %d", size, maxProfile)
	case !slices.Contains(statuses, p.Status):
		return fmt.Errorf("there is no status %q", p.Status)
	case p.Status != result.OK && p.Reason == nil:
		return fmt.Errorf("it is %s without a reason", p.Status)
	case p.WallNS < 0 || p.Shortened < 0 || len(p.CPUNS) > 0 && slices.Min(p.CPUNS) < 0:
		return errors.New("a number is below 0")
	}
	for _, f := range p.Functions {
		if len(f.Name) > result.MaxFunctionName || len(f.Object) > result.MaxFunctionName {
			return fmt.Errorf("the name of a function or of its file has more than %d bytes", result.MaxFunctionName)
		}
	}
	for _, stacks := range [][]result.Stack{p.CPU, p.Allocations} {
		var frames int
		var samples, value int64
		for _, s := range stacks {
			switch {
			case len(s.Functions) > result.MaxStackDepth:
				return fmt.Errorf("a stack has %d functions: want at most %d", len(s.Functions), result.MaxStackDepth)
			case s.Samples < 0 || s.Value < 0:
				return errors.New("a number is below 0")
			case s.Samples > math.MaxInt64-samples || s.Value > math.MaxInt64-value:
				return errors.New("its samples add up to more than can be counted")
			}
			for _, place := range s.Functions {
				if place < 0 || place >= len(p.Functions) {
					return fmt.Errorf("a stack refers to function %d of %d", place, len(p.Functions))
				}
			}
			frames += len(s.Functions)
			samples += s.Samples
			value += s.Value
		}
		if max(frames, len(stacks)) > result.MaxStackFrames {
			return fmt.Errorf("its stacks have %d functions all together: want at most %d", frames, result.MaxStackFrames)
		}
	}
	return nil
}

// checkSample returns an error if sample m contradicts its case c, or an earlier sample of its
// trial t.
func checkSample(c *result.Case, t *result.Trial, m *result.Sample) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("trial %d, phase %q: %s", t.Order, m.Phase, fmt.Sprintf(format, args...))
	}
	switch {
	case !slices.Contains(c.Phases, m.Phase):
		return bad("its case has no such phase")
	case slices.ContainsFunc(t.Samples, func(o result.Sample) bool { return o.Phase == m.Phase }):
		return bad("it has two samples")
	case !slices.Contains(metrics, m.Metric):
		return bad("there is no metric %q", m.Metric)
	case m.WallNS <= 0 || m.Operations <= 0:
		return bad("it took %d ns for %d operations", m.WallNS, m.Operations)
	}
	numbers := []int64{m.UserNS, m.SystemNS, m.Rows, m.Failed, m.Retries, m.Skipped, m.Different}
	for _, x := range result.Metrics {
		numbers = append(numbers, *x.Of(&m.Costs))
	}
	for _, e := range slices.Concat(m.Errors, m.Results, m.Unlocked) {
		numbers = append(numbers, e.Count, e.WaitNS)
	}
	for _, l := range m.Latency {
		numbers = append(numbers, l.Count, l.Failed, l.EndedEarly, l.MeanNS, l.P50NS, l.P90NS, l.P99NS, l.P999NS, l.P9999NS, l.MaxNS)
	}
	if slices.Min(numbers) < 0 {
		return bad("a number is below 0")
	}
	if m.Failed > m.Operations {
		return bad("%d operations of %d failed", m.Failed, m.Operations)
	}
	return nil
}

// FirstDamaged returns an error about the first damaged run of a list, or nil if no run is damaged. The
// parameter "path" is the path of the store.
func FirstDamaged(path string, list []Entry) error {
	for _, e := range list {
		if e.Damaged != "" {
			return &DamagedError{Path: path, Run: e.ID, Reason: errors.New(e.Damaged)}
		}
	}
	return nil
}
