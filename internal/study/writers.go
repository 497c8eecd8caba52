package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
)

var writers = &Study{
	Name:      "writers",
	Asks:      "concurrent writes and \"database is locked\": sizes of rows, writers, a mutex",
	Published: "Go benchmarks of mattn of 1 s or 10 s each, once",
	Rounds:    6,
	had:       []string{"mattn"},
	timed:     true,
	legs:      writersLegs(),
	quick: func(c *cells) string {
		return fmt.Sprintf("each benchmark lasts %d ms instead of 1 s or 10 s, with 1, 4, 32 and 256 writers only, except that lock errors are counted in one trial of 6 s with 256 writers; if there is too little time for all drivers, "+
			"those that are not in the study are measured at 1,000 and 1,000,000 bytes with synchronous=normal, and with 32 writers in parallel without a mutex", c.one("writers-parallel", duration))
	},
	tables: writersTables,
	claims: []claim{
		{text: "synchronous=normal is about 3 times faster than full for small rows", over: fixed(writersBySync([]int64{10, 100, 1000}, 3*(1-margin), 3*(1+margin))...)},
		{text: "full and normal are equal for rows of 1 MB and more", over: fixed(writersBySync([]int64{1_000_000, 10_000_000}, 1-equal, 1+equal)...)},
		{text: "70,000 to 100,000 write transactions a second for typical rows at normal", over: fixed(comparison{what: "one writer, 1000 bytes, normal", m: opsPerS, x: figureOf(writersSized("normal", 1000)), atLeast: 70_000, atMost: 100_000})},
		{text: "at 100 and more writers without a mutex, parallel, there is either a sharp drop or \"database is locked\"", anyOf: true, over: func(c *cells) []comparison {
			return writersCollapse(c, "parallel")
		}},
		{text: "at 100 and more writers without a mutex, concurrent, there is either a sharp drop or \"database is locked\"", anyOf: true, over: func(c *cells) []comparison {
			return writersCollapse(c, "concurrent")
		}},
		{text: "a mutex keeps the rate flat to 256 writers", over: func(*cells) []comparison {
			low, high := about(1)
			return document.Map([]string{"parallel-mutex", "concurrent-mutex"}, func(w string) comparison {
				return comparison{what: w + ", normal: time per write, 256 writers / 1", m: nsPerOp,
					x: figureOf(writersKey(w, "normal", 256)), y: figureOf(writersKey(w, "normal", 1)), atLeast: low, atMost: high}
			})
		}},
		{text: "a mutex ends the errors", over: func(c *cells) []comparison {
			var list []comparison
			for _, w := range []string{"parallel-mutex", "concurrent-mutex"} {
				for _, sync := range []string{"full", "normal"} {
					list = append(list, comparison{what: fmt.Sprintf("%s, %s, 256 writers: lock errors", w, sync), m: lockErrors,
						x: figureOf(c.counted(writersKey(w, sync, 256))), count: true})
				}
			}
			return list
		}},
		{text: "a read before each write costs little (at most 1.5 times the write under the mutex alone)", over: fixed(document.Map([]int64{1, 32, 256}, func(n int64) comparison {
			return comparison{what: fmt.Sprintf("%d writers: read and write / write", n), m: nsPerOp,
				x: figureOf(writersKey("read-write", "normal", n)), y: figureOf(writersKey("concurrent-mutex", "normal", n)), atMost: 1.5}
		})...)},
	},
}

var (
	writersFull   = map[string]string{"synchronous": "full"}
	writersNormal = map[string]string{"synchronous": "normal"}
)

// writersLegs returns the legs of the study, each in the corrected and in the published form. In the
// published form the pool keeps only two idle connections. Only drivers that are used through database/sql
// have such a pool, so only these drivers are measured.
func writersLegs() []leg {
	two := func(settings map[string]string) map[string]string {
		return map[string]string{"synchronous": settings["synchronous"], "pool_idle": "2"}
	}
	sizes, one, none := map[string][]int64{"size": {1_000, 1_000_000}}, map[string][]int64{"writers": {32}}, map[string][]int64{"writers": {}}
	legs := []leg{
		{workload: "sizes.yaml", settings: writersFull, fewer: map[string][]int64{"size": {}}},
		{workload: "sizes.yaml", settings: writersNormal, fewer: sizes},
		{workload: "parallel.yaml", settings: writersNormal, fewer: one},
		{workload: "concurrent.yaml", settings: writersNormal, fewer: none},
		{workload: "parallel-mutex.yaml", settings: writersFull, fewer: none},
		{workload: "parallel-mutex.yaml", settings: writersNormal, fewer: none},
		{workload: "concurrent-mutex.yaml", settings: writersFull, fewer: none},
		{workload: "concurrent-mutex.yaml", settings: writersNormal, fewer: none},
		{workload: "read-write.yaml", settings: writersNormal, fewer: none},
	}
	// SQLite waits five seconds for a lock, so only longer phases have lock errors.
	locked := map[string][]int64{"writers": {256}, duration: {6_000}}
	for _, w := range []string{"parallel", "concurrent", "parallel-mutex", "concurrent-mutex"} {
		for _, sync := range []map[string]string{writersFull, writersNormal} {
			if strings.HasSuffix(w, "-mutex") || sync["synchronous"] == "normal" {
				legs = append(legs, leg{workload: w + ".yaml", settings: sync, quick: locked, on: had("mattn")})
			}
		}
	}
	for i := range legs {
		asPublished := legs[i]
		asPublished.form, asPublished.settings = publishedOnly, two(legs[i].settings)
		if asPublished.on == nil {
			asPublished.on = databaseSQL
		}
		legs[i].form = correctedOnly
		legs = append(legs, asPublished)
	}
	few := map[string][]int64{"writers": {32, 256}}
	return append(legs,
		leg{workload: "parallel.yaml", settings: two(writersNormal), form: correctedOnly, on: databaseSQL,
			parameters: map[string][]int64{"writers": {32, 256}, duration: {10_000}}, quick: few, fewer: none},
		leg{workload: "parallel-retry.yaml", settings: writersNormal, form: correctedOnly, fewer: none})
}

func writersSized(sync string, size int64) key {
	return key{workload: "writers-sizes", phase: "write", driver: "mattn", settings: map[string]string{"synchronous": sync}}.at("size", size)
}

// writersKey returns the key of the cell that measures a workload with the given value of the setting
// synchronous and the given number of writers. The key does not say how many idle connections the
// cell's pool keeps. The method "pooled" adds that.
func writersKey(workload, sync string, writers int64) key {
	return key{workload: "writers-" + workload, phase: "write", driver: "mattn", nth: map[string]int{duration: -1},
		settings: map[string]string{"synchronous": sync}}.at("writers", writers)
}

func (k key) pooled(idle string) key {
	s := map[string]string{"pool_idle": idle}
	maps.Copy(s, k.settings)
	k.settings = s
	return k
}

// writersCollapse returns comparisons that find a collapse with 100 or more writers. A collapse is
// a drop to half of one writer's rate or less, or any lock errors.
func writersCollapse(c *cells, workload string) []comparison {
	var list []comparison
	for _, n := range c.values("writers-"+workload, "writers") {
		if n < 100 {
			continue
		}
		list = append(list, comparison{what: fmt.Sprintf("%s: time per write, %d writers / 1", workload, n), m: nsPerOp,
			x: figureOf(writersKey(workload, "normal", n)), y: figureOf(writersKey(workload, "normal", 1)), atLeast: 2},
			comparison{what: fmt.Sprintf("%s, %d writers: lock errors", workload, n), m: lockErrors, x: figureOf(c.counted(writersKey(workload, "normal", n))), count: true, atLeast: 1})
	}
	return list
}

func writersBySync(sizes []int64, atLeast, atMost float64) []comparison {
	return document.Map(sizes, func(n int64) comparison {
		return comparison{what: fmt.Sprintf("%d bytes: full / normal", n), m: nsPerOp,
			x: figureOf(writersSized("full", n)), y: figureOf(writersSized("normal", n)), atLeast: atLeast, atMost: atMost}
	})
}

var writersBenchmarks = []struct{ name, workload string }{
	{"BenchmarkWriteDifferentSizes", "sizes"},
	{"BenchmarkWriteParallelWithoutMutex", "parallel"},
	{"BenchmarkWriteConcurrentWithoutMutex", "concurrent"},
	{"BenchmarkWriteParallelWithMutex", "parallel-mutex"},
	{"BenchmarkWriteConcurrentWithMutex", "concurrent-mutex"},
	{"BenchmarkReadAndWriteConcurrentWithoutMutex", "read-write"},
}

var writersColumns = []column{{"here", nsPerOp, median}, {"here", opsPerS, justMedian}, {"p99", p99, justMedian}, {"locked", lockErrors, total}, {"waited", lockWait, total}}

func writersTables(c *cells) []report.StudyTable {
	kept := either(c, "", "2") // value of the setting pool_idle: "", or "2" in the published form
	var tables []report.StudyTable
	for _, b := range writersBenchmarks {
		t := c.table(report.StudyTable{Title: b.name, Labels: []string{"benchmark", "driver"},
			Columns: []report.StudyColumn{{Title: "published n", Published: true}, {Title: "published", Unit: "ns/op", Published: true}},
			Corrected: either(c, []string{
				"every connection of the pool stays open while it is idle",
				"an operation that a lock fails is counted by its extended code, with the time it took, and ends nothing",
			}, []string{
				"the pool keeps Go's default of 2 idle connections",
			}),
			Notes: either(c, nil, []string{"not reproduced: that the first lock error ends the benchmark, since that leaves no figure"})}, writersColumns...)
		if b.workload == "read-write" {
			t.Corrected = append(t.Corrected, either(c, []string{"the row that is read is decoded"}, nil)...)
			t.Notes = append(t.Notes, either(c, nil, []string{"nor that the read goes through Exec, which decodes no row"})...)
		}
		for _, row := range publishedFigures("writers").where("benchmark", b.name) {
			f := figures{row}
			sync := row["synchronous"]
			k := key{workload: "writers-" + b.workload, phase: "write", settings: map[string]string{"synchronous": sync}}.pooled(kept)
			name := sync
			switch {
			case row["size"] != "":
				n := number(strings.TrimSuffix(row["size"], "b"))
				k, name = k.at("size", n), name+"/"+row["size"]
			default:
				n := row["gomaxprocs"] + row["concurrency"] // only one of the two columns has a value
				k, name = k.at("writers", number(n)), name+"/"+n
			}
			k.nth = map[string]int{duration: -1}
			if row["benchtime"] == "1s" {
				k.nth, name = map[string]int{duration: 0}, name+" (1s)"
				if len(c.values(k.workload, duration)) == 1 { // only the longer phase was measured, so an index of 1 finds no cell
					k.nth = map[string]int{duration: 1}
				}
			}
			for _, d := range c.driversOf("writers-"+b.workload, "mattn") {
				if !sameDriver("mattn", d) && !c.planned(k.on(d)) {
					continue
				}
				none := report.StudyFigure{Text: "-"}
				n, took := none, none
				if sameDriver("mattn", d) {
					n, took = given(f.number("iterations")), given(f.number("ns_per_op"))
					if row["error"] != "" {
						took = report.StudyFigure{Text: row["error"]}
					}
				}
				t.add(k.on(d), []string{name, d}, n, took)
				if long := c.counted(k.on(d)); long.once {
					t.add(long, []string{name + " for " + c.lasts(long), d}, none, none)
				}
			}
		}
		t.lockNote()
		tables = append(tables, t.StudyTable)
	}
	if c.asPublished {
		return tables
	}
	return append(tables, c.idleTable().StudyTable, c.retryTable().StudyTable)
}

// idleTable returns the table that shows the costs of a pool that keeps only two idle
// connections.
func (c *cells) idleTable() *table {
	t := c.table(report.StudyTable{Title: "What two idle connections cost, Go's default: parallel, without mutex, normal", Labels: []string{"writers", "idle connections", "driver"}},
		writersColumns...)
	for _, n := range []int64{32, 256} {
		for _, keep := range []string{"", "2"} {
			name := keep
			if keep == "" {
				name = "all"
			}
			for _, d := range c.driversOf("writers-parallel", "mattn") {
				if !c.planned(writersKey("parallel", "normal", n).pooled("2").on(d)) {
					continue
				}
				if k := writersKey("parallel", "normal", n).pooled(keep).on(d); c.planned(k) {
					t.add(k, []string{fmt.Sprint(n), name, d})
				}
			}
		}
	}
	t.lockNote()
	return t
}

// retryTable returns the table that shows the effect of retries without a busy timeout.
func (c *cells) retryTable() *table {
	t := c.table(report.StudyTable{Title: "Ten attempts 1, 2, 4 … ms apart, without a busy timeout: parallel, normal", Labels: []string{"writers", "driver"}},
		append(slices.Clip(writersColumns), column{"retries", retries, total})...)
	for _, n := range c.values("writers-parallel-retry", "writers") {
		for _, d := range c.driversOf("writers-parallel-retry", "mattn") {
			if k := writersKey("parallel-retry", "normal", n).on(d); c.planned(k) {
				t.add(k, []string{fmt.Sprint(n), d})
			}
		}
	}
	t.lockNote()
	return t
}
