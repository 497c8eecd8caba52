package drivertest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

const (
	intTable = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)"
	intRow   = intTable + "; INSERT INTO t VALUES (1, 1)"
	newTable = "DROP TABLE IF EXISTS t; " + intTable
)

func statementChecks() []Check {
	return []Check{
		{Name: "statements/script", Test: on(nil, commented, scripts)},
		{Name: "statements/long script", Test: alone(longScript)},
		{Name: "statements/script that ends in a comment", Key: "script=trailing comment", Test: on(nil, intTable+"; /* one */ -- two", isEmpty)},
		{Name: "statements/ranges of rows", Test: inEveryWay(nil, newTable, ranges)},
		{Name: "statements/many rows per execution", Test: inEveryWay(nil, "DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT)", manyRows)},
		{Name: "statements/no parameters", Test: inEveryWay(nil, newTable, noParameters)},
		{Name: "statements/rows affected", Test: inEveryWay(nil, newTable, rowsAffected)},
		{Name: "statements/rows affected in a transaction", Key: "transactions=reads", Test: inEveryWay(nil, newTable, affectedInTransaction)},
		{Name: "statements/last insert ID", Key: "last insert ID", Test: inEveryWay(nil, newTable, lastInsertID)},
		{Name: "statements/query with a row", Test: on(nil, intTable, queryRow)},
		{Name: "statements/result without rows", Test: inEveryWay(nil, newTable, noRows)},
		{Name: "statements/columns that are not declared", Key: "columns=count", Test: inEveryWay(nil, newTable+"; INSERT INTO t VALUES (1, 2)", undeclaredColumns)},
		{Name: "statements/100,000 rows", Test: on(nil, intTable, readToEnd)},
		{Name: "statements/visit error", Test: inEveryWay(nil, newTable, visitError)},
		{Name: "statements/reuse after an error", Test: inEveryWay(nil, newTable, reuseAfterError)},
		{Name: "statements/shared by goroutines", Test: on(driver.Settings{
			"pool_size": "4", "busy_timeout": "60000", "journal_mode": "wal", "synchronous": "off",
		}, intTable, sharedStatement)},
	}
}

const commented = `
	-- The first comment; with a semicolon.
	CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
	INSERT INTO t VALUES (1, 10);
	SELECT * FROM t;
	INSERT INTO t VALUES (2, 20), (3, 30);
`

func scripts(x *db) {
	within("script on the pool", func() { x.want("SELECT sum(n) FROM t", 60) })
	within("script with an error in the middle", func() {
		wantCode("script", driver.CodeError, func() { x.script("DELETE FROM t; INSERT INTO absent VALUES (1); INSERT INTO t VALUES (9, 9)") })
		x.want("SELECT count(*) FROM t", 0)
	})
	x.conn(func(c runner) {
		c.script("INSERT INTO t VALUES (1, 1); INSERT INTO t VALUES (2, 2);")
		c.want("SELECT count(*) FROM t", 2)
	})
}

func isEmpty(x *db) { x.want("SELECT count(*) FROM t", 0) }

var intPair = []driver.Type{driver.Int, driver.Int}

var (
	insertPair = driver.Statement{SQL: "INSERT INTO t VALUES (?, ?)", Params: intPair}

	allPairs = driver.Statement{SQL: "SELECT id, n FROM t ORDER BY id", Columns: columns(intPair...)}
	getPair  = driver.Statement{SQL: "SELECT id, n FROM t WHERE id = ? AND n = ?", Params: intPair, Columns: columns(intPair...)}
)

// pairs returns n rows (i, 10·i), beginning with i = 0.
func pairs(n int) [][]any {
	list := make([][]any, n)
	for i := range list {
		list[i] = []any{int64(i), int64(10 * i)}
	}
	return list
}

// ints returns a batch whose rows have one parameter each, an integer or NULL.
func ints(values ...any) *driver.Batch {
	rows := make([][]any, len(values))
	for i := range values {
		rows[i] = values[i : i+1]
	}
	return batch(intPair[:1], rows...)
}

func ranges(r runner) {
	p := pairs(10)
	b := batch(intPair, p...)
	r.prepare(insertPair, func(s stmt) {
		s.exec(b, 2, 5)
		s.exec(b, 5, 5)
		s.exec(b, 9, 10)
	})
	r.wantRows(allPairs, nil, 0, [][]any{p[2], p[3], p[4], p[9]})
}

func manyRows(r runner) {
	types := []driver.Type{driver.Int, driver.Text}
	var list [][]any
	for i := range 12 {
		list = append(list, []any{int64(i), fmt.Sprint("s", i)})
	}
	b := batch(types, list...)
	b.PerExec = 3
	insert := driver.Statement{SQL: "INSERT INTO t VALUES (?, ?), (?, ?), (?, ?)", Params: slices.Repeat(types, 3)}
	r.prepare(insert, func(s stmt) { s.exec(b, 3, 12) })
	r.wantRows(driver.Statement{SQL: "SELECT id, s FROM t ORDER BY id", Columns: columns(types...)}, nil, 0, list[3:])
}

func noParameters(r runner) {
	r.prepare(driver.Statement{SQL: "INSERT INTO t (n) VALUES (1)"}, func(s stmt) {
		s.once()
		s.once()
	})
	r.want("SELECT count(*) FROM t", 2)
}

var updateBelow = driver.Statement{SQL: "UPDATE t SET n = n + 1 WHERE id < ?", Params: intPair[:1]}

func rowsAffected(r runner) {
	r.exec(insertPair.SQL, batch(intPair, pairs(10)...))
	two := ints(int64(1), int64(2))
	two.PerExec = 2
	r.prepare(updateBelow, func(update stmt) {
		r.prepare(driver.Statement{SQL: "INSERT INTO t (n) VALUES (?), (?)", Params: intPair}, func(insert stmt) {
			r.prepare(driver.Statement{SQL: "DELETE FROM t WHERE n < 0 OR id > 8"}, func(remove stmt) {
				bounds := ints(int64(3), int64(0), int64(7))
				for row, rows := range []int64{3, 0, 7} {
					wantAffected(update, bounds, row, rows)
				}
				wantAffected(insert, two, 0, 2)
				wantAffected(remove, nil, 0, 3)
				wantAffected(remove, nil, 0, 0)
			})
		})
	})
}

func affectedInTransaction(r runner) {
	r.exec(insertPair.SQL, batch(intPair, pairs(10)...))
	r.prepare(updateBelow, func(update stmt) {
		t := r.begin()
		r.rollback(t, func() { wantAffected(update.in(t), ints(int64(7)), 0, 7) })
	})
}

func lastInsertID(r runner) {
	b := ints(int64(41), nil, int64(7))
	r.prepare(driver.Statement{SQL: "INSERT INTO t (id) VALUES (?)", Params: intPair[:1]}, func(s stmt) {
		for row, id := range []int64{41, 42, 7} {
			got, err := s.result(b, row).LastInsertId()
			must(err)
			if got != id {
				fatalf("row %d of the batch: the last insert ID is %d, want %d", row, got, id)
			}
		}
	})
}

func wantAffected(s stmt, b *driver.Batch, row int, rows int64) {
	got, err := s.result(b, row).RowsAffected()
	must(err)
	if got != rows {
		fatalf("row %d of the batch: %d rows affected, want %d", row, got, rows)
	}
}

func queryRow(x *db) {
	list := pairs(10)
	b := batch(intPair, list...)
	x.exec(insertPair.SQL, b)
	x.everyWay(func(r runner) {
		r.prepare(getPair, func(s stmt) {
			for _, i := range []int{7, 0, 9} {
				within(fmt.Sprint("with row ", i), func() { s.wantRows(b, i, list[i:i+1]) })
			}
		})
	})
}

func noRows(r runner) { r.wantRows(allPairs, nil, 0, nil) }

func undeclaredColumns(r runner) {
	for n := 1; n <= 3; n += 2 {
		st := driver.Statement{SQL: "SELECT id, n FROM t", Columns: columns(slices.Repeat([]driver.Type{driver.Int}, n)...)}
		var got [][]any
		if err := try(func() { got = r.query(st, nil) }); err == nil {
			fatalf("two columns where %d are declared: got %v, want an error", n, got)
		}
	}
	r.want("SELECT count(*) FROM t", 1)
}

// numbers returns a query for the integers from 0 to n-1.
func numbers(n int) string {
	return fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n", n-1)
}

func readToEnd(x *db) {
	const n = 100_000
	x.prepare(insertPair, func(pooled stmt) {
		must(x.beginWith(pooled, batch(intPair, pairs(n)...), 0, n).Commit(x.ctx))
	})
	x.everyWay(func(r runner) {
		r.prepare(allPairs, func(s stmt) {
			var i int64
			must(s.Query(s.ctx, nil, 0, func(row driver.Row) error {
				if row[0].Int != i || row[1].Int != 10*i {
					return fmt.Errorf("row %d: got (%d, %d)", i, row[0].Int, row[1].Int)
				}
				i++
				return nil
			}))
			if i != n {
				fatalf("%d rows, want %d", i, n)
			}
		})
	})
}

func visitError(r runner) {
	r.prepare(driver.Statement{SQL: numbers(1000) + ", sqlite_master WHERE name = 't'", Columns: columns(driver.Int)}, func(s stmt) {
		stop := errors.New("enough")
		visits := 0
		got := s.Query(s.ctx, nil, 0, func(driver.Row) error {
			if visits++; visits == 3 {
				return stop
			}
			return nil
		})
		if got != stop { //nolint:errorlint // the contract requires exactly that error
			fatalf("query returned %v, want the error that visit returned", got)
		}
		if visits != 3 {
			fatalf("%d visits, want none after the error at 3", visits)
		}
		r.script(newTable) // the script drops the table, which would fail if the statement still ran
		within("the statement again", func() {
			if n := len(s.query(nil, 0)); n != 1000 {
				fatalf("%d rows", n)
			}
		})
	})
}

func reuseAfterError(r runner) {
	r.script("INSERT INTO t VALUES (3, 0)")
	r.prepare(insertPair, func(s stmt) {
		b := batch(intPair, pairs(6)...)
		wantPrimary("rows 0 to 5, of which 3 is there", driver.CodeConstraint, func() { s.exec(b, 0, 6) })
		within("it must stop at the first error", func() {
			r.want("SELECT group_concat(id, '') = '0123' FROM (SELECT id FROM t ORDER BY id)", 1)
		})
		within("the statement again", func() { s.exec(b, 4, 6) })
		r.want("SELECT count(*) FROM t", 6)
	})
}

func sharedStatement(x *db) {
	const goroutines, each = 8, 50
	list := pairs(goroutines * each)
	b := batch(intPair, list...)
	x.prepare(insertPair, func(insert stmt) {
		x.prepare(getPair, func(get stmt) {
			var wg sync.WaitGroup
			errs := make([]error, goroutines)
			for g := range errs {
				wg.Go(func() {
					errs[g] = try(func() {
						for i := g * each; i < (g+1)*each; i++ {
							insert.exec(b, i, i+1)
							get.wantRows(b, i, list[i:i+1])
						}
					})
				})
			}
			wg.Wait()
			must(errors.Join(errs...))
		})
	})
	x.want("SELECT count(*) FROM t", goroutines*each)
}
