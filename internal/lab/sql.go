package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// checkLimit is the time limit for each script that [CheckSQL] runs. A script may fill tables.
const checkLimit = time.Second

// Limits of the SQLite with which [CheckSQL] checks SQL. SQL that exceeds them is not checked here; the
// drivers report its errors.
const (
	checkLength  = 1 << 20  // limit in bytes for a text, blob or row
	checkPattern = 20       // limit in bytes for a LIKE pattern, because the time can grow exponentially with its length
	checkMemory  = 64 << 20 // limit in bytes for the database
)

// stuckLimit is the time limit for a check of all SQL of a plan. It exists because SQLite can be interrupted
// between two steps of a statement, but not within an SQL function.
var stuckLimit = 30 * time.Second

// CheckSQL makes SQLite compile every statement of a plan, on an empty database in memory with the plan's
// schema. So it finds mistakes in a user's SQL before any worker starts.
//
// Some SQL is left to the drivers, because its errors may not be the user's mistakes:
//   - SQL that exceeds the limits of this check, such as checkMemory
//   - SQL for another database
//   - SQL that fails because there are no rows
//   - SQL that needs a function, module or collation that this SQLite lacks
//
// The error gives the position of the SQL in the workload's file.
func CheckSQL(w *workload.Workload, p *plan.Plan) error { return checkSQL(w, p, nil) }

// maxSQLError is the limit in bytes for an error about SQL.
const maxSQLError = 600

// visitor is called for each phase after its SQL was compiled. The database then has the schema with which
// the phase begins. If the phase is a script, the database has the schema that the script leaves.
type visitor func(context.Context, *sql.Conn, *plan.Phase) error

// checkSQL does what CheckSQL does. If the parameter "visit" is not nil, it also calls this function for each
// phase.
func checkSQL(w *workload.Workload, p *plan.Plan, visit visitor) error {
	var phase string
	var at place
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		phase, at, err = compileAll((&Case{Source: w}).begins(), p, visit)
	}()
	select {
	case <-ended:
	case <-time.After(stuckLimit):
		return fmt.Errorf("workload %s: compiling its SQL and running its scripts on an empty database did not end within %v: look for a function that takes that long", w.Name, stuckLimit)
	}
	if err == nil {
		return nil
	}
	words := err.Error()
	if len(words) > maxSQLError { // an error of SQLite can quote a name of any length
		words = strings.ToValidUTF8(words[:maxSQLError], "") + "…"
	}
	return fmt.Errorf("%s: %s", w.Place(phase, at.operation, at.statement, at.line), words)
}

// compileAll compiles a plan's SQL on a database on which it first runs the statements in the parameter
// "begin". If there is an error, the result "phase" is the name of the phase with the error, or "" for the
// schema, and the result "at" is the position of the error in the SQL.
func compileAll(begin []string, p *plan.Plan, visit visitor) (phase string, at place, err error) {
	ctx := context.Background()
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "", at, err
	}
	defer pool.Close()
	db, err := pool.Conn(ctx) // only one connection, because each connection has its own database in memory
	if err != nil {
		return "", at, err
	}
	defer db.Close()
	// With these limits, ATTACH and VACUUM INTO fail, so the check cannot write files.
	for id, most := range map[int]int{
		sqlite3.SQLITE_LIMIT_ATTACHED: 0, sqlite3.SQLITE_LIMIT_LENGTH: checkLength, sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: checkPattern,
	} {
		if _, err := sqlite.Limit(db, id, most); err != nil {
			return "", at, err
		}
	}
	c := &sqlCheck{ctx: ctx, db: db, plan: p}
	if !c.begin(begin) {
		return "", at, nil
	}
	if p.Schema != "" {
		if err := c.run(p.Schema); foreign(err) {
			return "", at, nil // without the schema nothing else can be checked
		} else if err != nil {
			return "", c.at, fmt.Errorf("schema: %w", err)
		}
	}
	for i := range p.Phases {
		ph := &p.Phases[i]
		err := c.phase(ph)
		if ph.Script != "" && foreign(err) {
			return "", at, nil // later phases may need what the script creates
		}
		if err == nil && visit != nil {
			err = visit(ctx, db, ph)
		}
		if err != nil {
			return ph.Name, c.at, fmt.Errorf("phase %s: %w", ph.Name, err)
		}
	}
	return "", at, nil
}

// place is the position of a mistake: the indexes of an operation and a statement in a mix,
// and the line of the SQL, as [workload.Workload.Place] takes them.
type place struct{ operation, statement, line int }

// sqlCheck compiles a plan's statements on a database in memory.
type sqlCheck struct {
	ctx  context.Context
	db   *sql.Conn
	plan *plan.Plan
	at   place // position of the statement compiled last
}

// begin creates the schema of a user's database. It returns false if that fails, for example because this
// SQLite lacks a module, function or collation of the user's application. Without the schema nothing can be
// checked.
func (c *sqlCheck) begin(schema []string) bool {
	ctx, cancel := context.WithTimeout(c.ctx, checkLimit)
	defer cancel()
	for _, statement := range schema {
		_, err := c.db.ExecContext(ctx, statement)
		if err != nil && !strings.Contains(err.Error(), "already exists") { // creating a virtual table may have created this table already
			return false
		}
	}
	return true
}

func (c *sqlCheck) run(script string) error {
	ctx, cancel := context.WithTimeout(c.ctx, checkLimit)
	defer cancel()
	script = strings.TrimSpace(script)
	for rest := driver.TrimScript(script); rest != ""; rest = driver.TrimScript(rest) {
		statement := rest[:driver.StatementLen(rest)]
		if err := c.limitMemory(ctx); err != nil {
			return err
		}
		if _, err := c.db.ExecContext(ctx, statement); err != nil {
			c.at.line = strings.Count(strings.TrimSuffix(script, rest), "\n") + c.errorLine(statement, 0, err)
			return err
		}
		rest = rest[len(statement):]
	}
	return nil
}

// limitMemory limits the size of the database. It is called before each statement, because the previous
// statement may have changed the limit or the page size.
func (c *sqlCheck) limitMemory(ctx context.Context) error {
	for _, schema := range []string{"main", "temp"} {
		var size int
		if err := c.db.QueryRowContext(ctx, "PRAGMA "+schema+".page_size").Scan(&size); err != nil {
			return err
		}
		if _, err := c.db.ExecContext(ctx, fmt.Sprintf("PRAGMA %s.max_page_count = %d", schema, checkMemory/size)); err != nil {
			return err
		}
	}
	return nil
}

// errorLine returns the line of a statement that has a syntax error. Lines are counted from 0. If the line is
// not known, errorLine returns 0. The driver does not report the line, so errorLine looks for the smallest
// number of first lines that gives the same error.
func (c *sqlCheck) errorLine(statement string, parameters int, err error) int {
	if !strings.Contains(err.Error(), "syntax error") {
		return 0
	}
	lines := strings.SplitAfter(statement, "\n")
	line := sort.Search(len(lines), func(i int) bool {
		_, e := explain(c.ctx, c.db, strings.Join(lines[:i+1], ""), parameters)
		return e != nil && e.Error() == err.Error()
	})
	return line % len(lines)
}

// compile compiles a statement. It returns the number of columns of its rows, or -1 if that is not
// known. It ignores an error that may not be the user's mistake (see the function "foreign"), and
// then returns -1.
func (c *sqlCheck) compile(statement string, parameters int) (columns int, err error) {
	columns, err = explain(c.ctx, c.db, statement, parameters)
	if foreign(err) {
		return -1, nil
	}
	if err != nil {
		c.at.line = c.errorLine(statement, parameters, err)
	}
	return columns, err
}

func (c *sqlCheck) call(call *plan.Call) error {
	if call.SQL == "" {
		return nil
	}
	n, err := c.compile(call.SQL, len(call.Parameters))
	switch {
	case err != nil, n < 0, len(call.Columns) == 0, n == len(call.Columns):
		return err
	case n == 0:
		return fmt.Errorf("it returns no rows, and columns lists %d: write it as a script, or in a mix without columns", len(call.Columns))
	}
	return fmt.Errorf("its rows have %d columns, and columns lists %d: write one type for each", n, len(call.Columns))
}

func (c *sqlCheck) phase(ph *plan.Phase) error {
	switch {
	case ph.Insert != nil:
		for _, name := range ph.Insert.Sets {
			statement, parameters := c.plan.DataSet(name).InsertSQL(1)
			if _, err := c.compile(statement, len(parameters)); err != nil {
				return err
			}
		}
		return nil
	case ph.Query != nil:
		return c.call(&ph.Query.Call)
	case ph.HTTP != nil:
		return c.call(&ph.HTTP.Call)
	case ph.Replay != nil: // the application may have run wrong statements, which are replayed too
		return nil
	case ph.Mix != nil:
		for i := range ph.Mix.Operations {
			o := &ph.Mix.Operations[i]
			for j := range o.Calls {
				c.at = place{i, j, 0}
				if err := c.call(&o.Calls[j].Call); err != nil {
					return fmt.Errorf("operation %s: %w", o.Name, err)
				}
			}
		}
		return nil
	}
	return c.run(ph.Script)
}

// explain compiles a statement and returns the number of columns of its rows. It takes the
// number from the program of SQLite's virtual machine (https://www.sqlite.org/opcode.html).
// It returns 0 if the statement returns no rows, and -1 for a PRAGMA whose program does not
// show the columns.
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

var unknown = regexp.MustCompile(`no such (function|module|collation sequence|vfs)|too many attached databases|pattern too complex|unsupported`)

// foreign reports whether a driver may succeed in spite of an error, because the error may be due to this
// SQLite or to the limits of this check. Errors in the statement itself have the code SQLITE_ERROR.
func foreign(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return err != nil && (!ok || e.Code() != sqlite3.SQLITE_ERROR || unknown.MatchString(err.Error()))
}
