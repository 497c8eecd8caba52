package record

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// Recording is a recording that was read, or made from a script or a trace.
type Recording struct {
	Began  time.Time // zero if it is not known
	Values bool      // set if the values of parameters are known, not only their types and lengths

	// Timed is set if the times of events are known.
	Timed bool

	// Events are in the order in which they began.
	Events []Event

	// Rest describes the last line if it is incomplete, which is normal after the process was
	// killed. Otherwise Rest is "".
	Rest string
}

// Action is the kind of an event.
type Action string

// The actions. The last three are calls of database/sql. A statement that begins or ends a
// transaction, such as BEGIN, is a Run.
const (
	Run      Action = ""
	Begin    Action = "begin"
	Commit   Action = "commit"
	Rollback Action = "rollback"
)

// Event is the execution of a statement, or another action.
type Event struct {
	At, Took    time.Duration // At is the time from the beginning of the recording to the beginning of the event; Took is the duration of the event
	Connection  int64
	Transaction int64 // 0 outside a transaction
	Do          Action
	Statement   *Statement // the statement that was run; nil if Do is not Run
	Args        []Arg
	Query       bool   // set if the statement was run as a query, which may return rows
	Rows        int64  // rows that were read; -1 if not known
	Affected    int64  // rows that a statement other than a query has changed; -1 if not known
	Error       *Error // nil if the execution succeeded

	// LastInsertID is the ID of the inserted row. It is set only if the recording includes values
	// and the application asked for the ID. Otherwise it is nil.
	LastInsertID *int64
}

// Statement is the text of an SQL statement, and how the application ran the statement.
type Statement struct {
	SQL string

	// Prepared is set if the application prepared the statement, to run it many times.
	Prepared bool
}

// Error is the error of a statement.
type Error struct {
	Code    int    `json:"code"`              // SQLite's extended result code; 0 if not known
	Message string `json:"message,omitempty"` // "" if messages are not recorded
}

// Arg is a parameter of an execution.
type Arg struct {
	Name string // "" if the parameter has no name

	// Type is "null", "int", "real", "text", "blob", "bool", "time", or "other" for a type that
	// only the library knows.
	Type string

	Length int // length of the value in bytes
	Known  bool
	Value  any // set if Known: nil, int64, float64, string, []byte, bool or time.Time

	// Monotonic is set if the value was a time with a reading of the monotonic clock, as results
	// of time.Now have.
	Monotonic bool
}

// line has the fields of all kinds of lines of a recording.
type line struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Began   time.Time `json:"began"`

	Text     *string `json:"text"`
	Prepared bool    `json:"prepared"`

	At       *int64          `json:"at"`
	Took     int64           `json:"took"`
	Conn     int64           `json:"conn"`
	Tx       int64           `json:"tx"`
	Do       Action          `json:"do"`
	SQL      int64           `json:"sql"`
	Args     json.RawMessage `json:"args"`
	Rows     *int64          `json:"rows"`
	Affected *int64          `json:"affected"`
	ID       *int64          `json:"id"`
	Error    *Error          `json:"error"`
}

// Read reads a recording. It skips an incomplete last line, and describes it in
// [Recording.Rest]. It returns an error for any other line that it does not understand.
func Read(r io.Reader) (*Recording, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	d := &reader{rec: &Recording{Timed: true}, statements: map[int64]*Statement{}, texts: map[Statement]*Statement{}, executions: map[execution]int{}}
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil { // the last line does not end in a newline
			if number == 1 {
				return nil, errors.New("it has no whole line: want a recording, whose first line is its header")
			}
			if len(text) > 0 {
				d.rec.Rest = fmt.Sprintf("line %d has no end: the program was killed while it was written", number)
			}
			break
		}
		if err := d.line(number, text); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	// A query is written when its rows are closed, which may be after other statements that began
	// later. So the events are sorted.
	slices.SortStableFunc(d.rec.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return d.rec, nil
}

type reader struct {
	rec        *Recording
	statements map[int64]*Statement
	texts      map[Statement]*Statement // statements by their content
	executions map[execution]int        // index in rec.Events of each execution
}

// execution identifies an execution of a statement that returns no rows, by its connection and by
// the time at which it began.
type execution struct{ connection, at int64 }

func (d *reader) line(number int, text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("it is not a line of a recording: %w", err)
	}
	switch {
	case number == 1:
		return d.header(&l)
	case l.Text != nil:
		s := Statement{*l.Text, l.Prepared}
		if d.texts[s] == nil {
			d.texts[s] = &s
		}
		d.statements[l.SQL] = d.texts[s]
		return nil
	case l.At == nil:
		return errors.New("it is neither a statement nor an event")
	case l.ID != nil:
		return d.inserted(&l)
	}
	e := Event{
		At: time.Duration(*l.At), Took: time.Duration(l.Took), Connection: l.Conn, Transaction: l.Tx, Do: l.Do,
		Query: l.Rows != nil, Rows: orUnknown(l.Rows), Affected: orUnknown(l.Affected), Error: l.Error,
	}
	switch l.Do {
	case Begin, Commit, Rollback:
	case Run:
		if e.Statement = d.statements[l.SQL]; e.Statement == nil {
			return fmt.Errorf("no line before it has the text of statement %d", l.SQL)
		}
	default:
		return fmt.Errorf("it does %q: want begin, commit, rollback or sql", l.Do)
	}
	var err error
	e.Args, err = d.args(l.Args)
	if e.Do == Run && !e.Query && e.Error == nil {
		d.executions[execution{l.Conn, *l.At}] = len(d.rec.Events)
	}
	d.rec.Events = append(d.rec.Events, e)
	return err
}

// orUnknown returns the number that n points to, or -1 if n is nil.
func orUnknown(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// inserted reads the ID of a row that an execution has inserted.
func (d *reader) inserted(l *line) error {
	i, known := d.executions[execution{l.Conn, *l.At}]
	if !known {
		return fmt.Errorf("it has the ID that was inserted at %d on connection %d, but no line before it says what was run then", *l.At, l.Conn)
	}
	d.rec.Events[i].LastInsertID = l.ID
	return nil
}

func (d *reader) header(l *line) error {
	var args string
	switch {
	case l.Format != Format:
		return fmt.Errorf("it is not the header of a recording, which says \"format\":%q", Format)
	case l.Version != Version:
		return fmt.Errorf("the recording has version %d of the format: want version %d, or a newer sqlite3perf", l.Version, Version)
	case json.Unmarshal(l.Args, &args) != nil || args != "values" && args != "types":
		return fmt.Errorf("its args are %s: want values or types", l.Args)
	}
	d.rec.Began, d.rec.Values = l.Began, args == "values"
	return nil
}

func (d *reader) args(data []byte) ([]Arg, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("args: %w", err)
	}
	list := make([]Arg, len(raw))
	for i, data := range raw {
		a, err := readArg(data, false)
		if err != nil {
			return nil, fmt.Errorf("parameter %d: %w", i+1, err)
		}
		list[i] = a
	}
	return list, nil
}

// readArg reads a parameter. If "named" is true, the parameter already has a name, and the data
// must not give it another one.
func readArg(data []byte, named bool) (Arg, error) {
	switch c := data[0]; {
	case c == 'n':
		return Arg{Type: "null", Known: true}, nil
	case c == 't' || c == 'f':
		return Arg{Type: "bool", Length: 1, Known: true, Value: c == 't'}, nil
	case c == '"':
		var s string
		err := json.Unmarshal(data, &s)
		return Arg{Type: "text", Length: len(s), Known: true, Value: s}, err
	case c == '{':
		return readTyped(data, named)
	case bytes.ContainsAny(data, ".eE"):
		v, err := strconv.ParseFloat(string(data), 64)
		return Arg{Type: "real", Length: 8, Known: true, Value: v}, err
	}
	v, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return Arg{}, fmt.Errorf("it is %.40s: want a whole number of 64 bits", data)
	}
	return Arg{Type: "int", Length: intBytes(v), Known: true, Value: v}, nil
}

// readTyped reads a parameter that is an object: a named parameter, a type without a value,
// or a value for which JSON has no form.
func readTyped(data []byte, named bool) (Arg, error) {
	var o map[string]json.RawMessage
	if err := json.Unmarshal(data, &o); err != nil {
		return Arg{}, err
	}
	if name, ok := o["name"]; ok {
		if named {
			return Arg{}, errors.New("it has two names")
		}
		if len(o["value"]) == 0 {
			return Arg{}, errors.New("it has a name and no value")
		}
		a, err := readArg(o["value"], true)
		if err != nil {
			return a, err
		}
		return a, json.Unmarshal(name, &a.Name)
	}
	if _, ok := o["time"]; ok {
		return readTime(o)
	}
	if len(o) != 1 {
		return Arg{}, fmt.Errorf("it is %.60s: want an object with its type", data)
	}
	for t, v := range o {
		if !slices.Contains([]string{"int", "real", "text", "blob", "bool", "time", "other"}, t) {
			return Arg{}, fmt.Errorf("it has the unknown type %q", t)
		}
		return readValue(t, v)
	}
	return Arg{}, nil
}

// readValue reads a value of the type t, or only the value's length.
func readValue(t string, data []byte) (Arg, error) {
	var length int
	if t != "other" && json.Unmarshal(data, &length) == nil && length >= 0 {
		return Arg{Type: t, Length: length}, nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return Arg{}, fmt.Errorf("its %s is %.40s: want a length or a text", t, data)
	}
	return parseArg(t, s)
}

func readTime(o map[string]json.RawMessage) (a Arg, err error) {
	var zone string
	var monotonic bool
	for name, data := range o {
		switch name {
		case "time":
			a, err = readValue(name, data)
		case "zone":
			err = json.Unmarshal(data, &zone)
		case "monotonic":
			err = json.Unmarshal(data, &monotonic)
		default:
			err = errors.New("want time, zone and monotonic")
		}
		if err != nil {
			return Arg{}, fmt.Errorf("its %.40s: %w", name, err)
		}
	}
	if len(zone) > maxZone {
		return Arg{}, fmt.Errorf("its zone has %d bytes: want at most %d", len(zone), maxZone)
	}
	if t, ok := a.Value.(time.Time); ok && zone != "" {
		_, offset := t.Zone()
		a.Value = t.In(time.FixedZone(zone, offset))
	}
	a.Monotonic = monotonic
	return a, nil
}

// maxZone is the greatest length in bytes of a time zone's abbreviation.
const maxZone = 32

// parseArg reads a value of the type t that JSON cannot express, and that is therefore written as
// the string s.
func parseArg(t, s string) (Arg, error) {
	a := Arg{Type: t, Known: true}
	var err error
	switch t {
	case "text", "blob":
		var b []byte
		b, err = base64.StdEncoding.DecodeString(s)
		a.Length, a.Value = len(b), b
		if t == "text" {
			a.Value = string(b)
		}
	case "real":
		a.Length = 8
		a.Value, err = strconv.ParseFloat(s, 64)
	case "time":
		a.Length = 8
		a.Value, err = time.Parse(time.RFC3339Nano, s)
	case "other":
		return Arg{Type: t}, nil
	default:
		err = fmt.Errorf("it is %.40q", s)
	}
	if err != nil {
		return Arg{}, fmt.Errorf("its %s cannot be read: %w", t, err)
	}
	return a, nil
}
