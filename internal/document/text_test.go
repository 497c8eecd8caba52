package document

import (
	"fmt"
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

// TestShortForms checks that an item without room for its text shows the longest short form that
// fits, and that the text is cut only if no short form fits.
func TestShortForms(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("eight ch ", 20))
	clauses := [2]string{"some words; three more words; " + long}
	short := [2]string{"a text that has about sixty-two characters, which fit into a line", "a few words"}
	for _, tc := range []struct {
		most, width int
		short       [2]string
		want        string // beginning of the text that is shown
	}{
		{0, 80, short, "eight ch"}, {3, 80, short, "eight ch"}, {1, 240, short, "eight ch"},
		{1, 80, short, short[0] + "\n"}, {2, 80, short, short[0] + "\n"}, {1, 60, short, short[1] + "\n"},
		{1, 60, [2]string{"", short[1]}, short[1] + "\n"}, {1, 60, [2]string{short[0]}, "a text that has"}, {1, 80, [2]string{}, "eight ch"},
		{1, 60, clauses, "some words; three more words; …\n"}, {1, 40, clauses, "some words; three"},
	} {
		var b strings.Builder
		if err := RenderText(&b, Document{List{{Label: "label", Text: long, Most: tc.most, Short: tc.short}}}, Options{Width: tc.width}); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.HasPrefix(got, "label         "+tc.want) {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

// TestListIsNotCutInAnItem checks that if a screen ends within a list, the last item that is shown
// ends with its short form or with an ellipsis.
func TestListIsNotCutInAnItem(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("eight ch ", 20))
	var l List
	for range 12 {
		l = append(l, Item{Label: "one", Text: long, Short: [2]string{"a few words"}}, Item{Label: "two", Text: long})
	}
	for lines := LeastLines; lines < 36; lines += 3 {
		var b strings.Builder
		if err := RenderPart(&b, Document{Heading{Level: 1, Text: "answer"}, l}, nil, Options{Width: 80, Lines: lines}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\n"); n > lines {
			t.Errorf("%d lines, want at most %d", n, lines)
		}
		list, _, _ := strings.Cut(b.String(), "\nnot shown")
		last := list[strings.LastIndexByte(list, '\n')+1:]
		if !strings.HasSuffix(last, "…") && !strings.HasSuffix(last, "a few words") {
			t.Errorf("%d lines end with %q", lines, last)
		}
	}
}

// TestRowsCut checks that a screen on which a table ends early says how many of its rows are missing.
func TestRowsCut(t *testing.T) {
	g := Grid{Columns: []Column{{Title: "cell"}}}
	for i := range 30 {
		g.Rows = append(g.Rows, []string{fmt.Sprint("row ", i)})
	}
	var b strings.Builder
	if err := RenderPart(&b, Document{Heading{Level: 1, Text: "answer"}, g, Heading{Level: 2, Text: "Machine"}}, nil, Options{Width: 80, Lines: 20}); err != nil {
		t.Fatal(err)
	}
	shown := strings.Count(b.String(), "row ")
	if want := fmt.Sprintf("not shown     %d more rows; Machine\n", 30-shown); shown == 0 || !strings.HasSuffix(b.String(), want) {
		t.Errorf("want %q at the end of\n%s", want, b.String())
	}
}
