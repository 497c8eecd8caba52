// Package driver is the contract between a SQLite library and a worker.
//
// An adapter implements [Driver], [DB], [Conn], [Tx] and [Stmt] in the library's own way: it uses
// the library's pool, its cache of statements, and its calls that bind and step. Libraries that
// register with database/sql share the adapter in package sqldriver. Package driver measures
// nothing and does not know workloads.
package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind is the way in which a library reaches SQLite's C code.
type Kind string

// The kinds of libraries.
const (
	Cgo           Kind = "cgo"
	Transpiled    Kind = "transpiled"
	Wasm          Kind = "wasm"
	Subprocess    Kind = "subprocess"
	Cluster       Kind = "cluster" // SQLite in several processes or on several machines, each with a copy of the database
	OtherLanguage Kind = "other language"
)

// WithoutC reports whether libraries of the kind can be built without a C compiler. It is false for
// clusters, whose server needs a C compiler, and for OtherLanguage, whose programs are not built.
func (k Kind) WithoutC() bool { return k != Cgo && k != Cluster && k != OtherLanguage }

// Interface is the interface that a user of the library programs against.
type Interface string

// The interfaces of libraries.
const (
	DatabaseSQL Interface = "database/sql"
	Direct      Interface = "direct"
)

// Info has the properties of a driver that are known without opening a database. The adapter and
// sqlite3perf itself read it from the driver.json in the adapter's directory.
type Info struct {
	Name      string    `json:"name"`
	About     string    `json:"about"`
	Module    string    `json:"module"` // path of the measured module
	Kind      Kind      `json:"kind"`
	Interface Interface `json:"interface"`

	// Limits lists what the library cannot do, or does differently. The key is a setting, a
	// setting and value ("cache=shared"), a column type, or a behavior that package drivertest
	// lists. The value is the reason.
	Limits map[string]string `json:"limits,omitempty"`
}

// Limit returns the reason of the limit that is declared for "setting=value". If there is no such limit,
// it returns the reason of the limit for "setting". The result "ok" is false if neither limit is
// declared. In place of a setting, a limit may also name a behavior, such as "codes=extended".
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

	// Open opens a pool of at most s.PoolSize() connections to the database at path. At most
	// s.PoolIdle() of these connections stay open while they are idle. Open creates the database if
	// it does not exist and the setting "mode" allows that. Every setting of s is applied to every
	// connection before its first use. Open ignores settings that the library cannot apply. The
	// worker reads all settings back, and reports those that did not take effect.
	Open(ctx context.Context, path string, s Settings) (DB, error)
}

// DSNOpener is a [Driver] whose library can open data source names.
type DSNOpener interface {
	Driver

	// OpenDSN opens a database as the library's users do: it passes dsn unchanged to the library's
	// own call, and sets nothing else. The settings s have only pool_size.
	OpenDSN(ctx context.Context, dsn string, s Settings) (DB, error)
}

// OpenFunc opens a database. The parameter "name" is a path, as for [Driver].Open, or a data source
// name, as for [DSNOpener].OpenDSN.
type OpenFunc func(ctx context.Context, name string, s Settings) (DB, error)

// New returns a driver that opens databases with the function "open".
func New(i Info, open OpenFunc) Driver { return &opener{i, open} }

// WithDSN returns d as a [DSNOpener] that opens data source names with the function "open".
func WithDSN(d Driver, open OpenFunc) DSNOpener { return &dsnOpener{d, open} }

type opener struct {
	info Info
	open OpenFunc
}

func (o *opener) Info() Info { return o.info }

func (o *opener) Open(ctx context.Context, path string, s Settings) (DB, error) {
	return o.open(ctx, path, s)
}

type dsnOpener struct {
	Driver
	open OpenFunc
}

func (o *dsnOpener) OpenDSN(ctx context.Context, dsn string, s Settings) (DB, error) {
	return o.open(ctx, dsn, s)
}

// Leaver is a [Driver] whose databases may keep data outside the process, for example on a server.
// This data remains when the process ends, unless Leave removes it.
type Leaver interface {
	Driver

	// Leave removes all data that the open databases have created outside the process. It is called
	// before the process exits without closing the databases. After Leave, the databases cannot
	// create more data.
	Leave() error
}

// Recoverer is a [Driver] whose databases are kept by separate processes. The files of these
// processes are in the same directory as the database's path.
type Recoverer interface {
	Driver

	// Recover starts the processes. If earlier processes have left files, the new processes begin
	// with these files. Closing the database kills the processes and keeps the files.
	Recover(ctx context.Context, path string, s Settings) (DB, error)
}

// LeftError reports that some data could not be removed. The data stays after the process has
// ended.
type LeftError struct{ Err error }

func (e *LeftError) Error() string { return e.Err.Error() }
func (e *LeftError) Unwrap() error { return e.Err }

// SettingError is the error of [Driver.Open] if settings cannot take effect, for example in a
// cluster that was already running. Its message tells the user what to change.
type SettingError struct{ Err error }

func (e *SettingError) Error() string { return e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

// Runner runs statements. A [DB] runs them on any connection of its pool, and a [Conn] on
// itself.
type Runner interface {
	// Script runs the statements of sql in order, and discards rows.
	Script(ctx context.Context, sql string) error

	// Prepare prepares a statement. Many goroutines may use a statement of a DB at the same time.
	// Only one goroutine at a time may use a statement of a Conn.
	Prepare(ctx context.Context, st Statement) (Stmt, error)

	// Begin begins a transaction in the mode of the setting txlock.
	Begin(ctx context.Context) (Tx, error)
}

// DB is a pool of connections to one database.
type DB interface {
	Runner

	// Conn takes a connection out of the pool. It waits while all connections are taken.
	Conn(ctx context.Context) (Conn, error)

	// Close closes every connection. Before the call, all statements must be closed and all
	// connections returned.
	Close() error
}

// WaitCounter is a [DB] that counts the callers that had to wait for a connection of its pool.
type WaitCounter interface {
	DB

	// Waited returns how many callers have had to wait since the pool was opened, and the sum
	// of the times until they had a connection or gave up.
	Waited() (callers int64, total time.Duration)
}

// Shower is a [DB] that can show settings of the [Vocabulary] that are not PRAGMAs.
type Shower interface {
	DB

	// Shown returns the current values of the settings that can be observed.
	Shown(ctx context.Context) (Settings, error)
}

// Sizer is a [DB] that keeps data in files other than the file at its path.
type Sizer interface {
	DB

	// Sizes returns two sizes in bytes. The result "all" is the size of all files together. The
	// result "logs" is the part of this size that SQLite's write-ahead logs take.
	Sizes(ctx context.Context) (all, logs int64, err error)
}

// Restorer is a [DB] that can return to an earlier state by other means than ROLLBACK.
type Restorer interface {
	DB

	// Keep saves the present state of the database. The function "restore" returns the database to
	// that state.
	Keep(ctx context.Context) (restore func(ctx context.Context) error, err error)
}

// Settler is a [DB] that may acknowledge a write before the write has been done.
type Settler interface {
	DB

	// Settle waits until all writes that have been acknowledged are done.
	Settle(ctx context.Context) error
}

// Conn is a connection that is taken out of its pool. Close returns it to the pool.
type Conn interface {
	Runner
	Close() error
}

// Tx is an open transaction on one connection.
type Tx interface {
	// Stmt returns the statement for use within the transaction. The Runner that began the
	// transaction must have prepared st. The result must not be closed, and must not be used after
	// Commit or Rollback.
	Stmt(ctx context.Context, st Stmt) (Stmt, error)

	// Commit and Rollback end the transaction. If Commit fails, the transaction
	// stays open and must be rolled back, unless SQLite ended it. Rollback of an
	// ended transaction is not an error.
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Statement is one SQL statement with the types of its parameters and result.
type Statement struct {
	SQL     string       // its parameters are "?"; "?1" refers to the first parameter again
	Params  []Type       // types of the parameters, in order; if an execution binds several rows, the types are repeated for each row
	Columns []ColumnType // types of the result's columns; empty if it returns no rows

	// AnyColumns is set if the statement returns rows with columns of unknown types. Columns is
	// empty, and [Stmt].Query gives each row as many cells as the result has columns. Each value is
	// decoded by the type that it has in SQLite. That type is in the cell's field Type.
	AnyColumns bool

	// AdHoc is set to pass the SQL text to the library at each execution, instead of preparing a
	// statement once. The library then compiles the text or finds the statement in its cache, as
	// it does by default.
	AdHoc bool

	// Transient is set if the same SQL text is not prepared again after the statement is closed. If
	// the library has a cache of statements, the adapter may prepare this statement outside the
	// cache.
	Transient bool
}

// CheckColumns returns an error if a result has n columns but another number is declared. It
// returns nil if n is 0 or no columns are declared. Libraries that read columns by number would not
// notice a difference.
func (s *Statement) CheckColumns(n int) error {
	if n > 0 && len(s.Columns) > 0 && len(s.Columns) != n {
		return fmt.Errorf("the result has %d columns, and %d are declared: %s", n, len(s.Columns), s.SQL)
	}
	return nil
}

// Stmt is a prepared statement.
type Stmt interface {
	// Exec runs the statement for the rows lo ≤ r < hi of b. Each execution binds b.PerExec rows,
	// and hi-lo is a multiple of PerExec. A nil b means one execution without parameters. Exec
	// stops at the first error, which is an [*Error] if SQLite gave a code.
	Exec(ctx context.Context, b *Batch, lo, hi int) error

	// ExecResult is like Exec for a single execution, which binds the rows of b from row r on. The Result
	// is valid until the connection runs another statement. It is nil if the library returns no
	// result.
	ExecResult(ctx context.Context, b *Batch, r int) (Result, error)

	// Query runs the statement with row r of b (nil if there are no parameters) and passes every
	// row of the result to the function "visit". Each column is decoded into the Go value of its
	// declared type. If a value has another type, either the library converts it, or the error is a
	// [*TypeError]. The Row and its Blobs are valid only during the call of "visit"; its Texts are
	// ordinary Go strings. If "visit" returns an error, Query ends and returns that error. Prepare
	// or Query returns an error if a result with rows does not have the declared number of columns.
	Query(ctx context.Context, b *Batch, r int, visit func(Row) error) error

	Close() error
}

// Result is a library's information on an execution. database/sql returns it as a sql.Result;
// other libraries have separate calls for it.
type Result interface {
	// RowsAffected returns how many rows an INSERT, UPDATE or DELETE has changed. After other
	// statements the number has no meaning.
	RowsAffected() (int64, error)

	// LastInsertId returns the rowid of the last row that an INSERT has inserted.
	LastInsertId() (int64, error)
}

// Boxer is a [Stmt] whose library takes values in another form than a Batch.
type Boxer interface {
	// Box converts all rows of b to the library's form and stores them in b.Ready, so that Exec
	// need not convert them. It may run while Exec runs with another batch.
	Box(b *Batch)
}

// QueryStarter is a [Stmt] whose library has a separate call that begins a query, such as
// database/sql's Query.
type QueryStarter interface {
	// QueryStarted is like [Stmt].Query, but also calls the function "started" after the library's
	// call has returned and before the first row is requested.
	QueryStarted(ctx context.Context, b *Batch, r int, started func(), visit func(Row) error) error
}

// Error is an error with SQLite's extended result code.
type Error struct {
	Code int // extended result code, as sqlite3_extended_errcode returns it
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Primary returns the primary result code: the low byte.
func (e *Error) Primary() int { return e.Code & 0xff }

// PrimaryCode returns the primary result code of an error, or 0 if the error is not an [*Error].
func PrimaryCode(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Primary()
	}
	return 0
}

// UnsupportedError is the error for a request that a driver's library cannot fulfill at all.
type UnsupportedError struct{ Reason string }

func (e *UnsupportedError) Error() string { return e.Reason }

// CodeCanceled is the code of operations that failed after their context had ended, whatever
// their error was. SQLite has no such code.
const CodeCanceled = -1

// Result codes that the worker distinguishes.
// See https://www.sqlite.org/rescode.html.
const (
	CodeError      = 1
	CodeBusy       = 5
	CodeLocked     = 6
	CodeReadonly   = 8
	CodeInterrupt  = 9
	CodeFull       = 13
	CodeCantOpen   = 14
	CodeConstraint = 19
	CodeNotADB     = 26

	codeTooBig   = 18
	codeMismatch = 20
)
