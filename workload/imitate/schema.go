package imitate

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// object is an entry of sqlite_schema.
type object struct {
	kind, name, table, sql string
}

// table is a table of the database, with what is known of its rows.
type table struct {
	object
	virtual   string // the module, in lower case
	shadow    bool   // of a virtual table
	noRowid   bool
	rowid     string // the name by which the rowid can be read; "" without one
	columns   []*column
	indexes   []*index
	foreign   []*foreign
	rows      int64
	content   *table // FTS: the table whose rows it indexes
	contents  string // FTS: the option content, if there is one
	whole     bool   // its rows are not written by anybody else, so they are inserted
	set       string // the name of its data set
	sample    reservoir[[]any]
	composite *index         // the unique index of several columns that the rows must satisfy
	siblings  []*column      // the last columns of other unique indexes whose first columns are the same
	violated  map[int]string // why the workload lacks CHECK constraints, by their numbers
	packed    bool           // its pages are full, as after insertion in the order of the key
}

// column is a column that is inserted.
type column struct {
	name     string
	declared string // the type, in upper case
	affinity string
	notNull  bool
	key      int // its place in the primary key, from 1, or 0
	rowid    bool
	unique   bool     // no two rows have the same value, by the schema
	foreign  *foreign // of which it is part
	prose    bool     // its words are indexed
	stats    columnStats
	names    map[string]string // what values of a column with few are called in the workload
}

// index is an index or a key.
type index struct {
	name    string
	origin  string // c: CREATE INDEX; u: UNIQUE; pk: PRIMARY KEY
	unique  bool
	partial string // the condition as in the database
	columns []*column
	whole   bool       // it has no expressions
	groups  []distinct // of the first column, the first two, …
	changes []int64    // how often these differ from the row before
	last    []uint64   // the hashes of the row before
	sibling bool       // rows that satisfy the table's composite satisfy it, too
	loose   string     // why the workload has it without UNIQUE; "" if it has it as it is
}

// foreign is a foreign key.
type foreign struct {
	parent  *table
	columns []*column // of the child
	to      []*column // of the parent
}

func (t *table) column(name string) *column {
	i := slices.IndexFunc(t.columns, func(c *column) bool { return strings.EqualFold(c.name, name) })
	if i < 0 {
		return nil
	}
	return t.columns[i]
}

// named returns what a value of the table is called in the workload.
func (t *table) named(value string) (string, bool) {
	for _, c := range t.columns {
		if name, ok := c.names[value]; ok {
			return name, true
		}
	}
	return "", false
}

// schema is a database's schema.
type schema struct {
	objects  []object // in the order in which they were created
	tables   []*table
	analyzed bool
	encoding string
	pageSize int64
	vacuum   int64 // auto_vacuum
	log      bool  // a write-ahead log
	bytes    int64 // without free pages
	free     int64
	literals map[string]string // what stands for texts of the schema
}

func (s *schema) table(name string) *table {
	i := slices.IndexFunc(s.tables, func(t *table) bool { return strings.EqualFold(t.name, name) })
	if i < 0 {
		return nil
	}
	return s.tables[i]
}

// all reads the rows of a query.
func all(ctx context.Context, db *sql.DB, query string, args []any, dest func() []any, row func() error) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dest()...); err != nil {
			return err
		}
		if err := row(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// readSchema reads what the database's tables are, not their rows.
func readSchema(ctx context.Context, db *sql.DB) (*schema, error) {
	s := &schema{literals: map[string]string{}}
	var o object
	err := all(ctx, db, `SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY rowid`, nil,
		func() []any { return []any{&o.kind, &o.name, &o.table, &o.sql} }, func() error {
			s.analyzed = s.analyzed || o.name == "sqlite_stat1"
			if o.sql != "" && !strings.HasPrefix(o.name, "sqlite_") {
				s.objects = append(s.objects, o)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	var pages, free int64
	for name, dest := range map[string]any{"encoding": &s.encoding, "page_size": &s.pageSize, "auto_vacuum": &s.vacuum, "page_count": &pages, "freelist_count": &free} {
		if err := db.QueryRowContext(ctx, "PRAGMA "+name).Scan(dest); err != nil {
			return nil, fmt.Errorf("PRAGMA %s: %w", name, err)
		}
	}
	s.bytes, s.free = (pages-free)*s.pageSize, free*s.pageSize
	for _, o := range s.objects {
		if o.kind == "table" {
			s.tables = append(s.tables, &table{object: o})
		}
	}
	for _, t := range s.tables {
		if err := t.read(ctx, db); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	for _, t := range s.tables {
		if t.virtual == "" {
			continue
		}
		for _, other := range s.tables {
			if other.virtual == "" && strings.HasPrefix(strings.ToLower(other.name), strings.ToLower(t.name)+"_") {
				other.shadow = other.shadow || isShadow(t.virtual, other.name[len(t.name)+1:])
			}
		}
	}
	for _, t := range s.tables {
		if err := s.keys(ctx, db, t); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return s, nil
}

// shadows are the tables in which virtual tables keep what they have.
var shadows = map[string][]string{
	"fts3": {"content", "segments", "segdir", "docsize", "stat"}, "fts4": {"content", "segments", "segdir", "docsize", "stat"},
	"fts5": {"content", "data", "idx", "docsize", "config"}, "rtree": {"node", "rowid", "parent"}, "rtree_i32": {"node", "rowid", "parent"},
	"geopoly": {"node", "rowid", "parent"},
}

func isShadow(module, suffix string) bool {
	list, known := shadows[module]
	return !known || slices.Contains(list, strings.ToLower(suffix))
}

// read reads the columns and indexes of a table.
func (t *table) read(ctx context.Context, db *sql.DB) error {
	tokens := significant(t.sql)
	if len(tokens) > 1 && tokens[1].is("VIRTUAL") {
		for i, token := range tokens {
			if token.is("USING") && i+1 < len(tokens) {
				t.virtual = strings.ToLower(tokens[i+1].name())
			}
		}
		t.options(tokens)
	}
	if t.virtual != "" && shadows[t.virtual] == nil {
		return nil // this SQLite may not have the module
	}
	if err := db.QueryRowContext(ctx, `SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?`, t.name).Scan(&t.noRowid); err != nil {
		return err
	}
	keys := 0
	var name, declared string
	var notNull bool
	var key, hidden int
	err := all(ctx, db, `SELECT name, upper(type), "notnull", pk, hidden FROM pragma_table_xinfo(?)`, []any{t.name},
		func() []any { return []any{&name, &declared, &notNull, &key, &hidden} }, func() error {
			if key > 0 {
				keys++
			}
			if hidden == 0 {
				t.columns = append(t.columns, &column{name: name, declared: declared, affinity: affinityOf(declared), notNull: notNull, key: key})
			}
			return nil
		})
	if err != nil {
		return err
	}
	for _, c := range t.columns {
		if c.key > 0 && keys == 1 && c.declared == "INTEGER" && !t.noRowid && t.virtual == "" {
			c.rowid, c.unique = true, true
		}
	}
	if !t.noRowid {
		for _, name := range []string{"rowid", "_rowid_", "oid"} {
			if t.column(name) == nil {
				t.rowid = name
				break
			}
		}
	}
	return nil
}

// options reads the option content of a full-text index.
func (t *table) options(tokens []token) {
	for i := range tokens {
		if tokens[i].is("content") && i+2 < len(tokens) && tokens[i+1].text == "=" {
			t.contents = tokens[i+2].name()
			if t.contents == "" || tokens[i+2].text == "," || tokens[i+2].text == ")" {
				t.contents = "''"
			}
		}
	}
}

func affinityOf(declared string) string {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(declared, w) })
	}
	switch {
	case has("INT"):
		return "INTEGER"
	case has("CHAR", "CLOB", "TEXT"):
		return "TEXT"
	case declared == "" || has("BLOB"):
		return "BLOB"
	case has("REAL", "FLOA", "DOUB"):
		return "REAL"
	}
	return "NUMERIC"
}

// keys reads the indexes and foreign keys of a table.
func (s *schema) keys(ctx context.Context, db *sql.DB, t *table) error {
	if t.virtual != "" || t.shadow {
		return nil
	}
	var unique, partial bool
	var name, origin string
	err := all(ctx, db, `SELECT name, "unique", origin, partial FROM pragma_index_list(?) ORDER BY seq DESC`, []any{t.name},
		func() []any { return []any{&name, &unique, &origin, &partial} }, func() error {
			x := &index{name: name, unique: unique, origin: origin, whole: true}
			if partial {
				x.partial = "1"
			}
			t.indexes = append(t.indexes, x)
			return nil
		})
	if err != nil {
		return err
	}
	for _, x := range t.indexes {
		var of sql.NullString
		err := all(ctx, db, `SELECT name FROM pragma_index_info(?) ORDER BY seqno`, []any{x.name}, func() []any { return []any{&of} }, func() error {
			c := t.column(of.String)
			if !of.Valid || c == nil { // an expression, the rowid or a generated column
				x.whole = false
				return nil
			}
			x.columns = append(x.columns, c)
			return nil
		})
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(s.objects, func(o object) bool { return o.kind == "index" && o.name == x.name }); i >= 0 && x.partial != "" {
			_, condition, _ := cutWhere(s.objects[i].sql)
			x.partial = condition
		}
		if x.unique && x.whole && len(x.columns) == 1 && x.partial == "" {
			x.columns[0].unique = true
		}
	}
	byOrigin := slices.Clone(t.indexes) // the primary key first, then constraints
	slices.SortStableFunc(byOrigin, func(x, y *index) int {
		return slices.Index(origins, x.origin) - slices.Index(origins, y.origin)
	})
	for _, x := range byOrigin {
		if x.unique && x.whole && len(x.columns) > 1 && t.composite == nil && x.partial == "" && !slices.ContainsFunc(x.columns, func(c *column) bool { return c.unique }) {
			t.composite = x
			x.groups, x.changes, x.last = make([]distinct, len(x.columns)), make([]int64, len(x.columns)), make([]uint64, len(x.columns))
		}
	}
	for _, x := range t.indexes {
		if x == t.composite || !x.unique || !x.whole || x.partial != "" || t.composite == nil || len(x.columns) != len(t.composite.columns) {
			continue
		}
		last := len(x.columns) - 1
		if slices.Equal(x.columns[:last], t.composite.columns[:last]) && !slices.Contains(t.parts(), x.columns[last]) {
			t.siblings = append(t.siblings, x.columns[last])
			x.sibling = true
		}
	}
	byID := map[int]*foreign{}
	var ids []int
	var id int
	var parent, from string
	var to sql.NullString
	err = all(ctx, db, `SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq`, []any{t.name},
		func() []any { return []any{&id, &parent, &from, &to} }, func() error {
			f := byID[id]
			if f == nil {
				f = &foreign{parent: s.table(parent)}
				byID[id] = f
				ids = append(ids, id)
			}
			f.columns = append(f.columns, t.column(from))
			var target *column
			if f.parent != nil {
				target = f.parent.column(to.String)
				if !to.Valid {
					i := slices.IndexFunc(f.parent.columns, func(c *column) bool { return c.key == len(f.columns) })
					if i >= 0 {
						target = f.parent.columns[i]
					}
				}
			}
			f.to = append(f.to, target)
			return nil
		})
	slices.Sort(ids)
	for _, id := range ids {
		f := byID[id]
		if f.parent == nil || f.parent.virtual != "" || slices.Contains(f.columns, nil) || slices.Contains(f.to, nil) {
			continue
		}
		if slices.ContainsFunc(f.columns, func(c *column) bool { return c.foreign != nil }) {
			continue
		}
		t.foreign = append(t.foreign, f)
		for _, c := range f.columns {
			c.foreign = f
		}
	}
	return err
}

// origins are those of indexes, in the order in which generated rows satisfy them.
var origins = []string{"pk", "u", "c"}

// token is a token of SQL, or the space before one.
type token struct {
	text string
	kind tokenKind
}

type tokenKind int

const (
	space tokenKind = iota
	comment
	word
	number
	quotedText // '…'
	quotedName // "…", […] and `…`
	blobText   // x'…'
	other
)

func (t token) is(words ...string) bool {
	return t.kind == word && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, t.text) })
}

// name returns what a token in quotes contains.
func (t token) name() string {
	if t.kind != quotedText && t.kind != quotedName || len(t.text) < 2 {
		return t.text
	}
	quote := t.text[len(t.text)-1:]
	return strings.ReplaceAll(t.text[1:len(t.text)-1], quote+quote, quote)
}

// tokenize splits SQL that SQLite has accepted.
func tokenize(text string) []token {
	var list []token
	for text != "" {
		n, kind := 1, other
		switch c := text[0]; {
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			for n < len(text) && strings.IndexByte(" \t\r\n\f", text[n]) >= 0 {
				n++
			}
			kind = space
		case strings.HasPrefix(text, "--"):
			kind = comment
			if n = strings.IndexByte(text, '\n'); n < 0 {
				n = len(text)
			}
		case strings.HasPrefix(text, "/*"):
			kind = comment
			if n = strings.Index(text[2:], "*/") + 4; n < 4 {
				n = len(text)
			}
		case c == '\'' || c == '"' || c == '`' || c == '[':
			if kind = quotedName; c == '\'' {
				kind = quotedText
			}
			n = quotedLength(text)
		case (c == 'x' || c == 'X') && len(text) > 1 && text[1] == '\'':
			n, kind = 1+quotedLength(text[1:]), blobText
		case '0' <= c && c <= '9' || c == '.' && len(text) > 1 && '0' <= text[1] && text[1] <= '9':
			kind = number
			for n < len(text) && (wordByte(text[n]) || text[n] == '.' || (text[n] == '+' || text[n] == '-') && (text[n-1] == 'e' || text[n-1] == 'E') && !strings.HasPrefix(strings.ToLower(text), "0x")) {
				n++
			}
		case wordByte(c):
			kind = word
			for n < len(text) && (wordByte(text[n]) || text[n] == '$') {
				n++
			}
		}
		list = append(list, token{text[:n], kind})
		text = text[n:]
	}
	return list
}

// quotedLength returns the length of a text in quotes, in which a quote is doubled.
func quotedLength(text string) int {
	end := text[0]
	if end == '[' {
		end = ']'
	}
	for n := 1; n < len(text); n++ {
		if text[n] != end {
			continue
		}
		if end == ']' || n+1 == len(text) || text[n+1] != end {
			return n + 1
		}
		n++
	}
	return len(text)
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// significant returns the tokens without spaces and comments.
func significant(text string) []token {
	return slices.DeleteFunc(tokenize(text), func(t token) bool { return t.kind == space || t.kind == comment })
}

func join(list []token) string {
	var b strings.Builder
	for _, t := range list {
		b.WriteString(t.text)
	}
	return b.String()
}

// cutWhere cuts CREATE INDEX before the WHERE of a partial index.
func cutWhere(text string) (before, condition string, found bool) {
	list := tokenize(text)
	depth := 0
	for i, t := range list {
		switch {
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		case depth == 0 && t.is("WHERE"):
			return join(list[:i]), strings.TrimSpace(join(list[i+1:])), true
		}
	}
	return text, "", false
}

// withoutKey removes the constraint UNIQUE of several columns from CREATE TABLE.
func withoutKey(list []token, columns []*column) ([]token, bool) {
	for i := range list {
		if !list[i].is("UNIQUE") {
			continue
		}
		k, n := i+1, 0
		next := func() string {
			for k++; k < len(list) && (list[k].kind == space || list[k].kind == comment); k++ {
			}
			if k >= len(list) {
				return ""
			}
			return list[k].name()
		}
		k--
		for k++; k < len(list) && list[k].text != "("; k++ {
			if list[k].kind != space && list[k].kind != comment {
				break
			}
		}
		if k >= len(list) || list[k].text != "(" {
			continue
		}
		for ; n < len(columns) && strings.EqualFold(next(), columns[n].name); n++ {
			if name := next(); name != "," {
				n++
				break
			}
		}
		if n != len(columns) || k >= len(list) || list[k].text != ")" {
			continue
		}
		from := i
		back := func(at int) int {
			for at--; at >= 0 && (list[at].kind == space || list[at].kind == comment); at-- {
			}
			return at
		}
		if at := back(from); at > 0 && list[at].text != "," {
			if at = back(at); at >= 0 && list[at].is("CONSTRAINT") {
				from = at
			}
		}
		if at := back(from); at >= 0 && list[at].text == "," {
			from = at
		}
		return slices.Delete(slices.Clone(list), from, k+1), true
	}
	return list, false
}

// anonymous returns SQL of the schema without values: texts and numbers in it become others
// of the same length. What it keeps are names, types, the options of virtual tables, paths
// of JSON, formats of dates, and the numbers of expressions that are computed.
func (s *schema) anonymous(o object) string {
	list := tokenize(o.sql)
	if o.kind == "table" && len(significant(o.sql)) > 1 && significant(o.sql)[1].is("VIRTUAL") {
		return o.sql
	}
	known := s.known()
	t := s.table(o.table)
	depth, where, generated, check := 0, o.kind != "table" && o.kind != "index", 0, 0
	defaults := false // directly after DEFAULT
	for i := range list {
		switch tok := &list[i]; {
		case tok.kind == space:
			continue
		case tok.kind == comment:
			tok.text = " "
			continue
		case tok.text == "(":
			depth++
		case tok.text == ")":
			if depth--; depth < generated {
				generated = 0
			}
			if depth < check {
				check = 0
			}
		case o.kind == "index" && depth == 0 && tok.is("WHERE"):
			where = true
		case o.kind == "table" && tok.is("AS"):
			generated = depth + 1
		case o.kind == "table" && tok.is("CHECK"):
			check = depth + 1
		case tok.kind == quotedText && known[strings.ToLower(tok.name())]: // a name
		case check > 0 && slices.Contains(storageClasses, tok.name()):
		case tok.kind == quotedText:
			tok.text = quoteText(s.replaced(t, tok.name()))
		case tok.kind == blobText:
			tok.text = "x'" + strings.Repeat("00", (len(tok.text)-3)/2) + "'"
		case tok.kind == quotedName && tok.text[0] == '"' && (defaults || (where || generated > 0 || check > 0 || o.kind == "index" && depth > 0) && !known[strings.ToLower(tok.name())]):
			if defaults || !after(list[:i], "AS") {
				tok.text = quoteText(s.replaced(t, tok.name())) // a text that is written as a name
			}
		case tok.kind == number && check > 0:
			tok.text = t.roundedNumber(tok.text)
		case tok.kind == number && (where || defaults):
			tok.text = t.replacedNumber(tok.text)
		}
		defaults = list[i].is("DEFAULT") || defaults && (list[i].text == "(" || list[i].text == "-" || list[i].text == "+")
	}
	return join(list)
}

// storageClasses are what typeof returns.
var storageClasses = []string{"null", "integer", "real", "text", "blob"}

// after reports whether the last word is the given one.
func after(list []token, words ...string) bool {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].kind != space && list[i].kind != comment {
			return list[i].is(words...)
		}
	}
	return false
}

// known returns the names of the schema, in lower case.
func (s *schema) known() map[string]bool {
	known := map[string]bool{"rowid": true, "new": true, "old": true, "binary": true, "nocase": true, "rtrim": true}
	for _, o := range s.objects {
		known[strings.ToLower(o.name)] = true
		for i, list := 0, significant(o.sql); i < len(list); i++ {
			if i > 0 && list[i-1].is("AS") {
				known[strings.ToLower(list[i].name())] = true // an alias
			}
		}
	}
	for _, t := range s.tables {
		for _, c := range t.columns {
			known[strings.ToLower(c.name)] = true
		}
	}
	return known
}

// format matches what strftime and printf take, unless it has words.
var format = regexp.MustCompile(`^%[-+ 0-9.]*[A-Za-z%](%[-+ 0-9.]*[A-Za-z%]|[^A-Za-z0-9%]|[TZ])*$`)

// replaced returns what stands for a text of the schema, always the same.
func (s *schema) replaced(t *table, text string) string {
	switch {
	case text == "" || strings.HasPrefix(text, "$") || format.MatchString(text):
		return text
	case t != nil:
		if name, ok := t.named("t" + text); ok {
			return name
		}
	}
	for _, t := range s.tables {
		if name, ok := t.named("t" + text); ok {
			return name
		}
	}
	if m, ok := momentOf(text); ok {
		return m.month().String()
	}
	if _, ok := s.literals[text]; !ok {
		// The letters depend on how many texts there are, not on the text.
		s.literals[text] = letters(scramble(uint64(len(s.literals))+1), len(text))
	}
	return s.literals[text]
}

func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// replacedNumber returns what stands for a number of the schema.
func (t *table) replacedNumber(text string) string {
	if t != nil {
		if name, ok := t.named("i" + text); ok {
			return name
		}
	}
	if len(text) < 2 || strings.ContainsAny(text, ".xXeE_") && len(text) < 4 {
		return text
	}
	whole, fraction, real := strings.Cut(text, ".")
	if strings.ContainsAny(text, "xXeE_") {
		whole, real = "1"+strings.Repeat("0", len(text)-1), false
	}
	whole = "1" + strings.Repeat("0", max(0, len(whole)-1))
	if real {
		return whole + "." + strings.Repeat("0", max(1, len(fraction)))
	}
	return whole
}

// roundedNumber returns what stands for a number of a CHECK: those of 1000 or more are
// rounded to a digit, as bounds that generated values may keep.
func (t *table) roundedNumber(text string) string {
	if name, ok := t.named("i" + text); ok {
		return name
	}
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return t.replacedNumber(text)
	case x < 1000 && len(text) <= 4:
		return text
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'e', 0, 64), 64)
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// letters returns n letters that depend on a hash.
func letters(hash uint64, n int) string {
	b := make([]byte, n)
	for i := range b {
		if i%8 == 0 {
			hash = scramble(hash + uint64(i) + 1)
		}
		b[i] = 'a' + byte(hash>>(i%8*8)&0xff)%26
	}
	return string(b)
}
