package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// failureChecks returns the checks in which a worker must fail a trial and give the reason.
func failureChecks() []Check {
	table := yaml("failing")
	return []Check{
		{Name: "failures/too few rows", test: gives(protocol.CodeRows, "query", table+"  - {name: query, query: SELECT id FROM t, columns: [int], expect: {rows: 6}}\n")},
		{Name: "failures/too many rows", test: gives(protocol.CodeRows, "query", table+"  - {name: query, query: SELECT id FROM t, columns: [int], expect: {rows: 4}}\n")},
		{Name: "failures/an error of SQLite", test: gives(protocol.CodeSQLite, "fails", table+"  - {name: fails, script: INSERT INTO t (id) VALUES (1)}\n")},
		{Name: "failures/an integer in a text column", test: gives(protocol.CodeType, "query", table+"  - {name: query, query: SELECT id FROM t, columns: [text]}\n")},
		{Name: "failures/a text in an int column", test: gives(protocol.CodeType, "query", table+"  - {name: query, query: SELECT word FROM t, columns: [int]}\n")},
		{Name: "failures/NULL in a column without", test: gives(protocol.CodeType, "query", table+"  - {name: query, query: \"SELECT nullif(id, 3) FROM t\", columns: [int]}\n")},
		{Name: "failures/another class in a mix", test: gives(protocol.CodeType, "mix", table+"  - {name: mix, count: 10, mix: [{name: a, sql: SELECT id FROM t, columns: text}]}\n")},
		{Name: "failures/a plan that cannot be run", test: refusesPlan},
		{Name: "failures/SQL that reaches other files", test: refusesFiles},
		{Name: "failures/SQL that may reach other files", Needs: driver.LimitFiles, test: allowsFiles},
	}
}

// gives returns a check that runs a trial of a workload. The parameter "text" is the workload. The trial must
// fail with this code, in this phase.
func gives(code, phase, text string) func(context.Context, *Subject) error {
	return func(ctx context.Context, s *Subject) error {
		h, err := s.askTrial(ctx, text, nil)
		switch a := h.last(); {
		case err != nil:
			return fmt.Errorf("%w: want the answer failed with the code %s, and exit status 0", err, code)
		case a.Type != protocol.TypeFailed || a.Reason == nil || a.Reason.Code != code:
			return fmt.Errorf("the last answer is %s, %s: want failed with reason.code %s", a.Type, codeOf(a.Reason), code)
		case a.Reason.Phase != phase:
			return fmt.Errorf("failed with reason.phase %q: want %s", a.Reason.Phase, phase)
		case code == protocol.CodeSQLite && !strings.HasPrefix(a.Reason.Message, "SQLITE_CONSTRAINT"):
			return fmt.Errorf("failed with reason.message %q: want one that begins with the name of the extended code, SQLITE_CONSTRAINT_PRIMARYKEY", a.Reason.Message)
		case code == protocol.CodeSQLite && a.Reason.SQLite != 0 && a.Reason.SQLite&0xff != driver.CodeConstraint:
			return fmt.Errorf("failed with reason.sqlite %d: want the extended code of the error, 1555 for SQLITE_CONSTRAINT_PRIMARYKEY", a.Reason.SQLite)
		case code == protocol.CodeType && a.Reason.Column > 1:
			return fmt.Errorf("failed with reason.column %d: want 1, the number of the column", a.Reason.Column)
		}
		return nil
	}
}

// reachingOut runs a trial with the SQL in the parameter "sql". FILE in this SQL stands for the path of a file
// next to the database. If the parameter inSchema is true, the SQL is added to the schema, otherwise it is a
// script. If the parameter "allowed" is true, the plan permits SQL that reaches other files. reachingOut
// returns the worker's last response, and whether the file exists afterwards.
func (s *Subject) reachingOut(ctx context.Context, sql string, inSchema, allowed bool) (a protocol.Response, there bool, err error) {
	err = s.inDirectory(ctx, func(ctx context.Context, s *Subject) error {
		file := filepath.Join(s.Dir, "other.db")
		sql := strings.ReplaceAll(sql, "FILE", "'"+strings.ReplaceAll(file, "'", "''")+"'")
		h, err := s.askTrial(ctx, simplest, nil, func(req *protocol.Request) {
			p := *req.Plan
			req.Plan, p.Files = &p, allowed
			if inSchema {
				p.Schema += ";\n" + sql
			} else {
				p.Phases = append(slices.Clone(p.Phases), plan.Phase{Name: "reaches", Script: sql})
			}
		})
		_, serr := os.Stat(file)
		a, there = h.last(), serr == nil
		return err
	})
	return a, there, err
}

// reaching contains scripts that create a file other than the database. In some of them, SQLite reads a quote
// as a part of a parameter's name. To a parser that does not know this, the statement that creates the file
// looks like a part of a string.
var reaching = []string{
	"ATTACH FILE AS other; CREATE TABLE other.owned (a)", "VACUUM INTO FILE", "SELECT $a::('); ATTACH FILE AS other; CREATE TABLE other.owned (a); --')",
	"SELECT @a::('); ATTACH FILE AS other; CREATE TABLE other.owned (a); --'", "VACUUM; ATTACH FILE AS other; CREATE TABLE other.owned (a)",
}

func refusesFiles(ctx context.Context, s *Subject) error {
	for i, sql := range reaching {
		a, there, err := s.reachingOut(ctx, sql, i%2 == 0, false)
		switch {
		case there:
			return fmt.Errorf("plan.files is not set, and %s made that file: set SQLITE_LIMIT_ATTACHED to 0 on each connection", sql)
		case err != nil:
			return err
		case a.Type != protocol.TypeFailed:
			return fmt.Errorf("plan.files is not set, and %s did not fail: the last answer is %s", sql, a.Type)
		}
	}
	return nil
}

func allowsFiles(ctx context.Context, s *Subject) error {
	for i, sql := range reaching[:2] {
		a, there, err := s.reachingOut(ctx, sql, i%2 == 0, true)
		switch {
		case err != nil:
			return err
		case a.Type != protocol.TypeDone || !there:
			return fmt.Errorf("plan.files is true, and %s did not make that file: the last answer is %s, %s", sql, a.Type, codeOf(a.Reason))
		}
	}
	return nil
}

// refusesPlan checks that the worker refuses invalid plans, although a run never sends such plans.
func refusesPlan(ctx context.Context, s *Subject) error {
	for field, change := range map[string][2]string{
		"plan.phases[0].insert.sets":                {`"sets":["t"]`, `"sets":["nobody"]`},
		"plan.phases[1].query.clients":              {`"clients":1`, `"clients":0`},
		"plan.phases[0].insert.transaction":         {`"transaction":"one"`, `"transaction":"sometimes"`},
		"plan.phases[0].insert.rows_per_statement":  {`"rows_per_statement":1`, `"rows_per_statement":0`},
		"plan.data_sets[0].total, beside its count": {`"total":10`, `"total":11`},
	} {
		line, err := s.request(simplest)
		if err != nil {
			return err
		}
		text := strings.Replace(string(line), change[0], change[1], 1)
		if text == string(line) {
			return fmt.Errorf("the request has no %s to change", change[0])
		}
		h, err := s.ask(ctx, []byte(text), nil)
		switch a := h.last(); {
		case err != nil:
			return fmt.Errorf("%s is wrong: %w", field, err)
		case a.Type != protocol.TypeFailed || a.Reason == nil || a.Reason.Code != protocol.CodePlan:
			return fmt.Errorf("%s is wrong (%s), and the last answer is %s, %s: want failed with reason.code plan before the database is opened", field, change[1], a.Type, codeOf(a.Reason))
		}
		for _, a := range h.answers {
			if a.Type == protocol.TypeReady {
				return fmt.Errorf("%s is wrong (%s), and the database was opened first: look at the plan before", field, change[1])
			}
		}
	}
	return nil
}
