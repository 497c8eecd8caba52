package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/lab"
)

func addSourceFlag(f *pflag.FlagSet, source *string) {
	f.StringVar(source, "source", "", "`directory` of a source tree of sqlite3perf to build workers from (default: the sources that it was built from)")
}

// findSource finds the sources of the workers. Its errors say what to do.
func findSource(given string) (lab.Source, error) {
	source, err := lab.FindSource(given)
	var unpack *lab.UnpackError
	switch {
	case errors.As(err, &unpack) && unpack.Changed != "":
		return source, fmt.Errorf("%w: remove the directory and it is unpacked again, or build from it as it is with --source %s", err, unpack.Dir)
	case errors.As(err, &unpack):
		return source, fmt.Errorf("%w: name a clone of sqlite3perf with --source DIR", err)
	case err != nil:
		return source, usageError{err}
	}
	return source, nil
}
