package sqltext_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// TestTokens checks the tokens of the statements in testdata/tokens.json, which the tests of
// package record also use. The tests of package lab compare tokens with SQLite's own tokens.
func TestTokens(t *testing.T) {
	data, err := os.ReadFile("testdata/tokens.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		SQL    string
		Tokens []string
	}
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	for _, c := range table {
		var got []string
		for token := range sqltext.Tokens(c.SQL) {
			got = append(got, token.Text)
			if !strings.HasPrefix(c.SQL[token.At:], token.Text) {
				t.Errorf("%q: %q is not at %d", c.SQL, token.Text, token.At)
			}
		}
		if !slices.Equal(got, c.Tokens) {
			t.Errorf("%q: tokens %q, want %q", c.SQL, got, c.Tokens)
		}
		all := ""
		for _, token := range sqltext.All(c.SQL) {
			all += token.Text
		}
		if all != c.SQL {
			t.Errorf("%q: all tokens are %q", c.SQL, all)
		}
	}
}

func TestUnquoted(t *testing.T) {
	for in, want := range map[string]string{
		"'it''s'": "it's", `"a""b"`: `a"b`, "`a``b`": "a`b", "[a b]": "a b", "''": "", "name": "name", "x'00'": "x'00'",
	} {
		for token := range sqltext.Tokens(in) {
			if got := token.Unquoted(); got != want {
				t.Errorf("%s: %q, want %q", in, got, want)
			}
		}
	}
}
