package protocol

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Bounds for Check that package plan does not define.
const (
	maxOperations = 256    // greatest number of kinds of operations in a mix
	maxBackoff    = 3600e6 // longest backoff of a retry: an hour, in µs
	minSkew       = 0.01
	maxSkew       = 20
)

// Check returns an error if a trial's request cannot be run, so that a worker refuses it before
// it opens a database. The error names the bad field by its path in the request.
func (req *Request) Check() error {
	c := &checker{req: req, sets: map[string]*plan.DataSet{}}
	c.settings(req.Settings)
	for i := range req.Plan.DataSets {
		c.dataSet(fmt.Sprintf("plan.data_sets[%d]", i), &req.Plan.DataSets[i])
	}
	names := map[string]bool{}
	for i := range req.Plan.Phases {
		p := &req.Plan.Phases[i]
		at := fmt.Sprintf("plan.phases[%d]", i)
		if p.Name == "" || names[p.Name] {
			c.bad(at+".name", "is %q: want a name that no other phase has", p.Name)
		}
		names[p.Name] = true
		c.phase(at, p)
	}
	c.loading("load", req.Load, req.Plan.Phases)
	c.loading("loaded", req.Loaded, req.Plan.Phases)
	if req.Load > 0 && req.Loaded > 0 {
		c.bad("loaded", "is %d although load is given: want only one of them", req.Loaded)
	}
	c.process()
	return c.err
}

// process checks the fields and settings for a trial in several processes.
func (c *checker) process() {
	req, processes := c.req, c.req.Settings.Processes()
	c.within("process", int64(req.Process), 0, int64(processes-1))
	if req.Process > 0 && (len(req.Plan.Phases) != 1 || req.Plan.Phases[0].Mix == nil || req.Plan.Schema != "" || req.Load+req.Loaded > 0) {
		c.bad("process", "is %d: want a plan of one mix, without a schema, and neither load nor loaded", req.Process)
	}
	if processes > 1 && req.Settings["mode"] == "memory" {
		c.bad("settings.processes", "is %d with a database in memory, which each process would have for itself: want a file", processes)
	}
	if processes > 1 && req.Settings["locking_mode"] == "exclusive" {
		c.bad("settings.processes", "is %d with locking_mode exclusive, by which one process locks out the others: want normal", processes)
	}
}

// checker checks a request and keeps the first problem in err.
type checker struct {
	req  *Request
	sets map[string]*plan.DataSet // the data sets checked so far
	err  error
}

func (c *checker) bad(field, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s %s", field, fmt.Sprintf(format, args...))
	}
}

func (c *checker) within(field string, v, least, most int64) {
	if v < least || v > most {
		c.bad(field, "is %d: want a number from %d to %d", v, least, most)
	}
}

func (c *checker) settings(s driver.Settings) {
	for _, name := range slices.Sorted(maps.Keys(s)) {
		field := "settings." + name
		switch want, err := driver.ParseSetting(name, s[name]); {
		case err != nil:
			c.bad(field, "cannot be: %v", err)
		case want != s[name]:
			c.bad(field, "is %q: want the canonical form, %q", s[name], want)
		}
	}
	c.within("settings.pool_size", int64(s.PoolSize()), 1, plan.MaxClients)
	c.within("settings.pool_readers", int64(s.PoolReaders()), 0, plan.MaxClients)
	c.within("settings.processes", int64(s.Processes()), 1, plan.MaxClients)
}

func (c *checker) dataSet(at string, d *plan.DataSet) {
	if d.Name == "" || strings.Contains(d.Name, ".") {
		c.bad(at+".name", "is %q: want a name without a point", d.Name)
	}
	c.within(at+".count", d.Count, 0, plan.MaxCount)
	total := d.Count
	if parent := c.sets[d.Parent]; parent != nil {
		if d.Count > 0 && parent.Total > plan.MaxCount/d.Count {
			c.bad(at+".count", "is %d for each of %d rows: want at most %d in all", d.Count, parent.Total, int64(plan.MaxCount))
		}
		total *= parent.Total
	} else if d.Parent != "" {
		c.bad(at+".parent", "is %q: want a data set that comes before", d.Parent)
	}
	if d.Total != total {
		c.bad(at+".total", "is %d: want %d, as the counts multiply", d.Total, total)
	}
	for j := range d.Columns {
		col := &d.Columns[j]
		at := fmt.Sprintf("%s.columns[%d]", at, j)
		if col.Name == "" {
			c.bad(at+".name", "is empty: want a name")
		}
		c.typed(at, col.Type)
		c.generator(at+".generator", &col.Generator)
	}
	c.sets[d.Name] = d
}

func (c *checker) typed(at string, t driver.Type) {
	if t == 0 {
		c.bad(at+".type", "is missing: want one of %s", strings.Join(driver.TypeNames(), ", "))
	}
}

// generator checks the bounds of a generator's skew, which [plan.NewGenerator] does not check.
func (c *checker) generator(at string, g *plan.Generator) {
	if g.Skew != 0 && !(g.Skew >= minSkew && g.Skew <= maxSkew) {
		c.bad(at+".skew", "is %v: want a number from %v to %v", g.Skew, minSkew, float64(maxSkew))
	}
}

func (c *checker) phase(at string, p *plan.Phase) {
	if p.Context != "" && p.Context != "background" && p.Context != "cancellable" {
		c.bad(at+".context", "is %q: want background or cancellable", p.Context)
	}
	kinds := 0
	for _, kind := range []struct {
		set   bool
		check func()
	}{
		{p.Insert != nil, func() { c.insert(at+".insert", p) }},
		{p.Query != nil, func() { c.query(at+".query", p) }},
		{p.Mix != nil, func() { c.mix(at+".mix", p.Mix) }},
		{p.HTTP != nil, func() { c.http(at+".http", p) }},
		{p.Replay != nil, func() { c.replay(at+".replay", p.Replay) }},
		{p.Script != "", func() {}},
	} {
		if kind.set {
			kinds++
			kind.check()
		}
	}
	if kinds != 1 {
		c.bad(at, "has %d of insert, query, mix, http, replay and script: want exactly one", kinds)
	}
}

// The method "loading" checks that the first n phases, which fill the database, are untimed inserts
// or scripts.
func (c *checker) loading(field string, n int, phases []plan.Phase) {
	c.within(field, int64(n), 0, int64(len(phases)))
	for i := range min(max(n, 0), len(phases)) {
		if p := &phases[i]; !p.Untimed || p.Insert == nil && p.Script == "" {
			c.bad(field, "is %d, and plan.phases[%d] is not an untimed insert or script", n, i)
		}
	}
}

// set returns the data set that a phase names. If there is none, set records the problem and
// returns nil.
func (c *checker) set(field, name string) *plan.DataSet {
	d := c.sets[name]
	if d == nil {
		c.bad(field, "names an unknown data set %q", name)
	}
	return d
}

func (c *checker) insert(at string, p *plan.Phase) {
	in := p.Insert
	rows, widest := int64(0), int64(1)
	for i, name := range in.Sets {
		field := fmt.Sprintf("%s.sets[%d]", at, i)
		d := c.set(field, name)
		if d == nil {
			return
		}
		if slices.Contains(in.Sets[:i], name) {
			c.bad(field, "is %q for the second time: want each data set once", name)
		}
		columns := int64(len(d.Bound()))
		if columns == 0 || d.Table == "" {
			c.bad(field, "is %q, which has no table or no columns that are inserted", name)
		}
		rows += d.Total
		widest = max(widest, columns)
	}
	if len(in.Sets) == 0 {
		c.bad(at+".sets", "is empty: want the data sets to insert")
	}
	if rows == 0 && !p.Untimed {
		c.bad(at+".sets", "have no rows in all, so that there is nothing to time")
	}
	c.within(at+".rows_per_statement", in.RowsPerStatement, 1, plan.MaxBound/widest)
	switch in.Transaction {
	case "one", "set", "each":
	case "every":
		c.within(at+".every", in.Every, 1, plan.MaxAtOnce)
	case "per":
		c.nesting(at, in)
	default:
		c.bad(at+".transaction", "is %q: want one, set, each, every or per", in.Transaction)
	}
	for i, v := range in.Verify {
		at := fmt.Sprintf("%s.verify[%d]", at, i)
		if v.Table == "" {
			c.bad(at+".table", "is empty: want a table")
		}
		if len(v.Types) != len(v.Columns) {
			c.bad(at+".types", "has %d entries: want %d, one for each of columns", len(v.Types), len(v.Columns))
		}
		for j, col := range v.Types {
			c.typed(fmt.Sprintf("%s.types[%d]", at, j), col.Type)
		}
	}
}

// The method "nesting" checks the data sets of a phase with a transaction for each row of the first
// set. The worker generates such a row and all rows nested in it at once, so their number is
// limited.
func (c *checker) nesting(at string, in *plan.Insert) {
	if len(in.Sets) == 0 || in.Sets[0] != in.Per {
		c.bad(at+".per", "is %q: want the first of sets", in.Per)
		return
	}
	perRow := map[string]int64{in.Per: 1}
	for i, name := range in.Sets[1:] {
		d := c.sets[name]
		n, nested := perRow[d.Parent]
		if !nested {
			c.bad(fmt.Sprintf("%s.sets[%d]", at, i+1), "is %q: want one that is nested in a data set named before it", name)
			return
		}
		if n > 0 && d.Count > plan.MaxAtOnce/n {
			c.bad(fmt.Sprintf("%s.sets[%d]", at, i+1), "is %q with %d rows in one transaction: want at most %d", name, n*d.Count, plan.MaxAtOnce)
			return
		}
		perRow[name] = n * d.Count
	}
}

func (c *checker) query(at string, p *plan.Phase) {
	q := p.Query
	c.call(at, &q.Call, q.ForEach)
	if len(q.Columns) == 0 {
		c.bad(at+".columns", "is empty: want the type of each column")
	}
	if q.ForEach != "" {
		if d := c.set(at+".for_each", q.ForEach); d != nil {
			if d.Total > plan.MaxAtOnce || d.Total == 0 && !p.Untimed {
				c.bad(at+".for_each", "is %q with %d rows: want from 1 to %d", q.ForEach, d.Total, plan.MaxAtOnce)
			}
		}
	}
	c.within(at+".repeat", q.Repeat, 1, plan.MaxCount)
	c.within(at+".clients", int64(q.Clients), 1, plan.MaxClients)
	c.held(at, q.Clients)
	times := int64(max(q.Clients, 1))
	if d := c.sets[q.ForEach]; d != nil {
		times *= max(d.Total, 1)
	}
	if q.Repeat > plan.MaxCount/times {
		c.bad(at+".repeat", "is %d, of %d executions: want at most %d in all", q.Repeat, times, int64(plan.MaxCount))
	}
}

// The method "held" checks that the pool has enough connections for n clients, each of which keeps
// a connection. With too few connections, the phase would wait forever.
func (c *checker) held(at string, n int) {
	if size := c.req.Settings.PoolSize(); n > size {
		c.bad(at+".clients", "is %d, each with its own connection, but settings.pool_size is %d: want at most as many clients", n, size)
	}
}

func (c *checker) call(at string, call *plan.Call, forEach string) {
	if strings.TrimSpace(call.SQL) == "" {
		c.bad(at+".sql", "is empty: want a statement")
	}
	c.within(at+".rows", call.Rows, -1, plan.MaxCount)
	for i, col := range call.Columns {
		c.typed(fmt.Sprintf("%s.columns[%d]", at, i), col.Type)
	}
	for i := range call.Parameters {
		p := &call.Parameters[i]
		at := fmt.Sprintf("%s.parameters[%d]", at, i)
		c.typed(at, p.Type)
		switch {
		case (p.Column == "") == (p.Generator == nil):
			c.bad(at, "has both or none of column and generator: want exactly one")
		case p.Column != "" && forEach == "":
			c.bad(at+".column", "is %q, but there is no for_each, whose rows have this column: use a generator or, in a query, add for_each", p.Column)
		case p.Generator != nil:
			c.generator(at+".generator", p.Generator)
		}
	}
}

func (c *checker) mix(at string, m *plan.Mix) {
	c.within(at+".clients", int64(m.Clients), 1, plan.MaxClients)
	processes, writeMutex := c.req.Settings.Processes(), c.req.Settings["write_mutex"] == "on"
	if n, readers := m.MostShared(processes), c.req.Settings.PoolReaders(); m.OwnConn {
		c.held(at, n)
		if readers > 0 && n > readers {
			c.bad(at+".clients", "is %d, each with its own connection of each pool, but settings.pool_readers is %d: want at most as many clients", n, readers)
		}
	}
	if processes > m.Clients {
		c.bad(at+".clients", "is %d, which %d processes are to share: want at least one for each", m.Clients, processes)
	}
	if processes > 1 && (writeMutex || m.Mutexes()) {
		c.bad(at+".mutex", "is held in one process, and settings.processes is %d: want no mutex", processes)
	}
	c.within(at+".gomaxprocs", int64(m.GOMAXPROCS), 0, plan.MaxClients)
	if r := m.Retry; r != nil {
		c.within(at+".retry.attempts", r.Attempts, 2, plan.MaxWeight)
		c.within(at+".retry.backoff_us", r.BackoffUS, 0, maxBackoff)
	}
	c.extent(at, m.Count, m.DurationMS, m.Rate)
	c.within(at+".patience_ms", m.PatienceMS, 0, plan.MaxCount)
	if n := len(m.Operations); n < 1 || n > maxOperations {
		c.bad(at+".operations", "has %d operations: want from 1 to %d", n, maxOperations)
	}
	for i := range m.Operations {
		o := &m.Operations[i]
		at := fmt.Sprintf("%s.operations[%d]", at, i)
		if o.Name == "" {
			c.bad(at+".name", "is empty: want a name")
		}
		c.within(at+".weight", o.Weight, 1, plan.MaxWeight)
		c.within(at+".timeout_ms", o.TimeoutMS, 0, plan.MaxCount)
		if len(o.Calls) == 0 {
			c.bad(at+".calls", "is empty: want statements")
		}
		if o.Mutex && m.Mutex {
			c.bad(at+".mutex", "would be waited for forever: the mix holds it around each operation")
		}
		for j, code := range o.Results {
			if !driver.MayBeResult(code) {
				c.bad(fmt.Sprintf("%s.results[%d]", at, j), "is %d: want a result code that says something about a statement and its data", code)
			}
		}
		for j := range o.Calls {
			call := &o.Calls[j]
			at := fmt.Sprintf("%s.calls[%d]", at, j)
			c.call(at, &call.Call, "")
			if call.Mutex && (m.Mutex || o.Mutex) {
				c.bad(at+".mutex", "would be waited for forever: it is held around the operation")
			}
			if call.Another && (!o.Transaction || m.OwnConn) {
				c.bad(at+".another", "is set: want it in a transaction of clients that share the pool")
			}
			if call.Mutex && writeMutex && !o.Reads {
				c.bad(at+".mutex", "would be waited for forever: the setting write_mutex holds it around the operation")
			}
			c.ifEmpty(at+".if_empty", call, o.Transaction)
		}
	}
}

func (c *checker) replay(at string, r *plan.Replay) {
	if err := r.Check(); err != nil {
		c.bad(at, ": %v", err)
		return
	}
	c.held(at, r.AtOnce())
}

// ifEmpty checks the field IfEmpty of a call, which says how an operation ends if the statement
// returns no rows.
func (c *checker) ifEmpty(at string, call *plan.MixCall, transaction bool) {
	words := []string{plan.EmptyStop}
	if transaction {
		words = []string{plan.EmptyCommit, plan.EmptyRollback}
	}
	switch {
	case call.IfEmpty == "":
	case !slices.Contains(words, call.IfEmpty):
		c.bad(at, "is %q: want %s", call.IfEmpty, strings.Join(words, " or "))
	case len(call.Columns) == 0:
		c.bad(at, "is for a statement without columns: want one that returns rows")
	}
}

// extent checks the count, the duration and the rate of a phase.
func (c *checker) extent(at string, count, durationMS int64, rate float64) {
	c.within(at+".count", count, 0, plan.MaxCount)
	c.within(at+".duration_ms", durationMS, 0, plan.MaxCount)
	if (count > 0) == (durationMS > 0) {
		c.bad(at, "has both or none of count and duration_ms: want exactly one above 0")
	}
	if rate != 0 && !(rate >= plan.MinRate && rate <= plan.MaxRate) {
		c.bad(at+".rate", "is %v: want operations per second from %v to %v, or 0", rate, plan.MinRate, plan.MaxRate)
	}
}

func (c *checker) http(at string, p *plan.Phase) {
	h := p.HTTP
	if c.req.Type != TypeServe {
		c.bad(at, "needs a load from outside: send the plan in a request of type %s", TypeServe)
	}
	if p.Untimed {
		c.bad(at, "is in an untimed phase: want a timed one")
	}
	c.within(at+".clients", int64(h.Clients), 1, plan.MaxClients)
	c.extent(at, h.Count, h.DurationMS, h.Rate)
	if len(h.Names) != len(h.Columns) {
		c.bad(at+".names", "has %d names for %d columns: want one for each", len(h.Names), len(h.Columns))
	}
	if h.SQL == "" && len(h.Columns) == 0 && len(h.Parameters) == 0 && h.Returns == nil {
		return // without a statement the server answers every request with {}
	}
	c.call(at, &h.Call, "")
	if len(h.Columns) == 0 {
		c.bad(at+".columns", "is empty: want the type of each column")
	}
	for i, t := range h.Columns {
		if t.Type == driver.Blob || t.Type == driver.Real {
			c.bad(fmt.Sprintf("%s.columns[%d]", at, i), "is %s: want int, text, bool or time", t.Type)
		}
	}
	for i, q := range h.Parameters {
		if q.Type == driver.Blob {
			c.bad(fmt.Sprintf("%s.parameters[%d].type", at, i), "is blob: want one that a URL can carry")
		}
	}
}
