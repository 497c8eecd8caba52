package sqinn_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/drivers/sqinn"
)

func TestStatement(t *testing.T) {
	for name, list := range map[string][]string{
		"one":              {"SELECT 1"},
		"two":              {"SELECT 1;", " SELECT 2;", "\n"},
		"in texts":         {"SELECT 'a;''b;', \"c;\", `d;`, [e;];", "SELECT 2"},
		"in comments":      {"SELECT 1 -- a; 'b\n, /* c; */ 2;", "SELECT 3"},
		"no end":           {"SELECT 'a; SELECT 2;"},
		"comment no end":   {"SELECT 1; "[:9], " /* a; SELECT 2;"},
		"minus and divide": {"SELECT 4-2/1;", "SELECT 1"},
		"trigger":          {"CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM u; UPDATE t SET a = CASE 1 WHEN 1 THEN 2 END; END;", " SELECT 1;"},
		"temp trigger":     {"create /* a */ temp trigger x after insert on t begin select ';'; select 1; -- b\n end ;", "SELECT 1"},
		"explained":        {"EXPLAIN QUERY PLAN CREATE TEMPORARY TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END;", "SELECT 1"},
		"no trigger":       {"CREATE TABLE trigger_end(a);", "END;", "SELECT 1"},
		"a transaction":    {"BEGIN;", "SELECT 1;", "END;", "SELECT 2;"},
		"foreign letters":  {"SELECT 'ü;' AS größe;", "SELECT 1"},
	} {
		sql := ""
		for _, s := range list {
			sql += s
		}
		var got []string
		for rest := sql; rest != ""; {
			n := sqinn.Statement(rest)
			got = append(got, rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
