package imitate_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

var large = flag.Int("large", 4, "megabytes of the database of events, such as 1000")

func read(t *testing.T, db *sql.DB, query string, row func([]any)) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, dest := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		row(values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// create creates a database in a file, fills it with the function build, and returns its path.
func create(t *testing.T, name string, build func(*testing.T, *sql.DB)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	execute(t, db, "PRAGMA synchronous = off")
	build(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func execute(t *testing.T, db *sql.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.Exec(text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// fill inserts n rows.
func fill(t *testing.T, db *sql.DB, insert string, n int, row func(i int) []any) {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := tx.Prepare(insert)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for i := range n {
		if _, err := st.Exec(row(i)...); err != nil {
			t.Fatalf("%s, row %d: %v", insert, i, err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

var random = rand.New(&lockedSource{source: rand.NewPCG(7, 7)})

// lockedSource is a source of random numbers for tests that run in parallel.
type lockedSource struct {
	mu     sync.Mutex
	source rand.Source
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Uint64()
}

// name returns a word of n parts that looks like a person's name.
func name(n int) string {
	const parts = "Mar Jon Lis Ber Kat Tho Ann Pet Sus Wol Han Ing"
	var b strings.Builder
	for range n {
		b.WriteString(strings.Fields(parts)[random.IntN(12)])
	}
	return b.String()
}

func pick[T any](list ...T) T { return list[random.IntN(len(list))] }

func makeShop(t *testing.T, db *sql.DB) {
	execute(t, db, `
		PRAGMA journal_mode = wal;
		CREATE TABLE "customers" (
			id INTEGER PRIMARY KEY AUTOINCREMENT,
			email TEXT NOT NULL UNIQUE, -- secret
			city TEXT DEFAULT 'Lisbon',
			born DATE,
			rating REAL CHECK (rating >= 0 AND city <> 'Lisbon'),
			CONSTRAINT adult CHECK (born < '2007-01-01')
		);
		CREATE TABLE products (id INTEGER PRIMARY KEY, sku TEXT NOT NULL, price INTEGER DEFAULT 31415, weight NUMERIC);
		CREATE UNIQUE INDEX products_sku ON products(sku);
		CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(id), state TEXT NOT NULL, placed INTEGER NOT NULL, note TEXT, replaces INTEGER REFERENCES orders);
		CREATE INDEX orders_customer ON orders(customer_id);
		CREATE INDEX orders_open ON orders(placed) WHERE state = 'shipped';
		CREATE TABLE order_items (order_id INTEGER REFERENCES orders(id), line INTEGER, product_id INTEGER REFERENCES products(id), quantity INTEGER, place INTEGER NOT NULL, PRIMARY KEY (order_id, line), CONSTRAINT places UNIQUE ("order_id", place)) WITHOUT ROWID;
		CREATE INDEX items_product ON order_items(product_id);
		CREATE TABLE log (at INTEGER, what TEXT);
		CREATE TABLE seats (row INTEGER, seat INTEGER, held INTEGER REFERENCES customers(id), CONSTRAINT places UNIQUE (row, seat), UNIQUE ("held", seat));
		CREATE VIEW open_orders AS SELECT * FROM orders WHERE state = 'shipped';
		CREATE TRIGGER orders_log AFTER INSERT ON orders WHEN new.state = 'shipped' BEGIN INSERT INTO log VALUES (new.placed, 'shipped ' || new.id); END;
	`)
	fill(t, db, "INSERT INTO customers VALUES (?, ?, ?, ?, ?)", 3000, func(i int) []any {
		var born any = fmt.Sprintf("19%02d-%02d-%02d", random.IntN(100), 1+random.IntN(12), 1+random.IntN(28))
		if random.IntN(5) == 0 {
			born = nil
		}
		return []any{i + 1, fmt.Sprintf("%s.%d@example.org", name(3), i), pick("Porto", "Porto", "Porto", "Berlin", "Oslo", "Vienna"), born, random.Float64() * 5}
	})
	fill(t, db, "INSERT INTO products VALUES (?, ?, ?, ?)", 400, func(i int) []any {
		return []any{i + 1, fmt.Sprintf("%s-%05d", name(1), i*7919%100000), 1000 + random.IntN(98765), pick[any](random.IntN(5000), random.Float64()*100, nil)}
	})
	fill(t, db, "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", 12000, func(i int) []any {
		var note any
		if random.IntN(5) > 0 {
			note = name(1 + random.IntN(20))
		}
		var replaces any
		if i > 10 && random.IntN(20) == 0 {
			replaces = 1 + random.IntN(i)
		}
		return []any{i + 1, 1 + int(math.Pow(random.Float64(), 2)*3000), pick("delivered", "delivered", "delivered", "shipped", "returned"), 1712345678 + i*37, note, replaces}
	})
	fill(t, db, "INSERT INTO order_items VALUES (?, ?, ?, ?, ?)", 36000, func(i int) []any {
		return []any{i/3 + 1, i%3 + 1, 1 + random.IntN(400), 1 + random.IntN(9), 10 - i%3}
	})
	fill(t, db, "INSERT INTO seats VALUES (?, ?, ?)", 3000, func(i int) []any { return []any{i / 30, i % 30, 1 + i*7%3000} })
	execute(t, db, "ANALYZE")
}

func makeSearch(t *testing.T, db *sql.DB) {
	execute(t, db, `
		CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT, body TEXT);
		CREATE VIRTUAL TABLE articles_fts USING fts5(title, body, content='articles', content_rowid='id');
		CREATE TRIGGER articles_ai AFTER INSERT ON articles BEGIN INSERT INTO articles_fts(rowid, title, body) VALUES (new.id, new.title, new.body); END;
		CREATE VIRTUAL TABLE notes USING fts5(text);
	`)
	var words []string
	for range 3000 {
		words = append(words, strings.ToLower(name(1+random.IntN(3)))+fmt.Sprint(random.IntN(100)))
	}
	zipf := rand.NewZipf(random, 1.2, 3, uint64(len(words)-1))
	text := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = words[zipf.Uint64()]
		}
		return strings.Join(list, " ")
	}
	fill(t, db, "INSERT INTO articles VALUES (?, ?, ?)", 1500, func(i int) []any { return []any{i + 1, text(3 + random.IntN(6)), text(20 + random.IntN(200))} })
	fill(t, db, "INSERT INTO notes VALUES (?)", 1500, func(i int) []any { return []any{text(5 + random.IntN(20))} })
}

func makeSettings(t *testing.T, db *sql.DB) {
	execute(t, db, `
		CREATE TABLE settings (name TEXT PRIMARY KEY, value, changed) WITHOUT ROWID;
		CREATE TABLE boxes (id INTEGER PRIMARY KEY, w REAL, h REAL, area REAL GENERATED ALWAYS AS (w * h) STORED, label TEXT AS (upper(name) || '!') VIRTUAL, name TEXT);
		CREATE INDEX boxes_area ON boxes(area);
		CREATE TABLE exact (a INTEGER, b TEXT, c BLOB, d REAL, e ANY) STRICT;
		CREATE INDEX exact_b ON exact(b);
		CREATE TABLE "odd names" ("a column" INTEGER, "order" TEXT, "x""y" TEXT);
		CREATE INDEX "odd index" ON "odd names"("a column");
	`)
	fill(t, db, "INSERT INTO settings VALUES (?, ?, ?)", 4000, func(i int) []any {
		var value any
		switch random.IntN(5) {
		case 0:
			value = random.IntN(1e6)
		case 1:
			value = random.Float64() * 1000
		case 2:
			value = []byte(name(5))
		case 3:
			value = name(6)
		}
		return []any{fmt.Sprintf("%s/%d", name(2), random.Int64()), value, pick[any](1712345678+i, fmt.Sprintf("2024-%02d-11", 1+random.IntN(12)))}
	})
	fill(t, db, "INSERT INTO boxes(w, h, name) VALUES (?, ?, ?)", 3000, func(i int) []any { return []any{float64(random.IntN(1000)), random.Float64() * 77, name(3)} })
	fill(t, db, "INSERT INTO exact VALUES (?, ?, ?, ?, ?)", 3000, func(i int) []any {
		return []any{random.IntN(100000), name(4), []byte(name(10)), random.NormFloat64() * 1000, pick[any](random.IntN(1e6), name(3), nil)}
	})
	execute(t, db, "CREATE TABLE documents (id INTEGER PRIMARY KEY, body TEXT CHECK (json_valid(body)), kind TEXT AS (body ->> '$.kind') VIRTUAL); CREATE INDEX documents_kind ON documents(kind); CREATE INDEX documents_owner ON documents(json_extract(body, '$.owner'))")
	fill(t, db, "INSERT INTO documents(body) VALUES (?)", 2000, func(i int) []any {
		return []any{fmt.Sprintf(`{"kind": "%s", "owner": "%s", "size": %d}`, name(1), name(3), random.IntN(1e6))}
	})
	fill(t, db, `INSERT INTO "odd names" VALUES (?, ?, ?)`, 2000, func(i int) []any { return []any{random.IntN(300), name(2), name(3)} })
}

func makeHundred(t *testing.T, db *sql.DB) {
	for i := range 100 {
		refers := ""
		if i > 0 {
			refers = fmt.Sprintf(" REFERENCES t%d(id)", random.IntN(i))
		}
		execute(t, db, fmt.Sprintf("CREATE TABLE t%d (id INTEGER PRIMARY KEY, other INTEGER%s, text TEXT)", i, refers))
		execute(t, db, fmt.Sprintf("CREATE INDEX t%d_other ON t%[1]d(other)", i))
		rows := 50 + random.IntN(150)
		fill(t, db, fmt.Sprintf("INSERT INTO t%d VALUES (?, ?, ?)", i), rows, func(i int) []any { return []any{i + 1, 1 + random.IntN(50), name(1 + random.IntN(9))} })
	}
}

func makeEvents(t *testing.T, db *sql.DB) {
	execute(t, db, `
		CREATE TABLE events (id INTEGER PRIMARY KEY, uuid BLOB NOT NULL, at TEXT NOT NULL, device INTEGER, kind TEXT, payload BLOB, token INTEGER UNIQUE);
		CREATE UNIQUE INDEX events_uuid ON events(uuid);
		CREATE INDEX events_at ON events(at);
		CREATE INDEX events_device ON events(device, kind);
	`)
	rows := *large * 1e6 / 330
	devices := rand.NewZipf(random, 1.5, 20, 4999)
	tokens := random.Perm(rows)
	at := 0
	fill(t, db, "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", rows, func(i int) []any {
		uuid := make([]byte, 16)
		for j := range uuid {
			uuid[j] = byte(random.Uint32())
		}
		payload := make([]byte, int(random.ExpFloat64()*150))
		for j := range payload {
			payload[j] = byte(random.Uint32())
		}
		at += random.IntN(90)
		day, second := at/86400, at%86400
		return []any{i + 1, uuid, fmt.Sprintf("20%02d-%02d-%02dT%02d:%02d:%02dZ", 20+day/336, 1+day/28%12, 1+day%28, second/3600, second/60%60, second%60), 100000 + devices.Uint64()*13, pick("start", "stop", "ping", "ping", "ping", "measure"), payload, tokens[i]*11 + 5}
	})
}

// load runs all scripts and insert phases of a workload in a new database. The seed determines the
// generated rows.
func load(t *testing.T, w *imitate.Workload, seed uint64) *sql.DB {
	t.Helper()
	parsed, err := workload.Parse("mine.yaml", []byte(w.YAML), nil)
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := parsed.Plan(workload.Full, nil)
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, filepath.Join(t.TempDir(), "imitation.db"))
	execute(t, db, "PRAGMA synchronous = off; "+resolved.Schema)
	gen, err := plan.NewGenerator(seed, resolved)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range resolved.Phases {
		if p.Script != "" {
			execute(t, db, p.Script)
		}
		if p.Insert == nil {
			continue
		}
		for _, name := range p.Insert.Sets {
			d := resolved.DataSet(name)
			var b driver.Batch
			if err := gen.Fill(&b, name, 0, d.Total); err != nil {
				t.Fatal(err)
			}
			text, _ := d.InsertSQL(1)
			fill(t, db, text, int(d.Total), func(i int) []any {
				row := make([]any, len(b.Columns))
				for j := range row {
					row[j] = b.Columns[j].Any(i)
				}
				return row
			})
		}
	}
	return db
}

func makePlaces(t *testing.T, db *sql.DB) {
	execute(t, db, `
		CREATE VIRTUAL TABLE places_index USING rtree(id, minX, maxX, minY, maxY);
		CREATE TABLE places (id INTEGER PRIMARY KEY, name TEXT);
	`)
	fill(t, db, "INSERT INTO places_index VALUES (?, ?, ?, ?, ?)", 2000, func(i int) []any {
		x, y := random.Float64()*360, random.Float64()*180
		return []any{i + 1, x, x + random.Float64(), y, y + random.Float64()}
	})
	fill(t, db, "INSERT INTO places VALUES (?, ?)", 2000, func(i int) []any { return []any{i + 1, name(3)} })
}
