package conformance_test

import (
	"bytes"
	"context"
	sql "database/sql/driver"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/conformance"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

var update = flag.Bool("update", false, "write answers.json and docs/generated-values.json")

// TestMain makes the test binary a worker if it is started with the name "worker.LIE". That
// worker answers correctly, except for the lie with that name.
func TestMain(m *testing.M) {
	if lie, ok := strings.CutPrefix(filepath.Base(os.Args[0]), "worker."); ok {
		pretend(lie)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// engine returns a driver for the SQLite that the root module links.
func engine() driver.Driver {
	return sqldriver.New(sqldriver.Library{
		Info: driver.Info{
			Name: "engine", About: "The engine in Go.", Module: "modernc.org/sqlite", Kind: driver.Transpiled, Interface: driver.DatabaseSQL,
		},
		Connector: func(path string, s driver.Settings) (sql.Connector, error) {
			options := map[string][]string{}
			if lock, ok := s["txlock"]; ok {
				options["_txlock"] = []string{lock}
			}
			return sqldriver.Connector(&sqlite.Driver{}, s.URI(path, options), s.Pragmas()), nil
		},
		Code: func(err error) int {
			var e *sqlite.Error
			if errors.As(err, &e) {
				return e.Code()
			}
			return 0
		},
		LimitAttached: sqldriver.TranspiledLimitAttached(sqlite3.Xsqlite3_limit),
	})
}

// as(t, lie) returns a Subject whose worker is the test binary, under a name that makes it tell the lie.
func as(t *testing.T, lie string) *conformance.Subject {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "worker."+lie)
	if err := os.Symlink(exe, path); err != nil {
		t.Fatal(err)
	}
	return subject(t, path)
}

func subject(t *testing.T, path string) *conformance.Subject {
	t.Helper()
	info, _, err := build.Describe(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return &conformance.Subject{Ref: build.Ref{Name: path, Path: path}, Worker: path, Info: info, Dir: t.TempDir()}
}

// failures runs the chosen checks. It returns the messages of the failed checks, by the name of the check.
func failures(t *testing.T, s *conformance.Subject, chosen func(string) bool) map[string]string {
	t.Helper()
	failed := map[string]string{}
	err := conformance.Run(t.Context(), s, chosen, func(name string, err error) {
		if err != nil {
			failed[name] = err.Error()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return failed
}

func every(string) bool { return true }

// TestEngineConforms runs the checks on the engine itself. It leaves out most checks of settings, because the
// test suites of the drivers test every setting.
func TestEngineConforms(t *testing.T) {
	t.Parallel()
	if *update {
		updateAnswers(t)
	}
	engineConforms(t, func(name string) bool {
		return !strings.HasPrefix(name, "settings/") || strings.HasPrefix(name, "settings/synchronous") || strings.HasPrefix(name, "settings/changed")
	})
}

// TestSoakEngineConforms runs every check on the engine.
func TestSoakEngineConforms(t *testing.T) {
	t.Parallel()
	engineConforms(t, every)
}

func engineConforms(t *testing.T, chosen func(string) bool) {
	t.Helper()
	for name, why := range failures(t, as(t, "none"), chosen) {
		t.Errorf("%s: %s", name, why)
	}
}

// TestSoakPythonConforms checks the Python worker, which was written from the documents
// alone.
func TestSoakPythonConforms(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("python3", "-c", "import sqlite3, sys; assert sys.version_info >= (3, 11), sys.version").CombinedOutput()
	if err != nil {
		t.Skipf("no Python 3.11 or newer with sqlite3 to check here: %v %s", err, out)
	}
	path, err := filepath.Abs("../../../drivers/python/worker.py")
	if err != nil {
		t.Fatal(err)
	}
	for name, why := range failures(t, subject(t, path), every) {
		t.Errorf("%s: %s", name, why)
	}
}

// updateAnswers recreates answers.json with the engine's answers.
func updateAnswers(t *testing.T) {
	t.Helper()
	got, err := conformance.Answers(t.Context(), as(t, "none"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("answers.json", append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Fatal("answers.json is written: run the tests again without -update")
}

// TestVectors checks that docs/generated-values.json has the content that WriteVectors writes. With
// -update it writes the file.
func TestVectors(t *testing.T) {
	const file = "../../../docs/generated-values.json"
	var b bytes.Buffer
	if err := conformance.WriteVectors(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s does not have the values of the generators (%v): run go test ./internal/lab/conformance -run TestVectors -update", file, err)
	}
}

// TestVectorsOfEveryKind checks that the vectors contain every kind of generator, so that each kind is
// checked.
func TestVectorsOfEveryKind(t *testing.T) {
	var schema struct {
		Defs struct {
			Generator struct {
				Properties struct {
					Kind struct{ Enum []string }
				}
			} `json:"plan.Generator"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(protocol.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := conformance.WriteVectors(&b); err != nil {
		t.Fatal(err)
	}
	kinds := schema.Defs.Generator.Properties.Kind.Enum
	if len(kinds) < 16 {
		t.Errorf("the protocol's schema has the kinds %q", kinds)
	}
	for _, kind := range kinds {
		if !bytes.Contains(b.Bytes(), []byte(`"kind": "`+kind+`"`)) {
			t.Errorf("no column of the kind %s", kind)
		}
	}
}

// TestLimitsAreHeld checks that two mistakes are reported: a driver does not declare a limit that its worker
// has, or it declares a limit that its worker does not have.
func TestLimitsAreHeld(t *testing.T) {
	s := as(t, "ignores cache_size")
	chosen := func(name string) bool { return strings.HasPrefix(name, "settings/c") }
	got := failures(t, s, chosen)
	names := slices.Sorted(maps.Keys(got))
	if want := []string{"settings/cache_size=-3000", "settings/cache_size=100"}; !slices.Equal(names, want) {
		t.Fatalf("failures %q, want %q: %v", names, want, got)
	}
	if words := got["settings/cache_size=100"]; !strings.Contains(words, `declare "cache_size=100" with the reason under limits`) {
		t.Errorf("the message does not say which limit to declare: %q", words)
	}
	s.Info.Limits = map[string]string{"cache_size": "it has none", "cache=private": "untrue"}
	got = failures(t, s, chosen)
	if len(got) != 1 || !strings.Contains(got["settings/cache=private"], `limit "cache=private" is declared, but the driver does it`) {
		t.Errorf("with limits: %v", got)
	}
}

// TestUnusable checks that Run makes no check and returns ErrUnusable if the worker cannot run any
// trial. If the context is canceled, Run must return [context.Canceled].
func TestUnusable(t *testing.T) {
	err := conformance.Run(t.Context(), as(t, "opens nothing"), every, func(name string, _ error) {
		t.Errorf("check %s was made", name)
	})
	if !errors.Is(err, conformance.ErrUnusable) || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := conformance.Run(ctx, as(t, "none"), every, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// pretend runs a worker that tells the given lie.
func pretend(lie string) {
	d := engine()
	switch {
	case lie == "ignores cache_size":
		d = &changed{d, func(s driver.Settings) error { delete(s, "cache_size"); return nil }}
	case lie == "opens nothing":
		d = &changed{d, func(driver.Settings) error { return errors.New("the driver is out of order") }}
	case lie == "attaches":
		d = &attaching{d}
	case lie != "none":
		told(lie, d)
		return
	}
	worker.Main(d)
}

// attaching is a driver that wrongly lets SQL access files.
type attaching struct{ driver.Driver }

func (a *attaching) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	return a.Driver.Open(driver.AllowFiles(ctx), path, s)
}

// TestFilesAreRefused checks that the conformance checks detect a worker that lets SQL access other files.
func TestFilesAreRefused(t *testing.T) {
	got := failures(t, as(t, "attaches"), func(name string) bool { return strings.Contains(name, "other files") })
	if words := got["failures/SQL that reaches other files"]; len(got) != 1 || !strings.Contains(words, "made that file: set SQLITE_LIMIT_ATTACHED to 0") {
		t.Errorf("got %v", got)
	}
}

// changed is a driver that passes the settings to the function "change" before it opens a database.
type changed struct {
	driver.Driver
	change func(driver.Settings) error
}

func (c *changed) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	s = s.With(nil)
	if err := c.change(s); err != nil {
		return nil, err
	}
	return c.Driver.Open(ctx, path, s)
}
