package protocol

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// OwnPrefix is the prefix of the names of tables that are not hashed, because they are not the
// workload's.
const OwnPrefix = "sqlite3perf_"

// CommitsTable is the table in which the job commit keeps the number of the last transaction. Each
// transaction changes it, so a database says itself after which transaction it is.
const CommitsTable = OwnPrefix + "commits"

// OthersTable is a table into which another process may insert rows at the same time.
const OthersTable = OwnPrefix + "others"

// AttachedName is the name of the second database's file, and AttachedSchema that under which it is attached.
const (
	AttachedName   = "attached.db"
	AttachedSchema = "attached"
)

// Commit is a job that runs the transactions of a workload on one connection of a new database, one
// after another. If the database has tables, the job fails with the code foreign. First the worker
// creates the schema and the table sqlite3perf_commits(number INTEGER NOT NULL). It carries out the
// inserts and scripts before the first transaction, inserts the number 0 into the table, runs PRAGMA
// wal_checkpoint (unless the database is on a server), and acknowledges transaction 0. The transactions
// are those of the timed phases insert and mix, with one client, up to the first script, untimed insert
// or other phase that changes the database. Operations of a mix with Reads are left out. Without any
// transaction, the job fails with the code unsupported. Transaction n, from 1, also sets the number in
// the table to n. It is acknowledged by a report of progress with the stage commit and n rows, after
// its COMMIT and before the next one begins. If an operation ends with one of its Results, or rolls back
// because a call returned no row, its transaction only sets the number. A worker whose database is on a
// server starts the server, and kills it instead of closing the database.
type Commit struct {
	Plan         *plan.Plan `json:"plan"`
	Transactions int        `json:"transactions" jsonschema:"minimum=1,maximum=1000000"` // transactions at most

	// Attempts is how often a transaction is tried. If an attempt has failed, the worker adds the error to
	// Failures, rolls back, and reads the number in the table sqlite3perf_commits in a new transaction. If
	// it is n, the transaction took effect all the same, and is not tried again. While the table can't
	// be read, it is not tried again either. After the last attempt, the job ends with GaveUp.
	Attempts int `json:"attempts" jsonschema:"minimum=1,maximum=100"`

	// AwaitOthers says to begin with transaction 1 only when another process has inserted a row into the
	// table OthersTable, so that both write at the same time.
	AwaitOthers bool `json:"await_others,omitempty"`

	// Attach names tables that are moved from the schema to a second database, the file AttachedName in
	// the same directory, which is attached to the connection.
	Attach []string `json:"attach,omitempty" jsonschema:"maxItems=1000"`

	// CancelNS, if not 0, cancels the context of the first attempt of each transaction at a random moment
	// within this time. Each attempt borrows a connection from the pool. The next attempt that gets the
	// same connection must find no trace of the canceled one.
	CancelNS int64 `json:"cancel_ns,omitempty"`

	Digests bool `json:"digests,omitempty"` // hash all tables after each transaction
	Early   bool `json:"early,omitempty"`   // acknowledge a transaction before COMMIT: sqlite3perf checks with it that it notices lost transactions
	Hang    bool `json:"hang,omitempty"`    // with Early: instead of COMMIT, wait to be killed
}

// StageCommit is the stage of the report that acknowledges a transaction. The report's number of
// rows is the transaction's number.
const StageCommit = "commit"

// Committed is the result of Commit.
type Committed struct {
	Acknowledged int             `json:"acknowledged"`                                  // number of the last transaction that was acknowledged
	CommitNS     []int64         `json:"commit_ns,omitempty"`                           // time of each transaction, from BEGIN to the end of COMMIT, without the time in which values were generated
	Digests      []string        `json:"digests,omitempty"`                             // hash of all tables after transaction 0, 1, …, as the function Digest in worker/job computes it
	Failures     []CommitFailure `json:"failures,omitempty" jsonschema:"maxItems=1000"` // the first attempts that failed
	GaveUp       bool            `json:"gave_up,omitempty"`                             // the last transaction failed in all attempts

	// Disturbed has what the next borrower of a connection found after a canceled attempt, such as an
	// open transaction.
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

// Judge is a job that opens databases that were left behind by the job commit, possibly after a
// fault, and says what is in each. It opens each with the request's settings, but with synchronous=off,
// and reads what JudgedState has. Then it creates a table with a row, closes the database, opens it
// again, and reads the row. The error of one database does not end the job. The proof in the response
// ready is that of a new database beside the request's path, which the worker removes, with synchronous
// as requested. A worker whose database is on a server starts the server with the files beside the
// path, and kills it instead of closing the database.
type Judge struct {
	Paths    []string `json:"paths" jsonschema:"minItems=1,maxItems=10000"`
	Attached bool     `json:"attached,omitempty"` // each has a second database beside it, as in the field Attach of Commit
}

// JudgedState says what a worker has found in a database.
type JudgedState struct {
	Error       string   `json:"error,omitempty"`      // why the database could not be opened or read; "": it could
	Code        int      `json:"code,omitempty"`       // SQLite's extended result code of Error; 0: not known
	Integrity   []string `json:"integrity,omitempty"`  // what PRAGMA integrity_check found, without "ok"
	ForeignKeys int64    `json:"foreign_keys"`         // rows that PRAGMA foreign_key_check returned
	Transaction int64    `json:"transaction"`          // number of the last transaction, as the table CommitsTable says; -1: there is no such table, or it is empty
	Others      int64    `json:"others"`               // rows in the table OthersTable; -1: there is no such table
	Digest      string   `json:"digest,omitempty"`     // hash of all tables, as in Committed
	Unwritable  string   `json:"unwritable,omitempty"` // the error of a write after that, or of reading it after the database was opened again
}

func (j *Judge) check() error {
	if len(j.Paths) < 1 || len(j.Paths) > 10_000 {
		return fmt.Errorf("a job judge has %d paths: want 1 to 10,000", len(j.Paths))
	}
	return nil
}
