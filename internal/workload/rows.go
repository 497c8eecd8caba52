package workload

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// setInfo is a data set while it is being read.
type setInfo struct {
	plan.DataSet
	node    *yaml.Node
	columns map[string]*columnInfo
	order   []*columnInfo
	depth   int  // number of data sets that this data set is nested in; -1 until known
	broken  bool // a problem with the data set's number of rows has been reported
}

// readRows reads the data sets and adds them to the plan, parents first.
func (l *resolver) readRows(f *fields) {
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

func (l *resolver) dataSet(key, n *yaml.Node) *setInfo {
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
	if n := f.get("table"); n != nil {
		s.Table, _ = l.text(n, "table of "+what, "users")
	}
	if f.get("query") != nil {
		l.queried(s, f, what)
		return s
	}
	before := l.found
	if n := l.required(f, "count", "%s has no count: write count: and a number", what); n != nil {
		s.Count, _ = l.number(n, "count of "+what, 0)
	}
	s.broken = l.found > before
	if n := f.get("per"); n != nil {
		if s.Parent, ok = l.text(n, "per of "+what, "users"); ok {
			s.node = n
		}
	}
	l.columnsOf(s, f, what, "{id: serial}", "", func(c *columnInfo, name *yaml.Node) {
		l.columnName(name)
		l.readColumn(c, name.Value)
	})
	return s
}

// columnsOf calls the function "read" for each column of a data set, and adds the column to the
// set. The parameters "example" and "more" are used in errors that say how columns are written.
func (l *resolver) columnsOf(s *setInfo, f *fields, what, example, more string, read func(c *columnInfo, name *yaml.Node)) {
	n := l.required(f, "columns", "%s has no columns: write columns: %s%s", what, example, more)
	if n == nil {
		return
	}
	cols, ok := l.mapping(n, "columns of "+what, example)
	if !ok || !l.countWithin(n, "columns of "+what, len(cols.keys), maxColumns) {
		return
	}
	if len(cols.keys) == 0 {
		l.errorf(n, "%s has no columns: write columns: %s", what, example)
	}
	for i, k := range cols.keys {
		c := &columnInfo{node: cols.values[i], full: s.Name + "." + k.Value, set: s, siblings: s.columns}
		read(c, k)
		s.order = append(s.order, c)
	}
}

// place determines how deeply a data set is nested, and its number of rows.
func (l *resolver) place(s *setInfo, path []string) {
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
		s.broken = s.broken || parent.broken
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

// within reports whether the data set s is equal to the given set, or is nested in it.
func (l *resolver) within(s, set *setInfo) bool {
	for s != nil {
		if s == set {
			return true
		}
		s = l.sets[s.Parent]
	}
	return false
}
