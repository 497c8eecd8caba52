package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestLegend checks that the legend names the statistical tests that were used in the run, and that a
// run without figures has no legend.
func TestLegend(t *testing.T) {
	const (
		ranks   = "tied where the signed-rank test of their ratios does not tell them apart"
		all     = "tied where a t test of their ratios, the signed-rank test and a permutation test, which all have to agree because the rounds are few,"
		either  = "tied where neither the signed-rank test of their ratios nor, because the rounds are few, a permutation test of the run"
		effects = "The p of a change by itself is corrected for all such changes"
		legend  = "Figures are medians"
	)
	equal := func(l library, round int, noise float64) result.Sample {
		l.factor = 1
		return bulk("insert", 10_000_000, 10, 10)(l, round, noise)
	}
	drivers := func(rounds, drivers, tables int) *result.Run {
		run := newRun(rounds)
		for i := range tables {
			add(run, fmt.Sprintf("w%d", i), nil, nil, []string{"modernc", "mattn", "ncruces"}[:drivers], equal)
		}
		return run
	}
	varied := newRun(16)
	for _, sync := range []string{"normal", "full"} {
		add(varied, "mine", nil, driver.Settings{"synchronous": sync}, []string{"modernc"}, bulk("insert", 10_000_000, 10, 10))
	}
	failed := drivers(12, 2, 1)
	for i := range failed.Trials {
		failed.Trials[i].Status, failed.Trials[i].Samples = result.Failed, nil
	}
	for _, tc := range []struct {
		name       string
		run        *result.Run
		has, lacks string
	}{
		{"two drivers", drivers(12, 2, 1), ranks, effects},
		{"three drivers, few rounds", drivers(15, 3, 1), all, effects},
		{"three drivers", drivers(16, 3, 1), ranks, effects},
		{"two drivers, many tables", drivers(7, 2, 3), either, effects},
		{"settings", varied, effects, all},
		{"nothing measured", failed, "", legend},
	} {
		text := strings.Join(strings.Fields(write(t, "table", tc.run, "", document.Options{Width: 400})), " ")
		if !strings.Contains(text, tc.has) || strings.Contains(text, tc.lacks) {
			t.Errorf("%s: want %q and not %q in\n%s", tc.name, tc.has, tc.lacks, text)
		}
	}
}
