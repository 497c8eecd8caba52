package job

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// ApplicationID marks a database that `sqlite3perf generate` created. It is the application ID in
// the database's header. Its four bytes are the text "S3pb".
const ApplicationID = 0x53337062

// columnNames are the columns of the table that the job "generate" creates, in the order of the program
// that sqlite3perf grew out of (see package original).
var columnNames = []string{"ID", "rand", "hash"}

// schema returns the CREATE TABLE statement of the table, with the columns and types of the
// program that sqlite3perf grew out of. ID is not an alias of the rowid, because its type is not
// INTEGER. So the index of ID is a second b-tree.
func schema(table string) string {
	return "CREATE TABLE " + driver.Quote(table) + "(ID int PRIMARY KEY ASC, rand TEXT, hash TEXT)"
}

// object is a table or view in the schema of the main database.
type object struct {
	kind    string // "table", "view", or "" if the schema has neither with this name
	columns []string
}

// literal returns a text as an SQL literal.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// lookUp finds the table or view with this name in the main database.
func lookUp(ctx context.Context, r driver.Runner, table string) (o object, err error) {
	name := literal(table)
	kinds, err := driver.Texts(ctx, r, "SELECT type FROM main.sqlite_master WHERE type IN ('table', 'view') AND name = "+name+" COLLATE NOCASE")
	if err != nil || len(kinds) == 0 {
		return o, err
	}
	o.kind = kinds[0]
	o.columns, err = driver.Texts(ctx, r, "SELECT name FROM pragma_table_info("+name+")")
	return o, err
}

// lacking returns the first of columnNames that the object lacks, or "".
func (o object) lacking() string {
	for _, want := range columnNames {
		if !contains(o.columns, want) {
			return want
		}
	}
	return ""
}

// ready returns an error unless the table has all columns of a table that the job "generate"
// creates.
func ready(ctx context.Context, r driver.Runner, table string) error {
	o, err := lookUp(ctx, r, table)
	switch {
	case err != nil:
		return err
	case o.kind == "":
		return refuse(protocol.CodeDatabase, "there is no table "+table+": sqlite3perf generate makes it, or name another", "table")
	case o.lacking() != "":
		return errorf(protocol.CodeDatabase, "table %s has no column %s (it has %s): want one with ID, rand and hash, as sqlite3perf generate makes it", table, o.lacking(), strings.Join(o.columns, ", "))
	}
	return nil
}

// dataSet is the name of the data set from which the rows of the table are generated, whatever the
// table's name is. So the random values of the column "rand" come from the stream "bench.rand": see
// docs/generated-values.md.
const dataSet = "bench"

// newGenerator returns a generator that makes the values of the data set "bench" from a seed.
func newGenerator(seed uint64) (*plan.Gen, error) {
	const rows = 1<<63 - 1
	return plan.NewGenerator(seed, &plan.Plan{DataSets: []plan.DataSet{{
		Name: dataSet, Count: rows, Total: rows, Table: dataSet,
		Columns: []plan.Column{
			{Name: "ID", Type: driver.Int, Generator: plan.Generator{Kind: plan.GenSerial, Step: 1}},
			{Name: "rand", Type: driver.Text, Generator: plan.Generator{Kind: plan.GenHex, Low: 8, High: 8}},
			{Name: "hash", Type: driver.Text, Generator: plan.Generator{Kind: plan.GenSHA256, Of: []string{"rand"}, Hex: true}},
		},
	}}})
}

// insert returns the statement that inserts a number of rows. Its parameters are the first row's
// ID, followed by the values of the columns "rand" and "hash" of each row.
func insert(table string, rows int, adHoc bool) driver.Statement {
	st := driver.Statement{AdHoc: adHoc, Params: []driver.Type{driver.Int, driver.Text, driver.Text}}
	var sql strings.Builder
	sql.WriteString("INSERT INTO " + driver.Quote(table) + "(ID, rand, hash) VALUES (?, ?, ?)")
	for i := 1; i < rows; i++ {
		fmt.Fprintf(&sql, ", (?1+%d, ?, ?)", i)
		st.Params = append(st.Params, driver.Text, driver.Text)
	}
	st.SQL = sql.String()
	return st
}
