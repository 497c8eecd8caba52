package eatonphil_test

import (
	"errors"
	"testing"
	"time"

	"github.com/eatonphil/gosqlite"

	"github.com/sqlite3perf/sqlite3perf/drivers/eatonphil"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/suite"
)

var library = addedcost.Library{Driver: eatonphil.New(), Open: openByHand}

func TestDriver(t *testing.T)      { suite.Test(t, library) }
func BenchmarkDriver(b *testing.B) { suite.Benchmark(b, library) }

// hand is the hand-written code with which package addedcost compares the driver. A channel with
// one connection serves as the pool, because the library has none.
type hand struct{ free chan *conn }

type conn struct {
	*gosqlite.Conn
	read, update *gosqlite.Stmt
}

func openByHand(path string) (byhand.Database, error) {
	c, err := gosqlite.Open(path)
	if err != nil {
		return nil, err
	}
	h := &hand{make(chan *conn, 1)}
	h.free <- &conn{Conn: c}
	return h, nil
}

// The method "on" runs f on the connection in the channel. It waits until the connection is free.
func (h *hand) on(f func(*conn) error) error {
	c := <-h.free
	defer func() { h.free <- c }()
	return f(c)
}

func (h *hand) Close() error {
	return h.on(func(c *conn) error {
		if c.read == nil {
			return c.Close()
		}
		return errors.Join(c.read.Close(), c.update.Close(), c.Close())
	})
}

func (h *hand) Read(sql string, columns int, see func(row []string) error) error {
	return h.on(func(c *conn) error {
		stmt, err := c.Prepare(sql)
		if err != nil {
			return err
		}
		row := make([]string, columns)
		for {
			more, err := stmt.Step()
			if err != nil || !more {
				return errors.Join(err, stmt.Close())
			}
			for i := range row {
				if row[i], _, err = stmt.ColumnText(i); err != nil {
					return errors.Join(err, stmt.Close())
				}
			}
			if err := see(row); err != nil {
				return errors.Join(err, stmt.Close())
			}
		}
	})
}

// prepare prepares the statements that the connection keeps.
func (c *conn) prepare() (err error) {
	if c.read != nil {
		return nil
	}
	if c.read, err = c.Prepare(byhand.SelectUser); err != nil {
		return err
	}
	c.update, err = c.Prepare(byhand.UpdateUser)
	return err
}

func (h *hand) Insert(w *worker.Stopwatch, blog *byhand.Blog) error {
	return h.on(func(c *conn) error {
		w.Start()
		defer w.Stop()
		return c.WithTx(func() error {
			stmt, err := c.Prepare(byhand.InsertUser)
			if err != nil {
				return err
			}
			for i := range blog.Users {
				u := &blog.Users[i]
				if err := stmt.Exec(u.ID, u.Created.UnixMilli(), u.Email, u.Active); err != nil {
					return errors.Join(err, stmt.Close())
				}
			}
			return stmt.Close()
		})
	})
}

func (h *hand) Users(w *worker.Stopwatch, see func(*byhand.User)) (n int64, err error) {
	err = h.on(func(c *conn) error {
		stmt, err := c.Prepare(byhand.SelectUsers)
		if err != nil {
			return err
		}
		w.Start()
		n, err = read(stmt, see)
		w.Stop()
		return errors.Join(err, stmt.Close())
	})
	return n, err
}

func read(stmt *gosqlite.Stmt, see func(*byhand.User)) (n int64, err error) {
	var u byhand.User
	for {
		row, err := stmt.Step()
		if err != nil {
			return n, err
		}
		if !row {
			return n, stmt.Reset()
		}
		if u.ID, _, err = stmt.ColumnInt64(0); err != nil {
			return n, err
		}
		created, _, err := stmt.ColumnInt64(1)
		if err != nil {
			return n, err
		}
		u.Created = time.UnixMilli(created)
		if u.Email, _, err = stmt.ColumnText(2); err != nil {
			return n, err
		}
		active, _, err := stmt.ColumnInt64(3)
		if err != nil {
			return n, err
		}
		u.Active = active != 0
		n++
		if see != nil {
			see(&u)
		}
	}
}

// readKey reads the user with the given key.
func readKey(stmt *gosqlite.Stmt, id int64, see func(*byhand.User)) (int64, error) {
	if err := stmt.Bind(id); err != nil {
		return 0, err
	}
	return read(stmt, see)
}

func (h *hand) Mix(w *worker.Stopwatch, ids []int64, see func(*byhand.User)) (n int64, err error) {
	err = h.on(func(c *conn) error {
		if err := c.prepare(); err != nil {
			return err
		}
		w.Start()
		defer w.Stop()
		for _, id := range ids {
			rows, err := readKey(c.read, id, see)
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
	if err := h.on((*conn).prepare); err != nil {
		return 0, err
	}
	w.Start()
	defer w.Stop()
	for _, id := range ids {
		err := h.on(func(c *conn) error {
			return c.WithTx(func() error {
				rows, err := readKey(c.read, id, see)
				if err != nil {
					return err
				}
				n += rows
				return c.update.Exec(id)
			})
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
