package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"golang.org/x/mod/module"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// Version returns the version of this module, or the commit that it was built from.
func Version() string {
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(bi)
}

func versionOf(bi *debug.BuildInfo) string {
	if v := bi.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	if commit := setting(bi, "vcs.revision"); commit != "" {
		return "devel-" + commit[:min(12, len(commit))]
	}
	return "devel"
}

func setting(bi *debug.BuildInfo, key string) string {
	for _, s := range bi.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// VersionText returns the output of --version: the version, the commit, and the hash of the sources that
// workers are built from.
func VersionText() string {
	hash, dir, err := build.SourcesHash()
	if err != nil {
		hash = err.Error()
	}
	bi, ok := debug.ReadBuildInfo()
	if !ok {
		bi = &debug.BuildInfo{Main: debug.Module{Version: "unknown"}}
	}
	return fmt.Sprintf("sqlite3perf %s\ncommit   %s\nworkers  built from sources %s, %s\ngo       %s %s/%s\n",
		versionOf(bi), commitOf(bi), hash, cmp.Or(dir, "inside this executable"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// commitOf returns the commit of a build. The go command records the commit only for a build in a clone.
func commitOf(bi *debug.BuildInfo) string {
	commit, v := setting(bi, "vcs.revision"), bi.Main.Version
	switch {
	case commit != "" && setting(bi, "vcs.modified") == "true":
		return commit + ", with changes"
	case commit != "":
		return commit
	case module.IsPseudoVersion(v):
		rev, err := module.PseudoVersionRev(v)
		return cmp.Or(rev, fmt.Sprint(err))
	case versionOf(bi) == "devel" || v == "unknown":
		return "unknown: the build recorded none"
	}
	return "that of the tag " + v
}
