package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// damageable returns the content of a store with one run of two cases and eight rounds.
func damageable(t *testing.T) []byte {
	t.Helper()
	r := &result.Run{Version: "test", Started: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Command: []string{"sqlite3perf"}, Rounds: 8}
	for i, d := range []string{"mattn", "modernc"} {
		r.Cases = append(r.Cases, result.Case{ID: i + 1, Workload: "w", Driver: d, Phases: []string{"insert", "mix"}})
		for round := 1; round <= 8; round++ {
			ns := int64(1_000_000 + 1000*i + round)
			r.Trials = append(r.Trials, result.Trial{
				Case: i + 1, Round: round, Order: len(r.Trials) + 1, Status: result.OK,
				Proof: &protocol.Proof{SQLiteVersion: "3.53.4"},
				Samples: []result.Sample{
					{Phase: "insert", Metric: "time", WallNS: ns, Operations: 10, Rows: 10},
					{Phase: "mix", Metric: "time/op", WallNS: ns, Operations: 10, Latency: []latency.Summary{{Operation: "a", Count: 10}}},
				},
			})
		}
	}
	path := filepath.Join(t.TempDir(), "results.db")
	s, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestShowDamaged deletes or changes random parts of a stored run, 60 times. It checks that the command
// "show" prints the run in every format, or says that the run is damaged or missing.
func TestShowDamaged(t *testing.T) {
	whole := damageable(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	fields := map[string][]string{
		"runs":    {"machine", "rounds", "started", "command", "study", "precision"},
		"cases":   {"driver", "settings", "phases", "parameters", "info", "workload"},
		"trials":  {"status", "proof", "round", "reason", "started"},
		"samples": {"phase", "metric", "wall_ns", "operations", "latency", "errors", "checksum"},
	}
	values := []string{"NULL", "0", "-1", "1e300", "9223372036854775807", "''", "'x'", "json('[]')", "json('{}')", "json('[{}]')", "json('{\"name\":\"writers\"}')", "json('[null]')"}
	shown := 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 8))
		path := filepath.Join(t.TempDir(), "results.db")
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		var script []string
		for range 1 + random.IntN(2) {
			table := []string{"runs", "cases", "trials", "samples"}[random.IntN(4)]
			row := fmt.Sprintf("WHERE rowid IN (SELECT rowid FROM %s ORDER BY rowid LIMIT %d OFFSET %d)", table, 1+random.IntN(12), random.IntN(2))
			query := "DELETE FROM " + table + " " + row
			if random.IntN(4) > 0 {
				query = fmt.Sprintf("UPDATE %s SET json = json_set(json, '$.%s', %s) %s", table, fields[table][random.IntN(len(fields[table]))], values[random.IntN(len(values))], row)
			}
			script = append(script, query)
			if _, err := db.Exec("PRAGMA foreign_keys = off; " + query); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
		}
		db.Close()
		for _, format := range report.Formats() {
			var out, messages bytes.Buffer
			env := &cli.Environment{Stdout: &out, Stderr: &messages, Now: time.Now, Catch: func() <-chan os.Signal { return nil }}
			code := execute(context.Background(), env, []string{"show", "1", "--store", path, "--format", format})
			said := messages.String()
			switch {
			case code == cli.ExitOK:
				shown++
			case code == cli.ExitFailed && strings.Contains(said, "is damaged"), code == cli.ExitUsage && strings.Contains(said, "no such run"):
			default:
				t.Errorf("%s as %s: exit status %d: %s", script, format, code, said)
			}
		}
	}
	if shown == 0 {
		t.Error("no run was shown")
	}
}
