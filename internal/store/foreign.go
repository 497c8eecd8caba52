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

// OpenForeign opens a copy of somebody else's store for reading. The copy is at path, but the user knows the
// store by another name, which is the parameter "name". Errors contain that name instead of the path. The copy
// must not change while it is open, and must have no journal or write-ahead log.
//
// SQLite first checks the whole file, whatever its size. OpenForeign neither upgrades the file nor writes to
// it.
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
		if err := c.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&s.version); err != nil {
			return err
		}
		if err := s.ordinary(ctx, c, migrations[:min(max(s.version, 0), len(migrations))]); err != nil {
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

// limits has limits for SQLite, because somebody else may have made the file.
var limits = map[int]int{
	sqlite3.SQLITE_LIMIT_LENGTH:        64 << 20, // bytes of a record; the record of a run has the texts of its workloads
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

// object is a row of sqlite_schema. It describes a table, index, view or trigger.
type object struct {
	typ, name, table, text string
	virtual                bool
}

// objects lists the tables, indexes, views and triggers of a database.
func objects(ctx context.Context, c *sql.Conn) (list []object, err error) {
	err = scan(ctx, c, `SELECT type, lower(name), lower(tbl_name), coalesce(sql, ''), type = 'table' AND coalesce(rootpage, 0) = 0 FROM sqlite_schema`, func(rows *sql.Rows) error {
		var o object
		err := rows.Scan(&o.typ, &o.name, &o.table, &o.text, &o.virtual)
		o.text = strings.Join(strings.Fields(o.text), " ")
		list = append(list, o)
		return err
	})
	return list, err
}

// original returns the tables and indexes that the migrations create in an empty database.
func original(ctx context.Context, migrations []string) (list []object, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, m := range migrations {
		if _, err := c.ExecContext(ctx, m); err != nil {
			return nil, err
		}
	}
	list, err = objects(ctx, c)
	return slices.DeleteFunc(list, func(o object) bool { return o.typ != "table" && o.typ != "index" }), err
}

// ordinary returns an error if the store's schema breaks a rule. The store must have the tables and indexes
// that the migrations create, unchanged. These tables may have no other indexes, and the store may have no
// triggers or virtual tables. With these rules, no SQL that somebody else put into the file can run, for
// example in a trigger, in a computed column, or in a view with the name of a table. Additional tables and
// views are allowed, because they are never read. PRAGMA functions are not used, because a view could have
// the name of such a function.
func (s *Store) ordinary(ctx context.Context, c *sql.Conn, migrations []string) error {
	bad := func(format string, args ...any) error {
		return refuse(s.path, fmt.Errorf(format+": its tables are not those of a store", args...))
	}
	wanted, err := original(ctx, migrations)
	if err != nil {
		return err
	}
	found, err := objects(ctx, c)
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, o := range wanted {
		ours[o.table] = true
		i := slices.IndexFunc(found, func(f object) bool { return f.name == o.name })
		switch {
		case i < 0:
			return bad("it has no %s %s", o.typ, o.name)
		case found[i].typ != o.typ:
			return bad("its %s is a %.10s", o.name, found[i].typ)
		case found[i] != o:
			return bad("its %s %s is another one", o.typ, o.name)
		}
	}
	for _, o := range found {
		switch {
		case o.typ == "trigger":
			return bad("it has the trigger %.40q", o.name)
		case o.virtual:
			return bad("it has a virtual table")
		case o.typ == "index" && ours[o.table] && !slices.Contains(wanted, o):
			return bad("it has the index %.40q", o.name)
		}
	}
	return nil
}
