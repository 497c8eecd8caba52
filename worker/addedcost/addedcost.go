// Package addedcost measures how much time the engine (package worker) and a driver's adapter add
// to a library. It does the same work in two ways and compares the times. One side of the
// comparison is the driver, and the other side consists of loops that call the library directly
// (package byhand).
//
// The work consists of four phases on a table of users:
//   - an insert of all users, with a prepared statement in one transaction
//   - a query that reads all users and decodes every column to its Go type
//   - a mix of reads by key, with a prepared statement on a connection that is kept
//   - a mix of transactions, each with a read and an update on a connection from the pool
//
// Both sides are served by the engine, with the same plan and settings. Both sides read every
// result to its end. The same [worker.Stopwatch] times the same part of both sides. For the insert,
// this part is from the beginning of the transaction, including the preparation, to the commit. For
// the query, it is from the execution to the end of the result. For a mix, it is all operations. In
// a mix, the driver's side also reads the clock and records the latency in a histogram, once per
// operation. The hand-written side does neither.
//
// Nothing waits for the disk or asks for a file lock (journal in memory, synchronous off,
// exclusive locking, a page cache that holds the database), because waiting would hide the
// added time.
//
// A pair is one run of each side in the same process, each on a new database file. The sides take
// turns in running first. A phase lasts only some tens of milliseconds. So if another process
// disturbs the measurement, it spoils a few pairs, which hardly change the median of many pairs.
// The hand-written side is in the driver's module. For a database/sql library it is [byhand.SQL].
// Package suite runs [Test] and [Benchmark] with the hand-written side.
//
// The benchmark runs as many pairs as -benchtime says. With -record it writes the results to
// added-cost.json in the directory of the driver's driver.json:
//
//	go test -run '^$' -bench Driver/addedcost -benchtime 100x
//	go test -run '^$' -bench Driver/addedcost -benchtime 70s . -args -record
package addedcost

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Library is one library with its two sides: the driver, and the hand-written loops.
type Library struct {
	Driver driver.Driver                              // the driver to compare with the hand-written loops
	Open   func(path string) (byhand.Database, error) // opens a [byhand.KeyDatabase]; Open is nil if there are no hand-written loops
	Slow   bool                                       // set if the library is so slow that the benchmark does only a tenth of the work
}

// settings are the settings of the driver and of the hand-written loops. The setting txlock is not
// among them, so both sides begin a transaction as the library does by default.
var settings = driver.Settings{
	"locking_mode": "exclusive", "journal_mode": "memory", "synchronous": "off", "cache_size": "-65536",
	"pool_size": "1",
}

const schema = "CREATE TABLE users (id INTEGER PRIMARY KEY, created INTEGER NOT NULL, email TEXT NOT NULL, active INTEGER NOT NULL)"

// size has the numbers of users, reads and transactions in the phases.
type size struct{ users, reads, transactions int64 }

// The names of the phases. The phase leftPhase is not timed. It reads the table
// users after the transactions, to check that the engine and the hand-written loops have left the
// same rows.
const (
	insertPhase = "insert"
	queryPhase  = "query"
	mixPhase    = "mix"
	txPhase     = "tx"
	leftPhase   = "left"
)

var timed = []string{insertPhase, queryPhase, mixPhase, txPhase}

// operations returns how many rows the phase "insert" or "query" has, or how many operations a mix has.
func (n size) operations(phase string) int64 {
	switch phase {
	case mixPhase:
		return n.reads
	case txPhase:
		return n.transactions
	}
	return n.users
}

// work returns a plan of size n, for the driver and for the hand-written loops.
func work(n size) *plan.Plan {
	return &plan.Plan{
		Schema: schema,
		DataSets: []plan.DataSet{{Name: "users", Table: "users", Count: n.users, Total: n.users, Columns: []plan.Column{
			{Name: "id", Type: driver.Int, Generator: plan.Generator{Kind: plan.GenSerial, Low: 1, Step: 1}},
			{Name: "created", Type: driver.Time, Generator: plan.Generator{Kind: plan.GenTime, Low: 1_700_000_000_000, Step: 60_000}},
			{Name: "email", Type: driver.Text, Generator: plan.Generator{Kind: plan.GenFormat, Format: "user%08d@example.com", Of: []string{"id"}}},
			{Name: "active", Type: driver.Bool, Generator: plan.Generator{Kind: plan.GenInt, Low: 0, High: 1}},
		}}},
		Phases: []plan.Phase{
			{Name: insertPhase, Insert: &plan.Insert{Sets: []string{"users"}, Transaction: "one", RowsPerStatement: 1}},
			{Name: queryPhase, Query: byhand.Query(n.users)},
			{Name: mixPhase, Mix: byhand.Mix(n.reads, n.users)},
			{Name: txPhase, Mix: byhand.Transactions(n.transactions, n.users)},
			{Name: leftPhase, Query: byhand.Query(n.users)},
		},
	}
}

// side has the samples of the driver, or of the hand-written loops, by name of the phase.
type side map[string]*protocol.Sample

// pair does the work with the driver (the result "engine") and with the hand-written loops (the
// result "hand"), on new databases in dir. The phases named in "brief" are not verified in full.
func (l Library) pair(ctx context.Context, p *plan.Plan, dir string, handFirst bool, brief ...string) (engine, hand side, err error) {
	byHand := byhand.Program{Info: l.Driver.Info(), Open: l.Open}
	sides := []struct {
		name    string
		driver  driver.Driver
		samples *side
	}{{"engine", l.Driver, &engine}, {"hand", byHand.Driver(), &hand}}
	if handFirst {
		sides[0], sides[1] = sides[1], sides[0]
	}
	for _, s := range sides {
		if *s.samples, err = run(ctx, s.driver, p, filepath.Join(dir, s.name+".db"), brief); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return engine, hand, agree(engine, hand)
}

// run does the work with a driver in this process, on a new database at path.
func run(ctx context.Context, d driver.Driver, p *plan.Plan, path string, brief []string) (side, error) {
	answers, err := worker.Exchange(ctx, d, protocol.Request{
		Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 1, Path: path, Settings: settings, Plan: p, Brief: brief,
	})
	if err != nil {
		return nil, err
	}
	s := side{}
	for _, a := range answers {
		switch {
		case a.Reason != nil:
			return nil, fmt.Errorf("phase %s: %s", a.Reason.Phase, a.Reason.Message)
		case a.Proof != nil:
			if bad := driver.Differences(settings, a.Proof.Connections, d.Info().Limit); bad != "" {
				return nil, fmt.Errorf("%s", bad)
			}
		case a.Sample != nil:
			a.Sample.Latency = nil // the histogram is not used, and takes memory
			s[a.Sample.Phase] = a.Sample
		}
	}
	return s, nil
}

// agree returns an error if the driver and the hand-written loops have read different rows, or have
// left different users in the database.
func agree(engine, hand side) error {
	for _, phase := range append(slices.Clone(timed), leftPhase) {
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
