package imitate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// triedRows is the number of rows that are inserted to try the triggers of an insert phase.
const triedRows = 200

// triggers notes in b the triggers that fail for generated rows, for example because they accept only
// values that the application writes. The result "found" is true if there are such triggers. The
// loader's database must already contain the imitated tables. triggers leaves the database unchanged.
func (l *loader) triggers(ctx context.Context, b *builder) (found bool, err error) {
	for _, d := range l.timedInserts() {
		own := b.triggersOf(d.Table)
		if len(own) == 0 {
			continue
		}
		l.tell("trying the triggers of " + d.Table)
		together := l.without(ctx, d, nil)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if together == nil || l.without(ctx, d, own) != nil { // the rows can be inserted with the triggers, or cannot be inserted even without them
			continue
		}
		found = true
		failing := len(b.failing)
		for i := range own {
			others := slices.Delete(slices.Clone(own), i, i+1)
			if err := l.without(ctx, d, others); err != nil {
				b.fails(own[i], err)
			}
		}
		if len(b.failing) == failing { // no trigger fails by itself, so several triggers together must cause the failure
			for _, o := range own {
				b.fails(o, together)
			}
		}
	}
	return found, ctx.Err()
}

// The method "without" drops the given triggers and inserts rows of a data set. Then it rolls all changes
// back. It returns the error of inserting the rows.
func (l *loader) without(ctx context.Context, d *plan.DataSet, triggers []object) error {
	return l.undone(ctx, triggers, func(tx *sql.Tx) error { return l.rows(ctx, tx, d, 0, min(triedRows, d.Total)) })
}

// undone drops triggers, calls the function "work", and rolls everything back. It returns the error
// of "work".
func (l *loader) undone(ctx context.Context, triggers []object, work func(*sql.Tx) error) (err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if back := tx.Rollback(); err == nil && !errors.Is(back, sql.ErrTxDone) { // after a failure, RAISE(ROLLBACK) or an interruption may have rolled back already
			err = back
		}
	}()
	for _, o := range triggers {
		if _, err := tx.ExecContext(ctx, "DROP TRIGGER IF EXISTS "+driver.Quote(o.name)); err != nil {
			return err
		}
	}
	return work(tx)
}

// triggersOf returns those triggers of a table that are created by the workload's script.
func (b *builder) triggersOf(table string) (list []object) {
	for _, o := range b.schema.objects {
		if o.kind == "trigger" && strings.EqualFold(o.table, table) && b.scripted[o.name] {
			list = append(list, o)
		}
	}
	return list
}

// fails notes why the workload cannot have a trigger.
func (b *builder) fails(trigger object, why error) {
	b.failing[trigger.name] = fmt.Sprintf("generated rows make it fail: %v", why)
}

// filled returns a trigger of the workload that inserts into t when a phase inserts rows into
// another table, such as a trigger that writes a log. The result "found" is false if there is no
// such trigger.
func (b *builder) filled(t *table) (trigger object, found bool) {
	for _, o := range b.schema.objects {
		of := b.schema.table(o.table)
		if o.kind != "trigger" || !b.scripted[o.name] || of == nil || of == t || of.rows == 0 || !of.whole || !b.extendable(of) || b.closed[of.name] != "" {
			continue
		}
		if event, into := inserts(o); event && slices.ContainsFunc(into, func(name string) bool { return strings.EqualFold(name, t.name) }) {
			return o, true
		}
	}
	return object{}, false
}

// inserts reports whether a trigger runs on INSERT, and returns the tables that it inserts
// into.
func inserts(trigger object) (event bool, into []string) {
	body := false
	list := significant(trigger.sql)
	for i, tok := range list[:max(0, len(list)-1)] {
		switch {
		case tok.Is("BEGIN"):
			body = true
		case !body && tok.Is("INSERT") && list[i+1].Is("ON"):
			event = true
		case body && tok.Is("INTO"):
			into = append(into, list[i+1].Unquoted())
		}
	}
	return event, into
}
