package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
)

// OutputOptions are the flags of the commands that print a run.
type OutputOptions struct {
	Format  string
	File    string   // "" for standard output
	More    []string // files of every -o after the first, each in the format of its extension
	noColor bool
	Full    bool               // print everything, even on a terminal
	Flag    string             // the flag that names the output file, with its value; "" if that flag is -o
	Store   string             // the store as the user named it; "" for the default store
	Source  string             // for an HTML page: the line that names the run of the answer, as in [document.Options]
	Known   func(string) error // returns an error for an unknown format; nil if the command chooses the format
	Asked   *pflag.Flag        // the flag --format; nil if the file's extension does not decide the format
}

// AddFlags adds the flags of all commands that print a result.
func (o *OutputOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Format, "format", TableFormat, "")
	o.Asked = f.Lookup("format")
	o.SetFormats("how results are printed", report.Formats(), report.Check)
	f.VarP(files{o}, "output", "o", "`file` for the results, instead of standard output (repeatable: one for each format)")
	Reaching(f, Writes, "output")
	f.BoolVar(&o.noColor, "no-color", false, "no color, as with NO_COLOR set")
	Grouped(f, GroupOutput, "format", "output", "no-color")
}

// TableFormat is the default format.
const TableFormat = "table"

// SetFormats sets the formats of the command, and the usage of --format. The parameter "what" describes
// what is printed. The function "known" returns an error for any other format.
func (o *OutputOptions) SetFormats(what string, formats []string, known func(string) error) {
	o.Known = known
	o.Asked.DefValue = ""
	o.Asked.Usage = fmt.Sprintf("%s: %s (default: as the extension of -o says, otherwise %s)", what, strings.Join(formats, ", "), TableFormat)
}

func (o *OutputOptions) AddFullFlag(f *pflag.FlagSet) {
	f.BoolVar(&o.Full, "full", false, "print every table, also on a terminal")
	Grouped(f, GroupOutput, "full")
}

// Named returns the flag that names the output file, with its value.
func (o *OutputOptions) Named() string { return cmp.Or(o.Flag, "-o "+o.File) }

// Check returns an error if the results cannot be written to the requested file, or in the requested
// format. It is called before anything is measured.
func (o *OutputOptions) Check() error {
	if err := o.CheckPlace(); err != nil {
		return err
	}
	return o.CheckFormat()
}

// CheckPlace returns an error if the file cannot be written or is a database. The error is a [UsageError],
// because nothing has been done yet.
func (o *OutputOptions) CheckPlace() error {
	if o.File == "" {
		return nil
	}
	file, whole := o.Target()
	if err := notADatabase(file); err != nil {
		return Usagef("%s %w", o.Named(), err)
	}
	if !whole {
		return nil
	}
	if dir := filepath.Dir(file); !IsDirectory(dir) {
		return NoDirectory(o.Named(), dir)
	}
	scratch, err := process.Beside(file)
	if err != nil {
		return Usagef("%s: cannot write there: %w: name another file", o.Named(), directory.Reason(err))
	}
	scratch.Remove()
	return nil
}

// CheckFormat chooses the format. If the user typed --format, it is this format. Otherwise the file's
// extension decides. A format from the environment or a configuration file is used for standard output
// and for files without an extension. CheckFormat returns an error if the format is not known. It also
// checks the files in o.More.
func (o *OutputOptions) CheckFormat() error {
	if err := o.chooseFormat(); err != nil {
		return err
	}
	return o.checkMore()
}

func (o *OutputOptions) chooseFormat() error {
	if o.Known == nil {
		return nil
	}
	extension := filepath.Ext(o.File)
	if o.Asked == nil || Typed(o.Asked) || o.File == "" || extension == "" || extension == filepath.Base(o.File) {
		return WrongUsage(o.Known(o.Format))
	}
	if format := FormatOf(o.File); format != "" && o.Known(format) == nil {
		o.Format = format
		return nil
	}
	var possible []string
	for _, e := range document.Extensions {
		if o.Known(e.Format) == nil && !slices.ContainsFunc(possible, func(p string) bool { return FormatOf("x"+p) == e.Format }) {
			possible = append(possible, e.Extension)
		}
	}
	return Usagef("%s: the extension %s is of no format here: want one of %s, or name the format with --format", o.Named(), extension, strings.Join(possible, ", "))
}

// FormatOf returns the format that the extension of a file stands for, or "".
func FormatOf(file string) string {
	for _, e := range document.Extensions {
		if strings.EqualFold(e.Extension, filepath.Ext(file)) {
			return e.Format
		}
	}
	return ""
}

// Target returns the file to be written, which is o.File. If o.File is a symbolic link, Target returns
// the file to which the link leads. The result "whole" is true if the file can be replaced as a whole. It
// is false for devices and pipes, which can only be written to.
func (o *OutputOptions) Target() (file string, whole bool) {
	file = o.File
	if f, err := filepath.EvalSymlinks(file); err == nil {
		file = f
	}
	fi, err := os.Stat(file)
	return file, err != nil || fi.Mode().IsRegular() || fi.IsDir()
}

func notADatabase(file string) error {
	fi, err := os.Stat(file)
	if err != nil {
		return nil
	}
	if fi.IsDir() {
		return errors.New("is a directory: name a file in it")
	}
	if IsDatabase(file) {
		return errors.New("is an SQLite database, which is not written over: name another file")
	}
	return nil
}

func IsDatabase(file string) bool {
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

// ReplacesPage returns an error if file exists and is not a page that sqlite3perf wrote.
func ReplacesPage(file string) error {
	f, err := directory.OpenRegular(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Usagef("%s: %w: name a file with -o", file, directory.Reason(err))
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := f.Read(head)
	if !bytes.Contains(head[:n], []byte(document.Generator)) {
		return Usagef("%s exists and is not a page of sqlite3perf: name a file with -o", file)
	}
	return nil
}

// SameFile reports whether two paths name the same file, which need not exist.
func SameFile(a, b string) bool {
	fa, aerr := os.Stat(a)
	fb, berr := os.Stat(b)
	if aerr == nil && berr == nil {
		return os.SameFile(fa, fb)
	}
	a, aerr = filepath.Abs(a)
	b, berr = filepath.Abs(b)
	return aerr == nil && berr == nil && a == b
}

// Screen returns how many lines a report may have so that it fits on the terminal. It returns 0 for
// no limit.
func (o *OutputOptions) Screen(env *Environment) int {
	if o.File == "" && env.StdoutWidth > 0 && !o.Full {
		return screenLines(env.StdoutHeight)
	}
	return 0
}

// screenLines returns how many lines fit on a terminal together with the prompt. The parameter "height" is
// the number of lines of the terminal, or 0 if unknown.
func screenLines(height int) int {
	const most, prompt = 40, 2
	if height == 0 {
		return most
	}
	return max(1, min(most, height-prompt))
}

// ScaleHint is the flag that hints recommend if phases are too short. The flag increases the work
// of a phase.
const ScaleHint = "--scale"

// Print calls the function "write" to print results to o.File or, if that is "", to standard output.
// It also prints them to the files in o.More, even if writing one of them fails. The parameter "again" is
// the command that prints the same results once more, for error messages.
func (o *OutputOptions) Print(env *Environment, write func(io.Writer, string, document.Options) error, again string) error {
	var failures []error
	for _, to := range o.Each() {
		failures = append(failures, to.print(env, write, again))
	}
	return errors.Join(failures...)
}

func (o *OutputOptions) print(env *Environment, write func(io.Writer, string, document.Options) error, again string) error {
	if o.File == "" {
		color := env.StdoutWidth > 0 && !o.noColor && os.Getenv("NO_COLOR") == ""
		if err := write(env.RawOut, o.Format, document.Options{Width: env.StdoutWidth, Color: color, ASCII: env.ascii}); err != nil {
			return fmt.Errorf("%w: %s prints it again", err, again)
		}
		return nil
	}
	var buf bytes.Buffer
	if err := write(&buf, o.Format, document.Options{}); err != nil {
		return err
	}
	if err := o.Put(buf.Bytes()); err != nil {
		return fmt.Errorf("writing the results to %s: %w: %s prints them again", o.File, directory.Reason(err), again)
	}
	return nil
}

// Put writes data to o.File. It replaces an existing regular file as a whole, and only after all data has
// been written.
func (o *OutputOptions) Put(data []byte) error {
	file, whole := o.Target()
	if !whole {
		return os.WriteFile(file, data, 0o644)
	}
	return process.Replace(file, data)
}

// Again adds --format and --store to a command, so that it uses the same format and store as o.
func (o *OutputOptions) Again(command string) string {
	if o.Format != TableFormat {
		command += " --format " + o.Format
	}
	return InStore(o.Store, command)
}

// InStore adds --store to a command, unless the parameter "store" is "", which means the default store.
func InStore(store, command string) string {
	if store != "" {
		command += " --store " + conditions.ShellWord(store)
	}
	return command
}
