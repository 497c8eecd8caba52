package byhand_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// A program for a library that works with database/sql needs no loops of its own, because
// byhand.SQL has these loops. It returns the function for the program's field Open, which this
// example leaves out. The program's main function passes the result of Program.Driver to
// worker.Main, which serves standard input and output.
func ExampleProgram_Driver() {
	program := byhand.Program{Info: driver.Info{Name: "mattn by hand", Kind: driver.Cgo, Interface: driver.DatabaseSQL}}
	var out bytes.Buffer
	request := fmt.Sprintf(`{"type":"describe","protocol":%d,"seed":0}`+"\n", protocol.Version)
	if err := worker.Serve(context.Background(), program.Driver(), strings.NewReader(request), &out); err != nil {
		fmt.Println(err)
		return
	}
	var answer protocol.Response
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Type, answer.Info.Name)
	// Output: info mattn by hand
}
