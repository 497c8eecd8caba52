package report_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// answered returns the JSON report of a run.
func answered(t *testing.T, run *result.Run) report.JSON {
	t.Helper()
	text := write(t, "json", run, "native", document.Options{})
	validate(t, compiled(t, "report"), text)
	var j report.JSON
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	return j
}

// insertRun returns a run of one phase. The names of drivers must be keys of the map libraries.
func insertRun(rounds int, drivers ...string) *result.Run {
	run := newRun(rounds)
	add(run, "mine", nil, nil, drivers, bulk("insert", 10_000_000, 10, 10))
	return run
}

// ended gives all trials of the given drivers the given status, which is not OK. It returns the run.
func ended(run *result.Run, status result.Status, code, message string, drivers ...string) *result.Run {
	for i := range run.Trials {
		tr := &run.Trials[i]
		for _, d := range drivers {
			if run.Cases[tr.Case-1].Driver == d {
				tr.Status, tr.Samples, tr.Reason = status, nil, &protocol.Reason{Code: code, Message: message}
			}
		}
	}
	return run
}

// TestAnswer checks the first sentences of the reports on runs of all kinds.
func TestAnswer(t *testing.T) {
	two := insertRun(9, "native", "mattn", "modernc")
	add(two, "mine", nil, nil, []string{"native", "mattn", "modernc"}, bulk("scan", 20_000_000, 10, 10))
	apart := newRun(9) // no driver has figures in two tables
	add(apart, "mine", nil, nil, []string{"mattn", "modernc"}, bulk("insert", 10_000_000, 10, 10))
	add(apart, "other", nil, nil, []string{"zombiezen", "crawshaw"}, bulk("insert", 10_000_000, 10, 10))
	hidden := newRun(9) // like the run "apart", but noise hides which driver is faster
	add(hidden, "mine", nil, nil, []string{"mattn", "tailscale"}, bulk("insert", 10_000_000, 10, 10))
	add(hidden, "other", nil, nil, []string{"modernc", "modernc@v1.2.3"}, bulk("insert", 10_000_000, 10, 10))
	for i := range hidden.Trials {
		hidden.Trials[i].Samples[0].WallNS = 10_000_000 + int64(hidden.Trials[i].Round*(1-i%2*2))
	}
	alone := newRun(9)
	add(alone, "mine", nil, nil, []string{"mattn"}, bulk("insert", 10_000_000, 10, 10), bulk("scan", 20_000_000, 10, 10))
	interrupted := insertRun(3, "native", "mattn")
	interrupted.Stopped = result.StoppedInterrupted
	for _, tc := range []struct {
		name, want string
		run        *result.Run
	}{
		{"the floor is not the best", "Take mattn, the fastest: modernc, the next, is 2.3 times as slow (2.2 to 2.3).", insertRun(9, "native", "mattn", "modernc")},
		{"tied", "Take mattn, the fastest without a known defect that can lose data in these workloads: modernc, the next such driver, is 2.29 times as slow (2.27 to 2.32).",
			insertRun(9, "mattn", "tailscale", "modernc")},
		{"one driver and the floor", "In mine insert, mattn is 83% slower than native, plain C (79% to 87%).", insertRun(9, "native", "mattn")},
		{"one driver", "In mine insert, mattn took 18.4 ms, ±1.6%.", insertRun(9, "mattn")},
		{"one driver, two tables", "mattn: measured in 2 cells, each without another driver to compare with.", alone},
		{"over tables", "Take mattn, the fastest: modernc, the next, is 2.30 times as slow (2.27 to 2.32).", two},
		{"no summary", "mattn is fastest, alone or with others, in 1 of 2 cells. There is no summary, because fewer than two cells have comparable figures of all drivers.", apart},
		{"no summary and no winner", "There is no clear difference in 2 cells. There is no summary, because fewer than two cells have comparable figures of all drivers.", hidden},
		{"interrupted", "Nothing is known yet: 3 complete rounds so far, and drivers are ranked after 6.", interrupted},
		{"all refused", "Nothing was measured: 2 cases refused.", ended(insertRun(1, "mattn", "modernc"), result.Refused, "settings", "wanted full, got off", "mattn", "modernc")},
		{"nothing", "Nothing was measured.", emptyRun()},
	} {
		j := answered(t, tc.run)
		if j.Answer != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, j.Answer, tc.want)
		}
		if text := write(t, "table", tc.run, "native", document.Options{Width: 400}); !strings.HasPrefix(text, tc.want+"\n") {
			t.Errorf("%s: the table begins with\n%.300s", tc.name, text)
		}
	}
}

// TestFailuresAnswered expects the answer to say how many operations failed, in one table and in
// several, and which rows have no rank for that reason.
func TestFailuresAnswered(t *testing.T) {
	of := func(shares map[string]int64, phases ...string) *result.Run {
		run := newRun(9)
		var measures []measure
		for _, p := range phases {
			measures = append(measures, mix(p, result.MetricTimePerOp, false))
		}
		add(run, "app", nil, nil, []string{"mattn", "modernc", "zombiezen"}, measures...)
		for i := range run.Trials {
			x := &run.Trials[i].Samples[0]
			x.Operations -= x.Operations % 1000 // so that the shares of failed operations are the same in each round
			x.Failed = x.Operations * shares[run.Cases[run.Trials[i].Case-1].Driver] / 1000
		}
		return run
	}
	const alike = "Operations failed: app replay mattn (46%); app replay zombiezen (46%); app replay modernc (46%)."
	for _, c := range []struct {
		shares map[string]int64
		phases []string
		want   string
	}{
		{map[string]int64{"mattn": 460, "modernc": 460, "zombiezen": 460}, []string{"replay"}, alike},
		{map[string]int64{"mattn": 460, "modernc": 460, "zombiezen": 460}, []string{"replay", "other"}, alike},
		{map[string]int64{"mattn": 460, "modernc": 460, "zombiezen": 520}, []string{"replay"},
			"Operations failed: app replay mattn (46%); app replay modernc (46%). Not ranked, because more operations failed than of others: app replay zombiezen (52%)."},
		{map[string]int64{"modernc": 2}, []string{"replay"}, "Not ranked, because more operations failed than of others: app replay modernc (0.2%)."},
		{map[string]int64{"mattn": 4, "modernc": 4, "zombiezen": 4}, []string{"replay"}, ""},
	} {
		got := answered(t, of(c.shares, c.phases...)).Answer
		if c.want == "" && strings.Contains(got, "failed") || !strings.HasSuffix(got, c.want) || got == c.want {
			t.Errorf("%v: %s\nwant %s", c.shares, got, c.want)
		}
	}
}

// TestTooFewRounds checks the report of a large difference that is not significant after the
// correction for many tables. The report must give the number of rounds as the reason. For a
// difference that is hidden by noise, it must give the noise as the reason.
func TestTooFewRounds(t *testing.T) {
	// In the first table, the last driver takes far longer in every round. In the other tables, neither
	// driver is faster in every round.
	many := func(rounds int, drivers ...string) *result.Run {
		run := newRun(rounds)
		for i := range 8 {
			add(run, fmt.Sprintf("w%d", i), nil, nil, drivers, bulk("insert", 10_000_000, 10, 10))
		}
		for i := range run.Trials {
			tr := &run.Trials[i]
			x, c := &tr.Samples[0], run.Cases[tr.Case-1]
			x.WallNS = 10_000_000
			switch later := c.Driver == drivers[len(drivers)-1]; {
			case later && c.Workload == "w0":
				x.WallNS *= int64(10 + 5*tr.Round)
			case later && tr.Round%2 == 0:
				x.WallNS += 1_000_000
			case later:
				x.WallNS -= 1_000_000
			}
		}
		return run
	}
	j := answered(t, many(6, "mattn", "modernc"))
	const want = "mattn and modernc are fastest, but modernc is probably slower: 9 rounds may be enough to know, and there are 6"
	if got := j.Answers.Tables[0]; got.Text != want || got.Enough != 9 {
		t.Errorf("%d: %s\nwant %s", got.Enough, got.Text, want)
	}
	if got := j.Answers.Tables[1]; strings.Contains(got.Text, "probably") || got.Enough != 0 {
		t.Errorf("%d: %s", got.Enough, got.Text)
	}
	if j = answered(t, many(9, "mattn", "modernc")); !strings.HasPrefix(j.Answers.Tables[0].Text, "mattn is fastest") {
		t.Errorf("after 9 rounds, mattn should be fastest: %s", j.Answers.Tables[0].Text)
	}

	// The answer must give the same reason in a run without a summary (each driver is only in one
	// table), and in a run that compares settings instead of drivers.
	run := many(6, "mattn", "modernc")
	for i := range run.Cases {
		run.Cases[i].Driver += "@" + run.Cases[i].Workload
	}
	if got := answered(t, run).Answer; !strings.HasPrefix(got, "It is not known yet which is fastest in 8 cells: 6 rounds so far, and 9 may be enough in 1 of them. ") {
		t.Error(got)
	}
	run = many(6, "mattn", "modernc")
	for i := range run.Cases {
		run.Cases[i].Settings = driver.Settings{"cache_size": map[string]string{"mattn": "-2000", "modernc": "-4000"}[run.Cases[i].Driver]}
		run.Cases[i].Driver, run.Cases[i].Info = "mattn", libraries["mattn"].info
	}
	if got := answered(t, run).Answer; !strings.HasPrefix(got, "In w0 insert, it is not known yet which is fastest: 6 rounds so far, and 9 may be enough.") ||
		!strings.Contains(got, "there is no clear difference") {
		t.Error(got)
	}
}

// crossed returns a run of three drivers with two values of a setting. It has two workloads, and
// their cases alternate.
func crossed(rounds int) *result.Run {
	run := newRun(rounds)
	for i, sync := range []string{"off", "full"} {
		for _, workload := range []string{"mine", "other"} {
			add(run, workload, nil, driver.Settings{"synchronous": sync}, []string{"native", "mattn", "modernc"}, bulk("insert", int64(10_000_000*(1+i)), 10, 10))
		}
	}
	return run
}

// TestRowsCountOnce checks cases that are in two tables: a table of the drivers with the same
// settings, and a table of all settings side by side. Each case must count as one row, and each
// workload must have only one table with all settings side by side.
func TestRowsCountOnce(t *testing.T) {
	for _, c := range answered(t, crossed(3)).Answers.Caveats {
		if c.Code == conditions.CaveatFewRounds && c.Count != 12 {
			t.Errorf("want each of the 12 cases counted once: %+v", c)
		}
	}
	// In each workload, every row except the fastest has a ratio.
	if got := line(t, crossed(9), "precision"); !strings.Contains(got, " of 10 ratios of cells are precise to ±2.0%") {
		t.Errorf("12 rows: %s", got)
	}
	failing := crossed(9)
	for i := range failing.Trials {
		if tr := &failing.Trials[i]; failing.Cases[tr.Case-1].Driver == "mattn" {
			tr.Samples[0].Failed = 5
		}
	}
	for _, c := range answered(t, failing).Answers.Caveats {
		if c.Code == conditions.CaveatUnranked && c.Count != 4 {
			t.Errorf("want each of the 4 cases of mattn counted once: %+v", c)
		}
	}
	names := map[string]int{}
	for _, r := range answered(t, crossed(9)).Answers.Tables {
		names[r.Table.String()]++
	}
	if names["mine insert"] != 1 || len(names) != 6 {
		t.Errorf("tables of the answers: %v", names)
	}
	for _, format := range []string{"table", "markdown", "html"} {
		text := write(t, format, crossed(9), "native", document.Options{Width: 200})
		if n := strings.Count(text, "mine · synchronous=off,full, side by side"); n == 0 || format != "html" && n > 1 {
			t.Errorf("%s: side by side %d times:\n%s", format, n, text)
		}
	}
}

// TestAnswersOfTables checks the fields of a table's ranking in JSON.
func TestAnswersOfTables(t *testing.T) {
	run := insertRun(9, "native", "mattn", "tailscale", "modernc")
	r := answered(t, run).Answers.Tables[0]
	if r.Table.String() != "mine insert" || r.Best.Name != "mattn" || r.Best.To != "native" || !r.IsFloor || r.Rounds != 9 || r.Figures != 3 {
		t.Errorf("%+v, best %+v", r, r.Best)
	}
	if d := cmp.Diff([]string{"tailscale"}, r.Tied); d != "" {
		t.Error(d)
	}
	if r.Next.Name != "modernc" || r.Next.To != r.Best.Name || r.Next.Ratio.Median < 2.2 || r.Next.Ratio.Median > 2.4 {
		t.Errorf("next %+v", r.Next)
	}
}

// TestCaveats checks that the report lists the problems of a run, the worst first.
func TestCaveats(t *testing.T) {
	run := insertRun(9, "native", "mattn", "modernc", "zombiezen", "crawshaw", "python")
	ended(run, result.Failed, "crashed", "it crashed", "mattn")
	ended(run, result.Wrong, "checksum", "another answer", "modernc")
	ended(run, result.Refused, "settings", "wanted full, got off", "zombiezen", "crawshaw")
	run.Precision, run.Stopped = 0.0001, result.StoppedInterrupted
	run.LeftOut = []result.LeftOut{{Workload: "large", Code: result.LeftOutTime}}
	run.Warnings = []result.Warning{{Code: result.WarningVirtual, Message: "virtual"}, {Code: result.WarningLoad, Message: "load"}}
	var got []string
	for _, c := range answered(t, run).Answers.Caveats {
		got = append(got, c.Code+" "+c.Text)
	}
	want := []string{
		"defect upsert-trigger (a trigger that an UPSERT fires can see wrong old values): crawshaw; " +
			"in-3.33.0 (an optimization of IN can give a wrong answer): crawshaw; crawshaw-94 (BindBytes stores a BLOB as TEXT): crawshaw",
		"wrong modernc on mine: another answer",
		"refused zombiezen and crawshaw on mine: wanted full, got off",
		"failed mattn on mine: it crashed",
		"unavailable python on mine: python3 is not installed: apt-get install python3",
		"ended-early the run was interrupted after 9 complete rounds",
		"unsettled no median of a cell is precise to ±<0.1%; the least precise: mine insert native ±1.8%",
		"load load",
		"virtual virtual",
		"left-out large, for which the default time is too short: --workloads large measures them",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestSearchAnswer checks the answer of a run that belongs to a search for settings.
func TestSearchAnswer(t *testing.T) {
	run := newRun(8)
	add(run, "mine", nil, driver.Settings{"journal_mode": "wal"}, []string{"modernc"}, bulk("insert", 800_000_000, 1_000_000, 1_000_000))
	add(run, "mine", nil, driver.Settings{"journal_mode": "wal", "cache_size": "-65536"}, []string{"modernc"}, bulk("insert", 400_000_000, 1_000_000, 1_000_000))
	add(run, "mine", nil, driver.Settings{"journal_mode": "delete"}, []string{"modernc"}, bulk("insert", 1600_000_000, 1_000_000, 1_000_000))
	said := func() report.Answers { return report.AnswersOf(stats.Analyze(run, "native"), report.Options{}) }
	run.Search = &result.Search{Race: "confirmation", Confirms: true}
	if got, want := said().Text, "This is a part of a search for settings by tune: confirmation, in 8 rounds. In mine insert, cache_size=-65536 is fastest"; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if said().FalseDifference != stats.Alpha {
		t.Error("a confirmation does not have the same FalseDifference as any other run")
	}
	run.Search = &result.Search{Race: "each setting by itself"}
	run.Trials = slices.DeleteFunc(run.Trials, func(x result.Trial) bool { return x.Case == 3 && x.Round > 2 })
	if got, want := said().Text, "This is a race in a search for settings by tune: each setting by itself. It only chose what to measure next: of 3 cases, 2 were measured in all 8 rounds, and the slower ones in fewer. In mine insert, cache_size=-65536 is fastest"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "; 1 row without a rank.") {
		t.Errorf("%s\nwant %s", got, want)
	}
	if said().FalseDifference != 0 {
		t.Error("FalseDifference is not 0, although slow rows were measured in fewer rounds")
	}
	run.Rounds, run.Trials = 4, slices.DeleteFunc(run.Trials, func(x result.Trial) bool { return x.Round > 4 })
	if got := said().Text; !strings.HasSuffix(got, "These are too few rounds to rank anything.") {
		t.Error(got)
	}
	var out struct {
		Run struct{ Search result.Search }
	}
	if err := json.Unmarshal([]byte(write(t, "json", run, "native", document.Options{})), &out); err != nil || out.Run.Search.Race != "each setting by itself" {
		t.Errorf("%+v, %v", out, err)
	}
}
