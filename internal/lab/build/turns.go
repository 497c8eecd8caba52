package build

import (
	"context"
	"sync"
	"time"
)

// atOnce is how many workers are built at the same time. SQLite's C code is one file, so its compilation uses
// only one processor, for a minute.
const atOnce = 2

// turn waits until the modules of the worker at path are downloaded, and until fewer than [atOnce] workers
// are being built. A worker whose modules are still missing doesn't count as being built, so it doesn't make
// other workers wait. The caller calls done after the build.
func (b *Builder) turn(ctx context.Context, path string) (done func(), err error) {
	b.mu.Lock()
	if b.turns == nil {
		b.turns = make(chan struct{}, atOnce)
	}
	turns, downloaded := b.turns, b.downloads[path]
	b.mu.Unlock()
	if downloaded != nil {
		select {
		case <-downloaded:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case turns <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	building, working := b.building.begin(), b.working.begin()
	return func() {
		building()
		working()
		<-turns
	}, nil
}

// Spent returns how long b has been building workers, and how long it has only been downloading modules, because
// nothing could be built yet.
func (b *Builder) Spent() (downloading, building time.Duration) {
	building = b.building.total()
	return b.working.total() - building, building
}

// A span measures for how long at least one activity was running. Activities may overlap.
type span struct {
	mu    sync.Mutex
	n     int           // number of activities that run now
	since time.Time     // when the current period began, in which at least one activity runs
	sum   time.Duration // total length of the earlier periods
}

func (s *span) begin() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; s.n == 1 {
		s.since = time.Now()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.n--; s.n == 0 {
			s.sum += time.Since(s.since)
		}
	}
}

// total returns the time up to now.
func (s *span) total() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n > 0 {
		return s.sum + time.Since(s.since)
	}
	return s.sum
}
