package original

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

var (
	pairs = flag.Int("job-pairs", 15, "pairs in the benchmarks of jobs")
	rows  = flag.Int("job-rows", 0, "rows in the benchmarks of jobs (default: as each says)")
)

// Comparison compares a driver's jobs with the loops of the original program. The loops use the
// driver that is registered with database/sql as sqlite3, which must be
// github.com/mattn/go-sqlite3.
type Comparison struct{ Driver driver.Driver }

// cores are settings with one pooled connection for each core.
var cores = driver.Settings{"pool_size": strconv.Itoa(runtime.NumCPU())}

// settings are the settings of the jobs' databases. The constant "options" has the same settings
// for the loops' databases.
var settings = driver.Settings{"journal_mode": "wal", "synchronous": "off"}

const options = "?_journal=wal&_sync=0"

// Run does a job on the database at path.
func (c Comparison) Run(ctx context.Context, path string, j protocol.Job, s driver.Settings) (r *protocol.JobResult, err error) {
	db, err := c.Driver.Open(ctx, path, s)
	if err != nil {
		return nil, err
	}
	d := &job.Database{DB: db, Path: path, Settings: s, Seed: 1, Proof: &protocol.Proof{}}
	r, err = job.Run(ctx, &j, d, func(protocol.Progress) {})
	return r, errors.Join(err, db.Close())
}

// BenchmarkGenerate fills a table of a million rows with a prepared statement. It alternates
// the original loop and the job, each on a new database, and reports the ratio of the job's
// rows per second to the loop's.
func (c Comparison) BenchmarkGenerate(b *testing.B, batch int) {
	n := cmp.Or(*rows, 1_000_000)
	for b.Loop() {
		var p pairing
		for i := range *pairs {
			p.run(b, i, func(path string) float64 {
				db, err := sql.Open("sqlite3", path+options)
				check(b, err)
				took, err := Generate(db, n, batch)
				check(b, errors.Join(err, db.Close()))
				return float64(n) / took.Seconds()
			}, func(path string) float64 {
				r, err := c.Run(b.Context(), path, generate(n, batch), settings)
				check(b, err)
				if r.Generate.Rows != int64(n) {
					b.Fatalf("got %d rows, want %d", r.Generate.Rows, n)
				}
				return float64(n) / (float64(r.Generate.WallNS) / 1e9)
			})
		}
		p.report(b, "rows/s")
	}
}

// BenchmarkBench verifies a table of 1.5 million rows, alternating the original loop and the job.
// It reports the ratio of the job's time per row to the loop's, and the longest time until the
// job's first row.
func (c Comparison) BenchmarkBench(b *testing.B, pipeline bool) {
	n := cmp.Or(*rows, 1_500_000)
	path := filepath.Join(b.TempDir(), "bench.db")
	_, err := c.Run(b.Context(), path, generate(n, 100), settings)
	check(b, err)
	for b.Loop() {
		var p pairing
		first := int64(0)
		for i := range *pairs {
			p.run(b, i, func(string) float64 {
				db, err := sql.Open("sqlite3", path)
				check(b, err)
				check(b, db.Ping())
				got, took, err := Verify(db)
				check(b, errors.Join(err, db.Close()))
				if got != int64(n) {
					b.Fatalf("got %d rows, want %d", got, n)
				}
				return float64(took) / float64(n)
			}, func(string) float64 {
				r, err := c.Run(b.Context(), path, protocol.Job{Bench: &protocol.Bench{Table: "bench", Pipeline: pipeline}}, cores)
				check(b, err)
				if r.Bench.Rows != int64(n) || r.Bench.Mismatches != 0 {
					b.Fatalf("%d rows of %d, %d mismatches", r.Bench.Rows, n, r.Bench.Mismatches)
				}
				first = max(first, r.Bench.FirstRowNS)
				return float64(r.Bench.WallNS) / float64(n)
			})
		}
		p.report(b, "ns/row")
		b.ReportMetric(float64(first)/1e6, "first-row-max-ms")
	}
}

// generate returns the job that fills the table.
func generate(rows, batch int) protocol.Job {
	return protocol.Job{Generate: &protocol.Generate{Table: "bench", Rows: int64(rows), Batch: batch, Prepared: true}}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// pairing has the results of all pairs: for each pair, one figure and one CPU time of the
// original loop, and one figure and one CPU time of the job. CPU times include opening and
// closing the database.
type pairing struct{ original, job, originalCPU, jobCPU []float64 }

// run runs the original loop and the job one after the other, each with a new path. For even i
// the loop is first, for odd i the job.
func (p *pairing) run(b *testing.B, i int, original, job func(path string) float64) {
	side := func(f func(path string) float64, figures, cpu *[]float64) {
		dir, err := os.MkdirTemp(b.TempDir(), "")
		check(b, err)
		var watch worker.Stopwatch
		watch.Start()
		*figures = append(*figures, f(filepath.Join(dir, "test.db")))
		watch.Stop()
		var used protocol.Sample
		watch.Read(&used)
		*cpu = append(*cpu, float64(used.UserNS+used.SystemNS))
		check(b, os.RemoveAll(dir)) // otherwise the system might write the files to disk during the next measurement
	}
	for k := range 2 {
		if (i+k)%2 == 0 {
			side(original, &p.original, &p.originalCPU)
		} else {
			side(job, &p.job, &p.jobCPU)
		}
	}
}

// report reports two ratios of the job to the original loop: of the measured figure, and of the CPU
// time. Each ratio is the median over all pairs of runs, with its 95 % interval.
func (p *pairing) report(b *testing.B, unit string) {
	ratio, cpu := estimate.Ratios(p.job, p.original), estimate.Ratios(p.jobCPU, p.originalCPU)
	b.Logf("%d pairs; original %v, job %v %s; ratio %v; CPU time, ratio %v", len(p.job),
		estimate.Of(p.original), estimate.Of(p.job), unit, ratio, cpu)
	b.ReportMetric(estimate.Of(p.original).Median, "original-"+unit)
	b.ReportMetric(estimate.Of(p.job).Median, "job-"+unit)
	b.ReportMetric(ratio.Median, "ratio")
	b.ReportMetric(ratio.Low, "ratio-lo")
	b.ReportMetric(ratio.High, "ratio-hi")
	b.ReportMetric(cpu.Median, "cpu-ratio")
	b.ReportMetric(0, "ns/op") // without this call, the benchmark would report ns/op, which is not a useful figure here
}

// inChild is the environment variable that makes the test's executable do the work of Child.
// Its value is the number of rows.
const inChild = "SQLITE3PERF_GENERATE_ROWS"

// Child does nothing unless the function "peak" has started this process. Otherwise it fills the
// table, prints the peak memory of the process and exits. A TestMain calls Child before anything
// else.
func (c Comparison) Child() {
	n, err := strconv.Atoi(os.Getenv(inChild))
	if err != nil {
		return
	}
	if _, err := c.Run(context.Background(), os.Args[1], generate(n, 100), settings); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	data, _ := os.ReadFile("/proc/self/status")
	_, data, _ = bytes.Cut(data, []byte("VmHWM:"))
	fmt.Println(string(bytes.Fields(data)[0]))
	os.Exit(0)
}

// peak returns the peak memory, in MiB, of a new process that fills a table.
func peak(tb testing.TB, rows int) float64 {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skip("the peak of a process's memory is read from /proc")
	}
	self, err := os.Executable()
	check(tb, err)
	dir, err := os.MkdirTemp(tb.TempDir(), "")
	check(tb, err)
	defer os.RemoveAll(dir)
	cmd := exec.Command(self, filepath.Join(dir, "memory.db"))
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", inChild, rows))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	check(tb, err)
	kib, err := strconv.ParseFloat(string(bytes.TrimSpace(out)), 64)
	check(tb, err)
	return kib / 1024
}

// TestMemory checks that memory does not grow with the number of rows. Eight times as many
// rows, whose text is 70 MB larger, may take at most 8 MiB more memory.
func (c Comparison) TestMemory(t *testing.T) {
	few, many := peak(t, 100_000), peak(t, 800_000)
	if many-few > 8 {
		t.Errorf("peak memory with 100,000 rows: %.1f MiB, with 800,000 rows: %.1f MiB, want at most 8 MiB more", few, many)
	}
}

// BenchmarkMemory reports the peak memory of a process that fills a table of ten million rows.
func (c Comparison) BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		n := cmp.Or(*rows, 10_000_000)
		begin := time.Now()
		b.ReportMetric(peak(b, n), "peak-MiB")
		b.ReportMetric(float64(n)/time.Since(begin).Seconds(), "rows/s")
		b.ReportMetric(0, "ns/op") // without this call, the benchmark would report ns/op, which is not a useful figure here
	}
}
