package build

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"golang.org/x/mod/semver"
)

// NoReleaseError says that a version of a module is not available. Nearest lists available
// versions next to it.
type NoReleaseError struct {
	Module, Version string
	Nearest         []string // the next older and the next newer version; either may be missing
	said            string
}

func (e *NoReleaseError) Error() string {
	return fmt.Sprintf("%s has no version %s that can be had (%.200s)", e.Module, e.Version, e.said)
}

// Releases lists the versions of a driver's library from the parameter "first" to the parameter "last",
// the oldest first. The list includes these two versions. It leaves out retracted versions. It also
// leaves out pre-releases other than these two versions. The error is a [*NoReleaseError] if one of the
// two versions is not available. The parameter "last" may be "latest".
func (b *Builder) Releases(ctx context.Context, k *Known, first, last string) ([]string, error) {
	out, err := b.list(ctx, "-versions", k.Module)
	if err != nil {
		return nil, fmt.Errorf("the releases of %s cannot be listed: %w", k.Module, err)
	}
	all := strings.Fields(out)
	if len(all) > 0 {
		all = all[1:] // skip the module path; versions follow
	}
	semver.Sort(all)
	if released := slices.DeleteFunc(slices.Clone(all), func(v string) bool { return semver.Prerelease(v) != "" }); last == latest && len(released) > 0 {
		last = released[len(released)-1]
	}
	if first == last {
		return nil, fmt.Errorf("%s is the newest release of %s: begin with an older one", first, k.Module)
	}
	for _, v := range []string{first, last} {
		if slices.Contains(all, v) {
			continue
		}
		if _, err := b.list(ctx, k.Module+"@"+v); err != nil {
			said := cmp.Or(refusal(err.Error()), err.Error())
			return nil, cmp.Or[error](ctx.Err(), &NoReleaseError{k.Module, v, neighbors(all, v), said})
		}
	}
	list := []string{first}
	for _, v := range all {
		if semver.Compare(v, first) > 0 && semver.Compare(v, last) < 0 && semver.Prerelease(v) == "" {
			list = append(list, v)
		}
	}
	return append(list, last), nil
}

// Released looks up a version of a driver's library, and the day on which it was made. The version may be
// "latest".
func (b *Builder) Released(ctx context.Context, k *Known, version string) (Release, error) {
	out, err := b.list(ctx, "-json", k.Module+"@"+version)
	if err != nil {
		return Release{}, err
	}
	var found struct {
		Version string
		Time    time.Time
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		return Release{}, fmt.Errorf("go list -m -json %s@%s: %w", k.Module, version, err)
	}
	return Release{found.Version, found.Time.UTC().Format(time.DateOnly)}, nil
}

// neighbors returns up to two versions from a sorted list that does not contain the given version: the
// version just before it, and the version just after it.
func neighbors(all []string, version string) []string {
	i, _ := slices.BinarySearchFunc(all, version, semver.Compare)
	return all[max(i-1, 0):min(i+1, len(all))]
}

// list runs go list -m with the arguments args. It runs in an empty module, so the go command fetches only
// the modules in args.
func (b *Builder) list(ctx context.Context, args ...string) (string, error) {
	if _, err := b.toolchain(ctx); err != nil {
		return "", err
	}
	scratch, err := process.NewTemporary()
	if err != nil {
		return "", err
	}
	defer scratch.Remove()
	if err := os.WriteFile(filepath.Join(scratch.Dir, "go.mod"), []byte("module list\n"), 0o644); err != nil {
		return "", err
	}
	out, said, err := b.lookup(ctx, scratch.Dir, append([]string{"list", "-m"}, args...)...)
	if err != nil {
		return "", cmp.Or(ctx.Err(), errors.New(FirstComplaint(strings.ReplaceAll(said, "\n\t", " "), err)))
	}
	return string(out), nil
}

// Linked returns the version of each module linked into a driver's worker, except
// sqlite3perf's own modules. It builds the worker if necessary.
func (b *Builder) Linked(ctx context.Context, ref Ref) (map[string]string, error) {
	path, _, err := b.Worker(ctx, ref, nil)
	if err != nil {
		return nil, err
	}
	return Modules(path)
}

// Modules returns the version of each module linked into an executable, except sqlite3perf's
// own modules.
func Modules(path string) (map[string]string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, m := range info.Deps {
		if !strings.HasPrefix(m.Path, modulePath) {
			versions[m.Path] = m.Version
		}
	}
	return versions, nil
}

// ReleaseRange is a range of releases as a user writes it: "mattn@v1.14.20..v1.14.53", or
// with options "mattn@v1.14.20..latest:tags=sqlite_fts5".
type ReleaseRange struct {
	Known       *Known
	First, Last string
	options     string
	known       []Known
}

// ParseReleases parses a range of releases as a user wrote it.
func ParseReleases(ctx context.Context, text string, known []Known) (ReleaseRange, error) {
	name, which, opts := splitRef(text)
	if NamesExecutable(name) {
		return ReleaseRange{}, fmt.Errorf("%s is an executable, which has no releases: name a driver of sqlite3perf (sqlite3perf drivers lists them)", text)
	}
	first, last, dots := strings.Cut(strings.TrimPrefix(which, "@"), "..")
	i := slices.IndexFunc(known, func(k Known) bool { return k.Name == name })
	if i < 0 {
		_, err := ParseRef(ctx, name, known)
		return ReleaseRange{}, err
	}
	k := &known[i]
	r := ReleaseRange{k, first, last, opts, known}
	example := fmt.Sprintf("want two releases, such as %s@v1.0.0..%s", name, cmp.Or(k.Version, latest))
	switch {
	case len(k.Command) > 0:
		return r, fmt.Errorf("%s: %s is not built from releases of a Go module", text, name)
	case !strings.HasPrefix(which, "@") || !dots || first == "" || last == "" || first == latest:
		return r, fmt.Errorf("%s is not a range: %s", text, example)
	}
	for _, v := range []string{first, last} {
		if _, err := r.Ref(ctx, v); err != nil {
			return r, err
		}
	}
	switch order := semver.Compare(first, last); {
	case last == latest:
	case order == 0:
		return r, fmt.Errorf("%s has one release: %s", text, example)
	case order > 0:
		return r, fmt.Errorf("%s: the older release comes first: want %s@%s..%s%s", text, name, last, first, opts)
	}
	return r, nil
}

// Ref returns the driver with the given release of its library. The version "" means the pinned release.
func (r ReleaseRange) Ref(ctx context.Context, version string) (Ref, error) {
	name := r.Known.Name
	if version != "" {
		name += "@" + version
	}
	return ParseRef(ctx, name+r.options, r.known)
}
