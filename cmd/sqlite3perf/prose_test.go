package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
)

// expressions is how many regular expressions each file outside tests has, and what
// they read. None reads sqlite3perf's own messages. What is needed again from those is a
// code, a number or a name in a field.
var expressions = map[string]reading{
	"cmd/sqlite3perf/check.go":      {1, "names of checks, by the user's own expression"},
	"cmd/sqlite3perf/workloads.go":  {1, "a workload's YAML"},
	"diff/reason.go":                {5, "SQL of workloads"},
	"docs/remake/main.go":           {1, "the documents"},
	"drivers/rqlite/given.go":       {1, "SQL"},
	"drivers/rqlite/nodes/nodes.go": {1, "rqlited's log"},
	"drivers/sqinn/sqinn.go":        {1, "sqinn's messages"},
	"dsn/dsn.go":                    {1, "data source names"},
	"dsn/options.go":                {2, "options of data source names, as the user types them"},
	"lab/child.go":                  {1, "the dump of a crash, by Go's runtime"},
	"lab/conformance/generators.go": {1, "generators' names, for columns"},
	"lab/drivers.go":                {1, "versions"},
	"lab/footprint.go":              {1, "names of files"},
	"lab/loading.go":                {5, "SQL"},
	"lab/manifest.go":               {2, "the version that another program says"},
	"lab/sql.go":                    {1, "SQLite's messages"},
	"lab/stored.go":                 {3, "SQL"},
	"lab/tags.go":                   {2, "Go sources"},
	"lab/variant.go":                {6, "drivers and their options, as the user names them"},
	"report/build.go":               {1, "arguments of a command"},
	"report/printable.go":           {1, "commands of CI systems in foreign text"},
	"report/troubles.go":            {1, "the dump of a crash, by Go's runtime"},
	"snapshot/private.go":           {6, "messages of SQLite and of libraries, which may have values"},
	"worker/driver/features.go":     {5, "SQLite's messages"},
	"worker/job/answers.go":         {1, "times as a library has stored them"},
	"worker/protocol/job.go":        {2, "pragmas and their values, as the user names them"},
	"workload/database.go":          {1, "SQL"},
	"workload/imitate/document.go":  {1, "JSON paths in the SQL of a user's database"},
	"workload/imitate/anonymous.go": {3, "texts of the schema of a user's database"},
	"workload/problem.go":           {4, "the YAML library's messages, and names in a workload"},
}

// comparisons is how many times each file outside tests searches a message for a text.
var comparisons = map[string]reading{
	"drivers/rqlite/conn.go":            {1, "SQLite's messages"},
	"lab/build.go":                      {1, "the system's messages, as the go command passes them on"},
	"lab/conformance/failures.go":       {1, "how a worker's message begins, which the protocol says"},
	"lab/process.go":                    {1, "SQLite's messages"},
	"lab/sql.go":                        {2, "SQLite's messages"},
	"report/troubles.go":                {1, "whether a message has the line that would follow it"},
	"worker/driver/drivertest/files.go": {3, "SQLite's messages"},
	"worker/job/jobtest/jobtest.go":     {2, "messages under test"},
}

type reading struct {
	calls int
	what  string
}

// TestNothingReadsOurProse checks that nothing is parsed back out of sqlite3perf's own
// messages, and that codes, metrics and reasons to stop are named by their constants.
func TestNothingReadsOurProse(t *testing.T) {
	compiled, compared := map[string]int{}, map[string]int{}
	eachFile(t, func(name string, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				switch pkg, function := called(call); {
				case pkg == "regexp" && function != "QuoteMeta":
					compiled[name]++
				case pkg == "strings" && slices.Contains([]string{"Contains", "HasPrefix", "HasSuffix", "Index", "Cut", "CutPrefix", "CutSuffix"}, function) &&
					slices.ContainsFunc(call.Args, isMessage):
					compared[name]++
				}
			}
			if code := literalCode(n); code != nil {
				t.Errorf("%s: %s is a literal: want its constant", set.Position(code.Pos()), code.Value)
			}
			return true
		})
	})
	for _, kind := range []struct {
		words string
		want  map[string]reading
		got   map[string]int
	}{{"regular expressions", expressions, compiled}, {"comparisons with messages", comparisons, compared}} {
		want := map[string]int{}
		for name, r := range kind.want {
			want[name] = r.calls
		}
		if d := cmp.Diff(want, kind.got); d != "" {
			t.Errorf("%s (-listed +found): if a new one does not read what sqlite3perf itself says, list it with what it reads\n%s", kind.words, d)
		}
	}
}

// eachFile parses every Go file of the source tree outside tests.
func eachFile(t *testing.T, visit func(name string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	source, err := lab.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(source.Root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != source.Root:
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		name, err := filepath.Rel(source.Root, path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err == nil {
			visit(filepath.ToSlash(name), set, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// called returns the package and the name of a called function.
func called(call *ast.CallExpr) (pkg, function string) {
	if s, ok := call.Fun.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name, s.Sel.Name
		}
	}
	return "", ""
}

// isMessage reports whether an expression contains a message.
func isMessage(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		found = found || ok && slices.Contains([]string{"Message", "Detail", "Error"}, s.Sel.Name)
		return true
	})
	return found
}

// literalCode finds a code, a metric or a reason to stop that is written as a
// literal in a field, a comparison, an assignment, a switch, or a call that takes one.
func literalCode(n ast.Node) *ast.BasicLit {
	coded := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return slices.Contains([]string{"code", "Code", "Metric", "Stopped"}, e.Name)
		case *ast.SelectorExpr:
			return slices.Contains([]string{"Code", "Metric", "Stopped"}, e.Sel.Name)
		}
		return false
	}
	text := func(list ...ast.Expr) *ast.BasicLit {
		for _, e := range list {
			if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING && l.Value != `""` && !strings.Contains(l.Value, ".") {
				return l
			}
		}
		return nil
	}
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if coded(n.Key) {
			return text(n.Value)
		}
	case *ast.BinaryExpr:
		if coded(n.X) {
			return text(n.Y)
		}
	case *ast.AssignStmt:
		if coded(n.Lhs[0]) {
			return text(n.Rhs[0])
		}
	case *ast.SwitchStmt:
		for _, c := range n.Body.List {
			if l := text(c.(*ast.CaseClause).List...); coded(n.Tag) && l != nil {
				return l
			}
		}
	case *ast.CompositeLit:
		if x, ok := n.Type.(*ast.Ident); ok && slices.Contains([]string{"failure", "Fault", "Error"}, x.Name) && len(n.Elts) > 0 {
			return text(n.Elts[0])
		}
	case *ast.CallExpr:
		name := ""
		switch f := n.Fun.(type) {
		case *ast.Ident:
			name = f.Name
		case *ast.SelectorExpr:
			name = f.Sel.Name
		}
		at, ok := map[string]int{"failf": 0, "fault": 0, "doubt": 0, "warn": 0, "gives": 0, "fail": 1}[name]
		if ok && len(n.Args) > at {
			return text(n.Args[at])
		}
	}
	return nil
}
