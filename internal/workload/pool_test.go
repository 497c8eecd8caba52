package workload_test

import (
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

const pooled = `
name: pooled
settings: {journal_mode: wal}
pool: {writers: 1, readers: $clients}
parameters: {clients: 4}
schema: CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)
phases:
  - name: mix
    mix:
      - {name: read, sql: SELECT v FROM t, columns: [int]}
      - {name: with, sql: 'WITH x AS (SELECT replace(v, 1, 2) AS v FROM t) SELECT v FROM x', columns: [int]}
      - {name: values, sql: VALUES (1), columns: [int]}
      - {name: write, sql: UPDATE t SET v = 1, timeout: 50ms}
      - {name: returning, sql: INSERT INTO t (v) VALUES (1) RETURNING id, columns: [int]}
      - {name: with write, sql: 'WITH x AS (SELECT 1 AS v) INSERT INTO t (v) SELECT v FROM x'}
      - {name: with replace, sql: 'WITH x AS (SELECT 1 AS v) REPLACE INTO t (v) SELECT v FROM x'}
      - {name: pragma, sql: PRAGMA user_version, columns: [int]}
      - {name: both, transaction: true, statements: [{sql: SELECT v FROM t, columns: [int]}, UPDATE t SET v = 2]}
      - {name: as told, sql: SELECT v FROM t, columns: [int], pool: writers}
      - {name: also told, sql: SELECT v FROM t, columns: [int], pool: readers}
      - {name: nested, transaction: true, statements: [{sql: SELECT v FROM t, columns: [int]}, {sql: SELECT 1, columns: [int], connection: another}]}
    clients: $clients
    duration: 1s
    patience: 2s
`

func TestPools(t *testing.T) {
	w, err := workload.Parse("pooled.yaml", []byte(pooled), nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.Settings["pool_size"] != "1" || w.Settings["pool_readers"] != "4" {
		t.Errorf("settings %v", w.Settings)
	}
	p, err := w.Plan("full", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := p.Phases[0].Mix
	var readers []string
	for _, o := range m.Operations {
		if o.Reads {
			readers = append(readers, o.Name)
		}
	}
	if got := strings.Join(readers, ", "); got != "read, with, values, also told, nested" {
		t.Errorf("only read: %s", got)
	}
	if write := m.Operations[3]; write.TimeoutMS != 50 {
		t.Errorf("a timeout of %d ms: want 50", write.TimeoutMS)
	}
	nested := m.Operations[len(m.Operations)-1]
	if nested.Calls[0].Another || !nested.Calls[1].Another || m.PatienceMS != 2000 {
		t.Errorf("nested %+v, patience %d ms", nested.Calls, m.PatienceMS)
	}
}

func TestPoolMistakes(t *testing.T) {
	for want, change := range map[string][2]string{
		"pool has no readers: write readers: and a number":                            {"pool: {writers: 1, readers: $clients}", "pool: {writers: 1}"},
		"writers and the setting pool_size mean the same":                             {"settings: {", "settings: {pool_size: 1, "},
		`unknown key "reader" in pool: did you mean "readers"?`:                       {"readers: $clients", "reader: $clients"},
		"pool is readers, but UPDATE may write: write pool: writers, or leave it out": {"sql: UPDATE t SET v = 1,", "sql: UPDATE t SET v = 1, pool: readers,"},
		"connection: another has no effect outside of a transaction":                  {"name: nested, transaction: true,", "name: nested,"},
		"connection is another, but the clients of the mix keep one each":             {"clients: $clients\n    duration", "clients: 1\n    connection: own\n    duration"},
		"patience is \"soon\": want one such as 10s":                                  {"patience: 2s", "patience: soon"},
		"patience is \"400 ms\": want 400ms, without a space":                         {"patience: 2s", "patience: 400 ms"},
		"timeout is \"1us\": want one such as 10s":                                    {"timeout: 50ms", "timeout: 1us"},
		"processes is 100000000: want at most":                                        {"settings: {", "settings: {processes: 100000000, "},
		"2 clients with a connection each, but pool_size is 1: write pool_size: 2":    {"clients: $clients\n    duration", "clients: 3\n    connection: own\n    duration"},
		"pool_readers is 100000000: want at most":                                     {"pool: {writers: 1, readers: $clients}", "settings: {pool_readers: 100000000}"},
	} {
		text := strings.Replace(pooled, change[0], change[1], 1)
		if text == pooled {
			t.Errorf("the workload lacks %q, which the test replaces", change[0])
		}
		if strings.HasPrefix(want, "2 clients") {
			text = strings.Replace(text, "settings: {", "settings: {processes: 2, ", 1)
		}
		if strings.HasPrefix(change[1], "settings") && strings.HasPrefix(change[0], "pool:") {
			text = strings.Replace(text, "settings: {journal_mode: wal}\n", "", 1)
		}
		if _, err := workload.Parse("pooled.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %q", err, want)
		}
	}
}
