package addedcost

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
)

// SQL returns the hand-written side of a library for database/sql. It keeps its
// prepared statements, and scans every row into one set of variables. open opens
// the database with [Settings]. Statements are prepared with the context prepared,
// for libraries that use it.
func SQL(prepared context.Context, open func(path string) (*sql.DB, error)) func(path string) (Hand, error) {
	return func(path string) (Hand, error) {
		db, err := open(path)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		return &sqlHand{db, prepared}, nil
	}
}

type sqlHand struct {
	db       *sql.DB
	prepared context.Context
}

func (h *sqlHand) Close() error { return h.db.Close() }

func (h *sqlHand) Setting(name string) (value string, err error) {
	err = h.db.QueryRow("PRAGMA " + name).Scan(&value)
	return value, err
}

func (h *sqlHand) Create() error {
	_, err := h.db.Exec(Schema)
	return err
}

func (h *sqlHand) Insert(w *worker.Stopwatch, users []Stored) error {
	w.Start()
	defer w.Stop()
	tx, err := h.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of one that is committed it does nothing
	stmt, err := tx.PrepareContext(h.prepared, Insert)
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

func (h *sqlHand) Query(w *worker.Stopwatch, see func(User)) (int64, error) {
	stmt, err := h.db.PrepareContext(h.prepared, Scan)
	if err != nil {
		return 0, err
	}
	defer stmt.Close()
	w.Start()
	defer w.Stop()
	return read(stmt, see)
}

// read reads the result to its end, which QueryRow does not do.
func read(stmt *sql.Stmt, see func(User), args ...any) (n int64, err error) {
	rows, err := stmt.Query(args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var u User
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

func (h *sqlHand) Mix(w *worker.Stopwatch, ids []int64, see func(User)) (n int64, err error) {
	conn, err := h.db.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	stmt, err := conn.PrepareContext(h.prepared, Read)
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

func (h *sqlHand) Transactions(w *worker.Stopwatch, ids []int64, see func(User)) (n int64, err error) {
	readStmt, err := h.db.PrepareContext(h.prepared, Read)
	if err != nil {
		return 0, err
	}
	defer readStmt.Close()
	update, err := h.db.PrepareContext(h.prepared, Update)
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

func (h *sqlHand) flip(readStmt, update *sql.Stmt, id int64, see func(User)) (int64, error) {
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
