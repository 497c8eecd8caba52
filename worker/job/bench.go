package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The constant "listed" is the maximum number of mismatches that are reported in detail.
const listed = 10

func (b bench) run(ctx context.Context, d *Database, tell func(protocol.Progress), r *protocol.JobResult) error {
	if err := ready(ctx, d.DB, b.Table); err != nil {
		return err
	}
	n := 1
	if b.Pipeline {
		n = min(runtime.GOMAXPROCS(0), d.Settings.PoolSize())
	}
	// Columns may hold NULL, or values of any type, because the table's definition does not
	// forbid them. Decoding such values costs more. So only a second pass over the table, after
	// an error in the first one, allows them.
	err := b.read(ctx, d, n, false, tell, r)
	if _, ok := errors.AsType[*driver.Error](err); err != nil && ctx.Err() == nil && !ok {
		err = b.read(ctx, d, n, true, tell, r)
	}
	return err
}

const (
	// The constant "counted" is the number of rows that are read between two checks of the context.
	counted = 1024

	// rangesEach is how many ranges of the table there are for each reader. With many small
	// ranges, no reader waits long for other readers at the end.
	rangesEach = 32
)

// reading is one pass over the table that a job of the kind "bench" verifies.
type reading struct {
	bench
	db    driver.DB
	loose bool // set if columns may hold NULL or values of any type; otherwise such values are errors
	tell  func(protocol.Progress)
	begin time.Time

	ranges []span
	next   atomic.Int64 // index of the next range of rowids that a reader takes
	rows   atomic.Int64 // approximately how many rows have been read
	stop   atomic.Bool

	first      sync.Once
	afterQuery time.Duration
	firstRow   time.Duration
}

// span is a range of rowids, including both ends.
type span struct {
	low, high int64
	count     int64 // number of rows in the range; set after the range has been read
}

// read reads the table once, with n readers at the same time.
func (b bench) read(ctx context.Context, d *Database, n int, loose bool, tell func(protocol.Progress), r *protocol.JobResult) error {
	out := &protocol.Benched{}
	r.Bench = out
	p := &reading{bench: b, db: d.DB, loose: loose, tell: tell, begin: time.Now()}
	if n > 1 {
		if err := p.split(ctx, rangesEach*n); err != nil {
			return err
		}
	}
	if len(p.ranges) == 0 {
		n, p.ranges = 1, make([]span, 1) // one range: the whole table
	}
	defer watch(b.EveryMS, func() {
		tell(protocol.Progress{Stage: "rows", ElapsedNS: int64(time.Since(p.begin)), Rows: p.rows.Load()})
	})()
	readers := make([]reader, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range readers[1:] {
		wg.Go(func() { errs[i+1] = readers[i+1].run(ctx, p, true) })
	}
	errs[0] = readers[0].run(ctx, p, n > 1)
	wg.Wait()
	out.WallNS = int64(time.Since(p.begin))
	out.AfterQueryNS, out.FirstRowNS = int64(p.afterQuery), int64(p.firstRow)
	before := make([]int64, len(p.ranges)) // for each range, the number of rows in all ranges before it
	for i := range p.ranges {
		before[i] = out.Rows
		out.Rows += p.ranges[i].count
	}
	for i := range readers {
		out.Mismatches += readers[i].mismatches
		for _, m := range readers[i].first {
			m.Row += before[m.at]
			out.First = append(out.First, m.Mismatch)
		}
	}
	slices.SortFunc(out.First, func(a, b protocol.Mismatch) int { return cmp.Compare(a.Row, b.Row) })
	out.First = out.First[:min(len(out.First), listed)]
	return cmp.Or(errs...)
}

// split divides the table into ranges of rowids, if it has rowids.
func (p *reading) split(ctx context.Context, n int) error {
	o, err := lookUp(ctx, p.db, p.Table)
	if err != nil || o.kind != "table" || contains(o.columns, "_rowid_") {
		return err
	}
	var ends []int64
	for _, f := range []string{"min", "max"} {
		st := driver.Statement{SQL: "SELECT " + f + "(_rowid_) FROM " + driver.Quote(p.Table), Columns: []driver.ColumnType{{Type: driver.Int, Nullable: true}}}
		err := driver.Read(ctx, p.db, st, func(row driver.Row) error {
			if !row[0].Null {
				ends = append(ends, row[0].Int)
			}
			return nil
		})
		if err != nil {
			if driver.PrimaryCode(err) == driver.CodeError {
				return nil // the table is WITHOUT ROWID, so it has no column _rowid_
			}
			return err
		}
	}
	if len(ends) < 2 {
		return nil
	}
	// The arithmetic is unsigned, because the difference of two rowids may exceed an int64.
	step := max((uint64(ends[1])-uint64(ends[0]))/uint64(n)+1, counted)
	for low := ends[0]; ; low += int64(step) {
		if uint64(ends[1])-uint64(low) < step {
			p.ranges = append(p.ranges, span{low: low, high: ends[1]})
			return nil
		}
		p.ranges = append(p.ranges, span{low: low, high: low + int64(step) - 1})
	}
}

// reader reads ranges and verifies their rows. Each reader takes ranges in ascending order, so
// it finds mismatches in the order of the table.
type reader struct {
	mismatches int64
	first      []located
	buf        [64]byte // buffer for the bytes that the column "rand" encodes
	digits     [2 * sha256.Size]byte
}

// located is a mismatch in a range of the table. The field "at" is the index of the range. The
// field Row is counted from the beginning of the range.
type located struct {
	protocol.Mismatch
	at int
}

func (r *reader) run(ctx context.Context, p *reading, ranged bool) (err error) {
	defer func() {
		if err != nil {
			p.stop.Store(true)
		}
	}()
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, conn.Close()) }()
	text := driver.ColumnType{Type: driver.Text}
	st := driver.Statement{
		SQL: "SELECT ID, rand, hash FROM " + driver.Quote(p.Table),
		// For the column ID, it costs no time to allow NULL.
		Columns: []driver.ColumnType{{Type: driver.Int, Nullable: true}, text, text},
	}
	if p.loose {
		text.Nullable = true
		st.SQL = "SELECT CAST(ID AS TEXT), CAST(rand AS TEXT), CAST(hash AS TEXT) FROM " + driver.Quote(p.Table)
		st.Columns = []driver.ColumnType{text, text, text}
	}
	var b *driver.Batch
	if ranged {
		st.SQL += " WHERE _rowid_ BETWEEN ? AND ?"
		st.Params = []driver.Type{driver.Int, driver.Int}
		ends := integers(0, 0)
		b = &ends
	}
	stmt, err := conn.Prepare(ctx, st)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, stmt.Close()) }()
	for {
		at := int(p.next.Add(1)) - 1
		if at >= len(p.ranges) {
			return nil
		}
		if ranged {
			b.Columns[0].Ints[0], b.Columns[1].Ints[0] = p.ranges[at].low, p.ranges[at].high
		}
		if err := r.scan(ctx, p, at, stmt, b); err != nil {
			return err
		}
	}
}

// errMayBeNull ends a pass that does not allow NULL. In such a pass some libraries decode NULL as
// an empty text, so an empty text may be a NULL.
var errMayBeNull = errors.New("an empty text, which may be NULL")

// scan reads one range of the table and verifies its rows. The parameter "at" is the index of the
// range.
func (r *reader) scan(ctx context.Context, p *reading, at int, stmt driver.Stmt, b *driver.Batch) error {
	if p.stop.Load() {
		return nil
	}
	n := int64(0)
	visit := func(row driver.Row) error {
		if n == 0 {
			p.first.Do(func() { p.seen(row) })
		}
		if !r.matches(row) {
			if !p.loose && (row[1].Text == "" || row[2].Text == "") {
				return errMayBeNull
			}
			r.note(at, n, p.id(row), row)
		}
		if n++; n%counted == 0 {
			p.rows.Add(counted)
			return ctx.Err()
		}
		return nil
	}
	// With a context that can end, some libraries start a goroutine for each row.
	work := context.WithoutCancel(ctx)
	started := func() {}
	if at == 0 {
		started = func() { p.afterQuery = time.Since(p.begin) }
		started()
	}
	var err error
	if s, ok := stmt.(driver.QueryStarter); ok {
		err = s.QueryStarted(work, b, 0, started, visit)
	} else {
		err = stmt.Query(work, b, 0, visit)
	}
	p.ranges[at].count = n
	p.rows.Add(n % counted)
	return err
}

// The method "seen" reports the first row that any reader has read.
func (p *reading) seen(row driver.Row) {
	p.firstRow = time.Since(p.begin)
	shown := []string{p.id(row), row[1].Text, row[2].Text}
	for i := range row[1:] {
		if row[1+i].Null {
			shown[1+i] = "NULL"
		}
	}
	p.tell(protocol.Progress{Stage: "first-row", ElapsedNS: int64(p.firstRow), FirstRow: shown})
}

// id returns the ID of a row, for messages.
func (p *reading) id(row driver.Row) string {
	switch {
	case row[0].Null:
		return "NULL"
	case p.loose:
		return row[0].Text
	}
	return strconv.FormatInt(row[0].Int, 10)
}

func (r *reader) matches(row driver.Row) bool {
	if row[0].Null || row[1].Null || row[2].Null {
		return false
	}
	value := r.buf[:]
	if n := hex.DecodedLen(len(row[1].Text)); n > len(value) {
		value = make([]byte, n)
	}
	n, err := hex.Decode(value, []byte(row[1].Text))
	if err != nil {
		return false
	}
	sum := sha256.Sum256(value[:n])
	hex.Encode(r.digits[:], sum[:])
	return string(r.digits[:]) == row[2].Text
}

// The method "note" counts a row in which the column "hash" does not have the hash of the column
// "rand", or in which a column is NULL. It records the details of the first such rows. The
// parameter "at" is the index of the range, and n is the number of the row in the range, counted
// from 0.
func (r *reader) note(at int, n int64, id string, row driver.Row) {
	if r.mismatches++; r.mismatches <= listed {
		r.first = append(r.first, located{protocol.Mismatch{Row: n, ID: id, Why: why(row)}, at})
	}
}

// why describes the fault of a row: a column is NULL or malformed, or the column "hash" does not have the
// hash of the column "rand".
func why(row driver.Row) string {
	rand, hash := row[1].Text, row[2].Text
	value, err := hex.DecodeString(rand)
	switch {
	case row[1].Null:
		return "rand is NULL"
	case row[2].Null:
		return "hash is NULL"
	case row[0].Null:
		return "ID is NULL"
	case err != nil:
		return fmt.Sprintf("rand %.40q is not hexadecimal", rand)
	case len(hash) != 2*sha256.Size:
		return fmt.Sprintf("hash %.80q has %d digits, a SHA-256 has %d", hash, len(hash), 2*sha256.Size)
	}
	return fmt.Sprintf("hash is %s, but the SHA-256 of rand %s is %x", hash, rand, sha256.Sum256(value))
}
