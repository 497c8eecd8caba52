package workload_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

const text = `name: tiny
about: rows in and out
scales:
  full: {users: 1000}
  quick: {users: 10}
  factor: [users]
schema: |
  CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
rows:
  users:
    count: $users
    columns:
      id: serial
      name: {format: "user %d", of: id}
phases:
  - name: insert
    insert: users
    transaction: one
`

func ExampleParse() {
	w, err := workload.Parse("tiny.yaml", []byte(text), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := w.Plan(workload.Quick, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Name, p.DataSets[0].Total, p.Phases[0].Name)
	// Output: tiny 10 insert
}

// Parse reports a mistake with its line and column, and says how to correct it.
func ExampleProblem() {
	_, err := workload.Parse("tiny.yaml", []byte("name: tiny\nfases: []\n"), nil)
	fmt.Println(err)
	// Output:
	// tiny.yaml:1:1: the workload has no phases: write phases: and a list
	// tiny.yaml:2:1: unknown key "fases" in a workload: did you mean "phases"?
}
