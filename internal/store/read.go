package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Load reads a run with all its parts. Trials are in order. If there is no run with that ID,
// the error is [ErrNoRun] and lists the existing IDs.
func (s *Store) Load(ctx context.Context, id int64) (*result.Run, error) {
	return s.load(ctx, newRun(id), s.loadParts)
}

func newRun(id int64) *result.Run {
	return &result.Run{ID: id, Cases: []result.Case{}, Trials: []result.Trial{}}
}

// load reads the record of the run with the ID r.ID into r. Then it calls the function "parts", which reads
// the run's rows in other tables.
func (s *Store) load(ctx context.Context, r *result.Run, parts func(context.Context, *sql.Conn, *result.Run) error) (*result.Run, error) {
	err := s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		var seed sql.NullString
		var record []byte
		err := c.QueryRowContext(ctx, `SELECT seed, json FROM runs WHERE run_id = ?`, r.ID).Scan(&seed, &record)
		if errors.Is(err, sql.ErrNoRows) {
			return s.noRun(ctx, c, r.ID)
		}
		if err == nil {
			err = decodeRun(r, seed.String, record)
		}
		if err == nil {
			err = parts(ctx, c, r)
		}
		if _, ok := errors.AsType[*sqlite.Error](err); err != nil && !ok && ctx.Err() == nil {
			return &DamagedError{s.path, r.ID, err}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func decodeRun(r *result.Run, seed string, record []byte) (err error) {
	if err := decode(record, &runRecord{Run: r}); err != nil {
		return err
	}
	if r.Rounds < 0 {
		return errors.New("a number is below 0")
	}
	if r.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return fmt.Errorf("its seed is %q", seed)
	}
	return nil
}

// LoadCases reads only some cases of a run, with their trials and samples: the cases for which the
// function "keep" returns true. It does not read warnings, profiles and the run's answer.
func (s *Store) LoadCases(ctx context.Context, id int64, keep func(*result.Case) bool) (*result.Run, error) {
	return s.load(ctx, newRun(id), func(ctx context.Context, c *sql.Conn, r *result.Run) error {
		p := newParts(r)
		err := each(ctx, c, `SELECT case_id, 0, json FROM cases WHERE run_id = ? ORDER BY case_id`, func(id, _ int64, c result.Case) error {
			if !keep(&c) {
				return nil
			}
			return p.addCase(id, 0, c)
		}, id)
		for i := 0; i < len(r.Cases) && err == nil; i++ {
			const of = ` FROM trials WHERE run_id = ?1 AND case_id = ?2`
			err = each(ctx, c, `SELECT trial_id, case_id, json`+of+` ORDER BY trial_id`, p.addTrial, id, r.Cases[i].ID)
			if err == nil {
				err = each(ctx, c, `SELECT trial_id, sample_id, json FROM samples WHERE run_id = ?1 AND trial_id IN (SELECT trial_id`+of+`) ORDER BY trial_id, sample_id`, p.addSample, id, r.Cases[i].ID)
			}
		}
		return err
	})
}

// Continue updates r from the store: it adds the trials that were stored after r was loaded, and
// replaces the run's record. Use it while a run is being measured, because loading the whole run
// again would disturb the measurement.
func (s *Store) Continue(ctx context.Context, r *result.Run) error {
	after := 0
	for i := range r.Trials {
		after = max(after, r.Trials[i].Order)
	}
	_, err := s.load(ctx, r, func(ctx context.Context, c *sql.Conn, r *result.Run) error {
		p := newParts(r)
		for i := range r.Cases {
			p.cases[int64(r.Cases[i].ID)] = &r.Cases[i]
		}
		return p.load(ctx, c, float64(after))
	})
	return err
}

// parts collects the rows that belong to a run, while they are read.
type parts struct {
	run    *result.Run
	cases  map[int64]*result.Case
	trials map[int64]int  // maps a trial's ID to its index in run.Trials
	left   map[string]int // number of rows whose case or trial is missing, by table
}

// loadParts reads the rows that belong to run r. If the case or trial of a row is missing, it
// leaves out the row, and adds a warning.
func (s *Store) loadParts(ctx context.Context, c *sql.Conn, r *result.Run) error {
	p := newParts(r)
	err := each(ctx, c, `SELECT case_id, 0, json FROM cases WHERE run_id = ? ORDER BY case_id`, p.addCase, r.ID)
	if err == nil {
		err = p.load(ctx, c, -math.MaxFloat64)
	}
	if err == nil && r.Profiles != nil {
		// The query returns a placeholder for a record that is too large.
		err = each(ctx, c, `SELECT case_id, octet_length(json), iif(octet_length(json) > ?2, '{}', json) FROM profiles WHERE run_id = ?1 ORDER BY case_id`,
			p.addProfile, r.ID, maxProfile)
	}
	if err == nil && s.hasAnswers() {
		err = loadAnswer(ctx, c, r)
	}
	if err == nil {
		p.warn()
	}
	return err
}

func newParts(r *result.Run) *parts {
	return &parts{run: r, cases: map[int64]*result.Case{}, trials: map[int64]int{}, left: map[string]int{}}
}

// load reads the trials with a number above the parameter "after", with their samples and warnings. If
// "after" is negative, it also reads the warnings about the whole run.
func (p *parts) load(ctx context.Context, c *sql.Conn, after float64) error {
	err := each(ctx, c, `SELECT trial_id, case_id, json FROM trials WHERE run_id = ? AND trial_id > ? ORDER BY trial_id`, p.addTrial, p.run.ID, after)
	if err == nil {
		err = each(ctx, c, `SELECT trial_id, sample_id, json FROM samples WHERE run_id = ? AND trial_id > ? ORDER BY trial_id, sample_id`, p.addSample, p.run.ID, after)
	}
	if err == nil {
		err = each(ctx, c, `SELECT coalesce(trial_id, 0), 0, json FROM warnings WHERE run_id = ? AND coalesce(trial_id, 0) > ? ORDER BY warning_id`, p.addWarning, p.run.ID, after)
	}
	return err
}

func (p *parts) addCase(id, _ int64, c result.Case) error {
	if p.cases[id] != nil {
		return fmt.Errorf("it has two cases %d", id)
	}
	p.cases[id] = &c
	p.run.Cases = append(p.run.Cases, c)
	return checkCase(id, &c)
}

func (p *parts) addTrial(id, caseID int64, t result.Trial) error {
	if _, ok := p.trials[id]; ok {
		return fmt.Errorf("it has two trials %d", id)
	}
	if p.cases[caseID] == nil {
		p.left["trials"]++
		return nil
	}
	p.trials[id] = len(p.run.Trials)
	t.Samples, t.Warnings = nil, nil // samples and warnings have their own tables
	p.run.Trials = append(p.run.Trials, t)
	return checkTrial(id, caseID, &t)
}

// trial returns the trial with the given ID. If there is none, it returns nil, and counts one more row of the
// given table as left out.
func (p *parts) trial(id int64, table string) *result.Trial {
	if at, ok := p.trials[id]; ok {
		return &p.run.Trials[at]
	}
	p.left[table]++
	return nil
}

func (p *parts) addSample(trialID, _ int64, m result.Sample) error {
	t := p.trial(trialID, "samples")
	if t == nil {
		return nil
	}
	if err := checkSample(p.cases[int64(t.Case)], t, &m); err != nil {
		return err
	}
	t.Samples = append(t.Samples, m)
	return nil
}

func (p *parts) addProfile(caseID, size int64, x result.Profile) error {
	list := &p.run.Profiles.Cases
	switch {
	case p.cases[caseID] == nil:
		p.left["profiles"]++
		return nil
	case slices.ContainsFunc(*list, func(o result.Profile) bool { return int64(o.Case) == caseID }):
		return fmt.Errorf("it has two profiles of case %d", caseID)
	}
	err := checkProfile(&x, size)
	if err == nil && int64(x.Case) != caseID {
		err = fmt.Errorf("its record says that it is of case %d", x.Case)
	}
	if err != nil {
		return fmt.Errorf("the profile of case %d: %w", caseID, err)
	}
	*list = append(*list, x)
	return nil
}

func (p *parts) addWarning(trialID, _ int64, w result.Warning) error {
	if w.Code == "" || w.Message == "" {
		return errors.New("a warning has no code or no message")
	}
	if trialID == 0 {
		p.run.Warnings = append(p.run.Warnings, w)
		return nil
	}
	if t := p.trial(trialID, "warnings"); t != nil {
		t.Warnings = append(t.Warnings, w)
	}
	return nil
}

// warn adds warnings to the run about rows that are left out or missing.
func (p *parts) warn() {
	var list []Orphans
	for _, table := range slices.Sorted(maps.Keys(p.left)) {
		list = append(list, Orphans{table, p.left[table]})
	}
	if text := OrphansText(list); text != "" {
		p.run.Warnings = append(p.run.Warnings, result.Warning{Code: result.WarningStore, Message: text})
	}
	lacking := 0
	for i := range p.run.Trials {
		t := &p.run.Trials[i]
		if t.Status == result.OK && len(t.Samples) < len(p.cases[int64(t.Case)].Phases) {
			lacking++
		}
	}
	if lacking > 0 {
		w := result.Warning{Code: result.WarningStore,
			Message: fmt.Sprintf("%d of %d trials lack the sample of a phase: another program has deleted it", lacking, len(p.run.Trials))}
		p.run.Warnings = distinct.Append(p.run.Warnings, w) // a merge may have stored the same warning
	}
}

// each runs a query whose rows have two numbers and a record. It calls the function "visit" with the numbers
// and the decoded record of each row.
func each[T any](ctx context.Context, c *sql.Conn, query string, visit func(key, second int64, record T) error, args ...any) error {
	return scan(ctx, c, query, func(rows *sql.Rows) error {
		var key, second int64
		var record sql.RawBytes
		if err := rows.Scan(&key, &second, &record); err != nil {
			return err
		}
		var v T
		if err := decode(record, &v); err != nil {
			return fmt.Errorf("row %d: %w", key, err)
		}
		return visit(key, second, v)
	}, args...)
}

// decode decodes a record into v. A record must be a JSON object; null is an error.
func decode(record []byte, v any) error {
	if text := bytes.TrimSpace(record); len(text) == 0 || text[0] != '{' {
		return errors.New("its record is not a JSON object")
	}
	return json.Unmarshal(record, v)
}

func scan(ctx context.Context, c *sql.Conn, query string, visit func(*sql.Rows) error, args ...any) error {
	rows, err := c.QueryContext(ctx, query, args...)
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

// Changes returns a number that changes whenever the store's file is written by another process, or
// by another Store of this process.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		return c.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&n)
	})
	return n, err
}

// Extent says how much of a run is stored. It changes when a trial or a warning is added, when an
// answer is added or replaced, and when the run ends.
type Extent struct {
	Trials   int64     // greatest trial_id of the run's stored trials; 0 if there are none
	Last     time.Time // when the last trial started; zero if there is none
	Ended    bool
	Warnings [3]int64             // number, greatest ID and total size of the warnings
	Records  [2][sha256.Size]byte // hashes of the records of the run and of its answer
}

// Extent returns how much of a run is stored. If there is no run with that ID, the error is
// [ErrNoRun].
func (s *Store) Extent(ctx context.Context, id int64) (e Extent, err error) {
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		var trials any
		var last, run, answer sql.NullString
		err := c.QueryRowContext(ctx, `SELECT max(trial_id), CASE WHEN json_valid(json) THEN json_extract(json, '$.started') END,
			(SELECT CASE WHEN json_valid(json) THEN json_extract(json, '$.ended') END IS NOT NULL FROM runs WHERE run_id = ?1),
			(SELECT json FROM runs WHERE run_id = ?1)
			FROM trials WHERE run_id = ?1 HAVING EXISTS (SELECT 1 FROM runs WHERE run_id = ?1)`, id).Scan(&trials, &last, &e.Ended, &run)
		if errors.Is(err, sql.ErrNoRows) {
			return s.noRun(ctx, c, id)
		}
		if err == nil {
			err = c.QueryRowContext(ctx, `SELECT count(*), coalesce(max(warning_id), 0), coalesce(sum(octet_length(json)), 0) FROM warnings WHERE run_id = ?`, id).
				Scan(&e.Warnings[0], &e.Warnings[1], &e.Warnings[2])
		}
		if err == nil && s.hasAnswers() {
			// If an answer is too large, only its length is read here. Such an answer is refused
			// when the run is loaded.
			err = c.QueryRowContext(ctx, `SELECT max(iif(octet_length(json) > ?2, octet_length(json), json)) FROM answers WHERE run_id = ?1`, id, maxAnswer).Scan(&answer)
		}
		e.Trials = number(trials)
		e.Last, _ = time.Parse(time.RFC3339Nano, last.String) // a malformed time is reported when the run is loaded
		e.Records = [2][sha256.Size]byte{sha256.Sum256([]byte(run.String)), sha256.Sum256([]byte(answer.String))}
		return err
	})
	return e, err
}

// newestFirst is the end of a query for the run that started last. This need not be the run with
// the highest number, because a merge appends older runs of other stores. Runs whose start cannot
// be read come last.
const newestFirst = ` ORDER BY julianday(CASE WHEN json_valid(json) THEN json_extract(json, '$.started') END) DESC, run_id DESC LIMIT 1`

// Newest returns the ID of the run that started last, whether it has ended or not. It returns 0 if
// the store has no run.
func (s *Store) Newest(ctx context.Context) (int64, error) {
	return s.newest(ctx, `SELECT run_id FROM runs`)
}

// newest returns the first ID of a query that is completed by [newestFirst], or 0.
func (s *Store) newest(ctx context.Context, query string, args ...any) (id int64, err error) {
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		err := c.QueryRowContext(ctx, query+newestFirst, args...).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return id, err
}

// Baseline returns the ID of the run that is a baseline (a run that later runs are compared with) with the
// given name, or 0 if there is none. If there are several, it returns the run that started last. It ignores
// merged runs, because they may come from somebody else. It also ignores runs that were interrupted or have
// not ended.
func (s *Store) Baseline(ctx context.Context, name string) (int64, error) {
	return s.newest(ctx, `SELECT run_id FROM runs WHERE CASE WHEN json_valid(json) THEN json_extract(json, '$.baseline') = ?
		AND json_extract(json, '$.ended') IS NOT NULL AND json_extract(json, '$.stopped') <> ? AND json_extract(json, '$.merged') IS NULL END`,
		name, result.StoppedInterrupted)
}

// Resolve returns the ID of the run that a user names, by its number, as "last", or by its name as a
// [Store.Baseline]. "last" means the run that started last among those that have ended. The error is
// [ErrNoRun] if the store does not have that run.
func (s *Store) Resolve(ctx context.Context, ref string) (id int64, err error) {
	if ref != "last" {
		if id, err = strconv.ParseInt(ref, 10, 64); err != nil {
			id, err := s.Baseline(ctx, ref)
			if err == nil && id == 0 {
				err = fmt.Errorf("run %q: give the number of a run, as sqlite3perf runs lists them, last, or the name of a baseline", ref)
			}
			return id, err
		}
	}
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		ids, err := runIDs(ctx, c)
		switch {
		case err != nil:
			return err
		case ref == "last" && len(ids) > 0:
			err := c.QueryRowContext(ctx, `SELECT run_id FROM runs
				WHERE CASE WHEN json_valid(json) THEN json_extract(json, '$.ended') END IS NOT NULL`+newestFirst).Scan(&id)
			if errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("%w as last in store %s: no run has ended. The newest, %d, was killed or is being measured: give its number to show it. The store has %s", ErrNoRun, s.path, ids[len(ids)-1], ranges(ids))
			}
			return err
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

// ranges formats ascending run numbers as "1 to 3, 7".
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
