package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// latencies checks the sample's latencies against the plan and against each other, and
// summarizes them.
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

// latency checks the i-th entry of the latencies, and summarizes its histogram.
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
	s := latency.Summary{Operation: name, Failed: l.Failed, EndedEarly: l.EndedEarly, Histogram: l.Histogram}
	h := c.summarize(at, &s, l.Count, "as count says")
	if h == nil {
		return
	}
	least, greatest := h.Least()
	c.least += least
	if wall := time.Duration(c.said.WallNS); time.Duration(greatest) > within(wall, clockSlack, clockShare) {
		c.protocol(at+".histogram", "has a latency of %v: want at most the wall time, %v", time.Duration(greatest), wall)
	}
	c.made = append(c.made, s)
}

// share checks the number of executions of a mix's i-th operation. If the mix has a fixed count, the seed
// determines the number. Otherwise the number depends on time, and must roughly match the operation's weight.
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

// clients checks the number of operations of each client against the total.
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

// waits checks the reported waiting times of clients against the wall time.
func (c *sampleCheck) waits() {
	if c.phase.Mix == nil && c.phase.Replay == nil && len(c.said.Waits) > 0 {
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
		all := time.Duration(c.phase.Clients()) * within(time.Duration(c.said.WallNS), clockSlack, clockShare)
		if got := time.Duration(w.WaitNS); got > all {
			c.protocol(at+".wait_ns", "is %d, %v: want at most %v, the wall time of all clients", w.WaitNS, got, all)
		}
		if w.Count == 0 && w.WaitNS != 0 {
			c.protocol(at+".wait_ns", "is %d of no wait: want 0", w.WaitNS)
		}
	}
}
