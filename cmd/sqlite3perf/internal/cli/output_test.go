package cli

import (
	"testing"
)

// TestAgain checks that the command that prints a run again contains all flags that it needs.
func TestAgain(t *testing.T) {
	for want, o := range map[string]OutputOptions{
		"sqlite3perf show 3": {Format: "table"},
		"sqlite3perf show 3 --format json --store 'my runs.db'": {Format: "json", Store: "my runs.db"},
		"sqlite3perf show 3 --store ./a.db":                     {Format: "table", Store: "./a.db"},
		"sqlite3perf show 3 --store a,b=c:d@e%f+.db":            {Format: "table", Store: "a,b=c:d@e%f+.db"}, // a shell needs no quotes around these characters
		`sqlite3perf show 3 --store 'it'\''s'`:                  {Format: "table", Store: "it's"},
	} {
		if got := o.Again("sqlite3perf show 3"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestScreenLines(t *testing.T) {
	for height, want := range map[int]int{0: 40, 1: 1, 24: 22, 42: 40, 43: 40, 200: 40} {
		if got := screenLines(height); got != want {
			t.Errorf("%d lines on a terminal of %d, want %d", got, height, want)
		}
	}
}

func TestASCIILocale(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, false},
		{map[string]string{"LANG": "de_DE.UTF-8"}, false},
		{map[string]string{"LANG": "C.utf8"}, false},
		{map[string]string{"LANG": "C"}, true},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_CTYPE": "en_US.ISO-8859-1"}, true},
		{map[string]string{"LC_ALL": "en_US.UTF-8", "LC_CTYPE": "C"}, false},
	} {
		if got := asciiLocale(func(name string) string { return tc.env[name] }); got != tc.want {
			t.Errorf("%v: %t", tc.env, got)
		}
	}
}
