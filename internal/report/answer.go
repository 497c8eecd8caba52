package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Answers are what a run says, as data: who comes first, by how much, how sure that is, and
// what to beware of. Every form of the report tells this first.
type Answers struct {
	Text    string    `json:"-"`                 // in a sentence or two
	Overall *Ranking  `json:"overall,omitempty"` // over all tables; nil if fewer than two drivers or tables count
	Tables  []Ranking `json:"tables"`            // in the order of the report
	Choices []Choice  `json:"choices,omitempty"` // the best for needs that the best of all does not meet
	Caveats []Caveat  `json:"caveats"`           // the worst first

	// FalseDifference is the greatest probability that the run tells the times of any two rows
	// apart if all are equal. It is 0 if nothing was compared, and if the run was to end when its sides
	// are told apart, for which only a comparison corrects, or left out rows that were slow.
	FalseDifference float64 `json:"false_difference" jsonschema:"minimum=0,maximum=1"`

	best *Place // of all, if there are choices
}

// Ranking is the order of the rows of a table, or of the drivers over all tables.
type Ranking struct {
	Table  *stats.TableName `json:"table,omitempty"`  // nil: over all tables
	Tables int              `json:"tables,omitempty"` // over how many tables
	Of     string           `json:"of,omitempty"`     // what was measured, such as "time for 10 rows"
	Text   string           `json:"text"`             // the answer in a sentence, without its full stop

	// Best is the row that comes first, apart from the floor. Tied are those that the samples
	// do not tell from it, and Next is the first that they do. Best is nil if no row has a
	// rank, and Next if there is no other.
	Best *Place   `json:"best,omitempty"`
	Tied []string `json:"tied,omitempty"`
	Next *Place   `json:"next,omitempty"`

	// Added says that what sqlite3perf adds to the time of each could explain how far the best
	// leads Next.
	Added bool `json:"added_could_explain,omitempty"`

	Base    string `json:"base,omitempty"` // the row that ratios are to
	IsFloor bool   `json:"is_floor"`       // the base is the floor, which is nobody's choice

	// Enough is how many rounds would tell Best from a row in Tied, of which each round says the
	// same already. It is 0 if it is not for want of rounds that they are tied.
	Enough int `json:"rounds_enough,omitempty"`

	Rounds  int `json:"rounds"`  // the fewest of any row that has a rank
	Figures int `json:"figures"` // ratios to the base or, without one, medians
	Settled int `json:"settled"` // of these, as precise as was asked for

	Rows []Row `json:"-"` // as in the table

	ratio   func(i, j int) stats.Summary // of row i to row j
	against func(i, j int) (stats.Test, bool)
}

// Place is a row that an answer names.
type Place struct {
	Name  string         `json:"name"` // the driver, or the settings
	Case  int            `json:"case"`
	To    string         `json:"to,omitempty"`    // the row that the ratio is to
	Ratio *stats.Summary `json:"ratio,omitempty"` // of the times

	// Of the driver's library.
	Kind      driver.Kind      `json:"kind,omitempty"`
	Interface driver.Interface `json:"interface,omitempty"`
	SQLite    string           `json:"sqlite,omitempty"` // version
}

// Row is one row of a ranking.
type Row struct {
	Name    string // the driver, or the settings
	Version string // of the driver
	Case    int
	Status  result.Status
	stats.Standing
	Unranked string // why a row that has figures has no rank
	TooShort bool

	Median *stats.Summary // in seconds; nil without figures, and over all tables
	PerOp  bool           // the median is per operation
	Ratio  *stats.Summary // to the base; nil if there is none

	risk   int // place in losses
	info   driver.Info
	sqlite string // version; "" if it is not known
}

// AnswersOf returns the answers of a run.
func AnswersOf(a *stats.Analysis, o Options) Answers {
	if p := profile.ProfileOf(a.Run, o.Hints); p != nil {
		return profileAnswers(p)
	}
	s := Answers{Tables: []Ranking{}}
	if a.Reliability.Comparisons > 0 && !judgedEarly(a.Run) && !races(a.Run) {
		s.FalseDifference = stats.Alpha
	}
	figures := a.Figures()
	eachTable(a, func(n stats.TableName, t *stats.Table) {
		s.Tables = append(s.Tables, tableRanking(a, n, t, figures))
	})
	if len(a.Overall.Drivers) > 1 && len(a.Overall.Tables) > 1 {
		s.Overall = overallRanking(a)
	}
	if r := s.choosable(a); r != nil && o.Study == nil {
		if s.Choices = r.findChoices(); s.Choices != nil {
			s.best = r.Best
		}
	}
	s.Caveats = caveats(a, o, s.Tables)
	s.Text = answerText(a, o, &s)
	return s
}

// eachTable calls f with the tables of a run in the order of the report.
func eachTable(a *stats.Analysis, f func(stats.TableName, *stats.Table)) {
	eachSection(a, func(x *stats.Factorial) {
		for _, t := range x.Tables {
			f(stats.TableName{Workload: x.Workload, Phase: t.Phase}, t)
		}
	}, func(g *stats.Group) {
		for _, t := range g.Tables {
			f(stats.TableName{Workload: g.Workload, Variant: g.Variant(), Phase: t.Phase}, t)
		}
	})
}

// eachSection calls side at the first group of each workload whose settings or parameters vary,
// and group with each group that has tables of its own.
func eachSection(a *stats.Analysis, side func(*stats.Factorial), group func(*stats.Group)) {
	varied := map[string]*stats.Factorial{}
	for _, x := range a.Factorials {
		varied[x.Workload] = x
	}
	begun := map[string]bool{}
	for _, g := range a.Groups {
		x := varied[g.Workload]
		if x != nil && !begun[g.Workload] {
			side(x)
			begun[g.Workload] = true
		}
		if x == nil || len(x.Drivers) > 1 { // of one driver, everything is side by side
			group(g)
		}
	}
}

// tableRanking ranks the rows of a table. figures are those of the run.
func tableRanking(a *stats.Analysis, n stats.TableName, t *stats.Table, figures []stats.Figure) Ranking {
	r := ranking(t)
	r.Table = &n
	if measured := t.Measured(); len(measured) > 0 {
		r.Of = subject(measured)
	}
	for _, f := range figures {
		if f.TableName == n {
			r.Figures++
			if f.Settled(a.Run.Precision) {
				r.Settled++
			}
		}
	}
	r.say()
	if r.Best != nil && r.Next != nil {
		at := func(p *Place) int {
			return slices.IndexFunc(t.Cells, func(c *stats.Cell) bool { return c.Case.ID == p.Case })
		}
		_, _, r.Added = addedDifference(t, at(r.Best), at(r.Next))
	}
	return r
}

// ranking returns the rows of a table in their order, without the answer.
func ranking(t *stats.Table) Ranking {
	r := Ranking{IsFloor: t.IsFloor, against: t.Against,
		ratio: func(i, j int) stats.Summary { return t.Ratio(stats.Pair{First: i, Second: j}) }}
	measured := len(t.Measured())
	for i, c := range t.Cells {
		row := Row{Name: cmp.Or(c.As, conditions.Label(c.Case)), Version: conditions.Version(c.Outcome), Case: c.Case.ID, Status: c.Status, Standing: c.Standing, Unranked: c.Unranked, risk: conditions.CellSeverity(c.Outcome, t.Phase)}
		row.setLibrary(c.Outcome)
		if i < measured {
			row.Median, row.TooShort = &c.Summary, c.TooShort()
			row.PerOp = t.PerOp || c.Samples[0].Metric == result.MetricTimePerOp
			if c.Ratio != nil && c.Ratio.N > 0 && measured > 1 {
				row.Ratio = c.Ratio
			}
		}
		r.Rows = append(r.Rows, row)
	}
	if t.Base >= 0 && measured > 1 {
		r.Base = r.Rows[t.Base].Name
	}
	return r
}

func overallRanking(a *stats.Analysis) *Ranking {
	o := a.Overall
	r := &Ranking{Tables: len(o.Tables), Of: "geometric mean of the ratios", IsFloor: o.IsFloor,
		ratio: func(i, j int) stats.Summary {
			ratios, _ := stats.Ratios(o.Drivers[i].Points, o.Drivers[j].Points)
			return stats.SummarizeRatiosAt(stats.Values(ratios), a.Confidence)
		},
		against: func(i, j int) (stats.Test, bool) { return stats.Against(o.Pairs, i, j) },
	}
	outcomes := conditions.OutcomesByCase(a)
	for _, d := range o.Drivers {
		row := Row{Name: conditions.Label(d.Case), Version: conditions.Version(outcomes[d.Case.ID]), Case: d.Case.ID, Status: result.OK, Standing: d.Standing}
		row.setLibrary(outcomes[d.Case.ID])
		if d.Ratio.N > 0 {
			row.Ratio = &d.Ratio
		}
		if d.Case.Driver == o.Base {
			r.Base = row.Name
			if row.Ratio != nil {
				r.Figures--
			}
		}
		if row.Ratio != nil {
			r.Figures++
			if v, ok := d.Ratio.Spread(); ok && v <= a.Run.Precision {
				r.Settled++
			}
		}
		r.Rows = append(r.Rows, row)
	}
	r.say()
	return r
}

func (row *Row) setLibrary(o *stats.Outcome) {
	row.info = o.Case.Info
	if p := o.Proof(); p != nil {
		row.sqlite = p.SQLiteVersion
	}
}

// Choices returns the rows with a rank.
func (r *Ranking) Choices() (list []int) {
	for i, row := range r.Rows {
		if row.Rank > 0 {
			list = append(list, i)
		}
	}
	return list
}

func (r *Ranking) say() {
	ranked := r.Choices()
	if len(ranked) == 0 {
		r.Text = r.without()
		return
	}
	best := r.safest(ranked)
	r.Best = r.place(best, -1)
	for _, row := range r.Rows {
		if row.Rank > 0 && row.Ratio != nil && (r.Rounds == 0 || row.Ratio.N < r.Rounds) {
			r.Rounds = row.Ratio.N
		}
	}
	if r.Rounds == 0 && r.Rows[best].Median != nil {
		r.Rounds = r.Rows[best].Median.N
	}
	for _, i := range ranked {
		switch {
		case i == best:
		case r.tied(best, i):
			r.Tied = append(r.Tied, r.Rows[i].Name)
			if test, ok := r.against(best, i); ok {
				enough, _ := test.TooFew()
				r.Enough = max(r.Enough, enough)
			}
		case r.Next == nil:
			r.Next = r.place(i, best)
		}
	}
	base := -1
	if r.IsFloor {
		base = slices.IndexFunc(r.Rows, func(row Row) bool { return row.Floor })
	}
	toFloor := ""
	if base >= 0 && base != best && r.Rows[best].Ratio != nil {
		toFloor = fmt.Sprintf("%s the time of %s, the floor %s", document.Times(r.Rows[best].Ratio.Median), r.Base, document.Interval(r.Rows[best].Ratio.Interval))
	}
	switch {
	case len(ranked) > 1 && toFloor != "":
		r.Text = fmt.Sprintf("%s. %s takes %s", r.best(ranked), r.Rows[best].Name, toFloor)
	case len(ranked) > 1:
		r.Text = r.best(ranked)
	case toFloor != "" && r.tied(best, base):
		r.Text = fmt.Sprintf("%s is tied with %s, the floor: %s", r.Rows[best].Name, r.Base, cmp.Or(r.tooFew(best, []int{base}), "noise hides which is faster"))
	case toFloor != "":
		r.Text = fmt.Sprintf("%s takes %s", r.Rows[best].Name, toFloor)
	default:
		r.Text = r.alone(best)
	}
}

// place returns a row with its ratio to another row. If to is negative, the ratio is to the base.
func (r *Ranking) place(i, to int) *Place {
	row := &r.Rows[i]
	p := &Place{Name: row.Name, Case: row.Case, Kind: row.info.Kind, Interface: row.info.Interface, SQLite: row.sqlite}
	switch {
	case to >= 0:
		s := r.ratio(i, to)
		p.To, p.Ratio = r.Rows[to].Name, &s
	case r.Base != "" && p.Name != r.Base && r.Rows[i].Ratio != nil:
		p.To, p.Ratio = r.Base, r.Rows[i].Ratio
	}
	return p
}

func (r *Ranking) alone(i int) string {
	row := r.Rows[i]
	if row.Median == nil {
		return row.Name + " has nothing to be compared with"
	}
	each := ""
	if row.PerOp {
		each = " for each operation"
	}
	return fmt.Sprintf("%s took %s%s, %s", row.Name, document.Nanoseconds(int64(row.Median.Median*1e9)), each, document.Spread(*row.Median))
}

func (r *Ranking) without() string {
	figures := 0
	for _, row := range r.Rows {
		if row.Median != nil || row.Ratio != nil {
			figures++
		}
	}
	if figures == 0 {
		return "there are no figures"
	}
	return fmt.Sprintf("nothing can be told yet, because there are fewer than %d rounds", stats.MinSamples)
}

func profileAnswers(p *profile.Profiled) Answers {
	s := Answers{Text: profile.ProfileAnswer(p), Tables: []Ranking{}, Caveats: []Caveat{}}
	for i := range p.Drivers {
		if d := &p.Drivers[i]; d.Status != result.OK {
			s.Caveats = append(s.Caveats, Caveat{Code: string(d.Status), Count: 1, Text: d.Name + ": " + d.Reason.Message})
		}
	}
	return s
}
