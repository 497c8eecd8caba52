package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/browser/browsertest"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func TestMain(m *testing.M) {
	commands := maps.Clone(workers)
	commands["sqlite3perf"] = func() {
		env := cli.ProcessEnvironment()
		env.CPUTime = pretendedCPUTime
		// A real calibration takes more time than the trials of these tests. TestObserverSpeeds runs it.
		env.Calibrate = func() time.Duration { return 10 * time.Millisecond }
		os.Exit(execute(context.Background(), env, os.Args[1:]))
	}
	commands["locker"] = locker
	commands["unprivileged"] = unprivileged
	commands["without-seccomp"] = withoutSeccomp
	testscript.Main(tests{m}, commands)
}

// tests runs all tests, and then ends their browser.
type tests struct{ *testing.M }

func (t tests) Run() int {
	if signal.Ignored(os.Interrupt) {
		// Interrupts are ignored here, as in a background job of a script. The commands would inherit
		// an ignored signal, but not a caught one. So this process catches interrupts.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	// Run more tests in parallel, because they spend most of their time waiting for processes.
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	defer browsertest.Close()
	return t.M.Run()
}

// pretendedCPUTime is the CPU time of a machine on which no other process disturbs trials, so
// that tests do not depend on the load of this machine. If STEALING is set in the environment,
// other processes disturb all trials.
func pretendedCPUTime() (machine.CPUTime, bool) {
	if os.Getenv("STEALING") == "" {
		return machine.CPUTime{}, true
	}
	now := 100 * time.Duration(time.Now().UnixNano()-beginning.UnixNano())
	return machine.CPUTime{Worked: now, Stolen: now}, true
}

var beginning = time.Now()

func TestScripts(t *testing.T) { scripts(t, false) }

// TestSoakScripts runs all scripts completely.
func TestSoakScripts(t *testing.T) { scripts(t, true) }

func scripts(t *testing.T, soak bool) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               setup,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		ContinueOnError:     true,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "mount":
				return mountNamespace() != nil, nil
			case "soak":
				return soak, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "fails": fails, "cells": cells, "trials": trials, "fulfills": fulfills,
			"sql": sqlScript, "lock": lock, "unlock": unlock, "live": live, "listing": listing, "cut": cut,
		},
	})
}

// The function "cut" is the command "cut" of test scripts: cut FILE BYTES keeps only the first
// BYTES bytes of a file.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: cut FILE BYTES")
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// setup gives a script its own directories for everything that the command stores, and puts the
// workers and some files into its working directory. Scripts still use the user's Go caches.
func setup(env *testscript.Env) error {
	home, err := surroundings(env.WorkDir)
	if err != nil {
		return err
	}
	for _, v := range home {
		name, value, _ := strings.Cut(v, "=")
		env.Setenv(name, value)
	}
	tiny, err := os.ReadFile("testdata/tiny.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(env.WorkDir, "tiny.yaml"), tiny, 0o644); err != nil {
		return err
	}
	// sqlite3perf did not create this database, so the scripts expect it to remain unchanged.
	foreign := filepath.Join(env.WorkDir, "foreign.db")
	db, err := sql.Open("sqlite", foreign)
	if err != nil {
		return err
	}
	if _, err := db.Exec("CREATE TABLE precious(x); INSERT INTO precious VALUES (1)"); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := os.Symlink(foreign, filepath.Join(env.WorkDir, "link.db")); err != nil {
		return err
	}
	bin, err := exec.LookPath("sqlite3perf")
	if err != nil {
		return err
	}
	env.Setenv("BIN", filepath.Dir(bin))
	cache, err := build.DefaultCache() // the user's cache, so that no worker is built twice
	if err != nil {
		return err
	}
	env.Setenv("WORKERS", cache)
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	env.Setenv("ROOT", root)
	env.Values[lockKey{}] = new(func() error)
	if namespace := mountNamespace(); namespace != nil {
		script := "#!/bin/sh\nexec " + strings.Join(namespace, " ") + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(env.WorkDir, "namespace"), []byte(script), 0o755); err != nil {
			return err
		}
	}
	for name := range workers {
		if err := link(name, env.WorkDir); err != nil {
			return err
		}
	}
	return nil
}

func link(worker, dir string) error {
	path, err := exec.LookPath(worker)
	if err != nil {
		return err
	}
	return os.Symlink(path, filepath.Join(dir, worker))
}

// surroundings returns environment variables with which the command stores everything in the given
// directory.
func surroundings(dir string) ([]string, error) {
	vars := []string{"HOME=" + filepath.Join(dir, ".home")}
	for _, name := range []string{"CACHE", "CONFIG", "DATA"} {
		vars = append(vars, "XDG_"+name+"_HOME="+filepath.Join(dir, ".home", strings.ToLower(name)))
	}
	names := []string{"GOCACHE", "GOFLAGS", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOPATH", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN"}
	out, err := exec.Command("go", append([]string{"env", "-json"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(out, &values); err != nil {
		return nil, err
	}
	for _, name := range names {
		vars = append(vars, name+"="+values[name])
	}
	return vars, nil
}

// mountNamespace returns a command that runs another command in a mount namespace, in which it may
// mount a file system. It returns nil if this system does not allow that.
var mountNamespace = sync.OnceValue(func() []string {
	for _, c := range [][]string{{"unshare", "-m"}, {"unshare", "-r", "-m"}} {
		if exec.Command(c[0], append(c[1:], "mount", "-t", "tmpfs", "none", os.TempDir())...).Run() == nil {
			return c
		}
	}
	return nil
})

// The function "status" is the command "status" of test scripts. It runs a command and expects an exit
// status, as in: status 4 sqlite3perf run
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitStatus(ts, args[1:]); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func exitStatus(ts *testscript.TestScript, command []string) int {
	err := ts.Exec(command[0], command[1:]...)
	status := statusOf(err)
	if status < 0 {
		ts.Fatalf("%v", err)
	}
	return status
}

// statusOf returns the exit status of a command, given the error with which the command ended. It
// returns -1 if the command did not run.
func statusOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// The function "fails" is the command "fails" of test scripts. It runs a command that must fail with
// an exit status and one line that matches a pattern. The command must print nothing else and must
// not change any files. For example: fails 2 'did you mean' sqlite3perf rnu
func fails(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: fails N pattern command [argument...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	before := files(ts)
	if got := exitStatus(ts, args[2:]); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
	if d := cmp.Diff(before, files(ts)); d != "" {
		ts.Fatalf("files changed: -before +after:\n%s", d)
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output is not empty")
	}
	message := ts.ReadFile("stderr")
	if strings.Count(message, "\n") != 1 || !strings.HasPrefix(message, "sqlite3perf: ") {
		ts.Fatalf("want one line that begins with sqlite3perf: on standard error")
	}
	if ok, err := regexp.MatchString(args[1], message); !ok {
		ts.Fatalf("no match of %q (%v)", args[1], err)
	}
}

// schemas has the names of the files in docs/schemas for JSON outputs, by command.
var schemas = map[string]string{"advise": "advice", "bisect": "bisection", "diff": "diff", "drivers": "drivers", "dsn": "dsn", "gate": "gate", "locks": "locks", "profile": "profile", "runs": "runs", "site": "figures", "tune": "tuning"}

// The function "fulfills" is the command "fulfills" of test scripts. It validates the JSON that was
// printed last against a schema, as in: fulfills gate
func fulfills(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || schemas[args[0]] == "" {
		ts.Fatalf("usage: fulfills %s", strings.Join(slices.Sorted(maps.Keys(schemas)), "|"))
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "schemas", schemas[args[0]]+".schema.json"))
	ts.Check(err)
	got, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile("stdout")))
	ts.Check(err)
	ts.Check(schema.Validate(got))
}

// files returns the files in the script's directory, with a hash of their contents.
func files(ts *testscript.TestScript) map[string]string {
	list := map[string]string{}
	root := ts.Getenv("WORK")
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == filepath.Join(root, ".home", "config", "go") {
			return fs.SkipDir // the go command counts its own uses in this directory
		}
		list[path] = d.Type().String()
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			list[path] = fmt.Sprintf("%d bytes, %x", len(data), sha256.Sum256(data))
		}
		return nil
	}))
	return list
}

// load parses a report in JSON. It returns an error if a trial that is OK lacks the settings that
// its connections reported, or has wrong ones. It also returns an error if answers to the same
// question have different checksums.
func load(data []byte) (*report.JSON, error) {
	j := &report.JSON{}
	if err := json.Unmarshal(data, j); err != nil {
		return nil, err
	}
	byID := map[int]result.Case{}
	for _, c := range j.Run.Cases {
		byID[c.ID] = c
	}
	sums := map[string]string{}
	for _, t := range j.Run.Trials {
		if t.Status != result.OK {
			continue
		}
		c := byID[t.Case]
		if t.Proof == nil || len(t.Proof.Connections) != c.Settings.PoolSize() {
			return nil, fmt.Errorf("trial %d: no proof for each of %d connections", t.Order, c.Settings.PoolSize())
		}
		for _, got := range t.Proof.Connections {
			if bad := driver.Check(c.Settings, got); len(bad) > 0 {
				return nil, fmt.Errorf("trial %d: %v", t.Order, bad)
			}
		}
		for _, s := range t.Samples {
			if s.Checksum == "" {
				continue // this phase was not verified in this trial, or is not a query
			}
			key := fmt.Sprint(c.Workload, c.Parameters, c.Settings, s.Phase)
			if old, ok := sums[key]; ok && old != s.Checksum {
				return nil, fmt.Errorf("checksums of %s differ", key)
			}
			sums[key] = s.Checksum
		}
	}
	return j, nil
}

// The function "cells" is the command "cells" of test scripts. It reads the JSON report that was printed
// last, and writes its cells (drivers in timed phases) to a file. Each line has a cell's workload, phase,
// driver and status. For example: cells got.txt
func cells(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: cells file")
	}
	j, err := load([]byte(ts.ReadFile("stdout")))
	ts.Check(err)
	var lines []string
	for _, c := range j.Cells {
		words := []string{c.Workload, c.Variant, c.Phase, c.Driver, string(c.Status)}
		if c.Status == result.OK {
			words = append(words, strconv.Itoa(c.N))
		} else {
			words = append(words, c.Reason.Code)
		}
		lines = append(lines, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")+"\n")
	}
	slices.Sort(lines)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(lines, "")), 0o644))
}

// The function "trials" is the command "trials" of test scripts. It reads the JSON report that was
// printed last, and writes its trials to a file, with only the properties that must not depend on
// chance. For example: trials got.txt
func trials(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: trials file")
	}
	j, err := load([]byte(ts.ReadFile("stdout")))
	ts.Check(err)
	var b strings.Builder
	for _, t := range j.Run.Trials {
		c := j.Run.Cases[t.Case-1]
		fmt.Fprintf(&b, "%d round %d %s %s", t.Order, t.Round, c.Workload, c.Driver)
		for _, s := range t.Samples {
			fmt.Fprintf(&b, " %s:%d:%d:%.8s", s.Phase, s.Operations, s.Rows, s.Checksum)
		}
		b.WriteByte('\n')
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}
