package lab

import (
	"context"
	"testing"
	"time"
)

// VersionMod writes the go.mod of another version, as a build does.
var VersionMod = versionMod

// SetCeiling gives the ceiling for a number of clients, instead of measuring it.
func (p *Processes) SetCeiling(clients int, perSecond float64) {
	c := ceiling{perSecond: perSecond, until: time.Now().Add(time.Hour)}
	p.ceilings = map[int]ceiling{clients: c, 1: c}
}

// CeilingsEnd has every ceiling measured again at the next trial.
func (p *Processes) CeilingsEnd() {
	for clients, c := range p.ceilings {
		c.until = time.Now()
		p.ceilings[clients] = c
	}
}

// Late says that a latency is the load generator's own.
var Late = late

// BenchTimes are the samples of a job bench.
var BenchTimes = benchTimes

// SetBuiltFrom has the executable be built from another tree for a test.
func SetBuiltFrom(t *testing.T, dir string) {
	was := builtFrom
	builtFrom = func() string { return dir }
	t.Cleanup(func() { builtFrom = was })
}

// Marker is the text of the file that marks a directory.
func Marker(dir string) string { return marker(dir, nil) }

// Abandon gives up a directory as a process does that is killed.
func Abandon(s *Scratch) { s.lock.Close() }

// Tags are the build tags of a driver's version.
func Tags(r Ref) string { return r.tags() }

// Added estimates what is added in the phases of a plan.
var Added = added

// WorkerPath is where the executable for a driver is, or would be.
func (b *Builder) WorkerPath(ctx context.Context, ref Ref) (string, error) { return b.path(ctx, ref) }
