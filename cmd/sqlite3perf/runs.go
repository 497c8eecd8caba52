package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

func runsCommand(env *environment) *cobra.Command {
	var storeFile string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the stored runs",
		Long: `Runs lists the stored runs, oldest first. ENDED says of a run of profiles which phase was
profiled, and of a run with an answer which command gave it. SETTINGS has the settings and parameters that were given for the workloads of a
run, with all their values. If the runs are of several machines, MACHINE says of which each
is.`,
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
			rows := [][]string{{"RUN", "STARTED (UTC)", "TRIALS", "ENDED", "DRIVERS", "WORKLOADS", "SETTINGS"}}
			several := slices.ContainsFunc(list, func(e store.Entry) bool { return machineOf(e) != machineOf(list[0]) })
			if several {
				rows[0] = append(rows[0], "MACHINE")
			}
			for _, e := range list {
				trials := fmt.Sprint(e.Trials)
				if !e.Sampled() {
					trials = "–"
				}
				rows = append(rows, []string{fmt.Sprint(e.ID), e.Started.UTC().Format("2006-01-02 15:04:05"), trials,
					document.Line(ending(e)), document.Line(document.FirstOf(e.Drivers, mostNamed, ",")), document.Line(document.FirstOf(hashed(e), mostNamed, ",")), document.Line(asked(e.Asked))})
				if last := len(rows) - 1; several {
					rows[last] = append(rows[last], document.Line(machineOf(e)))
				}
			}
			for _, line := range fitted(rows, env.stdoutWidth) {
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

// machineOf returns the name of the machine of a run. For another machine, it is the name that the
// user typed.
func machineOf(e store.Entry) string { return cmp.Or(e.Reached, e.Host) }

func damagedRuns(path string, list []store.Entry) error {
	for _, e := range list {
		if e.Damaged != "" {
			return store.Damaged(path, e.ID, errors.New(e.Damaged))
		}
	}
	return nil
}

// ending describes in a few words how a run ended.
func ending(e store.Entry) string {
	if e.Damaged != "" {
		return "damaged"
	}
	word := result.Ending(e.Stopped)
	switch {
	case e.Question != "" && e.Sampled():
		word += ", answer of " + e.Question
	case e.Question != "":
		word = "answer of " + e.Question
	}
	if e.Profiled != "" {
		word = "profile of " + e.Profiled
		if e.Stopped == result.StoppedInterrupted {
			word += ", interrupted"
		}
	}
	for _, s := range []result.Status{result.Wrong, result.Refused, result.Failed, result.Unavailable} {
		if n := e.Statuses[s]; n > 0 {
			word += fmt.Sprintf(", %d %s", n, s)
		}
	}
	return word
}

// hashed returns the workloads of a run, each followed by the first digits of the hash of its text.
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

const mostNamed = 4

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

// fitted returns the lines of a table. If they are too long for a terminal, each row has only the
// first columns that fit, and the other columns follow in separate lines. width is 0 if there is no
// terminal.
func fitted(rows [][]string, width int) []string {
	const indent = "     "
	for n := len(rows[0]); ; n-- {
		lines := aligned(rows, n)
		if n > 1 && width > 0 && slices.ContainsFunc(lines, func(l string) bool { return text.StringWidth(l) > width }) {
			continue
		}
		var list []string
		for i, line := range lines {
			list = append(list, line)
			rest := slices.DeleteFunc(slices.Clone(rows[i][n:]), func(s string) bool { return s == "" })
			if len(rest) == 0 {
				continue
			}
			whole := strings.ReplaceAll(strings.Join(rest, " · "), ",", ", ")
			for _, part := range strings.Split(text.WrapSoft(whole, max(width-len(indent), 1)), "\n") {
				list = append(list, indent+strings.TrimSpace(part))
			}
		}
		return list
	}
}

// aligned returns the first n columns of a table as aligned text, one line for each row.
func aligned(rows [][]string, n int) []string {
	var b strings.Builder
	var first [][]string
	for _, row := range rows[1:] {
		first = append(first, slices.Clone(row[:n])) // a copy, because rendering changes the row
	}
	_ = printTable(&b, strings.Join(rows[0][:n], "|"), first) // writing to memory does not fail
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}
