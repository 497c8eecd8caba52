package lab_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// pretendJob imitates a worker that does the job of type bench correctly, except for the given fault.
func pretendJob(fault string, req *protocol.Request) {
	enc := json.NewEncoder(os.Stdout)
	say := func(r protocol.Response) {
		if err := enc.Encode(r); err != nil {
			os.Exit(9)
		}
	}
	settings, version := driver.Settings{}.With(req.Settings), protocol.Version
	switch fault {
	case "silent":
		return
	case "garbage":
		fmt.Println("Traceback (most recent call last):")
		time.Sleep(time.Hour)
	case "unknown-answer":
		say(protocol.Response{Type: "hello"})
		time.Sleep(time.Hour)
	case "no-proof":
		say(protocol.Response{Type: protocol.TypeReady, Protocol: version})
		time.Sleep(time.Hour)
	case "newer":
		version++
	case "no-pragma":
		settings["synchronous"] = "full"
	}
	say(protocol.Response{Type: protocol.TypeReady, Protocol: version, Proof: &protocol.Proof{Connections: []driver.Settings{settings}, SQLiteVersion: "3.0.0"}})
	say(protocol.Response{Type: protocol.TypeProgress, Progress: &protocol.Progress{Stage: "rows", Rows: 5}})
	misbehave(fault, &protocol.Sample{})
	done := &protocol.JobResult{Bench: &protocol.Benched{Rows: 10, WallNS: 1000}}
	switch fault {
	case "unnamed-mismatch":
		done.Bench.Mismatches = 1
	case "failed":
		say(protocol.Response{Type: protocol.TypeFailed, Reason: &protocol.Reason{Code: protocol.CodeDatabase, Message: "there is no table bench"}})
		return
	case "failed-silently":
		say(protocol.Response{Type: protocol.TypeFailed})
		return
	case "other":
		done = &protocol.JobResult{Generate: &protocol.Generated{}}
	case "waits", "stays":
		_, _ = io.Copy(io.Discard, os.Stdin) // waits until the test asks the worker to stop
		done.Interrupted = true
		if fault == "stays" {
			time.Sleep(time.Hour)
		}
	}
	say(protocol.Response{Type: protocol.TypeResult, Result: done})
	if fault == "crash-at-end" {
		os.Exit(3)
	}
}

func benchRequest(t *testing.T) lab.JobRequest {
	return lab.JobRequest{
		Job:  protocol.Job{Bench: &protocol.Bench{Table: "bench"}},
		Path: filepath.Join(t.TempDir(), "test.db"), Settings: driver.Settings{"synchronous": "normal"}, Seed: 7,
	}
}

func TestJob(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"none", "crash-at-end"} { // a complete answer counts even if the worker then crashes
		r := benchRequest(t)
		var proof *protocol.Proof
		var rows int64
		r.Ready = func(p *protocol.Proof) { proof = p }
		r.Progress = func(p *protocol.Progress) { rows = p.Rows }
		got, err := lab.RunJob(t.Context(), faulty(t, fault), r, nil)
		if err != nil || got.Bench == nil || got.Bench.Rows != 10 || got.Interrupted {
			t.Fatalf("%s: %+v, %v", fault, got, err)
		}
		if proof == nil || proof.SQLiteVersion != "3.0.0" || rows != 5 {
			t.Errorf("%s: proof %+v, progress of %d rows", fault, proof, rows)
		}
	}
}

// TestJobFaults checks that a worker that fails at its job leads to an error at once, and
// that the error says what went wrong.
func TestJobFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault, code string
		parts       []string // parts of the reason's message and detail
	}{
		{"killed", "crash", []string{"SIGKILL", "memory"}},
		{"panic", "crash", []string{"about to fall", "panic: a fault of the driver", "goroutine 1"}},
		{"dies", "crash", []string{"exit status 3", "the last words"}},
		{"silent", "crash", []string{"exited before it had answered"}},
		{"garbage", "protocol", []string{"not understood", "Traceback"}},
		{"unknown-answer", "protocol", []string{"answered a job with", "hello"}},
		{"no-proof", "protocol", []string{"answered a job with", "ready"}},
		{"newer", "protocol", []string{"protocol 3", "sqlite3perf 2", "rebuild"}},
		{"no-pragma", "protocol", []string{"synchronous: wanted normal, got full", "connection 1 of 1", "did not notice"}},
		{"other", "protocol", []string{"not of the job", "generate"}},
		{"unnamed-mismatch", "protocol", []string{"result: bench.first_mismatches has 0 entries: want 1"}},
		{"failed", protocol.CodeDatabase, []string{"there is no table bench"}},
		{"failed-silently", "protocol", []string{"answered a job with", "failed"}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && c.fault == "killed" {
				t.Skip("Windows has no signal that would tell a kill from a crash")
			}
			got, err := lab.RunJob(t.Context(), faulty(t, c.fault), benchRequest(t), nil)
			var told *lab.JobError
			if got != nil || !errors.As(err, &told) || told.Reason.Code != c.code {
				t.Fatalf("%+v, %v; want an error with code %s", got, err, c.code)
			}
			for _, p := range c.parts {
				if !strings.Contains(told.Reason.Message+"\n"+told.Reason.Detail, p) {
					t.Errorf("no %q in %q\n%s", p, told.Reason.Message, told.Reason.Detail)
				}
			}
		})
	}
	if _, err := lab.RunJob(t.Context(), filepath.Join(t.TempDir(), "absent"), benchRequest(t), nil); err == nil || !strings.Contains(err.Error(), "does not start") {
		t.Errorf("an executable that is not there: %v", err)
	}
}

// TestJobStopped checks that after the channel "stop" is closed, the worker reports what it did until then.
func TestJobStopped(t *testing.T) {
	t.Parallel()
	r, stop := benchRequest(t), make(chan struct{})
	r.Progress = func(*protocol.Progress) { close(stop) }
	got, err := lab.RunJob(t.Context(), faulty(t, "waits"), r, stop)
	if err != nil || !got.Interrupted || got.Bench.Rows != 10 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestJobCanceled checks that a worker that ignores its input is killed when the context
// ends.
func TestJobCanceled(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"sleeps", "stays"} {
		ctx, cancel := context.WithCancel(t.Context())
		r, stop := benchRequest(t), make(chan struct{})
		r.Progress = func(*protocol.Progress) { close(stop); cancel() }
		got, err := lab.RunJob(ctx, faulty(t, fault), r, stop)
		if got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %+v, %v; want context.Canceled", fault, got, err)
		}
	}
}
