package worker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// prove reads back the settings from every connection of the pools. It observes settings that no
// PRAGMA reports, such as txlock.
func (t *trial) prove(ctx context.Context) (*protocol.Proof, error) {
	proof, err := readPool(ctx, t.db, t.req, t.req.Settings.PoolSize(), t.drv.Info().Module)
	if err != nil {
		return nil, err
	}
	observed := driver.Settings{}
	if _, byHand := t.drv.(Hand); !byHand { // observing needs the codes of errors, and hand-written programs do not report them
		if observed, err = t.observeOpening(ctx, proof.Connections[0]); err != nil {
			return nil, err
		}
	}
	if err := t.proveReaders(ctx, proof); err != nil {
		return nil, err
	}
	for _, name := range applied {
		if v, set := t.req.Settings[name]; set {
			observed[name] = v
		}
	}
	if shower, ok := t.db.(driver.Shower); ok {
		shown, err := shower.Shown(ctx)
		if err != nil {
			return nil, fmt.Errorf("observing settings: %w", err)
		}
		observed = observed.With(shown)
	}
	for i := range proof.Connections {
		proof.Connections[i] = proof.Connections[i].With(observed)
	}
	return proof, nil
}

// proveReaders opens a second pool, for operations that only read, if the setting pool_readers asks for
// it. It adds the settings of the second pool's connections to the proof. While it reads these
// settings, all connections of both pools are in use.
func (t *trial) proveReaders(ctx context.Context, proof *protocol.Proof) error {
	v, set := t.req.Settings["pool_readers"]
	n := t.req.Settings.PoolReaders()
	if n > 0 {
		var err error
		if t.readers, err = t.drv.Open(ctx, t.req.Path, pooled(t.req.Settings, n)); err != nil {
			return fmt.Errorf("open the pool of the readers: %w", err)
		}
		conns, err := takeAll(ctx, t.db, t.req.Settings.PoolSize())
		if err != nil {
			return err
		}
		more, err := readPool(ctx, t.readers, t.req, n, t.drv.Info().Module)
		if err = errors.Join(err, giveBack(conns)); err != nil {
			return fmt.Errorf("the pool of the readers: %w", err)
		}
		size := proof.Connections[0]["pool_size"]
		proof.Connections = append(proof.Connections, more.Connections...)
		v = strconv.Itoa(len(more.Connections))
		for _, got := range proof.Connections {
			got["pool_size"] = size
		}
	}
	if set {
		for _, got := range proof.Connections {
			got["pool_readers"] = v
		}
	}
	return nil
}

// readPool reads back the settings of a pool of n connections. No connection may be in use.
func readPool(ctx context.Context, db driver.DB, req *protocol.Request, n int, module string) (*protocol.Proof, error) {
	conns, err := takeAll(ctx, db, n)
	if err != nil {
		return nil, err
	}
	proof, err := readBack(ctx, conns, linked(module, req.Environment))
	if err != nil {
		return nil, errors.Join(err, giveBack(conns))
	}
	return proof, proveIdle(ctx, db, pooled(req.Settings, n), conns, proof)
}

// proveNew opens a new database at path with the settings s, and reads back the settings of its pool of n
// connections.
func proveNew(ctx context.Context, d driver.Driver, path string, s driver.Settings, n int, req *protocol.Request) (proof *protocol.Proof, err error) {
	db, err := d.Open(ctx, path, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return readPool(ctx, db, req, n, d.Info().Module)
}

// takeAll takes all n connections of a pool, so that all are in use at the same time.
func takeAll(ctx context.Context, db driver.DB, n int) ([]driver.Conn, error) {
	conns := make([]driver.Conn, 0, n)
	for range n {
		c, err := db.Conn(ctx)
		if err != nil {
			err = fmt.Errorf("taking connection %d of %d: %w", len(conns)+1, n, err)
			return nil, errors.Join(err, giveBack(conns))
		}
		conns = append(conns, c)
	}
	return conns, nil
}

// takePools takes all connections of all pools.
func (t *trial) takePools(ctx context.Context) ([]driver.Conn, error) {
	conns, err := takeAll(ctx, t.db, t.req.Settings.PoolSize())
	if err != nil || t.readers == nil {
		return conns, err
	}
	more, err := takeAll(ctx, t.readers, t.req.Settings.PoolReaders())
	if err != nil {
		return nil, errors.Join(err, giveBack(conns))
	}
	return append(conns, more...), nil
}

func giveBack(conns []driver.Conn) (err error) {
	for _, c := range conns {
		err = errors.Join(err, c.Close())
	}
	return err
}

// readBack reads, on every connection of a pool, every setting that a PRAGMA reports. On the first
// connection it also reads the version of SQLite. It adds all of this to the proof.
func readBack(ctx context.Context, conns []driver.Conn, proof protocol.Proof) (*protocol.Proof, error) {
	for _, c := range conns {
		got, err := readSettings(ctx, c)
		if err != nil {
			return nil, err
		}
		got["pool_size"] = strconv.Itoa(len(conns)) // the number is proven, because all these connections are in use at the same time
		proof.Connections = append(proof.Connections, got)
	}
	return &proof, readLibrary(ctx, conns[0], &proof)
}

// readAgain sends the lab the settings in force after a phase, or after the schema if the parameter
// "phase" is "". It updates t.wal and t.apart to these settings. It also makes every connection
// read the schema, so that the first statement of the next phase does not have to read it. A lock
// could prevent that statement from reading the schema, and SQLite would then use the schema that
// it knew before the tables existed.
func (t *trial) readAgain(ctx context.Context, phase string) error {
	after := "the schema"
	if phase != "" {
		after = "phase " + phase
	}
	return t.ours(ctx, "reading the settings after "+after, func(ctx context.Context) error { return t.readPools(ctx, phase, after) })
}

func (t *trial) readPools(ctx context.Context, phase, after string) error {
	conns, err := t.takePools(ctx)
	if err != nil {
		return fmt.Errorf("reading the settings after %s: %w", after, err)
	}
	answer := protocol.Response{Type: protocol.TypeSettings, Phase: phase}
	for _, c := range conns {
		var got driver.Settings
		if got, err = readSettings(ctx, c); err != nil {
			break
		}
		answer.Connections = append(answer.Connections, got)
	}
	if err = errors.Join(err, giveBack(conns)); err != nil {
		return fmt.Errorf("reading the settings after %s: %w", after, err)
	}
	t.wal = t.hasLog(answer.Connections[0])
	t.apart = t.apart && answer.Connections[0]["locking_mode"] != "exclusive"
	return t.out.send(answer)
}

// readSettings asks a connection for every PRAGMA in [driver.Vocabulary]. Before that it makes the
// connection read the schema, because SQLite applies DEFAULT_WAL_SYNCHRONOUS when it first reads a
// database that has a WAL.
func readSettings(ctx context.Context, c driver.Conn) (driver.Settings, error) {
	if _, err := number(ctx, c, "SELECT count(*) FROM sqlite_master"); err != nil {
		return nil, err
	}
	got := driver.Settings{}
	for _, d := range driver.Vocabulary {
		if !d.Pragma {
			continue
		}
		typ := driver.Int
		if d.Name == "journal_mode" || d.Name == "locking_mode" {
			typ = driver.Text
		}
		raw := ""
		st := driver.Statement{SQL: "PRAGMA " + d.Name, Columns: []driver.ColumnType{{Type: typ, Nullable: true}}}
		err := query(ctx, c, st, func(r driver.Row) error {
			if typ == driver.Text {
				raw = r[0].Text
			} else {
				raw = strconv.FormatInt(r[0].Int, 10)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if raw == "" && d.Name == "mmap_size" {
			raw = "0" // SQLite compiled without memory mapping returns no row
		}
		if raw == "" {
			continue
		}
		v, err := d.Canonical(raw)
		if err != nil {
			v = raw // the value stays as it is, so that the comparison with the requested value fails
		}
		got[d.Name] = v
	}
	return got, nil
}

// readLibrary adds the version and the compile options of SQLite to the proof.
func readLibrary(ctx context.Context, c driver.Conn, proof *protocol.Proof) error {
	text := driver.ColumnType{Type: driver.Text}
	st := driver.Statement{SQL: "SELECT sqlite_version(), sqlite_source_id()", Columns: []driver.ColumnType{text, text}}
	err := query(ctx, c, st, func(r driver.Row) error {
		proof.SQLiteVersion, proof.SQLiteSourceID = r[0].Text, r[1].Text
		return nil
	})
	if err != nil {
		return err
	}
	proof.CompileOptions, err = texts(ctx, c, "PRAGMA compile_options")
	return err
}

// observeOpening determines the settings that no PRAGMA reports: txlock, cache and mode. For txlock and
// cache it opens the same file with a second pool, and observes whether locks of the first pool stop a
// connection of the second pool. It leaves out settings that it cannot observe.
func (t *trial) observeOpening(ctx context.Context, got driver.Settings) (seen driver.Settings, err error) {
	seen = driver.Settings{}
	if t.req.Settings["mode"] == "memory" {
		// A library that ignores mode=memory creates a file at t.req.Path, at the latest when a
		// transaction writes.
		if err := t.db.Script(ctx, "CREATE TABLE sqlite3perf_probe(x); DROP TABLE sqlite3perf_probe"); err != nil {
			return nil, fmt.Errorf("probing mode: %w", err)
		}
		seen["mode"] = "memory"
		if fileSize(t.req.Path) > 0 {
			seen["mode"] = "rwc"
		}
		return seen, nil
	}
	if got["locking_mode"] == "exclusive" {
		return seen, nil // with this setting, a second pool cannot use the file, so nothing more can be observed
	}
	second, err := t.drv.Open(ctx, t.req.Path, pooled(t.req.Settings, 1).With(driver.Settings{"busy_timeout": "0"}))
	if err != nil {
		return nil, fmt.Errorf("opening a second time, to observe txlock and cache: %w", err)
	}
	defer second.Close()
	other, err := second.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	if seen["cache"], err = t.observeCache(ctx, other); err != nil {
		return nil, fmt.Errorf("observing cache: %w", err)
	}
	// The function "during" begins a transaction on t.db, in which it runs no statement. While the
	// transaction is open, it runs the statement sql on the second connection.
	during := func(sql string) (code int, err error) {
		tx, err := t.db.Begin(ctx)
		if err != nil {
			return 0, fmt.Errorf("begin, to observe txlock: %w", err)
		}
		release := sync.OnceValue(func() error { return tx.Rollback(ctx) })
		code, _, err = tryHeld(ctx, other, sql, release)
		if err = errors.Join(err, release()); err != nil {
			err = fmt.Errorf("observing txlock: %w", err)
		}
		return code, err
	}
	code, err := during("BEGIN IMMEDIATE")
	if err != nil {
		return nil, err
	}
	switch {
	case code == 0:
		seen["txlock"] = "deferred"
		err = other.Script(ctx, "ROLLBACK")
	case got["journal_mode"] == "wal":
		// In WAL mode, exclusive and immediate transactions take the same lock, so they cannot be
		// distinguished. The requested kind of transaction is assumed.
		seen["txlock"] = "immediate"
		if t.req.Settings["txlock"] == "exclusive" {
			seen["txlock"] = "exclusive"
		}
	default:
		code, err = during("SELECT count(*) FROM sqlite_master")
		seen["txlock"] = "immediate"
		if code != 0 {
			seen["txlock"] = "exclusive"
		}
	}
	return seen, err
}

// observeCache returns "shared" if two connections share a cache, and "private" otherwise. While one
// connection holds the write lock, the connection "other" asks for the same lock. The error is
// SQLITE_LOCKED only in a shared cache.
func (t *trial) observeCache(ctx context.Context, other driver.Conn) (string, error) {
	holder, err := t.db.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer holder.Close()
	if err := holder.Script(ctx, "BEGIN IMMEDIATE"); err != nil {
		return "", err
	}
	release := sync.OnceValue(func() error { return holder.Script(ctx, "ROLLBACK") })
	code, _, err := tryHeld(ctx, other, "BEGIN IMMEDIATE", release)
	err = errors.Join(err, release())
	if code == driver.CodeLocked {
		return "shared", err
	}
	if code == 0 && err == nil { // BEGIN IMMEDIATE has taken no lock, for example because the database is on a cluster
		err = other.Script(ctx, "ROLLBACK")
	}
	return "private", err
}

// patience is how long tryLock waits for a lock. If two connections share a cache, some
// libraries do not return SQLITE_LOCKED but wait until the other connection unlocks.
const patience = 250 * time.Millisecond

// tryLock runs a statement that needs a lock. It returns 0 if the statement gets the lock. It returns
// SQLITE_LOCKED if the library waits too long. It returns the primary code of any other lock error, and
// 0 with the error if the cause is not a lock.
func tryLock(ctx context.Context, c driver.Conn, sql string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := c.Script(ctx, sql)
	switch {
	case err != nil && ctx.Err() != nil:
		return driver.CodeLocked, nil
	case locked(err):
		return driver.PrimaryCode(err), nil
	}
	return 0, err
}
