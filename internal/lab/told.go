package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// CheckTrial checks a trial that another machine reports, because another machine is not trusted more than a
// worker. The first impossible value becomes the trial's reason. The parameter "took" is how long the trial
// took by this machine's clock. The parameter "again" is true if an earlier trial of the case was OK.
func CheckTrial(c *Case, t *result.Trial, took time.Duration, again bool) {
	k := &check{of: "what the machine says of the trial"}
	t.Round, t.Order, t.Repeated = 0, 0, false // package lab sets these fields itself
	k.told(c, t)
	good := t.Samples[:0]
	for i := range t.Samples {
		if len(k.faults) > 0 {
			break
		}
		good = append(good, t.Samples[i])
		k.faults = append(k.faults, checkTold(c, &good[i], i, took, again)...)
		if len(k.faults) > 0 {
			good = good[:i]
		}
	}
	t.Samples = good
	if want := c.planned().Phases; len(k.faults) == 0 && t.Status == result.OK && len(good) != len(want) {
		k.protocol("samples", "has %d entries: want %d, of %s", len(good), len(want), strings.Join(want, ", "))
	}
	if len(k.faults) == 0 {
		return
	}
	first := k.faults[0]
	t.Status = statusOf(first.Code)
	t.Reason = &protocol.Reason{Code: first.Code, Message: first.Message, Detail: process.Detail(messages(k.faults[1:]), "")}
}

// mostWarnings is the largest number of warnings that a trial may have.
const mostWarnings = 100

// told checks a trial of another machine, except its samples. It shortens messages that are too long.
func (k *check) told(c *Case, t *result.Trial) {
	switch t.Status {
	case result.OK:
		if t.Reason != nil {
			k.protocol("reason", "is set: want none of a trial that is ok")
		}
		k.proven(c, t.Proof)
	case result.Refused, result.Wrong, result.Failed, result.Unavailable:
		if t.Reason == nil {
			k.protocol("reason", "is missing: want one, as the trial is %s", t.Status)
			break
		}
		t.Reason.Message, t.Reason.Detail = cutOff(t.Reason.Message), process.Detail(t.Reason.Detail, "")
	default:
		k.protocol("status", "is %.80q: want ok, refused, wrong, failed or unavailable", t.Status)
	}
	k.natural("took_ns", t.TookNS)
	if t.Loaded != "" && !isChecksum(t.Loaded) {
		k.protocol("loaded", "is %.80q: want 64 lower-case hexadecimal digits", t.Loaded)
	}
	if cpu := t.CPU; cpu != nil {
		k.natural("cpu.user_ns", cpu.UserNS)
		k.natural("cpu.system_ns", cpu.SystemNS)
		for key, v := range map[string]*int64{"involuntary_switches": cpu.Switches, "waited_ns": cpu.WaitedNS, "stolen_ns": cpu.StolenNS, "others_ns": cpu.OthersNS} {
			if v != nil {
				k.natural("cpu."+key, *v)
			}
		}
	}
	t.Warnings = CheckWarnings(t.Warnings, c.ID)
}

// CheckWarnings returns at most mostWarnings of another machine's warnings. It shortens long messages, and
// clears rounds and impossible values. If the warnings belong to a trial, the parameter "of" is the ID of its
// case. If they belong to the run, it is 0.
func CheckWarnings(list []result.Warning, of int) []result.Warning {
	list = list[:min(len(list), mostWarnings)]
	for i := range list {
		w := &list[i]
		w.Message, w.Round = cutOff(w.Message), 0
		if w.Case != 0 {
			w.Case = of
		}
		if math.Abs(w.Deviation) > most {
			w.Deviation = 0
		}
		if w.Share < 0 || w.Share > 1 {
			w.Share = 0
		}
	}
	return list
}

// cutOff shortens a message that is too long.
func cutOff(s string) string {
	if len(s) <= process.DetailEnd {
		return s
	}
	return strings.ToValidUTF8(s[:process.DetailEnd], "?") + " …"
}

// proven checks that the settings and the variant in a worker's proof (the values that the worker read
// back) are the requested ones.
func (k *check) proven(c *Case, p *protocol.Proof) {
	if p == nil || len(p.Connections) < c.Settings.Connections() {
		k.protocol("proof", "is missing, or lacks connections: want the settings of %d", c.Settings.Connections())
		return
	}
	if bad := driver.Differences(c.asked(), p.Connections, nil); bad != "" {
		k.faults = append(k.faults, Fault{protocol.CodeSetting, "proof", bad})
	}
	if bad := c.Ref.Unproven(p); bad != "" {
		k.faults = append(k.faults, Fault{protocol.CodeVariant, "proof", bad})
	}
}

// checkTold checks the i-th sample that another machine reports against the plan. It replaces the
// sample by the sample that [CheckSample] makes from the same data.
func checkTold(c *Case, s *result.Sample, i int, took time.Duration, again bool) []Fault {
	phases := c.planned().Phases
	if i >= len(phases) || s.Phase != phases[i] {
		return []Fault{{protocol.CodeProtocol, "samples", fmt.Sprintf("samples[%d] is of phase %.80q: want those of %s, in this order", i, s.Phase, strings.Join(phases, ", "))}}
	}
	p := &c.Plan.Phases[slices.IndexFunc(c.Plan.Phases, func(p plan.Phase) bool { return p.Name == s.Phase })]
	said := &protocol.Sample{
		Phase: s.Phase, WallNS: s.WallNS + s.ColdNS, ColdNS: s.ColdNS, FirstRowNS: s.FirstRowNS, Executions: s.Repeats, UserNS: s.UserNS, SystemNS: s.SystemNS, Operations: s.Operations, Failed: s.Failed, Rows: s.Rows,
		Costs:    s.Costs,
		Checksum: s.Checksum, Errors: s.Errors, Results: s.Results, Retries: s.Retries,
		Clients: s.Clients, WALRestarts: s.WALRestarts, Waits: s.Waits, Caches: s.Caches, Skipped: s.Skipped, Different: s.Different, Unlocked: s.Unlocked,
	}
	for _, l := range s.Latency {
		said.Latency = append(said.Latency, protocol.Latency{Operation: l.Operation, Count: l.Count, Failed: l.Failed, EndedEarly: l.EndedEarly, Histogram: l.Histogram})
	}
	k := &sampleCheck{check: check{of: "phase " + p.Name}, phase: p, said: said}
	k.natural("seen_ns", s.SeenNS)
	k.natural("slices", s.Slices)
	k.natural("repeats", s.Repeats)
	for _, ns := range s.SliceNS {
		k.natural("slice_ns", ns)
	}
	if s.ApartNS != nil {
		k.natural("apart_ns", *s.ApartNS)
	}
	if p.HTTP != nil {
		k.served(s, took)
		return k.faults
	}
	want := c.expected(p.Name)
	want.Unhashed = p.Query != nil && again
	m, _, faults := CheckSample(p, want, Seen{Possible: took}, said)
	m.SeenNS, m.ApartNS, m.Slices, m.Repeats, m.SliceNS = s.SeenNS, s.ApartNS, s.Slices, s.Repeats, s.SliceNS
	*s = *m
	return append(k.faults, faults...)
}

// served checks the sample of a server whose load ran on another machine.
func (c *sampleCheck) served(s *result.Sample, took time.Duration) {
	c.naturals()
	c.wall(Seen{Possible: took})
	c.errorList("errors", c.said.Errors)
	c.part("failed", s.Failed, s.Operations, "all operations")
	if s.Checksum != "" && !isChecksum(s.Checksum) {
		c.protocol("checksum", "is %.80q: want 64 lower-case hexadecimal digits", s.Checksum)
	}
	if len(s.Latency) != 1 {
		c.protocol("latency", "has %d entries: want one", len(s.Latency))
		return
	}
	h := c.histogram("latency[0].histogram", s.Latency[0].Histogram)
	if h == nil {
		return
	}
	s.Latency[0] = h.Summary(s.Phase)
	s.Latency[0].Failed = s.Failed
	if l := s.Load; l != nil && (l.LateP99NS < 0 || l.Ceiling < 0 || l.Ceiling > most || l.Clients < 0 || l.Rate < 0) {
		c.protocol("load", "has a number that cannot be")
	}
	s.Metric, s.Replayed = Metric(c.phase), false
}
