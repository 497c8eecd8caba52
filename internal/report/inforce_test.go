package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
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
		got := write(t, format, run, "", document.Options{Width: 300})
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

// TestUnsetSettings checks settings that nobody set, but whose values differ between the drivers in a
// table of the report. They must be named below the table and in the report's header. Settings about locks
// must be named only if there are several connections.
func TestUnsetSettings(t *testing.T) {
	for _, connections := range []int{1, 2} {
		run := newRun(6)
		for i, asked := range []driver.Settings{{"journal_mode": "wal"}, {"journal_mode": "wal", "synchronous": "full", "txlock": "deferred"}} {
			workload := []string{"mine", "set"}[i]
			add(run, workload, nil, asked, []string{"mattn", "modernc"}, bulk("insert", 1_000_000, 1, 1))
			for d, own := range map[string]driver.Settings{"mattn": {"synchronous": "normal", "txlock": "deferred"}, "modernc": {"synchronous": "full", "txlock": "immediate"}} {
				spoil(run, workload, d, func(t *result.Trial) {
					t.Proof.Connections = slices.Repeat([]driver.Settings{own.With(asked)}, connections)
				})
			}
		}
		out := write(t, "table", run, "", document.Options{Width: 300})
		head, tables, _ := strings.Cut(out, "\nmine\n")
		locks := ""
		if connections > 1 {
			locks = "txlock or "
		}
		if want := "\ndefaults      mine doesn't set " + locks + "synchronous, so each driver used its own default\n"; !strings.Contains(head, want) {
			t.Errorf("%d connections: no %q in\n%s", connections, want, head)
		}
		if want := "\ndefaults      mine doesn't set synchronous, so each driver used its own default: full with modernc; normal with mattn\n"; strings.Count(tables, want) != 1 {
			t.Errorf("%d connections: want %q exactly once in\n%s", connections, want, tables)
		}
		if want := "doesn't set txlock, so each driver used its own default: deferred with mattn; immediate with modernc\n"; strings.Contains(tables, want) != (connections > 1) {
			t.Errorf("%d connections: %q in\n%s", connections, want, tables)
		}
		run.Compares = &result.Compares{Factor: result.FactorDriver, First: "mattn", Second: "modernc", Margin: 0.02}
		out = writeCompared(t, "table", compared(run))
		if want := "mine doesn't set synchronous, so each driver used its own default: full with modernc;"; strings.Count(out, want) != 1 {
			t.Errorf("%d connections: want %q exactly once in\n%s", connections, want, out)
		}
	}
}
