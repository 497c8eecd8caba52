package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/recommend"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Answers are the answers of a run as data: which driver to take, which driver comes first and by
// how much, how certain that order is, and the warnings. Every format of the report begins with
// them.
type Answers struct {
	Text string `json:"-"` // the answer in a sentence or two

	// Recommended says which driver to take. It is nil if the run did not compare drivers.
	Recommended *recommend.Recommendation `json:"recommended,omitempty"`

	Overall *Ranking            `json:"overall,omitempty"` // the drivers over all tables; nil if fewer than two drivers or tables count
	Tables  []Ranking           `json:"tables"`            // a ranking for each table, in the order of the report
	Choices []Choice            `json:"choices,omitempty"` // drivers to use for needs that the recommended driver does not meet
	Caveats []conditions.Caveat `json:"caveats"`           // warnings, the worst first

	// FalseDifference is the greatest probability that the run calls any row faster than another
	// although all are equally fast. It is 0 if nothing was compared. It is also 0 if the
	// probability is not known, because rows were judged while the run measured. Such runs are
	// searches for settings that stopped measuring slow rows early, and comparisons of two sides
	// (such as two drivers) that could end as soon as the sides differed.
	FalseDifference float64 `json:"false_difference" jsonschema:"minimum=0,maximum=1"`
}

// Ranking is the order of the rows of a table, or of the drivers over all tables.
type Ranking struct {
	Table  *stats.TableName `json:"table,omitempty"`  // the table that is ranked; nil for the drivers over all tables
	Tables int              `json:"tables,omitempty"` // number of tables that the ranking covers
	Of     string           `json:"of,omitempty"`     // what was measured, such as "time for 10 rows"
	Text   string           `json:"text"`             // the answer in a sentence, without its full stop

	// Best is the fastest row, apart from the floor (plain C, which is measured for comparison). Tied names
	// the rows that do not differ significantly from Best. Next is the first row that differs significantly
	// from Best. Best is nil if no row has a rank. Next is nil if all rows are tied with Best.
	Best *Place   `json:"best,omitempty"`
	Tied []string `json:"tied,omitempty"`
	Next *Place   `json:"next,omitempty"`

	// Sound is the fastest row whose driver has no known defect that can lose or falsify data in the
	// ranked workload. It is nil if there is no such row with a rank.
	Sound *Place `json:"sound,omitempty"`

	// Added is true if sqlite3perf's own overhead could explain the difference between Best and
	// Next.
	Added bool `json:"added_could_explain,omitempty"`

	Base    string `json:"base,omitempty"` // name of the row that the ratios are relative to
	IsFloor bool   `json:"is_floor"`       // whether Base is the floor, a row for comparison that nobody would choose

	// Enough is about rows in Tied that were slower than Best in every round so far, or faster in
	// every round. It is the total number of rounds after which all these rows will differ
	// significantly from Best, if later rounds agree too. It is 0 if there is no such row.
	Enough int `json:"rounds_enough,omitempty"`

	Rounds  int `json:"rounds"`  // fewest rounds of any row that has a rank
	Figures int `json:"figures"` // number of figures: ratios to Base or, without a base, medians
	Settled int `json:"settled"` // number of figures that are as precise as requested

	Rows []Row `json:"-"` // the rows in the order of the table

	ratio   func(i, j int) stats.Summary // returns the ratio of row i to row j
	against func(i, j int) (stats.Test, bool)
}

// Place is a row that an answer names.
type Place struct {
	Name  string         `json:"name"` // the driver, or the settings
	Case  int            `json:"case"`
	To    string         `json:"to,omitempty"`    // name of the row that Ratio is relative to
	Ratio *stats.Summary `json:"ratio,omitempty"` // time of this row divided by the time of To

	// Kind, Interface and SQLite describe the driver's library.
	Kind      driver.Kind      `json:"kind,omitempty"`
	Interface driver.Interface `json:"interface,omitempty"`
	SQLite    string           `json:"sqlite,omitempty"` // version of SQLite
}

// Row is one row of a ranking.
type Row struct {
	Name    string // the driver, or the settings
	Version string // version of the driver
	Case    int
	stats.Standing
	TooShort bool

	Median *stats.Summary // median time in seconds; nil for a row without figures, and in a ranking over all tables
	PerOp  bool           // the median is per operation
	Ratio  *stats.Summary // time divided by the time of the base (usually plain C); nil if there is no ratio

	driver string
	harm   bool // the driver has a known defect that can lose or falsify data in the ranked workloads
	risk   int  // index into conditions.Losses: what the row's settings can lose
	info   driver.Info
	sqlite string // version of SQLite; "" if it is not known
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
	if s.Recommended = recommended(a, o); s.Recommended != nil {
		s.Choices = s.choices(a)
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

// eachSection goes through the groups of a run. A group has the cases of a workload that differ only
// in their driver. If a workload has several groups, because its settings or parameters vary,
// eachSection calls the function "side" once, before the first of them. It calls the function
// "group" with each group that has its own tables.
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
		if x == nil || len(x.Drivers) > 1 { // with one driver, a table of all groups side by side is enough
			group(g)
		}
	}
}

// tableRanking ranks the rows of a table. The parameter "figures" has all figures of the run.
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
	r.markHarmful(conditions.HarmfulIn(a, t))
	r.say()
	if r.Best != nil && r.Next != nil {
		_, _, r.Added = addedDifference(t, r.at(r.Best), r.at(r.Next)) // the ranking has the same rows as the table, with the same indexes
	}
	return r
}

// ranking returns the rows of a table in the table's order. The fields that name the best rows are
// set by [Ranking.say].
func ranking(t *stats.Table) Ranking {
	r := Ranking{IsFloor: t.IsFloor, against: t.Against,
		ratio: func(i, j int) stats.Summary { return t.Ratio(stats.Pair{First: i, Second: j}) }}
	measured := len(t.Measured())
	for i, c := range t.Cells {
		row := newRow(c.Outcome, c.Standing)
		row.risk = conditions.CellSeverity(c.Outcome, t.Phase)
		if i < measured {
			row.Median, row.TooShort = &c.Summary, c.TooShort()
			row.PerOp = conditions.TimeUnit(t, c) == "s/op"
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
		row := newRow(outcomes[d.Case.ID], d.Standing)
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
	r.markHarmful(conditions.HarmfulDefects(a))
	r.say()
	return r
}

func newRow(o *stats.Outcome, s stats.Standing) Row {
	row := Row{Name: cmp.Or(o.As, conditions.Label(o.Case)), Version: conditions.Version(o), Case: o.Case.ID, Standing: s, driver: o.Case.Driver, info: o.Case.Info}
	if p := o.Proof(); p != nil {
		row.sqlite = p.SQLiteVersion
	}
	return row
}

// markHarmful sets the field "harm" of each row: it is true if the map "harmful" contains the
// row's driver.
func (r *Ranking) markHarmful(harmful conditions.Harmful) {
	for i := range r.Rows {
		r.Rows[i].harm = harmful[r.Rows[i].driver] != nil
	}
}

// bestIsHarmful reports whether the driver in Best has a known defect that can lose or falsify
// data. If so, Sound is another row or nil.
func (r *Ranking) bestIsHarmful() bool {
	return r.Best != nil && (r.Sound == nil || r.Sound.Case != r.Best.Case)
}

// withoutDefect returns a sentence that names the fastest row without a known defect that can lose or
// falsify data, or says that there is none. It returns "" if the best row has no such defect.
func (r *Ranking) withoutDefect() string {
	switch {
	case !r.bestIsHarmful():
		return ""
	case r.Sound == nil:
		return "Every driver here has a known defect that can lose or falsify data."
	}
	words := "Without a known defect that can lose or falsify data here, the fastest is " + r.Sound.Name
	sound, best := r.at(r.Sound), r.at(r.Best)
	if slower := r.ratio(sound, best); r.tied(best, sound) {
		words += ", tied with " + r.Best.Name
	} else if slower.N > 0 {
		words += ", " + document.SlowerThan(slower, r.Best.Name)
	}
	return words + "."
}

// at returns the index in r.Rows of the row that a place names.
func (r *Ranking) at(p *Place) int {
	return slices.IndexFunc(r.Rows, func(row Row) bool { return row.Case == p.Case })
}

// Choices returns the indexes of the rows that have a rank.
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
	switch sound := slices.IndexFunc(ranked, func(i int) bool { return !r.Rows[i].harm }); {
	case !r.Rows[best].harm:
		r.Sound = r.Best
	case sound >= 0:
		r.Sound = r.place(ranked[sound], -1)
	}
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
		toFloor = document.SlowerThan(*r.Rows[best].Ratio, r.Base+", plain C")
	}
	switch {
	case len(ranked) > 1 && toFloor != "":
		r.Text = fmt.Sprintf("%s. %s is %s", r.best(ranked), r.Rows[best].Name, toFloor)
	case len(ranked) > 1:
		r.Text = r.best(ranked)
	case toFloor != "" && r.tied(best, base):
		r.Text = fmt.Sprintf("there is no clear difference between %s and %s, plain C", r.Rows[best].Name, r.Base)
	case toFloor != "":
		r.Text = fmt.Sprintf("%s is %s", r.Rows[best].Name, toFloor)
	default:
		r.Text = r.alone(best)
	}
}

// place returns a Place for the row with index i. Its ratio is relative to the row with the index
// "to" or, if "to" is negative, to the base (usually plain C).
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
	return fmt.Sprintf("nothing is known yet: rows are ranked after %d rounds", stats.MinSamples)
}

func profileAnswers(p *profile.Profiled) Answers {
	s := Answers{Text: profile.ProfileAnswer(p), Tables: []Ranking{}, Caveats: []conditions.Caveat{}}
	for i := range p.Drivers {
		if d := &p.Drivers[i]; d.Status != result.OK {
			s.Caveats = append(s.Caveats, conditions.Caveat{Code: string(d.Status), Count: 1, Text: d.Name + ": " + d.Reason.Message})
		}
	}
	return s
}
