package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Exchange lets a worker in this process answer a request, and returns the responses. The worker's
// input stays open until it has answered, because a worker gives up when its input ends.
func Exchange(ctx context.Context, d driver.Driver, req protocol.Request) (answers []protocol.Response, err error) {
	line, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	in, lab := io.Pipe()
	defer lab.Close()
	go func() { _, _ = lab.Write(append(line, '\n')) }() // if Write fails, Serve gets no request and returns an error
	var out bytes.Buffer
	if err := Serve(ctx, d, in, &out); err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(&out); dec.More(); {
		var a protocol.Response
		if err := dec.Decode(&a); err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}
