package main

import "testing"

func TestRandomSeed(t *testing.T) {
	for range 100 {
		if s, err := seed(""); err != nil || uint64(float64(s)) != s {
			t.Fatalf("%d is not kept by a double: %v", s, err)
		}
	}
}

// TestAgain checks that the command that prints a run again contains all flags that it needs.
func TestAgain(t *testing.T) {
	for want, o := range map[string]outputOptions{
		"sqlite3perf show 3": {format: "table"},
		"sqlite3perf show 3 --format json --store 'my runs.db'": {format: "json", store: "my runs.db"},
		"sqlite3perf show 3 --store ./a.db":                     {format: "table", store: "./a.db"},
		"sqlite3perf show 3 --store a,b=c:d@e%f+.db":            {format: "table", store: "a,b=c:d@e%f+.db"}, // as the report quotes
		`sqlite3perf show 3 --store 'it'\''s'`:                  {format: "table", store: "it's"},
	} {
		if got := o.again("sqlite3perf show 3"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
