package main

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/result"
)

// TestAsked checks that settings come in the order of the vocabulary, before parameters,
// and that a line fits into its terminal.
func TestAsked(t *testing.T) {
	a := &result.Asked{Settings: map[string][]string{"synchronous": {"off", "full"}, "journal_mode": {"wal"}}, Parameters: map[string][]int64{"n": {1000, 10}, "clients": {4}}}
	const want = "journal_mode=wal synchronous=off,full clients=4 n=1000,10"
	if got := asked(a); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := asked(nil); got != "" {
		t.Errorf("nothing was asked for: %s", got)
	}
	for width, cut := range map[int]string{0: want, 100: want, 57: want, 20: "journal_mode=wal sy…"} {
		if got := within(want, width); got != cut {
			t.Errorf("%d columns: %s, want %s", width, got, cut)
		}
	}
}
