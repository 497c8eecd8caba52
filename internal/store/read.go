package store

import (
	"bytes"
	"context"
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

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Load reads a run with everything that was stored of it, with the trials in order. If
// there is no run with that ID, the error is [ErrNoRun] and lists the existing ones.
func (s *Store) Load(ctx context.Context, id int64) (*result.Run, error) {
	return s.load(ctx, id, s.loadParts)
}

// load reads the record of a run, and what a function adds to it.
func (s *Store) load(ctx context.Context, id int64, parts func(context.Context, *sql.Conn, *result.Run) error) (*result.Run, error) {
	r := &result.Run{Cases: []result.Case{}, Trials: []result.Trial{}}
	err := s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		var seed, record sql.NullString
		err := c.QueryRowContext(ctx, `SELECT seed, json FROM runs WHERE run_id = ?`, id).Scan(&seed, &record)
		if errors.Is(err, sql.ErrNoRows) {
			return s.noRun(ctx, c, id)
		}
		if err != nil {
			return err
		}
		r.ID = id
		err = decode([]byte(record.String), &runRecord{Run: r})
		if err == nil && r.Rounds < 0 {
			err = errors.New("a number is below 0")
		}
		if err == nil {
			if r.Seed, err = strconv.ParseUint(seed.String, 10, 64); err != nil {
				err = fmt.Errorf("its seed is %q", seed.String)
			}
		}
		if err == nil {
			err = parts(ctx, c, r)
		}
		if _, ok := errors.AsType[*sqlite.Error](err); err != nil && !ok && ctx.Err() == nil {
			return Damaged(s.path, id, err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// LoadCases reads a run with only those of its cases of which keep is true, and their
// trials.
func (s *Store) LoadCases(ctx context.Context, id int64, keep func(*result.Case) bool) (*result.Run, error) {
	return s.load(ctx, id, func(ctx context.Context, c *sql.Conn, r *result.Run) error {
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

// Continue adds to a run that was loaded before it ended what has been stored of it since
// then. Loading a long run again and again would take time from what is being measured.
func (s *Store) Continue(ctx context.Context, r *result.Run) error {
	after := 0
	for i := range r.Trials {
		after = max(after, r.Trials[i].Order)
	}
	return s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		p := newParts(r)
		for i := range r.Cases {
			p.cases[int64(r.Cases[i].ID)] = &r.Cases[i]
		}
		err := p.load(ctx, c, float64(after))
		if err == nil {
			var record sql.NullString
			err = c.QueryRowContext(ctx, `SELECT json FROM runs WHERE run_id = ?`, r.ID).Scan(&record)
			if errors.Is(err, sql.ErrNoRows) {
				return s.noRun(ctx, c, r.ID)
			}
			if err == nil {
				err = decode([]byte(record.String), &runRecord{Run: r})
			}
		}
		if _, ok := errors.AsType[*sqlite.Error](err); err != nil && !ok && ctx.Err() == nil {
			return Damaged(s.path, r.ID, err)
		}
		return err
	})
}

// parts holds the rows that belong to a run, while they are read.
type parts struct {
	run    *result.Run
	cases  map[int64]*result.Case
	trials map[int64]int // ID to index
	left   map[string]int
}

// loadParts reads the rows that belong to a run. Rows that belong to nothing are left
// out, with a warning.
func (s *Store) loadParts(ctx context.Context, c *sql.Conn, r *result.Run) error {
	p := newParts(r)
	err := each(ctx, c, `SELECT case_id, 0, json FROM cases WHERE run_id = ? ORDER BY case_id`, p.addCase, r.ID)
	if err == nil {
		err = p.load(ctx, c, -math.MaxFloat64)
	}
	if err == nil && r.Profiles != nil {
		// The size is known before the record is read.
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

// load reads the trials after one with the given number, with what belongs to them. The
// number may be below any that a damaged store can have; then the warnings of the run are
// read, too.
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
	t.Samples, t.Warnings = nil, nil // they have their own tables
	p.run.Trials = append(p.run.Trials, t)
	return checkTrial(id, caseID, &t)
}

func (p *parts) addSample(trialID, _ int64, m result.Sample) error {
	at, ok := p.trials[trialID]
	if !ok {
		p.left["samples"]++
		return nil
	}
	t := &p.run.Trials[at]
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
	at, ok := p.trials[trialID]
	if !ok {
		p.left["warnings"]++
		return nil
	}
	t := &p.run.Trials[at]
	t.Warnings = append(t.Warnings, w)
	return nil
}

// warn adds warnings about rows that are left out or missing.
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
			Message: fmt.Sprintf("%d of %d trials lack the sample of a phase: somebody has deleted it", lacking, len(p.run.Trials))}
		if !slices.Contains(p.run.Warnings, w) { // a merge keeps it
			p.run.Warnings = append(p.run.Warnings, w)
		}
	}
}

// each calls a function with the keys and the decoded record of every row of a query.
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

// decode reads a record. null is not a record.
func decode(record []byte, v any) error {
	if text := bytes.TrimSpace(record); len(text) == 0 || text[0] != '{' {
		return errors.New("its record is not a JSON object")
	}
	return json.Unmarshal(record, v)
}

// Entry is a run in a list.
type Entry struct {
	ID        int64                 `json:"id"`
	Version   string                `json:"version"` // the version of sqlite3perf
	Started   time.Time             `json:"started"`
	Ended     time.Time             `json:"ended,omitzero"` // zero if unfinished
	Stopped   string                `json:"stopped"`        // why it ended, or "" if it has not
	Command   []string              `json:"command"`
	Scale     string                `json:"scale"`
	Host      string                `json:"host"`               // name of the machine
	Reached   string                `json:"reached,omitempty"`  // the name by which it was reached, if it was another machine
	Asked     *result.Asked         `json:"asked,omitempty"`    // as in [result.Run]
	Profiled  string                `json:"profiled,omitempty"` // the phase, if the run has profiles instead of trials
	Question  string                `json:"question,omitempty"` // whose answer it has, such as [result.QuestionTune]
	Drivers   []string              `json:"drivers"`            // in the order of the cases
	Workloads []string              `json:"workloads"`          // in the order of the cases
	Hashes    map[string]string     `json:"hashes,omitempty"`   // SHA-256 of workloads, by name; older runs have none
	Trials    int                   `json:"trials"`
	Statuses  map[result.Status]int `json:"statuses"` // how many trials have each status, without those that failed and were measured again
	Cases     int                   `json:"cases"`
	Bad       map[result.Status]int `json:"bad"`      // how many cases have a trial that is not OK, by the worst status of each
	Warnings  int                   `json:"warnings"` // of how many kinds: distinct codes of those about the run, its cases and its trials
	Damaged   string                `json:"damaged,omitempty"`
}

// What a list has of cases and trials. A store may have half a million trials, so both
// are read from indexes alone.
const (
	listCases = `SELECT run_id, case_id, listed_driver, listed_workload
		FROM cases INDEXED BY cases_listed ORDER BY 1, 2`
	listTrials = `SELECT run_id, case_id, listed_status, count(*) FROM trials GROUP BY 1, 2, 3`
	listAgain  = `SELECT run_id, case_id, listed_status, count(*) FROM trials INDEXED BY trials_by_case
		WHERE listed_status <> 'ok' AND CASE WHEN json_valid(json) THEN json_extract(json, '$.repeated') END GROUP BY 1, 2, 3`
	listWarnings = `SELECT run_id, count(DISTINCT CASE WHEN json_valid(json) THEN json_extract(json, '$.code') END) FROM warnings GROUP BY 1`
)

// List lists all runs, oldest first. A run whose record makes no sense is listed as
// damaged.
func (s *Store) List(ctx context.Context) ([]Entry, error) {
	list := []Entry{}
	err := s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		err := scan(ctx, c, `SELECT run_id, json FROM runs ORDER BY run_id`, func(rows *sql.Rows) error {
			e, err := entry(rows)
			list = append(list, e)
			return err
		})
		if err != nil {
			return err
		}
		at := map[int64]*Entry{}
		for i := range list {
			at[list[i].ID] = &list[i]
		}
		type key struct{ run, id int64 }
		cases := map[key]result.Status{} // the worst of their trials
		err = scan(ctx, c, listCases, func(rows *sql.Rows) error {
			var run, id any
			var driver, workload sql.NullString
			if err := rows.Scan(&run, &id, &driver, &workload); err != nil {
				return err
			}
			if e := at[number(run)]; e != nil {
				cases[key{number(run), number(id)}] = result.OK
				e.addCase(driver, workload)
			}
			return nil
		})
		if err != nil {
			return err
		}
		type group struct {
			key
			status string
		}
		again := map[group]int{} // trials that failed and were measured again
		grouped := func(visit func(key, string, int)) func(*sql.Rows) error {
			return func(rows *sql.Rows) error {
				var run, id any
				var status sql.NullString
				var n int
				if err := rows.Scan(&run, &id, &status, &n); err != nil {
					return err
				}
				visit(key{number(run), number(id)}, status.String, n)
				return nil
			}
		}
		err = scan(ctx, c, listAgain, grouped(func(k key, status string, n int) { again[group{k, status}] = n }))
		if err != nil {
			return err
		}
		err = scan(ctx, c, listTrials, grouped(func(k key, status string, n int) {
			if worst, ok := cases[k]; ok {
				s := result.Status(status)
				e := at[k.run]
				e.Trials += n
				if n -= again[group{k, status}]; n == 0 {
					return
				}
				e.addTrials(s, n)
				if worst == result.OK || s != result.OK && slices.Index(statuses, s) < slices.Index(statuses, worst) {
					cases[k] = s
				}
			}
		}))
		for k, worst := range cases {
			if worst != result.OK {
				at[k.run].Bad[worst]++
			}
		}
		if err != nil {
			return err
		}
		if err := s.noteAnswers(ctx, c, at); err != nil {
			return err
		}
		return scan(ctx, c, listWarnings, func(rows *sql.Rows) error {
			var run any
			var n int
			if err := rows.Scan(&run, &n); err != nil {
				return err
			}
			if e := at[number(run)]; e != nil {
				e.Warnings = n
			}
			return nil
		})
	})
	return list, err
}

// number returns an ID, or 0, which nothing has, if a damaged store has something else.
func number(id any) int64 {
	n, _ := id.(int64)
	return n
}

func entry(rows *sql.Rows) (Entry, error) {
	var id int64
	var record sql.RawBytes
	if err := rows.Scan(&id, &record); err != nil {
		return Entry{}, err
	}
	e := Entry{ID: id, Drivers: []string{}, Workloads: []string{}, Statuses: map[result.Status]int{}, Bad: map[result.Status]int{}}
	var r result.Run
	if err := decode(record, &r); err != nil {
		e.Damaged = err.Error()
	}
	for _, w := range r.Workloads {
		if e.Hashes == nil {
			e.Hashes = map[string]string{}
		}
		e.Hashes[w.Name] = w.SHA256
	}
	e.Version, e.Started, e.Ended, e.Stopped, e.Command, e.Asked = r.Version, r.Started, r.Ended, r.Stopped, r.Command, r.Asked
	e.Scale, e.Host = r.Scale, r.Machine.Hostname
	if r.Host != nil {
		e.Reached = r.Host.Name
	}
	if r.Profiles != nil {
		e.Profiled = r.Profiles.Phase
	}
	return e, nil
}

func (e *Entry) addCase(driver, workload sql.NullString) {
	if !driver.Valid || !workload.Valid {
		e.Damaged = "a case has no driver or workload"
		return
	}
	e.Cases++
	if !slices.Contains(e.Drivers, driver.String) {
		e.Drivers = append(e.Drivers, driver.String)
	}
	if !slices.Contains(e.Workloads, workload.String) {
		e.Workloads = append(e.Workloads, workload.String)
	}
}

func (e *Entry) addTrials(status result.Status, n int) {
	if !slices.Contains(statuses, status) {
		e.Damaged = fmt.Sprintf("a trial has the status %q", status)
	}
	e.Statuses[status] += n
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

// Changes returns a number that differs after another process, or another store of this
// process, has written to the file.
func (s *Store) Changes(ctx context.Context) (n int64, err error) {
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		return c.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&n)
	})
	return n, err
}

// Extent is how much of a run there is. It is the same as before only if the run is.
type Extent struct {
	Trials int64     // greatest number of a trial
	Last   time.Time // when that trial started; zero if there is none
	Ended  bool
	Answer bool // it has one
}

// Extent returns how much of a run there is. If there is no run with that ID, the error is
// [ErrNoRun].
func (s *Store) Extent(ctx context.Context, id int64) (e Extent, err error) {
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		var trials any
		var last sql.NullString
		err := c.QueryRowContext(ctx, `SELECT max(trial_id), CASE WHEN json_valid(json) THEN json_extract(json, '$.started') END,
			(SELECT CASE WHEN json_valid(json) THEN json_extract(json, '$.ended') END IS NOT NULL FROM runs WHERE run_id = ?1),
			EXISTS (SELECT 1 FROM answers WHERE run_id = ?1)
			FROM trials WHERE run_id = ?1 HAVING EXISTS (SELECT 1 FROM runs WHERE run_id = ?1)`, id).Scan(&trials, &last, &e.Ended, &e.Answer)
		if errors.Is(err, sql.ErrNoRows) {
			return s.noRun(ctx, c, id)
		}
		e.Trials = number(trials)
		e.Last, _ = time.Parse(time.RFC3339Nano, last.String) // a damaged one is found when the run is loaded
		return err
	})
	return e, err
}

// Latest lists the n newest runs, the newest first, without their drivers, workloads and
// trials.
func (s *Store) Latest(ctx context.Context, n int) ([]Entry, error) {
	list := []Entry{}
	err := s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		return scan(ctx, c, `SELECT run_id, json FROM runs ORDER BY run_id DESC LIMIT ?`, func(rows *sql.Rows) error {
			e, err := entry(rows)
			list = append(list, e)
			return err
		}, n)
	})
	return list, err
}

// Resolve returns the ID of the run that a user names by its number or as "last", the newest
// that has ended. The error is [ErrNoRun] if the store does not have that run.
func (s *Store) Resolve(ctx context.Context, ref string) (id int64, err error) {
	if ref != "last" {
		if id, err = strconv.ParseInt(ref, 10, 64); err != nil {
			return 0, fmt.Errorf("run %q: give the number of a run, as sqlite3perf runs lists them, or last", ref)
		}
	}
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		ids, err := runIDs(ctx, c)
		switch {
		case err != nil:
			return err
		case ref == "last" && len(ids) > 0:
			err := c.QueryRowContext(ctx, `SELECT run_id FROM runs WHERE CASE WHEN json_valid(json) THEN json_extract(json, '$.ended') END IS NOT NULL
				ORDER BY run_id DESC LIMIT 1`).Scan(&id)
			if errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("%w as last in store %s: none has ended: give the number %d of the newest, which was killed or is being measured: it has %s", ErrNoRun, s.path, ids[len(ids)-1], ranges(ids))
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

// ranges formats ascending numbers as "1 to 3, 7".
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
