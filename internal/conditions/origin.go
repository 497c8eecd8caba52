package conditions

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// Origin describes the runs that measured the two sides of a comparison. If one run measured both
// sides, the parameters "first" and "second" are equal. The runs in "further" measured some cells a
// second time, to confirm the verdicts on these cells.
func Origin(names [2]string, cells []*stats.Compared, first, second *stats.Analysis, further ...*stats.Analysis) document.List {
	l := sides(names, cells)
	all := []*stats.Analysis{first}
	if first == second {
		l = append(l, document.Item{Label: "measured", Text: MeasuredIn(first, "both sides in the same rounds")})
	} else {
		all = append(all, second)
		for i, a := range all {
			text := MeasuredIn(a, "sqlite3perf "+a.Run.Version)
			if names[i] != fmt.Sprintf("run %d", a.Run.ID) {
				text = names[i] + ": " + text
			}
			l = append(l, document.Item{Label: []string{"first", "second"}[i], Text: text})
		}
	}
	for _, a := range further {
		l = append(l, document.Item{Label: "again", Text: MeasuredIn(a, "only the cells in doubt")})
	}
	all = append(all, further...)
	l.Note(document.Item{Label: "repeated", Text: CountRepeated(Runs(all)...).String()})
	if first == second {
		l.Note(document.Item{Label: "command", Text: CommandLine(first.Run.Command)})
	}
	l = append(l, hooksOf(names, first.Run, second.Run)...)
	if differ := MachinesDiffer(first.Run.Machine, second.Run.Machine); differ == nil {
		l = append(l, MachineItems(first.Run.Machine)...)
	} else {
		l = append(l, document.Item{Label: "beware", Text: "the machines differ: " + strings.Join(differ, "; "), Alarm: true})
		for i, a := range all[:2] {
			l = append(l, document.Item{Label: "machine", Text: names[i] + ": " + Over(a.Run.Host) + Machine(a.Run.Machine)})
		}
	}
	var warned Groups[document.Item, int64]
	for _, a := range all {
		for _, w := range RunWarnings(a) {
			warned.Add(w, a.Run.ID)
		}
	}
	for _, w := range warned.Keys {
		if ids := warned.Of[w]; len(ids) < len(all) {
			w.Text = fmt.Sprintf("run %d: %s", ids[0], w.Text)
			for i, s := range w.Short {
				if s != "" {
					w.Short[i] = fmt.Sprintf("run %d: %s", ids[0], s)
				}
			}
		}
		l = append(l, w)
	}
	return l
}

// HookItems lists the commands that ran around each trial of a run.
func HookItems(run *result.Run) (l document.List) {
	if h := run.Hooks; h != nil {
		l.Note(document.Item{Label: "prepare", Text: document.Line(h.Prepare)})
		l.Note(document.Item{Label: "cleanup", Text: document.Line(h.Cleanup)})
	}
	return l
}

// hooksOf lists the commands that ran around the trials of two sides, and warns if they differ.
func hooksOf(names [2]string, first, second *result.Run) document.List {
	sides := [2]document.List{HookItems(first), HookItems(second)}
	if slices.Equal(sides[0], sides[1]) {
		return sides[0]
	}
	l := document.List{{Label: "beware", Text: "different commands ran around the trials of the two sides", Alarm: true}}
	for i, items := range sides {
		for _, x := range items {
			x.Text = names[i] + ": " + x.Text
			l = append(l, x)
		}
	}
	return l
}

// HowMeasured returns the title of a section that says how something was measured, with the number
// of warnings in the section's list.
func HowMeasured(l document.List) string {
	if n := len(l.Alarms()); n > 0 {
		return "how it was measured, with " + document.Counted(int64(n), "warning")
	}
	return "how it was measured"
}

// Alternated reports whether all successful trials of a run took turns. The turn changes after each
// phase or after a part of it. Alternated returns false if no trial was successful.
func Alternated(run *result.Run) bool {
	ok := func(t result.Trial) bool { return t.Status == result.OK }
	return slices.ContainsFunc(run.Trials, ok) && !slices.ContainsFunc(run.Trials, func(t result.Trial) bool { return ok(t) && !t.Alternated })
}

// Turns says in words how the trials of a run took turns. It returns "" if they did not.
func Turns(run *result.Run) string {
	if !Alternated(run) {
		return ""
	}
	d := SliceTime(run)
	if d == 0 {
		return "taking turns at each phase"
	}
	turns := "taking turns every " + document.Elapsed(d)
	if long := longTurns(run, d); len(long) > 2 {
		turns += fmt.Sprintf(" (in %d phases only after the whole phase)", len(long))
	} else if len(long) > 0 {
		turns += " (in " + document.And(long) + " only after the whole phase)"
	}
	return turns
}

// longTurns returns the phases, such as "locks mix", that every trial measured in one turn, although each took
// more than ten times as long as the run's typical slice.
func longTurns(run *result.Run, slice time.Duration) (phases []string) {
	workloads := map[int]string{} // by the case's ID
	for i := range run.Cases {
		workloads[run.Cases[i].ID] = run.Cases[i].Workload
	}
	divided := map[string]bool{} // phases that were measured in slices, or that took at most ten times as long as a slice
	for _, t := range run.Trials {
		if t.Status != result.OK {
			continue
		}
		for _, s := range t.Samples {
			phase := workloads[t.Case] + " " + s.Phase
			phases = distinct.Append(phases, phase)
			if s.Slices > 0 || time.Duration(s.WallNS*max(1, s.Repeats)) <= 10*slice {
				divided[phase] = true
			}
		}
	}
	return slices.DeleteFunc(phases, func(p string) bool { return divided[p] })
}

// SliceTime returns the typical time of the slices (parts) in which a run's phases were measured. It
// computes the mean time of the slices of each sample, and returns the median of these means. It
// returns 0 if no phase was measured in slices.
func SliceTime(run *result.Run) time.Duration {
	var list []time.Duration
	for i := range run.Trials {
		for _, s := range run.Trials[i].Samples {
			if s.Slices > 0 {
				list = append(list, time.Duration(s.WallNS*max(1, s.Repeats)/s.Slices))
			}
		}
	}
	if list == nil {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// Runs returns the run of each analysis.
func Runs(analyses []*stats.Analysis) []*result.Run {
	return document.Map(analyses, func(a *stats.Analysis) *result.Run { return a.Run })
}

// MeasuredIn says when a run was measured, how, and how many rounds it has.
func MeasuredIn(a *stats.Analysis, how string) string {
	run := a.Run
	if turns := Turns(run); turns != "" {
		how += ", " + turns
	}
	return fmt.Sprintf("run %d, %s, %s; rounds: %s; scale %s, seed %d",
		run.ID, run.Started.UTC().Format("2006-01-02 15:04 MST"), how, Stopped(a), run.Scale, run.Seed)
}

// SideLibraries lists the drivers of each side of a comparison, with their measured versions and
// the versions of their SQLite.
func SideLibraries(cells []*stats.Compared) (first, second []string) {
	library := func(o *stats.Outcome) string { return Name(o) + ", SQLite " + SQLiteVersion(o) }
	for _, x := range cells {
		first, second = distinct.Append(first, library(x.First.Outcome)), distinct.Append(second, library(x.Second.Outcome))
	}
	return first, second
}

func sides(names [2]string, cells []*stats.Compared) document.List {
	if len(cells) == 0 {
		return nil
	}
	first, second := SideLibraries(cells)
	a, b := strings.Join(first, "; "), strings.Join(second, "; ")
	if a == b {
		return document.List{{Label: "sides", Text: names[0] + " and " + names[1] + ", both with " + a}}
	}
	return document.List{{Label: "sides", Text: a + " and " + b}}
}

// Resume returns a list with the command that continues an incomplete run. It returns nil if the
// run is complete.
func Resume(a *stats.Analysis, h document.Hints) (l document.List) {
	for _, h := range ToResume(&h, a) {
		l = append(l, document.Item{Label: h.Shows, Text: h.Command + " measures the rest", Alarm: true})
	}
	return l
}

// ToResume returns a hint with the command that continues an incomplete run. It returns nil if the
// run is complete.
func ToResume(h *document.Hints, a *stats.Analysis) []document.Hint {
	if h.Resume == "" || a.Run.Stopped != result.StoppedInterrupted && a.Run.Stopped != "" && !HostLost(a) {
		return nil
	}
	return []document.Hint{{Shows: "resume", Command: h.Resume}}
}
