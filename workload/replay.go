package workload

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/record"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// MaxRecording is the size in bytes of the largest recording that is replayed.
const MaxRecording = 256 << 20

// maxReplayedBytes limits the values and the SQL that a plan has of a recording.
const maxReplayedBytes = 512 << 20

// recording is a recording as it was read, and what it is replayed as.
type recording struct {
	*record.Recording
	sha256  string
	problem string
	made    *replayed // nil: not yet
}

// replayed is a recording resolved to a plan.
type replayed struct {
	plan *plan.Replay // with the times
	left []string     // what is left out, and why
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
	mode := "" // as recorded
	if n := f.get("statement"); n != nil {
		mode, _ = l.oneOf(n, "statement", "prepared", "ad hoc")
	}
	speed := l.speed(f.get("speed"), rec, name)
	made, err := l.w.resolveRecording(rec)
	if err != nil {
		l.errorf(n, "replay: %s: %v", name, err)
		return r
	}
	l.leftOut = made.left
	for _, why := range made.left {
		l.warnings = append(l.warnings, Problem{File: l.file, Line: n.Line, Column: n.Column, Message: fmt.Sprintf("replay: %s: %s", name, why)})
	}
	*r = *made.plan
	if r.Speed = speed; speed == 0 {
		r.Events.AtNS = nil
	}
	if mode != "" {
		r.Statements = slices.Clone(r.Statements)
		for i := range r.Statements {
			s := &r.Statements[i]
			s.AdHoc = mode == "ad hoc" && s.SQL != "" && !s.Script
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

// speed reads by how much the times between events are divided. It returns 0 if they do
// not matter.
func (l *resolver) speed(n *yaml.Node, rec *recording, name string) float64 {
	if n == nil {
		return 0
	}
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

// recording reads a recording, each file once.
func (w *Workload) recording(name string) *recording {
	if r := w.recordings[name]; r != nil {
		return r
	}
	r := &recording{}
	if w.recordings == nil {
		w.recordings = map[string]*recording{}
	}
	w.recordings[name] = r
	const want = "want a file beside the workload's, or below"
	clean := path.Clean(name)
	if w.fsys == nil || !fs.ValidPath(clean) {
		r.problem = fmt.Sprintf("cannot open the file %q: %s", name, want)
		return r
	}
	f, err := w.fsys.Open(clean)
	if err != nil {
		r.problem = fmt.Sprintf("cannot read the file %q: %s", name, want)
		return r
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && !fi.Mode().IsRegular() {
		r.problem = fmt.Sprintf("%q is not a regular file: %s", name, want)
		return r
	}
	data, err := readBounded(f, MaxRecording)
	if err != nil {
		r.problem = fmt.Sprintf("cannot read the file %q: %v", name, reasonOf(err))
		return r
	}
	sum := sha256.Sum256(data)
	r.sha256 = hex.EncodeToString(sum[:])
	if bytes.HasPrefix(data, []byte("{")) {
		r.Recording, err = record.Read(bytes.NewReader(data))
	} else {
		r.Recording, err = readScript(string(data))
	}
	switch {
	case err != nil:
		r.problem = fmt.Sprintf("%s: %v", name, err)
	case len(r.Events) == 0:
		r.problem = fmt.Sprintf("%s: nothing was run: want a recording with statements", name)
	}
	return r
}

// readScript reads a script, or what the sqlite3 shell's .trace prints: statements, each
// with the time that it took if .trace has --profile.
func readScript(text string) (*record.Recording, error) {
	var list []record.Executed
	rest := text
	for {
		next := driver.TrimScript(rest)
		line := 1 + strings.Count(text[:len(text)-len(next)], "\n")
		rest = next
		if rest == "" {
			return record.FromStatements(list), nil
		}
		n := driver.StatementLen(rest)
		switch {
		case rest[0] == '.':
			return nil, fmt.Errorf("line %d: %.20q is a command of the sqlite3 shell, not SQL: leave it out", line, strings.Fields(rest)[0])
		case strings.ContainsRune(rest[:n], 0):
			return nil, fmt.Errorf("line %d: it has a NUL byte: want a recording, a script, or what .trace prints", line)
		case len(list) == plan.MaxReplayed:
			return nil, fmt.Errorf("line %d: there are more than %d statements: cut the file", line, plan.MaxReplayed)
		}
		x := record.Executed{SQL: strings.TrimRight(rest[:n], "; \t\r\n")}
		rest = rest[n:]
		end, _, _ := strings.Cut(rest, "\n")
		if took, ok := profiled(end); ok {
			x.Took = took
			// With --stmt too, the shell prints it when it begins and when it has ended.
			if last := len(list) - 1; last >= 0 && list[last] == (record.Executed{SQL: x.SQL}) {
				list = list[:last]
			}
		}
		list = append(list, x)
	}
}

// profiled reads the comment with which .trace --profile says how long a statement took.
func profiled(comment string) (time.Duration, bool) {
	ns, ok := strings.CutPrefix(strings.TrimSpace(comment), "-- ")
	if !ok {
		return 0, false
	}
	if ns, ok = strings.CutSuffix(ns, " ns"); !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(ns, 10, 64)
	return time.Duration(n), err == nil && n >= 0
}

// resolveRecording turns a recording into a plan.
func (w *Workload) resolveRecording(rec *recording) (*replayed, error) {
	if rec.made != nil {
		return rec.made, nil
	}
	r := &replayer{
		w: w, rec: rec, shapes: map[*record.Statement]*shape{}, variants: map[string]int{}, units: map[int64]int{},
		lanes: lanes(rec.Events), left: map[string]int{},
		plan: &plan.Replay{},
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
	r.name()
	rec.made = &replayed{plan: r.plan, left: r.reasons()}
	if rec.Rest != "" {
		rec.made.left = append(rec.made.left, rec.Rest+"; what is before it is replayed")
	}
	return rec.made, nil
}

// replayer makes a plan of a recording.
type replayer struct {
	w        *Workload
	rec      *recording
	plan     *plan.Replay
	shapes   map[*record.Statement]*shape
	variants map[string]int // index of the plan's statement
	units    map[int64]int  // number of the plan's transaction
	next     int            // number of the next one
	lanes    map[int64]int  // the plan's connection
	names    []string       // of the plan's statements
	bytes    int
	left     map[string]int // how many events are left out, by reason
}

// shape is what the executions of one text have in common.
type shape struct {
	number  int
	sql     string
	script  bool
	reads   bool
	changes bool
	why     string                 // it cannot be replayed
	args    []argument             // where each "?" takes its value from
	types   []map[driver.Type]bool // that were seen of each "?"
}

// argument is a parameter by its number, from 1, or by its name.
type argument struct {
	number int
	name   string
}

// types finds out which types each parameter has. A statement is prepared for the types
// of its parameters; NULL goes with any.
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

// of returns an event's parameter.
func (a argument) of(args []record.Arg) (record.Arg, bool) {
	if a.name != "" {
		for _, arg := range args {
			if arg.Name == a.name {
				return arg, true
			}
		}
	}
	if a.number > len(args) || args[a.number-1].Name != "" {
		return record.Arg{}, false
	}
	return args[a.number-1], true
}

// bound returns the type that a recorded parameter is bound as.
func bound(t string) driver.Type {
	switch t {
	case "real":
		return driver.Real
	case "text", "time":
		return driver.Text
	case "blob":
		return driver.Blob
	}
	return driver.Int
}

// shape looks at the text of a statement, once.
func (r *replayer) shape(st *record.Statement) *shape {
	if s := r.shapes[st]; s != nil {
		return s
	}
	s := &shape{number: len(r.shapes)}
	r.shapes[st] = s
	text := driver.TrimScript(st.SQL)
	if text == "" {
		s.why = "have no statement"
		return s
	}
	s.sql = strings.TrimRight(text[:driver.StatementLen(text)], "; \t\r\n")
	s.script = driver.TrimScript(text[driver.StatementLen(text):]) != ""
	if s.script {
		s.sql = text
	}
	if what, _ := outside(text); what != "" && !r.w.files {
		s.why = fmt.Sprintf("reach files other than the workload's own database (%s)", what)
	} else if set := pragmaSettings(text); len(set) > 0 {
		s.why = fmt.Sprintf("are PRAGMAs that change settings: write them under settings, such as %s: %s", set[0].name, set[0].value)
	}
	if s.script || s.why != "" {
		return s
	}
	s.sql, s.args = unnumbered(s.sql)
	for range s.args {
		s.types = append(s.types, map[driver.Type]bool{})
	}
	s.reads, s.changes = driver.ReturnsRows(s.sql), changesRows(s.sql)
	return s
}

// unnumbered replaces every parameter of a statement with a plain "?", and returns where
// each takes its value from. SQLite gives a name the same number everywhere, and a "?" the
// number after the greatest so far (https://www.sqlite.org/lang_expr.html#varparam).
func unnumbered(sql string) (string, []argument) {
	var out strings.Builder
	var args []argument
	numbers := map[string]int{}
	greatest := 0
	for rest := sql; rest != ""; {
		n, kind := sqlTokenLength(rest)
		text := rest[:n]
		if text == "?" {
			for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
				n++
			}
			text = rest[:n]
			kind = parameterToken
		}
		rest = rest[n:]
		if kind != parameterToken || text[0] == '#' {
			out.WriteString(text)
			continue
		}
		a := argument{}
		number, err := strconv.Atoi(text[1:])
		switch {
		case text == "?":
			a.number = greatest + 1
		case text[0] == '?' && err == nil && number > 0:
			a.number = number
		default:
			if a.number = numbers[text]; a.number == 0 {
				a.number = greatest + 1
				numbers[text] = a.number
			}
			a.name = text[1:]
		}
		greatest = max(greatest, a.number)
		args = append(args, a)
		out.WriteString("?")
	}
	return out.String(), args
}

// changesRows reports whether a statement is one that SQLite counts the rows of.
func changesRows(sql string) bool {
	t := &sqlTokens{rest: sql}
	first, _ := t.next()
	switch strings.ToUpper(first.text) {
	case "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH":
		return true
	}
	return false
}

// event adds an event, unless it cannot be replayed.
func (r *replayer) event(e *record.Event) error {
	i, ok, err := r.statement(e)
	if !ok || err != nil {
		return err
	}
	ev := &r.plan.Events
	if ev.Len() == plan.MaxReplayed {
		return fmt.Errorf("it has more than %d events: record for a shorter time, or cut the file", plan.MaxReplayed)
	}
	unit, known := r.units[e.Transaction]
	if !known || e.Transaction == 0 {
		unit = r.next
		r.next++
		r.units[e.Transaction] = unit
	}
	if e.Error != nil {
		ev.Failed = append(ev.Failed, ev.Len())
	}
	ev.Statement = append(ev.Statement, i)
	ev.Connection = append(ev.Connection, r.lanes[e.Connection])
	ev.Transaction = append(ev.Transaction, unit)
	ev.AtNS = append(ev.AtNS, int64(e.At-r.rec.Events[0].At))
	ev.Rows = append(ev.Rows, e.Rows)
	affected := r.affected(e, &r.plan.Statements[i])
	if affected >= 0 && e.LastInsertID != nil {
		ev.Inserted = append(ev.Inserted, plan.Inserted{Event: len(ev.Affected), ID: *e.LastInsertID})
	}
	ev.Affected = append(ev.Affected, affected)
	return nil
}

// affected returns how many rows an event is to affect, or -1 if that is not known or means
// nothing: after other statements libraries tell the number of the change before.
func (r *replayer) affected(e *record.Event, st *plan.Replayed) int64 {
	if e.Do != record.Run || e.Error != nil || st.Reads || !r.shape(e.Statement).changes {
		return -1
	}
	return e.Affected
}

// leave counts an event that is left out.
func (r *replayer) leave(why string) (int, bool, error) {
	r.left[why]++
	return 0, false, nil
}

// statement returns the plan's statement of an event, and adds the event's parameters to
// it. ok is false if the event cannot be replayed.
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

// variant returns the index of a statement in the plan.
func (r *replayer) variant(key, name string, made plan.Replayed) int {
	i, known := r.variants[key]
	if !known {
		i = len(r.plan.Statements)
		r.variants[key] = i
		r.plan.Statements = append(r.plan.Statements, made)
		r.names = append(r.names, name)
		r.bytes += len(made.SQL)
	}
	return i
}

// unbindable says why a parameter cannot be bound.
func unbindable(a record.Arg) string {
	if x, ok := a.Value.(float64); ok && math.IsInf(x, 0) {
		return "have an infinite number as a parameter"
	}
	if a.Type == "other" {
		return "have a parameter of a type that only its library knows"
	}
	return ""
}

// timeFormat is how a time is written into a text, as mattn does it and SQLite's functions
// read it.
const timeFormat = "2006-01-02 15:04:05.999999999-07:00"

// addValue adds a parameter's value, or its length if values were not recorded, and
// returns how many bytes it takes.
func addValue(p *plan.Recorded, a record.Arg, values bool) int {
	if x, ok := a.Value.(float64); a.Type == "null" || ok && math.IsNaN(x) { // SQLite takes NaN for NULL
		p.Nulls = append(p.Nulls, max(len(p.Ints), len(p.Reals), len(p.Bytes), len(p.Lengths)))
		a = record.Arg{}
	}
	if !values {
		n := a.Length
		switch a.Type {
		case "bool":
			n = 0
		case "time":
			n = len(timeFormat)
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
		v = x.AppendFormat(v, timeFormat)
	}
	p.Bytes = append(p.Bytes, v)
	return 8 + len(v)
}

// reasons says how many events are left out, and why.
func (r *replayer) reasons() []string {
	var list []string
	for _, why := range slices.Sorted(maps.Keys(r.left)) {
		list = append(list, fmt.Sprintf("%d of %d events are left out: they %s", r.left[why], len(r.rec.Events), why))
	}
	return list
}

// maxNamed is how many kinds of statements have latencies of their own.
const maxNamed = 24

const otherStatements = "other statements"

// name names the operations under which latencies are counted: the most frequent kinds of
// statements, and all others together.
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

// maxOperationName is the length of the longest name of an operation.
const maxOperationName = 40

// operationName returns what a statement does and the table that it first names, such as
// "SELECT users".
func operationName(sql string) string {
	t := &sqlTokens{rest: sql}
	first, _ := t.next()
	name := strings.ToUpper(first.text)
	after := map[string]string{"SELECT": "FROM", "WITH": "FROM", "INSERT": "INTO", "REPLACE": "INTO", "DELETE": "FROM", "UPDATE": "UPDATE"}[name]
	if after == "" {
		return short(name)
	}
	found := name == after
	for token, ok := t.next(); ok; token, ok = t.next() {
		switch {
		case !found:
			found = !token.quoted && strings.EqualFold(token.text, after)
		case name == "UPDATE" && token.names([]string{"OR"}):
			_, _ = t.next() // OR IGNORE
		case token.text == "(":
			return short(name)
		default:
			return short(name + " " + token.name())
		}
	}
	return short(name)
}

// short returns a name that tables and commands can show.
func short(name string) string {
	name = strings.Map(func(c rune) rune {
		if c < ' ' || strings.ContainsRune("./,", c) {
			return '_'
		}
		return c
	}, strings.ToValidUTF8(name, "_"))
	if r := []rune(name); len(r) > maxOperationName {
		name = string(r[:maxOperationName])
	}
	return name
}

// lanes gives each recorded connection one of as few connections as were open at once: a
// pool may close a connection and open another.
func lanes(events []record.Event) map[int64]int {
	type life struct {
		connection int64
		first, end time.Duration
	}
	var lives []life
	at := map[int64]int{}
	for i := range events { // in the order in which they began
		e := &events[i]
		n, known := at[e.Connection]
		if !known {
			n = len(lives)
			at[e.Connection] = n
			lives = append(lives, life{e.Connection, e.At, 0})
		}
		lives[n].end = max(lives[n].end, e.At+e.Took)
	}
	of := map[int64]int{}
	var ends []time.Duration // of each lane
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
