package diff_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func ExampleCompare() {
	// side returns a driver with its answer to one statement.
	side := func(name string, value any) *diff.Side {
		proof := protocol.Proof{SQLiteVersion: "3.53.4", Connections: []driver.Settings{{}}}
		v := protocol.NewValue(value)
		return &diff.Side{Name: name, Work: []diff.Work{{Proof: &proof, Answers: []protocol.Answer{{
			Part: protocol.PartStatements, SQL: "SELECT 1 << 53 | 1", Names: []string{"v"}, Declared: []string{""},
			RowCount: 1, Rows: [][]protocol.Value{{v}},
			Columns: []protocol.ColumnSum{{Types: map[string]int64{v.Type: 1}, Content: protocol.Content(value)}},
		}}}}}
	}
	r := diff.Compare(side("good", int64(1<<53|1)), side("rounds", float64(1<<53)))
	fmt.Println(r.Differing, "of", r.Statements)
	for _, g := range r.Groups {
		for _, s := range g.Statements {
			fmt.Println(s.SQL, s.Kind, s.First, s.Second)
		}
	}
	// Output:
	// 1 of 1
	// SELECT 1 << 53 | 1 value int64 9007199254740993 float64 9.007199254740992e+15
}
