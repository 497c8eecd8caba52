package main

import (
	"context"
	sqldriver "database/sql/driver"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	adapter "github.com/sqlite3perf/sqlite3perf/worker/driver/sqldriver"
)

// The worker "honest" returns what its SQLite library returns. Each of the other workers changes the
// results in the way that its name says.
func init() {
	for _, fault := range []string{"honest", "time-as-text", "cut-at-nul", "through-float", "wrong-affected", "wrong-id", "other-names", "no-sum"} {
		workers[fault] = func() {
			worker.Main(adapter.New(adapter.Library{
				Info: honest().Info(), Code: code,
				LimitAttached: func(c sqldriver.Conn, most int) (int, error) { return limit(c.(*plantedConn).wholeConn, most) },
				Connector: func(path string, s driver.Settings) (sqldriver.Connector, error) {
					c, err := connector(path, s)
					return &plantedConnector{c, fault}, err
				},
			}))
		}
	}
}

type plantedConnector struct {
	sqldriver.Connector
	fault string
}

func (c *plantedConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &plantedConn{conn.(wholeConn), c.fault}, nil
}

// wholeConn has the interfaces that the library's connections implement.
type wholeConn interface {
	sqldriver.Conn
	sqldriver.ConnPrepareContext
	sqldriver.ConnBeginTx
	sqldriver.ExecerContext
	sqldriver.QueryerContext
}

type plantedConn struct {
	wholeConn
	fault string
}

func (c *plantedConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	r, err := c.wholeConn.ExecContext(ctx, query, args)
	return &plantedResult{r, c.fault}, err
}

func (c *plantedConn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	if c.fault == "no-sum" && strings.Contains(query, "sum(") {
		query = "SELECT " + strings.ReplaceAll(strings.TrimPrefix(query, "SELECT"), "sum(", "summe(")
	}
	r, err := c.wholeConn.QueryContext(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &plantedRows{r.(wholeRows), c.fault}, nil
}

type plantedResult struct {
	sqldriver.Result
	fault string
}

func (r *plantedResult) RowsAffected() (int64, error) {
	n, err := r.Result.RowsAffected()
	if r.fault == "wrong-affected" && n > 1 {
		n = 1
	}
	return n, err
}

func (r *plantedResult) LastInsertId() (int64, error) {
	id, err := r.Result.LastInsertId()
	if r.fault == "wrong-id" {
		id++
	}
	return id, err
}

type wholeRows interface {
	sqldriver.Rows
	sqldriver.RowsColumnTypeDatabaseTypeName
}

type plantedRows struct {
	wholeRows
	fault string
}

func (r *plantedRows) Columns() []string {
	list := r.wholeRows.Columns()
	if r.fault == "other-names" {
		for i := range list {
			list[i] = strings.ToLower(list[i])
		}
	}
	return list
}

func (r *plantedRows) Next(dest []sqldriver.Value) error {
	err := r.wholeRows.Next(dest)
	for i := range dest {
		switch v := dest[i].(type) {
		case time.Time:
			if r.fault == "time-as-text" {
				dest[i] = v.Format("2006-01-02 15:04:05")
			}
		case string:
			if r.fault == "cut-at-nul" {
				dest[i], _, _ = strings.Cut(v, "\x00")
			}
		case int64:
			if r.fault == "through-float" {
				dest[i] = int64(float64(v))
			}
		}
	}
	return err
}
