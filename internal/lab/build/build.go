// Package build finds the drivers in the source tree, parses the names that users give to drivers and their
// variants, and builds the drivers' workers.
package build

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/sources"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Builder builds workers with the Go toolchain. It caches them by their sources, version,
// flags and toolchain.
type Builder struct {
	Source Source
	Cache  string // directory for built workers; created when it is needed

	// Target is the platform of the workers, as GOOS/GOARCH, if they run on another machine.
	// Only workers that need no C compiler can be built for it. "" means this machine.
	Target string

	mu        sync.Mutex // guards the next four fields
	env       *toolchain
	caches    caches                   // set together with the field env
	downloads map[string]chan struct{} // by path of the worker: closed when its modules are downloaded; nil if its build needn't wait
	turns     chan struct{}            // has a value for each worker that is being built
	sweep     sync.Once

	building, working span // building: the time in which workers are built; working: the time in which workers are built or modules are downloaded
}

// BuildError says why the worker of a driver cannot be built or started.
type BuildError struct {
	Reason protocol.Reason
	Driver string // driver's name, if Reason.Message does not contain it; otherwise ""
}

func (e *BuildError) Error() string {
	if e.Driver != "" {
		return e.Driver + " cannot be measured: " + e.Reason.Message
	}
	return e.Reason.Message
}

// unbuildable returns a [*BuildError] with a code and a message.
func unbuildable(code, format string, args ...any) *BuildError {
	return &BuildError{Reason: protocol.Reason{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// maxModule is the limit in bytes for reading files such as go.mod and driver.json.
const maxModule = 16 << 20

// DefaultCache returns the directory that caches workers unless the user names another directory.
func DefaultCache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for workers: %w", err)
	}
	return filepath.Join(dir, "sqlite3perf", "workers"), nil
}

// Command builds the sqlite3perf command for the builder's target into dir, which must be
// the directory of a [process.Scratch]. The builder's source tree must be a clone.
func (b *Builder) Command(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, "sqlite3perf")
	cmd := b.command(ctx, "build", "-trimpath", "-o", path, "./cmd/sqlite3perf")
	cmd.Dir = b.Source.Root
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	temporaryIn(cmd, dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building sqlite3perf for %s: %s", b.Target, FirstComplaint(string(out), err))
	}
	return path, nil
}

// Worker returns the path of the executable for a driver, and a description of its build. If the cache does
// not contain the executable, Worker builds it. Before the build it calls the function "building", unless
// that is nil. If the worker cannot be built or run, the error is a [*BuildError]. The executable must be
// started with ref.Args().
func (b *Builder) Worker(ctx context.Context, ref Ref, building func()) (path string, with map[string]string, err error) {
	if ref.Path != "" {
		return ref.Path, nil, nil
	}
	if b.Target == "" {
		if err := ref.Ready(ctx); err != nil {
			return "", nil, err
		}
	}
	if len(ref.Known.Command) > 0 {
		return foundWorker(ctx, ref)
	}
	path, env, err := b.path(ctx, ref)
	if err != nil {
		return "", nil, err
	}
	with = env.with(ref)
	b.sweep.Do(func() { process.Sweep(filepath.Dir(path), buildDirectory) })
	if ref.Dir != "" {
		maps.Copy(with, checkedOut(ctx, ref.Dir))
	} else if use(path); whole(path) {
		return path, with, nil
	}
	done, err := b.turn(ctx, path)
	if err != nil {
		return "", nil, err
	}
	defer done()
	if ref.Dir == "" && whole(path) { // the worker was built meanwhile, for a variant that differs only in how the worker runs
		return path, with, nil
	}
	if building != nil {
		building()
	}
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return "", nil, &CacheError{err}
	}
	if path, err = b.build(ctx, ref, env, path); err == nil {
		prune(filepath.Dir(path), time.Now().Add(-unusedTime))
	}
	return path, with, err
}

// Built reports whether the driver's worker is in the cache. It builds nothing. For a driver
// from a directory it returns false, because any file there may have changed. The error is a
// [*BuildError] if the worker cannot be built or run.
func (b *Builder) Built(ctx context.Context, ref Ref) (bool, error) {
	if err := ref.Ready(ctx); err != nil {
		return false, err
	}
	if len(ref.Known.Command) > 0 {
		_, _, err := foundWorker(ctx, ref)
		return err == nil, err
	}
	path, _, err := b.path(ctx, ref)
	return err == nil && whole(path), err
}

// path returns the path of the driver's executable in the cache, whether or not it exists,
// and the toolchain for building it.
func (b *Builder) path(ctx context.Context, ref Ref) (string, *toolchain, error) {
	env, err := b.toolchain(ctx)
	if err != nil {
		return "", nil, err
	}
	if b.Target != "" && ref.Known.Kind == driver.Cgo {
		return "", nil, unbuildable(protocol.CodeNoGo, "%s needs a C compiler, so it is built on the machine that it runs on, and there is no go in PATH there: install Go and gcc there", ref.Name)
	}
	if err := env.serves(ref); err != nil {
		return "", nil, err
	}
	env = env.variant(ref)
	key, err := b.key(ref, env)
	if err != nil {
		return "", nil, err
	}
	cache, err := filepath.Abs(b.Cache) // absolute, because builds and workers run in other directories
	if err != nil {
		return "", nil, err
	}
	if err := checkOthers(cache); err != nil {
		return "", nil, &CacheError{err}
	}
	version := ref.version()
	if ref.Dir != "" {
		version = "directory"
	}
	path := filepath.Join(cache, fmt.Sprintf("%s-%s-%.16s", ref.Known.Name, version, key))
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	return path, env, nil
}

// sumSuffix is appended to a worker's path to get the path of the file with the worker's
// SHA-256, in hex.
const sumSuffix = ".sha256"

const sumLength = 2 * sha256.Size

// whole reports whether an executable exists and still has its recorded SHA-256. A full
// disk, an interrupted copy or a virus scanner may have damaged it.
func whole(path string) bool {
	want, err := os.ReadFile(path + sumSuffix)
	if err != nil {
		return false
	}
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || runtime.GOOS != "windows" && fi.Mode().Perm()&0o100 == 0 {
		return false
	}
	got, err := SHA256Of(path)
	return err == nil && got == string(want)
}

// SHA256Of returns the SHA-256 of a file, in hex.
func SHA256Of(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// key returns a hash of everything that affects the worker's executable.
func (b *Builder) key(ref Ref, env *toolchain) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%+v\n%s\n%s\n%s\n", *env, ref.Version, ref.Options["tags"], ref.Dir)
	files, err := sources.Files(b.Source.Root, filepath.Join(b.Source.Root, "worker"), ref.Known.Dir)
	if err != nil {
		return "", fmt.Errorf("reading the sources of the worker for %s: %w", ref.Name, err)
	}
	for _, f := range files {
		fmt.Fprintf(h, "%s %d\n", f.Name, len(f.Data))
		h.Write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// CacheError says why the cache of workers cannot be created or used.
type CacheError struct{ err error }

func (e *CacheError) Error() string { return fmt.Sprintf("the cache for workers: %v", e.err) }

func (e *CacheError) Unwrap() error { return e.err }

// buildDirectory is the prefix of the names of directories in which workers are built.
const buildDirectory = "building-"

// build builds the executable, and returns its path. The path exists only when the executable is complete.
// For a driver from a directory, the path contains the executable's hash. So if the files change, a later
// build does not replace an executable in use.
func (b *Builder) build(ctx context.Context, ref Ref, env *toolchain, path string) (string, error) {
	scratch, err := process.NewScratch(filepath.Dir(path), buildDirectory)
	if err != nil {
		return "", &CacheError{err}
	}
	defer scratch.Remove()
	temp := scratch.Dir
	out := filepath.Join(temp, filepath.Base(path))
	flags, err := modFlags(ref, temp)
	if err != nil {
		return "", err
	}
	if err := b.checkTags(ctx, ref, env, slices.Concat(flags, tagFlags(ref, env))); err != nil {
		return "", err
	}
	if said, err := b.compile(ctx, ref, env, temp, out, flags, nil); err != nil {
		return "", cmp.Or[error](ctx.Err(), b.cannotBuild(ref, said, err))
	}
	built, err := SHA256Of(out)
	if err != nil {
		return "", err
	}
	if ref.Dir != "" {
		ext := filepath.Ext(out)
		if runtime.GOOS != "windows" {
			ext = ""
		}
		path = fmt.Sprintf("%s-%.16s%s", strings.TrimSuffix(path, ext), built, ext)
		if use(path); whole(path) {
			return path, nil
		}
	}
	if err := os.WriteFile(out+sumSuffix, []byte(built), 0o644); err != nil {
		return "", &CacheError{err}
	}
	return path, errors.Join(os.Rename(out, path), os.Rename(out+sumSuffix, path+sumSuffix))
}

// compile builds a driver's worker. The parameters "flags" and "variables" are flags and environment
// variables to add to the driver's own. The parameter "out" is the path of the executable. compile returns
// the go command's standard error. Temporary files are in dir.
func (b *Builder) compile(ctx context.Context, ref Ref, env *toolchain, dir, out string, flags, variables []string) (said string, err error) {
	cmd := b.command(ctx, slices.Concat([]string{"build", "-o", out}, flags, tagFlags(ref, env), []string{"./worker"})...)
	cmd.Dir = ref.Known.Dir
	cmd.Env = slices.Concat(cmd.Env, env.environment(ref), variables)
	temporaryIn(cmd, dir)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &output
	err = cmd.Run()
	return output.String(), err
}

// modFlags returns the flags for building a driver with its library from a directory, or in a version other
// than the pinned version. It writes a go.mod into dir, and the flags name this file. For the pinned
// version it returns nil.
func modFlags(ref Ref, dir string) ([]string, error) {
	if ref.Version == "" && ref.Dir == "" {
		return nil, nil
	}
	mod, err := versionMod(ref, dir)
	return []string{"-mod=mod", "-modfile=" + mod}, err
}

func tagFlags(ref Ref, env *toolchain) []string {
	if tags := ref.tags(env.GOFLAGS); tags != "" {
		return []string{"-tags=" + tags}
	}
	return nil
}

// versionMod writes a go.mod that requires only the worker module and the wanted version of the library. So
// the library gets exactly the dependencies that its own go.mod requires. If the library is in a directory,
// the go.mod also replaces the library's module by that directory. versionMod returns the path of the file.
func versionMod(ref Ref, dir string) (string, error) {
	file := filepath.Join(ref.Known.Dir, "go.mod")
	data, err := directory.ReadRegular(file, maxModule)
	if err != nil {
		return "", err
	}
	f, err := modfile.Parse(file, data, nil)
	if err != nil {
		return "", err
	}
	for _, r := range slices.Clone(f.Require) {
		if strings.HasPrefix(r.Mod.Path, modulePath) {
			continue
		}
		if err := f.DropRequire(r.Mod.Path); err != nil {
			return "", err
		}
	}
	if err := f.AddRequire(ref.Known.Module, ref.version()); err != nil {
		return "", err
	}
	if ref.Dir != "" {
		if err := f.AddReplace(ref.Known.Module, "", ref.Dir, ""); err != nil {
			return "", err
		}
	}
	f.Cleanup()
	if data, err = f.Format(); err != nil {
		return "", err
	}
	mod := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(mod, data, 0o644); err != nil {
		return "", err
	}
	sum, err := directory.ReadRegular(filepath.Join(ref.Known.Dir, "go.sum"), maxModule)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return mod, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644)
}

// State returns the version of a driver that would be measured, and the state of its worker.
// The error is a [*BuildError] if the worker cannot be built.
func (b *Builder) State(ctx context.Context, ref Ref) (version, state string, err error) {
	version = cmp.Or(ref.Version, ref.Known.Version, "-")
	if ref.Dir != "" {
		version = "-"
	}
	if len(ref.Known.Command) > 0 {
		_, with, err := b.Worker(ctx, ref, nil)
		if err != nil {
			return version, "unavailable", err
		}
		return with["module_version"], "found", nil
	}
	built, err := b.Built(ctx, ref)
	switch {
	case err != nil:
		return version, "unavailable", err
	case built:
		return version, "built", nil
	}
	return version, "not built yet", nil
}
