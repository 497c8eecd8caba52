package build

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// toolchain holds everything about the Go toolchain that affects the executables it builds.
type toolchain struct {
	GOVERSION, GOOS, GOARCH, GOFLAGS, GOEXPERIMENT, GOFIPS140    string
	GO386, GOAMD64, GOARM, GOARM64, GOMIPS64, GOPPC64, GORISCV64 string // only the variable for GOARCH is not empty
	CGO_ENABLED                                                  string
	compiler
}

// compiler holds the C compiler's properties. They matter only to drivers with C code.
type compiler struct {
	CC, CGO_CFLAGS, CGO_CPPFLAGS, CGO_LDFLAGS string

	ccPath, ccVersion string
}

func (b *Builder) toolchain(ctx context.Context) (*toolchain, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.env != nil {
		return b.env, nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return nil, unbuildable(protocol.CodeNoGo, "workers are built with the Go toolchain, and there is no go in PATH: install Go from https://go.dev/dl")
	}
	cmd := b.command(ctx, "env", "-json")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := output(cmd)
	if err != nil {
		complaint := FirstComplaint(said.String(), err)
		if strings.Contains(complaint, "go: download go") {
			err = unbuildable(protocol.CodeNoGo, "workers need Go %s or newer, and the go in PATH can't download it (%s): install Go from https://go.dev/dl", b.needsGo(), complaint)
		} else {
			err = fmt.Errorf("go env: %s", complaint)
		}
		return nil, cmp.Or(ctx.Err(), err)
	}
	env := &toolchain{}
	if err := errors.Join(json.Unmarshal(out, env), json.Unmarshal(out, &b.caches)); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	entries, _ := os.ReadDir(filepath.Join(b.caches.GOCACHE, "00")) // the cache consists of 256 such directories; if the cache is in use, each of them has files
	b.caches.used = len(entries) > 0
	if err := b.newEnough(env.GOVERSION); err != nil {
		return nil, err
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

// caches are the directories in which the go command keeps compiled packages and downloaded modules.
type caches struct {
	GOCACHE, GOMODCACHE string

	used bool // GOCACHE was not empty when this program began
}

// newEnough returns an error if the Go toolchain is too old for the workers, and its settings forbid
// the download of a newer toolchain. It accepts unreleased versions of Go.
func (b *Builder) newEnough(have string) error {
	need := b.needsGo()
	if need == "" || !version.IsValid(have) || version.Compare(have, "go"+need) >= 0 {
		return nil
	}
	or := ""
	if version.Compare(have, "go1.21") >= 0 {
		or = ", or set GOTOOLCHAIN=auto, with which go downloads it"
	}
	return unbuildable(protocol.CodeNoGo, "workers need Go %s or newer, and the go in PATH is %s: install Go from https://go.dev/dl%s", need, have, or)
}

// needsGo returns the oldest version of Go that can build workers, or "" if it is not known.
func (b *Builder) needsGo() string {
	data, err := directory.ReadRegular(filepath.Join(b.Source.Root, "worker", "go.mod"), maxModule)
	if err != nil {
		return ""
	}
	f, err := modfile.ParseLax("go.mod", data, nil)
	if err != nil || f.Go == nil {
		return ""
	}
	return f.Go.Version
}

// Tools returns the versions of the Go toolchain and of the C compiler that build workers.
// cc is "" if there is no C compiler. The error is a [*BuildError] if there is no Go
// toolchain.
func (b *Builder) Tools(ctx context.Context) (goVersion, cc string, err error) {
	env, err := b.toolchain(ctx)
	if err != nil {
		return "", "", err
	}
	return env.GOVERSION, cmp.Or(env.ccVersion, env.ccPath), nil
}

// command returns a go command that runs in the directory of the module worker. It disables workspaces,
// because a workspace could change a driver's dependencies.
func (b *Builder) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.Source.Root, "worker") // not in a parent directory, where a go.mod may be somebody else's
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if goos, goarch, ok := strings.Cut(b.Target, "/"); ok {
		cmd.Env = append(cmd.Env, "GOOS="+goos, "GOARCH="+goarch)
	}
	process.Isolate(cmd)
	return cmd
}

// temporaryIn makes a command keep its temporary files in dir. The caller removes dir later, or another
// process does so if this process is killed. The C compiler uses the variables other than GOTMPDIR.
func temporaryIn(cmd *exec.Cmd, dir string) {
	for _, name := range []string{"GOTMPDIR", "TMPDIR", "TMP", "TEMP"} {
		cmd.Env = append(cmd.Env, name+"="+dir)
	}
	process.Mark(cmd, dir)
}

// output runs a go command and returns its standard output. It gives the command a temporary directory,
// because a go command that is killed does not remove its temporary files.
func output(cmd *exec.Cmd) ([]byte, error) {
	scratch, err := process.NewTemporary()
	if err != nil {
		return nil, err
	}
	defer scratch.Remove()
	temporaryIn(cmd, scratch.Dir)
	return cmd.Output()
}

// serves returns an error if the toolchain cannot build the driver.
func (env *toolchain) serves(ref Ref) error {
	for _, key := range []string{"GOAMD64", "GOARM64"} {
		if _, ok := ref.Options[key]; ok && key != "GO"+strings.ToUpper(env.GOARCH) {
			return unbuildable(protocol.CodeBuild, "cannot be built: workers are built for %s here: leave out %s", env.GOARCH, key)
		}
	}
	if ref.Known.Kind != driver.Cgo {
		return nil
	}
	switch {
	case env.CGO_ENABLED != "1" && os.Getenv("CGO_ENABLED") == "0":
		return unbuildable(protocol.CodeNoCC, "%s needs cgo, and CGO_ENABLED=0 turns it off: unset it", ref.Name)
	case env.CGO_ENABLED != "1" || env.ccPath == "":
		return unbuildable(protocol.CodeNoCC, "%s needs a C compiler, and there is no %q in PATH: install gcc or clang (Debian: apt-get install gcc libc6-dev), or name yours with CC", ref.Name, env.CC)
	}
	return nil
}

// variant returns the toolchain with the driver's options applied. For a driver without C code, it leaves out
// the compiler, because the compiler does not affect the worker.
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

// env.with(ref) describes the build of a worker by names and values. Results contain this description.
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

// environment returns the environment variables that the go command needs for the driver, in
// addition to the environment of this process.
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
