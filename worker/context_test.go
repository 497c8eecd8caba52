package worker_test

import (
	"context"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
)

// contextual is a driver that remembers the context with which it ran the script "SELECT 1".
type contextual struct {
	*fake
	ctx context.Context
}

func (c *contextual) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	db, err := c.fake.Open(ctx, path, s)
	return &contextualDB{db, c}, err
}

type contextualDB struct {
	driver.DB
	driver *contextual
}

func (d *contextualDB) Script(ctx context.Context, sql string) error {
	if sql == "SELECT 1" {
		d.driver.ctx = ctx
	}
	return d.DB.Script(ctx, sql)
}

// TestContextOfPhase checks that the context of a phase can be canceled only if the field Context
// of the phase is "cancellable". Otherwise the context must be context.Background, because
// libraries would search any other context for values at each operation.
func TestContextOfPhase(t *testing.T) {
	for _, kind := range []string{"", "cancellable"} {
		c := &contextual{fake: newFake()}
		serve(t, c, trialOf(t, blog(1, plan.Phase{Name: "script", Context: kind, Script: "SELECT 1"}), nil))
		switch {
		case c.ctx == nil:
			t.Errorf("context %q: the script did not run", kind)
		case kind == "" && c.ctx != context.Background(), kind != "" && c.ctx.Done() == nil:
			t.Errorf("context %q: the script ran with %v", kind, c.ctx)
		}
	}
}
