package jobtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// serial is a generator of the numbers 1, 2, ….
var serial = plan.Generator{Kind: plan.GenSerial, Low: 1, Step: 1}

// statement returns a statement of a mix. Each parameter has the name p, and the numbers 1, 2, … as its
// values.
func statement(sql string) plan.MixCall {
	c := plan.MixCall{Call: plan.Call{SQL: sql}}
	for range strings.Count(sql, "?") {
		c.Parameters = append(c.Parameters, plan.Parameter{Name: "p", Type: driver.Int, Generator: &serial})
	}
	return c
}

// mixed returns a phase in which one client runs a number of operations.
func mixed(count int64, list ...plan.Operation) plan.Phase {
	return plan.Phase{Name: "mix", Mix: &plan.Mix{Clients: 1, Count: count, Operations: list}}
}

// operation returns a transaction of a mix.
func operation(list ...plan.MixCall) plan.Operation {
	return plan.Operation{Name: "write", Weight: 1, Transaction: true, Calls: list}
}

// transfers returns a plan with a setup and 20 transactions: 8 of an insert, and 12 of a mix that also
// reads.
func transfers() *plan.Plan {
	text := plan.Generator{Kind: plan.GenText, Low: 5, High: 300}
	read := plan.Operation{Name: "read", Weight: 1, Reads: true, Calls: []plan.MixCall{statement("SELECT count(*) FROM entries")}}
	read.Calls[0].Columns = []driver.ColumnType{{Type: driver.Int}}
	transfer := operation(
		statement("UPDATE accounts SET balance = balance - ? WHERE id = 1"),
		statement("INSERT INTO entries(amount, memo) VALUES (?, ?)"),
	)
	transfer.Weight = 3
	transfer.Calls[1].Parameters[1] = plan.Parameter{Name: "memo", Type: driver.Text, Generator: &text}
	alone := plan.Operation{Name: "alone", Weight: 2, Calls: []plan.MixCall{statement("DELETE FROM entries WHERE id % 3 = ?")}}
	return &plan.Plan{
		Schema: `CREATE TABLE accounts(id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);
			CREATE TABLE entries(id INTEGER PRIMARY KEY, amount INTEGER NOT NULL, memo TEXT, photo BLOB) -- the end`,
		DataSets: []plan.DataSet{
			{Name: "accounts", Table: "accounts", Count: 3, Total: 3, Columns: []plan.Column{{Name: "id", Type: driver.Int, Generator: serial}, {Name: "balance", Type: driver.Int, Generator: serial}}},
			{Name: "entries", Table: "entries", Count: 8, Total: 8, Columns: []plan.Column{
				{Name: "amount", Type: driver.Int, Generator: plan.Generator{Kind: plan.GenInt, Low: -1 << 40, High: 1 << 40}},
				{Name: "memo", Type: driver.Text, Generator: plan.Generator{Kind: plan.GenText, Low: 0, High: 20, NullPermille: 300}},
				{Name: "photo", Type: driver.Blob, Generator: plan.Generator{Kind: plan.GenBlob, Low: 0, High: 5000}},
			}},
		},
		Phases: []plan.Phase{
			{Name: "load", Untimed: true, Insert: &plan.Insert{Sets: []string{"accounts"}, Transaction: "one", RowsPerStatement: 2}},
			{Name: "index", Untimed: true, Script: "CREATE INDEX entries_amount ON entries(amount); UPDATE accounts SET balance = balance + 1000"},
			{Name: "insert", Insert: &plan.Insert{Sets: []string{"entries"}, Transaction: "each", RowsPerStatement: 1}},
			mixed(12, transfer, alone, read),
			{Name: "end", Script: "DROP TABLE entries"},
			{Name: "more", Insert: &plan.Insert{Sets: []string{"accounts"}, Transaction: "each", RowsPerStatement: 1}},
		},
	}
}

// commit runs a job of the kind "commit".
func (b *base) commit(c protocol.Commit) *protocol.Committed {
	b.t.Helper()
	return b.must(nil, protocol.Job{Commit: &c}).Commit
}

// number is the query for the number of the last transaction, as text.
const number = "SELECT CAST(number AS TEXT) FROM " + protocol.CommitsTable

// digest returns the hash of all tables of the database.
func (b *base) digest() (digest string) {
	b.t.Helper()
	b.use(func(db driver.DB) (err error) {
		digest, err = job.Digest(b.t.Context(), db)
		return err
	})
	return digest
}

// The test "commits" checks that transactions are acknowledged in order. When a transaction is
// acknowledged, it must be committed, and the next transaction must not have begun. The hashes of
// the tables must depend only on the seed.
func commits(t *testing.T, b *base) {
	var numbers, found, digests []string
	c := &protocol.Commit{Plan: transfers(), Transactions: 100, Attempts: 1, Digests: true}
	r, err := b.do(t.Context(), nil, protocol.Job{Commit: c}, func(p protocol.Progress) {
		if p.Stage == protocol.StageCommit {
			numbers, found, digests = append(numbers, strconv.FormatInt(p.Rows, 10)), append(found, b.texts(number)), append(digests, b.digest())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	got := r.Commit
	n := got.Acknowledged
	if n <= 8 || n > 20 || got.GaveUp || len(got.Failures) > 0 || len(got.CommitNS) != n || slices.Min(got.CommitNS) < 1 {
		t.Errorf("%+v", got)
	}
	var want []string
	for i := range n + 1 {
		want = append(want, strconv.Itoa(i))
	}
	if !slices.Equal(numbers, want) || !slices.Equal(found, want) {
		t.Errorf("acknowledged %v, found %v, want %v", numbers, found, want)
	}
	if !slices.Equal(got.Digests, digests) || len(digests) != n+1 || len(slices.Compact(slices.Sorted(slices.Values(digests)))) != n+1 {
		t.Errorf("reported hashes %v, found %v, want %d different hashes", got.Digests, digests, n+1)
	}
	// After the last transaction, the hash of all tables is the same with all drivers.
	const all, last = 19, "5c60bf0a4f2fd7e52f0bb2340b1f2110"
	if n != all || digests[n] != last {
		t.Errorf("after transaction %d, the hash is %s, want %s after transaction %d", n, digests[n], last, all)
	}
	b.want("SELECT CAST(sum(balance) > 2000 AS TEXT) FROM accounts", "1")

	b.path += "2"
	c.Transactions = 11
	if again := b.commit(*c); again.Acknowledged != 11 || !slices.Equal(again.Digests, digests[:12]) {
		t.Errorf("a second run: %+v, want the hashes %v", again, digests[:12])
	}
	b.want(number, "11")
}

func notCommitted(t *testing.T, b *base) {
	c := &protocol.Commit{Plan: transfers(), Transactions: 5, Attempts: 1}
	read := plan.Operation{Name: "read", Weight: 1, Reads: true, Calls: []plan.MixCall{statement("SELECT 1")}}
	c.Plan.Phases = append(c.Plan.Phases[:2], mixed(5, read))
	b.fails(protocol.Job{Commit: c}, protocol.CodeUnsupported, "no transactions", "want a timed phase insert, or a timed mix with operations that write")
	untimed := mixed(5, operation(statement("DELETE FROM accounts")))
	untimed.Name, untimed.Untimed = "clear", true
	c.Plan.Phases = append(c.Plan.Phases[:2], untimed, transfers().Phases[2])
	b.fails(protocol.Job{Commit: c}, protocol.CodeUnsupported, "phase clear", "want an insert or a script there")
	c.Plan.Phases[3].Insert.Sets[0] = "nosuch"
	b.fails(protocol.Job{Commit: c}, protocol.CodePlan, `no data set "nosuch"`)
	b.want("SELECT CAST(count(*) AS TEXT) FROM sqlite_master", "0")

	c.Plan = transfers()
	c.Digests, c.Early = true, true
	b.fails(protocol.Job{Commit: c}, protocol.CodeUsage, "digests and early")
	c.Digests, c.Early, c.Hang = true, false, true
	b.fails(protocol.Job{Commit: c}, protocol.CodeUsage, "has hang: want it only with early")
	c.Hang = false
	c.Attempts = 0
	b.fails(protocol.Job{Commit: c}, protocol.CodeUsage, "0 attempts", "want 1 to 100")

	c.Attempts = 1
	b.script("CREATE TABLE precious(x)")
	b.fails(protocol.Job{Commit: c}, protocol.CodeForeign, "has tables already")
	b.want("SELECT group_concat(name) FROM sqlite_master", "precious")
}

// The test "failing" checks that a transaction with a failing statement is tried as many times as
// the field Attempts says, and that the effects of earlier transactions remain.
func failing(t *testing.T, b *base) {
	p := transfers()
	p.Phases = append(p.Phases[:2], mixed(5, operation(statement("INSERT INTO entries(id, amount) VALUES (100 - (SELECT count(*) = 1 FROM entries), ?)"))))
	r := b.commit(protocol.Commit{Plan: p, Transactions: 5, Attempts: 3, Digests: true})
	if r.Acknowledged != 2 || len(r.CommitNS) != 2 || len(r.Digests) != 3 || !r.GaveUp || len(r.Failures) != 3 {
		t.Fatalf("%+v", r)
	}
	for _, f := range r.Failures {
		if f.Transaction != 3 || f.Code&0xff != driver.CodeConstraint || f.Message == "" {
			t.Errorf("%+v", f)
		}
	}
	b.want(number, "2")
	if d := b.digest(); d != r.Digests[2] {
		t.Errorf("the hash is %s, want %s", d, r.Digests[2])
	}
	b.path += "2"
	early := b.commit(protocol.Commit{Plan: p, Transactions: 5, Attempts: 2, Early: true})
	if early.Acknowledged != 2 || len(early.Failures) != 2 {
		t.Errorf("acknowledged early: %+v", early)
	}
}

// The test "early" checks that each transaction is acknowledged before it is committed.
func early(t *testing.T, b *base) {
	var got []string
	c := &protocol.Commit{Plan: transfers(), Transactions: 3, Attempts: 1, Early: true}
	_, err := b.do(t.Context(), nil, protocol.Job{Commit: c}, func(p protocol.Progress) {
		got = append(got, fmt.Sprintf("%d:%s", p.Rows, b.texts(number)))
	})
	if want := "0:0 1:0 2:1 3:2"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("acknowledged and found %v, error %v, want %s", got, err, want)
	}
	b.want(number, "3")

	b.path += "2"
	c.Hang = true
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	r, err := b.do(ctx, nil, protocol.Job{Commit: c}, func(p protocol.Progress) {
		if p.Rows == 1 {
			kill()
		}
	})
	if err != nil || !r.Interrupted || r.Commit.Acknowledged != 1 {
		t.Errorf("a worker with Hang returned %+v, %v, want an interrupted job", r, err)
	}
	b.want(number, "0")
}

// disturbed is a database whose transactions are committed by the function "commit". The parameter n of
// this function is the number of commits on the connection so far, including the current one.
type disturbed struct {
	driver.DB
	commit func(n int, tx driver.Tx) error
	undo   bool // set if Rollback rolls back; otherwise it does nothing
}

type disturbedConn struct {
	driver.Conn
	db   *disturbed
	n    int
	open driver.Tx
}

type disturbedTx struct {
	driver.Tx
	conn *disturbedConn
}

func (d *disturbed) Conn(ctx context.Context) (driver.Conn, error) {
	c, err := d.DB.Conn(ctx)
	return &disturbedConn{Conn: c, db: d}, err
}

// Close returns no error if a transaction was left open: some libraries cannot close a connection on
// which another BEGIN has failed.
func (d *disturbed) Close() error {
	err := d.DB.Close()
	if !d.undo {
		return nil
	}
	return err
}

func (c *disturbedConn) Begin(ctx context.Context) (driver.Tx, error) {
	tx, err := c.Conn.Begin(ctx)
	if err == nil {
		c.open = tx
	}
	return &disturbedTx{tx, c}, err
}

func (c *disturbedConn) Close() error {
	_ = c.open.Rollback(context.Background()) // the error is ignored, because the transaction may have ended
	return c.Conn.Close()
}

func (x *disturbedTx) Commit(ctx context.Context) error {
	x.conn.n++
	return x.conn.db.commit(x.conn.n, x.Tx)
}

func (x *disturbedTx) Rollback(ctx context.Context) error {
	if !x.conn.db.undo {
		return nil
	}
	return x.Tx.Rollback(ctx)
}

// tookEffect checks that a transaction is not repeated if its COMMIT took effect but returned an error.
func tookEffect(t *testing.T, b *base) {
	p := transfers()
	p.Phases = append(p.Phases[:2], mixed(3, operation(statement("INSERT INTO entries(amount) VALUES (?)"))))
	db := &disturbed{DB: b.open(nil), undo: true, commit: func(n int, tx driver.Tx) error {
		err := tx.Commit(t.Context())
		if err == nil && n == 4 { // the second transaction of the job, after two transactions of the setup
			err = errors.New("the answer is lost")
		}
		return err
	}}
	r, err := b.on(t.Context(), db, nil, protocol.Job{Commit: &protocol.Commit{Plan: p, Transactions: 3, Attempts: 2, Digests: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Commit
	if c.Acknowledged != 3 || c.GaveUp || len(c.CommitNS) != 2 || len(c.Digests) != 4 || len(c.Failures) != 1 || c.Failures[0] != (protocol.CommitFailure{Transaction: 2, Message: "the answer is lost"}) {
		t.Errorf("%+v", c)
	}
	b.want("SELECT count(*) || ' ' || sum(amount) FROM entries", "3 6")
}

// leftOpen checks that a transaction is not acknowledged if its COMMIT failed and the transaction
// is still open. On the connection, the number of this transaction can be read, although it is not
// committed.
func leftOpen(t *testing.T, b *base) {
	p := transfers()
	p.Phases = append(p.Phases[:2], mixed(3, operation(statement("INSERT INTO entries(amount) VALUES (?)"))))
	db := &disturbed{DB: b.open(nil), commit: func(n int, tx driver.Tx) error {
		if n <= 2 {
			return tx.Commit(t.Context())
		}
		return errors.New("nothing was done")
	}}
	r, err := b.on(t.Context(), db, nil, protocol.Job{Commit: &protocol.Commit{Plan: p, Transactions: 3, Attempts: 2}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Commit; c.Acknowledged != 0 || !c.GaveUp || len(c.Failures) != 1 || c.Failures[0].Message != "nothing was done" {
		t.Errorf("%+v", c)
	}
	b.want(number, "0")
}

// The test "inserted" checks which rows a transaction inserts, for each way in which a phase
// divides its rows into transactions.
func inserted(t *testing.T, b *base) {
	const rows = "SELECT (SELECT count(*) FROM users) || ' ' || (SELECT count(*) FROM articles)"
	path := b.path
	for i, c := range []struct {
		in          plan.Insert
		all, first  int
		rowsOfFirst string
	}{
		{plan.Insert{Transaction: "each", RowsPerStatement: 2}, 8, 2, "4 0"},
		{plan.Insert{Transaction: "each", RowsPerStatement: 1}, 15, 6, "5 1"},
		{plan.Insert{Transaction: "every", Every: 4, RowsPerStatement: 3}, 5, 3, "5 4"},
		{plan.Insert{Transaction: "set", RowsPerStatement: 4}, 2, 1, "5 0"},
		{plan.Insert{Transaction: "one", RowsPerStatement: 1}, 1, 1, "5 10"},
		{plan.Insert{Transaction: "per", Per: "users", RowsPerStatement: 2}, 5, 2, "2 4"},
	} {
		c.in.Sets = []string{"users", "articles"}
		p := &plan.Plan{
			Schema: "CREATE TABLE users(id INTEGER PRIMARY KEY); CREATE TABLE articles(id INTEGER PRIMARY KEY, user INTEGER NOT NULL)",
			DataSets: []plan.DataSet{
				{Name: "users", Table: "users", Count: 5, Total: 5, Columns: []plan.Column{{Name: "id", Type: driver.Int, Generator: serial}}},
				{Name: "articles", Table: "articles", Parent: "users", Count: 2, Total: 10, Columns: []plan.Column{
					{Name: "id", Type: driver.Int, Generator: serial},
					{Name: "user", Type: driver.Int, Generator: plan.Generator{Kind: plan.GenRef, Of: []string{"users.id"}}},
				}},
			},
			Phases: []plan.Phase{{Name: "insert", Insert: &c.in}},
		}
		for most, want := range map[int]string{c.first: c.rowsOfFirst, 100: "5 10"} {
			b.path = fmt.Sprintf("%s%d-%d", path, i, most)
			r := b.commit(protocol.Commit{Plan: p, Transactions: most, Attempts: 1})
			if n := min(most, c.all); r.Acknowledged != n || len(r.Failures) > 0 {
				t.Errorf("%+v: %+v, want %d transactions", c.in, r, n)
			}
			b.want(rows, want)
			b.want("SELECT CAST(count(*) AS TEXT) FROM articles WHERE user <> (id + 1) / 2", "0")
		}
	}
}

// withoutEffect checks operations that roll back, or that end with an error that they declare as a
// result. The transactions of these operations must change only the number of the last
// transaction.
func withoutEffect(t *testing.T, b *base) {
	empty := func(how string) plan.MixCall {
		c := statement("SELECT id FROM accounts WHERE id < 0")
		c.Columns, c.IfEmpty = []driver.ColumnType{{Type: driver.Int}}, how
		return c
	}
	insert := statement("INSERT INTO entries(id, amount) VALUES (7, 1)")
	more := statement("INSERT INTO entries(id, amount) VALUES (8, 1)")
	taken := operation(insert, insert)
	taken.Results = []int{driver.CodeConstraint}
	for name, c := range map[string]struct {
		operation plan.Operation
		want      string
	}{
		"a declared result":  {taken, "0"},
		"rolled back":        {operation(insert, empty(plan.EmptyRollback), more), "0"},
		"committed":          {operation(insert, empty(plan.EmptyCommit), more), "1"},
		"all its statements": {operation(insert, empty(""), more), "2"},
	} {
		p := transfers()
		p.Phases = []plan.Phase{mixed(1, c.operation)}
		b.path += "1"
		if r := b.commit(protocol.Commit{Plan: p, Transactions: 1, Attempts: 2}); r.Acknowledged != 1 || len(r.CommitNS) != 1 || len(r.Failures) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
		b.want(number, "1")
		if got := b.texts("SELECT CAST(count(*) AS TEXT) FROM entries"); got != c.want {
			t.Errorf("%s: %s rows, want %s", name, got, c.want)
		}
	}
}

// sameDigest checks that the hash of all tables does not depend on how a version of SQLite writes real
// numbers, or stores an index.
func sameDigest(t *testing.T, b *base) {
	b.script(`CREATE TABLE "a ""table"(x, "y z", _sqlite REAL); CREATE TABLE sqlite3(a TEXT COLLATE NOCASE) `)
	b.script(`INSERT INTO "a ""table" VALUES (0.1, 1.0/3, -2.5), (1e300, -1e-300, 1e18/7), ('1.5', x'312e35', 9e99), (NULL, -0.7, 12345678.9012345678);
		INSERT INTO sqlite3 VALUES ('b'), ('B'), ('it''s'), ('')`)
	const want = "25c8c547dc872554431744209be11139"
	if got := b.digest(); got != want {
		t.Errorf("the hash is %s, want %s", got, want)
	}
	for _, sql := range []string{"UPDATE sqlite3 SET a = 'B' WHERE a = 'b'", `UPDATE "a ""table" SET x = 0.1 + 1e-15 WHERE x = 0.1`, "DELETE FROM sqlite3 WHERE a = ''"} {
		before := b.digest()
		if b.script(sql); b.digest() == before {
			t.Errorf("the hash is the same after %s", sql)
		}
	}
	index := b.fullText()
	if index == "" {
		return
	}
	b.path += "2"
	b.script("CREATE VIRTUAL TABLE docs USING " + index + "(body); INSERT INTO docs VALUES ('hello'), ('all')")
	before := b.digest()
	b.script("INSERT INTO docs(docs) VALUES ('optimize')") // this changes the content of the index's internal tables
	if after := b.digest(); after != before {
		t.Errorf("the hash is %s after the index was rebuilt, want %s", after, before)
	}
	b.script("UPDATE docs SET body = 'hi' WHERE body = 'all'")
	if b.digest() == before {
		t.Error("the hash is the same after a change of the index")
	}
}

// The test "canceled" checks that each transaction is committed only once although its first
// attempt is canceled, and that the canceled attempts leave nothing behind on the connection.
func canceled(t *testing.T, b *base) {
	c := protocol.Commit{Plan: transfers(), Transactions: 100, Attempts: 20, Digests: true}
	want := b.commit(c)
	b.path += "2"
	c.CancelNS = max(slices.Max(want.CommitNS)/2, 1)
	got := b.commit(c)
	if got.Acknowledged != want.Acknowledged || !slices.Equal(got.Digests, want.Digests) || got.GaveUp {
		t.Errorf("%+v", got)
	}
	if len(got.Disturbed) > 0 {
		t.Errorf("canceled attempts disturbed the connection: %+v", got.Disturbed)
	}
}

// The test "awaiting" checks that transactions begin only after another process has inserted a row.
func awaiting(t *testing.T, b *base) {
	c := &protocol.Commit{Plan: transfers(), Transactions: 5, Attempts: 1, AwaitOthers: true}
	var before int64 // rows of the other process at the time when transaction 1 was acknowledged
	r, err := b.do(t.Context(), nil, protocol.Job{Commit: c}, func(p protocol.Progress) {
		if p.Stage == protocol.StageCommit && p.Rows == 0 {
			b.script("CREATE TABLE " + protocol.OthersTable + "(a); INSERT INTO " + protocol.OthersTable + " VALUES (1)")
		}
		if p.Stage == protocol.StageCommit && p.Rows == 1 {
			before, _ = strconv.ParseInt(b.texts("SELECT CAST(count(*) AS TEXT) FROM "+protocol.OthersTable), 10, 64)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if before != 1 || r.Commit.Acknowledged != 5 {
		t.Errorf("the other process had inserted %d rows before transaction 1, want 1; %+v", before, r.Commit)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.path += "2"
	_, err = b.do(ctx, nil, protocol.Job{Commit: c}, func(p protocol.Progress) {
		if p.Stage == protocol.StageCommit {
			cancel() // no other process inserts a row, so the job waits until it is canceled
		}
	})
	cancel()
	if err != nil {
		t.Error(err)
	}
}
