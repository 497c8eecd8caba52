package workload

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/record"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// codeForeignKey is SQLITE_CONSTRAINT_FOREIGNKEY.
const codeForeignKey = 787

// maxReplayedBytes limits the size of the values and the SQL that a plan takes from a
// recording.
const maxReplayedBytes = 512 << 20

// replayed is a recording, resolved to a plan.
type replayed struct {
	plan  *plan.Replay // the plan, including the recorded times
	dealt []int        // for each event, the position of its transaction in the order in which SQLite ran the transactions
	left  []string     // messages about events that are left out, with the reason

	foreignKeys string   // the value of foreign_keys that the recording shows: on, off, or "" if it shows none
	references  bool     // a statement of the recording declares a foreign key
	features    []string // keys of the features of SQLite that the statements need, apart from statements that failed when they were recorded
	reaches     bool     // a statement reaches files other than the database, and the user allows it
}

// replay reads a replay phase.
func (l *resolver) replay(f *fields) *plan.Replay {
	r := &plan.Replay{}
	n := f.get("replay")
	name, ok := l.text(n, "replay", "replay: app.jsonl")
	if !ok {
		return r
	}
	rec := l.w.recording(name)
	if rec.problem != "" {
		l.errorf(n, "replay: %s", rec.problem)
		return r
	}
	mode, _ := l.oneOf(f.get("statement"), "statement", "prepared", "ad hoc") // "" means: prepared or ad hoc, as in the application
	speed := l.speed(f.get("speed"), rec, name)
	made, err := l.w.resolveRecording(rec)
	if err != nil {
		l.errorf(n, "replay: %s: %v", name, err)
		return r
	}
	l.leftOut = made.left
	l.features = append(l.features, made.features...)
	l.plan.Files = l.plan.Files || made.reaches
	for _, why := range made.left {
		l.warnf(n, "replay: %s: %s", name, why)
	}
	l.pinForeignKeys(n, name, made)
	*r = *made.plan
	if r.Speed = speed; speed == 0 {
		r.Events.AtNS, r.Events.Transaction = nil, made.dealt
	}
	if mode != "" {
		r.Statements = slices.Clone(r.Statements)
		for i := range r.Statements {
			s := &r.Statements[i]
			s.AdHoc = mode == "ad hoc" && s.SQL != "" && !s.Script
		}
	}
	if n := f.get("events"); n != nil {
		*r = *FirstEvents(r, int(l.numberWithin(n, "events", 1, plan.MaxReplayed, 1)))
	} else if l.w.uncut = true; slices.ContainsFunc(l.w.Parameters, func(p Values) bool { return p.Name == EventsParameter && len(p.Values) == 0 }) {
		if events, given := l.values[EventsParameter]; given && events < 1 {
			l.errorf(f.key("replay"), "the parameter %s is %d: want at least 1", EventsParameter, events)
		} else if given {
			*r = *FirstEvents(r, int(min(events, plan.MaxReplayed)))
		}
	}
	if n := f.get("clients"); n != nil {
		r.Clients = l.clients(n, false)
	}
	if pool, given := l.settings["pool_size"]; given && r.AtOnce() > l.settings.PoolSize() {
		l.errorf(n, "replay: it needs %d connections, but pool_size is %s: write clients: %s, or leave pool_size out", r.AtOnce(), pool, pool)
	}
	return r
}

// pinForeignKeys sets foreign_keys unless the workload sets it. The drivers' defaults differ, so
// without this setting a statement could fail on only some drivers. If there are foreign keys,
// pinForeignKeys adds a warning that says what it set.
func (l *resolver) pinForeignKeys(n *yaml.Node, name string, made *replayed) {
	if _, set := l.declared["foreign_keys"]; set {
		return
	}
	value, why := "off", "the drivers' defaults differ, and this is SQLite's"
	if made.foreignKeys != "" {
		value, why = made.foreignKeys, "the recording shows it"
	}
	l.settings["foreign_keys"], l.declared["foreign_keys"] = value, value
	if made.references || l.w.references() {
		l.warnf(n, "replay: %s: foreign_keys is %s with every driver: %s. If your application uses another value, write it under settings", name, value, why)
	}
}

// speed reads the factor by which the times between events are divided. It returns 0 if events
// follow one another without waiting.
func (l *resolver) speed(n *yaml.Node, rec *recording, name string) float64 {
	word, ok := l.text(n, "speed", "speed: max")
	if !ok || word == "max" {
		return 0
	}
	factor, isFactor := strings.CutSuffix(word, "x")
	x, err := strconv.ParseFloat(factor, 64)
	switch {
	case word == "recorded":
		x = 1
	case !isFactor || err != nil || !(x >= plan.MinSpeed && x <= plan.MaxSpeed):
		l.errorf(n, "speed is %s: want max, recorded, or a factor such as 2x or 0.5x", describe(n))
		return 0
	}
	if !rec.Timed {
		l.errorf(n, "speed is %s, but %s does not say when its statements were run: leave speed out", word, name)
		return 0
	}
	return x
}

// resolveRecording turns a recording into a plan.
func (w *Workload) resolveRecording(rec *recording) (*replayed, error) {
	if rec.made != nil {
		return rec.made, nil
	}
	r := &replayer{
		w: w, rec: rec, shapes: map[*record.Statement]*shape{}, units: map[int64]int{},
		lanes: lanes(rec.Events), leftOut: map[string]int{}, replayed: replayed{plan: &plan.Replay{}},
	}
	r.types()
	for i := range rec.Events {
		if err := r.event(&rec.Events[i]); err != nil {
			return nil, err
		}
	}
	n := r.plan.Events.Len()
	if n == 0 {
		return nil, fmt.Errorf("none of its %d events can be replayed: %s", len(rec.Events), strings.Join(r.reasons(), "; "))
	}
	for _, lane := range r.lanes {
		r.plan.Connections = max(r.plan.Connections, lane+1)
	}
	if r.plan.Connections > plan.MaxClients {
		return nil, fmt.Errorf("it has %d connections at once: want at most %d", r.plan.Connections, plan.MaxClients)
	}
	if !slices.ContainsFunc(r.plan.Events.Affected, func(n int64) bool { return n >= 0 }) {
		r.plan.Events.Affected = nil
	}
	if !slices.ContainsFunc(r.plan.Events.Codes, func(code int) bool { return code != 0 }) {
		r.plan.Events.Codes = nil
	}
	r.name()
	r.deal()
	r.left = r.reasons()
	made := r.replayed // a copy, so that the replayer's maps can be freed
	rec.made = &made
	if rec.Rest != "" {
		rec.made.left = append(rec.made.left, rec.Rest+"; everything before it is replayed")
	}
	return rec.made, nil
}

// replayer makes a plan of a recording.
type replayer struct {
	w        *Workload
	rec      *recording
	shapes   map[*record.Statement]*shape
	variants distinct.Index[string] // index of each statement of the plan, by the key that [replayer.variant] was given
	units    map[int64]int          // number of a transaction in the plan, by the number in the recording
	begun    []unit                 // when each transaction of the plan read and wrote
	lanes    map[int64]int          // connection in the plan, by the recorded connection
	names    []string               // name of the operation of each statement in the plan
	bytes    int                    // size in bytes of the SQL and the values in the plan
	leftOut  map[string]int         // how many events are left out, by reason
	replayed                        // the parts of the result that are complete so far
}

// types finds the types that each parameter's values have. In the plan, each parameter of a statement
// has one type. So a NULL gets a type that other values of the parameter have.
func (r *replayer) types() {
	for i := range r.rec.Events {
		e := &r.rec.Events[i]
		if e.Do != record.Run {
			continue
		}
		s := r.shape(e.Statement)
		for j, a := range s.args {
			if arg, ok := a.of(e.Args); ok && arg.Type != "null" {
				s.types[j][bound(arg.Type)] = true
			}
		}
	}
}

// event adds a recorded event to the plan, unless the event cannot be replayed.
func (r *replayer) event(e *record.Event) error {
	i, ok, err := r.statement(e)
	if !ok || err != nil {
		return err
	}
	ev := &r.plan.Events
	if ev.Len() == plan.MaxReplayed {
		return fmt.Errorf("it has more than %d events: record for a shorter time, or cut the file", plan.MaxReplayed)
	}
	number, known := r.units[e.Transaction]
	if !known || e.Transaction == 0 {
		number = len(r.begun)
		r.begun = append(r.begun, unit{})
		r.units[e.Transaction] = number
	}
	writes, controls := false, true
	if e.Do == record.Run {
		s := r.shape(e.Statement)
		writes, controls = s.writes, s.controls
	}
	r.begun[number].add(e, writes, controls)
	if e.Error != nil {
		if e.Error.Code == codeForeignKey {
			r.foreignKeys = "on"
		}
		ev.Failed = append(ev.Failed, ev.Len())
		ev.Codes = append(ev.Codes, max(e.Error.Code, 0)) // a negative code is not a code of SQLite, so it is replaced by 0 (unknown)
	} else if e.Do == record.Run {
		s := r.shape(e.Statement)
		r.features = append(r.features, s.features...)
		s.features = nil
	}
	ev.Statement = append(ev.Statement, i)
	ev.Connection = append(ev.Connection, r.lanes[e.Connection])
	ev.Transaction = append(ev.Transaction, number)
	ev.AtNS = append(ev.AtNS, int64(e.At-r.rec.Events[0].At))
	ev.Rows = append(ev.Rows, e.Rows)
	affected := r.affected(e, &r.plan.Statements[i])
	if affected >= 0 && e.LastInsertID != nil {
		ev.Inserted = append(ev.Inserted, plan.Inserted{Event: len(ev.Affected), ID: *e.LastInsertID})
	}
	ev.Affected = append(ev.Affected, affected)
	return nil
}

// deal sets r.dealt: for each event, the position of its transaction in the order in which SQLite ran the
// transactions.
func (r *replayer) deal() {
	order := inOrder(r.begun)
	for _, t := range r.plan.Events.Transaction {
		r.dealt = append(r.dealt, order[t])
	}
}

// affected returns how many rows an event should affect, or -1 if that is unknown. It is unknown for
// a statement that changes no rows, because libraries then return the number of an earlier change.
func (r *replayer) affected(e *record.Event, st *plan.Replayed) int64 {
	if e.Do != record.Run || e.Error != nil || st.Reads || !r.shape(e.Statement).changes {
		return -1
	}
	return e.Affected
}

// leave counts an event that is left out of the plan. It returns the results that
// [replayer.statement] must return for this event.
func (r *replayer) leave(why string) (int, bool, error) {
	r.leftOut[why]++
	return 0, false, nil
}

// statement returns the plan's statement of an event, and adds the event's parameters to it. The
// result "ok" is false if the event cannot be replayed.
func (r *replayer) statement(e *record.Event) (i int, ok bool, err error) {
	if e.Do != record.Run {
		return r.variant(string(e.Do), strings.ToUpper(string(e.Do)), plan.Replayed{Do: string(e.Do)}), true, nil
	}
	s := r.shape(e.Statement)
	switch {
	case s.why != "":
		return r.leave(s.why)
	case s.script && len(e.Args) > 0:
		return r.leave("are several statements in one text, with parameters")
	}
	args := make([]record.Arg, len(s.args))
	types := make([]driver.Type, len(s.args))
	for j, a := range s.args {
		arg, given := a.of(e.Args)
		if !given && r.rec.script {
			return r.leave("lack a parameter: its value is in what .trace FILE --expanded prints")
		}
		if !given {
			return r.leave("lack a parameter")
		}
		if why := unbindable(arg); why != "" {
			return r.leave(why)
		}
		args[j], types[j] = arg, bound(arg.Type)
		if arg.Type == "null" {
			types[j] = driver.Int
			if seen := slices.Sorted(maps.Keys(s.types[j])); len(seen) > 0 {
				types[j] = seen[0]
			}
		}
	}
	reads := s.reads || e.Query
	made := plan.Replayed{SQL: s.sql, AdHoc: !e.Statement.Prepared && !s.script, Reads: reads && !s.script, Script: s.script}
	for _, t := range types {
		made.Parameters = append(made.Parameters, plan.Recorded{Type: t})
	}
	i = r.variant(fmt.Sprintf("%d %t %q", s.number, made.Reads, types), operationName(s.sql), made)
	for j := range args {
		r.bytes += addValue(&r.plan.Statements[i].Parameters[j], args[j], r.rec.Values)
	}
	if r.bytes > maxReplayedBytes {
		return 0, false, fmt.Errorf("its values have more than %d bytes: record for a shorter time, or cut the file", maxReplayedBytes)
	}
	return i, true, nil
}

// variant returns the index in the plan of the statement with this key. If the plan has no such statement, it
// adds the given statement.
func (r *replayer) variant(key, name string, made plan.Replayed) int {
	i := r.variants.Of(key)
	if i == len(r.plan.Statements) {
		r.plan.Statements = append(r.plan.Statements, made)
		r.names = append(r.names, name)
		r.bytes += len(made.SQL)
	}
	return i
}

// unbindable returns why a parameter cannot be bound, or "" if it can.
func unbindable(a record.Arg) string {
	if x, ok := a.Value.(float64); ok && math.IsInf(x, 0) {
		return "have an infinite number as a parameter"
	}
	if a.Type == "other" {
		return "have a parameter of a type that only its library knows"
	}
	return ""
}

// addValue adds a parameter's value, or its length if values were not recorded, and
// returns how many bytes it takes.
func addValue(p *plan.Recorded, a record.Arg, values bool) int {
	if x, ok := a.Value.(float64); a.Type == "null" || ok && math.IsNaN(x) { // SQLite treats NaN as NULL
		p.Nulls = append(p.Nulls, max(len(p.Ints), len(p.Reals), len(p.Bytes), len(p.Lengths)))
		a = record.Arg{}
	}
	if a.Type == "time" {
		addTime(p, a)
	}
	if !values {
		n := a.Length
		switch a.Type {
		case "bool":
			n = 0
		case "time":
			n = len(plan.TimeFormat)
		}
		p.Lengths = append(p.Lengths, int64(n))
		return 8 + n
	}
	switch p.Type {
	case driver.Int:
		v, _ := a.Value.(int64)
		if b, ok := a.Value.(bool); ok && b {
			v = 1
		}
		p.Ints = append(p.Ints, v)
		return 8
	case driver.Real:
		v, _ := a.Value.(float64)
		if math.IsNaN(v) {
			v = 0
		}
		p.Reals = append(p.Reals, v)
		return 8
	}
	v := []byte{}
	switch x := a.Value.(type) {
	case string:
		v = []byte(x)
	case []byte:
		v = x
	case time.Time:
		v = x.AppendFormat(v, plan.TimeFormat)
	}
	p.Bytes = append(p.Bytes, v)
	return 8 + len(v)
}

// addTime notes that the next value of p is a time. It also notes the time's zone, and whether the time has a
// reading of the monotonic clock.
func addTime(p *plan.Recorded, a record.Arg) {
	n := max(len(p.Bytes), len(p.Lengths))
	p.Times = append(p.Times, n)
	if a.Monotonic {
		p.Monotonic = append(p.Monotonic, n)
	}
	zone := ""
	if t, ok := a.Value.(time.Time); ok {
		if zone, _ = t.Zone(); zone == "UTC" {
			zone = ""
		}
	}
	if zone != "" && p.Zones == nil {
		p.Zones = make([]string, len(p.Times)-1)
	}
	if p.Zones != nil {
		p.Zones = append(p.Zones, zone)
	}
}

// reasons returns, for each reason, a message that says how many events are left out for it.
func (r *replayer) reasons() []string {
	var list []string
	for _, why := range slices.Sorted(maps.Keys(r.leftOut)) {
		list = append(list, fmt.Sprintf("%d of %d events are left out: they %s", r.leftOut[why], len(r.rec.Events), why))
	}
	return list
}

// maxNamed is the maximum number of kinds of statements that have their own latencies.
const maxNamed = 24

const otherStatements = "other statements"

// r.name() chooses the operations of the replay. The latencies of each operation are recorded
// separately. Each of the most frequent kinds of statements is an operation, and all other kinds
// together are one more operation.
func (r *replayer) name() {
	counts := map[string]int{}
	for _, s := range r.plan.Events.Statement {
		counts[r.names[s]]++
	}
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	if len(kinds) > maxNamed {
		kinds = append(kinds[:maxNamed-1:maxNamed-1], otherStatements)
	}
	r.plan.Operations = kinds
	for i, name := range r.names {
		if r.plan.Statements[i].Operation = slices.Index(kinds, name); r.plan.Statements[i].Operation < 0 {
			r.plan.Statements[i].Operation = len(kinds) - 1
		}
	}
}

// lanes maps each recorded connection to a connection of the plan. The plan has only as many connections
// as the application ever had open at the same time. If a pool closed a connection and later opened
// another one, both may have the same connection of the plan.
func lanes(events []record.Event) map[int64]int {
	type life struct {
		connection int64
		first, end time.Duration
	}
	var lives []life
	var connections distinct.Index[int64]
	for i := range events { // the events are in the order in which they began
		e := &events[i]
		n := connections.Of(e.Connection)
		if n == len(lives) {
			lives = append(lives, life{e.Connection, e.At, 0})
		}
		lives[n].end = max(lives[n].end, e.At+e.Took)
	}
	of := map[int64]int{}
	var ends []time.Duration // for each connection of the plan, when the last recorded connection that it replaces ended
	for _, l := range lives {
		lane := slices.IndexFunc(ends, func(end time.Duration) bool { return end <= l.first })
		if lane < 0 {
			lane = len(ends)
			ends = append(ends, 0)
		}
		ends[lane], of[l.connection] = l.end, lane
	}
	return of
}
