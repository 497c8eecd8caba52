package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// The record types are like the types of package result, but without the fields that have their own tables or
// columns. A field of the type "kept" hides the embedded field of the same name, so that JSON does not
// contain it.
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

// Begin adds a run and sets its ID. It also adds the cases, trials, profiles, warnings and
// answer that the run already has.
func (s *Store) Begin(ctx context.Context, r *result.Run) error {
	return s.add(ctx, []*result.Run{r})
}

// add adds runs in one transaction, and sets their IDs.
func (s *Store) add(ctx context.Context, runs []*result.Run) error {
	ids := make([]int64, len(runs))
	err := s.write(ctx, func(ctx context.Context, c *sql.Conn) (err error) {
		for i, r := range runs {
			if ids[i], err = addRun(ctx, c, r); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		for i, r := range runs {
			r.ID = ids[i]
		}
	}
	return err
}

func addRun(ctx context.Context, c *sql.Conn, r *result.Run) (id int64, err error) {
	record, err := encode(runRecord{Run: r})
	if err != nil {
		return 0, err
	}
	err = c.QueryRowContext(ctx, freeID+` INSERT INTO runs (run_id, seed, json) SELECT n + 1, ?, ? FROM free RETURNING run_id`,
		strconv.FormatUint(r.Seed, 10), record).Scan(&id)
	if err != nil {
		return 0, err
	}
	p := &preparing{c, map[string]*sql.Stmt{}}
	defer p.close()
	err = addCases(ctx, p, id, r.Cases)
	for i := 0; i < len(r.Trials) && err == nil; i++ {
		err = addTrial(ctx, p, id, &r.Trials[i])
	}
	if err == nil {
		err = addProfiles(ctx, p, id, r.Profiles)
	}
	if err == nil {
		err = addAnswer(ctx, p, id, r.Answer)
	}
	if err == nil {
		err = addWarnings(ctx, p, id, nil, r.Warnings)
	}
	return id, err
}

// execer executes statements. It is a connection, or a [preparing].
type execer interface {
	ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error)
}

// preparing is a connection that prepares each statement only once, which is faster for runs
// with many trials.
type preparing struct {
	c    *sql.Conn
	made map[string]*sql.Stmt
}

func (p *preparing) ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error) {
	s := p.made[statement]
	if s == nil {
		var err error
		if s, err = p.c.PrepareContext(ctx, statement); err != nil {
			return nil, err
		}
		p.made[statement] = s
	}
	return s.ExecContext(ctx, args...)
}

func (p *preparing) close() {
	for _, s := range p.made {
		s.Close()
	}
}

// freeID is the beginning of a query. It defines the table "free", which has one row with the greatest number
// n that any run has had, or 0. It includes the numbers of deleted runs that have left orphans (see
// [Orphans]): if a new run got such a number, the orphans would become part of it.
const freeID = `WITH free(n) AS (SELECT coalesce(max(n), 0) FROM (
	SELECT seq AS n FROM sqlite_sequence WHERE name = 'runs'
	UNION ALL SELECT max(run_id) FROM runs UNION ALL SELECT max(run_id) FROM cases
	UNION ALL SELECT max(run_id) FROM trials UNION ALL SELECT max(run_id) FROM samples
	UNION ALL SELECT max(run_id) FROM warnings UNION ALL SELECT max(run_id) FROM profiles
	UNION ALL SELECT max(run_id) FROM answers) WHERE typeof(n) = 'integer')`

// AddTrial adds a trial to a run that already has the trial's case. When AddTrial returns
// without an error, the trial is on disk and survives a crash of the process or the machine.
func (s *Store) AddTrial(ctx context.Context, runID int64, t *result.Trial) error {
	return s.write(ctx, func(ctx context.Context, c *sql.Conn) error { return addTrial(ctx, c, runID, t) })
}

// AddWarning adds a warning to a run.
func (s *Store) AddWarning(ctx context.Context, runID int64, w result.Warning) error {
	return s.write(ctx, func(ctx context.Context, c *sql.Conn) error {
		return addWarnings(ctx, c, runID, nil, []result.Warning{w})
	})
}

// Finish records when and why a run ended, how many rounds are complete, and the share of stolen
// time (CPU time that the hypervisor gave to other machines). It returns an error if the store's
// file no longer has the run, because somebody overwrote or replaced the file.
func (s *Store) Finish(ctx context.Context, run *result.Run) error {
	fields, values := `'$.ended', ?, '$.rounds', ?, '$.stopped', ?`, []any{run.Ended.Format(time.RFC3339Nano), run.Rounds, run.Stopped}
	if run.Steal != nil {
		fields, values = fields+`, '$.steal', ?`, append(values, *run.Steal)
	}
	err := s.write(ctx, func(ctx context.Context, c *sql.Conn) error {
		res, err := c.ExecContext(ctx, `UPDATE runs SET json = json_set(json, `+fields+`) WHERE run_id = ?`, append(slices.Clone(values), run.ID)...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return fmt.Errorf("store %s: no run %d", s.path, run.ID)
	})
	if err != nil {
		return err
	}
	return s.kept(ctx, run)
}

// kept checks that a run has arrived in the store. It looks for the run in the file that has the store's name
// now. This may be another file than the file that was opened. If the run is not there, kept returns an error.
// If ctx has ended, kept waits only a [moment]. If it cannot read the file in that time, it returns no error.
func (s *Store) kept(ctx context.Context, run *result.Run) error {
	ctx, cancel := momentLonger(ctx)
	defer cancel()
	now, err := connect(s.path, s.path, url.Values{"mode": {"ro"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}})
	if err != nil {
		return err
	}
	defer now.Close()
	var trials int
	var ended sql.NullString
	err = now.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		// If somebody overwrote the file while sqlite3perf was writing to it, the file contains
		// pages of both versions.
		if err := now.quickCheck(ctx, c); err != nil {
			return err
		}
		return c.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM trials WHERE run_id = ?1), json_extract(json, '$.ended') FROM runs WHERE run_id = ?1`, run.ID).Scan(&trials, &ended)
	})
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil || trials < len(run.Trials) || ended.String != run.Ended.Format(time.RFC3339Nano):
		return fmt.Errorf("store %s: the file was replaced or overwritten while run %d was measured, so it does not contain the complete run: only the printed results are left", s.path, run.ID)
	}
	return nil
}

func addCases(ctx context.Context, c execer, runID int64, cases []result.Case) error {
	for i := range cases {
		err := insert(ctx, c, `INSERT INTO cases (run_id, case_id, json) VALUES (?, ?, ?)`, &cases[i], runID, cases[i].ID)
		if err != nil {
			return fmt.Errorf("case %d of run %d: %w", cases[i].ID, runID, err)
		}
	}
	return nil
}

func addTrial(ctx context.Context, c execer, runID int64, t *result.Trial) error {
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

// addProfiles adds the profiles of a run. It does nothing if p is nil.
func addProfiles(ctx context.Context, c execer, runID int64, p *result.Profiles) error {
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

// addWarnings adds warnings to a trial, or to the run if the parameter "trial" is nil.
func addWarnings(ctx context.Context, c execer, runID int64, trial *int, warnings []result.Warning) error {
	for i := range warnings {
		err := insert(ctx, c, `INSERT INTO warnings (run_id, trial_id, json) VALUES (?, ?, ?)`, &warnings[i], runID, trial)
		if err != nil {
			return fmt.Errorf("warning of run %d: %w", runID, err)
		}
	}
	return nil
}

// insert runs an INSERT statement with the given keys and, as the last value, the encoded record.
func insert(ctx context.Context, c execer, statement string, record any, keys ...any) error {
	text, err := encode(record)
	if err == nil {
		_, err = c.ExecContext(ctx, statement, append(keys, text)...)
	}
	return err
}

// encode returns a record as JSON. It is a string because SQLite stores a []byte as a blob,
// which SQLite's shell does not show.
func encode(record any) (string, error) {
	b, err := json.Marshal(record)
	return string(b), err
}

// Resume records that a run is resumed. The parameter "again" has the numbers of the trials that no
// longer count. Resume marks these trials as repeated. It also replaces the record of the run, and
// the records of cases that have changed. If another process has resumed the run or added trials
// since the run was loaded, Resume returns an error and changes nothing.
func (s *Store) Resume(ctx context.Context, r *result.Run, again []int) error {
	return s.write(ctx, func(ctx context.Context, c *sql.Conn) error {
		var trials, resumed int
		err := c.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM trials WHERE run_id = ?1), coalesce(json_array_length(json, '$.resumed'), 0)
			FROM runs WHERE run_id = ?1`, r.ID).Scan(&trials, &resumed)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("store %s: run %d has been deleted since it was read", s.path, r.ID)
		case err != nil:
			return err
		case trials != len(r.Trials):
			return fmt.Errorf("store %s: run %d is being measured: it has %d trials now, and had %d a moment ago: wait until that has ended", s.path, r.ID, trials, len(r.Trials))
		case resumed != len(r.Resumed)-1:
			return fmt.Errorf("store %s: run %d is being measured, because another process has just resumed it: wait until that has ended", s.path, r.ID)
		}
		for _, order := range again {
			if err := markRepeated(ctx, c, r.ID, order); err != nil {
				return err
			}
		}
		for i := range r.Cases { // the record of a case changes if the case had no worker and has one now
			record, err := encode(&r.Cases[i])
			if err == nil {
				_, err = c.ExecContext(ctx, `UPDATE cases SET json = ?1 WHERE run_id = ?2 AND case_id = ?3 AND json <> ?1`, record, r.ID, r.Cases[i].ID)
			}
			if err != nil {
				return err
			}
		}
		return replaceRecord(ctx, c, r)
	})
}
