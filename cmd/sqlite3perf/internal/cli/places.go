package cli

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
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// WorkerOptions are the flags of the commands that need workers.
type WorkerOptions struct{ Source, Cache string }

// AddFlags adds the flags that name the sources of workers and the directory for built workers.
func (o *WorkerOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Source, "source", "", "`directory` with a source tree of sqlite3perf to build workers from (default: its own sources)")
	f.StringVar(&o.Cache, "worker-cache", "", "`directory` for built workers (default: in the user's cache directory)")
	Reaching(f, Executes, "source", "worker-cache")
	Grouped(f, GroupWhere, "source", "worker-cache")
}

// Workshop builds workers. Known has the drivers of its source tree.
type Workshop struct {
	Builder *build.Builder
	Known   []build.Known
}

// Workshop finds the source tree. Its errors say what the user can do.
func (o *WorkerOptions) Workshop() (s Workshop, err error) {
	s.Builder = &build.Builder{Cache: o.Cache}
	s.Builder.Source, err = build.FindSource(o.Source)
	unpack, unpacked := errors.AsType[*build.UnpackError](err)
	switch {
	case unpacked && unpack.Changed != "":
		return s, fmt.Errorf("%w: remove the directory and it is unpacked again, or build from it as it is with --source %s", err, unpack.Dir)
	case unpacked:
		return s, fmt.Errorf("%w: set HOME or XDG_CACHE_HOME so that your cache directory can be written to, or name a clone of sqlite3perf with --source DIR", err)
	case err != nil:
		return s, WrongUsage(err)
	}
	if s.Known, err = s.Builder.Source.Drivers(); err == nil && o.Cache == "" {
		s.Builder.Cache, err = build.DefaultCache()
	}
	return s, err
}

// Refs finds the drivers with the given names. It replaces the version "latest" by the newest release.
func (s Workshop) Refs(ctx context.Context, names ...string) ([]build.Ref, error) {
	refs := make([]build.Ref, len(names))
	var err, unknown error
	for i, name := range names {
		name = strings.TrimSpace(name)
		switch refs[i], err = build.ParseRef(ctx, cmp.Or(formerNames[name], name), s.Known); {
		case err != nil && unknown != nil:
			unknown = fmt.Errorf("%w; %w", unknown, err)
		case err != nil:
			unknown = err
		case unknown == nil:
			unknown = refs[i].CheckServers()
		}
	}
	if unknown != nil {
		return nil, WrongUsage(unknown)
	}
	for i, ref := range refs { // this loop comes after all names were checked, because Resolve may access the network
		refs[i], err = s.Builder.Resolve(ctx, ref)
		if gone, ok := errors.AsType[*build.VersionError](err); ok && gone.Missing {
			return nil, WrongUsage(err)
		}
		if err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// Worker finds or builds the worker of a driver, and returns the path of its executable.
func (s Workshop) Worker(ctx context.Context, ref build.Ref, note func(string, ...any)) (string, error) {
	path, _, err := s.Builder.Worker(ctx, ref, func() { note("building the worker for %s", ref.Name) })
	if e, ok := errors.AsType[*build.BuildError](err); ok {
		return "", Incomplete(fmt.Errorf("%s is unavailable: %s%s", ref.Name, e.Reason.Message, conditions.Said(&e.Reason)))
	}
	if err != nil {
		return "", fmt.Errorf("driver %s: %w", ref.Name, err)
	}
	return path, nil
}

// DatabasesDirectory returns the directory for databases. With --dir it is the given directory, which
// must exist. Without --dir it is a directory in the user's cache directory. DatabasesDirectory creates
// nothing.
func DatabasesDirectory(given string) (string, error) {
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
		return "", NoDirectory("--dir, in which databases are created and removed", given)
	case err == nil && !fi.IsDir():
		return "", Usagef("--dir %s is not a directory: name one, databases are created and removed in it", given)
	}
	return filepath.Abs(given)
}

// NoDirectory returns the error for a directory that does not exist. The parameter "flag" is the flag that
// names the directory.
func NoDirectory(flag, dir string) error {
	return Usagef("%s: there is no directory %s: create it, or give another directory", flag, dir)
}

// StorePath returns the path of the store that the user named or, if the parameter "given" is "", of the
// default store.
func StorePath(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	return store.DefaultPath()
}

// formerNames maps former names of drivers to their present names. The program from which
// sqlite3perf began used the names under which libraries register with database/sql.
var formerNames = map[string]string{"sqlite3": "mattn", "sqlite": "modernc"}

func IsDirectory(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// PathOf returns a path that names the file and cannot be mistaken for the name of a built-in
// workload.
func PathOf(file string) string {
	if filepath.IsAbs(file) || strings.HasPrefix(file, ".") {
		return file
	}
	return "./" + filepath.ToSlash(file)
}

// MeasuredRef returns a released driver in the version that a run measured, even if another version is
// pinned now. For any other driver it returns [ErrRetype].
func (s Workshop) MeasuredRef(ctx context.Context, name string, a *stats.Analysis) (build.Ref, error) {
	if !build.Released(name, s.Known) {
		return build.Ref{}, fmt.Errorf("%s %w", document.Line(name), ErrRetype)
	}
	ref, err := build.ParseRef(ctx, name, s.Known)
	if err != nil {
		return ref, err
	}
	return s.InMeasuredVersion(ctx, ref, name, a)
}

// InMeasuredVersion returns the driver ref in the version that its trials in the run reported. The
// parameter "name" is the driver's name in the run. If the version is unknown or is part of ref, it returns
// ref unchanged. If the version is not released, it returns [ErrRetype].
func (s Workshop) InMeasuredVersion(ctx context.Context, ref build.Ref, name string, a *stats.Analysis) (build.Ref, error) {
	p := a.Proof(name)
	if ref.Known == nil || ref.Version != "" || ref.Dir != "" || len(ref.Known.Command) > 0 || p == nil || cmp.Or(p.ModuleVersion, ref.Known.Version) == ref.Known.Version {
		return ref, nil
	}
	plain := result.BaseDriver(name)
	versioned := plain + "@" + p.ModuleVersion
	if !build.Released(versioned, s.Known) {
		return ref, fmt.Errorf("%s %w", document.Line(versioned), ErrRetype)
	}
	return build.ParseRef(ctx, versioned+strings.TrimPrefix(name, plain), s.Known)
}

// MeasuredRefs returns the drivers of a run in the versions that the run measured. The keys are the
// drivers' names in the run. MeasuredRefs leaves out drivers for which MeasuredRef returns an error.
func (s Workshop) MeasuredRefs(ctx context.Context, a *stats.Analysis) map[string]build.Ref {
	refs := map[string]build.Ref{}
	for i := range a.Run.Cases {
		name := a.Run.Cases[i].Driver
		if ref, err := s.MeasuredRef(ctx, name, a); err == nil {
			refs[name] = ref
		}
	}
	return refs
}

// ErrRetype is the reason why a driver that a stored run names is not executed, unless the user types
// its name again.
var ErrRetype = errors.New("is not a released version of a driver of sqlite3perf, and a stored run may be somebody else's")

// RunDirectory is the beginning of the names of directories in which databases are measured.
const RunDirectory = "sqlite3perf-run-"

// NewScratch creates a directory for databases in dir or, if dir is "", in the default directory.
func NewScratch(dir string) (*process.Scratch, error) {
	if dir == "" {
		var err error
		if dir, err = DatabasesDirectory(""); err != nil {
			return nil, err
		}
	}
	scratch, err := process.NewScratch(dir, RunDirectory)
	if err != nil {
		return nil, fmt.Errorf("directory for databases: %w: name another with --dir", err)
	}
	return scratch, nil
}

// Observed creates a directory for databases in dir. It also returns an observer of the machine and of the
// file system of that directory.
func Observed(dir string) (*process.Scratch, *machine.Observer, error) {
	scratch, err := NewScratch(dir)
	if err != nil {
		return nil, nil, err
	}
	observer, err := machine.Observe(scratch.Dir)
	if err != nil {
		scratch.Remove()
		return nil, nil, fmt.Errorf("%w: name another directory with --dir", err)
	}
	return scratch, observer, nil
}
