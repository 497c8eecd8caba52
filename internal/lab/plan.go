// Package lab carries out a run, which consists of many trials. It plans the cases (each is a driver with
// settings and a workload), builds their workers, and runs the cases round by round in shuffled order. Each
// trial has its own process and its own database, and only one trial works at a time. The run stops when the
// confidence intervals are narrow enough or the time is up. Package lab itself times nothing and computes no
// statistics.
package lab

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Case is a case of a run (a driver with settings and a workload), with everything that is needed to run its
// trials.
type Case struct {
	result.Case
	Ref         build.Ref
	Source      *workload.Workload // workload from which Plan was made
	Plan        *plan.Plan
	Expect      map[string]Expectation // what each phase must do and return, by name of the phase
	Unavailable *protocol.Reason       // why the worker is missing or cannot run the case; nil if it can run the case
	Beforehand  []result.Warning       // warnings that are known before the first trial
	Once        bool                   // one trial is enough, whatever the schedule says

	// Given has the settings that were requested by the user, not by the workload.
	Given driver.Settings

	bench *protocol.Bench // job to run after the plan; nil: none
}

// Matrix has the measurements that a user wants: every workload with every combination of its
// parameters and of settings, on every driver.
type Matrix struct {
	Drivers    []build.Ref
	Workloads  []*workload.Workload
	Scale      string
	Parameters map[string][]int64
	Settings   map[string][]string // values to try by name of the setting, in canonical form
	Seed       uint64

	// Sides is set if the drivers are the sides of a comparison. Each driver is then measured as the same
	// variant for all workloads. This variant has the features that any of the workloads needs.
	Sides bool

	// Computing, if not nil, is called while package lab hashes the rows that a workload must return or leave in
	// the database. In the first call, the argument "done" is 0.
	Computing func(workload string, done, total int64)
}

// point is a workload at one combination of its parameters, with its cases. The expected results of the cases
// are not computed yet.
type point struct {
	workload string
	plan     *plan.Plan
	back     *readable
	cases    []*Case
}

// Cases returns the cases of the matrix, with the results that their phases must have. It also checks the
// workloads' SQL. Cases that differ only in the driver follow one another, because they are compared.
func (m *Matrix) Cases() ([]*Case, error) {
	var cases []*Case
	var todo []point
	used := map[string]bool{}
	for _, w := range m.Workloads {
		hash := w.SHA256()
		own := ownParameters(w, m.Parameters)
		for name := range own {
			used[name] = true
		}
		points, err := w.Cases(m.Scale, own)
		if problems, ok := errors.AsType[workload.Problems](err); ok && len(own) > 0 { // the file has no problems with the default parameters, so the given parameters cause them
			return nil, fmt.Errorf("workload %s with the parameters given: %w", w.Name, problems[:1])
		}
		if err != nil {
			return nil, err
		}
		for _, at := range points {
			resolved := at.Plan
			if w.Database != "" && w.Snapshot() == nil {
				return nil, fmt.Errorf("workload %s begins with the database %s, which only a workload file that is named on the command line can do", w.Name, w.Database)
			}
			back := &readable{map[string][]plan.Stored{}, map[string]string{}}
			look := func(ctx context.Context, db *sql.Conn, p *plan.Phase) error { return back.look(ctx, db, resolved, p) }
			if err := checkSQL(w, resolved, look); err != nil {
				return nil, err
			}
			if why := nothingToTime(resolved); why != "" {
				return nil, fmt.Errorf("workload %s at scale %s with %s: %s: want more", w.Name, m.Scale, assignments(at.Parameters), why)
			}
			first := len(cases)
			planned := map[string]bool{} // names of drivers, each followed by the settings that apply to it
			for _, set := range combinations(m.Settings) {
				if _, err := w.Decided(at.Settings.With(set)); err != nil {
					return nil, fmt.Errorf("workload %s: setting %w", w.Name, err)
				}
				for _, d := range m.drivers(w) {
					ref := d.ref
					has := m.has(ref, set)
					key := fmt.Sprint(ref.Name, " ", has)
					if planned[key] {
						continue // another case of the driver differs from this one only in settings that do not apply to the driver
					}
					planned[key] = true
					c, err := m.caseOf(w, d, set, has, at, back)
					if err != nil {
						return nil, fmt.Errorf("workload %s: %w", w.Name, err)
					}
					c.ID, c.WorkloadSHA256 = len(cases)+1, hash
					cases = append(cases, c)
				}
			}
			todo = append(todo, point{w.Name, resolved, back, cases[first:]})
		}
	}
	for name := range m.Parameters {
		if !used[name] {
			return nil, fmt.Errorf("no chosen workload has the parameter %q: %s", name, parameterHint(name, m.Workloads))
		}
	}
	return cases, m.expect(todo)
}

// ownParameters returns the given parameters without the ones that the workload does not have.
func ownParameters(w *workload.Workload, given map[string][]int64) map[string][]int64 {
	own := map[string][]int64{}
	for _, p := range w.Parameters {
		if values, ok := given[p.Name]; ok {
			own[p.Name] = values
		}
	}
	return own
}

// caseOf returns the case for a driver, settings, and a workload at some values of its parameters. The
// parameter "set" has the settings that the user gave. The parameter "has" is a part of "set": the settings
// that apply to the driver.
func (m *Matrix) caseOf(w *workload.Workload, d chosen, set, has driver.Settings, at workload.Case, back *readable) (*Case, error) {
	resolved := at.Plan
	c := &Case{Ref: d.ref, Source: w, Plan: begun(w, resolved), Beforehand: slices.Concat(back.doubts(resolved), leftOut(w), idle(set, resolved))}
	c.Workload, c.Scale, c.Parameters = w.Name, m.Scale, at.Parameters
	c.Needed = d.needed
	c.Settings, c.Given = at.Settings.With(set), set
	c.setDriver()
	c.Beforehand = append(c.Beforehand, c.leftOut(m.several(set, has))...)
	for _, p := range resolved.Phases {
		if !p.Untimed {
			c.Phases = append(c.Phases, p.Name)
		}
	}
	c.Expects = at.Expects
	if err := poolSize(c.Settings, resolved); err != nil {
		return nil, err
	}
	c.InForce = inForce(c.Settings, resolved)
	return c, everInForce(c, set)
}

// leftOut returns a warning for each reason why events of a recording are not replayed.
func leftOut(w *workload.Workload) []result.Warning {
	var list []result.Warning
	for _, p := range w.Phases {
		for _, why := range p.LeftOut {
			list = append(list, result.Warning{Code: result.WarningLeftOut, Phase: p.Name, Message: why})
		}
	}
	return list
}

// setDriver sets the fields of the case that describe its driver.
func (c *Case) setDriver() {
	c.Driver, c.Options = c.Ref.Name, c.Ref.Options
	if c.Ref.Known != nil {
		c.Info = c.Ref.Known.Info
		c.Added = added(c.Ref.Known.AddedCost, c.Plan)
	}
}

// With returns a copy of the case for another driver. The copy has no worker yet.
func (c *Case) With(ref build.Ref) *Case {
	next := *c
	next.Ref, next.Needed, next.Unavailable = ref, nil, nil
	next.Info, next.Added = driver.Info{}, nil
	next.setDriver()
	return &next
}

// WithSettings returns a copy of the case with some settings changed. The copy has no worker yet. It returns
// an error if the workload cannot run with these settings, or if one of them would not be in force in any
// timed phase.
func (c *Case) WithSettings(set driver.Settings) (*Case, error) {
	next := *c
	next.Settings, next.Given = c.Settings.With(set), c.Given.With(set)
	if c.Source != nil {
		if _, err := c.Source.Decided(set); err != nil {
			return nil, fmt.Errorf("setting %w", err)
		}
	}
	if err := poolSize(next.Settings, c.Plan); err != nil {
		return nil, err
	}
	next.Beforehand = slices.Concat(c.Beforehand, idle(set, c.Plan))
	next.InForce = inForce(next.Settings, c.Plan)
	if err := everInForce(&next, set); err != nil {
		return nil, err
	}
	return &next, nil
}

// needs returns the features that drivers must have for the workload w, or for all workloads if m.Sides is
// set.
func (m *Matrix) needs(w *workload.Workload) []string {
	if !m.Sides {
		return w.Needs
	}
	var all []string
	for _, w := range m.Workloads {
		all = append(all, w.Needs...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// chosen is a driver, or the driver's variant, that measures a workload.
type chosen struct {
	ref    build.Ref
	needed []string // features for which the variant was chosen
}

// drivers returns the drivers and variants that measure a workload, each once.
func (m *Matrix) drivers(w *workload.Workload) []chosen {
	var list []chosen
	for _, ref := range m.Drivers {
		ref, needed := ref.For(m.needs(w))
		d := distinct.Find(&list, chosen{ref, needed}, func(c chosen) bool { return c.ref.Name == ref.Name })
		if needed != nil {
			d.needed = needed
		}
	}
	return list
}

// m.has(ref, set) returns the settings in "set" that apply to the driver. If no driver is a cluster, it returns
// "set" unchanged, so that every combination of settings that the user asked for becomes a case.
func (m *Matrix) has(ref build.Ref, set driver.Settings) driver.Settings {
	cluster := func(r build.Ref) bool { return r.Kind() == driver.Cluster }
	if ref.Kind() == "" || !slices.ContainsFunc(m.Drivers, cluster) {
		return set
	}
	return result.OwnSettings(ref.Kind(), set)
}

// several reports whether the matrix has several values for a setting that is in the parameter "set" but not
// in the parameter "has".
func (m *Matrix) several(set, has driver.Settings) bool {
	for name := range set {
		if _, ok := has[name]; !ok && len(m.Settings[name]) > 1 {
			return true
		}
	}
	return false
}

// Side returns the driver, or its variant, that is measured as a side of a comparison.
func (m *Matrix) Side(ref build.Ref) build.Ref {
	ref, _ = ref.For(m.needs(nil))
	return ref
}

// Texts returns the workloads of the cases, each once, in the order of the cases.
func Texts(cases []*Case) []result.Workload {
	var list []result.Workload
	for _, c := range cases {
		if c.Source == nil || slices.ContainsFunc(list, func(w result.Workload) bool { return w.Name == c.Workload && w.SHA256 == c.WorkloadSHA256 }) {
			continue
		}
		list = append(list, result.Workload{Name: c.Workload, Text: string(c.Source.Source()), Includes: c.Source.Includes(), SHA256: c.WorkloadSHA256})
	}
	return list
}

// nothingToTime says why a plan would measure nothing. It returns "" if it would measure
// something.
func nothingToTime(p *plan.Plan) string {
	if len(p.DataSets) > 0 && !slices.ContainsFunc(p.DataSets, func(d plan.DataSet) bool { return d.Total > 0 }) {
		return "no table has a row"
	}
	for i := range p.Phases {
		ph := &p.Phases[i]
		if ph.Untimed {
			continue
		}
		if in := ph.Insert; in != nil && !slices.ContainsFunc(in.Sets, func(name string) bool { return p.DataSet(name).Total > 0 }) {
			return fmt.Sprintf("the phase %s would insert no row", ph.Name)
		}
		if q := ph.Query; q != nil && q.ForEach != "" && p.DataSet(q.ForEach).Total == 0 {
			return fmt.Sprintf("the phase %s would run for each row of %s, which has none", ph.Name, q.ForEach)
		}
	}
	return ""
}

// assignments formats parameters as name=value, separated by spaces.
func assignments(parameters map[string]int64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		list = append(list, fmt.Sprintf("%s=%d", name, parameters[name]))
	}
	return strings.Join(list, " ")
}

func parameterHint(name string, workloads []*workload.Workload) string {
	var names, words []string
	for _, w := range workloads {
		var own []string
		for _, p := range w.Parameters {
			own = append(own, p.Name)
		}
		names = append(names, own...)
		if len(own) > 0 {
			words = append(words, w.Name+" has "+strings.Join(own, ", "))
		}
	}
	return cmp.Or(driver.DidYouMean(name, names), strings.Join(words, "; "), "they have none")
}

// poolSize sets pool_size to the largest number of clients in the plan, unless it is set already. It returns an
// error if the settings do not suit the plan. For example, if each client keeps a connection, and the pool has
// too few, a client could wait forever.
func poolSize(s driver.Settings, p *plan.Plan) error {
	if err := severalProcesses(s, p); err != nil {
		return err
	}
	if s["cold_caches"] == "on" && s["mode"] == "memory" {
		return errors.New("setting cold_caches=on: a database in memory has no files whose caches could be dropped: leave one of them out")
	}
	atOnce, kept, keptInMix := 1, 1, 0 // atOnce: connections used at the same time; kept: connections that each belong to one client; keptInMix: kept, but only in mixes
	for i := range p.Phases {
		if q := p.Phases[i].Query; q != nil {
			atOnce, kept = max(atOnce, q.Clients), max(kept, q.Clients)
		}
		if m := p.Phases[i].Mix; m != nil {
			share := m.MostShared(s.Processes())
			atOnce = max(atOnce, share)
			if m.OwnConn {
				kept, keptInMix = max(kept, share), max(keptInMix, share)
			}
		}
		if h := p.Phases[i].HTTP; h != nil {
			atOnce = max(atOnce, h.Clients)
		}
		if r := p.Phases[i].Replay; r != nil {
			atOnce, kept = max(atOnce, r.AtOnce()), max(kept, r.AtOnce())
		}
	}
	switch given, ok := s["pool_size"]; {
	case !ok:
		s["pool_size"] = fmt.Sprint(atOnce)
	case s.PoolSize() < kept:
		return fmt.Errorf("setting pool_size=%s: its %d clients keep a connection each: want at least %d, or leave it out", given, kept, kept)
	}
	if n := s.PoolReaders(); n > 0 {
		switch {
		case s["mode"] == "memory":
			return fmt.Errorf("setting pool_readers=%d: each pool would have its own database in memory: leave it out", n)
		case s["locking_mode"] == "exclusive":
			return fmt.Errorf("setting pool_readers=%d: with locking_mode=exclusive one pool locks out the other: leave one of them out", n)
		case n < keptInMix:
			return fmt.Errorf("setting pool_readers=%d: %d clients of a mix keep a connection of each pool: want at least %[2]d, or leave it out", n, keptInMix)
		}
	}
	if s["write_mutex"] == "on" {
		if name := lockedItself(p); name != "" {
			return fmt.Errorf("setting write_mutex=on: phase %s already has its own mutex, so it would wait forever: leave one of them out", name)
		}
	}
	return nil
}

// lockedItself returns the name of a phase whose mix holds a mutex around a statement that writes, or "" if
// there is no such phase.
func lockedItself(p *plan.Plan) string {
	for i := range p.Phases {
		if m := p.Phases[i].Mix; m != nil && slices.ContainsFunc(m.Operations, func(o plan.Operation) bool {
			return !o.Reads && slices.ContainsFunc(o.Calls, func(c plan.MixCall) bool { return c.Mutex })
		}) {
			return p.Phases[i].Name
		}
	}
	return ""
}

// combinations returns every combination of one value per setting.
func combinations(settings map[string][]string) []driver.Settings {
	list := []driver.Settings{{}}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		var next []driver.Settings
		for _, s := range list {
			for _, v := range settings[name] {
				next = append(next, s.With(driver.Settings{name: v}))
			}
		}
		list = next
	}
	return list
}
