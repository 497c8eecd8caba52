package workload

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

func (l *resolver) mix(f *fields) *plan.Mix {
	m := &plan.Mix{}
	m.OwnConn = l.is("own", f.get("connection"), "connection", "own", "pool")
	m.Clients = l.clients(f.get("clients"), false)
	if m.OwnConn {
		l.held(f.get("clients"), m.Clients, m.MostShared(l.settings.Processes()))
	}
	m.Count, m.DurationMS, m.Rate = l.extent(f, "mix")
	m.GOMAXPROCS = int(l.numberWithin(f.get("gomaxprocs"), "gomaxprocs", 1, maxProcs, 0))
	m.Mutex = l.flag(f.get("mutex"), "mutex")
	m.Retry = l.retry(f.get("retry"))
	m.PatienceMS = l.duration(f.get("patience"), "patience")
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
		if op, ok := l.operation(n, m); ok {
			if slices.ContainsFunc(m.Operations, func(o plan.Operation) bool { return o.Name == op.Name }) {
				l.errorf(n, "two operations are called %q: write another name", op.Name)
			}
			m.Operations = append(m.Operations, op)
		}
	}
	return m
}

// retry reads how failed operations are repeated. It returns nil if they are not repeated.
func (l *resolver) retry(n *yaml.Node) *plan.Retry {
	if n == nil {
		return nil
	}
	r := &plan.Retry{Attempts: 2}
	f, ok := l.object(n, "retry", "{attempts: 10, backoff: 1ms}", keys["retry"])
	if !ok {
		return r
	}
	r.Attempts = l.numberWithin(l.required(f, "attempts", "retry has no attempts: write attempts: 10"), "attempts", 2, plan.MaxWeight, 2)
	if n := f.get("backoff"); n != nil {
		d, err := time.ParseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || d < 0 || d > time.Hour {
			l.errorf(n, "backoff is %s: want a time such as 1ms", describe(n))
		}
		r.BackoffUS = d.Microseconds()
	}
	return r
}

// extent reads when a phase ends: after a number of operations, or after a duration. It also reads the phase's
// rate in operations per second. The parameter "kind" names the phase in errors.
func (l *resolver) extent(f *fields, kind string) (count, durationMS int64, rate float64) {
	n, duration := f.get("count"), f.get("duration")
	switch {
	case n != nil && duration != nil:
		l.errorf(f.key("duration"), "the %s has both count and duration: leave one of them out", kind)
	case n == nil && duration == nil:
		l.errorf(f.node, "the %s has no end: write count: 10000 or duration: 10s", kind)
	default:
		count, durationMS = l.numberWithin(n, "count", 1, plan.MaxCount, 0), l.duration(duration, "duration")
	}
	return count, durationMS, l.rate(f.get("rate"))
}

// duration reads a duration and returns it in milliseconds. In the file it is written like 10s. An
// expression may stand before the unit, as in "$time ms". duration returns 0 for a nil node.
func (l *resolver) duration(n *yaml.Node, key string) int64 {
	if n == nil {
		return 0
	}
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "$") {
		expr, perUnit := strings.TrimSuffix(n.Value, "ms"), int64(1)
		if expr == n.Value {
			expr, perUnit = strings.TrimSuffix(n.Value, "s"), 1000
		}
		if expr != n.Value {
			return l.numberWithin(scalarAt(n, expr), key, 1, plan.MaxCount/perUnit, 1) * perUnit
		}
	}
	d, err := time.ParseDuration(n.Value)
	together := strings.Join(strings.Fields(n.Value), "")
	if _, spaced := time.ParseDuration(together); n.Kind == yaml.ScalarNode && err != nil && spaced == nil {
		l.errorf(n, "%s is %s: want %s, without a space", key, describe(n), together)
	} else if n.Kind != yaml.ScalarNode || err != nil || d < time.Millisecond {
		l.errorf(n, "%s is %s: want one such as 10s, or $time ms", key, describe(n))
	} else if d.Milliseconds() > plan.MaxCount {
		l.errorf(n, "%s is %s: want at most %d ms", key, describe(n), int64(plan.MaxCount))
	}
	return d.Milliseconds()
}

// scalarAt returns a scalar with the given text and the position of node n.
func scalarAt(n *yaml.Node, text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: strings.TrimSpace(text), Line: n.Line, Column: n.Column}
}

// rate reads operations per second. It returns 0 for a nil node.
func (l *resolver) rate(n *yaml.Node) float64 {
	if n == nil {
		return 0
	}
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

func (l *resolver) operation(n *yaml.Node, m *plan.Mix) (op plan.Operation, ok bool) {
	f, ok := l.object(n, "an operation", "{name: read, sql: SELECT 1, columns: [int]}", keys["operation"])
	if !ok {
		return op, false
	}
	op.Name, _ = l.name(f, "operation", "read")
	op.Weight = l.numberWithin(f.get("weight"), "weight", 1, plan.MaxWeight, 1)
	op.Transaction = l.flag(f.get("transaction"), "transaction")
	if op.Mutex = l.flag(f.get("mutex"), "mutex"); op.Mutex && m.Mutex {
		l.errorf(f.key("mutex"), "the mutex is held around every operation: leave it out here or in the phase")
	}
	op.Results = l.results(f.get("results"))
	op.TimeoutMS = l.duration(f.get("timeout"), "timeout")
	p := l.parameters(f.get("parameters"), nil)
	one, many := f.get("sql"), f.get("statements")
	switch {
	case one != nil && many != nil:
		l.errorf(f.key("statements"), "the operation has both sql and statements: leave one of them out")
	case one != nil:
		op.Calls = []plan.MixCall{{Call: l.call(one, f, p, nil, false)}}
	case many != nil:
		for _, k := range []string{"columns", "expect", "statement"} {
			if f.get(k) != nil {
				l.errorf(f.key(k), "%s is written next to statements: write it in the statement that it belongs to", k)
			}
		}
		if !l.countWithin(many, "statements", len(many.Content), maxStatements) {
			return op, false
		}
		for _, n := range l.list(many) {
			if c, ok := l.statement(n, p, &op, m); ok {
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
	op.Reads = !slices.ContainsFunc(op.Calls, func(c plan.MixCall) bool { return !Reads(c.SQL) })
	l.role(f.get("pool"), &op)
	return op, true
}

// role reads which of two pools, writers or readers, an operation uses. By default, operations that only read
// use the pool of the readers.
func (l *resolver) role(n *yaml.Node, op *plan.Operation) {
	word, ok := l.oneOf(n, "pool", "writers", "readers")
	switch {
	case !ok:
	case word == "writers":
		op.Reads = false
	case !op.Reads:
		i := slices.IndexFunc(op.Calls, func(c plan.MixCall) bool { return !Reads(c.SQL) })
		l.errorf(n, "pool is readers, but %s may write: write pool: writers, or leave it out", firstWord(op.Calls[i].SQL))
	}
}

// statement reads one statement of an operation. If the statement has no SQL, the method reports a
// problem, and the result "ok" is false.
func (l *resolver) statement(n *yaml.Node, p *parameterSet, op *plan.Operation, m *plan.Mix) (c plan.MixCall, ok bool) {
	if n.Kind == yaml.ScalarNode {
		return plan.MixCall{Call: l.call(n, &fields{node: n}, p, nil, false)}, true
	}
	f, ok := l.object(n, "a statement", "{sql: SELECT 1, columns: [int]}", keys["statement"])
	if !ok {
		return c, false
	}
	if l.required(f, "sql", "the statement has no sql: write sql: SELECT 1") == nil {
		return c, false
	}
	c.Call = l.call(f.get("sql"), f, p, nil, false)
	if c.Mutex = l.flag(f.get("mutex"), "mutex"); c.Mutex && (m.Mutex || op.Mutex) {
		l.errorf(f.key("mutex"), "the mutex is held around the whole operation: leave it out here or in the %s", map[bool]string{true: "phase", false: "operation"}[m.Mutex])
	}
	c.Another = l.is("another", f.get("connection"), "connection", "same", "another")
	switch {
	case c.Another && !op.Transaction:
		l.errorf(f.key("connection"), "connection: another has no effect outside of a transaction: write transaction: true there, or leave it out")
	case c.Another && m.OwnConn:
		l.errorf(f.key("connection"), "connection is another, but the clients of the mix keep one each: leave connection: own out there")
	}
	l.ifEmpty(f, &c, op.Transaction)
	return c, true
}

// ifEmpty reads how an operation ends if a statement returns no rows.
func (l *resolver) ifEmpty(f *fields, c *plan.MixCall, transaction bool) {
	n := f.get("if empty")
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

// results reads the result codes of the errors that do not count as failures of an operation. It
// returns nil for a nil node.
func (l *resolver) results(n *yaml.Node) []int {
	if n == nil {
		return nil
	}
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
	code, err := strconv.Atoi(name)
	if err != nil {
		code, ok = driver.CodeByName(name)
	}
	switch {
	case !ok:
		instead := "want one of SQLite's, such as SQLITE_CONSTRAINT_UNIQUE or 2067"
		const prefix = "SQLITE_" // all names begin with this text, so it is removed before looking for a similar name
		var names []string
		for _, known := range driver.CodeNames() {
			names = append(names, strings.TrimPrefix(known, prefix))
		}
		if near := driver.Nearest(strings.TrimPrefix(strings.ToUpper(name), prefix), names); near != "" {
			instead = driver.DidYouMean(prefix+near, driver.CodeNames())
		}
		l.errorf(n, "results: unknown result code %q: %s", name, instead)
	case driver.MayBeResult(code):
		return code, true
	case code&0xff == driver.CodeBusy, code&0xff == driver.CodeLocked:
		l.errorf(n, "results: %s says that a lock was in the way: such an operation has failed, and is counted; retry: {attempts: 10} repeats it", driver.CodeName(code))
	default:
		l.errorf(n, "results: %s cannot be a result of an operation: want a code that says something about its statements and data, such as SQLITE_CONSTRAINT_UNIQUE or 2067", driver.CodeName(code))
	}
	return 0, false
}
