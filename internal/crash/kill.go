package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// kills is how many times the process of a driver is really killed, for each choice of settings. If
// nothing is recorded, the process is killed aloneKills times.
const kills, aloneKills = 5, 40

// killed commits the transactions of a cell (a driver with settings) without recording them, and
// kills the process at random times. It judges the files that are left, as other programs see them.
// This checks the model [disk.Kill].
func (x *Explorer) killed(ctx context.Context, r *recorded, out *Outcome) error {
	random := rand.New(rand.NewPCG(x.Seed, 3))
	job := x.commit()
	job.Transactions = liveTransactionsOf(r)
	var list []candidate
	n := kills
	if r.rec == nil {
		n = aloneKills
	}
	for range n {
		after, wait := random.IntN(job.Transactions*3/4+1), time.Duration(random.Int64N(r.cell.while()))
		c, err := x.killedAfter(ctx, r, job, after, wait)
		if err != nil {
			return err
		}
		if c != nil {
			list = append(list, *c)
		}
	}
	out.Runs += len(list)
	return x.judgeBatch(ctx, r, list, out)
}

// killedAfter runs a job and kills its process with SIGKILL, some time after a transaction was
// acknowledged. It returns what is left, or nil if the job ended before the process was killed.
func (x *Explorer) killedAfter(ctx context.Context, r *recorded, job *protocol.Commit, after int, wait time.Duration) (*candidate, error) {
	dir, err := x.directory(x.Dir)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	alive, kill := context.WithCancel(ctx)
	defer kill()
	heard := 0
	req := x.request(r.plan, dir, protocol.Job{Commit: job})
	req.Progress = func(p *protocol.Progress) {
		if p.Stage != protocol.StageCommit {
			return
		}
		if heard = int(p.Rows); heard == after {
			time.AfterFunc(wait, kill)
		}
	}
	// RunJob reads all that the worker wrote before it died. So at most one transaction can be
	// committed without being counted here.
	_, err = lab.RunJob(alive, r.plan.Executable, req, nil)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		return nil, nil
	case alive.Err() == nil:
		return nil, fmt.Errorf("%s: %w", Kill, reasonOf(err))
	}
	image, err := disk.Read(dir)
	if err != nil {
		return nil, err
	}
	return &candidate{dir: dir, State: &disk.State{Image: image, Acknowledged: heard, Persisted: "everything"}, fault: Kill,
		when: fmt.Sprintf("really killed after transaction %d", heard)}, nil
}
