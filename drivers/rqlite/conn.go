package rqlite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/rqlite/gorqlite"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

type statement = gorqlite.ParameterizedStatement

// conn is a client. It has two connections of the library. With one of them, the statements of a
// request are a transaction. With the other, they are not. The library cannot choose this for each
// request.
type conn struct {
	db     *database
	number int
	single *gorqlite.Connection // sends each statement in its own request
	whole  *gorqlite.Connection // sends requests that are transactions
	rows   int                  // the greatest number of rows of a request; 0 if there is no limit
	queues bool                 // set if writes are queued (the setting queued_writes)

	ctx context.Context

	begun    bool
	gathered []statement // statements of the transaction so far
	sizes    []int       // number of rows that each gathered statement binds

	affected, lastID int64
	untold           error // why the fields affected and lastID are not known; nil if they are known
}

func (d *database) connect(number int) (*conn, error) {
	c := &conn{db: d, number: number, ctx: context.Background(), queues: d.settings["queued_writes"] == "on"}
	c.rows, _ = strconv.Atoi(d.settings["request_rows"]) // 0 if it is not set
	level := gorqlite.ConsistencyLevelWeak
	if v := d.settings["read_consistency"]; v != "" {
		var err error
		if level, err = gorqlite.ParseConsistencyLevel(v); err != nil {
			return nil, err
		}
	}
	for _, to := range []**gorqlite.Connection{&c.single, &c.whole} {
		g, err := d.cluster.client(&http.Client{Transport: d.http, CheckRedirect: nodes.NotFollowed})
		if err != nil {
			return nil, err
		}
		if err := errors.Join(g.SetConsistencyLevel(level), g.SetExecutionWithTransaction(to == &c.whole)); err != nil {
			return nil, err
		}
		*to = g
	}
	return c, nil
}

func (c *conn) Close() error {
	c.single.Close()
	c.whole.Close()
	return nil
}

func (c *conn) Number() int         { return c.number }
func (c *conn) InTransaction() bool { return c.begun }

// Guard makes the client's requests end when ctx ends. The nodes still complete these requests.
func (c *conn) Guard(ctx context.Context) (release func()) {
	c.ctx = ctx
	return func() { c.ctx = context.Background() }
}

func (c *conn) RowsAffected() (int64, error) { return c.affected, c.untold }
func (c *conn) LastInsertId() (int64, error) { return c.lastID, c.untold }

var (
	errGathered = errors.New("rqlite reports it only after COMMIT, because COMMIT sends the statements of the transaction")
	errQueued   = errors.New("rqlite does not report it for a queued write")
)

func unsupported(format string, args ...any) error {
	return &driver.UnsupportedError{Reason: fmt.Sprintf(format, args...)}
}

// Script sends each statement of sql in its own request, except the statements of a transaction,
// which COMMIT sends together.
func (c *conn) Script(sql string) error {
	for statement := range driver.Statements(sql) {
		if err := c.runStatement(statement); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) runStatement(sql string) error {
	kind, err := classify(sql)
	if err != nil {
		return err
	}
	switch {
	case kind == transactional:
		return c.Run(sql)
	case kind == reading && nodePragma(sql) != "":
		return nil // a script discards the value of the PRAGMA
	}
	return c.run(kind == reading, statement{Query: sql}, 1, false)
}

func (c *conn) run(reads bool, st statement, rows int, queue bool) error {
	switch {
	case reads:
		_, err := c.query(st.Query, st.Arguments)
		return err
	case c.begun:
		c.gather(st, rows)
		return nil
	}
	return c.write(c.single, []statement{st}, queue)
}

func (c *conn) Run(sql string) error {
	switch firstWord(sql) {
	case "BEGIN":
		if c.begun {
			return &driver.Error{Code: driver.CodeError, Err: errors.New("cannot start a transaction within a transaction")}
		}
		c.begun = true
		return nil
	case "ROLLBACK":
		if strings.Contains(strings.ToUpper(sql), " TO ") {
			return unsupported("rqlite has no savepoints: a transaction is one request")
		}
	}
	if !c.begun {
		return &driver.Error{Code: driver.CodeError, Err: errors.New("no transaction is active")}
	}
	gathered, sizes := c.gathered, c.sizes
	c.begun, c.gathered, c.sizes = false, c.gathered[:0], c.sizes[:0]
	defer clear(gathered) // lets the garbage collector free the values, which may be large
	if firstWord(sql) == "ROLLBACK" {
		return nil
	}
	return c.send(gathered, sizes)
}

// gather adds a statement to the transaction, with the number of rows that it binds.
func (c *conn) gather(st statement, rows int) {
	c.gathered, c.sizes = append(c.gathered, st), append(c.sizes, rows)
	c.untold = errGathered
}

func (c *conn) send(list []statement, sizes []int) error {
	for len(list) > 0 {
		n, rows := 0, 0
		for n < len(list) && (c.rows == 0 || n == 0 || rows+sizes[n] <= c.rows) {
			rows += sizes[n]
			n++
		}
		if err := c.write(c.whole, list[:n], c.queues); err != nil {
			return err
		}
		list, sizes = list[n:], sizes[n:]
	}
	return nil
}

func (c *conn) write(on *gorqlite.Connection, list []statement, queue bool) error {
	var creates []string
	if c.db.cluster.given != nil {
		for i := range list {
			if what := createdBy(list[i].Query); what != "" {
				creates = append(creates, what)
			}
		}
	}
	if creates == nil {
		return c.put(c.ctx, on, list, queue)
	}
	return c.db.cluster.given.create(c.ctx, creates, func(ctx context.Context) error { return c.put(ctx, on, list, queue) })
}

// put sends statements in a request. Unlike the method "write", put does not note which tables and
// views the statements create.
func (c *conn) put(ctx context.Context, on *gorqlite.Connection, list []statement, queue bool) error {
	if queue {
		c.untold = errQueued
		c.db.queued.Store(true)
		if _, err := on.QueueParameterizedContext(ctx, list); err != nil {
			return c.failed(err)
		}
		return nil
	}
	results, err := on.WriteParameterizedContext(ctx, list)
	if err != nil {
		for _, r := range results {
			if r.Err != nil {
				return c.failed(err, r.Err)
			}
		}
		return c.failed(err)
	}
	if len(results) != len(list) {
		// If the request fails as a whole, for example without a leader, the library returns
		// neither results nor an error.
		return fmt.Errorf("rqlite has done %d of the %d statements of a request, and gorqlite does not say why: the cluster may have lost its leader", len(results), len(list))
	}
	last := results[len(results)-1]
	c.affected, c.lastID, c.untold = last.RowsAffected, last.LastInsertID, nil
	return nil
}

func (c *conn) query(sql string, args []any) (*gorqlite.QueryResult, error) {
	if c.begun {
		return nil, unsupported("a transaction of rqlite is one request, so nothing can be read in it")
	}
	list := []statement{{Query: sql, Arguments: args}}
	kind, err := classify(sql)
	switch {
	case err != nil:
		return nil, err
	case kind == transactional:
		return nil, unsupported("rqlite has no transaction that lasts longer than a request")
	case kind == reading:
		results, err := c.single.QueryParameterizedContext(c.ctx, list)
		if len(results) > 0 && (err == nil || results[0].Err != nil) {
			return &results[0], c.failed(err, results[0].Err)
		}
		return nil, c.failed(err)
	}
	results, err := c.single.RequestParameterizedContext(c.ctx, list)
	switch {
	case len(results) > 0 && results[0].Err != nil:
		return nil, c.failed(err, results[0].Err)
	case err != nil:
		return nil, c.failed(err)
	case len(results) > 0 && results[0].Query != nil:
		return results[0].Query, nil
	}
	return &gorqlite.QueryResult{}, nil
}

// failed returns nil if err is nil. If the context has ended, it returns the context's error.
// Otherwise it returns the statement's error, with SQLite's result code if the code is known. The
// parameter "of" may have the statement's error; err then is the error of the whole request.
func (c *conn) failed(err error, of ...error) error {
	if err == nil {
		return nil
	}
	if ended := c.ctx.Err(); ended != nil {
		return ended // the library's error has only the same text, so errors.Is would not find the context's error
	}
	if cannot, ok := errors.AsType[*driver.UnsupportedError](err); ok {
		return cannot // the value of a parameter is not supported
	}
	if len(of) > 0 && of[0] != nil && of[0] != err { //nolint:errorlint // compares the error values themselves, not wrapped errors
		return coded(of[0])
	}
	if errors.As(err, new(gorqlite.StatementErrors)) {
		return coded(err)
	}
	return errors.New(oneLine(err))
}

// codes maps parts of SQLite's error messages to result codes, because rqlite returns only the messages.
// The codes are primary result codes. The extended codes are unknown, because a violated primary key and a
// violated unique column have the same message.
var codes = []struct {
	words string
	code  int
}{
	{"constraint failed", driver.CodeConstraint},
	{"cannot store ", driver.CodeConstraint}, // beginning of the message for a value of a wrong type in a STRICT table
	{"attempt to write a readonly database", driver.CodeReadonly},
	{"database is locked", driver.CodeBusy},
	{"database or disk is full", driver.CodeFull},
	{"file is not a database", driver.CodeNotADB},
	{"interrupted", driver.CodeInterrupt},
}

func coded(err error) error {
	if len(err.Error()) > maxMessage {
		err = errors.New(oneLine(err))
	}
	for _, c := range codes {
		if strings.Contains(err.Error(), c.words) {
			return &driver.Error{Code: c.code, Err: err}
		}
	}
	return &driver.Error{Code: driver.CodeError, Err: err}
}

func (c *conn) Prepare(st driver.Statement, _ bool) (connpool.Stmt, error) {
	if st.AnyColumns {
		return nil, unsupported("the columns are not known, and a number from rqlite may be an integer or not")
	}
	kind, err := classify(st.SQL)
	if err != nil {
		return nil, err
	}
	return &stmt{conn: c, st: st, reads: kind == reading, pragma: nodePragma(st.SQL), row: make(driver.Row, len(st.Columns)), kinds: connpool.Kinds(st.Columns)}, nil
}
