package imitate

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/sqltext"
)

// check is a CHECK constraint of a table in the workload.
type check struct {
	table     *table
	number    int    // number of the constraint in its table, from 0
	text      string // the constraint as SQL, with its name
	condition string
	from, to  int // range of the tokens of the constraint and of the comma before it
}

// checks returns the CHECK constraints of a CREATE TABLE statement, given its tokens.
func (t *table) checks(list []token) []check {
	var found []check
	for i := 0; i < len(list); i++ {
		if !list[i].Is("CHECK") {
			continue
		}
		begin, from := beginning(list, i)
		open := following(list, i)
		if i = closing(list, open); i == len(list) {
			break
		}
		found = append(found, check{t, len(found), join(list[begin : i+1]), join(list[open : i+1]), from, i + 1})
	}
	return found
}

// withoutViolated returns a CREATE TABLE statement without the CHECK constraints that generated
// rows violate, and notes these constraints. It also returns the remaining constraints.
func (b *builder) withoutViolated(t *table, text string) (string, []check) {
	list := sqltext.All(text)
	all := t.checks(list)
	var stay []check
	for _, c := range slices.Backward(all) {
		why, violated := t.violated[c.number]
		if !violated {
			stay = append(stay, c)
			continue
		}
		b.note("table %s: %s is left out, because %s", t.name, strings.Join(strings.Fields(c.text), " "), why)
		list = slices.Replace(list, c.from, c.to, token{Kind: sqltext.Space, Text: " "})
	}
	return join(list), stay
}

// violate notes why the workload cannot have a constraint.
func (c *check) violate(why string) {
	c.table.violated[c.number] = why
}

// violations notes the CHECK constraints that rows of db violate, or whose evaluation fails. db must not
// enforce CHECK constraints. The result "found" is true if any of these constraints was not known before.
func (b *builder) violations(ctx context.Context, db *sql.DB) (found bool, err error) {
	for _, c := range b.checks {
		if c.table.violated[c.number] != "" {
			continue
		}
		var violated bool
		err := within(ctx, time.Now(), c.table.rows, func(ctx context.Context) error {
			return db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+driver.Quote(c.table.name)+" WHERE NOT "+c.condition+")").Scan(&violated)
		})
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil:
			c.violate("generated rows make it fail: " + err.Error())
		case violated:
			c.violate("generated rows violate it")
		}
		found = found || c.table.violated[c.number] != ""
	}
	return found, nil
}

// Limits on the rows that are generated, for each data set, to test CHECK constraints. The rows
// come from several seeds, because each trial of a run has another seed.
const (
	tried     = 10_000 // greatest number of rows in all
	triedOnce = 2000   // greatest number of rows that are generated with one seed
	triedMost = 100    // greatest number of seeds
)

// tryChecks finds the CHECK constraints that some generated rows violate, and writes the workload
// without them.
func (w *Workload) tryChecks(ctx context.Context) error {
	b := w.builder
	if len(b.checks) == 0 {
		return nil
	}
	resolved, err := w.planned(workload.Full)
	if err != nil {
		return err
	}
	db, err := openMemory()
	if err != nil {
		return err
	}
	defer db.Close()
	for _, script := range []string{unchecked, resolved.Schema} {
		if _, err := db.ExecContext(ctx, script); err != nil {
			return err
		}
	}
	changed := false
	for seed := uint64(1); seed <= triedMost; seed++ {
		l, err := newLoader(db, resolved, seed, func(string) {})
		if err != nil {
			return err
		}
		left := false
		for i := range resolved.DataSets {
			d := &resolved.DataSets[i]
			n := min(d.Total, triedOnce)
			if int64(seed-1)*n >= tried || !slices.ContainsFunc(b.checks, func(c check) bool { return c.table.name == d.Table }) {
				continue
			}
			left = true
			lo := int64(0)
			if seed%2 == 0 {
				lo = d.Total - n
			}
			if err := l.rows(ctx, db, d, lo, lo+n); err != nil {
				return err
			}
			found, err := b.violations(ctx, db)
			if err != nil {
				return err
			}
			changed = changed || found
			if _, err := db.ExecContext(ctx, "DELETE FROM "+driver.Quote(d.Table)); err != nil {
				return err
			}
		}
		if !left {
			break
		}
	}
	return w.writeAgain(ctx, changed, nil)
}

// Statements that turn the enforcement of CHECK constraints on a connection off or on.
const (
	unchecked = "PRAGMA ignore_check_constraints = on"
	enforced  = "PRAGMA ignore_check_constraints = off"
)
