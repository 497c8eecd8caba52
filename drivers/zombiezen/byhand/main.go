// Command byhand runs the workloads simple.yaml and complex.yaml with zombiezen.com/go/sqlite
// alone: one connection of the library's pool, and statements that are prepared once. See package
// byhand.
package main

import (
	"context"
	"errors"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func main() { worker.Main(program.Driver()) }

var program = byhand.Program{
	Info: driver.Info{
		Name: "zombiezen by hand", About: "A program that uses the library directly.",
		Module: "zombiezen.com/go/sqlite", Kind: driver.Transpiled, Interface: driver.Direct,
	},
	Open: open,
}

type database struct {
	pool *sqlitex.Pool
	conn *sqlite.Conn
}

// open takes a connection from a pool, as the examples in the library's documentation do. The pool
// lets a context interrupt the connection, so each Step first checks whether that context has
// ended.
func open(path string) (byhand.Database, error) {
	pool, err := sqlitex.NewPool(path, sqlitex.PoolOptions{Flags: sqlite.OpenReadWrite | sqlite.OpenCreate, PoolSize: 1})
	if err != nil {
		return nil, err
	}
	conn, err := pool.Take(context.Background())
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &database{pool, conn}, nil
}

func (d *database) Close() error {
	d.pool.Put(d.conn)
	return d.pool.Close()
}

func (d *database) Read(sql string, columns int, see func(row []string) error) error {
	row := make([]string, columns)
	return sqlitex.ExecuteTransient(d.conn, sql, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		for i := range row {
			row[i] = stmt.ColumnText(i)
		}
		return see(row)
	}})
}

func (d *database) Insert(w *worker.Stopwatch, blog *byhand.Blog) error {
	w.Start()
	defer w.Stop()
	err := d.insert(byhand.InsertUser, len(blog.Users), func(stmt *sqlite.Stmt, i int) {
		u := &blog.Users[i]
		stmt.BindInt64(1, u.ID)
		stmt.BindInt64(2, u.Created.UnixMilli())
		stmt.BindText(3, u.Email)
		stmt.BindBool(4, u.Active)
	})
	if err != nil {
		return err
	}
	if err := d.insertPosts(byhand.InsertArticle, blog.Articles); err != nil {
		return err
	}
	return d.insertPosts(byhand.InsertComment, blog.Comments)
}

func (d *database) insertPosts(sql string, posts []byhand.Post) error {
	return d.insert(sql, len(posts), func(stmt *sqlite.Stmt, i int) {
		p := &posts[i]
		stmt.BindInt64(1, p.ID)
		stmt.BindInt64(2, p.Created.UnixMilli())
		stmt.BindInt64(3, p.Parent)
		stmt.BindText(4, p.Text)
	})
}

// insert executes a statement n times in one transaction.
func (d *database) insert(sql string, n int, bind func(stmt *sqlite.Stmt, i int)) (err error) {
	if n == 0 {
		return nil
	}
	defer sqlitex.Transaction(d.conn)(&err)
	stmt, err := d.conn.Prepare(sql)
	if err != nil {
		return err
	}
	for i := range n {
		bind(stmt, i)
		if _, err := stmt.Step(); err != nil {
			return err
		}
		if err := stmt.Reset(); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) Users(w *worker.Stopwatch, see func(*byhand.User)) (n int64, err error) {
	stmt, err := d.conn.Prepare(byhand.SelectUsers)
	if err != nil {
		return 0, err
	}
	var u byhand.User
	w.Start()
	defer w.Stop()
	for {
		row, err := stmt.Step()
		if err != nil {
			return n, err
		}
		if !row {
			return n, stmt.Reset()
		}
		user(stmt, &u)
		n++
		if see != nil {
			see(&u)
		}
	}
}

func user(stmt *sqlite.Stmt, u *byhand.User) {
	u.ID = stmt.ColumnInt64(0)
	u.Created = time.UnixMilli(stmt.ColumnInt64(1))
	u.Email = stmt.ColumnText(2)
	u.Active = stmt.ColumnBool(3)
}

// post decodes an article or a comment, whose first column is the parameter "first".
func post(stmt *sqlite.Stmt, p *byhand.Post, first int) {
	p.ID = stmt.ColumnInt64(first)
	p.Created = time.UnixMilli(stmt.ColumnInt64(first + 1))
	p.Parent = stmt.ColumnInt64(first + 2)
	p.Text = stmt.ColumnText(first + 3)
}

func (d *database) All(w *worker.Stopwatch, see func(user *byhand.User, article, comment *byhand.Post)) (n int64, err error) {
	stmt, err := d.conn.Prepare(byhand.SelectAll)
	if err != nil {
		return 0, err
	}
	var u byhand.User
	var a, c byhand.Post
	w.Start()
	defer w.Stop()
	for {
		row, err := stmt.Step()
		if err != nil {
			return n, err
		}
		if !row {
			return n, stmt.Reset()
		}
		user(stmt, &u)
		post(stmt, &a, 4)
		post(stmt, &c, 8)
		n++
		if see != nil {
			see(&u, &a, &c)
		}
	}
}
