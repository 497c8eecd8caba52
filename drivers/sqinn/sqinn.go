// Package sqinn adapts github.com/cvilsmeier/sqinn-go: SQLite in a child process for each
// connection of our own pool. It uses the library's Exec, which sends many rows in one
// request, and Query, which fetches a whole result.
package sqinn

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/cvilsmeier/sqinn-go/sqinn"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

//go:embed driver.json
var info []byte

// New returns the driver. The environment variable SQINN_PATH names the executable. If it is not set,
// the executable is sqinn in PATH.
func New() driver.Driver { return driver.WithDSN(driver.New(driver.MustInfo(info), open), openName) }

func open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	if s["mode"] == "memory" {
		path = ":memory:"
	}
	return openName(ctx, path, s)
}

func openName(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	return connpool.Open(ctx, s, func(number int) (connpool.ClosingConn, error) {
		child, err := launch()
		if err != nil {
			return nil, err
		}
		if err := child.Open(path); err != nil {
			return nil, errors.Join(wrap(err), child.Terminate())
		}
		return &conn{Sqinn: child, number: number}, nil
	})
}

// launch starts the executable, and checks that its version is 1.x. Each major version has another
// protocol.
func launch() (*sqinn.Sqinn, error) {
	child, err := sqinn.Launch(sqinn.Options{SqinnPath: os.Getenv("SQINN_PATH")})
	if err != nil {
		return nil, fmt.Errorf("starting sqinn, as SQINN_PATH or PATH names it: %w", err)
	}
	version, err := child.SqinnVersion()
	if err != nil {
		// Terminate is not called, because a program that isn't sqinn may ignore it. The program
		// exits when its input closes.
		return nil, fmt.Errorf("the sqinn that SQINN_PATH or PATH names does not answer as version 1 does: %w", err)
	}
	if !strings.HasPrefix(version, "1.") {
		return nil, errors.Join(fmt.Errorf("the sqinn that SQINN_PATH or PATH names is version %s: want 1.x", version), child.Terminate())
	}
	return child, nil
}

// sqinnError matches sqinn's message for an error of SQLite.
var sqinnError = regexp.MustCompile(`^sqinn: \w+: err=(\d{1,9}), msg=`)

// wrap adds SQLite's primary result code to an error, if the text of the error has one.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	m := sqinnError.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	code, _ := strconv.Atoi(m[1]) // no error: nine digits at most
	return &driver.Error{Code: code, Err: err}
}

type conn struct {
	*sqinn.Sqinn
	number int
	begun  bool // Run has begun a transaction and not ended it; sqinn does not report transactions

	affected int // rows that the last execution has changed
}

func (c *conn) Number() int                  { return c.number }
func (c *conn) InTransaction() bool          { return c.begun }
func (c *conn) RowsAffected() (int64, error) { return int64(c.affected), nil }

func (c *conn) LastInsertId() (int64, error) {
	return 0, errors.New("sqinn does not tell the last insert ID")
}

// Guard does nothing: a request cannot be interrupted.
func (c *conn) Guard(context.Context) (release func()) { return func() {} }

// Script passes statements one by one, because the library runs only the first statement of a
// text. It uses Query, because Exec does not step a statement to its end.
func (c *conn) Script(sql string) error {
	for statement := range driver.Statements(sql) {
		if _, err := c.Query(statement, nil, nil); err != nil {
			return wrap(err)
		}
	}
	return nil
}

func (c *conn) Run(sql string) error {
	_, err := c.ExecOne(sql)
	err = wrap(err)
	var e *driver.Error
	if sql == "ROLLBACK" && errors.As(err, &e) && e.Code == 1 {
		err = nil // SQLite has already rolled back by itself
	}
	if err == nil {
		c.begun = strings.HasPrefix(sql, "BEGIN")
	}
	return err
}

func (c *conn) Prepare(st driver.Statement, _ bool) (connpool.Stmt, error) {
	if st.AnyColumns {
		return nil, errors.New("the columns are not known, and sqinn asks for the type of each")
	}
	s := &stmt{conn: c, st: st, row: make(driver.Row, len(st.Columns)), kinds: connpool.Kinds(st.Columns)}
	for _, col := range st.Columns {
		s.types = append(s.types, valueTypes[col.Type])
	}
	return s, nil
}

// Close closes the database and ends the child.
func (c *conn) Close() error {
	return errors.Join(wrap(c.Sqinn.Close()), c.Terminate())
}
