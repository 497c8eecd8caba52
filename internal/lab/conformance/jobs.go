package conformance

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	_ "modernc.org/sqlite" // registers the database/sql driver "sqlite"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// jobChecks returns the checks of jobs on a user's database. If a driver's worker does not support a kind of
// job, the driver declares a limit such as "job=bench". The limit "job" stands for all kinds.
func jobChecks() []Check {
	return []Check{
		{Name: "jobs/bench", Key: "job=bench", test: benches},
		{Name: "jobs/generate", Key: "job=generate", test: generates},
		{Name: "jobs/pragma", Key: "job=pragma", test: readsPragma},
	}
}

const jobRows = 1000

// job makes the worker do a job on the check's database.
func (s *Subject) job(ctx context.Context, j protocol.Job) (*protocol.JobResult, error) {
	r, err := lab.RunJob(ctx, s.Worker, lab.JobRequest{Job: j, Path: s.database(), Seed: Seed, Ref: s.Ref}, nil)
	if err == nil {
		return r, nil
	}
	if told, ok := errors.AsType[*lab.JobError](err); ok {
		return nil, fmt.Errorf("failed, %s: %s", told.Reason.Code, told.Reason.Message)
	}
	return nil, err
}

func (s *Subject) database() string { return filepath.Join(s.Dir, "test.db") }

// withSQL opens the check's database with sqlite3perf's own SQLite, passes it to f, and closes it.
func (s *Subject) withSQL(f func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", s.database())
	if err != nil {
		return err
	}
	return errors.Join(f(db), db.Close())
}

// benches makes the worker verify a correct table, and then the table with one wrong row, which the
// worker must find.
func benches(ctx context.Context, s *Subject) error {
	err := s.withSQL(func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, "CREATE TABLE bench (ID int PRIMARY KEY, rand TEXT, hash TEXT)"); err != nil {
			return err
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for i := range jobRows {
			random := fmt.Appendf(nil, "%08d", i)
			if _, err := tx.ExecContext(ctx, "INSERT INTO bench VALUES (?, ?, ?)", i, hex.EncodeToString(random), directory.Sum(random)); err != nil {
				return errors.Join(err, tx.Rollback())
			}
		}
		return tx.Commit()
	})
	if err != nil {
		return err
	}
	for _, wrong := range []int64{0, 1} {
		r, err := s.job(ctx, protocol.Job{Bench: &protocol.Bench{Table: "bench"}})
		switch {
		case err != nil:
			return err
		case r.Bench == nil:
			return errors.New("the result has no member bench")
		case r.Bench.Rows != jobRows:
			return fmt.Errorf("result.bench.rows is %d: want %d", r.Bench.Rows, jobRows)
		case r.Bench.Mismatches != wrong:
			return fmt.Errorf("result.bench.mismatches is %d: want %d", r.Bench.Mismatches, wrong)
		case wrong == 1 && (len(r.Bench.First) != 1 || r.Bench.First[0].ID != "500"):
			return fmt.Errorf("result.bench.first_mismatches is %v: want the row with the ID 500", r.Bench.First)
		}
		err = s.withSQL(func(db *sql.DB) error {
			_, err := db.ExecContext(ctx, "UPDATE bench SET rand = '00' WHERE ID = 500")
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// generates makes the worker create a table, and checks the table's rows.
func generates(ctx context.Context, s *Subject) error {
	r, err := s.job(ctx, protocol.Job{Generate: &protocol.Generate{Table: "bench", Rows: jobRows, Batch: 30, Prepared: true}})
	switch {
	case err != nil:
		return err
	case r.Generate == nil:
		return errors.New("the result has no member generate")
	case r.Generate.Rows != jobRows:
		return fmt.Errorf("result.generate.rows is %d: want %d", r.Generate.Rows, jobRows)
	}
	return s.withSQL(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, "SELECT rand, hash FROM bench")
		if err != nil {
			return err
		}
		defer rows.Close()
		n := 0
		for ; rows.Next(); n++ {
			var random, sum string
			if err := rows.Scan(&random, &sum); err != nil {
				return err
			}
			raw, err := hex.DecodeString(random)
			if err != nil {
				return fmt.Errorf("row %d: rand is %q: want hexadecimal digits", n, random)
			}
			if sum != directory.Sum(raw) {
				return fmt.Errorf("row %d: hash is %q: want the SHA-256 of the bytes that rand encodes", n, sum)
			}
		}
		if n != jobRows {
			return fmt.Errorf("the table has %d rows: want %d", n, jobRows)
		}
		return rows.Err()
	})
}

// readsPragma makes the worker set a pragma and read it back, and checks the value read.
func readsPragma(ctx context.Context, s *Subject) error {
	value := "-3000"
	r, err := s.job(ctx, protocol.Job{Pragma: &protocol.Pragma{Pragmas: []protocol.PragmaArgument{{Name: "cache_size", Value: &value}}}})
	switch {
	case err != nil:
		return err
	case len(r.Pragma) != 1 || r.Pragma[0].Name != "cache_size":
		return fmt.Errorf("result.pragma has %d members: want one, for cache_size", len(r.Pragma))
	case !slices.Equal(r.Pragma[0].Got, []string{value}) || !r.Pragma[0].Took:
		return fmt.Errorf("result.pragma[0] says got %q, took %v: want %q, true", r.Pragma[0].Got, r.Pragma[0].Took, value)
	}
	return nil
}
