package worker

import (
	"context"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// stored counts the rows of tables, and adds up the hashes of their columns if these
// are requested.
func (t *trial) stored(ctx context.Context, tables []plan.Stored) ([]plan.RowSum, error) {
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

// inserted returns what tables have now that they did not have before.
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
