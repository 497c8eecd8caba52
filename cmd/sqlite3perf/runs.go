package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/report"
	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/store"
)

func runsCommand(env *environment) *cobra.Command {
	var storeFile string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the stored runs",
		Long: `Runs lists the stored runs, oldest first. SETTINGS has the settings and parameters that
were given for the workloads of a run, with all their values.`,
		Example: "  sqlite3perf runs",
		Args:    arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := storePath(storeFile)
			if err != nil {
				return err
			}
			st, err := store.OpenReadOnly(cmd.Context(), path)
			if err != nil {
				return err
			}
			defer st.Close()
			list, err := st.List(cmd.Context())
			if err != nil {
				return err
			}
			var table bytes.Buffer
			w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "RUN\tSTARTED (UTC)\tTRIALS\tENDED\tDRIVERS\tWORKLOADS\tSETTINGS")
			for _, e := range list {
				fmt.Fprintf(w, "%d\t%s\t%d\t%s\t%s\t%s\t%s\n", e.ID, e.Started.UTC().Format("2006-01-02 15:04:05"),
					e.Trials, report.Line(ending(e)), report.Line(shortened(e.Drivers)), report.Line(shortened(hashed(e))), report.Line(asked(e.Asked)))
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, line := range narrowed(table.String(), env.stdoutWidth) {
				if _, err := fmt.Fprintln(env.stdout, line); err != nil {
					return err
				}
			}
			orphans, err := st.Orphans(cmd.Context())
			if err != nil {
				return err
			}
			if text := store.OrphansText(orphans); text != "" {
				fmt.Fprintf(env.stderr, "store %s: %s\n", path, text)
			}
			return damagedRuns(path, list)
		},
	}
	addStoreFlag(cmd.Flags(), &storeFile)
	return cmd
}

// damagedRuns returns an error for the first damaged run of a list.
func damagedRuns(path string, list []store.Entry) error {
	for _, e := range list {
		if e.Damaged != "" {
			return store.Damaged(path, e.ID, errors.New(e.Damaged))
		}
	}
	return nil
}

// endings say why a run ended.
var endings = map[string]string{
	"":                        "unfinished",
	result.StoppedRounds:      "rounds done",
	result.StoppedSettled:     "settled",
	result.StoppedTime:        "time over",
	result.StoppedNothingLeft: "nothing to measure",
}

// ending says in a few words how a run ended.
func ending(e store.Entry) string {
	if e.Damaged != "" {
		return "damaged"
	}
	word := cmp.Or(endings[e.Stopped], e.Stopped)
	for _, s := range []result.Status{result.Wrong, result.Refused, result.Failed, result.Unavailable} {
		if n := e.Statuses[s]; n > 0 {
			word += fmt.Sprintf(", %d %s", n, s)
		}
	}
	return word
}

// hashed returns the workloads of a run, each with the first digits of its text's hash.
func hashed(e store.Entry) []string {
	const digits = 7
	var list []string
	for _, name := range e.Workloads {
		if h := e.Hashes[name]; len(h) >= digits {
			name += "@" + h[:digits]
		}
		list = append(list, name)
	}
	return list
}

// shortened lists the first few of many names.
func shortened(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ",") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ",")
}

// asked returns the settings and parameters that a run was asked for, with their values.
func asked(a *result.Asked) string {
	if a == nil {
		return ""
	}
	var words []string
	for _, name := range stats.SettingNames(a.Settings) {
		words = append(words, name+"="+strings.Join(a.Settings[name], ","))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Parameters)) {
		words = append(words, name+"="+strings.ReplaceAll(strings.Trim(fmt.Sprint(a.Parameters[name]), "[]"), " ", ","))
	}
	return strings.Join(words, " ")
}

// betweenColumns is what separates two columns of the table of runs.
var betweenColumns = regexp.MustCompile(` {2,}`)

// narrowed returns the lines of the table of runs. If one is too long for a terminal, what was
// measured follows each run in lines of its own. Width 0 means that there is no terminal.
func narrowed(table string, width int) []string {
	lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	long := false
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
		long = long || len([]rune(lines[i])) > width
	}
	at := strings.Index(lines[0], "DRIVERS") // the titles are ASCII
	if width == 0 || !long || at < 0 {
		return lines
	}
	const indent = "     "
	var list []string
	for _, line := range lines {
		r := []rune(line)
		head, rest := strings.TrimRight(string(r[:min(at, len(r))]), " "), string(r[min(at, len(r)):])
		rest = betweenColumns.ReplaceAllString(strings.TrimSpace(rest), " · ")
		if i := strings.LastIndex(string([]rune(head)[:min(width, len([]rune(head)))]), " "); len([]rune(head)) > width && i > 0 {
			head, rest = head[:i], head[i+1:]+" · "+rest
		}
		list = append(list, head)
		next := ""
		for _, word := range strings.Fields(strings.ReplaceAll(rest, ",", ", ")) {
			if next != "" && len([]rune(indent+next+" "+word)) > width {
				list, next = append(list, indent+next), ""
			}
			next = strings.TrimSpace(next + " " + word)
		}
		if next != "" {
			list = append(list, indent+next)
		}
	}
	return list
}
