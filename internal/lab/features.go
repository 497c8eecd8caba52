package lab

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Features asks a worker which of [driver.Features] its SQLite has. For each feature, it runs a trial whose
// schema needs the feature. The answers are in the order of driver.Features.
func (p *Processes) Features(ctx context.Context, ref build.Ref, executable string) ([]bool, error) {
	has := make([]bool, len(driver.Features))
	for i, f := range driver.Features {
		t, err := p.probe(ctx, ref, executable, f.Probe)
		if err != nil {
			return nil, err
		}
		message := ""
		if t.Status != result.OK {
			if t.Proof == nil && t.Reason.Code != protocol.CodeSQLite && t.Reason.Code != protocol.CodeFeature {
				return nil, fmt.Errorf("%s: %s [%s]", ref.Name, t.Reason.Message, t.Reason.Code)
			}
			message = t.Reason.Message
		}
		var ok bool
		if has[i], ok = f.Has(message); !ok {
			return nil, fmt.Errorf("%s: it is not known whether it has %s: %s", ref.Name, f.Name, message)
		}
	}
	return has, nil
}

// SQLiteVersion asks a worker for the version of its SQLite.
func (p *Processes) SQLiteVersion(ctx context.Context, ref build.Ref, executable string) (string, error) {
	t, err := p.probe(ctx, ref, executable, "")
	switch {
	case err != nil:
		return "", err
	case t.Proof == nil:
		return "", fmt.Errorf("%s: %s [%s]", ref.Name, t.Reason.Message, t.Reason.Code)
	}
	return t.Proof.SQLiteVersion, nil
}

// probe runs a trial that only creates the schema. Its database is not durable, and the trial is not recorded.
func (p *Processes) probe(ctx context.Context, ref build.Ref, executable string, schema string) (*result.Trial, error) {
	c := &Case{Ref: ref, Plan: &plan.Plan{Schema: schema}}
	c.Driver, c.Worker, c.Settings = ref.Name, executable, driver.Settings{"pool_size": "1", "journal_mode": "memory", "synchronous": "off"}
	return p.Trial(ctx, c, 1)
}

// lacking checks whether a trial failed because of a missing feature. If so, it adds the feature's name to the
// reason, and says how the driver's user can get the feature. If the driver does not say how, it adds the text
// in the parameter "hint".
func lacking(r *protocol.Reason, ref build.Ref, hint string) {
	key, name := driver.Lacking(r.Message)
	if key == "" {
		return
	}
	r.Code, r.Feature = protocol.CodeFeature, key
	r.Message += ": the driver's SQLite lacks " + name
	if how := cmp.Or(ref.Obtain(key), hint); how != "" {
		r.Message += ": " + how
	}
}

// CheckNeeds asks the workers of the cases for the features that their workloads need. If a worker lacks such
// a feature, the case becomes unavailable, with a reason that tells the user what to measure instead. Each
// question is a short trial that is not recorded.
func (p *Processes) CheckNeeds(ctx context.Context, cases []*Case) error {
	type question struct{ driver, key string }
	lacks := map[question]bool{}
	for _, c := range cases {
		for _, key := range c.Source.Needs {
			if c.Unavailable != nil {
				break
			}
			f := driver.Features[slices.Index(driver.FeatureKeys(), key)]
			q := question{c.Driver, key}
			if _, asked := lacks[q]; !asked {
				t, err := p.probe(ctx, c.Ref, c.Worker, f.Probe)
				if err != nil {
					return err
				}
				if t.Status != result.OK {
					has, ok := f.Has(t.Reason.Message)
					lacks[q] = ok && !has // other errors are left to the case's first trial, which reports them
				}
			}
			if lacks[q] {
				c.Unavailable = &protocol.Reason{Code: protocol.CodeFeature, Feature: key, Message: fmt.Sprintf(
					"the driver's SQLite lacks %s, which the workload needs: %s", f.Name, cmp.Or(c.Ref.Obtain(key), p.Hint))}
			}
		}
	}
	return nil
}
