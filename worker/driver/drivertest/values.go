package drivertest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

const valueTable = "DROP TABLE IF EXISTS v; CREATE TABLE v (id INTEGER PRIMARY KEY, v)"

func valueChecks() []Check {
	return []Check{
		roundTrip("int", "int", driver.Int, "integer", int64(0), int64(1), int64(-1), int64(127), int64(1<<53-1), int64(1-1<<53)),
		roundTrip("large int", "int=large", driver.Int, "integer", int64(1<<53+1), int64(math.MaxInt64), int64(math.MinInt64)),
		roundTrip("real", "real", driver.Real, "real", 0.0, 1.5, -2.25, 3.0, 1e-300, math.MaxFloat64, -math.MaxFloat64,
			math.SmallestNonzeroFloat64),
		roundTrip("infinite real", "real=infinite", driver.Real, "real", math.Inf(1), math.Inf(-1)),
		roundTrip("text", "text", driver.Text, "text", "a", "Ünïcödé 世界 🎉", "'quoted' \"text\"; --", strings.Repeat("long ", 1000), " "),
		roundTrip("text like a literal", "text=literal", driver.Text, "text", "x'00ff'", "NULL", "1", "1e3"),
		roundTrip("empty text", "text=empty", driver.Text, "text", ""),
		roundTrip("text with NUL", "text=nul", driver.Text, "text", "a\x00b", "\x00"),
		roundTrip("blob", "blob", driver.Blob, "blob", []byte{0}, []byte{0xff, 0, 1}, bytes.Repeat([]byte{1, 2, 3, 0}, 1000)),
		roundTrip("empty blob", "blob=empty", driver.Blob, "blob", []byte{}),
		roundTrip("bool", "bool", driver.Bool, "integer", true, false),
		roundTrip("time", "time", driver.Time, "integer", time.UnixMilli(0), time.UnixMilli(1700000000123),
			time.UnixMilli(-1), time.UnixMilli(-62135596800000), time.UnixMilli(253402300799999)),
		roundTrip("large text", "text=large", driver.Text, "text", strings.Repeat("0123456789abcdef", 1<<20)),
		roundTrip("large blob", "blob=large", driver.Blob, "blob", bytes.Repeat([]byte("\x000123456789abcde"), 1<<20)),
		{Name: "values/negative zero", Key: "real=-0", Test: on(nil, "", negativeZero)},
		{Name: "values/NULL", Test: inEveryWay(nil, wideTable, nulls)},
		{Name: "values/a row's cells are its own", Test: on(nil, wideTable, reusedCells)},
		{Name: "values/texts outlive the visit", Test: on(nil, "", textsOutlive)},
		{Name: "values/of another class than declared", Key: "blob=expression", Test: on(nil, "", otherClass)},
		{Name: "values/an integer is a real number", Test: on(nil, "", integerAsReal)},
		{Name: "values/of columns of which nothing is known", Key: "columns=any", Test: inEveryWay(nil, "", func(r runner) { readAny(r, false) })},
		{Name: "values/texts of columns of which nothing is known", Key: "any=text", Test: inEveryWay(nil, "", func(r runner) { readAny(r, true) })},
		{Name: "values/times are not converted to another zone", Test: on(nil, "", localTimes)},
	}
}

// roundTrip returns a check that writes values and reads them back unchanged. The parameter "stored"
// is the type that SQLite must report for the values, such as "integer". The values are inserted as
// one batch, and also passed through a SELECT one by one.
func roundTrip(name, key string, t driver.Type, stored string, values ...any) Check {
	list := make([][]any, len(values))
	for i, v := range values {
		list[i] = []any{int64(i), v}
	}
	return Check{Name: "values/" + name, Key: key, Test: inEveryWay(nil, valueTable, func(r runner) { storeAndLoad(r, t, stored, list) })}
}

func storeAndLoad(r runner, t driver.Type, stored string, list [][]any) {
	types := []driver.Type{driver.Int, t}
	b := batch(types, list...)
	within("insert", func() { r.exec("INSERT INTO v (id, v) VALUES (?, ?)", b) })
	within("stored as another type than "+stored, func() {
		r.want("SELECT count(*) FROM v WHERE typeof(v) = '"+stored+"'", int64(len(list)))
	})
	for _, nullable := range []bool{false, true} {
		cols := []driver.ColumnType{{Type: driver.Int}, {Type: t, Nullable: nullable}}
		within(fmt.Sprintf("select as %v", cols[1]), func() {
			r.wantRows(driver.Statement{SQL: "SELECT id, v FROM v ORDER BY id", Columns: cols}, nil, 0, list)
		})
		echo := driver.Statement{SQL: "SELECT ?, ?", Params: types, Columns: cols}
		for i := range list {
			within(fmt.Sprintf("echo as %v", cols[1]), func() { r.wantRows(echo, b, i, list[i:i+1]) })
		}
	}
}

// negativeZero binds and reads -0. It does not store -0, because SQLite would store it as 0.
func negativeZero(x *db) {
	list := [][]any{{math.Copysign(0, -1)}}
	types := []driver.Type{driver.Real}
	x.wantRows(driver.Statement{SQL: "SELECT ?", Params: types, Columns: columns(types...)}, batch(types, list...), 0, list)
}

const wideTable = "DROP TABLE IF EXISTS w; CREATE TABLE w (i, r, t, b BLOB, o, m)"

var (
	wideTypes  = []driver.Type{driver.Int, driver.Real, driver.Text, driver.Blob, driver.Bool, driver.Time}
	insertWide = "INSERT INTO w VALUES (?, ?, ?, ?, ?, ?)"
)

func selectWide() driver.Statement {
	st := driver.Statement{SQL: "SELECT i, r, t, b, o, m FROM w ORDER BY rowid", Columns: columns(wideTypes...)}
	for i := range st.Columns {
		st.Columns[i].Nullable = true
	}
	return st
}

func wideRow() []any {
	return []any{int64(7), 1.25, "text", []byte("blob"), true, time.UnixMilli(1700000000456)}
}

func nulls(r runner) {
	list := [][]any{make([]any, len(wideTypes))}
	for i := range wideTypes { // each row has one NULL fewer than the row before
		row := wideRow()
		clear(row[i+1:])
		list = append(list, row)
	}
	r.exec(insertWide, batch(wideTypes, list...))
	r.want("SELECT sum((i IS NULL) + (r IS NULL) + (t IS NULL) + (b IS NULL) + (o IS NULL) + (m IS NULL)) FROM w", 21)
	r.wantRows(selectWide(), nil, 0, list)
}

// reusedCells reads full rows and NULL rows in turn. No row may show values of the row before.
func reusedCells(x *db) {
	full, none := wideRow(), make([]any, len(wideTypes))
	list := [][]any{full, none, full, none, full}
	x.exec(insertWide, batch(wideTypes, list...))
	x.wantRows(selectWide(), nil, 0, list)
}

// readAny reads a result without declared columns. Each value must be read with the type that it
// has in SQLite. Unless the parameter "texts" is true, a text may be read as a blob.
func readAny(r runner, texts bool) {
	list := [][]any{
		{int64(7), 1.5, "text", []byte{0, 255}, nil},
		{nil, int64(-1), "", []byte{}, "7"},
		{"a\u00fc", nil, 0.0, int64(0), []byte("blob")},
	}
	types := []driver.Type{driver.Int, driver.Real, driver.Text, driver.Blob, 0, 0, driver.Int, driver.Text, driver.Blob, driver.Text, driver.Text, 0, driver.Real, driver.Int, driver.Blob}
	st := driver.Statement{
		SQL: "VALUES (7, 1.5, 'text', x'00ff', NULL), (NULL, -1, '', x'', '7'), ('a\u00fc', NULL, 0.0, 0, x'626c6f62')", AnyColumns: true,
	}
	for range 2 { // the statement is prepared twice
		var got [][]any
		var seen []driver.Type
		r.prepare(st, func(s stmt) {
			must(s.Query(s.ctx, nil, 0, func(row driver.Row) error {
				var values []any
				for _, c := range row {
					if c.Null {
						c.Type = 0
					} else if t := types[min(len(seen), len(types)-1)]; !texts && t == driver.Text && c.Type == driver.Blob {
						c.Type, c.Text = t, string(c.Blob)
					}
					seen, values = append(seen, c.Type), append(values, valueOf(c, c.Type))
				}
				got = append(got, values)
				return nil
			}))
		})
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", list) || !slices.Equal(seen, types) {
			fatalf("read %q of the types %v, want %q of %v", got, seen, list, types)
		}
	}
}

// localTimes checks that times are in the local time zone, in which time.UnixMilli returns them.
// Otherwise a conversion to another zone would be measured, but only with some drivers.
func localTimes(x *db) {
	for _, nullable := range []bool{false, true} {
		for _, row := range x.rows("SELECT 1700000000456", driver.ColumnType{Type: driver.Time, Nullable: nullable}) {
			if got, want := row[0].(time.Time).Location(), time.UnixMilli(0).Location(); got != want {
				fatalf("a time in the zone %v, want %v", got, want)
			}
		}
	}
}

func textsOutlive(x *db) {
	list := make([][]any, 1000)
	for i := range list {
		list[i] = []any{fmt.Sprintf("text of row %d", i)}
	}
	x.wantRows(driver.Statement{SQL: "SELECT 'text of row ' || i FROM (" + numbers(1000) + ")", Columns: columns(driver.Text)}, nil, 0, list)
}

// otherClass reads values of each SQLite type in columns of each declared type. A
// [driver.TypeCheck] must find the values that have a wrong type, and their rows. The query itself
// may report or convert such values.
func otherClass(x *db) {
	literals := map[string]string{"integer": "7", "real": "1.5", "text": "'abc'", "blob": "x'00ff'", "null": "NULL"}
	var errs []error
	for _, t := range wideTypes {
		for _, nullable := range []bool{false, true} {
			column := driver.ColumnType{Type: t, Nullable: nullable}
			right := literals[column.Classes()[0]]
			for _, class := range slices.Sorted(maps.Keys(literals)) {
				sql := fmt.Sprintf("SELECT 1, %s UNION ALL SELECT ?, %s -- a comment", right, literals[class])
				if err := try(func() { readOther(x, sql, class, column) }); err != nil {
					errs = append(errs, fmt.Errorf("%s declared %v: %w", literals[class], column, err))
				}
			}
		}
	}
	must(errors.Join(errs...))
}

// readOther reads a result of two rows. Column 2 of the second row has a value whose type in SQLite
// is the parameter "class".
func readOther(x *db, sql, class string, column driver.ColumnType) {
	st := driver.Statement{SQL: sql, Params: intPair[:1], Columns: []driver.ColumnType{{Type: driver.Int}, column}}
	b := ints(int64(2))
	check, err := driver.NewTypeCheck(x.ctx, x, st)
	must(err)
	finally(func() {
		var want error
		if !slices.Contains(column.Classes(), class) {
			want = &driver.TypeError{Row: 2, Column: 2, Declared: column, Got: class}
		}
		if found := check.Check(x.ctx, nil, b, 0); fmt.Sprint(found) != fmt.Sprint(want) {
			fatalf("the check of types found %v, want %v", found, want)
		}
		if want == nil {
			x.query(st, b)
			return
		}
		x.prepare(st, func(s stmt) {
			err := s.Query(x.ctx, b, 0, ignore)
			e, ok := errors.AsType[*driver.TypeError](err)
			if err != nil && !ok {
				fatalf("the query returned %w, want the value converted, or a *driver.TypeError", err)
			}
			if e != nil && e.Column != 2 {
				fatalf("the query says %w, want column 2", err)
			}
		})
	}, check.Close)
}

// integerAsReal reads integers from a column declared as Real. SQLite may return integers in such a
// column, for example from coalesce(sum(x), 0).
func integerAsReal(x *db) {
	for _, nullable := range []bool{false, true} {
		x.wantRows(driver.Statement{
			SQL: "SELECT total(1) UNION ALL SELECT 0 UNION ALL SELECT -7", Columns: []driver.ColumnType{{Type: driver.Real, Nullable: nullable}},
		}, nil, 0, [][]any{{1.0}, {0.0}, {-7.0}})
	}
}
