package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// oursLimit is how long one of the worker's own checks may take if the database is empty. For each
// MiB of the database a check may take a second more: see [trial.ours].
var oursLimit = 30 * time.Second

// ours runs one of the worker's own checks, while no statement of the workload runs. If the check
// exceeds its time limit, the error says that sqlite3perf's own check hung, and not a statement of
// the workload.
func (t *trial) ours(ctx context.Context, what string, check func(context.Context) error) error {
	limit := oursLimit + time.Duration(fileSize(t.req.Path)>>20)*time.Second
	done := make(chan error, 1)
	go func() { done <- check(ctx) }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return &endlessError{failure{protocol.CodeCheck, fmt.Errorf("the check hung: %s has not ended within %v. It is sqlite3perf's own: no statement of the workload was under way", what, limit)}}
	}
}

// checkIntegrity asks SQLite to check a database that many clients have used.
func (t *trial) checkIntegrity(ctx context.Context) (err error) {
	db := t.db
	if t.apart {
		// If a connection has searched an FTS5 index, and then another connection has written to
		// the index, quick_check on the first connection finds the index corrupt. So the check
		// opens its own connection.
		own := pooled(t.req.Settings, 1)
		if own["cache"] == "shared" {
			own["cache"] = "private"
		}
		if db, err = t.drv.Open(ctx, t.req.Path, own); err != nil {
			return fmt.Errorf("opening the database to check it: %w", err)
		}
		defer func() {
			if cerr := db.Close(); err == nil && cerr != nil {
				err = fmt.Errorf("closing the database after checking it: %w", cerr)
			}
		}()
	}
	// In a shared cache SQLite checks a virtual table, such as an FTS5 index, through another
	// connection that has used the table, and then waits for itself. So virtual tables are not
	// checked.
	checks := []string{"1"}
	if !t.apart && t.req.Settings["cache"] == "shared" {
		if checks, err = texts(ctx, db, "SELECT quote(name) FROM sqlite_master WHERE type = 'table' AND rootpage > 0"); err != nil {
			return fmt.Errorf("looking for the tables to check: %w", err)
		}
	}
	for _, arg := range checks {
		check := "PRAGMA quick_check(" + arg + ")"
		found, err := texts(ctx, db, check)
		if i := slices.IndexFunc(found, func(s string) bool { return s != "ok" }); i >= 0 {
			return of(check, failf(protocol.CodeIntegrity, "quick_check after the phase: %s", found[i]))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
