// Package build knows the drivers, and how users name them and their variants, and builds
// their workers.
package build

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"golang.org/x/mod/modfile"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/sources"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Builder builds workers with the Go toolchain, into a cache that is keyed by
// their sources, version, flags and toolchain.
type Builder struct {
	Source Source
	Cache  string // directory; created when it is needed

	// Target is the platform of the machine that the workers run on, as GOOS/GOARCH, if that
	// is another machine. Only workers that need no C compiler are built for it.
	Target string

	env   *toolchain
	swept bool
}

// toolchain has everything about the Go toolchain that affects the result of a build.
type toolchain struct {
	GOVERSION, GOOS, GOARCH, GOFLAGS, GOEXPERIMENT, GOFIPS140    string
	GO386, GOAMD64, GOARM, GOARM64, GOMIPS64, GOPPC64, GORISCV64 string // all empty except that of GOARCH
	CGO_ENABLED                                                  string
	compiler
}

// compiler is the part of the toolchain that matters only to drivers that need C.
type compiler struct {
	CC, CGO_CFLAGS, CGO_CPPFLAGS, CGO_LDFLAGS string

	ccPath, ccVersion string
}

// BuildError says why a driver does not have a worker.
type BuildError struct {
	Reason protocol.Reason
	Driver string // if the reason's message does not name it
}

func (e *BuildError) Error() string {
	if e.Driver != "" {
		return e.Driver + " cannot be measured: " + e.Reason.Message
	}
	return e.Reason.Message
}

// maxModule is the most bytes of go.mod, driver.json and the like.
const maxModule = 16 << 20

// DefaultCache returns the directory for workers if the user does not name one.
func DefaultCache() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for workers: %w", err)
	}
	return filepath.Join(dir, "sqlite3perf", "workers"), nil
}

func (b *Builder) toolchain(ctx context.Context) (*toolchain, error) {
	if b.env != nil {
		return b.env, nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return nil, &BuildError{Reason: protocol.Reason{Code: protocol.CodeNoGo, Message: "workers are built with the Go toolchain, and there is no go in PATH: install Go from https://go.dev/dl"}}
	}
	cmd := b.command(ctx, "env", "-json")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := output(cmd)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("go env: %s", FirstComplaint(said.String(), err))
	}
	env := &toolchain{}
	if err := json.Unmarshal(out, env); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	if cc := strings.Fields(env.CC); len(cc) > 0 {
		if env.ccPath, err = exec.LookPath(cc[0]); err == nil {
			out, _ := exec.CommandContext(ctx, env.ccPath, "--version").Output()
			env.ccVersion, _, _ = strings.Cut(string(out), "\n")
		}
	}
	b.env = env
	return env, nil
}

// Tools returns the versions of the Go toolchain and of the C compiler that workers are
// built with. cc is "" if there is no C compiler. The error is a [*BuildError] if there is
// no Go toolchain.
func (b *Builder) Tools(ctx context.Context) (goVersion, cc string, err error) {
	env, err := b.toolchain(ctx)
	if err != nil {
		return "", "", err
	}
	return env.GOVERSION, cmp.Or(env.ccVersion, env.ccPath), nil
}

// command returns a go command that runs in the module of the workers' engine. It runs
// outside of any workspace, because a workspace could change a driver's dependencies.
func (b *Builder) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.Source.Root, "worker") // not in its parents: a go.mod there is somebody else's
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if goos, goarch, ok := strings.Cut(b.Target, "/"); ok {
		cmd.Env = append(cmd.Env, "GOOS="+goos, "GOARCH="+goarch)
	}
	process.Isolate(cmd)
	return cmd
}

// temporaryIn makes a command keep its temporary files in a directory that is swept if this
// process is killed. The variables other than GOTMPDIR are for the C compiler.
func temporaryIn(cmd *exec.Cmd, dir string) {
	for _, name := range []string{"GOTMPDIR", "TMPDIR", "TMP", "TEMP"} {
		cmd.Env = append(cmd.Env, name+"="+dir)
	}
	process.Mark(cmd, dir)
}

// Command builds the command line of a clone for the builder's target, and writes it to a file
// in dir, which must be that of a [process.Scratch].
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

// output returns what a go command prints. Even one that only looks something up makes a
// directory go-build, and leaves it if it is killed.
func output(cmd *exec.Cmd) ([]byte, error) {
	scratch, err := process.NewTemporary()
	if err != nil {
		return nil, err
	}
	defer scratch.Remove()
	temporaryIn(cmd, scratch.Dir)
	return cmd.Output()
}

// Worker returns the executable for a driver, and what it was built with. If the cache
// does not have the executable, Worker calls building, which may be nil, and builds it.
// If the worker cannot be built, or cannot run, the error is a [*BuildError]. The
// executable must be started with ref.Args().
func (b *Builder) Worker(ctx context.Context, ref Ref, building func()) (path string, with map[string]string, err error) {
	if ref.Path != "" {
		return ref.Path, nil, nil
	}
	if b.Target == "" {
		if err := ref.Known.ready(ctx); err != nil {
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
	if !b.swept {
		process.Sweep(filepath.Dir(path), buildDirectory)
		b.swept = true
	}
	if ref.Dir != "" {
		maps.Copy(with, checkedOut(ctx, ref.Dir))
	} else if use(path); whole(path) {
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

// Built reports whether the driver's worker exists, without building it. That of a
// directory is built each time, since anything in it may have changed. The error is a
// [*BuildError] if it cannot be built, or could not run.
func (b *Builder) Built(ctx context.Context, ref Ref) (bool, error) {
	if err := ref.Known.ready(ctx); err != nil {
		return false, err
	}
	if len(ref.Known.Command) > 0 {
		_, _, err := foundWorker(ctx, ref)
		return err == nil, err
	}
	path, _, err := b.path(ctx, ref)
	return err == nil && whole(path), err
}

// path returns where the executable for a driver is, or would be, and what it is built
// with.
func (b *Builder) path(ctx context.Context, ref Ref) (string, *toolchain, error) {
	env, err := b.toolchain(ctx)
	if err != nil {
		return "", nil, err
	}
	if b.Target != "" && ref.Known.Kind == driver.Cgo {
		return "", nil, &BuildError{Reason: protocol.Reason{Code: protocol.CodeNoGo, Message: fmt.Sprintf("%s needs a C compiler, so it is built on the machine that it runs on, and there is no go in PATH there: install Go and gcc there", ref.Name)}}
	}
	if err := env.serves(ref); err != nil {
		return "", nil, err
	}
	env = env.variant(ref)
	key, err := b.key(ref, env)
	if err != nil {
		return "", nil, err
	}
	cache, err := filepath.Abs(b.Cache) // builds and workers run in other directories
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

// sumSuffix is the suffix of the name of the file that has a worker's SHA-256, in hex.
const sumSuffix = ".sha256"

const sumLength = 2 * sha256.Size

// whole reports whether an executable exists and is the one that was built. A full disk,
// an interrupted copy or a virus scanner may have left something else.
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

// serves returns an error that says why the toolchain cannot build a driver, or nil.
func (env *toolchain) serves(ref Ref) error {
	for _, key := range []string{"GOAMD64", "GOARM64"} {
		if _, ok := ref.Options[key]; ok && key != "GO"+strings.ToUpper(env.GOARCH) {
			return &BuildError{Reason: protocol.Reason{Code: protocol.CodeBuild, Message: fmt.Sprintf("cannot be built: workers are built for %s here: leave out %s", env.GOARCH, key)}}
		}
	}
	if ref.Known.Kind != driver.Cgo {
		return nil
	}
	noCC := func(format string, args ...any) error {
		return &BuildError{Reason: protocol.Reason{Code: protocol.CodeNoCC, Message: fmt.Sprintf(format, args...)}}
	}
	switch {
	case env.CGO_ENABLED != "1" && os.Getenv("CGO_ENABLED") == "0":
		return noCC("%s needs cgo, and CGO_ENABLED=0 turns it off: unset it", ref.Name)
	case env.CGO_ENABLED != "1" || env.ccPath == "":
		return noCC("%s needs a C compiler, and there is no %q in PATH: install gcc or clang (Debian: apt-get install gcc libc6-dev), or name yours with CC", ref.Name, env.CC)
	}
	return nil
}

// variant returns the toolchain as a driver needs it. For drivers without C it has no
// compiler, because another compiler does not make another worker.
func (env *toolchain) variant(ref Ref) *toolchain {
	own := *env
	own.GOAMD64 = cmp.Or(ref.Options["GOAMD64"], own.GOAMD64)
	own.GOARM64 = cmp.Or(ref.Options["GOARM64"], own.GOARM64)
	if list := ref.words("GOEXPERIMENT"); list != nil {
		own.GOEXPERIMENT = strings.TrimPrefix(own.GOEXPERIMENT+","+strings.Join(list, ","), ",")
	}
	if flags := ref.Options["cflags"]; flags != "" {
		own.CGO_CFLAGS = strings.TrimSpace(own.CGO_CFLAGS + " " + flags)
	}
	if ref.Known.Kind != driver.Cgo {
		own.CGO_ENABLED, own.compiler = "0", compiler{}
	}
	return &own
}

// with returns what readers of results are told about a worker's build.
func (env *toolchain) with(ref Ref) map[string]string {
	m := map[string]string{
		"go": env.GOVERSION, "module_version": ref.version(), "GOFLAGS": env.GOFLAGS, "GOEXPERIMENT": env.GOEXPERIMENT,
		"GOAMD64": env.GOAMD64, "GOARM64": env.GOARM64, "tags": ref.tags(env.GOFLAGS), "directory": ref.Dir,
		"cc": env.ccVersion, "CGO_CFLAGS": env.CGO_CFLAGS, "CGO_CPPFLAGS": env.CGO_CPPFLAGS,
	}
	if ref.Dir != "" {
		m["module_version"] = ""
	}
	maps.DeleteFunc(m, func(_, v string) bool { return v == "" })
	return m
}

// environment returns the environment variables in which the go command must differ from
// the lab for a driver.
func (env *toolchain) environment(ref Ref) []string {
	var list []string
	for _, v := range []struct{ option, name, value string }{
		{"GOAMD64", "GOAMD64", env.GOAMD64}, {"GOARM64", "GOARM64", env.GOARM64},
		{"GOEXPERIMENT", "GOEXPERIMENT", env.GOEXPERIMENT}, {"cflags", "CGO_CFLAGS", env.CGO_CFLAGS},
	} {
		if _, ok := ref.Options[v.option]; ok {
			list = append(list, v.name+"="+v.value)
		}
	}
	if ref.Known.Kind != driver.Cgo {
		list = append(list, "CGO_ENABLED=0")
	}
	return list
}

// key returns a hash of everything that affects the executable.
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

// CacheError says why the cache for workers cannot be created or used.
type CacheError struct{ err error }

func (e *CacheError) Error() string { return fmt.Sprintf("the cache for workers: %v", e.err) }
func (e *CacheError) Unwrap() error { return e.err }

// buildDirectory is the prefix of the name of the directory that a worker is built in.
const buildDirectory = "building-"

// build builds the executable, and returns its path. Until it is complete it has another
// name. What is built from a directory has a sum of its bytes in its name, so that it
// stays what it is for the runs that use it when the directory changes.
func (b *Builder) build(ctx context.Context, ref Ref, env *toolchain, path string) (string, error) {
	scratch, err := process.NewScratch(filepath.Dir(path), buildDirectory)
	if err != nil {
		return "", &CacheError{err}
	}
	defer scratch.Remove()
	temp := scratch.Dir
	out := filepath.Join(temp, filepath.Base(path))
	var flags []string
	if ref.Version != "" || ref.Dir != "" {
		mod, err := versionMod(ref, temp)
		if err != nil {
			return "", err
		}
		flags = append(flags, "-mod=mod", "-modfile="+mod)
	}
	if tags := ref.tags(env.GOFLAGS); tags != "" {
		flags = append(flags, "-tags="+tags)
	}
	if err := b.checkTags(ctx, ref, env, flags); err != nil {
		return "", err
	}
	cmd := b.command(ctx, slices.Concat([]string{"build", "-o", out}, flags, []string{"./worker"})...)
	cmd.Dir = ref.Known.Dir
	cmd.Env = append(cmd.Env, env.environment(ref)...)
	temporaryIn(cmd, temp)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		why := FirstComplaint(output.String(), err) + ref.variantHint()
		if strings.Contains(output.String(), syscall.ENOSPC.Error()) { // the go command names neither of these directories
			why = fmt.Sprintf("the disk of %s or of Go's build cache is full: make room there", b.Cache)
		}
		return "", &BuildError{Reason: protocol.Reason{Code: protocol.CodeBuild, Message: "cannot be built: " + why, Detail: output.String()}}
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
		return "", err
	}
	return path, errors.Join(os.Rename(out, path), os.Rename(out+sumSuffix, path+sumSuffix))
}

// FirstComplaint returns the line of the go command's output that says most: the C
// compiler's first error, or else the first line.
func FirstComplaint(output string, err error) string {
	for line := range strings.Lines(output) {
		if strings.Contains(line, " error: ") {
			return strings.TrimSpace(line)
		}
	}
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: downloading") && !strings.HasPrefix(line, "go: finding") {
			return line
		}
	}
	return err.Error()
}

// versionMod writes a go.mod that requires only the worker module and the wanted version
// of the library, or has the wanted directory in its place. So the library's own
// dependencies are exactly those that its go.mod names.
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
