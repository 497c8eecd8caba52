package conformance_test

import (
	"bufio"
	"context"
	"io"
	"os"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// told runs a true worker and passes its answers on, changed by the lie.
func told(lie string, d driver.Driver) {
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			_, _ = os.Stdout.Write(append(lines.Bytes(), '\n'))
		}
	}()
	_ = worker.Serve(context.Background(), d, os.Stdin, w)
}
