package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/result"
)

// Load reads a run with all that was stored of it, trials in their order. Where
// there is none of that ID, the error is [ErrNoRun] and names those there are.
func (s *Store) Load(ctx context.Context, id int64) (*result.Run, error) {
	r := &result.Run{Cases: []result.Case{}, Trials: []result.Trial{}}
	err := s.read(ctx, func(c *sql.Conn) error {
		var seed, record string
		err := c.QueryRowContext(ctx, `SELECT seed, json FROM runs WHERE run_id = ?`, id).Scan(&seed, &record)
		if errors.Is(err, sql.ErrNoRows) {
			return s.noRun(ctx, c, id)
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(record), &runRecord{Run: r}); err != nil {
			return fmt.Errorf("store %s: run %d: %w", s.path, id, err)
		}
		if r.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
			return fmt.Errorf("store %s: run %d: seed: %w", s.path, id, err)
		}
		r.ID = id
		return s.loadParts(ctx, c, r)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (s *Store) loadParts(ctx context.Context, c *sql.Conn, r *result.Run) error {
	err := each(ctx, s, c, `SELECT case_id, json FROM cases WHERE run_id = ? ORDER BY case_id`, r.ID,
		func(_ int64, k result.Case) { r.Cases = append(r.Cases, k) })
	if err != nil {
		return err
	}
	at := map[int64]int{} // trial_id to index
	err = each(ctx, s, c, `SELECT trial_id, json FROM trials WHERE run_id = ? ORDER BY trial_id`, r.ID,
		func(id int64, t result.Trial) {
			at[id] = len(r.Trials)
			r.Trials = append(r.Trials, t)
		})
	if err != nil {
		return err
	}
	err = each(ctx, s, c, `SELECT trial_id, json FROM samples WHERE run_id = ? ORDER BY trial_id, sample_id`, r.ID,
		func(id int64, m result.Sample) {
			t := &r.Trials[at[id]]
			t.Samples = append(t.Samples, m)
		})
	if err != nil {
		return err
	}
	return each(ctx, s, c, `SELECT coalesce(trial_id, 0), json FROM warnings WHERE run_id = ? ORDER BY warning_id`, r.ID,
		func(id int64, w result.Warning) {
			if id == 0 {
				r.Warnings = append(r.Warnings, w)
				return
			}
			t := &r.Trials[at[id]]
			t.Warnings = append(t.Warnings, w)
		})
}

// each hands over the key and the decoded record of every row of a query.
func each[T any](ctx context.Context, s *Store, c *sql.Conn, query string, runID int64, visit func(int64, T)) error {
	rows, err := c.QueryContext(ctx, query, runID)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key int64
		var record sql.RawBytes
		if err := rows.Scan(&key, &record); err != nil {
			return err
		}
		var v T
		if err := json.Unmarshal(record, &v); err != nil {
			return fmt.Errorf("store %s: run %d: %w", s.path, runID, err)
		}
		visit(key, v)
	}
	return rows.Err()
}

// Entry is a run in a list.
type Entry struct {
	ID        int64                 `json:"id"`
	Version   string                `json:"version"` // of sqlite3perf
	Started   time.Time             `json:"started"`
	Ended     time.Time             `json:"ended,omitzero"` // zero: unfinished
	Stopped   string                `json:"stopped"`        // why it ended, "" where it has not
	Command   []string              `json:"command"`
	Drivers   []string              `json:"drivers"`   // in the order of the cases
	Workloads []string              `json:"workloads"` // likewise
	Trials    int                   `json:"trials"`
	Statuses  map[result.Status]int `json:"statuses"` // of the trials
}

// List lists all runs, the oldest first.
func (s *Store) List(ctx context.Context) ([]Entry, error) {
	list := []Entry{}
	at := map[int64]int{} // run_id to index
	err := s.read(ctx, func(c *sql.Conn) error {
		err := scan(ctx, c, `SELECT run_id, json FROM runs ORDER BY run_id`, func(rows *sql.Rows) error {
			var id int64
			var record sql.RawBytes
			if err := rows.Scan(&id, &record); err != nil {
				return err
			}
			var r result.Run
			if err := json.Unmarshal(record, &r); err != nil {
				return fmt.Errorf("store %s: run %d: %w", s.path, id, err)
			}
			at[id] = len(list)
			list = append(list, Entry{
				ID: id, Version: r.Version, Started: r.Started, Ended: r.Ended, Stopped: r.Stopped,
				Command: r.Command, Drivers: []string{}, Workloads: []string{}, Statuses: map[result.Status]int{},
			})
			return nil
		})
		if err != nil {
			return err
		}
		err = scan(ctx, c, `SELECT run_id, driver, workload FROM cases ORDER BY run_id, case_id`, func(rows *sql.Rows) error {
			var id int64
			var driver, workload string
			if err := rows.Scan(&id, &driver, &workload); err != nil {
				return err
			}
			e := &list[at[id]]
			if !slices.Contains(e.Drivers, driver) {
				e.Drivers = append(e.Drivers, driver)
			}
			if !slices.Contains(e.Workloads, workload) {
				e.Workloads = append(e.Workloads, workload)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return scan(ctx, c, `SELECT run_id, status, count(*) FROM trials GROUP BY run_id, status`, func(rows *sql.Rows) error {
			var id int64
			var status result.Status
			var n int
			if err := rows.Scan(&id, &status, &n); err != nil {
				return err
			}
			e := &list[at[id]]
			e.Statuses[status] = n
			e.Trials += n
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func scan(ctx context.Context, c *sql.Conn, query string, visit func(*sql.Rows) error) error {
	rows, err := c.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Resolve gives the ID of the run that a user names: its number, or "last". The
// error is [ErrNoRun] where the store has none such.
func (s *Store) Resolve(ctx context.Context, ref string) (id int64, err error) {
	if ref != "last" {
		if id, err = strconv.ParseInt(ref, 10, 64); err != nil {
			return 0, fmt.Errorf("run %q: give the number of a run, as sqlite3perf runs lists them, or last", ref)
		}
	}
	err = s.read(ctx, func(c *sql.Conn) error {
		ids, err := runIDs(ctx, c)
		switch {
		case err != nil:
			return err
		case ref == "last" && len(ids) > 0:
			id = ids[len(ids)-1]
			return nil
		case !slices.Contains(ids, id):
			return s.noRun(ctx, c, ref)
		}
		return nil
	})
	return id, err
}

func runIDs(ctx context.Context, c *sql.Conn) ([]int64, error) {
	var ids []int64
	err := scan(ctx, c, `SELECT run_id FROM runs ORDER BY run_id`, func(rows *sql.Rows) error {
		var id int64
		defer func() { ids = append(ids, id) }()
		return rows.Scan(&id)
	})
	return ids, err
}

func (s *Store) noRun(ctx context.Context, c *sql.Conn, ref any) error {
	ids, err := runIDs(ctx, c)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w as %v in store %s: it has %s", ErrNoRun, ref, s.path, ranges(ids))
}

// ranges writes ascending numbers as "1 to 3, 7".
func ranges(ids []int64) string {
	if len(ids) == 0 {
		return "none yet"
	}
	var parts []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		switch part := strconv.FormatInt(ids[i], 10); j {
		case i:
			parts = append(parts, part)
		case i + 1:
			parts = append(parts, part, strconv.FormatInt(ids[j], 10))
		default:
			parts = append(parts, part+" to "+strconv.FormatInt(ids[j], 10))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
