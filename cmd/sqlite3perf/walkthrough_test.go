package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestSoakWalkthrough runs the commands of docs/walkthrough.md, one after another, on a copy of the
// bookshop, with as few trials as possible.
func TestSoakWalkthrough(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds workers")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("mattn needs a C compiler: install gcc")
	}
	source, err := build.FindSource("")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(source.Root, "docs", "walkthrough.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	shop := filepath.Join(dir, "examples", "bookshop")
	copyProgram(t, shop, os.DirFS(filepath.Join(source.Root, "examples", "bookshop")))
	if err := os.Symlink(filepath.Join(source.Root, "record"), filepath.Join(dir, "record")); err != nil {
		t.Fatal(err)
	}
	env, err := surroundings(dir)
	if err != nil {
		t.Fatal(err)
	}
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "SQLITE3PERF_ROUNDS=6", "SQLITE3PERF_TIME=5s", "SQLITE3PERF_WORKER_CACHE="+cache, "GOWORK=off")
	wanted := map[string]string{
		"sqlite3perf workloads": `(?m)^does: +replay +[\d,]+ events in [\d,]+ transactions`,
		"sqlite3perf run":       `(?m)^replay: time per operation`,
		"sqlite3perf diff":      `(?m)^No difference: mattn and modernc answer 21 statements alike`,
		"sqlite3perf tune":      `(?m)^searched +\d+ settings? on modernc`,
		"sqlite3perf locks":     `(?m)^wal +immediate +0 +1 writer \+ 8 readers `,
		"sqlite3perf advise":    `(?m)^Take .*\n(?s:.*)^how sure `,
	}
	for _, line := range shellCommands(string(text)) {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = shop, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		// Up to 99 events may end differently than in the recording. Two visitors may have been logged in
		// as the same user at the same time, and the replay may run their requests in another order.
		if m := differently.FindSubmatch(out); m != nil && len(m[1]) > 2 {
			t.Errorf("%s: the replay differs from the recording:\n%s", line, out)
		}
		for command, want := range wanted {
			if strings.HasPrefix(line, command+" ") {
				delete(wanted, command)
				if !regexp.MustCompile(want).Match(out) {
					t.Errorf("%s: no match of %q:\n%s", line, want, out)
				}
			}
		}
	}
	for command := range wanted {
		t.Errorf("docs/walkthrough.md lacks the command %s", command)
	}
	replayedEverywhere(t, shop, env)
}

// copyProgram copies the sources of a program: its Go files, go.mod, go.sum, and its files of SQL and
// YAML. It leaves out files that the program created when it ran, such as recordings and databases.
func copyProgram(t *testing.T, dir string, program fs.FS) {
	t.Helper()
	err := fs.WalkDir(program, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".go", ".mod", ".sum", ".sql", ".yaml"}, path.Ext(name)) {
			return err
		}
		data, err := fs.ReadFile(program, name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o666)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCopyProgram checks that copyProgram copies a program's files, except the files that the
// program created when it ran.
func TestCopyProgram(t *testing.T) {
	dir := t.TempDir()
	program := fstest.MapFS{}
	for _, name := range []string{"go.mod", "go.sum", "bookshop.yaml", "shop/shop.go", "shop/schema.sql", "shop.jsonl", "bookshop", "mattn/mattn", "shop.db", "shop.db-wal", ".gitignore"} {
		program[name] = &fstest.MapFile{Data: []byte(name)}
	}
	copyProgram(t, dir, program)
	var got []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			got = append(got, name)
		}
		return err
	})
	if want := []string{"bookshop.yaml", "go.mod", "go.sum", "shop/schema.sql", "shop/shop.go"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// replayedEverywhere checks that each driver in the constant "can" replays the recording that the
// walkthrough made, and that python and sqinn give the reasons why they cannot.
func replayedEverywhere(t *testing.T, shop string, env []string) {
	t.Helper()
	const can = "mattn modernc ncruces glebarez zombiezen crawshaw bvinc eatonphil tailscale native"
	cmd := exec.Command("sqlite3perf", "run", "--workloads", "./bookshop.yaml", "--drivers", strings.ReplaceAll(can, " ", ",")+",python,sqinn", "--format", "json")
	var stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = shop, append(os.Environ(), env...), &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitIncomplete {
		t.Fatalf("%v, want exit status %d: python and sqinn cannot replay\n%s", err, cli.ExitIncomplete, stderr.String())
	}
	j, err := load(out)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{
		"python": "this worker runs no replay phases",
		"sqinn":  "the child must be told the type of each column|needs sqinn, which is not in PATH",
	}
	for _, c := range j.Cells {
		if want, cannot := reasons[c.Driver]; cannot {
			if c.Reason == nil || !regexp.MustCompile(want).MatchString(c.Reason.Message) {
				t.Errorf("%s: %s, %+v, want %q", c.Driver, c.Status, c.Reason, want)
			}
		} else if c.Status != result.OK {
			t.Errorf("%s: %s: %+v", c.Driver, c.Status, c.Reason)
		}
	}
	trials := map[string]int{}
	for _, trial := range j.Run.Trials {
		name := j.Run.Cases[trial.Case-1].Driver
		if _, cannot := reasons[name]; cannot {
			continue
		}
		trials[name]++
		for _, s := range trial.Samples {
			if s.Operations == 0 || s.Failed != 0 {
				t.Errorf("%s: %d of %d events failed: %+v", name, s.Failed, s.Operations, s.Errors)
			}
		}
		for _, w := range trial.Warnings {
			m := differently.FindStringSubmatch(w.Message)
			if w.Code == result.WarningSkipped || m != nil && len(m[1]) > 2 {
				t.Errorf("%s: %s", name, w.Message)
			}
		}
	}
	for name := range strings.FieldsSeq(can) {
		if trials[name] < lab.MinRounds {
			t.Errorf("%s: %d trials, want %d", name, trials[name], lab.MinRounds)
		}
	}
}

// differently matches the message about events that did not end as recorded.
var differently = regexp.MustCompile(`(\d+) of \d+ events did not\s+end as recorded`)

// shellCommands returns the lines of the sh code blocks of a page.
func shellCommands(markdown string) (list []string) {
	inside := false
	for line := range strings.Lines(markdown) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside && line != "":
			list = append(list, line)
		}
	}
	return list
}
