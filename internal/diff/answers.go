package diff

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

func answers(x, y *protocol.Answer, primaryOnly bool) []Difference {
	if x.Error != nil || y.Error != nil {
		if code(x.Error, primaryOnly) == code(y.Error, primaryOnly) {
			return sameError(x.Error, y.Error)
		}
		return []Difference{{Kind: Errors, First: outcome(x), Second: outcome(y)}}
	}
	list := names(x, y)
	if x.RowCount != y.RowCount {
		list = append(list, Difference{Kind: RowCount, First: fmt.Sprint(x.RowCount), Second: fmt.Sprint(y.RowCount)})
	} else {
		list = append(list, rows(x, y)...)
	}
	// Only the statements below set the number of affected rows, and only the first three set the last
	// insert ID. After other statements, libraries return the numbers of an earlier statement, or 0. So after
	// other statements, these numbers are not compared.
	switch word := firstWord(x.SQL); word {
	case "INSERT", "REPLACE", "WITH", "UPDATE", "DELETE":
		list = append(list, numbers(Affected, x.Affected, y.Affected)...)
		if word != "UPDATE" && word != "DELETE" {
			list = append(list, numbers(LastInsertID, x.LastInsertID, y.LastInsertID)...)
		}
	}
	return list
}

// sameError compares two errors with the same code, and returns the differences between their types and
// between their texts. Types are compared only if both sides report them.
func sameError(x, y *protocol.AnswerError) (list []Difference) {
	if x.Type != y.Type && x.Type != "" && y.Type != "" {
		list = append(list, Difference{Kind: ErrorType, First: x.Type, Second: y.Type, types: [2]string{x.Type, y.Type}})
	}
	if x.Message != y.Message {
		list = append(list, Difference{Kind: ErrorText, First: x.Message, Second: y.Message})
	}
	return list
}

func firstWord(sql string) string {
	for token := range sqltext.Tokens(driver.TrimScript(sql)) {
		return strings.ToUpper(token.Text)
	}
	return ""
}

// code returns the result code of an error, or -1 if e is nil. If primaryOnly is true, it returns
// the primary code.
func code(e *protocol.AnswerError, primaryOnly bool) int {
	switch {
	case e == nil:
		return -1
	case primaryOnly:
		return e.Code & 0xff
	}
	return e.Code
}

func outcome(a *protocol.Answer) string {
	switch {
	case a.Error != nil:
		return a.Error.Message
	case a.RowCount == 1:
		return "1 row"
	case a.RowCount > 1 || a.Names != nil:
		return fmt.Sprintf("%d rows", a.RowCount)
	}
	return "no error"
}

func numbers(k Kind, x, y *int64) []Difference {
	if x == nil || y == nil || *x == *y {
		return nil
	}
	return []Difference{{Kind: k, First: fmt.Sprint(*x), Second: fmt.Sprint(*y)}}
}

func names(x, y *protocol.Answer) (list []Difference) {
	if x.Names == nil || y.Names == nil {
		return nil
	}
	if len(x.Names) != len(y.Names) {
		return []Difference{{Kind: Names, First: quoted(x.Names), Second: quoted(y.Names)}}
	}
	for i, n := range x.Names {
		if n != y.Names[i] {
			list = append(list, Difference{Kind: Names, Column: i + 1, First: strconv.Quote(n), Second: strconv.Quote(y.Names[i])})
		}
	}
	if len(x.Declared) != len(x.Names) || len(y.Declared) != len(x.Names) {
		return list
	}
	for i, d := range x.Declared {
		if !strings.EqualFold(d, y.Declared[i]) {
			list = append(list, Difference{Kind: Declared, Column: i + 1, Name: x.Names[i], First: strconv.Quote(d), Second: strconv.Quote(y.Declared[i])})
		}
	}
	return list
}

func quoted(names []string) string {
	return document.Join(names, ", ", strconv.Quote)
}

// rows returns the differences between the rows of two answers that have the same number of rows.
func rows(x, y *protocol.Answer) (list []Difference) {
	n := min(len(x.Columns), len(y.Columns))
	if len(x.Columns) != len(y.Columns) && x.RowCount > 0 {
		return []Difference{{Kind: Values, First: fmt.Sprintf("%d columns", len(x.Columns)), Second: fmt.Sprintf("%d columns", len(y.Columns))}}
	}
	if x.AnyOrder == y.AnyOrder && x.RowCount > 1 && !slices.EqualFunc(x.Columns, y.Columns, func(a, b protocol.ColumnSum) bool { return a.Content == b.Content }) {
		list = append(list, Difference{Kind: Order, First: firstRows(x), Second: firstRows(y)})
	}
	for i := range n {
		found := column(x, y, i)
		if len(list) > 0 && list[0].Kind == Order {
			// The order of rows differs, so values in the same row are not comparable.
			found = slices.DeleteFunc(found, func(d Difference) bool { return d.Kind == Values || d.types[0] == "" })
		}
		list = append(list, found...)
	}
	return list
}

func firstRows(a *protocol.Answer) string {
	if len(a.Rows) == 0 {
		return ""
	}
	return "first " + document.Join(a.Rows[0], ", ", Show)
}

// column returns the differences in column i. For each combination of kind, cause and Go types, it
// returns only the first difference. If the reported rows are equal, it compares the column's hash and
// number of values by Go type, which include the rows that were not reported.
func column(x, y *protocol.Answer, i int) (list []Difference) {
	complete := Difference{Column: i + 1, Name: either(x.Names, y.Names, i), Declared: either(x.Declared, y.Declared, i)}
	seen := map[string]bool{}
	for r := range min(len(x.Rows), len(y.Rows)) {
		if i >= len(x.Rows[r]) || i >= len(y.Rows[r]) {
			break
		}
		v, w := x.Rows[r][i], y.Rows[r][i]
		d, differ := values(v, w)
		if !differ {
			continue
		}
		d.Column, d.Name, d.Declared, d.Row = complete.Column, complete.Name, complete.Declared, int64(r)+1
		d.First, d.Second = Show(v), Show(w)
		if v.Type != w.Type {
			d.types = [2]string{v.Type, w.Type}
		}
		if key := fmt.Sprint(d.Kind, d.Cause, d.types); !seen[key] {
			seen[key] = true
			list = append(list, d)
		}
	}
	if len(list) > 0 {
		return list
	}
	// The reported rows are equal. For the other rows, only the column's hash and number of values by Go
	// type are known.
	s, t := x.Columns[i], y.Columns[i]
	complete.First, complete.Second = typesOf(s), typesOf(t)
	switch {
	case s.Content != t.Content:
		complete.Kind = Values
	case complete.First != complete.Second:
		complete.Kind = Types
	default:
		return nil
	}
	return []Difference{complete}
}

// either returns element i of the parameter "list". If that list is too short, it returns element i of
// the parameter "other". If both lists are too short, it returns "".
func either(list, other []string, i int) string {
	switch {
	case i < len(list):
		return list[i]
	case i < len(other):
		return other[i]
	}
	return ""
}

func typesOf(s protocol.ColumnSum) string {
	var list []string
	for typ, n := range s.Types {
		list = append(list, fmt.Sprintf("%d × %s", n, typ))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func values(v, w protocol.Value) (d Difference, differ bool) {
	if v == w {
		return d, false
	}
	if v.Type == w.Type {
		d.Kind = Values
		switch v.Type {
		case "string", "[]byte":
			d.Cause, d.Lossy = texts(v, w)
		case "int64":
			d.Cause, d.Lossy = integers(v.Text, w.Text)
		case "float64":
			if near(v.Text, w.Text) {
				d.Cause = Rounding
			}
		case "time.Time":
			if sameTime(v.Text, w.Text) {
				d.Cause = Zone
			}
		}
		return d, true
	}
	if first, ok := pair(v, w); ok {
		return first, true
	}
	if second, ok := pair(w, v); ok {
		if second.Lossy != 0 {
			second.Lossy = 3 - second.Lossy
		}
		return second, true
	}
	return Difference{Kind: Values}, true
}

// pair describes the difference between two values of different types. ok is false if pair has no
// rule for the types of v and w in this order.
func pair(v, w protocol.Value) (d Difference, ok bool) {
	switch v.Type {
	case "nil":
		return Difference{Kind: Values, Cause: Null}, true
	case "time.Time":
		return Difference{Kind: Types, Cause: Time}, true
	case "bool":
		want := map[string]string{"true": "1", "false": "0"}[v.Text]
		if w.Text == want || w.Text == v.Text {
			return Difference{Kind: Types, Cause: Bool}, true
		}
		return Difference{Kind: Values, Cause: Bool}, true
	case "[]byte":
		if w.Type != "string" {
			return d, false
		}
		if v.Length == w.Length && v.SHA256 == w.SHA256 && v.Bytes() == w.Bytes() {
			return Difference{Kind: Types, Cause: Bytes}, true
		}
		d.Kind = Values
		d.Cause, d.Lossy = texts(v, w)
		return d, true
	case "float64":
		if w.Type != "int64" {
			return d, false
		}
		f, ferr := strconv.ParseFloat(v.Text, 64)
		n, nerr := strconv.ParseInt(w.Text, 10, 64)
		switch {
		case ferr != nil || nerr != nil || float64(n) != f:
			return Difference{Kind: Values}, true
		case exact(n):
			return Difference{Kind: Types, Cause: Number}, true
		}
		return Difference{Kind: Values, Cause: Float, Lossy: 1}, true
	case "string":
		if (w.Type == "int64" || w.Type == "float64") && v.Text == w.Text {
			return Difference{Kind: Types, Cause: Text}, true
		}
	}
	return d, false
}

// texts returns the cause of a difference between two texts, and the side (1 or 2) that changed the text. The
// side is 0 if the texts do not show which side changed it.
func texts(v, w protocol.Value) (Cause, int) {
	s, t := v.Bytes(), w.Bytes()
	switch {
	case cutAtNUL(s, w):
		return NUL, 2
	case cutAtNUL(t, v):
		return NUL, 1
	case sameInstant(s, t):
		return format(s, t)
	case !utf8.ValidString(s) && strings.Contains(t, "\ufffd"):
		return Invalid, 2
	case !utf8.ValidString(t) && strings.Contains(s, "\ufffd"):
		return Invalid, 1
	}
	return None, 0
}

// format returns the cause of a difference between two texts of the same time. If only one text
// includes the reading of the monotonic clock, format also returns the side (1 or 2) of that text,
// and otherwise 0.
func format(s, t string) (Cause, int) {
	first, second := strings.Contains(s, monotonic), strings.Contains(t, monotonic)
	switch {
	case first == second:
		return Format, 0
	case first:
		return Clock, 1
	}
	return Clock, 2
}

// monotonic is the text that time.Time.String writes before the reading of the monotonic clock.
const monotonic = " m="

// timeLayouts are the formats in which libraries store times.
var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02",
	"2006-01-02 15:04:05.999999999-0700", "2006-01-02T15:04:05.999999999-0700",
	"2006-01-02 15:04:05.999999999 -0700 MST", "2006-01-02 15:04:05.999999999 -0700 -0700",
}

// sameInstant reports whether two texts, perhaps quoted by SQLite, are the same time.
func sameInstant(s, t string) bool {
	parse := func(s string) (time.Time, bool) {
		s, _, _ = strings.Cut(strings.Trim(s, "'"), monotonic)
		for _, layout := range timeLayouts {
			if v, err := time.Parse(layout, s); err == nil {
				return v, true
			}
		}
		return time.Time{}, false
	}
	a, ok := parse(s)
	b, bok := parse(t)
	return ok && bok && a.Equal(b)
}

// cutAtNUL reports whether the value v is the text s cut at its first NUL.
func cutAtNUL(s string, v protocol.Value) bool {
	i := strings.IndexByte(s, 0)
	return i >= 0 && v.SHA256 == "" && v.Bytes() == s[:i]
}

func exact(n int64) bool { return n > -1<<53 && n < 1<<53 || throughFloat(n) == n }

// throughFloat converts an integer to a float64 and back. The greatest integers become 2⁶³, which
// is not an int64: for these it returns an int64 that no float64 can have.
func throughFloat(n int64) int64 {
	f := float64(n)
	if f >= math.MaxInt64 {
		return math.MaxInt64 - 1 // no float64 has this value
	}
	return int64(f)
}

// integers returns the cause of a difference between two integers, and the side (1 or 2) that
// changed the integer. The side is 0 if unknown.
func integers(s, t string) (Cause, int) {
	n, err := strconv.ParseInt(s, 10, 64)
	m, merr := strconv.ParseInt(t, 10, 64)
	if err != nil || merr != nil || n == m {
		return None, 0
	}
	through := func(n, m int64) bool {
		return throughFloat(n) == m || float64(n) >= math.MaxInt64 && (m == math.MaxInt64 || m == math.MinInt64)
	}
	switch {
	case through(n, m):
		return Float, 2
	case through(m, n):
		return Float, 1
	}
	return None, 0
}

// near reports whether two reals differ only in their last digits.
func near(s, t string) bool {
	f, err := strconv.ParseFloat(s, 64)
	g, gerr := strconv.ParseFloat(t, 64)
	return err == nil && gerr == nil && f != g && math.Abs(f-g) <= 1e-9*max(math.Abs(f), math.Abs(g))
}

// sameTime reports whether two times are the same instant, or have the same date and time of day in
// different zones.
func sameTime(s, t string) bool {
	a, err := time.Parse(time.RFC3339Nano, s)
	b, berr := time.Parse(time.RFC3339Nano, t)
	const clock = "2006-01-02T15:04:05.999999999"
	return err == nil && berr == nil && (a.Equal(b) || a.Format(clock) == b.Format(clock))
}

// mostShown is the greatest number of characters of a value that are shown.
const mostShown = 60

// Show describes a value with its Go type.
func Show(v protocol.Value) string {
	switch v.Type {
	case "nil":
		return "nil"
	case "string", "[]byte":
		text := v.Text
		if v.Hex != "" {
			text = v.Bytes()
			if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
				h := v.Hex
				if len(h) > mostShown {
					h = h[:mostShown] + "…"
				}
				return fmt.Sprintf("%s x'%s'%s", v.Type, h, length(v))
			}
		}
		if utf8.RuneCountInString(text) > mostShown {
			return fmt.Sprintf("%s %q…%s", v.Type, string([]rune(text)[:mostShown]), length(v))
		}
		return fmt.Sprintf("%s %q%s", v.Type, text, length(v))
	}
	return v.Type + " " + v.Text
}

func length(v protocol.Value) string {
	if v.Length <= mostShown {
		return ""
	}
	return fmt.Sprintf(" (%d bytes)", v.Length)
}
