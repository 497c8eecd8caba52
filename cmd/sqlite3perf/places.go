package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// workerOptions are the flags of the commands that need workers.
type workerOptions struct{ source, cache string }

func (o *workerOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.source, "source", "", "`directory` of a source tree of sqlite3perf to build workers from (default: the sources that it was built from)")
	f.StringVar(&o.cache, "worker-cache", "", "`directory` for built workers (default: in the user's cache directory)")
	reaching(f, executes, "source", "worker-cache")
	grouped(f, groupWhere, "source", "worker-cache")
}

// workshop builds workers. known are the drivers of its source tree.
type workshop struct {
	builder *build.Builder
	known   []build.Known
}

// workshop finds the source tree. Its errors say what the user can do.
func (o *workerOptions) workshop() (s workshop, err error) {
	s.builder = &build.Builder{Cache: o.cache}
	s.builder.Source, err = build.FindSource(o.source)
	unpack, unpacked := errors.AsType[*build.UnpackError](err)
	switch {
	case unpacked && unpack.Changed != "":
		return s, fmt.Errorf("%w: remove the directory and it is unpacked again, or build from it as it is with --source %s", err, unpack.Dir)
	case unpacked:
		return s, fmt.Errorf("%w: set HOME or XDG_CACHE_HOME so that your cache directory can be written to, or name a clone of sqlite3perf with --source DIR", err)
	case err != nil:
		return s, wrongUsage(err)
	}
	if s.known, err = s.builder.Source.Drivers(); err == nil && o.cache == "" {
		s.builder.Cache, err = build.DefaultCache()
	}
	return s, err
}

// refs finds the drivers with the given names. It resolves the version "latest".
func (s workshop) refs(ctx context.Context, names ...string) ([]build.Ref, error) {
	refs := make([]build.Ref, len(names))
	var err, unknown error
	for i, name := range names {
		name = strings.TrimSpace(name)
		switch refs[i], err = build.ParseRef(ctx, cmp.Or(formerNames[name], name), s.known); {
		case err != nil && unknown != nil:
			unknown = fmt.Errorf("%w; %w", unknown, err)
		case err != nil:
			unknown = err
		case unknown == nil:
			unknown = refs[i].CheckServers()
		}
	}
	if unknown != nil {
		return nil, wrongUsage(unknown)
	}
	for i, ref := range refs { // only after all names were checked, because Resolve may access the network
		refs[i], err = s.builder.Resolve(ctx, ref)
		if gone, ok := errors.AsType[*build.VersionError](err); ok && gone.Missing {
			return nil, wrongUsage(err)
		}
		if err != nil {
			return nil, err
		}
	}
	return refs, nil
}

func (s workshop) worker(ctx context.Context, ref build.Ref, note func(string, ...any)) (string, error) {
	path, _, err := s.builder.Worker(ctx, ref, func() { note("building the worker for %s", ref.Name) })
	if e, ok := errors.AsType[*build.BuildError](err); ok {
		return "", incomplete(fmt.Errorf("%s is unavailable: %s%s", ref.Name, e.Reason.Message, conditions.Said(&e.Reason)))
	}
	if err != nil {
		return "", fmt.Errorf("driver %s: %w", ref.Name, err)
	}
	return path, nil
}

// databasesDirectory returns the directory for databases: the one in --dir, which must exist, or
// one in the user's cache directory. It creates nothing.
func databasesDirectory(given string) (string, error) {
	if given == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no directory for databases, name one with --dir: %w", err)
		}
		return filepath.Join(cache, "sqlite3perf", "databases"), nil
	}
	// A missing directory is not created. If the user mistyped its name, a new one could be on
	// another file system than the intended one.
	switch fi, err := os.Stat(given); {
	case errors.Is(err, fs.ErrNotExist):
		return "", noDirectory("--dir, in which databases are created and removed", given)
	case err == nil && !fi.IsDir():
		return "", usagef("--dir %s is not a directory: name one, databases are created and removed in it", given)
	}
	return filepath.Abs(given)
}

func noDirectory(flag, dir string) error {
	return usagef("%s: there is no directory %s: create it, or give another directory", flag, dir)
}

func storePath(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	return store.DefaultPath()
}

// usualDrivers returns the names of the drivers that are not optional.
func (s workshop) usualDrivers() (names []string) {
	for _, k := range s.known {
		if !k.Optional {
			names = append(names, k.Name)
		}
	}
	return names
}

// formerNames maps the names that the original program used for drivers, as they register with
// database/sql.
var formerNames = map[string]string{"sqlite3": "mattn", "sqlite": "modernc"}

func isDirectory(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// pathOf returns the path of a file so that it cannot be mistaken for the name of a built-in
// workload.
func pathOf(file string) string {
	if filepath.IsAbs(file) || strings.HasPrefix(file, ".") {
		return file
	}
	return "./" + filepath.ToSlash(file)
}

// measuredRef returns a released driver in the version that a run measured, even if another version
// is pinned now. The user has to type the names of other drivers.
func (s workshop) measuredRef(ctx context.Context, name string, a *stats.Analysis) (build.Ref, error) {
	if !build.Released(name, s.known) {
		return build.Ref{}, fmt.Errorf("%s %w", document.Line(name), errRetype)
	}
	ref, err := build.ParseRef(ctx, name, s.known)
	if err != nil {
		return ref, err
	}
	return s.inMeasuredVersion(ctx, ref, name, a)
}

// inMeasuredVersion returns a driver in the version that its trials in the run reported.
func (s workshop) inMeasuredVersion(ctx context.Context, ref build.Ref, name string, a *stats.Analysis) (build.Ref, error) {
	p := a.Proof(name)
	if ref.Known == nil || ref.Version != "" || ref.Dir != "" || len(ref.Known.Command) > 0 || p == nil || cmp.Or(p.ModuleVersion, ref.Known.Version) == ref.Known.Version {
		return ref, nil
	}
	plain := result.BaseDriver(name)
	versioned := plain + "@" + p.ModuleVersion
	if !build.Released(versioned, s.known) {
		return ref, fmt.Errorf("%s %w", document.Line(versioned), errRetype)
	}
	return build.ParseRef(ctx, versioned+strings.TrimPrefix(name, plain), s.known)
}

// measuredRefs returns the drivers of a run in the versions that it measured, by their names in the
// run. It leaves out drivers that no longer exist.
func (s workshop) measuredRefs(ctx context.Context, a *stats.Analysis) map[string]build.Ref {
	refs := map[string]build.Ref{}
	for i := range a.Run.Cases {
		name := a.Run.Cases[i].Driver
		if ref, err := s.measuredRef(ctx, name, a); err == nil {
			refs[name] = ref
		}
	}
	return refs
}

// errRetype is the reason why a driver of a stored run is not run unless the user types it again.
var errRetype = errors.New("is not a released version of a driver of sqlite3perf, and a stored run may be somebody else's")
