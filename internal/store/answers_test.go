package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// answer returns an answer that names the given runs.
func answer(runs ...int64) *result.Answer {
	return &result.Answer{Question: result.QuestionTune, Version: 1, Runs: runs, Value: json.RawMessage(`{"loss":1}`)}
}

// begun stores a run that began at the given second, and returns its number.
func begun(t *testing.T, path string, second int, a *result.Answer) int64 {
	t.Helper()
	r := smallRun()
	r.Started, r.Answer = r.Started.Add(time.Duration(second)*time.Second), a
	if err := mustOpen(t, path).Begin(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r.ID
}

// TestAnswer checks that an answer can be stored with an existing run, and that the list of runs
// then shows the answer's question.
func TestAnswer(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	begun(t, path, 0, nil)
	id := begun(t, path, 1, nil)
	s := mustOpen(t, path)
	if err := s.SetAnswer(ctx, id, answer(1)); err != nil {
		t.Fatal(err)
	}
	r, err := s.Load(ctx, id)
	if d := cmp.Diff(answer(1), r.Answer); err != nil || d != "" {
		t.Errorf("%v: -stored +loaded:\n%s", err, d)
	}
	list, err := s.List(ctx)
	if err != nil || list[0].Question != "" || list[1].Question != result.QuestionTune || !list[1].Sampled() {
		t.Errorf("%+v, %v", list, err)
	}
	if err := s.SetAnswer(ctx, 9, answer()); err == nil {
		t.Error("no error for the answer of a run that does not exist")
	}
	if err := s.SetAnswer(ctx, id, answer(id)); err == nil || !strings.Contains(err.Error(), "names a run that is not an earlier one") {
		t.Errorf("an answer that names its own run: got error %v", err)
	}
}

// TestHostileAnswers checks that an answer (the stored result of a command) that somebody else has
// made or changed is refused before it can fill the memory.
func TestHostileAnswers(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	begun(t, path, 0, answer())
	set := func(path, value string) string {
		return "UPDATE answers SET json = json_set(json, '" + path + "', json('" + value + "'))"
	}
	for _, c := range []struct{ query, want string }{
		{set("$.question", `"x"`), `there is no question "x"`},
		{set("$.question", `1`), "cannot unmarshal"},
		{set("$.version", "0"), "its version is 0"},
		{set("$.runs", "[1]"), "not an earlier one"},
		{set("$.runs", "[-1]"), "not an earlier one"},
		{set("$.runs", "["+strings.Repeat("0,", 1000)+"0]"), "it names 1001 runs: want at most 1000"},
		{set("$.value", "[]"), "its value: its record is not a JSON object"},
		{set("$.value", "null"), "its value: its record is not a JSON object"},
		{"UPDATE answers SET json = json_remove(json, '$.value')", "its value: its record is not a JSON object"},
		{"UPDATE answers SET json = json_set(json, '$.more', printf('%.*c', 9000000, 'x'))", "bytes: want at most 8388608"},
		{"UPDATE answers SET json = 'null'", "not a JSON object"},
	} {
		path := copyOf(t, path)
		hurt(t, path, c.query)
		s := mustOpen(t, path)
		_, err := s.Load(ctx, 1)
		wantError(t, err, path, "is damaged", c.want)
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%v is not ErrDamaged", err)
		}
		if _, err := s.List(ctx); err != nil {
			t.Errorf("%s: the list: %v", c.query, err)
		}
	}
}

// TestOrphanAnswer checks that an answer whose run was deleted is counted as an orphan, and that
// the run's number is not used again.
func TestOrphanAnswer(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	begun(t, path, 0, answer())
	hurt(t, path, "DELETE FROM runs; DELETE FROM cases; DELETE FROM sqlite_sequence")
	list, err := mustOpen(t, path).Orphans(ctx)
	if err != nil || !slices.Equal(list, []store.Orphans{{Table: "answers", Rows: 1}}) {
		t.Errorf("%+v, %v", list, err)
	}
	if id := begun(t, path, 1, nil); id != 2 {
		t.Errorf("the new run has the number %d, want 2", id)
	}
}

// TestMergeAnswers checks that a merge also copies answers, and changes the numbers of the runs
// that they name.
func TestMergeAnswers(t *testing.T) {
	from, to := newPath(t), newPath(t)
	for second := range 3 {
		begun(t, from, second, nil)
	}
	begun(t, from, 3, answer(1, 2, 3))
	begun(t, to, 10, nil)
	hurt(t, from, "UPDATE runs SET seed = 'x' WHERE run_id = 2")
	if got, want := became(merge(t, from, to)), []string{"2 left-out 0", "1 new 2", "3 new 3", "4 new 4"}; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("%q, want %q", got, want)
	}
	if d := cmp.Diff(answer(2, 0, 3), loaded(t, to, 4).Answer); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got, want := became(merge(t, from, to)), []string{"1 there 2", "2 left-out 0", "3 there 3", "4 there 4"}; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("again: %q, want %q", got, want)
	}
}

// TestMergeAnswerLater checks that a merge adds an answer to a run that had no answer when an
// earlier merge copied it.
func TestMergeAnswerLater(t *testing.T) {
	from, to := newPath(t), newPath(t)
	begun(t, from, 0, nil)
	begun(t, from, 1, nil)
	merge(t, from, to)
	if err := mustOpen(t, from).SetAnswer(t.Context(), 2, answer(1)); err != nil {
		t.Fatal(err)
	}
	if got, want := became(merge(t, from, to)), []string{"1 there 1", "2 continued 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if d := cmp.Diff(answer(1), loaded(t, to, 2).Answer); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestBeforeAnswers checks a store made by a version that stored no answers. It must be upgraded when it is
// opened. Merging it into another store must work without an upgrade.
func TestBeforeAnswers(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	old, err := store.OpenWith(path, false, store.Migrations[:6], time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_, err = old.DB().Exec(`INSERT INTO runs (seed, json) VALUES ('1', '{"stopped":"rounds","started":"2026-11-21T10:00:00Z"}')`)
	old.Close()
	if err != nil {
		t.Fatal(err)
	}
	if got := became(merge(t, copyOf(t, path), newPath(t))); !slices.Equal(got, []string{"1 new 1"}) {
		t.Errorf("merged: %q", got)
	}
	s := mustOpen(t, path)
	if r, err := s.Load(ctx, 1); err != nil || r.Answer != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if err := s.SetAnswer(ctx, 1, answer()); err != nil {
		t.Error(err)
	}
}
