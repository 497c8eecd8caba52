// Package rqlite adapts github.com/rqlite/gorqlite, a client of rqlite: SQLite on each node of a
// cluster, with Raft between the nodes. Opening a database starts the nodes as child processes on
// loopback, with their data next to the database. Closing the database ends the nodes. If
// RQLITE_ADDRESSES is set, a running cluster is used instead.
//
// rqlite has no connections, and no transaction that is longer than a request. So a connection
// of this package is a client, and a transaction is a list of statements that COMMIT sends in
// one request.
package rqlite

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/driver/connpool"
)

//go:embed driver.json
var info []byte

// New returns the driver. The environment variable RQLITED_PATH names the program rqlited. If
// RQLITE_ADDRESSES is set, the driver uses the running cluster at these addresses.
func New() driver.Driver { return leaver{driver.New(driver.MustInfo(info), open)} }

func open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	c, err := attach(ctx, path, s)
	if err != nil {
		return nil, err
	}
	return c.pool(ctx, s)
}

// pool opens a database of the cluster.
func (c *cluster) pool(ctx context.Context, s driver.Settings) (driver.DB, error) {
	measured, plain := transport(), transport()
	d := &database{cluster: c, settings: s, idle: []*http.Transport{measured, plain},
		http:  &watched{next: &nodes.Bounded{Next: measured, Named: c.named}},
		plain: &http.Client{Transport: &nodes.Bounded{Next: plain}, CheckRedirect: nodes.NotFollowed}}
	pool, err := connpool.NewFixed(ctx, s.PoolSize(), func(number int) (connpool.ClosingConn, error) {
		return d.connect(number)
	})
	if err != nil {
		return nil, errors.Join(err, c.detach(ctx))
	}
	d.WaitCounter = connpool.New(pool, s.PoolSize(), s.Begin())
	return d, nil
}

// transport returns the default transport of net/http, except that each client keeps its TCP
// connection, and no proxy is used.
func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1<<16
	return t
}

type database struct {
	driver.WaitCounter
	cluster  *cluster
	settings driver.Settings
	http     *watched
	plain    *http.Client // sends requests that the library cannot send: requests to one certain node
	idle     []*http.Transport
	queued   atomic.Bool // true if writes were queued after Settle last emptied the queue

	closing sync.Once
}

// Close closes the pool, and ends the cluster unless another database of this process uses the
// cluster.
func (d *database) Close() error {
	err := errors.New("the database is already closed")
	d.closing.Do(func() {
		ctx := context.Background()
		err = errors.Join(d.Settle(ctx), d.WaitCounter.Close())
		for _, t := range d.idle {
			t.CloseIdleConnections()
		}
		err = errors.Join(err, d.cluster.detach(ctx))
	})
	return err
}

// Sizes returns the number of bytes that all nodes keep, including the logs of Raft, and the number
// of these bytes that are in SQLite's write-ahead logs.
func (d *database) Sizes(ctx context.Context) (all, logs int64, err error) {
	for _, u := range d.cluster.urls {
		s, err := nodes.StatusOf(ctx, u)
		if err != nil {
			return 0, 0, fmt.Errorf("asking a node for its status: %s", reason(err))
		}
		all += s.DataBytes
		logs += s.WALBytes
	}
	return all, logs, nil
}

func (d *database) Keep(ctx context.Context) (restore func(context.Context) error, err error) {
	data, err := d.cluster.call(ctx, http.MethodGet, "/db/backup", nil)
	if err != nil {
		return nil, fmt.Errorf("keeping the database: %s", reason(err))
	}
	return func(ctx context.Context) error { return d.cluster.load(ctx, data) }, nil
}

// Settle waits until queued writes are in the database.
func (d *database) Settle(ctx context.Context) error {
	if !d.queued.Swap(false) {
		return nil
	}
	if err := d.cluster.flush(ctx); err != nil {
		return fmt.Errorf("waiting for queued writes: %w", err)
	}
	return nil
}

// Shown asks a node how many nodes the cluster has. Some settings exist only in requests, so Shown
// sends requests and reads the settings from them.
func (d *database) Shown(ctx context.Context) (driver.Settings, error) {
	status, err := d.cluster.status(ctx)
	if err != nil {
		return nil, err
	}
	c, err := d.connect(0)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer c.Guard(ctx)()
	reads := d.http.watch(func() { _, err = c.query("SELECT 1", nil) })
	if err != nil {
		return nil, fmt.Errorf("looking at a read: %w", err)
	}
	// The transaction has one statement more than fits into a request. If there is no limit, the
	// transaction has two statements.
	rows := max(c.rows, 1) + 1
	writes := d.http.watch(func() {
		err = c.Run("BEGIN")
		for range rows {
			c.gather(statement{Query: "SELECT 1"}, 1)
		}
		err = errors.Join(err, c.Run("COMMIT"), d.Settle(ctx))
	})
	if err != nil {
		return nil, fmt.Errorf("looking at writes: %w", err)
	}
	shown := driver.Settings{"nodes": strconv.Itoa(status.Voters), "read_consistency": reads[0].level, "queued_writes": "off", "request_rows": "0"}
	if writes[0].queued {
		shown["queued_writes"] = "on"
	}
	if writes[0].statements < rows {
		shown["request_rows"] = strconv.Itoa(writes[0].statements)
	}
	if l := d.cluster.lines; l != nil {
		delay, ok, err := l.shown(ctx, d.cluster)
		if err != nil {
			return nil, err
		}
		if ok {
			shown["node_delay"] = strconv.FormatInt(delay.Milliseconds(), 10)
		}
	}
	return shown, nil
}
