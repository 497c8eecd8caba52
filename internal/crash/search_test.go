package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestSearch checks which release is found, and how many releases are explored.
func TestSearch(t *testing.T) {
	var releases []string
	for i := range 20 {
		releases = append(releases, fmt.Sprintf("v1.%d.0", i))
	}
	for _, c := range []struct {
		name      string
		from      int // first release that differs
		missing   []int
		good, bad string
		between   int
		most      int // greatest number of releases that may be explored
	}{
		{"the second", 1, nil, "v1.0.0", "v1.1.0", 0, 7},
		{"one in the middle", 13, nil, "v1.12.0", "v1.13.0", 0, 7},
		{"the last", 19, nil, "v1.18.0", "v1.19.0", 0, 7},
		{"none", 20, nil, "v1.19.0", "", 0, 7},
		{"a missing one beside it", 13, []int{12}, "v1.11.0", "v1.13.0", 1, 8},
		{"itself missing", 13, []int{13, 14}, "v1.12.0", "v1.15.0", 2, 8},
		{"the last missing", 5, []int{19}, "v1.4.0", "v1.5.0", 0, 8},
	} {
		explored := 0
		f, err := Search(t.Context(), releases, func(_ context.Context, release string) (*Crashes, error) {
			i := slices.Index(releases, release)
			if slices.Contains(c.missing, i) {
				return nil, errors.New("it can't be built")
			}
			explored++
			a := some()
			if i >= c.from {
				a.Cells[1].Cost.Syncs *= 2
			}
			return a, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if f.Good != c.good || f.Bad != c.bad || len(f.Between) != c.between || explored > c.most || len(f.Explored) != explored {
			t.Errorf("%s: %+v, %d explored", c.name, f, explored)
		}
		if f.Bad != "" && (len(f.Differences) != 1 || f.Differences[0] != Difference{"wal full", "1 syncs", "2 syncs"}) {
			t.Errorf("%s: %+v", c.name, f.Differences)
		}
	}
	if _, err := Search(t.Context(), releases, func(context.Context, string) (*Crashes, error) { return nil, errors.New("no Go") }); err == nil {
		t.Error("no error although the first release could not be explored")
	}
}
