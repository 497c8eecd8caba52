package lab

import (
	"context"
	"errors"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// BenchPhases are the phases that [Case.AddBench] adds to a case. Each is a span of time within the
// worker's job of type bench. after-query lasts from the start of the job until the library has accepted
// the query. first-row lasts from that moment until the first row has arrived. verify lasts from the start
// of the job until the last row is verified.
var BenchPhases = []string{"after-query", "first-row", "verify"}

// AddBench makes each trial of the case run the worker's job of type bench after the plan. This job verifies a
// table of the database in a separate process.
func (c *Case) AddBench(table string) {
	c.bench = &protocol.Bench{Table: table}
	c.Phases = append(c.Phases, BenchPhases...)
}

// planned returns a copy of the case without the phases that AddBench added.
func (c *Case) planned() *Case {
	if c.bench == nil {
		return c
	}
	p := *c
	p.Phases = c.Phases[:len(c.Phases)-len(BenchPhases)]
	return &p
}

// bench runs the case's job of type bench on the database that the phases of the plan have written.
func (s *session) bench(ctx context.Context, c *Case, path string) {
	s.want, s.phase = c, BenchPhases[len(BenchPhases)-1]
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := process.NewAlarm(s.limit, cancel)
	defer func() { s.stopped += limit.Stop() }()
	r, err := RunJob(limited, c.Worker, JobRequest{
		Job: protocol.Job{Bench: c.bench}, Path: path, Settings: c.asked(), Seed: s.seed, Ref: c.Ref,
	}, nil)
	told, ok := errors.AsType[*JobError](err)
	switch {
	case ok:
		s.fail(statusOf(told.Reason.Code), told.Reason.Code, "%s", told.Reason.Message)
		s.trial.Reason.Detail, s.trial.Reason.SQLite = process.Detail(told.Reason.Detail, ""), told.Reason.SQLite
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		s.fail(result.Failed, protocol.CodeTimeout, "no end within the trial's limit of %v", s.limit)
	case err != nil:
		s.fail(result.Failed, protocol.CodeStart, "%v", err)
	default:
		s.benched(r.Bench)
	}
}

// benched turns the result of the job of type bench into samples. If the result shows wrong rows, benched
// fails the trial instead.
func (s *session) benched(b *protocol.Benched) {
	switch want := s.want.Plan.DataSet(s.want.bench.Table).Total; {
	case b == nil:
		s.fail(result.Failed, protocol.CodeProtocol, "the worker answered the job bench with the result of another")
		return
	case b.Mismatches > 0:
		s.fail(result.Wrong, protocol.CodeAnswer, "the hashes of %d of %d rows do not match their content; the first such row has ID %s: %s", b.Mismatches, b.Rows, b.First[0].ID, b.First[0].Why)
		return
	case b.Rows != want:
		s.fail(result.Wrong, protocol.CodeRows, "%d rows, expected %d", b.Rows, want)
		return
	}
	for i, ns := range benchTimes(b) {
		m := result.Sample{Phase: BenchPhases[i], Metric: result.MetricTime, WallNS: max(ns, int64(time.Nanosecond)), Operations: 1}
		if i == len(BenchPhases)-1 {
			m.Rows = b.Rows
		}
		s.trial.Samples = append(s.trial.Samples, m)
	}
}

// benchTimes returns the times of [BenchPhases] in ns. In the job's result, all times count from
// the start of the job.
func benchTimes(b *protocol.Benched) []int64 {
	return []int64{b.AfterQueryNS, b.FirstRowNS - b.AfterQueryNS, b.WallNS}
}
