package build

import (
	"context"
	"testing"
	"time"
)

// VersionMod writes the go.mod of another version, as a build does.
var VersionMod = versionMod

// ShortLimits makes what is asked before anything is built answer within a time, until the
// test ends.
func ShortLimits(t *testing.T, limit time.Duration) {
	status, version := statusLimit, versionLimit
	statusLimit, versionLimit = limit, limit
	t.Cleanup(func() { statusLimit, versionLimit = status, version })
}

// SetBuiltFrom pretends, for one test, that the executable was built from another tree.
func SetBuiltFrom(t *testing.T, dir string) {
	was := builtFrom
	builtFrom = func() string { return dir }
	t.Cleanup(func() { builtFrom = was })
}

// Tags returns the build tags for a driver's version.
func Tags(r Ref) string { return r.tags("") }

// WorkerPath returns where the executable for a driver is, or would be.
func (b *Builder) WorkerPath(ctx context.Context, ref Ref) (string, error) {
	path, _, err := b.path(ctx, ref)
	return path, err
}

// LetGo ends the use of unpacked sources by this process, as its end does.
func LetGo() {
	held.Lock()
	defer held.Unlock()
	for dir, f := range held.files {
		f.Close()
		delete(held.files, dir)
	}
}
