package imitate

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// anonymous returns the SQL of a schema object without private values. It replaces texts by other
// texts, blobs by zeros, large numbers by round numbers, and comments by spaces. It keeps names,
// types, options of virtual tables, JSON paths, formats and modifiers of dates, and the numbers of
// computed expressions.
func (s *schema) anonymous(o object) string {
	list := sqltext.All(o.sql)
	if o.kind == "table" && len(significant(o.sql)) > 1 && significant(o.sql)[1].Is("VIRTUAL") {
		return o.sql
	}
	known, calls, names := s.known(o), callers(list), textNames(list)
	t := s.table(o.table)
	depth, where, generated, check := 0, o.kind != "table" && o.kind != "index", 0, 0
	defaults := false // whether the token follows DEFAULT; parentheses and signs may come between them
	for i := range list {
		switch tok := &list[i]; {
		case tok.Kind == sqltext.Space:
			continue
		case tok.Kind == sqltext.Comment:
			tok.Text = " "
			continue
		case tok.Text == "(":
			depth++
		case tok.Text == ")":
			if depth--; depth < generated {
				generated = 0
			}
			if depth < check {
				check = 0
			}
		case o.kind == "index" && depth == 0 && tok.Is("WHERE"):
			where = true
		case o.kind == "table" && tok.Is("AS"):
			generated = depth + 1
		case o.kind == "table" && tok.Is("CHECK"):
			check = depth + 1
		case tok.Kind == sqltext.Text && (names[i] || isPath(list, i, calls[i])):
		case tok.Kind == sqltext.Text && dateFunctions[calls[i].innermost()] && dateWord.MatchString(tok.Unquoted()):
		case check > 0 && slices.Contains(storageClasses, tok.Unquoted()):
		case tok.Kind == sqltext.Text:
			tok.Text = quoteText(s.replaced(t, tok.Unquoted()))
		case tok.Kind == sqltext.Blob:
			tok.Text = "x'" + strings.Repeat("00", (len(tok.Text)-3)/2) + "'"
		case tok.Kind == sqltext.Name && tok.Text[0] == '"' && (defaults || (where || generated > 0 || check > 0 || o.kind == "index" && depth > 0) && !known[strings.ToLower(tok.Unquoted())]):
			if defaults || !before(list, i).Is("AS") && !isPath(list, i, calls[i]) {
				tok.Text = quoteText(s.replaced(t, tok.Unquoted())) // SQLite takes a name in double quotes as a text if there is no column with this name
			}
		case tok.Kind == sqltext.Number && (check > 0 || where || defaults):
			tok.Text = t.replacedNumber(tok.Text)
		}
		defaults = list[i].Is("DEFAULT") || defaults && (list[i].Text == "(" || list[i].Text == "-" || list[i].Text == "+")
	}
	return join(list)
}

// storageClasses lists the results of typeof.
var storageClasses = []string{"null", "integer", "real", "text", "blob"}

// calls are the words before the parentheses around a token, in lower case. The outermost call is
// first. For example, in abs(round(x)) the calls of x are "abs" and "round".
type calls []string

func (c calls) innermost() string {
	if len(c) == 0 {
		return ""
	}
	return c[len(c)-1]
}

// callers returns, for each token, the calls that enclose the token.
func callers(list []token) []calls {
	found := make([]calls, len(list))
	var open calls
	for i, tok := range list {
		switch tok.Text {
		case "(":
			open = append(slices.Clip(open), strings.ToLower(before(list, i).Text))
		case ")":
			open = open[:max(0, len(open)-1)]
		}
		found[i] = open
	}
	return found
}

// jsonPath matches JSON paths and their beginnings.
var jsonPath = regexp.MustCompile(`^\$(\.[\pL\pN_-]+|\."[^"]*"|\[([0-9]+|#(-[0-9]+)?)\])*[.\[]?$`)

// isPath reports whether a text is a JSON path or key where SQL expects one. Elsewhere, a text
// that begins like a path, such as the hash of a password, is a value.
func isPath(list []token, at int, in calls) bool {
	text := list[at].Unquoted()
	switch {
	case before(list, at).Is("->", "->>"): // the right side of these operators is a key of JSON
		return !strings.HasPrefix(text, "$") || jsonPath.MatchString(text)
	case slices.ContainsFunc(in, func(word string) bool { return strings.HasPrefix(word, "json") }):
		return jsonPath.MatchString(text)
	}
	return false
}

// SQLite's functions of dates, and the words that they accept as times and modifiers.
var (
	dateFunctions = map[string]bool{"date": true, "time": true, "datetime": true, "julianday": true, "unixepoch": true, "strftime": true, "timediff": true}
	dateWord      = regexp.MustCompile(`(?i)^(now|auto|ceiling|floor|julianday|localtime|subsec(ond)?|unixepoch|utc|start of (day|month|year)|weekday [0-6]|[-+]?[0-9.]+ (second|minute|hour|day|month|year)s?)$`)
)

// textNames returns the indexes of tokens in single quotes that are names. SQLite reads a text in
// single quotes as a name where a text is not allowed.
func textNames(list []token) map[int]bool {
	found := map[int]bool{}
	var open []bool // for each open parenthesis, whether names follow it
	for i, tok := range list {
		last, next := before(list, i), after(list, i)
		switch {
		case tok.Text == "(":
			open = append(open, namesFollow(list, i))
		case tok.Text == ")":
			open = open[:max(0, len(open)-1)]
		case tok.Kind != sqltext.Text:
		case last.Is("FROM") && before(list, preceding(list, i)).Is("DISTINCT"): // after IS DISTINCT FROM, a text is a value
		case last.Is("ON") && next.Kind == sqltext.Operator && next.Text != "(": // in a condition after ON, a text is a value
		case last.Text == "." || next.Text == "." || last.Is("TABLE", "VIEW", "INDEX", "TRIGGER", "EXISTS", "AS", "ON", "OF", "INTO", "FROM", "JOIN", "UPDATE", "REFERENCES", "COLLATE", "CONSTRAINT"):
			found[i] = true
		case len(open) > 0 && open[len(open)-1] && (last.Text == "(" || last.Text == ","):
			found[i] = true
		}
	}
	return found
}

// namesFollow reports whether parentheses contain names: the columns of a table, a key, an index, a foreign
// key or an INSERT. The parameter "open" is the index of the opening parenthesis.
func namesFollow(list []token, open int) bool {
	return before(list, open).Is("KEY", "UNIQUE") || before(list, preceding(list, open)).Is("TABLE", "EXISTS", "ON", "INTO", "REFERENCES")
}

// known returns, in lower case, the names that the SQL of an object may use: the names in the schema, and
// others such as rowid.
func (s *schema) known(of object) map[string]bool {
	known := map[string]bool{"rowid": true, "binary": true, "nocase": true, "rtrim": true}
	if of.kind == "trigger" {
		known["new"], known["old"] = true, true
	}
	for _, o := range s.objects {
		known[strings.ToLower(o.name)] = true
		for i, list := 0, significant(o.sql); i < len(list); i++ {
			if i > 0 && list[i-1].Is("AS") {
				known[strings.ToLower(list[i].Unquoted())] = true // the name is an alias
			}
		}
	}
	for _, t := range s.tables {
		for _, c := range t.columns {
			known[strings.ToLower(c.name)] = true
		}
	}
	return known
}

// format matches formats of strftime and printf that contain no words.
var format = regexp.MustCompile(`^%[-+ 0-9.]*[A-Za-z%](%[-+ 0-9.]*[A-Za-z%]|[^A-Za-z0-9%]|[TZ])*$`)

// replaced returns the replacement of a text of the schema. Empty texts and formats are kept. A text that is
// a value in the rows has the same replacement as in the rows. If several tables have this value with
// different replacements, replaced prefers the replacement of table t. A text that is not a value in the
// rows has the same replacement wherever it occurs in the schema.
func (s *schema) replaced(t *table, text string) string {
	switch {
	case text == "" || format.MatchString(text):
		return text
	case t != nil:
		if name, ok := t.named("t" + text); ok {
			return name
		}
	}
	for _, t := range s.tables {
		if name, ok := t.named("t" + text); ok {
			return name
		}
	}
	if m, ok := momentOf(text); ok {
		return m.month().String()
	}
	if _, ok := s.literals[text]; !ok {
		// The letters depend on how many texts were replaced before this one, not on the text.
		s.literals[text] = letters(scramble(uint64(len(s.literals))+1), len(text))
	}
	return s.literals[text]
}

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// replacedNumber returns the replacement of a number of the schema. If the rows of t have a
// replacement for the number, it returns this replacement. It rounds other numbers of 1000 or more
// to one digit. So a comparison with the number selects about the same part of the rows in the
// imitation as in the database.
func (t *table) replacedNumber(text string) string {
	if t != nil {
		if name, ok := t.named("i" + text); ok {
			return name
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err == nil && x < 1000 && len(text) <= 4 {
		return text
	}
	if err != nil || math.IsInf(x, 0) { // the number has another form, such as 0x7fff or 1_000
		return "1" + strings.Repeat("0", len(text)-1)
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', 0, 64), 64)
	return strconv.FormatFloat(x, 'f', -1, 64)
}
