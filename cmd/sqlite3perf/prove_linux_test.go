package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// proofs is the workload that the tests TestProve… measure. Its phases take some milliseconds.
const proofs = `name: proofs
about: Rows in and out, for the proofs of verdicts.
settings: {journal_mode: wal, synchronous: off}
scales: {full: {n: 20000}, quick: {n: 20000}}
schema: CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL)
rows:
  t: {count: $n, columns: {id: serial, name: {text: 20}}}
phases:
  - {name: insert, insert: t}
  - name: query
    query: SELECT id, name FROM t ORDER BY id
    columns: [int, text]
    expect: {rows: $n, returns: t}
`

func init() {
	for name, share := range map[string]float64{"undelayed": 0, "undelayed2": 0, "slower2": 0.02, "slower5": 0.05, "slower10": 0.1} {
		workers[name] = func() { worker.Main(&slower{honest(), share}) }
	}
}

// slower is a driver whose statements take longer: their time grows by the fraction "share". It also reads
// the clock at each row, which takes time. So it is compared with the same driver with a share of 0.
type slower struct {
	driver.Driver
	share float64
}

func (d *slower) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	db, err := d.Driver.Open(ctx, path, s)
	if err != nil {
		return nil, err
	}
	return &wrappedDB{db, wrappedRunner{db, d.wrap}}, nil
}

func (d *slower) wrap(st driver.Stmt, _ driver.Statement) driver.Stmt {
	return &slowerStmt{st, d.share}
}

type slowerStmt struct {
	driver.Stmt
	share float64
}

// spend uses the CPU for a fraction, s.share, of the given time.
func (s *slowerStmt) spend(ran time.Duration) {
	if s.share == 0 {
		return
	}
	end := time.Now().Add(time.Duration(s.share * float64(ran)))
	for time.Now().Before(end) {
	}
}

func (s *slowerStmt) Exec(ctx context.Context, b *driver.Batch, lo, hi int) error {
	begin := time.Now()
	err := s.Stmt.Exec(ctx, b, lo, hi)
	s.spend(time.Since(begin))
	return err
}

// pausing is a limit for the time to visit a row. If a visit takes longer, the worker has waited
// during the visit for its next turn to measure.
const pausing = 200 * time.Microsecond

// Query makes the statement slower by the fraction s.share of its time. The time in which the
// worker waits for its next turn does not count.
func (s *slowerStmt) Query(ctx context.Context, b *driver.Batch, r int, visit func(driver.Row) error) error {
	begin := time.Now()
	var paused time.Duration
	err := s.Stmt.Query(ctx, b, r, func(row driver.Row) error {
		at := time.Now()
		err := visit(row)
		if took := time.Since(at); took > pausing {
			paused += took
		}
		return err
	})
	s.spend(time.Since(begin) - paused)
	return err
}

// proved runs a command once. Under make prove, it runs the command as many times as the number in
// TEST_TIMES, multiplied by the parameter "multiple". Each run has another seed. The function "has"
// reports whether an output has the property that a test looks for. Under make prove, commands that
// end without a decision don't count, and the test fails if these are more than a tenth. proved
// returns how many of the counted outputs have the property, and how many outputs count.
func proved(t *testing.T, p *place, multiple int, has func(out []byte) bool, args ...string) (n, of int) {
	t.Helper()
	p.write("proofs.yaml", proofs, 0o644)
	runs := 1
	if proving() {
		runs = multiple * times(t, 1)
	}
	undecided, begin := 0, time.Now()
	for i := range runs {
		cmd := p.command(append(args, "--workloads", "./proofs.yaml", "--seed", strconv.Itoa(i), "--format", "json", "--quiet")...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		code := cmd.ProcessState.ExitCode()
		switch {
		case code == cli.ExitIncomplete && proving():
			undecided++
			continue
		case code != cli.ExitOK && code != cli.ExitRegression && code != cli.ExitIncomplete:
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		if of++; has(out) {
			n++
		}
		if proving() { // the runs take hours
			t.Logf("%d of %d so far, after %s", n, of, time.Since(begin).Round(time.Second))
		}
	}
	if 10*undecided > runs {
		t.Errorf("%d of %d led to no decision, want at most a tenth: the machine does other work", undecided, runs)
	}
	return n, of
}

// proving reports whether make prove is running. The figures of the tests count only under make
// prove.
func proving() bool { return os.Getenv("TEST_TIMES") != "" }

// parallelUnlessProving lets a test run at the same time as others, except under make prove,
// where its figures count.
func parallelUnlessProving(t *testing.T) {
	t.Helper()
	if !proving() {
		t.Parallel()
	}
}

// said looks for the given verdicts in a comparison. The result "some" says that at least one cell
// (phase) has one of these verdicts. The result "all" says that every cell has one.
func said(t *testing.T, out []byte, verdicts ...stats.Verdict) (some, all bool) {
	t.Helper()
	all = true
	for _, cell := range sides(t, out).Cells {
		is := false
		for _, v := range verdicts {
			is = is || cell.Verdict == v
		}
		some, all = some || is, all && is
	}
	return some, all
}

// sides parses a comparison of two cells.
func sides(t *testing.T, out []byte) (c compare.JSONSides) {
	t.Helper()
	if err := json.Unmarshal(out, &c); err != nil || len(c.Cells) != 2 {
		t.Fatalf("%d cells: %v\n%s", len(c.Cells), err, out)
	}
	return c
}

// TestProveEqual compares a driver with itself. At most 1 % of the comparisons may call a phase
// slower or faster.
func TestProveEqual(t *testing.T) {
	parallelUnlessProving(t)
	wrong, of := proved(t, newPlace(t), 2, func(out []byte) bool {
		some, _ := said(t, out, stats.Slower, stats.Faster)
		return some
	}, "compare", "./good", "./better", "--time", "5s")
	t.Logf("%d of %d comparisons of equal sides have a false verdict", wrong, of)
	if wrong > max(1, of/100) { // if there are few comparisons, one may be wrong by chance
		t.Errorf("%d of %d, want at most 1 %%", wrong, of)
	}
}

// TestProveGate compares a driver with itself in a gate. No gate may fail.
func TestProveGate(t *testing.T) {
	parallelUnlessProving(t)
	limit := "8s"
	if proving() {
		limit = "20s"
	}
	shut, of := proved(t, newPlace(t), 2, func(out []byte) bool {
		var g gate.JSONGate
		if err := json.Unmarshal(out, &g); err != nil || len(g.Cells) == 0 {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, c := range g.Cells {
			if c.State == stats.GateRegression {
				return true
			}
		}
		return false
	}, "gate", "--baseline", "./good", "--drivers", "./better", "--time", limit)
	t.Logf("%d of %d gates of equal sides failed", shut, of)
	if shut > 0 {
		t.Errorf("%d of %d, want none", shut, of)
	}
}

// TestProvePower compares a driver with two slower drivers. The first spends 5 % more time per operation, and
// is compared for at most 20 s. The second spends 2 % more, and is compared for at most 90 s with a smaller
// margin. At least 95 % of the comparisons must call the slower driver slower. For the query, the true ratio
// of the two drivers' times is known, because they differ in nothing else. At least 95 % of the intervals
// must contain this ratio.
func TestProvePower(t *testing.T) {
	if !proving() {
		parallelUnlessProving(t)
		testPower(t, "slower5", 1.05, "--time", "3s") // without make prove, the test only checks that the command runs
		return
	}
	t.Run("slower5", func(t *testing.T) { testPower(t, "slower5", 1.05, "--time", "20s") })
	t.Run("slower2", func(t *testing.T) { testPower(t, "slower2", 1.02, "--time", "90s", "--margin", "1%") })
}

func testPower(t *testing.T, driver string, ratio float64, flags ...string) {
	t.Helper()
	contained := 0
	found, of := proved(t, newPlace(t), 1, func(out []byte) bool {
		for _, c := range sides(t, out).Cells {
			if c.Phase == "query" && c.Ratio != nil && c.Ratio.Interval != nil && c.Ratio.Interval.Low <= ratio && ratio <= c.Ratio.Interval.High {
				contained++
			}
		}
		_, all := said(t, out, stats.Slower)
		return all
	}, append([]string{"compare", "./undelayed", "./" + driver}, flags...)...)
	if !proving() {
		return
	}
	t.Logf("found slower in %d of %d comparisons; %d intervals contain %v", found, of, contained, ratio)
	if most := max(1, of/20); of-found > most || of-contained > most { // if there are few comparisons, one may miss by chance
		t.Error("want at least 95 % of the comparisons and of the intervals")
	}
}

// TestProveBisect searches 29 releases, as the command bisect does, for the first release in which a
// driver spends 10 % more time per operation. The search must find it each time, and need at most 6
// releases.
func TestProveBisect(t *testing.T) {
	parallelUnlessProving(t)
	p := newPlace(t)
	p.write("proofs.yaml", proofs, 0o644)
	var releases []string
	for i := range 29 {
		releases = append(releases, fmt.Sprintf("v1.0.%d", i))
	}
	limit := "3s" // without make prove, the test only checks that the command runs
	if proving() {
		limit = "5m"
	}
	o := &bisectOptions{}
	flags := pflag.NewFlagSet("bisect", pflag.ContinueOnError)
	o.addFlags(flags)
	if err := flags.Parse([]string{"--workloads", filepath.Join(p.dir, "proofs.yaml"), "--phase", "query", "--time", limit, "--quiet",
		"--store", filepath.Join(p.dir, "results.db"), "--dir", filepath.Join(p.dir, "databases")}); err != nil {
		t.Fatal(err)
	}
	o.drivers, o.sided = []string{filepath.Join(p.dir, "undelayed2")}, true
	r, err := o.check(t.Context(), &cli.Environment{})
	if err != nil {
		t.Fatal(err)
	}
	env := cli.ProcessEnvironment()
	env.Stdout, env.Stderr = io.Discard, io.Discard
	env.Catch = func() <-chan os.Signal { return nil }
	begin := time.Now()
	for i := range min(times(t, 1), 20) {
		from := 1 + i*5%28
		needed := map[string]bool{}
		m := &measurement{env: env.Printing(), o: o, r: r, told: true}
		m.ref = func(ctx context.Context, release string) (build.Ref, error) {
			needed[release] = true
			name := "undelayed"
			switch at := slices.Index(releases, release); {
			case at == 0:
				name = "undelayed2"
			case at >= from:
				name = "slower10"
			}
			return build.ParseRef(ctx, filepath.Join(p.dir, name), r.Known)
		}
		s := bisect.Search{Releases: releases, Margin: r.margin, Phase: o.phase, Measure: m.compare}
		s.End = func(step *bisect.Step) { t.Log(bisect.StepWords(step)) }
		found, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: good %s, bad %s, %d builds, after %s", releases[from], found.Good, found.Bad, len(needed), time.Since(begin).Round(time.Second))
		if proving() && (found.Bad != releases[from] || !found.Certain() || len(needed) > 6) {
			t.Errorf("want %s and at most 6 builds", releases[from])
		}
	}
}

// TestProveFidelity compares the time that a library takes in its worker with the time that it
// takes in a handwritten program, which calls the library directly (the packages
// drivers/NAME/byhand). A comparison interleaves and verifies the trials of both. A handwritten
// program can't pause between slices, and executes a query only once. So the test sets --prepare:
// with this flag, the worker doesn't pause either, and executes a query only once. The addresses of
// functions, which the linker chooses, change times by some percent. So both programs are built with
// several layouts of functions, and the mean of the layouts' ratios counts.
func TestProveFidelity(t *testing.T) {
	if testing.Short() {
		t.Skip("builds workers")
	}
	parallelUnlessProving(t)
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	drivers, layouts, flags := []string{"zombiezen"}, 1, []string{"--scale", "0.005", "--rounds", "6"} // without make prove, the test only checks that the commands run
	if proving() {
		drivers, layouts, flags = []string{"mattn", "zombiezen", "modernc"}, 12, []string{"--scale", "quick", "--rounds", "20"}
	}
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			// Sums over the layouts, by cell: the sum of the ratios' logarithms, and the sum of the
			// squares of half their intervals.
			logs, squares := map[string]float64{}, map[string]float64{}
			for layout := 1; layout <= layouts; layout++ {
				for _, cell := range fidelity(t, p, filepath.Join(source.Root, "drivers", driver), layout, flags...) {
					if cell.FirstState != result.OK || cell.SecondState != result.OK || cell.Ratio == nil {
						t.Errorf("%s: by hand %s, by the tool %s", cell.TableName, cell.FirstState, cell.SecondState)
						continue
					}
					if !proving() {
						continue
					}
					r, name := cell.Ratio, cell.String()
					half := math.Log(r.Interval.High/r.Interval.Low) / 2
					logs[name] += math.Log(r.Median)
					squares[name] += half * half
					t.Logf("layout %d, %s: %.3f [%.3f, %.3f] times the program written by hand, in %d rounds", layout, name, r.Median, r.Interval.Low, r.Interval.High, r.N)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(logs)) {
				mean, half := logs[name]/float64(layouts), math.Sqrt(squares[name])/float64(layouts)
				low, high := math.Exp(mean-half), math.Exp(mean+half)
				t.Logf("%s: %.3f [%.3f, %.3f] times the program written by hand, the geometric mean of %d layouts", name, math.Exp(mean), low, high, layouts)
				if ratio := math.Exp(mean); ratio < 0.97 || ratio > 1.05 {
					t.Errorf("%s: %.3f, want 0.97 to 1.05", name, ratio)
				}
			}
		})
	}
}

// fidelity builds a driver's worker and its handwritten program with one order of functions, and
// compares them.
func fidelity(t *testing.T, p *place, module string, layout int, flags ...string) []compare.JSONSideCell {
	t.Helper()
	args := []string{"compare"}
	for _, pkg := range []string{"byhand", "worker"} {
		out := filepath.Join(p.dir, fmt.Sprintf("%s-%s-%d", filepath.Base(module), pkg, layout))
		build := exec.Command("go", "build", fmt.Sprintf("-ldflags=-randlayout=%d", layout), "-o", out, "./"+pkg)
		build.Dir, build.Env = module, append(os.Environ(), "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", build.Args, err, out)
		}
		args = append(args, out)
	}
	cmd := p.command(append(append(args, "--workloads", "simple,complex", "--prepare", "true", "--seed", "1", "--format", "json", "--quiet"), flags...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	var c compare.JSONSides
	if err := json.Unmarshal(out, &c); err != nil || len(c.Cells) != 4 {
		t.Fatalf("%d cells: %v\n%s", len(c.Cells), err, out)
	}
	return c.Cells
}
