package imitate_test

import (
	"database/sql"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/imitate"
)

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

// private checks that a text has none of the database's texts of at least four bytes, and none of
// its numbers of at least six digits.
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

// TestChecks checks that the workload keeps a CHECK constraint if generated rows satisfy it with many
// seeds. Unless values are kept, the constraints must not contain values of the database. The missing
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
				t.Errorf("%q is not left out, or no note says so: %s", words, notes)
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

// TestTimes checks that times stored as text become times in the same form and with about the same
// range. A column that also has other texts must get no times.
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
		t.Errorf("%d values are times in a column that also has other texts, want none", n)
	}
	if n := count(db, "SELECT count(*) FROM points WHERE at GLOB '????-??-?? ??:??:??'"); n != 4000 {
		t.Errorf("%d times in a key, want 4000", n)
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

// TestAgain checks that two workloads made from the same database are equal.
func TestAgain(t *testing.T) {
	path := create(t, "events", makeEvents)
	first, _ := imitateFile(t, path, imitate.Options{})
	second, _ := imitateFile(t, path, imitate.Options{})
	if first.YAML != second.YAML {
		t.Error("the workloads differ")
	}
}
