package build

import (
	"context"
	"testing"
	"time"
)

// VersionMod writes the go.mod for building another version.
var VersionMod = versionMod

// ShortLimits sets, until the test ends, the time limits for asking servers and programs.
func ShortLimits(t *testing.T, limit time.Duration) {
	status, version := statusLimit, versionLimit
	statusLimit, versionLimit = limit, limit
	t.Cleanup(func() { statusLimit, versionLimit = status, version })
}

// SetBuiltFrom pretends, until the test ends, that the executable was built from the tree
// dir.
func SetBuiltFrom(t *testing.T, dir string) {
	was := builtFrom
	builtFrom = func() string { return dir }
	t.Cleanup(func() { builtFrom = was })
}

// Tags returns the build tags of a driver with an empty GOFLAGS.
func Tags(r Ref) string { return r.tags("") }

// Outside explains the go command's output, if the cause is neither the library nor this program.
func Outside(said string) string { return (&Builder{}).outside(said, nil) }

// WorkerPath returns the path of the driver's executable in the cache, whether or not it
// exists.
func (b *Builder) WorkerPath(ctx context.Context, ref Ref) (string, error) {
	path, _, err := b.path(ctx, ref)
	return path, err
}

// LetGo ends this process's use of unpacked sources, as its exit would.
func LetGo() {
	held.Lock()
	defer held.Unlock()
	for dir, f := range held.files {
		f.Close()
		delete(held.files, dir)
	}
}
