package drivertest

import (
	"context"
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
		{Name: "statements/long script", Test: longScript},
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

// commented is a script with comments, and a query whose rows nobody reads.
const commented = `
	-- The first comment; with a semicolon.
	CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);
	INSERT INTO t VALUES (1, 10);
	SELECT * FROM t;
	INSERT INTO t VALUES (2, 20), (3, 30);
`

func scripts(ctx context.Context, x *db) error {
	if err := want(ctx, x, "SELECT sum(n) FROM t", 60); err != nil {
		return fmt.Errorf("script on the pool: %w", err)
	}
	if err := wantCode("script with an error in the middle",
		x.Script(ctx, "DELETE FROM t; INSERT INTO absent VALUES (1); INSERT INTO t VALUES (9, 9)"), 1); err != nil {
		return err
	}
	if err := want(ctx, x, "SELECT count(*) FROM t", 0); err != nil {
		return fmt.Errorf("script with an error in the middle: %w", err)
	}
	return withConn(ctx, x, func(c driver.Conn) error {
		if err := c.Script(ctx, "INSERT INTO t VALUES (1, 1); INSERT INTO t VALUES (2, 2);"); err != nil {
			return err
		}
		return want(ctx, c, "SELECT count(*) FROM t", 2)
	})
}

func isEmpty(ctx context.Context, x *db) error {
	return want(ctx, x, "SELECT count(*) FROM t", 0)
}

var intPair = []driver.Type{driver.Int, driver.Int}

// insertPair inserts a row into intTable.
var insertPair = driver.Statement{SQL: "INSERT INTO t VALUES (?, ?)", Params: intPair}

// pairs returns n rows (i, 10 i).
func pairs(n int) [][]any {
	list := make([][]any, n)
	for i := range list {
		list[i] = []any{int64(i), int64(10 * i)}
	}
	return list
}

func ranges(ctx context.Context, r driver.Runner, adHoc bool) error {
	b := batch(intPair, pairs(10)...)
	insert := driver.Statement{SQL: insertPair.SQL, Params: intPair, AdHoc: adHoc}
	err := withStmt(ctx, r, insert, func(s driver.Stmt) error {
		return errors.Join(s.Exec(ctx, b, 2, 5), s.Exec(ctx, b, 5, 5), s.Exec(ctx, b, 9, 10))
	})
	if err != nil {
		return err
	}
	p := pairs(10)
	all := driver.Statement{SQL: "SELECT id, n FROM t ORDER BY id", Columns: columns(intPair...)}
	return wantRows(ctx, r, all, nil, 0, [][]any{p[2], p[3], p[4], p[9]})
}

func manyRows(ctx context.Context, r driver.Runner, adHoc bool) error {
	types := []driver.Type{driver.Int, driver.Text}
	var list [][]any
	for i := range 12 {
		list = append(list, []any{int64(i), fmt.Sprint("s", i)})
	}
	b := batch(types, list...)
	b.PerExec = 3
	insert := driver.Statement{SQL: "INSERT INTO t VALUES (?, ?), (?, ?), (?, ?)", Params: slices.Repeat(types, 3), AdHoc: adHoc}
	if err := withStmt(ctx, r, insert, func(s driver.Stmt) error { return s.Exec(ctx, b, 3, 12) }); err != nil {
		return err
	}
	return wantRows(ctx, r, driver.Statement{SQL: "SELECT id, s FROM t ORDER BY id", Columns: columns(types...)}, nil, 0, list[3:])
}

func noParameters(ctx context.Context, r driver.Runner, adHoc bool) error {
	err := withStmt(ctx, r, driver.Statement{SQL: "INSERT INTO t (n) VALUES (1)", AdHoc: adHoc}, func(s driver.Stmt) error {
		return errors.Join(s.Exec(ctx, nil, 0, 0), s.Exec(ctx, nil, 0, 0))
	})
	if err != nil {
		return err
	}
	return want(ctx, r, "SELECT count(*) FROM t", 2)
}

// rowsAffected expects what SQLite says.
func rowsAffected(ctx context.Context, r driver.Runner, adHoc bool) error {
	if err := exec(ctx, r, insertPair.SQL, batch(intPair, pairs(10)...)); err != nil {
		return err
	}
	update := driver.Statement{SQL: "UPDATE t SET n = n + 1 WHERE id < ?", Params: intPair[:1], AdHoc: adHoc}
	two := driver.Statement{SQL: "INSERT INTO t (n) VALUES (?), (?)", Params: intPair, AdHoc: adHoc}
	remove := driver.Statement{SQL: "DELETE FROM t WHERE n < 0 OR id > 8", AdHoc: adHoc}
	bounds, values := batch(intPair[:1], []any{int64(3)}, []any{int64(0)}, []any{int64(7)}), batch(intPair[:1], []any{int64(1)}, []any{int64(2)})
	values.PerExec = 2
	return withStmt(ctx, r, update, func(update driver.Stmt) error {
		return withStmt(ctx, r, two, func(two driver.Stmt) error {
			return withStmt(ctx, r, remove, func(remove driver.Stmt) error {
				return errors.Join(
					wantAffected(ctx, update, bounds, 0, 3), wantAffected(ctx, update, bounds, 1, 0), wantAffected(ctx, update, bounds, 2, 7),
					wantAffected(ctx, two, values, 0, 2), wantAffected(ctx, remove, nil, 0, 3), wantAffected(ctx, remove, nil, 0, 0))
			})
		})
	})
}

// affectedInTransaction expects what SQLite says before the transaction ends.
func affectedInTransaction(ctx context.Context, r driver.Runner, adHoc bool) error {
	if err := exec(ctx, r, insertPair.SQL, batch(intPair, pairs(10)...)); err != nil {
		return err
	}
	update := driver.Statement{SQL: "UPDATE t SET n = n + 1 WHERE id < ?", Params: intPair[:1], AdHoc: adHoc}
	return withStmt(ctx, r, update, func(update driver.Stmt) error {
		t, err := r.Begin(ctx)
		if err != nil {
			return err
		}
		in, err := t.Stmt(ctx, update)
		if err == nil {
			err = wantAffected(ctx, in, batch(intPair[:1], []any{int64(7)}), 0, 7)
		}
		return errors.Join(err, t.Rollback(ctx))
	})
}

// lastInsertID expects the ID of each row that is inserted.
func lastInsertID(ctx context.Context, r driver.Runner, adHoc bool) error {
	b := batch(intPair[:1], []any{int64(41)}, []any{nil}, []any{int64(7)})
	insert := driver.Statement{SQL: "INSERT INTO t (id) VALUES (?)", Params: intPair[:1], AdHoc: adHoc}
	return withStmt(ctx, r, insert, func(s driver.Stmt) error {
		for row, id := range []int64{41, 42, 7} {
			result, err := s.ExecResult(ctx, b, row)
			if err != nil {
				return err
			}
			if result == nil {
				return errors.New("no result: want the last insert ID")
			}
			got, err := result.LastInsertId()
			if err != nil {
				return err
			}
			if got != id {
				return fmt.Errorf("row %d of the batch: the last insert ID is %d, want %d", row, got, id)
			}
		}
		return nil
	})
}

// wantAffected executes a statement once and returns an error unless it changes so many rows.
func wantAffected(ctx context.Context, s driver.Stmt, b *driver.Batch, r int, rows int64) error {
	result, err := s.ExecResult(ctx, b, r)
	if err != nil {
		return err
	}
	if result == nil {
		return errors.New("no result: want the rows affected")
	}
	got, err := result.RowsAffected()
	if err == nil && got != rows {
		err = fmt.Errorf("row %d of the batch: %d rows affected, want %d", r, got, rows)
	}
	return err
}

func queryRow(ctx context.Context, x *db) error {
	list := pairs(10)
	b := batch(intPair, list...)
	if err := exec(ctx, x, "INSERT INTO t VALUES (?, ?)", b); err != nil {
		return err
	}
	return everyWay(ctx, x, func(ctx context.Context, r driver.Runner, adHoc bool) error {
		cols := columns(intPair...)
		get := driver.Statement{SQL: "SELECT id, n FROM t WHERE id = ? AND n = ?", Params: intPair, Columns: cols, AdHoc: adHoc}
		return withStmt(ctx, r, get, func(s driver.Stmt) error {
			for _, i := range []int{7, 0, 9} {
				if err := wantResult(ctx, s, cols, b, i, list[i:i+1]); err != nil {
					return fmt.Errorf("with row %d: %w", i, err)
				}
			}
			return nil
		})
	})
}

func noRows(ctx context.Context, r driver.Runner, adHoc bool) error {
	return wantRows(ctx, r, driver.Statement{SQL: "SELECT id, n FROM t", Columns: columns(intPair...), AdHoc: adHoc}, nil, 0, nil)
}

func undeclaredColumns(ctx context.Context, r driver.Runner, adHoc bool) error {
	for n := 1; n <= 3; n += 2 {
		cols := columns(slices.Repeat([]driver.Type{driver.Int}, n)...)
		got, err := query(ctx, r, driver.Statement{SQL: "SELECT id, n FROM t", Columns: cols, AdHoc: adHoc}, nil, 0)
		if err == nil {
			return fmt.Errorf("two columns where %d are declared: got %v, want an error", n, got)
		}
	}
	return want(ctx, r, "SELECT count(*) FROM t", 1)
}

// numbers returns a query for the integers from 0 to n-1.
func numbers(n int) string {
	return fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n", n-1)
}

func readToEnd(ctx context.Context, x *db) error {
	const n = 100_000
	b := batch(intPair, pairs(n)...)
	err := withStmt(ctx, x, insertPair, func(pooled driver.Stmt) error {
		t, err := begin(ctx, x, pooled, b, 0, n)
		if err != nil {
			return err
		}
		return t.Commit(ctx)
	})
	if err != nil {
		return err
	}
	return everyWay(ctx, x, func(ctx context.Context, r driver.Runner, adHoc bool) error {
		all := driver.Statement{SQL: "SELECT id, n FROM t ORDER BY id", Columns: columns(intPair...), AdHoc: adHoc}
		return withStmt(ctx, r, all, func(s driver.Stmt) error {
			var i int64
			err := s.Query(ctx, nil, 0, func(row driver.Row) error {
				if row[0].Int != i || row[1].Int != 10*i {
					return fmt.Errorf("row %d: got (%d, %d)", i, row[0].Int, row[1].Int)
				}
				i++
				return nil
			})
			if err == nil && i != n {
				err = fmt.Errorf("%d rows, want %d", i, n)
			}
			return err
		})
	})
}

func visitError(ctx context.Context, r driver.Runner, adHoc bool) error {
	st := driver.Statement{SQL: numbers(1000), Columns: columns(driver.Int), AdHoc: adHoc}
	return withStmt(ctx, r, st, func(s driver.Stmt) error {
		stop := errors.New("enough")
		visits := 0
		got := s.Query(ctx, nil, 0, func(driver.Row) error {
			if visits++; visits == 3 {
				return stop
			}
			return nil
		})
		if got != stop { //nolint:errorlint // the contract requires exactly that error
			return fmt.Errorf("query returned %v, want the error that visit returned", got)
		}
		if visits != 3 {
			return fmt.Errorf("%d visits, want none after the error at 3", visits)
		}
		again, err := collect(ctx, s, st.Columns, nil, 0)
		if err != nil || len(again) != 1000 {
			return fmt.Errorf("the statement again: %d rows, error %w", len(again), err)
		}
		// A statement that still runs would keep its lock and prevent this.
		return r.Script(ctx, newTable)
	})
}

func reuseAfterError(ctx context.Context, r driver.Runner, adHoc bool) error {
	if err := r.Script(ctx, "INSERT INTO t VALUES (3, 0)"); err != nil {
		return err
	}
	return withStmt(ctx, r, driver.Statement{SQL: insertPair.SQL, Params: intPair, AdHoc: adHoc}, func(s driver.Stmt) error {
		b := batch(intPair, pairs(6)...)
		if err := wantPrimary("rows 0 to 5, of which 3 is there", s.Exec(ctx, b, 0, 6), driver.CodeConstraint); err != nil {
			return err
		}
		if err := want(ctx, r, "SELECT group_concat(id, '') = '0123' FROM (SELECT id FROM t ORDER BY id)", 1); err != nil {
			return fmt.Errorf("it must stop at the first error: %w", err)
		}
		if err := s.Exec(ctx, b, 4, 6); err != nil {
			return fmt.Errorf("the statement again: %w", err)
		}
		return want(ctx, r, "SELECT count(*) FROM t", 6)
	})
}

func sharedStatement(ctx context.Context, x *db) error {
	get := driver.Statement{SQL: "SELECT id, n FROM t WHERE id = ? AND n = ?", Params: intPair, Columns: columns(intPair...)}
	const each = 50
	list := pairs(8 * each)
	b := batch(intPair, list...)
	err := withStmt(ctx, x, insertPair, func(insert driver.Stmt) error {
		return withStmt(ctx, x, get, func(read driver.Stmt) error {
			var wg sync.WaitGroup
			errs := make([]error, 8)
			for g := range errs {
				wg.Go(func() {
					for i := g * each; i < (g+1)*each && errs[g] == nil; i++ {
						if errs[g] = insert.Exec(ctx, b, i, i+1); errs[g] == nil {
							errs[g] = wantResult(ctx, read, get.Columns, b, i, list[i:i+1])
						}
					}
				})
			}
			wg.Wait()
			return errors.Join(errs...)
		})
	})
	if err != nil {
		return err
	}
	return want(ctx, x, "SELECT count(*) FROM t", 8*each)
}
