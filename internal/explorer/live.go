package explorer

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// Current is the answer to /api/v1/current: the runs that are being measured now.
type Current struct {
	Job  *Job       `json:"job,omitempty"` // the last run that was started from a page of the explorer
	Runs []Progress `json:"runs"`          // runs of the store that any process is measuring
}

// Progress says how much of a run has been measured.
type Progress struct {
	Run     int64            `json:"run"`
	Started time.Time        `json:"started"`
	Command []string         `json:"command"`
	Here    bool             `json:"here,omitempty"`     // whether the run was started from a page of the explorer, and can be stopped there
	Rounds  int              `json:"rounds"`             // number of complete rounds
	Of      *result.Schedule `json:"schedule,omitempty"` // how long the run is to last
	Trials  int              `json:"trials"`
	Last    time.Time        `json:"last_trial,omitzero"` // when the last trial ended
	Elapsed int64            `json:"elapsed_ns"`          // time from the start until the last trial
	Left    int64            `json:"left_ns,omitempty"`   // estimated remaining time; 0: not known yet. A run without a fixed number of rounds may end earlier, once all figures are precise enough
	Precise float64          `json:"precision,omitempty"` // requested precision, as a fraction of each figure, such as 0.02
	Settled int              `json:"settled"`             // number of figures that have the requested precision
	Figures []Figure         `json:"figures"`             // at most [maxFigures] figures
	More    int              `json:"more,omitempty"`      // number of figures that are left out
	Bad     []Case           `json:"bad"`                 // cases that were refused, wrong or failed
}

// Figure is a figure of a run in progress: a ratio to another driver or, without Base, a median.
type Figure struct {
	Workload string        `json:"workload"`
	Variant  string        `json:"variant,omitempty"`
	Phase    string        `json:"phase"`
	Driver   string        `json:"driver"`
	Case     int           `json:"case"`
	Base     string        `json:"base,omitempty"` // driver that the ratio is relative to
	Median   float64       `json:"median"`         // the ratio or, without Base, the median in seconds
	Summary  stats.Summary `json:"summary"`
	Spread   *float64      `json:"spread,omitempty"` // distance of the interval's farther end from the median, as a fraction of the median; absent if there are too few samples
	Settled  bool          `json:"settled"`
}

const (
	maxFigures = 300
	maxBad     = 100
)

func (s *Server) current(ctx context.Context) (*Current, error) {
	c := &Current{}
	entries, err := s.shelf.latest(ctx)
	if err != nil {
		return nil, err
	}
	here := int64(0)
	if j := s.job; j != nil {
		j.adopt(entries)
		now, _ := j.now()
		c.Job = &now
		if here = now.Run; now.State == jobEnded {
			here = 0
		}
	}
	var open []*stats.Analysis // runs that have not ended
	var runs []*result.Run
	for i := range entries {
		e := &entries[i]
		if e.Stopped != "" || e.Damaged != "" || !e.Ended.IsZero() {
			continue
		}
		a, err := s.shelf.underWay(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		if a != nil {
			open, runs = append(open, a), append(runs, a.Run)
		}
	}
	living := s.living(runs, here, time.Now())
	for _, a := range open {
		if living[a.Run.ID] {
			c.Runs = append(c.Runs, *progress(a, a.Run.ID == here))
		}
	}
	return c, nil
}

// adopt finds the run of a job in the store: a new run that has the same command as the job.
func (j *job) adopt(entries []store.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Run != 0 {
		return
	}
	for i := range entries {
		if e := &entries[i]; e.ID > j.after && slices.Equal(e.Command, j.cmd.Args[1:]) {
			j.Run = e.ID
			if j.news++; j.State == jobPreparing {
				j.State = jobMeasuring
			}
			return
		}
	}
}

// A store says when a run's last trial ended, but not whether another trial has begun. So a run
// counts as killed if no trial has ended for a long time: five times the duration of its longest
// trial, but at least leastSilence and at most mostSilence. A run without trials counts as killed
// after mostSilence.
const (
	leastSilence = 2 * time.Minute
	mostSilence  = time.Hour
)

// living returns the IDs of the unfinished runs that are being measured now. The parameter "here" is
// the ID of the run that this server is measuring, or 0 if there is none. The result always includes
// that run. In each directory, living chooses as many runs as processes measure in this directory,
// beginning with the run whose last trial ended last. If the number of processes is not known, as on
// other machines, living guesses by the time since each run's last trial.
func (s *Server) living(runs []*result.Run, here int64, now time.Time) map[int64]bool {
	living := map[int64]bool{}
	if here != 0 {
		living[here] = true
	}
	heard := func(r *result.Run) time.Time {
		if r.ID == here {
			return now.AddDate(1, 0, 0) // sort this server's run before all other runs
		}
		last, _ := lastTrial(r)
		return last
	}
	left := map[string]int{} // by directory, the number of measuring processes that are not yet matched to a run
	for _, r := range slices.SortedStableFunc(slices.Values(runs), func(a, b *result.Run) int { return heard(b).Compare(heard(a)) }) {
		dir := r.Machine.Directory
		n, known := 0, false
		if s.options.Users != nil && r.Host == nil {
			n, known = s.options.Users(r.Machine)
		}
		if _, asked := left[dir]; known && !asked {
			left[dir] = n
		}
		switch {
		case !known:
			living[r.ID] = living[r.ID] || alive(r, now)
		case left[dir] > 0:
			left[dir]--
			living[r.ID] = true
		}
	}
	return living
}

func alive(r *result.Run, now time.Time) bool {
	last, longest := lastTrial(r)
	if len(r.Trials) == 0 {
		longest = mostSilence
	}
	return now.Sub(last) < min(max(leastSilence, 5*longest), mostSilence)
}

// lastTrial returns when a run's last trial ended, and the duration of its longest trial. Without
// trials it returns when the run began.
func lastTrial(r *result.Run) (last time.Time, longest time.Duration) {
	last = r.Started
	for i := range r.Trials {
		took := time.Duration(r.Trials[i].TookNS)
		longest = max(longest, took)
		if end := r.Trials[i].Started.Add(took); end.After(last) {
			last = end
		}
	}
	return last, longest
}

const minRounds = stats.MinSamples

func progress(a *stats.Analysis, here bool) *Progress {
	r := a.Run
	p := &Progress{Run: r.ID, Started: r.Started, Command: r.Command, Here: here, Of: r.Schedule, Trials: len(r.Trials),
		Precise: r.Precision}
	last, _ := lastTrial(r)
	p.Elapsed = int64(last.Sub(r.Started))
	if len(r.Trials) > 0 {
		p.Last = last
	}
	done := roundsDone(r)
	p.Rounds = int(done)
	if s := r.Schedule; s != nil && done >= 1 {
		each := float64(p.Elapsed) / done
		left := each * (float64(max(minRounds, s.Rounds)) - done)
		if s.Rounds == 0 {
			left = max(left, float64(s.TimeNS-p.Elapsed))
		}
		p.Left = max(1, int64(left))
	}
	for _, f := range a.Figures() {
		if f.Summary.N == 0 {
			continue
		}
		settled := f.Settled(r.Precision)
		if settled {
			p.Settled++
		}
		if len(p.Figures) == maxFigures {
			p.More++
			continue
		}
		x := Figure{Workload: f.Workload, Variant: f.Variant, Phase: f.Phase, Driver: f.Cell.Case.Driver, Case: f.Cell.Case.ID,
			Median: f.Summary.Median, Summary: f.Summary, Settled: settled}
		if f.Base != nil {
			x.Base = f.Base.Case.Driver
		}
		if spread, ok := f.Summary.Spread(); ok {
			x.Spread = &spread
		}
		p.Figures = append(p.Figures, x)
	}
	for g, o := range a.OutcomesByGroup() {
		if o.Status != result.OK && o.Status != stats.NotMeasured && len(p.Bad) < maxBad {
			p.Bad = append(p.Bad, caseOf(a, g, o))
		}
	}
	return p
}

// roundsDone returns the number of complete rounds plus the finished share of the current round. It
// assumes that the current round has as many trials as the round before.
func roundsDone(r *result.Run) float64 {
	trials := map[int]int{}
	round := 0
	for i := range r.Trials {
		trials[r.Trials[i].Round]++
		round = max(round, r.Trials[i].Round)
	}
	if round == 0 {
		return 0
	}
	of := len(r.Cases)
	if round > 1 {
		of = trials[round-1]
	}
	return float64(round-1) + min(1, float64(trials[round])/float64(max(of, 1)))
}

func (s *Server) getCurrent(r *http.Request, q *query) (*Current, error) {
	if err := q.end(); err != nil {
		return nil, err
	}
	s.launch.Lock()
	defer s.launch.Unlock()
	return s.current(r.Context())
}

const (
	lookEvery  = time.Second      // interval between checks whether the store has changed
	tellEvery  = 2 * time.Second  // least time between two events
	aliveEvery = 15 * time.Second // longest time between two writes; a write fails if the client is gone
	maxStreams = 10               // streams that may be open at the same time
)

// keepStream is the least duration of a stream. An older stream is closed if a new client needs a
// stream, so that no client can occupy all streams.
const keepStream = time.Minute

type streams struct {
	mu   sync.Mutex
	open []*stream // open streams, the oldest first
}

type stream struct {
	began time.Time
	end   chan struct{} // closed when a new stream replaces this one
}

// add returns a new stream, which the caller must remove later. If [maxStreams] are open, it ends the
// oldest stream, or returns nil if the oldest stream is younger than [keepStream].
func (s *streams) add(now time.Time) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) >= maxStreams {
		if now.Sub(s.open[0].began) < keepStream {
			return nil
		}
		close(s.open[0].end)
		s.open = s.open[1:]
	}
	x := &stream{now, make(chan struct{})}
	s.open = append(s.open, x)
	return x
}

func (s *streams) remove(x *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(o *stream) bool { return o == x })
}

// events sends the answer of /api/v1/current whenever it changes, as server-sent events. The store
// is read only while a client is connected.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	if err := parse(r).end(); err != nil {
		writeError(w, err)
		return
	}
	own := s.streams.add(time.Now())
	if own == nil {
		writeError(w, failf(http.StatusServiceUnavailable, "there are %d streams already: close a page, or wait a minute", maxStreams))
		return
	}
	defer s.streams.remove(own)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(aliveEvery)) // fails if the ResponseWriter has no deadlines
		_, err := fmt.Fprint(w, text)
		return err == nil && control.Flush() == nil
	}
	before, told := "", time.Time{}
	for {
		data, err := s.now(r.Context())
		switch {
		case err != nil:
			f, _ := marshal(Failure{http.StatusInternalServerError, clip(err.Error())})
			send("event: failure\ndata: " + string(f) + "\n\n")
			return
		case data != before:
			if !send("data: " + data + "\n\n") {
				return
			}
			before, told = data, time.Now()
		case time.Since(told) > aliveEvery:
			if !send(": nothing new\n\n") {
				return
			}
			told = time.Now()
		}
		select {
		case <-time.After(max(lookEvery, time.Until(told.Add(tellEvery)))):
		case <-r.Context().Done():
			return
		case <-own.end:
			return
		case <-s.done:
			return
		}
	}
}

// now returns the result of [Server.current] as JSON. Equal texts mean that nothing has changed.
func (s *Server) now(ctx context.Context) (string, error) {
	s.launch.Lock()
	defer s.launch.Unlock()
	c, err := s.current(ctx)
	if err != nil {
		return "", err
	}
	data, err := marshal(c)
	return string(data), err
}
