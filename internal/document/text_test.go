package document

import (
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
)

// TestNoWordBroken checks that a word is never broken if it fits the terminal, even if it does not
// fit next to its label. URLs and data source names are never broken, however long they are.
func TestNoWordBroken(t *testing.T) {
	const dsn = "file:app.db?_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=busy_timeout(5000)&_txlock=immediate"
	long := strings.Repeat("x", 38)
	words := "Set journal_mode=wal: sqlite3perf run --resume 12 --time 1m10s, " + long + " " + dsn + " https://example.com/" + strings.Repeat("a", 200) + " and PRAGMA wal_autocheckpoint=4000; PRAGMA cache_size=-65536."
	for width := 40; width <= 120; width += 7 {
		for _, d := range []Document{{Paragraph{Text: words}}, {List{{Label: "to set", Text: words}, {Label: "x", Text: long}}}, {Heading{Level: 1, Text: words}}} {
			var b strings.Builder
			if err := RenderText(&b, d, Options{Width: width}); err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, w := range strings.Fields(b.String()) {
				got[w] = true
			}
			for _, w := range strings.Fields(words) {
				if !got[w] {
					t.Errorf("%d columns: %s is broken:\n%s", width, w, b.String())
				}
			}
			for line := range strings.Lines(b.String()) {
				if line = strings.TrimSpace(line); text.StringWidth(line) > width && strings.Contains(line, " ") {
					t.Errorf("%d columns: a line has %d: %s", width, text.StringWidth(line), line)
				}
			}
		}
	}
}

// TestLongWords checks where a word that is wider than a line is broken.
func TestLongWords(t *testing.T) {
	for word, want := range map[string]string{
		"github.com/sqlite3perf/sqlite3perf/internal": "github.com/sqlite3perf/|sqlite3perf/internal",
		strings.Repeat("x", 45):                       strings.Repeat("x", 30) + "|" + strings.Repeat("x", 15),
		"":                                            "",
	} {
		if got := strings.Join(wrap(word, 30), "|"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
