package workload

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// dollar replaces the "$" of a parameter's name in an expression, because Go's parser does not
// accept "$".
const dollar = "ǂ"

// evaluate computes an integer expression: whole numbers, $names, + - * / and
// parentheses. Division truncates toward zero.
func evaluate(expr string, values map[string]int64) (int64, error) {
	const want = "want a whole number or an expression such as $n * 2"
	if strings.Contains(expr, dollar) {
		return 0, fmt.Errorf("bad number %q: %s", expr, want)
	}
	if len(expr) > maxExpression {
		return 0, fmt.Errorf("%d bytes are too long for a number: %s", len(expr), want)
	}
	tree, err := parser.ParseExpr(strings.ReplaceAll(expr, "$", dollar))
	if err != nil {
		return 0, fmt.Errorf("bad number %q: %s", expr, want)
	}
	v, err := walk(tree, values)
	if err != nil {
		return 0, err
	}
	if v == nil {
		return 0, fmt.Errorf("bad number %q: %s", expr, want)
	}
	n, exact := constant.Int64Val(v)
	if !exact {
		return 0, fmt.Errorf("%q is too large: want a number of at most 63 bits", expr)
	}
	return n, nil
}

// walk evaluates an expression. It returns nil if e is not an integer expression.
func walk(e ast.Expr, values map[string]int64) (constant.Value, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return walk(e.X, values)
	case *ast.BasicLit:
		if e.Kind == token.INT && (len(e.Value) == 1 || e.Value[0] != '0') {
			return constant.MakeFromLiteral(e.Value, token.INT, 0), nil
		}
	case *ast.Ident:
		name, ok := strings.CutPrefix(e.Name, dollar)
		if !ok {
			if _, known := values[e.Name]; known {
				return nil, fmt.Errorf("bad number %q: write $%s", e.Name, e.Name)
			}
			return nil, nil
		}
		v, ok := values[name]
		if !ok {
			return nil, fmt.Errorf("unknown parameter $%s: %s", name, driver.Suggest(name, slices.Sorted(maps.Keys(values))))
		}
		return constant.MakeInt64(v), nil
	case *ast.UnaryExpr:
		if e.Op == token.SUB {
			x, err := walk(e.X, values)
			if x == nil || err != nil {
				return nil, err
			}
			return constant.UnaryOp(token.SUB, x, 0), nil
		}
	case *ast.BinaryExpr:
		op := e.Op
		switch op {
		case token.ADD, token.SUB, token.MUL:
		case token.QUO:
			op = token.QUO_ASSIGN // integer division
		default:
			return nil, nil
		}
		x, err := walk(e.X, values)
		if x == nil || err != nil {
			return nil, err
		}
		y, err := walk(e.Y, values)
		if y == nil || err != nil {
			return nil, err
		}
		if op == token.QUO_ASSIGN && constant.Sign(y) == 0 {
			return nil, fmt.Errorf("division by zero")
		}
		return constant.BinaryOp(x, op, y), nil
	}
	return nil, nil
}

// number reads an integer expression, and reports a problem if its value is below the parameter "least".
func (l *resolver) number(n *yaml.Node, what string, least int64) (int64, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		l.errorf(n, "%s is %s: want a whole number or an expression such as $n * 2", what, describe(n))
		return least, false
	}
	v, err := evaluate(n.Value, l.values)
	if err != nil {
		l.errorf(n, "%s: %v", what, err)
		return least, false
	}
	if v < least {
		l.errorf(n, "%s is %d: want at least %d", what, v, least)
		return least, false
	}
	return v, true
}
