package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// maxLoaded is a limit for the bytes of generated values in a database that is loaded once
// for all trials of a case. Larger databases are loaded in each trial, because the loaded
// file of a case takes space until the run ends.
const maxLoaded = 128 << 20

// loaded is the database with which the trials of a case begin. It was created by the case's worker in an
// earlier process, or is a copy of the user's database.
type loaded struct {
	phases int    // number of the plan's first phases that are already done; 0: each trial fills its own database
	path   string // path of the database file; "" for a user's database
	user   *snapshot.Snapshot
	sum    string // SHA-256 of the database file
	sync   bool   // whether a copy must be written to disk before a trial begins
	tables []Table
}

var (
	// filling matches statements whose effects are stored in the database file.
	filling = regexp.MustCompile(`(?is)^(create|insert|replace|update|delete|with\b.*\b(insert|replace|update|delete)|drop|alter|analyze|reindex|vacuum|begin|commit|end)\b`)

	// passing matches statements that also have an effect outside the database file. A copy of the file lacks
	// this effect.
	passing = regexp.MustCompile(`(?is)^create\s+temp|^vacuum\b.*\binto\b|\btemp\s*\.|\bsqlite_temp_`)

	// remembering matches statements whose results depend on earlier statements of the same connection.
	// After a database was copied, they give other results.
	remembering = regexp.MustCompile(`(?is)\b(total_changes|changes|last_insert_rowid)\s*\(|\bpragma\s+(\w+\s*\.\s*)?(optimize|data_version)\b`)

	// creating matches statements of a script that change no rows.
	creating = regexp.MustCompile(`(?is)^(create|begin|commit|end)\b`)

	readsOnly = regexp.MustCompile(`(?i)^\s*(select|values|explain)\b`)
)

// fills reports whether all effects of a script are in the database file afterwards. It returns false if the
// script leaves a transaction open.
func fills(script string) bool {
	open := 0
	for statement := range driver.Statements(script) {
		if !filling.MatchString(statement) || passing.MatchString(statement) {
			return false
		}
		switch word := strings.ToLower(strings.TrimRight(strings.Fields(statement)[0], ";")); word {
		case "begin":
			open++
		case "commit", "end":
			open--
		}
	}
	return open == 0
}

// loading returns how many of a case's first phases only fill its database, and so need to
// run only once. It depends on the plan and the settings but not on the driver, so that all
// drivers are measured in the same way.
func loading(c *Case) int {
	if c.snapshot() != nil {
		return 1
	}
	p := c.Plan
	if c.Settings["mode"] == "memory" || // there is no file to copy
		c.Settings["journal_mode"] == "persist" || // a copy would lack the journal, whose space later transactions reuse
		!fills(p.Schema) || len(p.Changes) > 0 {
		return 0
	}
	n := 0
	for n < len(p.Phases) {
		ph := &p.Phases[n]
		if !ph.Untimed || len(ph.Changes) > 0 || ph.Insert == nil && (ph.Script == "" || !fills(ph.Script)) {
			break
		}
		n++
	}
	for i := range p.Phases[n:] {
		if slices.ContainsFunc(p.Phases[n+i].SQL(), remembering.MatchString) {
			return 0
		}
	}
	if n > 0 && loadedBytes(p, n) > maxLoaded {
		return 0
	}
	return n
}

// loadedBytes estimates how many bytes the values inserted by the first n phases take in memory.
func loadedBytes(p *plan.Plan, n int) int64 {
	gen, err := plan.NewGenerator(0, p)
	if err != nil {
		return 0 // the worker will refuse the plan
	}
	bytes := int64(0)
	for i := range p.Phases[:n] {
		if in := p.Phases[i].Insert; in != nil {
			for _, name := range in.Sets {
				bytes += p.DataSet(name).Total * (chunkBytes / gen.RowsFitting(name))
			}
		}
	}
	return bytes
}

// writes reports whether a phase may write to the database.
func writes(p *plan.Phase) bool {
	return p.Insert != nil || slices.ContainsFunc(p.SQL(), func(sql string) bool { return sql != "" && !readsOnly.MatchString(sql) })
}

// loadedTables returns the tables into which the first n phases insert, with the number of rows that each
// table then has. The number is -1 if the schema or a script may have changed it.
func loadedTables(c *Case, n int) []Table {
	changesRows := func(statement string) bool { return !creating.MatchString(statement) }
	known := !slices.ContainsFunc(slices.Collect(driver.Statements(c.Plan.Schema)), changesRows)
	var list []Table
	for i := range c.Plan.Phases[:n] {
		ph := &c.Plan.Phases[i]
		known = known && ph.Script == ""
		for _, t := range c.Expect[ph.Name].Tables {
			in := distinct.Find(&list, Table{Stored: plan.Stored{Table: t.Table}}, func(l Table) bool { return l.Table == t.Table })
			in.Rows += t.Rows
		}
	}
	for i := range list {
		if !known {
			list[i].Rows = -1
		}
	}
	return list
}

// loaded returns the database with which the case's trials begin. If the database must be created for the
// case, the first call runs a process that creates it. If that process fails, loaded returns a failed trial,
// which counts as the case's trial.
func (p *Processes) loaded(ctx context.Context, c *Case, seed uint64) (*loaded, *result.Trial, error) {
	if l := p.begins[c]; l != nil {
		return l, nil, nil
	}
	l := &loaded{phases: loading(c)}
	if l.user = c.snapshot(); l.user != nil {
		l.sum, l.sync = l.user.SHA256, l.written(c)
	} else if l.phases > 0 {
		if t, err := p.load(ctx, c, seed, l); t != nil || err != nil {
			return nil, t, err
		}
	}
	p.begins[c] = l
	return l, nil, nil
}

// forget deletes the database that was loaded for the case.
func (p *Processes) forget(c *Case) {
	if l := p.begins[c]; l != nil && l.path != "" {
		os.RemoveAll(filepath.Dir(l.path))
	}
	delete(p.begins, c)
}

// load makes the case's worker fill the database l. If this fails, load returns a trial with the reason.
// Otherwise it returns a nil trial.
func (p *Processes) load(ctx context.Context, c *Case, seed uint64, l *loaded) (_ *result.Trial, err error) {
	dir, err := p.directory("load-")
	if err != nil {
		return nil, err
	}
	t := &result.Trial{Case: c.ID, Started: time.Now().UTC(), Status: result.OK}
	defer func() {
		if t.Status != result.OK || err != nil {
			os.RemoveAll(dir)
		}
	}()
	begin := time.Now()
	first, want := *c.Plan, *c.planned()
	first.Phases = c.Plan.Phases[:l.phases]
	want.Plan, want.Phases = &first, nil
	s := &session{limit: p.Limit, hint: p.Hint, trial: t, want: &want, seed: seed, hashed: true, untold: true, loads: true, tables: loadedTables(c, l.phases)}
	path := filepath.Join(dir, "test.db")
	s.run(ctx, dir, protocol.Request{
		Type: requestType(c.Plan), Protocol: protocol.Version, Seed: seed, Path: path, Settings: c.asked(), Plan: asking(c.Plan, c.Expect, true),
		Load: l.phases, Environment: c.Ref.Variables(),
	})
	s.header(path)
	nameColumn(t.Reason, c)
	p.makeRoom(t.Reason)
	if l.sum = s.whole(path); t.Status != result.OK || ctx.Err() != nil {
		t.TookNS = int64(time.Since(begin))
		return t, ctx.Err()
	}
	l.path, l.tables, l.sync = path, s.tables, l.written(c)
	return nil, nil
}

// written reports whether some phase after the first l.phases phases may write to the database.
func (l *loaded) written(c *Case) bool {
	return slices.ContainsFunc(c.Plan.Phases[l.phases:], func(ph plan.Phase) bool { return writes(&ph) })
}

// whole returns the SHA-256 of the database file that the worker has loaded. It fails the
// trial if part of the database is in other files.
func (s *session) whole(path string) string {
	if s.trial.Status != result.OK {
		return ""
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if fi, err := os.Stat(path + suffix); err == nil && fi.Size() > 0 {
			s.fail(result.Failed, protocol.CodeProtocol, "the worker has loaded the database and left %d bytes in %s: want all of it in the one file", fi.Size(), filepath.Base(path+suffix))
			return ""
		}
	}
	sum, err := build.SHA256Of(path)
	if err != nil {
		s.fail(result.Failed, protocol.CodeDatabase, "the database that the worker has loaded: %v", err)
	}
	return sum
}

// copy copies the database to path, for one trial. It does nothing if the trial fills its own
// database. It returns an error if the database has changed since it was loaded.
func (l *loaded) copy(ctx context.Context, path string) error {
	if l.phases == 0 {
		return nil
	}
	if l.user != nil {
		// If the trial writes, the copy must not share blocks with the original, because the first
		// write to a shared block takes longer.
		return l.user.Copy(ctx, path, !l.sync, l.sync)
	}
	from, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer from.Close()
	sum, err := snapshot.Write(ctx, from, path, l.sync) // without sync, the trial's first fsync would have to write the whole file
	if err == nil && sum != l.sum {
		err = fmt.Errorf("%s has changed: its SHA-256 is %s, and was %s when it was made", l.path, short(sum), short(l.sum))
	}
	return err
}

// loaded checks the worker's answer of type "loaded", which has the number of rows in each table of the
// database that was loaded.
func (s *session) loaded(a *protocol.Response) error {
	switch {
	case !s.untold:
		return s.broken("the worker answered %q: it was not asked for, or has been answered", a.Type)
	case s.next < len(s.want.Plan.Phases) && s.loads:
		return s.broken("the worker answered %q after %d of %d phases", a.Type, s.next, len(s.want.Plan.Phases))
	}
	s.untold = false
	c := &check{of: "the loaded database"}
	if len(a.Tables) != len(s.tables) {
		c.protocol("tables", "has %d entries: want %d, the tables of verify", len(a.Tables), len(s.tables))
		return s.judge(nil, c.faults)
	}
	for i, got := range a.Tables {
		want, at := &s.tables[i], fmt.Sprintf("tables[%d]", i)
		c.natural(at+".rows", got.Rows)
		switch {
		case got.Table != want.Table:
			c.protocol(at+".table", "is %.80q: want %q, in the order of verify", got.Table, want.Table)
		case want.Rows >= 0 && got.Rows != want.Rows:
			c.fault(protocol.CodeRows, at+".rows", "is %d: expected %d in %s", got.Rows, want.Rows, want.Table)
		}
		want.Rows = got.Rows
	}
	return s.judge(nil, c.faults)
}
