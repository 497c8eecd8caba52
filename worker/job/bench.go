package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Bench reads every row of the table and verifies that hash is the SHA-256 of
// what rand stands for.
type Bench struct {
	Table    string `json:"table"`
	Pipeline bool   `json:"pipeline,omitempty"` // hash on other cores than the one that reads
	EveryMS  int64  `json:"every_ms,omitempty"`
}

// Benched is what Bench has found.
type Benched struct {
	Rows         int64      `json:"rows"`
	AfterQueryNS int64      `json:"after_query_ns"` // until the library has taken the query
	FirstRowNS   int64      `json:"first_row_ns"`   // until the first row was there, 0 without rows
	WallNS       int64      `json:"wall_ns"`        // until the last row was verified
	Mismatches   int64      `json:"mismatches"`
	First        []Mismatch `json:"first_mismatches,omitempty"` // the first ten
}

// Mismatch is a row that is not as generate made it.
type Mismatch struct {
	Row int64  `json:"row"` // its number in the order of reading, from 0
	ID  string `json:"id"`
	Why string `json:"why"`
}

// listed is how many mismatches are described.
const listed = 10

func (b *Bench) check() error {
	if b.EveryMS < 0 {
		return fmt.Errorf("progress every %d ms: want 0 or more", b.EveryMS)
	}
	return checkTable(b.Table)
}

// record is a row as it was read. Its texts are Go's own, so they outlive the
// visit.
type record struct {
	id         int64
	rand, hash string
	null       uint8 // of the columns, a bit each
}

func (b *Bench) run(ctx context.Context, d *Database, tell func(Progress), r *Result) error {
	if err := ready(ctx, d.DB, d, b.Table); err != nil {
		return err
	}
	v := newVerifier(b.Pipeline)
	out := &Benched{}
	r.Bench = out
	var rows atomic.Int64
	begin := time.Now()
	defer watch(b.EveryMS, func() {
		tell(Progress{Stage: "rows", ElapsedNS: int64(time.Since(begin)), Rows: rows.Load()})
	})()
	err := b.read(ctx, d, begin, v, &rows, tell, out)
	mismatches, first := v.finish()
	out.WallNS = int64(time.Since(begin))
	out.Rows, out.Mismatches, out.First = rows.Load(), mismatches, first
	return err
}

// counted is how many rows are read between two looks at the context.
const counted = 1024

func (b *Bench) read(ctx context.Context, d *Database, begin time.Time, v *verifier, rows *atomic.Int64, tell func(Progress), out *Benched) (err error) {
	// Columns may hold NULL, also ID: the table's definition does not forbid it.
	stmt, err := d.DB.Prepare(ctx, driver.Statement{
		SQL: "SELECT ID, rand, hash FROM " + quote(b.Table),
		Columns: []driver.ColumnType{
			{Type: driver.Int, Nullable: true}, {Type: driver.Text, Nullable: true}, {Type: driver.Text, Nullable: true},
		},
	})
	if err != nil {
		return err
	}
	defer func() {
		if cerr := stmt.Close(); err == nil {
			err = cerr
		}
	}()
	afterQuery := func() { out.AfterQueryNS = int64(time.Since(begin)) }
	afterQuery()
	n := int64(0)
	defer func() { rows.Store(n) }()
	visit := func(row driver.Row) error {
		if n == 0 {
			out.FirstRowNS = int64(time.Since(begin))
			tell(Progress{Stage: "first-row", ElapsedNS: out.FirstRowNS, FirstRow: shown(row)})
		}
		v.add(n, row)
		if n++; n%counted == 0 {
			rows.Store(n)
			return ctx.Err()
		}
		return nil
	}
	work := context.WithoutCancel(ctx)
	if s, ok := stmt.(driver.QueryStarter); ok {
		return s.QueryStarted(work, nil, 0, afterQuery, visit)
	}
	return stmt.Query(work, nil, 0, visit)
}

// shown is a row for a person.
func shown(row driver.Row) []string {
	list := []string{fmt.Sprint(row[0].Int), row[1].Text, row[2].Text}
	for i := range row {
		if row[i].Null {
			list[i] = "NULL"
		}
	}
	return list
}

// verifier checks rows: as they are added, or on other goroutines.
type verifier struct {
	checkers []*checker
	block    *block
	full     chan *block
	empty    chan *block
	wg       sync.WaitGroup
}

// block is rows on their way to a checker.
type block struct {
	first   int64 // number of its first row
	records []record
}

// blockRows is how many rows go to a checker at once.
const blockRows = 1024

func newVerifier(pipeline bool) *verifier {
	v := &verifier{block: &block{records: make([]record, 0, blockRows)}}
	if !pipeline {
		v.checkers = []*checker{{}}
		return v
	}
	n := max(1, runtime.GOMAXPROCS(0)-1)
	v.full, v.empty = make(chan *block, 2*n), make(chan *block, 3*n+1)
	for range 3 * n {
		v.empty <- &block{records: make([]record, 0, blockRows)}
	}
	for range n {
		c := &checker{}
		v.checkers = append(v.checkers, c)
		v.wg.Go(func() {
			for b := range v.full {
				c.checkAll(b)
				v.empty <- b
			}
		})
	}
	return v
}

// add takes row number n.
func (v *verifier) add(n int64, row driver.Row) {
	if v.full == nil {
		var r record
		r.set(row)
		v.checkers[0].check(n, &r)
		return
	}
	b := v.block
	b.records = b.records[:len(b.records)+1]
	b.records[len(b.records)-1].set(row)
	if len(b.records) == cap(b.records) {
		v.full <- b
		v.block = <-v.empty
		v.block.first, v.block.records = n+1, v.block.records[:0]
	}
}

func (r *record) set(row driver.Row) {
	r.id, r.rand, r.hash, r.null = row[0].Int, row[1].Text, row[2].Text, 0
	for i := range row {
		if row[i].Null {
			r.null |= 1 << i
		}
	}
}

// finish waits for the checkers and adds up what they have found.
func (v *verifier) finish() (mismatches int64, first []Mismatch) {
	if v.full != nil {
		v.full <- v.block
		close(v.full)
		v.wg.Wait()
	}
	for _, c := range v.checkers {
		mismatches += c.mismatches
		first = append(first, c.first...)
	}
	slices.SortFunc(first, func(a, b Mismatch) int { return cmp.Compare(a.Row, b.Row) })
	return mismatches, first[:min(len(first), listed)]
}

// checker verifies rows. It sees blocks in ascending order, so the first
// mismatches that it meets are the first that it is to describe.
type checker struct {
	mismatches int64
	first      []Mismatch
	buf        [64]byte // what rand stands for
	digits     [2 * sha256.Size]byte
}

func (c *checker) checkAll(b *block) {
	for i := range b.records {
		c.check(b.first+int64(i), &b.records[i])
	}
}

func (c *checker) check(n int64, r *record) {
	if r.null == 0 && c.matches(r) {
		return
	}
	c.mismatches++
	if len(c.first) < listed {
		c.first = append(c.first, r.mismatch(n))
	}
}

func (c *checker) matches(r *record) bool {
	value := c.buf[:]
	if hex.DecodedLen(len(r.rand)) > len(value) {
		value = make([]byte, hex.DecodedLen(len(r.rand)))
	}
	k, err := hex.Decode(value, []byte(r.rand))
	if err != nil {
		return false
	}
	sum := sha256.Sum256(value[:k])
	hex.Encode(c.digits[:], sum[:])
	return string(c.digits[:]) == r.hash
}

// mismatch says what is wrong with a row that does not match.
func (r *record) mismatch(n int64) Mismatch {
	m := Mismatch{Row: n, ID: fmt.Sprint(r.id)}
	if r.null&1 != 0 {
		m.ID = "NULL"
	}
	value, err := hex.DecodeString(r.rand)
	switch {
	case r.null&2 != 0:
		m.Why = "rand is NULL"
	case r.null&4 != 0:
		m.Why = "hash is NULL"
	case r.null != 0:
		m.Why = "ID is NULL"
	case err != nil:
		m.Why = fmt.Sprintf("rand %.40q is not hexadecimal", r.rand)
	case len(r.hash) != 2*sha256.Size:
		m.Why = fmt.Sprintf("hash %.80q has %d digits, a SHA-256 has %d", r.hash, len(r.hash), 2*sha256.Size)
	default:
		m.Why = fmt.Sprintf("hash is %s, but the SHA-256 of rand %s is %x", r.hash, r.rand, sha256.Sum256(value))
	}
	return m
}
