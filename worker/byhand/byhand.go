// Package byhand makes a worker of a program that uses a library directly, without the
// engine and without an adapter. It does the work of the workloads simple and complex as
// an experienced user of the library would write it for these tables alone. Since such a
// program speaks the worker protocol, the lab measures it beside the driver: in processes
// of its own, in the same rounds, with the same rows, settings and checks of the answers.
//
//	sqlite3perf compare bin/mattn-by-hand mattn --workloads simple,complex --scale quick
//
// The program of a driver is in its module, in the directory byhand. It has the loops, and
// runs the clock around them. This package does what is outside the clock: it makes the
// rows, reads the settings back, and computes the checksums.
package byhand

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Settings are the settings of both workloads. The program opens its database with them.
var Settings = driver.Settings{"journal_mode": "delete", "synchronous": "full", "foreign_keys": "on", "busy_timeout": "5000", "pool_size": "1"}

// The statements of both workloads. The order of the values is that of the fields of
// [User], [Article] and [Comment].
const (
	InsertUser    = "INSERT INTO users(id, created, email, active) VALUES (?, ?, ?, ?)"
	InsertArticle = "INSERT INTO articles(id, created, userId, text) VALUES (?, ?, ?, ?)"
	InsertComment = "INSERT INTO comments(id, created, articleId, text) VALUES (?, ?, ?, ?)"

	SelectUsers = "SELECT id, created, email, active FROM users ORDER BY id"
	SelectAll   = `SELECT users.id, users.created, users.email, users.active,
    articles.id, articles.created, articles.userId, articles.text,
    comments.id, comments.created, comments.articleId, comments.text
FROM users
LEFT JOIN articles ON articles.userId = users.id
LEFT JOIN comments ON comments.articleId = articles.id
ORDER BY users.created, articles.created, comments.created`
)

// User is a row of the table users. Times are stored as milliseconds since the Unix epoch,
// booleans as 0 or 1.
type User struct {
	ID      int64
	Created time.Time
	Email   string
	Active  bool
}

// Article is a row of the table articles.
type Article struct {
	ID      int64
	Created time.Time
	UserID  int64
	Text    string
}

// Comment is a row of the table comments.
type Comment struct {
	ID        int64
	Created   time.Time
	ArticleID int64
	Text      string
}

// Blog has the rows that a program inserts. The workload simple has only users.
type Blog struct {
	Users    []User
	Articles []Article
	Comments []Comment
}

// Program is a program written by hand.
type Program struct {
	Info driver.Info                         // the program's name, and what it measures
	Open func(path string) (Database, error) // creates a database with [Settings], on one connection
}

// Database is the program's own connection to a new database.
type Database interface {
	// Exec runs a script.
	Exec(script string) error

	// Read runs a query and passes each row to see: nil, int64, float64, string or
	// []byte. It is never timed.
	Read(sql string, see func(row []any) error) error

	// Insert inserts the rows of blog. Each table that has rows gets its own transaction.
	// The clock runs from the beginning of the first transaction to the end of the last
	// one.
	Insert(clock *Clock, blog *Blog) error

	// Users runs [SelectUsers], and All [SelectAll]. The clock runs from the execution of
	// the prepared statement until its last row is decoded. They return the number of
	// rows, and pass each to see unless that is nil.
	Users(clock *Clock, see func(*User)) (rows int64, err error)
	All(clock *Clock, see func(*User, *Article, *Comment)) (rows int64, err error)

	Close() error
}

// Clock measures one stretch of time: wall time by itself, and with the engine's stopwatch
// what else is used in that stretch.
type Clock struct {
	begin time.Time
	wall  time.Duration
	used  worker.Stopwatch
}

// Start collects garbage, as the engine does, and starts the clock.
func (c *Clock) Start() {
	c.used.Start()
	c.begin = time.Now()
}

// Stop stops the clock.
func (c *Clock) Stop() {
	c.wall = time.Since(c.begin)
	c.used.Stop()
}

// read writes what was measured to a sample.
func (c *Clock) read(s *protocol.Sample) {
	c.used.Read(s)
	s.WallNS = int64(c.wall)
}
