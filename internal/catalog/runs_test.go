package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestAsked checks that settings are listed before parameters, in the order of [driver.Vocabulary].
func TestAsked(t *testing.T) {
	a := &result.Asked{Settings: map[string][]string{"synchronous": {"off", "full"}, "journal_mode": {"wal"}}, Parameters: map[string][]int64{"n": {1000, 10}, "clients": {4}}}
	const want = "journal_mode=wal synchronous=off,full clients=4 n=1000,10"
	if got := asked(a); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := asked(nil); got != "" {
		t.Errorf("without settings and parameters: got %q, want an empty text", got)
	}
}

// TestNarrowRuns checks that a narrow terminal shows all facts about a run.
func TestNarrowRuns(t *testing.T) {
	rows := [][]string{{"RUN", "TRIALS", "ENDED", "DRIVERS", "WORKLOADS", "SETTINGS"}, {"1", "12", "time over", "mattn,modernc", "simple", "synchronous=full"}}
	for _, width := range []int{0, 200} {
		if got := fitted(rows, width); len(got) != 2 || !strings.HasSuffix(got[1], "synchronous=full") {
			t.Errorf("%d columns: %q", width, got)
		}
	}
	want := []string{"RUN  TRIALS  ENDED", "     DRIVERS · WORKLOADS · SETTINGS", "1    12      time over", "     mattn, modernc · simple ·", "     synchronous=full"}
	if got := fitted(rows, 36); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
