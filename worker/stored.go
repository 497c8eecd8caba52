package worker

import (
	"context"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// stored returns, for each table, the number of rows. If the table's entry in "tables" lists
// columns, it also returns the sum of the rows' hashes.
func (t *trial) stored(ctx context.Context, tables []plan.Stored) (sums []plan.RowSum, err error) {
	err = t.ours(ctx, "reading back the tables", func(ctx context.Context) error {
		read, err := t.read(ctx, tables)
		if err == nil {
			sums = read
		}
		return err
	})
	return sums, err
}

func (t *trial) read(ctx context.Context, tables []plan.Stored) ([]plan.RowSum, error) {
	sums := make([]plan.RowSum, len(tables))
	for i := range tables {
		s, st := &sums[i], tables[i].Query()
		visit := func(r driver.Row) error { s.Rows = r[0].Int; return nil }
		if len(tables[i].Columns) > 0 {
			visit = func(r driver.Row) error { s.Row(r, st.Columns); return nil }
		}
		if err := query(ctx, t.db, st, visit); err != nil {
			return nil, fmt.Errorf("reading back: %w", err)
		}
	}
	return sums, nil
}

// tellLoaded sends the lab the number of rows in each table that the first n phases insert into. It
// reads the tables to the end, so that the caches are in the same state as after an insert, whose
// check also reads the tables.
func (t *trial) tellLoaded(ctx context.Context, n int) error {
	tables := plan.Loaded(t.plan.Phases[:n])
	sums, err := t.stored(ctx, tables)
	if err != nil {
		return err
	}
	answer := protocol.Response{Type: protocol.TypeLoaded}
	for i := range tables {
		answer.Tables = append(answer.Tables, protocol.Inserted{Table: tables[i].Table, Rows: sums[i].Rows})
	}
	return t.out.send(answer)
}

// wakeWAL writes to a database that was loaded before the trial, and empties its write-ahead log. A
// trial that fills the database itself does the same. The write is necessary because, before the
// first write, the log does not contain the database's size, and SQLite then asks the system for
// that size in each read transaction. wakeWAL does nothing if the database has no write-ahead log.
func (t *trial) wakeWAL(ctx context.Context) error {
	if !t.wal {
		return nil
	}
	version, err := number(ctx, t.db, "PRAGMA user_version")
	if err == nil {
		err = t.db.Script(ctx, fmt.Sprintf("PRAGMA user_version = %d", version)) // SQLite also writes if the value does not change
	}
	if err == nil {
		_, err = t.checkpoint(ctx)
	}
	if err != nil {
		return fmt.Errorf("writing to the loaded database: %w", err)
	}
	return nil
}

// inserted returns the number and the checksum of the rows that each table has gained. The
// parameter "before" has the tables' sums before the phase.
func (t *trial) inserted(ctx context.Context, tables []plan.Stored, before []plan.RowSum) ([]protocol.Inserted, error) {
	after, err := t.stored(ctx, tables)
	if err != nil {
		return nil, err
	}
	var list []protocol.Inserted
	for i := range tables {
		after[i].Subtract(&before[i])
		in := protocol.Inserted{Table: tables[i].Table, Rows: after[i].Rows}
		if len(tables[i].Columns) > 0 {
			in.Checksum = after[i].Sum()
		}
		list = append(list, in)
	}
	return list, nil
}
