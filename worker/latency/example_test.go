package latency_test

import (
	"fmt"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

func Example() {
	h := latency.New()
	for ms := range 100 {
		h.Record(int64(time.Duration(ms+1) * time.Millisecond))
	}
	s := h.Summary("read")
	round := func(ns int64) time.Duration { return time.Duration(ns).Round(time.Millisecond) }
	fmt.Println(s.Operation, s.Count, round(s.P50NS), round(s.P99NS), round(s.MaxNS))

	again, err := latency.Decode(s.Histogram)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.Count())
	// Output:
	// read 100 50ms 99ms 100ms
	// 100
}
