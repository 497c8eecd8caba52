package jobtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The test "answers" checks that a driver reports the values that its library returns for the
// statements of a schema and of the phases insert, query, mix, script and replay.
func answers(t *testing.T, b *base) {
	a := &protocol.Answers{Executions: 2, Rows: 2, Plan: &plan.Plan{
		Schema: "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX t_name ON t(name);",
		DataSets: []plan.DataSet{{Name: "t", Table: "t", Count: 5, Total: 5, Columns: []plan.Column{
			{Name: "id", Type: driver.Int, Generator: plan.Generator{Kind: plan.GenSerial, Low: 1, Step: 1}},
			{Name: "name", Type: driver.Text, Generator: plan.Generator{Kind: plan.GenFormat, Format: "n%d", Of: []string{"id"}}},
		}}},
		Phases: []plan.Phase{
			{Name: "load", Insert: &plan.Insert{Sets: []string{"t"}, Transaction: "one", RowsPerStatement: 1}},
			{Name: "read", Query: &plan.Query{Repeat: 3, Clients: 1, ForEach: "t", Call: plan.Call{
				SQL: "SELECT id, name FROM t WHERE id >= ? ORDER BY id", Rows: -1, Columns: []driver.ColumnType{{Type: driver.Int}, {Type: driver.Text}},
				Parameters: []plan.Parameter{{Name: "id", Type: driver.Int, Column: "t.id"}},
			}}},
			{Name: "change", Mix: &plan.Mix{Clients: 1, Count: 1, Operations: []plan.Operation{{Name: "both", Weight: 1, Transaction: true, Calls: []plan.MixCall{
				{Call: plan.Call{SQL: "UPDATE t SET name = 'x' WHERE id > 3", Rows: 0}},
				{Call: plan.Call{SQL: "INSERT INTO t VALUES (1, 'twice')", Rows: 0}},
			}}}}},
			{Name: "script", Script: "DELETE FROM t WHERE name = 'n2'; INSERT INTO t VALUES (1, 'twice')"},
			{Name: "recorded", Replay: &plan.Replay{
				Operations: []string{"BEGIN", "INSERT t", "SELECT t", "COMMIT"}, Connections: 1,
				Statements: []plan.Replayed{
					{Operation: 0, Do: plan.ReplayBegin},
					{Operation: 1, SQL: "INSERT INTO t VALUES (?, ?)", Parameters: []plan.Recorded{
						{Type: driver.Int, Ints: []int64{10, 11, 1, 12}}, {Type: driver.Text, Bytes: [][]byte{{'a'}, {'b'}, {'c'}, {'d'}}},
					}},
					{Operation: 2, SQL: "SELECT count(*) FROM t", Reads: true},
					{Operation: 3, Do: plan.ReplayCommit},
				},
				Events: plan.Events{
					Statement:   []int{0, 1, 3, 0, 1, 1, 3, 2, 1, 2},
					Connection:  make([]int, 10),
					Transaction: []int{0, 0, 0, 1, 1, 1, 1, 2, 3, 4},
					Rows:        slices.Repeat([]int64{-1}, 10),
				},
			}},
		},
	}}
	if !b.asks() {
		b.fails(protocol.Job{Answers: a}, protocol.CodeUnsupported, "cannot report")
		t.Skip("the adapter does not implement driver.Asker")
	}
	b.must(nil, protocol.Job{Answers: a})
	selected := []string{"1 rows: int64 5", "1 rows: int64 6"}
	if _, untyped := b.driver.Info().Limits["columns=any"]; untyped {
		selected = []string{"not asked", "not asked"} // this library needs the types of the columns, which a recording does not contain
	}
	var got []string
	for _, p := range b.progress {
		if p.Answer == nil || p.Answer.Unasked != "" && p.Answer.Phase != "recorded" {
			b.t.Fatalf("%+v", p.Answer)
		}
		got = append(got, told(p.Answer))
	}
	want := []string{
		"schema 0.0", "schema 1.0",
		"load/t 0.0: 1 affected", "load/t 0.1: 1 affected",
		"read 0.0: 5 rows: int64 1, string n1; int64 2, string n2", "read 0.1: 4 rows: int64 2, string n2; int64 3, string n3",
		"change/both 0.0: 2 affected", "change/both 1.0: error 19",
		// The DELETE finds a row, so the UPDATE before it was rolled back.
		"script 0.0: 1 affected", "script 1.0: error 19",
		// The third INSERT fails, which rolls back the second INSERT. The fourth INSERT is not reported.
		"recorded/INSERT t 1.0: 1 affected", "recorded/INSERT t 1.1: 1 affected",
		"recorded/SELECT t 2.0: " + selected[0], "recorded/SELECT t 2.1: " + selected[1],
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.t.Errorf("answers:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// asks reports whether the adapter can run a statement without knowing the types of its
// columns.
func (b *base) asks() (asks bool) {
	b.t.Helper()
	b.use(func(db driver.DB) error {
		conn, err := db.Conn(b.t.Context())
		if err != nil {
			return err
		}
		_, asks = conn.(driver.Asker)
		return conn.Close()
	})
	return asks
}

// told describes the part of an answer that is the same for all libraries. It writes []byte as
// string, because libraries differ in the type of texts.
func told(a *protocol.Answer) string {
	s := a.Part
	if a.Phase != "" {
		s = a.Phase
	}
	if a.Operation != "" {
		s += "/" + a.Operation
	}
	s += fmt.Sprintf(" %d.%d", a.Number, a.Execution)
	switch {
	case a.Unasked != "":
		return s + ": not asked"
	case a.Error != nil:
		return s + fmt.Sprintf(": error %d", a.Error.Code&0xff)
	case a.RowCount > 0:
		var rows []string
		for _, r := range a.Rows {
			var values []string
			for _, v := range r {
				values = append(values, strings.ReplaceAll(v.Type, "[]byte", "string")+" "+v.Bytes())
			}
			rows = append(rows, strings.Join(values, ", "))
		}
		return s + fmt.Sprintf(": %d rows: ", a.RowCount) + strings.Join(rows, "; ")
	case a.Affected != nil && a.Part != protocol.PartSchema:
		return s + fmt.Sprintf(": %d affected", *a.Affected)
	}
	return s
}

// notNew checks that a job of the kind "answers" refuses a database that already has tables.
func notNew(_ *testing.T, b *base) {
	b.script("CREATE TABLE precious (x); INSERT INTO precious VALUES (1)")
	b.fails(protocol.Job{Answers: &protocol.Answers{Executions: 1, Rows: 1, Statements: []protocol.Ask{{SQL: "DELETE FROM precious"}}}}, protocol.CodeForeign, "has tables already")
	if n := b.texts("SELECT CAST(count(*) AS TEXT) FROM precious"); n != "1" {
		b.t.Errorf("the table has %s rows, want 1", n)
	}
}
