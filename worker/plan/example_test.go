package plan_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Any row can be made without making the previous ones.
func ExampleGen_Fill() {
	p := &plan.Plan{DataSets: []plan.DataSet{{
		Name: "users", Table: "users", Count: 1_000_000, Total: 1_000_000,
		Columns: []plan.Column{
			{Name: "id", Type: driver.Int, Generator: plan.Generator{Kind: plan.GenSerial, Low: 1, Step: 1}},
			{Name: "email", Type: driver.Text, Generator: plan.Generator{Kind: plan.GenFormat, Format: "user%08d@example.com", Of: []string{"id"}}},
		},
	}}}
	g, err := plan.NewGenerator(42, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	var b driver.Batch
	if err := g.Fill(&b, "users", 999_998, 1_000_000); err != nil {
		fmt.Println(err)
		return
	}
	for r := range 2 {
		fmt.Println(b.Columns[0].Ints[r], b.Columns[1].Text(r))
	}
	// Output:
	// 999999 user00999999@example.com
	// 1000000 user01000000@example.com
}

// The order of rows doesn't affect a RowSum, but it affects a Hash.
func ExampleRowSum() {
	columns := []driver.ColumnType{{Type: driver.Int}}
	one, two := driver.Row{{Int: 1}}, driver.Row{{Int: 2}}
	var a, b plan.RowSum
	a.Row(one, columns)
	a.Row(two, columns)
	b.Row(two, columns)
	b.Row(one, columns)
	fmt.Println(a.Rows, a.Sum() == b.Sum())
	// Output: 2 true
}
