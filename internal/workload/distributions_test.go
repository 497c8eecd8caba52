package workload_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// TestDistributions compares how often each value occurs with how often it should occur. The values
// are fixed by the seed, so the test either always passes or always fails.
func TestDistributions(t *testing.T) {
	const n = 200_000
	g, _ := generate(t, 3, fmt.Sprintf(`
  t:
    count: %d
    columns:
      int: {int: [0, 9]}
      zipf: {zipf: [0, 9], skew: 1.1}
      steep: {zipf: [0, 9], skew: 3}
      one: {zipf: [0, 9], skew: 1}
      pick: {pick: ten.id}
      skew: {pick: ten.id, skew: 2}
      bool: {int: [0, 1], type: bool}
  ten: {count: 10, columns: {id: {serial: 0}}}
`, n))
	var b driver.Batch
	if err := g.Fill(&b, "t", 0, n); err != nil {
		t.Fatal(err)
	}
	for j, weight := range []func(k int) float64{
		func(int) float64 { return 1 },
		func(k int) float64 { return math.Pow(float64(k+1), -1.1) },
		func(k int) float64 { return math.Pow(float64(k+1), -3) },
		func(k int) float64 { return 1 / float64(k+1) },
		func(int) float64 { return 1 },
		func(k int) float64 { return math.Pow(float64(k+1), -2) },
		func(k int) float64 {
			if k < 2 {
				return 1
			}
			return 0
		},
	} {
		var counts [10]int
		for _, x := range b.Columns[j].Ints {
			counts[x]++
		}
		sum := 0.0
		for k := range counts {
			sum += weight(k)
		}
		for k, c := range counts {
			want := n * weight(k) / sum
			if math.Abs(float64(c)-want) > 5*math.Sqrt(want) {
				t.Errorf("column %d: %d occurs %d times, want about %.0f", j, k, c, want)
			}
		}
	}
}

// TestBounds checks that every value is within its bounds, and that the bounds
// themselves occur. But the upper bounds of reals and times are exclusive, so they must not occur.
func TestBounds(t *testing.T) {
	const n = 100_000
	g, _ := generate(t, 3, fmt.Sprintf(`
  t:
    count: %d
    columns:
      short: {text: [1, 5]}
      long: {text: [255, 260]}
      blob: {blob: [0, 3]}
      hex: {hex: [1, 2]}
      real: {real: [1, 1.0000000000000002]}
      time: {time: [2024-01-01T00:00:00Z, 2024-01-01T00:00:00.010Z]}
      nulls: {real: [5, 6], nulls: 10%%}
`, n))
	var b driver.Batch
	if err := g.Fill(&b, "t", 0, n); err != nil {
		t.Fatal(err)
	}
	for j, want := range [][2]int{{1, 5}, {255, 260}, {0, 3}, {2, 4}} {
		least, most := math.MaxInt, 0
		for r := range n {
			v := b.Columns[j].Bytes(r)
			least, most = min(least, len(v)), max(most, len(v))
			if j < 2 && strings.Trim(string(v), "abcdefghijklmnopqrstuvwxyz") != "" {
				t.Fatalf("text %q", v)
			}
		}
		if least != want[0] || most != want[1] {
			t.Errorf("column %d has %d to %d bytes, want %v", j, least, most, want)
		}
	}
	if r := b.Columns[4].Reals; slices.Max(r) != 1 {
		t.Errorf("real is %v, which is not below the upper bound", slices.Max(r))
	}
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	if ms := b.Columns[5].Ints; slices.Min(ms) != start || slices.Max(ms) != start+9 {
		t.Errorf("times from %d to %d, want from %d to %d", slices.Min(ms), slices.Max(ms), start, start+9)
	}
	nulls := 0
	for r := range n {
		if b.Columns[6].Null(r) {
			nulls++
		} else if x := b.Columns[6].Reals[r]; x < 5 || x >= 6 {
			t.Fatalf("real %v", x)
		}
	}
	if nulls < n/10-500 || nulls > n/10+500 {
		t.Errorf("%d of %d are NULL", nulls, n)
	}
}

// TestOrder checks that each operation of a mix is chosen in proportion to its weight, and that
// three clients together choose the same sequence as one client.
func TestOrder(t *testing.T) {
	g, _ := generate(t, 9, "  t: {count: 1, columns: {id: serial}}\n")
	ops := []plan.Operation{{Name: "a", Weight: 90}, {Name: "b", Weight: 9}, {Name: "c", Weight: 1}}
	const n = 30_000
	all := g.Order(nil, "mix", ops, 0, 1, n)
	counts := make([]int, len(ops))
	for _, op := range all {
		counts[op]++
	}
	for i, c := range counts {
		if want := n * float64(ops[i].Weight) / 100; math.Abs(float64(c)-want) > 5*math.Sqrt(want) {
			t.Errorf("operation %s is chosen %d times, want about %.0f", ops[i].Name, c, want)
		}
	}
	for c := range 3 {
		for k, op := range g.Order(nil, "mix", ops, int64(c), 3, 100) {
			if op != all[c+3*k] {
				t.Fatalf("client %d chooses %d for operation %d, want %d", c, op, c+3*k, all[c+3*k])
			}
		}
	}
}
