package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestDocumentedCommands runs every command that the README and docs/ show in a console block as "$
// sqlite3perf …". The commands of a document run in the same directory, one after another, at a
// small scale. If the document shows output, the command must print the stable parts of it.
func TestDocumentedCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds all workers")
	}
	t.Parallel()
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob(filepath.Join(source.Root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(documents, filepath.Join(source.Root, "README.md")) {
		name, err := filepath.Rel(source.Root, file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			list := consoleCommands(string(text))
			if len(list) == 0 && name == "README.md" {
				t.Fatal("no command to run")
			}
			dir := t.TempDir()
			env, err := surroundings(dir)
			if err != nil {
				t.Fatal(err)
			}
			env = append(env, "SQLITE3PERF_SCALE=0.001", "SQLITE3PERF_ROUNDS=6", "SQLITE3PERF_WORKER_CACHE="+cache)
			for _, c := range list {
				line := c.line
				cmd := exec.Command("sh", "-c", line)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if errors.As(err, &exit) && exit.ExitCode() == cli.ExitIncomplete && strings.Contains(string(out), "needs a C compiler") {
					t.Logf("%s: incomplete, because there is no C compiler", line)
					continue
				}
				if err != nil {
					t.Errorf("%s: %v\n%s", line, err, out)
				}
				if strings.HasPrefix(line, "sqlite3perf concurrent") {
					continue // the errors that this command prints depend on chance
				}
				got := stable(string(out))
				for _, want := range stable(c.output) {
					i := slices.Index(got, want)
					if i < 0 {
						t.Errorf("%s: the output lacks the document's line %q, or has it too early:\n%s", line, want, out)
						break
					}
					got = got[i+1:] // other lines in between are skipped, because a slow machine also prints progress
				}
			}
			t.Logf("%d commands", len(list))
		})
	}
}

// documented is a command of a document, with the output that the document shows.
type documented struct{ line, output string }

// comment matches an HTML comment in a document. Some comments have text that only a release shows.
var comment = regexp.MustCompile(`(?s)<!--.*?-->`)

// consoleCommands returns the lines "$ sqlite3perf …" of console blocks outside comments, without the
// prompt. The output of a command is the lines that follow it.
func consoleCommands(markdown string) []documented {
	var list []documented
	markdown = comment.ReplaceAllString(markdown, "")
	inside, ours := false, false
	for line := range strings.Lines(markdown) {
		if fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			inside, ours = !inside && fence == "console", false
			continue
		}
		if !inside {
			continue
		}
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			if ours = strings.HasPrefix(command, "sqlite3perf "); ours {
				list = append(list, documented{line: strings.TrimSpace(command)})
			}
		} else if ours {
			list[len(list)-1].output += line
		}
	}
	return list
}

// figure matches a number with its unit, or the digits of random bytes.
var figure = regexp.MustCompile(`[0-9a-f]{16,}|[0-9][0-9.,]*(ns|µs|ms|s|m|k|M)?`)

// stable returns the parts of an output that are the same whenever the command runs: the words,
// without figures, widths, charts, and repeated lines of progress.
func stable(output string) []string {
	var list []string
	for line := range strings.Lines(output) {
		if strings.Contains(line, "|") {
			continue
		}
		words := strings.Fields(figure.ReplaceAllString(line, "0"))
		line = strings.Join(slices.Compact(words), " ") // removes repeated words, because the number of powers of ten on an axis depends on the machine
		line = strings.ReplaceAll(line, "[ ", "[")      // removes the space before a figure that was aligned to the right
		if len(list) == 0 || list[len(list)-1] != line {
			list = append(list, line)
		}
	}
	return list
}

// TestStrangersDocument checks that docs/strangers.md names every command, and only tests that
// exist.
func TestStrangersDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/strangers.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	for _, c := range rootCommand(&cli.Environment{}).Commands() {
		if !c.Hidden && !strings.Contains(doc, "`"+c.Name()+"`") && !strings.Contains(doc, "`"+c.Name()+" ") {
			t.Errorf("docs/strangers.md does not name %s: add it to the lines of the files that it reads", c.Name())
		}
	}
	missing := map[string]bool{}
	for _, name := range regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z]*)`").FindAllStringSubmatch(doc, -1) {
		missing[name[1]] = true
	}
	if len(missing) < 30 {
		t.Errorf("docs/strangers.md names only %d tests", len(missing))
	}
	err = fs.WalkDir(os.DirFS("../.."), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		code, err := os.ReadFile(filepath.Join("../..", file))
		for name := range missing {
			if strings.Contains(string(code), "\nfunc "+name+"(") {
				delete(missing, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("docs/strangers.md names %s, which doesn't exist", name)
	}
}
