package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// resolver turns a workload file into a plan, for one set of values of its
// parameters.
type resolver struct {
	*reader
	w        *Workload
	values   map[string]int64
	plan     *plan.Plan
	settings driver.Settings
	infos    []PhaseInfo
	sets     map[string]*setInfo
	pragmas  []pragmaSetting // settings that PRAGMAs of the current schema or phase change
	declared driver.Settings // the requested settings, with the changes declared so far
	warnings []Problem
	leftOut  []string // PhaseInfo.LeftOut of the phase being read
	features []string // the keys of the features of SQLite that the SQL needs
	expects  []result.Expectation
}

func (w *Workload) resolver(r *reader, values map[string]int64) *resolver {
	return &resolver{reader: r, w: w, values: values, plan: &plan.Plan{}, settings: driver.Settings{}, sets: map[string]*setInfo{}}
}

// warnf adds a warning about a node.
func (l *resolver) warnf(n *yaml.Node, format string, args ...any) {
	l.warnings = append(l.warnings, Problem{File: l.file, Line: n.Line, Column: n.Column, Message: fmt.Sprintf(format, args...)})
}

// resolve reads the workload file into l.plan. It adds mistakes in the file to the reader's
// problems.
func (l *resolver) resolve() {
	f := l.w.root
	if n := f.get("settings"); n != nil {
		l.settings = l.readSettings(n, "settings", false)
		l.decided(n)
	}
	if n := f.get("pool"); n != nil {
		l.pool(n)
	}
	if n := f.get("schema"); n != nil {
		l.plan.Schema, _ = l.sql(n, "schema", "CREATE TABLE users(id INTEGER PRIMARY KEY)")
	}
	if n := f.get("changes settings"); n != nil {
		if l.plan.Changes = l.changes(n); f.get("schema") == nil {
			l.errorf(n, "changes settings without a schema that would: write the settings under settings, or changes settings in a script phase")
		}
	}
	l.declared = l.settings.With(l.plan.Changes)
	l.undeclared(f.get("schema"), "schema")
	if n := f.get("rows"); n != nil {
		if f, ok := l.mapping(n, "rows", "rows: {users: {count: 10, columns: {id: serial}}}"); ok {
			l.readRows(f)
		}
	}
	n := l.required(f, "phases", "the workload has no phases: write phases: and a list")
	if n == nil {
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
	l.expectedOfAll(f.get("expect"))
	l.sortExpected()
	if len(l.plan.Phases) == len(n.Content) && !slices.ContainsFunc(l.plan.Phases, func(p plan.Phase) bool { return !p.Untimed }) {
		l.errorf(n, "every phase is untimed: leave untimed out of the phases to measure")
	}
}

// readSettings reads settings and converts them to canonical form. If the parameter "pragmas" is true, only
// settings that a PRAGMA can set are allowed, and readSettings reports the others.
func (l *resolver) readSettings(n *yaml.Node, what string, pragmas bool) driver.Settings {
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
		d, known := driver.LookupSetting(k.Value)
		if pragmas && known && !d.Pragma {
			l.errorf(k, "no SQL changes %s: write it under settings", d.Name)
		}
		if known && strings.Contains(text, "$") {
			x, ok := l.number(v, "setting "+k.Value, d.Min)
			if !ok {
				continue
			}
			text = strconv.FormatInt(x, 10)
		} else if !known {
			v = k
		}
		value, err := driver.ParseSetting(k.Value, text)
		if err != nil {
			l.errorf(v, "%v", err)
			continue
		}
		settings[k.Value] = value
		number := map[string]int{"pool_size": settings.PoolSize(), "pool_readers": settings.PoolReaders(), "processes": settings.Processes()}[k.Value]
		if number > plan.MaxClients {
			l.errorf(v, "%s is %d: want at most %d", k.Value, number, plan.MaxClients)
		}
	}
	return settings
}

// pool reads the sizes of two pools: pool: {writers: 1, readers: 4} is another way to write
// the settings pool_size: 1, pool_readers: 4.
func (l *resolver) pool(n *yaml.Node) {
	f, ok := l.object(n, "pool", "{writers: 1, readers: 4}", keys["pool"])
	if !ok {
		return
	}
	for _, role := range []struct{ key, setting string }{{"writers", "pool_size"}, {"readers", "pool_readers"}} {
		size := f.get(role.key)
		switch _, twice := l.settings[role.setting]; {
		case size == nil:
			l.errorf(f.node, "pool has no %s: write %[1]s: and a number of connections, as in pool: {writers: 1, readers: 4}", role.key)
		case twice:
			l.errorf(f.key(role.key), "%s and the setting %s mean the same: leave one of them out", role.key, role.setting)
		default:
			l.settings[role.setting] = strconv.FormatInt(l.numberWithin(size, role.key, 1, plan.MaxClients, 1), 10)
		}
	}
}

// changes reads which settings a script changes. Only settings that a PRAGMA sets are
// allowed.
func (l *resolver) changes(n *yaml.Node) driver.Settings {
	if n == nil {
		return nil
	}
	if s := l.readSettings(n, "changes settings", true); len(s) > 0 {
		return s
	}
	return nil // a problem has been reported, or the script changes no setting
}
