package main

import (
	"slices"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/explorer"
)

// TestServeArguments checks the arguments of the command "run" that result from the user's choices
// in the page.
func TestServeArguments(t *testing.T) {
	o := &serveOptions{dir: "-databases"}
	l := &explorer.Launcher{
		Drivers:   []explorer.Choice{{Name: "mattn", Usual: true}, {Name: "python"}, {Name: "modernc", Usual: true}},
		Workloads: []explorer.Choice{{Name: "simple", Usual: true}, {Name: "many"}},
	}
	for _, c := range []struct {
		wanted explorer.Wanted
		want   []string
	}{
		{explorer.Wanted{}, []string{"run", "--drivers=mattn,modernc", "--workloads=simple", "--dir=-databases", "--store=r.db"}},
		{explorer.Wanted{Drivers: []string{"python", "mattn@v1.14.22"}, Workloads: []string{"many"}, Scale: "0.1", Rounds: 7, Time: 90,
			Settings: map[string][]string{"synchronous": {"off", "full"}, "cache_size": {"-2000"}}, Parameters: map[string][]int64{"n": {1, -2}}},
			[]string{"run", "--drivers=python,mattn@v1.14.22", "--workloads=many", "--set=cache_size=-2000", "--set=synchronous=off,full", "--param=n=1,-2",
				"--scale=0.1", "--rounds=7", "--time=90s", "--dir=-databases", "--store=r.db"}},
	} {
		got := o.arguments(l, &c.wanted, "r.db")
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
		cmd := runCommand(&cli.Environment{})
		if err := cmd.ParseFlags(got[1:]); err != nil || cmd.Flags().NArg() > 0 {
			t.Errorf("%q: %v, %q", got, err, cmd.Flags().Args())
		}
	}
}
