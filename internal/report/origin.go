package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// origin says what the figures of two sides were measured from. First and second are the
// same if that was in the same rounds. Further runs measured cells in doubt once more.
func origin(names [2]string, cells []*stats.Compared, first, second *stats.Analysis, further ...*stats.Analysis) list {
	l := sides(names, cells)
	all := []*stats.Analysis{first}
	if first == second {
		together := "both sides in the same rounds"
		if alternated(first.Run) {
			together += ", phase by phase"
		}
		l = append(l, item{label: "measured", text: measuredIn(first, together)})
	} else {
		all = append(all, second)
		for i, a := range all {
			text := measuredIn(a, "sqlite3perf "+a.Run.Version)
			if names[i] != fmt.Sprintf("run %d", a.Run.ID) {
				text = names[i] + ": " + text
			}
			l = append(l, item{label: []string{"first", "second"}[i], text: text})
		}
	}
	for _, a := range further {
		l = append(l, item{label: "again", text: measuredIn(a, "only what was in doubt")})
	}
	all = append(all, further...)
	l.note(item{label: "repeated", text: countRepeated(runs(all)...).String()})
	if first == second {
		l.note(item{label: "command", text: commandLine(first.Run.Command)})
	}
	if differ := MachinesDiffer(first.Run.Machine, second.Run.Machine); differ == nil {
		l = append(l, machineItems(first.Run.Machine)...)
	} else {
		l = append(l, item{"beware", "the machines differ: " + strings.Join(differ, "; "), true})
		for i, a := range all[:2] {
			l = append(l, item{label: "machine", text: names[i] + ": " + over(a.Run.Host) + machine(a.Run.Machine)})
		}
	}
	var warned groups[item, int64]
	for _, a := range all {
		for _, w := range runWarnings(a) {
			warned.add(w, a.Run.ID)
		}
	}
	for _, w := range warned.keys {
		if ids := warned.of[w]; len(ids) < len(all) {
			w.text = fmt.Sprintf("run %d: %s", ids[0], w.text)
		}
		l = append(l, w)
	}
	return l
}

// alternated reports whether the trials of a run alternated phase by phase.
func alternated(run *result.Run) bool {
	ok := func(t result.Trial) bool { return t.Status == result.OK }
	return slices.ContainsFunc(run.Trials, ok) && !slices.ContainsFunc(run.Trials, func(t result.Trial) bool { return ok(t) && !t.Alternated })
}

// runs returns what was analyzed.
func runs(analyses []*stats.Analysis) (list []*result.Run) {
	for _, a := range analyses {
		list = append(list, a.Run)
	}
	return list
}

// measuredIn says when a run was measured, how, and how long.
func measuredIn(a *stats.Analysis, how string) string {
	run := a.Run
	return fmt.Sprintf("run %d, %s, %s; rounds: %s; scale %s, seed %d",
		run.ID, run.Started.UTC().Format("2006-01-02 15:04 MST"), how, stopped(a), run.Scale, run.Seed)
}

// SideLibraries lists the drivers of each side of some cells, with their versions and SQLite's,
// as proven.
func SideLibraries(cells []*stats.Compared) (first, second []string) {
	library := func(o *stats.Outcome) string { return name(o) + ", SQLite " + sqliteVersion(o) }
	for _, x := range cells {
		if a := library(x.First.Outcome); !slices.Contains(first, a) {
			first = append(first, a)
		}
		if b := library(x.Second.Outcome); !slices.Contains(second, b) {
			second = append(second, b)
		}
	}
	return first, second
}

// sides says which driver, version and SQLite each side has.
func sides(names [2]string, cells []*stats.Compared) list {
	if len(cells) == 0 {
		return nil
	}
	first, second := SideLibraries(cells)
	a, b := strings.Join(first, "; "), strings.Join(second, "; ")
	if a == b {
		return list{{label: "sides", text: names[0] + " and " + names[1] + ", both with " + a}}
	}
	return list{{label: "sides", text: a + " and " + b}}
}

// resume says how a run that is not whole can go on.
func resume(a *stats.Analysis, h Hints) (l list) {
	for _, h := range toResume(&h, a) {
		l = append(l, item{label: h.Shows, text: h.Command + " measures the rest", alarm: true})
	}
	return l
}

// toResume returns the command that measures what is missing in a run, if anything is.
func toResume(h *Hints, a *stats.Analysis) []Hint {
	if h.Resume == "" || a.Run.Stopped != result.StoppedInterrupted && a.Run.Stopped != "" && !hostLost(a) {
		return nil
	}
	return []Hint{{"resume", h.Resume}}
}
