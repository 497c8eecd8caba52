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

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestCodes checks that the source uses constants, not literals, for codes, metrics and reasons to stop.
func TestCodes(t *testing.T) {
	eachFile(t, func(_ string, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if code := literalCode(n); code != nil {
				t.Errorf("%s: %s is a literal: want its constant", set.Position(code.Pos()), code.Value)
			}
			return true
		})
	})
}

// eachFile parses every Go file of the source tree except tests, and calls the parameter "visit"
// for it.
func eachFile(t *testing.T, visit func(name string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	source, err := build.FindSource("")
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

// literalCode finds a literal that is used as a code, a metric or a reason to stop. The literal may be
// the value of a field, or be in a comparison, an assignment, a switch, or a call of a function with
// such a parameter. literalCode returns nil if the node n itself has no such literal.
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
