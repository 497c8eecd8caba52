package zombiezen_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/sqlite3perf/sqlite3perf/drivers/zombiezen"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The benchmarks below set the adapter beside the same loop written by hand
// against the library: hand ÷ adapter is the cost that the adapter adds. One
// iteration is a row in bulk, an operation in a mix.

const (
	createPeople = "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, score REAL NOT NULL)"
	insertPeople = "INSERT INTO people (id, name, score) VALUES (?, ?, ?)"
	scanPeople   = "SELECT id, name, score FROM people ORDER BY id"
	onePerson    = "SELECT name, score FROM people WHERE id = ?"
)

var benchSettings = driver.Settings{"journal_mode": "delete", "synchronous": "off"}

// people makes n rows.
func people(n int) *driver.Batch {
	b := &driver.Batch{PerExec: 1, Columns: []driver.Column{{Type: driver.Int}, {Type: driver.Text}, {Type: driver.Real}}}
	id, name, score := &b.Columns[0], &b.Columns[1], &b.Columns[2]
	for i := range n {
		text := fmt.Sprintf("person %08d", i)
		id.Ints = append(id.Ints, int64(i))
		name.Spans = append(name.Spans, driver.Span{Off: uint32(len(name.Data)), Len: uint32(len(text))})
		name.Data = append(name.Data, text...)
		score.Reals = append(score.Reals, float64(i)/8)
	}
	return b
}

func openHand(b *testing.B) *sqlitex.Pool {
	b.Helper()
	p, err := sqlitex.NewPool(filepath.Join(b.TempDir(), "hand.db"), sqlitex.PoolOptions{
		Flags:    sqlite.OpenReadWrite | sqlite.OpenCreate,
		PoolSize: 1,
		PrepareConn: func(c *sqlite.Conn) error {
			for _, pragma := range benchSettings.Pragmas() {
				if err := sqlitex.ExecuteTransient(c, pragma, nil); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	c, err := p.Take(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer p.Put(c)
	if err := sqlitex.ExecuteTransient(c, createPeople, nil); err != nil {
		b.Fatal(err)
	}
	return p
}

func openAdapter(b *testing.B) driver.DB {
	b.Helper()
	db, err := zombiezen.New().Open(b.Context(), filepath.Join(b.TempDir(), "adapter.db"), benchSettings)
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Script(b.Context(), createPeople); err != nil {
		b.Fatal(err)
	}
	return db
}

func insertHand(b *testing.B, p *sqlitex.Pool, rows *driver.Batch, n int) {
	b.Helper()
	c, err := p.Take(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer p.Put(c)
	end := sqlitex.Transaction(c)
	defer func() {
		if end(&err); err != nil {
			b.Fatal(err)
		}
	}()
	q := c.Prep(insertPeople)
	id, name, score := &rows.Columns[0], &rows.Columns[1], &rows.Columns[2]
	for i := range n {
		q.BindInt64(1, id.Ints[i])
		q.BindText(2, name.Text(i))
		q.BindFloat(3, score.Reals[i])
		if _, err = q.Step(); err != nil {
			return
		}
		if err = q.Reset(); err != nil {
			return
		}
	}
}

func insertAdapter(b *testing.B, db driver.DB, rows *driver.Batch, n int) {
	b.Helper()
	ctx := context.Background()
	c, err := db.Conn(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	s, err := c.Prepare(ctx, driver.Statement{SQL: insertPeople, Params: []driver.Type{driver.Int, driver.Text, driver.Real}})
	if err != nil {
		b.Fatal(err)
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		b.Fatal(err)
	}
	if s, err = tx.Stmt(ctx, s); err != nil {
		b.Fatal(err)
	}
	if err := s.Exec(ctx, rows, 0, n); err != nil {
		b.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkInsert(b *testing.B) {
	b.Run("hand", func(b *testing.B) {
		p, rows := openHand(b), people(b.N)
		defer p.Close()
		b.ReportAllocs()
		b.ResetTimer()
		insertHand(b, p, rows, b.N)
		b.StopTimer()
	})
	b.Run("adapter", func(b *testing.B) {
		db, rows := openAdapter(b), people(b.N)
		defer db.Close()
		b.ReportAllocs()
		b.ResetTimer()
		insertAdapter(b, db, rows, b.N)
		b.StopTimer()
	})
}

// person is what a row is decoded into.
type person struct {
	id    int64
	name  string
	score float64
}

var sink person

func BenchmarkScan(b *testing.B) {
	b.Run("hand", func(b *testing.B) {
		p := openHand(b)
		defer p.Close()
		insertHand(b, p, people(b.N), b.N)
		b.ReportAllocs()
		b.ResetTimer()
		c, err := p.Take(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		defer p.Put(c)
		q := c.Prep(scanPeople)
		for {
			row, err := q.Step()
			if err != nil {
				b.Fatal(err)
			}
			if !row {
				break
			}
			sink = person{q.ColumnInt64(0), q.ColumnText(1), q.ColumnFloat(2)}
		}
		q.Reset()
		b.StopTimer()
	})
	b.Run("adapter", func(b *testing.B) {
		db := openAdapter(b)
		defer db.Close()
		insertAdapter(b, db, people(b.N), b.N)
		ctx := context.Background()
		s, err := db.Prepare(ctx, driver.Statement{
			SQL:     scanPeople,
			Columns: []driver.ColumnType{{Type: driver.Int}, {Type: driver.Text}, {Type: driver.Real}},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		err = s.Query(ctx, nil, 0, func(r driver.Row) error {
			sink = person{r[0].Int, r[1].Text, r[2].Real}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
	})
}

// BenchmarkPoint reads a row by its key, each time on a connection that is
// taken from the pool and given back.
func BenchmarkPoint(b *testing.B) {
	const n = 1000
	rows := people(n)
	b.Run("hand", func(b *testing.B) {
		p := openHand(b)
		defer p.Close()
		insertHand(b, p, rows, n)
		point := func(id int64) error {
			c, err := p.Take(context.Background())
			if err != nil {
				return err
			}
			defer p.Put(c)
			q := c.Prep(onePerson)
			defer q.Reset()
			q.BindInt64(1, id)
			for {
				row, err := q.Step()
				if err != nil || !row {
					return err
				}
				sink = person{name: q.ColumnText(0), score: q.ColumnFloat(1)}
			}
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := point(rows.Columns[0].Ints[i%n]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("adapter", func(b *testing.B) {
		db := openAdapter(b)
		defer db.Close()
		insertAdapter(b, db, rows, n)
		ctx := context.Background()
		s, err := db.Prepare(ctx, driver.Statement{
			SQL:     onePerson,
			Params:  []driver.Type{driver.Int},
			Columns: []driver.ColumnType{{Type: driver.Text}, {Type: driver.Real}},
		})
		if err != nil {
			b.Fatal(err)
		}
		ids := &driver.Batch{PerExec: 1, Columns: rows.Columns[:1]}
		visit := func(r driver.Row) error {
			sink = person{name: r[0].Text, score: r[1].Real}
			return nil
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := s.Query(ctx, ids, i%n, visit); err != nil {
				b.Fatal(err)
			}
		}
	})
}
