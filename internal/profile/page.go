package profile

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
)

// ProfilePage describes a profile for a page: the answer, the CPU time of all drivers by group of
// functions, and the flame graphs with the functions that take most time.
func ProfilePage(p *Profiled) document.Document {
	var alarms, facts document.List
	for _, it := range profileFacts(p) {
		if it.Alarm {
			alarms = append(alarms, it)
		} else {
			facts = append(facts, it)
		}
	}
	d := document.Document{document.Heading{Level: 1, Text: ProfileAnswer(p)}, alarms}
	groups := groupsOf(p)
	if stacks, ok := groupsPicture(p, groups); ok {
		d = append(d, document.Heading{Level: 2, Text: "Where the time goes"}, stacks)
	}
	if a, b, ok := p.pair(); ok {
		d = append(d, document.Heading{Level: 2, Text: fmt.Sprintf("%s and %s", a.Name, b.Name)}, differenceGrid(a, b))
		if len(p.Flames) == 2 {
			d = append(d, flamePicture("difference", fmt.Sprintf("CPU time per trial: %s and %s", a.Name, b.Name),
				"The tip of a box has the times of both."+p.narrow(), differenceOf(p.Flames[0], p.Flames[1])))
		}
	}
	for i := range p.Drivers {
		x := &p.Drivers[i]
		if x.Status != result.OK {
			continue
		}
		parts := driverProfile(x)
		j := slices.IndexFunc(p.Flames, func(f FlameSide) bool { return f.Case == x.Case })
		if j >= 0 && len(p.Flames[j].Stacks) > 0 {
			graph := FlameOf(p.Flames[j])
			graph.Groups = colored(groups)
			flame := flamePicture("flame-"+document.Slug(x.Name), fmt.Sprintf("CPU time per trial of %s in %s of %s, %s", x.Name, p.Phase, p.Workload, document.Counted(x.Samples, "sample")),
				"A box is a function. Its width is its time, with the functions that it calls, which are above it."+p.narrow(), graph)
			parts = slices.Insert(parts, 1, document.Block(flame))
		}
		d = append(d, parts...)
	}
	return document.UniqueNames(append(d, document.Heading{Level: 2, Text: "How it was measured"}, facts, document.Paragraph{Text: profileNote, Quiet: true}), map[string]bool{})
}

func (p *Profiled) narrow() string {
	if len(p.Files) > 0 {
		return " The narrowest boxes are left out here; the files have all."
	}
	return " The narrowest boxes are left out here."
}

func groupsOf(p *Profiled) (names []string) {
	for _, g := range stacks.Groups {
		if slices.ContainsFunc(p.Drivers, func(d ProfiledDriver) bool {
			return d.Summary != nil && slices.ContainsFunc(d.Groups, func(x stacks.Part) bool { return x.Group == g })
		}) {
			names = append(names, string(g))
		}
	}
	return names
}

// colored lists all groups of functions. The groups in the parameter "some" come first, so they
// have the same colors as in a picture that has no other groups.
func colored(some []string) []string {
	all := slices.Clone(some)
	for _, g := range stacks.Groups {
		all = distinct.Append(all, string(g))
	}
	return all
}

// groupsPicture shows the CPU time of each driver by group of functions. ok is false if there are
// no samples.
func groupsPicture(p *Profiled, parts []string) (_ document.PictureBlock, ok bool) {
	var rows []chart.Sum
	for _, x := range p.Drivers {
		row := chart.Sum{Name: x.Name, Values: make([]float64, len(parts))}
		if x.Status != result.OK {
			row.Reason = fmt.Sprintf("%s: %s", x.Status, x.Reason.Message)
		} else {
			for _, g := range x.Groups {
				row.Values[slices.Index(parts, string(g.Group))] += g.PerTrial
			}
			row.Tip = document.Counted(x.Samples, "sample")
		}
		rows = append(rows, row)
	}
	return document.PictureBlock{Headed: true, Picture: document.Picture{Name: "groups", Title: fmt.Sprintf("CPU time of %s of %s, by what takes it", p.Phase, p.Workload),
		Plot: &chart.Stacks{Parts: parts, Rows: rows,
			Axis: chart.Axis{Label: "CPU time of one execution, less is better", Format: nanoseconds, Tick: nanoseconds}}}}, len(parts) > 0
}

const (
	// leastBox is a width in pixels. A page leaves out functions whose box is narrower, so that
	// the page stays small. A picture in its own file leaves out only boxes that cannot be seen.
	leastBox = 1

	// mostBoxes is the greatest number of boxes in a flame graph. A stored profile from somebody else
	// may have any number of stacks.
	mostBoxes = 20_000

	// maxFlameRows is the greatest number of functions in the table of a flame graph.
	maxFlameRows = 40
)

func flamePicture(name, title, note string, f *chart.Flame) document.PictureBlock {
	f.Most, f.Least = mostBoxes, leastBox
	behind := document.ChartGrid(f)
	behind.Rows = behind.Rows[:min(len(behind.Rows), maxFlameRows)]
	return document.PictureBlock{Aside: true, Behind: document.Document{behind},
		Picture: document.Picture{Name: name, Title: title, Note: note, Plot: f}}
}
