package lab_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestLyingVariant checks that a trial is refused if its worker does not report that it is the requested
// variant.
func TestLyingVariant(t *testing.T) {
	for fault, want := range map[string]result.Status{"none": result.Refused, "variant": result.OK} {
		c := tinyCase(t, faulty(t, fault))
		c.Ref = build.Ref{Name: "x:GOGC=400", Known: &build.Known{}, Options: map[string]string{"GOGC": "400", "env.COLOR": "blue"}}
		p := lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
		got, err := p.Trial(t.Context(), c, 7)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != want {
			t.Errorf("%s: %s, %+v", fault, got.Status, got.Reason)
		}
		if want == result.Refused && (got.Reason.Code != protocol.CodeVariant || !strings.HasPrefix(got.Reason.Message, "GOGC: wanted 400, got nothing")) {
			t.Errorf("%+v", got.Reason)
		}
	}
	r := benchRequest(t)
	r.Ref = build.Ref{Name: "x:GOGC=400", Known: &build.Known{}, Options: map[string]string{"GOGC": "400"}}
	_, err := lab.RunJob(t.Context(), faulty(t, "none"), r, nil)
	var told *lab.JobError
	if !errors.As(err, &told) || told.Reason.Code != protocol.CodeVariant {
		t.Errorf("a job: %v", err)
	}
}

// TestCheckout measures a real library built from a copy of its directory.
func TestCheckout(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a real worker")
	}
	t.Parallel()
	pinned := find(t, "zombiezen")
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", pinned.Known.Module)
	cmd.Dir, cmd.Env = pinned.Known.Dir, append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "sqlite")
	if err := os.CopyFS(dir, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		t.Fatal(err)
	}
	ref := find(t, "zombiezen="+dir+":GOMEMLIMIT=1GiB,env.COLOR=blue")
	c := tinyCaseOf(t, ref)
	b := &build.Builder{Source: source(t), Cache: t.TempDir()}
	if c.Worker, _, err = b.Worker(t.Context(), ref, nil); err != nil {
		t.Fatal(err)
	}
	p := lab.Processes{Dir: t.TempDir(), Limit: time.Minute}
	trial, err := p.Trial(t.Context(), c, 7)
	if err != nil || trial.Status != result.OK {
		t.Fatalf("%+v, %v", trial.Reason, err)
	}
	want := map[string]string{"GOMEMLIMIT": "1073741824", "COLOR": "blue"}
	if d := cmp.Diff(want, trial.Proof.Environment); d != "" || trial.Proof.ModuleVersion != dir {
		t.Errorf("module version %s, environment %s", trial.Proof.ModuleVersion, d)
	}
}

// TestVariantCases checks that a case lists the options that make its driver a variant.
func TestVariantCases(t *testing.T) {
	ref := find(t, "mattn:GOGC=400")
	c := tinyCaseOf(t, ref)
	if d := cmp.Diff(map[string]string{"GOGC": "400"}, c.Options); d != "" || c.Driver != "mattn:GOGC=400" || result.BaseDriver(c.Driver) != "mattn" {
		t.Errorf("driver %s, options %s", c.Driver, d)
	}
}
