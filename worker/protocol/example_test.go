package protocol_test

import (
	"encoding/json"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// A request from the lab to a worker is a JSON object on one line.
func ExampleRequest() {
	line, err := json.Marshal(protocol.Request{
		Type: protocol.TypeJob, Protocol: protocol.Version, Seed: 42, Path: "/tmp/app.db", Settings: driver.Settings{"busy_timeout": "5000"},
		Job: &protocol.Job{Bench: &protocol.Bench{Table: "bench"}},
	})
	fmt.Println(string(line), err)
	// Output: {"type":"job","protocol":2,"seed":42,"path":"/tmp/app.db","settings":{"busy_timeout":"5000"},"job":{"bench":{"table":"bench"}}} <nil>
}

func ExampleRequest_Check() {
	r := protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Plan: &plan.Plan{Phases: []plan.Phase{{Name: "insert", Insert: &plan.Insert{Sets: []string{"users"}}}}}}
	fmt.Println(r.Check())
	// Output: plan.phases[0].insert.sets[0] names an unknown data set "users"
}

func ExampleParsePragma() {
	p, err := protocol.ParsePragma("user_version=3")
	fmt.Println(p.Name, *p.Value, err)
	// Output: user_version 3 <nil>
}
