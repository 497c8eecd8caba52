package workload_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

func load(t *testing.T, name string) *workload.Workload {
	t.Helper()
	w, err := workload.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestPlansAreSound generates rows from every plan that the built-in workloads and the workloads in
// testdata/good resolve to. Before that, it encodes and decodes each plan as JSON, as the lab and
// the worker do.
func TestPlansAreSound(t *testing.T) {
	names := workload.Builtins()
	want := []string{"analytics", "complex", "concurrent", "group-by", "http-server", "large", "ledger", "locks", "locks-nested", "many", "point-read", "read-write", "real", "simple"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("built-in workloads (-want +got):\n%s", diff)
	}
	good, err := filepath.Glob("testdata/good/*.yaml")
	if err != nil || len(good) == 0 {
		t.Fatalf("%d files, %v", len(good), err)
	}
	for _, name := range append(names, good...) {
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			w := load(t, name)
			if err := validate(t, w.Source()); err != nil {
				t.Errorf("JSON Schema: %v", err)
			}
			if w.About == "" || len(w.Phases) == 0 {
				t.Errorf("about %q, %d phases", w.About, len(w.Phases))
			}
			for line := range strings.Lines(w.About) {
				if text := "  " + strings.TrimSpace(line); len(text) > 80 { // a terminal shows the file without breaking its lines
					t.Errorf("a line of %d columns: %s", len(text), text)
				}
			}
			scales := []string{"full", "quick"}
			if len(w.Factor) > 0 {
				scales = append(scales, "0.001")
			}
			for _, scale := range scales {
				cases, err := w.Cases(scale, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range cases {
					makeRows(t, w, scale, c)
				}
			}
		})
	}
}

func makeRows(t *testing.T, w *workload.Workload, scale string, c workload.Case) {
	t.Helper()
	pl, err := w.Plan(scale, c.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(pl)
	if err != nil {
		t.Fatal(err)
	}
	var p plan.Plan
	if err := json.Unmarshal(line, &p); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pl, &p, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("plan changed on its way through JSON (-want +got):\n%s", diff)
	}
	g, err := plan.NewGenerator(1, &p)
	if err != nil {
		t.Fatal(err)
	}
	var b driver.Batch
	for _, d := range p.DataSets {
		hi := min(d.Total, 100, g.RowsFitting(d.Name))
		if err := g.Fill(&b, d.Name, 0, hi); err != nil {
			t.Fatal(err)
		}
	}
	for _, ph := range p.Phases {
		if q := ph.Query; q != nil {
			if err := g.FillParameters(&b, ph.Name, q.Parameters, q.ForEach, 0, 1, 1); err != nil {
				t.Error(err)
			}
			if q.Returns != nil {
				if err := g.FillColumns(&b, q.Returns.Columns, q.Returns.Set, 0, 2); err != nil {
					t.Error(err)
				}
			}
			if strings.Count(q.SQL, "?") != len(q.Parameters) {
				t.Errorf("%d parameters for %q", len(q.Parameters), q.SQL)
			}
		}
		if m := ph.Mix; m != nil {
			for _, op := range m.Operations {
				for _, call := range op.Calls {
					if err := g.FillParameters(&b, ph.Name+"."+op.Name, call.Parameters, "", 1, 2, 10); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

// TestWarnings checks for which PRAGMAs there is a warning: those after which a setting has a value
// that the workload neither requests nor declares.
func TestWarnings(t *testing.T) {
	const file = `name: mine
settings: {synchronous: full}
schema: PRAGMA foreign_keys = ON
changes settings: {foreign_keys: on}
phases:
  - {name: script, script: VACUUM}
  - {name: query, query: SELECT 1, columns: [int]}
`
	for name, tc := range map[string]struct{ old, new, want string }{
		"declared":       {},
		"same":           {"VACUUM", "PRAGMA synchronous = 2", ""},
		"back":           {"- {name: script, script: VACUUM", "- {name: script, untimed: true, script: PRAGMA synchronous = OFF; PRAGMA synchronous = FULL", ""},
		"read":           {"VACUUM", "PRAGMA synchronous", ""},
		"declared there": {"VACUUM", "PRAGMA synchronous = OFF, changes settings: {synchronous: off}", ""},
		"declared value": {"VACUUM", "PRAGMA foreign_keys = OFF", "mine.yaml:6:28: script: PRAGMA foreign_keys makes it off, which a run refuses because it was on: write changes settings: {foreign_keys: off}, or leave the PRAGMA out"},
		"asked":          {"PRAGMA foreign_keys = ON", "PRAGMA synchronous = OFF", "mine.yaml:3:9: schema: PRAGMA synchronous makes it off, which a run refuses because it was full: write changes settings: {synchronous: off}, or leave the PRAGMA out"},
		"not asked":      {"VACUUM", "PRAGMA journal_mode = WAL", "mine.yaml:6:28: script: PRAGMA journal_mode makes it wal, which a run refuses if that changes it: write changes settings: {journal_mode: wal}, or leave the PRAGMA out"},
		"query":          {"SELECT 1", "PRAGMA synchronous = OFF", "mine.yaml:7:26: query: PRAGMA synchronous makes it off, which a run refuses because it was full: leave the PRAGMA out"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := workload.Parse("mine.yaml", []byte(strings.Replace(file, tc.old, tc.new, 1)), nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, p := range w.Warnings {
				got += p.Error()
			}
			if got != tc.want {
				t.Errorf("warnings\n%s, want\n%s", got, tc.want)
			}
		})
	}
	for _, name := range workload.Builtins() {
		if w := load(t, name); len(w.Warnings) > 0 {
			t.Errorf("%s: %v", name, w.Warnings)
		}
	}
}

// TestBuiltinsVerify checks that every query of a built-in workload, and every statement of a mix
// that returns rows, says how many rows are expected.
func TestBuiltinsVerify(t *testing.T) {
	for _, name := range workload.Builtins() {
		p, err := load(t, name).Plan("full", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, ph := range p.Phases {
			if ph.Query != nil && ph.Query.Rows < 0 {
				t.Errorf("%s: phase %s does not say how many rows it expects", name, ph.Name)
			}
			if ph.Mix == nil {
				continue
			}
			for _, op := range ph.Mix.Operations {
				for _, c := range op.Calls {
					if len(c.Columns) > 0 && c.Rows < 0 {
						t.Errorf("%s: operation %s does not say how many rows it expects", name, op.Name)
					}
				}
			}
		}
	}
}

// TestEverything checks the plan of a workload that uses all notations of the workload language.
func TestEverything(t *testing.T) {
	w := load(t, "testdata/good/everything.yaml")
	wantSettings := driver.Settings{
		"journal_mode": "wal", "synchronous": "normal", "foreign_keys": "on", "busy_timeout": "5000",
		"cache_size": "-2000", "mmap_size": "67108864", "pool_size": "2",
	}
	if diff := cmp.Diff(wantSettings, w.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	p, err := w.Plan("quick", map[string]int64{"clients": 3})
	if err != nil {
		t.Fatal(err)
	}
	wantColumns := map[string]plan.Column{
		"number":   {Type: driver.Int, Generator: plan.Generator{Kind: "serial", Low: -5, Step: 3}},
		"created":  {Type: driver.Time, Generator: plan.Generator{Kind: "time", Low: 1696118400000, High: 1696118400000, Step: 250}},
		"seen":     {Type: driver.Time, Generator: plan.Generator{Kind: "time", Low: 1696154400000, High: 1727769600000}},
		"born":     {Type: driver.Time, Generator: plan.Generator{Kind: "time", Low: -14256000000, High: -14256000000}},
		"active":   {Type: driver.Bool, Generator: plan.Generator{Kind: "int", High: 1, NullPermille: 125}},
		"rank":     {Type: driver.Int, Generator: plan.Generator{Kind: "zipf", Low: 1, High: 10, Skew: 1}},
		"score":    {Type: driver.Real, Generator: plan.Generator{Kind: "real", RealLow: -1, RealHigh: 2.5}},
		"half":     {Type: driver.Real, Generator: plan.Generator{Kind: "const", RealLow: 0.5}},
		"yes":      {Type: driver.Bool, Generator: plan.Generator{Kind: "const", Int: 1}},
		"nothing":  {Type: driver.Int, Generator: plan.Generator{Kind: "null"}},
		"batch":    {Type: driver.Int, Generator: plan.Generator{Kind: "const", Int: 2}},
		"since":    {Type: driver.Time, Generator: plan.Generator{Kind: "const", Int: 1577836800000}},
		"greeting": {Type: driver.Text, Generator: plan.Generator{Kind: "const", Text: "hello"}},
		"text":     {Type: driver.Text, Generator: plan.Generator{Kind: "text", Low: 1000, High: 1000}},
		"hundred":  {Type: driver.Text, Generator: plan.Generator{Kind: "repeat", Text: "0123456789", Times: 10}},
		"hash":     {Type: driver.Text, Generator: plan.Generator{Kind: "sha256", Of: []string{"rand"}, Hex: true}},
		"secret":   {Type: driver.Int, Hidden: true, Generator: plan.Generator{Kind: "int", Low: 1, High: 9}},
	}
	for _, c := range p.DataSets[0].Columns {
		want, ok := wantColumns[c.Name]
		if want.Name = c.Name; ok && !cmp.Equal(want, c) {
			t.Errorf("column %s (-want +got):\n%s", c.Name, cmp.Diff(want, c))
		}
		delete(wantColumns, c.Name)
	}
	if len(wantColumns) > 0 {
		t.Errorf("no columns %v", wantColumns)
	}
	if got := p.DataSets[2]; got.Name != "articles" && p.DataSets[1].Total != 20 {
		t.Errorf("data sets %+v", p.DataSets)
	}
	phases := map[string]plan.Phase{}
	for _, ph := range p.Phases {
		phases[ph.Name] = ph
	}
	wantInserts := map[string]*plan.Insert{
		"users":  {Sets: []string{"users"}, Transaction: "every", Every: 2, RowsPerStatement: 2},
		"rest":   {Sets: []string{"articles"}, Transaction: "each", RowsPerStatement: 1, AdHoc: true, TimedValues: true},
		"sets":   {Sets: []string{"users", "articles"}, Transaction: "set", RowsPerStatement: 1},
		"nested": {Sets: []string{"users", "articles"}, Transaction: "per", Per: "users", RowsPerStatement: 1},
	}
	for name, want := range wantInserts {
		if diff := cmp.Diff(want, phases[name].Insert); diff != "" {
			t.Errorf("phase %s (-want +got):\n%s", name, diff)
		}
	}
	if !phases["sets"].Untimed || phases["rest"].Context != "cancellable" {
		t.Errorf("untimed %v, context %q", phases["sets"].Untimed, phases["rest"].Context)
	}
	gen := func(g plan.Generator) *plan.Generator { return &g }
	wantQuery := &plan.Query{
		Call: plan.Call{
			SQL: "SELECT people.id, ':none', \"a:b\", articles.id -- :none\n" +
				"FROM people /* :none */ JOIN articles ON userId = people.id\n" +
				"WHERE email = ? AND name = ? AND age < ? AND active IS ? AND ? = ?",
			Parameters: []plan.Parameter{
				{Name: "email", Type: driver.Text, Column: "users.email"},
				{Name: "n", Type: driver.Text, Column: "users.name"},
				{Name: "limit", Type: driver.Int, Generator: gen(plan.Generator{Kind: "const", Int: 150})},
				{Name: "flag", Type: driver.Bool, Generator: gen(plan.Generator{Kind: "const", Int: 1})},
				{Name: "x", Type: driver.Int, Generator: gen(plan.Generator{Kind: "serial", Low: 1, Step: 1})},
				{Name: "x", Type: driver.Int, Generator: gen(plan.Generator{Kind: "serial", Low: 1, Step: 1})},
			},
			Columns: []driver.ColumnType{{Type: driver.Int}, {Type: driver.Text}, {Type: driver.Text, Nullable: true}, {Type: driver.Int}},
			Rows:    2,
		},
		ForEach: "users", Repeat: 2, Clients: 2,
	}
	if diff := cmp.Diff(wantQuery, phases["users by e-mail"].Query); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	wantReturns := &plan.Returns{Set: "articles", Columns: []string{"articles.id", "articles.userId", "articles.colour", "articles.other"}}
	q := phases["articles"].Query
	if diff := cmp.Diff(wantReturns, q.Returns); diff != "" || q.Rows != 20 {
		t.Errorf("%d rows, returns (-want +got):\n%s", q.Rows, diff)
	}
	mix := phases["closed"].Mix
	if mix.Clients != 3 || !mix.OwnConn || mix.Count != 300 || mix.Operations[0].Weight != 9 || mix.Operations[1].Weight != 1 {
		t.Errorf("mix %+v", mix)
	}
	if mix.GOMAXPROCS != 6 || !mix.Mutex || cmp.Diff(mix.Retry, &plan.Retry{Attempts: 10, BackoffUS: 1000}) != "" {
		t.Errorf("mix %+v, retry %+v", mix, mix.Retry)
	}
	write := mix.Operations[1]
	if !write.Transaction || len(write.Calls) != 2 || len(write.Calls[0].Parameters) != 2 || !write.Calls[1].AdHoc || write.Calls[1].Rows != 1 || write.Calls[0].Rows != -1 {
		t.Errorf("operation %+v", write)
	}
	if open := phases["open"].Mix; open.DurationMS != 1000 || open.Rate != 250.5 || open.OwnConn || open.Clients != 1 {
		t.Errorf("mix %+v", open)
	}
}

func TestCases(t *testing.T) {
	w := load(t, "testdata/good/everything.yaml")
	tests := []struct {
		scale string
		given map[string][]int64
		want  []map[string]int64
	}{
		{"full", nil, []map[string]int64{
			{"clients": 2, "batch": 1, "users": 1000, "size": 100},
			{"clients": 2, "batch": 10, "users": 1000, "size": 100},
		}},
		{"quick", nil, []map[string]int64{{"clients": 2, "batch": 2, "users": 10, "size": 100}}},
		{"0.5", map[string][]int64{"batch": {5}}, []map[string]int64{{"clients": 2, "batch": 5, "users": 500, "size": 100}}},
		{"0.0001", map[string][]int64{"batch": {1}, "clients": {2, 4}}, []map[string]int64{
			{"clients": 2, "batch": 1, "users": 1, "size": 100},
			{"clients": 4, "batch": 1, "users": 1, "size": 100},
		}},
	}
	for _, tt := range tests {
		cases, err := w.Cases(tt.scale, tt.given)
		if err != nil {
			t.Fatal(err)
		}
		var got []map[string]int64
		for _, c := range cases {
			got = append(got, c.Parameters)
			if want := map[int64]string{2: "2", 4: "4"}[c.Parameters["clients"]]; c.Settings["pool_size"] != want {
				t.Errorf("pool_size %s, want %s", c.Settings["pool_size"], want)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("scale %s (-want +got):\n%s", tt.scale, diff)
		}
	}
}

func TestRefusals(t *testing.T) {
	w := load(t, "testdata/good/everything.yaml")
	pl := func(scale string, params map[string]int64) error {
		_, err := w.Plan(scale, params)
		return err
	}
	cases := func(params map[string][]int64) error {
		_, err := w.Cases("full", params)
		return err
	}
	loading := func(name string) error {
		_, err := workload.Load(name)
		return err
	}
	unscaled, err := workload.Parse("u.yaml", []byte("name: u\nphases: [{name: s, script: VACUUM}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, unscaledErr := unscaled.Plan("2", nil)
	tests := []struct {
		err  error
		want string
	}{
		{pl("fast", nil), `unknown scale "fast": known are full, quick (or a number, such as 0.5, that multiplies the full scale)`},
		{pl("-1", nil), `bad scale "-1": want full, quick or a number above 0`},
		{pl("NaN", nil), `bad scale "NaN": want full, quick or a number above 0`},
		{pl("1e300", nil), `bad scale "1e300": users would be 1e+303: want a smaller number`},
		{unscaledErr, `bad scale "2": workload u has nothing to multiply: want full or quick, or name parameters under scales, such as factor: [rows]`},
		{pl("full", map[string]int64{"user": 1}), `workload everything has no parameter "user": did you mean "users"?`},
		{pl("full", map[string]int64{"batch": -1}), "testdata/good/everything.yaml:64:47: transaction: every is -1: want at least 1\n" +
			"testdata/good/everything.yaml:64:86: rows per statement is -1: want at least 1"},
		{cases(map[string][]int64{"batch": {}}), "parameter batch is given without a value: want a whole number"},
		{loading("simpel"), `unknown workload "simpel": did you mean "simple"? (a file is given as ./simpel.yaml)`},
		{loading("./nowhere.yaml"), "no workload file ./nowhere.yaml: want a file that is there, or the name of a built-in workload, such as analytics"},
	}
	for _, tt := range tests {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("error %v\nwant  %s", tt.err, tt.want)
		}
	}
}

// TestDocumentation loads every workload in the language's documentation, and validates it against the
// JSON Schema. It also checks that every key and generator occurs in the documentation and in
// LanguageReference.
func TestDocumentation(t *testing.T) {
	doc, err := os.ReadFile("../../docs/workload-language.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(name:.*?)```").FindAllSubmatch(doc, -1)
	if len(blocks) < 2 {
		t.Errorf("%d workloads in the documentation", len(blocks))
	}
	for _, b := range blocks {
		if _, err := workload.Parse("block.yaml", b[1], nil); err != nil {
			t.Errorf("%v in\n%s", err, b[1])
		}
		if err := validate(t, b[1]); err != nil {
			t.Errorf("JSON Schema: %v in\n%s", err, b[1])
		}
	}
	for _, k := range workload.Words() {
		if !strings.Contains(string(doc), "`"+k+"`") && !strings.Contains(string(doc), k+":") {
			t.Errorf("%q is not documented", k)
		}
		if !strings.Contains(workload.LanguageReference(), k) {
			t.Errorf("%q is not in the reference", k)
		}
	}
}

// TestSQLFileThatIsALink checks that a link in the workload's directory cannot be used
// to read a file elsewhere.
func TestSQLFileThatIsALink(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere.sql")
	if err := os.WriteFile(elsewhere, []byte("CREATE TABLE t (id INTEGER)"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "own.sql"), []byte("CREATE TABLE t (id INTEGER)"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"inside.sql": "own.sql", "outside.sql": elsewhere} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, link+".yaml")
		text := "name: x\nschema: " + link + "\nphases: [{name: p, script: ANALYZE}]\n"
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := workload.Load(file)
		if outside := link == "outside.sql"; outside != (err != nil) || outside && !strings.Contains(err.Error(), `cannot read the file "outside.sql": want a file in the workload's directory, or below`) {
			t.Errorf("%s: %v", link, err)
		}
	}
}

// TestUnset checks that Unset returns the settings that a workload leaves to the drivers.
func TestUnset(t *testing.T) {
	for _, name := range workload.Builtins() {
		w := load(t, name)
		want := driver.Settings{}
		if name == "ledger" { // it sets neither journal_mode nor synchronous, because sqlite3perf crash also explores the defaults of drivers
			want = driver.Settings{"journal_mode": "wal", "synchronous": "normal"}
		}
		if diff := cmp.Diff(want, w.Unset(w.Settings)); diff != "" {
			t.Errorf("%s leaves settings to the drivers (-want +got):\n%s", name, diff)
		}
	}
	for _, tc := range []struct {
		settings, schema string
		want             driver.Settings
	}{
		{"{}", "CREATE TABLE t (a)", driver.Settings{"journal_mode": "wal", "synchronous": "normal"}},
		{"{pool_size: 2}", "CREATE TABLE t (a references u)", driver.Settings{"busy_timeout": "5s", "journal_mode": "wal", "synchronous": "normal", "foreign_keys": "on"}},
		{"{journal_mode: wal, foreign_keys: off}", "CREATE TABLE t (a REFERENCES u)", driver.Settings{"synchronous": "normal"}},
		{"{journal_mode: delete, busy_timeout: 0, pool_size: 2}", "CREATE TABLE t (a)", driver.Settings{"synchronous": "full"}},
		{"{mode: memory}", "CREATE TABLE t (a)", driver.Settings{}},
		{"{}", "PRAGMA synchronous=off\nchanges settings: {synchronous: off}", driver.Settings{"journal_mode": "wal"}},
	} {
		w, err := workload.Parse("w.yaml", []byte("name: w\nsettings: "+tc.settings+"\nschema: "+tc.schema+"\nphases: [{name: s, script: VACUUM}]\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, w.Unset(w.Settings)); diff != "" {
			t.Errorf("%s, %s: (-want +got):\n%s", tc.settings, tc.schema, diff)
		}
	}
}

// TestNeedsFound checks the features that a workload needs: those that it declares, and the modules
// of the virtual tables created by its SQL and its recording.
func TestNeedsFound(t *testing.T) {
	const file = `name: mine
needs: [math]
schema: CREATE TABLE t(x)
phases:
  - {name: script, script: VACUUM}
`
	failed := strings.Replace(statements("CREATE VIRTUAL TABLE c USING fts5(x)", "SELECT 1"), `"affected":0`, `"error":{"code":1}`, 1)
	for name, tc := range map[string]struct{ old, new, recording, want string }{
		"declared":    {want: "math"},
		"schema":      {"CREATE TABLE t(x)", "CREATE VIRTUAL TABLE a USING FTS5(x); CREATE VIRTUAL TABLE b USING fts5(x)", "", "math fts5"},
		"script":      {"VACUUM", `'CREATE VIRTUAL TABLE IF NOT EXISTS main.r USING "rtree"(id, low, high)'`, "", "math rtree"},
		"both":        {"needs: [math]\nschema: CREATE TABLE t(x)", "needs: [rtree]\nschema: CREATE VIRTUAL TABLE r USING rtree(id, low, high)", "", "rtree"},
		"not virtual": {"VACUUM", "CREATE TABLE t(fts5); DELETE FROM t -- CREATE VIRTUAL TABLE a USING fts5(x)", "", "math"},
		"recording":   {"script: VACUUM", "replay: app.jsonl", statements("CREATE VIRTUAL TABLE c USING fts5(x)", "SELECT 1"), "math fts5"},
		"it failed":   {"script: VACUUM", "replay: app.jsonl", failed, "math"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := workload.Parse("mine.yaml", []byte(strings.Replace(file, tc.old, tc.new, 1)), fstest.MapFS{"app.jsonl": {Data: []byte(tc.recording)}})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(w.Needs, " "); got != tc.want || len(w.Warnings) > 0 {
				t.Errorf("it needs %q, with the warnings %v: want %q and none", got, w.Warnings, tc.want)
			}
		})
	}
}
