package worker

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// proveIdle returns the connections in "conns", which are all connections of the pool, to the pool.
// If pool_idle is set, it also observes how many connections the pool keeps, and adds the number to
// the proof.
func proveIdle(ctx context.Context, db driver.DB, s driver.Settings, conns []driver.Conn, proof *protocol.Proof) error {
	if _, set := s["pool_idle"]; !set {
		return giveBack(conns)
	}
	n := len(conns)
	if err := errors.Join(mark(ctx, conns, true), giveBack(conns)); err != nil {
		return err
	}
	kept, err := observeIdle(ctx, db, n)
	if err != nil {
		return fmt.Errorf("observing pool_idle: %w", err)
	}
	if kept == s.PoolIdle() {
		kept, _ = strconv.Atoi(s["pool_idle"]) // report the requested number, which may be greater than the number of connections
	}
	for _, got := range proof.Connections {
		got["pool_idle"] = strconv.Itoa(kept)
	}
	return nil
}

// marker is a PRAGMA whose value belongs to one connection. Nothing else in the worker sets it. The
// worker turns it on in every connection of the pool and returns the connections. When the worker
// takes connections again, the PRAGMA is still on in the connections that the pool has kept, and
// off in new connections.
const marker = "cell_size_check"

func mark(ctx context.Context, conns []driver.Conn, on bool) error {
	for _, c := range conns {
		if err := c.Script(ctx, fmt.Sprintf("PRAGMA %s=%t", marker, on)); err != nil {
			return err
		}
	}
	return nil
}

// observeIdle counts the connections that the pool has kept while none of its n connections was
// in use. All n connections must have been marked before (see [marker]). observeIdle removes the marks.
func observeIdle(ctx context.Context, db driver.DB, n int) (kept int, err error) {
	var conns []driver.Conn
	defer func() { err = errors.Join(err, giveBack(conns)) }()
	for range n {
		c, err := db.Conn(ctx)
		if err != nil {
			return 0, err
		}
		conns = append(conns, c)
		marked, err := number(ctx, c, "PRAGMA "+marker)
		if err != nil {
			return 0, err
		}
		kept += int(marked)
	}
	return kept, mark(ctx, conns, false)
}
