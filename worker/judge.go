package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// judgeStates runs a job of the kind "judge". It examines databases that the job "commit" has left
// behind.
func judgeStates(ctx context.Context, d driver.Driver, req *protocol.Request, out *answers) (*protocol.JobResult, error) {
	proof, err := proveJudge(ctx, d, req)
	if err != nil {
		return nil, err
	}
	if err := out.send(protocol.Response{Type: protocol.TypeReady, Protocol: protocol.Version, Proof: proof}); err != nil {
		return nil, err
	}
	res := &protocol.JobResult{}
	for _, path := range req.Job.Judge.Paths {
		s := judge(ctx, d, path, req)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		res.Judge = append(res.Judge, s)
	}
	return res, nil
}

// proveJudge opens a new database in a temporary directory next to req.Path, reads the settings and
// versions, and removes the directory.
func proveJudge(ctx context.Context, d driver.Driver, req *protocol.Request) (*protocol.Proof, error) {
	dir, err := os.MkdirTemp(filepath.Dir(req.Path), "judge-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return proveNew(ctx, d, filepath.Join(dir, "proof.db"), req.Settings, 1, req)
}

// judge reads the contents of one database, writes to the database, and opens it again.
func judge(ctx context.Context, d driver.Driver, path string, req *protocol.Request) (out protocol.JudgedState) {
	out.Transaction, out.Others = -1, -1
	var unwritable error
	db, err := d.Open(ctx, path, req.Settings)
	if err == nil {
		if req.Job.Judge.Attached {
			err = job.Attach(ctx, db, path)
		}
		if err == nil {
			err = examine(ctx, db, &out)
		}
		if err == nil {
			unwritable = db.Script(ctx, "CREATE TABLE "+judgedTable+"(a); INSERT INTO "+judgedTable+" VALUES (1)")
		}
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		out.Error = shorten(err.Error())
		if e, ok := errors.AsType[*driver.Error](err); ok {
			out.Code = e.Code
		}
		return out
	}
	if unwritable == nil {
		unwritable = readAgain(ctx, d, path, req.Settings)
	}
	if unwritable != nil {
		out.Unwritable = shorten(unwritable.Error())
	}
	return out
}

// judgedTable is a table that judge creates.
const judgedTable = protocol.CommitsTable + "_judged"

func examine(ctx context.Context, db driver.DB, out *protocol.JudgedState) error {
	problems, err := driver.Texts(ctx, db, "PRAGMA integrity_check(5)")
	if err != nil {
		return fmt.Errorf("integrity_check: %w", err)
	}
	for _, p := range problems {
		if p != "ok" {
			out.Integrity = append(out.Integrity, shorten(p))
		}
	}
	if out.ForeignKeys, err = driver.Number(ctx, db, "SELECT count(*) FROM pragma_foreign_key_check"); err != nil {
		return fmt.Errorf("foreign_key_check: %w", err)
	}
	rows, err := job.RowsOf(ctx, db, protocol.CommitsTable)
	if err == nil && rows > 0 {
		out.Transaction, err = job.LastTransaction(ctx, db)
	}
	if err == nil {
		out.Others, err = job.RowsOf(ctx, db, protocol.OthersTable)
	}
	if err != nil {
		return err
	}
	out.Digest, err = job.Digest(ctx, db)
	return err
}

// readAgain opens a database again and reads what judge has written.
func readAgain(ctx context.Context, d driver.Driver, path string, s driver.Settings) error {
	db, err := d.Open(ctx, path, s)
	if err != nil {
		return err
	}
	n, err := driver.Number(ctx, db, "SELECT count(*) FROM "+judgedTable)
	if err == nil && n != 1 {
		err = fmt.Errorf("after a write, the database has %d rows: want %d", n, 1)
	}
	return errors.Join(err, db.Close())
}
