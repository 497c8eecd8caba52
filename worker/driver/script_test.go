package driver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

func TestStatementLen(t *testing.T) {
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
		"byte order mark":  {"\ufeffCREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END;", "SELECT 1"},
		"foreign letters":  {"SELECT 'ü;' AS größe;", "SELECT 1"},
	} {
		sql := ""
		for _, s := range list {
			sql += s
		}
		var got []string
		for rest := sql; rest != ""; {
			n := driver.StatementLen(rest)
			got = append(got, rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

func TestStatements(t *testing.T) {
	script := "-- a; b\nSELECT 1;;\n SELECT ';'; /* c; */ SELECT 3"
	want := []string{"SELECT 1;", "SELECT ';';", "SELECT 3"}
	if diff := cmp.Diff(want, slices.Collect(driver.Statements(script))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for first := range driver.Statements(script) {
		if first != want[0] {
			t.Errorf("first: %q", first)
		}
		break
	}
	if list := slices.Collect(driver.Statements(" ; -- nothing")); list != nil {
		t.Errorf("statements of an empty script: %q", list)
	}
}

func TestTrimScript(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		" \n;; ":                    "",
		"SELECT 1; ":                "SELECT 1; ",
		"-- a; b\n  SELECT 1":       "SELECT 1",
		"/* a\n; b */;\tSELECT '/*": "SELECT '/*",
		"-- only a comment":         "",
		"/* never closed":           "",
		"/*/ SELECT 1 */ SELECT 2":  "SELECT 2",
		"-1":                        "-1",
	} {
		if got := driver.TrimScript(in); got != want {
			t.Errorf("TrimScript(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestScriptPieces(t *testing.T) {
	const size = 4 << 10
	insert := "INSERT INTO t VALUES (1, 'a; b'); -- one; row\n"
	trigger := "CREATE TRIGGER x AFTER INSERT ON t BEGIN " + strings.Repeat("DELETE FROM u; ", 1000) + "END;"
	for name, in := range map[string]string{
		"empty":                     "",
		"short":                     "SELECT 1; SELECT 2; -- the end",
		"long":                      strings.Repeat(insert, 1000),
		"one long statement":        "SELECT '" + strings.Repeat(";", 3*size) + "'",
		"a long trigger":            insert + trigger + insert,
		"no semicolon":              strings.Repeat(insert, 200) + "SELECT 1",
		"a comment at the end":      strings.Repeat(insert, 200) + "/* ; " + strings.Repeat(";", 2*size) + "*/ -- ;",
		"only comments":             strings.Repeat("-- ;\n", size),
		"empty statements":          strings.Repeat(" ;\n", size),
		"empty ones in the middle":  insert + strings.Repeat(";\n", 4*size) + insert,
		"empty ones in front":       strings.Repeat(";", 4*size) + insert + insert,
		"a text that does not end":  strings.Repeat(insert, 200) + "SELECT 'a; SELECT 2;",
		"as long as a piece at all": strings.Repeat("x", size-1) + ";" + strings.Repeat("y", size-1) + ";",
	} {
		got := slices.Collect(driver.ScriptPieces(in))
		if strings.Join(got, "") != in {
			t.Errorf("%s: the pieces together differ from the script", name)
		}
		for i, piece := range got {
			if s := driver.TrimScript(piece); i < len(got)-1 && len(piece) > size && driver.StatementLen(s) < len(s) {
				t.Errorf("%s: piece %d has %d bytes and more than one statement", name, i, len(piece))
			}
			if len(got) > 1 && driver.TrimScript(piece) == "" {
				t.Errorf("%s: piece %d has no statement", name, i)
			}
			if i < len(got)-1 && !strings.HasSuffix(piece, ";") {
				t.Errorf("%s: piece %d ends within a statement: …%q", name, i, piece[max(0, len(piece)-20):])
			}
		}
		if len(in) <= size && len(got) > 1 {
			t.Errorf("%s: %d pieces of a short script", name, len(got))
		}
	}
}

// FuzzScriptPieces checks that the pieces of a script have the same statements as the script.
func FuzzScriptPieces(f *testing.F) {
	f.Add("SELECT 'a;'; -- b;\nSELECT 2;", uint16(500))
	f.Add("CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END;", uint16(100))
	f.Fuzz(func(t *testing.T, sql string, times uint16) {
		script := strings.Repeat(sql, int(times%1000))
		var want, got []string
		split := func(sql string) (list []string) {
			for sql != "" {
				n := driver.StatementLen(sql)
				list = append(list, sql[:n])
				sql = sql[n:]
			}
			return list
		}
		want = split(script)
		for piece := range driver.ScriptPieces(script) {
			got = append(got, split(piece)...)
		}
		if !slices.Equal(want, got) {
			t.Errorf("the pieces have %d statements, the script has %d", len(got), len(want))
		}
	})
}

func BenchmarkScriptPieces(b *testing.B) {
	script := strings.Repeat("INSERT INTO t VALUES (1, 'some text', 3.14, x'00ff');\n", 60_000)
	b.SetBytes(int64(len(script)))
	for b.Loop() {
		for range driver.ScriptPieces(script) {
		}
	}
}
