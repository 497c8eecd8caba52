package explorer

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// These are the states of a run in a list.
const (
	stateComplete    = "complete"    // every trial of the run was ok
	stateIncomplete  = "incomplete"  // some trials were refused, wrong or failed, or could not begin
	stateProfile     = "profile"     // the run has profiles instead of trials
	stateAnswer      = "answer"      // the run has an answer instead of trials
	stateInterrupted = "interrupted" // the user interrupted the run
	stateUnfinished  = "unfinished"  // the run is being measured, or was killed
	stateDamaged     = "damaged"     // the run's record in the store contradicts itself
)

// states lists the words by which runs can be filtered: states of runs, and statuses of trials. A run
// matches a status if at least one of its trials has this status.
var states = []string{stateComplete, stateIncomplete, string(result.Refused), string(result.Failed), string(result.Wrong), string(result.Unavailable),
	stateProfile, stateAnswer, stateInterrupted, stateUnfinished, stateDamaged}

func inState(e *store.Entry, state string) bool {
	return state == "" || stateOf(e) == state || state != string(result.OK) && e.Statuses[result.Status(state)] > 0
}

// List is the answer to /api/v1/runs: one page of the runs that match the filters.
type List struct {
	Total    int `json:"total"`    // runs in the store
	Matching int `json:"matching"` // runs that match the filters
	Page     int `json:"page"`     // number of this page, from 1
	Pages    int `json:"pages"`

	Runs []Listed `json:"runs"`

	// Runs can be filtered by the elements of these lists: all drivers and workloads of the store,
	// sorted, and states. A list has at most [maxNames] elements.
	Drivers   []string `json:"drivers"`
	Workloads []string `json:"workloads"`
	States    []string `json:"states"`
}

// Listed is a run in a list.
type Listed struct {
	ID        int64                 `json:"id"`
	Started   time.Time             `json:"started"`
	Ended     time.Time             `json:"ended,omitzero"`
	State     string                `json:"state"`
	Stopped   string                `json:"stopped"` // why the run stopped, as in the JSON report
	Ending    string                `json:"ending"`  // Stopped in words
	Trials    int                   `json:"trials"`
	Statuses  map[result.Status]int `json:"statuses"` // number of trials by status
	Cases     int                   `json:"cases"`
	Bad       map[result.Status]int `json:"bad"`      // number of cases with a trial that is not ok, by the worst status of the case
	Warnings  int                   `json:"warnings"` // number of kinds of warnings about the run, its cases and its trials
	Warned    []string              `json:"warned"`   // names of the kinds of warnings, without the kinds that nearly every run has
	Drivers   []string              `json:"drivers"`
	Workloads []string              `json:"workloads"`
	Asked     *result.Asked         `json:"asked,omitempty"`
	Profiled  string                `json:"profiled,omitempty"` // the profiled phase, if the run has profiles instead of trials
	Question  string                `json:"question,omitempty"` // the question that the run answers, such as "tune"
	Scale     string                `json:"scale"`
	Host      string                `json:"host"`
	Version   string                `json:"version"`
	Command   []string              `json:"command"`
	Damaged   string                `json:"damaged,omitempty"` // why the run cannot be read
}

func listed(e *store.Entry) Listed {
	return Listed{ID: e.ID, Started: e.Started, Ended: e.Ended, State: stateOf(e), Stopped: e.Stopped, Ending: result.Ending(e.Stopped), Trials: e.Trials,
		Statuses: e.Statuses, Cases: e.Cases, Bad: e.Bad, Warnings: len(e.Warnings), Warned: conditions.Listed(e.Warnings), Drivers: e.Drivers, Workloads: e.Workloads, Asked: e.Asked, Profiled: e.Profiled,
		Question: e.Question, Scale: e.Scale, Host: e.Host, Version: e.Version, Command: e.Command, Damaged: e.Damaged}
}

func stateOf(e *store.Entry) string {
	switch {
	case e.Damaged != "":
		return stateDamaged
	case e.Stopped == "":
		return stateUnfinished
	case e.Profiled != "":
		return stateProfile
	case !e.Sampled():
		return stateAnswer
	case e.Stopped == result.StoppedInterrupted:
		return stateInterrupted
	case e.Statuses[result.OK] == 0 || len(e.Statuses) > 1: // Statuses leaves out failed trials that were repeated
		return stateIncomplete
	}
	return stateComplete
}

// orders has the comparisons by which lists of runs can be ordered. Equal runs are ordered by their
// numbers.
var orders = map[string]func(a, b *store.Entry) int{
	"started":  func(a, b *store.Entry) int { return a.Started.Compare(b.Started) },
	"trials":   func(a, b *store.Entry) int { return cmp.Compare(a.Trials, b.Trials) },
	"took":     func(a, b *store.Entry) int { return cmp.Compare(took(a), took(b)) },
	"drivers":  func(a, b *store.Entry) int { return slices.Compare(a.Drivers, b.Drivers) },
	"workload": func(a, b *store.Entry) int { return slices.Compare(a.Workloads, b.Workloads) },
	"state":    func(a, b *store.Entry) int { return cmp.Compare(stateOf(a), stateOf(b)) },
}

func took(e *store.Entry) time.Duration { return max(0, e.Ended.Sub(e.Started)) }

func (s *Server) listRuns(r *http.Request, q *query) (*List, error) {
	words, zone := strings.Fields(strings.ToLower(q.text("q"))), q.zone()
	drivers, workloads := q.list("driver"), q.list("workload")
	state := q.word("state", append([]string{""}, states...)...)
	since, until := q.day("since", false), q.day("until", true)
	order := orders[q.word("sort", "started", "trials", "took", "drivers", "workload", "state")]
	descending := q.word("order", "desc", "asc") == "desc"
	page, size := q.number("page", 1, 1, 1_000_000), q.number("size", 50, 1, 200)
	if err := q.end(); err != nil {
		return nil, err
	}
	entries, err := s.shelf.list(r.Context())
	if err != nil {
		return nil, err
	}
	l := &List{Total: len(entries), States: states}
	var found []*store.Entry
	for i := range entries {
		e := &entries[i]
		if has(e.Drivers, drivers) && has(e.Workloads, workloads) && inState(e, state) &&
			(since.IsZero() || !e.Started.Before(since)) && (until.IsZero() || !e.Started.After(until)) && mentions(e, words, zone) {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b *store.Entry) int {
		c := cmp.Or(order(a, b), cmp.Compare(a.ID, b.ID))
		if descending {
			return -c
		}
		return c
	})
	l.Matching = len(found)
	l.Pages = max(1, (len(found)+int(size)-1)/int(size))
	l.Page = min(int(page), l.Pages)
	for _, e := range found[(l.Page-1)*int(size) : min(l.Page*int(size), len(found))] {
		l.Runs = append(l.Runs, listed(e))
	}
	l.Drivers = distinct(entries, func(e *store.Entry) []string { return e.Drivers })
	l.Workloads = distinct(entries, func(e *store.Entry) []string { return e.Workloads })
	return l, nil
}

// has reports whether a list contains all wanted names. It compares the wanted names with clipped
// elements, because pages know only the clipped names.
func has(list, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool {
		return !slices.ContainsFunc(list, func(name string) bool { return clip(name) == w })
	})
}

// mentions reports whether each of the words occurs in a run's date and time, drivers, workloads, command,
// host, scale, version, settings, parameters or bad statuses. The words must be in lower case.
func mentions(e *store.Entry, words []string, zone *time.Location) bool {
	if len(words) == 0 {
		return true
	}
	text := strings.Join(slices.Concat(e.Drivers, e.Workloads, e.Command, []string{e.Host, e.Scale, e.Version}, dateWords(e.Started.In(zone), time.Now().In(zone))), " ")
	if a := e.Asked; a != nil {
		for name, values := range a.Settings {
			text += " " + name + "=" + strings.Join(values, " "+name+"=")
		}
		for name := range a.Parameters {
			text += " " + name
		}
	}
	for status, n := range e.Statuses {
		if n > 0 && status != result.OK {
			text += " " + string(status)
		}
	}
	text = strings.ToLower(text)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// dateWords returns the words by which a run that began at t can be found.
func dateWords(t, now time.Time) []string {
	words := []string{t.Format("2006-01-02 15:04"), t.Format("2 January 2006"), t.Format("Jan 2"), t.Weekday().String()}
	switch day := t.Format(time.DateOnly); day {
	case now.Format(time.DateOnly):
		words = append(words, "today")
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		words = append(words, "yesterday")
	}
	return words
}

func distinct(entries []store.Entry, of func(*store.Entry) []string) []string {
	seen := map[string]bool{}
	list := []string{}
	for i := range entries {
		for _, name := range of(&entries[i]) {
			if name = clip(name); !seen[name] {
				seen[name] = true
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return list[:min(len(list), maxNames)]
}
