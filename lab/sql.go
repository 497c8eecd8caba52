package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/workload"
)

// checkLimit is how long each script may run, which may have tables to fill.
const checkLimit = time.Second

// CheckSQL has SQLite compile every statement of a plan, on an empty database in
// memory with the plan's schema, so that a slip in a user's SQL is found before
// any worker is started. What another SQLite may know that this one does not (a
// function, a module, a collation), other databases, what fails for want of rows
// and a script that takes longer than checkLimit are left to the drivers.
//
// The error says where in the workload's file the SQL is.
func CheckSQL(w *workload.Workload, p *plan.Plan) error { return checkSQL(w, p, nil) }

// maxSQLError is the most bytes of an error about SQL.
const maxSQLError = 600

// visitor is called for each phase whose SQL has been compiled, with the database as
// it is when the phase begins, or, of a script, when it has run.
type visitor func(context.Context, *sql.Conn, *plan.Phase) error

// checkSQL is CheckSQL with a visitor, which may be nil.
func checkSQL(w *workload.Workload, p *plan.Plan, visit visitor) error {
	phase, err := compileAll(p, visit)
	if err == nil {
		return nil
	}
	words := err.Error()
	if len(words) > maxSQLError { // SQLite quotes names however long they are
		words = strings.ToValidUTF8(words[:maxSQLError], "") + "…"
	}
	return fmt.Errorf("%s: %s", w.Place(phase), words)
}

// compileAll says of which phase an error is, "" of the schema.
func compileAll(p *plan.Plan, visit visitor) (phase string, err error) {
	ctx := context.Background()
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "", err
	}
	defer pool.Close()
	db, err := pool.Conn(ctx) // each has a database of its own
	if err != nil {
		return "", err
	}
	defer db.Close()
	// The check writes no file: no ATTACH, no VACUUM INTO.
	if _, err := sqlite.Limit(db, sqlite3.SQLITE_LIMIT_ATTACHED, 0); err != nil {
		return "", err
	}
	run := func(script string) error {
		ctx, cancel := context.WithTimeout(ctx, checkLimit)
		defer cancel()
		_, err := db.ExecContext(ctx, script)
		return err
	}
	if p.Schema != "" {
		if err := run(p.Schema); foreign(err) {
			return "", nil // without its schema nothing else can be checked
		} else if err != nil {
			return "", fmt.Errorf("schema: %w", err)
		}
	}
	// compile returns how many columns the statement's rows have; -1: it is not known.
	compile := func(statement string, parameters int) (columns int, err error) {
		columns, err = explain(ctx, db, statement, parameters)
		if foreign(err) {
			return -1, nil
		}
		return columns, err
	}
	call := func(c *plan.Call) error {
		if c.SQL == "" {
			return nil
		}
		n, err := compile(c.SQL, len(c.Parameters))
		switch {
		case err != nil, n < 0, len(c.Columns) == 0, n == len(c.Columns):
			return err
		case n == 0:
			return fmt.Errorf("it returns no rows, and columns lists %d: write it as a script, or in a mix without columns", len(c.Columns))
		}
		return fmt.Errorf("its rows have %d columns, and columns lists %d: write one type for each", n, len(c.Columns))
	}
	for i := range p.Phases {
		ph := &p.Phases[i]
		var err error
		switch {
		case ph.Insert != nil:
			for _, name := range ph.Insert.Sets {
				if err == nil {
					statement, parameters := p.DataSet(name).InsertSQL(1)
					_, err = compile(statement, len(parameters))
				}
			}
		case ph.Query != nil:
			err = call(&ph.Query.Call)
		case ph.HTTP != nil:
			err = call(&ph.HTTP.Call)
		case ph.Mix != nil:
			for j := range ph.Mix.Operations {
				o := &ph.Mix.Operations[j]
				for k := range o.Calls {
					if e := call(&o.Calls[k].Call); err == nil && e != nil {
						err = fmt.Errorf("operation %s: %w", o.Name, e)
					}
				}
			}
		default: // what comes after it may need what it makes
			if err = run(ph.Script); foreign(err) {
				return "", nil
			}
		}
		if err == nil && visit != nil {
			err = visit(ctx, db, ph)
		}
		if err != nil {
			return ph.Name, fmt.Errorf("phase %s: %w", ph.Name, err)
		}
	}
	return "", nil
}

// explain compiles a statement and returns how many columns its rows have, which
// the program of SQLite's virtual machine tells (https://www.sqlite.org/opcode.html);
// 0: it gives no rows; -1, of a PRAGMA: it does not tell.
func explain(ctx context.Context, db *sql.Conn, statement string, parameters int) (columns int, err error) {
	rows, err := db.QueryContext(ctx, "EXPLAIN "+statement, make([]any, parameters)...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var opcode string
		var p2 int
		var other any
		if err := rows.Scan(&other, &opcode, &other, &p2, &other, &other, &other, &other); err != nil {
			return 0, err
		}
		if opcode == "ResultRow" {
			columns = p2
		}
	}
	if columns == 0 && strings.EqualFold(statement[:min(len(statement), len("PRAGMA"))], "PRAGMA") {
		columns = -1
	}
	return columns, rows.Err()
}

var unknown = regexp.MustCompile(`no such (function|module|collation sequence|vfs)|too many attached databases|unsupported`)

// foreign says that an error may be of this SQLite, or of this check, only: a
// statement that SQLite does not understand is SQLITE_ERROR.
func foreign(err error) bool {
	var e *sqlite.Error
	return err != nil && (!errors.As(err, &e) || e.Code() != sqlite3.SQLITE_ERROR || unknown.MatchString(err.Error()))
}
