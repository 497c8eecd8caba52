package shop_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3"
	_ "modernc.org/sqlite"

	"github.com/sqlite3perf/sqlite3perf/examples/bookshop/shop"
)

// TestLoad checks with both libraries that clients get responses, and that the sums of orders and
// the stock of books agree with the items that the clients bought.
func TestLoad(t *testing.T) {
	for driver, options := range map[string]string{
		"sqlite":  "?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=journal_mode(wal)&_txlock=immediate",
		"sqlite3": "?_busy_timeout=5000&_foreign_keys=1&_journal_mode=wal&_txlock=immediate",
	} {
		t.Run(driver, func(t *testing.T) {
			db, err := sql.Open(driver, "file:"+filepath.Join(t.TempDir(), "shop.db")+options)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			s, err := shop.Open(t.Context(), db)
			if err == nil {
				err = s.Fill(t.Context(), 50, 100)
			}
			if err != nil {
				t.Fatal(err)
			}
			out, err := shop.Load{Requests: 600, Clients: 4, Users: 50, Books: 100}.Run(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0
			for status, n := range out.Statuses {
				if sum += n; status >= 500 {
					t.Errorf("%d answers with status %d", n, status)
				}
			}
			if sum != 600 || out.Statuses[200] < 500 {
				t.Errorf("answers: %v", out.Statuses)
			}
			for _, check := range []struct {
				what, query string
				want        int
			}{
				{"orders whose items do not add up", `SELECT count(*) FROM orders AS o WHERE cents <> (SELECT sum(quantity * cents) FROM items WHERE "order" = o.id)`, 0},
				{"books whose stock does not add up", "SELECT count(*) FROM books AS b WHERE stock + (SELECT coalesce(sum(quantity), 0) FROM items WHERE book = b.id) <> 1000", 0},
				{"rows that refer to nothing", "SELECT count(*) FROM pragma_foreign_key_check", 0},
				{"orders that were paid", "SELECT count(*) > 20 FROM orders WHERE paid IS NOT NULL", 1},
			} {
				var got int
				if err := db.QueryRow(check.query).Scan(&got); err != nil || got != check.want {
					t.Errorf("%s: %d, want %d (%v)", check.what, got, check.want, err)
				}
			}
		})
	}
}
