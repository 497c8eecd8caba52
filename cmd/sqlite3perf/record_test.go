package main

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"github.com/sqlite3perf/sqlite3perf/record"
)

func init() {
	workers["application"] = func() {
		if err := application(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// application is a program that is recorded. Its usage is: application [-values] [-rows N] [-queue]
// DATABASE RECORDING.
func application() (err error) {
	values := flag.Bool("values", false, "record the values of parameters")
	rows := flag.Int("rows", 200, "rows to insert")
	queue := flag.Bool("queue", false, "be a queue of jobs")
	flag.Parse()
	rec, err := record.Create(flag.Arg(1), record.Options{Values: *values})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.Close()) }()
	connector, err := rec.Driver(&sqlite.Driver{}).(driver.DriverContext).OpenConnector("file:" + flag.Arg(0) + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=foreign_keys(1)")
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	if *queue {
		return serveJobs(db, *rows)
	}
	return serveUsers(db, *rows)
}

// serveJobs runs clients at the same time. Each client repeatedly begins a deferred transaction.
// Another transaction then inserts and commits a row, and the first transaction inserts a row that
// refers to that row. The first transaction sees that row, because a deferred transaction begins to
// read the database only at its first statement.
func serveJobs(db *sql.DB, clients int) error {
	_, err := db.Exec(`CREATE TABLE jobs (id INTEGER PRIMARY KEY); CREATE TABLE events (job INTEGER NOT NULL REFERENCES jobs)`)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	errs := make([]error, clients)
	var last atomic.Int64
	for c := range errs {
		all.Go(func() {
			for range 20 {
				if err := doJob(db, &last); err != nil {
					errs[c] = err
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func doJob(db *sql.DB, last *atomic.Int64) (err error) {
	late, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, late.Commit()) }()
	early, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = early.Rollback() }() // does nothing if the transaction was committed
	res, err := early.Exec("INSERT INTO jobs DEFAULT VALUES")
	if err != nil {
		return err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	if err := early.Commit(); err != nil {
		return err
	}
	last.Store(id)
	_, err = late.Exec("INSERT INTO events (job) VALUES (?)", last.Load())
	return err
}

// serveUsers runs the application's statements about users.
func serveUsers(db *sql.DB, rows int) error {
	_, err := db.Exec(`CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, score REAL, photo BLOB, seen TIMESTAMP);
		CREATE UNIQUE INDEX users_name ON users(name)`)
	if err != nil {
		return err
	}
	if _, err := db.Exec("PRAGMA cache_size = -4000"); err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	for i := range rows {
		res, err := tx.Exec("INSERT INTO users (id, name, score, photo, seen) VALUES (?, ?, ?, ?, ?)",
			i+1, fmt.Sprintf("user%04d", i), float64(i)/2, []byte{0, byte(i)}, time.UnixMilli(1_700_000_000_000).UTC())
		if err != nil {
			return err
		}
		if id, err := res.LastInsertId(); err != nil || id != int64(i+1) {
			return fmt.Errorf("the last insert ID is %d, want %d: %w", id, i+1, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if _, err := db.Exec("INSERT INTO users (name) VALUES (?)", "user0000"); err == nil {
		return errors.New("a name twice")
	}
	byName, err := db.Prepare("SELECT id, score, photo, seen, NULL FROM users WHERE name = :name") //nolint:sqlclosecheck // closed below, after its clients
	if err != nil {
		return err
	}
	defer byName.Close()
	var clients sync.WaitGroup
	errs := make([]error, 3)
	for c := range errs {
		clients.Go(func() {
			for i := range rows {
				var id, score, photo, seen, null any
				if err := byName.QueryRow(sql.Named("name", fmt.Sprintf("user%04d", i))).Scan(&id, &score, &photo, &seen, &null); err != nil {
					errs[c] = err
					return
				}
			}
		})
	}
	clients.Wait()
	if _, err := db.Exec("UPDATE users SET score = ? WHERE id = ?", nil, 3); err != nil {
		return err
	}
	_, err = db.Exec("UPDATE users SET score = ? WHERE id = ?", 7, 4)
	return errors.Join(append(errs, err)...)
}
