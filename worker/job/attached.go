package job

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Attach attaches a second database to a connection. The file of the second database is
// [protocol.AttachedName], in the directory of the database at path.
func Attach(ctx context.Context, r driver.Runner, path string) error {
	file := filepath.Join(filepath.Dir(path), protocol.AttachedName)
	return r.Script(ctx, "ATTACH "+literal(file)+" AS "+protocol.AttachedSchema)
}

// attach attaches a second database (see [Attach]) to the job's connection, and gives it the journal
// mode and the synchronous setting of the first database. It does nothing if the second database is
// already attached, or if the job does not need it.
func (k *committing) attach(ctx context.Context) error {
	if len(k.Attach) == 0 {
		return nil
	}
	n, err := driver.Number(ctx, k.conn, "SELECT count(*) FROM pragma_database_list WHERE name = '"+protocol.AttachedSchema+"'")
	if err != nil || n > 0 {
		return err
	}
	if err := Attach(ctx, k.conn, k.of.Path); err != nil {
		return err
	}
	for _, name := range []string{"journal_mode", "synchronous"} {
		if value := k.of.Proof.Connections[0][name]; value != "" {
			if err := k.conn.Script(ctx, fmt.Sprintf("PRAGMA %s.%s=%s", protocol.AttachedSchema, name, value)); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveTables moves the tables named in the field Attach to the attached database. The workload's
// SQL need not be changed, because SQLite looks for a table in all databases of the connection.
func (k *committing) moveTables(ctx context.Context) error {
	for _, table := range k.Attach {
		texts, err := driver.Texts(ctx, k.conn, "SELECT sql FROM main.sqlite_master WHERE lower(tbl_name) = lower("+literal(table)+") AND sql IS NOT NULL ORDER BY type DESC")
		if err != nil {
			return err
		}
		if len(texts) == 0 {
			return errorf(protocol.CodeUnsupported, "the workload has no table %s that could be in an attached database", table)
		}
		quoted := driver.Quote(table)
		var move []string
		for i, sql := range texts { // the first statement creates the table, and the others create its indexes
			moved := inAttached(sql)
			if moved == "" {
				return errorf(protocol.CodeUnsupported, "table %s cannot be in an attached database: want a plain table without triggers", table)
			}
			if move = append(move, moved); i == 0 {
				move = append(move, "INSERT INTO "+protocol.AttachedSchema+"."+quoted+" SELECT * FROM main."+quoted, "DROP TABLE main."+quoted)
			}
		}
		if err := k.conn.Script(ctx, strings.Join(move, ";\n")); err != nil {
			return fmt.Errorf("moving table %s to an attached database: %w", table, err)
		}
	}
	return nil
}

// inAttached changes a CREATE statement that SQLite has stored, so that it creates the table or
// index in the attached database. It returns "" for other kinds of statements.
func inAttached(sql string) string {
	for _, begin := range []string{"CREATE TABLE ", "CREATE INDEX ", "CREATE UNIQUE INDEX "} {
		if rest, ok := strings.CutPrefix(sql, begin); ok {
			return begin + protocol.AttachedSchema + "." + rest
		}
	}
	return ""
}
