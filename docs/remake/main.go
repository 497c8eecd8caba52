// Remake runs the commands whose outputs are shown in a document and replaces the
// outputs, so that no output is edited by hand:
//
//	go run ./docs/remake -tool bin/sqlite3perf docs/studies.md [WORD …]
//
// An output is a fenced block below a line such as
//
//	<!-- output of: sqlite3perf reproduce writers -->
//
// A command that ends with "| head -20" has its first 20 lines in the document.
// With arguments, only outputs whose command contains one of them are regenerated.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	tool := flag.String("tool", "bin/sqlite3perf", "`executable` that is run for sqlite3perf")
	store := flag.String("store", "", "`file` in which the runs are kept (default: nowhere)")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "remake: name a document, such as docs/studies.md")
		os.Exit(2)
	}
	if err := remake(*tool, *store, flag.Arg(0), flag.Args()[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "remake:", err)
		os.Exit(1)
	}
}

func remake(tool, store, file string, words []string) error {
	if store == "" {
		dir, err := os.MkdirTemp("", "remake-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		store = filepath.Join(dir, "results.db")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, command := range commands(string(text)) {
		if !asked(command, words) {
			continue
		}
		fmt.Fprintln(os.Stderr, "$", command)
		whole, lines := cut(command)
		out, err := run(tool, whole, store)
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		// The document is read again, because a command may have taken minutes and
		// must not undo an edit.
		if text, err = os.ReadFile(file); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(replaced(string(text), command, head(out, lines))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// asked reports whether a command is to be run for these arguments.
func asked(command string, words []string) bool {
	return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(command, w) })
}

var output = regexp.MustCompile("(?ms)^<!-- output of: (sqlite3perf [^\n]*) -->\n```text\n(.*?)^```$")

var headed = regexp.MustCompile(`^(.*) \| head -([0-9]+)$`)

// cut returns a command without its "| head -N", and N, or -1 for all lines.
func cut(command string) (string, int) {
	m := headed.FindStringSubmatch(command)
	if m == nil {
		return command, -1
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return command, -1
	}
	return m[1], n
}

// head returns the first n lines of text, or all of it if n is negative.
func head(text string, n int) string {
	if n < 0 {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[:min(n, len(lines))], "")
}

// commands lists the commands of a document's outputs.
func commands(text string) []string {
	var list []string
	for _, m := range output.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// replaced returns the document with a new output of a command.
func replaced(text, command, out string) string {
	return output.ReplaceAllStringFunc(text, func(block string) string {
		if output.FindStringSubmatch(block)[1] != command {
			return block
		}
		return "<!-- output of: " + command + " -->\n```text\n" + out + "```"
	})
}

// notComplete is the exit status of a run that is printed although some of its cells
// have no figures.
const notComplete = 4

func run(tool, command, store string) (string, error) {
	args := strings.Fields(command)[1:]
	dir := ""
	switch args[0] {
	case "cluster", "drivers", "doctor", "diff":
	case "dsn": // whose argument is quoted for a shell
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
	case "profile": // writes files
		scratch, err := os.MkdirTemp("", "remake-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(scratch)
		if store, err = filepath.Abs(store); err != nil {
			return "", err
		}
		dir, args = scratch, append(args, "--store", store, "--no-color")
	default:
		args = append(args, "--store", store, "--no-color")
	}
	tool, err := filepath.Abs(tool)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(tool, args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != notComplete) {
		return "", err
	}
	return published(out.String()), nil
}

// published returns a report without the lines about this machine's directories.
func published(report string) string {
	var b strings.Builder
	dropped := false // also for a dropped line's continuation lines
	for line := range strings.Lines(report) {
		dropped = strings.HasPrefix(line, "databases ") || strings.HasPrefix(line, "command ") || strings.HasPrefix(line, "more ") || dropped && strings.HasPrefix(line, "  ")
		if !dropped {
			b.WriteString(line)
		}
	}
	return b.String()
}
