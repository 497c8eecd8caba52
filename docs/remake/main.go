// Remake regenerates the outputs of commands that a document shows, so that nobody edits them by
// hand:
//
//	go run ./docs/remake -tool bin/sqlite3perf docs/studies.md [WORD …]
//
// An output is a fenced block below a line such as
//
//	<!-- output of: sqlite3perf reproduce writers -->
//
// If a command ends with "| head -20", the document shows the first 20 lines of its output. In place of
// "output", another word before "of:" selects a part of the output: see the variable "parts".
//
// With arguments, only outputs whose command contains one of the arguments are regenerated.
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

// remake regenerates, in one document, each output whose command contains one of the words. Without
// words, it regenerates all outputs.
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
		if len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(command, w) }) {
			continue
		}
		fmt.Fprintln(os.Stderr, "$", command)
		whole, lines := cut(command)
		out, err := run(tool, whole, store)
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		// The document is read again. The command may have taken minutes, and edits that were
		// made in the meantime must not be lost.
		if text, err = os.ReadFile(file); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(replaced(string(text), command, head(out, lines))), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var output = regexp.MustCompile("(?ms)^<!-- (output|answer|cells|summary|claims|verdicts) of: (sqlite3perf [^\n]*) -->\n```text\n(.*?)^```$")

// parts maps a word to a function that returns the part of a report that a document shows. In the
// document, the word stands before "of:".
var parts = map[string]func(report string) string{
	"output":   func(report string) string { return report },
	"answer":   answer,
	"cells":    cells,
	"summary":  func(report string) string { head, _, _ := strings.Cut(report, "\n== "); return head },
	"claims":   func(report string) string { return paragraphs(report, "Claims\n", "#  verdict ") },
	"verdicts": func(report string) string { return paragraphs(report, "Claims\n") },
}

// answer returns the first paragraph of a report, without the lines about the machine.
func answer(report string) string {
	first, _, _ := strings.Cut(report, "\n\n")
	return without(strings.TrimSuffix(first, "\n")+"\n", "how sure ", "repeated ", "machine ", "noise ", "warning ")
}

// cells returns the list of cells (timed phases) in an answer of the command "compare", without the lines
// before and after the list, and without the columns after the ratio's interval.
func cells(report string) string {
	_, list, _ := strings.Cut(answer(report), "\nverdict ")
	for _, next := range []string{"\nover all ", "\nsides "} {
		if before, _, ok := strings.Cut(list, next); ok {
			list = before + "\n"
		}
	}
	return afterRatio.ReplaceAllString(without("verdict "+list, "measured "), "$1")
}

var afterRatio = regexp.MustCompile(`(?m)^(.*(?: ratio|x \([^)\n]*\))) .*$`)

// paragraphs returns the paragraphs of a report that begin with one of the given texts.
func paragraphs(report string, beginnings ...string) string {
	var list []string
	for p := range strings.SplitSeq(strings.TrimSuffix(report, "\n"), "\n\n") {
		if slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(p, b) }) {
			list = append(list, p+"\n")
		}
	}
	return strings.Join(list, "\n")
}

// cut returns a command without "| head -N" at its end, and the number N. If the command has no such
// end, N is -1.
func cut(command string) (string, int) {
	whole, lines, _ := strings.Cut(command, " | head -")
	n, err := strconv.Atoi(lines)
	if err != nil {
		return command, -1
	}
	return whole, n
}

// head returns the first n lines of text, or all of it if n is negative.
func head(text string, n int) string {
	if n < 0 {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[:min(n, len(lines))], "")
}

func commands(text string) []string {
	var list []string
	for _, m := range output.FindAllStringSubmatch(text, -1) {
		list = append(list, m[2])
	}
	return list
}

func replaced(text, command, out string) string {
	return output.ReplaceAllStringFunc(text, func(block string) string {
		m := output.FindStringSubmatch(block)
		if m[2] != command {
			return block
		}
		return "<!-- " + m[1] + " of: " + command + " -->\n```text\n" + parts[m[1]](out) + "```"
	})
}

// notComplete is the exit status of sqlite3perf if some timed phases of a run have no figures. Remake
// does not treat it as an error.
const notComplete = 4

func run(tool, command, store string) (string, error) {
	args := strings.Fields(command)[1:]
	dir := ""
	switch args[0] {
	case "cluster", "drivers", "doctor", "diff":
	case "dsn": // the argument of the command dsn is quoted for a shell
		for i := range args {
			args[i] = strings.Trim(args[i], "'")
		}
	case "profile": // the command profile writes files, so it runs in a temporary directory
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

// published removes the lines about this machine's directories from a report.
func published(report string) string {
	return without(report, "databases ", "command ", "more ", "to be sure ")
}

// The function "without" removes the lines that have one of the given labels from a report.
func without(report string, labels ...string) string {
	var b strings.Builder
	dropped := false // stays true for the continuation lines of a dropped line
	for line := range strings.Lines(report) {
		dropped = slices.ContainsFunc(labels, func(l string) bool { return strings.HasPrefix(line, l) }) || dropped && strings.HasPrefix(line, "  ")
		if !dropped {
			b.WriteString(line)
		}
	}
	return b.String()
}
