// Package plan has the form in which the lab (sqlite3perf itself) sends a workload to a worker: a
// [Plan], with plain numbers in place of the workload's parameters. It also has the generators that
// make a plan's values from a seed, and the checksums of results. It opens no database and measures
// nothing.
package plan

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Plan is a workload resolved to plain numbers. The lab sends it to workers, which may be written
// in any language. The lab has checked that all names in a plan exist.
type Plan struct {
	Schema   string    `json:"schema"` // SQL script, run before the first phase
	DataSets []DataSet `json:"data_sets" jsonschema:"nullable"`
	Phases   []Phase   `json:"phases" jsonschema:"nullable"`

	// Changes has the settings that the SQL in Schema changes on purpose, with their new values.
	Changes driver.Settings `json:"changes_settings,omitempty"`

	// Files allows the SQL to reach files other than the trial's own database. Otherwise
	// SQLite must refuse ATTACH and VACUUM INTO on each connection.
	Files bool `json:"files,omitempty"`
}

// SQL returns all SQL of the plan that a user has written.
func (p *Plan) SQL() []string {
	list := []string{p.Schema}
	for i := range p.Phases {
		list = append(list, p.Phases[i].SQL()...)
	}
	return slices.DeleteFunc(list, func(sql string) bool { return sql == "" })
}

// DataSet is a set of rows made by generators. Rows are numbered from 0 through the
// whole set. A nested set has Count rows for each row of its parent, so that row i
// belongs to the parent's row i / Count.
type DataSet struct {
	Name    string   `json:"name" jsonschema:"pattern=^[^.]+$"`
	Parent  string   `json:"parent,omitempty"`
	Count   int64    `json:"count" jsonschema:"maximum=1099511627776"` // number of rows; in a nested set, number of rows for each row of the parent
	Total   int64    `json:"total" jsonschema:"maximum=1099511627776"` // rows in total
	Table   string   `json:"table"`                                    // table into which the rows are inserted
	Columns []Column `json:"columns" jsonschema:"nullable"`
}

// Inserted returns the columns that are not hidden.
func (s *DataSet) Inserted() []Column {
	return slices.DeleteFunc(slices.Clone(s.Columns), func(c Column) bool { return c.Hidden })
}

// Bound returns the columns whose values are the parameters of an INSERT, in order. These are
// the inserted columns, except that a coalesced column is replaced by the columns that it is
// made from.
func (s *DataSet) Bound() []Column {
	var list []Column
	for _, c := range s.Inserted() {
		if c.Generator.Kind != GenCoalesce {
			list = append(list, c)
			continue
		}
		for _, of := range c.Generator.Of {
			if i := slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == of }); i >= 0 {
				list = append(list, s.Columns[i])
			}
		}
	}
	return list
}

// InsertSQL returns the INSERT statement for a number of rows of the set, with a "?" for each
// value, and the types of the values.
func (s *DataSet) InsertSQL(rows int) (sql string, parameters []driver.Type) {
	var names, values []string
	for _, c := range s.Inserted() {
		names = append(names, driver.Quote(c.Name))
		if c.Generator.Kind == GenCoalesce {
			values = append(values, "coalesce(?"+strings.Repeat(",?", len(c.Generator.Of)-1)+")")
		} else {
			values = append(values, "?")
		}
	}
	for _, c := range s.Bound() {
		parameters = append(parameters, c.Type)
	}
	group := "(" + strings.Join(values, ",") + ")"
	sql = "INSERT INTO " + driver.Quote(s.Table) + "(" + strings.Join(names, ",") + ") VALUES " + group + strings.Repeat(","+group, rows-1)
	return sql, slices.Repeat(parameters, rows)
}

// Column is one generated column.
type Column struct {
	Name      string      `json:"name" jsonschema:"minLength=1"`
	Type      driver.Type `json:"type"`
	Hidden    bool        `json:"hidden,omitempty"` // set if the column is not inserted, but only used to make other columns
	Generator Generator   `json:"generator"`
}

// Generator says how a value is made from the seed, the names of the data set and
// column, and the row's number. docs/generated-values.md defines each kind to the bit.
// Only the fields that apply to its Kind are set.
type Generator struct {
	Kind string `json:"kind" jsonschema:"constants=Gen"`

	// NullPermille says how many of 1000 values are NULL, on average. It may be set for any kind.
	NullPermille int64 `json:"null_permille,omitempty" jsonschema:"maximum=1000"`

	Low  int64   `json:"low,omitempty" jsonschema:"signed"`                   // kind serial: first value; int, zipf, shuffle: least value; text, blob, hex: least number of bytes; words: least number of words; time: start in ms
	High int64   `json:"high,omitempty" jsonschema:"signed"`                  // kind int, zipf, shuffle: greatest value; text, blob, hex: greatest number of bytes; words: greatest number of words; time: random within [Low, High) if High > Low
	Step int64   `json:"step,omitempty" jsonschema:"signed"`                  // kind serial, time: added for each row; shuffle: difference of neighboring values
	Skew float64 `json:"skew,omitempty" jsonschema:"minimum=0.01,maximum=20"` // kind zipf, pick, words: the exponent s of the Zipf distribution; pick, words: 0 makes all rows equally likely

	// Every is the number of rows in which a serial grows by Step; 0 and 1 both mean one row.
	Every int64 `json:"every,omitempty"`

	// Bounds, if set, replace Low and High. The value, or its length, is equally likely to be in
	// each interval between two neighboring bounds. An int with Weights takes only the values in
	// Bounds.
	Bounds     []int64   `json:"bounds,omitempty" jsonschema:"signed,minItems=1"`
	RealBounds []float64 `json:"real_bounds,omitempty" jsonschema:"minItems=2"`
	Weights    []int64   `json:"weights,omitempty" jsonschema:"minItems=1"` // kind choice, int: relative probability of each value; nil: all are equal

	RealLow  float64 `json:"real_low,omitempty"`  // kind real: uniform in [RealLow, RealHigh); const of type real: the value
	RealHigh float64 `json:"real_high,omitempty"` // kind real: see RealLow

	Format string   `json:"format,omitempty"` // kind format: text with the verbs %d, %s, %v, %x (with widths), %F, %T and %j
	Of     []string `json:"of,omitempty"`     // kind format, sha256, coalesce: columns of the same set, from which the value is made; ref, pick, words: the name "set.column" of one column
	At     string   `json:"at,omitempty"`     // kind pick: the column of the same set that has the number of the picked row
	Hex    bool     `json:"hex,omitempty"`    // kind sha256: set to hash the bytes that a hex text encodes, instead of the text itself

	Text   string   `json:"text,omitempty"`                           // kind const of type text: the value; repeat: the repeated text
	Times  int64    `json:"times,omitempty"`                          // kind repeat: how many times Text is repeated
	Int    int64    `json:"int,omitempty" jsonschema:"signed"`        // kind const of type int, bool or time: the value
	Choice []string `json:"choice,omitempty" jsonschema:"minItems=1"` // kind choice: the texts to choose from

	// List has the values of a list. Each value is null or fits the column's type: a whole number, a
	// number, a text, or a text of hexadecimal digits for a blob.
	List []json.RawMessage `json:"list,omitempty" jsonschema:"minItems=1"`
}

// The kinds of generators.
const (
	GenSerial = "serial" // the value in row i is Low + Step*i, or Low + Step*i/Every rounded down if Every is above 1
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
	GenList   = "list" // the value in row i is List[i % len(List)]
	GenHex    = "hex"
	GenSHA256 = "sha256"
	GenRef    = "ref"  // the value of a column of the parent set (or of its parent, and so on), in the row in which the generated row is nested
	GenPick   = "pick" // the value of a column in a row of another set; the row is drawn at random, or its number is in the column that At names

	GenShuffle  = "shuffle"  // the values Low, Low+Step, …, High in random order, each value once
	GenWords    = "words"    // several values of a column of another set, drawn at random and separated by spaces
	GenCoalesce = "coalesce" // the first value that is not NULL among several columns; the INSERT chooses it with SQL's coalesce
)

// Phase is one named part of a workload. Exactly one of Insert, Query, Mix, HTTP,
// Replay and Script is set.
type Phase struct {
	Name    string  `json:"name" jsonschema:"minLength=1"`
	Untimed bool    `json:"untimed,omitempty"`                                               // the phase runs but yields no sample
	Context string  `json:"context,omitempty" jsonschema:"enum=background,enum=cancellable"` // the context that operations get: "background" (the default), which cannot end, or "cancellable"
	Insert  *Insert `json:"insert,omitempty"`
	Query   *Query  `json:"query,omitempty"`
	Mix     *Mix    `json:"mix,omitempty"`
	HTTP    *HTTP   `json:"http,omitempty"`
	Replay  *Replay `json:"replay,omitempty"`
	Script  string  `json:"script,omitempty" jsonschema:"minLength=1"`

	// Changes has the settings that the SQL in Script changes on purpose, with their new values.
	Changes driver.Settings `json:"changes_settings,omitempty"`
}

// Clients returns how many clients do the operations of the phase at the same time. It returns 1 for an
// insert or a script.
func (p *Phase) Clients() int {
	switch {
	case p.Query != nil:
		return p.Query.Clients
	case p.Mix != nil:
		return p.Mix.Clients
	case p.HTTP != nil:
		return p.HTTP.Clients
	case p.Replay != nil:
		return p.Replay.AtOnce()
	}
	return 1
}

// SQL returns the SQL of the phase that a user has written. Some of the texts may be empty.
func (p *Phase) SQL() []string {
	list := []string{p.Script}
	switch {
	case p.Query != nil:
		list = append(list, p.Query.SQL)
	case p.HTTP != nil:
		list = append(list, p.HTTP.SQL)
	case p.Mix != nil:
		for _, o := range p.Mix.Operations {
			for _, c := range o.Calls {
				list = append(list, c.SQL)
			}
		}
	case p.Replay != nil:
		for _, s := range p.Replay.Statements {
			list = append(list, s.SQL)
		}
	}
	return list
}

// Insert writes the rows of data sets, on one connection.
type Insert struct {
	Sets []string `json:"sets" jsonschema:"minItems=1,uniqueItems=true"`

	// Transaction says what one transaction inserts. "one": the whole phase. "set": a data set.
	// "each": a single statement. "every": a number of rows (Every). "per": a row of the set Per
	// with all rows nested in it. With "per", Sets starts with Per and continues with its
	// descendants, which are inserted depth first.
	Transaction string `json:"transaction" jsonschema:"enum=one,enum=set,enum=each,enum=every,enum=per"`
	Every       int64  `json:"every,omitempty" jsonschema:"maximum=16777216"`
	Per         string `json:"per,omitempty"`

	RowsPerStatement int64 `json:"rows_per_statement" jsonschema:"minimum=1"` // rows in one INSERT
	AdHoc            bool  `json:"ad_hoc,omitempty"`
	TimedValues      bool  `json:"timed_values,omitempty"` // set if the values of rows are made while the clock runs

	// Verify says which tables the worker reads back after the phase, so that the lab can check
	// their rows.
	Verify []Stored `json:"verify,omitempty"`
}

// Parameter says where the value of one "?" comes from. Exactly one of Column and Generator is set.
// A Column ("set.column") gives the column's value in the current row of a query's ForEach. A
// Generator makes the value of the row with the execution's number.
type Parameter struct {
	Name      string      `json:"name"`
	Type      driver.Type `json:"type"`
	Column    string      `json:"column,omitempty"`
	Generator *Generator  `json:"generator,omitempty"`
}

// Call is one statement and the sources of its parameters.
type Call struct {
	SQL        string              `json:"sql"` // each parameter is a plain "?"
	Parameters []Parameter         `json:"parameters,omitempty"`
	Columns    []driver.ColumnType `json:"columns,omitempty"` // the columns of the result; empty if the statement returns no rows
	AdHoc      bool                `json:"ad_hoc,omitempty"`

	// Rows is how many rows each execution must return; -1: not known.
	Rows int64 `json:"rows" jsonschema:"minimum=-1"`
}

// MixCall is one statement of an operation of a mix.
type MixCall struct {
	Call

	// IfEmpty ends the operation if the statement returns no rows, regardless of Rows. The
	// later calls of the operation are not executed. In a transaction, IfEmpty is EmptyCommit or
	// EmptyRollback, which says how the transaction ends. Without a transaction, IfEmpty is
	// EmptyStop.
	IfEmpty string `json:"if_empty,omitempty" jsonschema:"constants=Empty"`

	// Mutex means that the mix's mutex is locked while the statement runs.
	Mutex bool `json:"mutex,omitempty"`

	// Another runs a statement of a transaction outside of the transaction, on another connection
	// of the pool, as a program does by mistake. If the pool has only one connection, the
	// statement waits forever.
	Another bool `json:"another,omitempty"`
}

// The ways in which an operation ends when a statement returns no rows.
const (
	EmptyCommit   = "commit"
	EmptyRollback = "rollback"
	EmptyStop     = "stop"
)

// Query runs one statement and reads its result to the end.
type Query struct {
	Call
	ForEach string `json:"for_each,omitempty"`             // the statement runs once for each row of this data set; "": it runs once
	Repeat  int64  `json:"repeat" jsonschema:"minimum=1"`  // number of passes; each pass runs the statement as many times as ForEach says
	Clients int    `json:"clients" jsonschema:"minimum=1"` // goroutines; each runs the whole phase on its own connection

	// Returns says which generated values the results must equal, for all rows of ForEach, one
	// after the other. If Returns is nil, the results of all drivers must be equal.
	Returns *Returns `json:"returns,omitempty"`
}

// Returns says that the rows of a result are the rows of the data set Set, in order, with these
// columns. The name of a column is "set.column". Each column belongs to Set, or to a set in which
// Set is nested.
type Returns struct {
	Set     string   `json:"set"`
	Columns []string `json:"columns"`
}

// Mix is a set of weighted operations that clients run concurrently.
type Mix struct {
	Operations []Operation `json:"operations" jsonschema:"minItems=1,maxItems=256"`
	Clients    int         `json:"clients" jsonschema:"minimum=1"`
	OwnConn    bool        `json:"own_conn,omitempty"` // set if each client keeps its own connection, instead of taking one from the pool for each operation

	// The mix runs either Count operations in total, or for DurationMS.
	Count      int64 `json:"count,omitempty"`
	DurationMS int64 `json:"duration_ms,omitempty"`

	// Rate is how many operations per second are started, even if previous operations have not
	// ended (open loop). If Rate is 0, each client starts its next operation when its previous
	// operation has ended (closed loop).
	Rate float64 `json:"rate,omitempty" jsonschema:"minimum=0.001,maximum=1e9"`

	// GOMAXPROCS is how many threads run Go code at once during the phase; 0: as many as there
	// are cores. Workers in other languages ignore GOMAXPROCS.
	GOMAXPROCS int `json:"gomaxprocs,omitempty"`

	// Mutex says to hold a mutex of the application around each operation, so that only one
	// operation runs at a time.
	Mutex bool `json:"mutex,omitempty"`

	Retry *Retry `json:"retry,omitempty"` // if nil, an operation that failed because of a lock is not repeated

	// PatienceMS, if not 0, is the longest time in milliseconds without progress. The phase
	// fails if operations are running and no client begins or ends an operation for longer than
	// PatienceMS. The running operations may then wait for each other forever.
	PatienceMS int64 `json:"patience_ms,omitempty"`
}

// Share returns which clients of the mix a process runs: first ≤ client < end. Clients and
// processes are counted from 0.
func (m *Mix) Share(process, processes int) (first, end int) {
	return m.Clients * process / processes, m.Clients * (process + 1) / processes
}

// MostShared returns how many clients the process with the most clients runs.
func (m *Mix) MostShared(processes int) int { return (m.Clients + processes - 1) / processes }

// Mutexes reports whether a mutex is held around any operation or statement of the mix.
func (m *Mix) Mutexes() bool {
	return m.Mutex || slices.ContainsFunc(m.Operations, func(o Operation) bool {
		return o.Mutex || slices.ContainsFunc(o.Calls, func(c MixCall) bool { return c.Mutex })
	})
}

// Retry says how to repeat an operation that failed with SQLITE_BUSY or SQLITE_LOCKED.
// The latency of the operation includes all its attempts.
type Retry struct {
	Attempts  int64 `json:"attempts" jsonschema:"minimum=2,maximum=1000000"`      // attempts in total, including the first
	BackoffUS int64 `json:"backoff_us,omitempty" jsonschema:"maximum=3600000000"` // pause before the second attempt in µs; it doubles before each further attempt
}

// Operation is one statement or a transaction of several.
type Operation struct {
	Name        string    `json:"name" jsonschema:"minLength=1"`
	Weight      int64     `json:"weight" jsonschema:"minimum=1,maximum=1000000"`
	Transaction bool      `json:"transaction,omitempty"`
	Calls       []MixCall `json:"calls" jsonschema:"minItems=1"`

	// Results are result codes of SQLite, extended or primary. An operation that ends with one of
	// these codes still counts as successful. If the operation is a transaction, it is rolled
	// back.
	Results []int `json:"results,omitempty" jsonschema:"minimum=1"`

	// TimeoutMS, if not 0, is how many milliseconds the operation with all its attempts may take.
	// After that time, the context of the operation ends.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`

	// Reads says that no statement of the operation writes. The operation then uses the pool of
	// readers, if the setting pool_readers asks for one, and does not hold the mutex that the
	// setting write_mutex asks for.
	Reads bool `json:"reads,omitempty"`

	// Mutex says to hold the mix's mutex around each attempt, from before BEGIN until after
	// COMMIT. It must not be set if the mix already holds its mutex around all operations.
	Mutex bool `json:"mutex,omitempty"`
}

// IsResult reports whether an error's code is one of the operation's results. A
// primary code among the results matches all its extended codes. With a driver that
// reports only primary codes, an extended code matches its primary code.
func (o *Operation) IsResult(code int, primaryOnly bool) bool {
	return slices.ContainsFunc(o.Results, func(r int) bool {
		return code == r || r <= 0xff && code&0xff == r || primaryOnly && code == r&0xff
	})
}

// HTTP serves one statement to clients in another process. The worker is the server, and the lab
// puts the load on it. A request GET /?name=value&… runs the statement on a connection of the pool,
// with a value for each parameter. The response is the statement's one row as a JSON object.
// Request number i of the load gets its parameters in the same way as execution number i of a
// query.
type HTTP struct {
	Call // without SQL the server runs no statement and responds to each request with {}

	Names   []string `json:"names" jsonschema:"nullable"`    // the names of Columns, which are the keys of the JSON object
	Clients int      `json:"clients" jsonschema:"minimum=1"` // clients of the load, each with a connection that is kept alive

	// The load either sends Count requests in total, or runs for DurationMS.
	Count      int64 `json:"count,omitempty"`
	DurationMS int64 `json:"duration_ms,omitempty"`

	// Rate is how many requests per second are due, even if previous requests have not been
	// answered (open loop). If Rate is 0, each client sends its next request when its previous
	// request has been answered (closed loop).
	Rate float64 `json:"rate,omitempty" jsonschema:"minimum=0.001,maximum=1e9"`

	// Returns says which generated values each response must equal. These values are in the row of
	// Set that the request picks. Exactly one parameter picks from Set. If Returns is nil, the
	// responses must be the same with all drivers.
	Returns *Returns `json:"returns,omitempty"`
}

// Picked returns the only parameter that picks a row of Returns.Set, or false if there is not
// exactly one such parameter.
func (h *HTTP) Picked() (Parameter, bool) {
	var found []Parameter
	for _, p := range h.Parameters {
		if g := p.Generator; h.Returns != nil && g != nil && g.Kind == GenPick && g.At == "" && g.NullPermille == 0 && len(g.Of) == 1 && strings.HasPrefix(g.Of[0], h.Returns.Set+".") {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return Parameter{}, false
	}
	return found[0], true
}
