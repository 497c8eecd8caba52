package sqinn_test

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	lib "github.com/cvilsmeier/sqinn-go/sqinn"

	"github.com/sqlite3perf/sqlite3perf/drivers/sqinn"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/suite"
)

// library uses the replacement for sqinn's executable that TestMain builds.
var library = addedcost.Library{Driver: sqinn.New(), Open: openByHand, Slow: true}

func TestDriver(t *testing.T)      { suite.Test(t, library) }
func BenchmarkDriver(b *testing.B) { suite.Benchmark(b, library) }

// hand is the hand-written code with which package addedcost compares the driver. A channel with
// one child process serves as the pool, because the library has none. An insert of many rows is one
// request, as the library intends.
type hand struct{ free chan *lib.Sqinn }

var userTypes = []byte{lib.ValInt64, lib.ValInt64, lib.ValText, lib.ValInt64}

func openByHand(path string) (byhand.Database, error) {
	child, err := lib.Launch(lib.Options{SqinnPath: os.Getenv("SQINN_PATH")})
	if err != nil {
		return nil, err
	}
	h := &hand{make(chan *lib.Sqinn, 1)}
	h.free <- child
	if err := child.Open(path); err != nil {
		return nil, errors.Join(err, child.Terminate())
	}
	return h, nil
}

// The method "on" runs f with the child process, which is the pool's only connection.
func (h *hand) on(f func(*lib.Sqinn) error) error {
	c := <-h.free
	defer func() { h.free <- c }()
	return f(c)
}

func (h *hand) Close() error {
	return h.on(func(c *lib.Sqinn) error { return errors.Join(c.Close(), c.Terminate()) })
}

func (h *hand) Read(sql string, columns int, see func(row []string) error) error {
	return h.on(func(c *lib.Sqinn) error {
		rows, err := c.Query(sql, nil, bytes.Repeat([]byte{lib.ValText}, columns))
		row := make([]string, columns)
		for i := range rows {
			for j := range row {
				row[j] = rows[i].Values[j].AsString()
			}
			err = errors.Join(err, see(row))
		}
		return err
	})
}

// transaction runs f in a transaction.
func transaction(c *lib.Sqinn, f func() error) error {
	if _, err := c.ExecOne("BEGIN"); err != nil {
		return err
	}
	if err := f(); err != nil {
		_, rerr := c.ExecOne("ROLLBACK")
		return errors.Join(err, rerr)
	}
	_, err := c.ExecOne("COMMIT")
	return err
}

func (h *hand) Insert(w *worker.Stopwatch, blog *byhand.Blog) error {
	return h.on(func(c *lib.Sqinn) error {
		w.Start()
		defer w.Stop()
		return transaction(c, func() error {
			values := make([]any, 0, 4*len(blog.Users))
			for i := range blog.Users {
				u := &blog.Users[i]
				active := int64(0) // an integer, because the library cannot bind a bool
				if u.Active {
					active = 1
				}
				values = append(values, u.ID, u.Created.UnixMilli(), u.Email, active)
			}
			_, err := c.Exec(byhand.InsertUser, len(blog.Users), 4, values)
			return err
		})
	})
}

func (h *hand) Users(w *worker.Stopwatch, see func(*byhand.User)) (n int64, err error) {
	err = h.on(func(c *lib.Sqinn) error {
		w.Start()
		defer w.Stop()
		n, err = read(c, see, byhand.SelectUsers)
		return err
	})
	return n, err
}

func read(c *lib.Sqinn, see func(*byhand.User), sql string, args ...any) (int64, error) {
	rows, err := c.Query(sql, args, userTypes)
	if err != nil {
		return 0, err
	}
	var u byhand.User
	for i := range rows {
		v := rows[i].Values
		u.ID, u.Created, u.Email, u.Active = v[0].AsInt64(), time.UnixMilli(v[1].AsInt64()), v[2].AsString(), v[3].AsInt64() != 0
		if see != nil {
			see(&u)
		}
	}
	return int64(len(rows)), nil
}

func (h *hand) Mix(w *worker.Stopwatch, ids []int64, see func(*byhand.User)) (n int64, err error) {
	err = h.on(func(c *lib.Sqinn) error {
		w.Start()
		defer w.Stop()
		for _, id := range ids {
			rows, err := read(c, see, byhand.SelectUser, id)
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
		err := h.on(func(c *lib.Sqinn) error {
			return transaction(c, func() error {
				rows, err := read(c, see, byhand.SelectUser, id)
				if err != nil {
					return err
				}
				n += rows
				_, err = c.Exec(byhand.UpdateUser, 1, 1, []any{id})
				return err
			})
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
