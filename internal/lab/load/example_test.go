package load_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/load"
)

func ExampleLoad_Run() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "user %s", r.URL.Query().Get("id"))
	}))
	defer server.Close()
	l := load.Load{
		Address:  strings.TrimPrefix(server.URL, "http://"),
		Requests: []load.Request{{Target: "/?id=7", Body: []byte("user 7")}, {Target: "/?id=8", Body: []byte("user 9")}},
		Count:    10, Connections: 2,
	}
	o, err := l.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.OK, o.Errors[0].Kind, o.Errors[0].Count, o.Latency.Count())
	// Output: 5 body 5 10
}
