// Package diff compares what drivers answer to the same statements: rows, Go types,
// column names, errors, rows affected and last insert IDs. It says where they differ, and
// which evidence there is for a reason. It runs nothing, and puts nothing into words.
package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Side is a driver with its answers.
type Side struct {
	Name        string
	PrimaryOnly bool // it reports only primary result codes
	Work        []Work
}

// Work has a driver's answers to the statements of one workload.
type Work struct {
	Name    string
	Proof   *protocol.Proof
	Answers []protocol.Answer
	Skipped []string // phases

	// Again are the answers if the driver was asked a second time. Statements whose answers
	// changed are not compared with other drivers.
	Again []protocol.Answer

	Times []string // how the library stores [protocol.Times], if the workload replays times
}

// Kind is the respect in which answers differ.
type Kind string

// The kinds.
const (
	Errors       Kind = "error" // one failed, or they failed with different codes
	RowCount     Kind = "rows"  // numbers of rows
	Values       Kind = "value"
	Order        Kind = "order" // the same rows in another order
	Affected     Kind = "affected"
	LastInsertID Kind = "last insert id"
	Types        Kind = "type" // the same value in another Go type
	Names        Kind = "name" // names of columns
	Declared     Kind = "declared type"
	ErrorType    Kind = "error type" // the same error as another Go type
	ErrorText    Kind = "error text" // the same error in other words
)

// kinds has the words for the kinds, the worst first.
var kinds = []struct {
	Kind
	name string // follows "in the"
	head string // above a column
	what string // what differs
}{
	{Errors, "error", "error", "one fails, or they fail in different ways"},
	{RowCount, "number of rows", "rows", "one returns more rows"},
	{Values, "value", "value", "different values"},
	{Order, "order of rows", "order", "the same rows in another order"},
	{Affected, "rows affected", "affected", "a different number of changed rows is reported"},
	{LastInsertID, "last insert ID", "id", "a different ID of the last inserted row"},
	{Types, "Go type", "type", "different Go types"},
	{Names, "column name", "name", "a column has a different name"},
	{Declared, "declared type", "declared", "a column is reported with a different declared type"},
	{ErrorType, "error type", "error type", "the same error has a different Go type"},
	{ErrorText, "error text", "error text", "the same error in other words"},
}

func (k Kind) rank() int {
	for i := range kinds {
		if kinds[i].Kind == k {
			return i
		}
	}
	return len(kinds) - 1 // a stored answer of somebody else's may have another kind
}

// Cause is the cause of a difference, if the values show it.
type Cause string

// The causes.
const (
	None     Cause = ""
	NUL      Cause = "nul"     // a text was cut at its first NUL
	Float    Cause = "float"   // an integer went through a float64
	Rounding Cause = "round"   // the last digits of a real
	Zone     Cause = "zone"    // the same time, or the same clock, in another time zone
	Format   Cause = "format"  // the same time as text, written in another way
	Clock    Cause = "clock"   // the same time as text, one with a reading of the monotonic clock
	Time     Cause = "time"    // one is a time.Time
	Bool     Cause = "bool"    // one is a bool
	Bytes    Cause = "bytes"   // one is a []byte, the other a string
	Number   Cause = "number"  // one is an int64, the other a float64
	Text     Cause = "text"    // one is a text of the other
	Null     Cause = "null"    // one is NULL
	Invalid  Cause = "invalid" // bytes that are not UTF-8 were replaced
)

// Difference is where two answers differ.
type Difference struct {
	Kind  Kind  `json:"kind"`
	Cause Cause `json:"cause,omitempty"`

	// Lossy is the side that changed a value, 1 or 2. It is 0 if the values do not show which.
	Lossy int `json:"lossy,omitempty"`

	Column   int    `json:"column,omitempty"` // from 1
	Name     string `json:"name,omitempty"`
	Declared string `json:"declared,omitempty"`
	Row      int64  `json:"row,omitempty"` // from 1; 0: after the rows that were reported

	First  string `json:"first"` // in words for the terminal, such as int64 1
	Second string `json:"second"`

	types [2]string
}

// Statement is a statement whose answers differ.
type Statement struct {
	Workload string `json:"workload,omitempty"`
	Where    string `json:"where"` // such as insert/users
	SQL      string `json:"sql"`

	Execution int              `json:"execution"` // the first in which they differ
	Arguments []protocol.Value `json:"arguments,omitempty"`
	Difference

	Executions int `json:"executions"` // in which they differ in this way

	last int // the last execution that Executions counts
}

// Group is a way in which answers to several statements differ.
type Group struct {
	Kind       Kind        `json:"kind"`
	Cause      Cause       `json:"cause,omitempty"`
	Reason     Reason      `json:"likely"`
	Statements []Statement `json:"statements"`

	Types    [2]string `json:"types,omitzero"`     // the Go types, if they differ
	Declared []string  `json:"declared,omitempty"` // the declared types of the columns; "" for none
}

// Result is the comparison of two sides.
type Result struct {
	First      string  `json:"first"`
	Second     string  `json:"second"`
	Statements int     `json:"statements"`
	Executions int     `json:"executions"`
	Most       int     `json:"most"`      // executions of one statement
	Rows       int64   `json:"rows"`      // of the first side's answers
	Differing  int     `json:"differing"` // statements
	Groups     []Group `json:"groups,omitempty"`

	// Failing are the statements that failed with both sides, so that only their errors could be
	// compared. If the errors differ, they are in Groups as well.
	Failing []Failing `json:"failing,omitempty"`

	// Unstable are the statements to which the first side itself gave two answers.
	// Their errors, types and names have been compared.
	Unstable []string `json:"unstable,omitempty"`

	Unasked []Unasked `json:"unasked,omitempty"`
}

// Failing is a statement that failed with both sides, in each of its executions.
type Failing struct {
	Where string `json:"where"`
	SQL   string `json:"sql"`
	Error string `json:"error"` // the first side's

	// Other is the second side's error, if it is another one. It is "" if both failed alike.
	Other string `json:"other,omitempty"`

	of statementOf
}

// Answered returns how many statements returned more than an error.
func (r *Result) Answered() int { return r.Statements - len(r.Failing) }

// Unasked is a statement that a side could not be asked.
type Unasked struct {
	Side   string `json:"side"`
	Where  string `json:"where"`
	Reason string `json:"reason"`
}

// Count returns how many statements differ in a kind. A statement that differs in several
// kinds counts for the worst only.
func (r *Result) Count(k Kind) (n int) {
	counted := map[string]bool{}
	for _, g := range r.Groups { // the worst kinds come first
		for i := range g.Statements {
			key := g.Statements[i].key()
			if g.Kind == k && !counted[key] {
				n++
			}
			counted[key] = true
		}
	}
	return n
}

// At says where the statement is.
func (s *Statement) At() string {
	if s.Workload == "" {
		return s.Where
	}
	return s.Workload + ": " + s.Where
}

func (s *Statement) key() string { return s.Workload + "\x00" + s.Where + "\x00" + s.SQL }

// statementOf identifies a statement within its workload, and execution one of its
// executions.
type statementOf struct {
	part, phase, operation string
	number                 int
}

type executionOf struct {
	statementOf
	execution int
}

func of(a *protocol.Answer) executionOf {
	return executionOf{statementOf{a.Part, a.Phase, a.Operation, a.Number}, a.Execution}
}

// Where says which statement of its workload an answer is to.
func Where(a *protocol.Answer) string {
	switch {
	case a.Part == protocol.PartStatements:
		return fmt.Sprintf("statement %d", a.Number+1)
	case a.Part == protocol.PartSchema:
		return fmt.Sprintf("schema %d", a.Number+1)
	case a.Operation == "" && a.Number == 0:
		return a.Phase
	case a.Operation == "":
		return fmt.Sprintf("%s %d", a.Phase, a.Number+1)
	}
	return a.Phase + "/" + a.Operation
}

// named returns a name for each statement of a workload: [Where], with a number if several
// statements have the same.
func named(w *Work) map[statementOf]string {
	names := map[statementOf]string{}
	n := map[string]int{}
	for i := range w.Answers {
		at := of(&w.Answers[i]).statementOf
		if names[at] != "" {
			continue
		}
		name := Where(&w.Answers[i])
		if n[name]++; n[name] > 1 {
			name = fmt.Sprintf("%s %d", name, n[name])
		}
		names[at] = name
	}
	return names
}

// Compare compares two sides that were asked the same.
func Compare(a, b *Side) *Result {
	c := &comparison{a: a, b: b, r: &Result{First: a.Name, Second: b.Name}, differing: map[string]bool{}, groups: map[string]*Group{}}
	for i := range min(len(a.Work), len(b.Work)) {
		c.compare(&a.Work[i], &b.Work[i])
	}
	c.r.Differing = len(c.differing)
	for _, key := range c.order {
		c.r.Groups = append(c.r.Groups, *c.groups[key])
	}
	slices.SortStableFunc(c.r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Kind.rank(), b.Kind.rank()), cmp.Compare(len(b.Statements), len(a.Statements)))
	})
	return c.r
}

// comparison is a result while its sides are being compared.
type comparison struct {
	a, b      *Side
	r         *Result
	differing map[string]bool // by [Statement.key]
	groups    map[string]*Group
	order     []string // keys of groups
}

// add adds a statement to the group of those that differ alike.
func (c *comparison) add(s Statement, reason Reason) {
	c.differing[s.key()] = true
	key := fmt.Sprint(s.Kind, s.Cause, s.Lossy, s.types, reason)
	g := c.groups[key]
	if g == nil {
		g = &Group{Kind: s.Kind, Cause: s.Cause, Reason: reason, Types: s.types}
		c.groups[key] = g
		c.order = append(c.order, key)
	}
	if !slices.Contains(g.Declared, s.Declared) {
		g.Declared = append(g.Declared, s.Declared)
	}
	last := slices.IndexFunc(g.Statements, func(o Statement) bool { return o.key() == s.key() })
	if last < 0 {
		s.Executions = 1
		g.Statements = append(g.Statements, s)
	} else if g.Statements[last].last != s.Execution {
		g.Statements[last].Executions++
		g.Statements[last].last = s.Execution
	}
}

func (c *comparison) compare(first, second *Work) {
	others := byExecution(second.Answers)
	unstable := unstable(first)
	names := named(first)
	where := func(x *protocol.Answer) string {
		name := names[of(x).statementOf]
		if first.Name == "" {
			return name
		}
		return first.Name + ": " + name
	}
	statements := map[statementOf]bool{}
	why := newReasons(first, second)
	for i := range first.Answers {
		x := &first.Answers[i]
		at := of(x)
		y := others[at]
		// Without another answer, an earlier statement that differs made the second side
		// take another way.
		if y == nil || c.unasked(where(x), x, y) {
			continue
		}
		if !statements[at.statementOf] {
			statements[at.statementOf] = true
			c.r.Statements++
			if unstable[at.statementOf] {
				c.r.Unstable = append(c.r.Unstable, where(x))
			}
		}
		c.r.Executions++
		c.r.Most = max(c.r.Most, x.Execution+1)
		c.r.Rows += x.RowCount
		list := answers(x, y, c.a.PrimaryOnly || c.b.PrimaryOnly)
		c.r.failing(where(x), x, y, slices.ContainsFunc(list, func(d Difference) bool { return d.Kind == Errors }))
		for _, d := range list {
			if unstable[at.statementOf] && slices.Contains([]Kind{RowCount, Values, Order, Affected, LastInsertID, ErrorText}, d.Kind) {
				continue
			}
			c.add(Statement{
				Workload: first.Name, Where: names[at.statementOf], SQL: oneLine(x.SQL), Execution: x.Execution, Arguments: x.Arguments,
				Difference: d, last: x.Execution,
			}, why.of(&d, x, y))
		}
	}
}

// unasked notes which sides could not be asked. It reports whether any could not.
func (c *comparison) unasked(where string, x, y *protocol.Answer) bool {
	for _, u := range []Unasked{{c.a.Name, where, x.Unasked}, {c.b.Name, where, y.Unasked}} {
		if u.Reason != "" && !slices.Contains(c.r.Unasked, u) {
			c.r.Unasked = append(c.r.Unasked, u)
		}
	}
	return x.Unasked != "" || y.Unasked != ""
}

// failing keeps the list of the statements that failed on both sides in all executions so far.
// differ says whether the errors differ.
func (r *Result) failing(where string, x, y *protocol.Answer, differ bool) {
	at := of(x)
	listed := slices.IndexFunc(r.Failing, func(f Failing) bool { return f.of == at.statementOf && f.Where == where })
	failed := x.Error != nil && y.Error != nil
	switch {
	case failed && at.execution == 0:
		f := Failing{Where: where, SQL: oneLine(x.SQL), Error: x.Error.Message, of: at.statementOf}
		if differ {
			f.Other = y.Error.Message
		}
		r.Failing = append(r.Failing, f)
	case !failed && listed >= 0:
		r.Failing = slices.Delete(r.Failing, listed, listed+1)
	}
}

// unstable finds the statements to which a side itself gave two answers.
func unstable(w *Work) map[statementOf]bool {
	differ := map[statementOf]bool{}
	again := byExecution(w.Again)
	for i := range w.Answers {
		x := &w.Answers[i]
		if y := again[of(x)]; y != nil && len(answers(x, y, false)) > 0 {
			differ[of(x).statementOf] = true
		}
	}
	return differ
}

func byExecution(list []protocol.Answer) map[executionOf]*protocol.Answer {
	by := map[executionOf]*protocol.Answer{}
	for i := range list {
		by[of(&list[i])] = &list[i]
	}
	return by
}

func oneLine(sql string) string { return strings.Join(strings.Fields(sql), " ") }
