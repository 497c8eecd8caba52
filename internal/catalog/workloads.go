package catalog

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// ListWorkloads writes the names of the built-in workloads, each with the first sentence about it.
func ListWorkloads(out io.Writer) error {
	var rows [][]string
	for _, name := range workload.Builtins() {
		l, err := workload.Load(name)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(strings.Join(strings.Fields(l.About), " "), ". ")
		rows = append(rows, []string{name, strings.TrimSuffix(first, ".") + "."})
	}
	return document.PrintTable(out, "|", rows)
}

// schemaFile matches the line of a workload that names a file with the schema.
var schemaFile = regexp.MustCompile(`(?m)^schema: *\S+\.sql *$`)

// Standalone returns the text of a workload with its schema included, so that the text does not
// depend on other files.
func Standalone(w *workload.Workload) (string, error) {
	resolved, err := w.Plan(workload.Full, nil)
	if err != nil {
		return "", err
	}
	schema := "schema: |\n"
	for line := range strings.Lines(strings.TrimSpace(resolved.Schema)) {
		if strings.TrimSpace(line) != "" {
			line = "  " + line
		}
		schema += line
	}
	return schemaFile.ReplaceAllLiteralString(string(w.Source()), schema), nil
}

// Explain describes what a workload does, in the terms of its file. The parameter "quick" is the plan of
// the workload at the scale quick, which is the default scale of the command "run".
func Explain(out io.Writer, w *workload.Workload, quick *plan.Plan) error {
	// Lines from the file are indented, so that nobody mistakes them for the command's own lines.
	about := strings.ReplaceAll(strings.TrimSpace(w.About), "\n", "\n  ")
	fmt.Fprintf(out, "%s\n\n", strings.TrimSuffix(w.Name+": "+about, ": "))
	if len(w.Needs) > 0 {
		fmt.Fprintf(out, "needs:      %s\n", strings.Join(w.Needs, " "))
	}
	if s := w.Snapshot(); s != nil {
		mode := "not in WAL mode"
		if s.WAL {
			mode = "in WAL mode"
		}
		fmt.Fprintf(out, "database:   %s: %s of %s, in pages of %d bytes, %s; SHA-256 %.12s…\n", document.Line(w.Database), document.Bytes(s.Bytes), document.Counted(s.Tables, "table"), s.PageSize, mode, s.SHA256)
	}
	if len(w.Settings) > 0 {
		fmt.Fprintf(out, "settings:   %s\n", document.Assigned(w.Settings))
	}
	if len(w.Changes) > 0 {
		fmt.Fprintf(out, "changed to: %s (by the schema)\n", document.Assigned(w.Changes))
	}
	if unset := w.Unset(w.Settings); len(unset) > 0 {
		fmt.Fprintf(out, "defaults:   the workload %s; add to settings: {%s}\n", ownDefaults(unset), strings.NewReplacer("=", ": ", " ", ", ").Replace(document.Assigned(unset)))
	}
	full, err := w.Plan(workload.Full, nil)
	if err != nil {
		return err
	}
	for _, p := range w.Parameters {
		values := func(list []int64) string { return strings.Trim(fmt.Sprint(list), "[]") }
		line := cmp.Or(values(p.Values), "all")
		if q, ok := w.Quick[p.Name]; ok {
			line = fmt.Sprintf("%s (full: %s)", values(q), line)
		}
		fmt.Fprintf(out, "parameter:  %s = %s\n", p.Name, line)
	}
	for i, d := range quick.DataSets {
		line := fmt.Sprint(d.Total)
		if total := full.DataSets[i].Total; total != d.Total {
			line += fmt.Sprintf(" (full: %d)", total)
		}
		fmt.Fprintf(out, "rows:       %s %s\n", d.Name, line)
	}
	var phases, statements [][]string
	for i, p := range w.Phases {
		timed := "timed"
		if p.Untimed {
			timed = "not timed"
		}
		if len(p.Changes) > 0 {
			timed += ", changes " + document.Assigned(p.Changes)
		}
		if c := quick.Phases[i].Clients(); c > 1 {
			timed += fmt.Sprintf(", %d clients", c)
		}
		phases = append(phases, []string{"phase:", p.Name, p.Kind + ", " + timed, document.Line(p.About)})
		for _, what := range does(&quick.Phases[i]) {
			statements = append(statements, []string{"does:", quick.Phases[i].Name, document.Abridged(what, 120)})
		}
	}
	cases, err := w.Cases(workload.Quick, nil)
	if err != nil {
		return err
	}
	var expects [][]string
	for _, e := range cases[0].Expects {
		expects = append(expects, []string{"expects:", e.Phase, e.String()})
	}
	return cmp.Or(document.PrintTable(out, "|||", phases), document.PrintTable(out, "||", statements), document.PrintTable(out, "||", expects))
}

// ownDefaults returns a warning about settings that the workload does not set. The warning is printed
// before a run begins. Reports have the warning [conditions.CaveatUnset] instead.
func ownDefaults(unset driver.Settings) string {
	return "doesn't set " + document.Or(slices.Sorted(maps.Keys(unset))) + ", so each driver uses its own default"
}

// SayUnset prints which settings the workloads do not set, so that each driver uses its own default.
// It prints nothing if a run has only one driver. The parameter "flag" is the flag that sets a
// setting.
func SayUnset(cases []*lab.Case, flag string, say func(format string, args ...any)) {
	told := map[string]bool{}
	for _, c := range cases {
		unset := c.Source.Unset(c.Settings)
		if c.Driver == cases[0].Driver || told[c.Workload] || len(unset) == 0 {
			continue
		}
		told[c.Workload] = true
		say("%s: %s %s; give %s %s", conditions.KindOf(conditions.CaveatUnset).Name, c.Workload, ownDefaults(unset), flag, strings.ReplaceAll(document.Assigned(unset), " ", " "+flag+" "))
	}
}

// SayWithout prints which workloads do not have a parameter that the user set with --param. At least one
// other workload has the parameter, because otherwise --param would have been an error.
func SayWithout(m *lab.Matrix, say func(format string, args ...any)) {
	for _, name := range slices.Sorted(maps.Keys(m.Parameters)) {
		var without []string
		for _, w := range m.Workloads {
			if !slices.ContainsFunc(w.Parameters, func(p workload.Values) bool { return p.Name == name }) {
				without = append(without, w.Name)
			}
		}
		have := "have"
		if len(without) == 1 {
			have = "has"
		}
		if len(without) > 0 {
			say("--param %s changes nothing in %s, which %s no such parameter", name, strings.Join(without, ", "), have)
		}
	}
}

// SayNeeded prints which drivers are built with other options than usual because a workload needs a
// feature of SQLite.
func SayNeeded(cases []*lab.Case, say func(format string, args ...any)) {
	told := map[string]bool{}
	for _, c := range cases {
		if c.Needed != nil && !told[c.Driver] {
			told[c.Driver] = true
			say("measuring %s, because the workload %s needs %s", c.Driver, c.Workload, strings.Join(c.Needed, ", "))
		}
	}
}

// The function "does" describes what a phase executes, such as its statement, its script or the
// operations of its mix.
func does(p *plan.Phase) (list []string) {
	switch {
	case p.Insert != nil:
		return []string{"insert the rows of " + strings.Join(p.Insert.Sets, ", ")}
	case p.Query != nil:
		return []string{p.Query.SQL}
	case p.HTTP != nil:
		return []string{p.HTTP.SQL}
	case p.Replay != nil:
		return replays(p.Replay)
	case p.Mix == nil:
		return []string{p.Script}
	}
	for _, o := range p.Mix.Operations {
		statements := document.Map(o.Calls, func(c plan.MixCall) string { return document.Abridged(c.SQL, 60) })
		if o.Transaction {
			statements = slices.Concat([]string{"BEGIN"}, statements, []string{"COMMIT"})
		}
		list = append(list, fmt.Sprintf("%s, weight %d: %s", o.Name, o.Weight, strings.Join(statements, "; ")))
	}
	return list
}

func replays(r *plan.Replay) []string {
	transactions := 1 + slices.Max(r.Events.Transaction)
	return []string{fmt.Sprintf("%s in %s, of %s on %s: %s",
		document.Counted(r.Events.Len(), "event"), document.Counted(transactions, "transaction"), document.Counted(len(r.Statements), "statement"), document.Counted(r.Connections, "connection"), strings.Join(r.Operations, ", "))}
}
