package crash

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// prove checks, with the first judge, that x finds the losses that it must find, and no other losses.
// If a check fails, prove returns an error, and nothing else is explored.
func (x *Explorer) prove(ctx context.Context) (list []Proof, err error) {
	if x.Unrecorded == nil {
		if list, err = x.proveRecordings(ctx); err != nil {
			return list, err
		}
	}
	found, err := x.proveKill(ctx)
	return append(list, found), err
}

func (x *Explorer) proveRecordings(ctx context.Context) (list []Proof, err error) {
	wal := driver.Settings{"journal_mode": "wal", "synchronous": "full", "wal_autocheckpoint": "20"}
	rollback := driver.Settings{"journal_mode": "delete", "synchronous": "extra"}
	for _, p := range []struct {
		name     string
		settings driver.Settings
		change   func(*trace.Trace) // removes operations from the recording; nil if nothing is removed
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
		job := x.commit()
		job.Transactions = min(job.Transactions, proofTransactions)
		job.Early = p.early
		r := x.inProof(p.settings)
		if r.rec, _, err = x.recording(ctx, r.plan, job, nil); err != nil {
			return list, reasonOf(err)
		}
		if p.change != nil {
			p.change(&r.rec.Trace)
		}
		for _, m := range p.models {
			o, err := x.judge(ctx, r, disk.Options{Model: m, Seed: x.Seed, Most: proofStates})
			if err == nil {
				err = found.add(o)
			}
			if err != nil {
				return list, err
			}
		}
		if err := found.failed(""); err != nil {
			return list, err
		}
		list = append(list, found)
	}
	return list, nil
}

// inProof returns a cell for a proof (a check of this package itself). The driver of the cell is
// the first judge.
func (x *Explorer) inProof(s driver.Settings) *recorded {
	return &recorded{plan: &Planned{Worker: x.Judges[0], Settings: s.With(driver.Settings{"pool_size": "1"})}, cell: &Cell{}, expect: x.expect}
}

// proveKill checks that a lost transaction is noticed. The worker acknowledges a transaction
// without committing it, and is then really killed.
func (x *Explorer) proveKill(ctx context.Context) (Proof, error) {
	found := Proof{Name: "a worker that acknowledges and does not COMMIT loses, if it is really killed", Want: Lost, Found: Kept}
	r, out := x.inProof(driver.Settings{"journal_mode": "wal", "synchronous": "full"}), &Outcome{}
	job := x.commit()
	job.Early, job.Hang = true, true
	c, err := x.killedAfter(ctx, r, job, 1, 0)
	if err == nil && c != nil {
		err = x.judgeBatch(ctx, r, []candidate{*c}, out)
	}
	if err == nil {
		err = found.add(out)
	}
	return found, cmp.Or(err, found.failed(""))
}

// add adds an outcome to the results of the proof. It returns an error if the outcome has a failure that
// contradicts the proof.
func (p *Proof) add(o *Outcome) error {
	p.States += o.States
	if g := o.Grade(); g.rank() > p.Found.rank() {
		p.Found = g
	}
	if len(o.Failing) == 0 {
		return nil
	}
	f := &o.Failing[0]
	return p.failed(fmt.Sprintf(": %s (%s, %s)", f.Why, cmp.Or(string(f.Model), string(f.Fault)), f.Operation))
}

// failed returns an error if the grade that was found so far is not the wanted grade.
func (p *Proof) failed(details string) error {
	if p.Found == p.Want || p.AtBest && p.Found.rank() > p.Want.rank() {
		return nil
	}
	return fmt.Errorf("the laboratory's own proof fails, so it prints no result: %s: found %s in %d states%s", p.Name, p.Found, p.States, details)
}

// proofStates is how many states are judged for each proof and model. proofTransactions is the
// greatest number of transactions that are recorded for a proof.
const proofStates, proofTransactions = 80, 24

// The function "without" returns a function that removes the operations of a kind from a trace.
func without(k trace.Kind) func(*trace.Trace) {
	return func(t *trace.Trace) {
		t.Ops = slices.DeleteFunc(slices.Clone(t.Ops), func(o trace.Op) bool { return o.Kind == k })
	}
}
