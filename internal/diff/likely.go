package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
)

// causeWords has the words that say what differs in a group, by cause. For causes that are not
// listed, the words come from the Go types.
var causeWords = map[Cause]string{
	NUL:      "a text is cut at its first NUL",
	Float:    "an integer that a float64 cannot hold has changed",
	Rounding: "the last digits of a real",
	Zone:     "the time zone of a time",
	Format:   "the same time in another form of text",
	Clock:    "the same time, with a reading of the monotonic clock or without",
	Null:     "NULL or not",
	Invalid:  "bytes that are not UTF-8 are replaced",
}

func diffWhat(g *Group) string {
	switch words := causeWords[g.Cause]; {
	case words != "":
		return words
	case g.Types[0] != "":
		return document.Line(g.Types[0] + " or " + g.Types[1] + declared(g))
	}
	return kinds[g.Kind.rank()].what
}

func declared(g *Group) string {
	list := slices.DeleteFunc(slices.Clone(g.Declared), func(d string) bool { return d == "" })
	switch {
	case len(list) == 0:
		return ""
	case len(list) < len(g.Declared):
		list = append(list, "without a declared type")
	}
	return ", declared " + document.Line(document.Or(list))
}

// DiffReason describes the likely reason of a group's differences.
func DiffReason(r *Result, g *Group) string {
	names := []string{"one of the libraries", document.Line(r.First), document.Line(r.Second)}
	side := names[g.Reason.Side]
	switch g.Reason.Evidence {
	case ByValues:
		return causeReason(g, side)
	case ByFeature:
		s := fmt.Sprintf("the SQLite of %s lacks %s", side, document.Line(g.Reason.Feature))
		if g.Reason.First != g.Reason.Second {
			s += fmt.Sprintf(" (%s %s, %s %s)", names[1], cmp.Or(document.Line(g.Reason.First), "-"), names[2], cmp.Or(document.Line(g.Reason.Second), "-"))
		}
		return s
	case BySetting:
		return fmt.Sprintf("%s is %s on %s and %s on %s, by default or as set", g.Reason.Feature, document.Line(g.Reason.First), names[1], document.Line(g.Reason.Second), names[2])
	case ByVersion:
		return fmt.Sprintf("SQLite's version (%s with %s, %s with %s), or else one of the libraries", document.Line(g.Reason.First), names[1], document.Line(g.Reason.Second), names[2])
	case ByOption:
		var only []string
		for i, options := range []string{g.Reason.First, g.Reason.Second} {
			if options != "" {
				only = append(only, fmt.Sprintf("%s has %s", names[i+1], document.Line(options)))
			}
		}
		return "SQLite's compile options: " + strings.Join(only, ", ") + ", and the other does not"
	case ByTransaction:
		return "an earlier transaction that wrote to the same table: one of them could not run all of its statements, so it was rolled back"
	case ByTimes:
		return fmt.Sprintf("each library stores a time.Time in its own format: %s %q, %s %q", names[1], document.Line(g.Reason.First), names[2], document.Line(g.Reason.Second))
	case ByEarlier:
		return "an earlier statement about the same table, which only one of them could run"
	}
	switch {
	case g.Kind == Names && g.Reason.Side > 0:
		return side + " itself: if several columns have the same name, only the last one keeps it, although SQLite names them all"
	case g.Kind == ErrorType:
		return "each library has its own type of errors, which errors.As must name"
	case g.Kind == ErrorText:
		return "each library has its own texts of errors. The code is the same"
	case g.Reason.Side > 0:
		return side + " itself, which refuses it"
	case g.Kind == Types || g.Kind == Declared:
		return "the libraries' own conversion, in which SQLite has no part"
	}
	return "one of the libraries, since both have the same SQLite with the same options"
}

// causeReasons has a sentence for each cause of different values that can be recognized from the values. In
// these sentences, "%s" stands for the side that changes values, and "%c" for the columns' declared types.
var causeReasons = map[Cause]string{
	NUL:     "%s cuts texts at their first NUL, in binding or in reading",
	Float:   "%s passes integers through float64",
	Zone:    "one of the libraries converts times to another zone",
	Format:  "each library stores a time.Time in its own format",
	Clock:   "%s stores what time.Time.String returns. For a time from time.Now, this text ends with the reading of the monotonic clock, which SQLite's date functions do not understand; Round(0) removes it",
	Time:    "%s makes a time.Time of columns%c, and the other does not",
	Bool:    "%s makes a bool of columns%c, and the other does not",
	Bytes:   "%s returns texts as []byte",
	Number:  "%s makes a float64 of integers in columns%c",
	Text:    "%s makes a text of numbers in columns%c",
	Null:    "%s takes an empty or other value for NULL, in binding or in reading",
	Invalid: "%s replaces bytes that are not UTF-8",
}

func causeReason(g *Group, side string) string {
	words := cmp.Or(causeReasons[g.Cause], "%s")
	if g.Cause == Bytes && slices.ContainsFunc(g.Declared, func(d string) bool { return strings.Contains(strings.ToUpper(d), "BLOB") }) {
		words = "%s stores blobs as text, or returns them so"
	}
	return strings.NewReplacer("%s", side, "%c", strings.TrimPrefix(declared(g), ",")).Replace(words)
}
