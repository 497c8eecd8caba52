package imitate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// planned returns the workload's plan at a scale.
func (w *Workload) planned(scale string) (*plan.Plan, error) {
	parsed, err := workload.Parse("imitation.yaml", []byte(w.YAML), nil)
	if err != nil {
		return nil, fmt.Errorf("the workload that was made is not valid: %w", err)
	}
	return parsed.Plan(scale, nil)
}

// tryQuick loads the workload at the quick scale into memory. It rewrites the workload without
// the constraints, triggers and phases that fail. If loading fails, it changes nothing, but adds a note
// that the workload can be loaded only at the full scale. If loading takes too long, it returns an error.
func (w *Workload) tryQuick(ctx context.Context) error {
	p, err := w.planned(workload.Quick)
	if err != nil {
		return err
	}
	db, err := openMemory()
	if err != nil {
		return err
	}
	defer db.Close()
	l, err := newLoader(db, p, 1, func(string) {})
	if err != nil {
		return err
	}
	if err := l.load(ctx, w.builder.schema); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errEndless) {
			return fmt.Errorf("loading the imitation: %w", err)
		}
		w.builder.onlyFull = fmt.Sprintf("it can be loaded at the full scale only; at the quick scale: %v", err)
		return w.write(ctx)
	}
	violated, err := w.builder.violations(ctx, db)
	if err := w.writeAgain(ctx, violated, err); err != nil {
		return err
	}
	return w.tryInserts(ctx, l, workload.Quick, !violated)
}

// tryInserts tries the triggers and insert phases of the workload. It removes the failing triggers and phases
// from the workload, and writes the workload again. It tries them in the database of l, which contains the
// imitation at the given scale, and leaves that database unchanged. The parameter "checked" is true if the
// workload has all CHECK constraints of the database. If so, tryInserts makes the database enforce them.
func (w *Workload) tryInserts(ctx context.Context, l *loader, scale string, checked bool) error {
	// The database was loaded without a journal, but rolling back needs one.
	if _, err := l.db.ExecContext(ctx, "PRAGMA journal_mode = memory"); err != nil {
		return err
	}
	found, err := l.triggers(ctx, w.builder)
	if err := w.writeAgain(ctx, found, err); err != nil {
		return err
	}
	if checked { // rows that triggers write have to satisfy the constraints
		if _, err := l.db.ExecContext(ctx, enforced); err != nil {
			return err
		}
	}
	for {
		p, err := w.planned(scale)
		if err != nil {
			return err
		}
		written, err := newLoader(l.db, p, 1, l.tell)
		if err != nil {
			return err
		}
		table, why, err := written.firstFailure(ctx, w.builder)
		if err != nil || why == nil {
			return err
		}
		// All phases are tried again, because other phases may need the rows of the failed phase.
		w.builder.closed[table] = fmt.Sprintf("they fail: %v", why)
		if err := w.write(ctx); err != nil {
			return err
		}
	}
}

// timedInserts returns an iterator over the timed insert phases and their data sets.
func (l *loader) timedInserts() iter.Seq2[*plan.Phase, *plan.DataSet] {
	return func(yield func(*plan.Phase, *plan.DataSet) bool) {
		for i := range l.plan.Phases {
			p := &l.plan.Phases[i]
			if p.Untimed || p.Insert == nil {
				continue
			}
			for _, name := range p.Insert.Sets {
				if !yield(p, l.plan.DataSet(name)) {
					return
				}
			}
		}
	}
}

// firstFailure runs the plan's timed insert phases one after another until one fails, and rolls them all
// back. Triggers that the workload lacks do not run. firstFailure returns the failed phase's table and the
// reason why, or "" and nil if no phase fails.
func (l *loader) firstFailure(ctx context.Context, b *builder) (table string, why, err error) {
	lacking := slices.DeleteFunc(slices.Clone(b.schema.objects), func(o object) bool { return o.kind != "trigger" || b.scripted[o.name] })
	err = l.undone(ctx, lacking, func(tx *sql.Tx) error {
		for p, d := range l.timedInserts() {
			l.tell("trying the phase " + p.Name)
			if why = l.rows(ctx, tx, d, 0, d.Total); why != nil {
				table = d.Table
				return why
			}
		}
		return nil
	})
	if why != nil {
		err = ctx.Err()
	}
	return table, why, err
}
