package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sqlite3perf/sqlite3perf/result"
)

// Records are the types of package result without the fields that are stored
// separately. A field of type kept hides the embedded field of the same name.
type (
	kept *struct{}

	runRecord struct {
		*result.Run
		ID       kept `json:"id,omitempty"`
		Seed     kept `json:"seed,omitempty"`
		Cases    kept `json:"cases,omitempty"`
		Trials   kept `json:"trials,omitempty"`
		Warnings kept `json:"warnings,omitempty"`
	}

	trialRecord struct {
		*result.Trial
		Samples  kept `json:"samples,omitempty"`
		Warnings kept `json:"warnings,omitempty"`
	}
)

// Begin adds a run with the cases, trials, profiles and warnings that it already has, and
// sets its ID.
func (s *Store) Begin(ctx context.Context, r *result.Run) error {
	var id int64
	err := s.write(ctx, func(ctx context.Context, c *sql.Conn) error {
		record, err := encode(runRecord{Run: r})
		if err != nil {
			return err
		}
		err = c.QueryRowContext(ctx, freeID+` INSERT INTO runs (run_id, seed, json) SELECT n + 1, ?, ? FROM free RETURNING run_id`,
			strconv.FormatUint(r.Seed, 10), record).Scan(&id)
		if err != nil {
			return err
		}
		if err := addCases(ctx, c, id, r.Cases); err != nil {
			return err
		}
		for i := range r.Trials {
			if err := addTrial(ctx, c, id, &r.Trials[i]); err != nil {
				return err
			}
		}
		if err := addProfiles(ctx, c, id, r.Profiles); err != nil {
			return err
		}
		return addWarnings(ctx, c, id, nil, r.Warnings)
	})
	if err == nil {
		r.ID = id
	}
	return err
}

// freeID finds the greatest number that a run ever had, even if only orphans of that
// run are left, because a new run must not adopt them.
const freeID = `WITH free(n) AS (SELECT coalesce(max(n), 0) FROM (
	SELECT seq AS n FROM sqlite_sequence WHERE name = 'runs'
	UNION ALL SELECT max(run_id) FROM runs UNION ALL SELECT max(run_id) FROM cases
	UNION ALL SELECT max(run_id) FROM trials UNION ALL SELECT max(run_id) FROM samples
	UNION ALL SELECT max(run_id) FROM warnings UNION ALL SELECT max(run_id) FROM profiles) WHERE typeof(n) = 'integer')`

// AddTrial adds a trial to a run that has the trial's case. When it returns without
// error the trial is on disk, and survives a crash of the process or the machine.
func (s *Store) AddTrial(ctx context.Context, runID int64, t *result.Trial) error {
	return s.write(ctx, func(ctx context.Context, c *sql.Conn) error { return addTrial(ctx, c, runID, t) })
}

// AddWarning adds a warning to a run.
func (s *Store) AddWarning(ctx context.Context, runID int64, w result.Warning) error {
	return s.write(ctx, func(ctx context.Context, c *sql.Conn) error {
		return addWarnings(ctx, c, runID, nil, []result.Warning{w})
	})
}

// Finish records what is known of a run only when it has ended: when and why it ended,
// how many rounds are complete, and the steal time.
func (s *Store) Finish(ctx context.Context, run *result.Run) error {
	fields, values := `'$.ended', ?, '$.rounds', ?, '$.stopped', ?`, []any{run.Ended.Format(time.RFC3339Nano), run.Rounds, run.Stopped}
	if run.Steal != nil {
		fields, values = fields+`, '$.steal', ?`, append(values, *run.Steal)
	}
	return s.write(ctx, func(ctx context.Context, c *sql.Conn) error {
		res, err := c.ExecContext(ctx, `UPDATE runs SET json = json_set(json, `+fields+`) WHERE run_id = ?`, append(slices.Clone(values), run.ID)...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return fmt.Errorf("store %s: no run %d", s.path, run.ID)
	})
}

func addCases(ctx context.Context, c *sql.Conn, runID int64, cases []result.Case) error {
	for i := range cases {
		err := insert(ctx, c, `INSERT INTO cases (run_id, case_id, json) VALUES (?, ?, ?)`, &cases[i], runID, cases[i].ID)
		if err != nil {
			return fmt.Errorf("case %d of run %d: %w", cases[i].ID, runID, err)
		}
	}
	return nil
}

func addTrial(ctx context.Context, c *sql.Conn, runID int64, t *result.Trial) error {
	err := insert(ctx, c, `INSERT INTO trials (run_id, trial_id, case_id, json) VALUES (?, ?, ?, ?)`, trialRecord{Trial: t}, runID, t.Order, t.Case)
	if err != nil {
		return fmt.Errorf("trial %d of run %d: %w", t.Order, runID, err)
	}
	for i := range t.Samples {
		err := insert(ctx, c, `INSERT INTO samples (run_id, trial_id, sample_id, json) VALUES (?, ?, ?, ?)`, &t.Samples[i], runID, t.Order, i+1)
		if err != nil {
			return err
		}
	}
	return addWarnings(ctx, c, runID, &t.Order, t.Warnings)
}

// addProfiles adds the profiles of a run, or nothing if it is not one of profiles.
func addProfiles(ctx context.Context, c *sql.Conn, runID int64, p *result.Profiles) error {
	if p == nil {
		return nil
	}
	for i := range p.Cases {
		x := &p.Cases[i]
		record, err := encode(x)
		if err == nil {
			err = checkProfile(x, int64(len(record)))
		}
		if err == nil {
			_, err = c.ExecContext(ctx, `INSERT INTO profiles (run_id, case_id, json) VALUES (?, ?, ?)`, runID, x.Case, record)
		}
		if err != nil {
			return fmt.Errorf("profile of case %d: %w", x.Case, err)
		}
	}
	return nil
}

// addWarnings adds warnings to a trial, or to the run if trial is nil.
func addWarnings(ctx context.Context, c *sql.Conn, runID int64, trial *int, warnings []result.Warning) error {
	for i := range warnings {
		err := insert(ctx, c, `INSERT INTO warnings (run_id, trial_id, json) VALUES (?, ?, ?)`, &warnings[i], runID, trial)
		if err != nil {
			return fmt.Errorf("warning of run %d: %w", runID, err)
		}
	}
	return nil
}

// insert runs an INSERT whose last value is the record.
func insert(ctx context.Context, c *sql.Conn, statement string, record any, keys ...any) error {
	text, err := encode(record)
	if err == nil {
		_, err = c.ExecContext(ctx, statement, append(keys, text)...)
	}
	return err
}

// encode returns a record as text, which SQLite's shell can show. A []byte would
// become a blob.
func encode(record any) (string, error) {
	b, err := json.Marshal(record)
	return string(b), err
}
