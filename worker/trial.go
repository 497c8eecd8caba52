package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Hand is a [driver.Driver] that runs the timed part of each phase itself, with direct calls of a
// library. Package byhand has such drivers. Package worker does everything that is not timed.
type Hand interface {
	driver.Driver

	// Check returns an error if the driver cannot run the trial.
	Check(req *protocol.Request) error

	// Perform runs a phase on a database that the driver has opened. It runs the stopwatch w around
	// the timed part. It writes the counts to s. It also writes the checksum of the results to s,
	// unless req.Brief names the phase.
	Perform(db driver.DB, req *protocol.Request, gen *plan.Gen, p *plan.Phase, s *protocol.Sample, w *Stopwatch) error
}

// trial is a trial in progress. It may have http phases, for which the worker is a server.
type trial struct {
	req  *protocol.Request
	plan *plan.Plan
	gen  *plan.Gen
	drv  driver.Driver
	db   driver.DB
	wal  bool

	apart bool // true if a second connection can open the database and check it

	readers driver.DB // the pool for operations that only read, or nil

	counter   *counter   // counts instructions; nil if that is impossible
	ioCounter *ioCounter // counts syncs and writes; nil unless the setting count_syncs asks for it
	cold      *coldFiles // drops the database from the page cache; nil unless the setting cold_caches asks for it

	orders <-chan string // orders from the lab; nil if the request has no orders
	out    *answers

	mu    sync.Mutex
	owned bool // true if the trial must remove the database after an error, or when the lab (the program that started the worker) has gone
}

// serve runs a trial and sends its responses. It returns an error only if the lab (the program that
// started the worker) has gone or a response cannot be written.
func (t *trial) serve(ctx context.Context) error {
	phase, err := t.run(ctx)
	for _, db := range []driver.DB{t.readers, t.db} {
		if _, waits := errors.AsType[*endlessError](err); waits {
			break // statements still run, so closing the database could wait forever
		}
		if db == nil {
			continue
		}
		cerr := t.ours(ctx, "closing the database", func(context.Context) error { return db.Close() })
		if _, waits := errors.AsType[*endlessError](cerr); waits {
			err = cmp.Or(err, cerr)
			break
		}
		left, leaves := errors.AsType[*driver.LeftError](cerr)
		switch {
		case err == nil && cerr != nil:
			err = failf(protocol.CodeClose, "closing the database: %w", cerr)
		case leaves:
			err = fmt.Errorf("%w; %v", err, left) // the added message tells the user which data remains
		}
	}
	t.cold.close()
	answer := protocol.Response{Type: protocol.TypeDone}
	if err != nil {
		answer = protocol.Response{Type: protocol.TypeFailed, Reason: reasonOf(err, phase)}
	}
	owned := t.disown(false)
	if gone := context.Cause(ctx); gone != nil {
		err = fmt.Errorf("worker: %w", gone)
	} else {
		err = t.out.send(answer)
	}
	if err != nil && owned {
		t.removeDatabase()
	}
	return err
}

// disown sets t.owned to false and returns its old value. If the parameter "remove" and the old
// value are true, disown removes the database. A second caller waits for the first, so that the
// process does not end while the database is being removed.
func (t *trial) disown(remove bool) (owned bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	owned, t.owned = t.owned, false
	if owned && remove {
		t.removeDatabase()
	}
	return owned
}

// removeDatabase removes the trial's database. If several processes share the trial, only the first
// process removes the database.
func (t *trial) removeDatabase() {
	if t.req.Process == 0 {
		removeDatabase(t.req.Path)
	}
}

// checkPath returns an error if the database exists although the trial must create it, or if the
// database does not exist although the trial must open it.
func (t *trial) checkPath() error {
	_, err := os.Stat(t.req.Path)
	switch there := err == nil; {
	case !there && t.req.Process > 0:
		return failf(protocol.CodePath, "there is no %s: a further process of a trial opens the database that the first has made", t.req.Path)
	case there && t.req.Loaded == 0 && t.req.Process == 0:
		return failf(protocol.CodePath, "%s exists already: a trial makes its own database", t.req.Path)
	case !there && t.req.Loaded > 0:
		return failf(protocol.CodePath, "there is no %s: the trial begins with a database that has been loaded", t.req.Path)
	}
	return nil
}

func (t *trial) run(ctx context.Context) (phase string, err error) {
	if err := t.req.Check(); err != nil {
		return "", &failure{protocol.CodePlan, err}
	}
	if hand, ok := t.drv.(Hand); ok {
		if err := hand.Check(t.req); err != nil {
			return "", &failure{protocol.CodePlan, err}
		}
	}
	if err := withinFiles(t.drv.Info(), t.plan.Files, t.plan.SQL()); err != nil {
		return "", err
	}
	if err := t.checkPath(); err != nil {
		return "", err
	}
	t.mu.Lock()
	t.owned = true
	t.mu.Unlock()
	if t.gen, err = plan.NewGenerator(t.req.Seed, t.plan); err != nil {
		return "", &failure{protocol.CodePlan, err}
	}
	t.counter = newCounter(instructions) // this must happen before the library starts threads or processes, so that they inherit the counter
	defer t.counter.close()
	if err := t.instrument(); err != nil { // this must happen before the library starts processes, so that their syncs are counted too
		return "", err
	}
	defer t.ioCounter.close()
	if t.db, err = t.drv.Open(ctx, t.req.Path, pooled(t.req.Settings, t.req.Settings.PoolSize())); err != nil {
		return "", fmt.Errorf("open: %w", err)
	}
	var proof *protocol.Proof
	if err := t.ours(ctx, "reading the settings", func(ctx context.Context) (err error) { proof, err = t.prove(ctx); return err }); err != nil {
		return "", err
	}
	got := proof.Connections[0]
	t.apart = got["locking_mode"] != "exclusive" && got["mode"] != "memory"
	t.wal = t.hasLog(proof.Connections[0])
	if err := t.out.send(protocol.Response{Type: protocol.TypeReady, Protocol: protocol.Version, Proof: proof}); err != nil {
		return "", err
	}
	if _, leaves := t.drv.(driver.Leaver); leaves {
		// The lab makes this check too. But before the lab refuses the trial, the worker may
		// already have written data to a server that continues to run after the worker's end.
		if bad := driver.Differences(t.req.Settings, proof.Connections, t.drv.Info().Limit); bad != "" {
			return "", failf(protocol.CodeSetting, "%s", bad)
		}
	}
	if t.plan.Schema != "" && t.req.Loaded == 0 {
		if err := t.db.Script(ctx, t.plan.Schema); err != nil {
			return "", fmt.Errorf("schema: %w", err)
		}
	}
	if err := t.readAgain(ctx, ""); err != nil {
		return "", err
	}
	if t.req.Loaded > 0 {
		if err := t.ours(ctx, "emptying the write-ahead log", t.wakeWAL); err != nil {
			return "", err
		}
		if err := t.tellLoaded(ctx, t.req.Loaded); err != nil {
			return "", err
		}
	}
	return t.phases(ctx)
}

// instrument prepares the measurements that the settings count_syncs and cold_caches ask for.
func (t *trial) instrument() (err error) {
	for _, name := range []string{"count_syncs", "cold_caches"} {
		if why, limited := t.drv.Info().Limit(name, "on"); limited && t.req.Settings[name] == "on" {
			return failf(protocol.CodeSetting, "%s=on: %s", name, why)
		}
	}
	if t.req.Settings["count_syncs"] == "on" {
		if t.ioCounter, err = newIOCounter(); err != nil {
			return failf(protocol.CodeUnsupported, "count_syncs=on: syncs cannot be counted here: %w", err)
		}
	}
	if t.req.Settings["cold_caches"] == "on" {
		if t.cold, err = newColdFiles(t.req.Path); err != nil {
			return failf(protocol.CodeUnsupported, "cold_caches=on: the page cache cannot be dropped here: %w", err)
		}
	}
	return nil
}

// The method "phases" runs the phases of the request. After an error it returns the name of the
// phase that has failed.
func (t *trial) phases(ctx context.Context) (phase string, err error) {
	phases := t.plan.Phases[t.req.Loaded:]
	if t.req.Load > 0 {
		phases = phases[:t.req.Load]
	}
	for i := range phases {
		p := &phases[i]
		if err := t.wait(ctx, "", 0); err != nil {
			return p.Name, err
		}
		if err := t.out.send(protocol.Response{Type: protocol.TypePhase, Phase: p.Name}); err != nil {
			return p.Name, err
		}
		sample, inserted, err := t.phase(ctx, p)
		if err != nil {
			return p.Name, err
		}
		if inserted != nil {
			if err := t.out.send(protocol.Response{Type: protocol.TypeInserted, Phase: p.Name, Tables: inserted}); err != nil {
				return p.Name, err
			}
		}
		if err := t.readAgain(ctx, p.Name); err != nil {
			return p.Name, err
		}
		if p.Untimed {
			continue
		}
		answer := protocol.Response{Type: protocol.TypeSample, Sample: sample}
		if p.HTTP != nil {
			answer.Type = protocol.TypeServed
		}
		if err := t.out.send(answer); err != nil {
			return p.Name, err
		}
	}
	if t.req.Load > 0 {
		return "", t.tellLoaded(ctx, t.req.Load)
	}
	return "", t.wait(ctx, "", 0)
}

// wait waits until the lab (sqlite3perf itself) orders the worker to proceed, if the trial takes
// turns with other trials. The parameter "interrupted" is the phase that the worker is measuring,
// or "" between phases. The parameter "wall" is the wall time of that phase so far, in nanoseconds.
func (t *trial) wait(ctx context.Context, interrupted string, wall int64) error {
	if !t.req.Alternate {
		return nil
	}
	if err := t.out.send(protocol.Response{Type: protocol.TypeWaiting, Phase: interrupted, WallNS: wall}); err != nil {
		return err
	}
	return t.order(ctx, protocol.TypeProceed)
}

// hasLog reports whether the database has a write-ahead log that the trial can checkpoint.
func (t *trial) hasLog(got driver.Settings) bool {
	_, by := t.drv.Info().Limit("checkpoint", "")
	return got["journal_mode"] == "wal" && !by
}

// The list "applied" has the settings that the worker itself applies, so they need not be observed.
var applied = []string{"write_mutex", "processes", "count_syncs", "cold_caches"}

// pooled returns the settings with which a driver opens a pool of n connections. It leaves out the
// settings that the worker itself applies.
func pooled(s driver.Settings, n int) driver.Settings {
	s = s.With(driver.Settings{"pool_size": strconv.Itoa(n)})
	delete(s, "pool_readers")
	for _, name := range applied {
		delete(s, name)
	}
	return s
}

// phase runs one phase, including the work before its clock starts and after it stops.
func (t *trial) phase(ctx context.Context, p *plan.Phase) (s *protocol.Sample, inserted []protocol.Inserted, err error) {
	if p.Context == "cancellable" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
	} else {
		ctx = context.Background() // context.WithoutCancel(ctx) would be slower, because libraries would search it for values at each operation
	}
	s = &protocol.Sample{Phase: p.Name}
	w := Stopwatch{profile: newProfiler(t.req.Profile, p.Name), counter: t.counter, ioCounter: t.ioCounter}
	var dropped error
	if t.cold != nil && !p.Untimed {
		w.before = func() { s.Caches, dropped = t.cold.drop() }
	}
	var before []plan.RowSum
	if p.Insert != nil {
		if before, err = t.stored(ctx, p.Insert.Verify); err != nil {
			return nil, nil, err
		}
	}
	if p.Mix == nil && p.HTTP == nil { // a mix or an http phase empties the caches later, when it has verified its statements
		if err := t.forget(ctx, p); err != nil {
			return nil, nil, err
		}
	}
	hand, byHand := t.drv.(Hand)
	switch {
	case byHand:
		err = hand.Perform(t.db, t.req, t.gen, p, s, &w)
	case p.Insert != nil:
		err = t.insert(ctx, p, s, &w)
	case p.Query != nil:
		err = t.query(ctx, p, s, &w)
	case p.Mix != nil:
		err = t.mix(ctx, p, s, &w)
	case p.HTTP != nil:
		w.ioCounter = nil // writes to sockets must not count
		err = t.http(ctx, p, s, &w)
	case p.Replay != nil:
		err = t.replay(ctx, p, s, &w)
	default:
		w.Start()
		err = t.db.Script(ctx, p.Script)
		w.Stop()
		s.Operations = 1
	}
	if err = cmp.Or(err, w.profile.finish(), dropped); err != nil {
		return nil, nil, err
	}
	w.Read(s)
	s.PeakRSSBytes = peakRSS()
	if settler, ok := t.db.(driver.Settler); ok {
		if err := settler.Settle(ctx); err != nil {
			return nil, nil, fmt.Errorf("after the phase: %w", err)
		}
	}
	if t.req.Process > 0 {
		return s, nil, nil // the first process does the remaining work after all other processes have ended
	}
	if err := t.ours(ctx, "the checkpoint after the phase", func(ctx context.Context) error { return t.sizes(ctx, s) }); err != nil {
		return nil, nil, err
	}
	switch {
	case p.Insert != nil:
		inserted, err = t.inserted(ctx, p.Insert.Verify, before)
	case slices.Contains(t.req.Brief, p.Name):
	case p.Query != nil && !p.Untimed && !byHand:
		s.Checksum, err = t.verifyQuery(ctx, p)
	case p.Mix != nil, p.Replay != nil:
		err = t.ours(ctx, "quick_check after the phase", t.checkIntegrity)
	}
	return s, inserted, err
}

// sizes writes the sizes of the database's files to s. Unless the database is a [driver.Sizer],
// which reports its own sizes, it also empties the write-ahead log and writes the time of that
// checkpoint to s.
func (t *trial) sizes(ctx context.Context, s *protocol.Sample) (err error) {
	if sizer, ok := t.db.(driver.Sizer); ok {
		var all int64
		if all, s.WALBytes, err = sizer.Sizes(ctx); err != nil {
			return fmt.Errorf("the size of the database: %w", err)
		}
		s.DatabaseBytes = all - s.WALBytes
		return nil
	}
	s.WALBytes = fileSize(t.req.Path + "-wal")
	if t.wal && s.WALBytes > 0 {
		if s.CheckpointNS, err = t.checkpoint(ctx); err != nil {
			return err
		}
	}
	s.DatabaseBytes = fileSize(t.req.Path)
	return nil
}

// checkpoint empties the write-ahead log and returns how long that took in ns.
func (t *trial) checkpoint(ctx context.Context) (int64, error) {
	var w Stopwatch
	busy := int64(0)
	st := driver.Statement{SQL: "PRAGMA wal_checkpoint(TRUNCATE)", Columns: slices.Repeat([]driver.ColumnType{{Type: driver.Int}}, 3)}
	w.Start()
	err := query(ctx, t.db, st, func(r driver.Row) error { busy = r[0].Int; return nil })
	w.Stop()
	if err == nil && busy != 0 {
		err = failf(protocol.CodeCheckpoint, "the checkpoint after the phase was blocked by a connection that still reads or writes")
	}
	return w.wall, err
}

// query is [driver.Read] with errors that name the statement.
func query(ctx context.Context, r driver.Runner, st driver.Statement, visit func(driver.Row) error) error {
	return of(st.SQL, driver.Read(ctx, r, st, visit))
}

// texts is [driver.Texts] with errors that name the statement.
func texts(ctx context.Context, r driver.Runner, sql string) ([]string, error) {
	list, err := driver.Texts(ctx, r, sql)
	return list, of(sql, err)
}

// number is [driver.Number] with errors that name the statement.
func number(ctx context.Context, r driver.Runner, sql string) (int64, error) {
	n, err := driver.Number(ctx, r, sql)
	return n, of(sql, err)
}

// The function "of" adds the statement to an error.
func of(sql string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", sql, err)
}

func fileSize(path string) int64 {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return fi.Size()
}

// removeDatabase removes a database with its journal and WAL.
func removeDatabase(path string) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		os.Remove(path + suffix)
	}
}
