package conformance

import (
	_ "embed"
	"strings"
)

// simplest is a workload with little work, for checks that are not about the work.
const simplest = `
name: simplest
schema: CREATE TABLE t (id INTEGER PRIMARY KEY)
rows:
  t: {count: 10, columns: {id: serial}}
phases:
  - {name: insert, insert: t}
  - {name: query, query: SELECT id FROM t ORDER BY id, columns: [int], expect: {rows: 10, returns: t}}
`

// filled is a workload with a phase that fills the database, and one that reads it.
const filled = `
name: filled
schema: CREATE TABLE t (id INTEGER PRIMARY KEY)
rows:
  t: {count: 10, columns: {id: serial}}
phases:
  - {name: load, untimed: true, insert: t}
  - {name: query, query: SELECT id FROM t ORDER BY id, columns: [int], expect: {rows: 10, returns: t}}
`

// everything is a workload with a phase of each kind that a trial can have, except http.
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

// oneOfEach is a workload that inserts into nested tables. POLICY is replaced by a
// transaction policy.
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

// pieces is a workload with several phases that fill the database before the first timed
// phase.
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

// booking is a workload with operations whose errors are results, and with some that end
// early when a statement returns no row. With one client, the seed determines how many.
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

// guarded is a workload in which two operations that could wait for a lock never run at
// once.
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

// during is the workload mixed, but its mix lasts for a fixed duration instead of a count.
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

// locked is a workload that only writes, at a fixed rate, and lasts long enough to lock its database from
// another connection meanwhile.
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
