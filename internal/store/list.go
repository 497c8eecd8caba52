package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Entry describes one run in a list of runs.
type Entry struct {
	ID        int64                 `json:"id"`
	Version   string                `json:"version"` // version of sqlite3perf that measured the run
	Started   time.Time             `json:"started"`
	Ended     time.Time             `json:"ended,omitzero"` // zero if the run is unfinished
	Stopped   string                `json:"stopped"`        // why the run ended, or "" if it has not
	Command   []string              `json:"command"`
	Scale     string                `json:"scale"`
	Host      string                `json:"host"`               // name of the machine that was measured
	Reached   string                `json:"reached,omitempty"`  // host name that sqlite3perf connected to; "" if it measured its own machine
	Asked     *result.Asked         `json:"asked,omitempty"`    // settings and parameters that the user gave, as in [result.Run]
	Profiled  string                `json:"profiled,omitempty"` // name of the phase, if the run has profiles instead of trials
	Baseline  string                `json:"baseline,omitempty"` // name under which later runs can be compared with this run, as a baseline; "" if none
	Question  string                `json:"question,omitempty"` // the question that the run's stored answer answers, such as [result.QuestionTune]
	Drivers   []string              `json:"drivers"`            // in the order of the cases
	Workloads []string              `json:"workloads"`          // in the order of the cases
	Hashes    map[string]string     `json:"hashes,omitempty"`   // SHA-256 of workloads, by name; older runs have none
	Trials    int                   `json:"trials"`
	Statuses  map[result.Status]int `json:"statuses"` // how many trials have each status; failed trials that were repeated don't count
	Cases     int                   `json:"cases"`
	Bad       map[result.Status]int `json:"bad"`      // number of cases by their status, without OK; a case has the worst status of its trials
	Warnings  []string              `json:"warnings"` // distinct codes of the warnings about the run, its cases and its trials, sorted
	Damaged   string                `json:"damaged,omitempty"`
}

// Ending describes in a few words how a run ended, which answer or profile it has, and how many of its
// trials have no correct result.
func (e Entry) Ending() string {
	if e.Damaged != "" {
		return "damaged"
	}
	word := result.Ending(e.Stopped)
	switch {
	case e.Question != "" && e.Sampled():
		word += ", answer of " + e.Question
	case e.Question != "":
		word = "answer of " + e.Question
	}
	if e.Baseline != "" {
		word += ", baseline " + e.Baseline
	}
	if e.Profiled != "" {
		word = "profile of " + e.Profiled
		if e.Stopped == result.StoppedInterrupted {
			word += ", interrupted"
		}
	}
	for _, s := range []result.Status{result.Wrong, result.Refused, result.Failed, result.Unavailable} {
		if n := e.Statuses[s]; n > 0 {
			word += fmt.Sprintf(", %d %s", n, s)
		}
	}
	return word
}

// RunsVersion is the version of [JSONRuns].
const RunsVersion = 1

// JSONRuns is the JSON form of a list of runs.
type JSONRuns struct {
	Version int     `json:"version"`
	Runs    []Entry `json:"runs"`
}

// The queries of List. They read cases and trials from indexes, because a store may have half a
// million trials. Only the query listAgain also reads records of trials. It reads only the records
// of trials that are not ok.
const (
	listCases = `SELECT run_id, case_id, listed_driver, listed_workload
		FROM cases INDEXED BY cases_listed ORDER BY 1, 2`
	listTrials = `SELECT run_id, case_id, listed_status, count(*) FROM trials GROUP BY 1, 2, 3`
	listAgain  = `SELECT run_id, case_id, listed_status, count(*) FROM trials INDEXED BY trials_by_case
		WHERE listed_status <> 'ok' AND CASE WHEN json_valid(json) THEN json_extract(json, '$.repeated') END GROUP BY 1, 2, 3`
	listWarnings = `SELECT DISTINCT run_id, CASE WHEN json_valid(json) THEN json_extract(json, '$.code') END FROM warnings ORDER BY 1, 2`
)

// List lists all runs in the order of their numbers. If the record of a run cannot be decoded, the
// field Damaged of its entry has the reason.
func (s *Store) List(ctx context.Context) (list []Entry, err error) {
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) (err error) {
		if list, err = entries(ctx, c, `SELECT run_id, json FROM runs ORDER BY run_id`); err != nil {
			return err
		}
		at := map[int64]*Entry{}
		for i := range list {
			at[list[i].ID] = &list[i]
		}
		for _, note := range []func(context.Context, *sql.Conn, map[int64]*Entry) error{noteTrials, s.noteAnswers, noteWarnings} {
			if err := note(ctx, c, at); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// Latest lists the n runs with the highest numbers, the highest first. It reads only the table of
// runs, so the entries have no cases, drivers, workloads, trials, warnings and questions.
func (s *Store) Latest(ctx context.Context, n int) (list []Entry, err error) {
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) (err error) {
		list, err = entries(ctx, c, `SELECT run_id, json FROM runs ORDER BY run_id DESC LIMIT ?`, n)
		return err
	})
	return list, err
}

type caseKey struct{ run, id int64 }

// noteTrials adds to each entry the drivers and workloads of the run's cases, the numbers of cases
// and trials, and their statuses.
func noteTrials(ctx context.Context, c *sql.Conn, at map[int64]*Entry) error {
	worst := map[caseKey]result.Status{} // the worst status among each case's trials
	err := scan(ctx, c, listCases, func(rows *sql.Rows) error {
		var run, id any
		var driver, workload sql.NullString
		if err := rows.Scan(&run, &id, &driver, &workload); err != nil {
			return err
		}
		if e := at[number(run)]; e != nil {
			worst[caseKey{number(run), number(id)}] = result.OK
			e.addCase(driver, workload)
		}
		return nil
	})
	if err != nil {
		return err
	}
	again := map[trialGroup]int{} // counts of failed trials that were repeated
	if err := trialGroups(ctx, c, listAgain, func(g trialGroup, n int) { again[g] = n }); err != nil {
		return err
	}
	err = trialGroups(ctx, c, listTrials, func(g trialGroup, n int) {
		before, ok := worst[g.caseKey]
		if !ok {
			return
		}
		e := at[g.run]
		e.Trials += n
		if n -= again[g]; n == 0 {
			return
		}
		e.addTrials(g.status, n)
		if before == result.OK || g.status != result.OK && slices.Index(statuses, g.status) < slices.Index(statuses, before) {
			worst[g.caseKey] = g.status
		}
	})
	for k, status := range worst {
		if status != result.OK {
			at[k.run].Bad[status]++
		}
	}
	return err
}

// trialGroup identifies the trials of a case that have the same status.
type trialGroup struct {
	caseKey
	status result.Status
}

// trialGroups runs a query whose rows have a case, a status, and the number of the case's trials with that
// status. It calls the function "visit" with each row.
func trialGroups(ctx context.Context, c *sql.Conn, query string, visit func(trialGroup, int)) error {
	return scan(ctx, c, query, func(rows *sql.Rows) error {
		var run, id any
		var status sql.NullString
		var n int
		if err := rows.Scan(&run, &id, &status, &n); err != nil {
			return err
		}
		visit(trialGroup{caseKey{number(run), number(id)}, result.Status(status.String)}, n)
		return nil
	})
}

// noteWarnings adds to each entry the distinct codes of the run's warnings.
func noteWarnings(ctx context.Context, c *sql.Conn, at map[int64]*Entry) error {
	return scan(ctx, c, listWarnings, func(rows *sql.Rows) error {
		var run any
		var code sql.NullString // NULL if the warning cannot be decoded
		err := rows.Scan(&run, &code)
		if e := at[number(run)]; e != nil && code.Valid {
			e.Warnings = append(e.Warnings, code.String)
		}
		return err
	})
}

// number converts a column's value to an ID. If the store is damaged, the value may be something other than
// an integer. In that case number returns 0, which is no row's ID.
func number(id any) int64 {
	n, _ := id.(int64)
	return n
}

// entries runs a query on the table of runs, and makes an entry from each record. Facts from other
// tables are added later.
func entries(ctx context.Context, c *sql.Conn, query string, args ...any) ([]Entry, error) {
	list := []Entry{}
	err := scan(ctx, c, query, func(rows *sql.Rows) error {
		var id int64
		var record sql.RawBytes
		if err := rows.Scan(&id, &record); err != nil {
			return err
		}
		list = append(list, entry(id, record))
		return nil
	}, args...)
	return list, err
}

func entry(id int64, record []byte) Entry {
	var r result.Run
	err := decode(record, &r)
	e := Entry{
		ID: id, Version: r.Version, Started: r.Started, Ended: r.Ended, Stopped: r.Stopped, Command: r.Command,
		Scale: r.Scale, Host: r.Machine.Hostname, Asked: r.Asked, Baseline: r.Baseline,
		Drivers: []string{}, Workloads: []string{}, Statuses: map[result.Status]int{}, Bad: map[result.Status]int{},
	}
	if err != nil {
		e.Damaged = err.Error()
	}
	for _, w := range r.Workloads {
		if e.Hashes == nil {
			e.Hashes = map[string]string{}
		}
		e.Hashes[w.Name] = w.SHA256
	}
	if r.Host != nil {
		e.Reached = r.Host.Name
	}
	if r.Profiles != nil {
		e.Profiled = r.Profiles.Phase
	}
	return e
}

func (e *Entry) addCase(driver, workload sql.NullString) {
	if !driver.Valid || !workload.Valid {
		e.Damaged = "a case has no driver or workload"
		return
	}
	e.Cases++
	e.Drivers = distinct.Append(e.Drivers, driver.String)
	e.Workloads = distinct.Append(e.Workloads, workload.String)
}

func (e *Entry) addTrials(status result.Status, n int) {
	if !slices.Contains(statuses, status) {
		e.Damaged = fmt.Sprintf("a trial has the status %q", status)
	}
	e.Statuses[status] += n
}
