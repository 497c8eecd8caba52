package workload

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// phase reads one phase.
func (l *resolver) phase(n *yaml.Node) {
	f, ok := l.mapping(n, "a phase", "{name: insert, insert: users}")
	if !ok {
		return
	}
	var kinds []string
	for _, k := range phaseKinds {
		if f.get(k) != nil {
			kinds = append(kinds, k)
		}
	}
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
	l.pragmas = nil
	l.known(f, "a phase of kind "+kind, keys[kind])
	p := plan.Phase{Untimed: l.flag(f.get("untimed"), "untimed")}
	if n := f.get("name"); n == nil {
		l.errorf(f.node, "the phase has no name: write name: %s", kind)
	} else if p.Name, ok = l.text(n, "name", "name: "+kind); ok && l.name(n, "a phase") {
		if slices.ContainsFunc(l.plan.Phases, func(q plan.Phase) bool { return q.Name == p.Name }) {
			l.errorf(n, "two phases are called %q: write another name", p.Name)
		}
	}
	if n := f.get("context"); n != nil {
		p.Context, _ = l.oneOf(n, "context", "background", "cancellable")
	}
	info := PhaseInfo{Name: p.Name, Kind: kind, Untimed: p.Untimed}
	if n := f.get("about"); n != nil {
		info.About, _ = l.text(n, "about", "about: all users once")
		info.About = strings.TrimSpace(info.About)
	}
	switch kind {
	case "insert":
		p.Insert = l.insert(f)
	case "query":
		p.Query = l.query(f, p.Name)
	case "mix":
		p.Mix = l.mix(f, p.Name)
	case "http":
		p.HTTP = l.http(f, p.Name)
	case "script":
		p.Script, ok = l.sql(f.get("script"), "script", "VACUUM")
		if ok && strings.TrimSpace(p.Script) == "" {
			l.errorf(f.get("script"), "script is empty: want SQL, such as VACUUM")
		}
		if n := f.get("changes settings"); n != nil {
			p.Changes = l.changes(n)
		}
	}
	if !p.Untimed {
		l.steady(f.get(kind))
	}
	l.declared = l.declared.With(p.Changes)
	l.undeclared(f.get(kind), kind)
	info.Changes = p.Changes
	l.plan.Phases = append(l.plan.Phases, p)
	l.infos = append(l.infos, info)
}

// name reads a name. It is shown in tables and it identifies random streams.
func (l *resolver) name(n *yaml.Node, what string) bool {
	v := strings.TrimSpace(n.Value)
	if v == n.Value && v != "" && !strings.ContainsAny(v, "./,\n\t") && len(v) <= 60 {
		return true
	}
	l.errorf(n, "bad name %q of %s: want a short one without dots, commas and slashes", n.Value, what)
	return false
}

// statementMode reads prepared or ad hoc.
func (l *resolver) statementMode(n *yaml.Node) (adHoc bool) {
	if n == nil {
		return false
	}
	w, _ := l.oneOf(n, "statement", "prepared", "ad hoc")
	return w == "ad hoc"
}

func (l *resolver) insert(f *fields) *plan.Insert {
	ins := &plan.Insert{Transaction: "one", AdHoc: l.statementMode(f.get("statement"))}
	ins.RowsPerStatement = l.numberOr(f.get("rows per statement"), "rows per statement", 1, 1)
	nodes := map[string]*yaml.Node{}
	defer func() { l.insertWithin(ins, f, nodes) }()
	for _, n := range l.list(f.get("insert")) {
		name, ok := l.text(n, "insert", "insert: users")
		if !ok {
			continue
		}
		s := l.sets[name]
		switch {
		case s == nil:
			l.errorf(n, "insert: unknown data set %q: %s", name, driver.Suggest(name, others(l.sets, "")))
			continue
		case nodes[name] != nil:
			l.errorf(n, "insert: data set %s is there twice: leave one of them out", name)
			continue
		case len(s.Columns) > 0 && !slices.ContainsFunc(s.Columns, func(c plan.Column) bool { return !c.Hidden }):
			l.errorf(n, "insert: every column of data set %s is hidden: want one that is not", name)
			continue
		}
		ins.Sets = append(ins.Sets, name)
		nodes[name] = n
	}
	if len(ins.Sets) == 0 && len(l.list(f.get("insert"))) == 0 {
		l.errorf(f.get("insert"), "insert of nothing: want a data set, such as insert: users")
	}
	if n := f.get("values"); n != nil {
		w, _ := l.oneOf(n, "values", "untimed", "timed")
		ins.TimedValues = w == "timed"
	}
	n := f.get("transaction")
	if n == nil {
		return ins
	}
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
		expr, _ := strings.CutSuffix(every, " rows")
		rows, ok := l.number(&yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(expr), Line: n.Line, Column: n.Column}, "transaction: every", 1)
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
		l.errorf(n, "transaction is %q: want one, per set, per statement, per %s or every 1000 rows", w, firstOr(ins.Sets, "users"))
	}
	return ins
}

func firstOr(list []string, other string) string {
	if len(list) > 0 {
		return list[0]
	}
	return other
}

// checkPer checks that the sets of a phase nest in the set that determines its
// transactions, which are one for each row of that set.
func (l *resolver) checkPer(ins *plan.Insert, n *yaml.Node, nodes map[string]*yaml.Node) {
	top := l.sets[ins.Per]
	if top == nil {
		l.errorf(n, "transaction per unknown data set %q: %s", ins.Per, driver.Suggest(ins.Per, append([]string{"set", "statement"}, others(l.sets, "")...)))
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

func (l *resolver) query(f *fields, phase string) *plan.Query {
	q := &plan.Query{Repeat: 1, Clients: 1}
	q.Repeat = l.numberWithin(f.get("repeat"), "repeat", 1, plan.MaxCount, 1)
	q.Clients = l.clients(f.get("clients"), true)
	var each *setInfo
	if n := f.get("for each"); n != nil {
		if name, ok := l.text(n, "for each", "for each: users"); ok {
			if each = l.sets[name]; each == nil {
				l.errorf(n, "for each unknown data set %q: %s", name, driver.Suggest(name, others(l.sets, "")))
			} else {
				q.ForEach = name
			}
		}
	}
	l.queryWithin(q, f)
	broken := f.get("for each") != nil && each == nil
	p := l.parameters(f.get("parameters"), phase, each)
	q.Call = l.call(f.node, f.get("query"), f, p, each, broken)
	p.unused(l)
	if n := f.get("columns"); n == nil {
		l.errorf(f.node, "the query has no columns: write columns: [int, text] with the type of each")
	}
	if e := f.get("expect"); e != nil && e.Kind == yaml.MappingNode {
		if f, ok := l.mapping(e, "expect", "{rows: 1}"); ok && f.get("returns") != nil {
			l.returns(q, f.get("returns"), each, f.get("rows") == nil)
		}
	}
	return q
}

// clients reads a number of clients. With own, each has its own connection.
func (l *resolver) clients(n *yaml.Node, own bool) int {
	c := l.numberWithin(n, "clients", 1, plan.MaxClients, 1)
	if pool := int64(l.settings.PoolSize()); own && c > pool {
		l.errorf(n, "%d clients with a connection each, but pool_size is %d: write pool_size: %s under settings", c, pool, n.Value)
	}
	return int(c)
}

// call reads the keys that queries and statements of a mix have in common.
func (l *resolver) call(at, sqlNode *yaml.Node, f *fields, p *parameterSet, each *setInfo, broken bool) plan.Call {
	c := plan.Call{Rows: -1, AdHoc: l.statementMode(f.get("statement"))}
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
		known := keys["expect"]
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

// returns reads which generated rows a query returns.
func (l *resolver) returns(q *plan.Query, n *yaml.Node, each *setInfo, inferRows bool) {
	r, s := l.returned(n, q.Columns)
	if r == nil {
		return
	}
	q.Returns = r
	l.returnedRows(q, s, n, each, inferRows)
}

// returned reads which columns of generated rows make up a result with columns of
// these types. It returns nil if they do not fit.
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
	s := l.sets[r.Set]
	if s == nil {
		l.errorf(at, "returns: unknown data set %q: %s", r.Set, driver.Suggest(r.Set, others(l.sets, "")))
		return nil, nil
	}
	var cols []*columnInfo
	for _, c := range s.order {
		if names == nil && !c.Hidden {
			cols = append(cols, c)
		}
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
			l.errorf(n, "returns: data set %s is not nested in %s: want columns of %s and of what it is nested in", r.Set, c.set.Name, r.Set)
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
		case c.broken, t.Type == 0: // already reported
		case class(t.Type) != class(c.Type) && c.Generator.Kind != plan.GenNull:
			l.errorf(n, "column %d of the query is %s, but %s is %s: write %s", i+1, t.Type, c.full, c.Type, c.Type)
		case !t.Nullable && l.mayBeNull(c):
			l.errorf(n, "column %d of the query is %s, but %s may be NULL: write %s or null", i+1, t, c.full, t)
		}
	}
	return r, s
}

// returnedRows works out how many rows of data set s each execution returns.
func (l *resolver) returnedRows(q *plan.Query, s *setInfo, n *yaml.Node, each *setInfo, inferRows bool) {
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

// class returns the class of a type. Types have different classes if checksums
// distinguish them.
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

func (l *resolver) mix(f *fields, phase string) *plan.Mix {
	m := &plan.Mix{}
	if n := f.get("connection"); n != nil {
		w, _ := l.oneOf(n, "connection", "own", "pool")
		m.OwnConn = w == "own"
	}
	m.Clients = l.clients(f.get("clients"), m.OwnConn)
	m.Count, m.DurationMS = l.end(f, "mix")
	if n := f.get("rate"); n != nil {
		m.Rate = l.rate(n)
	}
	if n := f.get("gomaxprocs"); n != nil {
		procs, _ := l.number(n, "gomaxprocs", 1)
		m.GOMAXPROCS = int(min(procs, maxProcs))
		if procs > maxProcs {
			l.errorf(n, "gomaxprocs is %d: want at most %d", procs, maxProcs)
		}
	}
	m.Mutex = l.flag(f.get("mutex"), "mutex")
	if n := f.get("retry"); n != nil {
		m.Retry = l.retry(n)
	}
	n := f.get("mix")
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		l.errorf(n, "mix is %s: want a list of operations, such as - {name: read, sql: SELECT 1, columns: [int]}", describe(n))
		return m
	}
	if len(n.Content) > maxOperations {
		l.errorf(n, "mix has %d operations: want at most %d", len(n.Content), maxOperations)
		return m
	}
	for _, n := range l.list(n) {
		if op, ok := l.operation(n, phase, m.Mutex); ok {
			if slices.ContainsFunc(m.Operations, func(o plan.Operation) bool { return o.Name == op.Name }) {
				l.errorf(n, "two operations are called %q: write another name", op.Name)
			}
			m.Operations = append(m.Operations, op)
		}
	}
	return m
}

// retry reads how operations are repeated.
func (l *resolver) retry(n *yaml.Node) *plan.Retry {
	r := &plan.Retry{Attempts: 2}
	f, ok := l.object(n, "retry", "{attempts: 10, backoff: 1ms}", keys["retry"])
	if !ok {
		return r
	}
	if n := f.get("attempts"); n == nil {
		l.errorf(f.node, "retry has no attempts: write attempts: 10")
	} else if r.Attempts, ok = l.number(n, "attempts", 2); ok && r.Attempts > plan.MaxWeight {
		l.errorf(n, "attempts is %d: want at most %d", r.Attempts, plan.MaxWeight)
	}
	if n := f.get("backoff"); n != nil {
		d, err := time.ParseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || d < 0 || d > time.Hour {
			l.errorf(n, "backoff is %s: want a time such as 1ms", describe(n))
		}
		r.BackoffUS = d.Microseconds()
	}
	return r
}

// end reads when a phase of a kind ends: after a number of operations or an amount
// of time.
func (l *resolver) end(f *fields, kind string) (count, durationMS int64) {
	n, duration := f.get("count"), f.get("duration")
	switch {
	case n != nil && duration != nil:
		l.errorf(f.key("duration"), "the %s has both count and duration: leave one of them out", kind)
	case n != nil:
		count = l.numberWithin(n, "count", 1, plan.MaxCount, 0)
	case duration != nil:
		durationMS = l.duration(duration)
	default:
		l.errorf(f.node, "the %s has no end: write count: 10000 or duration: 10s", kind)
	}
	return count, durationMS
}

// duration reads a duration and returns it in milliseconds. It is written as 10s, or
// as an expression with a parameter before the unit, such as $time ms.
func (l *resolver) duration(n *yaml.Node) int64 {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "$") {
		expr, perUnit := strings.TrimSuffix(n.Value, "ms"), int64(1)
		if expr == n.Value {
			expr, perUnit = strings.TrimSuffix(n.Value, "s"), 1000
		}
		if expr != n.Value {
			at := &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(expr), Line: n.Line, Column: n.Column}
			return l.numberWithin(at, "duration", 1, plan.MaxCount/perUnit, 1) * perUnit
		}
	}
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d < time.Millisecond {
		l.errorf(n, "duration is %s: want one such as 10s, or $time ms", describe(n))
	} else if d.Milliseconds() > plan.MaxCount {
		l.errorf(n, "duration is %s: want at most %d ms", describe(n), int64(plan.MaxCount))
	}
	return d.Milliseconds()
}

// rate reads operations per second.
func (l *resolver) rate(n *yaml.Node) float64 {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "$") {
		return float64(l.numberWithin(n, "rate", 1, plan.MaxRate, 1))
	}
	x, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || !(x >= plan.MinRate && x <= plan.MaxRate) {
		l.errorf(n, "rate is %s: want operations per second, from %v to %.0f", describe(n), plan.MinRate, plan.MaxRate)
		return 1
	}
	return x
}

func (l *resolver) operation(n *yaml.Node, phase string, mutex bool) (op plan.Operation, ok bool) {
	f, ok := l.object(n, "an operation", "{name: read, sql: SELECT 1, columns: [int]}", keys["operation"])
	if !ok {
		return op, false
	}
	if n := f.get("name"); n == nil {
		l.errorf(f.node, "the operation has no name: write name: read")
	} else if op.Name, ok = l.text(n, "name", "name: read"); ok {
		l.name(n, "an operation")
	}
	if op.Weight = l.numberOr(f.get("weight"), "weight", 1, 1); op.Weight > plan.MaxWeight {
		l.errorf(f.get("weight"), "weight is %d: want at most %d", op.Weight, plan.MaxWeight)
	}
	op.Transaction = l.flag(f.get("transaction"), "transaction")
	if op.Mutex = l.flag(f.get("mutex"), "mutex"); op.Mutex && mutex {
		l.errorf(f.key("mutex"), "the mutex is held around every operation: leave it out here or in the phase")
	}
	if n := f.get("results"); n != nil {
		op.Results = l.results(n)
	}
	p := l.parameters(f.get("parameters"), phase+"."+op.Name, nil)
	one, many := f.get("sql"), f.get("statements")
	switch {
	case one != nil && many != nil:
		l.errorf(f.key("statements"), "the operation has both sql and statements: leave one of them out")
	case one != nil:
		op.Calls = []plan.MixCall{{Call: l.call(f.node, one, f, p, nil, false)}}
	case many != nil:
		for _, k := range []string{"columns", "expect", "statement"} {
			if f.get(k) != nil {
				l.errorf(f.key(k), "%s is written beside statements: write it with the statement that it belongs to", k)
			}
		}
		if !l.countWithin(many, "statements", len(many.Content), maxStatements) {
			return op, false
		}
		for _, n := range l.list(many) {
			if c, ok := l.statement(n, p, &op, mutex); ok {
				op.Calls = append(op.Calls, c)
			}
		}
		if len(many.Content) == 0 && many.Kind == yaml.SequenceNode {
			l.errorf(many, "statements is empty: want SQL")
		}
	default:
		l.errorf(f.node, "the operation does nothing: write sql: SELECT 1, or statements: and a list")
	}
	p.unused(l)
	return op, true
}

// statement reads one statement of an operation.
func (l *resolver) statement(n *yaml.Node, p *parameterSet, op *plan.Operation, mutex bool) (c plan.MixCall, ok bool) {
	if n.Kind == yaml.ScalarNode {
		return plan.MixCall{Call: l.call(n, n, &fields{node: n}, p, nil, false)}, true
	}
	f, ok := l.object(n, "a statement", "{sql: SELECT 1, columns: [int]}", keys["statement"])
	if !ok {
		return c, false
	}
	if f.get("sql") == nil {
		l.errorf(f.node, "the statement has no sql: write sql: SELECT 1")
		return c, false
	}
	c.Call = l.call(n, f.get("sql"), f, p, nil, false)
	if c.Mutex = l.flag(f.get("mutex"), "mutex"); c.Mutex && (mutex || op.Mutex) {
		l.errorf(f.key("mutex"), "the mutex is held around the whole operation: leave it out here or in the %s", map[bool]string{true: "phase", false: "operation"}[mutex])
	}
	if n := f.get("if empty"); n != nil {
		l.ifEmpty(n, f, &c, op.Transaction)
	}
	return c, true
}

// ifEmpty reads how an operation ends if a statement returns no rows.
func (l *resolver) ifEmpty(n *yaml.Node, f *fields, c *plan.MixCall, transaction bool) {
	word, ok := l.oneOf(n, "if empty", plan.EmptyCommit, plan.EmptyRollback, plan.EmptyStop)
	switch {
	case !ok:
		return
	case transaction && word == plan.EmptyStop:
		l.errorf(n, "if empty is stop, but the operation is a transaction: want commit or rollback")
	case !transaction && word != plan.EmptyStop:
		l.errorf(n, "if empty is %s, but the operation is not a transaction: write transaction: true there, or stop here", word)
	case f.get("columns") == nil:
		l.errorf(n, "if empty is %s for a statement without columns: write columns: [int], with the type of each", word)
	case c.Rows == 0:
		l.errorf(f.get("expect"), "no row is expected of a statement with if empty: leave one of them out")
	}
	c.IfEmpty = word
}

// results reads which errors count as results of an operation.
func (l *resolver) results(n *yaml.Node) []int {
	var codes []int
	for _, n := range l.list(n) {
		code, ok := l.resultCode(n)
		switch {
		case !ok:
		case slices.Contains(codes, code):
			l.errorf(n, "results: %s is there twice: leave one of them out", driver.CodeName(code))
		default:
			codes = append(codes, code)
		}
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		l.errorf(n, "results is empty: want result codes of SQLite, such as [SQLITE_CONSTRAINT_UNIQUE]")
	}
	return codes
}

func (l *resolver) resultCode(n *yaml.Node) (code int, ok bool) {
	name, ok := l.text(n, "results", "SQLITE_CONSTRAINT_UNIQUE")
	if !ok {
		return 0, false
	}
	if code, err := strconv.Atoi(name); err == nil {
		if !driver.MayBeResult(code) {
			l.notResult(n, code)
			return 0, false
		}
		return code, true
	}
	code, ok = driver.CodeByName(name)
	switch {
	case !ok:
		instead := "want one of SQLite's, such as SQLITE_CONSTRAINT_UNIQUE or 2067"
		const prefix = "SQLITE_" // not compared, since names that share it look similar
		var names []string
		for _, known := range driver.CodeNames() {
			names = append(names, strings.TrimPrefix(known, prefix))
		}
		if near := driver.Nearest(strings.TrimPrefix(strings.ToUpper(name), prefix), names); near != "" {
			instead = driver.DidYouMean(prefix+near, driver.CodeNames())
		}
		l.errorf(n, "results: unknown result code %q: %s", name, instead)
		return 0, false
	case !driver.MayBeResult(code):
		l.notResult(n, code)
		return 0, false
	}
	return code, true
}

// notResult reports why a code can't be the result of an operation.
func (l *resolver) notResult(n *yaml.Node, code int) {
	switch code & 0xff {
	case driver.CodeBusy, driver.CodeLocked:
		l.errorf(n, "results: %s says that a lock was in the way: such an operation has failed, and is counted; retry: {attempts: 10} repeats it", driver.CodeName(code))
	default:
		l.errorf(n, "results: %s cannot be a result of an operation: want a code that says something about its statements and data, such as SQLITE_CONSTRAINT_UNIQUE or 2067", driver.CodeName(code))
	}
}
