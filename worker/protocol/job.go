package protocol

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// Job is a request for work other than a trial. Exactly one of its fields is set.
type Job struct {
	Generate   *Generate   `json:"generate,omitempty"`
	Bench      *Bench      `json:"bench,omitempty"`
	Pragma     *Pragma     `json:"pragma,omitempty"`
	Concurrent *Concurrent `json:"concurrent,omitempty"`
	Paginate   *Paginate   `json:"paginate,omitempty"`
	Answers    *Answers    `json:"answers,omitempty"`
	DSN        *DSN        `json:"dsn,omitempty"`
	Cluster    *Cluster    `json:"cluster,omitempty"`
	Commit     *Commit     `json:"commit,omitempty"`
	Judge      *Judge      `json:"judge,omitempty"`
}

// JobResult is the result of a job. Besides Interrupted, only the field with the name of the job is
// set.
type JobResult struct {
	// Interrupted says that the job was stopped before its end. The result covers only the work
	// until then.
	Interrupted bool `json:"interrupted,omitempty"`

	Generate   *Generated   `json:"generate,omitempty"`
	Bench      *Benched     `json:"bench,omitempty"`
	Pragma     []PragmaRead `json:"pragma,omitempty"`
	Concurrent *Concurred   `json:"concurrent,omitempty"`
	Paginate   *Paginated   `json:"paginate,omitempty"`
	Answers    *Answered    `json:"answers,omitempty"`
	DSN        []Opened     `json:"dsn,omitempty"`
	Cluster    *Clustered   `json:"cluster,omitempty"`
	Commit     *Committed   `json:"commit,omitempty"`

	// Judge has the state that was found in each database, in the order of the paths.
	Judge []JudgedState `json:"judge,omitempty"`
}

// Progress reports the progress of a job.
type Progress struct {
	Stage     string    `json:"stage,omitempty" jsonschema:"enum=create,enum=insert,enum=vacuum,enum=first-row,enum=rows,enum=second,enum=repetitions,enum=answer,enum=cluster,enum=commit"` // create, insert, vacuum, first-row, rows, second, repetitions, answer, cluster, commit
	ElapsedNS int64     `json:"elapsed_ns,omitempty"`                                                                                                                                        // time since the stage began; in the stage "first-row", time since the query began
	Rows      int64     `json:"rows,omitempty"`                                                                                                                                              // rows done so far; in the stage "commit", the number of the acknowledged transaction
	Second    *Activity `json:"second,omitempty"`                                                                                                                                            // set only by the job "concurrent": the activity since the previous report
	FirstRow  []string  `json:"first_row,omitempty" jsonschema:"minItems=3,maxItems=3"`                                                                                                      // set only by the job "bench": the columns ID, rand and hash of the first row
	Answer    *Answer   `json:"answer,omitempty"`                                                                                                                                            // set only by the job "answers": one answer
	Harm      *Harm     `json:"harm,omitempty"`                                                                                                                                              // set only by the job "cluster": the latest kill or cut
}

// Field names a field of a job, as in JSON.
type Field struct {
	Name  string `json:"name" jsonschema:"minLength=1"`
	Value string `json:"value,omitempty"` // the value that cannot be used; "": the value is valid, but another value would avoid the problem
}

// FieldError is an error that a user can avoid with other values in fields of a job.
type FieldError struct {
	Fields  []Field
	Problem string // what is wrong with the values in Fields, or with the database
}

func (e *FieldError) Error() string {
	var words []string
	for _, f := range e.Fields {
		if f.Value != "" {
			words = append(words, f.Name+" "+f.Value)
		}
	}
	if words == nil {
		return e.Problem
	}
	return strings.Join(words, " ") + ": " + e.Problem
}

// BadField returns an error that says what is wrong with the value of a field.
func BadField(name string, value any, format string, args ...any) error {
	return &FieldError{[]Field{{name, fmt.Sprint(value)}}, fmt.Sprintf(format, args...)}
}

// Check returns an error if the job itself is invalid. It does not look at the database.
func (j *Job) Check() error {
	var checks []func() error
	for _, kind := range []struct {
		set   bool
		check func() error
	}{
		{j.Generate != nil, j.Generate.check}, {j.Bench != nil, j.Bench.check}, {j.Pragma != nil, j.Pragma.check},
		{j.Concurrent != nil, j.Concurrent.check}, {j.Paginate != nil, j.Paginate.check}, {j.Answers != nil, j.Answers.check},
		{j.DSN != nil, j.DSN.check}, {j.Cluster != nil, j.Cluster.check}, {j.Commit != nil, j.Commit.check}, {j.Judge != nil, j.Judge.check},
	} {
		if kind.set {
			checks = append(checks, kind.check)
		}
	}
	if len(checks) != 1 {
		return fmt.Errorf("a job is exactly one of generate, bench, pragma, concurrent, paginate, answers, dsn, cluster, commit and judge, not %d of them", len(checks))
	}
	return checks[0]()
}

// Generate is a job that drops and recreates a table, and fills it with rows, on one connection.
// Each INSERT has Batch rows and is its own transaction.
type Generate struct {
	Table    string `json:"table" jsonschema:"minLength=1"`
	Rows     int64  `json:"rows" jsonschema:"minimum=1"`
	Batch    int    `json:"batch" jsonschema:"minimum=1"`
	Prepared bool   `json:"prepared,omitempty"` // run a prepared INSERT; otherwise run each INSERT as SQL text
	Vacuum   bool   `json:"vacuum,omitempty"`
	Force    bool   `json:"force,omitempty"` // allow a database that sqlite3perf did not create
	EveryMS  int64  `json:"every_ms,omitempty"`
}

// Generated is the result of Generate.
type Generated struct {
	Rows     int64 `json:"rows"`                // rows in the table
	WallNS   int64 `json:"wall_ns"`             // time of all INSERTs
	VacuumNS int64 `json:"vacuum_ns,omitempty"` // time of VACUUM
}

func (g *Generate) check() error {
	switch {
	case g.Rows < 1:
		return BadField("rows", g.Rows, "want at least 1 row")
	case g.Batch < 1:
		return BadField("batch", g.Batch, "want at least 1 row per INSERT, such as 100")
	case g.EveryMS < 0:
		return fmt.Errorf("progress every %d ms: want 0 or more", g.EveryMS)
	}
	return checkTable(g.Table)
}

// Bench is a job that reads every row of a table. It verifies that the column "hash" has the
// SHA-256 of the bytes that the column "rand" encodes.
type Bench struct {
	Table    string `json:"table" jsonschema:"minLength=1"`
	Pipeline bool   `json:"pipeline,omitempty"` // use all cores, if the pool has enough connections
	EveryMS  int64  `json:"every_ms,omitempty"`
}

// Benched is the result of Bench.
type Benched struct {
	Rows         int64      `json:"rows"`
	AfterQueryNS int64      `json:"after_query_ns"` // time until the library had accepted the query
	FirstRowNS   int64      `json:"first_row_ns"`   // time until the first row arrived; 0 without rows
	WallNS       int64      `json:"wall_ns"`        // time until the last row was verified
	Mismatches   int64      `json:"mismatches"`
	First        []Mismatch `json:"first_mismatches,omitempty" jsonschema:"maxItems=10"` // the first ten mismatches
}

// Mismatch is a row in which the column "hash" does not have the hash of the column "rand", or in which
// a column is NULL.
type Mismatch struct {
	Row int64  `json:"row"` // number of the row in the order of reading, from 0
	ID  string `json:"id"`
	Why string `json:"why"`
}

func (b *Bench) check() error {
	if b.EveryMS < 0 {
		return fmt.Errorf("progress every %d ms: want 0 or more", b.EveryMS)
	}
	return checkTable(b.Table)
}

// Concurrent is a job that runs readers and writers on a table at the same time, each as fast as it
// can. Writers insert single rows with ascending IDs. Readers read the three rows with the greatest
// IDs.
type Concurrent struct {
	Table      string `json:"table" jsonschema:"minLength=1"`
	Readers    int    `json:"readers"`
	Writers    int    `json:"writers"`
	From       int64  `json:"from" jsonschema:"signed"` // ID of the first row that is inserted
	DurationMS int64  `json:"duration_ms" jsonschema:"minimum=1"`
	Clear      bool   `json:"clear,omitempty"` // drop and recreate the table
	Force      bool   `json:"force,omitempty"` // allow a database that sqlite3perf did not create

	// Own gives each reader and writer its own connection, instead of a connection from the pool for
	// each operation.
	Own bool `json:"own,omitempty"`

	// KeepOpen makes the worker exit without closing the database.
	KeepOpen bool `json:"keep_open,omitempty"`

	// Checkpoints also runs checkpoints during the whole job, on a separate connection.
	Checkpoints bool `json:"checkpoints,omitempty"`
}

// Concurred has the counts of readers and writers for the whole job.
type Concurred struct {
	WallNS  int64 `json:"wall_ns"`
	Readers Group `json:"readers"`
	Writers Group `json:"writers"`
	LastID  int64 `json:"last_id" jsonschema:"signed"` // greatest ID that a writer has tried to insert
}

// Activity has the counts of readers and writers in an interval of WallNS nanoseconds.
type Activity struct {
	WallNS  int64 `json:"wall_ns"`
	Readers Group `json:"readers"`
	Writers Group `json:"writers"`
}

// Group has the counts of all readers, or of all writers.
type Group struct {
	Operations int64           `json:"operations"` // all operations, including those that failed
	Failed     int64           `json:"failed,omitempty"`
	Rows       int64           `json:"rows"` // rows read or written
	Errors     []ErrorCount    `json:"errors,omitempty"`
	Latency    latency.Summary `json:"latency"`
}

// maxMembers is the maximum number of readers, of writers, and of clients of the job "cluster".
const maxMembers = 1_000_000

func (c *Concurrent) check() error {
	both := []Field{{"readers", strconv.Itoa(c.Readers)}, {"writers", strconv.Itoa(c.Writers)}}
	switch {
	case c.Readers < 0:
		return BadField("readers", c.Readers, "want 0 readers or more")
	case c.Writers < 0:
		return BadField("writers", c.Writers, "want 0 writers or more")
	case c.Readers+c.Writers == 0:
		return &FieldError{both, "want at least one reader or writer"}
	case c.Readers > maxMembers || c.Writers > maxMembers:
		return &FieldError{both, fmt.Sprintf("want at most %d readers and %d writers", maxMembers, maxMembers)}
	case c.From > math.MaxInt64/2:
		return BadField("from", c.From, "want at most %d, which leaves writers IDs above it", int64(math.MaxInt64/2))
	case c.DurationMS < 1:
		return BadField("duration_ms", time.Duration(c.DurationMS)*time.Millisecond, "want a duration above 0, such as 60s")
	}
	return checkTable(c.Table)
}

// Paginate is a job that reads pages of a table, in the order of ID, at several depths. It reads
// each page in two ways: with OFFSET, and with a keyset, which is WHERE ID > the last ID before the
// page.
type Paginate struct {
	Table       string  `json:"table" jsonschema:"minLength=1"`
	Depths      []int64 `json:"depths,omitempty"`             // rows before each page; if empty, the size of the table decides
	Limit       int     `json:"limit" jsonschema:"minimum=1"` // rows per page
	Repetitions int     `json:"repetitions" jsonschema:"minimum=6"`
	EveryMS     int64   `json:"every_ms,omitempty"`
}

// Paginated is the result of Paginate.
type Paginated struct {
	Rows   int64  `json:"rows"` // rows in the table
	Depths []Page `json:"depths" jsonschema:"nullable"`
}

// Page has the times of reading one page with OFFSET and with a keyset, in nanoseconds. There is
// one time for each repetition.
type Page struct {
	Depth    int64   `json:"depth"`
	OffsetNS []int64 `json:"offset_ns" jsonschema:"nullable"`
	KeysetNS []int64 `json:"keyset_ns" jsonschema:"nullable"`
}

// MinRepetitions is the minimum of Repetitions in [Paginate]. With fewer repetitions, no 95 %
// confidence interval of the times can be computed.
const MinRepetitions = 6

func (p *Paginate) check() error {
	switch {
	case p.Limit < 1:
		return BadField("limit", p.Limit, "want at least 1 row to a page")
	case p.Repetitions < MinRepetitions:
		return BadField("repetitions", p.Repetitions, "at least %d, the fewest that give a 95 %% interval", MinRepetitions)
	case p.EveryMS < 0:
		return fmt.Errorf("progress every %d ms: want 0 or more", p.EveryMS)
	}
	for _, d := range p.Depths {
		if d < 0 {
			return BadField("depths", d, "want the number of rows before a page, 0 or more")
		}
	}
	return checkTable(p.Table)
}

// Pragma is a job that reads pragmas, or sets them and reads them back. It reads them back on the
// connection that set them, and on a connection opened later.
type Pragma struct {
	Pragmas []PragmaArgument `json:"pragmas" jsonschema:"minItems=1"`
}

// PragmaArgument is one pragma to read, or to set if Value is not nil.
type PragmaArgument struct {
	Name  string  `json:"name" jsonschema:"minLength=1"`
	Value *string `json:"value,omitempty"`
}

// PragmaRead is the result for one pragma. Before, Got and Later have one entry for each row
// that the pragma returned. Most pragmas return one row.
type PragmaRead struct {
	Name   string   `json:"name"`
	Set    *string  `json:"set,omitempty"`                       // the requested value; nil if the pragma was only read
	Before []string `json:"before" jsonschema:"nullable"`        // value that the pragma had before it was set
	Got    []string `json:"got,omitempty" jsonschema:"nullable"` // value read back on the connection that set it
	Later  []string `json:"later,omitempty" jsonschema:"nullable"`

	// Took says that the pragma has the requested value on the connection that set it. Outlives
	// says that it also has that value on a connection opened later.
	Took     bool `json:"took,omitempty"`
	Outlives bool `json:"outlives,omitempty"`
}

var (
	pragmaName  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*\.)?[A-Za-z_][A-Za-z0-9_]*$`)
	pragmaValue = regexp.MustCompile(`^([-+]?[A-Za-z0-9_.]+|'[^']*')$`)
)

// ParsePragma parses "name" or "name=value".
func ParsePragma(s string) (PragmaArgument, error) {
	name, value, set := strings.Cut(s, "=")
	p := PragmaArgument{Name: strings.ToLower(strings.TrimSpace(name))}
	if set {
		value = strings.TrimSpace(value)
		p.Value = &value
	}
	return p, p.check()
}

func (p PragmaArgument) check() error {
	if !pragmaName.MatchString(p.Name) {
		return fmt.Errorf("%q is not the name of a pragma: want name or name=value, such as synchronous=normal", p.Name)
	}
	if p.Value != nil && !pragmaValue.MatchString(*p.Value) {
		return fmt.Errorf("pragma %s: bad value %q: want a number, a word, or a text in single quotes", p.Name, *p.Value)
	}
	return nil
}

func (p *Pragma) check() error {
	if len(p.Pragmas) == 0 {
		return fmt.Errorf("no pragma is named: want one such as synchronous, or synchronous=normal")
	}
	given := map[string]bool{}
	for _, a := range p.Pragmas {
		if err := a.check(); err != nil {
			return err
		}
		if a.Value != nil && given[a.Name] {
			return fmt.Errorf("pragma %s has two values: leave one out", a.Name)
		}
		given[a.Name] = given[a.Name] || a.Value != nil
	}
	return nil
}

// DSN is a job that opens databases by data source names, as users of the library do, and reads
// back the settings of each database. The request's path is an empty directory. Each opening gets a
// directory in it, named by the opening's index. While the database is open, that directory is the
// working directory.
type DSN struct {
	Openings []Opening `json:"openings" jsonschema:"minItems=1"`
}

// Opening is a database to open, with the statements to run when it is open.
type Opening struct {
	DSN     string   `json:"dsn"`               // the data source name, which is passed to the library unchanged
	File    string   `json:"file,omitempty"`    // name of the file that the data source name refers to; "" if it means a database in memory
	Pragmas []string `json:"pragmas,omitempty"` // further pragmas to read
	Init    []string `json:"init,omitempty"`    // statements to run on each connection before anything is read
	Begin   string   `json:"begin,omitempty"`   // the statement that begins a transaction; "": the library's own call
}

// Opened is the result of an Opening.
type Opened struct {
	// Failed is the library's error if it refused the data source name, or if no query of the opened
	// database succeeded.
	Failed string `json:"failed,omitempty"`

	Existing    bool         `json:"existing,omitempty"`                            // the library opened the database only after its file had been created
	Connections []OpenedConn `json:"connections,omitempty" jsonschema:"maxItems=2"` // the connections that could be opened
	Second      string       `json:"second,omitempty"`                              // the error that prevented a second connection

	// Seen has the settings mode, cache and txlock, as far as they can be observed.
	Seen    driver.Settings `json:"seen,omitempty"`
	Own     bool            `json:"own,omitempty"`      // each connection has its own database
	NoLocks bool            `json:"no_locks,omitempty"` // two connections could write at the same time
	Waits   bool            `json:"waits,omitempty"`    // a connection waits for a lock although its busy_timeout is 0
	Files   []string        `json:"files,omitempty"`    // names of the database files in the directory
}

// OpenedConn has the values that were read back from a connection.
type OpenedConn struct {
	Settings driver.Settings   `json:"settings"`
	Pragmas  map[string]string `json:"pragmas,omitempty"` // values of those pragmas in Opening.Pragmas that returned one row of one column
}

// maxOpenings is the maximum number of openings in a job.
const maxOpenings = 10_000

func (d *DSN) check() error {
	if len(d.Openings) == 0 || len(d.Openings) > maxOpenings {
		return fmt.Errorf("a job dsn has %d openings: want 1 to %d", len(d.Openings), maxOpenings)
	}
	for _, o := range d.Openings {
		if o.File != "" && (!filepath.IsLocal(o.File) || filepath.Base(o.File) != o.File) {
			return BadField("file", o.File, "want the name of a file, without a directory")
		}
		for _, name := range o.Pragmas {
			if !pragmaName.MatchString(name) {
				return fmt.Errorf("%q is not the name of a pragma", name)
			}
		}
	}
	return nil
}

func checkTable(name string) error {
	switch {
	case name == "":
		return BadField("table", `""`, "want a name such as bench")
	case strings.ContainsRune(name, 0):
		return BadField("table", strconv.Quote(name), "it has a NUL: want a name such as bench")
	case strings.HasPrefix(strings.ToLower(name), "sqlite_"):
		return BadField("table", name, "names that begin with sqlite_ are SQLite's own: want one such as bench")
	}
	return nil
}
