package store

import (
	"context"
	"database/sql"
	"time"
)

// Migrations are the migrations of this version of sqlite3perf.
var Migrations = migrations

// The queries of [Store.List].
const (
	ListCases  = listCases
	ListTrials = listTrials
)

// Ranges and DataDir let tests call unexported functions with input that the exported functions cannot
// produce.
var (
	Ranges  = ranges
	DataDir = dataDir
)

// OpenWith opens a store with the given migrations and the given busy timeout.
func OpenWith(path string, readOnly bool, migrations []string, busy time.Duration) (*Store, error) {
	return open(context.Background(), path, readOnly, migrations, busy)
}

// DB returns the connection pool of a store. Tests use it to damage the store.
func (s *Store) DB() *sql.DB { return s.db }

// Write calls the function do in a transaction that writes.
func (s *Store) Write(ctx context.Context, do func(*sql.Conn) error) error {
	return s.write(ctx, func(_ context.Context, c *sql.Conn) error { return do(c) })
}
