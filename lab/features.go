package lab

import (
	"context"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Features asks a worker for each of [driver.Features]. Each question is a trial with
// a schema that needs the feature, and nothing else. The answers are in the order of
// the list.
func (p *Processes) Features(ctx context.Context, ref Ref, executable string) ([]bool, error) {
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
			return nil, fmt.Errorf("%s: whether it has %s cannot be told: %s", ref.Name, f.Name, message)
		}
	}
	return has, nil
}

// SQLiteVersion asks a worker for its version of SQLite.
func (p *Processes) SQLiteVersion(ctx context.Context, ref Ref, executable string) (string, error) {
	t, err := p.probe(ctx, ref, executable, "")
	switch {
	case err != nil:
		return "", err
	case t.Proof == nil:
		return "", fmt.Errorf("%s: %s [%s]", ref.Name, t.Reason.Message, t.Reason.Code)
	}
	return t.Proof.SQLiteVersion, nil
}

// probe runs a trial of a schema and nothing else.
func (p *Processes) probe(ctx context.Context, ref Ref, executable string, schema string) (*result.Trial, error) {
	c := &Case{Ref: ref, Plan: &plan.Plan{Schema: schema}}
	c.Driver, c.Worker, c.Settings = ref.Name, executable, driver.Settings{"pool_size": "1", "journal_mode": "memory", "synchronous": "off"}
	return p.trial(ctx, c, 1)
}

// lacking makes a reason say which missing feature made a trial fail, and how the
// driver's user can get it. If that is not known, it adds how instead.
func lacking(r *protocol.Reason, ref Ref, how string) {
	key, name := driver.Lacking(r.Message)
	if key == "" {
		return
	}
	r.Code, r.Feature = protocol.CodeFeature, key
	if ref.Known != nil && ref.Known.Obtain[key] != "" {
		how = ref.Known.Obtain[key]
	}
	r.Message += ": the driver's SQLite has no " + name
	if how != "" {
		r.Message += ": " + how
	}
}
