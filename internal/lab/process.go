package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Processes runs trials as real processes. Each trial has a fresh process and a fresh
// directory.
type Processes struct {
	Dir   string        // on the file system that is measured; files that trials begin with stay in it
	Limit time.Duration // of one trial
	Hint  string        // what to do if a driver lacks a feature, for the reason; "": nothing

	Elsewhere string // what else to do if the disk of Dir is full than to make room; "": nothing

	// CPUTime returns the CPU time of the machine, and whether it is known. If nil, it is
	// [machine.ReadCPUTime].
	CPUTime func() (machine.CPUTime, bool)

	ceilings map[int]ceiling // by number of clients
	good     map[*Case]int   // how many trials were OK; the first was verified in full
	begins   map[*Case]*loaded
}

var (
	errTimeout = errors.New("time limit of the trial")
	errEnough  = errors.New("nothing more to be learnt from this trial")
)

// Trials runs one trial of each case, whose phases alternate, and says how they ended, in
// the order of the cases. It returns an error only if the lab itself cannot work, or if the
// context is canceled.
func (p *Processes) Trials(ctx context.Context, cases []*Case, seed uint64) ([]*result.Trial, error) {
	for _, c := range cases {
		if err := p.ceiling(ctx, c, seed); err != nil {
			return nil, err
		}
	}
	return p.undisturbed(ctx, cases, seed)
}

// mostDiscarded is how many trials in a row are discarded at most. A machine so
// overloaded that it looks stopped must not keep a run from going on.
const mostDiscarded = 5

// Trial runs one trial of a case by itself, as [Processes.Trials] does.
func (p *Processes) Trial(ctx context.Context, c *Case, seed uint64) (*result.Trial, error) {
	list, err := p.Trials(ctx, []*Case{c}, seed)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// undisturbed runs one trial of each case. It runs them again if this process was stopped
// in the meantime.
func (p *Processes) undisturbed(ctx context.Context, cases []*Case, seed uint64) ([]*result.Trial, error) {
	var discarded []time.Duration // how long this process was stopped each time
	for {
		list, stopped, err := p.together(ctx, cases, seed, nil)
		if err != nil {
			return nil, err
		}
		if stopped > 0 && len(discarded) < mostDiscarded {
			discarded = append(discarded, stopped)
			continue
		}
		for i, c := range cases {
			var warnings []result.Warning
			for _, d := range discarded {
				warnings = append(warnings, result.Warning{Code: result.WarningStopped, Case: c.ID,
					Message: fmt.Sprintf("sqlite3perf was stopped for %v in a trial of %s, which was discarded and done again", d.Round(100*time.Millisecond), c.Driver)})
			}
			list[i].Warnings = append(warnings, list[i].Warnings...)
		}
		return list, nil
	}
}

// together runs one trial of each case, with profiles if they are wanted, and returns how
// long this process was stopped in the meantime. If there are several cases, one trial at
// a time runs: see [turns].
func (p *Processes) together(ctx context.Context, cases []*Case, seed uint64, want *Profiling) (list []*result.Trial, stopped time.Duration, err error) {
	begins := make([]*loaded, len(cases))
	list = make([]*result.Trial, len(cases))
	for i, c := range cases {
		if begins[i], list[i], err = p.loaded(ctx, c, seed); err != nil {
			return nil, 0, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all := newTurns(len(cases))
	ended := make([]ending, len(cases))
	var trials sync.WaitGroup
	for i, c := range cases {
		t := &turn{all, i}
		if list[i] != nil { // nothing to begin with
			t.leave()
			continue
		}
		trials.Go(func() {
			defer t.leave()
			err := t.wait(ctx)
			if len(cases) == 1 {
				t = nil
			}
			if err == nil {
				ended[i], err = p.once(ctx, c, begins[i], seed, want, t)
			}
			if err != nil {
				cancel(err)
			}
		})
	}
	trials.Wait()
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	p.account(ended)
	if slices.ContainsFunc(ended, func(e ending) bool { return e.trial == nil || !e.trial.Alternated }) {
		for _, e := range ended {
			if e.trial != nil {
				e.trial.Alternated = false
			}
		}
	}
	for i, c := range cases {
		if ended[i].trial != nil {
			list[i], stopped = ended[i].trial, max(stopped, ended[i].stopped)
		}
		if list[i].Status != result.OK {
			p.forget(c) // such a case has no further trial
			continue
		}
		if p.good == nil {
			p.good = map[*Case]int{}
		}
		p.good[c]++
	}
	return list, stopped, nil
}

// ending is how a trial ended.
type ending struct {
	trial    *result.Trial
	stopped  time.Duration // how long this process was stopped in the meantime
	from, to reading       // before the worker started, and after it had exited
}

// once runs one trial, with profiles if they are wanted, that begins with what was loaded.
// If it is one of several, it has its turn.
func (p *Processes) once(ctx context.Context, c *Case, from *loaded, seed uint64, want *Profiling, turn *turn) (e ending, _ error) {
	dir, err := p.directory("trial-")
	if err != nil {
		return e, err
	}
	defer os.RemoveAll(dir)
	asked, err := want.request(dir)
	if err != nil {
		return e, fmt.Errorf("making a directory for the profiles: %w", err)
	}
	t := &result.Trial{Case: c.ID, Started: time.Now().UTC(), Status: result.OK, Loaded: from.sum}
	e.trial = t
	begin := time.Now()
	earlier := p.good[c]
	s := &session{limit: p.Limit, hint: p.Hint, trial: t, want: c.planned(), seed: seed, ceilings: p.ceilings, hashed: earlier == 0, brief: brief(c.Workload, c.Plan, seed, earlier), profiling: want,
		next: from.phases, untold: from.phases > 0, tables: slices.Clone(from.tables), turn: turn}
	path := filepath.Join(dir, "test.db")
	if from.user != nil {
		s.begins = from.user.Version
	}
	if err := from.copy(ctx, path); err != nil {
		s.fail(result.Failed, protocol.CodeDatabase, "copying the loaded database: %v", err)
		return e, nil
	}
	e.from = p.read()
	s.run(ctx, dir, protocol.Request{
		Type: requestType(c.Plan), Protocol: protocol.Version, Seed: seed, Path: path, Settings: c.asked(), Plan: asking(c.Plan, c.Expect, s.hashed),
		Loaded: from.phases, TypesKnown: earlier > 0, Brief: s.brief, Alternate: turn != nil, Environment: c.Ref.Variables(), Profile: asked,
	})
	e.to = p.read()
	if s.worker != nil && s.worker.ProcessState != nil {
		t.CPU = used(s.worker.ProcessState, s.waited)
		s.spent.addTo(t.CPU)
	}
	s.header(path)
	c.hideValues(t)
	nameColumn(t.Reason, c)
	p.makeRoom(t.Reason)
	if want != nil && t.Status == result.OK && ctx.Err() == nil {
		if err := want.keep(ctx, dir, t); err != nil {
			return e, err
		}
	}
	if c.bench != nil && t.Status == result.OK && ctx.Err() == nil {
		s.bench(ctx, c, path)
	}
	t.TookNS, e.stopped = int64(time.Since(begin)-s.idle), s.stopped
	return e, ctx.Err()
}

// directory makes a directory in which a worker is started.
func (p *Processes) directory(prefix string) (string, error) {
	dir, err := filepath.Abs(p.Dir)
	if err == nil {
		dir, err = os.MkdirTemp(dir, prefix)
	}
	if err != nil {
		return "", fmt.Errorf("making a directory for the database: %w", err)
	}
	return dir, nil
}

// makeRoom adds to the reason of a full disk what to do about it.
func (p *Processes) makeRoom(r *protocol.Reason) {
	// SQLite has another code if there is no room for the index of a write-ahead log.
	if r == nil || r.Code != protocol.CodeDiskFull && !strings.Contains(r.Message, "SQLITE_IOERR_SHMSIZE") {
		return
	}
	r.Message += ": make room in " + filepath.Dir(p.Dir)
	if p.Elsewhere != "" {
		r.Message += ", " + p.Elsewhere
	}
}

// session is one worker process and what it has said so far.
type session struct {
	limit time.Duration
	hint  string
	trial *result.Trial
	want  *Case
	phase string // the current one
	next  int    // index of the plan's next phase
	done  bool

	turn  *turn          // nil: the trial runs alone
	alarm *process.Alarm // rings when the trial has run for as long as it may
	idle  time.Duration  // how long it waited for its turn

	stopped time.Duration  // how long this process was stopped
	waited  *time.Duration // for a CPU, the worker's threads; nil if it is not known

	inForce driver.Settings // what the first connection last read back
	begins  string          // the SQLite that wrote the database before the trial; "": none, or not known

	started time.Time     // when the request was sent
	began   time.Time     // when the current phase began
	claimed time.Duration // sum of the times by the worker's clocks so far

	profiling *Profiling // nil: a trial that is measured

	hashed     bool     // the plan asks for checksums of what is inserted
	brief      []string // the phases that are not verified in full
	unanswered string   // the insert whose rows have not been read back

	loads  bool    // the worker only loads the database
	untold bool    // the worker has yet to say what the loaded database has
	tables []Table // of the loaded database; -1 rows: not known

	unread  string          // what ran last, if the settings have not been read back since then
	changed driver.Settings // what has been changed so far, as the workload declares

	shares // for mixes in several processes

	// For a server:
	seed     uint64
	ceilings map[int]ceiling
	ctx      context.Context // of the load
	worker   *process.Child
	traffic  *traffic // the current one
}

func (s *session) fail(status result.Status, code, format string, args ...any) {
	if s.trial.Reason != nil {
		return // the first reason is the cause of the others
	}
	s.trial.Status = status
	s.trial.Reason = &protocol.Reason{Code: code, Phase: s.phase, Message: fmt.Sprintf(format, args...)}
}

// broken fails the trial because a message breaks the protocol. The error it returns
// means that the worker need not go on.
func (s *session) broken(format string, args ...any) error {
	s.fail(result.Failed, protocol.CodeProtocol, format, args...)
	return errEnough
}

func (s *session) run(ctx context.Context, dir string, req protocol.Request) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.alarm = process.NewAlarm(s.limit, func() { cancel(errTimeout) })
	defer func() { s.stopped += s.alarm.Stop() }()

	// SQLite's temporary files must be on the file system that is measured.
	executable, args := s.profiling.command(s.want.Worker, s.want.Info.Kind, s.want.Ref.Args())
	w, err := process.Start(ctx, executable, args, dir, s.part.mark(dir), s.want.Ref.Elsewhere(), append(s.want.Ref.Env(), "SQLITE_TMPDIR="+dir, "TMPDIR="+dir)...)
	if err != nil {
		s.fail(result.Unavailable, protocol.CodeStart, "the worker does not start: %v", err)
		return
	}
	s.ctx, s.worker, s.cancel = ctx, w, cancel
	s.request, s.dir = req, dir
	s.started = time.Now()
	w.Send(req)
	if err := s.listen(w.Lines()); err != nil {
		cancel(err)
	}
	if s.done {
		s.alarm.Reset(process.ExitGrace)
	}
	s.others.dismiss(ctx)
	err = w.End()
	s.ended(err, w, context.Cause(ctx))
	s.others.end(s)
	if t := s.traffic; t != nil && t.outcome != nil && s.trial.Reason != nil {
		s.trial.Reason.Message += ": " + troubles(t.outcome)
	}
	if r := s.trial.Reason; r != nil {
		r.Detail = process.Detail(r.Detail, w.Errors())
	}
}

// ended judges how the process ended.
func (s *session) ended(err error, w *process.Child, cause error) {
	switch {
	case errors.Is(cause, errTimeout) && s.done:
		s.fail(result.Failed, protocol.CodeTimeout, "the worker did not exit within %v after its last answer", process.ExitGrace)
	case errors.Is(cause, errTimeout):
		s.fail(result.Failed, protocol.CodeTimeout, "no end within the trial's limit of %v", s.limit)
	case process.ExitedWell(err) && s.done, errors.Is(cause, errEnough):
	case process.ExitedWell(err):
		s.fail(result.Failed, protocol.CodeProtocol, "the worker exited before it was done")
	default:
		code := protocol.CodeCrash
		if process.Killed(w.ProcessState) {
			code = protocol.CodeKilled
		}
		s.fail(result.Failed, code, "%s", w.Death(err))
	}
}

// listen reads answers up to the last one. An error means that the worker need
// not go on.
func (s *session) listen(lines *bufio.Scanner) error {
	for lines.Scan() {
		var a protocol.Response
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return s.broken("the worker's answer is not understood: %v: %.80q", err, lines.Text())
		}
		if a.Type == protocol.TypeSample || a.Type == protocol.TypeServed || a.Type == protocol.TypeDone {
			s.seeWaiting() // nobody can when it has ended
		}
		if err := s.answer(&a); err != nil || s.done {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return s.broken("an answer of the worker is longer than %d MiB", process.MaxLine>>20)
	}
	if err := lines.Err(); err != nil && !errors.Is(err, os.ErrClosed) {
		return s.broken("reading the worker's answers: %v", err)
	}
	return nil
}

// seeWaiting records how long the worker's threads have waited for a CPU so far. A worker
// that is just ending has fewer threads left than before.
func (s *session) seeWaiting() {
	if s.worker == nil {
		return // in tests of what is heard
	}
	if d := process.WaitedFor(s.worker.Process.Pid); d != nil && (s.waited == nil || *d > *s.waited) {
		s.waited = d
	}
}

func (s *session) answer(a *protocol.Response) error {
	if s.trial.Proof == nil && a.Type != protocol.TypeReady && a.Type != protocol.TypeFailed {
		return s.broken("the worker answered %q before %q", a.Type, protocol.TypeReady)
	}
	if s.trial.Proof != nil && a.Type == protocol.TypeReady {
		return s.broken("the worker answered %q twice", a.Type)
	}
	if err := s.readBack(a.Type); err != nil {
		return err
	}
	switch a.Type {
	case protocol.TypeReady:
		return s.ready(a)
	case protocol.TypeInserted:
		return s.inserted(a)
	case protocol.TypeLoaded:
		return s.loaded(a)
	case protocol.TypeSettings:
		return s.settings(a)
	case protocol.TypeWaiting:
		return s.alternate()
	case protocol.TypePhase:
		return s.begin(a.Phase)
	case protocol.TypeSample:
		return s.sample(a.Sample)
	case protocol.TypeListening:
		return s.listening(a)
	case protocol.TypeBegun:
		return s.begun()
	case protocol.TypeServed:
		return s.served(a.Sample)
	case protocol.TypePrepared:
		return s.prepared(a)
	case protocol.TypeShared:
		return s.shared(a)
	case protocol.TypeDone:
		s.done = true
		if got, want := len(s.trial.Samples), len(s.want.Phases); got != want {
			s.phase = ""
			s.fail(result.Failed, protocol.CodeProtocol, "the worker measured %d phases of %d", got, want)
		}
	case protocol.TypeFailed:
		s.done = true
		if a.Reason == nil || a.Reason.Code == "" {
			a.Reason = &protocol.Reason{Code: protocol.CodeProtocol, Message: "the worker failed without a reason"}
		}
		s.fail(statusOf(a.Reason.Code), a.Reason.Code, "%.1000s", strings.Join(strings.Fields(a.Reason.Message), " "))
		a.Reason.Message, a.Reason.Feature, a.Reason.Fields = s.trial.Reason.Message, "", nil
		s.trial.Reason = a.Reason
		lacking(s.trial.Reason, s.want.Ref, s.hint)
	default:
		return s.broken("the worker answered with the unknown type %q", a.Type)
	}
	return nil
}

// statusOf returns the status of a trial that ends with a worker's reason.
func statusOf(code string) result.Status {
	switch code {
	case protocol.CodeRows, protocol.CodeChecksum, protocol.CodeIntegrity, protocol.CodeAnswer:
		return result.Wrong
	case protocol.CodeSetting:
		return result.Refused
	}
	return result.Failed
}

// ready compares the proof with what was asked for.
func (s *session) ready(a *protocol.Response) error {
	if a.Protocol != protocol.Version {
		return s.broken("the worker speaks protocol %d, sqlite3perf %d: rebuild one of them", a.Protocol, protocol.Version)
	}
	if a.Proof == nil || len(a.Proof.Connections) == 0 {
		return s.broken("the worker is ready without a proof of settings")
	}
	if got, want := len(a.Proof.Connections), s.want.Settings.Connections(); got < want {
		return s.broken("the worker proves the settings of %d connections, with a pool of %d", got, want)
	}
	s.trial.Proof = a.Proof
	if bad := s.want.Ref.Unproven(a.Proof); bad != "" {
		s.fail(result.Refused, protocol.CodeVariant, "%s", bad)
		return errEnough
	}
	s.inForce = a.Proof.Connections[0]
	s.unread = afterSchema
	limit := func(setting, value string) (string, bool) {
		if why, ok := s.want.Info.Limit(setting, value); ok {
			return why, true
		}
		return "a database in memory has no other: set journal_mode=memory", setting == "journal_mode" && s.want.Settings["mode"] == "memory"
	}
	if bad := driver.Differences(s.want.asked(), a.Proof.Connections, limit); bad != "" {
		s.fail(result.Refused, protocol.CodeSetting, "%s", bad)
		return errEnough
	}
	return nil
}

// begin records that a phase has begun. It must be the plan's next one.
func (s *session) begin(name string) error {
	phases := s.want.Plan.Phases
	switch {
	case s.next >= len(phases):
		return s.broken("the worker began phase %.80q after the last one", name)
	case name != phases[s.next].Name:
		return s.broken("the worker began phase %.80q: want %q, the next one", name, phases[s.next].Name)
	case s.next > 0 && !phases[s.next-1].Untimed && s.lastSample() != phases[s.next-1].Name:
		return s.broken("the worker began phase %.80q before it sent the sample of %q", name, phases[s.next-1].Name)
	}
	s.next++
	s.phase, s.began = name, time.Now()
	s.unread = "phase " + name
	if len(s.want.Expect[name].Tables) > 0 && s.current().Insert != nil {
		s.unanswered = name
	}
	return nil
}

// alternate lets the other trials run until the turn comes back, and has the worker
// proceed.
func (s *session) alternate() error {
	if s.turn == nil {
		return s.broken("the worker answered %q: it was not asked to alternate", protocol.TypeWaiting)
	}
	s.trial.Alternated = true
	s.alarm.Pause()
	waited, err := s.turn.yield(s.ctx)
	s.alarm.Resume()
	s.idle += waited
	if err == nil {
		s.worker.Send(protocol.Request{Type: protocol.TypeProceed, Protocol: protocol.Version})
	}
	return err
}

// current returns the phase that has begun last. One must have begun.
func (s *session) current() *plan.Phase { return &s.want.Plan.Phases[s.next-1] }

// lastSample returns the phase of the last sample, or "".
func (s *session) lastSample() string {
	if n := len(s.trial.Samples); n > 0 {
		return s.trial.Samples[n-1].Phase
	}
	return ""
}

// inserted checks what the worker read back after an insert.
func (s *session) inserted(a *protocol.Response) error {
	if s.unanswered == "" || a.Phase != s.unanswered {
		return s.broken("the worker answered %q of phase %.80q: it was not asked for, or has been answered", a.Type, a.Phase)
	}
	s.unanswered = ""
	return s.judge(nil, CheckInserted(s.current(), s.want.Expect[a.Phase].Tables, s.hashed, a.Tables))
}

// due returns the phase of which the next sample must be. It must be the current phase.
func (s *session) due(said *protocol.Sample) (*plan.Phase, error) {
	n := len(s.trial.Samples)
	if said == nil || n >= len(s.want.Phases) || said.Phase != s.want.Phases[n] {
		return nil, s.broken("a sample of another phase than the next one, of %s", strings.Join(s.want.Phases, ", "))
	}
	if s.next == 0 || s.current().Name != said.Phase {
		return nil, s.broken("the worker sent the sample of phase %s before it had begun it", said.Phase)
	}
	return s.current(), nil
}

// sample checks what the worker says of a phase.
func (s *session) sample(said *protocol.Sample) error {
	p, err := s.due(said)
	if err != nil {
		return err
	}
	if p.HTTP != nil {
		return s.broken("the worker answered an http phase with %q: want %q", protocol.TypeSample, protocol.TypeServed)
	}
	if s.part != nil {
		return s.partial(said)
	}
	said, apart, err := s.gathered(p, said)
	if err != nil {
		return err
	}
	now := time.Now()
	saw := Seen{Possible: now.Sub(s.started) - s.idle - s.claimed, Between: now.Sub(s.began), Cores: runtime.NumCPU()}
	want, ok := s.want.Expect[p.Name]
	if !ok {
		want = Expectation{Operations: -1, Rows: -1}
	}
	want.Unhashed = s.unhashed(p)
	m, doubts, faults := CheckSample(p, want, saw, said)
	m.ApartNS = apart
	doubts = append(doubts, notTogether(m, s.want.Settings.Processes())...)
	if err := s.judge(doubts, faults); err != nil {
		return err
	}
	s.claimed += time.Duration(m.WallNS + m.CheckpointNS)
	s.trial.Samples = append(s.trial.Samples, *m)
	return nil
}

// judge ends the trial if there is a fault, and keeps the doubts.
func (s *session) judge(doubts []result.Warning, faults []Fault) error {
	s.trial.Warnings = append(s.trial.Warnings, doubts...)
	if len(faults) == 0 {
		return nil
	}
	s.fail(statusOf(faults[0].Code), faults[0].Code, "%s", faults[0].Message)
	var more []string
	for _, f := range faults[1:] {
		more = append(more, f.Message)
	}
	s.trial.Reason.Detail = strings.Join(more, "\n")
	return errEnough
}
