package lab

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Table describes the rows that a phase must have inserted into a table.
type Table struct {
	plan.Stored
	Rows     int64
	Checksum string // [plan.RowSum] of Columns; "" if Columns is empty
}

// maxHashed is a limit in bytes. If the generated values of a table are not larger, the rows of the
// table are compared by their hashes. In a larger table, rows are only counted.
const maxHashed = 1 << 30

// CheckInserted compares the tables that a worker read back after an insert with the generated rows. The
// parameter "hashed" is true if the worker was asked for checksums.
func CheckInserted(p *plan.Phase, want []Table, hashed bool, said []protocol.Inserted) []Fault {
	c := &check{of: "phase " + p.Name}
	if len(said) != len(want) {
		c.protocol("tables", "has %d entries: want %d, as verify of the phase has", len(said), len(want))
		return c.faults
	}
	for i, got := range said {
		want, at := &want[i], fmt.Sprintf("tables[%d]", i)
		switch {
		case got.Table != want.Table:
			c.protocol(at+".table", "is %.80q: want %q, in the order of verify", got.Table, want.Table)
			continue
		case got.Rows != want.Rows:
			c.fault(protocol.CodeRows, at+".rows", "is %d: expected %d: %s must have that many more rows than before", got.Rows, want.Rows, want.Table)
			continue
		}
		switch wanted := hashed && want.Checksum != ""; {
		case !wanted && got.Checksum != "":
			c.protocol(at+".checksum", "is set: want none, verify asks for no columns")
		case !wanted:
		case !isChecksum(got.Checksum):
			c.protocol(at+".checksum", "is %.80q: want 64 lower-case hexadecimal digits", got.Checksum)
		case got.Checksum != want.Checksum:
			c.fault(protocol.CodeChecksum, at+".checksum", "is %s: expected %s: the rows inserted into %s are not the generated ones",
				short(got.Checksum), short(want.Checksum), want.Table)
		}
	}
	return c.faults
}

// asking returns a copy of the plan that asks the worker to read back tables after each insert: their checksums
// if the parameter "hashed" is true, otherwise only the numbers of rows.
func asking(p *plan.Plan, expect map[string]Expectation, hashed bool) *plan.Plan {
	return withPhases(p, func(ph *plan.Phase) {
		if ph.Insert == nil {
			return
		}
		in := *ph.Insert
		in.Verify = nil
		for _, t := range expect[ph.Name].Tables {
			if !hashed || t.Checksum == "" {
				t.Columns, t.Types = nil, nil
			}
			in.Verify = append(in.Verify, t.Stored)
		}
		ph.Insert = &in
	})
}

// withPhases returns a copy of a plan. It calls the function "change" for each phase of the copy. The copy is
// shallow: the function must not change values to which a phase has pointers, because they belong to the
// original, too.
func withPhases(p *plan.Plan, change func(*plan.Phase)) *plan.Plan {
	next := *p
	next.Phases = slices.Clone(p.Phases)
	for i := range next.Phases {
		change(&next.Phases[i])
	}
	return &next
}

// readable lists the tables and columns that can be read back unchanged after an insert, and says why other
// tables cannot.
type readable struct {
	tables  map[string][]plan.Stored // tables that can be read back, by name of the phase
	doubted map[string]string        // why a table cannot be verified, by "phase\ntable"
}

var (
	resolving = regexp.MustCompile(`(?i)\bon\s+conflict\s+(ignore|replace)\b`)
	ignoring  = regexp.MustCompile(`(?i)\braise\s*\(\s*ignore\s*\)`)
)

// look finds out which columns of an insert's tables can be read back unchanged. The
// database has the schema with which the phase begins.
func (r *readable) look(ctx context.Context, db *sql.Conn, resolved *plan.Plan, p *plan.Phase) error {
	if p.Insert == nil {
		return nil
	}
	for _, table := range tablesOf(resolved, p.Insert) {
		why, err := opaque(ctx, db, table)
		if err != nil {
			return err
		}
		if why != "" {
			r.doubted[p.Name+"\n"+table] = why
			continue
		}
		s := plan.Stored{Table: table}
		columns, err := columnsOf(ctx, db, table)
		if err != nil {
			return err
		}
		for _, c := range common(resolved, p.Insert, table) {
			if t, ok := columns[strings.ToLower(c.Name)]; ok && t.keeps(&c) {
				s.Columns = append(s.Columns, c.Name)
				s.Types = append(s.Types, driver.ColumnType{Type: c.Type, Nullable: true})
			}
		}
		r.tables[p.Name] = append(r.tables[p.Name], s)
	}
	return nil
}

// doubts returns a warning, with the reason, for each phase that inserts rows that cannot be verified.
func (r *readable) doubts(resolved *plan.Plan) []result.Warning {
	var list []result.Warning
	for i := range resolved.Phases {
		p := &resolved.Phases[i]
		if p.Insert == nil {
			continue
		}
		var words []string
		for _, table := range tablesOf(resolved, p.Insert) {
			if slices.ContainsFunc(r.tables[p.Name], func(s plan.Stored) bool { return s.Table == table }) {
				continue
			}
			why := r.doubted[p.Name+"\n"+table]
			if why == "" {
				why = "needs a feature that sqlite3perf's own SQLite lacks, or must not use"
			}
			words = append(words, fmt.Sprintf("into %s, which %s", table, why))
		}
		if words != nil {
			list = append(list, result.Warning{Code: result.WarningUnverified, Phase: p.Name, Message: "nobody can check the rows inserted " + strings.Join(words, "; ")})
		}
	}
	return list
}

// tablesOf returns the names of the tables into which a phase inserts.
func tablesOf(resolved *plan.Plan, in *plan.Insert) []string {
	var list []string
	for _, name := range in.Sets {
		table := resolved.DataSet(name).Table
		if !slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, table) }) {
			list = append(list, table)
		}
	}
	return list
}

// setsInto returns the data sets that a phase inserts into a table.
func setsInto(resolved *plan.Plan, in *plan.Insert, table string) []*plan.DataSet {
	var list []*plan.DataSet
	for _, name := range in.Sets {
		if d := resolved.DataSet(name); strings.EqualFold(d.Table, table) {
			list = append(list, d)
		}
	}
	return list
}

// opaque says why the number of rows in a table cannot be predicted after an insert. It returns "" if the
// number can be predicted.
func opaque(ctx context.Context, db *sql.Conn, table string) (string, error) {
	var typ, text string
	err := db.QueryRowContext(ctx, `SELECT type, coalesce(sql, '') FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')`, table).Scan(&typ, &text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "is not in the main schema", nil
	case err != nil:
		return "", err
	case typ == "view":
		return "is a view", nil
	case strings.HasPrefix(strings.ToUpper(strings.TrimSpace(text)), "CREATE VIRTUAL"):
		return "is a virtual table", nil
	case resolving.MatchString(text):
		return "resolves conflicts by IGNORE or REPLACE", nil
	}
	name := regexp.QuoteMeta(table)
	touches := regexp.MustCompile("(?i)\\b(into|update|from)\\s+(or\\s+\\w+\\s+)?[\"'`\\[]?" + name + "(\\b|[\"'`\\]])")
	rows, err := db.QueryContext(ctx, `SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger' UNION ALL SELECT name, tbl_name, sql FROM sqlite_temp_schema WHERE type = 'trigger'`)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var trigger, on, text string
		if err := rows.Scan(&trigger, &on, &text); err != nil {
			return "", err
		}
		if ignoring.MatchString(text) && strings.EqualFold(on, table) || touches.MatchString(text) {
			return fmt.Sprintf("may be changed by the trigger %s", trigger), nil
		}
	}
	return "", rows.Err()
}

// common returns the columns that all data sets for the table insert with the same type. It leaves out a
// column that may be NULL in only some of these data sets.
func common(resolved *plan.Plan, in *plan.Insert, table string) []plan.Column {
	all := setsInto(resolved, in, table)
	list := slices.DeleteFunc(all[0].Inserted(), func(c plan.Column) bool { return c.Generator.Kind == plan.GenCoalesce })
	for _, d := range all[1:] {
		list = slices.DeleteFunc(list, func(c plan.Column) bool {
			return !slices.ContainsFunc(d.Columns, func(o plan.Column) bool {
				return !o.Hidden && o.Name == c.Name && o.Type == c.Type && mayBeNull(&o) == mayBeNull(&c)
			})
		})
	}
	return list
}

func mayBeNull(c *plan.Column) bool {
	return c.Generator.Kind == plan.GenNull || c.Generator.NullPermille > 0 || len(c.Generator.Of) > 0
}

// inTable is a column of a table.
type inTable struct {
	affinity string // result of [workload.Affinity]
	rowid    bool   // the column is the rowid, so NULL becomes a number
}

func columnsOf(ctx context.Context, db *sql.Conn, table string) (map[string]inTable, error) {
	rows, err := db.QueryContext(ctx, `SELECT name, upper(type), pk, hidden, (SELECT count(*) FROM pragma_table_xinfo(?1) WHERE pk > 0) FROM pragma_table_xinfo(?1)`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns := map[string]inTable{}
	for rows.Next() {
		var name, typ string
		var pk, hidden, keys int
		if err := rows.Scan(&name, &typ, &pk, &hidden, &keys); err != nil {
			return nil, err
		}
		if hidden == 0 {
			columns[strings.ToLower(name)] = inTable{workload.Affinity(typ), pk > 0 && keys == 1 && typ == "INTEGER"}
		}
	}
	return columns, rows.Err()
}

// keeps reports whether the column's values are read back unchanged. If SQLite converts
// them, the result depends on the library.
func (t inTable) keeps(c *plan.Column) bool {
	if t.rowid && mayBeNull(c) {
		return false
	}
	switch c.Type {
	case driver.Text:
		return t.affinity == "TEXT" || t.affinity == "BLOB"
	case driver.Real:
		negative := c.Generator.RealLow == 0 && math.Signbit(c.Generator.RealLow) // -0 is stored as 0
		return (t.affinity == "REAL" || t.affinity == "BLOB") && !negative
	case driver.Blob:
		return true
	}
	return t.affinity != "TEXT" && t.affinity != "REAL" // the other types are int, bool and time
}

// tables returns, for each table, the number and the checksum of the rows that are generated for it.
func (h *hasher) tables(stored []plan.Stored, p *plan.Phase) ([]Table, error) {
	var list []Table
	for _, s := range stored {
		t := Table{Stored: s}
		sets := setsInto(h.plan, p.Insert, s.Table)
		bytes := int64(0)
		for _, d := range sets {
			t.Rows += d.Total
			bytes += d.Total * (chunkBytes / h.gen.RowsFitting(d.Name))
		}
		if bytes > maxHashed {
			t.Columns, t.Types = nil, nil
		}
		if len(t.Columns) > 0 {
			var sum plan.RowSum
			for _, d := range sets {
				part, err := h.set(d, t.Columns)
				if err != nil {
					return nil, err
				}
				sum.Add(part)
			}
			t.Checksum = sum.Sum()
		}
		list = append(list, t)
	}
	return list, nil
}

// chunkBytes is the approximate size, in bytes, of as many rows as [plan.Gen.RowsFitting] returns.
const chunkBytes = 32 << 20

// hasher computes sums of the hashes of generated rows.
type hasher struct {
	tell func(done, total int64)
	plan *plan.Plan
	gen  *plan.Gen
	seed uint64
	sets string // hash of plan.DataSets, which is part of the cache's key
}

// rowSums caches the sums that this process has computed, because several plans may have the same data sets. A
// study plans its cases several times until they fit into its time.
var rowSums sync.Map // the key has the seed, the hash of the data sets, the name of a data set, and the columns; the value is a *plan.RowSum

func (h *hasher) begin(p *plan.Plan, gen *plan.Gen) error {
	sets, err := json.Marshal(p.DataSets)
	if err != nil {
		return err
	}
	h.plan, h.gen, h.sets = p, gen, directory.Sum(sets)
	return nil
}

// set returns the sum of the hashes of a data set's rows.
func (h *hasher) set(d *plan.DataSet, columns []string) (*plan.RowSum, error) {
	key := fmt.Sprintf("%d %s %q %q", h.seed, h.sets, d.Name, columns)
	if sum, ok := rowSums.Load(key); ok {
		return sum.(*plan.RowSum), nil
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = d.Name + "." + c
	}
	total, err := h.parallel(d, names)
	if err != nil {
		return nil, err
	}
	rowSums.Store(key, total)
	return total, nil
}

// parallel adds up the hashes of a data set's rows on all cores. The sum does not depend on the order of the
// rows.
func (h *hasher) parallel(d *plan.DataSet, names []string) (*plan.RowSum, error) {
	step := max(h.gen.RowsFitting(d.Name, names...)/8, 1)
	pieces := make(chan int64)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var total plan.RowSum
	var failed error
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var b driver.Batch
			var sum plan.RowSum
			var first error
			for lo := range pieces {
				hi := min(lo+step, d.Total)
				if err := h.gen.FillColumns(&b, names, d.Name, lo, hi); err != nil {
					first = err
					continue
				}
				sum.Batch(&b, int(hi-lo))
			}
			mu.Lock()
			defer mu.Unlock()
			total.Add(&sum)
			failed = cmp.Or(failed, first)
		})
	}
	for lo := int64(0); lo < d.Total; lo += step {
		h.tell(lo, d.Total)
		pieces <- lo
	}
	close(pieces)
	wg.Wait()
	return &total, failed
}
