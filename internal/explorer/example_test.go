package explorer_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/sqlite3perf/sqlite3perf/internal/explorer"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "results.db")
	st, err := store.Open(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = st.Begin(context.Background(), &result.Run{Command: []string{"run"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	st.Close()

	site := explorer.New(explorer.Options{Store: path, Floor: "native"})
	defer site.Close()
	server := httptest.NewServer(site.Handler())
	defer server.Close()
	answer, err := http.Get(server.URL + "/api/v1/runs/7")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	fmt.Println(answer.StatusCode, len(body) > 0, err)
	// Output: 404 true <nil>
}
