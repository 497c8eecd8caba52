package conditions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// RunSource says in one line from which run figures come, when it was measured, and on which machine.
func RunSource(run *result.Run) string {
	words := []string{"", run.Started.UTC().Format("2006-01-02 15:04 MST")}
	if run.ID != 0 { // it is 0 if the run is not stored
		words[0] = fmt.Sprintf("run %d", run.ID)
	}
	m := run.Machine
	if m.CPU != "" && m.Cores > 0 {
		words = append(words, fmt.Sprintf("%d × %s", m.Cores, m.CPU))
	}
	words = append(words, strings.Trim(m.OS+"/"+m.Arch, "/"), m.Hostname)
	return document.JoinKnown(" · ", words...)
}

// PageSource returns the line that says where the figures of a page come from. It has the
// [RunSource] of the run, and the version of sqlite3perf that measured the run.
func PageSource(run *result.Run) string { return RunSource(run) + " · sqlite3perf " + run.Version }

// PictureSource returns the line about the source of a picture that is in its own file. The line has
// "sqlite3perf" and the [RunSource] of each run. If the picture compares two runs, the line has both.
func PictureSource(runs ...*result.Run) string {
	words := []string{"sqlite3perf"}
	for i, r := range runs {
		if r != nil && !slices.Contains(runs[:i], r) {
			words = append(words, RunSource(r))
		}
	}
	return strings.Join(words, " · ")
}
