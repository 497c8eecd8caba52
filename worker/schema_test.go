package worker_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// schemaOf compiles a definition of the protocol's schema.
func schemaOf(t testing.TB, def string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(protocol.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("protocol.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("protocol.schema.json#/$defs/" + def)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, message any) {
	t.Helper()
	line, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%.300s: %v", line, err)
	}
}

// TestSchemaRequests checks that requests match the schema. It uses the plans that the tests of
// package workload store: the plans of all built-in workloads, and the plan of a workload that uses
// every part of the workload language.
func TestSchemaRequests(t *testing.T) {
	s := schemaOf(t, "request")
	for _, typ := range []string{protocol.TypeDescribe, protocol.TypeBegin, protocol.TypeStop} {
		validate(t, s, protocol.Request{Type: typ, Protocol: protocol.Version})
	}
	for name, req := range examples(t) {
		t.Run(name, func(t *testing.T) {
			validate(t, s, req)
			req.Type, req.Listen = protocol.TypeServe, "127.0.0.1:8080"
			validate(t, s, req)
		})
	}
}

// examples returns the requests for trials in plan/testdata, by name.
func examples(t testing.TB) map[string]protocol.Request {
	t.Helper()
	files, err := filepath.Glob("plan/testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d plans: %v", len(files), err)
	}
	list := map[string]protocol.Request{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		req := protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Path: "x"}
		if err := json.Unmarshal(data, &req); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		list[strings.TrimSuffix(filepath.Base(f), ".json")] = req
	}
	return list
}

// TestSchemaResponses checks that the worker's answers match the schema.
func TestSchemaResponses(t *testing.T) {
	s := schemaOf(t, "response")
	f := newFake()
	f.answer = func(sql string, params []any) ([]driver.Row, error) {
		if len(params) == 1 {
			return []driver.Row{{{Int: params[0].(int64)}}}, nil
		}
		return one(sql, params)
	}
	failed := false
	f.execFail = func(sql string, _ []any) error {
		if !failed && strings.Contains(sql, `"b"`) && slices.Contains(story(f), "rollback") {
			failed = true
			return &driver.Error{Code: 517, Err: errors.New("database is locked")}
		}
		return nil
	}
	rate := mixOf(plan.Mix{Clients: 1, Count: 10, Rate: 1e6})
	rate.Name = "rate"
	untimed := insertPhase(plan.Insert{Sets: []string{"articles"}, Transaction: "one", RowsPerStatement: 1})
	untimed.Name, untimed.Untimed = "untimed", true
	p := blog(3,
		insertPhase(plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1}),
		untimed, selectUsers(1), mixOf(plan.Mix{Clients: 1, Count: 100}), rate,
		plan.Phase{Name: "script", Script: "VACUUM"})
	p.Schema = "PHASES"
	got := serve(t, f, trialOf(t, p, driver.Settings{"pool_size": "2"}))
	got = append(got, serve(t, newFake(), protocol.Request{Type: protocol.TypeDescribe, Protocol: protocol.Version})...)
	got = append(got, serve(t, newFake(), trialOf(t, blog(3, selectUsers(1)), driver.Settings{"pool_size": "2"}))...)
	seen := map[string]int{}
	errs := 0
	for _, a := range got {
		seen[a.Type]++
		if a.Sample != nil {
			errs += len(a.Sample.Errors)
		}
		validate(t, s, a)
	}
	want := map[string]int{"ready": 2, "settings": 8, "phase": 7, "sample": 5, "done": 1, "info": 1, "failed": 1}
	if diff := cmp.Diff(want, seen); diff != "" || errs == 0 {
		t.Errorf("messages: %s; %d counts of errors", diff, errs)
	}
}
