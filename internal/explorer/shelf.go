package explorer

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/trends"
)

// shelf reads a store, and keeps the analyses of runs until the store changes.
type shelf struct {
	path, floor string

	mu      sync.Mutex
	st      *store.Store // the open store; nil until its file exists
	file    os.FileInfo  // the file that st has open
	changes int64        // result of [store.Store.Changes] when entries was read
	entries []store.Entry
	judged  []judged                     // analyses with comparisons between drivers; the analysis that was used last comes first
	live    map[int64]judged             // analyses of runs that have not ended, without comparisons between drivers
	points  map[figureKey][]trends.Trend // points of runs that have ended, which no longer change
	kept    int                          // total number of trends in points
}

// maxKept is the greatest number of samples in all analyses together that a shelf keeps. A sample
// takes about a kilobyte. The analysis that was used last is always kept.
const maxKept = 200_000

// judged is the analysis of a run. The field "extent" says how much of the run the analysis covers.
type judged struct {
	*stats.Analysis
	extent store.Extent
}

func newShelf(path, floor string) *shelf {
	return &shelf{path: path, floor: floor, live: map[int64]judged{}, points: map[figureKey][]trends.Trend{}}
}

func (s *shelf) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.st == nil {
		return nil
	}
	return s.st.Close()
}

// open returns the store. If another file has replaced the store's file, open opens the new file. The
// caller must hold s.mu.
func (s *shelf) open(ctx context.Context) (*store.Store, error) {
	now, err := os.Stat(s.path)
	if s.st != nil && (err != nil || !os.SameFile(s.file, now)) {
		if err := s.st.Close(); err != nil {
			return nil, err
		}
		s.st, s.entries, s.judged = nil, nil, nil
		clear(s.live)
		clear(s.points)
		s.kept = 0
	}
	if s.st == nil {
		st, err := store.OpenReadOnly(ctx, s.path)
		if err != nil {
			return nil, err
		}
		s.st, s.file = st, now
	}
	return s.st, nil
}

func (s *shelf) list(ctx context.Context) ([]store.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.open(ctx)
	if errors.Is(err, store.ErrNoStore) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	changes, err := st.Changes(ctx)
	if err != nil {
		return nil, err
	}
	if s.entries == nil || changes != s.changes {
		if s.entries, err = st.List(ctx); err != nil {
			s.entries = nil
			return nil, err
		}
		s.changes = changes
	}
	return s.entries, nil
}

// analysis returns the analysis of a run. It judges the run again if there are new trials.
func (s *shelf) analysis(ctx context.Context, id int64) (*stats.Analysis, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	extent, err := st.Extent(ctx, id)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(s.judged, func(j judged) bool { return j.Run.ID == id }); i >= 0 {
		j := s.judged[i]
		s.judged = slices.Delete(s.judged, i, i+1)
		if j.extent == extent {
			s.judged = slices.Insert(s.judged, 0, j)
			return j.Analysis, nil
		}
	}
	run, err := st.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	j := judged{stats.Analyze(run, s.floor), extent}
	s.judged = slices.Insert(s.judged, 0, j)
	kept := 0
	for i, j := range s.judged {
		if kept += report.SamplesOf(j.Run); kept > maxKept && i > 0 {
			s.judged = slices.Delete(s.judged, i, len(s.judged))
			break
		}
	}
	return j.Analysis, nil
}

// maxLatest limits the search for runs in progress to the newest runs. Reading all runs would
// disturb the measurement.
const maxLatest = 20

// latest returns the newest runs without their trials, or none if there is no store yet.
func (s *shelf) latest(ctx context.Context) ([]store.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.open(ctx)
	if errors.Is(err, store.ErrNoStore) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return st.Latest(ctx, maxLatest)
}

// underWay returns the analysis of a run that has not ended, without comparisons between drivers. It
// returns nil if the run has added no trial for too long. It reads only the trials that were added since
// its last call for this run.
func (s *shelf) underWay(ctx context.Context, id int64) (*stats.Analysis, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	extent, err := st.Extent(ctx, id)
	if err != nil {
		return nil, err
	}
	if !extent.Last.IsZero() && time.Since(extent.Last) > 2*mostSilence { // twice, because the trial that began at Last may take mostSilence, and the silence after it may also last mostSilence
		delete(s.live, id)
		return nil, nil
	}
	p, known := s.live[id]
	if known && p.extent == extent {
		return p.Analysis, nil
	}
	if len(s.live) > maxLatest { // some of the analyses are of runs that have ended, so drop all analyses
		clear(s.live)
		known = false
	}
	var run *result.Run
	if known {
		run = p.Run
		err = st.Continue(ctx, run)
	} else {
		run, err = st.Load(ctx, id)
	}
	if err != nil {
		delete(s.live, id)
		return nil, err
	}
	p = judged{stats.Preview(run, s.floor), extent}
	s.live[id] = p
	return p.Analysis, nil
}
