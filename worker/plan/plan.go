// Package plan is a workload resolved to plain numbers, as the lab sends it to a
// worker: the plan, the generators that make its values from a seed, and the
// checksums of answers. It opens no database and measures nothing.
package plan

import (
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Plan is a workload brought down to plain numbers: what the lab sends to a
// worker, in any language. Every name in it has been checked.
type Plan struct {
	Schema   string    `json:"schema"` // SQL script, run before the first phase
	DataSets []DataSet `json:"data_sets"`
	Phases   []Phase   `json:"phases"`

	// Changes are the settings that the schema changes, and means to.
	Changes driver.Settings `json:"changes_settings,omitempty"`
}

// DataSet is rows made by generators. Rows are numbered from 0 through the
// whole set; a nested set has Count rows for each row of its parent, so that
// row i belongs to the parent's row i / Count.
type DataSet struct {
	Name    string   `json:"name"`
	Parent  string   `json:"parent,omitempty"`
	Count   int64    `json:"count"` // rows, or rows per parent's row
	Total   int64    `json:"total"` // rows in all
	Table   string   `json:"table"` // inserted into
	Columns []Column `json:"columns"`
}

// InsertSQL is the INSERT of so many rows into the set's table, with a "?" for
// each value, and the types of these.
func (s *DataSet) InsertSQL(rows int) (sql string, parameters []driver.Type) {
	var names []string
	for _, c := range s.Columns {
		if !c.Hidden {
			names = append(names, driver.Quote(c.Name))
			parameters = append(parameters, c.Type)
		}
	}
	group := "(?" + strings.Repeat(",?", len(names)-1) + ")"
	sql = "INSERT INTO " + driver.Quote(s.Table) + "(" + strings.Join(names, ",") + ") VALUES " + group + strings.Repeat(","+group, rows-1)
	return sql, slices.Repeat(parameters, rows)
}

// Column is one generated column.
type Column struct {
	Name      string      `json:"name"`
	Type      driver.Type `json:"type"`
	Hidden    bool        `json:"hidden,omitempty"` // made for other columns, not inserted
	Generator Generator   `json:"generator"`
}

// Generator says how a value is made from the seed, the names of the data set
// and column, and the row's number; docs/generated-values.md defines each kind to
// the bit. Only the fields that its Kind names are set.
type Generator struct {
	Kind string `json:"kind"`

	// NullPermille of 1000 values are NULL, whatever the kind.
	NullPermille int64 `json:"null_permille,omitempty"`

	Low  int64   `json:"low,omitempty"`  // serial: the first; int, zipf: the least; text, blob, hex: least bytes; time: start in ms
	High int64   `json:"high,omitempty"` // int, zipf: the greatest; text, blob, hex: most bytes; time: random within [Low, High), unless that is empty
	Step int64   `json:"step,omitempty"` // serial, time: added per row
	Skew float64 `json:"skew,omitempty"` // zipf, pick: the exponent s > 0; pick: 0 is uniform

	RealLow  float64 `json:"real_low,omitempty"`  // real: uniform in [RealLow, RealHigh); const (real)
	RealHigh float64 `json:"real_high,omitempty"` // real

	Format string   `json:"format,omitempty"` // format: fmt verbs %d, %s, %v, %x with widths
	Of     []string `json:"of,omitempty"`     // format, sha256: columns of the same set; ref, pick: one "set.column"
	Hex    bool     `json:"hex,omitempty"`    // sha256: hash the bytes that the hex text stands for

	Text   string   `json:"text,omitempty"`   // const (type text), repeat
	Times  int64    `json:"times,omitempty"`  // repeat
	Int    int64    `json:"int,omitempty"`    // const (int, bool, time)
	Choice []string `json:"choice,omitempty"` // choice
}

// The kinds of generators.
const (
	GenSerial = "serial" // Low + Step*i
	GenConst  = "const"
	GenNull   = "null"
	GenInt    = "int"
	GenZipf   = "zipf"
	GenReal   = "real"
	GenTime   = "time"
	GenFormat = "format"
	GenText   = "text"
	GenRepeat = "repeat"
	GenBlob   = "blob"
	GenChoice = "choice"
	GenHex    = "hex"
	GenSHA256 = "sha256"
	GenRef    = "ref"  // the column of the row that this one is nested in
	GenPick   = "pick" // the column of a row of the set drawn at random
)

// Phase is one named piece of a workload. Exactly one of Insert, Query, Mix, HTTP
// and Script is set.
type Phase struct {
	Name    string  `json:"name"`
	Untimed bool    `json:"untimed,omitempty"` // done, but yields no sample
	Context string  `json:"context,omitempty"` // "background" (the default) or "cancellable"
	Insert  *Insert `json:"insert,omitempty"`
	Query   *Query  `json:"query,omitempty"`
	Mix     *Mix    `json:"mix,omitempty"`
	HTTP    *HTTP   `json:"http,omitempty"`
	Script  string  `json:"script,omitempty"`

	// Changes are the settings that a script changes, and means to.
	Changes driver.Settings `json:"changes_settings,omitempty"`
}

// Insert writes the rows of data sets, on one connection.
type Insert struct {
	Sets []string `json:"sets"`

	// Transaction is "one" around the phase, "set" around each data set,
	// "each" statement by itself, "every" Every rows, or "per" row of the set
	// Per with all that is nested in it (Sets then starts with Per and goes
	// on with its descendants, inserted depth first).
	Transaction string `json:"transaction"`
	Every       int64  `json:"every,omitempty"`
	Per         string `json:"per,omitempty"`

	RowsPerStatement int64 `json:"rows_per_statement"` // groups in one VALUES
	AdHoc            bool  `json:"ad_hoc,omitempty"`
	TimedValues      bool  `json:"timed_values,omitempty"` // rows are made while the clock runs

	// Verify is what the lab has read back after the phase.
	Verify []Stored `json:"verify,omitempty"`
}

// Parameter is where the value of one "?" comes from. Either Column, "set.column"
// of the row that a query's ForEach stands at, or a Generator, whose row is the
// execution's number.
type Parameter struct {
	Name      string      `json:"name"`
	Type      driver.Type `json:"type"`
	Column    string      `json:"column,omitempty"`
	Generator *Generator  `json:"generator,omitempty"`
}

// Call is one statement with where its parameters come from.
type Call struct {
	SQL        string              `json:"sql"` // with plain "?"
	Parameters []Parameter         `json:"parameters,omitempty"`
	Columns    []driver.ColumnType `json:"columns,omitempty"` // empty: returns no rows
	AdHoc      bool                `json:"ad_hoc,omitempty"`

	// Rows is how many rows each execution must return; -1: not known.
	Rows int64 `json:"rows"`
}

// MixCall is one statement of an operation of a mix.
type MixCall struct {
	Call

	// IfEmpty ends the operation when the statement returns no row, whatever Rows
	// says: the calls after it are not executed. A transaction ends as it says,
	// EmptyCommit or EmptyRollback; without one it is EmptyStop.
	IfEmpty string `json:"if_empty,omitempty"`

	// Mutex holds the mix's mutex around the statement.
	Mutex bool `json:"mutex,omitempty"`
}

// How an operation ends when a statement returns no row.
const (
	EmptyCommit   = "commit"
	EmptyRollback = "rollback"
	EmptyStop     = "stop"
)

// Query runs one statement and reads its result to the end.
type Query struct {
	Call
	ForEach string `json:"for_each,omitempty"` // once per row of the set; "": once
	Repeat  int64  `json:"repeat"`             // the whole, so many times
	Clients int    `json:"clients"`            // goroutines that each do the whole on a connection of their own

	// Returns names the generated values that the result must equal, in
	// order, over the whole of ForEach; nil: the drivers must agree.
	Returns *Returns `json:"returns,omitempty"`
}

// Returns says that a result's rows are the rows of a data set, in order, with
// these columns ("set.column", of Set itself or of what it is nested in).
type Returns struct {
	Set     string   `json:"set"`
	Columns []string `json:"columns"`
}

// Mix is weighted operations run by clients at once.
type Mix struct {
	Operations []Operation `json:"operations"`
	Clients    int         `json:"clients"`
	OwnConn    bool        `json:"own_conn,omitempty"` // each client keeps a connection; else the pool, at each operation

	// Either Count operations in all, or for DurationMS.
	Count      int64 `json:"count,omitempty"`
	DurationMS int64 `json:"duration_ms,omitempty"`

	// Rate is the operations per second that are started whether or not the
	// ones before have ended (open loop); 0: each client starts the next when
	// its last has ended (closed loop).
	Rate float64 `json:"rate,omitempty"`

	// GOMAXPROCS is how many threads run Go code at once during the phase; 0: as
	// many as there are cores. Workers in other languages pay it no heed.
	GOMAXPROCS int `json:"gomaxprocs,omitempty"`

	// Mutex holds a mutex of the application around each operation, so that one
	// is under way at a time.
	Mutex bool `json:"mutex,omitempty"`

	Retry *Retry `json:"retry,omitempty"` // nil: an operation that a lock has failed is not repeated
}

// Retry says how an operation is repeated that SQLITE_BUSY or SQLITE_LOCKED has
// failed. Its latency is that of all its attempts.
type Retry struct {
	Attempts  int64 `json:"attempts"`             // in all
	BackoffUS int64 `json:"backoff_us,omitempty"` // waited before the second attempt, twice as long before each further one
}

// Operation is one statement or a transaction of several.
type Operation struct {
	Name        string    `json:"name"`
	Weight      int64     `json:"weight"`
	Transaction bool      `json:"transaction,omitempty"`
	Calls       []MixCall `json:"calls"`

	// Results are the result codes of SQLite, extended or primary, that the
	// operation may end with and has succeeded. A transaction is rolled back then.
	Results []int `json:"results,omitempty"`

	// Mutex holds the mix's mutex around each attempt, from before BEGIN until
	// after COMMIT, where the mix does not hold it around all operations.
	Mutex bool `json:"mutex,omitempty"`
}

// IsResult reports whether an error's code is one of the operation's results. A
// primary code stands for all its extended ones; with a driver that reports
// primary codes only, an extended one stands for its primary one.
func (o *Operation) IsResult(code int, primaryOnly bool) bool {
	return slices.ContainsFunc(o.Results, func(r int) bool {
		return code == r || r <= 0xff && code&0xff == r || primaryOnly && code == r&0xff
	})
}

// HTTP serves one statement to clients in another process: the worker is the
// server, the lab puts the load on it. A request GET /?name=value&… runs the
// statement on a connection of the pool, with a value for each parameter, and is
// answered with its one row as a JSON object. The parameters of the load's
// request number i are made as those of execution i of a query.
type HTTP struct {
	Call // without SQL the server does nothing, and answers each request with {}

	Names   []string `json:"names"`   // of Columns: the keys of the answer
	Clients int      `json:"clients"` // connections of the load, each kept alive

	// Either Count requests in all, or for DurationMS.
	Count      int64 `json:"count,omitempty"`
	DurationMS int64 `json:"duration_ms,omitempty"`

	// Rate is the requests per second that fall due whether or not the ones
	// before have been answered (open loop); 0: each client sends the next when
	// its last has been answered (closed loop).
	Rate float64 `json:"rate,omitempty"`

	// Returns names the generated values that each answer must equal: of the row
	// of Set that the parameter picks, the only one that picks from it; nil: the
	// drivers must agree.
	Returns *Returns `json:"returns,omitempty"`
}

// Picked is the parameter that picks the row which Returns is of.
func (h *HTTP) Picked() (Parameter, bool) {
	var found []Parameter
	for _, p := range h.Parameters {
		if g := p.Generator; h.Returns != nil && g != nil && g.Kind == GenPick && g.NullPermille == 0 && len(g.Of) == 1 && strings.HasPrefix(g.Of[0], h.Returns.Set+".") {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return Parameter{}, false
	}
	return found[0], true
}
