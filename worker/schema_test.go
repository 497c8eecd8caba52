package worker_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
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

// TestSchemaRequests checks that requests match the schema. It uses the plans that the
// tests of package workload store: of every built-in workload, and of one with
// everything that the language has.
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

// examples returns trials of the plans that are stored beside package plan.
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

// TestSchemaResponses checks that the engine's answers match the schema.
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

// TestSchemaIsClosed checks that the schema refuses fields that are not part of
// version 1.
func TestSchemaIsClosed(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(protocol.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for name, def := range schema["$defs"].(map[string]any) {
		d := def.(map[string]any)
		if _, ok := d["properties"]; ok && d["additionalProperties"] != false {
			t.Errorf("%s has room for other properties", name)
		}
	}
}

// TestSchemaFields checks that every field of the Go types is a property of the
// schema, and vice versa.
func TestSchemaFields(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Enum []string `json:"enum"`
			} `json:"properties"`
			Enum []string `json:"enum"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(protocol.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	properties := func(defs ...string) []string {
		all := map[string]bool{}
		for _, def := range defs {
			if _, ok := schema.Defs[def]; !ok {
				t.Errorf("the schema has no %s", def)
			}
			for name := range schema.Defs[def].Properties {
				all[name] = true
			}
		}
		return slices.Sorted(maps.Keys(all))
	}
	seen := map[reflect.Type]bool{}
	for _, pair := range []struct {
		of   any
		defs []string
	}{
		{protocol.Request{}, []string{"describe", "trial", "serve", "order", "job message"}},
		{protocol.Response{}, []string{"info message", "ready", "settings message", "phase message", "sample message", "inserted", "loaded", "listening", "begun", "served", "done", "progress message", "result message", "failed"}},
		{driver.Info{}, []string{"info"}},
		{protocol.Proof{}, []string{"proof"}},
		{protocol.Sample{}, []string{"sample"}},
		{protocol.ErrorCount{}, []string{"error count"}},
		{protocol.Wait{}, []string{"wait"}},
		{protocol.Latency{}, []string{"latency"}},
		{protocol.Inserted{}, []string{"inserted table", "loaded table"}},
		{plan.Stored{}, []string{"stored"}},
		{latency.Summary{}, []string{"job latency"}},
		{protocol.Reason{}, []string{"reason"}},
		{protocol.Field{}, []string{"field"}},
		{plan.Plan{}, []string{"plan"}},
		{plan.DataSet{}, []string{"data set"}},
		{plan.Column{}, []string{"column"}},
		{plan.Generator{}, []string{"generator"}},
		{plan.Phase{}, []string{"phase"}},
		{plan.Insert{}, []string{"insert"}},
		{plan.Query{}, []string{"query"}},
		{plan.Returns{}, []string{"returns"}},
		{plan.Mix{}, []string{"mix"}},
		{plan.Retry{}, []string{"retry"}},
		{plan.HTTP{}, []string{"http"}},
		{plan.Replay{}, []string{"replay"}},
		{plan.Replayed{}, []string{"replayed"}},
		{plan.Recorded{}, []string{"recorded"}},
		{plan.Events{}, []string{"events"}},
		{plan.Inserted{}, []string{"inserted_id"}},
		{plan.Operation{}, []string{"operation"}},
		{plan.MixCall{}, []string{"call"}},
		{plan.Parameter{}, []string{"parameter"}},
		{protocol.Job{}, []string{"job"}},
		{protocol.Generate{}, []string{"job generate"}},
		{protocol.Bench{}, []string{"job bench"}},
		{protocol.Pragma{}, []string{"job pragma"}},
		{protocol.PragmaArgument{}, []string{"pragma argument"}},
		{protocol.Concurrent{}, []string{"job concurrent"}},
		{protocol.Paginate{}, []string{"job paginate"}},
		{protocol.Answers{}, []string{"job answers"}},
		{protocol.Ask{}, []string{"ask"}},
		{protocol.Value{}, []string{"value"}},
		{protocol.Answer{}, []string{"answer"}},
		{protocol.AnswerError{}, []string{"answer error"}},
		{protocol.ColumnSum{}, []string{"column sum"}},
		{protocol.Answered{}, []string{"answered"}},
		{protocol.DSN{}, []string{"job dsn"}},
		{protocol.Opening{}, []string{"opening"}},
		{protocol.Cluster{}, []string{"job cluster"}},
		{protocol.ClusterLoad{}, []string{"cluster load"}},
		{protocol.ClusterHarm{}, []string{"cluster harm"}},
		{protocol.Clustered{}, []string{"clustered"}},
		{protocol.ClusterMember{}, []string{"cluster member"}},
		{protocol.LoadResult{}, []string{"load result"}},
		{protocol.Harmed{}, []string{"harmed"}},
		{protocol.Harm{}, []string{"harm"}},
		{protocol.Missing{}, []string{"missing"}},
		{protocol.LevelReads{}, []string{"level reads"}},
		{protocol.Progress{}, []string{"progress"}},
		{protocol.Activity{}, []string{"activity"}},
		{protocol.Group{}, []string{"group"}},
		{protocol.JobResult{}, []string{"result"}},
		{protocol.Profile{}, []string{"profile"}},
		{protocol.Generated{}, []string{"generated"}},
		{protocol.Benched{}, []string{"benched"}},
		{protocol.Mismatch{}, []string{"row mismatch"}},
		{protocol.PragmaRead{}, []string{"pragma read"}},
		{protocol.Concurred{}, []string{"concurred"}},
		{protocol.Paginated{}, []string{"paginated"}},
		{protocol.Page{}, []string{"page"}},
		{protocol.Opened{}, []string{"opened"}},
		{protocol.OpenedConn{}, []string{"opened connection"}},
	} {
		typ := reflect.TypeOf(pair.of)
		seen[typ] = true
		if diff := cmp.Diff(fieldNames(typ), properties(pair.defs...)); diff != "" {
			t.Errorf("%v (-Go +schema):\n%s", typ, diff)
		}
	}
	for _, top := range []any{protocol.Request{}, protocol.Response{}} {
		for _, typ := range structsIn(reflect.TypeOf(top)) {
			if !seen[typ] {
				t.Errorf("%v is sent, but this test does not compare it with the schema", typ)
			}
		}
	}

	var settings []string
	for _, d := range driver.Vocabulary {
		settings = append(settings, d.Name)
		if values := schema.Defs["settings"].Properties[d.Name].Enum; values != nil {
			if diff := cmp.Diff(d.Values, values); diff != "" {
				t.Errorf("setting %s: %s", d.Name, diff)
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(settings)), properties("settings")); diff != "" {
		t.Errorf("settings: %s", diff)
	}
	if diff := cmp.Diff(driver.TypeNames(), schema.Defs["type"].Enum); diff != "" {
		t.Errorf("types: %s", diff)
	}
	if diff := cmp.Diff([]string{"cgo", "transpiled", "wasm", "subprocess", "cluster", "other language"}, schema.Defs["info"].Properties["kind"].Enum); diff != "" {
		t.Errorf("kinds: %s", diff)
	}
}

// fieldNames lists the JSON names of a struct's fields, including those of embedded
// structs.
func fieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// structsIn lists the struct types that a type is made of, including itself, except
// those that have their own text form.
func structsIn(t reflect.Type) []reflect.Type {
	seen := map[reflect.Type]bool{}
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			add(t.Elem())
		case reflect.Struct:
			if _, text := reflect.New(t).Interface().(encoding.TextMarshaler); text || seen[t] {
				return
			}
			seen[t] = true
			for _, f := range reflect.VisibleFields(t) {
				if !f.Anonymous { // the fields of an embedded struct are listed with the others
					add(f.Type)
				}
			}
		}
	}
	add(t)
	return slices.Collect(maps.Keys(seen))
}
