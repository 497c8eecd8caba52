package explorer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // browsers name time zones that this machine may not know

	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func (s *Server) api() map[string]only {
	return map[string]only{
		"/api/v1/runs":                    {http.MethodGet: answer(s.listRuns)},
		"/api/v1/runs/{id}":               {http.MethodGet: answer(s.getRun)},
		"/api/v1/runs/{id}/report":        {http.MethodGet: s.report("json")},
		"/api/v1/runs/{id}/answer":        {http.MethodGet: s.storedAnswer("json")},
		"/api/v1/runs/{id}/cells":         {http.MethodGet: answer(s.getCells)},
		"/api/v1/runs/{id}/charts":        {http.MethodGet: answer(s.listCharts)},
		"/api/v1/runs/{id}/charts/{name}": {http.MethodGet: http.HandlerFunc(s.getChart)},
		"/api/v1/runs/{id}/samples":       {http.MethodGet: answer(s.getSamples)},
		"/api/v1/compare":                 {http.MethodGet: answer(s.compare)},
		"/api/v1/trends":                  {http.MethodGet: answer(s.trends)},
		"/api/v1/choices":                 {http.MethodGet: answer(s.choices)},
		"/api/v1/current":                 {http.MethodGet: answer(s.getCurrent), http.MethodPost: answer(s.startRun), http.MethodDelete: answer(s.stopRun)},
		"/api/v1/current/events":          {http.MethodGet: http.HandlerFunc(s.events)},
	}
}

// Failure is the answer to a request that failed.
type Failure struct {
	Status  int    `json:"status"` // HTTP status
	Message string `json:"error" clip:"2000"`
}

func (f *Failure) Error() string { return f.Message }

func failf(status int, format string, args ...any) error {
	return &Failure{status, fmt.Sprintf(format, args...)}
}

func answer[T any](of func(*http.Request, *query) (T, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := parse(r)
		v, err := of(r, q)
		if err == nil {
			err = q.end()
		}
		if err != nil {
			writeError(w, err)
			return
		}
		writeJSON(w, http.StatusOK, v)
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := marshal(v)
	if err != nil {
		status = http.StatusInternalServerError
		data, _ = marshal(Failure{status, err.Error()})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // fails only if the client has disconnected
}

func writeError(w http.ResponseWriter, err error) {
	f := &Failure{http.StatusInternalServerError, clip(err.Error())}
	switch {
	case errors.As(err, &f):
	case errors.Is(err, store.ErrNoRun), errors.Is(err, store.ErrNoStore):
		f.Status = http.StatusNotFound
	case errors.Is(err, store.ErrDamaged):
		f.Status = http.StatusUnprocessableEntity
	case errors.Is(err, context.Canceled):
		f.Status = http.StatusServiceUnavailable
	}
	writeJSON(w, f.Status, f)
}

// query reads the parameters of a request. It keeps the first error, which [query.end] returns.
type query struct {
	values url.Values
	asked  []string // names of the parameters that the request may have
	err    error
}

func parse(r *http.Request) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		err = failf(http.StatusBadRequest, "the query cannot be read: %v", err)
	}
	return &query{values: values, err: err}
}

func (q *query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = failf(http.StatusBadRequest, format, args...)
	}
}

func (q *query) text(name string) string {
	q.asked = append(q.asked, name)
	if list := q.values[name]; len(list) > 1 {
		q.fail("%s: is given %d times: want it once", name, len(list))
	}
	return q.values.Get(name)
}

const maxValues = 50

func (q *query) list(name string) []string {
	q.asked = append(q.asked, name)
	if n := len(q.values[name]); n > maxValues {
		q.fail("%s: is given %d times: at most %d", name, n, maxValues)
		return nil
	}
	return slices.DeleteFunc(slices.Clone(q.values[name]), func(s string) bool { return s == "" })
}

// word returns the value of a request's parameter, which must be one of the given words. The first
// word is the default.
func (q *query) word(name string, words ...string) string {
	v := q.text(name)
	if v == "" {
		return words[0]
	}
	if !slices.Contains(words, v) {
		q.fail("%s: %q: %s", name, clip(v), driver.Suggest(v, words))
	}
	return v
}

// number returns the value of a request's parameter, which must be an integer from "least" to
// "most". The parameter "usual" is the default.
func (q *query) number(name string, usual, least, most int64) int64 {
	v := q.text(name)
	if v == "" {
		return usual
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		q.fail("%s: %q: want a whole number from %d to %d", name, clip(v), least, most)
	}
	return n
}

// day returns the value of a parameter that is a date or a time, or the zero time if the parameter
// is missing. A date means its first nanosecond or, if the parameter "end" is true, its last
// nanosecond.
func (q *query) day(name string, end bool) time.Time {
	v := q.text(name)
	if v == "" {
		return time.Time{}
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return t
	}
	t, err := time.Parse(time.DateOnly, v)
	if err != nil {
		q.fail("%s: %q: want a date such as 2025-11-22, or a time such as 2025-11-22T15:04:05Z", name, clip(v))
	}
	if end {
		t = t.AddDate(0, 0, 1).Add(-time.Nanosecond)
	}
	return t
}

// zone returns the time zone that the parameter "zone" names, such as Europe/Berlin, or UTC if the
// parameter is missing.
func (q *query) zone() *time.Location {
	name := q.text("zone")
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		q.fail("zone: %q: want the name of a time zone, such as Europe/Berlin", clip(name))
		return time.UTC
	}
	return zone
}

// end returns the first error of reading parameters. It also returns an error for an unknown parameter.
func (q *query) end() error {
	for name := range q.values {
		if q.err == nil && !slices.Contains(q.asked, name) {
			q.fail("unknown parameter %q: %s", clip(name), driver.Suggest(name, q.asked))
		}
	}
	return q.err
}

func idOf(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 || strings.HasPrefix(text, "+") {
		return 0, failf(http.StatusBadRequest, "run %q: want the number of a run, such as 3", clip(text))
	}
	return id, nil
}
