package job

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// page is the page of rows at one depth. It has the parameters of two statements that read the
// page: a statement with OFFSET, and a statement with a keyset.
type page struct {
	protocol.Page
	offset, keyset driver.Batch
	ids            []int64 // the IDs on the page
}

func integers(values ...int64) driver.Batch {
	b := driver.Batch{PerExec: 1}
	for _, v := range values {
		b.Columns = append(b.Columns, driver.Column{Type: driver.Int, Ints: []int64{v}})
	}
	return b
}

func (p paginate) run(ctx context.Context, d *Database, tell func(protocol.Progress), r *protocol.JobResult) (err error) {
	conn, err := d.DB.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := ready(ctx, conn, p.Table); err != nil {
		return err
	}
	out := &protocol.Paginated{}
	if out.Rows, err = driver.Number(ctx, conn, "SELECT count(*) FROM "+driver.Quote(p.Table)); err != nil {
		return err
	}
	if odd, err := driver.Number(ctx, conn, "SELECT count(*) FROM (SELECT 1 FROM "+driver.Quote(p.Table)+" WHERE ID IS NULL OR ID >= '' LIMIT 1)"); err != nil {
		return err
	} else if odd > 0 {
		return errorf(protocol.CodeDatabase, "table %s has a row whose ID is NULL or a text, which a query by keyset cannot get past: delete such rows", p.Table)
	}
	if out.Rows <= int64(p.Limit) {
		return errorf(protocol.CodeDatabase, "table %s has %d rows, too few for a page of %d after another row: sqlite3perf generate makes more", p.Table, out.Rows, p.Limit)
	}
	depths, err := p.depths(out.Rows)
	if err != nil {
		return err
	}

	columns := []driver.ColumnType{{Type: driver.Int}, {Type: driver.Text, Nullable: true}, {Type: driver.Text, Nullable: true}}
	from := "SELECT ID, rand, hash FROM " + driver.Quote(p.Table)
	var stmts [2]driver.Stmt
	for i, sql := range []string{from + " ORDER BY ID LIMIT ? OFFSET ?", from + " WHERE ID > ? ORDER BY ID LIMIT ?"} {
		stmts[i], err = conn.Prepare(ctx, driver.Statement{SQL: sql, Params: []driver.Type{driver.Int, driver.Int}, Columns: columns})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stmts[i].Close()) }()
	}
	var pages []*page
	for _, depth := range depths {
		g, err := p.page(ctx, stmts, depth, out.Rows)
		if err != nil {
			return err
		}
		pages = append(pages, g)
	}

	// Each repetition reads every page by OFFSET and by keyset, in shuffled order, so that drift of
	// the machine's speed affects all pages and both statements equally.
	random := rand.New(rand.NewPCG(d.Seed, 0))
	begin, last := time.Now(), time.Now()
	complete := 0
	defer func() {
		for _, g := range pages {
			g.OffsetNS, g.KeysetNS = g.OffsetNS[:complete], g.KeysetNS[:complete]
			out.Depths = append(out.Depths, g.Page)
		}
		r.Paginate = out
	}()
	for rep := range p.Repetitions {
		for _, k := range random.Perm(2 * len(pages)) {
			if err := pages[k/2].measure(ctx, stmts, k%2); err != nil {
				return err
			}
		}
		complete++
		if p.EveryMS > 0 && time.Since(last).Milliseconds() >= p.EveryMS {
			last = time.Now()
			tell(protocol.Progress{Stage: "repetitions", ElapsedNS: int64(time.Since(begin)), Rows: int64(rep + 1)})
		}
	}
	return nil
}

// page reads the page at a depth both by OFFSET and by keyset, and compares the IDs. So the
// page is in the cache before its reading is timed.
func (p paginate) page(ctx context.Context, stmts [2]driver.Stmt, depth, rows int64) (*page, error) {
	g := &page{Page: protocol.Page{Depth: depth}, offset: integers(int64(p.Limit), depth)}
	// The page begins after a certain ID. An application already has this ID: it is the last one of the
	// previous page. So the query for the ID is not timed.
	before := []int64{-1 << 63}
	var err error
	if depth > 0 {
		b := integers(1, depth-1)
		if before, err = read(ctx, stmts[0], &b); err != nil {
			return nil, err
		}
		if len(before) == 0 {
			return nil, errorf(protocol.CodeDatabase, "table %s had %d rows, and now has none at depth %d: it is being written to", p.Table, rows, depth-1)
		}
	}
	g.keyset = integers(before[0], int64(p.Limit))
	if g.ids, err = read(ctx, stmts[0], &g.offset); err != nil {
		return nil, err
	}
	other, err := read(ctx, stmts[1], &g.keyset)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(g.ids, other) {
		return nil, errorf(protocol.CodeDatabase, "at depth %d OFFSET gives the IDs %v and keyset %v: the table has duplicate IDs or is being written to", depth, g.ids, other)
	}
	return g, nil
}

// depths returns the requested depths in ascending order, without duplicates. By default the
// depths are 0, the powers of ten from 100, the quarters of the table, and its last page.
func (p paginate) depths(rows int64) ([]int64, error) {
	last := rows - int64(p.Limit)
	list := slices.Clone(p.Depths)
	for _, d := range list {
		if d > last {
			return nil, &Error{protocol.CodeUsage, protocol.BadField("depths", d, "table %s has %d rows, so the last whole page of %d begins at depth %d", p.Table, rows, p.Limit, last)}
		}
	}
	if len(list) == 0 {
		list = []int64{0, last / 4, last / 2, last / 4 * 3, last}
		for d := int64(100); d < last/4; d *= 10 {
			list = append(list, d)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

func read(ctx context.Context, s driver.Stmt, b *driver.Batch) (ids []int64, err error) {
	err = s.Query(ctx, b, 0, func(row driver.Row) error {
		ids = append(ids, row[0].Int)
		return nil
	})
	return ids, err
}

// measure reads the page once and adds the time to g.OffsetNS or g.KeysetNS. If the parameter "way"
// is 0, it reads the page by OFFSET, and if it is 1, by keyset. It returns an error if the IDs on
// the page have changed.
func (g *page) measure(ctx context.Context, stmts [2]driver.Stmt, way int) error {
	b, times := &g.offset, &g.OffsetNS
	if way == 1 {
		b, times = &g.keyset, &g.KeysetNS
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n := 0
	work := context.WithoutCancel(ctx)
	begin := time.Now()
	err := stmts[way].Query(work, b, 0, func(row driver.Row) error {
		if n < len(g.ids) && row[0].Int == g.ids[n] {
			n++
		}
		return nil
	})
	*times = append(*times, int64(time.Since(begin)))
	if err == nil && n != len(g.ids) {
		err = errorf(protocol.CodeDatabase, "at depth %d the page has changed while it was measured: is the table being written to?", g.Depth)
	}
	return err
}
