package rqlite

import (
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Impatient limits how long a running cluster may take to answer a question. The limit ends with
// the test.
func Impatient(t *testing.T, limit time.Duration) {
	before := patience
	patience = limit
	t.Cleanup(func() { patience = before })
}

// Sent returns how many statements are in each request that is sent while f runs, and how many
// of the requests are queued.
func Sent(db driver.DB, f func()) (statements []int, queued int) {
	for _, r := range db.(*database).http.watch(f) {
		statements = append(statements, r.statements)
		if r.queued {
			queued++
		}
	}
	return statements, queued
}
