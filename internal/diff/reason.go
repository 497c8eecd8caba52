package diff

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Evidence says on what a likely reason is based.
type Evidence string

// The kinds of evidence.
const (
	ByValues  Evidence = "values"         // the differing values show the cause
	ByFeature Evidence = "feature"        // the SQLite of one side lacks a feature
	BySetting Evidence = "setting"        // a setting that decides the answer has different values
	ByVersion Evidence = "sqlite version" // the versions of SQLite differ
	ByOption  Evidence = "compile option" // the versions of SQLite are the same, but compile options differ
	ByDriver  Evidence = "driver"         // SQLite does not decide what differs, or both sides have the same SQLite with the same options
	ByEarlier Evidence = "earlier"        // only one side could run an earlier statement about the same table

	// ByTransaction means that one side rolled back an earlier transaction that had written to the same
	// table, because it could not run another statement of the transaction.
	ByTransaction Evidence = "transaction"

	ByTimes Evidence = "times" // the table or the statement has times, which each library stores in its own format
)

// Reason is the likely reason of a difference.
type Reason struct {
	Evidence Evidence `json:"evidence"`
	Side     int      `json:"side,omitempty"` // side that causes the difference: 1 or 2; 0 if unknown

	Feature string `json:"feature,omitempty"` // name of an SQLite feature, or name of a setting
	First   string `json:"first,omitempty"`   // version, options, setting, or time as text, of the first side
	Second  string `json:"second,omitempty"`
}

// reason returns the likely reason for a difference between the answers x and y. It considers the answers,
// and the versions and settings that the workers of the two sides reported (p and q).
func reason(d *Difference, x, y *protocol.Answer, p, q *protocol.Proof) Reason {
	computed := (d.Cause == Text || d.Cause == Number) && d.Declared == "" // SQLite computed the value; it is not from a column
	if d.Cause != None && d.Cause != Rounding && (!computed || sameSQLite(p, q)) {
		return Reason{Evidence: ByValues, Side: special(d)}
	}
	if r, ok := option(x, p, q); ok && (d.Kind == Values || d.Kind == RowCount || d.Kind == Errors) {
		return r
	}
	switch {
	case computed:
	case d.Kind == Names && d.First == `""` && d.Second != `""`: // the first side's library has dropped the name, because SQLite gives every column a name
		return Reason{Evidence: ByDriver, Side: 1}
	case d.Kind == Names && d.First != `""` && d.Second == `""`:
		return Reason{Evidence: ByDriver, Side: 2}
	case slices.Contains([]Kind{ErrorType, ErrorText, Types, Declared}, d.Kind),
		slices.Contains([]Kind{Names, Affected, LastInsertID}, d.Kind) && sameSQLite(p, q):
		return Reason{Evidence: ByDriver}
	case d.Kind == Errors:
		if r, ok := failure(x, y, p, q); ok {
			return r
		}
	}
	return versions(p, q)
}

// special returns the side whose library converts a value. It returns 0 if the types do not show the side.
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

// failure returns the likely reason why two answers have different errors, or why only one of them has an
// error. The second result is false if the errors do not show a reason.
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

// codeMisuse is SQLITE_MISUSE, which libraries also return for calls that they refuse themselves.
const codeMisuse = 21

// deciding maps a result code to a setting. If the setting is off, SQLite never returns the code.
var deciding = map[int]string{driver.CodeConstraint | 3<<8: "foreign_keys"}

// optionOf maps a compile option to a pattern. The option may change the answers to SQL that matches the
// pattern.
var optionOf = map[string]*regexp.Regexp{
	"LIKE_DOESNT_MATCH_BLOBS": regexp.MustCompile(`(?i)\bLIKE\b`),
	"CASE_SENSITIVE_LIKE":     regexp.MustCompile(`(?i)\bLIKE\b`),
	"DQS":                     regexp.MustCompile(`"`),
}

// option looks for a compile option that differs between the sides and may change the answer a. It returns
// this option as the reason, or false if there is none.
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

// optionIn returns the entry of PRAGMA compile_options for the option with the given name, such as "DQS=0".
// It returns "" if the option is not set.
func optionIn(p *protocol.Proof, name string) string {
	for _, o := range p.CompileOptions {
		if o == name || strings.HasPrefix(o, name+"=") {
			return o
		}
	}
	return ""
}

// earlier is an earlier statement that only one of the sides could run.
type earlier struct {
	at     statementOf
	tables []string // tables that the statement wrote; with [ByTransaction], all tables that its transaction wrote
	as     Evidence
}

// transactionOf identifies a transaction within its workload. The number is 0 outside transactions.
type transactionOf struct {
	phase  string
	number int
}

// reasons finds the likely reasons of differences in the answers to one workload. Differences must
// be passed in the order of execution.
type reasons struct {
	first, second *Work
	failed        []earlier
	wrote         map[transactionOf][]string // tables that a transaction wrote to on either side
	formats       *Reason                    // the reason [ByTimes]; nil if both sides store times alike
	timed         []string                   // tables that contain times
}

func newReasons(first, second *Work) *reasons {
	r := &reasons{first: first, second: second, wrote: map[transactionOf][]string{}}
	for _, w := range []*Work{first, second} { // both sides, because the side that failed did not run all statements
		for _, a := range w.Answers {
			t := transactionOf{a.Phase, a.Transaction}
			if t.number != 0 {
				r.wrote[t] = distinct.Append(r.wrote[t], tables(a.SQL)...)
			}
		}
	}
	for i := range min(len(first.Times), len(second.Times)) {
		if first.Times[i] != second.Times[i] {
			r.formats = &Reason{Evidence: ByTimes, First: first.Times[i], Second: second.Times[i]}
			r.timed = timedTables(first, second)
			break
		}
	}
	return r
}

// The method "of" returns the likely reason of a difference. If only one side could run the statement,
// it notes that for later statements.
func (r *reasons) of(d *Difference, x, y *protocol.Answer) Reason {
	why := reason(d, x, y, r.first.Proof, r.second.Proof)
	if e := follows(r.failed, d, x, y, why); e != "" {
		why = Reason{Evidence: e}
	} else if r.formats != nil && ofTimes(d, x, y, r.timed, why) {
		why = *r.formats
	}
	if d.Kind == Errors && (x.Error == nil || y.Error == nil) {
		at := of(x).statementOf
		r.failed = append(r.failed, earlier{at, tables(x.SQL), ByEarlier})
		if x.Transaction != 0 {
			r.failed = append(r.failed, earlier{at, r.wrote[transactionOf{x.Phase, x.Transaction}], ByTransaction})
		}
	}
	return why
}

// tableName matches the name of a table that a statement creates or changes. In CREATE INDEX and
// CREATE TRIGGER the name follows ON.
var tableName = regexp.MustCompile(`(?i)\b(INTO|UPDATE(?:\s+OR\s+\w+)?|DELETE\s+FROM|TABLE|VIEW|INDEX|ON)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?["` + "`" + `\[]?(\w+)`)

// notTables are words that tableName matches although they are not tables, as in ON CONFLICT DO UPDATE SET
// and ON DELETE CASCADE.
var notTables = []string{"CONFLICT", "SET", "DELETE", "UPDATE"}

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

// mentions reports whether a statement contains the name of a table as a word.
func mentions(sql, table string) bool {
	table = strings.ToLower(table)
	for word := range strings.FieldsFuncSeq(strings.ToLower(sql), outsideWord) {
		if word == table {
			return true
		}
	}
	return false
}

// outsideWord reports whether a character of a lower-case text is not part of a word, like `\W` in a regular
// expression.
func outsideWord(c rune) bool { return c != '_' && (c < '0' || '9' < c) && (c < 'a' || 'z' < c) }

// follows returns evidence that an earlier statement explains a difference, because the
// statement or its transaction changed the same table on one side only. It returns "" if no
// statement explains the difference.
func follows(failed []earlier, d *Difference, x, y *protocol.Answer, why Reason) Evidence {
	if d.Cause != None && d.Cause != Rounding && d.Cause != Null || !ofContent(d) {
		return ""
	}
	for _, f := range failed {
		if f.at == of(x).statementOf && d.Kind == Errors { // an earlier failure of the same statement explains nothing
			continue
		}
		for _, t := range f.tables {
			if mentions(x.SQL, t) && !ownFailure(d, t) {
				return f.as
			}
		}
	}
	// A foreign key may refer to rows that were rolled back. The statement that fails does not name their
	// table.
	if d.Kind == Errors && why.Evidence != BySetting && (foreignKey(x) || foreignKey(y)) &&
		slices.ContainsFunc(failed, func(f earlier) bool { return f.as == ByTransaction && f.at != of(x).statementOf }) {
		return ByTransaction
	}
	return ""
}

// ofContent reports whether a difference may come from different content of the databases.
func ofContent(d *Difference) bool {
	return slices.Contains([]Kind{Errors, RowCount, Values, Order, Affected, LastInsertID}, d.Kind)
}

func foreignKey(a *protocol.Answer) bool {
	return a.Error != nil && a.Error.Code == driver.CodeConstraint|3<<8
}

// ownFailure reports whether a difference is between errors, and neither error says that the table is
// missing.
func ownFailure(d *Difference, table string) bool {
	missing := "no such table: " + table
	return d.Kind == Errors && !strings.Contains(d.First, missing) && !strings.Contains(d.Second, missing)
}

func hasTime(a *protocol.Answer) bool {
	return slices.ContainsFunc(a.Arguments, func(v protocol.Value) bool { return v.Type == "time.Time" })
}

// createsStore matches a statement that creates a table or an index. Such a statement may mention other
// tables, for example in a foreign key, but usually takes no rows from them. (CREATE TABLE … AS SELECT
// does.)
var createsStore = regexp.MustCompile(`(?i)^\s*CREATE\s+(?:TEMP\w*\s+|VIRTUAL\s+|UNIQUE\s+)*(?:TABLE|INDEX)\b`)

// timedTables lists the tables into which times were written, directly or from another such table.
func timedTables(sides ...*Work) (list []string) {
	timed := map[string]bool{} // whether a statement has times as arguments, by its SQL
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
			before := len(list)
			list = distinct.Append(list, tables(sql)...)
			more = more || len(list) > before
		}
	}
	return list
}

// ofTimes reports whether the format of times is the likely reason of a difference, because the
// statement is about times and no other reason is known.
func ofTimes(d *Difference, x, y *protocol.Answer, timed []string, why Reason) bool {
	if d.Kind == LastInsertID && !strings.Contains(strings.ToUpper(x.SQL), "SELECT") {
		return false // IDs do not depend on times
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

// versions derives the likely reason of a difference from the versions and compile options of
// SQLite.
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

// only(p, q) returns a list, separated by spaces, of the compile options that p has, that q lacks, and that
// may change answers.
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

// decides reports whether a compile option may change answers.
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
