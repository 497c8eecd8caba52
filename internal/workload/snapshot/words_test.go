package snapshot

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestPublicKeepsWorkers checks that Public keeps the constant texts of the errors of package worker, so
// that these errors remain readable.
func TestPublicKeepsWorkers(t *testing.T) {
	files, err := filepath.Glob("../../../worker/*.go")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	verb := regexp.MustCompile(`%[.\d]*[a-z]`)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch f := call.Fun.(type) {
			case *ast.Ident:
				ok = f.Name == "failf"
			case *ast.SelectorExpr:
				ok = f.Sel.Name == "Errorf" || f.Sel.Name == "New"
			}
			for _, arg := range call.Args {
				if lit, is := arg.(*ast.BasicLit); ok && is && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					text = verb.ReplaceAllString(text, "")
					if got := (&Snapshot{Schema: []string{"CREATE TABLE t (a)"}}).Public(text); got != text {
						t.Errorf("%s: %q is shown as %q", file, text, got)
					}
				}
			}
			return true
		})
	}
}
