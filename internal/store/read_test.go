package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

func TestLoadCases(t *testing.T) {
	ctx, s := context.Background(), mustOpen(t, newPath(t))
	want := fullRun(t)
	if err := s.Begin(ctx, want); err != nil {
		t.Fatal(err)
	}
	keep := func(c *result.Case) bool { return c.ID == 2 }
	got, err := s.LoadCases(ctx, want.ID, keep)
	if err != nil {
		t.Fatal(err)
	}
	all := want.Trials
	want.Cases, want.Trials, want.Warnings, want.Profiles.Cases, want.Answer = want.Cases[1:2], nil, nil, nil, nil
	for _, tr := range all {
		if tr.Case == 2 {
			tr.Warnings = nil
			want.Trials = append(want.Trials, tr)
		}
	}
	if d := cmp.Diff(want, got); d != "" || len(want.Trials) == 0 {
		t.Errorf("-stored +loaded:\n%s", d)
	}
	if _, err := s.LoadCases(ctx, 9, keep); !errors.Is(err, store.ErrNoRun) {
		t.Error(err)
	}
}

// TestExtentChanges checks that a run's [store.Extent] changes when the run gets a warning or a stored answer,
// and when another answer of the same length replaces the stored one.
func TestExtentChanges(t *testing.T) {
	ctx, s := t.Context(), mustOpen(t, newPath(t))
	run := smallRun()
	if err := s.Begin(ctx, run); err != nil {
		t.Fatal(err)
	}
	seen := map[store.Extent]string{}
	note := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		e, err := s.Extent(ctx, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Extent(ctx, run.ID); err != nil || again != e {
			t.Errorf("%s: the extent changes although the run does not: %+v, %+v, %v", what, e, again, err)
		}
		if before, ok := seen[e]; ok {
			t.Errorf("%s: the extent is the same as for %s", what, before)
		}
		seen[e] = what
	}
	answer := func(value string) error {
		return s.SetAnswer(ctx, run.ID, &result.Answer{Question: result.QuestionTune, Version: 1, Value: []byte(value)})
	}
	note("the new run", nil)
	note("an answer", answer(`{"a": 1}`))
	note("another answer", answer(`{"a": 2}`))
	run.Ended, run.Stopped = run.Started.Add(time.Minute), result.StoppedRounds
	note("the end", s.Finish(ctx, run))
	note("a warning", s.AddWarning(ctx, run.ID, result.Warning{Code: "load", Message: "busy"}))
	note("another warning", s.AddWarning(ctx, run.ID, result.Warning{Code: "load", Message: "busy"}))
}

func TestResolve(t *testing.T) {
	ctx := context.Background()
	path := newPath(t)
	s := mustOpen(t, path)
	_, err := s.Resolve(ctx, "last")
	wantError(t, err, path, "it has none yet")
	for range 3 {
		if err := s.Begin(ctx, smallRun()); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.Resolve(ctx, "last")
	wantError(t, err, path, "no run has ended. The newest, 3, was killed or is being measured", "has 1 to 3")
	for id := range int64(2) { // the third run is still being measured
		if err := s.Finish(ctx, &result.Run{ID: id + 1, Ended: time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC), Rounds: 6, Stopped: result.StoppedRounds}); err != nil {
			t.Fatal(err)
		}
	}
	for ref, want := range map[string]int64{"1": 1, "3": 3, "last": 2} {
		if id, err := s.Resolve(ctx, ref); err != nil || id != want {
			t.Errorf("Resolve(%q) = %d, %v; want %d", ref, id, err, want)
		}
	}
	_, err = s.Resolve(ctx, "4")
	wantError(t, err, path, "no such run as 4", "it has 1 to 3")
	if !errors.Is(err, store.ErrNoRun) {
		t.Errorf("%v is not ErrNoRun", err)
	}
	_, err = s.Resolve(ctx, "first")
	wantError(t, err, `run "first"`, "last, or the name of a baseline")
	_, err = s.Load(ctx, 9)
	wantError(t, err, path, "no such run as 9", "it has 1 to 3")
	if !errors.Is(err, store.ErrNoRun) {
		t.Errorf("%v is not ErrNoRun", err)
	}
}

// TestBaseline checks which run has the name of a baseline (a run that later runs are compared
// with): the newest run that has ended, was not interrupted, and was measured into this store.
func TestBaseline(t *testing.T) {
	ctx := context.Background()
	s := mustOpen(t, newPath(t))
	for i, stopped := range []string{result.StoppedRounds, result.StoppedTime, result.StoppedInterrupted, "", result.StoppedRounds, result.StoppedRounds} {
		r := smallRun()
		r.Started = time.Date(2026, 11, 21, 10+i, 0, 0, 0, time.UTC)
		r.Baseline, r.Stopped = "main", stopped
		if r.Ended = r.Started.Add(time.Minute); stopped == "" {
			r.Ended = time.Time{}
		}
		switch i {
		case 4:
			r.Merged = "theirs.db"
		case 5:
			r.Baseline = "other"
		}
		if err := s.Begin(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int64{"main": 2, "other": 6, "none": 0} {
		if id, err := s.Baseline(ctx, name); err != nil || id != want {
			t.Errorf("Baseline(%q) = %d, %v; want %d", name, id, err, want)
		}
	}
	if id, err := s.Resolve(ctx, "main"); err != nil || id != 2 {
		t.Errorf("Resolve: %d, %v", id, err)
	}
}

// TestLast checks that "last" means the run that started last. This need not be the run that was
// stored last, because a merge adds older runs of another store.
func TestLast(t *testing.T) {
	ctx, s := context.Background(), mustOpen(t, newPath(t))
	if id, err := s.Newest(ctx); id != 0 || err != nil {
		t.Errorf("the newest run of an empty store is %d, %v", id, err)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	east := time.FixedZone("east", 9*60*60)
	for i, started := range []time.Time{noon, noon.Add(time.Minute), noon.Add(-time.Hour).In(east), noon.Add(time.Hour)} {
		r := smallRun()
		r.Started = started
		if err := s.Begin(ctx, r); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			break // the run is still being measured
		}
		r.Ended = started.Add(time.Second)
		if err := s.Finish(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if id, err := s.Resolve(ctx, "last"); err != nil || id != 2 {
		t.Errorf("the last run is %d, %v; want 2", id, err)
	}
	if id, err := s.Newest(ctx); err != nil || id != 4 {
		t.Errorf("the newest run is %d, %v; want 4", id, err)
	}
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		ids  []int64
		want string
	}{
		{nil, "none yet"},
		{[]int64{7}, "7"},
		{[]int64{1, 2}, "1, 2"},
		{[]int64{1, 2, 3, 5, 8, 9, 10}, "1 to 3, 5, 8 to 10"},
	} {
		if got := store.Ranges(c.ids); got != c.want {
			t.Errorf("%v: got %q, want %q", c.ids, got, c.want)
		}
	}
}
