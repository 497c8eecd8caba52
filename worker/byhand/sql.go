package byhand

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// SQL returns the Open of a program for a library of database/sql. open opens a database
// with [Settings].
func SQL(open func(path string) (*sql.DB, error)) func(path string) (Database, error) {
	return func(path string) (Database, error) {
		db, err := open(path)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		return &sqlDatabase{db}, nil
	}
}

type sqlDatabase struct{ db *sql.DB }

func (d *sqlDatabase) Close() error { return d.db.Close() }

func (d *sqlDatabase) Exec(script string) error {
	_, err := d.db.Exec(script)
	return err
}

func (d *sqlDatabase) Read(query string, see func(row []any) error) error {
	rows, err := d.db.Query(query)
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	row, dest := make([]any, len(names)), make([]any, len(names))
	for i := range row {
		dest[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if err := see(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (d *sqlDatabase) Insert(clock *Clock, blog *Blog) error {
	clock.Start()
	defer clock.Stop()
	err := d.insert(InsertUser, len(blog.Users), func(args []any, i int) {
		u := &blog.Users[i]
		args[0], args[1], args[2], args[3] = u.ID, u.Created.UnixMilli(), u.Email, u.Active
	})
	if err != nil {
		return err
	}
	err = d.insert(InsertArticle, len(blog.Articles), func(args []any, i int) {
		a := &blog.Articles[i]
		args[0], args[1], args[2], args[3] = a.ID, a.Created.UnixMilli(), a.UserID, a.Text
	})
	if err != nil {
		return err
	}
	return d.insert(InsertComment, len(blog.Comments), func(args []any, i int) {
		c := &blog.Comments[i]
		args[0], args[1], args[2], args[3] = c.ID, c.Created.UnixMilli(), c.ArticleID, c.Text
	})
}

// insert executes a statement of four parameters n times in one transaction. It reuses the
// arguments' slice, which would otherwise be allocated for each row.
func (d *sqlDatabase) insert(query string, n int, fill func(args []any, i int)) error {
	if n == 0 {
		return nil
	}
	tx, err := d.db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of one that is committed it does nothing
	stmt, err := tx.Prepare(query)
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

// millis scans milliseconds since the Unix epoch.
type millis time.Time

func (m *millis) Scan(v any) error {
	ms, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is a %T", v)
	}
	*m = millis(time.UnixMilli(ms))
	return nil
}

func (d *sqlDatabase) Users(clock *Clock, see func(*User)) (n int64, err error) {
	var u User
	return d.query(clock, SelectUsers, []any{&u.ID, (*millis)(&u.Created), &u.Email, &u.Active}, func() {
		if see != nil {
			see(&u)
		}
	})
}

func (d *sqlDatabase) All(clock *Clock, see func(*User, *Article, *Comment)) (n int64, err error) {
	var u User
	var a Article
	var c Comment
	return d.query(clock, SelectAll, []any{
		&u.ID, (*millis)(&u.Created), &u.Email, &u.Active,
		&a.ID, (*millis)(&a.Created), &a.UserID, &a.Text,
		&c.ID, (*millis)(&c.Created), &c.ArticleID, &c.Text,
	}, func() {
		if see != nil {
			see(&u, &a, &c)
		}
	})
}

// query scans every row of a prepared statement into dest, and calls row after each.
func (d *sqlDatabase) query(clock *Clock, query string, dest []any, row func()) (n int64, err error) {
	conn, err := d.db.Conn(context.Background())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	stmt, err := conn.PrepareContext(context.Background(), query)
	if err != nil {
		return 0, err
	}
	defer stmt.Close()
	clock.Start()
	defer clock.Stop()
	rows, err := stmt.Query()
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
