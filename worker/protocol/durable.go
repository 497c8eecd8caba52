package protocol

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// OwnPrefix is the prefix of the names of sqlite3perf's own tables. These tables are not hashed,
// because they do not belong to the workload.
const OwnPrefix = "sqlite3perf_"

// CommitsTable is the table in which the job "commit" keeps the number of the last transaction.
// Each transaction changes this number, so the number in a database shows which transaction was the
// last to take effect.
const CommitsTable = OwnPrefix + "commits"

// OthersTable is a table into which another process may insert rows while a job "commit" runs.
const OthersTable = OwnPrefix + "others"

// The job "commit" can move tables to a second database. AttachedName is the file name of the second
// database, and AttachedSchema is the schema name under which it is attached.
const (
	AttachedName   = "attached.db"
	AttachedSchema = "attached"
)

// Commit is a job that runs the transactions of a workload one after another, on one connection of
// a new database. If the database already has tables, the job fails with the code "foreign".
//
// First the worker sets up the database:
//  1. It creates the schema, and the table sqlite3perf_commits(number INTEGER NOT NULL).
//  2. It runs the inserts and scripts that come before the first transaction.
//  3. It inserts the number 0 into the table.
//  4. It runs PRAGMA wal_checkpoint, unless the database is on a server.
//  5. It acknowledges transaction 0.
//
// The transactions come from the timed inserts and the timed mixes of the plan, each with one
// client. After the first transaction, the worker stops before any other phase that changes the
// database, such as a script or an untimed insert. It runs neither this phase nor the phases after
// it. Operations of a mix with Reads are left out. If there is no transaction, the job fails with
// the code "unsupported".
//
// Transactions are numbered from 1. Transaction n also sets the number in the table to n. After its
// COMMIT, and before the next transaction begins, the worker acknowledges it with a report of
// progress that has the stage "commit" and n rows. If an operation ends with one of its Results, or
// rolls back because a call returned no row, its transaction only sets the number.
//
// If the database is on a server, the worker starts the server, and kills it instead of closing the
// database.
type Commit struct {
	Plan         *plan.Plan `json:"plan"`
	Transactions int        `json:"transactions" jsonschema:"minimum=1,maximum=1000000"` // maximum number of transactions

	// Attempts is the maximum number of attempts at a transaction. After an attempt that failed,
	// the worker adds the error to Failures, rolls back, and reads the number in the table
	// sqlite3perf_commits in a new transaction. If that number is n, transaction n took effect in
	// spite of the error, and is not tried again. If the number can't be read, the next attempt
	// only tries to read it again. If all attempts fail, the job ends with GaveUp.
	Attempts int `json:"attempts" jsonschema:"minimum=1,maximum=100"`

	// AwaitOthers says that transaction 1 begins only after another process has inserted a row into
	// the table OthersTable, so that both processes write at the same time.
	AwaitOthers bool `json:"await_others,omitempty"`

	// Attach has the names of those tables of the schema that the worker moves to a second database. The second
	// database is the file AttachedName in the same directory, and is attached to the connection.
	Attach []string `json:"attach,omitempty" jsonschema:"maxItems=1000"`

	// CancelNS, if not 0, says that the context of the first attempt at each transaction ends after
	// a random time of less than CancelNS nanoseconds. After that attempt the connection is
	// returned to the pool and a connection is borrowed again. The canceled attempt must have no
	// effect on that connection: see Disturbed.
	CancelNS int64 `json:"cancel_ns,omitempty"`

	Digests bool `json:"digests,omitempty"` // set to hash all tables after each transaction
	Early   bool `json:"early,omitempty"`   // set to acknowledge each transaction before its COMMIT; sqlite3perf makes this mistake on purpose, to test that it notices lost transactions
	Hang    bool `json:"hang,omitempty"`    // set, together with Early, to wait instead of running COMMIT, until the worker is killed
}

// StageCommit is the value of the field Stage in a [Progress] that acknowledges a transaction. Its
// field Rows is the number of the transaction, counted from 0, and not a count of rows.
const StageCommit = "commit"

// Committed is the result of Commit.
type Committed struct {
	Acknowledged int             `json:"acknowledged"`                                  // number of the last transaction that was acknowledged
	CommitNS     []int64         `json:"commit_ns,omitempty"`                           // time of each transaction, from BEGIN to the end of COMMIT, without the time for generating values
	Digests      []string        `json:"digests,omitempty"`                             // hash of all tables after transaction 0, 1, …, as the function Digest in worker/job computes it
	Failures     []CommitFailure `json:"failures,omitempty" jsonschema:"maxItems=1000"` // the attempts that failed, at most the first 1000
	GaveUp       bool            `json:"gave_up,omitempty"`                             // the last transaction failed in all attempts

	// Disturbed has the errors that a canceled attempt caused on a connection that was borrowed
	// after the attempt, for example because a transaction was still open.
	Disturbed []CommitFailure `json:"disturbed,omitempty" jsonschema:"maxItems=1000"`
}

// CommitFailure is an attempt at a transaction that failed.
type CommitFailure struct {
	Transaction int    `json:"transaction"`
	Code        int    `json:"code,omitempty"` // SQLite's extended result code; 0: not known
	Message     string `json:"message"`
}

func (c *Commit) check() error {
	switch {
	case c.Plan == nil:
		return fmt.Errorf("a job commit needs a plan")
	case c.Transactions < 1 || c.Transactions > 1_000_000:
		return BadField("transactions", c.Transactions, "want 1 to 1,000,000")
	case c.CancelNS < 0:
		return fmt.Errorf("cancel_ns is %d: want 0 or more", c.CancelNS)
	case c.Attempts < 1 || c.Attempts > 100:
		return fmt.Errorf("%d attempts: want 1 to 100", c.Attempts)
	case c.Hang && !c.Early:
		return fmt.Errorf("a job commit has hang: want it only with early")
	case c.Digests && c.Early:
		return fmt.Errorf("a job commit has digests and early: want at most one of them")
	}
	return nil
}

// Judge is a job that opens databases that the job "commit" has left behind, possibly after a
// fault, and reports the content of each database. The worker opens a database with the request's
// settings and reads the values in JudgedState. Then it creates a table with a row, closes the
// database, opens it again, and reads the row. After an error the job continues with the next
// database.
//
// For the proof in the response "ready", the worker creates a new database next to the request's
// path, with the request's settings, and removes it again. If a database is on a server, the worker
// starts the server with the files next to the path, and kills the server instead of closing the
// database.
type Judge struct {
	Paths    []string `json:"paths" jsonschema:"minItems=1,maxItems=10000"`
	Attached bool     `json:"attached,omitempty"` // set if each database has a second database, as in the field Attach of Commit
}

// JudgedState is what a worker has found in one database.
type JudgedState struct {
	Error       string   `json:"error,omitempty"`      // error that occurred when the database was opened or read; "": there was none
	Code        int      `json:"code,omitempty"`       // SQLite's extended result code of Error; 0: not known
	Integrity   []string `json:"integrity,omitempty"`  // faults that PRAGMA integrity_check has found; empty if its result is "ok"
	ForeignKeys int64    `json:"foreign_keys"`         // rows that PRAGMA foreign_key_check returned
	Transaction int64    `json:"transaction"`          // number of the last transaction, as the table CommitsTable says; -1: there is no such table, or it is empty
	Others      int64    `json:"others"`               // rows in the table OthersTable; -1: there is no such table
	Digest      string   `json:"digest,omitempty"`     // hash of all tables, as in Committed.Digests
	Unwritable  string   `json:"unwritable,omitempty"` // error of writing a row, or of reading this row after the database was opened again
}

func (j *Judge) check() error {
	if len(j.Paths) < 1 || len(j.Paths) > 10_000 {
		return fmt.Errorf("a job judge has %d paths: want 1 to 10,000", len(j.Paths))
	}
	return nil
}
