package worker

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
)

// serveJob does a job and answers for it. Only an answer that cannot be written
// is an error.
func serveJob(ctx context.Context, d driver.Driver, req *Request, out *answers) error {
	res, err := runJob(ctx, d, req, out)
	switch {
	case err != nil && job.Interrupted(ctx, err): // before it began, or behind its end
		return out.send(Response{Type: TypeResult, Result: &job.Result{Interrupted: true}})
	case err != nil:
		return out.send(Response{Type: TypeFailed, Reason: reasonOf(err, ""), Result: res})
	}
	return out.send(Response{Type: TypeResult, Result: res})
}

func runJob(ctx context.Context, d driver.Driver, req *Request, out *answers) (res *job.Result, err error) {
	if err := req.Job.Check(); err != nil {
		return nil, &job.Error{Code: job.CodeUsage, Err: err}
	}
	_, serr := os.Stat(req.Path)
	absent := errors.Is(serr, fs.ErrNotExist)
	db := &job.Database{Path: req.Path, Settings: req.Settings, Seed: req.Seed}
	db.Open = func(ctx context.Context, over driver.Settings) (driver.DB, error) {
		return d.Open(ctx, req.Path, ownJournal(req.Path, req.Settings.With(over)))
	}
	if db.DB, err = db.Open(ctx, nil); err != nil {
		return nil, err
	}
	defer func() {
		if c := req.Job.Concurrent; c != nil && c.KeepOpen && err == nil {
			return
		}
		if cerr := db.DB.Close(); err == nil && cerr != nil {
			err = failf("close", "closing the database: %w", cerr)
		}
		// SQLite makes an empty file where it looks for a database.
		if absent && refused(err) && fileSize(req.Path) == 0 {
			err = errors.Join(err, os.Remove(req.Path))
		}
	}()
	conns, err := takeAll(ctx, db.DB, req.Settings.PoolSize())
	if err != nil {
		return nil, err
	}
	db.Proof, err = readBack(ctx, conns, d.Info().Module)
	if err := errors.Join(err, giveBack(conns)); err != nil {
		return nil, err
	}
	if err := checkSettings(ctx, d, db); err != nil {
		return nil, err
	}
	if err := out.send(Response{Type: TypeReady, Protocol: Protocol, Proof: db.Proof}); err != nil {
		return nil, err
	}
	var unsent error
	res, err = req.Job.Run(ctx, db, func(p job.Progress) {
		if err := out.send(Response{Type: TypeProgress, Progress: &p}); err != nil {
			unsent = err
		}
	})
	return res, errors.Join(err, unsent)
}

// refused reports whether a job has found that it cannot be done as it was asked.
func refused(err error) bool {
	var e *job.Error
	return errors.As(err, &e) && e.Code == job.CodeUsage
}

// ownJournal has a database that is there keep its rollback journal, unless the
// settings say otherwise: there are libraries that turn to WAL every file that
// they open, even one that is only to be read.
func ownJournal(path string, s driver.Settings) driver.Settings {
	if _, asked := s["journal_mode"]; asked || s["mode"] == "memory" || !rollsBack(path) {
		return s
	}
	return s.With(driver.Settings{"journal_mode": "delete"})
}

// rollsBack reports whether a file is a database that is not in WAL mode, which
// byte 18 of its header tells (https://www.sqlite.org/fileformat2.html).
func rollsBack(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var header [19]byte
	_, err = io.ReadFull(f, header[:])
	return err == nil && string(header[:16]) == "SQLite format 3\x00" && header[18] == 1
}

// checkSettings holds what was read back against what was asked for. Unlike
// before a trial nothing is probed, since others may be using the database: of
// the settings that are no PRAGMA only mode=memory is seen.
func checkSettings(ctx context.Context, d driver.Driver, db *job.Database) error {
	wanted := db.Settings
	if wanted["mode"] == "memory" {
		text := driver.ColumnType{Type: driver.Text, Nullable: true}
		st := driver.Statement{SQL: "PRAGMA database_list", Columns: []driver.ColumnType{{Type: driver.Int}, text, text}}
		err := query(ctx, db.DB, st, func(r driver.Row) error {
			if r[1].Text == "main" && r[2].Text != "" {
				db.Proof.Connections[0]["mode"] = "rwc"
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i, got := range db.Proof.Connections {
		bad := driver.Check(wanted, got)
		if len(bad) == 0 {
			continue
		}
		words := make([]string, len(bad))
		for j, m := range bad {
			words[j] = m.String()
			if why, ok := d.Info().Limit(m.Setting, m.Wanted); ok {
				words[j] += " (" + why + ")"
			}
		}
		return failf("setting", "%s, on connection %d of %d", strings.Join(words, "; "), i+1, len(db.Proof.Connections))
	}
	return nil
}
