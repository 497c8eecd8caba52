package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// workerOptions are the flags of every command that needs workers.
type workerOptions struct{ source, cache string }

func (o *workerOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.source, "source", "", "`directory` of a source tree of sqlite3perf to build workers from (default: the sources that it was built from)")
	f.StringVar(&o.cache, "worker-cache", "", "`directory` for built workers (default: in the user's cache directory)")
	reaching(f, executes, "source", "worker-cache")
}

// find finds the sources of the workers and the drivers in them. Its errors say what to
// do.
func (o *workerOptions) find() (build.Source, []build.Known, error) {
	source, err := build.FindSource(o.source)
	var unpack *build.UnpackError
	switch {
	case errors.As(err, &unpack) && unpack.Changed != "":
		return source, nil, fmt.Errorf("%w: remove the directory and it is unpacked again, or build from it as it is with --source %s", err, unpack.Dir)
	case errors.As(err, &unpack):
		return source, nil, fmt.Errorf("%w: set HOME or XDG_CACHE_HOME so that your cache directory can be written to, or name a clone of sqlite3perf with --source DIR", err)
	case err != nil:
		return source, nil, usageError{err}
	}
	known, err := source.Drivers()
	return source, known, err
}

// builder returns the builder of the workers of these sources.
func (o *workerOptions) builder(source build.Source) (*build.Builder, error) {
	b := &build.Builder{Source: source, Cache: o.cache}
	var err error
	if b.Cache == "" {
		b.Cache, err = build.DefaultCache()
	}
	return b, err
}

// findDrivers finds the drivers that these names mean, and the versions of those that say
// latest.
func findDrivers(ctx context.Context, b *build.Builder, names []string, known []build.Known) ([]build.Ref, error) {
	refs := make([]build.Ref, len(names))
	var err, unknown error
	for i, name := range names {
		name = strings.TrimSpace(name)
		switch refs[i], err = build.ParseRef(ctx, cmp.Or(formerNames[name], name), known); {
		case err != nil && unknown != nil:
			unknown = fmt.Errorf("%w; %w", unknown, err)
		case err != nil:
			unknown = err
		case unknown == nil:
			unknown = refs[i].CheckServers()
		}
	}
	if unknown != nil {
		return nil, usageError{unknown}
	}
	for i, ref := range refs { // this may take longer
		refs[i], err = b.Resolve(ctx, ref)
		if gone, ok := errors.AsType[*build.VersionError](err); ok && gone.Missing {
			return nil, usageError{err}
		}
		if err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// findDriver is findDrivers for one driver.
func findDriver(ctx context.Context, b *build.Builder, name string, known []build.Known) (build.Ref, error) {
	refs, err := findDrivers(ctx, b, []string{name}, known)
	if err != nil {
		return build.Ref{}, err
	}
	return refs[0], nil
}
