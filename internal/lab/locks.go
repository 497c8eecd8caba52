package lab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// LockWays says which ways of sharing a database file are tried in mixes and replays. In other phases, no
// client waits for locks.
type LockWays struct {
	Vary   []Varied // settings to vary in a mix or replay that writes
	Shared bool     // the matrix determines how connections are shared, so other ways of sharing are not tried

	// A mix or replay fails if no client begins or ends an operation for the time Patience plus
	// busy_timeout. A workload's own patience takes precedence.
	Patience time.Duration
}

// Varied is a setting and the values to try.
type Varied struct {
	Name   string
	Values []string
}

// NoMixError says that a workload has neither a mix nor a replay, so nothing in it waits for
// locks.
type NoMixError struct{ Workload string }

func (e *NoMixError) Error() string {
	return "workload " + e.Workload + " has neither a mix nor a replay"
}

// OneClientError says that a workload replays a recording with one client, so nothing in it
// waits for locks.
type OneClientError struct{ Workload, Phase string }

func (e *OneClientError) Error() string {
	return fmt.Sprintf("workload %s: phase %s replays with one client", e.Workload, e.Phase)
}

// LockCases returns a case for each combination of a driver, a way of sharing the database file,
// and values of the varied settings. Cases of the same workload follow each other.
func (m *Matrix) LockCases(ways LockWays) ([]*Case, error) {
	var all []*Case
	for _, w := range m.Workloads {
		one := *m
		one.Workloads, one.Parameters = []*workload.Workload{w}, ownParameters(w, m.Parameters)
		points, err := w.Cases(m.Scale, one.Parameters)
		if err != nil {
			return nil, err
		}
		c, ok := contention(points[0].Plan)
		if !ok {
			return nil, &NoMixError{w.Name}
		}
		if c.alone != "" && c.clients == 1 {
			return nil, &OneClientError{w.Name, c.alone}
		}
		for _, in := range m.inProcesses(points, one.Parameters) {
			one.Parameters = in.parameters
			if _, given := m.Settings["processes"]; given {
				one.Settings = maps.Clone(m.Settings)
				one.Settings["processes"] = []string{strconv.Itoa(in.processes)}
			}
			var grid []*Case
			for _, way := range c.in(in.processes).ways(w.Settings, ways) {
				if m.sharesCache(w) {
					way["cache"] = []string{"shared", "private"} // the private cache shows whether the shared one causes the errors
				}
				cases, err := one.lockCases(way, c, ways)
				if err != nil {
					return nil, err
				}
				grid = append(grid, cases...)
			}
			if grid, err = one.withToday(grid, c, ways); err != nil {
				return nil, err
			}
			for _, c := range grid {
				c.ID = len(all) + 1
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// withToday marks the cases in the parameter "grid" that have the workload's own settings: it sets their
// field Today. If a driver has no such case, withToday adds one at the front. It returns all cases. If the
// user gave a setting exactly one value, this value counts as the workload's own. m must have exactly one
// workload.
func (m *Matrix) withToday(grid []*Case, c contended, ways LockWays) ([]*Case, error) {
	one := *m
	one.Settings = map[string][]string{}
	for name, values := range m.Settings {
		if len(values) == 1 {
			one.Settings[name] = values
		}
	}
	own, err := one.lockCases(nil, c, ways)
	if err != nil {
		return nil, err
	}
	var added []*Case
	for _, today := range own {
		today.Today = true
		if i := slices.IndexFunc(grid, func(c *Case) bool {
			return c.Driver == today.Driver && maps.Equal(c.Parameters, today.Parameters) && maps.Equal(spelledOut(c.Settings), spelledOut(today.Settings))
		}); i >= 0 {
			grid[i].Today = true
			continue
		}
		added = append(added, today)
	}
	return append(added, grid...), nil
}

// spelledOut returns s with the default values of txlock, pool_readers and write_mutex if they are not set.
func spelledOut(s driver.Settings) driver.Settings {
	return driver.Settings{"txlock": "deferred", "pool_readers": "0", "write_mutex": "off"}.With(s)
}

// sharesCache reports whether the workload sets cache=shared although its database is a file, which does not
// need a shared cache. It returns false if the user gave the setting "cache".
func (m *Matrix) sharesCache(w *workload.Workload) bool {
	_, given := m.Settings["cache"]
	memory := w.Settings["mode"] == "memory" || slices.Contains(m.Settings["mode"], "memory")
	return !given && !memory && w.Settings["cache"] == "shared"
}

// lockCases returns the cases for one way of sharing the database file. The matrix has one workload.
func (m *Matrix) lockCases(way map[string][]string, c contended, ways LockWays) ([]*Case, error) {
	serial := c.alone != "" && !ways.Shared && slices.Equal(way["pool_size"], []string{"1"})
	if serial { // here the plan still has all clients, and each needs its own connection; replayAlone, below, leaves only one client
		way["pool_size"] = []string{strconv.Itoa(c.clients)}
	}
	one := *m
	one.Settings = maps.Clone(m.Settings)
	if one.Settings == nil {
		one.Settings = map[string][]string{}
	}
	for name, values := range way {
		one.Settings[name] = nil
		for _, v := range values {
			v, err := driver.ParseSetting(name, v)
			if err != nil {
				return nil, err
			}
			one.Settings[name] = append(one.Settings[name], v)
		}
	}
	cases, err := one.Cases()
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		if serial {
			c.replayAlone()
		}
		c.Beforehand = append(c.Beforehand, notTried(c.Plan)...)
		c.Plan = patient(c.Plan, c.Settings, ways.Patience)
	}
	return cases, nil
}

// inProcesses is a number of processes, and the values of a workload's parameters for which
// it is used.
type inProcesses struct {
	processes  int
	parameters map[string][]int64
}

// inProcesses returns the numbers of processes for the mixes of a workload, each with the values of
// parameters for which it is used. The parameter "points" has the cases of the workload.
func (m *Matrix) inProcesses(points []workload.Case, parameters map[string][]int64) (list []inProcesses) {
	if values, given := m.Settings["processes"]; given {
		for _, v := range values {
			list = append(list, inProcesses{driver.Settings{"processes": v}.Processes(), parameters})
		}
		return list
	}
	for _, at := range points {
		in := inProcesses{at.Settings.Processes(), map[string][]int64{}}
		for name, v := range at.Parameters {
			in.parameters[name] = []int64{v}
		}
		list = append(list, in)
	}
	if !slices.ContainsFunc(list, func(in inProcesses) bool { return in.processes != list[0].processes }) {
		list = []inProcesses{{list[0].processes, parameters}}
	}
	return list
}

// contended has the properties of a plan's mixes and replays that matter for sharing connections.
type contended struct {
	clients               int // largest number of clients in one process
	processes             int
	writes, reads, nested bool
	own, mutex            bool // own: each client keeps its own connection; mutex: the workload itself uses a mutex
	begins                bool // transactions begin with the library's own call, to which txlock applies

	alone string // name of the phase of a replay if the plan has no mix; otherwise ""
}

// contention describes the timed mixes and replays of a plan. ok is false if the plan has neither.
func contention(p *plan.Plan) (c contended, ok bool) {
	mixed := false
	for i := range p.Phases {
		m, r := p.Phases[i].Mix, p.Phases[i].Replay
		if m == nil && r == nil || p.Phases[i].Untimed {
			continue
		}
		ok = true
		if r != nil {
			c.clients, c.own, c.alone = max(c.clients, r.AtOnce()), true, p.Phases[i].Name
			for _, s := range r.Statements {
				c.writes, c.reads = c.writes || s.Do == "" && !s.Reads, c.reads || s.Reads
				c.begins = c.begins || s.Do == plan.ReplayBegin
			}
			continue
		}
		mixed, c.begins = true, true
		c.clients = max(c.clients, m.Clients)
		c.own = c.own || m.OwnConn
		c.mutex = c.mutex || m.Mutex
		for _, o := range m.Operations {
			c.writes, c.reads = c.writes || !o.Reads, c.reads || o.Reads
			c.nested = c.nested || slices.ContainsFunc(o.Calls, func(call plan.MixCall) bool { return call.Another })
		}
	}
	c.mutex = c.mutex || lockedItself(p) != ""
	if mixed {
		c.alone = ""
	}
	return c, ok
}

// c.in(processes) returns c with the clients distributed over several processes.
func (c contended) in(processes int) contended {
	c.clients = (c.clients + processes - 1) / processes
	c.processes = processes
	return c
}

// ways returns the settings for each way of sharing connections. It does not vary txlock and busy_timeout for
// one connection in one process, because no client waits for a lock there.
func (c contended) ways(own driver.Settings, ways LockWays) []map[string][]string {
	way := func(settings driver.Settings, all bool) map[string][]string {
		m := map[string][]string{}
		if c.writes {
			for _, v := range ways.Vary {
				if v.Name == "txlock" && !c.begins {
					continue
				}
				m[v.Name] = v.Values
				if !all && (v.Name == "txlock" || v.Name == "busy_timeout") {
					m[v.Name] = v.Values[len(v.Values)-1:]
				}
			}
		}
		for name, v := range settings {
			m[name] = []string{v}
		}
		return m
	}
	if ways.Shared {
		return []map[string][]string{way(nil, true)}
	}
	clients := strconv.Itoa(c.clients)
	pool := driver.Settings{"pool_size": clients}
	for name, none := range map[string]string{"pool_readers": "0", "write_mutex": "off"} {
		if _, set := own[name]; set {
			pool[name] = none
		}
	}
	list := []map[string][]string{way(pool, true)}
	if c.alone != "" {
		return append(list, way(pool.With(driver.Settings{"pool_size": "1"}), false))
	}
	if c.writes && c.reads && c.clients > 1 {
		writers := "1"
		if c.own {
			writers = clients
		}
		list = append(list, way(pool.With(driver.Settings{"pool_size": writers, "pool_readers": clients}), true))
	}
	if c.writes && !c.mutex && c.processes == 1 {
		list = append(list, way(pool.With(driver.Settings{"write_mutex": "on"}), true))
	}
	if !c.own && c.clients > 1 {
		list = append(list, way(pool.With(driver.Settings{"pool_size": "1"}), c.processes > 1))
	}
	if c.nested {
		list = append(list, way(pool.With(driver.Settings{"pool_size": fmt.Sprint(2 * c.clients)}), true))
	}
	return list
}

// replayAlone makes each replay of the case use one client, which runs one transaction after
// another on one connection.
func (c *Case) replayAlone() {
	c.Plan = withPhases(c.Plan, func(p *plan.Phase) {
		if p.Replay != nil {
			one := *p.Replay
			one.Clients = 1
			p.Replay = &one
		}
	})
	c.Settings = c.Settings.With(driver.Settings{"pool_size": "1"})
	c.InForce = inForce(c.Settings, c.Plan)
}

// notTried returns, for each replay, a warning that says which ways of sharing the database file are not tried,
// and why not.
func notTried(p *plan.Plan) (list []result.Warning) {
	for i := range p.Phases {
		r := p.Phases[i].Replay
		if r == nil {
			continue
		}
		why := "pool_readers and write_mutex are not tried: each client of a replay reads and writes on one connection, and the recording does not show where the application would hold a mutex; to try them, describe the work as a mix"
		if !slices.ContainsFunc(r.Statements, func(s plan.Replayed) bool { return s.Do == plan.ReplayBegin }) {
			why += ". txlock is not tried: no transaction of the recording begins by a call of its library; to try it, replace BEGIN in the recording by BEGIN IMMEDIATE"
		}
		if r.Speed > 0 {
			why += ". With speed set, the recording determines the number of operations per second: compare latencies, or leave speed out"
		}
		list = append(list, result.Warning{Code: result.WarningIdle, Phase: p.Phases[i].Name, Message: why})
	}
	return list
}

// patient returns a copy of the plan in which mixes and replays fail if no operation begins or ends for some
// time: the parameter "patience" plus the setting busy_timeout.
func patient(p *plan.Plan, s driver.Settings, patience time.Duration) *plan.Plan {
	timeout, _ := strconv.ParseInt(s["busy_timeout"], 10, 64) // 0 if busy_timeout is not set
	return withPhases(p, func(ph *plan.Phase) {
		if ph.Mix != nil && ph.Mix.PatienceMS == 0 {
			mix := *ph.Mix
			mix.PatienceMS = patience.Milliseconds() + timeout
			ph.Mix = &mix
		}
		if ph.Replay != nil && ph.Replay.PatienceMS == 0 {
			replay := *ph.Replay
			replay.PatienceMS = patience.Milliseconds() + timeout
			ph.Replay = &replay
		}
	})
}
