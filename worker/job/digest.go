package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Digest returns a hash of the rows of all tables, including tables of attached databases, but not
// the tables whose names begin with [protocol.OwnPrefix]. SQLite itself writes each value as text,
// so the hash does not depend on the types that a library returns. It also does not depend on the
// order of rows or on the version of SQLite. The internal tables of full-text and R-tree indexes may
// depend on the version, so Digest leaves them out and reads the indexes themselves.
func Digest(ctx context.Context, r driver.Runner) (string, error) {
	schemas, err := driver.Texts(ctx, r, "SELECT name FROM pragma_database_list WHERE name <> 'temp' ORDER BY seq")
	if err != nil {
		return "", err
	}
	var tables [][2]string // name and schema of each table; only the name is hashed
	for _, schema := range schemas {
		names, err := driver.Texts(ctx, r, strings.ReplaceAll(tablesSQL, "?", driver.Quote(schema)))
		if err != nil {
			return "", err
		}
		for _, name := range names {
			tables = append(tables, [2]string{name, schema})
		}
	}
	slices.SortStableFunc(tables, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	h := sha256.New()
	for _, t := range tables {
		if err := hashTable(ctx, r, h, t[0], t[1]); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func hashTable(ctx context.Context, r driver.Runner, h hash.Hash, table, schema string) error {
	columns, err := driver.Texts(ctx, r, "SELECT name FROM pragma_table_info("+literal(table)+", "+literal(schema)+")")
	if err != nil {
		return err
	}
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = strings.ReplaceAll(valueSQL, "?", driver.Quote(c))
	}
	writeSized(h, table)
	st := driver.Statement{
		SQL:     "SELECT " + strings.Join(quoted, " || ',' || ") + " FROM " + driver.Quote(schema) + "." + driver.Quote(table) + " ORDER BY 1",
		Columns: []driver.ColumnType{{Type: driver.Text}},
	}
	return driver.Read(ctx, r, st, func(row driver.Row) error {
		writeSized(h, row[0].Text)
		return nil
	})
}

// tablesSQL is the query for the names of the tables to read in one schema. Each "?" stands for the
// schema's quoted name.
const tablesSQL = `SELECT name FROM ?.sqlite_master AS t WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
	AND substr(name, 1, length('` + protocol.OwnPrefix + `')) <> '` + protocol.OwnPrefix + `' AND NOT EXISTS (
	SELECT 1 FROM ?.sqlite_master AS v WHERE v.sql LIKE 'CREATE VIRTUAL TABLE%' AND t.name IN (
		v.name || '_data', v.name || '_idx', v.name || '_content', v.name || '_docsize', v.name || '_config',
		v.name || '_segments', v.name || '_segdir', v.name || '_stat', v.name || '_node', v.name || '_rowid', v.name || '_parent'
	))`

// valueSQL is the SQL expression that writes a value as text. Each "?" stands for the value. For a
// real number, it writes the integer part and the fraction as integers, because versions of SQLite
// differ in the last digits when they write a real number as text. A text and a blob with the same
// bytes give the same result, because some libraries store every blob as a text.
const valueSQL = `CASE typeof(?) WHEN 'real' THEN CAST(? AS INTEGER) || '+' || CAST((? - CAST(? AS INTEGER)) * 4503599627370496.0 AS INTEGER)
	WHEN 'text' THEN '''' || hex(?) WHEN 'blob' THEN '''' || hex(?) ELSE quote(?) END`
