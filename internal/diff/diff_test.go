package diff_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

var proof = protocol.Proof{SQLiteVersion: "3.53.4", SQLiteSourceID: "2026", CompileOptions: []string{"DQS=0"}, Connections: []driver.Settings{{"foreign_keys": "off"}}}

// row returns an answer with one row of one column.
func row(v any) protocol.Answer { return rows([]any{v}) }

func asking(sql string, v any) protocol.Answer {
	a := row(v)
	a.SQL = sql
	return a
}

// rows returns an answer with rows of one column, in the form that workers report.
func rows(values []any) protocol.Answer {
	a := protocol.Answer{Part: protocol.PartStatements, SQL: "SELECT\n  v", Names: []string{"v"}, Declared: []string{""}, RowCount: int64(len(values))}
	sum := protocol.ColumnSum{Types: map[string]int64{}}
	sorted := make([]string, len(values))
	for i, v := range values {
		a.Rows = append(a.Rows, []protocol.Value{protocol.NewValue(v)})
		sum.Types[protocol.NewValue(v).Type]++
		sum.Content += protocol.Content(v) + ";"
		sorted[i] = protocol.Content(v)
	}
	slices.Sort(sorted)
	for _, s := range sorted {
		a.AnyOrder += s + ";"
	}
	a.Columns = []protocol.ColumnSum{sum}
	return a
}

func side(name string, p protocol.Proof, list ...protocol.Answer) *diff.Side {
	for i := range list {
		list[i].Number = i
	}
	return &diff.Side{Name: name, Work: []diff.Work{{Proof: &p, Answers: list}}}
}

func compare(x, y protocol.Answer) *diff.Result {
	return diff.Compare(side("a", proof, x), side("b", proof, y))
}

func failed(code int, message string) protocol.Answer {
	return protocol.Answer{Part: protocol.PartStatements, Error: &protocol.AnswerError{Code: code, Message: message}}
}

func number(n int64) *int64 { return &n }

func TestKindsAndCauses(t *testing.T) {
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	plus := func(f func(*protocol.Answer)) protocol.Answer {
		a := row(int64(1))
		f(&a)
		return a
	}
	for name, c := range map[string]struct {
		x, y  protocol.Answer
		kind  diff.Kind
		cause diff.Cause
		side  int
	}{
		"time as text":    {row(noon), row("2024-02-29 12:00:00"), diff.Types, diff.Time, 1},
		"text as time":    {row("2024-02-29 12:00:00"), row(noon), diff.Types, diff.Time, 2},
		"zone":            {row(noon), row(noon.In(time.FixedZone("", 3600))), diff.Values, diff.Zone, 0},
		"another time":    {row(noon), row(noon.Add(time.Second)), diff.Values, diff.None, 0},
		"time format":     {row("2024-02-29 14:00:00+02:00"), row("2024-02-29 14:00:00 +0200 +0200"), diff.Values, diff.Format, 0},
		"monotonic clock": {row("2024-02-29 12:00:00+00:00"), row("2024-02-29 12:00:00 +0000 UTC m=+…"), diff.Values, diff.Clock, 2},
		"quoted time":     {row("'2024-02-29T12:00:00Z'"), row("'2024-02-29 12:00:00 +0000 UTC'"), diff.Values, diff.Format, 0},
		"cut at NUL":      {row("a\x00b"), row("a"), diff.Values, diff.NUL, 2},
		"cut at NUL, 1":   {row("a"), row("a\x00b"), diff.Values, diff.NUL, 1},
		"cut elsewhere":   {row("ab"), row("a"), diff.Values, diff.None, 0},
		"not UTF-8":       {row("a\xff"), row("a\ufffd"), diff.Values, diff.Invalid, 2},
		"through float64": {row(int64(1<<53 + 1)), row(int64(1 << 53)), diff.Values, diff.Float, 2},
		"greatest":        {row(int64(math.MaxInt64)), row(int64(math.MinInt64)), diff.Values, diff.Float, 2},
		"another integer": {row(int64(1<<53 + 1)), row(int64(3)), diff.Values, diff.None, 0},
		"as float64":      {row(int64(3)), row(3.0), diff.Types, diff.Number, 2},
		"lossy float64":   {row(int64(1<<53 + 1)), row(float64(1 << 53)), diff.Values, diff.Float, 2},
		"last digits":     {row(0.30000000000000004), row(0.3), diff.Values, diff.Rounding, 0},
		"another real":    {row(0.1), row(0.3), diff.Values, diff.None, 0},
		"bool":            {row(int64(1)), row(true), diff.Types, diff.Bool, 2},
		"another bool":    {row(int64(2)), row(true), diff.Values, diff.Bool, 2},
		"bytes":           {row("text"), row([]byte("text")), diff.Types, diff.Bytes, 2},
		"other bytes":     {row("text"), row([]byte("tex")), diff.Values, diff.None, 0},
		"number as text":  {row("1"), row(int64(1)), diff.Types, diff.Text, 1},
		"null":            {row([]byte{}), row(nil), diff.Values, diff.Null, 2},
		"order":           {rows([]any{int64(1), int64(2)}), rows([]any{int64(2), int64(1)}), diff.Order, diff.None, 0},
		"fewer rows":      {rows([]any{int64(1), int64(2)}), row(int64(1)), diff.RowCount, diff.None, 0},
		"error":           {row(int64(1)), failed(1, "no such table: t"), diff.Errors, diff.None, 0},
		"another error":   {failed(19, "constraint failed"), failed(2067, "constraint failed: UNIQUE"), diff.Errors, diff.None, 0},
		"its own error":   {row(int64(1)), failed(0, "converting failed"), diff.Errors, diff.None, 2},
		"affected":        {plus(func(a *protocol.Answer) { a.SQL, a.Affected = "UPDATE t SET x = 1", number(1) }), plus(func(a *protocol.Answer) { a.Affected = number(2) }), diff.Affected, diff.None, 0},
		"last insert ID":  {plus(func(a *protocol.Answer) { a.SQL, a.LastInsertID = "INSERT INTO t VALUES (1)", number(1) }), plus(func(a *protocol.Answer) { a.LastInsertID = number(2) }), diff.LastInsertID, diff.None, 0},
		"name":            {row(int64(1)), plus(func(a *protocol.Answer) { a.Names = []string{"V"} }), diff.Names, diff.None, 0},
		"no name":         {row(int64(1)), plus(func(a *protocol.Answer) { a.Names = []string{""} }), diff.Names, diff.None, 2},
		"declared":        {row(int64(1)), plus(func(a *protocol.Answer) { a.Declared = []string{"INT"} }), diff.Declared, diff.None, 0},
		"not in the rows": {plus(func(a *protocol.Answer) { a.RowCount = 2 }), plus(func(a *protocol.Answer) { a.RowCount = 2; a.Columns[0].Content = "x"; a.AnyOrder = "x" }), diff.Values, diff.None, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := compare(c.x, c.y)
			if r.Differing != 1 || len(r.Groups) != 1 {
				t.Fatalf("%+v", r)
			}
			g := r.Groups[0]
			if g.Kind != c.kind || g.Cause != c.cause || g.Reason.Side != c.side {
				t.Errorf("%s, cause %q, side %d; want %s, %q, %d", g.Kind, g.Cause, g.Reason.Side, c.kind, c.cause, c.side)
			}
			if r.Count(c.kind) != 1 {
				t.Errorf("%d statements with a difference of kind %s, want 1", r.Count(c.kind), c.kind)
			}
			if same := compare(c.x, c.x); same.Differing != 0 || same.Statements != 1 {
				t.Errorf("compared with itself: %+v", same)
			}
		})
	}
}

// TestFailing checks a statement that fails with both sides. Only if the errors have different codes may
// the result have the second side's error too.
func TestFailing(t *testing.T) {
	for name, c := range map[string]struct {
		x, y  protocol.Answer
		other string
	}{
		"alike":         {failed(1, "no such table: t"), failed(1, "no such table: t"), ""},
		"another error": {failed(19, "constraint failed"), failed(2067, "UNIQUE constraint failed"), "UNIQUE constraint failed"},
	} {
		r := compare(c.x, c.y)
		if len(r.Failing) != 1 || r.Failing[0].Other != c.other || r.Answered() != 0 || (r.Differing > 0) != (c.other != "") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestFailingOnce checks a statement that fails only in its first execution. It must not be listed among the
// failing statements.
func TestFailingOnce(t *testing.T) {
	bad, good := failed(1, "no such table: t"), row(int64(1))
	bad.SQL, good.Execution = good.SQL, 1
	side := func(name string) *diff.Side {
		return &diff.Side{Name: name, Work: []diff.Work{{Proof: &proof, Answers: []protocol.Answer{bad, good}}}}
	}
	if r := diff.Compare(side("a"), side("b")); r.Executions != 2 || len(r.Failing) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestKeepNoRows checks that a comparison of statements that return no rows can be stored. A
// negative number of rows must be an error.
func TestKeepNoRows(t *testing.T) {
	d := &diff.Diffed{Sides: []diff.DiffSide{{Name: "a"}, {Name: "b"}}, Results: []*diff.Result{compare(rows(nil), rows(nil))}}
	if _, err := d.Keep(); err != nil {
		t.Error(err)
	}
	d.Results[0].Rows = -1
	if _, err := d.Keep(); err == nil {
		t.Error("no error for -1 rows")
	}
}

// TestNotTold checks that a fact is not a difference if only one side reports it. A statement that one
// side could not run must be listed as such, and must not be compared.
func TestNotTold(t *testing.T) {
	x, y := row(int64(1)), row(int64(1))
	x.Affected, x.LastInsertID = number(1), number(2)
	y.Names, y.Declared = nil, nil
	if r := compare(x, y); r.Differing != 0 {
		t.Errorf("%+v", r)
	}
	y.Unasked = "it must be told types"
	r := compare(x, y)
	if want := []diff.Unasked{{Side: "b", Where: "statement 1", Reason: "it must be told types"}}; r.Statements != 0 || !cmp.Equal(r.Unasked, want) {
		t.Errorf("%+v", r)
	}
}

func TestCodes(t *testing.T) {
	a, b := side("a", proof, failed(2067, "UNIQUE")), side("b", proof, failed(19, "constraint failed"))
	if b.PrimaryOnly = true; diff.Compare(a, b).Count(diff.Errors) != 0 {
		t.Error("codes differ although the second driver reports only primary codes")
	}
	b.Work[0].Answers[0].Error.Code = 1
	if diff.Compare(a, b).Count(diff.Errors) != 1 {
		t.Error("no difference although the primary codes differ")
	}
}

// TestErrors checks that errors with the same code differ if their Go types or their texts differ.
// Each of these two differences has its own kind.
func TestErrors(t *testing.T) {
	of := func(message, typ string) protocol.Answer {
		a := failed(2067, message)
		a.Error.Type = typ
		return a
	}
	for _, c := range []struct {
		y    protocol.Answer
		want []diff.Kind
	}{
		{of("UNIQUE", "sqlite3.Error"), nil},
		{of("UNIQUE", "*sqlite.Error"), []diff.Kind{diff.ErrorType}},
		{of("constraint failed: UNIQUE (2067)", "sqlite3.Error"), []diff.Kind{diff.ErrorText}},
		{of("constraint failed: UNIQUE (2067)", "*sqlite.Error"), []diff.Kind{diff.ErrorType, diff.ErrorText}},
		{of("UNIQUE", ""), nil}, // this side does not report the type
	} {
		var got []diff.Kind
		for _, g := range compare(of("UNIQUE", "sqlite3.Error"), c.y).Groups {
			got = append(got, g.Kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.y.Error, got, c.want)
		}
	}
}

// TestNames checks that statements get different names even if they have the same phase and
// operation.
func TestNames(t *testing.T) {
	of := func(number int, v any) protocol.Answer {
		a := row(v)
		a.Part, a.Phase, a.Operation, a.Number = protocol.PartPhase, "replay", "SELECT jobs", number
		return a
	}
	x, y := side("a", proof, row(1), row(1)), side("b", proof, row(1), row(1))
	x.Work[0].Answers = []protocol.Answer{of(3, "a"), of(5, "a")}
	y.Work[0].Answers = []protocol.Answer{of(3, "b"), of(5, "b")}
	want := map[string]diff.Evidence{"replay/SELECT jobs": diff.ByDriver, "replay/SELECT jobs 2": diff.ByDriver}
	if got := evidence(diff.Compare(x, y)); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestReasons(t *testing.T) {
	with := func(f func(*protocol.Proof)) protocol.Proof {
		p := proof
		f(&p)
		return p
	}
	newer := with(func(p *protocol.Proof) { p.SQLiteVersion, p.SQLiteSourceID = "3.54.1", "2027" })
	for name, c := range map[string]struct {
		x, y  protocol.Answer
		proof protocol.Proof
		want  diff.Reason
	}{
		"version": {row("a"), row("b"), newer, diff.Reason{Evidence: diff.ByVersion, First: "3.53.4", Second: "3.54.1"}},
		"option": {row("a"), row("b"), with(func(p *protocol.Proof) { p.CompileOptions = []string{"THREADSAFE=1", "DQS=3"} }),
			diff.Reason{Evidence: diff.ByOption, First: "DQS=0", Second: "DQS=3"}},
		"driver": {row("a"), row("b"), proof, diff.Reason{Evidence: diff.ByDriver}},
		"feature": {row(1.0), failed(1, "no such function: sqrt"), with(func(p *protocol.Proof) { p.CompileOptions = []string{"DQS=0", "OMIT_JSON"} }),
			diff.Reason{Evidence: diff.ByFeature, Side: 2, Feature: "math functions", Second: "OMIT_JSON"}},
		"setting": {row(int64(1)), failed(787, "FOREIGN KEY constraint failed"), with(func(p *protocol.Proof) { p.Connections = []driver.Settings{{"foreign_keys": "on"}} }),
			diff.Reason{Evidence: diff.BySetting, Feature: "foreign_keys", First: "off", Second: "on"}},
		"option that the SQL shows": {asking("SELECT x'61' LIKE 'a'", int64(1)), asking("SELECT x'61' LIKE 'a'", int64(0)),
			with(func(p *protocol.Proof) {
				p.SQLiteVersion, p.CompileOptions = "3.54.1", []string{"DQS=0", "LIKE_DOESNT_MATCH_BLOBS"}
			}),
			diff.Reason{Evidence: diff.ByOption, Second: "LIKE_DOESNT_MATCH_BLOBS"}},
		"misuse":        {row(int64(1)), failed(21, "unsupported type"), newer, diff.Reason{Evidence: diff.ByDriver, Side: 2}},
		"computed text": {row("1"), row(int64(1)), newer, diff.Reason{Evidence: diff.ByVersion, First: "3.53.4", Second: "3.54.1"}},
		"values":        {row("a\x00b"), row("a"), newer, diff.Reason{Evidence: diff.ByValues, Side: 2}},
	} {
		r := diff.Compare(side("a", proof, c.x), side("b", c.proof, c.y))
		if len(r.Groups) != 1 || r.Groups[0].Reason != c.want {
			t.Errorf("%s: %+v, want %+v", name, r.Groups, c.want)
		}
	}
}

// TestGroups checks that statements with the same kind of difference are one group, and that the
// worst group is first. Several executions of a statement must count as one statement.
func TestGroups(t *testing.T) {
	second := func(a protocol.Answer) protocol.Answer { a.Execution = 1; return a }
	x := []protocol.Answer{row("a"), row("b"), row("c"), row(int64(1)), row(int64(2))}
	y := []protocol.Answer{row([]byte("a")), row([]byte("b")), row("x"), row(int64(1)), row(int64(2))}
	a, b := side("a", proof, x...), side("b", proof, y...)
	x[1], y[1] = second(x[1]), second(y[1])
	x[1].Number, y[1].Number = 0, 0
	a.Work[0].Answers, b.Work[0].Answers = x, y
	r := diff.Compare(a, b)
	if r.Statements != 4 || r.Executions != 5 || r.Differing != 2 || len(r.Groups) != 2 {
		t.Fatalf("%+v", r)
	}
	if r.Groups[0].Kind != diff.Values || r.Groups[1].Kind != diff.Types {
		t.Errorf("%s before %s", r.Groups[0].Kind, r.Groups[1].Kind)
	}
	g := r.Groups[1]
	if len(g.Statements) != 1 || g.Statements[0].Executions != 2 || g.Statements[0].SQL != "SELECT v" {
		t.Errorf("%+v", g.Statements)
	}
}

// TestUnstable checks a driver whose own answers to a statement differ. The values of the statement
// must not be compared, but their Go types must be.
func TestUnstable(t *testing.T) {
	a, b := side("a", proof, row(int64(1)), row(int64(5))), side("b", proof, row(int64(2)), row(5.0))
	again := []protocol.Answer{row(int64(3)), row(int64(6))}
	again[1].Number = 1
	a.Work[0].Again = again
	r := diff.Compare(a, b)
	if r.Differing != 1 || !cmp.Equal(r.Unstable, []string{"statement 1", "statement 2"}) || r.Groups[0].Kind != diff.Types {
		t.Errorf("%+v", r)
	}
}

// TestEarlier checks that if only one side could run an earlier statement, this explains later
// differences in the same table.
func TestEarlier(t *testing.T) {
	refused := failed(0, "binds no time.Time")
	refused.SQL = "INSERT INTO events (at) VALUES (?)"
	done := protocol.Answer{Part: protocol.PartStatements, SQL: refused.SQL}
	r := diff.Compare(
		side("a", proof, done, asking("SELECT count(*) FROM events", int64(1)), asking("SELECT count(*) FROM others", int64(1))),
		side("b", proof, refused, asking("SELECT count(*) FROM events", int64(0)), asking("SELECT count(*) FROM others", int64(0))))
	got := evidence(r)
	if want := map[string]diff.Evidence{"statement 1": diff.ByDriver, "statement 2": diff.ByEarlier, "statement 3": diff.ByDriver}; !cmp.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// evidence returns the evidence for the difference of each statement.
func evidence(r *diff.Result) map[string]diff.Evidence {
	got := map[string]diff.Evidence{}
	for _, g := range r.Groups {
		for _, s := range g.Statements {
			got[s.Where] = g.Reason.Evidence
		}
	}
	return got
}

// TestTransaction checks a transaction that one side could not finish. The transaction must explain
// differences in all tables to which it wrote, both before and after the statement that failed.
func TestTransaction(t *testing.T) {
	in := func(transaction int, a protocol.Answer) protocol.Answer {
		a.Transaction = transaction
		return a
	}
	wrote := func(sql string) protocol.Answer { return protocol.Answer{Part: protocol.PartStatements, SQL: sql} }
	refused := failed(1, "no such module: fts5")
	refused.SQL = "INSERT INTO search (title) VALUES (?)"
	orphan := failed(driver.CodeConstraint|3<<8, "FOREIGN KEY constraint failed")
	orphan.SQL = "INSERT INTO lines (book) VALUES (1)"
	common := func(n int64) []protocol.Answer {
		return []protocol.Answer{
			in(1, wrote("INSERT INTO books (title) VALUES (?)")), in(1, wrote("INSERT INTO search (title) VALUES (?)")), in(1, wrote("INSERT INTO prices (book) VALUES (1)")),
			in(1, wrote("INSERT INTO books (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET id = 2")), in(2, wrote("INSERT INTO others (id) VALUES (1)")),
			asking("SELECT max(id) FROM books", n), asking("SELECT count(*) FROM prices", n), asking("SELECT count(*) FROM others", n),
			wrote(orphan.SQL), asking("SELECT bookset, 'conflict' FROM otherbooks", n),
		}
	}
	x, y := side("a", proof, common(1)...), side("b", proof, common(0)...)
	y.Work[0].Answers[1].Error = refused.Error
	y.Work[0].Answers[8].Error = orphan.Error
	y.Work[0].Answers = slices.Delete(y.Work[0].Answers, 2, 4) // the second side did not reach these statements
	want := map[string]diff.Evidence{
		"statement 2": diff.ByFeature, "statement 6": diff.ByTransaction, "statement 7": diff.ByTransaction, "statement 8": diff.ByDriver, "statement 9": diff.ByTransaction,
		"statement 10": diff.ByDriver,
	}
	if got := evidence(diff.Compare(x, y)); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

// TestTimes checks when diff explains a difference by the formats in which drivers store dates and
// times: in tables with such values, if no other explanation is known.
func TestTimes(t *testing.T) {
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	stored := protocol.Answer{Part: protocol.PartStatements, SQL: "INSERT INTO tasks (due) VALUES (?)", Arguments: []protocol.Value{protocol.NewValue(noon)}}
	compared := asking("SELECT ? < '2025'", int64(1))
	compared.Arguments = stored.Arguments
	view := protocol.Answer{Part: protocol.PartStatements, SQL: "CREATE VIEW late AS SELECT * FROM tasks"}
	table := protocol.Answer{Part: protocol.PartStatements, SQL: "CREATE TABLE notes (task REFERENCES tasks (id))"}
	common := func(n int64, date any) []protocol.Answer {
		other := compared
		other.Rows = row(n).Rows
		other.Columns = row(n).Columns
		return []protocol.Answer{
			view, table, stored, asking("SELECT date(due) FROM tasks", date), other,
			asking("SELECT count(*) FROM late", n), asking("SELECT count(*) FROM notes", n),
		}
	}
	for _, c := range []struct {
		second string
		want   map[string]diff.Evidence
	}{
		{"2024-02-29 12:00:00 +0000 UTC", map[string]diff.Evidence{
			"statement 4": diff.ByTimes, "statement 5": diff.ByTimes, "statement 6": diff.ByTimes, "statement 7": diff.ByDriver,
		}},
		{"2024-02-29 12:00:00", map[string]diff.Evidence{ // both sides store times in the same way
			"statement 4": diff.ByValues, "statement 5": diff.ByDriver, "statement 6": diff.ByDriver, "statement 7": diff.ByDriver,
		}},
	} {
		x, y := side("a", proof, common(1, "2024-02-29")...), side("b", proof, common(0, nil)...)
		x.Work[0].Times, y.Work[0].Times = []string{"2024-02-29 12:00:00"}, []string{c.second}
		r := diff.Compare(x, y)
		if got := evidence(r); !cmp.Equal(got, c.want) {
			t.Error(cmp.Diff(c.want, got))
		}
		for _, g := range r.Groups {
			if g.Reason.Evidence == diff.ByTimes && g.Reason.Second != c.second {
				t.Errorf("%+v does not say how the second side stores times", g.Reason)
			}
		}
	}
}

// TestIDAfterFailure checks an insert that only one side could run. A later insert then gets a different
// ID. The reason must be the insert that failed, and not the format of times.
func TestIDAfterFailure(t *testing.T) {
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	insert := func(execution int, id int64) protocol.Answer {
		return protocol.Answer{
			Part: protocol.PartPhase, Phase: "replay", SQL: "INSERT INTO tasks (due) VALUES (?)", Execution: execution,
			Arguments: []protocol.Value{protocol.NewValue(noon)}, LastInsertID: &id,
		}
	}
	refused := insert(0, 0)
	refused.LastInsertID, refused.Error = nil, &protocol.AnswerError{Code: 787, Message: "FOREIGN KEY constraint failed"}
	for _, c := range []struct {
		name  string
		first protocol.Answer
		want  diff.Evidence
	}{
		{"after a failure", refused, diff.ByEarlier},
		{"without one", insert(0, 1), diff.ByDriver},
	} {
		x, y := side("a", proof), side("b", proof)
		x.Work[0].Answers = []protocol.Answer{insert(0, 1), insert(1, 2)}
		y.Work[0].Answers = []protocol.Answer{c.first, insert(1, 1)}
		x.Work[0].Times, y.Work[0].Times = []string{"2024-02-29 12:00:00"}, []string{"2024-02-29 12:00:00 +0000 UTC"}
		var got diff.Evidence
		for _, g := range diff.Compare(x, y).Groups {
			if g.Kind == diff.LastInsertID {
				got = g.Reason.Evidence
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestProbes(t *testing.T) {
	j := protocol.Job{Answers: &protocol.Answers{Statements: diff.Probes(), Executions: 1, Rows: 1}}
	if err := j.Check(); err != nil {
		t.Error(err)
	}
}
