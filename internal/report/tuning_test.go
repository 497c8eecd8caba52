package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// ratio returns a ratio of times with its interval.
func ratio(median, low, high float64) stats.Summary {
	return stats.Summary{N: 12, Median: median, Interval: &stats.Interval{Low: low, High: high, Confidence: 0.99}}
}

// tuning returns the result of a search for settings, which changed one setting in each step. Some
// steps save enough time, one step may lose commits, and one step saves too little time.
func tuning() tune.Tuning {
	run := fullRun()
	run.ID = 7
	a := stats.Analyze(run, "native")
	set := driver.Settings{"journal_mode": "wal", "cache_size": "-65536"}
	f := &tune.Finding{
		Base: driver.Settings{"journal_mode": "delete", "synchronous": "full", "cache_size": "-2000", "busy_timeout": "0"}, Most: conditions.CommitsLost, Margin: 0.02,
		Steps: []*tune.Step{
			{Changes: driver.Settings{}, Memory: 20 << 20},
			{Changes: driver.Settings{"journal_mode": "wal"}, Added: driver.Settings{"journal_mode": "wal"}, Ratio: ratio(0.625, 0.6, 0.65), Gain: ratio(0.625, 0.6, 0.65), Worth: true, Memory: 21 << 20},
			{Changes: set, Added: driver.Settings{"cache_size": "-65536"}, Before: 1, Ratio: ratio(0.5, 0.48, 0.52), Gain: ratio(0.8, 0.78, 0.82), Worth: true, Memory: 80 << 20,
				Phases: []stats.PhaseRatio{{TableName: stats.TableName{Workload: "mine", Phase: "insert"}, Ratio: ratio(0.25, 0.24, 0.26)}, {TableName: stats.TableName{Workload: "mine", Phase: "query"}, Ratio: ratio(1.25, 1.2, 1.3)}}},
			{Changes: set.With(driver.Settings{"synchronous": "normal"}), Added: driver.Settings{"synchronous": "normal"}, Before: 2, Loss: conditions.CommitsLost, Level: conditions.CommitsLost,
				Ratio: ratio(0.4, 0.38, 0.42), Gain: ratio(0.8, 0.75, 0.85), Worth: true, Memory: 80 << 20},
			{Changes: set.With(driver.Settings{"synchronous": "normal", "page_size": "8192"}), Added: driver.Settings{"page_size": "8192"}, Before: 3, Loss: conditions.CommitsLost, Level: conditions.CommitsLost,
				Ratio: ratio(0.39, 0.37, 0.42), Gain: ratio(0.99, 0.95, 1.03), Memory: 80 << 20},
		},
		Tried: []*tune.Tried{
			{Name: "journal_mode", Value: "wal", Ratio: ratio(0.62, 0.5, 0.7), Status: result.OK},
			{Name: "journal_mode", Value: "truncate", Ratio: ratio(1.1, 1, 1.2), Status: result.OK},
			{Name: "page_size", Value: "8192", Ratio: stats.Summary{N: 3, Median: 2}, Status: result.OK}, // too few trials for an interval
			{Name: "temp_store", Value: "memory", Ratio: ratio(1, 0.9, 1.1), Status: result.OK},
			{Name: "wal_autocheckpoint", Value: "4000", With: driver.Settings{"journal_mode": "wal"}, Ratio: ratio(0.9, 0.8, 1), Status: result.OK},
			{Name: "mmap_size", Value: "268435456", Status: result.Refused, Why: "mmap_size: wanted 268435456, \x1b[31mgot 0"},
			{Name: "txlock", Value: "immediate", MoreFailed: true, Ratio: ratio(0.5, 0.4, 0.6), Status: result.OK},
		},
		Skipped:   []tune.Skipped{{Setting: "pool_size", Why: "one client needs one connection"}},
		Races:     []*tune.Race{{Run: 7, What: "confirmation", Candidates: 5, Trials: 60, Analysis: a, Seconds: 30}},
		Confirmed: a, Tests: 7, Rounds: 12, Took: 100 * time.Second, Grid: 96, Early: true,
	}
	t := tune.Tuning{Finding: f, Driver: "modernc", Flag: "--set"}
	told := &dsn.Told{Call: `sql.Open("sqlite", dsn)`, EachConnection: "sqlite.RegisterConnectionHook", Spelling: &dsn.Spelling{DSN: "file:app.db?_pragma=journal_mode(wal)", Init: []string{"PRAGMA cache_size=-65536"}}}
	for i, set := range t.Offered() {
		t.Spelled = append(t.Spelled, tune.Spell(driver.Info{Interface: driver.DatabaseSQL}, set, []*dsn.Told{told, nil}[i]))
	}
	return t
}

// TestSpelled checks the instructions for settings that a data source name cannot express.
func TestSpelled(t *testing.T) {
	set := driver.Settings{"txlock": "immediate", "pool_size": "1", "pool_readers": "4", "synchronous": "normal"}
	for _, c := range []struct {
		info driver.Info
		told *dsn.Told
		want []string
	}{
		{driver.Info{Interface: driver.DatabaseSQL}, &dsn.Told{Spelling: &dsn.Spelling{}}, []string{"db.SetMaxOpenConns(1)", "a second pool of 4 connections for what only reads"}},
		{driver.Info{}, nil, []string{"PRAGMA synchronous=normal on each new connection", "begin transactions that write with BEGIN IMMEDIATE", "open at most 1 connections", "a second pool of 4 connections for what only reads"}},
	} {
		if got := tune.Spell(c.info, set, c.told).Calls; !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestTuning(t *testing.T) {
	alone := tuning()
	alone.Steps = alone.Steps[:1]
	unconfirmed := tuning()
	unconfirmed.Steps, unconfirmed.Confirmed = unconfirmed.Steps[:1], nil
	none := tuning()
	none.Steps = nil
	untried := tuning()
	untried.Steps, untried.Tried, untried.Early = untried.Steps[:1], nil, false
	hasty := tuning()
	hasty.Steps, hasty.Tried, hasty.Enough = hasty.Steps[:1], nil, 101*time.Second
	unclear := tuning()
	unclear.Steps = unclear.Steps[:2]
	unclear.Steps[1].Worth, unclear.Steps[1].Gain = false, ratio(0.625, 0.4, 1.1)
	risky := tuning()
	risky.Steps = []*tune.Step{risky.Steps[0], {Changes: driver.Settings{"journal_mode": "wal", "synchronous": "normal"}, Added: driver.Settings{"journal_mode": "wal", "synchronous": "normal"},
		Loss: conditions.CommitsLost, Level: conditions.CommitsLost, Ratio: ratio(0.5, 0.4, 0.6), Gain: ratio(0.5, 0.4, 0.6), Worth: true}}
	safer := tuning()
	safer.Loss = conditions.CommitsLost
	safer.Steps = []*tune.Step{safer.Steps[0], {Changes: driver.Settings{"synchronous": "full"}, Added: driver.Settings{"synchronous": "full"}, Safer: true, Ratio: ratio(2, 1.9, 2.1), Gain: ratio(2, 1.9, 2.1)}}
	rare := tuning()
	rare.Loss, rare.Steps = conditions.RarelyLost, []*tune.Step{rare.Steps[0], new(*safer.Steps[1])}
	rare.Steps[1].Loss = conditions.LastCommitLost
	for _, c := range []struct {
		t    tune.Tuning
		want string
	}{
		{tuning(), "Set journal_mode=wal and cache_size=-65536: 2.0 times as fast (1.9 to 2.1), as durable as now. " +
			"synchronous=normal would then make it 20% faster (15% to 25%), but the last transactions can be lost (the database stays intact) if the operating system crashes or the power fails."},
		{alone, "Nothing that was tried is worth setting: no setting is clearly more than 2% faster than the present ones."},
		{unconfirmed, "Nothing that was tried is worth setting: no setting is clearly more than 2% faster than the present ones. Each was tried in few trials, which may have missed a small gain."},
		{unclear, "journal_mode=wal looks 38% faster (2.5 times as fast to 10% slower). More time, or a quieter machine, may confirm it."},
		{untried, "Nothing could be tried here, so there is nothing to set."},
		{hasty, "No value was tried: after the present settings were measured, the time left was too short to try one and confirm it. " +
			"That takes a search of about 1m50s, or a smaller scale."},
		{none, "The search was not finished: nothing has been confirmed."},
		{risky, "journal_mode=wal and synchronous=normal would be 2.0 times as fast (1.7 to 2.5), but the last transactions can be lost"},
		{safer, "Now you can lose the last commits; with synchronous=full, nothing. That is 2.0 times as slow (1.9 to 2.1)."},
		{rare, "Now you can lose the database, very rarely; with synchronous=full, only the last commit. That is 2.0 times as slow (1.9 to 2.1)."},
	} {
		if got := c.t.Answer(); !strings.HasPrefix(got, c.want) && !strings.HasSuffix(got, c.want) {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

func TestTuningFormats(t *testing.T) {
	for format, want := range map[string][]string{
		"table": {"0 as now 1 nothing", "1 + journal_mode=wal 0.62x (0.6 to 0.65) 0.62x (0.6 to 0.65) nothing 21.0 MiB worth it",
			"3 + synchronous=normal 0.40x (0.38 to 0.42) 0.80x (0.75 to 0.85) the last commits 80.0 MiB worth it", "0.99x (0.95 to 1.03) the last commits 80.0 MiB no clear gain",
			`on modernc sql.Open("sqlite", dsn) with file:app.db?_pragma=journal_mode(wal); and in code (sqlite.RegisterConnectionHook): PRAGMA cache_size=-65536 slower mine query`,
			"on modernc PRAGMA journal_mode=wal on each new connection; PRAGMA synchronous=normal on each new connection", "to set --set journal_mode=wal --set cache_size=-65536; in SQL PRAGMA journal_mode=wal; PRAGMA cache_size=-65536", "at that risk --set journal_mode=wal --set synchronous=normal --set cache_size=-65536; in SQL PRAGMA journal_mode=wal", "slower mine query: 25% slower (20% to 30%) with these settings",
			"now journal_mode=delete synchronous=full cache_size=-2000 can lose: nothing", "no gain seen temp_store=memory (equally fast)", "looked slower journal_mode=truncate (10% slower), page_size=8192",
			"gains alone wal_autocheckpoint=4000 (10% faster) with journal_mode=wal: but not with the others", "out mmap_size=268435456: refused: mmap_size: wanted 268435456",
			"out txlock=immediate: more operations failed with it", "not tried pool_size: one client needs one connection", "6 settings on modernc, 7 values, 60 trials (runs 7) in 1m40s. All combinations would be 96",
			"ended early the time was over", "Values without brackets were measured in fewer than 6 rounds", "how sure each step was measured again in 12 new trials, in the same rounds as the others (run 7)", "not known yet page_size=8192: 1% faster (5% faster to 3% slower)"},
		"markdown": {"| 2 | + cache\\_size=-65536 |"},
		"json":     {`"set": { "cache_size": "-65536", "journal_mode": "wal" }`, `"verdict": "a tie"`, `"dsn": "file:app.db?_pragma=journal_mode(wal)"`, `"can_lose": "the last commits"`},
		"html":     {"2.0 times as fast"},
	} {
		var buf bytes.Buffer
		if err := tune.Formats.Write(&buf, format, tuning(), document.Options{Width: 160}); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(strings.Fields(buf.String()), " ")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %q:\n%s", format, w, buf.String())
			}
		}
		if strings.Contains(buf.String(), "\x1b") {
			t.Errorf("%s: not printable", format)
		}
	}
	if err := tune.Formats.Write(&bytes.Buffer{}, "csv", tuning(), document.Options{}); err == nil {
		t.Error("csv: no error")
	}
}

func TestTuningFulfilsSchema(t *testing.T) {
	s := compiled(t, "tuning")
	empty := tune.Tuning{Finding: &tune.Finding{}}
	for _, x := range []tune.Tuning{tuning(), empty} {
		var buf bytes.Buffer
		if err := tune.Formats.Write(&buf, "json", x, document.Options{}); err != nil {
			t.Fatal(err)
		}
		validate(t, s, buf.String())
	}
}
