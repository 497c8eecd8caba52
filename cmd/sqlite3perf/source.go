package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/lab"
)

// workerOptions are the flags of every command that needs workers.
type workerOptions struct{ source, cache string }

func (o *workerOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.source, "source", "", "`directory` of a source tree of sqlite3perf to build workers from (default: the sources that it was built from)")
	f.StringVar(&o.cache, "worker-cache", "", "`directory` for built workers (default: in the user's cache directory)")
}

// find finds the sources of the workers and the drivers in them. Its errors say what to
// do.
func (o *workerOptions) find() (lab.Source, []lab.Known, error) {
	source, err := lab.FindSource(o.source)
	var unpack *lab.UnpackError
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
func (o *workerOptions) builder(source lab.Source) (*lab.Builder, error) {
	b := &lab.Builder{Source: source, Cache: o.cache}
	var err error
	if b.Cache == "" {
		b.Cache, err = lab.DefaultCache()
	}
	return b, err
}
