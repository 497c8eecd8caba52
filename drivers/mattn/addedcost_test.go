package mattn_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/drivers/mattn"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/addedcost"
)

var library = addedcost.Library{Driver: mattn.New(), Open: openByHand}

func TestAddedCost(t *testing.T)      { addedcost.Test(t, library) }
func BenchmarkAddedCost(b *testing.B) { addedcost.Benchmark(b, library) }

// hand uses the library through database/sql, with prepared statements.
type hand struct{ db *sql.DB }

func openByHand(path string) (addedcost.Hand, error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_locking_mode=exclusive&_journal_mode=memory&_synchronous=off&_cache_size=-65536&_txlock=deferred")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &hand{db}, nil
}

func (h *hand) Close() error { return h.db.Close() }

func (h *hand) Setting(name string) (value string, err error) {
	err = h.db.QueryRow("PRAGMA " + name).Scan(&value)
	return value, err
}

func (h *hand) Create() error {
	_, err := h.db.Exec(addedcost.Schema)
	return err
}

func (h *hand) Insert(w *worker.Stopwatch, users []addedcost.Stored) error {
	w.Start()
	defer w.Stop()
	tx, err := h.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of one that is committed it does nothing
	stmt, err := tx.Prepare(addedcost.Insert)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for i := range users {
		u := &users[i]
		if _, err := stmt.Exec(u.ID, u.Created, u.Email, u.Active); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (h *hand) Query(w *worker.Stopwatch, see func(addedcost.User)) (int64, error) {
	stmt, err := h.db.Prepare(addedcost.Scan)
	if err != nil {
		return 0, err
	}
	defer stmt.Close()
	w.Start()
	defer w.Stop()
	return read(stmt, see)
}

// read reads the result to its end, which QueryRow does not.
func read(stmt *sql.Stmt, see func(addedcost.User), args ...any) (n int64, err error) {
	rows, err := stmt.Query(args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var u addedcost.User
	var created int64
	for rows.Next() {
		if err := rows.Scan(&u.ID, &created, &u.Email, &u.Active); err != nil {
			return n, err
		}
		u.Created = time.UnixMilli(created)
		n++
		if see != nil {
			see(u)
		}
	}
	return n, errors.Join(rows.Err(), rows.Close())
}

func (h *hand) Mix(w *worker.Stopwatch, ids []int64, see func(addedcost.User)) (n int64, err error) {
	conn, err := h.db.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	stmt, err := conn.PrepareContext(context.Background(), addedcost.Read)
	if err != nil {
		return 0, err
	}
	defer stmt.Close()
	w.Start()
	defer w.Stop()
	for _, id := range ids {
		rows, err := read(stmt, see, id)
		if err != nil {
			return n, err
		}
		n += rows
	}
	return n, nil
}

func (h *hand) Transactions(w *worker.Stopwatch, ids []int64, see func(addedcost.User)) (n int64, err error) {
	readStmt, err := h.db.Prepare(addedcost.Read)
	if err != nil {
		return 0, err
	}
	defer readStmt.Close()
	update, err := h.db.Prepare(addedcost.Update)
	if err != nil {
		return 0, err
	}
	defer update.Close()
	w.Start()
	defer w.Stop()
	for _, id := range ids {
		rows, err := h.flip(readStmt, update, id, see)
		if err != nil {
			return n, err
		}
		n += rows
	}
	return n, nil
}

func (h *hand) flip(readStmt, update *sql.Stmt, id int64, see func(addedcost.User)) (int64, error) {
	tx, err := h.db.Begin()
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // of one that is committed it does nothing
	n, err := read(tx.Stmt(readStmt), see, id)
	if err != nil {
		return n, err
	}
	if _, err := tx.Stmt(update).Exec(id); err != nil { //nolint:sqlclosecheck // the transaction closes it
		return n, err
	}
	return n, tx.Commit()
}
