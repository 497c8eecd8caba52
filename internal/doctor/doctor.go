// Package doctor says whether a machine is fit to measure, and what the user can change.
package doctor

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// CheckupVersion is the version of the JSON form of a checkup. Adding fields does not change the
// version.
const CheckupVersion = 1

var Formats = document.Question[*result.Checkup]{Name: "checkup", Document: checkup, Title: "Doctor", Fits: true}.Formats(
	document.Format[*result.Checkup, document.Options]{Name: "json", To: writeCheckupJSON})

// JSONCheckup is the JSON form of a checkup. It also has the texts of the answer and of the findings.
type JSONCheckup struct {
	Version int    `json:"version"`
	Answer  string `json:"answer"`
	*result.Checkup
	Findings []JSONFinding `json:"findings"`
}

// JSONFinding is the JSON form of a finding, with its texts.
type JSONFinding struct {
	result.Finding
	Found  string `json:"found"`
	Effect string `json:"effect"`
	Do     string `json:"do"`
}

func writeCheckupJSON(w io.Writer, c *result.Checkup, opts document.Options) error {
	out := JSONCheckup{Version: CheckupVersion, Answer: FitnessAnswer(c), Checkup: c, Findings: []JSONFinding{}}
	for _, f := range c.Findings {
		words := finding(f, c, opts.Hints)
		out.Findings = append(out.Findings, JSONFinding{f, words.found, words.effect, words.do})
	}
	return document.Encode(w, out)
}

// FitnessAnswer says in a sentence whether a machine is fit to measure.
func FitnessAnswer(c *result.Checkup) string {
	clauses := map[result.Fitness][]string{}
	noisy := false // true if only the noise makes the machine unfit
	for _, f := range c.Findings {
		if f.Code == result.FindingNoise && (f.Fitness == result.Unfit || clauses[f.Fitness] != nil) {
			noisy = f.Fitness == result.Unfit && clauses[f.Fitness] == nil
			continue // the answer states the noise separately
		}
		clauses[f.Fitness] = append(clauses[f.Fitness], finding(f, c, document.Hints{}).clause)
	}
	doubts := firstTwo(clauses[result.Measurable])
	told := ""
	if c.Difference != nil {
		told = fmt.Sprintf("differences of about %s and more can be measured in %s", document.Percent(*c.Difference), document.Minutes(c.WithinNS))
	}
	if told != "" && c.DifferenceRange != nil && c.Noise != nil {
		told += fmt.Sprintf(" (%s to %s over all phases: estimated from %s of a driver compared with itself)",
			document.Percent(c.DifferenceRange.Low), document.Percent(c.DifferenceRange.High), document.Counted(int64(c.Noise.Rounds), "round"))
	}
	switch {
	case noisy && doubts != "":
		return "Not fit to measure: only " + told + "; " + doubts + "."
	case noisy:
		return "Not fit to measure: only " + told + "."
	case c.Fitness == result.Unfit:
		return "Not fit to measure: " + firstTwo(clauses[result.Unfit]) + "."
	case c.Fitness == result.Measurable:
		return "Measurable, but " + strings.TrimSuffix(doubts+": "+told, ": ") + "."
	case told != "":
		return "Fit to measure: " + told + "."
	}
	return "Fit to measure, but the noise was not measured."
}

func firstTwo(clauses []string) string {
	if n := len(clauses); n > 2 {
		return fmt.Sprintf("%s, %s (and %d more)", clauses[0], clauses[1], n-2)
	}
	return document.And(clauses)
}

func checkup(c *result.Checkup, o document.Options) document.Document {
	d := document.Document{document.Heading{Level: 1, Text: FitnessAnswer(c)}}
	var notes document.List
	for _, f := range c.Findings {
		words := finding(f, c, o.Hints)
		if f.Fitness == result.Fit {
			notes = append(notes, document.Item{Label: words.title, Text: fmt.Sprintf("%s. %s. %s.", words.found, words.effect, words.do)})
			continue
		}
		d = append(d, document.Heading{Level: 2, Text: words.title}, document.List{
			{Label: "found", Text: words.found, Alarm: true}, {Label: "effect", Text: words.effect}, {Label: "do", Text: words.do}})
	}
	if notes != nil {
		d = append(d, document.Heading{Level: 2, Text: "Worth knowing"}, notes)
	}
	if c.Noise != nil {
		d = append(d, noise(c.Noise)...)
	}
	return append(d, document.Heading{Level: 2, Text: "Facts"}, facts(c))
}

// noise returns the table of the differences between two measurements of the same driver, which were
// made in the same rounds.
func noise(n *result.Noise) document.Document {
	g := document.Grid{Columns: []document.Column{{Title: "phase"}, {Title: "median", Right: true}, {Title: "between rounds"}, {Title: "within, half", Right: true}, {Title: "all", Right: true}}}
	for i, p := range n.Phases {
		row := []string{p.Phase, document.Nanoseconds(int64(p.Median * 1e9)), fmt.Sprintf("%+.0f%% to %+.0f%%", 100*(p.Least-1), 100*(p.Most-1)), document.Percent(p.Half), document.Percent(p.Widest)}
		for j, t := range p.Smallest {
			if i == 0 {
				g.Columns = append(g.Columns, document.Column{Title: fmt.Sprintf("%s, %s", document.Counted(int64(t.Rounds), "round"), document.Elapsed(time.Duration(t.TookNS).Round(time.Second))), Right: true})
			}
			words := document.Percent(t.Difference)
			if j == len(p.Smallest)-1 {
				words += fmt.Sprintf(" (%s to %s)", document.Percent(t.Range.Low), document.Percent(t.Range.High))
			}
			row = append(row, words)
		}
		g.Rows = append(g.Rows, row)
	}
	driver := strings.TrimSpace(n.Driver + " " + n.Version)
	return document.Document{document.Heading{Level: 2, Text: fmt.Sprintf("Noise: %s compared with itself, on %s at scale %s, in %s", driver, n.Workload, n.Scale, document.Counted(int64(n.Rounds), "round"))}, g,
		document.Paragraph{Text: fmt.Sprintf("Between rounds: how far times are from their median. Within rounds: the difference between a round's two measurements that half of the rounds reach, "+
			"and the greatest; only this limits comparisons. On the right, for each length of a run: the smallest difference between two drivers "+
			"that %.0f%% of such runs find; the last one with a range that contains it about nine times in ten. With more drivers or workloads a round takes longer.", 100*stats.NoiseTold), Quiet: true}}
}

// unknown is shown for a fact that could not be found out.
const unknown = "unknown"

func facts(c *result.Checkup) document.List {
	m := c.Machine
	share := func(v *float64) string {
		if v == nil {
			return unknown
		}
		return document.Percent(*v)
	}
	power := unknown
	if c.OnBattery != nil {
		power = map[bool]string{true: "battery", false: "mains"}[*c.OnBattery]
	}
	quota := "limit of CPU time unknown"
	switch {
	case c.Quota != nil && *c.Quota == 0:
		quota = "no limit of CPU time"
	case c.Quota != nil:
		quota = fmt.Sprintf("CPU time for %.2f", *c.Quota)
	}
	load := "average unknown"
	if c.Load != nil {
		load = fmt.Sprintf("average %.2f", *c.Load)
	}
	memory := unknown
	if c.AvailableBytes != nil {
		memory = document.Size(*c.AvailableBytes) + " available of " + document.Size(m.MemoryBytes)
	}
	if c.MemoryLimitBytes != nil {
		memory += ", " + document.Size(*c.MemoryLimitBytes) + " allowed by the control group"
	}
	switch {
	case c.SwapUsedBytes == nil:
	case *c.SwapUsedBytes == 0:
		memory += ", no swap in use"
	default:
		memory += ", " + document.Size(*c.SwapUsedBytes) + " of swap in use"
	}
	databases := conditions.Storage(m)
	if c.FreeBytes != nil {
		databases += "; " + document.Size(*c.FreeBytes) + " free"
	}
	virtual := cmp.Or(m.Virtual, "no hypervisor seen")
	steal := "not measured"
	if c.Noise != nil {
		steal = share(c.Steal)
	}
	hardware := m // a copy without the facts that have their own lines below
	hardware.Governor, hardware.Turbo, hardware.SMT, hardware.Virtual = "", "", "", ""
	return document.List{
		{Label: "machine", Text: conditions.Machine(hardware)},
		{Label: "clock rate", Text: fmt.Sprintf("governor %s, turbo %s, power %s", cmp.Or(m.Governor, unknown), cmp.Or(m.Turbo, unknown), power)},
		{Label: "cores", Text: fmt.Sprintf("%d usable of %d, SMT %s, %s", c.UsableCores, m.Cores, cmp.Or(m.SMT, unknown), quota)},
		{Label: "load", Text: fmt.Sprintf("%s; share of the last 10 s in which a process waited: for a CPU %s, for the disk %s, for memory %s",
			load, share(c.CPUPressure), share(c.IOPressure), share(c.MemoryPressure))},
		{Label: "virtual", Text: virtual + "; steal time: " + steal},
		{Label: "memory", Text: memory},
		{Label: "databases", Text: databases},
		{Label: "fsync", Text: fsync(c.Fsync)},
		{Label: "clock", Text: fmt.Sprintf("%s, resolution %s, %s per reading", cmp.Or(c.Clock.Source, "source unknown"), document.Nanoseconds(c.Clock.ResolutionNS), document.Nanoseconds(c.Clock.ReadNS))},
		{Label: "counters", Text: counters[c.Counters]},
		{Label: "tools", Text: fmt.Sprintf("Go: %s; C compiler: %s; Python: %s", cmp.Or(c.Tools.Go, "none"), cmp.Or(c.Tools.CC, "none"), cmp.Or(c.Tools.Python, "none"))},
		{Label: "drivers", Text: drivable(c.Drivers)},
	}
}

// counters describes each value of [result.Checkup].Counters.
var counters = map[string]string{
	"":                    unknown,
	result.CountersUsable: "instructions are counted",
	result.CountersNone:   "instructions are not counted: the processor has no counters, or the hypervisor hides them; another machine or type of instance may have them",
	result.CountersDenied: "instructions are not counted: the system does not permit it; sudo sysctl kernel.perf_event_paranoid=2 does, or in a container a profile that allows perf_event_open",
}

func fsync(f result.Fsync) string {
	s := fmt.Sprintf("%s in the median of %d, %s the slowest; ", document.Nanoseconds(f.MedianNS), f.Count, document.Nanoseconds(f.SlowestNS))
	if f.Writes != nil {
		s += fmt.Sprintf("the device counted %s and %s: ", document.Counted(*f.Writes, "write"), document.Counted(*f.Flushes, "flush request"))
	}
	switch {
	case f.Reaches == nil:
		return s + "whether it reaches a device is unknown"
	case *f.Reaches:
		return s + "it reaches the device"
	}
	return s + "it reaches no device"
}

func drivable(drivers []result.DriverState) string {
	var can []string
	var without conditions.Groups[string, string] // names of drivers, by the reason
	for _, d := range drivers {
		if d.Reason == nil {
			can = append(can, d.Name)
		} else {
			without.Add(d.Reason.Message, d.Name)
		}
	}
	words := cmp.Or(strings.Join(can, ", "), "none")
	for _, why := range without.Keys {
		words += fmt.Sprintf("; %s cannot be measured: %s", document.And(without.Of[why]), why)
	}
	return words
}
