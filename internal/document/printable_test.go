package document_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// TestPrintableTogether writes lines from two goroutines, as a signal and a command do. The
// race detector sees what is shared.
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
