package imitate_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

var large = flag.Int("large", 4, "megabytes of the database of events, such as 1000")

// database describes a database that is imitated.
type database struct {
	name string
	make func(t *testing.T, db *sql.DB)
	has  []string // texts that the workload must contain
}

var databases = []database{
	{name: "shop", make: makeShop, has: []string{"pick: customers.id", "INTEGER PRIMARY KEY AUTOINCREMENT", "CREATE VIEW", "CREATE TRIGGER", "WITHOUT ROWID", "nulls: 20"}},
	{name: "search", make: makeSearch, has: []string{"words: ", "needs: [fts5]", "'rebuild'", "MATCH :"}},
	{name: "settings", make: makeSettings, has: []string{"coalesce: [", "GENERATED ALWAYS", "STRICT"}},
	{name: "hundred", make: makeHundred, has: []string{"t99:"}},
	{name: "events", make: makeEvents, has: []string{"shuffle: ", "blob: ", `format: "%FT%TZ"`}},
	{name: "places", make: makePlaces, has: []string{"needs: [rtree]"}},
}

func TestImitations(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			path := create(t, d.name, d.make)
			w, c := imitateFile(t, path, imitate.Options{})
			for _, words := range d.has {
				if !strings.Contains(w.YAML, words) {
					t.Errorf("the workload lacks %q", words)
				}
			}
			if off := float64(c.Bytes)/float64(w.Bytes) - 1; math.Abs(off) > 0.1 {
				t.Errorf("%d bytes of %d: %+.1f %%", c.Bytes, w.Bytes, 100*off)
			}
			for i := range c.Queries {
				q := &c.Queries[i]
				if !q.SamePlan() {
					t.Errorf("%s: %s\nplan %s\nwant %s", q.Query.Phase, q.Query.SQL, q.Plan[1], q.Plan[0])
				}
				if q.Rows[0] > 0.5 && (q.Rows[1] < q.Rows[0]/2 || q.Rows[1] > q.Rows[0]*2) {
					t.Errorf("%s: %.3g rows, want about %.3g", q.Query.Phase, q.Rows[1], q.Rows[0])
				}
			}
			if len(c.Queries) == 0 {
				t.Error("no queries")
			}
			private(t, path, w.YAML)
			if t.Failed() {
				t.Log(w.YAML, w.Notes)
			}
		})
	}
}

// imitateFile makes a workload from a database file, and compares the imitation with the database.
func imitateFile(t *testing.T, path string, o imitate.Options) (*imitate.Workload, *imitate.Comparison) {
	t.Helper()
	source, err := imitate.Open(t.Context(), path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	})
	w, err := imitate.From(t.Context(), source, o)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := workload.Parse("mine.yaml", []byte(w.YAML), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, w.YAML)
	}
	for _, scale := range []string{workload.Full, workload.Quick} {
		if _, err := parsed.Plan(scale, nil); err != nil {
			t.Fatal(err)
		}
	}
	resolved, err := parsed.Plan(workload.Full, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.Compare(t.Context(), resolved, "", func(string) {})
	if err != nil {
		t.Fatalf("%v\n%s", err, w.YAML)
	}
	if _, err := workload.Parse("mine.yaml", []byte(w.YAML), nil); err != nil { // Compare may have changed w.YAML
		t.Fatal(err)
	}
	if notes := strings.Join(w.Notes, "\n"); strings.Contains(notes, "full scale only") || strings.Contains(notes, "they fail") {
		t.Error(notes)
	}
	return w, c
}

// private checks that a text contains no value of the database that has at least four bytes or,
// for a number, at least six digits.
func private(t *testing.T, path, text string) {
	t.Helper()
	db := open(t, path)
	known := map[string]bool{}
	for _, word := range regexp.MustCompile(`[A-Za-z0-9_.@-]+`).FindAllString(text, -1) {
		known[strings.Trim(word, ".-")] = true
	}
	names := map[string]bool{"owner": true} // names in the schema: tables, columns, and a part of a JSON path
	var tables []string
	read(t, db, `SELECT name FROM sqlite_schema UNION SELECT c.name FROM sqlite_schema AS s, pragma_table_xinfo(s.name) AS c`, func(v []any) { names[fmt.Sprint(v[0])] = true })
	read(t, db, `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'`, func(v []any) { tables = append(tables, fmt.Sprint(v[0])) })
	found := map[string]bool{}
	for _, table := range tables {
		rows := int64(0)
		read(t, db, `SELECT count(*) FROM "`+table+`"`, func(v []any) { rows = v[0].(int64) })
		read(t, db, `SELECT * FROM "`+table+`"`, func(values []any) {
			for _, v := range values {
				s := fmt.Sprint(v)
				switch text := v.(type) {
				case string:
					for _, word := range regexp.MustCompile(`[A-Za-z0-9_.@-]*[A-Za-z][A-Za-z0-9_.@-]{3,}`).FindAllString(text, -1) {
						if known[word] && !names[word] && !found[word] {
							found[word] = true
							t.Errorf("%s: the text %q is in the workload", table, word)
						}
					}
				case int64, float64:
					if x, ok := v.(int64); ok && x >= 0 && x <= rows {
						continue // x may be a key, and keys up to the number of rows are not private
					}
					if len(strings.Trim(s, "-0.")) >= 6 && known[strings.Trim(s, "-")] && !found[s] {
						found[s] = true
						t.Errorf("%s: the number %s is in the workload", table, s)
					}
				}
			}
		})
	}
	// These values are literals in the database's schema.
	for _, word := range []string{"shipped", "Lisbon", "31415", "secret"} {
		if known[word] {
			t.Errorf("%q of the schema is in the workload", word)
		}
	}
}

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

// TestChecks checks that the workload has the CHECK constraints that generated rows satisfy with
// many seeds. Unless values are kept, the constraints must not contain values of the database. The missing
// constraints must be listed.
func TestChecks(t *testing.T) {
	path := create(t, "checks", func(t *testing.T, db *sql.DB) {
		execute(t, db, `
			CREATE TABLE orders (
				id INTEGER PRIMARY KEY CHECK (id > 0),
				state TEXT NOT NULL CONSTRAINT states CHECK (state IN ('open', 'sent', 'returned')),
				cents INTEGER CHECK (typeof(cents) = 'integer' AND cents BETWEEN 0 AND 98765),
				tax REAL CHECK (tax < 0.25), -- a comment, with CHECK (1)
				place TEXT CHECK (length(place) <= 60),
				"check" TEXT CHECK ("check" <> "void" /* ) */),
				CHECK (place <> state), CONSTRAINT cheap CHECK (cents * 2 < id * 1000003 + 5),
				CONSTRAINT known CHECK (place LIKE 'Mar%' OR place LIKE '%Lisbon' OR place GLOB '[A-Z]*')
			);
			CREATE TABLE few (low INTEGER, high INTEGER, CHECK (low < high));
		`)
		fill(t, db, "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", 3000, func(i int) []any {
			return []any{i + 1, pick("open", "open", "sent", "returned"), random.IntN(98765), random.Float64() / 5, name(1 + random.IntN(9)), name(2)}
		})
		fill(t, db, "INSERT INTO few VALUES (?, ?)", 3, func(i int) []any { return [][]any{{1, 2}, {40, 60}, {20, 21}}[i] })
	})
	for _, keep := range []bool{false, true} {
		w, _ := imitateFile(t, path, imitate.Options{KeepValues: keep})
		notes := strings.Join(w.Notes, "\n")
		has := []string{"CHECK (id > 0)", "CONSTRAINT states CHECK (state IN (", "tax REAL CHECK (tax < 0.25)", "CHECK (length(place) <= 60)", "CHECK (place <> state)", "CHECK (typeof(cents) = 'integer'"}
		out := []string{"CHECK (low < high)", "CONSTRAINT known CHECK (place LIKE"}
		for _, words := range has {
			if !strings.Contains(w.YAML, words) {
				t.Errorf("the workload lacks %q", words)
			}
		}
		schema := w.YAML[strings.Index(w.YAML, "schema:"):]
		for _, words := range out {
			if strings.Contains(schema, words) || !strings.Contains(notes, words) {
				t.Errorf("%q is not left out, or not said to be: %s", words, notes)
			}
		}
		if !keep {
			for _, words := range []string{"98765", "1000003", "'open'", "void", "Mar%", "Lisbon", "comment"} {
				if strings.Contains(w.YAML, words) {
					t.Errorf("%q is in the workload", words)
				}
			}
		}
		if t.Failed() {
			t.Fatal(w.YAML)
		}
		for seed := range uint64(20) {
			load(t, w, seed+1000)
		}
	}
}

// TestTexts checks which texts in the schema are replaced. Texts that SQLite's date functions
// accept are kept. Any other value has the same replacement in the schema and in the rows, even
// if it is also a name in the schema or a word of SQL.
func TestTexts(t *testing.T) {
	path := create(t, "texts", func(t *testing.T, db *sql.DB) {
		execute(t, db, `
			CREATE TABLE tickets (
				id INTEGER PRIMARY KEY,
				state TEXT NOT NULL CHECK (state IN ('new', 'tickets', 'closed')),
				body TEXT NOT NULL, owner TEXT AS (body ->> 'owner') VIRTUAL,
				at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d', 'now', '-1 day', 'localtime')),
				UNIQUE ('id', "state")
			);
			CREATE INDEX tickets_new ON tickets('at') WHERE state = 'new';
			CREATE TABLE log (at TEXT NOT NULL, what TEXT NOT NULL);
			CREATE VIEW logged AS SELECT what AS 'what else' FROM 'log' WHERE what IS DISTINCT FROM 'closed';
			CREATE TRIGGER opened AFTER INSERT ON 'tickets' BEGIN
				INSERT INTO 'log'('at', what) VALUES (datetime('now', 'start of day'), 'now ' || new.state);
			END;
			CREATE TRIGGER known BEFORE INSERT ON tickets WHEN new.state NOT IN ('new', 'tickets', 'closed') BEGIN SELECT RAISE(ABORT, 'unknown'); END;
		`)
		fill(t, db, "INSERT INTO tickets(state, body, at) VALUES (?, ?, ?)", 2000, func(i int) []any {
			return []any{pick("new", "tickets", "closed", "closed"), fmt.Sprintf(`{"owner": "%012d"}`, random.IntN(1e9)), "2024-05-06"}
		})
		execute(t, db, "CREATE TRIGGER odd BEFORE INSERT ON tickets BEGIN SELECT RAISE(ROLLBACK, 'it is full'); END")
	})
	w, _ := imitateFile(t, path, imitate.Options{})
	for _, words := range []string{"strftime('%Y-%m-%d', 'now', '-1 day', 'localtime')", "datetime('now', 'start of day')", "body ->> 'owner'", "UNIQUE ('id', \"state\")", "tickets('at')", "AS 'what else' FROM 'log'", "INSERT INTO 'log'('at', what)"} {
		if !strings.Contains(w.YAML, words) {
			t.Errorf("the workload lacks %q", words)
		}
	}
	for _, words := range []string{"'new'", "'tickets',", "closed", "'now '", "'unknown'"} {
		if strings.Contains(w.YAML, words) {
			t.Errorf("%q is in the workload", words)
		}
	}
	if notes := strings.Join(w.Notes, "\n"); !strings.Contains(notes, "trigger odd is left out: generated rows make it fail: ") || strings.Contains(notes, "trigger known") {
		t.Error(notes)
	}
	if t.Failed() {
		t.Fatal(w.YAML)
	}
	db := load(t, w, 7)
	read(t, db, "SELECT count(*) FROM tickets INDEXED BY tickets_new WHERE "+w.YAML[strings.Index(w.YAML, "WHERE state = ")+6:][:len("state = 'xxx'")], func(v []any) {
		if n := v[0].(int64); n < 600 || n > 950 { // the table has 2000 rows that were loaded, and 1000 rows that were inserted later
			t.Errorf("%d of 3000 tickets are in the partial index: want about a quarter", n)
		}
	})
}

// TestForeignCheck checks that a table is imitated although its CHECK constraint calls a function
// that only the application defines.
func TestForeignCheck(t *testing.T) {
	path := create(t, "foreign", func(t *testing.T, db *sql.DB) {
		execute(t, db, "CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT CHECK (lower(email)), CHECK (id > 0))")
		execute(t, db, "PRAGMA ignore_check_constraints = on")
		fill(t, db, "INSERT INTO users VALUES (?, ?)", 2000, func(i int) []any { return []any{i + 1, name(3)} })
		execute(t, db, "PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = replace(sql, 'lower', 'is_email')")
	})
	w, _ := imitateFile(t, path, imitate.Options{})
	if len(w.Notes) != 2 || !strings.Contains(w.Notes[1], "table users: CHECK (is_email(email)) is left out, because SQLite does not compile those of this table: ") || strings.Contains(w.YAML, "users is left out") {
		t.Errorf("notes %q", w.Notes)
	}
	load(t, w, 1)
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

// TestTimes checks that times stored as text become times in the same form and with about the
// same range, and that a column that also has other texts gets no times.
func TestTimes(t *testing.T) {
	const rows = 3000
	begin := time.Date(2019, 3, 17, 5, 6, 7, 0, time.UTC)
	at := func(i int) time.Time { return begin.Add(time.Duration(i) * 7919 * time.Second) }
	forms := []struct {
		name, form string
		value      func(i int) any
		within     time.Duration // how far the bounds of the range may be off
	}{
		{"day", `^\d{4}-\d\d-\d\d$`, func(int) any { return at(random.IntN(rows)).Format("2006-01-02") }, 32 * 24 * time.Hour},
		{"sorted", `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`, func(i int) any { return at(i).Format(time.DateTime) }, 32 * 24 * time.Hour},
		{"uniq UNIQUE", `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, func(i int) any { return at(i * 1201 % rows).Format(time.RFC3339) }, 32 * 24 * time.Hour},
		{"fraction", `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\+02:00$`, func(int) any {
			return at(random.IntN(rows)).Add(time.Duration(random.IntN(1000))*time.Millisecond).Format("2006-01-02 15:04:05.000") + "+02:00"
		}, 32 * 24 * time.Hour},
		{"trimmed", `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9} \+0000 UTC$`, func(int) any {
			if random.IntN(10) == 0 {
				return nil
			}
			return at(random.IntN(rows)).Add(time.Duration(random.IntN(1e9))).String()
		}, 32 * 24 * time.Hour},
		{"few", `^\d{4}-\d\d-\d\d$`, func(int) any { return at(random.IntN(5) * rows / 5).Format("2006-01-02") }, 200 * 24 * time.Hour},
		{"repeated", `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`, func(int) any { return at(random.IntN(100) * 30).Format(time.RFC3339) }, 32 * 24 * time.Hour},
		{"together", `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`, func(i int) any { return begin.Add(time.Duration(i%40) * time.Second).Format(time.DateTime) }, 32 * 24 * time.Hour},
	}
	path := create(t, "times", func(t *testing.T, db *sql.DB) {
		var columns []string
		for _, f := range forms {
			columns = append(columns, strings.Replace(f.name, " ", " TEXT ", 1))
		}
		execute(t, db, "CREATE TABLE times ("+strings.Join(columns, ", ")+", other TEXT, CHECK (day > '2018-12-24')); CREATE INDEX late ON times(sorted) WHERE sorted > '2019-06-21 08:00:00'; CREATE TABLE points (device INTEGER, at TEXT, PRIMARY KEY (device, at)) WITHOUT ROWID")
		fill(t, db, "INSERT INTO times VALUES (?"+strings.Repeat(", ?", len(forms))+")", rows, func(i int) []any {
			var row []any
			for _, f := range forms {
				row = append(row, f.value(i))
			}
			other := at(i).Format(time.DateTime)
			if i == rows/2 {
				other = "unknown"
			}
			return append(row, other)
		})
		fill(t, db, "INSERT INTO points VALUES (?, ?)", rows, func(i int) []any { return []any{i / 100, at(i % 100).Format(time.DateTime)} })
	})
	original := open(t, path)
	w, _ := imitateFile(t, path, imitate.Options{})
	db := load(t, w, 3)
	bounds := func(db *sql.DB, column string) (low, high time.Time) {
		var texts [2]string
		if err := db.QueryRow("SELECT min("+column+"), max("+column+") FROM (SELECT * FROM times LIMIT 3000)").Scan(&texts[0], &texts[1]); err != nil {
			t.Fatal(err)
		}
		var list [2]time.Time
		for i, text := range texts {
			var err error
			if list[i], err = time.Parse("2006-01-02", text[:10]); err != nil {
				t.Fatal(err)
			}
		}
		return list[0], list[1]
	}
	for _, f := range forms {
		column, _, _ := strings.Cut(f.name, " ")
		form := regexp.MustCompile(f.form)
		read(t, db, "SELECT "+column+" FROM times WHERE "+column+" IS NOT NULL", func(v []any) {
			if text, ok := v[0].(string); !ok || !form.MatchString(text) || t.Failed() {
				t.Fatalf("%s: %v is not of the form %s", f.name, v[0], f.form)
			}
		})
		low, high := bounds(original, column)
		from, to := bounds(db, column)
		if from.Sub(low).Abs() > f.within || to.Sub(high).Abs() > f.within {
			t.Errorf("%s: from %v to %v, want about %v to %v", f.name, from, to, low, high)
		}
	}
	count := func(db *sql.DB, query string) (n int64) {
		read(t, db, query, func(v []any) { n = v[0].(int64) })
		return n
	}
	if n, want := count(db, "SELECT count(DISTINCT repeated) FROM times"), count(original, "SELECT count(DISTINCT repeated) FROM times"); n < want/2 || n > want {
		t.Errorf("%d distinct values, want about %d", n, want)
	}
	if n := count(db, "SELECT count(*) FROM times WHERE other GLOB '2*'"); n != 0 {
		t.Errorf("%d times of a column that has other texts", n)
	}
	if n := count(db, "SELECT count(*) FROM points WHERE at GLOB '????-??-?? ??:??:??'"); n != 4000 {
		t.Errorf("%d times in a key", n)
	}
	for _, words := range []string{"CHECK (day > '2018-12-01')", "WHERE sorted > '2019-06-01 00:00:00'"} {
		if !strings.Contains(w.YAML, words) {
			t.Errorf("the workload lacks %q", words)
		}
	}
	if t.Failed() {
		t.Log(w.YAML)
	}
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

// TestKeepValues checks that values are kept if KeepValues is set.
func TestKeepValues(t *testing.T) {
	path := create(t, "shop", makeShop)
	w, _ := imitateFile(t, path, imitate.Options{KeepValues: true})
	for _, words := range []string{`"Porto": `, "WHERE state = 'shipped'", "DEFAULT 31415", "DEFAULT 'Lisbon'", `"delivered": `} {
		if !strings.Contains(w.YAML, words) {
			t.Errorf("the workload lacks %q:\n%s", words, w.YAML)
		}
	}
}

// TestShare checks that an imitation with a quarter of the rows has about a quarter of the size,
// and that small tables keep all rows.
func TestShare(t *testing.T) {
	path := create(t, "shop", makeShop)
	w, c := imitateFile(t, path, imitate.Options{Share: 0.25})
	want := map[string]int64{"customers": 1000, "products": 400, "orders": 3000, "order_items": 9000}
	for _, table := range w.Tables {
		if n, ok := want[table.Name]; ok && n != table.Full {
			t.Errorf("%s: %d rows, want %d", table.Name, table.Full, n)
		}
	}
	if off := float64(c.Bytes)/w.Wanted() - 1; math.Abs(off) > 0.15 {
		t.Errorf("%d bytes, want about %.0f", c.Bytes, w.Wanted())
	}
}

// TestAgain checks that two workloads that are made from the same database are equal.
func TestAgain(t *testing.T) {
	path := create(t, "events", makeEvents)
	first, _ := imitateFile(t, path, imitate.Options{})
	second, _ := imitateFile(t, path, imitate.Options{})
	if first.YAML != second.YAML {
		t.Error("the workloads differ")
	}
}
