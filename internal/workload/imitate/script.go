package imitate

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// loosen sets the field "loose" of all unique indexes that generated rows would violate. If an index has a
// single column with distinct values, loosen sets the column's field "unique" instead, so that generated rows
// satisfy the index.
func (b *builder) loosen(tables []*table) {
	for _, t := range tables {
		for _, x := range t.indexes {
			x.loose = ""
			if !x.unique || x == t.composite || x.sibling || slices.ContainsFunc(x.columns, func(c *column) bool { return c.unique }) && x.whole {
				continue
			}
			if x.whole && len(x.columns) == 1 && x.columns[0].stats.distinctive() {
				x.columns[0].unique = true
				continue
			}
			switch {
			case x.origin != "c":
				x.loose = "generated rows can satisfy only one key of several columns per table"
				b.note("table %s: the key of %s is an index that is not UNIQUE here, because %s", t.name, columnNames(x.columns), x.loose)
				continue
			case !x.whole:
				x.loose = "it is of an expression"
			case x.partial != "":
				x.loose = "it is partial"
			default:
				x.loose = "generated rows can satisfy only one UNIQUE index of several columns per table"
			}
			b.note("index %s is not UNIQUE here, because %s", x.name, x.loose)
		}
	}
}

// script returns SQL to run before and after the rows are inserted. It tries the schema in db, an empty
// database. It leaves out, with a note, triggers in b.failing and statements that fail after the user's
// literals were replaced. It adds the triggers in the SQL to b.scripted, and the CHECK constraints to b.checks.
func (b *builder) script(ctx context.Context, db *sql.DB) (before, after string) {
	for _, o := range b.schema.objects {
		t := b.schema.table(o.name)
		if o.kind == "table" && t != nil && (t.shadow || t.virtual != "" && shadows[t.virtual] == nil) {
			if !t.shadow {
				b.note("table %s is left out: it is of the module %s, which sqlite3perf's SQLite does not have", t.name, t.virtual)
			}
			continue
		}
		if why := b.failing[o.name]; why != "" && o.kind == "trigger" {
			b.note("trigger %s is left out: %s", o.name, why)
			continue
		}
		text, indexes := b.loosened(o)
		if !b.keep {
			text = b.schema.anonymous(object{kind: o.kind, name: o.name, table: o.table, sql: text})
		}
		var checks []check
		if o.kind == "table" && t.virtual == "" {
			if text, checks = b.withoutViolated(t, text); len(checks) > 0 {
				// The constraints may use functions that only the application defines.
				if _, err := db.ExecContext(ctx, "EXPLAIN "+text); err != nil {
					for _, c := range checks {
						c.violate(fmt.Sprintf("SQLite does not compile those of this table: %v", err))
					}
					text, checks = b.withoutViolated(t, text)
				}
			}
		}
		text = strings.TrimSpace(strings.ReplaceAll(text, "\r", ""))
		if _, err := db.ExecContext(ctx, text); err != nil {
			b.note("%s %s is left out: without its literals SQLite says: %v", o.kind, o.name, err)
			continue
		}
		b.checks = append(b.checks, checks...)
		if o.kind == "trigger" {
			b.scripted[o.name] = true
			after += text + ";\n"
		} else {
			before += text + ";\n" + indexes
		}
	}
	rebuild := ""
	for _, t := range b.schema.tables {
		switch {
		case t.content != nil:
			rebuild += fmt.Sprintf("INSERT INTO %s(%s) VALUES ('rebuild');\n", driver.Quote(t.name), driver.Quote(t.name))
		case t.contents == "''":
			b.note("table %s is empty: it keeps no texts that could be imitated", t.name)
		}
	}
	after = rebuild + after
	if b.packed {
		after += "VACUUM;\n"
	}
	if b.schema.analyzed {
		after += "ANALYZE;\n"
	}
	if b.schema.encoding != "UTF-8" {
		b.note("texts are UTF-8 here, and %s in the database", b.schema.encoding)
	}
	return before, after
}

// loosened returns the SQL of a schema object without the UNIQUE constraints that generated rows would
// violate. Without such a constraint, a table has no index for its key. So loosened also returns a CREATE
// INDEX for the key, and notes the index's name in b.renamed.
func (b *builder) loosened(o object) (text, indexes string) {
	text = o.sql
	switch o.kind {
	case "table":
		t := b.schema.table(o.name)
		for _, x := range t.indexes {
			if x.loose == "" || x.origin == "c" {
				continue
			}
			if list, ok := withoutKey(sqltext.All(text), x.columns); ok {
				text = join(list)
				name := b.unused(t.name + "_" + x.columns[0].name + "_key")
				b.renamed[x.name] = name
				indexes += fmt.Sprintf("CREATE INDEX %s ON %s(%s);\n", driver.Quote(name), driver.Quote(t.name), columnNames(x.columns))
			}
		}
	case "index":
		t := b.schema.table(o.table)
		if t == nil || !slices.ContainsFunc(t.indexes, func(x *index) bool { return x.name == o.name && x.loose != "" }) {
			break
		}
		list := sqltext.All(text)
		if i := slices.IndexFunc(list, func(t token) bool { return t.Is("UNIQUE") }); i >= 0 {
			text = join(slices.Delete(list, i, i+1))
		}
	}
	return text, indexes
}

// columnNames returns the names of columns as SQL.
func columnNames(columns []*column) string {
	return document.Join(columns, ", ", func(c *column) string { return driver.Quote(c.name) })
}

// withoutKey removes the constraint UNIQUE of the given columns from the tokens of a CREATE TABLE
// statement. It returns false if there is no such constraint.
func withoutKey(list []token, columns []*column) ([]token, bool) {
	for i := range list {
		if !list[i].Is("UNIQUE") || after(list, i).Text != "(" {
			continue
		}
		open := following(list, i)
		same := slices.EqualFunc(elements(list[open:]), columns, func(name []token, c *column) bool {
			first := following(name, -1)
			return strings.EqualFold(after(name, -1).Unquoted(), c.name) && following(name, first) >= len(name)
		})
		if same {
			_, from := beginning(list, i)
			return slices.Delete(slices.Clone(list), from, closing(list, open)+1), true
		}
	}
	return list, false
}
