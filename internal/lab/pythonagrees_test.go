package lab_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// engine runs a trial of the case with the Go engine and sqlite3perf's own SQLite. It returns the samples.
func engine(t *testing.T, c *lab.Case, seed uint64) []*protocol.Sample {
	t.Helper()
	samples, failed := engineTrial(t, c, seed)
	if failed != nil {
		t.Fatalf("the engine failed: %+v", failed)
	}
	return samples
}

// engineReason returns the reason why the engine's trial fails.
func engineReason(t *testing.T, c *lab.Case) *protocol.Reason {
	t.Helper()
	_, failed := engineTrial(t, c, 1)
	return failed
}

func engineTrial(t *testing.T, c *lab.Case, seed uint64) (samples []*protocol.Sample, failed *protocol.Reason) {
	t.Helper()
	answers, err := worker.Exchange(t.Context(), storesSQLite(), protocol.Request{
		Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: seed,
		Path: filepath.Join(t.TempDir(), "test.db"), Settings: c.Settings, Plan: c.Plan,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if a.Type == protocol.TypeFailed {
			return nil, a.Reason
		}
		if a.Sample != nil {
			samples = append(samples, a.Sample)
		}
	}
	return samples, nil
}

// bookings is a workload with operations that end in each of the possible ways.
const bookings = `name: bookings
about: Bookings.
settings: {pool_size: 2, foreign_keys: on}
parameters: {clients: 1}
schema: |
  CREATE TABLE guests (name TEXT PRIMARY KEY, age INTEGER CHECK (age > 9));
  CREATE TABLE seats (id INTEGER PRIMARY KEY, guest INTEGER);
rows:
  seats: {count: 100, columns: {id: serial}}
phases:
  - {name: load, untimed: true, insert: seats}
  - name: book
    mix:
      - name: sign up
        mutex: true
        transaction: true
        parameters: {name: {text: 2}, age: {int: [1, 100]}}
        statements: ["INSERT INTO guests VALUES (:name || 'x', 99)", "INSERT INTO guests VALUES (:name, :age)"]
        results: [SQLITE_CONSTRAINT_PRIMARYKEY, 275]
      - name: book
        weight: 3
        transaction: true
        parameters: {seat: {pick: seats.id}, guest: serial}
        statements:
          - UPDATE seats SET guest = 0 WHERE id = :seat + 1 AND guest IS NULL
          - {sql: SELECT id FROM seats WHERE id = :seat AND guest IS NULL, columns: int, expect: {rows: 1}, if empty: rollback}
          - {sql: UPDATE seats SET guest = :guest WHERE id = :seat, mutex: true}
      - name: leave
        transaction: true
        parameters: {guest: {int: [0, 100]}}
        statements:
          - {sql: SELECT id FROM seats WHERE guest = :guest ORDER BY id, columns: int, if empty: commit}
          - UPDATE seats SET guest = NULL WHERE guest = :guest
      - name: look
        parameters: {guest: {int: [0, 100]}}
        statements:
          - {sql: SELECT id FROM seats WHERE guest = :guest ORDER BY id, columns: int, if empty: stop}
          - {sql: SELECT count(*) FROM seats, columns: int}
    clients: $clients
    count: 1_500
  - name: sum
    query: SELECT (SELECT count(*) FROM guests), sum(guest), count(guest) FROM seats
    columns: [int, int, int]
    expect: {rows: 1}
`

func bookingsOr(t *testing.T, name string) *workload.Workload {
	t.Helper()
	if name == "bookings" {
		return parse(t, bookings)
	}
	w, err := workload.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// counts returns the number of operations by the code with which they ended.
func counts(list []protocol.ErrorCount) map[int]int64 {
	m := map[int]int64{}
	for _, e := range list {
		m[e.Code] = e.Count
	}
	return m
}

// TestPythonWorkerAgrees checks that the Python worker and the Go engine return the same checksums for phases
// whose results the lab cannot compute. Equal checksums mean that they did the same work in the same order.
func TestPythonWorkerAgrees(t *testing.T) {
	t.Parallel()
	python := pythonWorker(t)
	for name, parameters := range map[string]map[string][]int64{
		"read-write": {"users": {50}, "operations": {300}, "clients": {2}},
		"point-read": nil,
		"group-by":   {"people": {3_000}},
		"analytics":  {"users": {20}},
		"bookings":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			w := bookingsOr(t, name)
			given := map[string][]int64{}
			for _, p := range w.Parameters {
				if slices.Contains(w.Factor, p.Name) {
					given[p.Name] = []int64{100}
				}
			}
			maps.Copy(given, parameters)
			c := casesOf(t, python, 3, nil, given, w)[0]
			got := runTrial(t, c, 3)
			for i, want := range engine(t, c, 3) {
				s := got.Samples[i]
				if s.Checksum != want.Checksum || s.Rows != want.Rows || s.Operations != want.Operations {
					t.Errorf("%s: Python has %.12s, %d rows, %d operations; Go %.12s, %d, %d", s.Phase,
						s.Checksum, s.Rows, s.Operations, want.Checksum, want.Rows, want.Operations)
				}
				if name == "bookings" && s.Phase == "book" && (len(want.Results) != 2 || want.Latency[1].EndedEarly == 0 || want.Latency[2].EndedEarly == 0 || want.Latency[3].EndedEarly == 0) {
					t.Errorf("one of the ways in which operations can end did not occur: %+v", want)
				}
				if d := cmp.Diff(counts(want.Results), counts(s.Results)); d != "" || s.Failed != want.Failed {
					t.Errorf("%s: Python has %d failed, Go %d, results (-Go +Python):\n%s", s.Phase, s.Failed, want.Failed, d)
				}
				for j := range want.Latency {
					if s.Latency[j].EndedEarly != want.Latency[j].EndedEarly {
						t.Errorf("%s: operation %s ended early %d times in Python, %d times in Go", s.Phase, s.Latency[j].Operation, s.Latency[j].EndedEarly, want.Latency[j].EndedEarly)
					}
					if s.Latency[j].Operation != want.Latency[j].Operation || s.Latency[j].Count != want.Latency[j].Count {
						t.Errorf("%s: Python did %d operations %s, Go %d operations %s", s.Phase, s.Latency[j].Count, s.Latency[j].Operation, want.Latency[j].Count, want.Latency[j].Operation)
					}
				}
			}
		})
	}
}
