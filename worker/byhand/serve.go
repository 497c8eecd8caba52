package byhand

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Main is the whole main function of a program. It serves one request of the worker
// protocol on standard input and output, and exits.
func Main(p Program) {
	if err := Serve(p, os.Stdin, os.Stdout, func() { os.Exit(1) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Serve reads one request from r and answers on w. The failure of a trial is an answer.
// When r ends during a trial, the lab has gone: Serve removes the database and calls
// abandon.
func Serve(p Program, r io.Reader, w io.Writer, abandon func()) error {
	in := bufio.NewReader(r)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no request: %w", err)
	}
	s := &server{program: p, enc: json.NewEncoder(w), orders: make(chan struct{}, 1)}
	if err := json.Unmarshal(line, &s.req); err != nil {
		return s.fail(protocol.CodeProtocol, fmt.Errorf("request is not understood: %w", err))
	}
	switch {
	case s.req.Protocol != protocol.Version:
		return s.fail(protocol.CodeProtocol, fmt.Errorf("request speaks protocol %d, this program %d", s.req.Protocol, protocol.Version))
	case s.req.Type == protocol.TypeDescribe:
		return s.send(protocol.Response{Type: protocol.TypeInfo, Protocol: protocol.Version, Info: &p.Info, Proof: s.linked()})
	case s.req.Type != protocol.TypeTrial:
		return s.fail(protocol.CodeProtocol, fmt.Errorf("a program written by hand does not serve the request %q", s.req.Type))
	}
	if err := s.check(); err != nil {
		return s.fail(protocol.CodePlan, err)
	}
	if _, err := os.Stat(s.req.Path); err == nil {
		return s.fail(protocol.CodePath, fmt.Errorf("%s exists already: a trial makes its own database", s.req.Path))
	}
	var over sync.Once // the trial, by its last answer or by the end of the lab
	go func() {
		for { // until the lab is gone
			if _, err := in.ReadSlice('\n'); err != nil {
				break
			}
			s.orders <- struct{}{}
		}
		over.Do(func() {
			for _, suffix := range []string{"", "-journal"} {
				os.Remove(s.req.Path + suffix)
			}
			abandon()
		})
	}()
	err = s.trial()
	over.Do(func() {})
	if err != nil {
		return s.fail(protocol.CodeSQLite, err)
	}
	return s.send(protocol.Response{Type: protocol.TypeDone})
}

type server struct {
	program Program
	req     protocol.Request
	enc     *json.Encoder
	orders  chan struct{} // to proceed
	db      Database
	phase   string // under way
}

// wait waits for the trial's turn, if it alternates with another one.
func (s *server) wait() error {
	if !s.req.Alternate {
		return nil
	}
	err := s.send(protocol.Response{Type: protocol.TypeWaiting})
	if err == nil {
		<-s.orders
	}
	return err
}

func (s *server) send(r protocol.Response) error { return s.enc.Encode(r) }

func (s *server) fail(code string, err error) error {
	return s.send(protocol.Response{Type: protocol.TypeFailed, Reason: &protocol.Reason{Code: code, Phase: s.phase, Message: err.Error()}})
}

// tables are the tables that a program knows, in the order in which it inserts them.
var tables = []string{"users", "articles", "comments"}

// check refuses any plan that is neither that of simple nor that of complex.
func (s *server) check() error {
	p := s.req.Plan
	if p == nil || s.req.Path == "" {
		return fmt.Errorf("a trial needs a path and a plan")
	}
	if err := s.req.Check(); err != nil {
		return err
	}
	for name, value := range s.req.Settings {
		if value != Settings[name] {
			return fmt.Errorf("settings: this program has %v, and cannot have %s=%s", Settings, name, value)
		}
	}
	only := fmt.Errorf("a program written by hand does the workloads simple and complex, and nothing else")
	if s.req.Load+s.req.Loaded > 0 || len(p.Phases) != 2 || p.Phases[0].Insert == nil || p.Phases[1].Query == nil {
		return only
	}
	in, q := p.Phases[0].Insert, p.Phases[1].Query
	sets, statement, transaction := tables[:1], SelectUsers, "one"
	if len(in.Sets) > 1 {
		sets, statement, transaction = tables, SelectAll, "set"
	}
	if !slices.Equal(in.Sets, sets) || in.Transaction != transaction || in.RowsPerStatement != 1 || in.AdHoc || in.TimedValues ||
		!slices.Equal(strings.Fields(q.SQL), strings.Fields(statement)) || q.ForEach != "" || q.Repeat != 1 || q.Clients != 1 || q.AdHoc {
		return only
	}
	for _, phase := range p.Phases {
		if phase.Untimed || phase.Context == "cancellable" {
			return only
		}
	}
	return nil
}

func (s *server) trial() (err error) {
	blog, err := rows(s.req.Seed, s.req.Plan)
	if err != nil {
		return err
	}
	if s.db, err = s.program.Open(s.req.Path); err != nil {
		return err
	}
	defer func() {
		if cerr := s.db.Close(); err == nil {
			err = cerr
		}
	}()
	proof := s.linked()
	if err := s.prove(proof); err != nil {
		return err
	}
	if err := s.send(protocol.Response{Type: protocol.TypeReady, Protocol: protocol.Version, Proof: proof}); err != nil {
		return err
	}
	if err := s.db.Exec(s.req.Plan.Schema); err != nil {
		return err
	}
	if err := s.readAgain(); err != nil {
		return err
	}
	for i := range s.req.Plan.Phases {
		p := &s.req.Plan.Phases[i]
		if err := s.wait(); err != nil {
			return err
		}
		s.phase = p.Name
		if err := s.send(protocol.Response{Type: protocol.TypePhase, Phase: p.Name}); err != nil {
			return err
		}
		sample := &protocol.Sample{Phase: p.Name}
		if p.Insert != nil {
			err = s.insert(p.Insert, blog, sample)
			blog = nil // as in the engine, the garbage collector need not look at it during the query
		} else {
			err = s.query(p.Query, sample)
		}
		if err != nil {
			return err
		}
		if fi, err := os.Stat(s.req.Path); err == nil {
			sample.DatabaseBytes = fi.Size()
		}
		if err := s.readAgain(); err != nil {
			return err
		}
		if err := s.send(protocol.Response{Type: protocol.TypeSample, Sample: sample}); err != nil {
			return err
		}
	}
	return s.wait()
}

func (s *server) insert(in *plan.Insert, blog *Blog, sample *protocol.Sample) error {
	var clock Clock
	if err := s.db.Insert(&clock, blog); err != nil {
		return err
	}
	clock.read(sample)
	sample.Rows = int64(len(blog.Users) + len(blog.Articles) + len(blog.Comments))
	sample.Operations = sample.Rows
	if len(in.Verify) == 0 {
		return nil
	}
	answer := protocol.Response{Type: protocol.TypeInserted, Phase: sample.Phase}
	for i := range in.Verify {
		st := in.Verify[i].Query()
		var sum plan.RowSum
		row := make(driver.Row, len(st.Columns))
		err := s.db.Read(st.SQL, func(values []any) error {
			if err := decode(row, values, st.Columns); err != nil {
				return err
			}
			if len(in.Verify[i].Columns) == 0 {
				sum.Rows = row[0].Int
				return nil
			}
			sum.Row(row, st.Columns)
			return nil
		})
		if err != nil {
			return err
		}
		table := protocol.Inserted{Table: in.Verify[i].Table, Rows: sum.Rows}
		if len(in.Verify[i].Columns) > 0 {
			table.Checksum = sum.Sum()
		}
		answer.Tables = append(answer.Tables, table)
	}
	return s.send(answer)
}

// query runs the query with the clock and, unless the request says that an earlier trial
// was verified, once more to compute the checksum.
func (s *server) query(q *plan.Query, sample *protocol.Sample) (err error) {
	run := s.all
	if slices.Equal(s.req.Plan.Phases[0].Insert.Sets, tables[:1]) {
		run = s.users
	}
	var clock Clock
	if sample.Rows, err = run(&clock, nil); err != nil {
		return err
	}
	clock.read(sample)
	sample.Operations = 1
	if slices.Contains(s.req.Brief, sample.Phase) {
		return nil
	}
	var sum plan.Hash
	if _, err := run(new(Clock), func(row driver.Row) { sum.Row(row, q.Columns) }); err != nil {
		return err
	}
	sample.Checksum = sum.Sum()
	return nil
}

// users runs [SelectUsers] and passes each row to see unless that is nil.
func (s *server) users(clock *Clock, see func(driver.Row)) (rows int64, err error) {
	if see == nil {
		return s.db.Users(clock, nil)
	}
	return s.db.Users(clock, func(u *User) {
		see(driver.Row{{Int: u.ID}, {Time: u.Created}, {Text: u.Email}, {Bool: u.Active}})
	})
}

// all runs [SelectAll] in the same way.
func (s *server) all(clock *Clock, see func(driver.Row)) (rows int64, err error) {
	if see == nil {
		return s.db.All(clock, nil)
	}
	return s.db.All(clock, func(u *User, a *Article, c *Comment) {
		see(driver.Row{
			{Int: u.ID}, {Time: u.Created}, {Text: u.Email}, {Bool: u.Active},
			{Int: a.ID}, {Time: a.Created}, {Int: a.UserID}, {Text: a.Text},
			{Int: c.ID}, {Time: c.Created}, {Int: c.ArticleID}, {Text: c.Text},
		})
	})
}

// rows makes the rows that the plan's data sets have with a seed. Texts of a column share
// memory, so that there is no more for the garbage collector to look at than in the tool.
func rows(seed uint64, p *plan.Plan) (*Blog, error) {
	gen, err := plan.NewGenerator(seed, p)
	if err != nil {
		return nil, err
	}
	blog := &Blog{}
	for _, set := range p.Phases[0].Insert.Sets {
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
				blog.Articles = append(blog.Articles, Article{id, created, c[2].Ints[r], c[3].Text(r)})
			case "comments":
				blog.Comments = append(blog.Comments, Comment{id, created, c[2].Ints[r], c[3].Text(r)})
			}
		}
	}
	return blog, nil
}

// linked returns the part of the proof that needs no database.
func (s *server) linked() *protocol.Proof {
	p := &protocol.Proof{Module: s.program.Info.Module, Runtime: runtime.Version()}
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, m := range bi.Deps {
			if m.Path == p.Module {
				p.ModuleVersion = m.Version
			}
		}
	}
	return p
}

func (s *server) prove(proof *protocol.Proof) error {
	got, err := s.settings()
	if err != nil {
		return err
	}
	got["pool_size"] = "1"
	proof.Connections = []driver.Settings{got}
	err = s.db.Read("SELECT sqlite_version(), sqlite_source_id()", func(row []any) error {
		proof.SQLiteVersion, proof.SQLiteSourceID = text(row[0]), text(row[1])
		return nil
	})
	if err != nil {
		return err
	}
	return s.db.Read("PRAGMA compile_options", func(row []any) error {
		proof.CompileOptions = append(proof.CompileOptions, text(row[0]))
		return nil
	})
}

// readAgain tells the lab which settings are in force.
func (s *server) readAgain() error {
	got, err := s.settings()
	if err != nil {
		return err
	}
	return s.send(protocol.Response{Type: protocol.TypeSettings, Phase: s.phase, Connections: []driver.Settings{got}})
}

func (s *server) settings() (driver.Settings, error) {
	ignore := func([]any) error { return nil }
	if err := s.db.Read("SELECT count(*) FROM sqlite_master", ignore); err != nil {
		return nil, err
	}
	got := driver.Settings{}
	for _, d := range driver.Vocabulary {
		if !d.Pragma {
			continue
		}
		value := ""
		if err := s.db.Read("PRAGMA "+d.Name, func(row []any) error { value = text(row[0]); return nil }); err != nil {
			return nil, err
		}
		if value == "" && d.Name == "mmap_size" {
			value = "0" // SQLite compiled without memory mapping answers nothing
		}
		if canonical, err := d.Canonical(value); err == nil {
			got[d.Name] = canonical
		}
	}
	return got, nil
}

func text(value any) string {
	if b, ok := value.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(value)
}

// decode converts the values of a row to the types of its columns.
func decode(row driver.Row, values []any, columns []driver.ColumnType) error {
	if len(values) != len(columns) {
		return fmt.Errorf("%d columns, want %d", len(values), len(columns))
	}
	for i, v := range values {
		row[i] = driver.Cell{Null: v == nil}
		if v == nil {
			continue
		}
		n, ok := v.(int64)
		switch columns[i].Type {
		case driver.Int:
			row[i].Int = n
		case driver.Time:
			row[i].Time = time.UnixMilli(n)
		case driver.Bool:
			row[i].Bool = n != 0
		case driver.Text:
			row[i].Text, ok = text(v), true
		}
		if !ok {
			return fmt.Errorf("column %d holds a %T, want %v", i+1, v, columns[i])
		}
	}
	return nil
}
