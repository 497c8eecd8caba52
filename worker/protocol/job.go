package protocol

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// Job says what to do: exactly one of its fields is set.
type Job struct {
	Generate   *Generate   `json:"generate,omitempty"`
	Bench      *Bench      `json:"bench,omitempty"`
	Pragma     *Pragma     `json:"pragma,omitempty"`
	Concurrent *Concurrent `json:"concurrent,omitempty"`
	Paginate   *Paginate   `json:"paginate,omitempty"`
}

// JobResult is what a job has found out, in the field of the job's name.
type JobResult struct {
	// Interrupted says that the job was stopped before its end; what it has
	// done until then is in the result.
	Interrupted bool `json:"interrupted,omitempty"`

	Generate   *Generated   `json:"generate,omitempty"`
	Bench      *Benched     `json:"bench,omitempty"`
	Pragma     []PragmaRead `json:"pragma,omitempty"`
	Concurrent *Concurred   `json:"concurrent,omitempty"`
	Paginate   *Paginated   `json:"paginate,omitempty"`
}

// Progress tells how a job goes on.
type Progress struct {
	Stage     string    `json:"stage,omitempty"`      // create, insert, vacuum, first-row, rows, second, repetitions
	ElapsedNS int64     `json:"elapsed_ns,omitempty"` // of the stage; first-row: since the query
	Rows      int64     `json:"rows,omitempty"`       // so far
	Second    *Activity `json:"second,omitempty"`     // concurrent: since the one before
	FirstRow  []string  `json:"first_row,omitempty"`  // bench
}

// chosen is the one job that is set.
func (j *Job) chosen() (checkable, error) {
	var list []checkable
	if j.Generate != nil {
		list = append(list, j.Generate)
	}
	if j.Bench != nil {
		list = append(list, j.Bench)
	}
	if j.Pragma != nil {
		list = append(list, j.Pragma)
	}
	if j.Concurrent != nil {
		list = append(list, j.Concurrent)
	}
	if j.Paginate != nil {
		list = append(list, j.Paginate)
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("a job is exactly one of generate, bench, pragma, concurrent and paginate, not %d of them", len(list))
	}
	return list[0], nil
}

// Field is a field of a job, by its name in JSON.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"` // the one that cannot be used; "": another one would help
}

// FieldError is a problem that other values of a job's fields solve.
type FieldError struct {
	Fields  []Field
	Problem string // what is wrong with the values that Fields gives, or with the database
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

// BadField says what is wrong with the value of a field.
func BadField(name string, value any, format string, args ...any) error {
	return &FieldError{[]Field{{name, fmt.Sprint(value)}}, fmt.Sprintf(format, args...)}
}

// Check looks for what cannot be done whatever the database.
func (j *Job) Check() error {
	r, err := j.chosen()
	if err != nil {
		return err
	}
	return r.check()
}

// Generate drops and makes anew the table, and fills it: Batch rows to an
// INSERT, each INSERT a transaction of its own, on one connection.
type Generate struct {
	Table    string `json:"table"`
	Rows     int64  `json:"rows"`
	Batch    int    `json:"batch"`
	Prepared bool   `json:"prepared,omitempty"` // else each INSERT is run as SQL text
	Vacuum   bool   `json:"vacuum,omitempty"`
	Force    bool   `json:"force,omitempty"` // in a database that sqlite3perf did not make, too
	EveryMS  int64  `json:"every_ms,omitempty"`
}

// Generated is what Generate has done.
type Generated struct {
	Rows     int64 `json:"rows"`                // in the table
	WallNS   int64 `json:"wall_ns"`             // of the INSERTs
	VacuumNS int64 `json:"vacuum_ns,omitempty"` // of VACUUM
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

// Bench reads every row of the table and verifies that hash is the SHA-256 of
// what rand stands for.
type Bench struct {
	Table    string `json:"table"`
	Pipeline bool   `json:"pipeline,omitempty"` // on all cores, as far as there are connections
	EveryMS  int64  `json:"every_ms,omitempty"`
}

// Benched is what Bench has found.
type Benched struct {
	Rows         int64      `json:"rows"`
	AfterQueryNS int64      `json:"after_query_ns"` // until the library has taken the query
	FirstRowNS   int64      `json:"first_row_ns"`   // until the first row was there, 0 without rows
	WallNS       int64      `json:"wall_ns"`        // until the last row was verified
	Mismatches   int64      `json:"mismatches"`
	First        []Mismatch `json:"first_mismatches,omitempty"` // the first ten
}

// Mismatch is a row that is not as generate made it.
type Mismatch struct {
	Row int64  `json:"row"` // its number in the order of reading, from 0
	ID  string `json:"id"`
	Why string `json:"why"`
}

func (b *Bench) check() error {
	if b.EveryMS < 0 {
		return fmt.Errorf("progress every %d ms: want 0 or more", b.EveryMS)
	}
	return checkTable(b.Table)
}

// Concurrent has readers and writers use the table at once, each as fast as it
// can. Writers insert single rows with ascending IDs; readers read the three
// rows with the greatest.
type Concurrent struct {
	Table      string `json:"table"`
	Readers    int    `json:"readers"`
	Writers    int    `json:"writers"`
	From       int64  `json:"from"` // the first ID
	DurationMS int64  `json:"duration_ms"`
	Clear      bool   `json:"clear,omitempty"` // drop the table and make it anew
	Force      bool   `json:"force,omitempty"` // in a database that sqlite3perf did not make, too

	// Own gives each reader and writer a connection of its own, instead of one
	// out of the pool for each operation.
	Own bool `json:"own,omitempty"`

	// KeepOpen has the worker exit without closing the database.
	KeepOpen bool `json:"keep_open,omitempty"`
}

// Concurred is what readers and writers have done in all.
type Concurred struct {
	WallNS  int64 `json:"wall_ns"`
	Readers Group `json:"readers"`
	Writers Group `json:"writers"`
	LastID  int64 `json:"last_id"` // the greatest that was tried
}

// Activity is what went on in an interval.
type Activity struct {
	WallNS  int64 `json:"wall_ns"`
	Readers Group `json:"readers"`
	Writers Group `json:"writers"`
}

// Group is what readers, or writers, have done.
type Group struct {
	Operations int64           `json:"operations"` // those that failed included
	Failed     int64           `json:"failed,omitempty"`
	Rows       int64           `json:"rows"` // read or written
	Errors     []ErrorCount    `json:"errors,omitempty"`
	Latency    latency.Summary `json:"latency"`
}

// maxMembers is the most readers, and writers: each is a goroutine.
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
		return BadField("from", c.From, "want at most %d, which leaves writers IDs above it", math.MaxInt64/2)
	case c.DurationMS < 1:
		return BadField("duration_ms", time.Duration(c.DurationMS)*time.Millisecond, "want a duration above 0, such as 60s")
	}
	return checkTable(c.Table)
}

// Paginate reads pages of the table, in the order of ID, at several depths: by
// OFFSET, and from the ID before the page on (keyset).
type Paginate struct {
	Table       string  `json:"table"`
	Depths      []int64 `json:"depths,omitempty"` // rows before the page; none: chosen by the size of the table
	Limit       int     `json:"limit"`            // rows to a page
	Repetitions int     `json:"repetitions"`
	EveryMS     int64   `json:"every_ms,omitempty"`
}

// Paginated is what Paginate has measured.
type Paginated struct {
	Rows   int64  `json:"rows"` // of the table
	Depths []Page `json:"depths"`
}

// Page is one page's times, one for each repetition.
type Page struct {
	Depth    int64   `json:"depth"`
	OffsetNS []int64 `json:"offset_ns"`
	KeysetNS []int64 `json:"keyset_ns"`
}

// MinRepetitions is the fewest that have a 95 % interval.
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

// Pragma reads pragmas, or sets them and reads them back: on the connection
// that set them, and on one opened after it.
type Pragma struct {
	Pragmas []PragmaArgument `json:"pragmas"`
}

// PragmaArgument is one pragma to read, or to set where Value is not nil.
type PragmaArgument struct {
	Name  string  `json:"name"`
	Value *string `json:"value,omitempty"`
}

// PragmaRead is what became of one pragma. Each reading has a line for each row
// of the answer; most pragmas have one.
type PragmaRead struct {
	Name   string   `json:"name"`
	Set    *string  `json:"set,omitempty"` // the value asked for; nil where it was only read
	Before []string `json:"before"`        // what it was
	Got    []string `json:"got,omitempty"` // read back on the same connection
	Later  []string `json:"later,omitempty"`

	// Took says that the pragma reads as it was set, Outlives that it also does
	// so on a connection opened later.
	Took     bool `json:"took,omitempty"`
	Outlives bool `json:"outlives,omitempty"`
}

var (
	pragmaName  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*\.)?[A-Za-z_][A-Za-z0-9_]*$`)
	pragmaValue = regexp.MustCompile(`^([-+]?[A-Za-z0-9_.]+|'[^']*')$`)
)

// ParsePragma reads "name" or "name=value".
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

// checkable is what every job is.
type checkable interface{ check() error }
