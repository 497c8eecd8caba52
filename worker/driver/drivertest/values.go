package drivertest

import (
	"bytes"
	"context"
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
		{Name: "values/of columns of which nothing is known", Key: "columns=any", Test: inEveryWay(nil, "", anyColumns(false))},
		{Name: "values/texts of columns of which nothing is known", Key: "any=text", Test: inEveryWay(nil, "", anyColumns(true))},
		{Name: "values/times are not converted to another zone", Test: on(nil, "", localTimes)},
	}
}

// roundTrip checks that values are stored as SQLite's type named stored and are read
// back unchanged, one by one and in one batch, in every way to run a statement.
func roundTrip(name, key string, t driver.Type, stored string, values ...any) Check {
	list := make([][]any, len(values))
	for i, v := range values {
		list[i] = []any{int64(i), v}
	}
	return Check{Name: "values/" + name, Key: key, Test: inEveryWay(nil, valueTable, func(ctx context.Context, r driver.Runner, adHoc bool) error {
		return storeAndLoad(ctx, r, adHoc, t, stored, list)
	})}
}

// everyWay runs f on the pool and on a connection, ad hoc and prepared, with a
// context that can be canceled and with one that cannot.
func everyWay(ctx context.Context, x *db, f func(ctx context.Context, r driver.Runner, adHoc bool) error) error {
	for _, adHoc := range []bool{false, true} {
		for _, ctx := range []context.Context{ctx, context.WithoutCancel(ctx)} {
			if err := f(ctx, x.DB, adHoc); err != nil {
				return fmt.Errorf("on the pool, ad hoc %v, cancellable %v: %w", adHoc, ctx.Done() != nil, err)
			}
			if err := withConn(ctx, x.DB, func(c driver.Conn) error { return f(ctx, c, adHoc) }); err != nil {
				return fmt.Errorf("on a connection, ad hoc %v, cancellable %v: %w", adHoc, ctx.Done() != nil, err)
			}
		}
	}
	return nil
}

func storeAndLoad(ctx context.Context, r driver.Runner, adHoc bool, t driver.Type, stored string, list [][]any) error {
	types := []driver.Type{driver.Int, t}
	b := batch(types, list...)
	insert := driver.Statement{SQL: "INSERT INTO v (id, v) VALUES (?, ?)", Params: types, AdHoc: adHoc}
	if err := withStmt(ctx, r, insert, func(s driver.Stmt) error { return s.Exec(ctx, b, 0, len(list)) }); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	if err := want(ctx, r, "SELECT count(*) FROM v WHERE typeof(v) = '"+stored+"'", int64(len(list))); err != nil {
		return fmt.Errorf("stored as another type than %s: %w", stored, err)
	}
	for _, nullable := range []bool{false, true} {
		cols := []driver.ColumnType{{Type: driver.Int}, {Type: t, Nullable: nullable}}
		all := driver.Statement{SQL: "SELECT id, v FROM v ORDER BY id", Columns: cols, AdHoc: adHoc}
		if err := wantRows(ctx, r, all, nil, 0, list); err != nil {
			return fmt.Errorf("select as %v: %w", cols[1], err)
		}
		echo := driver.Statement{SQL: "SELECT ?, ?", Params: types, Columns: cols, AdHoc: adHoc}
		for i := range list {
			if err := wantRows(ctx, r, echo, b, i, list[i:i+1]); err != nil {
				return fmt.Errorf("echo as %v: %w", cols[1], err)
			}
		}
	}
	return nil
}

// negativeZero is bound and read without being stored: SQLite stores it as 0.
func negativeZero(ctx context.Context, x *db) error {
	list := [][]any{{math.Copysign(0, -1)}}
	types := []driver.Type{driver.Real}
	st := driver.Statement{SQL: "SELECT ?", Params: types, Columns: columns(types...)}
	return wantRows(ctx, x, st, batch(types, list...), 0, list)
}

func allTypes() (types []driver.Type, nullable []driver.ColumnType) {
	for t := driver.Int; t <= driver.Time; t++ {
		types = append(types, t)
		nullable = append(nullable, driver.ColumnType{Type: t, Nullable: true})
	}
	return types, nullable
}

const wideTable = "DROP TABLE IF EXISTS w; CREATE TABLE w (i, r, t, b BLOB, o, m)"

func wideRow() []any {
	return []any{int64(7), 1.25, "text", []byte("blob"), true, time.UnixMilli(1700000000456)}
}

func nulls(ctx context.Context, r driver.Runner, adHoc bool) error {
	types, nullable := allTypes()
	list := [][]any{make([]any, len(types))}
	for i := range types { // one NULL fewer in each row
		row := wideRow()
		clear(row[i+1:])
		list = append(list, row)
	}
	insert := driver.Statement{SQL: "INSERT INTO w VALUES (?, ?, ?, ?, ?, ?)", Params: types, AdHoc: adHoc}
	err := withStmt(ctx, r, insert, func(s driver.Stmt) error { return s.Exec(ctx, batch(types, list...), 0, len(list)) })
	if err != nil {
		return err
	}
	if err := want(ctx, r, "SELECT sum((i IS NULL) + (r IS NULL) + (t IS NULL) + (b IS NULL) + (o IS NULL) + (m IS NULL)) FROM w", 21); err != nil {
		return err
	}
	all := driver.Statement{SQL: "SELECT i, r, t, b, o, m FROM w ORDER BY rowid", Columns: nullable, AdHoc: adHoc}
	return wantRows(ctx, r, all, nil, 0, list)
}

// reusedCells reads full rows and NULL rows in turn: what one row leaves in a
// Row must not show in the next.
func reusedCells(ctx context.Context, x *db) error {
	types, nullable := allTypes()
	full, none := wideRow(), make([]any, len(types))
	list := [][]any{full, none, full, none, full}
	if err := exec(ctx, x, "INSERT INTO w VALUES (?, ?, ?, ?, ?, ?)", batch(types, list...)); err != nil {
		return err
	}
	return wantRows(ctx, x, driver.Statement{SQL: "SELECT i, r, t, b, o, m FROM w ORDER BY rowid", Columns: nullable}, nil, 0, list)
}

// anyColumns reads a result of which nothing was declared: each value is of its own
// class, row by row. Unless texts is true, a text may be read as a blob.
func anyColumns(texts bool) func(ctx context.Context, r driver.Runner, adHoc bool) error {
	return func(ctx context.Context, r driver.Runner, adHoc bool) error {
		return readAny(ctx, r, adHoc, texts)
	}
}

func readAny(ctx context.Context, r driver.Runner, adHoc, texts bool) error {
	list := [][]any{
		{int64(7), 1.5, "text", []byte{0, 255}, nil},
		{nil, int64(-1), "", []byte{}, "7"},
		{"a\u00fc", nil, 0.0, int64(0), []byte("blob")},
	}
	types := []driver.Type{driver.Int, driver.Real, driver.Text, driver.Blob, 0, 0, driver.Int, driver.Text, driver.Blob, driver.Text, driver.Text, 0, driver.Real, driver.Int, driver.Blob}
	st := driver.Statement{
		SQL: "VALUES (7, 1.5, 'text', x'00ff', NULL), (NULL, -1, '', x'', '7'), ('a\u00fc', NULL, 0.0, 0, x'626c6f62')", AnyColumns: true, AdHoc: adHoc,
	}
	for range 2 { // prepared, and then again
		var got [][]any
		var seen []driver.Type
		err := withStmt(ctx, r, st, func(s driver.Stmt) error {
			return s.Query(ctx, nil, 0, func(row driver.Row) error {
				var values []any
				for i := range row {
					c := &row[i]
					if c.Null {
						seen, values = append(seen, 0), append(values, nil)
						continue
					}
					if t := types[min(len(seen), len(types)-1)]; !texts && t == driver.Text && c.Type == driver.Blob {
						c.Type, c.Text = t, string(c.Blob)
					}
					seen = append(seen, c.Type)
					switch c.Type {
					case driver.Int:
						values = append(values, c.Int)
					case driver.Real:
						values = append(values, c.Real)
					case driver.Text:
						values = append(values, c.Text)
					case driver.Blob:
						values = append(values, bytes.Clone(c.Blob))
					}
				}
				got = append(got, values)
				return nil
			})
		})
		if err != nil {
			return err
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", list) || !slices.Equal(seen, types) {
			return fmt.Errorf("read %q of the types %v, want %q of %v", got, seen, list, types)
		}
	}
	return nil
}

// localTimes expects times as time.UnixMilli returns them. Otherwise the work of
// converting them would be measured with one driver and not with another.
func localTimes(ctx context.Context, x *db) error {
	for _, nullable := range []bool{false, true} {
		st := driver.Statement{SQL: "SELECT 1700000000456", Columns: []driver.ColumnType{{Type: driver.Time, Nullable: nullable}}}
		got, err := query(ctx, x, st, nil, 0)
		if err != nil {
			return err
		}
		for _, row := range got {
			if got, want := row[0].(time.Time).Location(), time.UnixMilli(0).Location(); got != want {
				return fmt.Errorf("a time in the zone %v, want %v", got, want)
			}
		}
	}
	return nil
}

func textsOutlive(ctx context.Context, x *db) error {
	sql := "SELECT 'text of row ' || i FROM (" + numbers(1000) + ")"
	list := make([][]any, 1000)
	for i := range list {
		list[i] = []any{fmt.Sprintf("text of row %d", i)}
	}
	return wantRows(ctx, x, driver.Statement{SQL: sql, Columns: columns(driver.Text)}, nil, 0, list)
}

// otherClass reads values of each class as each type. The check of types must find
// values of another class than declared, and say where they are. The query itself
// either reports them too or converts them; nothing else may go wrong.
func otherClass(ctx context.Context, x *db) error {
	literals := map[string]string{"integer": "7", "real": "1.5", "text": "'abc'", "blob": "x'00ff'", "null": "NULL"}
	var errs []error
	for t := driver.Int; t <= driver.Time; t++ {
		for _, nullable := range []bool{false, true} {
			column := driver.ColumnType{Type: t, Nullable: nullable}
			right := literals[column.Classes()[0]]
			for _, class := range slices.Sorted(maps.Keys(literals)) {
				sql := fmt.Sprintf("SELECT 1, %s UNION ALL SELECT ?, %s -- a comment", right, literals[class])
				err := readOther(ctx, x, sql, class, driver.ColumnType{Type: driver.Int}, column)
				if err != nil {
					errs = append(errs, fmt.Errorf("%s declared %v: %w", literals[class], column, err))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// readOther checks and reads a result whose second row has a value of a class in its
// second column.
func readOther(ctx context.Context, x *db, sql, class string, columns ...driver.ColumnType) (err error) {
	st := driver.Statement{SQL: sql, Params: []driver.Type{driver.Int}, Columns: columns}
	b := batch(st.Params, []any{int64(2)})
	check, err := driver.NewTypeCheck(ctx, x, st)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, check.Close()) }()
	var want error
	if !slices.Contains(columns[1].Classes(), class) {
		want = &driver.TypeError{Row: 2, Column: 2, Declared: columns[1], Got: class}
	}
	found := check.Check(ctx, nil, b, 0)
	if fmt.Sprint(found) != fmt.Sprint(want) {
		return fmt.Errorf("the check of types found %v, want %v", found, want)
	}
	if want == nil {
		_, err := query(ctx, x, st, b, 0)
		return err
	}
	err = withStmt(ctx, x, st, func(s driver.Stmt) error {
		return s.Query(ctx, b, 0, func(driver.Row) error { return nil })
	})
	e, ok := errors.AsType[*driver.TypeError](err)
	if err != nil && !ok {
		return fmt.Errorf("the query returned %w, want the value converted, or a *driver.TypeError", err)
	}
	if e != nil && e.Column != 2 {
		return fmt.Errorf("the query says %w, want column 2", err)
	}
	return nil
}

// integerAsReal reads integers as reals, which loses nothing. The sum of no rows is an
// integer.
func integerAsReal(ctx context.Context, x *db) error {
	for _, nullable := range []bool{false, true} {
		st := driver.Statement{
			SQL: "SELECT total(1) UNION ALL SELECT 0 UNION ALL SELECT -7", Columns: []driver.ColumnType{{Type: driver.Real, Nullable: nullable}},
		}
		if err := wantRows(ctx, x, st, nil, 0, [][]any{{1.0}, {0.0}, {-7.0}}); err != nil {
			return err
		}
	}
	return nil
}
