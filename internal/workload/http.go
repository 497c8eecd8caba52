package workload

import (
	"maps"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// http reads a phase of the kind "http", whose statement is served over HTTP.
func (l *resolver) http(f *fields) *plan.HTTP {
	h := &plan.HTTP{}
	h.Clients = l.clients(f.get("clients"), false)
	h.Count, h.DurationMS, h.Rate = l.extent(f, "http phase")
	p := l.parameters(f.get("parameters"), nil)
	call := *f // call is f without the keys "columns" and "expect", which have another meaning in an http phase than in other calls
	call.index = maps.Clone(f.index)
	delete(call.index, "columns")
	delete(call.index, "expect")
	h.Call = l.call(f.get("http"), &call, p, nil, false)
	h.Rows = 1
	p.unused(l)
	for _, q := range h.Parameters {
		if q.Type == driver.Blob {
			l.errorf(f.get("http"), "parameter %s is a blob, which has no place in a URL: want a text or a number", q.Name)
		}
	}
	if n := f.get("columns"); n == nil {
		l.errorf(f.node, "the http phase has no columns: write columns: {id: int, name: text} with the name and type of each")
	} else if cols, ok := l.mapping(n, "columns of an http phase", "{id: int, name: text}"); ok {
		if len(cols.keys) == 0 {
			l.errorf(n, "columns is empty: want the name and type of each, such as {id: int, name: text}")
		}
		for i, k := range cols.keys {
			t := l.columnType(cols.values[i])
			if t.Type == driver.Blob || t.Type == driver.Real {
				l.errorf(cols.values[i], "column %s is %s, which JSON cannot carry unchanged: want int, text, bool or time", k.Value, t.Type)
			}
			h.Names, h.Columns = append(h.Names, k.Value), append(h.Columns, t)
		}
	}
	n := f.get("expect")
	if n == nil {
		return h
	}
	e, ok := l.object(n, "expect of an http phase", "{returns: users}", keys["expect of http"])
	if !ok || e.get("returns") == nil {
		return h
	}
	n = e.get("returns")
	r, s := l.returned(n, h.Columns)
	if r == nil {
		return h
	}
	h.Returns = r
	for _, c := range r.Columns {
		if !strings.HasPrefix(c, s.Name+".") {
			l.errorf(n, "returns: %s is not of data set %s: want columns of the one that a parameter picks from", c, s.Name)
			return h
		}
	}
	if _, ok := h.Picked(); !ok {
		l.errorf(n, "returns: a parameter must pick the row of %s: write parameters: {id: {pick: %s}}, once and without nulls", s.Name, r.Columns[0])
	}
	return h
}
