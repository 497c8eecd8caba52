package lab

import (
	"context"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Brief returns the phases that a trial of a case does not verify in full.
var Brief = brief

// Loading returns how many of the first phases of a case are done once for all trials.
var Loading = loading

// VersionMod writes the go.mod of another version, as a build does.
var VersionMod = versionMod

// ShortLimits makes what is asked before anything is built answer within a time, until the
// test ends.
func ShortLimits(t *testing.T, limit time.Duration) {
	status, version := statusLimit, versionLimit
	statusLimit, versionLimit = limit, limit
	t.Cleanup(func() { statusLimit, versionLimit = status, version })
}

// SetCeiling sets the ceiling for a number of clients, so that it is not measured.
func (p *Processes) SetCeiling(clients int, perSecond float64) {
	c := ceiling{perSecond: perSecond, until: time.Now().Add(time.Hour)}
	p.ceilings = map[int]ceiling{clients: c, 1: c}
}

// CeilingsEnd makes the next trial measure every ceiling again.
func (p *Processes) CeilingsEnd() {
	for clients, c := range p.ceilings {
		c.until = time.Now()
		p.ceilings[clients] = c
	}
}

// Late reports whether a latency is mainly the load generator's own.
var Late = late

// BenchTimes returns the times of the samples of a job bench.
var BenchTimes = benchTimes

// SetBuiltFrom pretends, for one test, that the executable was built from another tree.
func SetBuiltFrom(t *testing.T, dir string) {
	was := builtFrom
	builtFrom = func() string { return dir }
	t.Cleanup(func() { builtFrom = was })
}

// Marker returns the text of the file that marks a directory.
func Marker(dir string) string { return marker(dir, nil) }

// Abandon gives up a directory as a killed process does.
func Abandon(s *Scratch) { s.lock.Close() }

// Tags returns the build tags for a driver's version.
func Tags(r Ref) string { return r.tags("") }

// Unproven says what of a variant a proof does not show.
func Unproven(r Ref, p *protocol.Proof) string { return r.unproven(p) }

// Added estimates how much time is added in the phases of a plan.
var Added = added

// WorkerPath returns where the executable for a driver is, or would be.
func (b *Builder) WorkerPath(ctx context.Context, ref Ref) (string, error) {
	path, _, err := b.path(ctx, ref)
	return path, err
}

// Robbed is the rule by which a trial is robbed.
var Robbed = robbed

// CheckShare finds what is wrong with the sample of one process of a mix.
var CheckShare = checkShare

// ApartIn returns how far apart processes began, and what is doubtful about that.
func ApartIn(wall time.Duration, all ...*protocol.Sample) (*int64, []result.Warning) {
	apart := apartIn(all)
	return apart, notTogether(&result.Sample{Phase: "mix", WallNS: int64(wall), ApartNS: apart}, len(all))
}

// MergeShares adds up what several processes say of one mix.
var MergeShares = mergeShares

// StartChild starts a worker's process.
var StartChild = startChild

// LetGo ends the use of unpacked sources by this process, as its end does.
func LetGo() {
	held.Lock()
	defer held.Unlock()
	for dir, f := range held.files {
		f.Close()
		delete(held.files, dir)
	}
}

// SetStuckLimit changes how long a check of SQL may take, until restore is called.
func SetStuckLimit(d time.Duration) (restore func()) {
	before := stuckLimit
	stuckLimit = d
	return func() { stuckLimit = before }
}
