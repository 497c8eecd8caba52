package cli

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// The groups of flags in the help of a command, in their order.
const (
	GroupWhat   = "What is measured"
	GroupLong   = "How long"
	GroupWhere  = "Where"
	GroupOutput = "Output"
)

var FlagGroups = []string{GroupWhat, GroupLong, GroupWhere, GroupOutput}

// groupKey is the annotation in which a flag stores its group.
const groupKey = "sqlite3perf_group"

// Grouped sets the group of flags. It is called where the flags are declared.
func Grouped(f *pflag.FlagSet, group string, names ...string) { annotate(f, groupKey, group, names) }

func annotate(f *pflag.FlagSet, key, value string, names []string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, key, []string{value}); err != nil {
			panic(err) // no flag has this name
		}
	}
}

// GroupOf returns the group of a flag, or "" if it has none.
func GroupOf(f *pflag.Flag) string {
	if a := f.Annotations[groupKey]; a != nil {
		return a[0]
	}
	return ""
}

// mostInOneList is the greatest number of flags that the help lists without groups.
const mostInOneList = 12

// FlagUsages returns the flags of a command for its help. If there are many flags, and each flag has a
// group, the flags are listed in groups. Otherwise they are in one list. Lines are wrapped to width
// columns, unless width is 0.
func FlagUsages(c *cobra.Command, width int) string {
	sets, n, list := map[string]*pflag.FlagSet{}, 0, false
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		g := GroupOf(f)
		if f.Hidden || f.Name == "help" {
			return
		}
		n++
		list = list || g == ""
		if sets[g] == nil {
			sets[g] = pflag.NewFlagSet(g, pflag.ContinueOnError)
			sets[g].SortFlags = false
		}
		sets[g].AddFlag(f)
	})
	if list || n <= mostInOneList {
		return "Flags:\n" + strings.TrimRight(c.LocalFlags().FlagUsagesWrapped(width), "\n")
	}
	var parts []string
	for _, g := range FlagGroups {
		if sets[g] != nil {
			parts = append(parts, g+":\n"+strings.TrimRight(sets[g].FlagUsagesWrapped(width), "\n"))
		}
	}
	return strings.Join(parts, "\n\n")
}

// FormerKey is the annotation of a flag that is the former name of another flag. It stores the new name.
const FormerKey = "sqlite3perf_former"

// Renamed keeps the former name of a flag. The help does not show it, and using it prints a note.
func Renamed(f *pflag.FlagSet, former, now string) {
	f.String(former, "", "the former name of --"+now)
	_ = f.MarkHidden(former) // cannot fail, because the flag was just declared
	annotate(f, FormerKey, now, []string{former})
}

// useFormer sets each flag that was given by its former name, and prints a note about it. It returns an
// error if the user typed both names of a flag.
func useFormer(cmd *cobra.Command) error {
	var former []*pflag.Flag
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Annotations[FormerKey] != nil {
			former = append(former, f)
		}
	})
	for _, f := range former {
		now := cmd.Flags().Lookup(f.Annotations[FormerKey][0])
		byUser := Typed(f)
		f.Changed = false // so that only the flag with the new name counts
		switch {
		case Typed(now) && byUser:
			return Usagef("--%s is now --%s: leave --%[1]s out", f.Name, now.Name)
		case now.Changed:
			continue
		}
		if err := cmd.Flags().Set(now.Name, f.Value.String()); err != nil {
			return FlagError(cmd, err)
		}
		if !byUser {
			markDefault(now)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "--%s is now --%s\n", f.Name, now.Name)
	}
	return nil
}

// Share parses the value of a flag that is a fraction, such as 2% or 0.02. It returns an error unless the
// fraction is above 0 and below 1.
func Share(flag, value string) (float64, error) {
	text, percent := strings.CutSuffix(value, "%")
	v, err := strconv.ParseFloat(text, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return 0, Usagef("%s %s: want a share such as 2%%, above 0 and below 100%%", flag, value)
	}
	return v, nil
}

// Subcommands returns all commands below c, at any depth.
func Subcommands(c *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, sub := range c.Commands() {
		list = append(append(list, sub), Subcommands(sub)...)
	}
	return list
}

func AddStoreFlag(f *pflag.FlagSet, value *string) {
	f.StringVar(value, "store", "", "`file` that stores the results (default: results.db in the user's data directory)")
	Reaching(f, Writes, "store")
	Grouped(f, GroupOutput, "store")
}

func AddDirFlag(f *pflag.FlagSet, value *string) {
	f.StringVar(value, "dir", "", "`directory` for databases, which are removed at the end; those of killed runs are removed too (default: in the user's cache directory)")
	Reaching(f, Writes, "dir")
	Grouped(f, GroupWhere, "dir")
}

func AddQuietFlag(f *pflag.FlagSet, value *bool) {
	f.BoolVar(value, "quiet", false, "no progress")
	Grouped(f, GroupOutput, "quiet")
}

// Positive returns an error if d, the value of a flag, is 0 or negative. The parameter "example" is a valid
// value.
func Positive(flag string, d time.Duration, example string) error {
	if d <= 0 {
		return Usagef("%s %v: want a time above 0, such as %s", flag, d, example)
	}
	return nil
}

// Seed returns the seed that the user gave. If the parameter "given" is "", it returns a random seed.
// Random seeds are below 2⁵³, so that JSON readers that store numbers as doubles keep them exact.
func Seed(given string) (uint64, error) {
	if given == "" {
		return rand.Uint64N(1 << 53), nil
	}
	n, err := strconv.ParseUint(given, 0, 64)
	if err != nil {
		return 0, Usagef("--seed %s: want a number from 0 to %d", given, uint64(math.MaxUint64))
	}
	return n, nil
}

// EachList splits each entry "name=value,value..." of the parameter "list", and calls each(name,
// value) for every value.
func EachList(flag string, list []string, each func(name, value string) error) error {
	for _, entry := range list {
		name, values, ok := strings.Cut(entry, "=")
		if !ok || values == "" {
			return fmt.Errorf("%s %s: want name=value, or name=value,value for several", flag, entry)
		}
		for v := range strings.SplitSeq(values, ",") {
			if err := each(strings.TrimSpace(name), strings.TrimSpace(v)); err != nil {
				return fmt.Errorf("%s %s: %w", flag, entry, err)
			}
		}
	}
	return nil
}

func AddAllowFilesFlag(f *pflag.FlagSet, value *bool) {
	f.BoolVar(value, "allow-files", false, "let SQL of workload files use other files: ATTACH, VACUUM INTO, …")
	Reaching(f, ReachesOut, "allow-files")
}

// JobFlags maps the name of a job's field in JSON to the flag that sets the field.
var JobFlags = map[string]string{
	"table": "--table", "rows": "-r", "batch": "-b", "prepared": "-p", "vacuum": "-v", "force": "--force", "pipeline": "--pipeline",
	"readers": "-r", "writers": "-w", "from": "--from", "duration_ms": "-d", "clear": "--clear",
	"depths": "--depths", "limit": "--limit", "repetitions": "--repetitions",
	"files": "--allow-files",
}

// Flagged rewords an error message about fields of a job, so that it names the flags that set these
// fields.
func Flagged(fields []protocol.Field, problem string) string {
	var wrong, other []string
	for _, f := range fields {
		switch flag := cmp.Or(JobFlags[f.Name], f.Name); f.Value {
		case "":
			other = append(other, flag)
		default:
			wrong = append(wrong, flag+" "+f.Value)
		}
	}
	if wrong != nil {
		problem = strings.Join(wrong, " ") + ": " + problem
	}
	if other != nil {
		problem += " (" + strings.Join(other, ", ") + ")"
	}
	return problem
}

// WithFlags calls the function "add" with the flags of the command c, and returns c.
func WithFlags(add func(*pflag.FlagSet), c *cobra.Command) *cobra.Command {
	add(c.Flags())
	return c
}
