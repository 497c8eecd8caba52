package report_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestSettingsInForce checks that reports and exports show the settings in force if the
// workload itself has changed the requested ones.
func TestSettingsInForce(t *testing.T) {
	asked := driver.Settings{"journal_mode": "delete", "synchronous": "full"}
	run := newRun(8)
	add(run, "migrate", nil, asked, []string{"native", "mattn"}, bulk("safe", 1_000_000, 1, 1), bulk("fast", 1_000, 1, 1))
	for i := range run.Cases {
		run.Cases[i].InForce = map[string]driver.Settings{
			"safe": asked.With(driver.Settings{"journal_mode": "wal"}),
			"fast": asked.With(driver.Settings{"journal_mode": "wal", "synchronous": "off", "cache_size": "77"}),
		}
	}
	for format, parts := range map[string][]string{
		"table": {
			"journal_mode=wal synchronous=(full in safe; off in fast) cache_size=(not set in safe; 77 in fast)",
			"the workload itself changes journal_mode (delete was asked for), synchronous (full was asked for), cache_size, as it declares",
		},
		"csv":      {"setting.journal_mode,setting.synchronous,setting.cache_size", ",wal,full,\n", ",wal,off,77\n"},
		"benchfmt": {"in-force: journal_mode=wal synchronous=full\n", "in-force: journal_mode=wal synchronous=off cache_size=77\n"},
		"json":     {`"in_force": {`},
	} {
		got := write(t, format, run, "", report.Options{Width: 300})
		for _, p := range parts {
			if !strings.Contains(got, p) {
				t.Errorf("%s lacks %q:\n%.1000s", format, p, got)
			}
		}
		if strings.Contains(got, "journal_mode=delete") {
			t.Errorf("%s has the settings that were asked for", format)
		}
	}
}
