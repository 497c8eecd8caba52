package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/load"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Fault is one way in which a worker's answer is not what the plan allows.
// Its message names the phase and the key, and says what was wanted.
type Fault struct {
	Code    string // of the trial's reason, such as [protocol.CodeRows]
	Key     string // in the sample's JSON, such as "latency[0].count"
	Message string
}

// Seen is what the lab itself saw of a phase. A field that is zero is not known.
type Seen struct {
	// Possible is the longest time that the worker's clock can have run: the time
	// from the request to this answer, less the time that earlier phases claim.
	Possible time.Duration

	Between time.Duration // from the answer phase to the answer sample
	Cores   int           // that the worker may use
}

const (
	// most is the greatest count or size that is believed. Statistics are computed
	// in doubles, which hold every integer up to it.
	most = 1 << 53

	// On one core every SQLite needs more than this to step to a row, and to insert
	// a row or execute a statement: about thirty instructions, and about two hundred.
	fastestRow  = 10 * time.Nanosecond
	fastestExec = 50 * time.Nanosecond

	// Clocks are read one after the other, so two of them may differ by this much
	// plus this share.
	clockSlack = 100 * time.Microsecond
	clockShare = 0.01

	// The lab doubts a time that exceeds what it saw by more than this much plus
	// this share.
	doubtAfter = 100 * time.Millisecond
	doubtShare = 0.05

	// unlikely is how many standard deviations the number of executions of an
	// operation may differ from what its weight predicts.
	unlikely = 8
)

// Metric returns the metric that a phase is judged by; see [result.Sample].
func Metric(p *plan.Phase) string {
	switch {
	case p.Mix != nil && p.Mix.Rate > 0, p.HTTP != nil && p.HTTP.Rate > 0, p.Replay != nil && p.Replay.Speed > 0:
		return result.MetricLatency
	case p.Mix != nil, p.HTTP != nil, p.Replay != nil:
		return result.MetricTimePerOp
	}
	return result.MetricTime
}

// CheckSample compares what a worker says of a phase with the plan, with itself, and
// with what the lab saw. It returns the sample with what the lab computes, doubts that
// do not prove anything, and every fault in the order of the checks.
func CheckSample(p *plan.Phase, want Expectation, saw Seen, said *protocol.Sample) (*result.Sample, []result.Warning, []Fault) {
	c := &sampleCheck{check: check{of: "phase " + p.Name}, phase: p, want: want, said: said}
	c.naturals()
	c.wall(saw)
	c.operations()
	c.replayed()
	c.errors()
	c.latencies()
	c.clients()
	c.waits()
	c.rows()
	c.checksum()
	c.time()
	c.cpu(saw.Cores, time.Duration(said.WallNS))
	m := c.sample()
	m.SeenNS = int64(saw.Between)
	return m, c.doubts, c.faults
}

// CheckTrial compares a trial that another machine tells of with what was asked of it, as
// what a worker says is compared there: no machine is believed more than a worker. What
// cannot be is the trial's reason. took is how long the trial took as seen from here, and
// again says that the case has had a trial that was OK.
func CheckTrial(c *Case, t *result.Trial, took time.Duration, again bool) {
	k := &check{of: "what the machine says of the trial"}
	t.Round, t.Order, t.Repeated = 0, 0, false // the lab says them
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
	t.Status, t.Reason = statusOf(k.faults[0].Code), &protocol.Reason{Code: k.faults[0].Code, Message: k.faults[0].Message}
	var more []string
	for _, f := range k.faults[1:] {
		more = append(more, f.Message)
	}
	t.Reason.Detail = process.Detail(strings.Join(more, "\n"), "")
}

// mostWarnings is how many warnings a trial may have.
const mostWarnings = 100

// told checks what another machine says of a trial, apart from its samples, and cuts off
// texts that are too long.
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

// CheckWarnings returns the warnings of another machine, of a case or of the whole run, cut
// off where they are longer than anybody reads. A share that cannot be is left out.
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

// cutOff cuts off what is too long for a message.
func cutOff(s string) string {
	if len(s) <= process.DetailEnd {
		return s
	}
	return strings.ToValidUTF8(s[:process.DetailEnd], "?") + " …"
}

// proven compares a proof with what was asked for.
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

// checkTold compares the i-th sample that another machine tells of with the plan, and puts
// in its place what the lab makes of it.
func checkTold(c *Case, s *result.Sample, i int, took time.Duration, again bool) []Fault {
	phases := c.planned().Phases
	if i >= len(phases) || s.Phase != phases[i] {
		return []Fault{{protocol.CodeProtocol, "samples", fmt.Sprintf("samples[%d] is of phase %.80q: want those of %s, in this order", i, s.Phase, strings.Join(phases, ", "))}}
	}
	at := slices.IndexFunc(c.Plan.Phases, func(p plan.Phase) bool { return p.Name == s.Phase })
	if at < 0 {
		return []Fault{{protocol.CodeProtocol, "samples", fmt.Sprintf("samples[%d] is of phase %.80q, which is not in the plan", i, s.Phase)}}
	}
	p := &c.Plan.Phases[at]
	said := &protocol.Sample{
		Phase: s.Phase, WallNS: s.WallNS, UserNS: s.UserNS, SystemNS: s.SystemNS, Operations: s.Operations, Failed: s.Failed, Rows: s.Rows,
		Costs:    s.Costs,
		Checksum: s.Checksum, Errors: s.Errors, Results: s.Results, Retries: s.Retries,
		Clients: s.Clients, WALRestarts: s.WALRestarts, Waits: s.Waits, Skipped: s.Skipped, Different: s.Different, Unlocked: s.Unlocked,
	}
	for _, l := range s.Latency {
		said.Latency = append(said.Latency, protocol.Latency{Operation: l.Operation, Count: l.Count, Failed: l.Failed, EndedEarly: l.EndedEarly, Histogram: l.Histogram})
	}
	k := &sampleCheck{check: check{of: "phase " + p.Name}, phase: p, said: said}
	k.natural("seen_ns", s.SeenNS)
	if s.ApartNS != nil {
		k.natural("apart_ns", *s.ApartNS)
	}
	if p.HTTP != nil {
		k.served(s, took)
		return k.faults
	}
	want, ok := c.Expect[p.Name]
	if !ok {
		want = Expectation{Operations: -1, Rows: -1}
	}
	want.Unhashed = p.Query != nil && again
	m, _, faults := CheckSample(p, want, Seen{Possible: took}, said)
	m.SeenNS, m.ApartNS = s.SeenNS, s.ApartNS
	*s = *m
	return append(k.faults, faults...)
}

// served checks the sample of a server under a load that another machine has seen.
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
	h, err := latency.Decode(s.Latency[0].Histogram)
	if err != nil {
		c.protocol("latency[0].histogram", "cannot be read: %v", err)
		return
	}
	s.Latency[0] = h.Summary(s.Phase)
	s.Latency[0].Failed = s.Failed
	if l := s.Load; l != nil && (l.LateP99NS < 0 || l.Ceiling < 0 || l.Ceiling > most || l.Clients < 0 || l.Rate < 0) {
		c.protocol("load", "has a number that cannot be")
	}
	s.Metric, s.Replayed = Metric(c.phase), false
}

// CheckServed compares what a server says of a phase with what the load generator
// saw. The sample has only the server's own figures.
func CheckServed(p *plan.Phase, said *protocol.Sample, o *load.Outcome, cores int) (*result.Sample, []result.Warning, []Fault) {
	c := &sampleCheck{check: check{of: "phase " + p.Name}, phase: p, said: said}
	c.naturals()
	c.errorCounts()
	if len(said.Latency) > 0 {
		c.protocol("latency", "has %d entries: want none, the lab measures it", len(said.Latency))
	}
	if said.Checksum != "" {
		c.protocol("checksum", "is set: want none, the lab makes it")
	}
	answers := int64(0)
	for _, n := range o.Statuses {
		answers += n
	}
	if answers == o.Sent { // no answer was lost on the way
		if said.Operations != answers {
			c.protocol("operations", "is %d: want %d, the requests that were answered", said.Operations, answers)
		}
		if locked := o.Statuses[503]; said.Failed != locked {
			c.protocol("failed", "is %d: want %d, the answers with status 503", said.Failed, locked)
		}
		if found := o.Statuses[200]; p.HTTP.SQL != "" && said.Rows != found {
			c.protocol("rows", "is %d: want %d, the answers with status 200", said.Rows, found)
		}
	}
	c.cpu(cores, o.Wall)
	return c.sample(), c.doubts, c.faults
}

// check collects the faults of one answer.
type check struct {
	of     string // what the messages begin with
	faults []Fault
}

func (c *check) fault(code, key, format string, args ...any) {
	c.faults = append(c.faults, Fault{code, key, fmt.Sprintf("%s: %s %s", c.of, key, fmt.Sprintf(format, args...))})
}

func (c *check) protocol(key, format string, args ...any) {
	c.fault(protocol.CodeProtocol, key, format, args...)
}

// natural finds a number that cannot be a count or a measured value.
func (c *check) natural(key string, v int64) {
	if v < 0 || v > most {
		c.protocol(key, "is %d: want a number from 0 to 2^53", v)
	}
}

// part finds a number of things that is more than there are.
func (c *check) part(key string, v, all int64, words string) {
	if v < 0 || v > max(all, 0) {
		c.protocol(key, "is %d: want at most %d, %s", v, all, words)
	}
}

type sampleCheck struct {
	check
	phase  *plan.Phase
	want   Expectation
	said   *protocol.Sample
	made   []latency.Summary
	least  float64 // sum of all latencies in ns, at least
	doubts []result.Warning
}

func (c *sampleCheck) doubt(code, format string, args ...any) {
	c.doubts = append(c.doubts, result.Warning{Code: code, Phase: c.phase.Name, Message: fmt.Sprintf(format, args...)})
}

func (c *sampleCheck) naturals() {
	m := c.said
	for _, n := range []struct {
		key string
		v   int64
	}{
		{"wall_ns", m.WallNS}, {"user_ns", m.UserNS}, {"system_ns", m.SystemNS},
		{"operations", m.Operations}, {"failed", m.Failed}, {"rows", m.Rows}, {"retries", m.Retries},
		{"wal_restarts", m.WALRestarts}, {"began_us", m.BeganUS},
	} {
		c.natural(n.key, n.v)
	}
	for _, x := range result.Metrics {
		c.natural(x.Key, *x.Of(&m.Costs))
	}
}

// wall compares the wall time with what the lab saw.
func (c *sampleCheck) wall(saw Seen) {
	wall := time.Duration(c.said.WallNS)
	switch {
	case wall <= 0:
		c.protocol("wall_ns", "is %d: want the wall time inside the clock, above 0", c.said.WallNS)
	case saw.Possible > 0 && wall > within(saw.Possible, clockSlack, clockShare):
		c.protocol("wall_ns", "is %d, %v: want at most %v, which is all the time that has gone by since the request", c.said.WallNS, wall, saw.Possible)
	case saw.Between > 0 && wall > within(saw.Between, doubtAfter, doubtShare):
		c.doubt(result.WarningClock, "the worker's clock ran for %v, but the lab saw only %v between phase and sample: the lab was held up, or the time is wrong", wall, saw.Between)
	}
}

// within returns d with some slack.
func within(d, slack time.Duration, share float64) time.Duration {
	return d + slack + time.Duration(share*float64(d))
}

// operations compares the numbers of operations and failures with the plan.
func (c *sampleCheck) operations() {
	m, got := c.phase.Mix, c.said.Operations
	switch {
	case c.want.Operations >= 0 && got+c.said.Skipped != c.want.Operations:
		c.protocol("operations", "is %d: want %d, %s", got, c.want.Operations, c.counted())
	case got <= 0:
		c.protocol("operations", "is %d: want a number above 0", got)
	case m != nil && m.Rate > 0 && m.DurationMS > 0:
		if due := int64(math.Ceil(m.Rate * float64(m.DurationMS) / 1e3)); got > due+1 {
			c.protocol("operations", "is %d: want at most %d, which is all that fall due in %v at %v per second",
				got, due, time.Duration(m.DurationMS)*time.Millisecond, m.Rate)
		}
	}
	switch {
	case c.said.Failed < 0 || c.said.Failed > max(got, 0):
		c.protocol("failed", "is %d: want at most %d, all operations", c.said.Failed, got)
	case m == nil && c.phase.Replay == nil && c.said.Failed > 0:
		c.protocol("failed", "is %d: want 0, an operation that fails ends this kind of phase", c.said.Failed)
	case m != nil && got > 0 && c.said.Failed == got:
		c.fault(protocol.CodeNoOperation, "failed", "is %d: not one operation of the mix succeeded", got)
	case c.phase.Replay != nil && got > 0 && c.said.Failed == got:
		c.fault(protocol.CodeNoOperation, "failed", "is %d: not one event of the replay succeeded", got)
	}
}

// replayed doubts a replay that did not do what was recorded.
func (c *sampleCheck) replayed() {
	m, r := c.said, c.phase.Replay
	if r == nil {
		if m.Skipped != 0 || m.Different != 0 || len(m.Unlocked) > 0 {
			c.protocol("skipped", "is %d, different %d, and unlocked has %d entries: want none of them, only a replay has them", m.Skipped, m.Different, len(m.Unlocked))
		}
		return
	}
	all := int64(r.Events.Len())
	c.part("skipped", m.Skipped, all, "all events")
	unlocked := c.errorList("unlocked", m.Unlocked)
	c.part("unlocked", unlocked, m.Operations, "the operations")
	c.part("different", m.Different, m.Operations-unlocked, "the operations without those in unlocked")
	if m.Skipped > 0 {
		c.doubt(result.WarningSkipped, "%d of %d events of the recording were not run, because their transaction had failed", m.Skipped, all)
	}
	if m.Different > 0 {
		c.doubt(result.WarningDifferent, "%d of %d events did not end as recorded, with as many rows read or changed, the same insert IDs and the same success: %s", m.Different, m.Operations, toReplay(r))
	}
	if unlocked > 0 {
		var with []string
		for _, e := range named(m.Unlocked) {
			with = append(with, e.Name)
		}
		noun := "statements failed with %s when they were"
		if unlocked == 1 {
			noun = "statement failed with %s when it was"
		}
		c.doubt(result.WarningUnlocked, "%d "+noun+" recorded, and succeeded now", unlocked, strings.Join(with, " or "))
	}
}

// toReplay says what may make a replay do what was recorded.
func toReplay(r *plan.Replay) string {
	made := slices.ContainsFunc(r.Statements, func(s plan.Replayed) bool {
		return slices.ContainsFunc(s.Parameters, func(p plan.Recorded) bool { return p.Lengths != nil })
	})
	switch {
	case made:
		return "the recording has no values of parameters: record with Values to find the rows"
	case r.AtOnce() > 1:
		return "clients meet in another order than then, or the database is not that of then"
	}
	return "begin with the database as it was when the recording began"
}

// counted says what determines the number of operations.
func (c *sampleCheck) counted() string {
	switch {
	case c.phase.Insert != nil:
		return "the rows of its data sets"
	case c.phase.Query != nil:
		return "its executions by all clients"
	case c.phase.Mix != nil:
		return "its count"
	case c.phase.Replay != nil:
		return "its events, with those skipped"
	}
	return "the script"
}

// errors compares the errors with failed, and the retries with the mix.
func (c *sampleCheck) errors() {
	c.errorCounts()
	m, most := c.phase.Mix, int64(0)
	if m == nil && c.phase.Replay == nil && len(c.said.Results) > 0 {
		c.protocol("results", "has %d entries: want none, only a mix and a replay have results", len(c.said.Results))
	}
	if m != nil && m.Retry != nil && c.said.Operations > 0 {
		most = math.MaxInt64
		if c.said.Operations <= math.MaxInt64/m.Retry.Attempts {
			most = c.said.Operations * (m.Retry.Attempts - 1)
		}
	}
	if c.said.Retries > most {
		c.protocol("retries", "is %d: want at most %d, as the mix allows", c.said.Retries, most)
	}
}

func (c *sampleCheck) errorCounts() {
	sum := c.errorList("errors", c.said.Errors)
	if sum != c.said.Failed {
		c.protocol("errors", "counts %d in all: want %d, as failed says", sum, c.said.Failed)
	}
	c.errorList("results", c.said.Results)
	for i, e := range c.said.Errors {
		p := e.Code & 0xff
		switch {
		case c.phase.Replay != nil, p == driver.CodeBusy, p == driver.CodeLocked:
		case e.Code != driver.CodeCanceled:
			c.protocol(fmt.Sprintf("errors[%d].code", i), "is %d: want one of a lock, any other error ends the trial", e.Code)
		case c.phase.Mix == nil || !slices.ContainsFunc(c.phase.Mix.Operations, func(o plan.Operation) bool { return o.TimeoutMS > 0 }):
			c.protocol(fmt.Sprintf("errors[%d].code", i), "is %d, canceled: no operation has a timeout", e.Code)
		}
	}
	for i, e := range c.said.Results {
		declared := func(o plan.Operation) bool { return o.IsResult(e.Code, true) }
		if c.phase.Mix != nil && !slices.ContainsFunc(c.phase.Mix.Operations, declared) {
			c.protocol(fmt.Sprintf("results[%d].code", i), "is %d: want one that an operation declares", e.Code)
		}
	}
}

// errorList checks a list of errors and adds up their counts. The lab, not the
// worker, gives them their names.
func (c *sampleCheck) errorList(key string, list []protocol.ErrorCount) (sum int64) {
	seen := map[int]bool{}
	for i, e := range list {
		at := fmt.Sprintf("%s[%d]", key, i)
		switch {
		case e.Code <= 0 && (e.Code != driver.CodeCanceled || key != "errors"):
			c.protocol(at+".code", "is %d: want an extended result code of SQLite", e.Code)
		case seen[e.Code]:
			c.protocol(at+".code", "is %d, as in an earlier entry: want one entry for each code", e.Code)
		}
		seen[e.Code] = true
		if e.Count <= 0 || e.Count > most {
			c.protocol(at+".count", "is %d: want a number above 0", e.Count)
			continue
		}
		c.natural(at+".wait_ns", e.WaitNS)
		if n := len(e.Message); n > protocol.MaxMessage || n > 0 && (c.phase.Replay == nil || key != "errors") {
			c.protocol(at+".message", "has %d bytes: want at most %d, and none but of an error of a replay", n, protocol.MaxMessage)
		}
		sum += e.Count
	}
	return sum
}

// latencies compares the latencies with the plan and with each other, and sums them
// up.
func (c *sampleCheck) latencies() {
	var names []string
	switch {
	case c.phase.Mix != nil:
		for _, o := range c.phase.Mix.Operations {
			names = append(names, o.Name)
		}
	case c.phase.Replay != nil:
		names = c.phase.Replay.Operations
	case c.phase.Query != nil && c.want.Operations > int64(max(c.phase.Query.Clients, 1)):
		names = []string{"query"}
	}
	if len(c.said.Latency) != len(names) {
		want := fmt.Sprint(len(names))
		if names != nil {
			want += ", of " + strings.Join(names, ", ")
		}
		c.protocol("latency", "has %d entries: want %s", len(c.said.Latency), want)
		return
	}
	if names == nil {
		return
	}
	var count, failed int64
	for i := range c.said.Latency {
		c.latency(i, names[i])
		count += c.said.Latency[i].Count
		failed += c.said.Latency[i].Failed
	}
	if count != c.said.Operations {
		c.protocol("latency", "counts %d in all: want %d, as operations says", count, c.said.Operations)
	}
	if failed != c.said.Failed {
		c.protocol("latency", "has %d failed in all: want %d, as failed says", failed, c.said.Failed)
	}
}

// latency checks the i-th latency and computes what its histogram says.
func (c *sampleCheck) latency(i int, name string) {
	l, at := &c.said.Latency[i], fmt.Sprintf("latency[%d]", i)
	if l.Operation != name {
		c.protocol(at+".operation", "is %q: want %q, in the order of the plan", l.Operation, name)
	}
	c.natural(at+".count", l.Count)
	c.part(at+".failed", l.Failed, l.Count, "its count")
	c.part(at+".ended_early", l.EndedEarly, l.Count-l.Failed, "those that did not fail")
	if m := c.phase.Mix; m != nil && l.EndedEarly > 0 &&
		!slices.ContainsFunc(m.Operations[i].Calls, func(call plan.MixCall) bool { return call.IfEmpty != "" }) {
		c.protocol(at+".ended_early", "is %d: want 0, as no statement of %s has if_empty", l.EndedEarly, name)
	}
	c.share(i, at)
	h, err := latency.Decode(l.Histogram)
	if err != nil {
		c.protocol(at+".histogram", "cannot be read: %v: want an HdrHistogram in its V2 compressed encoding", err)
		return
	}
	s := h.Summary(name)
	if s.Count != l.Count {
		c.protocol(at+".histogram", "holds %d latencies: want %d, as count says", s.Count, l.Count)
	}
	least, greatest := h.Least()
	c.least += least
	if wall := time.Duration(c.said.WallNS); time.Duration(greatest) > within(wall, clockSlack, clockShare) {
		c.protocol(at+".histogram", "has a latency of %v: want at most the wall time, %v", time.Duration(greatest), wall)
	}
	s.Failed, s.EndedEarly, s.Histogram = l.Failed, l.EndedEarly, l.Histogram
	c.made = append(c.made, s)
}

// share compares the number of executions of the i-th operation of a mix with what the
// seed chooses or, if it depends on time, with the operation's weight.
func (c *sampleCheck) share(i int, at string) {
	m, l := c.phase.Mix, &c.said.Latency[i]
	if m == nil {
		return
	}
	if c.want.Executions != nil {
		if l.Count != c.want.Executions[i] {
			c.protocol(at+".count", "is %d: want %d, as the seed chooses", l.Count, c.want.Executions[i])
		}
		return
	}
	weights := int64(0)
	for _, o := range m.Operations {
		weights += o.Weight
	}
	n, p := float64(c.said.Operations), float64(m.Operations[i].Weight)/float64(weights)
	if off := math.Abs(float64(l.Count) - n*p); off > unlikely*math.Sqrt(n*p*(1-p))+float64(m.Clients) {
		c.protocol(at+".count", "is %d of %d operations: want about %.0f, by its weight of %d in %d",
			l.Count, c.said.Operations, n*p, m.Operations[i].Weight, weights)
	}
}

// clients compares how many operations each client did with how many there were in all.
func (c *sampleCheck) clients() {
	list := c.said.Clients
	if list == nil {
		return
	}
	m := c.phase.Mix
	if m == nil || m.DurationMS == 0 || len(list) != m.Clients {
		c.protocol("clients", "has %d entries: want one for each client of a mix with a duration", len(list))
		return
	}
	sum := int64(0)
	for i, n := range list {
		c.part(fmt.Sprintf("clients[%d]", i), n, c.said.Operations, "all operations")
		sum += n
	}
	if done := c.said.Operations - c.said.Failed; sum != done {
		c.protocol("clients", "counts %d in all: want %d, the operations that did not fail", sum, done)
	}
}

// waits compares how long clients have waited with the time that they had.
func (c *sampleCheck) waits() {
	clients := 0
	switch {
	case c.phase.Mix != nil:
		clients = c.phase.Mix.Clients
	case c.phase.Replay != nil:
		clients = c.phase.Replay.AtOnce()
	case len(c.said.Waits) > 0:
		c.protocol("waits", "has %d entries: want none, only the clients of a mix or a replay have them", len(c.said.Waits))
		return
	}
	for i, w := range c.said.Waits {
		at := fmt.Sprintf("waits[%d]", i)
		if !slices.Contains(protocol.WaitsFor(), w.For) {
			c.protocol(at+".for", "is %q: want one of %s", w.For, strings.Join(protocol.WaitsFor(), ", "))
		}
		if slices.ContainsFunc(c.said.Waits[:i], func(x protocol.Wait) bool { return x.For == w.For }) {
			c.protocol(at+".for", "is %q, as in an earlier entry", w.For)
		}
		c.natural(at+".count", w.Count)
		c.natural(at+".wait_ns", w.WaitNS)
		all := time.Duration(clients) * within(time.Duration(c.said.WallNS), clockSlack, clockShare)
		if got := time.Duration(w.WaitNS); got > all {
			c.protocol(at+".wait_ns", "is %d, %v: want at most %v, the wall time of all clients", w.WaitNS, got, all)
		}
		if w.Count == 0 && w.WaitNS != 0 {
			c.protocol(at+".wait_ns", "is %d of no wait: want 0", w.WaitNS)
		}
	}
}

// rows compares the number of rows with the generators and the plan.
func (c *sampleCheck) rows() {
	got, want := c.said.Rows, c.want.Rows
	if m := c.phase.Mix; m != nil {
		want = c.mixRows(m)
	}
	if want >= 0 && got != want {
		c.fault(protocol.CodeRows, "rows", "is %d: expected %d", got, want)
	}
}

// mixRows returns how many rows the executions of a mix must have read. It returns -1
// if a statement does not say how many it reads, or if some operations did not run to
// their end.
func (c *sampleCheck) mixRows(m *plan.Mix) int64 {
	if c.said.Failed > 0 || c.said.Retries > 0 || len(c.said.Results) > 0 || len(c.said.Latency) != len(m.Operations) {
		return -1
	}
	sum := int64(0)
	for i, o := range m.Operations {
		per := int64(0)
		for _, call := range o.Calls {
			switch {
			case len(call.Columns) == 0:
			case call.Rows < 0:
				return -1
			default:
				per += call.Rows
			}
		}
		if c.said.Latency[i].EndedEarly > 0 {
			return -1
		}
		sum += per * c.said.Latency[i].Count
	}
	return sum
}

// checksum compares the checksum with the generators' if they know the answer. If they
// don't, package stats compares the drivers.
func (c *sampleCheck) checksum() {
	got, wanted := c.said.Checksum, c.phase.Query != nil || c.phase.Mix != nil
	switch {
	case !wanted && got != "":
		c.protocol("checksum", "is set: want none of this kind of phase")
	case !wanted, got == "" && c.want.Unhashed:
	case got == "":
		c.protocol("checksum", "is missing: want 64 lower-case hexadecimal digits, the SHA-256 of what the phase returns")
	case !isChecksum(got):
		c.protocol("checksum", "is %.80q, of %d characters: want 64 lower-case hexadecimal digits", got, len(got))
	case c.want.Checksum != "" && got != c.want.Checksum:
		c.fault(protocol.CodeChecksum, "checksum", "is %s: expected %s: the values returned are not the expected ones", short(got), short(c.want.Checksum))
	}
}

func isChecksum(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// short returns enough of a checksum to tell it from another. The comparison uses
// whole checksums. The chance that two different ones look the same when cut off is
// 1 in 2^48.
func short(checksum string) string { return checksum[:12] + "…" }

// time finds a wall time that is too short for what was done.
func (c *sampleCheck) time() {
	wall := within(time.Duration(c.said.WallNS), clockSlack, clockShare)
	clients, least, due := int64(1), time.Duration(0), ""
	closed := true // a client's latencies follow one another
	switch m, q := c.phase.Mix, c.phase.Query; {
	case c.phase.Replay != nil:
		r := c.phase.Replay
		clients, closed = int64(r.AtOnce()), r.Speed == 0
		if r.Speed > 0 && c.said.Skipped == 0 {
			least = time.Duration(float64(r.Events.AtNS[r.Events.Len()-1]) / r.Speed)
			due = "when the last event fell due"
		}
	case q != nil:
		clients = int64(max(q.Clients, 1))
	case m != nil:
		clients, closed = int64(m.Clients), m.Rate == 0
		switch {
		case m.Rate > 0:
			least = time.Duration(float64(c.said.Operations-1) / m.Rate * 1e9)
			due = fmt.Sprintf("when the last of %d operations fell due", c.said.Operations)
		case m.DurationMS > 0:
			least, due = time.Duration(m.DurationMS)*time.Millisecond, "the duration of the phase"
		}
	}
	if wall < least {
		c.protocol("wall_ns", "is %d: want at least %v, %s", c.said.WallNS, least, due)
		return
	}
	if sum := time.Duration(c.least / float64(clients)); wall < sum && closed {
		c.protocol("wall_ns", "is %d: want at least %v, the sum of the latencies by the number of clients, %d", c.said.WallNS, sum, clients)
		return
	}
	work := float64(max(c.said.Operations, 0)) * float64(fastestExec)
	if c.phase.Insert == nil { // the operations of an insert are its rows
		work += float64(max(c.said.Rows, 0)) * float64(fastestRow)
	}
	if need := time.Duration(work / float64(clients)); time.Duration(c.said.WallNS) < need {
		c.protocol("wall_ns", "is %d: want at least %v: no SQLite does this much in less", c.said.WallNS, need)
	}
}

// cpu doubts CPU time that is more than the cores can have provided.
func (c *sampleCheck) cpu(cores int, wall time.Duration) {
	if cores <= 0 || wall <= 0 {
		return
	}
	used, had := time.Duration(c.said.UserNS+c.said.SystemNS), time.Duration(cores)*wall
	if used > within(had, doubtAfter, doubtShare) {
		c.doubt(result.WarningCPU, "user_ns and system_ns are %v in all, but %d cores have only %v in the wall time of %v", used, cores, had, wall)
	}
}

// sample returns what the worker says together with what the lab computes.
func (c *sampleCheck) sample() *result.Sample {
	m := c.said
	return &result.Sample{
		Phase: m.Phase, WallNS: m.WallNS, UserNS: m.UserNS, SystemNS: m.SystemNS,
		Operations: m.Operations, Failed: m.Failed, Rows: m.Rows, Metric: Metric(c.phase),
		Costs:    m.Costs,
		Checksum: m.Checksum, Errors: named(m.Errors), Results: named(m.Results), Retries: m.Retries, Latency: c.made,
		Clients: m.Clients, WALRestarts: m.WALRestarts, Waits: m.Waits,
		Replayed: c.phase.Replay != nil, Skipped: m.Skipped, Different: m.Different, Unlocked: named(m.Unlocked),
	}
}

// named returns the errors with SQLite's names for their codes.
func named(list []protocol.ErrorCount) []protocol.ErrorCount {
	list = slices.Clone(list)
	for i := range list {
		list[i].Name = driver.CodeName(list[i].Code)
	}
	return list
}
