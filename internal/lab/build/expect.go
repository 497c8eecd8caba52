package build

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/mod/module"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// An Expectation says how long it is likely to take until workers are built. It is an estimate from what is
// typical on one machine, because nobody knows beforehand how fast a network is, or what Go's build cache has.
type Expectation struct {
	Download time.Duration            // time for downloads before anything can be built
	Ends     map[string]time.Duration // when each worker that is not built yet will be built, by the driver's name
	Total    time.Duration            // the latest of Ends; 0 if all workers are built
	Less     bool                     // Go's build cache is not empty, so it may take much less
}

// typical is what a worker of each kind takes, if nothing of it is in Go's caches.
var typical = map[driver.Kind]struct {
	build     time.Duration // if two workers are built at the same time, on two cores
	megabytes float64       // to download
}{
	driver.Cgo:        {70 * time.Second, 5},
	driver.Transpiled: {45 * time.Second, 50},
	driver.Wasm:       {45 * time.Second, 5},
}

const (
	// again is the share of the time and size for another driver of the same kind, which shares packages.
	again = 0.5
	// network is the speed of an ordinary network, in megabytes per second.
	network = 4
)

// Expect estimates how long it takes to build the workers of these drivers in this order. The parameter pace is
// how long work takes on this machine, compared with the machine on which the typical times were measured.
func (b *Builder) Expect(ctx context.Context, refs []Ref, pace float64) Expectation {
	e := Expectation{Ends: map[string]time.Duration{}}
	if runtime.NumCPU() < atOnce {
		pace *= atOnce
	}
	seen := map[driver.Kind]bool{}
	var free [atOnce]time.Duration // when each place for a build is free
	downloaded := time.Duration(0)
	for _, ref := range refs {
		if ref.Path != "" {
			continue
		}
		if built, err := b.Built(ctx, ref); built || err != nil {
			continue
		}
		takes := typical[ref.Known.Kind]
		share := 1.0
		if seen[ref.Known.Kind] {
			share = again
		}
		seen[ref.Known.Kind] = true
		if !b.inModuleCache(ref) {
			downloaded += time.Duration(share * takes.megabytes / network * float64(time.Second))
		}
		at := &free[0]
		for i := range free {
			if free[i] < *at {
				at = &free[i]
			}
		}
		if len(e.Ends) == 0 {
			e.Download = downloaded
		}
		*at = max(*at, downloaded) + time.Duration(share*pace*float64(takes.build))
		e.Ends[ref.Name], e.Total = *at, max(e.Total, *at)
	}
	e.Less = b.caches.used
	return e
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
