package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// shares is the part of a session that concerns mixes (phases with concurrent clients) in several processes.
type shares struct {
	request protocol.Request
	dir     string // directory in which the worker was started
	cancel  context.CancelCauseFunc
	others  *others       // the processes of the current mix other than the first; nil: none
	spent   []*result.CPU // CPU time of the other processes that have ended
	part    *part         // the process to which this session belongs; nil: the first process of the mix
}

// others are the processes of a mix other than the first process, which is the trial's own worker. The first
// process has created the database, and continues alone when the other processes have ended.
type others struct {
	phase  string
	parts  []*part
	begin  chan struct{}        // closed when all processes may begin the mix
	failed atomic.Pointer[part] // the process in parts that failed first; nil: none
	over   atomic.Bool          // whether the first process ended by itself, so that failures of the other processes do not count
	ended  bool                 // whether all processes in parts have ended without errors
}

// part is one of the processes of a mix other than the first. It has its own session. Its worker does a share
// of the mix and nothing else.
type part struct {
	number, of int // number of the process (the first process is 0), and total number of processes
	others     *others
	session    *session

	prepared, shared chan struct{} // closed when the worker sends the answer of type "prepared" or "shared"
	stop             chan struct{} // closed when the worker may end
	ended            chan struct{} // closed when the process has ended
	said             *protocol.Sample
}

func (p *part) String() string { return processName(p.number, p.of) }

// processName names a process of a trial in messages. The parameter "number" is counted from 0.
func processName(number, of int) string { return fmt.Sprintf("process %d of %d", number+1, of) }

// mark returns the mark of a worker's process (see [process.MarkVariable]). The mark of the first process
// of a mix is dir. The marks of the other processes begin with dir and a slash. So when the first process
// and its children are killed by their mark, the other processes are killed, too. Each of the other
// processes can also be killed alone.
func (p *part) mark(dir string) string {
	if p == nil {
		return dir
	}
	return fmt.Sprintf("%s/process-%d", dir, p.number+1)
}

// prepared handles the answer with which a worker says that it can begin a mix in several processes. If the
// first process sends this answer, prepared starts the other processes one after another, and then lets all
// processes begin.
func (s *session) prepared(a *protocol.Response) error {
	n := s.want.Settings.Processes()
	if n < 2 || !s.mixes(a) || s.part == nil && s.others != nil && s.others.phase == a.Phase {
		return s.broken("the worker answered %q for %.80q: want it once for a mix in several processes", a.Type, a.Phase)
	}
	if s.part != nil {
		return s.part.await(s.part.prepared, s.part.others.begin, protocol.TypeBegin)
	}
	o := &others{phase: a.Phase, begin: make(chan struct{})}
	s.others = o
	for i := 1; i < n; i++ {
		// The processes start one after another, because each locks the database while it reads
		// back its settings.
		p := s.newPart(o, i, n)
		o.parts = append(o.parts, p)
		go p.run(s)
		if err := s.until(p, p.prepared, "was not ready"); err != nil {
			return err
		}
	}
	close(o.begin)
	s.order(protocol.TypeBegin)
	return nil
}

// shared handles the answer with which a worker says that it has done its share of the mix. When all
// processes have sent this answer, the other processes end one after another, and the first process
// continues alone.
func (s *session) shared(a *protocol.Response) error {
	o := s.others
	if s.part != nil {
		o = s.part.others
	}
	if o == nil || !s.mixes(a) || o.phase != a.Phase || o.ended {
		return s.broken("the worker answered %q for %.80q: want it once, after the order %s", a.Type, a.Phase, protocol.TypeBegin)
	}
	if s.part != nil {
		return s.part.await(s.part.shared, s.part.stop, protocol.TypeStop)
	}
	for _, p := range o.parts {
		if err := s.until(p, p.shared, "had not done its share of the mix"); err != nil {
			return err
		}
	}
	for _, p := range o.parts {
		close(p.stop)
		<-p.ended // wait for the process, which ends at the latest when the trial's context ends
		if p.session.trial.Status != result.OK || s.ctx.Err() != nil {
			return errEnough
		}
		s.spent = append(s.spent, used(p.session.worker.ProcessState, p.session.waited))
	}
	o.ended = true
	s.order(protocol.TypeStop)
	return nil
}

// mixes reports whether an answer is about the current mix.
func (s *session) mixes(a *protocol.Response) bool {
	return s.next > 0 && s.current().Mix != nil && s.current().Name == a.Phase
}

// until waits until the process p closes the channel "event". It returns an error if this process or the
// trial ends first. If the trial's time is up, until also fails the trial. The parameter "missing" says,
// for the message, what the process has not done.
func (s *session) until(p *part, event <-chan struct{}, missing string) error {
	select {
	case <-event:
		return nil
	case <-p.ended:
	case <-s.ctx.Done():
		if errors.Is(context.Cause(s.ctx), errTimeout) {
			s.fail(result.Failed, protocol.CodeTimeout, "%s %s within the trial's limit of %v", p, missing, s.limit)
		}
	}
	return errEnough
}

// await handles an answer with which a worker says that it waits for an order. It closes the channel "said",
// which tells the first process's session that the worker waits. Then it waits until the channel "then" is
// closed, and sends the order to the worker. It returns an error if "said" is closed already, or if the
// context ends first.
func (p *part) await(said, then chan struct{}, order string) error {
	if closed(said) {
		return p.session.broken("the worker said twice that it waits for the order %s", order)
	}
	close(said)
	select {
	case <-then:
		p.session.order(order)
		return nil
	case <-p.session.ctx.Done():
		return errEnough
	}
}

// newPart describes a further process of the current mix, which already has its first process. It does not
// start the process. The process has the given number, of the processes 0 to of-1.
func (s *session) newPart(o *others, number, of int) *part {
	c := *s.want
	c.Plan = &plan.Plan{Files: c.Plan.Files, DataSets: c.Plan.DataSets, Phases: []plan.Phase{*s.current()}}
	c.Phases, c.Expect = nil, nil
	if !s.current().Untimed {
		c.Phases = []string{o.phase}
	}
	p := &part{number: number, of: of, others: o, prepared: make(chan struct{}), shared: make(chan struct{}), stop: make(chan struct{}), ended: make(chan struct{})}
	p.session = &session{limit: s.limit, hint: s.hint, trial: &result.Trial{Case: s.trial.Case, Status: result.OK}, want: &c, seed: s.seed, shares: shares{part: p}}
	return p
}

// run runs the process. If it fails, and no other process in p.others.parts has failed before, run also
// ends the trial.
func (p *part) run(first *session) {
	defer close(p.ended)
	req := first.request
	req.Type, req.Plan, req.Process = protocol.TypeTrial, p.session.want.Plan, p.number
	req.Loaded, req.Brief, req.Profile, req.Alternate = 0, nil, nil, false
	p.session.run(first.ctx, first.dir, req)
	if p.session.trial.Status != result.OK && !p.others.over.Load() && p.others.failed.CompareAndSwap(nil, p) {
		first.cancel(errEnough)
	}
}

// dismiss is called when the first process has sent its last answer. If the trial was not canceled,
// failures of the other processes no longer count.
func (o *others) dismiss(ctx context.Context) {
	if o != nil && ctx.Err() == nil {
		o.over.Store(true)
	}
}

// end ends the processes in o.parts that still run. If one of them failed before the first process of the
// mix, the trial gets the reason of that failure.
func (o *others) end(s *session) {
	if o == nil {
		return
	}
	s.cancel(errEnough)
	for _, p := range o.parts {
		<-p.ended
	}
	p := o.failed.Load()
	if p == nil || s.trial.Reason != nil {
		return
	}
	t := p.session.trial
	s.trial.Status, s.trial.Reason, s.trial.ReadBack = t.Status, t.Reason, t.ReadBack
	s.trial.Reason.Message = p.String() + ": " + t.Reason.Message
	s.trial.Reason.Phase = o.phase
}

// partial keeps the sample of a process other than the first process of a mix. The sample has only this
// process's share of the mix.
func (s *session) partial(said *protocol.Sample) error {
	s.part.said = said
	s.trial.Samples = append(s.trial.Samples, result.Sample{Phase: said.Phase}) // only the phase matters here, because the method "gathered" reads the figures from the field "said"
	return nil
}

// gathered returns the sample of a phase. For a mix in several processes, it combines the samples of all
// processes. For such a mix, the result "apart" is the time in ns between the first and the last process to
// begin. It is nil for other phases, and if the samples do not contain this time.
func (s *session) gathered(p *plan.Phase, said *protocol.Sample) (sum *protocol.Sample, apart *int64, err error) {
	n := s.want.Settings.Processes()
	if p.Mix == nil || n < 2 {
		return said, nil, nil
	}
	if s.others == nil || s.others.phase != p.Name || !s.others.ended {
		return nil, nil, s.broken("the worker sent the sample of %s before the order %s: %d processes share it", p.Name, protocol.TypeStop, n)
	}
	all := []*protocol.Sample{said}
	for _, part := range s.others.parts {
		all = append(all, part.said)
	}
	var faults []Fault
	for i, one := range all {
		faults = append(faults, checkShare(p, i, n, one)...)
	}
	if err := s.judge(nil, faults); err != nil {
		return nil, nil, err
	}
	if sum, err = mergeShares(all); err != nil {
		return nil, nil, s.broken("phase %s: %v", p.Name, err)
	}
	return sum, apartIn(all), nil
}

// apartIn returns the time in ns between the first and the last process to begin. The parameter "all" has the
// samples of the processes. If a sample does not tell when its process began, apartIn returns nil.
func apartIn(all []*protocol.Sample) *int64 {
	first, last := all[0].BeganUS, all[0].BeganUS
	for _, m := range all {
		first, last = min(first, m.BeganUS), max(last, m.BeganUS)
	}
	if first == 0 {
		return nil
	}
	return new((last - first) * 1000)
}

// notTogether returns a warning if the processes of a mix did not begin at about the same time, so that some
// clients were missing for a considerable part of the mix's time.
func notTogether(m *result.Sample, processes int) []result.Warning {
	if m.ApartNS == nil || float64(*m.ApartNS) <= result.ApartShare*float64(m.WallNS) {
		return nil
	}
	apart, wall := time.Duration(*m.ApartNS), time.Duration(m.WallNS)
	return []result.Warning{{Code: result.WarningApart, Phase: m.Phase, Message: fmt.Sprintf(
		"its %d processes began %v apart, %.0f%% of the %v that it took: let it last longer, or keep the machine free of other work",
		processes, apart, 100*apart.Seconds()/wall.Seconds(), wall.Round(10*time.Microsecond))}}
}

// checkShare checks the sample of one process of a mix by itself. The combined sample is
// checked later.
func checkShare(p *plan.Phase, number, of int, said *protocol.Sample) []Fault {
	first, end := p.Mix.Share(number, of)
	mix, phase := *p.Mix, *p
	mix.Clients = end - first
	phase.Mix = &mix
	c := &sampleCheck{check: check{of: fmt.Sprintf("phase %s, %s", p.Name, processName(number, of))}, phase: &phase, want: Expectation{Operations: -1, Rows: -1}, said: said}
	c.naturals()
	if said.Operations > 0 {
		c.wall(Seen{})
	}
	c.errors()
	c.latencies()
	c.clients()
	c.waits()
	if number > 0 && said.Checksum != "" {
		c.protocol("checksum", "is set: want it of the first process only")
	}
	return c.faults
}

// mergeShares combines the samples of several processes of one mix. The sizes of files, the
// checkpoint and the checksum are taken from the first process, because it continues alone after
// the mix.
func mergeShares(all []*protocol.Sample) (*protocol.Sample, error) {
	sum := *all[0]
	failed, results := protocol.ErrorCounts{}, protocol.ErrorCounts{}
	sum.Clients = nil
	sum.Latency = slices.Clone(sum.Latency)
	histograms := make([]*latency.Histogram, len(sum.Latency))
	for i := range histograms {
		histograms[i] = latency.New()
		sum.Latency[i].Count, sum.Latency[i].Failed, sum.Latency[i].EndedEarly = 0, 0, 0
	}
	for n, m := range all {
		if n > 0 {
			sum.WallNS = max(sum.WallNS, m.WallNS)
			sum.UserNS += m.UserNS
			sum.SystemNS += m.SystemNS
			sum.Operations += m.Operations
			sum.Failed += m.Failed
			sum.Rows += m.Rows
			sum.Retries += m.Retries
			result.AddCosts(&sum.Costs, &m.Costs)
			sum.Waits = mergeWaits(sum.Waits, m.Waits)
		}
		sum.Clients = append(sum.Clients, m.Clients...)
		for _, e := range m.Errors {
			failed.Add(e.Code, e.Count, e.WaitNS)
		}
		for _, e := range m.Results {
			results.Add(e.Code, e.Count, e.WaitNS)
		}
		for i := range m.Latency {
			h, err := latency.Decode(m.Latency[i].Histogram)
			if err != nil {
				return nil, err
			}
			histograms[i].Merge(h)
			sum.Latency[i].Count += m.Latency[i].Count
			sum.Latency[i].Failed += m.Latency[i].Failed
			sum.Latency[i].EndedEarly += m.Latency[i].EndedEarly
		}
	}
	sum.Caches = all[len(all)-1].Caches // of the last process, which dropped from the page cache the data that the others had read
	sum.Errors, sum.Results = failed.List(), results.List()
	for i, h := range histograms {
		sum.Latency[i].Histogram = h.Encode()
	}
	return &sum, nil
}

// mergeWaits adds up the waits in two lists, by kind. It leaves out kinds of waits that only one of the lists
// has.
func mergeWaits(sum, more []protocol.Wait) (both []protocol.Wait) {
	for _, w := range sum {
		if i := slices.IndexFunc(more, func(m protocol.Wait) bool { return m.For == w.For }); i >= 0 {
			w.Add(more[i].Count, more[i].WaitNS)
			both = append(both, w)
		}
	}
	return both
}

// addCPU adds the CPU time of another process of the trial to the parameter "sum". A figure that is unknown in
// "sum" stays unknown.
func addCPU(sum, more *result.CPU) {
	sum.UserNS += more.UserNS
	sum.SystemNS += more.SystemNS
	for _, n := range []struct{ sum, more *int64 }{{sum.Switches, more.Switches}, {sum.WaitedNS, more.WaitedNS}} {
		if n.sum != nil && n.more != nil {
			*n.sum += *n.more
		}
	}
}

// severalProcesses returns an error if the settings ask for several processes, but a mix of the plan cannot
// run in several processes.
func severalProcesses(s driver.Settings, p *plan.Plan) error {
	n := s.Processes()
	if n == 1 {
		return nil
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("setting processes=%d: %s", n, fmt.Sprintf(format, args...))
	}
	const instead = "between processes only SQLite's own locks hold: set txlock=immediate and a busy_timeout instead"
	switch {
	case s["mode"] == "memory":
		return bad("each process would have its own database in memory: leave one of them out")
	case s["locking_mode"] == "exclusive":
		return bad("with locking_mode=exclusive one process locks out the others: leave one of them out")
	case s["write_mutex"] == "on":
		return bad("write_mutex=on is a mutex in one process; %s", instead)
	case len(p.Changes) > 0:
		return bad("the schema changes settings, which each process sets when it opens the file: write them under settings")
	}
	for i := range p.Phases {
		ph := &p.Phases[i]
		switch m := ph.Mix; {
		case len(ph.Changes) > 0:
			return bad("phase %s changes settings, which each process sets when it opens the file: write them under settings", ph.Name)
		case ph.Replay != nil:
			return bad("phase %s is a replay, which is done in one process: leave it out", ph.Name)
		case m == nil:
		case m.Mutexes():
			return bad("phase %s has a mutex, which holds in one process; %s", ph.Name, instead)
		case m.Clients < n:
			return bad("phase %s has %d clients for them: want at most that many processes, or more clients", ph.Name, m.Clients)
		}
	}
	return nil
}
