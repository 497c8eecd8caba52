package build

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// An Expectation says how long it is likely to take until workers are built. The estimate uses times that are
// typical of one machine, because the speed of the network and the contents of Go's build cache are not known
// beforehand.
type Expectation struct {
	Download time.Duration   // time for downloads before anything can be built
	Builds   []ExpectedBuild // the workers that are not built yet, in the order in which they are built
	Total    time.Duration   // time until all workers in Builds are built; 0 if there are none
	Less     bool            // Go's build cache is not empty, so the builds may take much less time
}

// An ExpectedBuild says how long it is likely to take to build a worker.
type ExpectedBuild struct {
	Name  string        // name of the driver
	Ready time.Duration // time from the start of all downloads until the modules of this worker are downloaded
	Takes time.Duration
}

// EndOf returns the time at which the last of the workers is built. No build begins before the time "now".
// Some builds may already be running. The parameter "busy" has the times at which they end. All times count
// from the start of all downloads.
func EndOf(builds []ExpectedBuild, now time.Duration, busy ...time.Duration) (end time.Duration) {
	places := slices.Repeat([]time.Duration{now}, atOnce) // when each of the places for a build becomes free
	copy(places, busy)
	for _, x := range builds {
		first := slices.Index(places, slices.Min(places))
		places[first] = max(places[first], x.Ready) + x.Takes
	}
	return slices.Max(places)
}

// typical has the build time and the download size of a worker of each kind, if Go's caches are empty.
var typical = map[driver.Kind]struct {
	build     time.Duration // build time on two cores, on which another worker is built at the same time
	megabytes float64       // size of the download
	again     float64       // for each driver of this kind after the first: fraction of the build time and download that remains, because drivers share Go packages, but not C code
}{
	driver.Cgo:        {70 * time.Second, 5, 1},
	driver.Transpiled: {45 * time.Second, 50, 0.5},
	driver.Wasm:       {45 * time.Second, 5, 0.5},
}

const (
	// compiled is the fraction of the build time and of the download that remains if another worker of the
	// driver was built from the same sources.
	compiled = 0.2
	// network is the speed of an ordinary network, in megabytes per second.
	network = 4
)

// Expect estimates how long it takes to build the workers of these drivers in this order. The parameter
// "pace" is how long work takes on this machine, divided by how long it takes on the machine on which the
// typical times were measured.
func (b *Builder) Expect(ctx context.Context, refs []Ref, pace float64) (e Expectation) {
	if runtime.NumCPU() < atOnce {
		pace *= atOnce
	}
	seen := map[driver.Kind]bool{}
	downloaded := time.Duration(0)
	for _, ref := range refs {
		if ref.Path != "" {
			continue
		}
		if built, err := b.Built(ctx, ref); built || err != nil {
			continue
		}
		kind := ref.Known.Kind
		takes, share := typical[kind], 1.0
		if seen[kind] {
			share = takes.again
		}
		seen[kind] = true
		if !b.inModuleCache(ref) {
			downloaded += time.Duration(share * takes.megabytes / network * float64(time.Second))
		}
		if b.compiledBefore(ctx, ref) {
			share = compiled
		}
		if len(e.Builds) == 0 {
			e.Download = downloaded
		}
		e.Builds = append(e.Builds, ExpectedBuild{ref.Name, downloaded, time.Duration(share * pace * float64(takes.build))})
	}
	e.Total, e.Less = EndOf(e.Builds, 0), b.caches.used
	return e
}

// compiledBefore reports whether the cache has another worker of the same driver in the same version, or from
// the same directory. If so, Go's build cache probably has the driver's compiled C code.
func (b *Builder) compiledBefore(ctx context.Context, ref Ref) bool {
	for key := range ref.Options {
		if o, _ := lookupOption(key); o.built {
			return false
		}
	}
	path, _, err := b.path(ctx, ref)
	if err != nil {
		return false
	}
	if ref.Dir == "" {
		path = path[:strings.LastIndexByte(path, '-')]
	}
	others, err := filepath.Glob(strings.TrimSuffix(path, ".exe") + "-*" + sumSuffix)
	return err == nil && len(others) > 0
}

// inModuleCache reports whether the driver's library has been downloaded.
func (b *Builder) inModuleCache(ref Ref) bool {
	path, err := module.EscapePath(ref.Known.Module)
	if err != nil || ref.Dir != "" {
		return ref.Dir != ""
	}
	version, err := module.EscapeVersion(ref.version())
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(b.caches.GOMODCACHE, filepath.FromSlash(path)+"@"+version))
	return err == nil
}
