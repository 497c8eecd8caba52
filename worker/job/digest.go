package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Digest returns a hash of the rows of all tables, except those whose names begin with
// [protocol.OwnPrefix]. SQLite itself writes each value as text, so the
// hash does not depend on the types that a library returns. It does not depend on the order of rows
// either.
func Digest(ctx context.Context, r driver.Runner) (string, error) {
	tables, err := driver.Texts(ctx, r, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE '`+strings.ReplaceAll(protocol.OwnPrefix, "_", `\_`)+`%' ESCAPE '\' ORDER BY name`)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, table := range tables {
		literal := "'" + strings.ReplaceAll(table, "'", "''") + "'"
		columns, err := driver.Texts(ctx, r, "SELECT name FROM pragma_table_info("+literal+")")
		if err != nil {
			return "", err
		}
		quoted := make([]string, len(columns))
		for i, c := range columns {
			quoted[i] = "quote(" + driver.Quote(c) + ")"
		}
		writeSized(h, table)
		st := driver.Statement{
			SQL:     "SELECT " + strings.Join(quoted, " || ',' || ") + " FROM " + driver.Quote(table) + " ORDER BY 1",
			Columns: []driver.ColumnType{{Type: driver.Text}},
		}
		err = driver.Read(ctx, r, st, func(row driver.Row) error {
			writeSized(h, row[0].Text)
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
