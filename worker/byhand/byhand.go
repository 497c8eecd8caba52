// Package byhand turns a program that uses a library directly, without an adapter, into a worker.
// The program does the work of the built-in workloads simple.yaml and complex.yaml. Its code is
// written for these tables alone, as an experienced user of the library would write it. It speaks the
// worker protocol, so the lab (sqlite3perf itself) measures it like the driver: in its own processes,
// in the same rounds, with the same rows, settings and checks of the answers.
//
//	sqlite3perf compare bin/mattn-by-hand mattn --workloads simple,complex --scale quick
//
// The program is in the directory byhand of the driver's module. It has loops that call the
// library, and times them with a stopwatch. Package worker does everything that is not timed. Package
// addedcost compares such loops with the library's driver in one process.
package byhand

import (
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// The SQL statements of a program. Their parameters and columns are in the order of the fields of
// [User] and [Post].
const (
	InsertUser    = `INSERT INTO "users"("id","created","email","active") VALUES (?,?,?,?)`
	InsertArticle = `INSERT INTO "articles"("id","created","userId","text") VALUES (?,?,?,?)`
	InsertComment = `INSERT INTO "comments"("id","created","articleId","text") VALUES (?,?,?,?)`

	SelectUsers = "SELECT id, created, email, active FROM users ORDER BY id"
	SelectAll   = `SELECT users.id, users.created, users.email, users.active,
    articles.id, articles.created, articles.userId, articles.text,
    comments.id, comments.created, comments.articleId, comments.text
FROM users
LEFT JOIN articles ON articles.userId = users.id
LEFT JOIN comments ON comments.articleId = articles.id
ORDER BY users.created, articles.created, comments.created`

	SelectUser = "SELECT id, created, email, active FROM users WHERE id = ?"
	UpdateUser = "UPDATE users SET active = 1 - active WHERE id = ?"
)

// User is a row of the table "users". Times are stored as milliseconds since the Unix epoch,
// booleans as 0 or 1.
type User struct {
	ID      int64
	Created time.Time
	Email   string
	Active  bool
}

// Post is a row of the table "articles" or "comments".
type Post struct {
	ID      int64
	Created time.Time
	Parent  int64 // ID of the article's user, or of the comment's article
	Text    string
}

// Blog has the rows that a program inserts. Only the workload complex.yaml has articles and
// comments.
type Blog struct {
	Users    []User
	Articles []Post
	Comments []Post
}

// Program is a program written by hand. Its main function calls [worker.Main] with the result of
// [Program.Driver].
type Program struct {
	Info driver.Info                         // the program's name and the measured library
	Open func(path string) (Database, error) // creates a database, on one connection
}

// Database is the program's own connection to a new database. A method with the parameter w runs
// the stopwatch w around its timed part. The methods Users, All, Mix and Transactions return how
// many rows they have read. They pass each row to the function "see", unless it is nil.
type Database interface {
	// Read runs one statement without timing it, and passes each row to the function "see". Values
	// are passed as texts, and NULL as "". The parameter "columns" is the number of the result's
	// columns.
	Read(sql string, columns int, see func(row []string) error) error

	// Insert inserts the rows of the parameter "blog". Each table that has rows gets its own
	// transaction. The clock runs from the beginning of the first transaction to the end of the
	// last one. This time includes preparing the statements.
	Insert(w *worker.Stopwatch, blog *Blog) error

	// Users runs [SelectUsers]. The clock runs from the execution of the prepared statement
	// until its last row is decoded.
	Users(w *worker.Stopwatch, see func(*User)) (rows int64, err error)

	Close() error
}

// BlogDatabase is a [Database] for the workload complex.yaml, which has articles and comments.
type BlogDatabase interface {
	Database

	// All runs [SelectAll]. The clock runs from the execution of the prepared statement until
	// its last row is decoded.
	All(w *worker.Stopwatch, see func(user *User, article, comment *Post)) (rows int64, err error)
}

// KeyDatabase is a [Database] that also reads and updates single users by ID.
type KeyDatabase interface {
	Database

	// Mix runs [SelectUser] for each ID with one prepared statement on one connection.
	Mix(w *worker.Stopwatch, ids []int64, see func(*User)) (rows int64, err error)

	// Transactions runs a transaction of [SelectUser] and [UpdateUser] for each ID. Each
	// transaction takes a connection from the pool.
	Transactions(w *worker.Stopwatch, ids []int64, see func(*User)) (rows int64, err error)
}

// userID returns the SQL parameter "id". Its value is the ID of a random user, from 1 to the number
// of users.
func userID(users int64) []plan.Parameter {
	return []plan.Parameter{{Name: "id", Type: driver.Int, Generator: &plan.Generator{Kind: plan.GenInt, Low: 1, High: users}}}
}

var userColumns = []driver.ColumnType{{Type: driver.Int}, {Type: driver.Time}, {Type: driver.Text}, {Type: driver.Bool}}

// Query returns the phase that runs [SelectUsers]. The parameter "users" is the number of rows in
// the table "users".
func Query(users int64) *plan.Query {
	return &plan.Query{Call: plan.Call{SQL: SelectUsers, Columns: userColumns, Rows: users}, Repeat: 1, Clients: 1}
}

// Mix returns the phase for which the program calls [KeyDatabase].Mix. The parameter "count" is the
// number of reads, and "users" is the number of rows in the table users.
func Mix(count, users int64) *plan.Mix {
	read := plan.Call{SQL: SelectUser, Parameters: userID(users), Columns: userColumns, Rows: 1}
	return &plan.Mix{Clients: 1, OwnConn: true, Count: count, Operations: []plan.Operation{
		{Name: "read", Weight: 1, Calls: []plan.MixCall{{Call: read}}},
	}}
}

// Transactions returns the phase for which the program calls [KeyDatabase].Transactions. The
// parameter "count" is the number of transactions, and "users" is the number of rows in the table
// users.
func Transactions(count, users int64) *plan.Mix {
	m := Mix(count, users)
	update := plan.Call{SQL: UpdateUser, Parameters: userID(users), Rows: -1}
	o := &m.Operations[0]
	o.Name, o.Transaction, o.Calls = "flip", true, append(o.Calls, plan.MixCall{Call: update})
	m.OwnConn = false
	return m
}
