package cluster

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Planned is a trial before the results of its rounds are summed up.
type Planned struct {
	ClusterTrial
	Ref build.Ref
	Job protocol.Cluster
}

// Measurement runs trials of clusters and of a local driver, in shuffled order.
type Measurement struct {
	Trials      []Planned
	Executables map[string]string // paths of the workers' executables, by driver
	Rounds      int
	Harms       int           // how many times a leader is killed or cut off in each trial
	Limit       time.Duration // a trial that takes longer is ended
	Dir         string        // directory for databases
	Observer    *machine.Observer
	Note        func(format string, args ...any)
}

// Run measures all rounds. If it returns an error, it also returns the results of the rounds before.
func (m *Measurement) Run(ctx context.Context) (*Clusters, error) {
	out := &Clusters{Machine: m.Observer.Machine}
	results := make([][]*protocol.Clustered, len(m.Trials))
	var failed error
	var order []int // order of the trials in a round; shuffled because the speed of the machine may drift within the round
	for n := range m.Rounds * len(m.Trials) {
		if n%len(m.Trials) == 0 {
			m.Observer.BeforeRound(n / len(m.Trials))
			order = rand.Perm(len(m.Trials))
		}
		i := order[n%len(m.Trials)]
		t := &m.Trials[i]
		m.Note("%d/%d %s", n+1, m.Rounds*len(m.Trials), t.Name())
		res, err := m.one(ctx, filepath.Join(m.Dir, strconv.Itoa(n+1)), t)
		if err != nil {
			failed = err
			break
		}
		results[i] = append(results[i], res)
	}
	out.Warnings = append(m.Observer.BeforeRun(), m.Observer.AfterRun()...)
	out.Trials = sum(m.Trials, results)
	return out, failed
}

// sum merges the results of each trial's rounds. A round that failed has a nil result. sum leaves out
// trials that did not begin.
func sum(trials []Planned, results [][]*protocol.Clustered) (list []ClusterTrial) {
	for i := range trials {
		t := &trials[i].ClusterTrial
		if len(results[i]) == 0 {
			continue // the command was interrupted before the trial
		}
		good := slices.DeleteFunc(slices.Clone(results[i]), func(r *protocol.Clustered) bool { return r == nil })
		if len(good) > 0 {
			var err error
			if t.Result, err = lab.SumClustered(good); err != nil {
				t.Reason = err.Error()
			}
			for k := range trials[i].Job.Loads {
				rates := make([]float64, len(results[i]))
				for n, r := range results[i] {
					if r != nil {
						rates[n] = RowsPerSecond(&r.Loads[k])
					}
				}
				t.Rates = append(t.Rates, rates)
			}
		}
		list = append(list, *t)
	}
	return list
}

// The method "one" runs the trial t in the directory dir, which it creates and removes. If there is no
// result, it writes the reason to t.Reason and returns nil. It returns an error only if ctx has ended or
// if something other than the worker failed.
func (m *Measurement) one(ctx context.Context, dir string, t *Planned) (*protocol.Clustered, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	harms := 0
	res, err := lab.RunJob(ctx, m.Executables[t.Driver], lab.JobRequest{
		Job: protocol.Job{Cluster: &t.Job}, Path: filepath.Join(dir, "test.db"), Settings: maps.Clone(t.Settings), Seed: 1, Ref: t.Ref, Mark: dir,
		Limit: m.Limit,
		Ready: func(p *protocol.Proof) {
			t.Version = strings.TrimSpace(p.Module + " " + cmp.Or(p.ModuleVersion, p.Runtime))
		},
		Progress: func(p *protocol.Progress) {
			if h := p.Harm; h != nil {
				harms++
				m.Note("%d/%d %s: node %s, no write was acknowledged for %v", harms, m.Harms, document.Line(h.Kind), document.Line(h.Member), time.Duration(h.SilentNS).Round(time.Millisecond))
			}
		},
	}, nil)
	told, ofJob := errors.AsType[*lab.JobError](err)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case ofJob:
		t.Reason = told.Reason.Message + conditions.Said(&told.Reason)
	case err != nil:
		return nil, err
	case res.Interrupted:
		t.Reason = "the worker stopped before it had done everything"
	default:
		return res.Cluster, nil
	}
	return nil, nil
}
