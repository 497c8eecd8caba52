package rqlite

import "github.com/sqlite3perf/sqlite3perf/worker/driver"

// Sent returns how many statements each request has that is sent while f runs, and how many
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
