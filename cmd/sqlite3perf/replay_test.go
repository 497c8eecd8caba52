package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

const recordingHeader = `{"format":"sqlite3perf-recording","version":1,"began":"2026-11-23T01:24:04Z","args":"values"}` + "\n"

// replayOn replays a recording with the driver d in a real worker. The parameter "phase" is the
// replay phase of a workload, as YAML, and "files" has the recording. It returns the sample and the
// warnings about it.
func replayOn(t *testing.T, d driver.Driver, phase string, settings driver.Settings, files map[string]string) (*protocol.Sample, []string) {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	w, err := workload.Parse("app.yaml", []byte("name: app\nschema: CREATE TABLE t (id INTEGER PRIMARY KEY, v)\nphases:\n  - "+phase+"\n"), fsys)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Plan(workload.Full, nil)
	if err != nil {
		t.Fatal(err)
	}
	settings = settings.With(driver.Settings{"pool_size": fmt.Sprint(p.Phases[0].Replay.AtOnce())})
	answers, err := worker.Exchange(context.Background(), d, protocol.Request{
		Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 7, Path: filepath.Join(t.TempDir(), "app.db"), Settings: settings, Plan: p,
	})
	if err != nil {
		t.Fatal(err)
	}
	var sample *protocol.Sample
	for _, a := range answers {
		if a.Reason != nil {
			t.Fatal(a.Reason.Message)
		}
		if a.Sample != nil {
			sample = a.Sample
		}
	}
	want := lab.Expectation{Operations: int64(p.Phases[0].Replay.Events.Len()), Rows: -1}
	_, doubts, faults := lab.CheckSample(&p.Phases[0], want, lab.Seen{}, sample)
	for _, f := range faults {
		t.Error(f.Message)
	}
	var words []string
	for _, d := range doubts {
		words = append(words, d.Code+": "+d.Message)
	}
	return sample, words
}

// counts returns the numbers of a sample that do not depend on time.
func counts(s *protocol.Sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "operations %d failed %d skipped %d different %d rows %d", s.Operations, s.Failed, s.Skipped, s.Different, s.Rows)
	for _, e := range s.Errors {
		fmt.Fprintf(&b, " error %s %d", e.Name, e.Count)
		if e.Message != "" {
			fmt.Fprintf(&b, " (%s)", e.Message)
		}
	}
	for _, e := range s.Results {
		fmt.Fprintf(&b, " result %s %d", e.Name, e.Count)
	}
	for _, e := range s.Unlocked {
		fmt.Fprintf(&b, " unlocked %s %d", e.Name, e.Count)
	}
	for _, l := range s.Latency {
		fmt.Fprintf(&b, " [%s %d]", l.Operation, l.Count)
	}
	return b.String()
}

const twoConnections = recordingHeader +
	`{"sql":1,"text":"INSERT INTO t (id, v) VALUES (:id, ?2)","prepared":true}` + "\n" +
	`{"sql":2,"text":"SELECT *, :v FROM t WHERE v = :v"}` + "\n" +
	`{"sql":3,"text":"BEGIN IMMEDIATE"}` + "\n" + `{"sql":4,"text":"COMMIT;"}` + "\n" +
	`{"at":0,"took":9000,"conn":1,"tx":1,"do":"begin"}` + "\n" +
	`{"at":10000,"took":1000,"conn":1,"tx":1,"sql":1,"args":[1,"a"],"affected":1}` + "\n" +
	`{"at":20000,"took":1000,"conn":1,"tx":1,"sql":1,"args":[2,2.5],"affected":1}` + "\n" +
	`{"at":30000,"took":1000,"conn":1,"tx":1,"sql":1,"args":[3,null],"affected":1}` + "\n" +
	`{"at":40000,"took":1000,"conn":1,"tx":1,"do":"commit"}` + "\n" +
	`{"at":50000,"took":90000,"conn":2,"sql":2,"args":[{"name":"v","value":"a"}],"rows":1}` + "\n" +
	`{"at":60000,"took":1000,"conn":1,"tx":2,"sql":3,"affected":0}` + "\n" +
	`{"at":70000,"took":1000,"conn":1,"tx":2,"sql":1,"args":[1,"twice"],"error":{"code":1555}}` + "\n" +
	`{"at":80000,"took":1000,"conn":1,"tx":2,"sql":1,"args":[4,{"blob":"AP8="}],"affected":1}` + "\n" +
	`{"at":90000,"took":1000,"conn":1,"tx":2,"sql":4,"affected":0}` + "\n"

func TestReplay(t *testing.T) {
	const all = "operations 10 failed 0 skipped 0 different 0 rows 1 result SQLITE_CONSTRAINT_PRIMARYKEY 1 [INSERT t 5] [BEGIN 2] [COMMIT 2] [SELECT t 1]"
	for _, keys := range []string{"clients: 1", "clients: 1, speed: recorded", "clients: 1, speed: 1000x", "clients: 1, statement: ad hoc", "clients: 1, statement: prepared"} {
		s, doubts := replayOn(t, honest(), "{name: replay, replay: ./app.jsonl, "+keys+"}", nil, map[string]string{"app.jsonl": twoConnections})
		if got := counts(s); got != all || doubts != nil {
			t.Errorf("%s: %s %q\nwant %s", keys, got, doubts, all)
		}
	}
	// By default each recorded connection has its own client, so the SELECT of one connection may run
	// before the INSERT of the other.
	s, _ := replayOn(t, honest(), "{name: replay, replay: app.jsonl}", driver.Settings{"busy_timeout": "60000", "journal_mode": "wal"}, map[string]string{"app.jsonl": twoConnections})
	if s.Operations != 10 || s.Failed != 0 || s.Skipped != 0 {
		t.Error(counts(s))
	}
	s, _ = replayOn(t, honest(), "{name: replay, replay: app.jsonl, clients: 4}", driver.Settings{"busy_timeout": "60000", "journal_mode": "wal"}, map[string]string{"app.jsonl": twoConnections})
	if s.Operations != 10 || s.Skipped != 0 {
		t.Error(counts(s))
	}
}

// TestReplayAffected replays statements that change another number of rows than when they were
// recorded. Each difference must be reported, except for statements such as CREATE TABLE, for which
// the number has no meaning.
func TestReplayAffected(t *testing.T) {
	statement := func(n int, text string) string { return fmt.Sprintf(`{"sql":%d,"text":%q}`+"\n", n, text) }
	event := func(n, affected int) string {
		return fmt.Sprintf(`{"at":%d,"took":1,"conn":1,"sql":%d,"affected":%d}`+"\n", 10*n, n, affected)
	}
	text := recordingHeader +
		statement(1, "INSERT INTO t (v) VALUES ('a'), ('b'), ('c')") +
		statement(2, "UPDATE t SET v = 'd' WHERE v > 'a'") +
		statement(3, "CREATE TABLE u (v)") +
		statement(4, "WITH x AS (SELECT 'd' AS d) DELETE FROM t WHERE v IN (SELECT d FROM x)") +
		statement(5, "DELETE FROM t WHERE id = 7")
	recorded := text + event(1, 3) + event(2, 2) + event(3, 2) + event(4, 2) + event(5, 0)
	for _, test := range []struct {
		what, recording string
		different       int64
	}{
		{"as it was", recorded, 0},
		{"more were updated", strings.Replace(recorded, event(2, 2), event(2, 7), 1), 1},
		{"none were deleted, and one was", strings.NewReplacer(event(4, 2), event(4, 0), event(5, 0), event(5, 1)).Replace(recorded), 2},
		{"a table", strings.Replace(recorded, event(3, 2), event(3, 9), 1), 0},
	} {
		for _, mode := range []string{"prepared", "ad hoc"} {
			s, doubts := replayOn(t, honest(), "{name: replay, replay: app.jsonl, statement: "+mode+"}", nil, map[string]string{"app.jsonl": test.recording})
			if s.Operations != 5 || s.Failed != 0 || s.Different != test.different {
				t.Errorf("%s, %s: %s, want %d different", test.what, mode, counts(s), test.different)
			}
			want := ""
			if test.different > 0 {
				want = fmt.Sprintf("different: %d of 5 events did not end as recorded, with as many rows read or changed", test.different)
			}
			if got := strings.Join(doubts, "\n"); !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%s, %s: %q, want %q", test.what, mode, got, want)
			}
		}
	}
}

// TestReplayInserted replays two recordings of an INSERT. In one of them, the application got another ID
// for the row than the replay gets. This difference must be reported.
func TestReplayInserted(t *testing.T) {
	const text = recordingHeader +
		`{"sql":1,"text":"INSERT INTO t (v) VALUES (?)"}` + "\n" +
		`{"at":0,"took":1,"conn":1,"sql":1,"args":["a"],"affected":1}` + "\n" +
		`{"at":10,"took":1,"conn":1,"sql":1,"args":["b"],"affected":1}` + "\n" +
		`{"at":10,"conn":1,"id":2}` + "\n" +
		`{"at":20,"took":1,"conn":1,"sql":1,"args":["c"],"affected":1}` + "\n"
	for recording, different := range map[string]int64{text: 0, strings.Replace(text, `"id":2`, `"id":7`, 1): 1} {
		s, doubts := replayOn(t, honest(), "{name: replay, replay: app.jsonl}", nil, map[string]string{"app.jsonl": recording})
		if s.Operations != 3 || s.Different != different {
			t.Errorf("%s %q, want %d different", counts(s), doubts, different)
		}
	}
}

// TestReplayErrors replays statements that failed when they were recorded. An error must count as the recorded
// result only if its primary code is the same, or if the recording contains no code. If a statement failed
// because of a lock when it was recorded, and succeeds now, it must count as unlocked, not as different.
func TestReplayErrors(t *testing.T) {
	const text = recordingHeader +
		`{"sql":1,"text":"INSERT INTO t (id, v) VALUES (?, ?)"}` + "\n" +
		`{"at":0,"took":1,"conn":1,"sql":1,"args":[1,"a"],"affected":1}` + "\n" +
		`{"at":10,"took":1,"conn":1,"sql":1,"args":[%d,"b"],"error":{"code":%d}}` + "\n" +
		`{"at":20,"took":1,"conn":1,"sql":1,"args":[3,"c"],"error":{"code":%d}}` + "\n"
	const twice, other = 1, 2 // IDs for the second row: the ID of the first row, and another ID
	for _, test := range []struct {
		id, code, last int
		want, words    string
	}{
		{twice, 1555, 5, "operations 3 failed 0 skipped 0 different 0 rows 0 result SQLITE_CONSTRAINT_PRIMARYKEY 1 unlocked SQLITE_BUSY 1 [INSERT t 3]",
			"unlocked: 1 statement failed with SQLITE_BUSY when it was recorded, and succeeded now"},
		{twice, 19, 19, "operations 3 failed 0 skipped 0 different 1 rows 0 result SQLITE_CONSTRAINT_PRIMARYKEY 1 [INSERT t 3]",
			"different: 1 of 3 events did not end as recorded"},
		{twice, 0, 5, "operations 3 failed 0 skipped 0 different 0 rows 0 result SQLITE_CONSTRAINT_PRIMARYKEY 1 unlocked SQLITE_BUSY 1 [INSERT t 3]",
			"unlocked: 1 statement"},
		{twice, 5, 5, "operations 3 failed 1 skipped 0 different 1 rows 0 error SQLITE_CONSTRAINT_PRIMARYKEY 1 (constraint failed: UNIQUE constraint failed: t.id (1555)) unlocked SQLITE_BUSY 1 [INSERT t 3]",
			"different: 1 of 3 events did not end as recorded"},
		{other, 517, 6, "operations 3 failed 0 skipped 0 different 0 rows 0 unlocked SQLITE_LOCKED 1 unlocked SQLITE_BUSY_SNAPSHOT 1 [INSERT t 3]",
			"unlocked: 2 statements failed with SQLITE_LOCKED or SQLITE_BUSY_SNAPSHOT when they were recorded, and succeeded now"},
	} {
		recording := fmt.Sprintf(text, test.id, test.code, test.last)
		s, doubts := replayOn(t, honest(), "{name: replay, replay: app.jsonl, clients: 1}", nil, map[string]string{"app.jsonl": recording})
		if got := counts(s); got != test.want {
			t.Errorf("recorded %d and %d: %s\nwant %s", test.code, test.last, got, test.want)
		}
		if got := strings.Join(doubts, "\n"); !strings.HasPrefix(got, test.words) || s.Different == 0 && strings.Contains(got, "database") {
			t.Errorf("recorded %d and %d: %q, want %q", test.code, test.last, got, test.words)
		}
	}
}

// busyOnce is a driver whose first transaction fails as if another connection had the lock.
type busyOnce struct {
	driver.Driver
	refused *bool
}

type busyDB struct {
	driver.DB
	refused *bool
}

type busyConn struct {
	driver.Conn
	refused *bool
}

func (b *busyOnce) Open(ctx context.Context, path string, s driver.Settings) (driver.DB, error) {
	db, err := b.Driver.Open(ctx, path, s)
	return &busyDB{db, b.refused}, err
}

func (b *busyDB) Conn(ctx context.Context) (driver.Conn, error) {
	c, err := b.DB.Conn(ctx)
	return &busyConn{c, b.refused}, err
}

func (b *busyConn) Begin(ctx context.Context) (driver.Tx, error) {
	if !*b.refused {
		*b.refused = true
		return nil, &driver.Error{Code: driver.CodeBusy, Err: errors.New("database is locked")}
	}
	return b.Conn.Begin(ctx)
}

// TestReplayLocked checks that the rest of a transaction is skipped after one of its statements has
// failed because of a lock, and that skipped events are not counted as operations.
func TestReplayLocked(t *testing.T) {
	d := &busyOnce{Driver: honest(), refused: new(bool)}
	s, doubts := replayOn(t, d, "{name: replay, replay: app.jsonl, clients: 1}", nil, map[string]string{"app.jsonl": twoConnections})
	// Because of the skipped transaction, the SELECT finds no row. One INSERT succeeds, although it failed
	// as a duplicate when it was recorded.
	const want = "operations 6 failed 1 skipped 4 different 3 rows 0 error SQLITE_BUSY 1 [INSERT t 2] [BEGIN 2] [COMMIT 1] [SELECT t 1]"
	if got := counts(s); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := strings.Join(doubts, "\n"); !strings.Contains(got, "skipped: 4 of 10 events") || !strings.Contains(got, "different: 3 of 6 events") {
		t.Error(got)
	}
}

// TestReplayScript replays a SQL script, and the output of the SQLite shell's command .trace
// --profile --stmt.
func TestReplayScript(t *testing.T) {
	const script = `-- a script
INSERT INTO t (v) VALUES ('a;b'), (2);
BEGIN; UPDATE t SET v = 3 WHERE id = 1; SAVEPOINT s; DELETE FROM t WHERE id = 7; RELEASE s;
CREATE TRIGGER tr AFTER INSERT ON t BEGIN UPDATE t SET v = 1; SELECT 1; END;
COMMIT;
INSERT INTO t (v) VALUES (9) RETURNING id, v;
SELECT * FROM t`
	s, _ := replayOn(t, honest(), "{name: replay, replay: app.sql}", nil, map[string]string{"app.sql": script})
	const want = "operations 10 failed 0 skipped 0 different 0 rows 4 [INSERT t 2] [BEGIN 1] [COMMIT 1] [CREATE 1] [DELETE t 1] [RELEASE 1] [SAVEPOINT 1] [SELECT t 1] [UPDATE t 1]"
	if got := counts(s); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	const trace = "INSERT INTO t VALUES(1,'x');\nINSERT INTO t VALUES(1,'x'); -- 12345 ns\nSELECT v FROM t;\n-- TRIGGER tr;\nSELECT v FROM t; -- 99 ns\n-- closing database connection\n"
	s, _ = replayOn(t, honest(), "{name: replay, replay: app.sql}", nil, map[string]string{"app.sql": trace})
	const traced = "operations 2 failed 0 skipped 0 different 0 rows 1 [INSERT t 1] [SELECT t 1]"
	if got := counts(s); got != traced {
		t.Errorf("%s\nwant %s", got, traced)
	}
}

// TestReplayTypes replays a recording that has no values, only their types and lengths. The worker
// must make values of these types and lengths.
func TestReplayTypes(t *testing.T) {
	text := strings.Replace(recordingHeader, "values", "types", 1) +
		`{"sql":1,"text":"INSERT INTO t (v) VALUES (?)"}` + "\n" +
		`{"sql":2,"text":"SELECT v FROM t WHERE typeof(v) = 'text' AND length(v) IN (5, 35) OR typeof(v) = 'integer' AND v BETWEEN 0x8000 AND 0x7fffff OR v IN (0, 1) OR v IS NULL OR typeof(v) = 'blob' AND length(v) = 3 OR typeof(v) = 'real'"}` + "\n"
	args := []string{`{"text":5}`, `{"int":3}`, `{"bool":1}`, `null`, `{"blob":3}`, `{"real":8}`, `{"time":8}`}
	for i, a := range args {
		text += fmt.Sprintf(`{"at":%d,"took":1,"conn":1,"sql":1,"args":[%s],"affected":1}`+"\n", i, a)
	}
	text += fmt.Sprintf(`{"at":99,"took":1,"conn":1,"sql":2,"rows":%d}`+"\n", len(args))
	s, doubts := replayOn(t, honest(), "{name: replay, replay: app.jsonl}", nil, map[string]string{"app.jsonl": text})
	const want = "operations 8 failed 0 skipped 0 different 0 rows 7 [INSERT t 7] [SELECT t 1]"
	if got := counts(s); got != want || doubts != nil {
		t.Errorf("%s %q\nwant %s", got, doubts, want)
	}
}
