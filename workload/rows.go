package workload

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// loader turns a workload file into a plan, for one set of values of its
// parameters.
type loader struct {
	*reader
	w        *Workload
	values   map[string]int64
	plan     *plan.Plan
	settings driver.Settings
	infos    []PhaseInfo
	sets     map[string]*setInfo
	pragmas  []pragmaSetting // of the phase that is being read
}

// setInfo is a data set while it is being read.
type setInfo struct {
	plan.DataSet
	node    *yaml.Node
	columns map[string]*columnInfo
	order   []*columnInfo
	depth   int // -1 while not known
}

func (w *Workload) loader(r *reader, values map[string]int64) *loader {
	return &loader{reader: r, w: w, values: values, plan: &plan.Plan{}, settings: driver.Settings{}, sets: map[string]*setInfo{}}
}

// resolve reads the file; what is wrong is in the reader's problems.
func (l *loader) resolve() {
	f := l.w.root
	if n := f.get("settings"); n != nil {
		l.settings = l.readSettings(n, "settings")
	}
	if n := f.get("schema"); n != nil {
		l.plan.Schema, _ = l.sql(n, "schema", "CREATE TABLE users(id INTEGER PRIMARY KEY)")
	}
	if n := f.get("changes settings"); n != nil {
		if l.plan.Changes = l.changes(n); f.get("schema") == nil {
			l.errorf(n, "changes settings without a schema that would: write the settings under settings, or changes settings in a script phase")
		}
	}
	if n := f.get("rows"); n != nil {
		if f, ok := l.mapping(n, "rows", "rows: {users: {count: 10, columns: {id: serial}}}"); ok {
			l.readRows(f)
		}
	}
	n := f.get("phases")
	if n == nil {
		l.errorf(f.node, "the workload has no phases: write phases: and a list")
		return
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		l.errorf(n, "phases is %s: want a list, such as - {name: insert, insert: users}", describe(n))
		return
	}
	if !l.countWithin(n, "phases", len(n.Content), maxPhases) {
		return
	}
	for _, p := range l.list(n) {
		l.phase(p)
	}
	if len(l.plan.Phases) == len(n.Content) && !slices.ContainsFunc(l.plan.Phases, func(p plan.Phase) bool { return !p.Untimed }) {
		l.errorf(n, "every phase is untimed: leave untimed out of what is to be measured")
	}
}

// readSettings reads settings and brings them into canonical form.
func (l *loader) readSettings(n *yaml.Node, what string) driver.Settings {
	settings := driver.Settings{}
	f, ok := l.mapping(n, what, what+": {journal_mode: wal}")
	if !ok {
		return settings
	}
	for i, k := range f.keys {
		v := f.values[i]
		text, ok := l.text(v, "setting "+k.Value, "journal_mode: wal")
		if !ok {
			continue
		}
		if d, known := driver.LookupSetting(k.Value); known && strings.Contains(text, "$") {
			x, ok := l.number(v, "setting "+k.Value, d.Min)
			if !ok {
				continue
			}
			text = itoa(x)
		} else if !known {
			v = k
		}
		value, err := driver.ParseSetting(k.Value, text)
		if err != nil {
			l.errorf(v, "%v", err)
			continue
		}
		settings[k.Value] = value
		if k.Value == "pool_size" {
			l.poolWithin(v, settings)
		}
	}
	return settings
}

// changes reads the settings that a script changes: of those that a PRAGMA sets.
func (l *loader) changes(n *yaml.Node) driver.Settings {
	s := l.readSettings(n, "changes settings")
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if d, known := driver.LookupSetting(n.Content[i].Value); known && !d.Pragma {
			l.errorf(n.Content[i], "no SQL changes %s: write it under settings", d.Name)
		}
	}
	if len(s) == 0 {
		return nil // which has been told, or there is none
	}
	return s
}

// readRows reads the data sets, parents first.
func (l *loader) readRows(f *fields) {
	var names []string
	if !l.countWithin(f.node, "rows", len(f.keys), maxDataSets) {
		return
	}
	for i, k := range f.keys {
		s := l.dataSet(k, f.values[i])
		l.sets[k.Value] = s
		names = append(names, k.Value)
	}
	for _, name := range names {
		l.place(l.sets[name], nil)
	}
	slices.SortStableFunc(names, func(a, b string) int { return l.sets[a].depth - l.sets[b].depth })
	for _, name := range names {
		for _, c := range l.sets[name].order {
			l.checkColumn(c)
		}
	}
	for _, name := range names {
		s := l.sets[name]
		l.rowWithin(s)
		for _, c := range s.order {
			s.Columns = append(s.Columns, c.Column)
		}
		l.plan.DataSets = append(l.plan.DataSets, s.DataSet)
	}
}

func (l *loader) dataSet(key, n *yaml.Node) *setInfo {
	s := &setInfo{node: key, depth: -1, columns: map[string]*columnInfo{}}
	s.Name, s.Table = key.Value, key.Value
	l.identifier(key, "a data set")
	if key.Value == "set" || key.Value == "statement" {
		l.errorf(key, "a data set cannot be called %q, which means something else in transaction: write another name", key.Value)
	}
	what := "data set " + key.Value
	f, ok := l.object(n, what, "{count: 10, columns: {id: serial}}", keys["rows"])
	if !ok {
		return s
	}
	if n := f.get("count"); n == nil {
		l.errorf(f.node, "%s has no count: write count: and a number", what)
	} else {
		s.Count, _ = l.number(n, "count of "+what, 0)
	}
	if n := f.get("table"); n != nil {
		s.Table, _ = l.text(n, "table of "+what, "users")
	}
	if n := f.get("per"); n != nil {
		if s.Parent, ok = l.text(n, "per of "+what, "users"); ok {
			s.node = n
		}
	}
	n = f.get("columns")
	if n == nil {
		l.errorf(f.node, "%s has no columns: write columns: {id: serial}", what)
		return s
	}
	cols, ok := l.mapping(n, "columns of "+what, "{id: serial}")
	if !ok {
		return s
	}
	if !l.countWithin(n, "columns of "+what, len(cols.keys), maxColumns) {
		return s
	}
	if len(cols.keys) == 0 {
		l.errorf(n, "%s has no columns: write columns: {id: serial}", what)
	}
	for i, k := range cols.keys {
		l.identifier(k, "a column")
		c := &columnInfo{node: cols.values[i], full: s.Name + "." + k.Value, set: s}
		c.Name = k.Value
		c.siblings = s.columns
		before := l.found
		l.generator(c)
		c.broken = l.found > before
		s.columns[k.Value] = c
		s.order = append(s.order, c)
	}
	return s
}

// place finds how deep a data set is nested, and its number of rows.
func (l *loader) place(s *setInfo, path []string) {
	if s.depth >= 0 {
		return
	}
	s.Total = s.Count
	parent := l.sets[s.Parent]
	switch {
	case s.Parent == "":
	case parent == nil:
		l.errorf(s.node, "data set %s is per the unknown data set %q: %s", s.Name, s.Parent, driver.Suggest(s.Parent, others(l.sets, s.Name)))
		s.Parent = ""
	case slices.Contains(path, s.Name):
		l.errorf(s.node, "data set %s is nested in itself: want a parent that is not per %s", s.Name, s.Name)
		s.Parent = ""
	default:
		l.place(parent, append(path, s.Name))
	}
	if s.Parent == "" {
		s.depth = 0
		if s.Count > plan.MaxCount {
			l.errorf(s.node, "data set %s has %d rows: want at most %d", s.Name, s.Count, int64(plan.MaxCount))
			s.Total = plan.MaxCount
		}
		return
	}
	if s.depth = parent.depth + 1; s.depth == maxDepth+1 {
		l.errorf(s.node, "data set %s is nested more than %d deep: want less", s.Name, maxDepth)
	}
	if s.Count > 0 && parent.Total > plan.MaxCount/s.Count {
		l.errorf(s.node, "data set %s has %d rows for each of %d: want at most %d in all", s.Name, s.Count, parent.Total, int64(plan.MaxCount))
		return
	}
	s.Total = parent.Total * s.Count
}

func others[T any](m map[string]T, name string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(s string) bool { return s == name })
}

// within reports whether s is set or nested in it.
func (l *loader) within(s, set *setInfo) bool {
	for s != nil {
		if s == set {
			return true
		}
		s = l.sets[s.Parent]
	}
	return false
}
