package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
)

// outputOptions are the flags of the commands that print a run.
type outputOptions struct {
	format  string
	file    string
	noColor bool
	full    bool               // print the whole run, even on a terminal
	flag    string             // the flag that names the file, with its value; "" for -o
	store   string             // the store as the user named it; "" for the usual one
	known   func(string) error // returns an error for an unknown format; nil for report.Check
	asked   *pflag.Flag        // the flag --format; nil if the file's extension does not decide the format
}

func (o *outputOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.format, "format", tableFormat, "")
	o.asked = f.Lookup("format")
	o.setFormats("how results are printed", report.Formats(), report.Check)
	f.StringVarP(&o.file, "output", "o", "", "`file` that results are written to, instead of standard output")
	reaching(f, writes, "output")
	f.BoolVar(&o.noColor, "no-color", false, "no color, as with NO_COLOR set")
	grouped(f, groupOutput, "format", "output", "no-color")
}

// tableFormat is the default format.
const tableFormat = "table"

// setFormats says in the usage of --format what is printed and in which formats. known returns an
// error for all other formats.
func (o *outputOptions) setFormats(what string, formats []string, known func(string) error) {
	o.known = known
	o.asked.DefValue = ""
	o.asked.Usage = fmt.Sprintf("%s: %s (default: as the extension of -o says, otherwise %s)", what, strings.Join(formats, ", "), tableFormat)
}

func (o *outputOptions) addFullFlag(f *pflag.FlagSet) {
	f.BoolVar(&o.full, "full", false, "every table, also on a terminal, where otherwise only the answer is printed")
	grouped(f, groupOutput, "full")
}

// named returns the flag that names the file, with its value.
func (o *outputOptions) named() string { return cmp.Or(o.flag, "-o "+o.file) }

// check returns an error if the results cannot be written to the requested places. It is called
// before anything is measured.
func (o *outputOptions) check() error {
	if err := o.checkPlace(); err != nil {
		return err
	}
	return o.checkFormat()
}

// checkPlace returns an error if the file cannot be written. It is a usage error, because nothing
// has been done yet.
func (o *outputOptions) checkPlace() error {
	if o.file == "" {
		return nil
	}
	file, whole := o.target()
	if err := notADatabase(file); err != nil {
		return usagef("%s %w", o.named(), err)
	}
	if !whole {
		return nil
	}
	if dir := filepath.Dir(file); !isDirectory(dir) {
		return noDirectory(o.named(), dir)
	}
	scratch, err := beside(file)
	if err != nil {
		return usagef("%s: cannot write there: %w: name another file", o.named(), reason(err))
	}
	scratch.Remove()
	return nil
}

// checkFormat chooses the format: that of --format on the command line or, without it, that of the
// file's extension. A format from the environment or a configuration file is used for standard
// output and for files without an extension.
func (o *outputOptions) checkFormat() error {
	known := o.known
	if known == nil {
		known = report.Check
	}
	extension := filepath.Ext(o.file)
	if o.asked == nil || typed(o.asked) || o.file == "" || extension == "" || extension == filepath.Base(o.file) {
		if err := known(o.format); err != nil {
			return wrongUsage(err)
		}
		return nil
	}
	if format := formatOf(o.file); format != "" && known(format) == nil {
		o.format = format
		return nil
	}
	var possible []string
	for _, e := range document.Extensions {
		if known(e.Format) == nil && !slices.ContainsFunc(possible, func(p string) bool { return formatOf("x"+p) == e.Format }) {
			possible = append(possible, e.Extension)
		}
	}
	return usagef("%s: the extension %s is of no format here: want one of %s, or name the format with --format", o.named(), extension, strings.Join(possible, ", "))
}

func formatOf(file string) string {
	for _, e := range document.Extensions {
		if strings.EqualFold(e.Extension, filepath.Ext(file)) {
			return e.Format
		}
	}
	return ""
}

// target returns the file that o.file leads to if it is a link. whole reports whether the file can
// be replaced, which devices and pipes cannot.
func (o *outputOptions) target() (file string, whole bool) {
	file = o.file
	if f, err := filepath.EvalSymlinks(file); err == nil {
		file = f
	}
	fi, err := os.Stat(file)
	return file, err != nil || fi.Mode().IsRegular() || fi.IsDir()
}

// beside creates a temporary directory next to a file that is to be replaced. If the command is
// killed, the next command that writes there removes the directory.
func beside(file string) (*process.Scratch, error) {
	return process.NewScratch(filepath.Dir(file), ".sqlite3perf-output-")
}

func reason(err error) error {
	if pe, ok := err.(*os.PathError); ok { //nolint:errorlint // as package os returns it
		return pe.Err
	}
	return err
}

func notADatabase(file string) error {
	fi, err := os.Stat(file)
	if err != nil {
		return nil
	}
	if fi.IsDir() {
		return errors.New("is a directory: name a file in it")
	}
	if isDatabase(file) {
		return errors.New("is an SQLite database, which is not written over: name another file")
	}
	return nil
}

func isDatabase(file string) bool {
	if fi, err := os.Stat(file); err != nil || !fi.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 15)
	n, _ := f.Read(head)
	return string(head[:n]) == "SQLite format 3"
}

func sameFile(a, b string) bool {
	fa, aerr := os.Stat(a)
	fb, berr := os.Stat(b)
	if aerr == nil && berr == nil {
		return os.SameFile(fa, fb)
	}
	a, aerr = filepath.Abs(a)
	b, berr = filepath.Abs(b)
	return aerr == nil && berr == nil && a == b
}

// screen returns how many lines a report may have, or 0 for no limit.
func (o *outputOptions) screen(env *environment) int {
	if o.file == "" && env.stdoutWidth > 0 && !o.full {
		return screenLines(env.stdoutHeight)
	}
	return 0
}

// screenLines returns how many lines fit on a terminal together with the prompt. height is the
// number of lines of the terminal, or 0 if unknown.
func screenLines(height int) int {
	const most, prompt = 40, 2
	if height == 0 {
		return most
	}
	return max(1, min(most, height-prompt))
}

const scaleHint = "--scale"

// print calls write to print something where the options ask. again is the command that prints the
// same once more, for error messages.
func (o *outputOptions) print(env *environment, write func(io.Writer, string, document.Options) error, again string) error {
	if o.file == "" {
		color := env.stdoutWidth > 0 && !o.noColor && os.Getenv("NO_COLOR") == ""
		if err := write(env.rawOut, o.format, document.Options{Width: env.stdoutWidth, Color: color, ASCII: env.ascii}); err != nil {
			return fmt.Errorf("%w: %s prints it again", err, again)
		}
		return nil
	}
	var buf bytes.Buffer
	if err := write(&buf, o.format, document.Options{}); err != nil {
		return err
	}
	if err := o.put(buf.Bytes()); err != nil {
		return fmt.Errorf("writing the results to %s: %w: %s prints them again", o.file, reason(err), again)
	}
	return nil
}

func (o *outputOptions) put(data []byte) error {
	file, whole := o.target()
	if !whole {
		return os.WriteFile(file, data, 0o644)
	}
	return replace(file, data)
}

func (o *outputOptions) again(command string) string {
	if o.format != tableFormat {
		command += " --format " + o.format
	}
	return inStore(o.store, command)
}

// inStore adds --store to a command, unless store is "", the usual one.
func inStore(store, command string) string {
	if store != "" {
		command += " --store " + conditions.ShellWord(store)
	}
	return command
}

// replace replaces a file. It first writes the data to a temporary file, so that the old file stays
// intact if the disk is full.
func replace(file string, data []byte) error {
	scratch, err := beside(file)
	if err != nil {
		return err
	}
	defer scratch.Remove()
	temp := filepath.Join(scratch.Dir, "output")
	if err := os.WriteFile(temp, data, 0o666); err != nil {
		return err
	}
	if old, err := os.Stat(file); err == nil {
		if err := os.Chmod(temp, old.Mode().Perm()); err != nil {
			return err
		}
	}
	return os.Rename(temp, file)
}

// printTable prints a table. titles are the titles of the columns, separated by "|". A column whose
// title begins with ">" is aligned to the right. Without titles, only the rows are printed.
func printTable(w io.Writer, titles string, rows [][]string) error {
	if len(rows) == 0 && strings.Trim(titles, "|") == "" {
		return nil
	}
	return document.RenderText(w, document.Document{tableOf(titles, rows)}, document.Options{Width: document.Unlimited})
}

// tableOf returns the table that [printTable] prints.
func tableOf(titles string, rows [][]string) document.Grid {
	g := document.Grid{Rows: rows}
	for t := range strings.SplitSeq(titles, "|") {
		title, right := strings.CutPrefix(t, ">")
		g.Columns = append(g.Columns, document.Column{Title: title, Right: right})
	}
	return g
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(document.PrintableJSON(w))
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
