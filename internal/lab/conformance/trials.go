package conformance

import (
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// simplest does little work, for checks that are not about the work.
const simplest = `
name: simplest
schema: CREATE TABLE t (id INTEGER PRIMARY KEY)
rows:
  t: {count: 10, columns: {id: serial}}
phases:
  - {name: insert, insert: t}
  - {name: query, query: SELECT id FROM t ORDER BY id, columns: [int], expect: {rows: 10, returns: t}}
`

// filled has a phase that fills its database, and one that reads it.
const filled = `
name: filled
schema: CREATE TABLE t (id INTEGER PRIMARY KEY)
rows:
  t: {count: 10, columns: {id: serial}}
phases:
  - {name: load, untimed: true, insert: t}
  - {name: query, query: SELECT id FROM t ORDER BY id, columns: [int], expect: {rows: 10, returns: t}}
`

// everything has a phase of each kind that a trial may have.
const everything = `
name: everything
settings: {journal_mode: wal, synchronous: normal, busy_timeout: 5s, pool_size: 2}
schema: CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT NOT NULL, note TEXT)
rows:
  t: {count: 300, columns: {id: serial, word: {text: [1, 9]}, note: {text: [0, 30], nulls: 20%}}}
phases:
  - {name: load, untimed: true, insert: t, transaction: every 100 rows, rows per statement: 10}
  - name: query
    query: SELECT id, word, note FROM t ORDER BY id
    columns: [int, text, text or null]
    expect: {returns: t}
  - name: point
    query: SELECT word FROM t WHERE id = :id
    for each: t
    columns: [text]
    clients: 2
    expect: {returns: {t: [word]}}
  - name: mix
    mix:
      - name: read
        weight: 3
        sql: SELECT word, note FROM t WHERE id = :id
        parameters: {id: {pick: t.id}}
        columns: [text, text or null]
        expect: {rows: 1}
      - name: write
        transaction: true
        parameters: {id: {pick: t.id}, note: {text: 12}}
        statements:
          - UPDATE t SET note = :note WHERE id = :id
          - {sql: SELECT note FROM t WHERE id = :id, columns: [text or null], expect: {rows: 1}}
    clients: 2
    count: 200
  - {name: shrink, script: VACUUM}
`

// trial runs one trial as the lab does. If it did not end well, the error says how
// it ended.
func (s *Subject) trial(ctx context.Context, text string, over driver.Settings) (*lab.Case, *result.Trial, error) {
	c, err := s.caseOf(text, over)
	if err != nil {
		return nil, nil, err
	}
	c.Worker, c.Info = s.Worker, s.Info
	p := &lab.Processes{Dir: s.Dir, Limit: trialLimit}
	t, err := p.Trial(ctx, c, Seed)
	if err != nil {
		return nil, nil, err
	}
	return c, t, well(t)
}

// well returns an error if a trial did not end well.
func well(t *result.Trial) error {
	if t.Status != result.OK {
		return &trialError{t}
	}
	// A run continues in spite of warnings. But a worker that causes them does not
	// keep its promises. It does not cause those about the load generator, which may
	// be the bottleneck, or late, nor that the machine lets processes begin apart.
	for _, w := range t.Warnings {
		if w.Code != result.WarningCeiling && w.Code != result.WarningLate && w.Code != result.WarningApart {
			return fmt.Errorf("phase %s: %s", w.Phase, w.Message)
		}
	}
	return nil
}

// alternate runs two trials together, as a comparison does. A worker may do without the
// orders to proceed, but then it must not say that it waits for them.
func alternate(ctx context.Context, s *Subject) error {
	c, err := s.caseOf(pieces, nil)
	if err != nil {
		return err
	}
	c.Worker, c.Info = s.Worker, s.Info
	other := *c
	list, err := (&lab.Processes{Dir: s.Dir, Limit: trialLimit}).Trials(ctx, []*lab.Case{c, &other}, Seed)
	if err != nil {
		return err
	}
	return cmp.Or(well(list[0]), well(list[1]))
}

// caseOf returns the only case of a workload.
func (s *Subject) caseOf(text string, over driver.Settings) (*lab.Case, error) {
	w, err := workload.Parse("check.yaml", []byte(text), nil)
	if err != nil {
		return nil, err
	}
	settings := map[string][]string{}
	for name, value := range over {
		settings[name] = []string{value}
	}
	m := lab.Matrix{Drivers: []build.Ref{s.Ref}, Workloads: []*workload.Workload{w}, Scale: workload.Full, Seed: Seed, Settings: settings}
	cases, err := m.Cases()
	if err != nil {
		return nil, err
	}
	return cases[0], nil
}

// trialError is a trial that did not end well.
type trialError struct{ trial *result.Trial }

func (e *trialError) Error() string {
	r := e.trial.Reason
	words := r.Message
	if r.Phase != "" && !strings.Contains(words, "phase "+r.Phase) {
		words = "phase " + r.Phase + ": " + words
	}
	words = fmt.Sprintf("%s, %s: %s", e.trial.Status, r.Code, words)
	if r.Detail != "" {
		words += "\n" + r.Detail
	}
	return words
}

// smoke runs before all checks, since none of them can run if it fails.
func smoke(ctx context.Context, s *Subject) error {
	_, _, err := s.trial(ctx, `
name: smoke
schema: CREATE TABLE smoke (id INTEGER PRIMARY KEY)
rows:
  smoke: {count: 1, columns: {id: serial}}
phases:
  - {name: insert, insert: smoke}
`, nil)
	return err
}

// answer is what a phase must answer if no generator makes its result.
type answer struct {
	Checksum   string           `json:"checksum"`
	Operations map[string]int64 `json:"operations,omitempty"`  // of a mix: how many of each
	EndedEarly map[string]int64 `json:"ended_early,omitempty"` // the same, with one client
	Results    map[string]int64 `json:"results,omitempty"`     // the same, by SQLite's name of the error
}

// answersJSON is what the engine in Go answers; a test compares them.
//
//go:embed answers.json
var answersJSON []byte

// verified runs a trial and compares what the lab could not verify with the known
// answers.
func verified(text string) func(context.Context, *Subject) error {
	return func(ctx context.Context, s *Subject) error {
		c, t, err := s.trial(ctx, text, nil)
		if err != nil {
			return err
		}
		var known map[string]answer // by workload and phase, "workload/phase"
		if err := json.Unmarshal(answersJSON, &known); err != nil {
			return err
		}
		for i := range t.Samples {
			m := &t.Samples[i]
			want, ok := known[c.Workload+"/"+m.Phase]
			if !ok {
				continue
			}
			if m.Checksum != want.Checksum {
				return fmt.Errorf("phase %s: sample.checksum is %s, want %s: see Verification and Checksums in docs/worker-protocol.md", m.Phase, m.Checksum, want.Checksum)
			}
			for _, r := range m.Results {
				if n := want.Results[r.Name]; r.Count != n {
					return fmt.Errorf("phase %s: sample.results: %d of %s, want %d", m.Phase, r.Count, r.Name, n)
				}
			}
			if len(m.Results) != len(want.Results) {
				return fmt.Errorf("phase %s: sample.results has %d entries, want %d: %v", m.Phase, len(m.Results), len(want.Results), want.Results)
			}
			for _, l := range m.Latency {
				if n := want.EndedEarly[l.Operation]; l.EndedEarly != n {
					return fmt.Errorf("phase %s: sample.latency: %d of %s ended early, want %d", m.Phase, l.EndedEarly, l.Operation, n)
				}
				if n, ok := want.Operations[l.Operation]; ok && l.Count != n {
					return fmt.Errorf("phase %s: sample.latency: %d operations %s, want %d: the seed decides which operation is the next", m.Phase, l.Count, l.Operation, n)
				}
			}
		}
		return nil
	}
}

// oneOfEach inserts into nested tables. The transaction policy is filled in.
const oneOfEach = `
name: insert
schema: |
  CREATE TABLE a (id INTEGER PRIMARY KEY, word TEXT);
  CREATE TABLE b (id INTEGER PRIMARY KEY, aid INTEGER, note TEXT);
  CREATE TABLE c (id INTEGER PRIMARY KEY, word TEXT);
rows:
  a: {count: 101, columns: {id: serial, word: {text: [0, 12]}}}
  b: {per: a, count: 3, columns: {id: serial, aid: a.id, note: {text: 5, nulls: 30%}}}
  c: {per: b, count: 2, columns: {id: serial, word: a.word}}
phases:
  - {name: insert, insert: [a, b, c], POLICY}
  - {name: a, query: "SELECT id, word FROM a ORDER BY id", columns: [int, text], expect: {returns: a}}
  - {name: b, query: "SELECT id, aid, note FROM b ORDER BY id", columns: [int, int, text or null], expect: {returns: b}}
  - {name: c, query: "SELECT id, word FROM c ORDER BY rowid", columns: [int, text], expect: {returns: c}}
`

var policies = []string{
	"transaction: one",
	"transaction: one, rows per statement: 7",
	"transaction: per set",
	"transaction: per statement, rows per statement: 50",
	"transaction: every 40 rows, rows per statement: 8",
	"transaction: per a",
	"transaction: per a, rows per statement: 5",
	"statement: ad hoc",
	"context: cancellable",
	"values: timed",
}

func trialChecks() []Check {
	var list []Check
	for _, p := range policies {
		list = append(list, Check{Name: "insert/" + p, test: verified(strings.Replace(oneOfEach, "POLICY", p, 1))})
	}
	return append(list,
		Check{Name: "loading/in pieces", test: verified(pieces)},
		Check{Name: "trials/two that alternate", test: alternate},
		Check{Name: "query/each way", test: verified(queries)},
		Check{Name: "mix/operations and their order", Key: "transactions=reads", test: verified(mixed)},
		Check{Name: "mix/own connections", Needs: "transactions=reads", test: verified(strings.Replace(mixed, "count: 500", "count: 500\n    connection: own", 1))},
		Check{Name: "mix/fixed rate", test: verified(rated)},
		Check{Name: "mix/duration", Needs: "transactions=reads", test: verified(during)},
		Check{Name: "mix/mutex and retry", Needs: "transactions=reads", test: verified(strings.Replace(mixed, "count: 500", "count: 500\n    mutex: true\n    retry: {attempts: 3, backoff: 1ms}", 1))},
		Check{Name: "mix/errors that are results, operations that end early", Needs: "transactions=reads", test: verified(booking)},
		Check{Name: "mix/a mutex around an operation", Needs: "transactions=reads", test: verified(guarded)},
		Check{Name: "mix/failures and retries under a lock", Needs: "busy_timeout", test: tellsLocks},
		Check{Name: "script/each statement", test: verified(scripted)},
		Check{Name: "http/answers and load", Key: "http", test: verified(served)},
	)
}

// pieces fills its database in several phases before the first that is timed.
const pieces = `
name: pieces
settings: {pool_size: 2, journal_mode: wal}
schema: |
  CREATE TABLE a (id INTEGER PRIMARY KEY, word TEXT);
  CREATE TABLE b (id INTEGER PRIMARY KEY, word TEXT);
rows:
  a: {count: 120, columns: {id: serial, word: {text: [0, 20]}}}
  more: {table: a, count: 30, columns: {id: {serial: 1000}, word: {text: [0, 20]}}}
  b: {count: 50, columns: {id: serial, word: {text: 9}}}
phases:
  - {name: load, untimed: true, insert: [a, b]}
  - {name: more, untimed: true, insert: more}
  - {name: tidy, untimed: true, script: "CREATE INDEX words ON a (word); DELETE FROM a WHERE id = 2; ANALYZE"}
  - {name: read, query: "SELECT id, word FROM a ORDER BY word DESC, id", columns: [int, text]}
  - {name: write, script: DELETE FROM a WHERE id < 10}
  - {name: count, query: "SELECT count(*), (SELECT count(*) FROM b) FROM a", columns: [int, int], expect: {rows: 1}}
`

const queries = `
name: queries
settings: {pool_size: 2}
schema: CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, word TEXT)
rows:
  t: {count: 120, columns: {id: serial, k: {int: [0, 9]}, word: {text: [0, 20]}}}
phases:
  - {name: load, untimed: true, insert: t}
  - {name: once, query: "SELECT id, k, word FROM t ORDER BY id", columns: [int, int, text], repeat: 3, expect: {returns: t}}
  - {name: for-each, query: "SELECT word FROM t WHERE id = :id", for each: t, columns: [text], expect: {returns: {t: [word]}}}
  - {name: clients, query: "SELECT k FROM t WHERE id = :id", for each: t, columns: [int], clients: 2, repeat: 2, expect: {returns: {t: [k]}}}
  - {name: ad-hoc, query: "SELECT k FROM t WHERE id = :id", for each: t, columns: [int], statement: ad hoc, expect: {returns: {t: [k]}}}
  - name: generated
    query: SELECT id, word FROM t WHERE k = :k AND id > :low ORDER BY id LIMIT :n
    for each: t
    parameters: {k: {int: [0, 9]}, low: {pick: t.id, skew: 1.1}, n: 3}
    columns: [int, text]
  - {name: empty, query: SELECT word FROM t WHERE id < 0, columns: [text], expect: {rows: 0}}
`

const mixed = `
name: mixed
settings: {pool_size: 3, busy_timeout: 10s, txlock: immediate}
schema: CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, word TEXT)
rows:
  t: {count: 200, columns: {id: serial, n: 0, word: {text: 8}}}
phases:
  - {name: load, untimed: true, insert: t}
  - name: mix
    mix:
      - {name: read, weight: 7, sql: "SELECT n, word FROM t WHERE id = :id", parameters: {id: {pick: t.id}}, columns: [int, text], expect: {rows: 1}}
      - {name: add, weight: 2, sql: "INSERT INTO t (id, n, word) VALUES (:id, :n, 'new')", parameters: {id: {serial: 1_000}, n: {int: [1, 9]}}}
      - name: move
        transaction: true
        parameters: {from: {pick: t.id}, to: {pick: t.id}, sum: {int: [1, 100]}}
        statements:
          - UPDATE t SET n = n - :sum WHERE id = :from
          - UPDATE t SET n = n + :sum WHERE id = :to
          - {sql: "SELECT sum(n) FROM t WHERE id IN (:from, :to)", columns: [int], expect: {rows: 1}}
    clients: 3
    count: 500
`

// booking has operations whose errors are results, and some that end when a
// statement returns no row. With one client the seed decides how many.
const booking = `
name: booking
schema: |
  CREATE TABLE seats (id INTEGER PRIMARY KEY, guest INTEGER);
  CREATE TABLE guests (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
rows:
  seats: {count: 60, columns: {id: serial, guest: null}}
phases:
  - {name: load, untimed: true, insert: seats}
  - name: mix
    mix:
      - {name: register, weight: 2, results: [SQLITE_CONSTRAINT_UNIQUE], sql: "INSERT INTO guests (name) VALUES (:k)", parameters: {k: {int: [1, 40]}}}
      - name: book
        weight: 3
        transaction: true
        parameters: {seat: {pick: seats.id}, guest: serial}
        statements:
          - {sql: "SELECT id FROM seats WHERE id = :seat AND guest IS NULL", columns: int, if empty: rollback}
          - UPDATE seats SET guest = :guest WHERE id = :seat
      - name: look
        parameters: {seat: {pick: seats.id}}
        statements:
          - {sql: "SELECT guest FROM seats WHERE id = :seat AND guest IS NOT NULL", columns: int, if empty: stop}
          - {sql: "SELECT count(*) FROM guests WHERE id < :seat", columns: int}
    clients: 1
    count: 300
`

// guarded never has two operations at once that could wait for a lock.
const guarded = `
name: guarded
settings: {pool_size: 3, busy_timeout: 0, journal_mode: delete}
schema: CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)
rows:
  t: {count: 50, columns: {id: serial, n: 0}}
phases:
  - {name: load, untimed: true, insert: t}
  - name: mix
    mix:
      - name: add
        mutex: true
        transaction: true
        parameters: {id: {pick: t.id}}
        statements:
          - {sql: "SELECT n FROM t WHERE id = :id", columns: int, expect: {rows: 1}}
          - UPDATE t SET n = n + 1 WHERE id = :id
    clients: 3
    count: 150
  - {name: sum, query: SELECT sum(n) FROM t, columns: [int], expect: {rows: 1}}
`

// during is the workload mixed, for a fixed duration, so that more of it is verified.
var during = strings.NewReplacer("name: mixed", "name: during", "count: 500", "duration: 100ms").Replace(mixed)

const rated = `
name: rated
schema: CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT)
rows:
  t: {count: 100, columns: {id: serial, word: {text: 8}}}
phases:
  - {name: load, untimed: true, insert: t}
  - name: mix
    mix:
      - {name: read, sql: "SELECT word FROM t WHERE id = :id", parameters: {id: {pick: t.id}}, columns: [text], expect: {rows: 1}}
    count: 100
    rate: 1_000
`

const scripted = `
name: scripted
schema: |
  CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT);
  CREATE TABLE log (word TEXT);
  CREATE TRIGGER kept AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.word); SELECT 1; END;
phases:
  - name: script
    script: |
      INSERT INTO t (word) VALUES ('a;b'), ('it''s'); -- two; rows
      /* not; this */ INSERT INTO t (word) VALUES ('c');
      UPDATE t SET word = word || '!' WHERE id = 1; -- the end
  - {name: query, query: SELECT t.word || log.word FROM t JOIN log ON log.rowid = t.id ORDER BY t.id, columns: [text], expect: {rows: 3}}
`

const served = `
name: served
settings: {pool_size: 2}
schema: CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT NOT NULL, yes INTEGER NOT NULL, note TEXT)
rows:
  t: {count: 100, columns: {id: serial, word: {text: [3, 14]}, yes: true, note: {text: 4, nulls: 50%}}}
phases:
  - {name: load, untimed: true, insert: t}
  - name: requests
    http: SELECT id, word, yes, note FROM t WHERE id = :id
    parameters: {id: {pick: t.id}}
    columns: {id: int, word: text, yes: bool, note: text or null}
    expect: {returns: t}
    clients: 2
    count: 400
`

// locked only writes, at a fixed rate, for long enough to lock its database from
// outside.
const locked = `
name: locked
settings: {busy_timeout: 0, journal_mode: delete, txlock: deferred}
schema: CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)
rows:
  t: {count: 1, columns: {id: serial, n: 0}}
phases:
  - {name: load, untimed: true, insert: t}
  - name: mix
    mix:
      - {name: add, sql: UPDATE t SET n = n + 1}
    duration: 2s
    rate: 50
    retry: {attempts: 3, backoff: 1ms}
`

// lockedFor is how long the database is locked from outside: for half of the
// operations of the mix.
const lockedFor = time.Second

// tellsLocks has another writer lock the database in the middle of a mix. It expects
// the worker to report how many operations failed, and how many were repeated in
// vain.
func tellsLocks(ctx context.Context, s *Subject) error {
	held := make(chan error, 1)
	h, err := s.askTrial(ctx, locked, func(a *protocol.Response) bool {
		if a.Type == protocol.TypePhase && a.Phase == "mix" {
			go func() { held <- s.lock(ctx) }()
		}
		return final(a.Type)
	})
	if err != nil {
		return err
	}
	if a := h.last(); a.Type != protocol.TypeDone {
		return fmt.Errorf("%s, %s", a.Type, codeOf(a.Reason))
	}
	if err := <-held; err != nil {
		return fmt.Errorf("locking the database from outside: %w", err)
	}
	var m *protocol.Sample
	for i := range h.answers {
		if h.answers[i].Sample != nil {
			m = h.answers[i].Sample
		}
	}
	if m == nil {
		return errors.New("phase mix: no sample")
	}
	busy := int64(0)
	for _, e := range m.Errors {
		if e.Code&0xff == driver.CodeBusy {
			busy += e.Count
		}
	}
	var written int64
	err = s.withSQL(func(db *sql.DB) error { return db.QueryRowContext(ctx, "SELECT n FROM t").Scan(&written) })
	switch {
	case err != nil:
		return err
	case m.Failed == 0:
		return fmt.Errorf("phase mix: failed is 0: want more, since another process held the database locked for %v", lockedFor)
	case m.Operations-m.Failed != written:
		return fmt.Errorf("phase mix: operations less failed is %d: want %d, the number of UPDATEs that are in the database", m.Operations-m.Failed, written)
	case busy != m.Failed:
		return fmt.Errorf("phase mix: errors counts %d SQLITE_BUSY: want %d, as failed says", busy, m.Failed)
	case m.Retries < 2*m.Failed:
		return fmt.Errorf("phase mix: retries is %d: want at least %d, since each of %d operations that failed has three attempts", m.Retries, 2*m.Failed, m.Failed)
	}
	return nil
}

// lock keeps the check's database locked for writing.
func (s *Subject) lock(ctx context.Context) error {
	return s.withSQL(func(db *sql.DB) error {
		c, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.ExecContext(ctx, "PRAGMA busy_timeout = 1000; BEGIN IMMEDIATE"); err != nil {
			return err
		}
		time.Sleep(lockedFor)
		_, err = c.ExecContext(ctx, "ROLLBACK")
		return err
	})
}
