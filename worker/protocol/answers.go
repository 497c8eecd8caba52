package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Answers is a job that runs the statements of a workload, and further statements, on a new
// database, one after the other on one connection. For the first executions of each statement, it
// reports the library's answers. The field Executions is the number of these executions. The
// inserts of the plan are run to the end, so that queries find all rows.
type Answers struct {
	Plan       *plan.Plan `json:"plan,omitempty"`
	Statements []Ask      `json:"statements,omitempty"` // further statements, run after the plan
	Executions int        `json:"executions" jsonschema:"minimum=1"`
	Rows       int        `json:"rows" jsonschema:"minimum=1"` // maximum number of rows of one answer that are reported in full

	// Loaded says that the database is a copy of a user's database. Otherwise the database must
	// be new.
	Loaded bool `json:"loaded,omitempty"`

	// Files allows the statements to reach files other than the database, as
	// [plan.Plan].Files does for a plan.
	Files bool `json:"files,omitempty"`
}

// SQL returns the SQL of the job that a user has written: the texts in Statements, then the SQL of
// Plan.
func (a *Answers) SQL() (list []string) {
	for _, s := range a.Statements {
		list = append(list, s.SQL)
	}
	if a.Plan != nil {
		list = append(list, a.Plan.SQL()...)
	}
	return list
}

// Ask is a statement and its arguments.
type Ask struct {
	SQL       string  `json:"sql" jsonschema:"minLength=1"`
	Arguments []Value `json:"arguments,omitempty"`
}

// Answered is the result of Answers. It only counts the answers: the worker has sent each of them in
// a [Progress].
type Answered struct {
	Answers int64 `json:"answers"`

	// Skipped names the phases that the worker did not run, because it does not know their
	// kind.
	Skipped []string `json:"skipped,omitempty"`

	// Times is set if statements of a replay have recorded times as arguments. It has the two texts
	// that the library stores for the results of the function [Times]. TimesAsText is set if the
	// library cannot bind a time.Time. In that case, recorded times were bound as texts.
	Times       []string `json:"times,omitempty"`
	TimesAsText bool     `json:"times_as_text,omitempty"`
}

// Times returns two times that show how a library stores times: one in UTC and one in another
// zone.
func Times() []time.Time {
	return []time.Time{
		time.Date(2024, 2, 29, 12, 34, 56, 0, time.UTC),
		time.Date(2024, 2, 29, 12, 34, 56, 789_000_000, time.FixedZone("", 2*60*60)),
	}
}

// Answer has the values that a library returned for one execution of a statement.
type Answer struct {
	Part      string `json:"part" jsonschema:"constants=Part"` // where the statement comes from: schema, phase or statements
	Phase     string `json:"phase,omitempty"`
	Operation string `json:"operation,omitempty"` // the operation of a mix or a replay, or the data set of an insert
	Number    int    `json:"number"`              // index of the statement in its script, operation or list
	Execution int    `json:"execution"`           // number of the execution, from 0

	// Transaction is the number, from 1, of the transaction of a mix or a replay in which the
	// statement ran; 0: none. If a statement fails, its whole transaction is rolled back.
	Transaction int `json:"transaction,omitempty"`

	SQL       string  `json:"sql"`
	Arguments []Value `json:"arguments,omitempty"`

	// Unasked says why the statement was not run. The fields below are then not set.
	Unasked string `json:"unasked,omitempty"`

	Error *AnswerError `json:"error,omitempty"`

	// The names and the declared types of the columns, the number of affected rows, and the last
	// insert ID. A field is nil if the library does not report its value.
	Names        []string `json:"names,omitempty"`
	Declared     []string `json:"declared,omitempty"`
	Affected     *int64   `json:"affected,omitempty" jsonschema:"signed"`
	LastInsertID *int64   `json:"last_insert_id,omitempty" jsonschema:"signed"`

	RowCount int64       `json:"row_count"`
	Rows     [][]Value   `json:"rows,omitempty"`    // the first rows of the result
	Columns  []ColumnSum `json:"columns,omitempty"` // a summary of each column, over all rows
	AnyOrder string      `json:"any_order,omitempty"`
}

// AnswerError describes an error that a library returned.
type AnswerError struct {
	Code    int    `json:"code"` // SQLite's extended result code; 0: not an error of SQLite
	Message string `json:"message"`

	// Type is the library's Go type of the error, as %T writes it, such as sqlite3.Error.
	Type string `json:"type,omitempty"`
}

// ColumnSum summarizes the values of a column in all rows.
type ColumnSum struct {
	Types   map[string]int64 `json:"types,omitempty"` // number of values by Go type
	Content string           `json:"content"`         // hash of the values in order; it does not depend on their Go types
}

// Value describes a value that a library takes or returns, with the Go type of the value.
type Value struct {
	Type string `json:"type" jsonschema:"minLength=1"` // nil, int64, float64, string, []byte, bool, time.Time or another Go type

	// Text is the value, or the beginning of a long value. A []byte, or a string that is not
	// UTF-8, is in Hex instead.
	Text   string `json:"text,omitempty"`
	Hex    string `json:"hex,omitempty"`
	Length int64  `json:"length,omitempty"` // the whole length of a string or []byte, in bytes
	SHA256 string `json:"sha256,omitempty"` // hash of the whole value, if Text or Hex has only its beginning
}

// The values of [Answer].Part: where a statement comes from.
const (
	PartSchema     = "schema"
	PartPhase      = "phase"
	PartStatements = "statements"
)

// The constant "longest" is the maximum number of bytes of a value that are reported.
const longest = 256

// timeFormat writes a time with its nanoseconds and its offset from UTC.
const timeFormat = "2006-01-02T15:04:05.999999999Z07:00"

// NewValue returns the description of a value that a library takes or returns.
func NewValue(v any) Value {
	switch v := v.(type) {
	case nil:
		return Value{Type: "nil"}
	case int64:
		return Value{Type: "int64", Text: strconv.FormatInt(v, 10)}
	case float64:
		return Value{Type: "float64", Text: strconv.FormatFloat(v, 'g', -1, 64)}
	case bool:
		return Value{Type: "bool", Text: strconv.FormatBool(v)}
	case time.Time:
		return Value{Type: "time.Time", Text: v.Format(timeFormat)}
	case string:
		return newBytes("string", v)
	case []byte:
		return newBytes("[]byte", string(v))
	}
	return newBytes(fmt.Sprintf("%T", v), fmt.Sprint(v))
}

func newBytes(typ, s string) Value {
	v := Value{Type: typ, Length: int64(len(s))}
	if len(s) > longest {
		sum := sha256.Sum256([]byte(s))
		v.SHA256 = hex.EncodeToString(sum[:])
		s = cut(s)
	}
	if utf8.ValidString(s) && typ != "[]byte" {
		v.Text = s
	} else {
		v.Hex = hex.EncodeToString([]byte(s))
	}
	return v
}

// cut returns the beginning of a string that has more bytes than the constant "longest". It does
// not cut within a character.
func cut(s string) string {
	n := longest
	for n > longest-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Any returns the Go value of an argument. It fails if v has only the beginning of a value, or
// a type that arguments cannot have.
func (v Value) Any() (any, error) {
	if v.SHA256 != "" {
		return nil, fmt.Errorf("a value of %d bytes is too long for an argument: want at most %d", v.Length, longest)
	}
	switch v.Type {
	case "nil":
		return nil, nil
	case "int64":
		return strconv.ParseInt(v.Text, 10, 64)
	case "float64":
		return strconv.ParseFloat(v.Text, 64)
	case "bool":
		return strconv.ParseBool(v.Text)
	case "time.Time":
		return time.Parse(timeFormat, v.Text)
	case "string", "[]byte":
		s, err := v.bytes()
		if err != nil || v.Type == "string" {
			return s, err
		}
		return []byte(s), nil
	}
	return nil, fmt.Errorf("type %q of an argument: want nil, int64, float64, string, []byte, bool or time.Time", v.Type)
}

// Bytes returns the bytes of a string or []byte. If SHA256 is set, these are only its first
// bytes.
func (v Value) Bytes() string {
	s, _ := v.bytes()
	return s
}

func (v Value) bytes() (string, error) {
	if v.Hex == "" {
		return v.Text, nil
	}
	b, err := hex.DecodeString(v.Hex)
	return string(b), err
}

// Content returns the bytes that hashes use for a value. They do not depend on the value's Go type:
// a text has the same bytes as a string and as a []byte, and a whole number has the same bytes as
// an int64, a float64 and a bool.
func Content(v any) string {
	switch v := v.(type) {
	case nil:
		return "n"
	case bool:
		if v {
			return "i1"
		}
		return "i0"
	case int64:
		return "i" + strconv.FormatInt(v, 10)
	case float64:
		if i := int64(v); float64(i) == v && math.Abs(v) < 1<<53 {
			return "i" + strconv.FormatInt(i, 10)
		}
		return "r" + strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return "t" + v
	case []byte:
		return "t" + string(v)
	case time.Time:
		return "d" + v.UTC().Format(timeFormat)
	}
	return "x" + fmt.Sprint(v)
}

func (a *Answers) check() error {
	switch {
	case a.Plan == nil && len(a.Statements) == 0:
		return fmt.Errorf("answers to nothing: want a plan or statements")
	case a.Executions < 1:
		return BadField("executions", a.Executions, "want at least 1 execution of each statement")
	case a.Rows < 1:
		return BadField("rows", a.Rows, "want at least 1 row of each answer")
	}
	for i, s := range a.Statements {
		if driver.TrimScript(s.SQL) == "" {
			return fmt.Errorf("statement %d is empty: want SQL", i)
		}
		if rest := s.SQL[driver.StatementLen(s.SQL):]; driver.TrimScript(rest) != "" {
			return fmt.Errorf("statement %d is followed by another, %.40q: want one at a time", i, strings.TrimSpace(rest))
		}
		for j, v := range s.Arguments {
			if _, err := v.Any(); err != nil {
				return fmt.Errorf("argument %d of statement %d: %w", j, i, err)
			}
		}
	}
	return nil
}
