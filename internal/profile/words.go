// Package profile says where drivers spend their time, based on the stacks that profilers sampled.
package profile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stacks"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Profiled shows where one or several drivers spent the time of a phase. Some fields are set
// only in the JSON form.
type Profiled struct {
	Version     int               `json:"version"`          // version of the JSON form; set only in JSON
	Run         int64             `json:"run_id,omitempty"` // ID of the run
	Answer      string            `json:"answer"`           // the answer in a few sentences; set only in JSON
	Workload    string            `json:"workload"`
	Phase       string            `json:"phase"`
	Scale       string            `json:"scale"`
	Seed        uint64            `json:"seed"`
	Settings    string            `json:"settings,omitempty"` // settings as name=value, separated by spaces
	Machine     result.Machine    `json:"machine"`
	Confidence  float64           `json:"confidence"`        // confidence level of all intervals; set only in JSON
	NoPerf      string            `json:"no_perf,omitempty"` // why perf was not used, or which functions it did not see
	Rounds      int               `json:"rounds"`            // number of rounds in which the drivers' trials took turns
	Warnings    []result.Warning  `json:"warnings,omitempty"`
	Ratio       *JSONProfileRatio `json:"ratio,omitempty"` // the second driver's CPU time divided by the first's; set only in JSON
	Drivers     []ProfiledDriver  `json:"drivers"`
	Differences []stacks.Change   `json:"differences,omitempty"` // changes from the first driver to the second; set only in JSON
	Into        string            `json:"directory,omitempty"`   // directory to which files were written
	Files       []string          `json:"files,omitempty"`

	More   string      `json:"-"` // command to type for more samples; "" if there is no such command
	Flames []FlameSide `json:"-"` // flame graphs of the drivers that have profiles

	Started time.Time `json:"-"`
}

// ProfiledDriver is the part of a profile about one driver.
type ProfiledDriver struct {
	Name      string           `json:"driver"`
	Case      int              `json:"-"` // ID of the case, to which warnings refer
	Status    result.Status    `json:"status"`
	Reason    *protocol.Reason `json:"reason,omitempty"`    // why Status is not OK
	Sampler   string           `json:"sampler,omitempty"`   // "perf" or "go"; set only in JSON
	Perf      bool             `json:"-"`                   // true if perf took the samples, false if Go's profiler did
	Shortened int              `json:"shortened,omitempty"` // number of functions that were kept of each stack; set only if stacks had too many

	*stacks.Summary `jsonschema:"optional"` // summary of the samples; nil if Status is not OK
}

// JSONProfileRatio is a ratio with its interval.
type JSONProfileRatio struct {
	Ratio    float64        `json:"ratio"`
	Interval stats.Interval `json:"interval"`
}

// fewSamples is the number of samples below which shares are not described in words.
const fewSamples = 50

func (d *ProfiledDriver) good() bool { return d.Status == result.OK && d.Samples >= fewSamples }

// pair returns the two drivers that are compared. ok is true only if the profile has exactly two
// drivers, and both have enough samples.
func (p *Profiled) pair() (first, second *ProfiledDriver, ok bool) {
	if len(p.Drivers) != 2 || !p.Drivers[0].good() || !p.Drivers[1].good() {
		return nil, nil, false
	}
	return &p.Drivers[0], &p.Drivers[1], true
}

// Formats are the output formats of a profile.
var Formats = document.Question[*Profiled]{Name: "profile", Document: profiled, Title: "Profile", Fits: true, JSON: jsonOf,
	Page: func(p *Profiled, _ document.Options) document.Document { return ProfilePage(p) }}.Formats(document.Format[*Profiled, document.Options]{Name: FirefoxFormat, To: writeFirefox})

// ProfileAnswer says in a few sentences where drivers spent their time.
func ProfileAnswer(p *Profiled) string {
	var parts []string
	if a, b, ok := p.pair(); ok {
		parts = append(parts, differs(p, a, b))
	}
	for i := range p.Drivers {
		switch d := &p.Drivers[i]; {
		case d.Status != result.OK:
			parts = append(parts, fmt.Sprintf("%s has no profile: it is %s.", d.Name, d.Status))
		case !d.good():
			more := "."
			if p.More != "" {
				more = ": " + p.More + " gives more."
			}
			parts = append(parts, fmt.Sprintf("%s has too few samples (%d) to say where %s spends its time%s", d.Name, d.Samples, p.Phase, more))
		default:
			parts = append(parts, spends(d))
		}
	}
	return strings.Join(parts, " ")
}

// differs compares the CPU times of two drivers. With enough trials, it also compares their groups
// of functions.
func differs(p *Profiled, a, b *ProfiledDriver) string {
	ratio, sure := stacks.Ratio(a.Summary, b.Summary)
	r := stats.Summary{N: len(b.TrialNS), Median: ratio, Interval: &sure}
	words := fmt.Sprintf("%s and %s", nanoseconds(b.PerTrialNS()), nanoseconds(a.PerTrialNS()))
	more := document.MoreBy(r)
	than := strings.TrimPrefix(document.Than(more, a.Name), more+" ") // "than mattn" or "as mattn"
	text := fmt.Sprintf("In %s of %s, ", p.Phase, p.Workload)
	trials := min(len(a.TrialNS), len(b.TrialNS))
	switch {
	case trials < 2: // one trial does not show how much trials vary
		text += fmt.Sprintf("it is not known yet whether %s takes more CPU time than %s: one trial is too few (%s)", b.Name, a.Name, words)
	case sure.Low > 1, sure.High < 1:
		text += fmt.Sprintf("%s takes %s CPU time %s (%s: %s)", b.Name, more, than, document.MoreRange(&sure), words)
	default:
		text += fmt.Sprintf("it is not known yet whether %s takes more CPU time than %s (%s: %s)", b.Name, a.Name, document.MoreRange(&sure), words)
	}
	const most = 3
	var where []string
	for _, c := range stacks.Compare(a.Summary, b.Summary) {
		if max(c.Difference, -c.Difference) > c.Margin && len(where) < most {
			where = append(where, fmt.Sprintf("%s %s ±%s", c.Group, signed(c.Difference), nanoseconds(c.Margin)))
		}
	}
	if where != nil && trials >= stats.MinSamples {
		text += "; they differ in " + strings.Join(where, ", ")
	}
	return text + "."
}

func spends(d *ProfiledDriver) string {
	const most, least = 4, 0.03
	var words []string
	for i, g := range d.Groups {
		if i < most && g.Share >= least {
			words = append(words, fmt.Sprintf("%.0f%% ±%.0f in %s", 100*g.Share, margin(g), g.Group))
		}
	}
	return fmt.Sprintf("%s spends %s.", d.Name, strings.Join(words, ", "))
}

func nanoseconds(ns float64) string { return document.Ticks(document.SecondsOf(""))(ns / 1e9) }

func signed(ns float64) string {
	if ns < 0 {
		return "-" + nanoseconds(-ns)
	}
	return "+" + nanoseconds(ns)
}

// margin returns half the width of the interval of a share, in percentage points.
func margin(p stacks.Part) float64 { return 50 * (p.Interval.High - p.Interval.Low) }

func withMargin(p stacks.Part) string { return fmt.Sprintf("%.1f%% ±%.1f", 100*p.Share, margin(p)) }

// topFunctions is how many functions a table lists. The JSON form lists all.
const topFunctions = 12

func profiled(p *Profiled, _ document.Options) document.Document {
	d := document.Document{document.Paragraph{Text: ProfileAnswer(p)}, document.Space{}, profileFacts(p)}
	if a, b, ok := p.pair(); ok {
		d = append(d, document.Heading{Level: 2, Text: fmt.Sprintf("%s and %s", a.Name, b.Name)}, differenceGrid(a, b))
	}
	for i := range p.Drivers {
		if x := &p.Drivers[i]; x.Status == result.OK {
			d = append(d, driverProfile(x)...)
		}
	}
	return append(d, document.Space{}, document.Paragraph{Text: profileNote, Quiet: true})
}

const profileNote = "CPU time of one execution of the phase, sampled; waiting isn't included. " +
	"A function's time excludes the functions that it calls. Trials with profiles are never stored as samples."

func differenceGrid(a, b *ProfiledDriver) document.Grid {
	g := document.Grid{Columns: []document.Column{{Title: "where"}, {Title: a.Name, Right: true}, {Title: b.Name, Right: true}, {Title: "difference", Right: true}, {Title: "±", Right: true}}}
	for _, c := range stacks.Compare(a.Summary, b.Summary) {
		g.Rows = append(g.Rows, []string{string(c.Group), nanoseconds(c.FirstNS), nanoseconds(c.SecondNS), signed(c.Difference), nanoseconds(c.Margin)})
	}
	return g
}

func profileFacts(p *Profiled) document.List {
	var l document.List
	if p.Run > 0 {
		l = append(l, document.Item{Label: "stored", Text: fmt.Sprintf("as run %d", p.Run)})
	}
	for i := range p.Drivers {
		switch d := &p.Drivers[i]; {
		case d.Status != result.OK:
			l = append(l, document.Item{Label: d.Name, Text: fmt.Sprintf("%s: %s%s", d.Status, d.Reason.Message, conditions.Said(d.Reason)), Alarm: true})
		default:
			by := "Go's profiler, 100 times a second"
			if d.Perf {
				by = fmt.Sprintf("perf, %d times a second", stacks.PerfFrequency)
			}
			s := d.Summary
			text := fmt.Sprintf("%s in %s, by %s", document.Counted(s.Samples, "sample"), document.Counted(int64(s.Trials), "trial"), by)
			if s.WallNS > 0 && s.Samples >= fewSamples {
				text += fmt.Sprintf("; CPU time is %.0f%% of the elapsed time", 100*float64(s.CPUNS)/float64(s.WallNS))
			}
			if d.Shortened > 0 {
				text += fmt.Sprintf("; of each stack the %d innermost functions were kept", d.Shortened)
			}
			l = append(l, document.Item{Label: d.Name, Text: text, Alarm: d.Samples < fewSamples})
		}
	}
	l.Note(document.Item{Label: "how sure", Text: profileSure(p)})
	if p.NoPerf != "" {
		text := p.NoPerf
		if !slices.ContainsFunc(p.Drivers, func(d ProfiledDriver) bool { return d.Perf }) {
			text += "; Go's profiler was used instead, which takes fewer samples and puts all time in C into one row"
		}
		l = append(l, document.Item{Label: "perf", Text: text, Alarm: true})
	}
	l = append(l, document.Item{Label: "measured", Text: strings.TrimSpace(fmt.Sprintf("workload %s, phase %s, scale %s, seed %d %s", p.Workload, p.Phase, p.Scale, p.Seed, p.Settings))})
	l = append(l, conditions.MachineItems(p.Machine)...)
	l = append(l, profileWarnings(p)...)
	if len(p.Files) > 0 {
		l = append(l, document.Item{Label: "files", Text: fmt.Sprintf("in %s: %s", p.Into, strings.Join(p.Files, ", "))})
	}
	return l
}

// profileSure explains the intervals of a profile. It returns "" if there are none.
func profileSure(p *Profiled) string {
	if !slices.ContainsFunc(p.Drivers, func(d ProfiledDriver) bool { return d.good() }) {
		return ""
	}
	words := "±: half the 95% interval, from the number of samples"
	if a, b, ok := p.pair(); ok {
		words += ". The ratio's interval also allows for how much the trials differ"
		if min(a.Trials, b.Trials) < 2 {
			words += ", which one trial can't show"
		}
	}
	return words + ". Profilers cost time, so ratios without them differ"
}

func profileWarnings(p *Profiled) document.List {
	names := map[int]string{}
	for i := range p.Drivers {
		names[p.Drivers[i].Case] = p.Drivers[i].Name
	}
	var ofAll, ofOne []result.Warning
	for _, w := range p.Warnings {
		if w.Case == 0 {
			ofAll = append(ofAll, w)
		} else {
			ofOne = append(ofOne, w)
		}
	}
	return append(conditions.MachineWarnings(ofAll, p.Rounds), conditions.Warnings(ofOne, names)...)
}

func driverProfile(x *ProfiledDriver) document.Document {
	s := x.Summary
	g := document.Grid{Columns: []document.Column{{Title: "where"}, {Title: "share", Right: true}, {Title: "CPU time", Right: true}, {Title: "what it is", Drop: 1}}}
	for _, p := range s.Groups {
		g.Rows = append(g.Rows, []string{string(p.Group), withMargin(p), nanoseconds(p.PerTrial), p.Group.About()})
	}
	d := document.Document{document.Heading{Level: 2, Text: x.Name}, g}
	if len(s.Groups) == 0 {
		d = document.Document{document.Heading{Level: 2, Text: x.Name}, document.Paragraph{Text: "No samples."}}
	}
	if len(s.Functions) > 0 {
		f := document.Grid{Columns: []document.Column{{Title: "function"}, {Title: "in"}, {Title: "share", Right: true}, {Title: "CPU time", Right: true, Drop: 1}}}
		for _, p := range s.Functions[:min(len(s.Functions), topFunctions)] {
			f.Rows = append(f.Rows, []string{shortFunction(p.Function), string(p.Group), withMargin(p), nanoseconds(p.PerTrial)})
		}
		d = append(d, document.Space{}, f)
	}
	if len(s.Allocations) > 0 {
		f := document.Grid{Columns: []document.Column{{Title: "allocated by"}, {Title: "in"}, {Title: "share", Right: true}, {Title: "bytes", Right: true}}}
		for _, p := range s.Allocations[:min(len(s.Allocations), topFunctions/2)] {
			f.Rows = append(f.Rows, []string{shortFunction(p.Function), string(p.Group), fmt.Sprintf("%.0f%%", 100*p.Share), document.BytesOf(p.PerTrial)})
		}
		d = append(d, document.Space{}, f)
	}
	return d
}

// shortFunction shortens a function's name of more than 60 bytes. It removes the path of the package
// and, if that is not enough, the end of the name.
func shortFunction(name string) string {
	const most = 60
	if i := strings.LastIndexByte(strings.SplitN(name, "[", 2)[0], '/'); i >= 0 && len(name) > most {
		name = "…" + name[i:]
	}
	if r := []rune(name); len(r) > most {
		name = string(r[:most-1]) + "…"
	}
	return name
}

// FlameSide has the stacks of all trials of one driver.
type FlameSide struct {
	Name        string
	Case        int // ID of the case, as in [ProfiledDriver]
	Stacks      []stacks.Stack
	Allocations []stacks.Stack // stacks that allocated memory; their values are bytes
	Grouper     stacks.Grouper
	Trials      int
}

// perTrial returns the value of a stack per trial, in nanoseconds of CPU time or in bytes.
func (f FlameSide) perTrial(s stacks.Stack) float64 {
	return float64(s.Value) / float64(max(f.Trials, 1))
}

// FlameOf returns the flame graph of one driver, in CPU time per trial.
func FlameOf(side FlameSide) *chart.Flame {
	f := newFlame()
	for _, s := range side.Stacks {
		c := chart.Stack{First: side.perTrial(s)}
		for i := len(s.Frames) - 1; i >= 0; i-- {
			c.Frames = append(c.Frames, flameFrame(s.Frames[i].Function, string(side.Grouper.Of(s.Frames[i:]))))
		}
		f.Stacks = append(f.Stacks, c)
	}
	return f
}

// differenceOf returns the difference between the flame graphs of two drivers, in CPU time per trial.
func differenceOf(first, second FlameSide) *chart.Flame {
	f := newFlame()
	f.First, f.Second = document.Line(first.Name), document.Line(second.Name)
	for i, side := range []FlameSide{first, second} {
		for _, s := range stacks.Layers(side.Stacks, side.Grouper) {
			c := chart.Stack{}
			for _, frame := range s.Frames {
				c.Frames = append(c.Frames, flameFrame(frame.Function, ""))
			}
			if i == 0 {
				c.First = side.perTrial(s)
			} else {
				c.Second = side.perTrial(s)
			}
			f.Stacks = append(f.Stacks, c)
		}
	}
	return f
}

func flameFrame(function, group string) chart.Frame {
	f := chart.Frame{Name: document.Line(function), Group: group}
	for _, short := range stacks.Short(function) {
		f.Short = append(f.Short, document.Line(short))
	}
	return f
}

func newFlame() *chart.Flame {
	f := &chart.Flame{Format: nanoseconds}
	for _, g := range stacks.Groups {
		f.Groups = append(f.Groups, string(g))
	}
	return f
}

// ProfileVersion is the version of the JSON form of a profile. Adding fields does not change the
// version.
const ProfileVersion = 1

func jsonOf(p *Profiled) any {
	out := *p
	out.Version, out.Answer, out.Confidence = ProfileVersion, ProfileAnswer(p), stats.Confidence
	out.Drivers = append([]ProfiledDriver{}, p.Drivers...)
	for i := range out.Drivers {
		if d := &out.Drivers[i]; d.Summary != nil {
			d.Sampler = map[bool]string{true: "perf", false: "go"}[d.Perf]
		}
	}
	if a, b, ok := p.pair(); ok {
		out.Differences = stacks.Compare(a.Summary, b.Summary)
		ratio, sure := stacks.Ratio(a.Summary, b.Summary)
		out.Ratio = &JSONProfileRatio{ratio, sure}
	}
	return &out
}
