package catalog

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
)

// Runs has the formats in which the list of a store's runs can be written.
var Runs = document.FormatsOf[[]store.Entry, document.Options]{What: "list of runs", List: []document.Format[[]store.Entry, document.Options]{
	{Name: "table", To: func(w io.Writer, list []store.Entry, o document.Options) error {
		_, err := fmt.Fprintln(w, strings.Join(fitted(runRows(list, mostNamed), o.Width), "\n"))
		return err
	}},
	{Name: "markdown", To: func(w io.Writer, list []store.Entry, _ document.Options) error {
		rows := runRows(list, mostNamed)
		return document.RenderMarkdown(w, document.Document{document.TableOf(strings.Join(rows[0], "|"), rows[1:])})
	}},
	{Name: "csv", To: func(w io.Writer, list []store.Entry, _ document.Options) error {
		c := csv.NewWriter(w)
		for _, row := range runRows(list, math.MaxInt) {
			if err := c.Write(document.CSVFields(row)); err != nil {
				return err
			}
		}
		c.Flush()
		return c.Error()
	}},
	{Name: "json", To: func(w io.Writer, list []store.Entry, _ document.Options) error {
		return document.Encode(w, store.JSONRuns{Version: store.RunsVersion, Runs: append([]store.Entry{}, list...)})
	}},
}}

// runRows returns the list of runs as rows of a table. The first row has the titles. The parameter
// "most" is the greatest number of drivers, and of workloads, that are named for each run.
func runRows(list []store.Entry, most int) [][]string {
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
		row := []string{fmt.Sprint(e.ID), e.Started.UTC().Format("2006-01-02 15:04:05"), trials,
			e.Ending(), document.FirstOf(e.Drivers, most, ","), document.FirstOf(hashed(e), most, ","), asked(e.Asked)}
		if several {
			row = append(row, machineOf(e))
		}
		rows = append(rows, document.Map(row, document.Line))
	}
	return rows
}

// machineOf returns the name of the machine of a run. If the run was measured with --hosts, it is the
// machine's name in --hosts. Otherwise it is the machine's host name.
func machineOf(e store.Entry) string { return cmp.Or(e.Reached, e.Host) }

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
	words := document.Map(stats.SettingNames(a.Settings), func(name string) string { return name + "=" + strings.Join(a.Settings[name], ",") })
	for _, name := range slices.Sorted(maps.Keys(a.Parameters)) {
		words = append(words, name+"="+document.Join(a.Parameters[name], ",", func(n int64) string { return fmt.Sprint(n) }))
	}
	return strings.Join(words, " ")
}

// fitted returns the lines of a table. If they are too long for a terminal, each row has only the first
// columns that fit, and the other columns follow in separate lines. The parameter "width" is 0 if there is
// no terminal.
func fitted(rows [][]string, width int) []string {
	const indent = "     "
	for n := len(rows[0]); ; n-- {
		lines := aligned(rows, n)
		if n > 1 && width > 0 && slices.ContainsFunc(lines, func(l string) bool { return document.Width(l) > width }) {
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
	_ = document.PrintTable(&b, strings.Join(rows[0][:n], "|"), first) // writing to memory does not fail
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}
