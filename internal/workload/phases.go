package workload

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// phase reads one phase of the workload file.
func (l *resolver) phase(n *yaml.Node) {
	f, ok := l.mapping(n, "a phase", "{name: insert, insert: users}")
	if !ok {
		return
	}
	kinds := slices.DeleteFunc(slices.Clone(phaseKinds), func(k string) bool { return f.get(k) == nil })
	switch {
	case len(kinds) == 0:
		for _, k := range f.keys {
			if meant := driver.DidYouMean(k.Value, phaseKinds); meant != "" && !slices.Contains(slices.Concat(keys["query"], keys["mix"]), k.Value) {
				l.errorf(k, "unknown key %q in a phase: %s", k.Value, meant)
				return
			}
		}
		l.errorf(f.node, "the phase does nothing: write one of %s", strings.Join(phaseKinds, ", "))
		return
	case len(kinds) > 1:
		l.errorf(f.key(kinds[1]), "a phase has both %s and %s: make it two phases", kinds[0], kinds[1])
		return
	}
	kind := kinds[0]
	l.pragmas, l.leftOut = nil, nil
	l.known(f, "a phase of kind "+kind, keys[kind])
	p := plan.Phase{Untimed: l.flag(f.get("untimed"), "untimed")}
	if p.Name, ok = l.name(f, "phase", kind); ok && slices.ContainsFunc(l.plan.Phases, func(q plan.Phase) bool { return q.Name == p.Name }) {
		l.errorf(f.get("name"), "two phases are called %q: write another name", p.Name)
	}
	p.Context, _ = l.oneOf(f.get("context"), "context", "background", "cancellable")
	about, _ := l.text(f.get("about"), "about", "about: all users once")
	info := PhaseInfo{Name: p.Name, Kind: kind, Untimed: p.Untimed, About: strings.TrimSpace(about)}
	switch kind {
	case "insert":
		p.Insert = l.insert(f)
	case "query":
		p.Query = l.query(f)
	case "mix":
		p.Mix = l.mix(f)
	case "http":
		p.HTTP = l.http(f)
	case "replay":
		p.Replay = l.replay(f)
	case "script":
		p.Script, ok = l.sql(f.get("script"), "script", "VACUUM")
		if ok && strings.TrimSpace(p.Script) == "" {
			l.errorf(f.get("script"), "script is empty: want SQL, such as VACUUM")
		}
		p.Changes = l.changes(f.get("changes settings"))
	}
	if !p.Untimed {
		l.steady(f.get(kind))
	}
	l.expected(f.get("expect"), &p, kind)
	l.declared = l.declared.With(p.Changes)
	l.undeclared(f.get(kind), kind)
	info.Changes, info.LeftOut = p.Changes, l.leftOut
	l.plan.Phases = append(l.plan.Phases, p)
	l.infos = append(l.infos, info)
}

// name reads the name of a phase or operation. The name is shown in tables, and the random values of
// parameters depend on it. The result "ok" is false if the name is missing or bad.
func (l *resolver) name(f *fields, what, example string) (name string, ok bool) {
	n := l.required(f, "name", "the %s has no name: write name: %s", what, example)
	if name, ok = l.text(n, "name", "name: "+example); !ok {
		return "", false
	}
	if name != strings.TrimSpace(name) || name == "" || strings.ContainsAny(name, "./,\n\t") || len(name) > 60 {
		article := map[string]string{"phase": "a", "operation": "an"}[what]
		l.errorf(n, "bad name %q of %s %s: want a short one without dots, commas and slashes", name, article, what)
		return name, false
	}
	return name, true
}

// dataSetAt returns the data set that a node names. If there is no such data set, it reports a problem and
// returns nil. The problem's text begins with the parameter "before".
func (l *resolver) dataSetAt(n *yaml.Node, before, name string, also ...string) *setInfo {
	s := l.sets[name]
	if s == nil {
		l.errorf(n, "%s unknown data set %q: %s", before, name, driver.Suggest(name, append(also, others(l.sets, "")...)))
	}
	return s
}

// adHoc reports whether a statement is ad hoc: each execution passes the SQL text to the library. Other
// statements are prepared.
func (l *resolver) adHoc(f *fields) bool {
	return l.is("ad hoc", f.get("statement"), "statement", "prepared", "ad hoc")
}

func (l *resolver) insert(f *fields) *plan.Insert {
	ins := &plan.Insert{Transaction: "one", AdHoc: l.adHoc(f)}
	ins.RowsPerStatement = l.numberWithin(f.get("rows per statement"), "rows per statement", 1, math.MaxInt64, 1)
	nodes := map[string]*yaml.Node{}
	defer func() { l.insertWithin(ins, f, nodes) }()
	for _, n := range l.list(f.get("insert")) {
		name, ok := l.text(n, "insert", "insert: users")
		if !ok {
			continue
		}
		s := l.dataSetAt(n, "insert:", name)
		switch {
		case s == nil:
			continue
		case nodes[name] != nil:
			l.errorf(n, "insert: data set %s is there twice: leave one of them out", name)
			continue
		case len(s.Columns) > 0 && len(s.Inserted()) == 0:
			l.errorf(n, "insert: every column of data set %s is hidden: want one that is not", name)
			continue
		}
		ins.Sets = append(ins.Sets, name)
		nodes[name] = n
	}
	if len(ins.Sets) == 0 && len(l.list(f.get("insert"))) == 0 {
		l.errorf(f.get("insert"), "insert of nothing: want a data set, such as insert: users")
	}
	ins.TimedValues = l.is("timed", f.get("values"), "values", "untimed", "timed")
	n := f.get("transaction")
	w, ok := l.text(n, "transaction", "one")
	if !ok {
		return ins
	}
	every, isEvery := strings.CutPrefix(w, "every ")
	per, isPer := strings.CutPrefix(w, "per ")
	switch {
	case w == "one":
	case isEvery:
		ins.Transaction = "every"
		rows, ok := l.number(scalarAt(n, strings.TrimSuffix(every, " rows")), "transaction: every", 1)
		if ok && rows%ins.RowsPerStatement != 0 {
			l.errorf(n, "transaction: every %d rows, with %d rows per statement: want a multiple", rows, ins.RowsPerStatement)
		}
		ins.Every = rows
	case w == "per set":
		ins.Transaction = "set"
	case w == "per statement":
		ins.Transaction = "each"
	case isPer:
		ins.Transaction, ins.Per = "per", strings.TrimSpace(per)
		l.checkPer(ins, n, nodes)
	default:
		l.errorf(n, "transaction is %q: want one, per set, per statement, per %s or every 1000 rows", w, append(ins.Sets, "users")[0])
	}
	return ins
}

// checkPer checks the data sets of a phase that has one transaction for each row of the data set ins.Per. The
// other data sets of the phase must be nested in ins.Per.
func (l *resolver) checkPer(ins *plan.Insert, n *yaml.Node, nodes map[string]*yaml.Node) {
	top := l.dataSetAt(n, "transaction per", ins.Per, "set", "statement")
	if top == nil {
		return
	}
	if len(ins.Sets) > 0 && ins.Sets[0] != ins.Per {
		l.errorf(n, "transaction per %s, but the first data set inserted is %s: write insert: [%s, …]", ins.Per, ins.Sets[0], ins.Per)
		return
	}
	for i, name := range ins.Sets[min(1, len(ins.Sets)):] {
		s := l.sets[name]
		switch {
		case !l.within(s, top):
			l.errorf(nodes[name], "transaction per %s, but data set %s is not nested in it: write per: %s under %s, or insert it in its own phase", ins.Per, name, ins.Per, name)
		case !slices.Contains(ins.Sets[:i+1], s.Parent):
			l.errorf(nodes[name], "data set %s is nested in %s, which is not inserted before it: write insert: [%s, %s]", name, s.Parent, s.Parent, name)
		}
	}
}

func (l *resolver) query(f *fields) *plan.Query {
	q := &plan.Query{Repeat: 1, Clients: 1}
	q.Repeat = l.numberWithin(f.get("repeat"), "repeat", 1, plan.MaxCount, 1)
	q.Clients = l.clients(f.get("clients"), true)
	var each *setInfo
	if name, ok := l.text(f.get("for each"), "for each", "for each: users"); ok {
		if each = l.dataSetAt(f.get("for each"), "for each", name); each != nil {
			q.ForEach = name
		}
	}
	l.queryWithin(q, f)
	broken := f.get("for each") != nil && each == nil
	p := l.parameters(f.get("parameters"), each)
	q.Call = l.call(f.get("query"), f, p, each, broken)
	p.unused(l)
	l.required(f, "columns", "the query has no columns: write columns: [int, text] with the type of each")
	if e := f.get("expect"); e != nil && e.Kind == yaml.MappingNode {
		if f, ok := l.mapping(e, "expect", "{rows: 1}"); ok && f.get("returns") != nil {
			l.returns(q, f.get("returns"), each, f.get("rows") == nil)
		}
	}
	return q
}

// clients reads a number of clients. If the parameter "own" is true, each client has its own connection.
func (l *resolver) clients(n *yaml.Node, own bool) int {
	c := l.numberWithin(n, "clients", 1, plan.MaxClients, 1)
	if own {
		l.held(n, int(c), int(c))
	}
	return int(c)
}

// held reports a problem if the pool of a process has too few connections. The parameter "share" is the
// number of clients in the process. Each client keeps one connection, so the pool needs at least one
// connection for each client.
func (l *resolver) held(n *yaml.Node, clients, share int) {
	pool := l.settings.PoolSize()
	if share <= pool {
		return
	}
	want := strconv.Itoa(share)
	if share == clients {
		want = n.Value // the text that the user wrote, which may contain parameters
	}
	l.errorf(n, "%d clients with a connection each, but pool_size is %d: write pool_size: %s under settings", share, pool, want)
}

// call reads the keys that queries and statements of a mix have in common.
func (l *resolver) call(sqlNode *yaml.Node, f *fields, p *parameterSet, each *setInfo, broken bool) plan.Call {
	c := plan.Call{Rows: -1, AdHoc: l.adHoc(f)}
	if sql, ok := l.sql(sqlNode, "SQL", "SELECT id FROM users"); ok {
		var names []string
		var err error
		if c.SQL, names, err = positional(sql); err != nil {
			l.errorf(sqlNode, "%v", err)
		}
		for _, name := range names {
			if param, ok := p.bind(l, name, sqlNode, each, broken); ok {
				c.Parameters = append(c.Parameters, param)
			}
		}
		p.together(l, names, sqlNode)
	}
	if n := f.get("columns"); n != nil {
		for _, n := range l.list(n) {
			c.Columns = append(c.Columns, l.columnType(n))
		}
		if len(c.Columns) == 0 {
			l.errorf(n, "columns is empty: want the type of each, such as [int, text]")
		}
	}
	if n := f.get("expect"); n != nil {
		known := keys["expect of a query"]
		if f.get("query") == nil {
			known = []string{"rows"}
		}
		if e, ok := l.object(n, "expect", "{rows: 1}", known); ok {
			c.Rows = l.numberWithin(e.get("rows"), "expected rows", 0, plan.MaxCount, -1)
			if len(c.Columns) == 0 && f.get("columns") == nil && c.Rows > 0 {
				l.errorf(e.get("rows"), "expected rows is %d for a statement without columns: write columns: [int]", c.Rows)
			}
		}
	}
	return c
}

// typeAliases are names that other languages have for the types of columns.
var typeAliases = map[string]string{
	"string": "text", "varchar": "text", "integer": "int", "bigint": "int", "boolean": "bool",
	"float": "real", "double": "real", "datetime": "time", "timestamp": "time", "date": "time", "bytes": "blob",
}

// columnType reads the type of a column of a result.
func (l *resolver) columnType(n *yaml.Node) driver.ColumnType {
	var t driver.ColumnType
	name, nullable := strings.CutSuffix(n.Value, " or null")
	if err := t.Type.UnmarshalText([]byte(name)); err != nil || n.Kind != yaml.ScalarNode {
		instead := driver.Suggest(cmp.Or(typeAliases[strings.ToLower(name)], name), driver.TypeNames())
		if short, ok := strings.CutSuffix(name, "?"); ok {
			instead = "write " + short + " or null"
		}
		l.errorf(n, "unknown type %s of a column: %s", describe(n), instead)
	}
	t.Nullable = nullable
	return t
}

// returned reads which columns of generated rows a query must return. The parameter "types" has the
// types of the query's columns. returned returns nil if the data set or a column is unknown, or if the
// number of columns differs from the query's.
func (l *resolver) returned(n *yaml.Node, types []driver.ColumnType) (*plan.Returns, *setInfo) {
	r := &plan.Returns{}
	at := n
	var names []*yaml.Node
	if n.Kind == yaml.MappingNode {
		f, ok := l.mapping(n, "returns", "{users: [id]}")
		if !ok {
			return nil, nil
		}
		if len(f.keys) != 1 {
			l.errorf(n, "returns names %d data sets: want one, such as {users: [id]}", len(f.keys))
			return nil, nil
		}
		at, names = f.keys[0], l.list(f.values[0])
		r.Set = at.Value
	} else if r.Set, _ = l.text(n, "returns", "users"); r.Set == "" {
		return nil, nil
	}
	s := l.dataSetAt(at, "returns:", r.Set)
	if s == nil {
		return nil, nil
	}
	var cols []*columnInfo
	if names == nil {
		cols = slices.DeleteFunc(slices.Clone(s.order), func(c *columnInfo) bool { return c.Hidden })
	}
	for _, n := range names {
		name, ok := l.text(n, "a column of returns", "users.id")
		if !ok {
			return nil, nil
		}
		if !strings.Contains(name, ".") {
			name = r.Set + "." + name
		}
		c := l.column([]*yaml.Node{n}, []string{name}, "returns")
		if c == nil {
			return nil, nil
		}
		if !l.within(s, c.set) {
			l.errorf(n, "returns: data set %s is not nested in %s: want columns of %s and of the data sets that it is nested in", r.Set, c.set.Name, r.Set)
			return nil, nil
		}
		cols = append(cols, c)
	}
	if len(cols) != len(types) && len(types) > 0 {
		l.errorf(n, "returns has %d columns, but the query %d: want one for each", len(cols), len(types))
		return nil, nil
	}
	for i, c := range cols {
		r.Columns = append(r.Columns, c.full)
		if i >= len(types) {
			continue
		}
		switch t := types[i]; {
		case c.broken, t.Type == 0: // the problem has already been reported
		case class(t.Type) != class(c.Type) && c.Generator.Kind != plan.GenNull:
			l.errorf(n, "column %d of the query is %s, but %s is %s: write %s", i+1, t.Type, c.full, c.Type, c.Type)
		case !t.Nullable && c.mayBeNull():
			l.errorf(n, "column %d of the query is %s, but %s may be NULL: write %s or null", i+1, t, c.full, t)
		}
	}
	return r, s
}

// returns reads which generated rows a query returns, and works out how many of them
// each execution returns.
func (l *resolver) returns(q *plan.Query, n *yaml.Node, each *setInfo, inferRows bool) {
	r, s := l.returned(n, q.Columns)
	if r == nil {
		return
	}
	q.Returns = r
	switch {
	case each != nil && !l.within(s, each):
		l.errorf(n, "returns: data set %s is not nested in %s, which the query runs for each of: leave one of them out", s.Name, each.Name)
	case !inferRows:
	case each == nil:
		q.Rows = s.Total
	case each.Total > 0:
		q.Rows = s.Total / each.Total
	}
	rows := q.Rows
	if each != nil {
		rows *= each.Total
	}
	if !inferRows && q.Rows >= 0 && rows != s.Total && !s.broken {
		l.errorf(n, "%d rows are expected in all, but data set %s has %d: leave rows out", rows, s.Name, s.Total)
	}
}

// class returns Int for types whose values are hashed in the same way as integers. It returns any
// other type unchanged.
func class(t driver.Type) driver.Type {
	if t == driver.Bool || t == driver.Time {
		return driver.Int
	}
	return t
}

// The limits of a mix.
const (
	maxOperations = 100
	maxProcs      = 10_000
)
