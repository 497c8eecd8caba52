package crawshaw_test

import (
	"errors"
	"testing"
	"time"

	"crawshaw.io/sqlite"
	"crawshaw.io/sqlite/sqlitex"

	"github.com/sqlite3perf/sqlite3perf/drivers/crawshaw"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/suite"
)

var library = addedcost.Library{Driver: crawshaw.New(), Open: openByHand}

func TestDriver(t *testing.T)      { suite.Test(t, library) }
func BenchmarkDriver(b *testing.B) { suite.Benchmark(b, library) }

// hand is the hand-written code with which package addedcost compares the driver. It uses the
// library's pool, its connections' statement caches, and the typed Bind and Column calls.
type hand struct{ pool *sqlitex.Pool }

func openByHand(path string) (byhand.Database, error) {
	pool, err := sqlitex.Open(path, sqlite.SQLITE_OPEN_READWRITE|sqlite.SQLITE_OPEN_CREATE|sqlite.SQLITE_OPEN_NOMUTEX, 1)
	if err != nil {
		return nil, err
	}
	return &hand{pool}, nil
}

func (h *hand) Close() error { return h.pool.Close() }

// The method "on" runs f on a connection of the pool.
func (h *hand) on(f func(*sqlite.Conn) error) error {
	c := h.pool.Get(nil) //nolint:staticcheck // to the library, nil is a context that does not end
	defer h.pool.Put(c)
	return f(c)
}

// transaction runs f in a transaction. It does not use the library's Save, which asks Go's runtime
// for its caller's name at each call.
func transaction(c *sqlite.Conn, f func() error) error {
	if err := sqlitex.Exec(c, "BEGIN", nil); err != nil {
		return err
	}
	if err := f(); err != nil {
		return errors.Join(err, sqlitex.Exec(c, "ROLLBACK", nil))
	}
	return sqlitex.Exec(c, "COMMIT", nil)
}

func (h *hand) Read(sql string, columns int, see func(row []string) error) error {
	row := make([]string, columns)
	return h.on(func(c *sqlite.Conn) error {
		return sqlitex.ExecTransient(c, sql, func(s *sqlite.Stmt) error {
			for i := range row {
				row[i] = s.ColumnText(i)
			}
			return see(row)
		})
	})
}

func (h *hand) Insert(w *worker.Stopwatch, blog *byhand.Blog) error {
	return h.on(func(c *sqlite.Conn) error {
		w.Start()
		defer w.Stop()
		return transaction(c, func() error {
			stmt, err := c.Prepare(byhand.InsertUser)
			if err != nil {
				return err
			}
			for i := range blog.Users {
				u := &blog.Users[i]
				stmt.BindInt64(1, u.ID)
				stmt.BindInt64(2, u.Created.UnixMilli())
				stmt.BindText(3, u.Email)
				stmt.BindBool(4, u.Active)
				if _, err := stmt.Step(); err != nil {
					return err
				}
				if err := stmt.Reset(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (h *hand) Users(w *worker.Stopwatch, see func(*byhand.User)) (n int64, err error) {
	err = h.on(func(c *sqlite.Conn) error {
		stmt, err := c.Prepare(byhand.SelectUsers)
		if err != nil {
			return err
		}
		w.Start()
		defer w.Stop()
		n, err = read(stmt, see)
		return err
	})
	return n, err
}

func read(stmt *sqlite.Stmt, see func(*byhand.User)) (n int64, err error) {
	var u byhand.User
	for {
		row, err := stmt.Step()
		if err != nil {
			return n, err
		}
		if !row {
			return n, stmt.Reset()
		}
		u.ID = stmt.ColumnInt64(0)
		u.Created = time.UnixMilli(stmt.ColumnInt64(1))
		u.Email = stmt.ColumnText(2)
		u.Active = stmt.ColumnInt64(3) != 0
		n++
		if see != nil {
			see(&u)
		}
	}
}

func (h *hand) Mix(w *worker.Stopwatch, ids []int64, see func(*byhand.User)) (n int64, err error) {
	err = h.on(func(c *sqlite.Conn) error {
		stmt, err := c.Prepare(byhand.SelectUser)
		if err != nil {
			return err
		}
		w.Start()
		defer w.Stop()
		for _, id := range ids {
			stmt.BindInt64(1, id)
			rows, err := read(stmt, see)
			if err != nil {
				return err
			}
			n += rows
		}
		return nil
	})
	return n, err
}

func (h *hand) Transactions(w *worker.Stopwatch, ids []int64, see func(*byhand.User)) (n int64, err error) {
	w.Start()
	defer w.Stop()
	for _, id := range ids {
		err := h.on(func(c *sqlite.Conn) error {
			return transaction(c, func() error {
				rows, err := flip(c, id, see)
				n += rows
				return err
			})
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func flip(c *sqlite.Conn, id int64, see func(*byhand.User)) (n int64, err error) {
	stmt, err := c.Prepare(byhand.SelectUser)
	if err != nil {
		return 0, err
	}
	stmt.BindInt64(1, id)
	if n, err = read(stmt, see); err != nil {
		return n, err
	}
	if stmt, err = c.Prepare(byhand.UpdateUser); err != nil {
		return n, err
	}
	stmt.BindInt64(1, id)
	if _, err = stmt.Step(); err != nil {
		return n, err
	}
	return n, stmt.Reset()
}
