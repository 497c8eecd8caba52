package floor_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/native"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job/original"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// sizeOfRow is how many bytes a row's texts have.
const sizeOfRow = 16 + 64

// runGenerate does the same work as generate.c, by running the job "generate". The job generates
// its own values, so runGenerate does not read the file in the parameter "values". It only computes
// the number of rows from the size of that file.
func runGenerate(path, values, batch string) (r report, err error) {
	ctx := context.Background()
	info, err := os.Stat(values)
	if err != nil {
		return r, err
	}
	size, err := strconv.Atoi(batch)
	if err != nil {
		return r, err
	}
	took, err := generate(ctx, path, info.Size()/sizeOfRow, size)
	if err != nil {
		return r, err
	}
	db, err := native.New().Open(ctx, path, nil)
	if err != nil {
		return r, err
	}
	r, err = readAll(ctx, db, "SELECT ID, rand, hash FROM bench")
	r.InsertNS = took
	return r, errors.Join(err, db.Close())
}

// generate runs the job "generate" with the driver native on the database at path. It returns the
// time of the INSERTs in nanoseconds.
func generate(ctx context.Context, path string, rows int64, batch int) (ns int64, err error) {
	r, err := original.Comparison{Driver: native.New()}.Run(ctx, path, protocol.Job{Generate: &protocol.Generate{
		Table: "bench", Rows: rows, Batch: batch, Prepared: true,
	}}, driver.Settings{"journal_mode": "wal", "synchronous": "off"})
	if err != nil {
		return 0, err
	}
	return r.Generate.WallNS, nil
}

// The function "values" runs the job "generate", writes the texts of the generated table to a file,
// and returns the file's name.
func values(tb testing.TB, rows int) string {
	tb.Helper()
	dir := tb.TempDir()
	f, err := os.Create(filepath.Join(dir, "values"))
	if err != nil {
		tb.Fatal(err)
	}
	out := bufio.NewWriter(f)
	write := func() error {
		ctx, path := tb.Context(), filepath.Join(dir, "values.db")
		if _, err := generate(ctx, path, int64(rows), 100); err != nil {
			return err
		}
		db, err := native.New().Open(ctx, path, nil)
		if err != nil {
			return err
		}
		err = visit(ctx, db, "SELECT rand, hash FROM bench ORDER BY ID", []driver.Type{driver.Text, driver.Text}, func(row driver.Row) error {
			n, err := out.WriteString(row[0].Text + row[1].Text)
			if err == nil && n != sizeOfRow {
				err = fmt.Errorf("a row of %d bytes", n)
			}
			return err
		})
		return errors.Join(err, db.Close(), os.Remove(path))
	}
	if err := errors.Join(write(), out.Flush(), f.Close()); err != nil {
		tb.Fatal(err)
	}
	return f.Name()
}

func TestSoakSameGenerated(t *testing.T) {
	const n = 2000
	c, file := build(t, "generate.c", "-O0"), values(t, n)
	for _, batch := range []string{"100", "1000"} {
		theirs := run(t, c, nil, file, batch)
		if theirs.Rows != n || theirs.IDs != n*(n-1)/2 || theirs.Bytes != n*sizeOfRow {
			t.Fatalf("C program: %+v", theirs)
		}
		same(t, theirs, run(t, self(t), []string{asNative + "=generate"}, file, batch))
	}
}

// BenchmarkGenerate reports the wall time of the INSERTs of the job "generate", divided by the wall
// time of the C program's INSERTs. The C program has its values ready before it starts.
func BenchmarkGenerate(b *testing.B) {
	c, file := build(b, "generate.c"), values(b, *rows)
	for _, batch := range []string{"100", "1000"} {
		b.Run("batch="+batch, func(b *testing.B) {
			for b.Loop() {
				theirs, ours := compare(b, c, "generate", file, batch)
				ratio(b, "insert", theirs, ours, func(r report) int64 { return r.InsertNS })
				b.ReportMetric(0, "ns/op") // hides ns/op, which has no meaning here
			}
		})
	}
}
