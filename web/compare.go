package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/stats"
)

// usualMargin is the share by which two sides may differ and still be the same, unless a
// request gives another.
const usualMargin = 0.02

// compare answers with the comparison of two runs, or of the two sides of a run that was
// made to compare them, as a comparison in JSON.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	data, err := s.comparison(r, parse(r))
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // fails only if the reader has gone
}

func (s *Server) comparison(r *http.Request, q *query) ([]byte, error) {
	first, second, margin := q.text("first"), q.text("second"), q.share("margin", usualMargin)
	if first == "" {
		q.fail("first is missing: want the number of a run, such as first=3")
	}
	if err := q.end(); err != nil {
		return nil, err
	}
	a, err := s.side(r, first)
	if err != nil {
		return nil, err
	}
	b := a
	var c *stats.Comparison
	if second == "" {
		if a.Run.Compares == nil {
			return nil, failf(http.StatusBadRequest, "run %d was not made to compare two sides: name a second run, such as second=3", a.Run.ID)
		}
		c = stats.CompareRun(a)
	} else {
		if b, err = s.side(r, second); err != nil {
			return nil, err
		}
		c = stats.CompareRuns([2]string{fmt.Sprintf("run %d", a.Run.ID), fmt.Sprintf("run %d", b.Run.ID)}, a, b, margin)
	}
	var out bytes.Buffer
	err = report.WriteComparison(&out, "json", report.Compared{Comparison: c, First: a, Second: b}, report.Options{})
	return out.Bytes(), err
}

func (s *Server) side(r *http.Request, ref string) (*stats.Analysis, error) {
	id, err := idOf(ref)
	if err != nil {
		return nil, err
	}
	return s.shelf.analysis(r.Context(), id)
}

// share returns a parameter that is a share above 0 and below 1, or what is usual.
func (q *query) share(name string, usual float64) float64 {
	text := q.text(name)
	if text == "" {
		return usual
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v < 1) {
		q.fail("%s: %q: want a share above 0 and below 1, such as 0.02", name, clip(text))
	}
	return v
}
