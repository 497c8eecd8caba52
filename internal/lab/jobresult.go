package lab

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// CheckJob checks the result of a job that was not interrupted. It compares the result with the job and with
// the time from the request to the result, which is the parameter "took". It also checks that the values in
// the result do not contradict each other. It adds to the result the values that can be computed from it.
func CheckJob(j *protocol.Job, r *protocol.JobResult, took time.Duration) []Fault {
	c := &jobCheck{check{of: "result"}, took}
	switch {
	case j.Generate != nil && r.Generate != nil:
		c.generated(j.Generate, r.Generate)
	case j.Bench != nil && r.Bench != nil:
		c.benched(r.Bench)
	case j.Pragma != nil && len(r.Pragma) == len(j.Pragma.Pragmas):
		c.pragmas(j.Pragma, r.Pragma)
	case j.Concurrent != nil && r.Concurrent != nil:
		c.concurred(j.Concurrent, r.Concurrent)
	case j.Paginate != nil && r.Paginate != nil:
		c.paginated(j.Paginate, r.Paginate)
	case j.DSN != nil && len(r.DSN) == len(j.DSN.Openings):
		c.opened(r.DSN)
	case j.Cluster != nil && r.Cluster != nil:
		c.clustered(j.Cluster, r.Cluster)
	case j.Commit != nil && r.Commit != nil:
		c.committed(j.Commit, r.Commit)
	case j.Judge != nil && len(r.Judge) == len(j.Judge.Paths):
		c.judged(r.Judge)
	case j.Answers != nil && r.Answers != nil:
	default:
		text, _ := json.Marshal(r)
		c.faults = []Fault{{protocol.CodeProtocol, "", fmt.Sprintf("the worker's result is not of the job that it was given: %.80q", text)}}
	}
	return c.faults
}

type jobCheck struct {
	check
	took time.Duration
}

// span adds a fault if a time is below the parameter "least" or above the time that the job took.
func (c *jobCheck) span(key string, ns int64, least time.Duration) {
	switch d := time.Duration(ns); {
	case d < least:
		c.protocol(key, "is %d: want at least %d", ns, least)
	case d > within(c.took, clockSlack, clockShare):
		c.protocol(key, "is %d, %v: want at most %v, which is all the time that the job has taken", ns, d, c.took)
	}
}

// atLeast returns the least time that a number of rows can take. The parameter "each" is the least time of
// one row. The result is always above 0.
func atLeast(rows int64, each time.Duration) time.Duration {
	return time.Duration(float64(min(max(rows, 1), most)) * float64(each))
}

func (c *jobCheck) committed(j *protocol.Commit, r *protocol.Committed) {
	least := 1
	if r.GaveUp {
		least = 0
	}
	if r.Acknowledged < least || r.Acknowledged > j.Transactions {
		c.protocol("commit.acknowledged", "is %d: want %d to %d, as many as were to be committed", r.Acknowledged, least, j.Transactions)
	}
	if n := len(r.Digests); j.Digests && n != r.Acknowledged+1 {
		c.protocol("commit.digests", "has %d hashes: want %d", n, r.Acknowledged+1)
	}
	if n := len(r.CommitNS); n > r.Acknowledged {
		c.protocol("commit.commit_ns", "has %d times of %d transactions", n, r.Acknowledged)
	}
	for _, ns := range r.CommitNS {
		c.span("commit.commit_ns", ns, 1)
	}
	if r.GaveUp && len(r.Failures) == 0 {
		c.protocol("commit.failures", "is empty: want the attempts that failed, because gave_up is true")
	}
	last := r.Acknowledged
	if r.GaveUp {
		last++
	}
	for i, f := range append(slices.Clone(r.Failures), r.Disturbed...) {
		if f.Transaction < 1 || f.Transaction > last {
			c.protocol(fmt.Sprintf("commit.failures[%d].transaction", i), "is %d: want 1 to %d", f.Transaction, last)
		}
	}
}

func (c *jobCheck) judged(r []protocol.JudgedState) {
	for i, s := range r {
		at := fmt.Sprintf("judge[%d]", i)
		c.natural(at+".foreign_keys", s.ForeignKeys)
		if s.Transaction < -1 {
			c.protocol(at+".transaction", "is %d: want -1 or more", s.Transaction)
		}
		if s.Others < -1 {
			c.protocol(at+".others", "is %d: want -1 or more", s.Others)
		}
		if s.Error == "" && s.Digest == "" {
			c.protocol(at+".digest", "is empty: want a hash, because there is no error")
		}
	}
}

func (c *jobCheck) generated(j *protocol.Generate, r *protocol.Generated) {
	if r.Rows != j.Rows {
		c.protocol("generate.rows", "is %d: want %d, as many as were to be generated", r.Rows, j.Rows)
	}
	c.span("generate.wall_ns", r.WallNS, atLeast(r.Rows, fastestExec))
	c.span("generate.vacuum_ns", r.VacuumNS, 0)
	if !j.Vacuum && r.VacuumNS > 0 {
		c.protocol("generate.vacuum_ns", "is %d: want 0, no VACUUM was asked for", r.VacuumNS)
	}
}

func (c *jobCheck) benched(r *protocol.Benched) {
	c.natural("bench.rows", r.Rows)
	c.span("bench.wall_ns", r.WallNS, atLeast(r.Rows, 1))
	for _, t := range []struct {
		key string
		ns  int64
	}{{"bench.after_query_ns", r.AfterQueryNS}, {"bench.first_row_ns", r.FirstRowNS}} {
		if t.ns < 0 || t.ns > r.WallNS {
			c.protocol(t.key, "is %d: want a number from 0 to %d, as wall_ns says", t.ns, r.WallNS)
		}
	}
	c.part("bench.mismatches", r.Mismatches, r.Rows, "all rows")
	if want := min(max(r.Mismatches, 0), 10); int64(len(r.First)) != want {
		c.protocol("bench.first_mismatches", "has %d entries: want %d", len(r.First), want)
	}
	for i, m := range r.First {
		if m.Row < 0 || m.Row >= r.Rows {
			c.protocol(fmt.Sprintf("bench.first_mismatches[%d].row", i), "is %d: want less than %d, the number of rows", m.Row, r.Rows)
		}
	}
}

func (c *jobCheck) pragmas(j *protocol.Pragma, r []protocol.PragmaRead) {
	for i, want := range j.Pragmas {
		at, got := fmt.Sprintf("pragma[%d]", i), &r[i]
		if got.Name != want.Name {
			c.protocol(at+".name", "is %.80q: want %q", got.Name, want.Name)
		}
		switch {
		case (got.Set == nil) != (want.Value == nil), want.Value != nil && *got.Set != *want.Value:
			c.protocol(at+".set", "is not the value that was to be set")
		case want.Value == nil && got.Took:
			c.protocol(at+".took", "is true: want false, nothing was to be set")
		case got.Took && len(got.Got) == 0:
			c.protocol(at+".took", "is true, but nothing was read back: want it in got")
		}
	}
}

func (c *jobCheck) concurred(j *protocol.Concurrent, r *protocol.Concurred) {
	c.span("concurrent.wall_ns", r.WallNS, time.Duration(j.DurationMS)*time.Millisecond)
	c.group("concurrent.readers", &r.Readers, j.Readers)
	c.group("concurrent.writers", &r.Writers, j.Writers)
}

// group checks the results of a job's readers or writers, and computes their latencies.
func (c *jobCheck) group(key string, g *protocol.Group, members int) {
	c.natural(key+".operations", g.Operations)
	c.natural(key+".rows", g.Rows)
	if members == 0 && g.Operations != 0 {
		c.protocol(key+".operations", "is %d: want 0, there are none of them", g.Operations)
	}
	c.part(key+".failed", g.Failed, g.Operations, "all operations")
	sum := int64(0)
	for i, e := range g.Errors {
		c.natural(fmt.Sprintf("%s.errors[%d].count", key, i), e.Count)
		sum += min(max(e.Count, 0), most)
	}
	if sum != g.Failed {
		c.protocol(key+".errors", "counts %d in all: want %d, as failed says", sum, g.Failed)
	}
	g.Errors = named(g.Errors)
	c.summarize(key+".latency", &g.Latency, g.Operations, "as operations says")
}

func (c *jobCheck) opened(r []protocol.Opened) {
	for i, o := range r {
		at := fmt.Sprintf("dsn[%d]", i)
		switch n := len(o.Connections); {
		case o.Failed != "" && n > 0:
			c.protocol(at+".connections", "has %d connections: want none, since failed says why there is none", n)
		case o.Failed == "" && (n < 1 || n > 2):
			c.protocol(at+".connections", "has %d connections: want 1 or 2, or the library's error in failed", n)
		case o.Second != "" && n == 2:
			c.protocol(at+".second", "says why there is no second connection, but there is one")
		}
	}
}

func (c *jobCheck) paginated(j *protocol.Paginate, r *protocol.Paginated) {
	c.natural("paginate.rows", r.Rows)
	var sum int64
	for i, p := range r.Depths {
		at := fmt.Sprintf("paginate.depths[%d]", i)
		c.part(at+".depth", p.Depth, r.Rows, "the rows of the table")
		for _, way := range []struct {
			key   string
			times []int64
		}{{at + ".offset_ns", p.OffsetNS}, {at + ".keyset_ns", p.KeysetNS}} {
			if len(way.times) != j.Repetitions {
				c.protocol(way.key, "has %d times: want %d, one for each repetition", len(way.times), j.Repetitions)
			}
			for _, ns := range way.times {
				if ns <= 0 || ns > most {
					c.protocol(way.key, "has a time of %d: want one above 0", ns)
					break
				}
				sum += ns
			}
		}
	}
	if len(r.Depths) == 0 {
		c.protocol("paginate.depths", "is empty: want the times of pages")
	}
	c.span("paginate.depths", sum, 0)
}

func (c *jobCheck) clustered(j *protocol.Cluster, r *protocol.Clustered) {
	if len(r.Members) == 0 {
		c.protocol("cluster.members", "is empty: want at least one")
	}
	for key, n := range map[string]int64{"rows": r.Rows, "disk_bytes": r.DiskBytes, "peak_rss_bytes": r.PeakRSSBytes} {
		c.natural("cluster."+key, n)
	}
	if len(r.Loads) != len(j.Loads) {
		c.protocol("cluster.loads", "has %d loads: want %d", len(r.Loads), len(j.Loads))
		return
	}
	for i := range r.Loads {
		l, at := &r.Loads[i], fmt.Sprintf("cluster.loads[%d]", i)
		if l.ClusterLoad != j.Loads[i] {
			c.protocol(at, "has %d clients and batches of %d: want %d and %d", l.Clients, l.Batch, j.Loads[i].Clients, j.Loads[i].Batch)
		}
		c.span(at+".wall_ns", l.WallNS, time.Duration(j.DurationMS)*time.Millisecond)
		c.natural(at+".failed", l.Failed)
		c.natural(at+".cpu_ns", l.CPUNS)
		c.part(at+".member_cpu_ns", l.MemberCPUNS, l.CPUNS, "the CPU time of all processes")
		c.summarize(at+".acknowledged", &l.Acknowledged, max(l.Acknowledged.Count, 1), "as count says, and at least 1")
		c.summarize(at+".visible", &l.Visible, max(l.Visible.Count, 1), "as count says, and at least 1")
	}
	if (r.Harmed == nil) != (j.Harm == nil) {
		c.protocol("cluster.harmed", "is there or not: want it if, and only if, harm was asked for")
		return
	}
	if j.Harm != nil {
		c.harmed(j.Harm, r)
	}
}

func (c *jobCheck) harmed(j *protocol.ClusterHarm, r *protocol.Clustered) {
	h := r.Harmed
	kinds := map[string]int{}
	for i, one := range h.Harms {
		at := fmt.Sprintf("cluster.harmed.harms[%d]", i)
		kinds[one.Kind]++
		c.span(at+".silent_ns", one.SilentNS, 0)
		c.span(at+".recovered_ns", one.RecoveredNS, 0)
	}
	if len(h.Harms) != j.Kills+j.Cuts || kinds[protocol.HarmKill] != j.Kills || kinds[protocol.HarmCut] != j.Cuts {
		c.protocol("cluster.harmed.harms", "has %d kills and %d cuts: want %d and %d", kinds[protocol.HarmKill], kinds[protocol.HarmCut], j.Kills, j.Cuts)
	}
	for key, n := range map[string]int64{"acknowledged": h.Acknowledged, "failed": h.Failed, "found": h.Found} {
		c.natural("cluster.harmed."+key, n)
	}
	c.part("cluster.harmed.lost", h.Lost, h.Acknowledged, "the acknowledged writes")
	if len(h.Missing) != len(r.Members) {
		c.protocol("cluster.harmed.missing", "has %d members: want %d", len(h.Missing), len(r.Members))
	}
	for i, m := range h.Missing {
		c.part(fmt.Sprintf("cluster.harmed.missing[%d].lost", i), m.Lost, h.Acknowledged, "the acknowledged writes")
		c.part(fmt.Sprintf("cluster.harmed.missing[%d].rows", i), m.Rows, h.Found, "the rows that were found")
	}
	if len(h.Reads) != len(j.Levels) {
		c.protocol("cluster.harmed.reads", "has %d levels: want %d", len(h.Reads), len(j.Levels))
	}
	for i, l := range h.Reads {
		at := fmt.Sprintf("cluster.harmed.reads[%d]", i)
		c.natural(at+".reads", l.Reads)
		c.part(at+".failed", l.Failed, l.Reads, "all reads")
		c.part(at+".stale", l.Stale, l.Reads, "all reads")
	}
}
