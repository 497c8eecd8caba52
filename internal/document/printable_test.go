package document_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// TestPrintableTogether lets two goroutines write lines to one writer, as a command and its signal
// handler do. The race detector reports data that they share without a lock.
func TestPrintableTogether(t *testing.T) {
	var b bytes.Buffer
	w := document.Printable(&b)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			for range 100 {
				fmt.Fprintf(w, "%d ::error\n", i)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(b.String(), "::error\n"); n != 200 || strings.Count(b.String(), "\n") != 200 {
		t.Errorf("%d of 200 lines in\n%s", n, b.String())
	}
}
