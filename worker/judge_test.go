package worker_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func judgeJob(t *testing.T, paths ...string) protocol.Request {
	t.Helper()
	return protocol.Request{
		Type: protocol.TypeJob, Protocol: protocol.Version, Path: filepath.Join(t.TempDir(), "test.db"), Job: &protocol.Job{Judge: &protocol.Judge{Paths: paths}},
	}
}

// TestJudgeRefused checks that a job of the kind "judge" fails if the driver does not work on
// files, or if there is nothing to judge.
func TestJudgeRefused(t *testing.T) {
	limited := newFake()
	limited.limits = map[string]string{"job": "it has no files"}
	for _, c := range []struct {
		driver *fake
		req    protocol.Request
		code   string
		says   string
	}{
		{limited, judgeJob(t, "/x.db"), protocol.CodeUnsupported, "it has no files"},
		{newFake(), judgeJob(t), protocol.CodeUsage, "0 paths: want 1 to 10,000"},
	} {
		got := serve(t, c.driver, c.req)
		if last := got[len(got)-1]; last.Reason == nil || last.Reason.Code != c.code || !strings.Contains(last.Reason.Message, c.says) || len(c.driver.log) > 0 {
			t.Errorf("%+v, calls %q, want %s: %s", last.Reason, c.driver.log, c.code, c.says)
		}
	}
}

// TestJudgeWriteLost checks that a job of the kind "judge" writes a row, opens the database again,
// and reports an error if the row is missing.
func TestJudgeWriteLost(t *testing.T) {
	d := newFake()
	d.pragmas["integrity_check(5)"] = "ok"
	d.answer = func(sql string, _ []any) ([]driver.Row, error) {
		if strings.HasPrefix(sql, "SELECT name FROM sqlite_master") {
			return nil, nil
		}
		return []driver.Row{{{Int: 0}}}, nil
	}
	path := filepath.Join(t.TempDir(), "x.db")
	got := serve(t, d, judgeJob(t, path))
	last := got[len(got)-1]
	if last.Result == nil || len(last.Result.Judge) != 1 {
		t.Fatalf("%+v", last)
	}
	if j := last.Result.Judge[0]; j.Error != "" || j.Transaction != -1 || j.Unwritable != "after a write, the database has 0 rows: want 1" {
		t.Errorf("%+v", j)
	}
	if want := "script CREATE TABLE sqlite3perf_commits_judged(a); INSERT INTO sqlite3perf_commits_judged VALUES (1),close,close"; !strings.HasSuffix(strings.Join(d.log, ","), want) {
		t.Errorf("calls %q, want %s at the end", d.log, want)
	}
}

// recoverable is a [driver.Recoverer]: a driver whose databases are kept by separate processes.
type recoverable struct{ *fake }

func (r recoverable) Recover(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	r.note("recover %s", filepath.Base(path))
	return r.Open(ctx, path, s)
}

// TestJudgeRecovers checks that a job of the kind "judge" calls Recover if the driver has this
// method, even if the driver declares the limit "job".
func TestJudgeRecovers(t *testing.T) {
	d := recoverable{newFake()}
	d.limits = map[string]string{"job": "it has no files"}
	d.answer = func(string, []any) ([]driver.Row, error) { return nil, errors.New("no answer") }
	got := serve(t, d, judgeJob(t, filepath.Join(t.TempDir(), "x.db")))
	last := got[len(got)-1]
	if last.Result == nil || len(last.Result.Judge) != 1 || last.Result.Judge[0].Error == "" {
		t.Fatalf("%+v", last)
	}
	if calls := strings.Join(d.log, ","); !strings.Contains(calls, "recover proof.db") || !strings.Contains(calls, "recover x.db") {
		t.Errorf("calls %q, want Recover for proof.db and for x.db", d.log)
	}
}
