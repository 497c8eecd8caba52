package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Environment holds everything that connects the command with its surroundings, so that tests can
// replace it.
type Environment struct {
	Stdout, Stderr io.Writer

	// RawOut and RawErr are Stdout and Stderr without the filter that makes text printable. They are
	// for text that is already printable or moves the cursor.
	RawOut, RawErr io.Writer

	// StdoutWidth and StderrWidth are the widths of the streams' terminals in columns, or 0 if a
	// stream is not a terminal.
	StdoutWidth, StderrWidth int

	StdoutHeight int  // height of standard output's terminal in lines; 0 if there is none, or if unknown
	ascii        bool // the terminal of standard output shows only ASCII

	Now func() time.Time

	// CPUTime returns the CPU time of the machine, and whether it is known.
	CPUTime func() (machine.CPUTime, bool)

	// Calibrate measures the speed of the machine before each round. nil means [machine.Calibrate].
	Calibrate func() time.Duration

	// Catch returns a channel that receives each later Ctrl-C. Before Catch is called, Ctrl-C ends the
	// process.
	Catch func() <-chan os.Signal

	Interrupted *atomic.Bool // true after a Ctrl-C
	outlives    *atomic.Bool // true after [Environment.OutliveReaders]
}

// ProcessEnvironment returns the environment of this process, and begins to handle its signals.
func ProcessEnvironment() *Environment {
	width, height := terminalSize(os.Stdout)
	errWidth, _ := terminalSize(os.Stderr)
	// Without this, the exit status after a panic, SIGQUIT or lack of memory would be 2, which means wrong
	// usage.
	debug.SetTraceback("crash")
	outlives := &atomic.Bool{}
	return &Environment{
		Stdout: outlet{os.Stdout, outlives}, Stderr: outlet{os.Stderr, outlives}, outlives: outlives,
		StdoutWidth: width, StderrWidth: errWidth, StdoutHeight: height, ascii: width > 0 && asciiLocale(os.Getenv),
		Now: time.Now, CPUTime: machine.ReadCPUTime, Catch: watchSignals().catch,
	}
}

// usualCalibration is what [machine.Calibrate] returns on the machine on which the typical times of builds
// and trials were measured.
const usualCalibration = 10 * time.Millisecond

// slowest is the greatest value of [Environment.Pace]. A machine that seems even slower is probably
// only busy for a moment.
const slowest = 4

// Pace returns how long work takes on this machine, as a multiple of the time on the machine on which the
// typical times of builds and trials were measured. It uses the fastest of a few measurements, because
// other processes may disturb a measurement.
func (env *Environment) Pace() float64 {
	calibrate := env.Calibrate
	if calibrate == nil {
		calibrate = machine.Calibrate
	}
	fastest := calibrate()
	for range 4 {
		fastest = min(fastest, calibrate())
	}
	return min(fastest.Seconds()/usualCalibration.Seconds(), slowest)
}

// Printing returns a copy of the environment whose output is made printable by [document.Printable].
func (env *Environment) Printing() *Environment {
	own := *env
	own.RawOut, own.RawErr = env.Stdout, env.Stderr
	own.Interrupted = &atomic.Bool{}
	if own.outlives == nil {
		own.outlives = &atomic.Bool{}
	}
	own.Stdout, own.Stderr = document.Printable(env.Stdout), document.Printable(env.Stderr)
	return &own
}

// Say prints a line to standard error. If that is a terminal, it breaks a long line between words.
func (env *Environment) Say(format string, args ...any) {
	fmt.Fprintln(env.Stderr, document.Wrap(fmt.Sprintf(format, args...), env.StderrWidth))
}

// AsItIs returns standard output for text that must not be changed. If standard output is a
// terminal, the text is made printable anyway.
func (env *Environment) AsItIs() io.Writer {
	if env.StdoutWidth > 0 {
		return env.Stdout
	}
	return env.RawOut
}

// terminalSize returns the size of the terminal f, or zeros if f isn't a terminal. If the size is
// unknown, it returns a width of 80 columns and a height of 0.
func terminalSize(f *os.File) (width, height int) {
	if !term.IsTerminal(int(f.Fd())) {
		return 0, 0
	}
	if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w, max(h, 0)
	}
	return 80, 0
}

// asciiLocale reports whether the environment sets a locale whose encoding is not UTF-8. If no
// locale is set, as in most containers, asciiLocale assumes UTF-8.
func asciiLocale(getenv func(string) string) bool {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"))
	charset := strings.ReplaceAll(strings.ToLower(locale), "-", "")
	return locale != "" && !strings.Contains(charset, "utf8")
}

// FlagError returns pflag's error about a flag, reworded so that it says what to type instead.
func FlagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		f := value.GetFlag()
		if errors.Is(err, strconv.ErrRange) {
			return Usagef("--%s %s is out of range: want a number such as 10", f.Name, value.GetValue())
		}
		if want, ok := flagValues[f.Value.Type()]; ok {
			return Usagef("--%s %s: want %s", f.Name, value.GetValue(), want)
		}
	}
	hint := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		name := unknown.GetSpecifiedName()
		if long, _, _ := strings.Cut(unknown.GetSpecifiedShortnames(), "="); long != "" { // a long flag with only one dash, such as -rounds
			name = long
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			if strings.HasPrefix(f.Name, name) || levenshtein.ComputeDistance(name, f.Name) <= max(1, len(name)/3) {
				names = append(names, "--"+f.Name)
			}
		})
		if meant := driver.DidYouMean("--"+name, names); meant != "" {
			hint = "; " + meant
		}
		switch {
		case cmd.Name() == "show" && name == "workloads":
			hint = "; show prints all workloads of a run, and --workload NAME the text of one"
		case name == "drivers" && strings.Contains(cmd.Use, "DRIVER"):
			hint = "; drivers are arguments here, as in: " + driversAsArguments(cmd)
		}
	}
	return Usagef("%w: %s --help lists the flags%s", err, cmd.CommandPath(), hint)
}

func driversAsArguments(cmd *cobra.Command) string {
	example := ""
	for line := range strings.Lines(cmd.Example) {
		line = strings.TrimSpace(line)
		if example = cmp.Or(example, line); !strings.HasSuffix(line, cmd.CommandPath()) && strings.Contains(line, "mattn") {
			return line
		}
	}
	return example
}

var flagValues = map[string]string{
	"duration":      "a duration such as 30s or 5m",
	"durationSlice": "durations such as 0,1ms,10ms",
	"int":           "a whole number such as 10",
	"int64":         "a whole number such as 10",
	"intSlice":      "whole numbers such as 1,3",
	"int64Slice":    "whole numbers such as 0,1000",
	"bool":          "true or false",
}

// Arguments returns a function that checks the number of a command's arguments. The parameter "least" is
// the least number, and "most" is the greatest; -1 means that there is no greatest number. Errors call the
// arguments by the name in the parameter "what".
func Arguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s is missing", what)
		case most == 0 && len(args) > 0 && IsDatabase(args[0]):
			return DatabaseHere(cmd, args[0])
		case most == 0 && len(args) > 0:
			flag := asFlag(cmd, args)
			if meant := driver.DidYouMean(flag, []string{flag}); meant != "" {
				return Usagef("unexpected argument %q: %s", args[0], meant)
			}
			return fmt.Errorf("unexpected argument %q", args[0])
		case most >= 0 && len(args) > most:
			return fmt.Errorf("unexpected argument %q after %s", args[most], what)
		}
		return nil
	}
}

// DatabaseHere returns the error for a database that the user gave as an argument. The error says
// what to type instead.
func DatabaseHere(cmd *cobra.Command, file string) error {
	if cmd.Flags().Lookup("db") != nil {
		return Usagef("%s is a database: name it with --db, as in: %s --db %s", file, cmd.CommandPath(), file)
	}
	return Usagef("%s is a database: %s", file, FromDatabase(file))
}

// FromDatabase returns a text that tells the user how to make a workload from a database.
func FromDatabase(file string) string {
	return fmt.Sprintf("sqlite3perf workload from %s -o mine.yaml writes a workload that imitates the database; a workload with database: %s begins with a copy of the database", file, PathOf(file))
}

// asFlag guesses which flag the user forgot to type before the first argument. It returns the flag with
// its value, or "" if no flag fits. If the argument is a workload or a driver, the flag's value also
// contains the next arguments of the same kind. Any other argument is assumed to be a further value of
// the last flag on the command line that takes a list.
func asFlag(cmd *cobra.Command, args []string) string {
	n, kind := 1, kindOfArgument(cmd, args[0])
	list := cmd.Flags().Lookup(kind)
	if list == nil {
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if _, ok := f.Value.(pflag.SliceValue); ok {
				list = f
			}
		})
	} else {
		for n < len(args) && kindOfArgument(cmd, args[n]) == kind {
			n++
		}
	}
	if list == nil {
		return ""
	}
	values := list.Value.(pflag.SliceValue).GetSlice()
	separator := ","
	if list.Value.Type() == "stringArray" { // each value is name=value,value
		values = values[len(values)-1:]
		if !strings.Contains(values[0], "=") {
			separator = "="
		}
	}
	return "--" + list.Name + " " + strings.Join(append(values, args[:n]...), separator)
}

// IsWorkload reports whether an argument looks like the name of a workload.
func IsWorkload(arg string) bool {
	return slices.Contains(workload.Builtins(), arg) || strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")
}

// kindOfArgument returns the name of the flag of `sqlite3perf run` that takes the argument: "workloads"
// for a workload, "drivers" for a driver, or "" for anything else.
func kindOfArgument(cmd *cobra.Command, arg string) string {
	if IsWorkload(arg) {
		return "workloads"
	}
	if shop, err := (&WorkerOptions{}).Workshop(); err == nil {
		if _, err := build.ParseRef(cmd.Context(), arg, shop.Known); err == nil {
			return "drivers"
		}
	}
	return ""
}

// ForHosts returns one environment for each host. Each line that is written to its Stderr begins with
// the host's name. The environments have no terminal, and each of them receives every Ctrl-C.
func (env *Environment) ForHosts(names []string) []*Environment {
	signals := make([]chan os.Signal, len(names))
	for i := range signals {
		signals[i] = make(chan os.Signal, 2)
	}
	hear := sync.OnceFunc(func() {
		interrupts := env.Catch()
		go func() {
			for s := range interrupts {
				for _, c := range signals {
					select {
					case c <- s:
					default: // the host has not read two earlier signals yet, so this signal is dropped
					}
				}
			}
		}()
	})
	var list []*Environment
	var writing sync.Mutex
	for i, name := range names {
		own := *env
		own.Stderr = &prefixed{w: env.Stderr, writing: &writing, prefix: name + ": "}
		own.StdoutWidth, own.StderrWidth = 0, 0
		own.Catch = func() <-chan os.Signal {
			hear()
			return signals[i]
		}
		list = append(list, &own)
	}
	return list
}

// prefixed writes lines to w, each after a prefix. It writes a line once it is complete.
type prefixed struct {
	w       io.Writer
	writing *sync.Mutex // shared by all writers to w
	prefix  string
	part    []byte // beginning of a line that is not complete
}

func (p *prefixed) Write(b []byte) (int, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.part = append(p.part, b...)
	for {
		line, rest, whole := bytes.Cut(p.part, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		if _, err := fmt.Fprintf(p.w, "%s%s\n", p.prefix, line); err != nil {
			return 0, err
		}
		p.part = rest
	}
}
