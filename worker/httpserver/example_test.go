package httpserver_test

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/httpserver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

func ExampleAppendRow() {
	row := driver.Row{{Int: 7}, {Text: "a \"name\""}, {Null: true}}
	columns := []driver.ColumnType{{Type: driver.Int}, {Type: driver.Text}, {Type: driver.Int}}
	fmt.Println(string(httpserver.AppendRow(nil, []string{"id", "name", "parent"}, columns, row)))
	// Output: {"id":7,"name":"a \"name\"","parent":null}
}

func ExampleTarget() {
	b := &driver.Batch{Columns: []driver.Column{{Type: driver.Int, Ints: []int64{7, 8}}}}
	fmt.Println(httpserver.Target([]plan.Parameter{{Name: "id"}}, b, 1))
	// Output: /?id=8
}
