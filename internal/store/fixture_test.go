package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// fullRun returns a run in which every field of every type has its own value,
// including fields that are added to package result in the future. Integers are near
// the maximum, and texts contain everything that JSON must escape.
func fullRun(t *testing.T) *result.Run {
	t.Helper()
	r := &result.Run{}
	f := filler{t: t}
	f.fill(reflect.ValueOf(r).Elem(), "Run")
	r.ID = 0
	for i := range r.Cases {
		r.Cases[i].ID = i + 1
	}
	for i := range r.Profiles.Cases {
		x := &r.Profiles.Cases[i]
		x.Case, x.Status = i+1, []result.Status{result.OK, result.Failed}[i%2]
		for j := range x.CPU {
			x.CPU[j].Functions, x.Allocations[j].Functions = []int{j, 0}, []int{1, j}
			x.CPU[j].Samples, x.CPU[j].Value = x.CPU[j].Samples/2, x.CPU[j].Value/2
			x.Allocations[j].Samples, x.Allocations[j].Value = x.Allocations[j].Samples/2, x.Allocations[j].Value/2
		}
	}
	r.Answer.Question, r.Answer.Version, r.Answer.Runs = result.QuestionTune, 1, []int64{0, 0}
	for i := range r.Trials {
		r.Trials[i].Case = i%len(r.Cases) + 1
		r.Trials[i].Order = i + 1
		r.Trials[i].Status = []result.Status{result.OK, result.Wrong}[i%2]
		r.Trials[i].Repeated = i%2 == 1
		for j := range r.Trials[i].Samples {
			m := &r.Trials[i].Samples[j]
			m.Phase = r.Cases[r.Trials[i].Case-1].Phases[j]
			m.Metric = []string{"time", "latency"}[j%2]
		}
	}
	return r
}

type filler struct {
	t *testing.T
	n int
}

func (f *filler) fill(v reflect.Value, name string) {
	f.n++
	if v.Type() == reflect.TypeFor[time.Time]() {
		zone := time.FixedZone("", 3600*(f.n%12+1))
		v.Set(reflect.ValueOf(time.Date(2026, 11, 21, 10, 0, 0, f.n, zone)))
		return
	}
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(`{"name":"` + strconv.Itoa(f.n) + `"}`))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(math.MaxInt64 - int64(f.n))
	case reflect.Uint64:
		v.SetUint(math.MaxUint64 - uint64(f.n))
	case reflect.Float64:
		v.SetFloat(float64(f.n) / 3)
	case reflect.String:
		v.SetString(name + " '\"\\\n\x00<&>é\u2028" + strconv.Itoa(f.n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i), name)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, name)
			f.fill(value, name)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), name+"."+v.Type().Field(i).Name)
		}
	default:
		f.t.Fatalf("%s: the method fill cannot set a value of type %s: add this type to it", name, v.Type())
	}
}

// smallRun returns a run of one case, to which trials can be added.
func smallRun() *result.Run {
	return &result.Run{
		Version: "test",
		Started: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		Command: []string{"sqlite3perf", "run"},
		Seed:    math.MaxUint64,
		Cases:   []result.Case{{ID: 1, Workload: "simple", Driver: "mattn", Phases: []string{"insert", "query"}}},
	}
}

func trial(order int) *result.Trial {
	return &result.Trial{
		Case: 1, Round: 1, Order: order, Status: result.OK,
		Samples: []result.Sample{
			{Phase: "insert", Metric: "time", WallNS: int64(order) * 1000, Operations: 1},
			{Phase: "query", Metric: "time", WallNS: int64(order) * 2000, Operations: 1, Checksum: "abc"},
		},
	}
}

func newPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "results.db")
}

func mustOpen(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// plain opens the file with SQLite alone, as other programs do, not as a store.
func plain(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// checkIntact fails the test if SQLite finds an error in the file.
func checkIntact(t *testing.T, path string) {
	t.Helper()
	db := plain(t, path)
	defer db.Close()
	var verdict string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Fatalf("integrity_check: %q, %v", verdict, err)
	}
	var broken int
	if err := db.QueryRow(`SELECT count(*) FROM pragma_foreign_key_check`).Scan(&broken); err != nil || broken != 0 {
		t.Fatalf("foreign_key_check: %d rows, %v", broken, err)
	}
}
