package crash

import (
	"context"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// prove checks that the laboratory finds what it must find, and nothing else, with the first judge. If
// it doesn't, the error says so, and nothing else is explored.
func (x *Explorer) prove(ctx context.Context) (list []Proof, err error) {
	wal := driver.Settings{"journal_mode": "wal", "synchronous": "full", "wal_autocheckpoint": "20"}
	rollback := driver.Settings{"journal_mode": "delete", "synchronous": "extra"}
	for _, p := range []struct {
		name     string
		settings driver.Settings
		change   func(*trace.Trace) // what is removed from the recording; nil: nothing
		early    bool
		models   []disk.Model
		want     Grade
		orWorse  bool
	}{
		{"journal_mode=wal, synchronous=full keeps everything", wal, nil, false, disk.Models, Kept, false},
		{"journal_mode=delete, synchronous=extra keeps everything", rollback, nil, false, disk.Models, Kept, false},
		{"synchronous=off loses or breaks", driver.Settings{"journal_mode": "delete", "synchronous": "off"}, nil, false, []disk.Model{disk.Ordered}, Lost, true},
		{"the recording of wal, without its syncs of files, loses or breaks", wal, without(trace.Sync), false, []disk.Model{disk.Ordered}, Lost, true},
		{"the recording of delete, without its syncs of files, breaks", rollback, without(trace.Sync), false, []disk.Model{disk.Ordered}, Broken, false},
		{"the recording of delete, without its syncs of directories, loses or breaks", rollback, without(trace.SyncDir), false, []disk.Model{disk.Posix}, Lost, true},
		{"a worker that acknowledges before COMMIT loses, if it is killed", wal, nil, true, []disk.Model{disk.Kill}, Lost, false},
	} {
		found := Proof{Name: p.name, Want: p.want, AtBest: p.orWorse, Found: Kept}
		plan := &Planned{Worker: x.Judges[0], Settings: p.settings.With(driver.Settings{"pool_size": "1"})}
		job := x.commit()
		job.Early = p.early
		rec, _, err := x.recording(ctx, plan, job, nil)
		if err != nil {
			return list, reasonOf(err)
		}
		if p.change != nil {
			p.change(&rec.Trace)
		}
		for _, m := range p.models {
			o, err := x.judge(ctx, &recorded{plan, &Cell{}, rec, x.expect}, disk.Options{Model: m, Seed: x.Seed, Most: proofStates})
			if err != nil {
				return list, err
			}
			found.States += o.States
			if g := o.Grade(); g.rank() > found.Found.rank() {
				found.Found = g
			}
			if len(o.Failing) > 0 && !found.passed() {
				return list, fmt.Errorf("the laboratory's own proof fails, so it prints no result: %s: found %s: %s (%s, %s)", p.name, o.Grade(), o.Failing[0].Why, m, o.Failing[0].Operation)
			}
		}
		if !found.passed() {
			return list, fmt.Errorf("the laboratory's own proof fails, so it prints no result: %s: found %s in %d states", p.name, found.Found, found.States)
		}
		list = append(list, found)
	}
	return list, nil
}

// proofStates is how many states are judged for a proof and a model.
const proofStates = 80

// without returns a function that removes the operations of a kind from a trace.
func without(k trace.Kind) func(*trace.Trace) {
	return func(t *trace.Trace) {
		var rest []trace.Op
		for _, o := range t.Ops {
			if o.Kind != k {
				rest = append(rest, o)
			}
		}
		t.Ops = rest
	}
}
