package main

import (
	"errors"
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// word matches a long flag in a text, with the character before it.
var word = regexp.MustCompile(`[^\w-](--[A-Za-z][\w-]*)`)

// TestLibrariesNameNoFlags checks that only the packages below cmd/ and docs/ name flags. All other
// packages must describe mistakes in their own terms.
func TestLibrariesNameNoFlags(t *testing.T) {
	flags := map[string]bool{}
	root := rootCommand(cli.ProcessEnvironment())
	for _, c := range append(root.Commands(), root) {
		c.InitDefaultHelpFlag()
		c.InitDefaultVersionFlag()
		eachCommand(c, func(c *cobra.Command) {
			c.Flags().VisitAll(func(f *pflag.Flag) {
				flags["--"+f.Name], flags["-"+f.Shorthand] = true, true
			})
		})
	}
	eachFile(t, func(name string, set *token.FileSet, file *ast.File) {
		if strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "docs/") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range word.FindAllStringSubmatch(text, -1) {
				if flags[m[1]] {
					t.Errorf("%s: %s names %s, a flag of the command: return an error to which package cli can add the flag", set.Position(lit.Pos()), lit.Value, m[1])
				}
			}
			return true
		})
	})
}

func eachCommand(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, visit)
	}
}

// TestJobFlags checks that each field of a job is set by a flag of its command, except for the
// fields in the map "without".
func TestJobFlags(t *testing.T) {
	without := map[string]string{
		"every_ms": "progress, which -i sets in seconds", "pragmas": "the arguments", "keep_open": "always set", "own": "the opposite of --pool",
		"checkpoints": "only crash sets it",
	}
	root := rootCommand(cli.ProcessEnvironment())
	seen := map[string]bool{"files": true} // the command diff sets this field of protocol.Answers
	for _, job := range []any{protocol.Generate{}, protocol.Bench{}, protocol.Pragma{}, protocol.Concurrent{}, protocol.Paginate{}} {
		typ := reflect.TypeOf(job)
		c, _, err := root.Find([]string{strings.ToLower(typ.Name())})
		if err != nil {
			t.Fatal(err)
		}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			flag, ok := cli.JobFlags[name]
			seen[name] = true
			switch long, isLong := strings.CutPrefix(flag, "--"); {
			case without[name] != "" && !ok:
			case isLong && c.Flags().Lookup(long) != nil:
			case !isLong && ok && c.Flags().ShorthandLookup(flag[1:]) != nil:
			default:
				t.Errorf("%s: field %s: there is no flag %q", c.Name(), name, flag)
			}
		}
	}
	for name := range cli.JobFlags {
		if !seen[name] {
			t.Errorf("no job has a field %s", name)
		}
	}
}

func TestFlagged(t *testing.T) {
	for want, c := range map[string]struct {
		problem string
		fields  []protocol.Field
	}{
		"locked":                         {"locked", nil},
		"-r 0 -w 0: want at least one":   {"want at least one", []protocol.Field{{Name: "readers", Value: "0"}, {Name: "writers", Value: "0"}}},
		"name another (--table)":         {"name another", []protocol.Field{{Name: "table"}}},
		"by force (-w, --force)":         {"by force", []protocol.Field{{Name: "writers"}, {Name: "force"}}},
		"color red: want another (hue)":  {"want another", []protocol.Field{{Name: "color", Value: "red"}, {Name: "hue"}}},
		"-d 0s: want a duration above 0": {"want a duration above 0", []protocol.Field{{Name: "duration_ms", Value: "0s"}}},
	} {
		if got := cli.Flagged(c.fields, c.problem); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestHints(t *testing.T) {
	for want, err := range map[string]error{
		"":                                      errors.New("any"),
		": name another file with --store FILE": errors.Join(errors.New("any"), &store.UnusableError{}),
		", or name another file with --store FILE":     &store.UnusableError{Remedy: true},
		": name another directory with --worker-cache": &build.CacheError{},
	} {
		if got := hint(err); got != want {
			t.Errorf("%T: %q, want %q", err, got, want)
		}
	}
}

// TestWordedOnce checks that each of two texts that are printed in many places is written in
// only one place of the source.
func TestWordedOnce(t *testing.T) {
	places := map[string]string{
		"did you mean":          "worker/driver/settings.go",
		"there is no directory": "cmd/sqlite3perf/internal/cli/places.go",
	}
	eachFile(t, func(name string, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				for words, place := range places {
					if strings.Contains(lit.Value, words) && name != place && !strings.HasPrefix(name, "worker/job/jobtest/") {
						t.Errorf("%s has the text %q, which only %s may have", set.Position(lit.Pos()), words, place)
					}
				}
			}
			return true
		})
	})
}
