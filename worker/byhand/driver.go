package byhand

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Driver returns the program as a driver that package worker can run.
func (p Program) Driver() worker.Hand { return hand{p} }

type hand struct{ program Program }

const onlyItsWork = "a program written by hand does the workloads simple and complex, and nothing else"

func (h hand) Info() driver.Info {
	info := h.program.Info
	info.Limits = map[string]string{"job": onlyItsWork}
	return info
}

func (h hand) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	d, err := h.program.Open(path)
	if err != nil {
		return nil, err
	}
	db := &database{d}
	for _, pragma := range s.Pragmas() {
		if err := db.Script(ctx, pragma); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return db, nil
}

// tables are the tables of the workload complex.yaml, in the order in which a program fills them.
// The workload simple.yaml has only the table "users".
var tables = []string{"users", "articles", "comments"}

// Check returns an error unless a hand-written program can do the plan. It can do the plans of the
// workloads simple.yaml and complex.yaml, and the plan of package addedcost.
func (h hand) Check(req *protocol.Request) error {
	if n := req.Settings.Connections(); n != 1 {
		return fmt.Errorf("settings: a program written by hand has one connection, and cannot have %d", n)
	}
	users := req.Plan.DataSet("users")
	known := users != nil && req.Load+req.Loaded == 0 && !slices.ContainsFunc(req.Plan.Phases, func(p plan.Phase) bool {
		return p.Untimed || p.Context == "cancellable" || !knows(&p, users.Total)
	})
	if !known {
		return errors.New(onlyItsWork)
	}
	return nil
}

// The function "knows" reports whether a program can do the phase exactly as the plan describes it.
func knows(p *plan.Phase, users int64) bool {
	switch {
	case p.Insert != nil:
		in := *p.Insert
		in.Verify = nil
		return reflect.DeepEqual(in, plan.Insert{Sets: tables[:1], Transaction: "one", RowsPerStatement: 1}) ||
			reflect.DeepEqual(in, plan.Insert{Sets: tables, Transaction: "set", RowsPerStatement: 1})
	case p.Query != nil:
		q := p.Query
		return (sameSQL(q.SQL, SelectUsers) || sameSQL(q.SQL, SelectAll)) && q.ForEach == "" && q.Repeat == 1 && q.Clients == 1 && !q.AdHoc
	case p.Mix != nil:
		return reflect.DeepEqual(p.Mix, Mix(p.Mix.Count, users)) || reflect.DeepEqual(p.Mix, Transactions(p.Mix.Count, users))
	}
	return false
}

func sameSQL(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// Perform runs a phase with the program's own loops.
func (h hand) Perform(db driver.DB, req *protocol.Request, gen *plan.Gen, p *plan.Phase, s *protocol.Sample, w *worker.Stopwatch) error {
	d, brief := db.(*database).Database, slices.Contains(req.Brief, p.Name)
	switch {
	case p.Insert != nil:
		blog, err := rows(gen, req.Plan, p.Insert.Sets)
		if err != nil {
			return err
		}
		s.Rows = int64(len(blog.Users) + len(blog.Articles) + len(blog.Comments))
		s.Operations = s.Rows
		return d.Insert(w, blog)
	case p.Query != nil:
		return query(d, p.Query, brief, s, w)
	}
	k, ok := d.(KeyDatabase)
	if !ok {
		return errors.New(onlyItsWork)
	}
	return mix(k, gen, p, brief, s, w)
}

// query runs the query and times it. Unless the parameter "brief" is true, it runs the query once
// more for the checksum.
func query(d Database, q *plan.Query, brief bool, s *protocol.Sample, w *worker.Stopwatch) (err error) {
	run := func(w *worker.Stopwatch, h *plan.Hash) (int64, error) { return d.Users(w, hashUsers(h)) }
	if sameSQL(q.SQL, SelectAll) {
		b, ok := d.(BlogDatabase)
		if !ok {
			return errors.New(onlyItsWork)
		}
		run = func(w *worker.Stopwatch, h *plan.Hash) (int64, error) { return b.All(w, hashAll(h, q.Columns)) }
	}
	s.Operations = 1
	if s.Rows, err = run(w, nil); err != nil || brief {
		return err
	}
	var h plan.Hash
	if _, err = run(new(worker.Stopwatch), &h); err == nil {
		s.Checksum = h.Sum()
	}
	return err
}

// hashUsers returns a function that adds a user to the checksum h, or nil if h is nil.
func hashUsers(h *plan.Hash) func(*User) {
	if h == nil {
		return nil
	}
	row := make(driver.Row, len(userColumns))
	return func(u *User) {
		row[0].Int, row[1].Time, row[2].Text, row[3].Bool = u.ID, u.Created, u.Email, u.Active
		h.Row(row, userColumns)
	}
}

// hashAll returns a function that adds a row of [SelectAll] to the checksum h, or nil if h is
// nil.
func hashAll(h *plan.Hash, columns []driver.ColumnType) func(user *User, article, comment *Post) {
	if h == nil {
		return nil
	}
	return func(u *User, a, c *Post) {
		h.Row(driver.Row{
			{Int: u.ID}, {Time: u.Created}, {Text: u.Email}, {Bool: u.Active},
			{Int: a.ID}, {Time: a.Created}, {Int: a.Parent}, {Text: a.Text},
			{Int: c.ID}, {Time: c.Created}, {Int: c.Parent}, {Text: c.Text},
		}, columns)
	}
}

// mixVerified is how many operations are run to verify a mix, as in package worker.
const mixVerified = 1000

// mix runs a mix that has one operation. To verify reads, it runs some of them before the clock
// starts, as package worker does. It verifies transactions while they are timed, because the
// program cannot roll them back.
func mix(d KeyDatabase, gen *plan.Gen, p *plan.Phase, brief bool, s *protocol.Sample, w *worker.Stopwatch) error {
	o, n := &p.Mix.Operations[0], p.Mix.Count
	var b driver.Batch
	if err := gen.FillParameters(&b, p.Name+"."+o.Name, o.Calls[0].Parameters, "", 0, 1, int(n)); err != nil {
		return err
	}
	ids := b.Columns[0].Ints
	var h plan.Hash
	run, see := d.Mix, hashUsers(&h)
	if o.Transaction {
		run = d.Transactions
	} else if !brief {
		if _, err := run(new(worker.Stopwatch), ids[:min(mixVerified, len(ids))], see); err != nil {
			return err
		}
	}
	if brief || !o.Transaction {
		see = nil
	}
	var err error
	if s.Rows, err = run(w, ids, see); err != nil {
		return err
	}
	s.Operations = n
	if !brief {
		s.Checksum = h.Sum()
	}
	return nil
}

// The function "rows" generates the rows of data sets. The texts of a column share memory, as in
// package worker, so that the garbage collector has as much work with a hand-written program as
// with a driver.
func rows(gen *plan.Gen, p *plan.Plan, sets []string) (*Blog, error) {
	blog := &Blog{}
	for _, set := range sets {
		var b driver.Batch
		total := p.DataSet(set).Total
		if err := gen.Fill(&b, set, 0, total); err != nil {
			return nil, err
		}
		c := b.Columns
		for r := range int(total) {
			id, created := c[0].Ints[r], time.UnixMilli(c[1].Ints[r])
			switch set {
			case "users":
				blog.Users = append(blog.Users, User{id, created, c[2].Text(r), c[3].Ints[r] != 0})
			case "articles":
				blog.Articles = append(blog.Articles, Post{id, created, c[2].Ints[r], c[3].Text(r)})
			case "comments":
				blog.Comments = append(blog.Comments, Post{id, created, c[2].Ints[r], c[3].Text(r)})
			}
		}
	}
	return blog, nil
}

// database lets package worker run statements without parameters on a program's connection, outside
// the timed part. database is both the pool and its only connection.
type database struct{ Database }

func (d *database) Script(_ context.Context, sql string) error {
	for statement := range driver.Statements(sql) {
		if err := d.Read(statement, 0, func([]string) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) Prepare(_ context.Context, st driver.Statement) (driver.Stmt, error) {
	return &statement{d, st}, nil
}

func (d *database) Begin(context.Context) (driver.Tx, error) { return nil, errors.New(onlyItsWork) }

func (d *database) Conn(context.Context) (driver.Conn, error) { return taken{d}, nil }

// taken is the program's only connection while package worker uses it. Its method Close leaves the
// connection open.
type taken struct{ *database }

func (taken) Close() error { return nil }

type statement struct {
	db *database
	driver.Statement
}

func (st *statement) Exec(ctx context.Context, _ *driver.Batch, _, _ int) error {
	return st.db.Script(ctx, st.SQL)
}

func (st *statement) ExecResult(context.Context, *driver.Batch, int) (driver.Result, error) {
	return nil, errors.New(onlyItsWork)
}

func (st *statement) Close() error { return nil }

func (st *statement) Query(_ context.Context, _ *driver.Batch, _ int, visit func(driver.Row) error) error {
	row := make(driver.Row, len(st.Columns))
	return st.db.Read(st.SQL, len(row), func(values []string) error {
		for i, v := range values {
			row[i] = driver.Cell{Text: v}
			if typ := st.Columns[i].Type; typ != driver.Text {
				n, err := strconv.ParseInt(v, 10, 64)
				if err != nil {
					return fmt.Errorf("column %d holds %q, want %v", i+1, v, typ)
				}
				row[i] = driver.Cell{Int: n, Time: time.UnixMilli(n), Bool: n != 0}
			}
		}
		return visit(row)
	})
}
