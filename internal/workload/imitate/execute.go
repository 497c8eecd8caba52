package imitate

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// sampled returns parameters for executions of a query. They are taken from sampled rows of the
// database. For a full-text search, they are sampled words.
func (q *Query) sampled() [][]any {
	var list [][]any
	if q.words != nil {
		for _, word := range q.words.stats.words.sample.sample {
			list = append(list, []any{`"` + word + `"`})
		}
		return list
	}
	for _, row := range q.table.sample.sample {
		args := make([]any, len(q.args))
		for i, a := range q.args {
			args[i] = row[slices.Index(q.table.columns, a.column)]
		}
		list = append(list, args)
	}
	return list
}

// values returns lists of parameters for executions of a query: one list for each of the first rows
// of a data set. There are at most as many lists as the constant "probes" says. The parameter
// "reads" is the name of the data set.
func (l *loader) values(reads string, q *Query) ([][]any, error) {
	columns := document.Map(q.args, func(a arg) string { return reads + "." + a.name })
	var b driver.Batch
	if err := l.gen.FillColumns(&b, columns, reads, 0, min(probes, l.plan.DataSet(reads).Total)); err != nil {
		return nil, err
	}
	var list [][]any
	for r := range int(min(probes, l.plan.DataSet(reads).Total)) {
		list = append(list, b.Append(nil, r, r+1))
	}
	return list, nil
}

// run returns SQLite's plan for a query, and how many rows the query returns on average for the
// lists of parameters in "values".
func (q *Query) run(ctx context.Context, db *sql.DB, text string, values [][]any) (string, float64, error) {
	st, err := db.PrepareContext(ctx, text) //nolint:sqlclosecheck // closed below; the linter does not see that in a closure
	if err != nil {
		return "", 0, err
	}
	defer st.Close()
	rows, done := 0, 0
	named := make([]any, len(q.args))
	begin := time.Now()
	for _, v := range values {
		for i, a := range q.args {
			named[i] = sql.Named(a.name, v[i])
		}
		err := within(ctx, time.Now(), 0, func(ctx context.Context) error {
			n, err := count(st.QueryContext(ctx, named...))
			rows += n
			return err
		})
		if err != nil {
			return "", 0, err
		}
		if done++; time.Since(begin) > patience {
			break
		}
	}
	for i, a := range q.args {
		named[i] = sql.Named(a.name, nil)
		if len(values) > 0 {
			named[i] = sql.Named(a.name, values[0][i])
		}
	}
	var parts []string
	var id, parent, unused any
	var detail string
	err = all(ctx, db, "EXPLAIN QUERY PLAN "+text, named, []any{&id, &parent, &unused, &detail}, func() error {
		parts = append(parts, detail)
		return nil
	})
	return strings.Join(parts, "; "), float64(rows) / math.Max(1, float64(done)), err
}

// The constant "timed" is the approximate time for which executions of a query are timed in each of the
// two databases.
const timed = 500 * time.Millisecond

// time returns the median execution time of a query on each of two databases, which take turns.
func (q *Query) time(ctx context.Context, dbs [2]*sql.DB, texts [2]string, values [2][][]any) (medians [2]time.Duration, err error) {
	var statements [2]*sql.Stmt
	for i, db := range dbs {
		st, err := db.PrepareContext(ctx, texts[i])
		if err != nil {
			return medians, err
		}
		defer st.Close()
		statements[i] = st
	}
	var took [2][]time.Duration
	var all [2]time.Duration
	named := make([]any, len(q.args))
	for k := 0; k < min(len(values[0]), len(values[1])) && (k < 3 || all[0] < timed && all[1] < timed); k++ {
		for turn := range statements {
			i := (turn + k) % 2 // the databases take turns to be first, because the first execution may take longer
			for j, a := range q.args {
				named[j] = sql.Named(a.name, values[i][k][j])
			}
			begin := time.Now()
			if _, err := count(statements[i].QueryContext(ctx, named...)); err != nil {
				return medians, err
			}
			t := time.Since(begin)
			took[i] = append(took[i], t)
			all[i] += t
		}
	}
	for i, list := range took {
		if slices.Sort(list); len(list) > 0 {
			medians[i] = list[len(list)/2]
		}
	}
	return medians, nil
}

func count(rows *sql.Rows, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n := 0
	for rows.Next() {
		n++
	}
	return n, cmp.Or(rows.Err(), rows.Close())
}
