package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

func TestLatest(t *testing.T) {
	ctx, s := context.Background(), mustOpen(t, newPath(t))
	for range 3 {
		if err := s.Begin(ctx, smallRun()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Latest(ctx, 2)
	if err != nil || len(list) != 2 || list[0].ID != 3 || list[1].ID != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := s.Extent(ctx, 9); !errors.Is(err, store.ErrNoRun) {
		t.Error(err)
	}
	before, err := s.Extent(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	tr := trial(1)
	if err := s.AddTrial(ctx, 3, tr); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Extent(ctx, 3); err != nil || after == before || after.Trials != 1 || !after.Last.Equal(tr.Started) || after.Ended {
		t.Errorf("%+v, then %+v, %v", before, after, err)
	}
}

func TestList(t *testing.T) {
	ctx := context.Background()
	s := mustOpen(t, newPath(t))
	if list, err := s.List(ctx); err != nil || list == nil || len(list) != 0 {
		t.Errorf("list of an empty store: %v, %v", list, err)
	}
	full := smallRun()
	full.Cases = append(full.Cases,
		result.Case{ID: 2, Workload: "real", Driver: "mattn"}, result.Case{ID: 3, Workload: "real", Driver: "modernc"})
	for _, r := range []*result.Run{full, smallRun()} {
		if err := s.Begin(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for i, status := range []result.Status{result.OK, result.Wrong, result.OK} {
		tr := trial(i + 1)
		tr.Status = status
		if err := s.AddTrial(ctx, full.ID, tr); err != nil {
			t.Fatal(err)
		}
	}
	ended := full.Started.Add(time.Minute)
	if err := s.Finish(ctx, &result.Run{ID: full.ID, Ended: ended, Rounds: 6, Stopped: result.StoppedSettled}); err != nil {
		t.Fatal(err)
	}
	want := []store.Entry{
		{
			ID: 1, Version: "test", Started: full.Started, Ended: ended, Stopped: "settled", Command: full.Command,
			Drivers: []string{"mattn", "modernc"}, Workloads: []string{"simple", "real"},
			Trials: 3, Statuses: map[result.Status]int{result.OK: 2, result.Wrong: 1},
			Cases: 3, Bad: map[result.Status]int{result.Wrong: 1}, Warnings: codesOf(full.Warnings),
		},
		{
			ID: 2, Version: "test", Started: full.Started, Command: full.Command,
			Drivers: []string{"mattn"}, Workloads: []string{"simple"}, Statuses: map[result.Status]int{},
			Cases: 1, Bad: map[result.Status]int{}, Warnings: codesOf(full.Warnings),
		},
	}
	got, err := s.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestListReadsIndexes checks that a list reads cases and trials only from indexes, which contain
// everything that the list shows. In a large store, reading the records would take minutes.
func TestListReadsIndexes(t *testing.T) {
	path := newPath(t)
	mustOpen(t, path)
	for query, index := range map[string]string{store.ListCases: "cases_listed", store.ListTrials: "trials_by_case"} {
		rows, err := plain(t, path).Query("EXPLAIN QUERY PLAN " + query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		steps := 0
		for ; rows.Next(); steps++ {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(step, "USING INDEX "+index) {
				t.Errorf("a step that does not use the expected index: %s\nin the query: %s", step, query)
			}
		}
		if rows.Err() != nil || steps == 0 {
			t.Error(steps, rows.Err())
		}
	}
}

// codesOf returns the codes of warnings, sorted, without duplicates.
func codesOf(ws []result.Warning) (codes []string) {
	for _, w := range ws {
		codes = append(codes, w.Code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}
