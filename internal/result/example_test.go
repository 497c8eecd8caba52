package result_test

import (
	"encoding/json"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func ExampleSample_Value() {
	s := result.Sample{Metric: "time", WallNS: 1_500_000_000, Operations: 1000}
	fmt.Println(s.Value())
	s.Metric = "time/op"
	fmt.Println(s.Value())
	// Output:
	// 1.5
	// 0.0015
}

func ExampleCase_SettingsIn() {
	c := result.Case{
		Settings: driver.Settings{"synchronous": "full"},
		InForce:  map[string]driver.Settings{"load": {"synchronous": "off"}},
	}
	fmt.Println(c.SettingsIn("load")["synchronous"], c.SettingsIn("query")["synchronous"])
	// Output: off full
}

func ExampleWarning() {
	text, err := json.Marshal(result.Warning{Code: "load", Message: "load average 2.1 on 2 cores", Round: 3})
	fmt.Println(string(text), err)
	// Output: {"code":"load","message":"load average 2.1 on 2 cores","round":3} <nil>
}

func ExampleBaseDriver() {
	fmt.Println(result.BaseDriver("mattn@v1.14.22"), result.BaseDriver("mattn:tags=sqlite_fts5"), result.BaseDriver("./my-worker"))
	// Output: mattn mattn ./my-worker
}
