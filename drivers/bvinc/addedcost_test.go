package bvinc_test

import (
	"errors"
	"testing"
	"time"

	"github.com/bvinc/go-sqlite-lite/sqlite3"

	"github.com/sqlite3perf/sqlite3perf/drivers/bvinc"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
	"github.com/sqlite3perf/sqlite3perf/worker/suite"
)

var library = addedcost.Library{Driver: bvinc.New(), Open: openByHand}

func TestDriver(t *testing.T)      { suite.Test(t, library) }
func BenchmarkDriver(b *testing.B) { suite.Benchmark(b, library) }

// hand keeps a connection with its statements in a channel, since the library
// has no pool.
type hand struct{ free chan *conn }

type conn struct {
	*sqlite3.Conn
	read, update *sqlite3.Stmt
}

func openByHand(path string) (addedcost.Hand, error) {
	c, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	if err := c.Exec("PRAGMA locking_mode=exclusive; PRAGMA journal_mode=memory; PRAGMA synchronous=off; PRAGMA cache_size=-65536"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	h := &hand{make(chan *conn, 1)}
	h.free <- &conn{Conn: c}
	return h, nil
}

// on runs f on a connection of the pool.
func (h *hand) on(f func(*conn) error) error {
	c := <-h.free
	defer func() { h.free <- c }()
	return f(c)
}

func (h *hand) Close() error {
	return h.on(func(c *conn) error {
		return errors.Join(c.read.Close(), c.update.Close(), c.Close())
	})
}

func (h *hand) Setting(name string) (value string, err error) {
	err = h.on(func(c *conn) error {
		stmt, err := c.Prepare("PRAGMA " + name)
		if err != nil {
			return err
		}
		if _, err = stmt.Step(); err == nil {
			value, _, err = stmt.ColumnText(0)
		}
		return errors.Join(err, stmt.Close())
	})
	return value, err
}

func (h *hand) Create() error {
	return h.on(func(c *conn) (err error) {
		if err := c.Exec(addedcost.Schema); err != nil {
			return err
		}
		if c.read, err = c.Prepare(addedcost.Read); err != nil {
			return err
		}
		c.update, err = c.Prepare(addedcost.Update)
		return err
	})
}

func (h *hand) Insert(w *worker.Stopwatch, users []addedcost.Stored) error {
	return h.on(func(c *conn) error {
		w.Start()
		defer w.Stop()
		return c.WithTx(func() error {
			stmt, err := c.Prepare(addedcost.Insert)
			if err != nil {
				return err
			}
			for i := range users {
				u := &users[i]
				if err := stmt.Exec(u.ID, u.Created, u.Email, u.Active); err != nil {
					return errors.Join(err, stmt.Close())
				}
			}
			return stmt.Close()
		})
	})
}

func (h *hand) Query(w *worker.Stopwatch, see func(addedcost.User)) (n int64, err error) {
	err = h.on(func(c *conn) error {
		stmt, err := c.Prepare(addedcost.Scan)
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

func read(stmt *sqlite3.Stmt, see func(addedcost.User)) (n int64, err error) {
	var u addedcost.User
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
			see(u)
		}
	}
}

// readKey reads the user with the given key.
func readKey(stmt *sqlite3.Stmt, id int64, see func(addedcost.User)) (int64, error) {
	if err := stmt.Bind(id); err != nil {
		return 0, err
	}
	return read(stmt, see)
}

func (h *hand) Mix(w *worker.Stopwatch, ids []int64, see func(addedcost.User)) (n int64, err error) {
	err = h.on(func(c *conn) error {
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

func (h *hand) Transactions(w *worker.Stopwatch, ids []int64, see func(addedcost.User)) (n int64, err error) {
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
