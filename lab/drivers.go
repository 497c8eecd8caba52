package lab

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// modulePath is the path of the module by which the source tree is recognized.
const modulePath = "github.com/sqlite3perf/sqlite3perf"

// Source is the source tree of sqlite3perf, which workers are built from.
type Source struct{ Root string }

// FindSource finds the source tree: the given directory, or else the one that this
// executable was built from, or else the sources inside the executable. It does not use
// a tree that the working directory happens to be in, because that tree's code would be
// run. The error is an [*UnpackError] if the sources inside cannot be used.
func FindSource(given string) (Source, error) {
	if given != "" {
		if !isRoot(given) {
			return Source{}, fmt.Errorf("%s is not the source tree of sqlite3perf: want the directory with its worker/ and drivers/", given)
		}
		abs, err := filepath.Abs(given)
		return Source{abs}, err
	}
	if root := builtFrom(); filepath.IsAbs(root) && isRoot(root) { // -trimpath makes it relative
		return Source{root}, nil
	}
	return unpacked()
}

// builtFrom returns the root of the tree that this executable was built from, as it was
// at the time of the build.
var builtFrom = func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(file))
}

// isRoot reports whether a directory is a source tree. The module cache has only the
// root module, without the modules of the workers.
func isRoot(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "worker", "go.mod"))
	if err != nil || modfile.ModulePath(data) != modulePath+"/worker" {
		return false
	}
	fi, err := os.Stat(filepath.Join(dir, "drivers"))
	return err == nil && fi.IsDir()
}

// Known is a driver of the source tree.
type Known struct {
	Manifest
	Dir       string            // of its module
	Version   string            // pinned in its go.mod; "" if the driver is not built
	AddedCost *driver.AddedCost // nil: not measured
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

// pinned returns the version of a module that a go.mod requires.
func pinned(file, module string) (string, error) {
	data, err := os.ReadFile(file)
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

// Ref is a driver as a user names it: "mattn", "mattn@v1.14.22", or the path
// of an executable that speaks the worker protocol.
type Ref struct {
	Name    string // as the user wrote it
	Known   *Known // nil for an executable
	Version string // "" for the pinned one
	Path    string // of an executable

	// Beside has what the driver.json in an executable's directory says. It is nil
	// if there is none.
	Beside *driver.Info
}

// version returns the version of the library that the driver is built with.
func (r Ref) version() string { return cmp.Or(r.Version, r.Known.Version) }

// tags returns the build tags for the driver's version.
func (r Ref) tags() string {
	var tags []string
	for _, v := range r.Known.Before {
		if semver.Compare(r.version(), v) < 0 {
			tags = append(tags, "before_"+strings.ReplaceAll(v, ".", "_"))
		}
	}
	return strings.Join(tags, ",")
}

// Args returns the arguments that a worker is started with. Only a driver that is not
// built has any.
func (r Ref) Args() []string {
	if r.Known == nil || len(r.Known.Command) == 0 {
		return nil
	}
	return r.Known.Command[1:]
}

var versionSyntax = regexp.MustCompile(`^v\d+\.\d+\.\d+([-+.][0-9A-Za-z.+-]*)?$`)

// ParseRef finds the driver that a user's name means.
func ParseRef(ctx context.Context, name string, known []Known) (Ref, error) {
	if strings.ContainsAny(name, `/\`) {
		path, err := filepath.Abs(name)
		if err != nil {
			return Ref{}, err
		}
		fi, err := os.Stat(path)
		i := slices.IndexFunc(known, func(k Known) bool { return k.Module == name })
		switch {
		case err != nil && i >= 0:
			return Ref{}, fmt.Errorf("unknown driver %q: %s (sqlite3perf drivers lists them)", name, driver.DidYouMean(known[i].Name, []string{known[i].Name}))
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
	base, version, at := strings.Cut(name, "@")
	names := make([]string, len(known))
	for i := range known {
		names[i] = known[i].Name
		if known[i].Name != base {
			continue
		}
		if at && len(known[i].Command) > 0 {
			return Ref{}, fmt.Errorf("driver %s: %s is not built, so it is measured in the version that is installed: leave out @%s", name, base, version)
		}
		if at && !versionSyntax.MatchString(version) {
			return Ref{}, fmt.Errorf("driver %s: bad version %q: want one such as %s@%s", name, version, base, known[i].Version)
		}
		if at {
			if err := module.Check(known[i].Module, version); err != nil {
				return Ref{}, fmt.Errorf("driver %s: %s has no such version: %w: pinned is %s", name, known[i].Module, err, known[i].Version)
			}
		}
		return Ref{Name: name, Known: &known[i], Version: version}, nil
	}
	return Ref{}, fmt.Errorf("unknown driver %q: %s (sqlite3perf drivers lists them)", base, driver.Suggest(base, names))
}
