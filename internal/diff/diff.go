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

// Side is a driver and what it answered.
type Side struct {
	Name        string
	PrimaryOnly bool // it reports only primary result codes
	Work        []Work
}

// Work is what a driver answered to the statements of one workload.
type Work struct {
	Name    string
	Proof   *protocol.Proof
	Answers []protocol.Answer
	Skipped []string // phases

	// Again are the answers of a second time, if it was asked again. What differs then
	// is not compared with other drivers.
	Again []protocol.Answer

	Times []string // how the library stores [protocol.Times], if the workload replays times
}

// Kind is in what respect answers differ.
type Kind string

// The kinds, the worst first.
const (
	Errors       Kind = "error" // one failed, or they failed with different codes
	RowCount     Kind = "rows"  // numbers of rows
	Values       Kind = "value"
	Order        Kind = "order" // the same rows in another order
	Affected     Kind = "affected"
	LastInsertID Kind = "last insert id"
	Types        Kind = "type" // the same value in another Go type
	Names        Kind = "name" // of columns
	Declared     Kind = "declared type"
	ErrorType    Kind = "error type" // the same error as another Go type
	ErrorText    Kind = "error text" // the same error in other words
)

// Kinds lists the kinds in their order.
var Kinds = []Kind{Errors, RowCount, Values, Order, Affected, LastInsertID, Types, Names, Declared, ErrorType, ErrorText}

// Cause is what a difference looks like, as far as the values show it.
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

	// Lossy is the side that the values show to have changed them: 1 or 2, or 0 if they
	// do not show it.
	Lossy int `json:"lossy,omitempty"`

	// Of a column:
	Column   int    `json:"column,omitempty"` // from 1
	Name     string `json:"name,omitempty"`
	Declared string `json:"declared,omitempty"`
	Row      int64  `json:"row,omitempty"` // from 1; 0: after those that were reported

	First  string `json:"first"` // in words for the terminal, such as int64 1
	Second string `json:"second"`

	types [2]string
}

// Statement is a statement whose answers differ.
type Statement struct {
	Workload string `json:"workload,omitempty"`
	Where    string `json:"where"` // such as insert/users
	SQL      string `json:"sql"`

	// Of the first execution in which they differ:
	Execution int              `json:"execution"`
	Arguments []protocol.Value `json:"arguments,omitempty"`
	Difference

	Executions int `json:"executions"` // in which they differ in this way

	// The whole answers.
	FirstAnswer  *protocol.Answer `json:"-"`
	SecondAnswer *protocol.Answer `json:"-"`

	last int // execution that is counted in Executions
}

// Group is a way in which answers to several statements differ.
type Group struct {
	Kind       Kind        `json:"kind"`
	Cause      Cause       `json:"cause,omitempty"`
	Reason     Reason      `json:"likely"`
	Statements []Statement `json:"statements"`

	// Of Types and of values of two types:
	Types    [2]string `json:"types,omitzero"`
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

	// Failing are the statements that failed with both sides: all that is known of them is the
	// error. If the errors differ, they are in Groups as well.
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
// is counted by the worst.
func (r *Result) Count(k Kind) int {
	worst := map[string]Kind{}
	for _, g := range r.Groups { // the worst first
		for _, s := range g.Statements {
			key := s.key()
			if _, ok := worst[key]; !ok {
				worst[key] = g.Kind
			}
		}
	}
	n := 0
	for _, w := range worst {
		if w == k {
			n++
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

// named returns a name for each statement of a workload: [Where], and a number behind it for
// another statement there.
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
	r := &Result{First: a.Name, Second: b.Name}
	differing := map[string]bool{}
	groups := map[string]*Group{}
	var order []string
	for i := range a.Work {
		if i >= len(b.Work) {
			break
		}
		r.compare(a, b, i, func(s Statement, reason Reason) {
			differing[s.key()] = true
			key := groupKey(&s, reason)
			g := groups[key]
			if g == nil {
				g = &Group{Kind: s.Kind, Cause: s.Cause, Reason: reason, Types: s.types}
				groups[key] = g
				order = append(order, key)
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
		})
	}
	r.Differing = len(differing)
	for _, key := range order {
		r.Groups = append(r.Groups, *groups[key])
	}
	slices.SortStableFunc(r.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(slices.Index(Kinds, a.Kind), slices.Index(Kinds, b.Kind)), cmp.Compare(len(b.Statements), len(a.Statements)))
	})
	return r
}

func groupKey(s *Statement, reason Reason) string {
	return fmt.Sprint(s.Kind, s.Cause, s.Lossy, s.types, reason)
}

// compare compares the answers to one workload and passes each difference to found.
func (r *Result) compare(a, b *Side, i int, found func(Statement, Reason)) {
	first, second := &a.Work[i], &b.Work[i]
	others := map[executionOf]*protocol.Answer{}
	for i := range second.Answers {
		others[of(&second.Answers[i])] = &second.Answers[i]
	}
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
	unasked := map[string]bool{}
	var failed []earlier
	formats := formatsOf(first, second)
	timed := timedTables(formats, first, second)
	wrote := writtenIn(first, second)
	for i := range first.Answers {
		x := &first.Answers[i]
		at := of(x)
		y := others[at]
		delete(others, at)
		if y == nil {
			// An earlier answer made this side go another way, and has been found.
			continue
		}
		skip := false
		for _, side := range []struct {
			name string
			*protocol.Answer
		}{{a.Name, x}, {b.Name, y}} {
			if side.Unasked == "" {
				continue
			}
			skip = true
			u := Unasked{side.name, where(x), side.Unasked}
			if key := fmt.Sprint(u); !unasked[key] {
				unasked[key] = true
				r.Unasked = append(r.Unasked, u)
			}
		}
		if skip {
			continue
		}
		if !statements[at.statementOf] {
			statements[at.statementOf] = true
			r.Statements++
			if unstable[at.statementOf] {
				r.Unstable = append(r.Unstable, where(x))
			}
		}
		r.Executions++
		r.Most = max(r.Most, x.Execution+1)
		r.Rows += x.RowCount
		list := answers(x, y, a.PrimaryOnly || b.PrimaryOnly)
		r.failing(where(x), x, y, slices.ContainsFunc(list, func(d Difference) bool { return d.Kind == Errors }))
		for _, d := range list {
			if unstable[at.statementOf] && slices.Contains([]Kind{RowCount, Values, Order, Affected, LastInsertID, ErrorText}, d.Kind) {
				continue
			}
			s := Statement{
				Workload: first.Name, Where: names[at.statementOf], SQL: oneLine(x.SQL), Execution: x.Execution, Arguments: x.Arguments,
				Difference: d, FirstAnswer: x, SecondAnswer: y, last: x.Execution,
			}
			why := reason(&d, x, y, first.Proof, second.Proof)
			if e := follows(failed, &d, x, y, why); e != "" {
				why = Reason{Evidence: e}
			} else if formats != nil && ofTimes(&d, x, y, timed, why) {
				why = *formats
			}
			found(s, why)
			if d.Kind == Errors && (x.Error == nil || y.Error == nil) {
				failed = append(failed, earlier{at.statementOf, tables(x.SQL), ByEarlier})
				if t := transaction(x); t != (transactionOf{}) {
					failed = append(failed, earlier{at.statementOf, wrote[t], ByTransaction})
				}
			}
		}
	}
}

// failing keeps the list of the statements that failed each time, up to an execution. differ
// says that the errors do.
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
	found := map[statementOf]bool{}
	again := map[executionOf]*protocol.Answer{}
	for i := range w.Again {
		again[of(&w.Again[i])] = &w.Again[i]
	}
	for i := range w.Answers {
		x := &w.Answers[i]
		if y := again[of(x)]; y != nil && len(answers(x, y, false)) > 0 {
			found[of(x).statementOf] = true
		}
	}
	return found
}

// oneLine joins the lines of a statement.
func oneLine(sql string) string { return strings.Join(strings.Fields(sql), " ") }
