package rqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// recovery is how long a node may take to start with the files that a fault has left. Without a
// fault, it takes about a second.
const recovery = 30 * time.Second

// steady is the address that a node tells other nodes. The node writes this address to its log, so
// it must be the same when the node starts again. The cluster has only one node, so nothing listens
// at this address, and nothing connects to it.
const steady = "127.0.0.1:1"

// Recover starts a node with the files that an earlier node has left, or without files. Closing the
// database kills the node.
func (leaver) Recover(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	switch {
	case os.Getenv(addressesVariable) != "":
		return nil, &driver.SettingError{Err: fmt.Errorf("%s is set, but only nodes that sqlite3perf starts can be killed: unset it", addressesVariable)}
	case s["node_delay"] != "":
		return nil, &driver.SettingError{Err: errors.New("node_delay: one node has no other to wait for: leave it out")}
	case s["nodes"] != "" && s["nodes"] != "1":
		return nil, &driver.SettingError{Err: fmt.Errorf("nodes=%s: the files of one node are recovered: want nodes=1", s["nodes"])}
	}
	// A leader that was just elected may not have executed all statements in its log. Only a read
	// with the level "strong" waits until it has executed them.
	s = s.With(driver.Settings{"read_consistency": "strong"})
	c := &cluster{path: path, users: 1, kept: true}
	starting, cancel := context.WithTimeout(ctx, recovery)
	defer cancel()
	if err := c.start(starting, s); err != nil {
		return nil, err
	}
	attachedMu.Lock()
	attached[path] = c
	attachedMu.Unlock()
	return c.pool(ctx, s)
}
