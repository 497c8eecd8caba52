package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/load"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// CheckSample checks a worker's sample of a phase. It compares the sample with the plan and with the parameter
// "saw", and checks that the values in the sample do not contradict each other. It returns the sample with
// values computed from it, warnings about values that are doubtful but not proven wrong, and all faults.
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

// CheckServed checks a server's sample of a phase against the outcome of the load generator. The returned
// sample has only the server's own figures.
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
	if answers == o.Sent { // every request was answered
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

type sampleCheck struct {
	check
	phase  *plan.Phase
	want   Expectation
	said   *protocol.Sample
	made   []latency.Summary
	least  float64 // lower bound for the sum of all latencies, in ns
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
		{"first_row_ns", m.FirstRowNS}, {"executions", m.Executions},
		{"operations", m.Operations}, {"failed", m.Failed}, {"rows", m.Rows}, {"retries", m.Retries},
		{"wal_restarts", m.WALRestarts}, {"began_us", m.BeganUS},
	} {
		c.natural(n.key, n.v)
	}
	for _, x := range result.Metrics {
		c.natural(x.Key, *x.Of(&m.Costs))
	}
	if m.Executions <= 1 {
		c.part("first_row_ns", m.FirstRowNS, max(0, m.WallNS), "wall_ns")
	}
	if x := m.Caches; x != nil {
		c.natural("caches.file_bytes", x.FileBytes)
		c.part("caches.cached_bytes", x.CachedBytes, x.FileBytes, "the size of the files")
		if share := x.Share(); share > result.CachedShare {
			c.doubt(result.WarningCached, "%.0f%% of the database stayed in the page cache, although it was dropped: another process may have mapped it", 100*share)
			c.doubts[len(c.doubts)-1].Share = share
		}
	}
}

// wall checks the wall time that the worker reported against the times in the parameter "saw".
func (c *sampleCheck) wall(saw Seen) {
	wall := time.Duration(c.said.WallNS)
	switch {
	case wall <= 0:
		c.protocol("wall_ns", "is %d: want the wall time inside the clock, above 0", c.said.WallNS)
	case c.said.ColdNS > c.said.WallNS/2 || c.said.ColdNS < -c.said.WallNS/2:
		c.protocol("cold_ns", "is %d: want at most half of wall_ns, %d, above or below 0", c.said.ColdNS, c.said.WallNS)
	case saw.Possible > 0 && wall > within(saw.Possible, clockSlack, clockShare):
		c.protocol("wall_ns", "is %d, %v: want at most %v, which is all the time that has gone by since the request", c.said.WallNS, wall, saw.Possible)
	case saw.Between > 0 && wall > within(saw.Between, doubtAfter, doubtShare):
		c.doubt(result.WarningClock, "the worker's clock ran for %v, but the lab saw only %v between phase and sample: the lab was held up, or the time is wrong", wall, saw.Between)
	}
}

// operations checks the numbers of operations and failures against the plan.
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

// replayed checks the figures of a replay, and adds warnings if the replay differed from the recording.
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

// toReplay advises how to make a replay equal to the recording.
func toReplay(r *plan.Replay) string {
	made := slices.ContainsFunc(r.Statements, func(s plan.Replayed) bool {
		return slices.ContainsFunc(s.Parameters, func(p plan.Recorded) bool { return p.Lengths != nil })
	})
	switch {
	case made:
		return "the recording has no values of parameters: record with Values to find the rows"
	case r.AtOnce() > 1:
		return "the clients ran in another order than in the recording, or the database differs from the recorded one"
	}
	return "begin with the database as it was when the recording began"
}

// counted says, for messages, what determines the number of operations.
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

// errors checks the counts of errors against the number of failed operations, and the retries against the mix.
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

// errorList checks a list of errors and returns the sum of their counts.
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

// rows checks the number of rows against the number that follows from the plan and the generated data.
func (c *sampleCheck) rows() {
	got, want := c.said.Rows, c.want.Rows
	if m := c.phase.Mix; m != nil {
		want = c.mixRows(m)
	}
	if want >= 0 && got != want {
		c.fault(protocol.CodeRows, "rows", "is %d: expected %d", got, want)
	}
}

// mixRows returns how many rows the operations of a mix must have read. It returns -1 if a
// statement does not declare its number of rows, or if some operations did not run
// completely.
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

// checksum checks the sample's checksum against the expected checksum if that is known. Otherwise package
// stats compares the drivers' checksums with each other.
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

// time adds a fault if the wall time is too short for the work done.
func (c *sampleCheck) time() {
	wall := within(time.Duration(c.said.WallNS), clockSlack, clockShare)
	clients, least, due := int64(1), time.Duration(0), ""
	closed := true // closed loop: each client begins an operation when its previous operation has ended
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
	if c.phase.Insert == nil { // an insert counts its rows as operations
		work += float64(max(c.said.Rows, 0)) * float64(fastestRow)
	}
	if need := time.Duration(work / float64(clients)); time.Duration(c.said.WallNS) < need {
		c.protocol("wall_ns", "is %d: want at least %v: no SQLite does this much in less", c.said.WallNS, need)
	}
}

// cpu adds a warning if the CPU time is more than the cores can have provided.
func (c *sampleCheck) cpu(cores int, wall time.Duration) {
	if cores <= 0 || wall <= 0 {
		return
	}
	used, had := time.Duration(c.said.UserNS+c.said.SystemNS), time.Duration(cores)*wall
	if used > within(had, doubtAfter, doubtShare) {
		c.doubt(result.WarningCPU, "user_ns and system_ns are %v in all, but %d cores have only %v in the wall time of %v", used, cores, had, wall)
	}
}

// sample returns the worker's sample in the form in which it is stored, with the values computed from it.
func (c *sampleCheck) sample() *result.Sample {
	m := c.said
	return &result.Sample{
		Phase: m.Phase, WallNS: m.WallNS - m.ColdNS, ColdNS: m.ColdNS, FirstRowNS: m.FirstRowNS, UserNS: m.UserNS, SystemNS: m.SystemNS,
		Operations: m.Operations, Failed: m.Failed, Rows: m.Rows, Metric: Metric(c.phase),
		Costs:    m.Costs,
		Checksum: m.Checksum, Errors: named(m.Errors), Results: named(m.Results), Retries: m.Retries, Latency: c.made,
		Clients: m.Clients, WALRestarts: m.WALRestarts, Waits: m.Waits, Caches: m.Caches,
		Replayed: c.phase.Replay != nil, Skipped: m.Skipped, Different: m.Different, Unlocked: named(m.Unlocked),
	}
}
