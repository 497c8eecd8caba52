package byhand

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// SQL returns the function for the field Open of a [Program] whose library works with database/sql.
// The function "open" opens a database. The parameter "prepared" is the context with which
// statements are prepared, because some libraries read a value from that context.
func SQL(prepared context.Context, open func(path string) (*sql.DB, error)) func(path string) (Database, error) {
	return func(path string) (Database, error) {
		db, err := open(path)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		return &sqlDatabase{db, prepared}, nil
	}
}

type sqlDatabase struct {
	db       *sql.DB
	prepared context.Context
}

func (d *sqlDatabase) Close() error { return d.db.Close() }

func (d *sqlDatabase) Read(query string, columns int, see func(row []string) error) error {
	rows, err := d.db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	raw, row := make([]sql.RawBytes, columns), make([]string, columns)
	dest := driver.Pointers(raw)
	for rows.Next() {
		if columns == 0 {
			continue
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		for i := range raw {
			row[i] = string(raw[i])
		}
		if err := see(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (d *sqlDatabase) Insert(w *worker.Stopwatch, blog *Blog) error {
	w.Start()
	defer w.Stop()
	err := d.insert(InsertUser, len(blog.Users), func(args []any, i int) {
		u := &blog.Users[i]
		args[0], args[1], args[2], args[3] = u.ID, u.Created.UnixMilli(), u.Email, u.Active
	})
	if err != nil {
		return err
	}
	if err := d.insertPosts(InsertArticle, blog.Articles); err != nil {
		return err
	}
	return d.insertPosts(InsertComment, blog.Comments)
}

func (d *sqlDatabase) insertPosts(query string, posts []Post) error {
	return d.insert(query, len(posts), func(args []any, i int) {
		p := &posts[i]
		args[0], args[1], args[2], args[3] = p.ID, p.Created.UnixMilli(), p.Parent, p.Text
	})
}

// insert executes a statement with four parameters n times in one transaction. It reuses the slice
// "args", so that no row needs a new slice.
func (d *sqlDatabase) insert(query string, n int, fill func(args []any, i int)) error {
	if n == 0 {
		return nil
	}
	tx, err := d.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // Rollback does nothing after Commit
	stmt, err := tx.PrepareContext(d.prepared, query)
	if err != nil {
		return err
	}
	defer stmt.Close()
	args := make([]any, 4)
	for i := range n {
		fill(args, i)
		if _, err := stmt.Exec(args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// millis is a time that is scanned from milliseconds since the Unix epoch.
type millis time.Time

func (m *millis) Scan(v any) error {
	ms, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is a %T", v)
	}
	*m = millis(time.UnixMilli(ms))
	return nil
}

// scan returns the destinations for scanning a row of users into u.
func (u *User) scan() []any { return []any{&u.ID, (*millis)(&u.Created), &u.Email, &u.Active} }

// scan returns the destinations for scanning a row of articles or comments into p.
func (p *Post) scan() []any { return []any{&p.ID, (*millis)(&p.Created), &p.Parent, &p.Text} }

// scanUser returns the destinations for scanning a row of users. It also returns a function that
// passes the scanned row to the function "see", unless "see" is nil.
func scanUser(see func(*User)) (dest []any, row func()) {
	var u User
	return u.scan(), func() {
		if see != nil {
			see(&u)
		}
	}
}

func (d *sqlDatabase) Users(w *worker.Stopwatch, see func(*User)) (n int64, err error) {
	dest, row := scanUser(see)
	return d.query(w, SelectUsers, dest, row)
}

func (d *sqlDatabase) All(w *worker.Stopwatch, see func(user *User, article, comment *Post)) (n int64, err error) {
	var u User
	var a, c Post
	dest := slices.Concat(u.scan(), a.scan(), c.scan())
	return d.query(w, SelectAll, dest, func() {
		if see != nil {
			see(&u, &a, &c)
		}
	})
}

// query prepares a statement, runs it, and times its execution. It calls the function "row" after
// each row of the result, and returns the number of rows.
func (d *sqlDatabase) query(w *worker.Stopwatch, query string, dest []any, row func()) (n int64, err error) {
	err = d.prepare(query, func(stmt *sql.Stmt) error {
		w.Start()
		defer w.Stop()
		n, err = read(stmt, dest, row)
		return err
	})
	return n, err
}

// prepare takes a connection from the pool, prepares the query on it, and passes the prepared
// statement to the function f.
func (d *sqlDatabase) prepare(query string, f func(*sql.Stmt) error) error {
	conn, err := d.db.Conn(context.Background())
	if err != nil {
		return err
	}
	defer conn.Close()
	stmt, err := conn.PrepareContext(d.prepared, query)
	if err != nil {
		return err
	}
	defer stmt.Close()
	return f(stmt)
}

// read scans every row of the result into dest, and calls the function "row" after each scan. It
// does not use QueryRow, which does not read the result to its end.
func read(stmt *sql.Stmt, dest []any, row func(), args ...any) (n int64, err error) {
	rows, err := stmt.Query(args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return n, err
		}
		n++
		row()
	}
	return n, errors.Join(rows.Err(), rows.Close())
}

func (d *sqlDatabase) Mix(w *worker.Stopwatch, ids []int64, see func(*User)) (n int64, err error) {
	dest, row := scanUser(see)
	err = d.prepare(SelectUser, func(stmt *sql.Stmt) error {
		w.Start()
		defer w.Stop()
		for _, id := range ids {
			rows, err := read(stmt, dest, row, id)
			if err != nil {
				return err
			}
			n += rows
		}
		return nil
	})
	return n, err
}

func (d *sqlDatabase) Transactions(w *worker.Stopwatch, ids []int64, see func(*User)) (n int64, err error) {
	dest, row := scanUser(see)
	user, err := d.db.PrepareContext(d.prepared, SelectUser)
	if err != nil {
		return 0, err
	}
	defer user.Close()
	update, err := d.db.PrepareContext(d.prepared, UpdateUser)
	if err != nil {
		return 0, err
	}
	defer update.Close()
	w.Start()
	defer w.Stop()
	for _, id := range ids {
		tx, err := d.db.Begin()
		if err != nil {
			return n, err
		}
		rows, err := read(tx.Stmt(user), dest, row, id) //nolint:sqlclosecheck // the transaction closes it
		if err == nil {
			_, err = tx.Stmt(update).Exec(id) //nolint:sqlclosecheck // the transaction closes it
		}
		if err != nil {
			return n, errors.Join(err, tx.Rollback())
		}
		if err := tx.Commit(); err != nil {
			return n, err
		}
		n += rows
	}
	return n, nil
}
