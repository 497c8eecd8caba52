package imitate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// yaml returns the text of the workload's file.
func (b *builder) yaml(tables []*table, loaded []string, more []*dataSet, queries []*Query, before, after string) string {
	var w strings.Builder
	fmt.Fprintf(&w, "# Made by sqlite3perf workload from %s.\n", yamlText(b.file))
	if !b.keep {
		w.WriteString("# No text of the database is in it: texts are letters. Times, real numbers and integers of 1000 or more are\n# rounded or moved. Columns whose integers are all below 1000 keep them, and their frequencies.\n")
	}
	for _, n := range b.notes {
		fmt.Fprintf(&w, "# %s.\n", strings.Join(strings.Fields(n), " "))
	}
	fmt.Fprintf(&w, "name: %s\nabout: |\n  An imitation of a database. Loading it is not timed; then rows are read by each index and\n"+
		"  along each foreign key, and rows are inserted into its largest tables.\n", b.name)
	if n := b.needs(); n != nil {
		fmt.Fprintf(&w, "needs: [%s]\n", strings.Join(n, ", "))
	}
	settings := "journal_mode: delete, synchronous: full"
	if b.schema.log {
		settings = "journal_mode: wal, synchronous: normal"
	}
	settings += fmt.Sprintf(", page_size: %d", b.schema.pageSize)
	if b.schema.vacuum > 0 {
		settings += ", auto_vacuum: " + [...]string{"none", "full", "incremental"}[b.schema.vacuum]
	}
	// foreign_keys has SQLite's default value, because a database file does not show whether its
	// application sets it.
	fmt.Fprintf(&w, "settings: {%s, foreign_keys: off}\n", settings)
	b.scales(&w, tables, more, queries)
	fmt.Fprintf(&w, "schema: |2\n%s", indented(before, "  "))
	if len(b.sets) > 0 {
		w.WriteString("rows:\n")
	}
	for _, d := range b.sets {
		fmt.Fprintf(&w, "  %s:\n    count: %s\n", yamlName(d.name), d.count)
		if d.table != nil && d.table.name != d.name {
			fmt.Fprintf(&w, "    table: %s\n", yamlText(d.table.name))
		}
		w.WriteString("    columns:\n")
		for _, c := range d.columns {
			fmt.Fprintf(&w, "      %s: %s\n", yamlName(c.name), c)
		}
	}
	w.WriteString("phases:\n")
	if len(loaded) > 0 {
		fmt.Fprintf(&w, "  - {name: load, untimed: true, insert: [%s]}\n", strings.Join(loaded, ", "))
	}
	if after != "" {
		fmt.Fprintf(&w, "  - name: finish\n    untimed: true\n    script: |2\n%s", indented(after, "      "))
	}
	for _, q := range queries {
		fmt.Fprintf(&w, "  - name: %s\n    query: %s\n    for each: %s\n    columns: [%s]\n", yamlText(q.Phase), yamlText(q.SQL), b.reads, strings.Join(q.columns, ", "))
	}
	if len(more) > 0 {
		w.WriteString("  # All rows of a phase are one transaction. With \"transaction: per statement\" each row is one, as in most\n  # web services: then synchronous decides how long it takes.\n")
	}
	for _, d := range more {
		fmt.Fprintf(&w, "  - {name: %s, insert: %s, transaction: one}\n", yamlText(phaseName("insert "+d.table.name)), d.name)
	}
	if len(more) == 0 && len(queries) == 0 {
		w.WriteString("  - {name: check, script: PRAGMA integrity_check}\n")
	}
	return w.String()
}

// needs returns the features of SQLite that the schema uses and that some drivers lack.
func (b *builder) needs() []string {
	var sql strings.Builder
	for _, t := range b.schema.tables {
		if shadows[t.virtual] != nil { // only virtual tables of known modules are in the workload
			sql.WriteString(t.sql + ";\n")
		}
	}
	return workload.FeaturesOf(sql.String())
}

// QuickRows is the greatest number of rows of a table at the quick scale.
const QuickRows = 10_000

// Cut reports whether a table has fewer rows at the quick scale than at the full one.
func (w *Workload) Cut() bool {
	return slices.ContainsFunc(w.Tables, func(t Table) bool { return t.Full > QuickRows })
}

// scales writes the number of rows of each table at each scale.
func (b *builder) scales(w *strings.Builder, tables []*table, more []*dataSet, queries []*Query) {
	most := int64(1)
	for _, t := range tables {
		most = max(most, t.rows)
	}
	var full, quick, factor []string
	add := func(name string, rows, few int64) {
		full = append(full, fmt.Sprintf("%s: %d", name, rows))
		quick = append(quick, fmt.Sprintf("%s: %d", name, few))
	}
	for _, t := range tables {
		if t.rows == 0 {
			continue
		}
		rows := b.scaled(t.rows)
		few := rows
		if rows >= small {
			factor = append(factor, t.set)
			of := max(most, QuickRows)
			few = min(rows, max(small, (t.rows*QuickRows+of-1)/of))
		}
		add(t.set, rows, few)
	}
	if len(more) > 0 {
		add(b.inserts, 1000, 1000)
	}
	if len(queries) > 0 {
		add(b.reads, 10_000, 1000)
	}
	if len(full) == 0 {
		return
	}
	fmt.Fprintf(w, "scales:\n  full: {%s}\n  quick: {%s}\n", strings.Join(full, ", "), strings.Join(quick, ", "))
	if factor != nil {
		fmt.Fprintf(w, "  factor: [%s]\n", strings.Join(factor, ", "))
	}
}

func indented(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// yamlText writes a text in a form that YAML reads as the same text.
func yamlText(s string) string {
	b, _ := json.Marshal(s) // a string can always be marshaled
	return string(b)
}

// yamlName writes a name without quotes if they are not needed.
func yamlName(s string) string {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return yamlText(s)
	}
	if identifierOf(s) == s {
		return s
	}
	return yamlText(s)
}
