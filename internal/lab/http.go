package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/load"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/httpserver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

const (
	// maxRequests is the largest number of different requests in a load. A longer load
	// repeats them.
	maxRequests = 100_000

	// maxVerified is the largest number of requests whose answers are verified before the clock starts. These
	// requests are sent one after another.
	maxVerified = 1000

	// nearCeiling is a fraction of the ceiling (see the type "ceiling"). If a rate is above that fraction, the
	// load generator limits the rate as much as the server does.
	nearCeiling = 0.8

	// missedRate is a fraction of the fixed rate. If the rate reached is below that fraction, the server was
	// too slow.
	missedRate = 0.99

	// lateShare is a fraction of a latency. If the load generator's own delay exceeds that fraction, the
	// latency mainly shows this delay.
	lateShare = 0.5

	// The ceiling is the best rate that the load generator reaches in ceilingPhases loads, each of which lasts
	// for ceilingLasts. The best rate is used because other work on the machine can only lower a rate. After
	// the time ceilingHolds, the ceiling is measured again, because the speed of the machine may change.
	ceilingPhases = 3
	ceilingLasts  = 300 * time.Millisecond
	ceilingHolds  = 20 * time.Second
)

// ceiling is the rate that the load generator reaches with a server that does nothing.
type ceiling struct {
	perSecond float64   // requests per second: the maximum of the field "recent"
	recent    []float64 // rates of the last measurements, oldest first
	until     time.Time // after this time the ceiling is measured again
}

// ceilingRecent is how many of the last measurements of a ceiling are used. Several are used because the
// machine may have been busy during one of them.
const ceilingRecent = 4

// requestType returns the type of the request that makes a worker run the plan.
func requestType(p *plan.Plan) string {
	if slices.ContainsFunc(p.Phases, func(p plan.Phase) bool { return p.HTTP != nil }) {
		return protocol.TypeServe
	}
	return protocol.TypeTrial
}

// traffic is the load on the server in one http phase, and its outcome.
type traffic struct {
	def      *plan.HTTP
	load     load.Load
	checksum string
	outcome  *load.Outcome
}

// requests generates the requests of a phase's load. If the expected answers can be computed from the
// generated data, it generates them too.
func requests(resolved *plan.Plan, phase string, h *plan.HTTP, seed uint64) ([]load.Request, error) {
	n := int64(maxRequests)
	if h.Count > 0 {
		n = min(n, h.Count)
	}
	if len(h.Parameters) == 0 {
		n = 1
	}
	list := make([]load.Request, n)
	gen, err := plan.NewGenerator(seed, resolved)
	if err != nil {
		return nil, err
	}
	var b driver.Batch
	if err := gen.FillParameters(&b, phase, h.Parameters, "", 0, 1, int(n)); err != nil {
		return nil, err
	}
	for r := range list {
		list[r].Target = httpserver.Target(h.Parameters, &b, r)
	}
	picked, ok := h.Picked()
	if !ok {
		return list, nil
	}
	// Repeat the same random choices of rows for each column that the answers contain.
	columns := make([]driver.Batch, len(h.Returns.Columns))
	for i, name := range h.Returns.Columns {
		p := picked
		g := *picked.Generator
		g.Of = []string{name}
		p.Generator, p.Type = &g, columnType(resolved, name)
		if err := gen.FillParameters(&columns[i], phase, []plan.Parameter{p}, "", 0, 1, int(n)); err != nil {
			return nil, err
		}
	}
	row := make(driver.Row, len(columns))
	var body []byte
	for r := range list {
		for i := range columns {
			row[i] = cell(&columns[i].Columns[0], r, h.Columns[i].Type)
		}
		body = httpserver.AppendRow(body[:0], h.Names, h.Columns, row)
		list[r].Body = slices.Clone(body)
	}
	return list, nil
}

func columnType(p *plan.Plan, name string) driver.Type {
	set, column, _ := strings.Cut(name, ".")
	if d := p.DataSet(set); d != nil {
		for _, c := range d.Columns {
			if c.Name == column {
				return c.Type
			}
		}
	}
	return 0
}

// cell returns the generated value in row r, as a driver decodes it from a column with the given type.
func cell(c *driver.Column, r int, as driver.Type) driver.Cell {
	switch {
	case c.Null(r):
		return driver.Cell{Null: true}
	case as == driver.Text:
		return driver.Cell{Text: c.Text(r)}
	}
	n := c.Ints[r]
	return driver.Cell{Int: n, Bool: n != 0, Time: time.UnixMilli(n)} // the reader uses the field that fits the column's type
}

// listening handles the worker's answer of type "listening", which says that the worker's server accepts
// connections. It verifies the server's first answers and then orders the worker to begin the phase.
func (s *session) listening(a *protocol.Response) error {
	if s.next == 0 || s.current().HTTP == nil || a.Phase != s.phase || a.Address == "" {
		return s.broken("the worker listens at %q for %q, which is not the http phase under way", a.Address, a.Phase)
	}
	h := s.current().HTTP
	list, err := requests(s.want.Plan, a.Phase, h, s.seed)
	if err != nil {
		return s.failed(result.Failed, protocol.CodePlan, "making requests: %v", err)
	}
	t := &traffic{def: h, load: load.Load{
		Address: a.Address, Requests: list, Connections: h.Clients,
		Count: h.Count, Duration: time.Duration(h.DurationMS) * time.Millisecond, Rate: h.Rate,
	}}
	status, code, err := t.verify(s.ctx)
	if s.ctx.Err() != nil {
		return errEnough // the trial has ended; the cause of s.ctx says why
	}
	if err != nil {
		return s.failed(status, code, "before the load: %v", err)
	}
	s.traffic = t
	s.order(protocol.TypeBegin)
	return nil
}

// verify sends the first requests one after another and hashes the answers. Under load, the
// server must give the same answers again. If verify returns an error, it also returns the
// status and the code for the trial.
func (t *traffic) verify(ctx context.Context) (status result.Status, code string, err error) {
	sum := sha256.New()
	l := t.load
	n := min(len(l.Requests), maxVerified)
	l.Requests, l.Connections, l.Rate, l.Duration, l.Count = l.Requests[:n], 1, 0, 0, int64(n)
	l.Check = func(k int64, body []byte) error {
		fmt.Fprintf(sum, "%d:", len(body))
		sum.Write(body)
		t.load.Requests[k].Body = slices.Clone(body)
		return nil
	}
	o, err := l.Run(ctx)
	if err != nil {
		return result.Failed, protocol.CodeHTTP, err
	}
	if o.OK < int64(n) {
		err = errors.New(troubles(o))
		missing := o.Statuses[http.StatusNotFound] > 0 // 404: the server found no row
		if missing || slices.ContainsFunc(o.Errors, func(e load.Errors) bool { return e.Kind == load.Body }) {
			return result.Wrong, protocol.CodeAnswer, err
		}
		return result.Failed, protocol.CodeHTTP, err
	}
	t.checksum = hex.EncodeToString(sum.Sum(nil))
	return "", "", nil
}

// begun handles the worker's answer of type "begun": it sends the load to the server, and then orders the
// worker to stop.
func (s *session) begun() error {
	if s.traffic == nil || s.traffic.outcome != nil {
		return s.broken("the worker answered %q to no order to begin", protocol.TypeBegun)
	}
	l := s.traffic.load
	if n := s.request.Slices[s.phase]; n > 0 && s.turn != nil {
		l.Slice = n
		l.Pause = func(sofar time.Duration) error {
			s.slices = append(s.slices, int64(sofar))
			_, err := s.yield(2*s.next - 1)
			return err
		}
	}
	o, err := l.Run(s.ctx)
	if s.ctx.Err() != nil {
		return errEnough
	}
	if o == nil {
		return s.failed(result.Failed, protocol.CodeHTTP, "%v", err)
	}
	s.traffic.outcome = o
	s.order(protocol.TypeStop)
	return nil
}

func (s *session) order(typ string) {
	s.worker.Send(protocol.Request{Type: typ, Protocol: protocol.Version})
}

// served handles the worker's answer of type "served": it makes the sample of an http phase from the
// measurements of the server and of the load generator, or fails the trial.
func (s *session) served(said *protocol.Sample) error {
	t := s.traffic
	if t == nil || t.outcome == nil {
		return s.broken("the worker answered %q to no order to stop", protocol.TypeServed)
	}
	p, err := s.due(said)
	if err != nil {
		return err
	}
	s.traffic = nil
	m, doubts, faults := CheckServed(p, said, t.outcome, runtime.NumCPU())
	o, h := t.outcome, t.def
	// m.Errors has the errors that the server got because of locks, with a count for each of SQLite's error
	// codes.
	var locked int64
	for _, e := range m.Errors {
		locked += e.Count
	}
	unavailable := o.Statuses[http.StatusServiceUnavailable]
	failed := o.Failed() - min(locked, unavailable)
	for _, e := range o.Errors {
		if e.Kind == load.Body {
			return s.failed(result.Wrong, protocol.CodeAnswer, "%d of %d answers are not the expected ones: %s", e.Count, o.Sent, e.First)
		}
	}
	switch {
	case failed > 0 || o.Unsent > 0:
		return s.failed(result.Failed, protocol.CodeHTTP, "%s", troubles(o))
	case o.OK == 0:
		return s.failed(result.Failed, protocol.CodeNoOperation, "not one request succeeded: %s", troubles(o))
	}
	if err := s.judge(doubts, faults); err != nil {
		return err
	}
	m.WallNS, m.Operations, m.Failed, m.Rows = int64(o.Wall), o.Sent, o.Failed(), o.OK
	if len(s.slices) > 0 {
		s.sliced(m, m.WallNS)
	}
	m.Checksum = t.checksum
	m.Latency = []latency.Summary{o.Latency.Summary(m.Phase)}
	m.Latency[0].Failed = m.Failed
	m.Load = &result.Load{Clients: h.Clients, Rate: h.Rate, Ceiling: s.ceilings[h.Clients].perSecond}
	if h.Rate > 0 {
		m.Load.LateP99NS = o.Late.Summary("").P99NS
		if o.Rate() < missedRate*h.Rate {
			s.warn(result.WarningRate, m.Phase, "%.0f requests/s instead of %.0f: the server cannot keep up, and its latencies grow with the length of the phase", o.Rate(), h.Rate)
		}
		if late(m) {
			s.warn(result.WarningLate, m.Phase, "the load generator itself sent requests up to %v late (99th percentile), and the latency is %v: it shows the machine's delay more than the server's",
				time.Duration(m.Load.LateP99NS).Round(time.Microsecond), time.Duration(m.Latency[0].P99NS).Round(time.Microsecond))
		}
	}
	if c := s.ceilings[h.Clients]; c.perSecond > 0 && o.Rate() > c.perSecond { // the machine was busy when the ceiling was measured, so measure it again
		c.until = time.Time{}
		s.ceilings[h.Clients] = c
	}
	if c := m.Load.Ceiling; c > 0 && o.Rate() > nearCeiling*c {
		s.warn(result.WarningCeiling, m.Phase, "%.0f requests/s is %.0f%% of the load generator's own limit here (with %d connections to a server that does nothing: %.0f requests/s), so a faster driver might not look faster",
			o.Rate(), 100*o.Rate()/c, h.Clients, c)
	}
	s.trial.Samples = append(s.trial.Samples, *m)
	return nil
}

// late reports whether much of a latency at a fixed rate is the load generator's own delay.
func late(m *result.Sample) bool {
	return float64(m.Load.LateP99NS) > lateShare*float64(m.Latency[0].P99NS)
}

func (s *session) warn(code, phase, format string, args ...any) {
	s.trial.Warnings = append(s.trial.Warnings, result.Warning{Code: code, Phase: phase, Message: fmt.Sprintf(format, args...)})
}

// troubles summarizes in one line what went wrong in a load.
func troubles(o *load.Outcome) string {
	words := []string{fmt.Sprintf("%d of %d requests were answered as expected", o.OK, o.Sent+o.Unsent)}
	for _, e := range o.Errors {
		words = append(words, fmt.Sprintf("%s %d (%s)", e.Kind, e.Count, e.First))
	}
	if o.Unsent > 0 {
		words = append(words, fmt.Sprintf("%d not sent since the server was gone", o.Unsent))
	}
	return strings.Join(words, "; ")
}

// ceiling measures, for each number of clients in the case's http phases, how many requests per
// second the load generator reaches with a server that does nothing. The case's worker runs that
// server. A ceiling that was measured recently is not measured again.
func (p *Processes) ceiling(ctx context.Context, c *Case, seed uint64) error {
	for i := range c.Plan.Phases {
		h := c.Plan.Phases[i].HTTP
		if h == nil || h.SQL == "" || time.Now().Before(p.ceilings[h.Clients].until) {
			continue
		}
		nothing := &Case{Plan: &plan.Plan{}, Ref: c.Ref, Case: result.Case{Worker: c.Worker, Info: c.Info}}
		for i := range ceilingPhases {
			name := fmt.Sprint("ceiling ", i+1)
			nothing.Phases = append(nothing.Phases, name)
			nothing.Plan.Phases = append(nothing.Plan.Phases, plan.Phase{Name: name, HTTP: &plan.HTTP{
				Clients: h.Clients, DurationMS: ceilingLasts.Milliseconds(), Call: plan.Call{Rows: 1},
			}})
		}
		t, err := p.Trial(ctx, nothing, seed)
		if err != nil {
			return err
		}
		if t.Status != result.OK {
			return nil // no error here: the case's trial will fail for the same reason, and report it
		}
		if p.ceilings == nil {
			p.ceilings = map[int]ceiling{}
		}
		best := 0.0
		for _, m := range t.Samples {
			best = max(best, 1/m.Value())
		}
		recent := append(p.ceilings[h.Clients].recent, best)
		recent = recent[max(0, len(recent)-ceilingRecent):]
		p.ceilings[h.Clients] = ceiling{slices.Max(recent), recent, time.Now().Add(ceilingHolds)}
	}
	return nil
}
