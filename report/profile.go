package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/chart"
	"github.com/sqlite3perf/sqlite3perf/profile"
	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Profiled is where the time of a phase went, on one driver or several.
type Profiled struct {
	Workload string
	Phase    string
	Scale    string
	Seed     uint64
	Settings string // as name=value, separated by spaces
	Machine  result.Machine
	Drivers  []ProfiledDriver
	NoPerf   string   // why there is no perf, or what it does not see; "" if it sees everything
	More     string   // what a reader can type to have more samples
	Into     string   // the directory that files were written to
	Files    []string // their names
}

// ProfiledDriver is one driver's part of it.
type ProfiledDriver struct {
	Name    string
	Status  result.Status
	Reason  *protocol.Reason // if Status is not OK
	Perf    bool             // sampled by perf, not by Go's profiler
	Summary *profile.Summary // nil if Status is not OK
}

// fewSamples is below how many samples shares are not put into words.
const fewSamples = 50

// good reports whether there is something to say of a driver.
func (d *ProfiledDriver) good() bool { return d.Status == result.OK && d.Summary.Samples >= fewSamples }

// pair returns the two drivers that are compared, if exactly two have profiles.
func (p *Profiled) pair() (first, second *ProfiledDriver, ok bool) {
	var list []*ProfiledDriver
	for i := range p.Drivers {
		if p.Drivers[i].good() {
			list = append(list, &p.Drivers[i])
		}
	}
	if len(list) != 2 || len(p.Drivers) != 2 {
		return nil, nil, false
	}
	return list[0], list[1], true
}

var profileFormats = formatsOf[*Profiled]{
	{"table", func(w io.Writer, p *Profiled, o Options) error { return renderText(w, profiled(p), o) }},
	{"markdown", func(w io.Writer, p *Profiled, _ Options) error { return renderMarkdown(w, profiled(p)) }},
	{"json", writeProfileJSON},
}

// ProfileFormats lists the names of the formats of a profile.
func ProfileFormats() []string { return profileFormats.names() }

// CheckProfile returns an error if there is no such format of a profile.
func CheckProfile(format string) error { return profileFormats.check(format) }

// WriteProfile writes where the time went in a format.
func WriteProfile(w io.Writer, format string, p *Profiled, opts Options) error {
	return profileFormats.write(w, "profile", format, p, opts)
}

// ProfileAnswer says in a few sentences where the time went.
func ProfileAnswer(p *Profiled) string {
	var parts []string
	if a, b, ok := p.pair(); ok {
		first, second := a.Summary.PerTrialNS(), b.Summary.PerTrialNS()
		text := fmt.Sprintf("In %s of %s, %s uses %s of CPU time and %s %s (%s)", p.Phase, p.Workload, b.Name, nanoseconds(second), a.Name, nanoseconds(first), times(second/first))
		if c := profile.Compare(a.Summary, b.Summary)[0]; max(c.Difference, -c.Difference) > c.Margin {
			text += fmt.Sprintf("; the largest difference is in %s: %s", c.Group, signed(c.Difference))
		}
		parts = append(parts, text+".")
	}
	for i := range p.Drivers {
		switch d := &p.Drivers[i]; {
		case d.Status != result.OK:
			parts = append(parts, fmt.Sprintf("%s has no profile: it is %s.", d.Name, d.Status))
		case !d.good():
			parts = append(parts, fmt.Sprintf("%s has too few samples (%d) to say where %s spends its time: %s gives more.", d.Name, d.Summary.Samples, p.Phase, p.More))
		default:
			parts = append(parts, spends(d))
		}
	}
	return strings.Join(parts, " ")
}

// spends names the largest groups of a driver.
func spends(d *ProfiledDriver) string {
	const most, least = 4, 0.03
	var words []string
	for i, g := range d.Summary.Groups {
		if i < most && g.Share >= least {
			words = append(words, fmt.Sprintf("%.0f %% in %s", 100*g.Share, g.Group))
		}
	}
	return fmt.Sprintf("%s spends %s.", d.Name, strings.Join(words, ", "))
}

// nanoseconds formats a time.
func nanoseconds(ns float64) string {
	switch {
	case ns >= 1e9:
		return fmt.Sprintf("%.3g s", ns/1e9)
	case ns >= 1e6:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g µs", ns/1e3)
}

func signed(ns float64) string {
	if ns < 0 {
		return "-" + nanoseconds(-ns)
	}
	return "+" + nanoseconds(ns)
}

// withMargin formats a share with half the width of its interval, in percentage points.
func withMargin(p profile.Part) string {
	return fmt.Sprintf("%.1f %% ±%.1f", 100*p.Share, 50*(p.Interval.High-p.Interval.Low))
}

// topFunctions is how many functions the tables have. The JSON has all.
const topFunctions = 12

// profiled is the document of a profile.
func profiled(p *Profiled) document {
	d := document{paragraph{text: ProfileAnswer(p)}, space{}, profileFacts(p)}
	if a, b, ok := p.pair(); ok {
		g := grid{columns: []column{{title: "where"}, {title: a.Name, right: true}, {title: b.Name, right: true}, {title: "difference", right: true}, {title: "±", right: true}}}
		for _, c := range profile.Compare(a.Summary, b.Summary) {
			g.rows = append(g.rows, []string{string(c.Group), nanoseconds(c.FirstNS), nanoseconds(c.SecondNS), signed(c.Difference), nanoseconds(c.Margin)})
		}
		d = append(d, heading{2, fmt.Sprintf("%s and %s", a.Name, b.Name)}, g)
	}
	for i := range p.Drivers {
		if x := &p.Drivers[i]; x.Status == result.OK {
			d = append(d, driverProfile(x)...)
		}
	}
	return append(d, space{}, paragraph{"CPU time of one execution of the phase, from samples of what runs; waiting is not in it. ±: half the 95 % interval, by the number of samples. " +
		"A function has its own time, without that of what it calls. Trials with profiles are never stored as samples.", true})
}

// profileFacts says what was profiled, and how.
func profileFacts(p *Profiled) list {
	var l list
	for i := range p.Drivers {
		switch d := &p.Drivers[i]; {
		case d.Status != result.OK:
			l = append(l, item{d.Name, fmt.Sprintf("%s: %s", d.Status, d.Reason.Message), true})
		default:
			by := "Go's profiler, 100 times a second"
			if d.Perf {
				by = fmt.Sprintf("perf, %d times a second", profile.PerfFrequency)
			}
			s := d.Summary
			text := fmt.Sprintf("%s in %s, by %s", counted(s.Samples, "sample"), counted(int64(s.Trials), "trial"), by)
			if s.WallNS > 0 && s.Samples >= fewSamples {
				text += fmt.Sprintf("; CPU time is %.0f %% of the time by the clock", 100*float64(s.CPUNS)/float64(s.WallNS))
			}
			l = append(l, item{label: d.Name, text: text, alarm: d.Summary.Samples < fewSamples})
		}
	}
	if p.NoPerf != "" {
		text := p.NoPerf
		if !slices.ContainsFunc(p.Drivers, func(d ProfiledDriver) bool { return d.Perf }) {
			text += "; Go's profiler was used instead, which takes fewer samples and puts all time in C into one row"
		}
		l = append(l, item{"perf", text, true})
	}
	l = append(l, item{label: "measured", text: strings.TrimSpace(fmt.Sprintf("workload %s, phase %s, scale %s, seed %d %s", p.Workload, p.Phase, p.Scale, p.Seed, p.Settings))})
	l = append(l, machineItems(p.Machine)...)
	if len(p.Files) > 0 {
		l = append(l, item{label: "files", text: fmt.Sprintf("in %s: %s", p.Into, strings.Join(p.Files, ", "))})
	}
	return l
}

// driverProfile is the part of the document about one driver.
func driverProfile(x *ProfiledDriver) document {
	s := x.Summary
	g := grid{columns: []column{{title: "where"}, {title: "share", right: true}, {title: "CPU time", right: true}, {title: "what it is", drop: 1}}}
	for _, p := range s.Groups {
		g.rows = append(g.rows, []string{string(p.Group), withMargin(p), nanoseconds(p.PerTrial), p.Group.About()})
	}
	d := document{heading{2, x.Name}, g}
	if len(s.Groups) == 0 {
		d = document{heading{2, x.Name}, paragraph{text: "No samples."}}
	}
	if len(s.Functions) > 0 {
		f := grid{columns: []column{{title: "function"}, {title: "in"}, {title: "share", right: true}, {title: "CPU time", right: true, drop: 1}}}
		for _, p := range s.Functions[:min(len(s.Functions), topFunctions)] {
			f.rows = append(f.rows, []string{shortFunction(p.Function), string(p.Group), withMargin(p), nanoseconds(p.PerTrial)})
		}
		d = append(d, space{}, f)
	}
	if len(s.Allocations) > 0 {
		f := grid{columns: []column{{title: "allocated by"}, {title: "in"}, {title: "share", right: true}, {title: "bytes", right: true}}}
		for _, p := range s.Allocations[:min(len(s.Allocations), topFunctions/2)] {
			f.rows = append(f.rows, []string{shortFunction(p.Function), string(p.Group), fmt.Sprintf("%.0f %%", 100*p.Share), byteCount(p.PerTrial)})
		}
		d = append(d, space{}, f)
	}
	return d
}

// byteCount formats an estimated number of bytes.
func byteCount(n float64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.3g GiB", n/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.3g MiB", n/(1<<20))
	}
	return fmt.Sprintf("%.3g KiB", n/(1<<10))
}

// shortFunction shortens a long name at its beginning: its end says more.
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

// FlameGraph writes the flame graph of a driver's stacks as SVG.
func FlameGraph(w io.Writer, title string, list []profile.Stack, g profile.Grouper) error {
	f := newFlame(title)
	for _, s := range list {
		c := chart.Stack{First: float64(s.Value)}
		for i := len(s.Frames) - 1; i >= 0; i-- {
			c.Frames = append(c.Frames, chart.Frame{Name: Line(s.Frames[i].Function), Group: string(g.Of(s.Frames[i:]))})
		}
		f.Stacks = append(f.Stacks, c)
	}
	return f.WriteSVG(w)
}

// FlameSide is a side of a difference of two profiles.
type FlameSide struct {
	Name    string
	Stacks  []profile.Stack
	Grouper profile.Grouper
	Trials  int
}

// FlameDifference writes the difference of two drivers' profiles, per trial, as SVG.
func FlameDifference(w io.Writer, title string, first, second FlameSide) error {
	f := newFlame(title)
	f.First, f.Second = Line(first.Name), Line(second.Name)
	for i, side := range []FlameSide{first, second} {
		for _, s := range profile.Layers(side.Stacks, side.Grouper) {
			c := chart.Stack{}
			for _, frame := range s.Frames {
				c.Frames = append(c.Frames, chart.Frame{Name: Line(frame.Function)})
			}
			weight := float64(s.Value) / float64(max(side.Trials, 1))
			if i == 0 {
				c.First = weight
			} else {
				c.Second = weight
			}
			f.Stacks = append(f.Stacks, c)
		}
	}
	return f.WriteSVG(w)
}

func newFlame(title string) *chart.Flame {
	f := &chart.Flame{Title: Line(title), Format: nanoseconds}
	for _, g := range profile.Groups {
		f.Groups = append(f.Groups, string(g))
	}
	return f
}

// ProfileVersion is the version of the JSON form of a profile. Fields may be added
// without changing it.
const ProfileVersion = 1

// JSONProfile is the JSON form of a profile.
type JSONProfile struct {
	Version     int                 `json:"version"`
	Answer      string              `json:"answer"`
	Workload    string              `json:"workload"`
	Phase       string              `json:"phase"`
	Scale       string              `json:"scale"`
	Seed        uint64              `json:"seed"`
	Settings    string              `json:"settings,omitempty"`
	Machine     result.Machine      `json:"machine"`
	Confidence  float64             `json:"confidence"` // of all intervals
	NoPerf      string              `json:"no_perf,omitempty"`
	Drivers     []JSONProfileDriver `json:"drivers"`
	Differences []profile.Change    `json:"differences,omitempty"` // of the second driver to the first
	Directory   string              `json:"directory"`
	Files       []string            `json:"files"`
}

// JSONProfileDriver is a driver's part of the JSON form of a profile.
type JSONProfileDriver struct {
	Driver  string           `json:"driver"`
	Status  result.Status    `json:"status"`
	Reason  *protocol.Reason `json:"reason,omitempty"`
	Sampler string           `json:"sampler,omitempty"` // perf or go
	*profile.Summary
}

func writeProfileJSON(w io.Writer, p *Profiled, _ Options) error {
	out := JSONProfile{Version: ProfileVersion, Answer: ProfileAnswer(p), Workload: p.Workload, Phase: p.Phase, Scale: p.Scale, Seed: p.Seed, Settings: p.Settings,
		Machine: p.Machine, Confidence: stats.Confidence, NoPerf: p.NoPerf, Drivers: []JSONProfileDriver{}, Directory: p.Into, Files: append([]string{}, p.Files...)}
	for _, d := range p.Drivers {
		x := JSONProfileDriver{Driver: d.Name, Status: d.Status, Reason: d.Reason, Summary: d.Summary}
		if d.Summary != nil {
			x.Sampler = "go"
			if d.Perf {
				x.Sampler = "perf"
			}
		}
		out.Drivers = append(out.Drivers, x)
	}
	if a, b, ok := p.pair(); ok {
		out.Differences = profile.Compare(a.Summary, b.Summary)
	}
	return encode(w, out)
}
