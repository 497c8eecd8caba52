package worker_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker"
)

func ExampleServe() {
	request := strings.NewReader(`{"type":"trial","protocol":2}` + "\n")
	if err := worker.Serve(context.Background(), newFake(), request, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output: {"type":"failed","reason":{"code":"protocol","message":"a trial needs a path and a plan"}}
}
