package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups of flags in the help of a command, in their order.
const (
	groupWhat   = "What is measured"
	groupLong   = "How long"
	groupWhere  = "Where"
	groupOutput = "Output"
)

var flagGroups = []string{groupWhat, groupLong, groupWhere, groupOutput}

// groupKey is the annotation in which a flag stores its group.
const groupKey = "sqlite3perf_group"

// grouped sets the group of flags. It is called where the flags are declared.
func grouped(f *pflag.FlagSet, group string, names ...string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, groupKey, []string{group}); err != nil {
			panic(err) // no flag has this name
		}
	}
}

// groupOf returns the group of a flag, or "" if it has none.
func groupOf(f *pflag.Flag) string {
	if a := f.Annotations[groupKey]; a != nil {
		return a[0]
	}
	return ""
}

// mostInOneList is how many flags the help lists without groups.
const mostInOneList = 12

// flagUsages returns the flags of a command for its help: in groups if there are many and each has
// one, otherwise in one list. Lines are wrapped to width columns, unless width is 0.
func flagUsages(c *cobra.Command, width int) string {
	sets, n, list := map[string]*pflag.FlagSet{}, 0, false
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		g := groupOf(f)
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
	for _, g := range flagGroups {
		if sets[g] != nil {
			parts = append(parts, g+":\n"+strings.TrimRight(sets[g].FlagUsagesWrapped(width), "\n"))
		}
	}
	return strings.Join(parts, "\n\n")
}

// formerKey is the annotation of a flag that has another name now. It stores that name.
const formerKey = "sqlite3perf_former"

// renamed keeps the former name of a flag. The help does not show it, and using it prints a note.
func renamed(f *pflag.FlagSet, former, now string) {
	f.String(former, "", "the former name of --"+now)
	_ = f.MarkHidden(former) // the flag was just declared
	_ = f.SetAnnotation(former, formerKey, []string{now})
}

// useFormer sets flags whose former names were used, and prints a note about each. It returns an
// error if the user typed both names.
func useFormer(cmd *cobra.Command) error {
	var former []*pflag.Flag
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Annotations[formerKey] != nil {
			former = append(former, f)
		}
	})
	for _, f := range former {
		now := cmd.Flags().Lookup(f.Annotations[formerKey][0])
		byUser := typed(f)
		f.Changed = false // so that only the flag that is now used counts
		switch {
		case typed(now) && byUser:
			return usagef("--%s is now --%s: leave --%[1]s out", f.Name, now.Name)
		case now.Changed:
			continue
		}
		if err := cmd.Flags().Set(now.Name, f.Value.String()); err != nil {
			return flagError(cmd, err)
		}
		if !byUser {
			setAnnotation(now, isDefault)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "--%s is now --%s\n", f.Name, now.Name)
	}
	return nil
}

// share parses the value of a flag that is a share, such as 2% or 0.02.
func share(flag, value string) (float64, error) {
	text, percent := strings.CutSuffix(value, "%")
	v, err := strconv.ParseFloat(text, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return 0, usagef("%s %s: want a share such as 2%%, above 0 and below 100%%", flag, value)
	}
	return v, nil
}
