package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// The pages of what has two sides: comparisons, gates, and the steps of a bisection.

// ComparisonPage describes a comparison for a page: the answer and what to beware of, all
// cells in a picture, in what the sides differ, and samples.
func ComparisonPage(c Compared, h document.Hints) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: Answer(c.Comparison)}, beware(c.Comparison)}
	var rows []chart.Ratio
	var told []*stats.Compared
	for _, x := range c.Cells {
		switch x.Verdict {
		case stats.Bad, stats.Differing, stats.FailsMore, stats.FailsLess:
			rows = append(rows, chart.Ratio{Name: CellName(x), Reason: whyNot(x, c.Comparison)})
			continue
		case stats.Slower, stats.Faster:
			told = append(told, x)
		}
		rows = append(rows, RatioRow(x, x.Adjusted, slices.Index(verdictKinds, Word(x.Verdict)), Word(x.Verdict)))
	}
	orders := OrderPictures(told, c.Comparison.First, c.Comparison.Second, c.Interleaved, rows)
	if len(rows) > 0 {
		d = append(d, document.Heading{Level: 2, Text: fmt.Sprintf("All cells: time of %s, × that of %s", c.Comparison.Second, c.Comparison.First)})
		if bad := without(c.Comparison); bad != nil {
			d = append(d, bad)
		}
		p := Forest(rows, chart.Forest{
			Axis: chart.Axis{Label: fmt.Sprintf("time of %s, × that of %s", c.Comparison.Second, c.Comparison.First)},
			Low:  1 / (1 + c.Margin), High: 1 + c.Margin, Band: "within ±" + document.Share(c.Margin),
			Less: c.Comparison.Second + " is faster", More: c.Comparison.Second + " is slower", Kinds: verdictKinds,
		})
		p.Title = fmt.Sprintf("Time of %s, × that of %s", c.Comparison.Second, c.Comparison.First)
		if g := comparedGrid(c.Comparison); len(g.Rows) > 0 {
			p.Note += " Same: the whole interval is in the band, and so is that of the ratio of means."
			p.Behind = document.Document{g, comparedNote(c)}
		}
		d = append(d, p)
		if short := conditions.ComparedTooShort(c.Cells, h); short != nil {
			d = append(d, short)
		}
	}
	if len(c.Alone) > 0 {
		d = append(d, document.List{{Label: "left out", Text: "only one side has " + document.SomeOf(c.Alone, MostNamed)}})
	}
	d = append(d, SidesDiffer(c.Cells, c.Comparison.First, c.Comparison.Second)...)
	d = append(d, orders...)
	if a := c.First; a == c.Second && a.Run.Compares != nil {
		d = append(d, conditions.Drivers(a)...)
		d = append(d, conditions.AllCompileOptions(a))
		for _, g := range a.Groups {
			title := g.Workload
			if v := g.Variant(); v != "" {
				title += " · " + v
			}
			d = append(d, document.Heading{Level: 3, Text: title})
			d = append(d, conditions.CasesOf(g.Outcomes, g.Tables, false)...) // intervals of one level only
		}
	}
	l := conditions.Origin([2]string{c.Comparison.First, c.Comparison.Second}, c.Cells, c.First, c.Second)
	l.Note(More(h))
	return append(d, document.Heading{Level: 2, Text: "How it was measured"}, l, document.Methodology(OfSides))
}

// verdictKinds are the verdicts as a picture has them.
var verdictKinds = []string{Word(stats.Faster), Word(stats.Slower), Word(stats.Same), Word(stats.Unclear)}

// whyNot says why a cell has no ratio, with the side that is to blame.
func whyNot(x *stats.Compared, c *stats.Comparison) string {
	switch {
	case x.Verdict == stats.Differing:
		return "differ: " + x.Why
	case x.FailuresTold():
		return x.Why
	case x.First.Status != result.OK:
		return fmt.Sprintf("%s: %s: %s", x.First.Status, c.First, NoFigure(x.First))
	}
	return fmt.Sprintf("%s: %s: %s", x.Second.Status, c.Second, NoFigure(x.Second))
}

// RatioRow is a cell with a ratio, and what is made of it.
func RatioRow(x *stats.Compared, p float64, kind int, judged string) chart.Ratio {
	first, second := medians(x)
	r := chart.Ratio{Name: CellName(x), Kind: kind, Text: document.Times(x.Ratio.Median) + " " + document.Interval(x.Ratio.Interval) + " " + conditions.Marked(judged, x)}
	r.Value, r.Low, r.High = document.OfSummary(x.Ratio)
	settle := ""
	if x.Rounds > 0 {
		settle = "to settle: " + MoreRounds(x.Rounds, x.Time)
	}
	r.Tip = document.Tips(first+" and "+second, fmt.Sprintf("p %s, n %d", document.Probability(p), x.Ratio.N), settle)
	return r
}

// maxForestRows is how many rows a picture of ratios has.
const maxForestRows = 120

// Forest is the picture of some rows of ratios.
func Forest(rows []chart.Ratio, f chart.Forest) document.PictureBlock {
	f.Axis.Format, f.Axis.Tick = document.Times, document.Ticks(document.Times)
	f.Rows = rows[:min(len(rows), maxForestRows)]
	note := fmt.Sprintf("A mark is a ratio, and the line through it the interval of at least %s.", document.Share(1-stats.Doubt))
	if more := len(rows) - len(f.Rows); more > 0 {
		note += fmt.Sprintf(" %s more are among the figures only.", document.Counted(int64(more), "cell"))
	}
	return document.PictureBlock{Headed: true, Picture: document.Picture{Name: "ratios", Note: note, Draw: func(width int, title string) chart.Chart {
		c := f
		c.Title, c.Width = title, width
		return &c
	}}}
}

// maxOrders is how many cells a page has the samples of.
const maxOrders = 6

// OrderPictures is the section with the samples of some cells. The rows of these cells are
// linked to it.
func OrderPictures(cells []*stats.Compared, firstSide, secondSide string, interleaved bool, rows []chart.Ratio) document.Document {
	if len(cells) == 0 {
		return nil
	}
	d := document.Document{document.Heading{Level: 2, Text: "Samples in the order measured"}}
	words := "Both sides were measured in the same rounds: what changes on the machine is seen in both."
	if !interleaved {
		words = "The sides were measured at different times: their rounds are not the same ones."
	}
	d = append(d, document.Paragraph{Text: words + " A difference that is there in all rounds is not one of a few outliers.", Quiet: true})
	for i, x := range cells[:min(len(cells), maxOrders)] {
		name := fmt.Sprintf("order-%d", i+1)
		for j := range rows {
			if rows[j].Name == CellName(x) {
				rows[j].Link = "#" + document.PictureID(name)
			}
		}
		d = append(d, samplesPicture(x, name, firstSide, secondSide))
	}
	if more := len(cells) - maxOrders; more > 0 {
		d = append(d, document.Paragraph{Text: fmt.Sprintf("%s more: show has the samples of each run.", document.Counted(int64(more), "cell")), Quiet: true})
	}
	return d
}

// samplesPicture has the values of both sides of a cell by round.
func samplesPicture(x *stats.Compared, name, firstSide, secondSide string) document.PictureBlock {
	format := func(v float64) string { return figuresOf(x, 3, v)[0] }
	var series []chart.Samples
	first, second := x.Points()
	for i, points := range [][]stats.Point{first, second} {
		s := chart.Samples{Name: []string{firstSide, secondSide}[i]}
		for _, p := range points {
			s.Points = append(s.Points, chart.Sample{X: float64(p.Round), Y: p.Value})
		}
		series = append(series, s)
	}
	return document.PictureBlock{Aside: true, Picture: document.Picture{Name: name, Title: CellName(x),
		Draw: func(width int, title string) chart.Chart {
			return &chart.Order{Title: title, Width: width, Series: series, Plain: len(first)+len(second) > MostTips/maxOrders,
				X: chart.Axis{Label: "round"}, Y: chart.Axis{Label: string(x.Metric) + ", less is better", Format: format, Tick: document.Ticks(format)}}
		}}}
}

// SidesDiffer is the section about what was linked and set on each side, as the workers
// proved it: a table of what differs, and what is the same.
func SidesDiffer(cells []*stats.Compared, first, second string) document.Document {
	differ, same, proven := sideFacts(cells)
	if proven == 0 {
		return nil
	}
	d := document.Document{document.Heading{Level: 2, Text: "What differs between the sides"}}
	if len(differ.Keys) == 0 {
		d = append(d, document.Paragraph{Text: "Nothing of what the workers proved: library, SQLite, compile options and settings are the same on both sides."})
	} else {
		g := document.Grid{Stacks: true, Columns: []document.Column{{Title: "what"}, {Title: first}, {Title: second}, {Title: "in"}}}
		for _, f := range SideDifferences(cells) {
			g.Rows = append(g.Rows, []string{f.What, f.First, f.Second, f.In})
		}
		d = append(d, g)
	}
	values, count := conditions.Groups[string, string]{}, map[string]int{}
	for _, f := range same.Keys {
		values.Add(f.what, f.first)
		count[f.what] += len(same.Of[f])
	}
	var words []string
	for _, what := range values.Keys {
		switch list := values.Of[what]; {
		case count[what] < proven: // it differs elsewhere
		case len(list) == 1:
			words = append(words, what+" "+list[0])
		default:
			words = append(words, what+" "+document.Or(list)+", by the cell")
		}
	}
	if words != nil {
		d = append(d, document.List{{Label: "the same", Text: strings.Join(words, "; ")}})
	}
	return d
}

// SideDifference is something that the workers of two sides proved to be different.
type SideDifference struct {
	What   string `json:"what"` // such as "SQLite", or a setting
	First  string `json:"first"`
	Second string `json:"second"`
	In     string `json:"in"` // the cells
}

// allCells is where a difference is that is everywhere.
const allCells = "all cells"

// SideDifferences lists in what two sides differ, as the workers proved it.
func SideDifferences(cells []*stats.Compared) (list []SideDifference) {
	differ, _, proven := sideFacts(cells)
	for _, f := range differ.Keys {
		where := allCells
		if names := differ.Of[f]; len(names) < proven {
			where = document.SomeOf(names, MostNamed)
		}
		list = append(list, SideDifference{f.what, f.first, f.second, where})
	}
	return list
}

// sideFact is what the workers of two sides proved of something.
type sideFact struct{ what, first, second string }

// sideFacts lists what differs between two sides and what is the same, with the cells, and
// counts the cells in which both are proven.
func sideFacts(cells []*stats.Compared) (differ, same conditions.Groups[sideFact, string], proven int) {
	for _, x := range cells {
		a, b := provenFacts(x.First.Outcome, x.Phase), provenFacts(x.Second.Outcome, x.Phase)
		if a == nil || b == nil {
			continue
		}
		proven++
		for _, what := range factNames(a, b) {
			f := sideFact{what, a.of(what), b.of(what)}
			if f.first == f.second {
				same.Add(f, CellName(x))
			} else {
				differ.Add(f, CellName(x))
			}
		}
		if a, b := optionsApart(x.First.Outcome, x.Second.Outcome); a != b {
			differ.Add(sideFact{"compile options", a, b}, CellName(x))
		}
		for _, f := range modulesApart(x.First.Outcome, x.Second.Outcome) {
			differ.Add(f, CellName(x))
		}
	}
	return differ, same, proven
}

// modulesApart lists the modules that differ between the workers of one library, such as two
// of its releases. Those of two libraries have little in common.
func modulesApart(first, second *stats.Outcome) (list []sideFact) {
	a, b := first.Case.Linked, second.Case.Linked
	module := first.Proof().Module
	if a == nil || b == nil || module != second.Proof().Module {
		return nil
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if a[path] != b[path] && path != module {
			list = append(list, sideFact{"module " + path, cmp.Or(a[path], "not linked"), cmp.Or(b[path], "not linked")})
		}
	}
	return list
}

// alsoDiffers says on a line in what the sides of a comparison differ besides in what is
// compared, the library and the version of SQLite. It returns "" if there is no proof.
func alsoDiffers(c Compared) string {
	if _, _, proven := sideFacts(c.Cells); proven == 0 {
		return ""
	}
	named := []string{"driver", "module", "SQLite"} // the sides are named with these
	if by := c.First.Run.Compares; by != nil {
		named = append(named, by.Name)
	}
	var words []string
	for _, d := range SideDifferences(c.Cells) {
		if slices.Contains(named, d.What) {
			continue
		}
		w := fmt.Sprintf("%s %s and %s", d.What, inShort(d.First), inShort(d.Second))
		if d.In != allCells {
			w += " in " + d.In
		}
		words = append(words, w)
	}
	if words == nil {
		return "in nothing else that the workers proved: flags, compile options and settings are the same"
	}
	return strings.Join(words, "; ")
}

// inShort counts words if there are many.
func inShort(words string) string {
	const most = 4
	if n := len(strings.Fields(words)); n > most {
		return fmt.Sprintf("%d of its own", n)
	}
	return words
}

// fact is something that a worker proved.
type fact struct{ what, value string }

type factList []fact

// of returns a value, or that there is none.
func (l factList) of(what string) string {
	if i := slices.IndexFunc(l, func(f fact) bool { return f.what == what }); i >= 0 {
		return l[i].value
	}
	return "not set"
}

// factNames lists what is in one list of facts or the other.
func factNames(a, b factList) (names []string) {
	for _, f := range append(slices.Clone(a), b...) {
		if !slices.Contains(names, f.what) {
			names = append(names, f.what)
		}
	}
	return names
}

// provenFacts lists what ran in a phase of a case, and its settings. It returns nil if no
// worker proved anything.
func provenFacts(o *stats.Outcome, phase string) (l factList) {
	p := o.Proof()
	if p == nil {
		return nil
	}
	add := func(what, value string) {
		if value != "" {
			l = append(l, fact{what, value})
		}
	}
	add("driver", conditions.Label(o.Case))
	add("module", strings.TrimSpace(p.Module+" "+p.ModuleVersion))
	add("SQLite", p.SQLiteVersion)
	add("runtime", p.Runtime)
	for _, more := range []map[string]string{p.Build, p.Environment, conditions.InForce(o, phase)} {
		for _, n := range stats.SettingNames(more) {
			add(n, more[n])
		}
	}
	add("connections", fmt.Sprint(len(p.Connections)))
	return l
}

// optionsApart returns the compile options that matter of each of two outcomes, without
// those that both have. They are equal if one is not known.
func optionsApart(first, second *stats.Outcome) (a, b string) {
	x, y := first.Proof().CompileOptions, second.Proof().CompileOptions
	if len(x) == 0 || len(y) == 0 {
		return "", ""
	}
	only := func(of, other []string) string {
		var list []string
		for _, option := range slices.Compact(slices.Sorted(slices.Values(of))) {
			if conditions.Matters(option) && !slices.Contains(other, option) {
				list = append(list, option)
			}
		}
		if list == nil {
			return document.Absent
		}
		return strings.Join(list, " ")
	}
	return only(x, y), only(y, x)
}

// GateKinds are the states of cells with a ratio as a picture has them.
var GateKinds = []string{string(stats.GatePassed), string(stats.GateRegression), string(stats.GateUnconfirmed), string(stats.GatePossible), string(stats.GateTooFew), string(stats.GateWrong)}

// MostTips is how many samples of a run have a tip.
const MostTips = 600
