package driver_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func TestSuggest(t *testing.T) {
	many := strings.Split(strings.Repeat("unalike ", 30), " ")
	for _, c := range []struct {
		name  string
		known []string
		want  string
	}{
		{"tabel", []string{"json", "table"}, `did you mean "table"?`},
		{"xyz", []string{"json", "table"}, "known are json, table"},
		{"small", []string{"full", "quick"}, "known are full, quick"},
		{"rnu", []string{"run", "show"}, `did you mean "run"?`},
		{"xyz", nil, "there are none"},
		{"xyz", many, "known are " + strings.Join(many[:20], ", ")},
	} {
		if got := driver.Suggest(c.name, c.known); got != c.want {
			t.Errorf("%s among %d known names: got %s, want %s", c.name, len(c.known), got, c.want)
		}
	}
}

func TestDifferences(t *testing.T) {
	wanted := driver.Settings{"journal_mode": "wal", "synchronous": "normal"}
	right := driver.Settings{"journal_mode": "wal", "synchronous": "normal"}
	wrong := driver.Settings{"journal_mode": "delete", "synchronous": "full"}
	why := func(setting, _ string) (string, bool) { return "no file", setting == "journal_mode" }
	if got := driver.Differences(wanted, []driver.Settings{right, right}, nil); got != "" {
		t.Errorf("the settings are as wanted, but Differences returned %q", got)
	}
	const want = "journal_mode: wanted wal, got delete (no file); synchronous: wanted normal, got full, on connection 2 of 3"
	if got := driver.Differences(wanted, []driver.Settings{right, wrong, wrong}, why); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
