package diff

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Evidence is what a likely reason rests on.
type Evidence string

// The evidence, beside what the values themselves show (see [Cause]).
const (
	ByValues  Evidence = "values"         // the cause says it
	ByFeature Evidence = "feature"        // one side's SQLite lacks a feature
	BySetting Evidence = "setting"        // a setting that decides it is not the same
	ByVersion Evidence = "sqlite version" // not the same
	ByOption  Evidence = "compile option" // the same version, other options
	ByDriver  Evidence = "driver"         // the same SQLite with the same options
	ByEarlier Evidence = "earlier"        // a statement about the same table, which only one side could run
)

// Reason is the likely reason of a difference.
type Reason struct {
	Evidence Evidence `json:"evidence"`
	Side     int      `json:"side,omitempty"` // that does something special: 1 or 2; 0: not known

	Feature string `json:"feature,omitempty"` // or setting
	First   string `json:"first,omitempty"`   // version, options or setting of each side
	Second  string `json:"second,omitempty"`
	Code    int    `json:"code,omitempty"` // of the error
}

// reason returns the likely reason of a difference.
func reason(d *Difference, x, y *protocol.Answer, p, q *protocol.Proof) Reason {
	computed := (d.Cause == Text || d.Cause == Number) && d.Declared == "" // by SQLite, not from a column
	if d.Cause != None && d.Cause != Rounding && (!computed || sameSQLite(p, q)) {
		return Reason{Evidence: ByValues, Side: special(d)}
	}
	if r, ok := option(x, p, q); ok && (d.Kind == Values || d.Kind == RowCount || d.Kind == Errors) {
		return r
	}
	if computed {
		return versions(p, q)
	}
	if d.Kind == Names && (d.First == `""`) != (d.Second == `""`) { // SQLite names every column
		side := 1
		if d.Second == `""` {
			side = 2
		}
		return Reason{Evidence: ByDriver, Side: side}
	}
	if d.Kind == Types || d.Kind == Names || d.Kind == Declared || d.Kind == Affected || d.Kind == LastInsertID {
		if sameSQLite(p, q) || d.Kind == Types || d.Kind == Declared {
			return Reason{Evidence: ByDriver}
		}
		return versions(p, q)
	}
	if d.Kind == Errors {
		if r, ok := failure(x, y, p, q); ok {
			return r
		}
	}
	return versions(p, q)
}

// special returns the side whose library converts, as far as the types show it.
func special(d *Difference) int {
	if d.Lossy != 0 {
		return d.Lossy
	}
	typ := map[Cause]string{Time: "time.Time", Bool: "bool", Null: "nil", Number: "float64", Text: "string"}[d.Cause]
	if d.Cause == Bytes {
		if typ = "[]byte"; strings.Contains(strings.ToUpper(d.Declared), "BLOB") {
			typ = "string"
		}
	}
	if typ == "" {
		return 0
	}
	return slices.Index(d.types[:], typ) + 1
}

// failure returns the reason why one side failed.
func failure(x, y *protocol.Answer, p, q *protocol.Proof) (Reason, bool) {
	for i, a := range []*protocol.Answer{x, y} {
		if a.Error == nil {
			continue
		}
		if key, name := driver.Lacking(a.Error.Message); key != "" {
			r := versions(p, q)
			r.Evidence, r.Side, r.Feature = ByFeature, i+1, name
			return r, true
		}
		if a.Error.Code == 0 || a.Error.Code == codeMisuse {
			return Reason{Evidence: ByDriver, Side: i + 1}, true
		}
		name := deciding[a.Error.Code]
		if name == "" || p == nil || q == nil || len(p.Connections) == 0 || len(q.Connections) == 0 {
			continue
		}
		if s, t := p.Connections[0][name], q.Connections[0][name]; s != t {
			return Reason{Evidence: BySetting, Feature: name, First: s, Second: t}, true
		}
	}
	return Reason{}, false
}

// codeMisuse is SQLITE_MISUSE, which libraries return for what they refuse themselves.
const codeMisuse = 21

// deciding names the setting without which SQLite does not return a code.
var deciding = map[int]string{driver.CodeConstraint | 3<<8: "foreign_keys"}

// optionOf tells, by their SQL, which statements a compile option changes.
var optionOf = map[string]*regexp.Regexp{
	"LIKE_DOESNT_MATCH_BLOBS": regexp.MustCompile(`(?i)\bLIKE\b`),
	"CASE_SENSITIVE_LIKE":     regexp.MustCompile(`(?i)\bLIKE\b`),
	"DQS":                     regexp.MustCompile(`"`),
}

// option returns a compile option that is not the same and that changes such statements.
func option(a *protocol.Answer, p, q *protocol.Proof) (Reason, bool) {
	if p == nil || q == nil {
		return Reason{}, false
	}
	for _, name := range slices.Sorted(maps.Keys(optionOf)) {
		if s, t := optionIn(p, name), optionIn(q, name); s != t && optionOf[name].MatchString(a.SQL) {
			return Reason{Evidence: ByOption, First: s, Second: t}, true
		}
	}
	return Reason{}, false
}

// optionIn returns an option as PRAGMA compile_options has it, or "".
func optionIn(p *protocol.Proof, name string) string {
	for _, o := range p.CompileOptions {
		if o == name || strings.HasPrefix(o, name+"=") {
			return o
		}
	}
	return ""
}

// earlier is a statement that only one side could run.
type earlier struct {
	where  string
	tables []string
}

// tableName matches the name of a table that a statement creates or changes.
var tableName = regexp.MustCompile(`(?i)\b(?:INTO|UPDATE|DELETE\s+FROM|TABLE|VIEW|INDEX|ON)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?["` + "`" + `\[]?(\w+)`)

// tables returns the tables that a statement creates or changes.
func tables(sql string) (list []string) {
	if driver.ReturnsRows(sql) && !strings.Contains(strings.ToUpper(sql), "RETURNING") {
		return nil
	}
	for _, m := range tableName.FindAllStringSubmatch(sql, -1) {
		list = append(list, m[1])
	}
	return list
}

// follows reports whether an earlier statement explains a difference, because it changed
// the same table on one side only.
func follows(failed []earlier, d *Difference, a *protocol.Answer) bool {
	if d.Cause != None && d.Cause != Rounding && d.Cause != Null || !slices.Contains([]Kind{Errors, RowCount, Values, Order, Affected, LastInsertID}, d.Kind) {
		return false
	}
	for _, f := range failed {
		for _, t := range f.tables {
			if f.where != Where(a) && regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(t)+`\b`).MatchString(a.SQL) && !ownFailure(d, t) {
				return true
			}
		}
	}
	return false
}

// ownFailure reports whether a difference is an error that does not come of a missing
// table.
func ownFailure(d *Difference, table string) bool {
	missing := "no such table: " + table
	return d.Kind == Errors && !strings.Contains(d.First, missing) && !strings.Contains(d.Second, missing)
}

func sameSQLite(p, q *protocol.Proof) bool {
	return p != nil && q != nil && p.SQLiteVersion == q.SQLiteVersion && p.SQLiteSourceID == q.SQLiteSourceID
}

// versions returns the reason of a difference whose values show none.
func versions(p, q *protocol.Proof) Reason {
	if p == nil || q == nil {
		return Reason{Evidence: ByDriver}
	}
	if p.SQLiteVersion != q.SQLiteVersion {
		return Reason{Evidence: ByVersion, First: p.SQLiteVersion, Second: q.SQLiteVersion}
	}
	s, t := only(p, q), only(q, p)
	if s != "" || t != "" {
		return Reason{Evidence: ByOption, First: s, Second: t}
	}
	return Reason{Evidence: ByDriver}
}

// only lists the compile options that decide answers and that p has and q has not.
func only(p, q *protocol.Proof) string {
	var list []string
	for _, o := range p.CompileOptions {
		name, _, _ := strings.Cut(o, "=")
		if !slices.Contains(q.CompileOptions, o) && decides(name) {
			list = append(list, o)
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// decides reports whether a compile option may change answers, rather than only speed,
// memory or what else there is.
func decides(name string) bool {
	for _, prefix := range []string{
		"DQS", "LIKE_DOESNT_MATCH_BLOBS", "CASE_SENSITIVE_LIKE", "DEFAULT_", "OMIT_", "ENABLE_UPDATE_DELETE_LIMIT", "ENABLE_STAT4", "ENABLE_ICU",
		"MAX_", "UNTESTABLE", "SOUNDEX", "ENABLE_MATH_FUNCTIONS", "ENABLE_PERCENTILE", "RTREE_INT_ONLY", "INTEGRITY_CHECK", "TRUSTED_SCHEMA", "ALLOW_ROWID_IN_VIEW",
		"ENABLE_FTS3_PARENTHESIS", "ENABLE_NULL_TRIM", "REVERSE_UNORDERED_SELECTS",
	} {
		if strings.HasPrefix(name, prefix) {
			return !slices.Contains([]string{"DEFAULT_CACHE_SIZE", "DEFAULT_PCACHE_INITSZ", "DEFAULT_MMAP_SIZE", "DEFAULT_SYNCHRONOUS", "DEFAULT_WAL_SYNCHRONOUS", "DEFAULT_WAL_AUTOCHECKPOINT", "DEFAULT_MEMSTATUS", "DEFAULT_PAGE_SIZE", "DEFAULT_SECTOR_SIZE", "DEFAULT_WORKER_THREADS", "MAX_MMAP_SIZE", "MAX_WORKER_THREADS", "MAX_DEFAULT_PAGE_SIZE"}, name)
		}
	}
	return false
}
