package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// TestDeletedRun checks that no number is used for two runs, because users refer to runs by
// their numbers.
func TestDeletedRun(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s := mustOpen(t, path)
	r := fullRun(t)
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	db := plain(t, path)
	if _, err := db.Exec(`PRAGMA foreign_keys = on; DELETE FROM runs WHERE run_id = 1`); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"runs", "cases", "trials", "samples", "warnings"} {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v; want 0", table, n, err)
		}
	}
	wantError(t, s.AddTrial(ctx, 1, trial(9)), path, "no such run")
	wantError(t, s.Finish(ctx, &result.Run{ID: 1}), path, "no run 1")
	if err := s.Begin(ctx, r); err != nil || r.ID != 2 {
		t.Errorf("Begin gave run %d, %v; want 2", r.ID, err)
	}
}

func TestMisuse(t *testing.T) {
	ctx := context.Background()
	path := newPath(t)
	s := mustOpen(t, path)
	r := smallRun()
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTrial(ctx, r.ID, trial(1)); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.AddTrial(ctx, r.ID, trial(1)), path, "already contains this", "trial 1 of run 1")
	stray := trial(2)
	stray.Case = 5
	wantError(t, s.AddTrial(ctx, r.ID, stray), path, "no such case", "trial 2 of run 1")
	wantError(t, s.AddTrial(ctx, r.ID, trial(0)), path, "trial 0 of run 1")
	// The failed write has stored nothing, and does not block the next write.
	if err := s.AddTrial(ctx, r.ID, trial(2)); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load(ctx, r.ID)
	if err != nil || len(got.Trials) != 2 || len(got.Trials[1].Samples) != 2 {
		t.Errorf("Load: %+v, %v", got, err)
	}
}

// TestCancelled checks that trials that were measured before the user interrupted the run are
// still stored.
func TestCancelled(t *testing.T) {
	s := mustOpen(t, newPath(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := smallRun()
	if err := s.Begin(ctx, r); err != nil {
		t.Errorf("Begin: %v", err)
	}
	if err := s.AddTrial(ctx, r.ID, trial(1)); err != nil {
		t.Errorf("AddTrial: %v", err)
	}
	if got, err := s.Load(context.Background(), r.ID); err != nil || len(got.Trials) != 1 {
		t.Errorf("Load: %v, %v", got, err)
	}
}

// TestCancelledAtCommit checks that a transaction is either committed or rolled back, even if it
// is canceled at the last moment.
func TestCancelledAtCommit(t *testing.T) {
	s := mustOpen(t, newPath(t))
	ctx, cancel := context.WithCancel(context.Background())
	err := s.Write(ctx, func(c *sql.Conn) error {
		defer cancel()
		_, err := c.ExecContext(ctx, `INSERT INTO runs (seed, json) VALUES ('1', '{}')`)
		return err
	})
	if err != nil {
		t.Errorf("commit: %v", err)
	}
	if list, err := s.List(context.Background()); err != nil || len(list) != 1 {
		t.Errorf("List: %v, %v; want one run", list, err)
	}
}

func TestConcurrentWriters(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	const writers, trials = 4, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			// Each goroutine has its own Store. All create the file at the same time.
			s, err := store.Open(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			r := smallRun()
			r.Version = fmt.Sprint("writer ", w)
			if err := s.Begin(ctx, r); err != nil {
				t.Error(err)
				return
			}
			for i := range trials {
				if err := s.AddTrial(ctx, r.ID, trial(i+1)); err != nil {
					t.Error(err)
					return
				}
				// Opening reads the file's header, which must not release the
				// locks that the other writers hold.
				o, err := store.OpenReadOnly(context.Background(), path)
				if err != nil {
					t.Error(err)
					return
				}
				o.Close()
			}
		})
	}
	wg.Wait()
	checkIntact(t, path)
	list, err := mustOpen(t, path).List(ctx)
	if err != nil || len(list) != writers {
		t.Fatalf("List: %v, %v", list, err)
	}
	for _, e := range list {
		if e.Trials != trials {
			t.Errorf("run %d (%s) has %d trials, want %d", e.ID, e.Version, e.Trials, trials)
		}
	}
}

// TestResumeTwice resumes a run twice, as two processes would. The second Resume must be refused,
// even if nothing has been measured since the first Resume.
func TestResumeTwice(t *testing.T) {
	ctx := t.Context()
	s := mustOpen(t, newPath(t))
	r := smallRun()
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	again := func() *result.Run {
		x, err := s.Load(ctx, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		x.Resumed = append(x.Resumed, result.Resumption{PauseNS: 5})
		return x
	}
	first, second := again(), again()
	if err := s.Resume(ctx, first, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(ctx, second, nil); err == nil || !strings.Contains(err.Error(), "another process has just resumed it") {
		t.Errorf("the second Resume: %v", err)
	}
	if err := s.Resume(ctx, again(), nil); err != nil {
		t.Errorf("Resume after the run was loaded again: %v", err)
	}
}

// TestOverwrittenStore replaces, overwrites, damages or removes the store's file while a run
// is measured. Finish must then return an error that names the store, even if its context is
// canceled.
func TestOverwrittenStore(t *testing.T) {
	for _, how := range []string{"replaced", "overwritten", "removed", "before the last trial", "in part"} {
		t.Run(how, func(t *testing.T) {
			ctx, path, other := context.Background(), newPath(t), newPath(t)
			s, o := mustOpen(t, path), mustOpen(t, other)
			r, theirs := smallRun(), smallRun()
			r.Ended = r.Started.Add(time.Minute)
			if err := errors.Join(s.Begin(ctx, r), o.Begin(ctx, theirs), o.Close()); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(other)
			if how == "before the last trial" {
				data, err = os.ReadFile(path)
				r.Trials = append(r.Trials, *trial(1))
			}
			if err == nil && how != "before the last trial" {
				r.Trials = append(r.Trials, *trial(1))
				err = s.AddTrial(ctx, r.ID, &r.Trials[0])
			}
			if err != nil {
				t.Fatal(err)
			}
			switch how {
			case "replaced":
				err = os.Rename(other, path)
			case "removed":
				err = os.Remove(path)
			case "in part":
				var page, size int64
				if err = s.DB().QueryRow(`SELECT pageno, pgsize FROM dbstat WHERE name = 'samples'`).Scan(&page, &size); err == nil {
					err = writeAt(path, make([]byte, size), (page-1)*size)
				}
			default:
				err = os.WriteFile(path, data, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			over, cancel := context.WithCancel(ctx)
			cancel()
			for _, ctx := range []context.Context{ctx, over} {
				if err := s.Finish(ctx, r); err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("%v, want an error that names the store", err)
				}
			}
		})
	}
}

// writeAt overwrites a part of a file.
func writeAt(path string, data []byte, offset int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, offset)
	return errors.Join(err, f.Close())
}

// TestFinishInterrupted checks that a run whose context has ended is still stored. There must be
// no error that would hide the interruption.
func TestFinishInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s, r := mustOpen(t, newPath(t)), smallRun()
	r.Ended = r.Started.Add(time.Minute)
	if err := s.Begin(ctx, r); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.Finish(ctx, r); err != nil {
		t.Error(err)
	}
	if id, err := s.Resolve(context.Background(), "last"); err != nil || id != r.ID {
		t.Errorf("the last run is %d, %v", id, err)
	}
}
