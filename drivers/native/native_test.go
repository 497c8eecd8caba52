package native_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/drivers/native"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// open returns a connection to a fresh database on which the script has run.
func open(t *testing.T, script string) driver.Conn {
	t.Helper()
	db, err := native.New().Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), driver.Settings{"synchronous": "off"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := c.Script(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	return c
}

func prepare(t *testing.T, c driver.Conn, st driver.Statement) driver.Stmt {
	t.Helper()
	s, err := c.Prepare(t.Context(), st)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func types(list ...driver.Type) (columns []driver.ColumnType) {
	for _, t := range list {
		columns = append(columns, driver.ColumnType{Type: t, Nullable: true})
	}
	return columns
}

// texts returns a column of texts. The value nil stands for NULL.
func texts(values ...any) driver.Column {
	c := driver.Column{Type: driver.Text, Nulls: make([]bool, len(values))}
	for i, v := range values {
		s, ok := v.(string)
		c.Nulls[i] = !ok
		c.Spans = append(c.Spans, driver.Span{Off: uint32(len(c.Data)), Len: uint32(len(s))})
		c.Data = append(c.Data, s...)
	}
	return c
}

func ints(n int) driver.Column {
	c := driver.Column{Type: driver.Int}
	for i := range n {
		c.Ints = append(c.Ints, int64(i))
	}
	return c
}

func select1(t *testing.T, s driver.Stmt, b *driver.Batch, r int) (list []any) {
	t.Helper()
	err := s.Query(t.Context(), b, r, func(row driver.Row) error {
		if row[0].Null {
			list = append(list, nil)
		} else {
			list = append(list, row[0].Text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestPages reads texts and blobs of about the size of a page. It mixes small and large rows so
// that rows begin a page, end a page, or do not fit into a page.
func TestPages(t *testing.T) {
	c := open(t, "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b BLOB)")
	sizes := []int{0, 1, 100, 1023, 1024, 1025, 0, 4096, 16384, 3, 65535, 65536, 65537, 40, 300000, 20000, 50000, 1, 70000}
	a, blobs := []any{}, []any{}
	for i := range 4 * len(sizes) {
		a = append(a, strings.Repeat(string(rune('a'+i%26)), sizes[i%len(sizes)]))
		blobs = append(blobs, strings.Repeat(string(rune('A'+i%26)), sizes[(i*7)%len(sizes)]))
		if i%11 == 10 {
			a[i] = nil
		}
		if i%13 == 12 {
			blobs[i] = nil
		}
	}
	for range 3000 { // adds so many small rows that a page is full because of their number, not their size
		a, blobs = append(a, "x"), append(blobs, "yz")
	}
	b := texts(blobs...)
	b.Type = driver.Blob
	batch := &driver.Batch{Columns: []driver.Column{ints(len(a)), texts(a...), b}, PerExec: 1}
	insert := prepare(t, c, driver.Statement{SQL: "INSERT INTO t VALUES (?, ?, ?)", Params: []driver.Type{driver.Int, driver.Text, driver.Blob}})
	if err := insert.Exec(t.Context(), batch, 0, len(a)); err != nil {
		t.Fatal(err)
	}
	for _, adHoc := range []bool{false, true} {
		q := prepare(t, c, driver.Statement{SQL: "SELECT id, a, b FROM t ORDER BY id", Columns: types(driver.Int, driver.Text, driver.Blob), AdHoc: adHoc})
		for range 2 { // in the second pass, pages have grown
			gotA, gotB := []any{}, []any{}
			err := q.Query(t.Context(), nil, 0, func(row driver.Row) error {
				if row[0].Null || row[0].Int != int64(len(gotA)) {
					return fmt.Errorf("row %d: id %d", len(gotA), row[0].Int)
				}
				gotA, gotB = append(gotA, any(row[1].Text)), append(gotB, any(string(row[2].Blob)))
				for i, list := range [][]any{gotA, gotB} {
					if row[i+1].Null {
						list[len(list)-1] = nil
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range a {
				if gotA[i] != a[i] || gotB[i] != blobs[i] {
					t.Fatalf("row %d: texts equal: %v, blobs equal: %v", i, gotA[i] == a[i], gotB[i] == blobs[i])
				}
			}
		}
	}
}

// TestCopiedAndPinned binds the same rows in small ranges, whose values are copied, and in large
// ranges, whose memory is pinned.
func TestCopiedAndPinned(t *testing.T) {
	const sql = "INSERT INTO t VALUES (?)"
	values := []any{"a", nil, "", strings.Repeat("b", 4096), strings.Repeat("c", 4097), "d", strings.Repeat("e", 3000), strings.Repeat("f", 3000)}
	for i := range 40 {
		values = append(values, fmt.Sprint("row ", i))
	}
	b := &driver.Batch{Columns: []driver.Column{texts(values...)}, PerExec: 1}
	for _, step := range []int{1, 2, 8, 12, 24, 48} {
		for _, adHoc := range []bool{false, true} {
			c := open(t, "CREATE TABLE t (v TEXT)")
			insert := prepare(t, c, driver.Statement{SQL: sql, Params: []driver.Type{driver.Text}, AdHoc: adHoc})
			for lo := 0; lo < len(values); lo += step {
				if err := insert.Exec(t.Context(), b, lo, lo+step); err != nil {
					t.Fatal(err)
				}
			}
			all := prepare(t, c, driver.Statement{SQL: "SELECT v FROM t ORDER BY rowid", Columns: types(driver.Text)})
			if diff := cmp.Diff(values, select1(t, all, nil, 0)); diff != "" {
				t.Errorf("%d rows at a time, ad hoc %v (-want +got):\n%s", step, adHoc, diff)
			}
			echo := prepare(t, c, driver.Statement{SQL: "SELECT ?", Params: []driver.Type{driver.Text}, Columns: types(driver.Text), AdHoc: adHoc})
			for i, v := range values {
				if diff := cmp.Diff([]any{v}, select1(t, echo, b, i)); diff != "" {
					t.Errorf("echo of row %d, ad hoc %v (-want +got):\n%s", i, adHoc, diff)
				}
			}
		}
	}
}

// TestManyParameters tests a statement with more parameters than the driver has room to copy, so
// the driver pins their memory.
func TestManyParameters(t *testing.T) {
	const n = 100
	c := open(t, "CREATE TABLE t (v TEXT)")
	b := &driver.Batch{PerExec: 1}
	params := make([]driver.Type, n)
	want := ""
	for i := range n {
		b.Columns = append(b.Columns, texts(fmt.Sprint(i, " ")))
		params[i] = driver.Text
		want += fmt.Sprint(i, " ")
	}
	echo := prepare(t, c, driver.Statement{SQL: "SELECT " + strings.Repeat("? || ", n-1) + "?", Params: params, Columns: types(driver.Text)})
	if diff := cmp.Diff([]any{want}, select1(t, echo, b, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMisuse passes arguments with which C would access memory out of bounds.
func TestMisuse(t *testing.T) {
	c := open(t, "CREATE TABLE t (v TEXT)")
	insert := prepare(t, c, driver.Statement{SQL: "INSERT INTO t VALUES (?)", Params: []driver.Type{driver.Text}})
	many := make([]any, 20)
	for i := range many {
		many[i] = "text"
	}
	column := texts(many...)
	batch := func(per int, columns ...driver.Column) *driver.Batch {
		return &driver.Batch{Columns: columns, PerExec: per}
	}
	outside := texts(many...)
	outside.Spans[19].Len++
	for name, test := range map[string]struct {
		b      *driver.Batch
		lo, hi int
		want   string
	}{
		"no batch":          {nil, 0, 1, "statement has 1 parameters, but there are no values"},
		"two columns":       {batch(1, column, column), 0, 1, "statement has 1 parameters, but there are 1 rows of 2 values"},
		"nothing per exec":  {batch(0, column), 0, 1, "0 per execution"},
		"too many per exec": {batch(2, column), 0, 2, "2 per execution"},
		"too few rows":      {batch(1, column), 0, 21, "column 0 has 20 rows, but row 20 is asked for"},
		"span outside data": {batch(1, outside), 0, 20, "bad parameter"},
	} {
		err := insert.Exec(t.Context(), test.b, test.lo, test.hi)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %q", name, err, test.want)
		}
	}
	if _, err := c.Prepare(t.Context(), driver.Statement{SQL: "SELECT 1, 2", Columns: types(driver.Int)}); err == nil {
		t.Error("two columns where one is declared: no error")
	}
	if _, err := c.Prepare(t.Context(), driver.Statement{SQL: " -- nothing"}); err == nil {
		t.Error("empty statement: no error")
	}
	err := prepare(t, c, driver.Statement{SQL: "SELECT NULL", Columns: []driver.ColumnType{{Type: driver.Int}}}).
		Query(t.Context(), nil, 0, func(driver.Row) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "column 1 is declared int and holds NULL") {
		t.Errorf("NULL in a column that is declared without NULL: got error %v", err)
	}
}

// TestVisitUsesConnection runs statements during a visit. Every statement may run except the
// statement that is being visited.
func TestVisitUsesConnection(t *testing.T) {
	c := open(t, "CREATE TABLE t (v TEXT)")
	outer := prepare(t, c, driver.Statement{
		SQL:     "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99) SELECT 'row ' || i FROM n",
		Columns: types(driver.Text),
	})
	insert := prepare(t, c, driver.Statement{SQL: "INSERT INTO t VALUES (?)", Params: []driver.Type{driver.Text}})
	count := prepare(t, c, driver.Statement{SQL: "SELECT CAST(count(*) AS TEXT) FROM t", Columns: types(driver.Text)})
	n := 0
	err := outer.Query(t.Context(), nil, 0, func(row driver.Row) error {
		if err := outer.Query(t.Context(), nil, 0, func(driver.Row) error { return nil }); err == nil {
			t.Error("query within its own visit: no error")
		}
		if err := outer.Exec(t.Context(), nil, 0, 0); err == nil {
			t.Error("execution within its own visit: no error")
		}
		if err := insert.Exec(t.Context(), &driver.Batch{Columns: []driver.Column{texts(row[0].Text)}, PerExec: 1}, 0, 1); err != nil {
			return err
		}
		n++
		if got := select1(t, count, nil, 0); got[0] != fmt.Sprint(n) {
			return fmt.Errorf("%v rows, want %d", got[0], n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != 100 {
		t.Errorf("%d rows, want 100", n)
	}
}

// TestCancelBetweenExecutions cancels a range of executions, and expects an interrupt. SQLite does not
// check for interrupts during any of these executions, so the driver must check between them.
func TestCancelBetweenExecutions(t *testing.T) {
	const n = 1000
	c := open(t, "")
	s := prepare(t, c, driver.Statement{SQL: "SELECT 1 WHERE length(hex(?)) = 0", Params: []driver.Type{driver.Blob}})
	b := &driver.Batch{Columns: []driver.Column{{Type: driver.Blob, Data: make([]byte, 1<<20)}}, PerExec: 1}
	for range n {
		b.Columns[0].Spans = append(b.Columns[0].Spans, driver.Span{Len: 1 << 20})
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(10*time.Millisecond, cancel).Stop()
	var e *driver.Error
	if err := s.Exec(ctx, b, 0, n); !errors.Is(err, context.Canceled) && (!errors.As(err, &e) || e.Code != driver.CodeInterrupt) {
		t.Errorf("got error %v, want an interrupt", err)
	}
	if err := s.Exec(t.Context(), b, 0, 10); err != nil {
		t.Errorf("after the interrupt: %v", err)
	}
}
