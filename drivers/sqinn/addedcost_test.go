package sqinn_test

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	lib "github.com/cvilsmeier/sqinn-go/sqinn"

	"github.com/sqlite3perf/sqlite3perf/drivers/sqinn"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
	"github.com/sqlite3perf/sqlite3perf/worker/suite"
)

// library is measured with the replacement for the executable.
var library = addedcost.Library{Driver: sqinn.New(), Open: openByHand, Slow: true}

func TestDriver(t *testing.T)      { suite.Test(t, library) }
func BenchmarkDriver(b *testing.B) { suite.Benchmark(b, library) }

// hand keeps a child in a channel, since the library has no pool. An insert is
// one request, as the library intends.
type hand struct{ free chan *lib.Sqinn }

var userTypes = []byte{lib.ValInt64, lib.ValInt64, lib.ValText, lib.ValInt64}

func openByHand(path string) (addedcost.Hand, error) {
	child, err := lib.Launch(lib.Options{SqinnPath: os.Getenv("SQINN_PATH")})
	if err != nil {
		return nil, err
	}
	h := &hand{make(chan *lib.Sqinn, 1)}
	h.free <- child
	err = h.on(func(c *lib.Sqinn) error {
		if err := c.Open(path); err != nil {
			return err
		}
		for _, pragma := range []string{"PRAGMA locking_mode=exclusive", "PRAGMA journal_mode=memory", "PRAGMA synchronous=off", "PRAGMA cache_size=-65536"} {
			if _, err := c.Query(pragma, nil, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, child.Terminate())
	}
	return h, nil
}

// on runs f on a connection of the pool.
func (h *hand) on(f func(*lib.Sqinn) error) error {
	c := <-h.free
	defer func() { h.free <- c }()
	return f(c)
}

func (h *hand) Close() error {
	return h.on(func(c *lib.Sqinn) error { return errors.Join(c.Close(), c.Terminate()) })
}

func (h *hand) Setting(name string) (value string, err error) {
	err = h.on(func(c *lib.Sqinn) error {
		rows, err := c.Query("PRAGMA "+name, nil, []byte{lib.ValText})
		if err == nil && len(rows) != 1 {
			err = fmt.Errorf("%d rows", len(rows))
		}
		if err == nil {
			value = rows[0].Values[0].AsString()
		}
		return err
	})
	return value, err
}

func (h *hand) Create() error {
	return h.on(func(c *lib.Sqinn) error {
		_, err := c.ExecOne(addedcost.Schema)
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

func (h *hand) Insert(w *worker.Stopwatch, users []addedcost.Stored) error {
	return h.on(func(c *lib.Sqinn) error {
		w.Start()
		defer w.Stop()
		return transaction(c, func() error {
			values := make([]any, 0, 4*len(users))
			for i := range users {
				u := &users[i]
				values = append(values, u.ID, u.Created, u.Email, u.Active)
			}
			_, err := c.Exec(addedcost.Insert, len(users), 4, values)
			return err
		})
	})
}

func (h *hand) Query(w *worker.Stopwatch, see func(addedcost.User)) (n int64, err error) {
	err = h.on(func(c *lib.Sqinn) error {
		w.Start()
		defer w.Stop()
		n, err = read(c, see, addedcost.Scan)
		return err
	})
	return n, err
}

func read(c *lib.Sqinn, see func(addedcost.User), sql string, args ...any) (int64, error) {
	rows, err := c.Query(sql, args, userTypes)
	if err != nil {
		return 0, err
	}
	var u addedcost.User
	for i := range rows {
		v := rows[i].Values
		u.ID, u.Created, u.Email, u.Active = v[0].AsInt64(), time.UnixMilli(v[1].AsInt64()), v[2].AsString(), v[3].AsInt64() != 0
		if see != nil {
			see(u)
		}
	}
	return int64(len(rows)), nil
}

func (h *hand) Mix(w *worker.Stopwatch, ids []int64, see func(addedcost.User)) (n int64, err error) {
	err = h.on(func(c *lib.Sqinn) error {
		w.Start()
		defer w.Stop()
		for _, id := range ids {
			rows, err := read(c, see, addedcost.Read, id)
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
		err := h.on(func(c *lib.Sqinn) error {
			return transaction(c, func() error {
				rows, err := read(c, see, addedcost.Read, id)
				if err != nil {
					return err
				}
				n += rows
				_, err = c.Exec(addedcost.Update, 1, 1, []any{id})
				return err
			})
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
