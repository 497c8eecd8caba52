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

	// ByTransaction is a transaction that wrote to the same table and that one side rolled
	// back, because it could not run another statement of it.
	ByTransaction Evidence = "transaction"

	ByTimes Evidence = "times" // the table, or the statement, has times that each library stores in its own format
)

// Reason is the likely reason of a difference.
type Reason struct {
	Evidence Evidence `json:"evidence"`
	Side     int      `json:"side,omitempty"` // that does something special: 1 or 2; 0: not known

	Feature string `json:"feature,omitempty"` // or setting
	First   string `json:"first,omitempty"`   // version, options, setting, or a time as text, of each side
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
	if d.Kind == ErrorType || d.Kind == ErrorText {
		return Reason{Evidence: ByDriver}
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
	at     statementOf
	tables []string // that it wrote to, or with it its transaction
	as     Evidence
}

// transactionOf identifies a transaction within its workload.
type transactionOf struct {
	phase  string
	number int
}

// transaction returns the transaction of an answer. It is zero if there is none.
func transaction(a *protocol.Answer) transactionOf {
	if a.Transaction == 0 {
		return transactionOf{}
	}
	return transactionOf{a.Phase, a.Transaction}
}

// writtenIn lists the tables that each transaction wrote to on either side. The side that
// failed did not come to all of them.
func writtenIn(sides ...*Work) map[transactionOf][]string {
	wrote := map[transactionOf][]string{}
	for _, w := range sides {
		for i := range w.Answers {
			a := &w.Answers[i]
			t := transaction(a)
			if t == (transactionOf{}) {
				continue
			}
			for _, name := range tables(a.SQL) {
				if !slices.Contains(wrote[t], name) {
					wrote[t] = append(wrote[t], name)
				}
			}
		}
	}
	return wrote
}

// tableName matches the name of a table that a statement creates or changes. ON is
// followed by one in CREATE INDEX and CREATE TRIGGER.
var tableName = regexp.MustCompile(`(?i)\b(INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM|TABLE|VIEW|INDEX|ON)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?["` + "`" + `\[]?(\w+)`)

// notTables are the words that follow the same words in other clauses: ON CONFLICT DO UPDATE
// SET, ON DELETE CASCADE.
var notTables = []string{"CONFLICT", "SET", "DELETE", "UPDATE"}

// tables returns the tables that a statement creates or changes.
func tables(sql string) (list []string) {
	if driver.ReturnsRows(sql) && !strings.Contains(strings.ToUpper(sql), "RETURNING") {
		return nil
	}
	creates := firstWord(sql) == "CREATE"
	for _, m := range tableName.FindAllStringSubmatch(sql, -1) {
		ofJoin := strings.EqualFold(m[1], "ON") && !creates
		if !ofJoin && !slices.Contains(notTables, strings.ToUpper(m[2])) {
			list = append(list, m[2])
		}
	}
	return list
}

// mentions reports whether a statement has the name of a table, as a whole word.
func mentions(sql, table string) bool {
	sql, table = strings.ToLower(sql), strings.ToLower(table)
	for from := 0; ; {
		i := strings.Index(sql[from:], table)
		if i < 0 {
			return false
		}
		begin := from + i
		end := begin + len(table)
		if (begin == 0 || !inWord(sql[begin-1])) && (end == len(sql) || !inWord(sql[end])) {
			return true
		}
		from = end
	}
}

// inWord reports whether a byte of a lower-case text is one of those that `\w` matches.
func inWord(b byte) bool { return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' }

// follows returns how an earlier statement explains a difference, because it, or its
// transaction, changed the same table on one side only. It returns "" if none does.
func follows(failed []earlier, d *Difference, x, y *protocol.Answer, why Reason) Evidence {
	if d.Cause != None && d.Cause != Rounding && d.Cause != Null || !ofContent(d) {
		return ""
	}
	for _, f := range failed {
		if f.at == of(x).statementOf && d.Kind == Errors { // it goes on failing by itself
			continue
		}
		for _, t := range f.tables {
			if mentions(x.SQL, t) && !ownFailure(d, t) {
				return f.as
			}
		}
	}
	// What refers to rows that were rolled back fails without naming their table.
	if d.Kind == Errors && why.Evidence != BySetting && (foreignKey(x) || foreignKey(y)) &&
		slices.ContainsFunc(failed, func(f earlier) bool { return f.as == ByTransaction && f.at != of(x).statementOf }) {
		return ByTransaction
	}
	return ""
}

// ofContent reports whether a difference may come of what is in the database.
func ofContent(d *Difference) bool {
	return slices.Contains([]Kind{Errors, RowCount, Values, Order, Affected, LastInsertID}, d.Kind)
}

func foreignKey(a *protocol.Answer) bool {
	return a.Error != nil && a.Error.Code == driver.CodeConstraint|3<<8
}

// ownFailure reports whether a difference is an error that does not come of a missing
// table.
func ownFailure(d *Difference, table string) bool {
	missing := "no such table: " + table
	return d.Kind == Errors && !strings.Contains(d.First, missing) && !strings.Contains(d.Second, missing)
}

// formatsOf returns the reason of differences that come of times, with the first that the
// sides store differently. It is nil if they store all alike.
func formatsOf(x, y *Work) *Reason {
	for i := range min(len(x.Times), len(y.Times)) {
		if x.Times[i] != y.Times[i] {
			return &Reason{Evidence: ByTimes, First: x.Times[i], Second: y.Times[i]}
		}
	}
	return nil
}

// hasTime reports whether an answer is to a statement with a time.Time as argument.
func hasTime(a *protocol.Answer) bool {
	return slices.ContainsFunc(a.Arguments, func(v protocol.Value) bool { return v.Type == "time.Time" })
}

// createsStore matches a statement that writes no rows, whatever tables it mentions.
var createsStore = regexp.MustCompile(`(?i)^\s*CREATE\s+(?:TEMP\w*\s+|VIRTUAL\s+|UNIQUE\s+)*(?:TABLE|INDEX)\b`)

// timedTables lists the tables that times were written to, and what was written from these.
func timedTables(formats *Reason, sides ...*Work) (list []string) {
	if formats == nil {
		return nil
	}
	timed := map[string]bool{} // by SQL
	for _, w := range sides {
		for i := range w.Answers {
			timed[w.Answers[i].SQL] = timed[w.Answers[i].SQL] || hasTime(&w.Answers[i])
		}
	}
	for more := true; more; {
		more = false
		for sql, has := range timed {
			from := !createsStore.MatchString(sql) && slices.ContainsFunc(list, func(t string) bool { return mentions(sql, t) })
			if !has && !from {
				continue
			}
			for _, t := range tables(sql) {
				if !slices.Contains(list, t) {
					list, more = append(list, t), true
				}
			}
		}
	}
	return list
}

// ofTimes reports whether a difference is likely to come of how times are stored: it is in a
// statement about them, and nothing else is known to explain it.
func ofTimes(d *Difference, x, y *protocol.Answer, timed []string, why Reason) bool {
	if d.Kind == LastInsertID && !strings.Contains(strings.ToUpper(x.SQL), "SELECT") {
		return false // IDs do not depend on what is in the rows
	}
	known := why.Evidence == ByFeature || why.Evidence == BySetting || why.Evidence == ByValues && d.Cause != Null
	if known || !ofContent(d) || d.Cause != None && d.Cause != Null {
		return false
	}
	return hasTime(x) || hasTime(y) || slices.ContainsFunc(timed, func(t string) bool { return mentions(x.SQL, t) })
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
