// Package addedcost measures what the engine and a driver's adapter add to the time
// of a library. It does the same work once with [worker.Serve] and once with a loop
// written by hand against the library, and compares the times.
//
// The work consists of four phases on a table of users: an insert of all users with
// a prepared statement in one transaction; a query that reads all users, decoding
// every column to its Go type; a mix of reads by key with a prepared statement on a
// connection that is kept; and a mix of transactions of a read and an update, each on
// a connection from the pool.
//
// Both sides have the same settings and the same values, which are made before the
// clock starts. Both read every result to its end, and are timed by the same
// [worker.Stopwatch] over the same extent: the insert from the beginning of the
// transaction, including the preparation, to the commit; the query from its execution
// to its end; a mix over all operations. The engine's side of a mix includes reading
// the clock and recording in the histogram once per operation. The hand-written side
// does only the work.
//
// Nothing waits for the disk or asks for a file lock (journal in memory, synchronous
// off, exclusive locking, a page cache that holds the database), because that would
// hide what is to be measured.
//
// The two sides make a pair, in one process, each on a new database file. The side
// that goes first alternates. A phase lasts some tens of milliseconds, so that other
// activity on the machine spoils a few of many pairs instead of a part of each. A
// driver's module has the hand-written side ([SQL] is the one for libraries for
// database/sql), and package suite runs [Test] and [Benchmark] with it.
//
// The benchmark runs as many pairs as -benchtime says. With -record it writes their
// figures to added-cost.json beside the driver's driver.json:
//
//	go test -run '^$' -bench Driver/addedcost -benchtime 100x
//	go test -run '^$' -bench Driver/addedcost -benchtime 70s . -args -record
package addedcost

import (
	"fmt"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Settings are the settings with which both sides open their databases.
var Settings = driver.Settings{
	"locking_mode": "exclusive", "journal_mode": "memory", "synchronous": "off", "cache_size": "-65536",
	"txlock": "deferred", "pool_size": "1",
}

// The statements of both sides.
const (
	Schema = "CREATE TABLE users (id INTEGER PRIMARY KEY, created INTEGER NOT NULL, email TEXT NOT NULL, active INTEGER NOT NULL)"
	Insert = `INSERT INTO "users"("id","created","email","active") VALUES (?,?,?,?)`
	Scan   = "SELECT id, created, email, active FROM users ORDER BY id"
	Read   = "SELECT id, created, email, active FROM users WHERE id = ?"
	Update = "UPDATE users SET active = 1 - active WHERE id = ?"
)

// Stored is a user as it is inserted, with values as SQLite takes them.
type Stored struct {
	ID      int64
	Created int64 // milliseconds since the Unix epoch
	Email   string
	Active  int64 // 0 or 1
}

// User is a user as it is read, with every column decoded.
type User struct {
	ID      int64
	Created time.Time
	Email   string
	Active  bool
}

// Library is one library with both of its sides.
type Library struct {
	Driver driver.Driver                   // the engine's
	Open   func(path string) (Hand, error) // opens and creates a database with [Settings], by hand
	Slow   bool                            // a benchmark does a tenth of the work
}

// Hand is the work as an experienced user of a library writes it. Each method
// runs the stopwatch over the extent described in the package comment, returns how
// many rows it read, and passes them to see unless that is nil.
type Hand interface {
	Setting(name string) (string, error) // reads a PRAGMA back
	Create() error                       // runs [Schema]
	Insert(w *worker.Stopwatch, users []Stored) error
	Query(w *worker.Stopwatch, see func(User)) (rows int64, err error)
	Mix(w *worker.Stopwatch, ids []int64, see func(User)) (rows int64, err error)          // [Read] for each
	Transactions(w *worker.Stopwatch, ids []int64, see func(User)) (rows int64, err error) // [Read] and [Update] for each
	Close() error
}

// size is the amount of work of the phases.
type size struct{ users, reads, transactions int64 }

// The phases. The last one reads what the transactions have left, only for its
// checksum.
const (
	insertPhase = "insert"
	queryPhase  = "query"
	mixPhase    = "mix"
	txPhase     = "tx"
	leftPhase   = "left"
)

var columns = []driver.ColumnType{{Type: driver.Int}, {Type: driver.Time}, {Type: driver.Text}, {Type: driver.Bool}}

// work is the work that both sides do.
type work struct {
	seed  uint64
	plan  *plan.Plan
	users []Stored
	mix   []int64 // ids
	tx    []int64
}

func newWork(n size) (*work, error) {
	id := plan.Parameter{Name: "id", Type: driver.Int, Generator: &plan.Generator{Kind: plan.GenInt, Low: 1, High: n.users}}
	read := plan.Call{SQL: Read, Parameters: []plan.Parameter{id}, Columns: columns, Rows: 1}
	update := plan.Call{SQL: Update, Parameters: []plan.Parameter{id}, Rows: -1}
	scan := plan.Query{Call: plan.Call{SQL: Scan, Columns: columns, Rows: n.users}, Repeat: 1, Clients: 1}
	w := &work{seed: 1, plan: &plan.Plan{
		Schema: Schema,
		DataSets: []plan.DataSet{{Name: "users", Table: "users", Count: n.users, Total: n.users, Columns: []plan.Column{
			{Name: "id", Type: driver.Int, Generator: plan.Generator{Kind: plan.GenSerial, Low: 1, Step: 1}},
			{Name: "created", Type: driver.Time, Generator: plan.Generator{Kind: plan.GenTime, Low: 1_700_000_000_000, Step: 60_000}},
			{Name: "email", Type: driver.Text, Generator: plan.Generator{Kind: plan.GenFormat, Format: "user%08d@example.com", Of: []string{"id"}}},
			{Name: "active", Type: driver.Bool, Generator: plan.Generator{Kind: plan.GenInt, Low: 0, High: 1}},
		}}},
		Phases: []plan.Phase{
			{Name: insertPhase, Insert: &plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1}},
			{Name: queryPhase, Query: &scan},
			{Name: mixPhase, Mix: &plan.Mix{Clients: 1, OwnConn: true, Count: n.reads, Operations: []plan.Operation{
				{Name: "read", Weight: 1, Calls: []plan.MixCall{{Call: read}}},
			}}},
			{Name: txPhase, Mix: &plan.Mix{Clients: 1, Count: n.transactions, Operations: []plan.Operation{
				{Name: "flip", Weight: 1, Transaction: true, Calls: []plan.MixCall{{Call: read}, {Call: update}}},
			}}},
			{Name: leftPhase, Query: &scan},
		},
	}}
	return w, w.values(id, n)
}

// values makes the values for the hand-written side. The engine makes its own.
func (w *work) values(id plan.Parameter, n size) error {
	gen, err := plan.NewGenerator(w.seed, w.plan)
	if err != nil {
		return err
	}
	var b driver.Batch
	if err := gen.Fill(&b, "users", 0, n.users); err != nil {
		return err
	}
	c := b.Columns
	for r := range c[0].Ints {
		w.users = append(w.users, Stored{c[0].Ints[r], c[1].Ints[r], c[2].Text(r), c[3].Ints[r]})
	}
	draw := func(operation string, n int64) ([]int64, error) {
		var b driver.Batch
		err := gen.FillParameters(&b, operation, []plan.Parameter{id}, "", 0, 1, int(n))
		return b.Columns[0].Ints, err
	}
	if w.mix, err = draw(mixPhase+".read", n.reads); err != nil {
		return err
	}
	w.tx, err = draw(txPhase+".flip", n.transactions)
	return err
}

// side holds what one of the two sides measured, by phase.
type side map[string]*protocol.Sample

// agree compares what the two sides read and what they left in the database.
func agree(engine, hand side) error {
	for _, phase := range []string{insertPhase, queryPhase, mixPhase, txPhase, leftPhase} {
		e, h := engine[phase], hand[phase]
		if e == nil || h == nil {
			return fmt.Errorf("phase %s: no sample", phase)
		}
		if e.Rows != h.Rows {
			return fmt.Errorf("phase %s: %d rows by the engine, %d by hand", phase, e.Rows, h.Rows)
		}
		if e.Checksum != h.Checksum && h.Checksum != "" {
			return fmt.Errorf("phase %s: checksum %s by the engine, %s by hand", phase, e.Checksum, h.Checksum)
		}
	}
	return nil
}
