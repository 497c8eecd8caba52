package snapshot

import "testing"

func TestPublic(t *testing.T) {
	s := &Snapshot{Schema: []string{"CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT UNIQUE)"}}
	for message, want := range map[string]string{
		"SQLITE_CONSTRAINT_UNIQUE: UNIQUE constraint failed: users.email": "SQLITE_CONSTRAINT_UNIQUE: UNIQUE constraint failed: users.email",
		"bad JSON path: 'SECRETPIN0815'":                                  "bad JSON path: '…'",
		`fts5: syntax error near "my-card.4111"`:                          `fts5: syntax error near "…"`,
		"bad JSON path: 'changed@table' (1)":                              "bad JSON path: '…' (…)",
		"no such column: hunter2":                                         "no such column: …",
		`PRAGMA quick_check(1): quick_check after the phase: fts5: checksum mismatch for table "users"`: `PRAGMA quick_check(…): quick_check after the phase: fts5: checksum mismatch for table "users"`,
		"phase q: no such table: orders": "phase q: no such table: orders",
		`sql: Scan error on column index 0, name "email": converting driver.Value type string ("it is 0815") to a int64: invalid syntax`: `sql: Scan error on column index 0, name "…") to a int64: invalid syntax`,
	} {
		if got := s.Public(message, "SELECT email FROM orders WHERE q = 0"); got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
}
