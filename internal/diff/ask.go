package diff

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Questions are the statements that each driver runs on one database.
type Questions struct {
	Name     string // name of the workload; "" for statements without a workload
	Settings driver.Settings
	Job      protocol.Answers
	Begin    *lab.Case // case that fills the database first; nil if the database begins empty
}

const rowsReported = 100

// QuestionsOf returns the statements of a job, to be run on one connection with the settings s.
func QuestionsOf(name string, s driver.Settings, job protocol.Answers) Questions {
	job.Rows = rowsReported
	return Questions{Name: name, Settings: s.With(driver.Settings{"pool_size": "1"}), Job: job}
}

// AskedOf returns the statements of a case. If a statement has more executions than the given number,
// only the first executions are compared.
func AskedOf(c *lab.Case, executions int) Questions {
	q := QuestionsOf(c.Workload, c.Settings, protocol.Answers{Plan: c.Plan, Executions: executions, Loaded: c.Begins()})
	q.Begin = c
	return q
}

// AskedOfEach returns the statements of each workload's first case.
func AskedOfEach(cases []*lab.Case, executions int) (work []Questions) {
	for _, c := range cases {
		if !slices.ContainsFunc(work, func(w Questions) bool { return w.Name == c.Workload }) {
			work = append(work, AskedOf(c, executions))
		}
	}
	return work
}

// Asker asks drivers for the answers to statements.
type Asker struct {
	Refs        []build.Ref
	Executables []string // paths of the workers' executables, by index of the driver
	Dir         string   // directory for databases
	Seed        uint64
	Executions  int                         // greatest number of executions of each statement that are compared
	Limit       time.Duration               // time limit for the answers to one set of questions
	TooLong     error                       // error to return if Limit has passed
	Refused     func(e *lab.JobError) error // returns the error to report if a worker refuses the job
	Note        func(format string, args ...any)

	databases int // number of databases created so far
}

func (x *Asker) answers(ctx context.Context, i int, w *Questions) (*lab.Answered, error) {
	limited, cancel := context.WithTimeout(ctx, x.Limit)
	defer cancel()
	x.databases++
	path := filepath.Join(x.Dir, fmt.Sprintf("%d.db", x.databases))
	if w.Begin != nil {
		if err := w.Begin.CopyTo(limited, path); err != nil {
			return nil, err
		}
	}
	settings, ref := w.Settings, x.Refs[i]
	if ref.Known != nil && w.Begin != nil {
		settings = lab.Asked(ref.Known.Info, settings, w.Begin.Given)
	}
	a, err := lab.Answers(limited, x.Executables[i], lab.JobRequest{
		Job: protocol.Job{Answers: &w.Job}, Path: path, Settings: settings, Seed: x.Seed, Ref: ref,
	})
	failed, isJob := errors.AsType[*lab.JobError](err)
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() == nil && limited.Err() != nil:
		err = x.TooLong
	case isJob:
		err = x.Refused(failed)
	}
	if w.Name == "" {
		return nil, fmt.Errorf("%s: %w", ref.Name, err)
	}
	return nil, fmt.Errorf("%s, %s: %w", ref.Name, w.Name, err)
}

// Compare runs the statements on each driver, and compares all answers with those of the first
// driver.
func (x *Asker) Compare(ctx context.Context, work []Questions) (*Diffed, error) {
	d := &Diffed{Seed: x.Seed, Most: x.Executions}
	var sides []*Side
	for i, ref := range x.Refs {
		s := &Side{Name: ref.Name}
		if slices.ContainsFunc(x.Refs[:i], func(r build.Ref) bool { return r.Name == ref.Name }) {
			s.Name += " again"
		}
		if ref.Known != nil {
			_, s.PrimaryOnly = ref.Known.Limit("codes", "extended")
		}
		for k := range work {
			if name := work[k].Name; name != "" {
				x.Note("%s: %s", s.Name, name)
			}
			a, err := x.answers(ctx, i, &work[k])
			if err != nil {
				return nil, err
			}
			s.Work = append(s.Work, Work{Name: work[k].Name, Proof: a.Proof, Answers: a.Answers, Times: a.Times})
			if a.TimesAsText {
				d.TimesAsText = distinct.Append(d.TimesAsText, s.Name)
			}
			for _, name := range a.Skipped {
				d.Skipped = distinct.Append(d.Skipped, work[k].Name+": "+name)
			}
		}
		sides = append(sides, s)
		d.Sides = append(d.Sides, DiffSideOf(s.Name, s.Work[0].Proof))
	}
	compare := func() {
		d.Results = nil
		for _, s := range sides[1:] {
			d.Results = append(d.Results, Compare(sides[0], s))
		}
	}
	if compare(); !d.Differ() {
		return d, nil
	}
	// The first driver may itself answer some statements differently each time. To find these statements, the
	// first driver runs all statements again.
	for k := range work {
		a, err := x.answers(ctx, 0, &work[k])
		if err != nil {
			return nil, err
		}
		sides[0].Work[k].Again = a.Answers
	}
	compare()
	return d, nil
}
