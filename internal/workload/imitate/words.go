package imitate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// Answer says how similar an imitation is to its database.
type Answer struct {
	Database   string // path of the database
	File       string // file of the workload; "" if there is none
	Kept       string // file with the imitation's database; "" if it was removed
	Measure    string // command that measures the workload at the scale "quick"; "" if the field File is ""
	Full       string // flag that makes the command Measure use the scale "full"
	Workload   *Workload
	Comparison *Comparison // comparison of the imitation with the database; nil if they were not compared
	Source     *Source
}

// seal is the beginning of the last line of a workload that the command "workload from" wrote. In this line,
// the hash of the text follows the seal.
const seal = "# As workload from wrote it, which replaces this file only if it is unchanged: SHA-256 "

// Sealed returns the text with a last line that has the hash of the text. [Replaceable] detects
// changes by the hash.
func Sealed(text string) string { return text + seal + directory.Sum([]byte(text)) + "\n" }

// Replaceable reports whether a file does not exist, or has not changed since the command
// "workload from" wrote it.
func Replaceable(file string) bool {
	data, err := directory.ReadRegular(file, directory.MaxOwn)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	text, _, _ := strings.Cut(string(data), seal)
	return string(data) == Sealed(text)
}

// untouched says whether an application has changed the database's files since they were copied.
func (a *Answer) untouched() string {
	written := a.Source.Written()
	if len(written) == 0 {
		return fmt.Sprintf("%s was only read, through a copy, and is as it was.", a.Database)
	}
	return fmt.Sprintf("%s was only read, through a copy; its application has written %s in the meantime.", a.Database, document.And(written))
}

// WriteText writes the answer as text.
func (a *Answer) WriteText(out io.Writer) error {
	w, c := a.Workload, a.Comparison
	var rows int64
	for _, t := range w.Tables {
		rows += t.Full
	}
	line := fmt.Sprintf("%s imitates %s: %s, %s", cmp.Or(a.File, "The workload"), a.Database, document.Counted(len(w.Tables), "table"), document.Counted(rows, "row"))
	if c != nil {
		near := 0
		for i := range c.Queries {
			if c.Queries[i].Near() {
				near++
			}
		}
		line += fmt.Sprintf("; %s of %s (%+.1f%%); %d of %s with the same plan, and rows and times within a factor of 2", document.Megabytes(c.Bytes), document.Megabytes(int64(w.Wanted())),
			100*(float64(c.Bytes)/w.Wanted()-1), near, document.Counted(len(c.Queries), "query"))
	}
	fmt.Fprintf(out, "%s.\n", document.Line(line))
	if c != nil {
		for _, what := range notNear(w, c) {
			fmt.Fprintf(out, "Differs too much: %s.\n", document.Line(what))
		}
	}
	fmt.Fprintf(out, "%s\n", document.Line(a.untouched()))
	if a.Kept != "" {
		fmt.Fprintf(out, "The imitation that was loaded is %s.\n", document.Line(a.Kept))
	}
	if w.Free > w.Bytes/20 {
		fmt.Fprintf(out, "The sizes are without %s of free pages.\n", document.Megabytes(w.Free))
	}
	if c != nil && len(c.Queries) > 0 {
		fmt.Fprintln(out)
		var rows [][]string
		for i := range c.Queries {
			q := &c.Queries[i]
			plan := document.Abridged(q.Plan[0], 60)
			if !q.SamePlan() {
				plan = "differs: " + plan
			}
			rows = append(rows, []string{q.Query.Phase, meanRows(q.Rows[0]), meanRows(q.Rows[1]), document.Duration(q.Time[0]), document.Duration(q.Time[1]), plan})
			if !q.SamePlan() {
				rows = append(rows, []string{"", "", "", "", "", "imitation: " + document.Abridged(q.Plan[1], 60)})
			}
		}
		if err := document.PrintTable(out, "query|rows|imitation|time|imitation|plan", rows); err != nil {
			return err
		}
	}
	if len(w.Notes) > 0 {
		fmt.Fprintf(out, "\nWhat differs from %s:\n", document.Line(a.Database))
		for _, n := range w.Notes {
			fmt.Fprintf(out, "  %s\n", document.Line(n))
		}
	}
	if a.Measure == "" {
		return nil
	}
	about := ""
	if w.Cut() {
		about = fmt.Sprintf(" %s\nWithout %[1]s it is quicker, and no table has more than %s rows.", a.Full, document.Thousands(QuickRows))
	}
	_, err := fmt.Fprintf(out, "\nMeasure: %s%s\n", a.Measure, about)
	return err
}

func sizeWords(s Size) string {
	return fmt.Sprintf("%s has %s instead of %s", s.Name, document.Megabytes(s.Bytes[1]), document.Megabytes(s.Bytes[0]))
}

// notNear lists the differences between the imitation and the database that are too large to count as
// near (see [Compared.Near]).
func notNear(w *Workload, c *Comparison) (list []string) {
	if off := float64(c.Bytes)/w.Wanted() - 1; math.Abs(off) > NearSize {
		what := fmt.Sprintf("the size, by %+.1f%%", 100*off)
		if len(c.Sizes) > 0 {
			what += ": " + document.Join(c.Sizes, ", ", sizeWords)
		}
		list = append(list, what)
	} else {
		for _, s := range c.Sizes {
			if !s.Near() {
				list = append(list, "a size: "+sizeWords(s))
			}
		}
	}
	for i := range c.Queries {
		q := &c.Queries[i]
		var of []string
		if !q.SamePlan() {
			of = append(of, "another plan")
		}
		if !q.NearRows() {
			of = append(of, fmt.Sprintf("%s rows instead of %s", meanRows(q.Rows[1]), meanRows(q.Rows[0])))
		}
		if !q.NearTime() {
			of = append(of, fmt.Sprintf("%s instead of %s", document.Duration(q.Time[1]), document.Duration(q.Time[0])))
		}
		if of != nil {
			list = append(list, q.Query.Phase+": "+strings.Join(of, ", "))
		}
	}
	return list
}

// meanRows formats a mean number of rows.
func meanRows(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// WriteJSON writes the answer as JSON.
func (a *Answer) WriteJSON(out io.Writer) error {
	w, c := a.Workload, a.Comparison
	type side struct {
		Database  any `json:"database"`
		Imitation any `json:"imitation"`
	}
	type query struct {
		Phase    string `json:"phase"`
		SQL      string `json:"sql"`
		SamePlan bool   `json:"same_plan"`
		Plan     side   `json:"plan"`
		Rows     side   `json:"mean_rows"`
		Time     side   `json:"median_ns"`
		Near     bool   `json:"near"`
	}
	type table struct {
		Name  string `json:"name"`
		Rows  *side  `json:"rows,omitempty"`
		Bytes *side  `json:"bytes,omitempty"`
	}
	answer := struct {
		Database string   `json:"database"`
		Written  []string `json:"written_meanwhile"`
		Workload string   `json:"workload,omitempty"`
		Bytes    *side    `json:"bytes,omitempty"`
		Sizes    []table  `json:"sizes,omitempty"` // sizes in bytes of the tables and indexes that differ most
		Tables   []table  `json:"tables"`
		Queries  []query  `json:"queries,omitempty"`
		Notes    []string `json:"not_as_in_the_database"`
	}{Database: a.Database, Written: append([]string{}, a.Source.Written()...), Workload: a.File, Tables: []table{}, Notes: append([]string{}, w.Notes...)}
	for _, t := range w.Tables {
		answer.Tables = append(answer.Tables, table{Name: t.Name, Rows: &side{t.Rows, t.Full}})
	}
	if c != nil {
		answer.Bytes = &side{int64(w.Wanted()), c.Bytes}
		for _, s := range c.Sizes {
			answer.Sizes = append(answer.Sizes, table{Name: s.Name, Bytes: &side{s.Bytes[0], s.Bytes[1]}})
		}
		for i := range c.Queries {
			q := &c.Queries[i]
			answer.Queries = append(answer.Queries, query{q.Query.Phase, q.Query.SQL, q.SamePlan(), side{q.Plan[0], q.Plan[1]}, side{q.Rows[0], q.Rows[1]}, side{q.Time[0].Nanoseconds(), q.Time[1].Nanoseconds()}, q.Near()})
		}
	}
	return document.Encode(out, answer)
}
