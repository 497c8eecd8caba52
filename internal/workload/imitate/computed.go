package imitate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// part is a part of the key of an index.
type part struct {
	column *column // nil if the part is computed
	name   string  // name of the part's column, which may be generated; "" if the part is an expression
	number int     // index of the part in the key, from 0
}

// condition returns two conditions of the form "t.a = :a AND t.b = (:a * 2) AND …" for the key of
// an index. The result named "where" uses the names of the workload, and the result named
// "original" uses the names of the database. The result named "args" has the parameters. From the
// parameters, SQLite computes generated columns and expressions in the same way as it does for
// rows.
func (b *builder) condition(t *table, x *index) (where, original string, args []arg, err error) {
	sql := [2]string{t.sql, t.sql} // the SQL of the table in the workload and in the database
	of := [2]string{x.sql, x.sql}  // the SQL of the index in the workload and in the database
	if !b.keep {
		sql[0], of[0] = b.schema.anonymous(t.object), b.schema.anonymous(x.object)
	}
	var texts [2]string
	for i := range texts {
		c := &computed{b: b, t: t, sql: sql[i]}
		var parts []string
		for _, p := range x.parts {
			left, right := "t."+driver.Quote(p.name), []token{{Kind: sqltext.Name, Text: driver.Quote(p.name)}}
			switch {
			case p.name == "":
				right = keyExpression(of[i], p.number)
				left = "(" + join(right) + ")"
			case p.column == nil:
				right = c.expression(p.name)
			}
			known := len(c.args)
			text, err := c.of(right)
			if err != nil {
				return "", "", nil, err
			}
			if p.column == nil {
				text = "(" + text + ")"
				if len(c.args) == known && !strings.Contains(text, ":") {
					return "", "", nil, fmt.Errorf("part %d of its key is not computed from columns of the table", p.number+1)
				}
			}
			parts = append(parts, left+" = "+text)
		}
		texts[i], args = strings.Join(parts, " AND "), c.args
	}
	return texts[0], texts[1], args, nil
}

// computed rewrites expressions of a table: it replaces the table's columns by parameters.
type computed struct {
	b      *builder
	t      *table
	sql    string // the table's CREATE TABLE statement
	args   []arg
	nested int
}

// c.of(list) returns the expression with the tokens in "list", in which parameters replace the columns. It
// returns an error if the values of a column cannot be parameters.
func (c *computed) of(list []token) (string, error) {
	if c.nested++; c.nested > 20 {
		return "", fmt.Errorf("its key is computed in more than 20 steps")
	}
	defer func() { c.nested-- }()
	list = slices.Clone(list)
	for i, tok := range list {
		if tok.Kind != sqltext.Word && tok.Kind != sqltext.Name {
			continue
		}
		if after(list, i).Text == "(" || before(list, i).Is("AS", "COLLATE") { // the token is the name of a function, a type or a collation
			continue
		}
		column := c.t.column(tok.Unquoted())
		if column == nil {
			if inner := c.expression(tok.Unquoted()); inner != nil {
				text, err := c.of(inner)
				if err != nil {
					return "", err
				}
				list[i].Text = "(" + text + ")"
			}
			continue
		}
		switch n := len(column.stats.present()); {
		case n == 0:
			return "", fmt.Errorf("%s is always NULL", column.name)
		case n > 1:
			return "", fmt.Errorf("%s has values of several types", column.name)
		case len(list) > 1 && column.stats.document.arrays > 0:
			return "", fmt.Errorf("its key comes from %s, and elements of its JSON arrays are not imitated", column.name)
		}
		name := c.b.parameter(c.t, column)
		if !slices.ContainsFunc(c.args, func(a arg) bool { return a.name == name }) {
			c.args = append(c.args, arg{name, column})
		}
		list[i].Text = ":" + name
		if column.affinity == "REAL" && len(list) > 1 { // SQLite has converted the stored values to REAL, too
			list[i].Text = "CAST(:" + name + " AS REAL)"
		}
	}
	return join(list), nil
}

// expression returns the expression of a generated column, or nil for other columns.
func (c *computed) expression(name string) []token {
	for _, list := range elements(sqltext.All(c.sql)) {
		first := following(list, -1)
		if first == len(list) || !strings.EqualFold(list[first].Unquoted(), name) {
			continue
		}
		for i, tok := range outer(list) {
			if i > first && tok.Is("AS") {
				return inside(list, following(list, i))
			}
		}
	}
	return nil
}

// keyExpression reads a CREATE INDEX statement. It returns the tokens of the part of the key with the given
// number, counted from 0, without the part's collation and order.
func keyExpression(sql string, number int) []token {
	if parts := elements(sqltext.All(sql)); number < len(parts) {
		return withoutOrder(parts[number])
	}
	return nil
}

// withoutOrder cuts COLLATE, ASC and DESC from the end of a part of a key.
func withoutOrder(list []token) []token {
	if before(list, len(list)).Is("ASC", "DESC") {
		list = list[:preceding(list, len(list))]
	}
	if last := preceding(list, len(list)); before(list, last).Is("COLLATE") {
		list = list[:preceding(list, last)]
	}
	return list
}

// inside returns the tokens between an opening parenthesis and the parenthesis that closes it. The
// parameter "open" is the index of the opening parenthesis.
func inside(list []token, open int) []token {
	if end := closing(list, open); end < len(list) {
		return list[open+1 : end]
	}
	return nil
}

// closing returns the index of a closing parenthesis. The parameter "open" is the index of the opening
// parenthesis that it closes. If nothing closes the opening parenthesis, closing returns len(list).
func closing(list []token, open int) int {
	depth := 0
	for i := open; i < len(list); i++ {
		switch list[i].Text {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(list)
}
