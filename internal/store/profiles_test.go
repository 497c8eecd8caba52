package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// profiledRun returns a run of profiles, with the profile of its only case.
func profiledRun() *result.Run {
	r := smallRun()
	r.Profiles = &result.Profiles{Phase: "query", Cases: []result.Profile{{
		Case: 1, Status: result.OK, Perf: true, WallNS: 100, CPUNS: []int64{30, 40},
		Functions: []result.Function{{Name: "main.main", Object: "/w"}, {Name: "sqlite3_step"}},
		CPU:       []result.Stack{{Functions: []int{1, 0}, Samples: 3, Value: 50}, {Functions: []int{0}, Samples: 1, Value: 20}},
	}}}
	return r
}

// TestProfiles checks that a run of profiles is listed as such, and that other programs can
// query its stacks.
func TestProfiles(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s := mustOpen(t, path)
	for _, r := range []*result.Run{smallRun(), profiledRun()} {
		if err := s.Begin(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.List(ctx)
	if err != nil || list[0].Profiled != "" || list[1].Profiled != "query" || list[1].Trials != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	var function, functions string
	var samples, value int
	err = plain(t, path).QueryRow(`SELECT function, functions, samples, value FROM stacks WHERE run_id = 2 AND kind = 'cpu'`).Scan(&function, &functions, &samples, &value)
	if err != nil || function != "sqlite3_step" || functions != "[1,0]" || samples != 3 || value != 50 {
		t.Errorf("%s in %s, %d samples of %d ns: %v", function, functions, samples, value, err)
	}
	if r, err := s.Load(ctx, 1); err != nil || r.Profiles != nil {
		t.Errorf("a run with samples: %+v, %v", r.Profiles, err)
	}
}

// TestHostileProfiles checks that a profile that somebody else has made or changed is refused
// before it can fill the memory.
func TestHostileProfiles(t *testing.T) {
	ctx := context.Background()
	many := func(n int, what string) string { return "[" + strings.Repeat(what+",", n-1) + what + "]" }
	set := func(path, value string) string {
		return fmt.Sprintf("UPDATE profiles SET json = json_set(json, '%s', json('%s'))", path, value)
	}
	path := newPath(t)
	s := mustOpen(t, path)
	if err := s.Begin(ctx, profiledRun()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ query, want string }{
		{set("$.cpu[0].functions", "[2]"), "the profile of case 1: a stack refers to function 2 of 2"},
		{set("$.cpu[0].functions", "[-1]"), "a stack refers to function -1 of 2"},
		{set("$.cpu[0].functions", many(result.MaxStackDepth+1, "0")), "a stack has 129 functions: want at most 128"},
		{set("$.cpu", many(result.MaxStackFrames/100+1, `{"samples":1,"value":1,"functions":`+many(100, "0")+"}")), "functions all together: want at most"},
		{set("$.allocations", many(result.MaxStackFrames+1, "{}")), "want at most"},
		{set("$.cpu[0].samples", "-1"), "below 0"},
		{set("$.trial_cpu_ns", "[1,-1]"), "below 0"},
		{set("$.cpu[1].value", "9223372036854775807"), "add up to more than can be counted"},
		{set("$.cpu[0].value", `"much"`), "cannot unmarshal"},
		{set("$.status", `"fine"`), `there is no status "fine"`},
		{set("$.status", `"failed"`), "it is failed without a reason"},
		{set("$.case", "2"), "its record says that it is of case 2"},
		{"UPDATE profiles SET json = json_set(json, '$.functions[0].name', printf('%.*c', 501, 'x'))", "has more than 500 bytes"},
		{"UPDATE profiles SET json = json_set(json, '$.more', printf('%.*c', 17000000, 'x'))", "bytes: want at most 16777216"},
		{"UPDATE profiles SET json = 'null'", "not a JSON object"},
		{"INSERT INTO cases (run_id, case_id, json) SELECT run_id, 2, json_set(json, '$.id', 2) FROM cases; INSERT INTO profiles (run_id, case_id, json) SELECT run_id, 2, json FROM profiles", "of case 1"},
	} {
		name := c.query
		if len(name) > 100 {
			name = name[:100]
		}
		t.Run(name, func(t *testing.T) {
			path := copyOf(t, path)
			hurt(t, path, c.query)
			s := mustOpen(t, path)
			_, err := s.Load(ctx, 1)
			wantError(t, err, path, "is damaged", c.want)
			if !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%v is not ErrDamaged", err)
			}
		})
	}
	// A profile that could not be read back is not written.
	r := profiledRun()
	r.Profiles.Cases[0].CPU[0].Value = -1
	if err := s.Begin(ctx, r); err == nil || !strings.Contains(err.Error(), "profile of case 1: a number is below 0") {
		t.Errorf("a profile with a negative value: got error %v", err)
	}
}

// TestOrphanProfiles checks that profiles whose case or run is gone are left out and reported.
func TestOrphanProfiles(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	s := mustOpen(t, path)
	for range 2 {
		if err := s.Begin(ctx, profiledRun()); err != nil {
			t.Fatal(err)
		}
	}
	hurt(t, path, "DELETE FROM cases WHERE run_id = 1; DELETE FROM runs WHERE run_id = 2; DELETE FROM cases WHERE run_id = 2; DELETE FROM sqlite_sequence")
	r, err := s.Load(ctx, 1)
	if err != nil || len(r.Profiles.Cases) != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "1 row of the table profiles left out") {
		t.Errorf("%+v, %v", r, err)
	}
	list, err := s.Orphans(ctx)
	if err != nil || len(list) != 1 || list[0] != (store.Orphans{Table: "profiles", Rows: 1}) {
		t.Errorf("%+v, %v", list, err)
	}
	next := smallRun()
	if err := s.Begin(ctx, next); err != nil || next.ID != 3 {
		t.Errorf("the new run has the number %d, want 3: %v", next.ID, err)
	}
}

// TestBeforeProfiles checks a store made by a version that stored no profiles. It must be upgraded, and keep
// its runs.
func TestBeforeProfiles(t *testing.T) {
	ctx, path := context.Background(), newPath(t)
	old, err := store.OpenWith(path, false, store.Migrations[:5], time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_, err = old.DB().Exec(`INSERT INTO runs (seed, json) VALUES ('1', '{"stopped":"rounds"}')`)
	old.Close()
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, path)
	second := profiledRun()
	if err := s.Begin(ctx, second); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Load(ctx, 1); err != nil || r.Profiles != nil || r.Stopped != "rounds" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := s.Load(ctx, second.ID); err != nil || len(r.Profiles.Cases) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
