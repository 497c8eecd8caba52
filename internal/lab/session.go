package lab

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// session is this process's side of the conversation with one worker process, for one trial.
type session struct {
	limit time.Duration
	hint  string
	trial *result.Trial
	want  *Case
	phase string // name of the current phase
	next  int    // index of the plan's next phase
	done  bool

	turn  *turn          // turn of the trial; nil: the trial runs alone
	alarm *process.Alarm // calls its function when the trial's time is up
	idle  time.Duration  // how long the trial waited for its turn

	slices []int64 // times from the beginning of the current phase to the end of each slice but the last, in ns

	stopped time.Duration  // how long this process was stopped
	waited  *time.Duration // how long the worker's threads waited for a CPU; nil: not known

	inForce driver.Settings // settings that the first connection last read back
	begins  string          // version of the SQLite that wrote the database before the trial; "": none, or not known

	started time.Time     // when the request was sent
	began   time.Time     // when the current phase began
	claimed time.Duration // sum of the times that the worker has reported so far

	profiling *Profiling // how the trial is profiled; nil: it is not profiled

	hashed     bool     // whether the plan asks for checksums of inserted rows
	brief      []string // names of phases that are not verified in full
	unanswered string   // name of the insert phase whose tables the worker must read back next; "": none

	loads  bool    // whether the worker only loads the database
	untold bool    // whether the worker must still report the tables of the loaded database
	tables []Table // tables of the loaded database; Rows is -1 if not known

	unread  string          // the schema or phase that ran since the worker last read back the settings; "": none
	changed driver.Settings // settings that have changed so far because the workload declares it, with their new values

	shares // state of mixes in several processes

	seed     uint64
	ceilings map[int]ceiling
	ctx      context.Context // context of the trial
	worker   *process.Child
	traffic  *traffic // load of the current http phase; nil: none
}

func (s *session) fail(status result.Status, code, format string, args ...any) {
	if s.trial.Reason != nil {
		return // keep the first reason, because it is the cause of later ones
	}
	s.trial.Status = status
	s.trial.Reason = &protocol.Reason{Code: code, Phase: s.phase, Message: fmt.Sprintf(format, args...)}
}

// failed fails the trial as the method "fail" does, and returns the error that ends the conversation.
func (s *session) failed(status result.Status, code, format string, args ...any) error {
	s.fail(status, code, format, args...)
	return errEnough
}

// broken fails the trial because the worker's message breaks the protocol. It returns the error that ends the
// conversation.
func (s *session) broken(format string, args ...any) error {
	return s.failed(result.Failed, protocol.CodeProtocol, format, args...)
}

func (s *session) run(ctx context.Context, dir string, req protocol.Request) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.alarm = process.NewAlarm(s.limit, func() { cancel(errTimeout) })
	defer func() { s.stopped += s.alarm.Stop() }()

	// SQLite must create its temporary files on the measured file system.
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

// ended fails the trial if the worker's process did not end as it should.
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

// listen reads the worker's answers up to the last one. An error means that the worker is not needed any
// longer.
func (s *session) listen(lines *bufio.Scanner) error {
	for lines.Scan() {
		var a protocol.Response
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return s.broken("the worker's answer is not understood: %v: %.80q", err, lines.Text())
		}
		if a.Type == protocol.TypeSample || a.Type == protocol.TypeServed || a.Type == protocol.TypeDone {
			s.seeWaiting() // once the worker has ended, its waiting time cannot be read
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

// seeWaiting records how long the worker's threads have waited for a CPU so far. It keeps
// the largest figure, because a worker that is exiting has fewer threads left.
func (s *session) seeWaiting() {
	if s.worker == nil {
		return // only in tests, which have no process
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
	if err := s.inOrder(a.Type); err != nil {
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
		return s.alternate(a)
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

// statusOf returns the status of a trial that ends with a reason of this code.
func statusOf(code string) result.Status {
	switch code {
	case protocol.CodeRows, protocol.CodeChecksum, protocol.CodeIntegrity, protocol.CodeAnswer:
		return result.Wrong
	case protocol.CodeSetting:
		return result.Refused
	}
	return result.Failed
}

// ready checks the worker's proof, which reports its versions and settings, against the settings and the
// variant that the worker was asked to use.
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
		return s.failed(result.Refused, protocol.CodeVariant, "%s", bad)
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
		return s.failed(result.Refused, protocol.CodeSetting, "%s", bad)
	}
	return nil
}

// begin records that a phase has begun. The phase must be the plan's next one.
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
	s.phase, s.began, s.slices = name, time.Now(), nil
	s.unread = "phase " + name
	if len(s.want.Expect[name].Tables) > 0 && s.current().Insert != nil {
		s.unanswered = name
	}
	return nil
}

// alternate lets other trials run until it is this trial's turn again. Meanwhile the worker is stopped
// (except the worker of a cluster), because its garbage collector and its other threads must run only during
// its own turns. After that, alternate tells the worker to proceed.
func (s *session) alternate(a *protocol.Response) error {
	if s.turn == nil {
		return s.broken("the worker answered %q: it was not asked to alternate", protocol.TypeWaiting)
	}
	within := a.Phase != ""
	if within && (s.next == 0 || a.Phase != s.current().Name || s.lastSample() == a.Phase) {
		return s.broken("the worker answered %q in phase %.80q, which it is not measuring", protocol.TypeWaiting, a.Phase)
	}
	place := 2 * s.next
	if within {
		place--
		s.slices = append(s.slices, a.WallNS)
	}
	s.trial.Alternated = true
	waited, err := s.yield(place)
	if within {
		s.began = s.began.Add(waited)
	}
	if err == nil {
		s.order(protocol.TypeProceed)
	}
	return err
}

// yield lets other trials run until it is this trial's turn again. Meanwhile the worker is stopped, except
// the worker of a cluster. The parameter "place" says how far the trial is. yield returns how long the
// trial waited.
func (s *session) yield(place int) (time.Duration, error) {
	s.alarm.Pause()
	stops := s.want.Info.Kind != driver.Cluster // if the nodes of a cluster were stopped, they would elect another leader
	if stops {
		s.worker.Pause()
	}
	waited, err := s.turn.yield(s.ctx, place)
	if stops {
		s.worker.Resume()
	}
	s.alarm.Resume()
	s.idle += waited
	return waited, err
}

// current returns the phase that began last. Some phase must have begun.
func (s *session) current() *plan.Phase { return &s.want.Plan.Phases[s.next-1] }

// lastSample returns the name of the last sample's phase, or "" if there is no sample.
func (s *session) lastSample() string {
	if n := len(s.trial.Samples); n > 0 {
		return s.trial.Samples[n-1].Phase
	}
	return ""
}

// inserted checks the tables that the worker read back after an insert.
func (s *session) inserted(a *protocol.Response) error {
	if s.unanswered == "" || a.Phase != s.unanswered {
		return s.broken("the worker answered %q of phase %.80q: it was not asked for, or has been answered", a.Type, a.Phase)
	}
	s.unanswered = ""
	return s.judge(nil, CheckInserted(s.current(), s.want.Expect[a.Phase].Tables, s.hashed, a.Tables))
}

// due returns the phase of a sample from the worker. This phase must be the next timed phase and the current
// phase.
func (s *session) due(said *protocol.Sample) (*plan.Phase, error) {
	n := len(s.trial.Samples)
	if said == nil || n >= len(s.want.Phases) || said.Phase != s.want.Phases[n] {
		return nil, s.broken("a sample of another phase than the next one, of %s", strings.Join(s.want.Phases, ", "))
	}
	if s.next == 0 || s.current().Name != said.Phase {
		return nil, s.broken("the worker sent the sample of phase %s before it had begun it", said.Phase)
	}
	if s.want.cold() && said.Caches == nil {
		return nil, s.broken("phase %s: caches is missing: want it, because cold_caches is on", said.Phase)
	}
	return s.current(), nil
}

// sliceTimes returns the wall time of each slice of a phase. The parameter "ends" has the times from the
// beginning of the phase to the end of each slice but the last. The parameter "total" is the time to the
// end of the last slice. If these times decrease, or if the worker does not report them, sliceTimes returns
// nil. The time of a slice may be 0, because the time of a mix is the greatest of its clients' times, and
// the client with that time may have ended before the slice.
func sliceTimes(ends []int64, total int64) (times []int64) {
	if ends[len(ends)-1] == 0 {
		return nil
	}
	last := int64(0)
	for _, end := range append(slices.Clone(ends), total) {
		if end < last {
			return nil
		}
		times = append(times, end-last)
		last = end
	}
	return times
}

// sliced adds the slices of the current phase to its sample. The parameter "wall" is the time of the phase, in
// ns.
func (s *session) sliced(m *result.Sample, wall int64) {
	m.Slices, m.SliceNS = int64(len(s.slices))+1, sliceTimes(s.slices, wall)
}

// sample checks the worker's sample of a phase, and adds it to the trial.
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
	want := s.want.expected(p.Name)
	// Only a query may omit its checksum. The checksum of a mix is always computed, because computing it before
	// the clock starts also loads the database into memory.
	want.Unhashed = p.Query != nil && slices.Contains(s.brief, p.Name)
	m, doubts, faults := CheckSample(p, want, saw, said)
	m.ApartNS = apart
	switch n, asked := int64(len(s.slices))+1, s.request.Repeats[p.Name]; {
	case said.Executions > asked:
		return s.broken("phase %s: executions is %d: want at most %d, as the request says", p.Name, said.Executions, asked)
	case asked > 0 && max(n, said.Executions) > 1:
		m.Repeats = cmp.Or(said.Executions, n)
		if n > 1 {
			s.sliced(m, said.WallNS*m.Repeats)
		}
		if m.Slices == m.Repeats {
			m.Slices = 0 // each slice was one execution of the query
		}
	case n > 1:
		s.sliced(m, said.WallNS)
	case s.request.Slices[p.Name] > 0 && m.Operations >= 2*s.request.Slices[p.Name]:
		doubts = append(doubts, result.Warning{Code: result.WarningOnePiece, Phase: p.Name,
			Message: fmt.Sprintf("%s on %s is measured in one piece, because the worker does not pause within it: its ratios vary more than those of other drivers, and can be some percent off", p.Name, s.want.Driver)})
	}
	doubts = append(doubts, notTogether(m, s.want.Settings.Processes())...)
	if err := s.judge(doubts, faults); err != nil {
		return err
	}
	s.claimed += time.Duration(said.WallNS + m.CheckpointNS)
	s.trial.Samples = append(s.trial.Samples, *m)
	return nil
}

// judge adds the warnings in the parameter "doubts" to the trial. If there are faults, it fails the trial and
// returns an error. The first fault becomes the reason of the trial, and the messages of the other faults
// become the detail of this reason.
func (s *session) judge(doubts []result.Warning, faults []Fault) error {
	s.trial.Warnings = append(s.trial.Warnings, doubts...)
	if len(faults) == 0 {
		return nil
	}
	s.fail(statusOf(faults[0].Code), faults[0].Code, "%s", faults[0].Message)
	s.trial.Reason.Detail = messages(faults[1:])
	return errEnough
}
