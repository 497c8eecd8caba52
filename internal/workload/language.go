package workload

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// Schema is the JSON Schema of workload files, for editors. The loader does not use
// the schema, because the loader checks more and reports problems in better words.
//
//go:embed workload.schema.json
var Schema []byte

// keys lists the keys that each kind of mapping in a workload file may have.
var keys = map[string][]string{
	"workload":  {"name", "about", "needs", "database", "settings", "pool", "parameters", "scales", "schema", "changes settings", "rows", "phases", "expect"},
	"scales":    {"full", "quick", "factor"},
	"rows":      {"count", "per", "query", "table", "columns"},
	"insert":    {"name", "insert", "about", "untimed", "context", "transaction", "rows per statement", "statement", "values", "expect"},
	"query":     {"name", "query", "about", "untimed", "context", "for each", "repeat", "clients", "statement", "parameters", "columns", "expect"},
	"mix":       {"name", "mix", "about", "untimed", "context", "clients", "connection", "count", "duration", "rate", "gomaxprocs", "mutex", "retry", "patience", "expect"},
	"retry":     {"attempts", "backoff"},
	"http":      {"name", "http", "about", "context", "clients", "count", "duration", "rate", "statement", "parameters", "columns", "expect"},
	"replay":    {"name", "replay", "about", "untimed", "context", "events", "clients", "speed", "statement", "expect"},
	"script":    {"name", "script", "about", "untimed", "context", "changes settings", "expect"},
	"operation": {"name", "weight", "sql", "statements", "transaction", "statement", "parameters", "columns", "expect", "results", "timeout", "mutex", "pool"},
	"statement": {"sql", "statement", "columns", "expect", "if empty", "mutex", "connection"},
	"pool":      {"writers", "readers"},
	"expect":    result.ExpectedFigures(),

	"expect of a query": append([]string{"rows", "returns"}, result.ExpectedFigures()...),
	"expect of http":    append([]string{"returns"}, result.ExpectedFigures()...),
}

// phaseKinds are the keys that determine what a phase does.
var phaseKinds = []string{"insert", "query", "mix", "http", "replay", "script"}

// generatorDef documents a generator for the loader's checks and for users.
type generatorDef struct {
	kind    string
	typ     driver.Type // type of the values; 0 if the source of the values determines it
	options []string    // keys that the generator may have, apart from its kind and the keys "nulls" and "hidden"
	form    string
	about   string
}

var generatorDefs = []generatorDef{
	{plan.GenSerial, driver.Int, []string{"step", "every"}, "serial, {serial: FIRST, step: N, every: K}", "FIRST, FIRST + N, FIRST + 2N, …; alone: 1, 2, 3, …; with every: N more after each K rows, evenly"},
	{plan.GenConst, driver.Int, nil, "7, 2.5, true, null, $n, {const: VALUE}", "the same value in every row"},
	{plan.GenInt, driver.Int, []string{"type"}, "{int: [LOW, HIGH]}, {int: [LOW, …, HIGH]}", "whole numbers, all equally likely; with more bounds, as many between any two of them; with type: bool from [0, 1]"},
	{plan.GenInt, driver.Int, []string{"type"}, "{int: {7: 3, 9: 1}}", "one of the whole numbers, with these weights"},
	{plan.GenZipf, driver.Int, []string{"skew"}, "{zipf: [LOW, HIGH], skew: S}", "whole numbers; the k-th with a probability proportional to k^-S (default 1.1)"},
	{plan.GenShuffle, driver.Int, []string{"step"}, "{shuffle: [LOW, HIGH], step: N}", "LOW, LOW + N, … up to HIGH, each once, in random order; then again"},
	{plan.GenReal, driver.Real, nil, "{real: [LOW, HIGH]}, {real: [LOW, …, HIGH]}", "real numbers, LOW included, HIGH not; with more bounds as for int"},
	{plan.GenTime, driver.Time, []string{"step"}, "{time: START, step: 1m}, {time: [FROM, TO]}", "times at equal distances, or random ones; stored as ms since 1970"},
	{plan.GenFormat, driver.Text, []string{"of"}, `{format: "user%08d", of: COLUMN}`, "text with columns of the same row in it: %d, %s, %v, %x, with a width and - or 0; %j as JSON; %F and %T, the date and the time of day of a time or of milliseconds"},
	{plan.GenText, driver.Text, nil, "{text: N}, {text: [MIN, MAX]}", "lower-case letters at random; with more bounds as for int"},
	{plan.GenWords, driver.Text, []string{"of", "skew"}, "{words: [MIN, MAX], of: SET.COLUMN, skew: S}", "words picked from a data set, with a space between them"},
	{plan.GenRepeat, driver.Text, []string{"times"}, `{repeat: "text ", times: N}`, "the same text in every row"},
	{plan.GenBlob, driver.Blob, nil, "{blob: N}, {blob: [MIN, MAX]}", "bytes at random; with more bounds as for int"},
	{plan.GenChoice, driver.Text, nil, "{choice: [a, b, c]}, {choice: {a: 3, b: 1}}", "one of the texts, all equally likely or with these weights"},
	{plan.GenList, driver.Int, nil, "{list: [3, null, 7]}", "the values in this order, again and again"},
	{plan.GenHex, driver.Text, nil, "{hex: N}", "the hex digits of N random bytes"},
	{plan.GenSHA256, driver.Text, []string{"decode"}, "{sha256: COLUMN}", "the hex SHA-256 of a text or blob of the same row; with decode: hex of the bytes that it stands for"},
	{plan.GenRef, 0, nil, "SET.COLUMN, {ref: SET.COLUMN}", "the column of the row that this one is nested in"},
	{plan.GenPick, 0, []string{"skew", "at"}, "{pick: SET.COLUMN, skew: S}", "the column of a row of any data set, at random; with a skew, its first rows more often"},
	{plan.GenPick, 0, []string{"skew", "at"}, "{pick: SET.COLUMN, at: COLUMN}", "the column of the row with the number, from 0, that a column of the same row has"},
	{plan.GenCoalesce, driver.Int, nil, "{coalesce: [COLUMN, COLUMN]}", "the first of these columns of the row that is not NULL, whatever its type"},
}

func generatorKinds() []string {
	var list []string
	for _, d := range generatorDefs {
		list = distinct.Append(list, d.kind)
	}
	return list
}

func definition(kind string) generatorDef {
	return generatorDefs[slices.IndexFunc(generatorDefs, func(d generatorDef) bool { return d.kind == kind })]
}

// options returns the keys that a generator may have in addition to the key that names its kind.
func options(kind string) []string {
	return append([]string{"nulls", "hidden"}, definition(kind).options...)
}

// checks lists the ways in which results are checked. Each entry has the syntax of a check and its
// meaning.
var checks = [][2]string{
	{"expect: {rows: N}", "each execution returns N rows"},
	{"expect: {returns: SET}", "the rows are those of a data set, every inserted column, in order"},
	{"expect: {returns: {SET: [COLUMN, SET.COLUMN]}}", "the same for these columns, of the set or of the sets that it is nested in"},
	{"expect: {p99: < 5ms, errors: 0}", "after a run, these figures are judged: of a phase or, next to phases, of all timed ones"},
	{"(always)", "every value has its declared type, and all drivers agree on the checksum of every value in order"},
}

// LanguageReference lists the keys, settings, generators and checks of the workload
// language, for a terminal.
func LanguageReference() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	title := func(words string) { fmt.Fprintf(w, "\n%s\n", words) }
	row := func(what, about string) { fmt.Fprintf(w, "  %s\t%s\n", what, about) }
	title("Keys")
	for _, k := range []string{"workload", "scales", "rows", "insert", "query", "mix", "retry", "pool", "http", "replay", "script", "operation", "statement", "expect of a query", "expect of http", "expect"} {
		what := k
		if slices.Contains(phaseKinds, k) {
			what += " phase"
		}
		row(what, strings.Join(keys[k], ", "))
	}
	title("Settings")
	for _, d := range driver.Vocabulary {
		row(d.Name, d.About+"; "+d.Want())
	}
	title("Features of SQLite that a workload needs")
	for _, f := range driver.Features {
		row(f.Key, f.Name)
	}
	title("Generators of columns and parameters")
	for _, d := range generatorDefs {
		row(d.form, d.about)
	}
	row("nulls: 5%, hidden: true", "with any of them: NULL in that share of rows; made for other columns, not inserted")
	title("Rows of the workload's database")
	row("query: SELECT …", "a data set of the rows that the database has, with columns: {id: int, name: text or null}")
	title("Checks of results")
	for _, c := range checks {
		row(c[0], c[1])
	}
	_ = w.Flush() // a strings.Builder returns no errors
	return strings.TrimPrefix(b.String(), "\n")
}
