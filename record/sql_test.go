package record

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestTokens checks this package's tokens against the table of worker/sqltext. If a token of the
// table is neither a word nor in quotes, this package may split it into several tokens.
func TestTokens(t *testing.T) {
	data, err := os.ReadFile("../worker/sqltext/testdata/tokens.json")
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
		whole, pending := c.Tokens, ""
		for piece, rest := nextToken(c.SQL); piece != ""; piece, rest = nextToken(rest) {
			pending += piece
			if len(whole) == 0 || !strings.HasPrefix(whole[0], pending) {
				t.Errorf("%q: %q, want the tokens %q", c.SQL, pending, c.Tokens)
				break
			}
			if pending == whole[0] {
				whole, pending = whole[1:], ""
			}
		}
		if len(whole) > 0 {
			t.Errorf("%q: the last tokens %q are missing, want %q", c.SQL, whole, c.Tokens)
		}
	}
}
