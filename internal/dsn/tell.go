package dsn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Tell finds out, with a driver's worker, how its library treats a data source name. It creates all
// databases in dir, which must be empty. If the driver takes no data source name, the error is a
// [*lab.JobError] with the code unsupported.
func Tell(ctx context.Context, executable string, ref build.Ref, n *Name, dir string) (*Told, error) {
	first, second := filepath.Join(dir, "1"), filepath.Join(dir, "2")
	q := Ask(n, first)
	got, proof, err := openDSNs(ctx, executable, ref, q.Openings, first)
	if err != nil {
		return nil, err
	}
	t, err := q.Judge(got)
	if err != nil {
		return nil, err
	}
	t.Driver, t.ModuleVersion, t.SQLiteVersion = ref.Name, proof.ModuleVersion, proof.SQLiteVersion
	if ref.Known != nil && ref.Known.Opening != nil {
		t.Call, t.EachConnection = ref.Known.Opening.Call, ref.Known.Opening.EachConnection
	}
	s := q.Spell(got, t, second)
	if s == nil {
		return t, nil
	}
	if got, _, err = openDSNs(ctx, executable, ref, s.Openings, second); err != nil {
		return nil, err
	}
	t.Spelling = s.Prove(got)
	return t, nil
}

// openingsLimit is the time limit of a worker for opening all its databases.
const openingsLimit = 5 * time.Minute

// openDSNs creates dir and lets a worker open databases in it.
func openDSNs(ctx context.Context, executable string, ref build.Ref, list []protocol.Opening, dir string) ([]protocol.Opened, *protocol.Proof, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, nil, err
	}
	given := ctx
	ctx, cancel := context.WithTimeout(ctx, openingsLimit)
	defer cancel()
	proof := &protocol.Proof{}
	res, err := lab.RunJob(ctx, executable, lab.JobRequest{
		Job: protocol.Job{DSN: &protocol.DSN{Openings: list}}, Path: dir, Ref: ref,
		Ready: func(p *protocol.Proof) { proof = p },
	}, nil)
	if errors.Is(err, context.DeadlineExceeded) && given.Err() == nil {
		err = &lab.JobError{Reason: protocol.Reason{Code: protocol.CodeTimeout, Message: fmt.Sprintf("the worker has not opened %d databases within %v", len(list), openingsLimit)}}
	}
	if err != nil {
		return nil, nil, err
	}
	if res.Interrupted {
		return nil, nil, fmt.Errorf("%s: the worker stopped before it had opened all databases", ref.Name)
	}
	return res.DSN, proof, nil
}
