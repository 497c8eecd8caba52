package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/txtar"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/sources"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// modulePath is the module path of sqlite3perf. isRoot recognizes the source tree by it.
const modulePath = "github.com/sqlite3perf/sqlite3perf"

// Source is the source tree of sqlite3perf, from which workers are built.
type Source struct{ Root string }

// FindSource finds the source tree. It returns the given directory, or else the tree that this
// executable was built from, or else the sources inside this executable. It ignores a source tree
// around the working directory, because building workers would run code of that tree, which may be
// somebody else's. If the sources inside this executable cannot be used, the error is an
// [*UnpackError].
func FindSource(given string) (Source, error) {
	if given != "" {
		if !isRoot(given) {
			return Source{}, fmt.Errorf("%s is not the source tree of sqlite3perf: want the directory with its worker/ and drivers/", given)
		}
		abs, err := filepath.Abs(given)
		if cache, _ := sourcesCache(); err == nil && filepath.Dir(abs) == cache {
			hold(abs)
		}
		return Source{abs}, err
	}
	if root := clone(); root != "" {
		return Source{root}, nil
	}
	return Unpacked()
}

// clone returns the source tree that this executable was built from, or "" if there is none.
func clone() string {
	if root := builtFrom(); filepath.IsAbs(root) && isRoot(root) { // -trimpath makes the path relative
		return root
	}
	return ""
}

// SourcesHash returns the hash of the sources that workers are built from by default, and the directory
// of the clone that has them. The directory is "" if the sources are inside this executable.
func SourcesHash() (hash, dir string, err error) {
	root := clone()
	if root == "" {
		return hashName([]byte(sources.Archive)), "", nil
	}
	files, err := filesOf(root)
	return hashName(txtar.Format(&txtar.Archive{Files: files})), root, err
}

// builtFrom returns the path that the source tree of this executable had at the time of the
// build.
var builtFrom = func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// isRoot reports whether a directory is a complete source tree. The module cache does not have a
// complete source tree: it has only the root module, without the workers' modules.
func isRoot(dir string) bool {
	data, err := directory.ReadRegular(filepath.Join(dir, "worker", "go.mod"), maxModule)
	if err != nil || modfile.ModulePath(data) != modulePath+"/worker" {
		return false
	}
	fi, err := os.Stat(filepath.Join(dir, "drivers"))
	return err == nil && fi.IsDir()
}

// Known is a driver in the source tree.
type Known struct {
	Manifest
	Dir       string            // directory of the driver's module
	Version   string            // version of the library that the driver's go.mod requires; "" if the driver is not built
	AddedCost *driver.AddedCost // time that sqlite3perf's code in the worker adds; nil: not measured
}

// Drivers returns the drivers of the source tree, sorted by name.
func (s Source) Drivers() ([]Known, error) {
	files, err := filepath.Glob(filepath.Join(s.Root, "drivers", "*", "driver.json"))
	if err != nil {
		return nil, err
	}
	var list []Known
	for _, f := range files {
		dir := filepath.Dir(f)
		m, err := readManifest(dir)
		if err != nil {
			return nil, err
		}
		k := Known{Manifest: m, Dir: dir}
		if k.AddedCost, err = addedCost(dir); err != nil {
			return nil, err
		}
		if len(k.Command) == 0 {
			if k.Version, err = pinned(filepath.Join(dir, "go.mod"), m.Module); err != nil {
				return nil, err
			}
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b Known) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// addedCost reads the measured added cost of the driver in dir. It returns nil if there are
// no measurements.
func addedCost(dir string) (*driver.AddedCost, error) {
	file := filepath.Join(dir, driver.AddedCostFile)
	data, err := directory.ReadRegular(file, maxModule)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := &driver.AddedCost{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(c.Phases) == 0 {
		return nil, nil // the file has only causes, no measurements
	}
	return c, nil
}

// pinned returns the version of module that the go.mod file requires.
func pinned(file, module string) (string, error) {
	data, err := directory.ReadRegular(file, maxModule)
	if err != nil {
		return "", err
	}
	f, err := modfile.ParseLax(file, data, nil)
	if err != nil {
		return "", err
	}
	for _, r := range f.Require {
		if r.Mod.Path == module {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s, which its driver.json names", file, module)
}

// Ref is a driver as a user names it: "mattn", "mattn@v1.14.22",
// "mattn:tags=sqlite_fts5,GOGC=400", "mattn=../go-sqlite3", or the path of a worker
// executable.
type Ref struct {
	Name    string // name as the user wrote it, with options in canonical form
	Known   *Known // nil for an executable
	Version string // version of the library; "": the pinned version
	Path    string // path of an executable; "" for a driver of the source tree

	// Dir is the absolute path of a checkout of the library that is built instead of a released
	// version; "" means that there is none.
	Dir string

	// Options are the variant's options by key: tags, cflags, GOAMD64, GOARM64,
	// GOEXPERIMENT, GOGC, GOMEMLIMIT, GOMAXPROCS and env.NAME.
	Options map[string]string

	// Beside is the info in the driver.json in the directory of an executable. It is nil for a driver of
	// the source tree, and if there is no driver.json for the executable.
	Beside *driver.Info
}

// Kind returns the driver's kind, or "" for an executable without a driver.json.
func (r Ref) Kind() driver.Kind {
	switch {
	case r.Known != nil:
		return r.Known.Kind
	case r.Beside != nil:
		return r.Beside.Kind
	}
	return ""
}

// version returns the version of the driver's library that the user named. If the user named none, it
// returns the pinned version.
func (r Ref) version() string { return cmp.Or(r.Version, r.Known.Version) }

// tags returns the build tags that the driver's version and variant need, separated by commas. It also
// includes the tags in GOFLAGS, because the flag -tags overrides the tags in GOFLAGS. It returns "" if the
// driver needs no tags.
func (r Ref) tags(goflags string) string {
	tags := r.words("tags")
	for _, v := range r.Known.Before {
		if r.Dir == "" && semver.Compare(r.version(), v) < 0 {
			tags = append(tags, "before_"+strings.ReplaceAll(v, ".", "_"))
		}
	}
	if len(tags) == 0 {
		return ""
	}
	for _, flag := range strings.Fields(goflags) {
		if list, ok := strings.CutPrefix(strings.TrimLeft(flag, "-"), "tags="); ok {
			tags = append(strings.Split(list, ","), tags...)
		}
	}
	return strings.Join(tags, ",")
}

// Args returns the arguments for starting the driver's worker. Workers that sqlite3perf builds have no
// arguments.
func (r Ref) Args() []string {
	if r.Known == nil || len(r.Known.Command) == 0 {
		return nil
	}
	return r.Known.Command[1:]
}

var versionSyntax = regexp.MustCompile(`^v\d+\.\d+\.\d+([-+.][0-9A-Za-z.+-]*)?$`)

// latest is the version with which a user asks for the newest release.
const latest = "latest"

// ParseRef parses a driver's name as a user wrote it. It does not check that the version
// exists; [Builder.Resolve] does.
func ParseRef(ctx context.Context, name string, known []Known) (Ref, error) {
	if NamesExecutable(name) {
		return parseExecutable(name, known)
	}
	base, which, opts := splitRef(name)
	i := slices.IndexFunc(known, func(k Known) bool { return k.Name == base })
	if i < 0 {
		if o, ok := lookupOption(base); ok && strings.HasPrefix(which, "=") {
			return Ref{}, fmt.Errorf("%s is an option, which follows a driver, as in mattn:%s%s", o.key, o.key, which)
		}
		names := make([]string, len(known))
		for i := range known {
			names[i] = known[i].Name
		}
		return Ref{}, fmt.Errorf("unknown driver %q: %s (sqlite3perf drivers lists them)", base, driver.Suggest(base, names))
	}
	k := &known[i]
	r := Ref{Known: k}
	version, at := strings.CutPrefix(which, "@")
	_, dir, local := strings.Cut(which, "=")
	local = local && !at
	switch {
	case (at || local) && len(k.Command) > 0:
		return Ref{}, fmt.Errorf("driver %s: %s is not built, so it is measured in the version that is installed: leave out %s", name, base, which)
	case at && version != latest && !versionSyntax.MatchString(version):
		return Ref{}, fmt.Errorf("driver %s: bad version %q: want one such as %s@%s, or %s@%s", name, version, base, k.Version, base, latest)
	case at:
		if err := module.Check(k.Module, version); err != nil && version != latest {
			return Ref{}, fmt.Errorf("driver %s: there is no such version%s; the pinned one is %s@%s", name, otherMajor(k.Module, version), base, k.Version)
		}
		r.Version = version
	case local:
		dir = filepath.Clean(dir)
		var err error
		if r.Dir, err = checkout(dir, k); err != nil {
			return Ref{}, fmt.Errorf("driver %s: %w", name, err)
		}
	}
	if opts != "" {
		var err error
		if r.Options, err = parseOptions(opts[1:], k); err != nil {
			return Ref{}, fmt.Errorf("driver %s: %w", name, err)
		}
	}
	r.Name = r.variantName(dir)
	return r, nil
}

// otherMajor explains, for an error message, that a module path does not belong to the major version of
// the parameter "version". It returns "" if the path belongs to that major version. See
// https://go.dev/ref/mod#major-version-suffixes.
func otherMajor(path, version string) string {
	_, major, _ := module.SplitPathVersion(path)
	if module.CheckPathMajor(version, major) == nil {
		return ""
	}
	return fmt.Sprintf(" (a module of major version %s would have another path)", strings.TrimPrefix(semver.Major(version), "v"))
}

// parseExecutable returns the Ref for the path of an executable.
func parseExecutable(name string, known []Known) (Ref, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return Ref{}, err
	}
	fi, err := os.Stat(path)
	i := slices.IndexFunc(known, func(k Known) bool { return k.Module == name })
	_, _, opts := splitRef(name)
	switch {
	case err != nil && i >= 0:
		return Ref{}, fmt.Errorf("unknown driver %q: %s (sqlite3perf drivers lists them)", name, driver.DidYouMean(known[i].Name, []string{known[i].Name}))
	case err != nil && opts != "":
		return Ref{}, fmt.Errorf("driver %s: no such executable: only drivers of sqlite3perf have options, so leave out %s", name, opts)
	case err != nil:
		return Ref{}, fmt.Errorf("driver %s: no such executable; to name a driver of sqlite3perf leave out the path, as in mattn", name)
	case fi.IsDir() || runtime.GOOS != "windows" && fi.Mode()&0o111 == 0:
		return Ref{}, fmt.Errorf("driver %s is not an executable: want one that speaks the worker protocol (docs/worker-protocol.md)", name)
	}
	beside, err := besideExecutable(path)
	if err != nil {
		return Ref{}, fmt.Errorf("driver %s: %w", name, err)
	}
	return Ref{Name: name, Path: path, Beside: beside}, nil
}
