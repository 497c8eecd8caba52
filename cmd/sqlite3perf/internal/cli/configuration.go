package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// LocalConfig is the name of the configuration file that is read from the working directory. The
// file may be somebody else's.
const LocalConfig = "sqlite3perf.yaml"

// MaxConfig is the greatest size of a configuration file, in bytes.
const MaxConfig = 1 << 20

// Reach says what a flag's value can affect, other than what is measured and how it is printed.
type Reach string

// The values of Reach. The configuration file in the working directory can set only harmless flags,
// because it may be somebody else's.
const (
	Harmless   Reach = ""
	Executes   Reach = "runs code that it names"
	Writes     Reach = "names a file or directory to write to"
	Overwrites Reach = "lets data be overwritten"
	ReachesOut Reach = "lets a workload reach other files"
	Opens      Reach = "decides who can read the store"
	Reveals    Reach = "keeps values of a database"
)

// reachKey is the annotation in which a flag stores its [Reach].
const reachKey = "sqlite3perf_reach"

// Reaching sets the [Reach] of flags. It is called where the flags are declared. The flags with these
// names have this Reach in all commands.
func Reaching(f *pflag.FlagSet, r Reach, names ...string) { annotate(f, reachKey, string(r), names) }

// ReachOf returns the [Reach] of the flags with the given name, in all commands.
func ReachOf(root *cobra.Command, name string) (r Reach) {
	for _, c := range Subcommands(root) {
		if f := c.Flags().Lookup(name); f != nil && f.Annotations[reachKey] != nil {
			r = Reach(f.Annotations[reachKey][0])
		}
	}
	return r
}

// Configure sets each flag that the user has not typed. It takes the value from the first of these
// sources that has one: the environment (SQLITE3PERF_ROUNDS=8), sqlite3perf.yaml in the working
// directory, and config.yaml in the user's configuration directory. It prints to standard error which
// file set which flags.
func Configure(cmd *cobra.Command) error {
	var files []*configFile
	for _, path := range configPaths() {
		f, err := readConfig(cmd, path)
		if err != nil {
			return WrongUsage(err)
		}
		if f != nil {
			files = append(files, f)
		}
	}
	var err error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err == nil && !f.Changed && f.Name != "help" {
			err = setDefault(cmd, f, files)
		}
	})
	if err != nil {
		return err
	}
	if err := useFormer(cmd); err != nil {
		return err
	}
	warnUnknownVariables(cmd)
	for _, f := range files {
		if slices.Sort(f.used); len(f.used) > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "configuration file %s sets %s\n", f.path, strings.Join(f.used, ", "))
		}
	}
	return nil
}

func variable(flag string) string {
	return "SQLITE3PERF_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// warnUnknownVariables prints a warning to standard error for each environment variable that looks
// like the variable of a flag, but is not one.
func warnUnknownVariables(cmd *cobra.Command) {
	known := document.Map(FlagNames(cmd.Root()), variable)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, variable("")) && value != "" && !slices.Contains(known, name) {
			fmt.Fprintln(cmd.ErrOrStderr(), strings.TrimSpace("environment variable "+name+" sets no flag; "+driver.DidYouMean(name, known)))
		}
	}
}

// isDefault is the annotation of a flag whose value is from the environment or a file.
const isDefault = "sqlite3perf_default"

// Typed reports whether the user typed a flag on the command line.
func Typed(f *pflag.Flag) bool {
	_, other := f.Annotations[isDefault]
	return f.Changed && !other
}

func markDefault(f *pflag.Flag) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[isDefault] = nil
}

func setDefault(cmd *cobra.Command, f *pflag.Flag, files []*configFile) error {
	if v := os.Getenv(variable(f.Name)); v != "" {
		markDefault(f)
		if err := cmd.Flags().Set(f.Name, v); err != nil {
			return Usagef("environment variable %s: %w", variable(f.Name), FlagError(cmd, err))
		}
		return nil
	}
	for _, file := range files {
		e, ok := file.entries[f.Name]
		if !ok {
			continue
		}
		if _, several := f.Value.(pflag.SliceValue); e.list && !several {
			return Usagef("configuration file %s:%d: %s is a list: want one value", file.path, e.line, f.Name)
		}
		markDefault(f)
		for _, v := range e.values {
			if err := cmd.Flags().Set(f.Name, v); err != nil {
				return Usagef("configuration file %s:%d: %w", file.path, e.line, FlagError(cmd, err))
			}
		}
		file.used = append(file.used, f.Name)
		return nil
	}
	return nil
}

func configPaths() []string {
	paths := []string{LocalConfig}
	if dir, err := os.UserConfigDir(); err == nil {
		paths = append(paths, filepath.Join(dir, "sqlite3perf", "config.yaml"))
	}
	return paths
}

type configFile struct {
	path    string
	entries map[string]configEntry // entries by the name of the flag
	used    []string               // names of the flags that were set from this file
}

// configEntry is the value of one flag. A flag that takes a list can have several values.
type configEntry struct {
	line   int
	values []string
	list   bool // the file has the values as a list
}

// readConfig reads a configuration file. It returns nil if the file does not exist.
func readConfig(cmd *cobra.Command, path string) (*configFile, error) {
	data, err := directory.ReadRegular(path, MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", path, directory.Reason(err))
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", path, err)
	}
	f := &configFile{path: path, entries: map[string]configEntry{}}
	if len(doc.Content) == 0 {
		return f, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("configuration file %s:%d: want a line for each flag, such as rounds: 8", path, top.Line)
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		if err := f.entry(cmd, top.Content[i], top.Content[i+1]); err != nil {
			return nil, fmt.Errorf("configuration file %s:%d: %w", path, top.Content[i].Line, err)
		}
	}
	return f, nil
}

func (f *configFile) entry(cmd *cobra.Command, key, value *yaml.Node) error {
	names := FlagNames(cmd.Root())
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, key.Value) })
	if i < 0 {
		return fmt.Errorf("unknown key %q: %s", key.Value, driver.Suggest(key.Value, names))
	}
	name := names[i]
	if r := ReachOf(cmd.Root(), name); f.path == LocalConfig && r != Harmless {
		instead := ""
		if cmd.Flags().Lookup(name) != nil { // this command has the flag; a file may also set flags that only other commands have
			instead = fmt.Sprintf("give --%s on the command line, or ", name)
		}
		return fmt.Errorf("%s is not taken from the working directory, since it %s: "+
			"%sput the line into your own configuration file or the variable %s", name, r, instead, variable(name))
	}
	if _, twice := f.entries[name]; twice {
		return fmt.Errorf("%s is there twice: leave one of them out", name)
	}
	for value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	e := configEntry{line: key.Line}
	switch {
	case value.Tag == "!!null":
		return nil
	case value.Kind == yaml.ScalarNode:
		e.values = []string{value.Value}
	case value.Kind == yaml.SequenceNode:
		e.list = true
		for _, v := range value.Content {
			if v.Kind != yaml.ScalarNode {
				return fmt.Errorf("%s: want words or numbers in the list", name)
			}
			e.values = append(e.values, v.Value)
		}
	default:
		return fmt.Errorf("%s is a mapping: want a word, a number or a list of them", name)
	}
	f.entries[name] = e
	return nil
}

// FlagNames lists the names of the flags of all commands.
func FlagNames(root *cobra.Command) []string {
	var names []string
	for _, c := range Subcommands(root) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		})
	}
	return names
}
