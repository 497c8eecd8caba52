package stacks

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestKeep checks that the stored part of a recording has the same stacks as the recording, that equal
// stacks are added up, and that stacks with negative values are left out.
func TestKeep(t *testing.T) {
	step, rows, main := Frame{"sqlite3_step", "/w"}, Frame{"database/sql.(*Rows).Next", "/w"}, Frame{"main.main", "/w"}
	r := &Recording{Trials: 2, WallNS: 9, CPUNS: []int64{3, 4}, Perf: []Stack{
		{[]Frame{step, rows, main}, 2, 20}, {[]Frame{main}, 1, 10}, {[]Frame{step, rows, main}, 1, 10}, {nil, 1, 5}, {[]Frame{rows}, -1, -10},
	}}
	p := r.Keep()
	want := []Stack{{[]Frame{step, rows, main}, 3, 30}, {[]Frame{main}, 1, 10}, {[]Frame{}, 1, 5}}
	if diff := cmp.Diff(want, Stacks(&p, p.CPU)); diff != "" || p.Shortened != 0 || len(p.Functions) != 3 {
		t.Errorf("shortened to %d, %d functions: %s", p.Shortened, len(p.Functions), diff)
	}
	s := Summarize(&p, Grouper{})
	if s.Trials != 2 || s.WallNS != 9 || s.Samples != 5 || s.CPUNS != 45 || !slices.Equal(s.TrialNS, r.CPUNS) {
		t.Errorf("%+v", s)
	}
}

// TestKeepLarge checks that a recording that is too large loses the outer functions of its stacks, and
// that the profile says to how many functions its stacks were shortened.
func TestKeepLarge(t *testing.T) {
	deep := func(i, depth int) (s Stack) {
		s.Samples, s.Value = 1, 1
		for j := range depth {
			s.Frames = append(s.Frames, Frame{Function: strings.Repeat("f", 1+i%50) + strings.Repeat("g", j%10)})
		}
		return s
	}
	r := &Recording{Perf: []Stack{deep(1, result.MaxStackDepth+1)}}
	if p := r.Keep(); p.Shortened != result.MaxStackDepth || len(p.CPU[0].Functions) != result.MaxStackDepth {
		t.Errorf("a deep stack: %d functions, shortened to %d", len(p.CPU[0].Functions), p.Shortened)
	}
	r.Perf = nil
	for i := range result.MaxStackFrames / 60 {
		r.Perf = append(r.Perf, deep(i, 100))
	}
	p := r.Keep()
	if p.Shortened != 32 || Samples(Stacks(&p, p.CPU)) != int64(len(r.Perf)) || len(p.CPU) != 50 {
		t.Errorf("%d stacks, shortened to %d", len(p.CPU), p.Shortened)
	}
	if got := frames(Stacks(&p, p.CPU), 1000); got > result.MaxStackFrames {
		t.Errorf("%d functions", got)
	}
	long := (&Recording{Perf: []Stack{{[]Frame{{Function: strings.Repeat("é", result.MaxFunctionName)}}, 1, 1}}}).Keep()
	if name := long.Functions[0].Name; len(name) > result.MaxFunctionName || strings.Trim(name, "é") != "" {
		t.Errorf("a long name: %d bytes", len(name))
	}
}
