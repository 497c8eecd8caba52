package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/job"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// serveJob runs a job and sends the responses. It returns an error only if a response cannot be
// written.
func serveJob(ctx context.Context, d driver.Driver, req *protocol.Request, out *answers) error {
	res, err := runJob(ctx, d, req, out)
	switch {
	case err != nil && job.Interrupted(ctx, err): // the job was stopped before it began, or after its end
		return out.send(protocol.Response{Type: protocol.TypeResult, Result: &protocol.JobResult{Interrupted: true}})
	case err != nil:
		return out.send(protocol.Response{Type: protocol.TypeFailed, Reason: reasonOf(err, ""), Result: res})
	}
	return out.send(protocol.Response{Type: protocol.TypeResult, Result: res})
}

func runJob(ctx context.Context, d driver.Driver, req *protocol.Request, out *answers) (res *protocol.JobResult, err error) {
	if err := req.Job.Check(); err != nil {
		return nil, &job.Error{Code: protocol.CodeUsage, Err: err}
	}
	if req.Job.DSN != nil {
		return openDSNs(ctx, d, req, out)
	}
	if r, ok := d.(driver.Recoverer); ok && (req.Job.Commit != nil || req.Job.Judge != nil) {
		d = recovering{r}
	} else if why, limited := d.Info().Limits["job"]; limited && req.Job.Answers == nil && req.Job.Cluster == nil && req.Job.Commit == nil {
		return nil, failf(protocol.CodeUnsupported, "%s does not work on a user's database: %s", d.Info().Name, why)
	}
	if req.Job.Judge != nil {
		return judgeStates(ctx, d, req, out)
	}
	if err := withinLimits(d.Info(), req.Settings); err != nil {
		return nil, err
	}
	if c := req.Job.Commit; c != nil {
		info := d.Info()
		if len(c.Attach) > 0 {
			info.Limits = map[string]string{driver.LimitFiles: "the job attaches a database itself"}
		}
		if err := withinFiles(info, c.Plan.Files, c.Plan.SQL()); err != nil {
			return nil, err
		}
	}
	if a := req.Job.Answers; a != nil {
		if err := withinFiles(d.Info(), req.FilesAllowed(), a.SQL()); err != nil {
			if a.Plan == nil {
				err = &failure{protocol.CodeUnsupported, &protocol.FieldError{Fields: []protocol.Field{{Name: "files"}}, Problem: err.Error()}}
			}
			return nil, err
		}
	}
	_, serr := os.Stat(req.Path)
	absent := errors.Is(serr, fs.ErrNotExist)
	db := &job.Database{Path: req.Path, Settings: req.Settings, Seed: req.Seed}
	db.Open = func(ctx context.Context) (driver.DB, error) { return openPatiently(ctx, d, req.Path, req.Settings) }
	db.CPU = func() (own, children int64) {
		u1, s1 := cpuTimes(false)
		u2, s2 := livingChildrenCPU()
		return u1 + s1, u2 + s2
	}
	db.PeakRSS = peakOf
	if !absent {
		if err := mayWrite(ctx, d, req); err != nil {
			return nil, err
		}
	}
	if db.DB, err = db.Open(ctx); err != nil {
		return nil, err
	}
	began := false
	defer func() {
		if c := req.Job.Concurrent; c != nil && c.KeepOpen && err == nil {
			return
		}
		if cerr := closePatiently(ctx, db.DB); err == nil && cerr != nil {
			err = failf(protocol.CodeClose, "closing the database: %w", cerr)
		}
		if absent && err != nil && (!began || refused(err)) && blank(req.Path) {
			removeDatabase(req.Path)
		}
	}()
	if db.Proof, err = readPool(ctx, db.DB, req, req.Settings.PoolSize(), d.Info().Module); err != nil {
		return nil, err
	}
	if shower, ok := db.DB.(driver.Shower); ok {
		shown, err := shower.Shown(ctx)
		if err != nil {
			return nil, fmt.Errorf("observing settings: %w", err)
		}
		for i := range db.Proof.Connections {
			db.Proof.Connections[i] = db.Proof.Connections[i].With(shown)
		}
	}
	if err := checkSettings(ctx, d, db); err != nil {
		return nil, err
	}
	if err := out.send(protocol.Response{Type: protocol.TypeReady, Protocol: protocol.Version, Proof: db.Proof}); err != nil {
		return nil, err
	}
	var unsent error
	began = true
	res, err = job.Run(ctx, req.Job, db, func(p protocol.Progress) {
		if err := out.send(protocol.Response{Type: protocol.TypeProgress, Progress: &p}); err != nil {
			unsent = err
		}
	})
	return res, errors.Join(err, unsent)
}

// recovering is a driver whose method Open calls Recover. So a database opens with the files that a
// fault has left behind.
type recovering struct{ driver.Recoverer }

func (r recovering) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	return r.Recover(ctx, path, s)
}

// peakOf returns the peak memory in bytes of this process. If the parameter "children" is true, it
// returns the peak memory of the living children instead.
func peakOf(children bool) int64 {
	if !children {
		return peakRSS()
	}
	sum := int64(0)
	for _, pid := range livingChildren() {
		sum += highWaterMark(strconv.Itoa(pid))
	}
	return sum
}

// closePatiently closes a database. After the end of ctx it waits for at most closeGrace and then
// returns nil, because SQLite takes half a minute to close 20,000 connections. The end of the
// process closes the remaining connections, and the WAL keeps the data safe.
func closePatiently(ctx context.Context, db driver.DB) error {
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-closed:
		return err
	case <-time.After(closeGrace):
		return nil
	}
}

// closeGrace is how long closing a database may take after the job was stopped.
const closeGrace = 3 * time.Second

// refused reports whether err says that a job cannot be done as requested.
func refused(err error) bool {
	var e *job.Error
	return errors.As(err, &e) && e.Code == protocol.CodeUsage
}

// openPatiently opens a database. SQLite does not wait for a lock when it sets the journal
// mode. So if another process has locked the file, openPatiently tries again until busy_timeout
// has passed.
func openPatiently(ctx context.Context, d driver.Driver, path string, s driver.Settings) (driver.DB, error) {
	ms, _ := strconv.ParseInt(s["busy_timeout"], 10, 64) // ms is 0 if busy_timeout is not set
	for begin := now(); ; {
		db, err := d.Open(ctx, path, ownJournal(path, s))
		if driver.PrimaryCode(err) != driver.CodeBusy || now()-begin >= ms*1e6 {
			return db, err
		}
		select {
		case <-time.After(openAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// openAgain is how long openPatiently waits between two attempts.
const openAgain = 10 * time.Millisecond

// The list "lasting" has the settings that SQLite stores in the database.
var lasting = []string{"journal_mode", "auto_vacuum", "page_size"}

// mayWrite returns an error if the job would write to a database that sqlite3perf did not
// create. It must be called before the database is opened with settings that SQLite stores in
// it.
func mayWrite(ctx context.Context, d driver.Driver, req *protocol.Request) (err error) {
	if !slices.ContainsFunc(lasting, func(name string) bool { return req.Settings[name] != "" }) {
		return nil // the job itself checks the database before it writes
	}
	s := req.Settings.With(driver.Settings{"pool_size": "1"})
	for _, name := range lasting {
		delete(s, name)
	}
	if h, err := header(req.Path, databaseHeader); err == nil && h == nil {
		return nil // an empty file has no data to protect
	}
	db, err := openPatiently(ctx, d, req.Path, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return job.MayWrite(ctx, req.Job, db)
}

// blank reports whether a database file has no tables. Such a file is empty or has only one page,
// and its WAL is empty or absent. SQLite creates an empty file if it finds no database, and writes
// one page to set WAL mode.
func blank(path string) bool {
	h, err := header(path, databaseHeader)
	return err == nil && (h == nil || binary.BigEndian.Uint32(h[28:]) <= 1) && fileSize(path+"-wal") == 0
}

// ownJournal returns s. If a database has a rollback journal (see [rollsBack]) and s does not set
// journal_mode, it adds journal_mode=delete, so that the database keeps this journal. Without this
// setting, some libraries switch every file that they open to WAL, even a file that they only read.
func ownJournal(path string, s driver.Settings) driver.Settings {
	if _, asked := s["journal_mode"]; asked || s["mode"] == "memory" || !rollsBack(path) {
		return s
	}
	return s.With(driver.Settings{"journal_mode": "delete"})
}

// rollsBack reports whether a file is empty or a database with a rollback journal. Byte 18 of
// the header tells the journal mode.
func rollsBack(path string) bool {
	h, err := header(path, databaseHeader)
	return err == nil && (h == nil || string(h[:16]) == "SQLite format 3\x00" && h[18] == 1)
}

// databaseHeader is the size in bytes of a database's header. See
// https://www.sqlite.org/fileformat2.html.
const databaseHeader = 100

// header returns the first n bytes of a file, or nil if the file is empty.
func header(path string, n int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := make([]byte, n)
	if _, err := io.ReadFull(f, h); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return h, nil
}

// withinLimits checks the settings that no PRAGMA reports. It returns an error if s has a value
// that the driver cannot apply, according to the limits that the driver declares. Unlike a trial, a
// job cannot observe such settings, because other processes may be using the database.
func withinLimits(info driver.Info, s driver.Settings) error {
	for _, name := range []string{"cache", "mode", "txlock"} {
		value, set := s[name]
		if !set || name == "mode" && value == "rw" { // the lab requests rw if the file exists
			continue
		}
		if why, ok := info.Limit(name, value); ok {
			return failf(protocol.CodeSetting, "%s=%s: %s", name, value, why)
		}
	}
	return nil
}

// withinFiles returns an error if SQL may reach other files, unless the parameter "allowed" is
// true. If the library can set SQLite's limits, withinFiles looks only for PRAGMAs that name a
// directory, because no limit prevents them. Otherwise it also looks for words such as ATTACH. It
// does not parse the SQL, so it also returns an error if a string literal contains such a word.
func withinFiles(info driver.Info, allowed bool, all []string) error {
	words := driver.DirectoryPragma
	why, unlimited := info.Limits[driver.LimitFiles]
	if unlimited {
		words = driver.FilesWords
	} else {
		why = "no limit of SQLite does"
	}
	for _, sql := range all {
		if what := words(sql); what != "" && !allowed {
			return failf(protocol.CodeUnsupported, "the SQL has the word %s, which may reach other files, and %s cannot refuse only that: %s", what, info.Name, why)
		}
	}
	return nil
}

// checkSettings returns an error if the settings that were read back are not the requested
// ones. Among the settings that are not PRAGMAs it can check only mode=memory.
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
	if bad := driver.Differences(wanted, db.Proof.Connections, d.Info().Limit); bad != "" {
		return failf(protocol.CodeSetting, "%s", bad)
	}
	return nil
}
