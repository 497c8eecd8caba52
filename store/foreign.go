package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// OpenForeign opens a copy of somebody else's store for reading. Errors give it the name
// that the user knows it by. The copy must not change while it is open, and have no
// journal or log.
//
// Nothing in the file is trusted. Its tables must be ordinary ones: no view, virtual table
// or computed column is read, so nothing that its schema defines is ever run. SQLite checks
// the whole file first, and reads no record longer than it takes to hold a run's. The file
// is neither upgraded nor written.
func OpenForeign(ctx context.Context, path, name string) (*Store, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() == 0 {
		err = errors.New("it is empty, 0 bytes long")
	}
	if err == nil {
		err = check(path, info, len(migrations))
	}
	if err != nil {
		return nil, refuse(name, err)
	}
	s, err := connect(path, name, map[string][]string{
		"mode": {"ro"}, "immutable": {"1"},
		"_pragma": {"trusted_schema(0)", "cell_size_check(1)"},
	})
	if err != nil {
		return nil, err
	}
	s.readOnly, s.foreign = true, true
	err = s.read(ctx, func(ctx context.Context, c *sql.Conn) error {
		if err := s.ordinary(ctx, c); err != nil {
			return err
		}
		return s.quickCheck(ctx, c)
	})
	if err != nil {
		s.db.Close()
		return nil, err
	}
	return s, nil
}

// limits bound what SQLite does with a file of somebody else's.
var limits = map[int]int{
	sqlite3.SQLITE_LIMIT_LENGTH:        64 << 20, // bytes of a record; that of a run has its workloads
	sqlite3.SQLITE_LIMIT_SQL_LENGTH:    100_000,
	sqlite3.SQLITE_LIMIT_COLUMN:        200,
	sqlite3.SQLITE_LIMIT_EXPR_DEPTH:    50,
	sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
	sqlite3.SQLITE_LIMIT_ATTACHED:      0,
}

func limit(c *sql.Conn) error {
	for id, n := range limits {
		if _, err := sqlite.Limit(c, id, n); err != nil {
			return err
		}
	}
	return nil
}

// read columns of each table. Older stores have no profiles.
var columnsRead = map[string][]string{
	"runs":     {"run_id", "seed", "json"},
	"cases":    {"run_id", "case_id", "json"},
	"trials":   {"run_id", "trial_id", "case_id", "json"},
	"samples":  {"run_id", "trial_id", "sample_id", "json"},
	"warnings": {"run_id", "trial_id", "warning_id", "json"},
	"profiles": {"run_id", "case_id", "json"},
}

// ordinary returns an error unless the tables that are read are ordinary tables whose
// columns are stored.
func (s *Store) ordinary(ctx context.Context, c *sql.Conn) error {
	bad := func(format string, args ...any) error {
		return refuse(s.path, fmt.Errorf(format+": its tables are not those of a store", args...))
	}
	found := map[string]bool{}
	err := scan(ctx, c, `SELECT type, name, coalesce(sql, '') FROM sqlite_schema`, func(rows *sql.Rows) error {
		var typ, name, text string
		if err := rows.Scan(&typ, &name, &text); err != nil {
			return err
		}
		words := strings.Fields(strings.ToUpper(text))
		if typ == "table" && len(words) > 1 && words[1] == "VIRTUAL" {
			return bad("it has a virtual table")
		}
		name = strings.ToLower(name)
		if _, read := columnsRead[name]; !read {
			return nil
		}
		if typ != "table" {
			return bad("its %s is a %.10s", name, typ)
		}
		found[name] = true
		return nil
	})
	if err != nil {
		return err
	}
	for table, wanted := range columnsRead {
		if !found[table] {
			if table == "profiles" {
				continue
			}
			return bad("it has no table %s", table)
		}
		var stored []string
		err := scan(ctx, c, `SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0`, func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			stored = append(stored, strings.ToLower(name))
			return err
		}, table)
		if err != nil {
			return err
		}
		for _, name := range wanted {
			if !slices.Contains(stored, name) {
				return bad("its table %s has no stored column %s", table, name)
			}
		}
	}
	return nil
}
