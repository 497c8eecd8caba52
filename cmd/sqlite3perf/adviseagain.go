package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// answerAgain runs the statements of a stored run's workloads, whose texts the run has, on
// the versions of its candidates that it measured, and compares the answers. What cannot be
// asked is returned, with the command that asks it.
func (o *adviseOptions) answerAgain(ctx context.Context, env *environment, b *build.Builder, known []build.Known, named string, a *stats.Analysis, l *advise.Looked) (unasked []string, err error) {
	note := func(format string, args ...any) { unasked = append(unasked, fmt.Sprintf(format, args...)) }
	if !o.diff {
		return nil, nil
	}
	q := inquiry{}
	var silent []string // why statements are not run, by workload
	foreign := foreign(a.Run, named)
	q.work, silent = askedAgain(a.Run, foreign)
	for _, name := range candidateNames(a.Run) {
		ref, err := measuredRef(ctx, name, a, known)
		switch {
		case errors.Is(err, errRetype):
			note("how %s answers, which %v", document.Line(name), errRetype)
		case err != nil:
			note("how %s answers, because %s", document.Line(name), document.Line(err.Error()))
		default:
			q.refs = append(q.refs, ref)
		}
	}
	if silent != nil {
		note("whether the candidates answer alike on %s (%s)", strings.Join(silent, "; "), diffAgain(a.Run))
	}
	if len(q.work) == 0 || len(q.refs) < 2 {
		return unasked, nil
	}
	r := &request{builder: b}
	r.matrix.Seed = a.Run.Seed
	if r.dir, err = databasesDirectory(o.dir); err != nil {
		return nil, err
	}
	for i, ref := range q.refs {
		q.refs[i], err = b.Resolve(ctx, ref)
		if gone, ok := errors.AsType[*build.VersionError](err); ok {
			note("whether the candidates answer alike, because %s", document.Line(gone.Error()))
			return unasked, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return unasked, o.compareAnswers(ctx, env, r, q, l)
}

// candidateNames lists the drivers of a run, without the floor.
func candidateNames(run *result.Run) (names []string) {
	for i := range run.Cases {
		if name := run.Cases[i].Driver; result.BaseDriver(name) != floorDriver && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// errRetype says why a driver of a stored run is not run.
var errRetype = errors.New("is not a released version of a driver of sqlite3perf, and a stored run may be somebody else's")

// measuredRef returns a released driver in the version that a run measured, which may be
// another one than the pinned one by now. Others have to be typed by the user.
func measuredRef(ctx context.Context, name string, a *stats.Analysis, known []build.Known) (build.Ref, error) {
	if !build.Released(name, known) {
		return build.Ref{}, fmt.Errorf("%s %w", document.Line(name), errRetype)
	}
	ref, err := build.ParseRef(ctx, name, known)
	if err != nil {
		return ref, err
	}
	return inMeasuredVersion(ctx, ref, name, a, known)
}

// inMeasuredVersion returns a driver in the version that a run has proven of it.
func inMeasuredVersion(ctx context.Context, ref build.Ref, name string, a *stats.Analysis, known []build.Known) (build.Ref, error) {
	p := a.Proof(name)
	if ref.Known == nil || ref.Version != "" || ref.Dir != "" || len(ref.Known.Command) > 0 || p == nil || cmp.Or(p.ModuleVersion, ref.Known.Version) == ref.Known.Version {
		return ref, nil
	}
	plain := result.BaseDriver(name)
	versioned := plain + "@" + p.ModuleVersion
	if !build.Released(versioned, known) {
		return ref, fmt.Errorf("%s %w", document.Line(versioned), errRetype)
	}
	return build.ParseRef(ctx, versioned+strings.TrimPrefix(name, plain), known)
}

// measuredRefs returns the drivers of a run in the versions that it measured, by their names
// in the run. What is no longer there is left out.
func measuredRefs(ctx context.Context, a *stats.Analysis, known []build.Known) map[string]build.Ref {
	refs := map[string]build.Ref{}
	for i := range a.Run.Cases {
		name := a.Run.Cases[i].Driver
		if ref, err := measuredRef(ctx, name, a, known); err == nil {
			refs[name] = ref
		}
	}
	return refs
}

// askedAgain returns the statements of a run's workloads, each with the first of its settings
// and parameters. silent says of each of the others why it cannot be run again.
func askedAgain(run *result.Run, foreign bool) (work []questions, silent []string) {
	d := &diffOptions{executions: adviceExecutions}
	var seen []string
	for i := range run.Cases {
		c := &run.Cases[i]
		if slices.Contains(seen, c.Workload) {
			continue
		}
		seen = append(seen, c.Workload)
		p, err := planAgain(run, c, foreign)
		if err != nil {
			silent = append(silent, fmt.Sprintf("%s, because %s", document.Line(c.Workload), document.Line(err.Error())))
			continue
		}
		work = append(work, d.asked(c.Workload, c.Settings, p, nil))
	}
	return work, silent
}

// planAgain makes the plan of a case from the text of its workload, which of a foreign run
// must be that of a built-in one.
func planAgain(run *result.Run, c *result.Case, foreign bool) (*plan.Plan, error) {
	w, err := workloadAgain(run, c, foreign)
	if err != nil {
		return nil, err
	}
	return w.Plan(c.Scale, c.Parameters)
}

// errDatabase is that a workload cannot be had from its text alone.
var errDatabase = errors.New("of which a run keeps nothing")

// workloadAgain makes the workload of a case from the text that its run has, which of a
// foreign run must be that of a built-in one.
func workloadAgain(run *result.Run, c *result.Case, foreign bool, options ...workload.Option) (*workload.Workload, error) {
	i := slices.IndexFunc(run.Workloads, func(w result.Workload) bool { return w.Name == c.Workload && w.SHA256 == c.WorkloadSHA256 })
	if i < 0 {
		return nil, errors.New("the run is of a sqlite3perf that did not keep its text")
	}
	kept := &run.Workloads[i]
	if foreign {
		own, err := workload.Load(kept.Name)
		if !slices.Contains(workload.Builtins(), kept.Name) || err != nil || own.SHA256() != kept.SHA256 {
			return nil, errors.New("a report or a merged run may be somebody else's, and only built-in workloads of one are run")
		}
	}
	var files []workload.File
	for _, f := range kept.Includes {
		files = append(files, workload.File(f))
	}
	w, err := workload.Parse(kept.Name+".yaml", []byte(kept.Text), nil, append(options, workload.Including(files...))...)
	switch {
	case err != nil:
		return nil, err
	case w.Database != "":
		return nil, fmt.Errorf("it begins with the database %s, %w", w.Database, errDatabase)
	case w.SHA256() != kept.SHA256:
		return nil, errors.New("the run did not keep all of it")
	}
	return w, nil
}

// diffAgain returns the command that compares the answers of a run's candidates, as far as
// the run knows how its workloads are named.
func diffAgain(run *result.Run) string {
	words := append([]string{"sqlite3perf", "diff"}, candidateNames(run)...)
	var files []string
	for i, arg := range run.Command {
		value, ok := strings.CutPrefix(arg, "--workloads=")
		if !ok && i > 0 && run.Command[i-1] == "--workloads" {
			value, ok = arg, true
		}
		if ok {
			files = append(files, strings.Split(value, ",")...)
		}
	}
	for i := range run.Cases {
		if name := run.Cases[i].Workload; files == nil && slices.Contains(workload.Builtins(), name) {
			files = append(files, name)
		}
	}
	if files == nil || !slices.ContainsFunc(files, func(f string) bool { return filepath.Ext(f) != "" || slices.Contains(workload.Builtins(), f) }) {
		files = []string{"FILE.yaml"}
	}
	words = append(words, "--workloads", strings.Join(files, ","), "--scale", run.Scale, "--seed", fmt.Sprint(run.Seed))
	if run.Asked != nil {
		for _, name := range slices.Sorted(maps.Keys(run.Asked.Settings)) {
			for _, v := range run.Asked.Settings[name][:min(1, len(run.Asked.Settings[name]))] { // diff takes one
				words = append(words, "--set", name+"="+v)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(run.Asked.Parameters)) {
			for _, v := range run.Asked.Parameters[name][:min(1, len(run.Asked.Parameters[name]))] {
				words = append(words, "--param", fmt.Sprintf("%s=%d", name, v))
			}
		}
	}
	for i, w := range words {
		words[i] = conditions.ShellWord(w)
	}
	return strings.Join(words, " ")
}
