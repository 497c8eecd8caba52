// Package floor_test compares the driver native, with which reports compare all other drivers, with
// plain C programs. These programs use the same SQLite amalgamation, compiled with the same flags.
// The package also compares the command `sqlite3perf generate`, run with native, with a plain C
// program.
//
//	go test -bench . ./floor
package floor_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sqlite3perf/sqlite3perf/drivers/native"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/estimate"
)

var (
	pairs = flag.Int("pairs", 15, "runs of each program in a benchmark")
	rows  = flag.Int("rows", 1_000_000, "rows in a benchmark")
)

// report is the result that the C program, or the process with the driver native (the native side),
// prints as a line of JSON.
type report struct {
	SQLite   string `json:"sqlite"`
	Rows     int64  `json:"rows"`
	IDs      int64  `json:"ids"`   // sum of all IDs
	Bytes    int64  `json:"bytes"` // number of bytes of all texts
	InsertNS int64  `json:"insert_ns"`
	ScanNS   int64  `json:"scan_ns"`
	Checksum string `json:"checksum"`
}

// asNative is an environment variable. If it is set, this test's executable only runs the driver
// native, in the comparison that the variable names: "floor" or "generate". So the driver runs in a
// separate process, like the C program.
const asNative = "FLOOR_NATIVE"

func TestMain(m *testing.M) {
	var r report
	var err error
	switch os.Getenv(asNative) {
	case "floor":
		r, err = runNative(os.Args[1], os.Args[2])
	case "generate":
		r, err = runGenerate(os.Args[1], os.Args[2], os.Args[3])
	default:
		os.Exit(m.Run())
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "native:", err)
		os.Exit(1)
	}
}

// runNative does the same work as floor.c, but with the driver native.
func runNative(path, rows string) (r report, err error) {
	ctx := context.Background()
	n, err := strconv.Atoi(rows)
	if err != nil {
		return r, err
	}
	b := batch(n)
	db, err := native.New().Open(ctx, path, driver.Settings{"synchronous": "off"})
	if err != nil {
		return r, err
	}
	if err := db.Script(ctx, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL)"); err != nil {
		return r, err
	}
	types := []driver.Type{driver.Int, driver.Text, driver.Text}
	insert, err := db.Prepare(ctx, driver.Statement{SQL: "INSERT INTO t VALUES (?, ?, ?)", Params: types})
	if err != nil {
		return r, err
	}
	runtime.GC()
	start := time.Now()
	tx, err := db.Begin(ctx)
	if err != nil {
		return r, err
	}
	inTx, err := tx.Stmt(ctx, insert)
	if err != nil {
		return r, err
	}
	if err := inTx.Exec(ctx, b, 0, n); err != nil {
		return r, err
	}
	if err := tx.Commit(ctx); err != nil {
		return r, err
	}
	r.InsertNS = time.Since(start).Nanoseconds()
	if err := insert.Close(); err != nil {
		return r, err
	}

	scan, err := db.Prepare(ctx, driver.Statement{SQL: "SELECT id, name, hash FROM t",
		Columns: []driver.ColumnType{{Type: driver.Int}, {Type: driver.Text}, {Type: driver.Text}}})
	if err != nil {
		return r, err
	}
	runtime.GC()
	start = time.Now()
	err = scan.Query(ctx, nil, 0, func(row driver.Row) error {
		r.Rows++
		r.IDs += row[0].Int
		r.Bytes += int64(len(row[1].Text) + len(row[2].Text))
		return nil
	})
	r.ScanNS = time.Since(start).Nanoseconds()
	if err != nil {
		return r, err
	}

	if err := scan.Close(); err != nil {
		return r, err
	}
	all, err := readAll(ctx, db, "SELECT id, name, hash FROM t")
	if err != nil {
		return r, err
	}
	r.SQLite, r.Checksum = all.SQLite, all.Checksum
	runtime.KeepAlive(b) // because the C program also keeps its values in memory
	return r, db.Close()
}

// readAll does the same work as the C function read_all in plain.h, but with the driver native.
func readAll(ctx context.Context, db driver.DB, query string) (r report, err error) {
	sum := fnv.New64a()
	err = visit(ctx, db, query, []driver.Type{driver.Int, driver.Text, driver.Text}, func(row driver.Row) error {
		_ = binary.Write(sum, binary.LittleEndian, row[0].Int) // writing to a hash never fails
		sum.Write([]byte(row[1].Text))
		sum.Write([]byte(row[2].Text))
		r.Rows++
		r.IDs += row[0].Int
		r.Bytes += int64(len(row[1].Text) + len(row[2].Text))
		return nil
	})
	if err != nil {
		return r, err
	}
	r.Checksum = fmt.Sprintf("%016x", sum.Sum64())
	err = visit(ctx, db, "SELECT sqlite_version()", []driver.Type{driver.Text}, func(row driver.Row) error {
		r.SQLite = row[0].Text
		return nil
	})
	return r, err
}

// visit runs a query whose columns have the given types, and calls f for each row.
func visit(ctx context.Context, db driver.DB, query string, types []driver.Type, f func(driver.Row) error) error {
	st := driver.Statement{SQL: query}
	for _, t := range types {
		st.Columns = append(st.Columns, driver.ColumnType{Type: t})
	}
	stmt, err := db.Prepare(ctx, st)
	if err != nil {
		return err
	}
	return errors.Join(stmt.Query(ctx, nil, 0, f), stmt.Close())
}

// batch generates the same rows as floor.c.
func batch(n int) *driver.Batch {
	id, name, hash := driver.Column{Type: driver.Int}, driver.Column{Type: driver.Text}, driver.Column{Type: driver.Text}
	add := func(c *driver.Column, format string, args ...any) {
		off := len(c.Data)
		c.Data = fmt.Appendf(c.Data, format, args...)
		c.Spans = append(c.Spans, driver.Span{Off: uint32(off), Len: uint32(len(c.Data) - off)})
	}
	for i := range uint64(n) {
		id.Ints = append(id.Ints, int64(i)+1)
		add(&name, "name%012d", i+1)
		add(&hash, "%016x%016x%016x%016x", mix(4*i), mix(4*i+1), mix(4*i+2), mix(4*i+3))
	}
	return &driver.Batch{Columns: []driver.Column{id, name, hash}, PerExec: 1}
}

// mix is the random number generator SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// build compiles a C program like cgo compiles mattn's module: with the same amalgamation, the
// module's flags and cgo's own flags, followed by the flags in the parameter "extra".
func build(tb testing.TB, source string, extra ...string) string {
	tb.Helper()
	command := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			tb.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	var module struct {
		Dir                   string
		CgoCFLAGS, CgoLDFLAGS []string
	}
	if err := json.Unmarshal([]byte(command("go", "list", "-json=Dir,CgoCFLAGS,CgoLDFLAGS", "github.com/mattn/go-sqlite3")), &module); err != nil {
		tb.Fatal(err)
	}
	env := strings.Split(command("go", "env", "CC", "CGO_CFLAGS"), "\n")
	out := filepath.Join(tb.TempDir(), "floor")
	args := strings.Fields(env[0])
	args = append(args, strings.Fields(env[1])...)
	args = append(args, module.CgoCFLAGS...)
	args = append(args, extra...)
	args = append(args, "-pthread", "-o", out, filepath.Join("testdata", source), filepath.Join(module.Dir, "sqlite3-binding.c"))
	args = append(args, module.CgoLDFLAGS...)
	args = append(args, "-lm")
	command(args[0], args[1:]...)
	return out
}

// run runs the C program, or this executable with the driver native, on a fresh database, and then
// removes the database. It returns the program's report.
func run(tb testing.TB, program string, env []string, args ...string) report {
	tb.Helper()
	dir, err := os.MkdirTemp(tb.TempDir(), "")
	if err != nil {
		tb.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(program, append([]string{filepath.Join(dir, "floor.db")}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v\n%s", program, err, stderr.String())
	}
	var r report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		tb.Fatalf("%s: %v: %q", program, err, stdout.String())
	}
	if r.InsertNS <= 0 {
		tb.Fatalf("%s: no time: %+v", program, r)
	}
	return r
}

func self(tb testing.TB) string {
	tb.Helper()
	path, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func same(tb testing.TB, c, native report) {
	tb.Helper()
	if diff := cmp.Diff(c, native, cmpopts.IgnoreFields(report{}, "InsertNS", "ScanNS")); diff != "" {
		tb.Fatalf("C program and native differ (-C +native):\n%s", diff)
	}
}

// TestSameRows checks that the C program and the driver native read the same rows. It compiles
// without optimization, which takes a fraction of the time.
func TestSameRows(t *testing.T) {
	const n = 1000
	c := run(t, build(t, "floor.c", "-O0"), nil, strconv.Itoa(n))
	if c.Rows != n || c.IDs != n*(n+1)/2 || c.Bytes != n*80 {
		t.Fatalf("C program: got %d rows with %d bytes, sum of ids %d", c.Rows, c.Bytes, c.IDs)
	}
	ours := run(t, self(t), []string{asNative + "=floor"}, strconv.Itoa(n))
	same(t, c, ours)
	if c.ScanNS <= 0 || ours.ScanNS <= 0 {
		t.Errorf("not timed: C program %+v, native %+v", c, ours)
	}
}

// BenchmarkFloor reports the ratios of the driver native's wall times to those of the C program,
// for inserting rows and for reading them.
func BenchmarkFloor(b *testing.B) {
	c, n := build(b, "floor.c"), strconv.Itoa(*rows)
	for b.Loop() {
		theirs, ours := compare(b, c, "floor", n)
		ratio(b, "insert", theirs, ours, func(r report) int64 { return r.InsertNS })
		ratio(b, "scan", theirs, ours, func(r report) int64 { return r.ScanNS })
		b.ReportMetric(0, "ns/op") // hides ns/op, which has no meaning here
	}
}

// compare runs the C program and the driver native in pairs. Each run is a fresh process on a fresh
// database. The order within a pair is random.
func compare(b *testing.B, program, native string, args ...string) (theirs, ours []report) {
	random := rand.New(rand.NewPCG(1, 2))
	for range *pairs {
		sides := []func(){
			func() { theirs = append(theirs, run(b, program, nil, args...)) },
			func() { ours = append(ours, run(b, self(b), []string{asNative + "=" + native}, args...)) },
		}
		first := random.IntN(2)
		sides[first]()
		sides[1-first]()
		same(b, theirs[len(theirs)-1], ours[len(ours)-1])
	}
	return theirs, ours
}

// ratio reports the median of the pairs' ratios, with its 95% interval. A ratio is the time of the
// driver native divided by the time of the C program.
func ratio(b *testing.B, what string, theirs, ours []report, ns func(report) int64) {
	var c, native []float64
	for i := range theirs {
		c, native = append(c, float64(ns(theirs[i]))/1e6), append(native, float64(ns(ours[i]))/1e6)
	}
	r := estimate.Ratios(native, c)
	b.Logf("%s: %d pairs; C program %v ms, native %v ms; ratio %v", what, len(c), estimate.Of(c), estimate.Of(native), r)
	b.ReportMetric(r.Median, what+"-ratio")
	b.ReportMetric(r.Low, what+"-ratio-lo")
	b.ReportMetric(r.High, what+"-ratio-hi")
}
