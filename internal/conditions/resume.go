package conditions

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// Resumable returns the reason why a run cannot be continued on any machine. It returns nil if the run
// can be continued on the right machine. The parameter "version" is the version of the running
// sqlite3perf; "extended" says that the user gives the run more time.
func Resumable(run *result.Run, version string, extended bool) error {
	switch {
	case run.Merged != "":
		return fmt.Errorf("was merged from %s: resume it there, and merge again", document.Line(run.Merged))
	case run.Unsampled() != "":
		return fmt.Errorf("has %s instead of samples: %s", run.Unsampled(), StartAgain)
	case run.Study != nil:
		return fmt.Errorf("belongs to a published study, whose claims decide what is measured: %s", StartAgain)
	case run.Search != nil:
		return fmt.Errorf("is part of a search for settings, which decides what is measured next: %s", StartAgain)
	case run.Schedule == nil || len(run.Workloads) == 0:
		return fmt.Errorf("is of a sqlite3perf that did not store its plan: %s", StartAgain)
	case run.Version != version:
		return fmt.Errorf("was begun by sqlite3perf %s, and this is %s: resume it with that version, or %s", document.Line(run.Version), version, StartAgain)
	}
	if slices.ContainsFunc(run.Warnings, func(w result.Warning) bool { return w.Code == result.WarningStore }) {
		return fmt.Errorf("lacks rows that another program has deleted: %s", StartAgain)
	}
	complete := []string{result.StoppedRounds, result.StoppedSettled}
	if !extended {
		complete = append(complete, result.StoppedTime)
	}
	if slices.Contains(complete, run.Stopped) && len(run.Resumable()) == 0 {
		return fmt.Errorf("is complete (%s), and no case failed: there is nothing to resume", result.Ending(run.Stopped))
	}
	return nil
}

// StartAgain says how to replace a run that cannot be continued. It does not contain the run's
// command. Users paste the text of errors into a shell, and in somebody else's store, that command
// may be harmful.
const StartAgain = "start a new run; show has the command of this one"

// SameWorker returns an error if a case already has a successful trial, but its worker has changed or
// is now missing.
func SameWorker(run *result.Run, before *result.Case, now *lab.Case) error {
	if !slices.ContainsFunc(run.Trials, func(t result.Trial) bool { return t.Case == before.ID && t.Status == result.OK }) {
		return nil
	}
	switch {
	case now.Unavailable != nil:
		return fmt.Errorf("has no worker now: %s%s", document.Line(now.Unavailable.Message), Said(now.Unavailable))
	case !maps.Equal(before.Build, now.Build):
		return fmt.Errorf("is built differently now (%s), and was measured as built with %s: start a new run", document.Line(document.Assigned(now.Build)), document.Line(document.Assigned(before.Build)))
	case !maps.Equal(before.Linked, now.Linked):
		return errors.New("has other modules in its worker now: start a new run")
	case now.Ref.Dir != "" && filepath.Base(before.Worker) != filepath.Base(now.Worker):
		return errors.New("is built from a directory that has been changed since: start a new run")
	}
	return nil
}
