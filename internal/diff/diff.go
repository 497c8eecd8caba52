// Package diff compares the answers of drivers to the same statements: rows, Go types, column
// names, errors, rows affected and last insert IDs. It finds where the answers differ, and what
// evidence there is for a reason. It runs no statements itself: an [Asker] has the drivers' workers
// run them.
package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Side is a driver with its answers.
type Side struct {
	Name        string
	PrimaryOnly bool // the driver reports only primary result codes
	Work        []Work
}

// Work has a driver's answers to the statements of one workload.
type Work struct {
	Name    string
	Proof   *protocol.Proof
	Answers []protocol.Answer

	// Again has the answers of a second execution of the workload, if there was one. If the answers to a
	// statement changed, only some things are compared with other drivers: see [Result].Unstable.
	Again []protocol.Answer

	Times []string // texts that the library stores for [protocol.Times], if the workload replays times
}

// Kind says in which respect two answers differ.
type Kind string

// The kinds of differences.
const (
	Errors       Kind = "error" // one side failed, or both failed with different codes
	RowCount     Kind = "rows"  // the number of rows differs
	Values       Kind = "value"
	Order        Kind = "order" // the same rows in another order
	Affected     Kind = "affected"
	LastInsertID Kind = "last insert id"
	Types        Kind = "type" // the value is the same, but as another Go type
	Names        Kind = "name" // the names of columns differ
	Declared     Kind = "declared type"
	ErrorType    Kind = "error type" // the errors have the same code, but different Go types
	ErrorText    Kind = "error text" // the errors have the same code, but different texts
)

// kinds has the words for each kind of difference. The worst kind is first.
var kinds = []struct {
	Kind
	name string // words that follow "in the" in a sentence
	head string // heading of a column
	what string // description of the difference
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
	return len(kinds) - 1 // unknown kinds occur in stored answers of other versions
}

// Cause is the reason why two values differ, if the values show it.
type Cause string

// The causes of differences between values.
const (
	None     Cause = ""
	NUL      Cause = "nul"     // one text ends where the other text has its first NUL; before the NUL, both texts are the same
	Float    Cause = "float"   // one integer was converted to a float64 and back
	Rounding Cause = "round"   // two reals differ in the last digits only
	Zone     Cause = "zone"    // the same instant, or the same time of day, in another time zone
	Format   Cause = "format"  // the same time as text, in another format
	Clock    Cause = "clock"   // the same time as text; one text includes a reading of the monotonic clock
	Time     Cause = "time"    // one value is a time.Time
	Bool     Cause = "bool"    // one value is a bool
	Bytes    Cause = "bytes"   // one value is a []byte, the other a string
	Number   Cause = "number"  // one value is an int64, the other a float64
	Text     Cause = "text"    // one value is a text, and it is the other value written as text: "5" and 5
	Null     Cause = "null"    // one value is NULL
	Invalid  Cause = "invalid" // bytes that are not UTF-8 were replaced in one text
)

// Difference is one difference between two answers.
type Difference struct {
	Kind  Kind  `json:"kind"`
	Cause Cause `json:"cause,omitempty"`

	// Lossy is the side that changed a value, 1 or 2. It is 0 if the values do not show which side changed
	// it.
	Lossy int `json:"lossy,omitempty"`

	Column   int    `json:"column,omitempty"` // number of the column, from 1
	Name     string `json:"name,omitempty"`
	Declared string `json:"declared,omitempty"`
	Row      int64  `json:"row,omitempty"` // number of the row, from 1; 0 if the answers do not contain the row

	First  string `json:"first"` // what the first side returned, as text, such as "int64 1"
	Second string `json:"second"`

	types [2]string
}

// Statement is a statement whose answers differ.
type Statement struct {
	Workload string `json:"workload,omitempty"`
	Where    string `json:"where"` // place in the workload, such as insert/users
	SQL      string `json:"sql"`

	Execution int              `json:"execution"` // number of the first execution in which the answers differ, from 0
	Arguments []protocol.Value `json:"arguments,omitempty"`
	Difference

	Executions int `json:"executions"` // number of executions in which the answers differ in this way

	last int // number of the last execution that Executions counts
}

// Group has the statements whose answers differ in the same way.
type Group struct {
	Kind       Kind        `json:"kind"`
	Cause      Cause       `json:"cause,omitempty"`
	Reason     Reason      `json:"likely"`
	Statements []Statement `json:"statements"`

	Types    [2]string `json:"types,omitzero"`     // Go types of the two sides, if they differ
	Declared []string  `json:"declared,omitempty"` // declared types of the columns; "" for a column without a declared type

	key string // what the statements' differences have in common, as text
}

// Result is the comparison of the answers of two drivers (sides).
type Result struct {
	First      string  `json:"first"`
	Second     string  `json:"second"`
	Statements int     `json:"statements"`
	Executions int     `json:"executions"`
	Most       int     `json:"most"`      // greatest number of executions of one statement
	Rows       int64   `json:"rows"`      // number of rows in the first side's answers
	Differing  int     `json:"differing"` // number of statements whose answers differ
	Groups     []Group `json:"groups,omitempty"`

	// Failing lists the statements that failed with both sides, so only their errors could be
	// compared. If the errors differ, the statement is in Groups as well.
	Failing []Failing `json:"failing,omitempty"`

	// Unstable lists the statements to which the first side gave two different answers. For these statements,
	// only some things have been compared: the codes and Go types of errors, the Go types of values, and the
	// names and declared types of columns.
	Unstable []string `json:"unstable,omitempty"`

	Unasked []Unasked `json:"unasked,omitempty"`
}

// Failing is a statement that failed with both sides in each of its executions.
type Failing struct {
	Where string `json:"where"`
	SQL   string `json:"sql"`
	Error string `json:"error"` // error of the first side

	// Other is the error of the second side if its code differs from the code in Error. Otherwise it is "".
	Other string `json:"other,omitempty"`

	of statementOf
}

// Answered returns how many statements returned something other than an error.
func (r *Result) Answered() int { return r.Statements - len(r.Failing) }

// Unasked is a statement that could not be run on one side, with the reason.
type Unasked struct {
	Side   string `json:"side"`
	Where  string `json:"where"`
	Reason string `json:"reason"`
}

// Count returns how many statements have a difference of kind k. A statement with differences of
// several kinds counts only for the worst kind.
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

// At names the statement by its place: the workload, if it has a name, and the field Where.
func (s *Statement) At() string {
	if s.Workload == "" {
		return s.Where
	}
	return s.Workload + ": " + s.Where
}

func (s *Statement) key() string { return s.Workload + "\x00" + s.Where + "\x00" + s.SQL }

// statementOf identifies a statement within its workload. executionOf identifies one execution of a
// statement.
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

// Where names the statement that an answer belongs to, by its place in the workload.
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

// named returns a unique name for each statement of a workload: the result of [Where], followed by a
// number if several statements have the same result.
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

// Compare compares the answers of two sides that ran the same statements.
func Compare(a, b *Side) *Result {
	c := &comparison{a: a, b: b, r: &Result{First: a.Name, Second: b.Name}, differing: map[string]bool{}}
	for i := range min(len(a.Work), len(b.Work)) {
		c.compare(&a.Work[i], &b.Work[i])
	}
	c.r.Differing = len(c.differing)
	slices.SortStableFunc(c.r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Kind.rank(), b.Kind.rank()), cmp.Compare(len(b.Statements), len(a.Statements)))
	})
	return c.r
}

// comparison is the state of [Compare].
type comparison struct {
	a, b      *Side
	r         *Result
	differing map[string]bool // keys of the statements that differ, from [Statement.key]
}

// add adds a differing statement to the group with the same kind, cause, Go types and reason of the
// difference. If the group already has the statement, add only counts one more execution.
func (c *comparison) add(s Statement, reason Reason) {
	c.differing[s.key()] = true
	key := fmt.Sprint(s.Kind, s.Cause, s.Lossy, s.types, reason)
	g := distinct.Find(&c.r.Groups, Group{Kind: s.Kind, Cause: s.Cause, Reason: reason, Types: s.types, key: key}, func(g Group) bool { return g.key == key })
	g.Declared = distinct.Append(g.Declared, s.Declared)
	same := distinct.Find(&g.Statements, s, func(o Statement) bool { return o.key() == s.key() })
	if same.Executions == 0 || same.last != s.Execution {
		same.Executions++
		same.last = s.Execution
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
		// y is nil if the second side has no answer to this execution. After an earlier difference, the two
		// sides may run different statements.
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

// unasked notes the sides that could not run a statement. It reports whether there are any.
func (c *comparison) unasked(where string, x, y *protocol.Answer) bool {
	for _, u := range []Unasked{{c.a.Name, where, x.Unasked}, {c.b.Name, where, y.Unasked}} {
		if u.Reason != "" && !slices.Contains(c.r.Unasked, u) {
			c.r.Unasked = append(c.r.Unasked, u)
		}
	}
	return x.Unasked != "" || y.Unasked != ""
}

// failing updates the list of statements that failed on both sides in all executions so far. The parameter
// "differ" is true if the codes of the two errors differ.
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

// unstable returns the statements whose answers in w.Answers and in w.Again differ.
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
