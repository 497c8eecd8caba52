package main

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestSpellSettings asks workers how to give settings to their drivers. One driver takes all
// settings in a data source name, one also needs a call in code, and one takes no data source
// names.
func TestSpellSettings(t *testing.T) {
	t.Parallel()
	var o cli.WorkerOptions
	shop, err := o.Workshop()
	if err != nil {
		t.Fatal(err)
	}
	set := driver.Settings{"journal_mode": "wal", "mmap_size": "1048576", "txlock": "immediate"}
	for name, want := range map[string]string{
		"modernc": `sql.Open("sqlite", dsn) with file:app.db?_txlock=immediate&_pragma=`,
		"mattn":   `sql.Open("sqlite3", dsn) with file:app.db?_txlock=immediate&_journal_mode=wal; and in code (ConnectHook of a sqlite3.SQLiteDriver that is registered under another name): PRAGMA mmap_size=1048576`,
		"native":  "PRAGMA journal_mode=wal on each new connection; PRAGMA mmap_size=1048576 on each new connection; begin transactions that write with BEGIN IMMEDIATE",
	} {
		refs, err := shop.Refs(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		c := &candidateRuns{o: &runOptions{quiet: true}, r: &request{Workshop: shop, dir: t.TempDir(), cases: []*lab.Case{{Ref: refs[0]}}}}
		list := c.spell(t.Context(), []driver.Settings{set})
		if len(list) != 1 {
			t.Errorf("%s: %d spellings", name, len(list))
			continue
		}
		if got := list[0].String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
		if x := list[0].Spelling; x != nil && (x.Failed != "" || len(x.Missing) > 0) {
			t.Errorf("%s: %+v", name, x)
		}
	}
}
