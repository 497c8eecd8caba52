// Package driver is the contract between a SQLite library and a worker.
//
// An adapter implements [Driver], [DB], [Conn], [Tx] and [Stmt] with the
// library's own idiom: its pool, its statement cache, its way of binding and
// stepping. Libraries that register with database/sql share one adapter, in
// package sqldriver. The package measures nothing and knows no workload.
package driver

import (
	"context"
	"encoding/json"
	"fmt"
)

// Kind says how a library reaches SQLite's C code.
type Kind string

// The kinds that are told apart in reports.
const (
	Cgo           Kind = "cgo"
	Transpiled    Kind = "transpiled"
	Wasm          Kind = "wasm"
	Subprocess    Kind = "subprocess"
	OtherLanguage Kind = "other language"
)

// Interface says what a user of the library programs against.
type Interface string

// The interfaces that are told apart in reports.
const (
	DatabaseSQL Interface = "database/sql"
	Direct      Interface = "direct"
)

// Info is what is known of a driver without opening a database. It is read
// from the driver.json beside the adapter, by the adapter and by the lab.
type Info struct {
	Name      string    `json:"name"`
	About     string    `json:"about"`
	Module    string    `json:"module"` // the measured module's path
	Kind      Kind      `json:"kind"`
	Interface Interface `json:"interface"`

	// Limits names what the library cannot do, or does differently: the key
	// is a setting, a setting and value ("cache=shared"), a column type, or a
	// behaviour that package drivertest lists; the value is the reason.
	Limits map[string]string `json:"limits,omitempty"`
}

// Limit returns the reason why a setting's value is out of the driver's
// reach; ok is false where no limit is declared.
func (i Info) Limit(setting, value string) (reason string, ok bool) {
	if r, ok := i.Limits[setting+"="+value]; ok {
		return r, true
	}
	r, ok := i.Limits[setting]
	return r, ok
}

// ParseInfo reads a driver.json.
func ParseInfo(data []byte) (Info, error) {
	var i Info
	if err := json.Unmarshal(data, &i); err != nil {
		return i, fmt.Errorf("driver.json: %w", err)
	}
	if i.Name == "" || i.Kind == "" || i.Interface == "" {
		return i, fmt.Errorf("driver.json: name, kind and interface are required")
	}
	return i, nil
}

// MustInfo is [ParseInfo] for an embedded file; it panics on an error.
func MustInfo(data []byte) Info {
	i, err := ParseInfo(data)
	if err != nil {
		panic(err)
	}
	return i
}

// Driver opens databases with one library.
type Driver interface {
	Info() Info

	// Open opens, and creates if the mode allows, the database at path, as a
	// pool of at most s.PoolSize() connections, s.PoolIdle() of which are not
	// closed while idle: that is all of them, unless pool_idle is set. Every
	// connection has every setting of s applied before first use. A setting that
	// the library cannot apply is left alone: the worker reads the settings back
	// and says so.
	Open(ctx context.Context, path string, s Settings) (DB, error)
}

// Runner runs statements: a [DB] on any connection of its pool, a [Conn] on
// itself.
type Runner interface {
	// Script runs the statements of sql one after the other, discarding rows.
	Script(ctx context.Context, sql string) error

	// Prepare makes a statement ready. A DB's statement may be used by many
	// goroutines at once, a Conn's by one.
	Prepare(ctx context.Context, st Statement) (Stmt, error)

	// Begin starts a transaction, in the mode that the setting txlock names.
	Begin(ctx context.Context) (Tx, error)
}

// DB is a pool of connections to one database.
type DB interface {
	Runner

	// Conn takes a connection out of the pool, waiting while all are taken.
	Conn(ctx context.Context) (Conn, error)

	// Close closes every connection. Statements must have been closed and
	// connections given back.
	Close() error
}

// Conn is one connection, out of its pool until Close gives it back.
type Conn interface {
	Runner
	Close() error
}

// Tx is a transaction under way on one connection.
type Tx interface {
	// Stmt returns the statement as it is run within the transaction; st
	// was prepared by the Runner that began the transaction. The result is
	// not to be used after Commit or Rollback, nor closed.
	Stmt(ctx context.Context, st Stmt) (Stmt, error)

	// Commit and Rollback end the transaction. A Commit that fails leaves
	// the transaction under way, to be rolled back, unless SQLite ended it;
	// Rollback of an ended transaction is not an error.
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Statement is one SQL statement with the types that it takes and gives.
type Statement struct {
	SQL     string       // parameters are plain "?"
	Params  []Type       // one per "?", in order ("?1" names the first once more); PerExec groups where many rows go into one execution
	Columns []ColumnType // of its result; empty for one that returns no rows

	// AdHoc asks for what the library's users get who hand over SQL text at each
	// execution: with the library's defaults it is compiled each time, or found
	// in a cache that the library has.
	AdHoc bool
}

// CheckColumns returns an error unless a result of n columns is the one that is
// declared: libraries that read columns by their number do not notice. Without
// columns there are no rows to be misread.
func (s *Statement) CheckColumns(n int) error {
	if n > 0 && len(s.Columns) > 0 && len(s.Columns) != n {
		return fmt.Errorf("the result has %d columns, and %d are declared: %s", n, len(s.Columns), s.SQL)
	}
	return nil
}

// Stmt is a statement made ready.
type Stmt interface {
	// Exec runs the statement for the rows lo ≤ r < hi of b, b.PerExec rows
	// at a time; hi-lo is a multiple of PerExec. A nil b means no parameters
	// and one execution. It stops at the first error, which is an [*Error]
	// where SQLite gave a code.
	Exec(ctx context.Context, b *Batch, lo, hi int) error

	// Query runs the statement with row r of b (nil: no parameters) and
	// hands every row of the result to visit, each column decoded into the
	// Go value of its declared type. A value of another class than the type is
	// for is converted as the library does it, or is a [*TypeError]. The Row and
	// its Blobs are valid only during the call; its Texts are strings of Go's own.
	// It reads to the end, unless visit returns an error, which it then returns.
	// That a result with rows has another number of columns than is declared is
	// an error, of Prepare or of Query.
	Query(ctx context.Context, b *Batch, r int, visit func(Row) error) error

	Close() error
}

// Boxer is a [Stmt] whose library takes values in another form than a Batch has
// them in.
type Boxer interface {
	// Box brings all rows of b into that form, as b.Ready, so that Exec need not.
	// It may run while Exec does, with another batch.
	Box(b *Batch)
}

// QueryStarter is a [Stmt] whose library has a call of its own that begins a
// query, such as database/sql's Query.
type QueryStarter interface {
	// QueryStarted is [Stmt].Query that calls started when the library's call
	// has returned, before the first row is asked for.
	QueryStarted(ctx context.Context, b *Batch, r int, started func(), visit func(Row) error) error
}

// Error is an error with SQLite's extended result code.
type Error struct {
	Code int // extended result code, as sqlite3_extended_errcode gives it
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Primary is the primary result code: the low byte.
func (e *Error) Primary() int { return e.Code & 0xff }

// Result codes that the worker tells apart.
// See https://www.sqlite.org/rescode.html.
const (
	CodeError      = 1
	CodeBusy       = 5
	CodeLocked     = 6
	CodeInterrupt  = 9
	CodeFull       = 13
	CodeConstraint = 19

	codeTooBig   = 18
	codeMismatch = 20
)
