package main

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestFirstCases checks that the first answer is about its own drivers, that it does not change the cases of
// the run, and that there is none if the other drivers are built.
func TestFirstCases(t *testing.T) {
	var cases []*lab.Case
	for _, name := range []string{"bvinc", "mattn", "glebarez", "modernc", "native", "ncruces", "mattn"} {
		c := &lab.Case{Ref: build.Ref{Name: name}}
		c.Driver, c.ID = name, len(cases)+1
		cases = append(cases, c)
	}
	list := firstCases(cases, func(build.Ref) (bool, error) { return false, nil })
	if len(list) != 4 || list[0].Driver != "mattn" || list[3].Driver != "mattn" || list[3].ID != 4 || cases[6].ID != 7 {
		t.Errorf("%d cases", len(list))
	}
	for _, built := range []string{"", "glebarez"} {
		list := firstCases(cases, func(ref build.Ref) (bool, error) {
			return ref.Name != built && ref.Name != "mattn" && ref.Name != "bvinc", nil
		})
		if list != nil {
			t.Errorf("%d cases, although few drivers have to be built", len(list))
		}
	}
}
