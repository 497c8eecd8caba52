package mattn_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/drivers/mattn"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// The benchmarks below set the adapter beside the same loop written by hand
// against database/sql: adapter ÷ hand is the cost that the adapter adds. One
// iteration is a row in bulk, an operation in a mix.

const (
	createPeople = "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, score REAL NOT NULL)"
	insertPeople = "INSERT INTO people (id, name, score) VALUES (?, ?, ?)"
	scanPeople   = "SELECT id, name, score FROM people ORDER BY id"
	onePerson    = "SELECT name, score FROM people WHERE id = ?"
)

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

// person is what a row is decoded into.
type person struct {
	id    int64
	name  string
	score float64
}

var sink person

func openHand(b *testing.B) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(b.TempDir(), "hand.db")+"?_journal_mode=delete&_synchronous=off")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	if _, err := db.Exec(createPeople); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return db
}

func openAdapter(b *testing.B) driver.DB {
	b.Helper()
	s := driver.Settings{"journal_mode": "delete", "synchronous": "off"}
	db, err := mattn.New().Open(b.Context(), filepath.Join(b.TempDir(), "adapter.db"), s)
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Script(b.Context(), createPeople); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return db
}

func insertHand(ctx context.Context, db *sql.DB, rows *driver.Batch, n int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	s, err := tx.PrepareContext(ctx, insertPeople)
	if err != nil {
		return err
	}
	defer s.Close()
	id, name, score := &rows.Columns[0], &rows.Columns[1], &rows.Columns[2]
	for i := range n {
		if _, err := s.ExecContext(ctx, id.Ints[i], name.Text(i), score.Reals[i]); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func insertAdapter(ctx context.Context, db driver.DB, rows *driver.Batch, n int) (err error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s, err := c.Prepare(ctx, driver.Statement{SQL: insertPeople, Params: []driver.Type{driver.Int, driver.Text, driver.Real}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	in, err := tx.Stmt(ctx, s)
	if err == nil {
		err = in.Exec(ctx, rows, 0, n)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback(ctx))
	}
	return tx.Commit(ctx)
}

func BenchmarkInsert(b *testing.B) {
	b.Run("hand", func(b *testing.B) {
		db, rows := openHand(b), people(b.N)
		b.ReportAllocs()
		b.ResetTimer()
		if err := insertHand(context.Background(), db, rows, b.N); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("adapter", func(b *testing.B) {
		db, rows := openAdapter(b), people(b.N)
		b.ReportAllocs()
		b.ResetTimer()
		if err := insertAdapter(context.Background(), db, rows, b.N); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	ctx := context.Background()
	b.Run("hand", func(b *testing.B) {
		db := openHand(b)
		if err := insertHand(ctx, db, people(b.N), b.N); err != nil {
			b.Fatal(err)
		}
		s, err := db.PrepareContext(ctx, scanPeople)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		b.ReportAllocs()
		b.ResetTimer()
		rows, err := s.QueryContext(ctx)
		if err != nil {
			b.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			if err := rows.Scan(&sink.id, &sink.name, &sink.score); err != nil {
				b.Fatal(err)
			}
		}
		if err := rows.Err(); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("adapter", func(b *testing.B) {
		db := openAdapter(b)
		if err := insertAdapter(ctx, db, people(b.N), b.N); err != nil {
			b.Fatal(err)
		}
		s, err := db.Prepare(ctx, driver.Statement{
			SQL:     scanPeople,
			Columns: []driver.ColumnType{{Type: driver.Int}, {Type: driver.Text}, {Type: driver.Real}},
		})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		b.ReportAllocs()
		b.ResetTimer()
		err = s.Query(ctx, nil, 0, func(r driver.Row) error {
			sink = person{r[0].Int, r[1].Text, r[2].Real}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkPoint reads a row by its key, on the pool.
func BenchmarkPoint(b *testing.B) {
	const n = 1000
	ctx := context.Background()
	people := people(n)
	b.Run("hand", func(b *testing.B) {
		db := openHand(b)
		if err := insertHand(ctx, db, people, n); err != nil {
			b.Fatal(err)
		}
		s, err := db.PrepareContext(ctx, onePerson)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		point := func(id int64) error {
			rows, err := s.QueryContext(ctx, id)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				if err := rows.Scan(&sink.name, &sink.score); err != nil {
					return err
				}
			}
			return rows.Err()
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := point(people.Columns[0].Ints[i%n]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("adapter", func(b *testing.B) {
		db := openAdapter(b)
		if err := insertAdapter(ctx, db, people, n); err != nil {
			b.Fatal(err)
		}
		s, err := db.Prepare(ctx, driver.Statement{
			SQL:     onePerson,
			Params:  []driver.Type{driver.Int},
			Columns: []driver.ColumnType{{Type: driver.Text}, {Type: driver.Real}},
		})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		ids := &driver.Batch{PerExec: 1, Columns: people.Columns[:1]}
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
