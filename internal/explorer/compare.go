package explorer

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Comparison is the answer to /api/v1/compare: a comparison in JSON, with warnings.
type Comparison struct {
	compare.JSONSides `clip:"-"`
	SameBuilds        bool                     `json:"same_builds"`   // whether in all cells the workers of both sides reported the same library, SQLite, Go and flags
	FirstDrivers      []string                 `json:"first_drivers"` // drivers of the first side, with the versions of library and SQLite that the workers reported
	SecondDrivers     []string                 `json:"second_drivers"`
	Differences       []compare.SideDifference `json:"differences" most:"200"`               // differences between the sides, as the workers reported them
	Beware            string                   `json:"beware,omitempty"`                     // a sentence that says which other differences between the sides may explain the ratios
	FirstCaveats      []conditions.Caveat      `json:"first_caveats" clip:"1000" most:"100"` // warnings of the first side's run, the worst first
	SecondCaveats     []conditions.Caveat      `json:"second_caveats" clip:"1000" most:"100"`
	FirstBeware       []Beware                 `json:"first_beware" clip:"1000" most:"100"` // FirstCaveats in the form in which pages show them
	SecondBeware      []Beware                 `json:"second_beware" clip:"1000" most:"100"`
	Started           []time.Time              `json:"started"` // when the runs of the sides began
	Words             []string                 `json:"words"`   // the verdict on each cell in words for people, such as "probably slower"
}

// compare answers with the comparison of two runs, or of the two sides of one run that was made to
// compare them.
func (s *Server) compare(r *http.Request, q *query) (*Comparison, error) {
	first, second, margin := q.text("first"), q.text("second"), q.share("margin", stats.UsualMargin)
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
	compared := compare.Compared{Comparison: c, First: a, Second: b}
	out := &Comparison{JSONSides: compare.JSONOf(compared), SameBuilds: sameBuilds(c.Cells), Differences: compare.SideDifferences(c.Cells),
		FirstCaveats: report.AnswersOf(a, s.options.Describe(a)).Caveats, SecondCaveats: report.AnswersOf(b, s.options.Describe(b)).Caveats}
	out.FirstBeware, out.SecondBeware = bewareOf(out.FirstCaveats), bewareOf(out.SecondCaveats)
	out.FirstDrivers, out.SecondDrivers = conditions.SideLibraries(c.Cells)
	out.Words = document.Map(c.Cells, wordsOf)
	out.Started = []time.Time{a.Run.Started, b.Run.Started}
	switch {
	case c.Interleaved || len(c.Cells) == 0:
	case out.SameBuilds:
		out.Beware = "Both sides are the same builds, measured at different times: what changed on the machine may be the whole difference."
	default:
		out.Beware = "The sides were measured at different times, so ratios include whatever changed on the machine."
	}
	if l := compare.MachineChanged(compared); l != nil {
		out.Beware = document.Upper(l[0].Text) + ". " + out.Beware
	}
	for _, e := range out.Defects {
		out.Beware = strings.TrimSpace(out.Beware + " " + document.Upper(e.Brief()) + ".")
	}
	return out, nil
}

// wordsOf returns the verdict on a cell in words. If the cell has a ratio, the words are more
// precise, such as "probably slower".
func wordsOf(x *stats.Compared) string {
	if x.Measured() {
		return compare.Told(x)
	}
	return compare.Word(x.Verdict)
}

// sameBuilds reports whether in every cell the workers of both sides reported the same build:
// library, SQLite, Go and flags.
func sameBuilds(cells []*stats.Compared) bool {
	return len(cells) > 0 && !slices.ContainsFunc(cells, func(x *stats.Compared) bool {
		a, b := x.First.Proof(), x.Second.Proof()
		return a == nil || b == nil || a.Module != b.Module || a.ModuleVersion != b.ModuleVersion ||
			a.SQLiteVersion != b.SQLiteVersion || a.SQLiteSourceID != b.SQLiteSourceID || a.Runtime != b.Runtime ||
			!slices.Equal(a.CompileOptions, b.CompileOptions) || !maps.Equal(a.Build, b.Build) || !maps.Equal(a.Environment, b.Environment)
	})
}

func (s *Server) side(r *http.Request, ref string) (*stats.Analysis, error) {
	id, err := idOf(ref)
	if err != nil {
		return nil, err
	}
	a, err := s.shelf.analysis(r.Context(), id)
	if err == nil && a.Run.Unsampled() != "" {
		return nil, failf(http.StatusBadRequest, "run %d has %s instead of samples, so it cannot be compared: name another run", id, a.Run.Unsampled())
	}
	return a, err
}

// share returns the value of a request's parameter, which must be a fraction above 0 and below 1.
// The parameter "usual" is the default.
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
