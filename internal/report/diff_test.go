package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// noted returns a driver with the results of its statements: one value for each statement.
func noted(name, version string, values ...any) *diff.Side {
	w := diff.Work{Name: "mine", Proof: &protocol.Proof{SQLiteVersion: version, ModuleVersion: "v1.2.3"}}
	for i, v := range values {
		w.Answers = append(w.Answers, protocol.Answer{
			Part: protocol.PartPhase, Phase: "read", Number: i, SQL: "SELECT note FROM notes WHERE id = ?", Arguments: []protocol.Value{protocol.NewValue(int64(i))},
			Names: []string{"note"}, Declared: []string{"TEXT"}, RowCount: 1, Rows: [][]protocol.Value{{protocol.NewValue(v)}},
			Columns: []protocol.ColumnSum{{Content: protocol.Content(v)}}, AnyOrder: protocol.Content(v),
		})
	}
	return &diff.Side{Name: name, Work: []diff.Work{w}}
}

func diffed(sides ...*diff.Side) *diff.Diffed {
	d := &diff.Diffed{Seed: 1}
	for i, s := range sides {
		d.Sides = append(d.Sides, diff.DiffSideOf(s.Name, s.Work[0].Proof))
		if i > 0 {
			d.Results = append(d.Results, diff.Compare(sides[0], s))
		}
	}
	return d
}

func TestWriteDiff(t *testing.T) {
	a := noted("mattn", "3.53.4", "a\x00b", "same", "1\x1b[2J", "x")
	for name, c := range map[string]struct {
		d    *diff.Diffed
		full bool
		want string
	}{
		"alike": {d: diffed(a, noted("modernc", "3.53.4", "a\x00b", "same", "1\x1b[2J", "x")), want: `No difference: mattn and modernc answer 4 statements alike, in 4 executions with
4 rows.

mattn v1.2.3, SQLite 3.53.4
modernc v1.2.3, SQLite 3.53.4
`},
		"two sides": {d: diffed(a, noted("bytes", "3.53.4", "a", []byte("same"), []byte("1\x1b[2J"), "x")), want: `bytes answers 3 of 4 statements differently than mattn: 1 in the value, 2 in the
Go type.

mattn v1.2.3, SQLite 3.53.4
bytes v1.2.3, SQLite 3.53.4

VALUE: a text is cut at its first NUL: 1 statement
  Likely: bytes cuts texts at their first NUL, in binding or in reading.
  mine: read: SELECT note FROM notes WHERE id = ?
    with int64 0
    row 1, column 1 note, declared TEXT:
    mattn  string "a\x00b"
    bytes  string "a"

GO TYPE: string or []byte, declared TEXT: 2 statements
  Likely: bytes returns texts as []byte.
  mine: read 2: SELECT note FROM notes WHERE id = ?
    with int64 1
    row 1, column 1 note, declared TEXT:
    mattn  string "same"
    bytes  []byte "same"
  Also mine: read 3.

Not every statement is shown; all are in the full output and in JSON.
`},
		"several": {d: diffed(a, noted("alike", "3.53.4", "a\x00b", "same", "1\x1b[2J", "x"), noted("new", "3.54.1", "a\x00b", "same", "1\x1b[2J", "y")), want: `1 of 2 drivers gives the same answers as mattn to all statements: alike.

mattn v1.2.3, SQLite 3.53.4
alike v1.2.3, SQLite 3.53.4
new v1.2.3, SQLite 3.54.1

AGAINST MATTN  ASKED  DIFFER  VALUE
alike              4       0      -
new                4       1      1

== new against mattn ==

new answers 1 of 4 statements differently than mattn: 1 in the value.

VALUE: different values: 1 statement
  Likely: SQLite's version (3.53.4 with mattn, 3.54.1 with new), or else one of
  the libraries.
  mine: read 4: SELECT note FROM notes WHERE id = ?
    with int64 3
    row 1, column 1 note, declared TEXT:
    mattn  string "x"
    new    string "y"
`},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := diff.WriteDiff(&b, c.d, c.full, document.Options{}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, b.String()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestDiffOfSeveral compares several drivers with the first driver. The answer must say how many of
// them give the same answers, and with which drivers nothing, or only errors, could be compared.
func TestDiffOfSeveral(t *testing.T) {
	a := noted("a", "3.53.4", "1", "2")
	alike, other := noted("alike", "3.53.4", "1", "2"), noted("other", "3.53.4", "1", "3")
	mute, mute2 := noted("mute", "3.53.4", "1", "2"), noted("mute2", "3.53.4", "1", "2")
	for _, s := range []*diff.Side{mute, mute2} {
		for i := range s.Work[0].Answers {
			s.Work[0].Answers[i].Unasked = "it cannot read columns of which nothing is known"
		}
	}
	broken, broken2 := noted("broken", "3.53.4", "1", "2"), noted("broken2", "3.53.4", "1", "2")
	for _, s := range []*diff.Side{broken, broken2} {
		for i := range s.Work[0].Answers {
			s.Work[0].Answers[i].Rows, s.Work[0].Answers[i].RowCount = nil, 0
			s.Work[0].Answers[i].Error = &protocol.AnswerError{Code: 1, Message: "no such table: notes"}
		}
	}
	for want, sides := range map[string][]*diff.Side{
		"No difference: alike gives the same answers as a to all statements. With mute, nothing was compared: no statement could be run.":           {a, mute, alike},
		"1 of 2 drivers gives the same answers as a to all statements: alike. With mute, nothing was compared: no statement could be run.":          {a, mute, other, alike},
		"Nothing was compared: no statement could be run. Give statements, or a workload with a query, an insert or a mix.":                         {a, mute, mute2},
		"With broken2, only errors were compared: every statement fails there, and with broken too. With mute, nothing was compared: no statement ": {broken, mute, broken2},
		"None of 2 drivers gives the same answers as a to all statements.":                                                                          {a, other, broken},
		"No difference: alike, b give the same answers as a to all statements.":                                                                     {a, alike, noted("b", "3.53.4", "1", "2")},
	} {
		if got := diffed(sides...).Answer(); !strings.HasPrefix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestDiffNoName checks the reason that is given if a driver returns a column without a name. It must
// say which library does that, and when.
func TestDiffNoName(t *testing.T) {
	a, b := noted("a", "3.53.4", "1"), noted("b", "3.53.4", "1")
	for i := range b.Work[0].Answers {
		b.Work[0].Answers[i].Names = make([]string, len(b.Work[0].Answers[i].Names))
	}
	var buf bytes.Buffer
	if err := diff.WriteDiff(&buf, diffed(a, b), false, document.Options{}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(buf.String()), " ")
	if want := "COLUMN NAME: a column has a different name: 1 statement Likely: b itself: if several columns have the same name, only the last one keeps it, although SQLite names them all."; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", buf.String(), want)
	}
}

// TestDiffOtherErrors checks that if a statement fails on both sides with different errors, the
// report shows both errors.
func TestDiffOtherErrors(t *testing.T) {
	a, b := noted("a", "3.53.4", "1", "2"), noted("b", "3.53.4", "1", "2")
	for i, side := range []*diff.Side{a, b} {
		x := &side.Work[0].Answers[1]
		x.Rows, x.RowCount, x.Error = nil, 0, &protocol.AnswerError{Code: []int{19, 2067}[i], Message: []string{"constraint failed", "UNIQUE constraint failed"}[i]}
	}
	var buf bytes.Buffer
	if err := diff.WriteDiff(&buf, diffed(a, b), false, document.Options{}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(buf.String()), " ")
	if want := "With both a and b, 1 statement fails, 1 of them with another error, so only the error is compared: mine: read 2: SELECT note FROM notes WHERE id = ? a: constraint failed b: UNIQUE constraint failed"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", buf.String(), want)
	}
}

func TestWriteDiffFull(t *testing.T) {
	a := noted("a", "3.53.4", "1", "2", "3", "4")
	var b bytes.Buffer
	if err := diff.WriteDiff(&b, diffed(a, noted("b", "3.53.4", []byte("1"), []byte("2"), []byte("3"), []byte("4"))), true, document.Options{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "SELECT note"); n != 4 || strings.Contains(b.String(), "Not every") {
		t.Errorf("%d statements:\n%s", n, b.String())
	}
}

func TestWriteDiffJSON(t *testing.T) {
	var b bytes.Buffer
	if err := diff.Formats.Write(&b, "json", diffed(noted("a", "3.53.4", "a\x00b", int64(1)), noted("b", "3.53.4", "a", int64(1))), diff.Options{}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Command string
		Sides   []struct {
			Name          string
			SQLiteVersion string `json:"sqlite_version"`
		}
		Results []struct {
			Statements, Differing int
			Groups                []struct {
				Kind, Cause string
				Likely      struct{ Evidence string }
				Statements  []struct{ SQL, First, Second string }
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	r := got.Results[0]
	if got.Command != "diff" || got.Sides[1].Name != "b" || got.Sides[1].SQLiteVersion != "3.53.4" || r.Statements != 2 || r.Differing != 1 ||
		r.Groups[0].Kind != "value" || r.Groups[0].Cause != "nul" || r.Groups[0].Likely.Evidence != "values" || r.Groups[0].Statements[0].Second != `string "a"` {
		t.Errorf("%s", b.String())
	}
}

// fullDisk is a writer that always fails.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteDiffFails(t *testing.T) {
	if err := diff.WriteDiff(fullDisk{}, diffed(noted("a", "", "1"), noted("b", "", "2")), false, document.Options{}); err == nil {
		t.Error("no error, although the writer failed")
	}
}

// TestDiffScreen expects a terminal to show everything if there is room. Otherwise it must show
// the answer and the differences, but not the statements.
func TestDiffScreen(t *testing.T) {
	a, text := noted("a", "3.53.4", "1", "2", "3", "4"), []any{[]byte("1"), []byte("2"), []byte("3"), []byte("4")}
	two, many := diffed(a, noted("b", "3.53.4", text...)), diffed(a, noted("b", "3.53.4", text...), noted("c", "3.53.4", text...), noted("d", "3.53.4", text...), noted("e", "3.53.4", text...))
	many.Skipped = []string{"load"}
	hint := document.Hints{Rest: []document.Hint{{Shows: "all of it", Command: "--full prints all"}}}
	for _, c := range []struct {
		d         *diff.Diffed
		lines     int
		want, not []string
	}{
		{two, 40, []string{"Likely", "SELECT note"}, []string{"not shown"}},
		{many, 50, []string{"e against a", "Likely", "not shown     statements\n", "--full prints all"}, []string{"SELECT note"}},
		{many, 24, []string{"Not compared: phase load", "b against a", "not shown     more differences"}, []string{"SELECT note", "e against a"}},
	} {
		var b bytes.Buffer
		if err := diff.WriteDiff(&b, c.d, false, document.Options{Lines: c.lines, Hints: hint}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if n := strings.Count(got, "\n"); n > c.lines || !strings.HasPrefix(strings.Join(strings.Fields(got), " "), c.d.Answer()) {
			t.Errorf("%d lines, want at most %d with the answer first:\n%s", n, c.lines, got)
		}
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("it lacks %q:\n%s", w, got)
			}
		}
		for _, w := range c.not {
			if strings.Contains(got, w) {
				t.Errorf("it has %q:\n%s", w, got)
			}
		}
	}
	if err := diff.WriteDiff(fullDisk{}, two, false, document.Options{Lines: 40}); err == nil {
		t.Error("no error, although the writer failed")
	}
}
