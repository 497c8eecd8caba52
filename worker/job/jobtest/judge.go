package jobtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// judge runs a job of the kind "judge" on databases, with the worker. It checks that the worker's
// proof has the requested settings, and that the worker leaves no files next to the request's path.
func (b *base) judge(s driver.Settings, paths ...string) []protocol.JudgedState {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "test.db")
	answers := b.serve(path, s, &protocol.Job{Judge: &protocol.Judge{Paths: paths}})
	if len(answers) != 2 || answers[0].Proof == nil || answers[1].Result == nil || len(answers[1].Result.Judge) != len(paths) {
		b.t.Fatalf("%+v", answers)
	}
	if bad := driver.Differences(s, answers[0].Proof.Connections, b.driver.Info().Limit); bad != "" {
		b.t.Error(bad)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		b.t.Errorf("the worker left files behind: %v, %v", left, err)
	}
	return answers[1].Result.Judge
}

// copyTo copies the database and its journal or WAL to a new directory, and returns the path of the copy.
func (b *base) copyTo(dir string) string {
	b.t.Helper()
	copied := filepath.Join(dir, "test.db")
	if err := os.Mkdir(dir, 0o700); err != nil {
		b.t.Fatal(err)
	}
	for _, suffix := range []string{"", "-journal", "-wal"} {
		data, err := os.ReadFile(b.path + suffix)
		if errors.Is(err, os.ErrNotExist) && suffix != "" {
			continue
		}
		if err == nil {
			err = os.WriteFile(copied+suffix, data, 0o600)
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return copied
}

// The test "judged" runs the job "judge" on copies of the database's files, made after each
// transaction. A killed process would have left the same files. The job must find the number of the
// transaction, and the hash that the job "commit" has returned, and must have written to the
// copies.
func judged(t *testing.T, b *base) {
	path := b.path
	for _, mode := range []string{"delete", "wal"} {
		t.Run(mode, func(t *testing.T) {
			if why, limited := b.driver.Info().Limit("journal_mode", mode); limited {
				t.Skip(why)
			}
			b := &base{t, b.driver, path + mode, nil}
			s := driver.Settings{"journal_mode": mode, "synchronous": "full", "pool_size": "1"}
			var copies []string
			job := protocol.Job{Commit: &protocol.Commit{Plan: transfers(), Transactions: 12, Attempts: 1, Digests: true}}
			r, err := b.do(t.Context(), s, job, func(p protocol.Progress) {
				copies = append(copies, b.copyTo(fmt.Sprintf("%s-%d", b.path, p.Rows)))
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range b.judge(s, copies...) {
				want := protocol.JudgedState{Others: -1, Transaction: int64(i), Digest: r.Commit.Digests[i]}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("after transaction %d: %+v, want %+v", i, got, want)
				}
			}
			b.path = copies[3]
			b.want("SELECT CAST(a AS TEXT) FROM sqlite3perf_commits_judged", "1")
			b.want(number, "3")
			// A second job "judge" can't create its table, because the table exists already.
			if got := b.judge(s, b.path)[0]; got.Unwritable == "" || got.Error != "" || got.Transaction != 3 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The test "damaged" checks that the job "judge" finds each kind of damage, and then examines the
// next database.
func damaged(t *testing.T, b *base) {
	s := driver.Settings{"journal_mode": "delete", "pool_size": "1"}
	b.must(s, protocol.Job{Commit: &protocol.Commit{Plan: transfers(), Transactions: 5, Attempts: 1}})
	b.script("CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES accounts(id))")
	intact, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	const pageSize = 4096
	if len(intact) < 4*pageSize {
		t.Fatalf("the database has %d bytes", len(intact))
	}
	var paths []string
	add := func(damage func(data []byte)) {
		data := slices.Clone(intact)
		damage(data)
		paths = append(paths, fmt.Sprintf("%s-%d", b.path, len(paths)))
		if err := os.WriteFile(paths[len(paths)-1], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add(func(data []byte) { copy(data[pageSize:], bytes.Repeat([]byte{0xff}, len(data)-pageSize)) })
	add(func(data []byte) { data[39] = 9 }) // byte 39 is a part of the number of free pages in the header
	add(func(data []byte) { copy(data, "this is not a database") })
	add(func([]byte) {})
	path := b.path
	b.path = paths[3]
	b.script("PRAGMA foreign_keys=off; INSERT INTO child VALUES (1, 77), (2, 78), (3, 1)")
	b.path = path
	got := b.judge(s, append(paths, path)...)
	if j := got[0]; j.Error == "" && len(j.Integrity) == 0 {
		t.Errorf("damaged pages: %+v", j)
	}
	if j := got[1]; j.Error != "" || !strings.Contains(strings.ToLower(strings.Join(j.Integrity, " ")), "free") {
		t.Errorf("a wrong number of free pages: %+v", j)
	}
	if j := got[2]; j.Error == "" || j.Code&0xff != 26 || j.Transaction != -1 { // SQLITE_NOTADB
		t.Errorf("a file that is not a database: %+v", j)
	}
	if j := got[3]; j.Error != "" || len(j.Integrity) > 0 || j.ForeignKeys != 2 || j.Transaction != 5 {
		t.Errorf("foreign keys: %+v", j)
	}
	if j := got[4]; j.Error != "" || len(j.Integrity) > 0 || j.ForeignKeys != 0 || j.Transaction != 5 || j.Unwritable != "" {
		t.Errorf("intact: %+v", j)
	}
}

// The test "absent" checks that the job "judge" finds no transaction if the database does not exist
// or is empty, or if the setup of the database has not ended.
func absent(t *testing.T, b *base) {
	b.script("CREATE TABLE " + protocol.CommitsTable + "(number INTEGER NOT NULL)")
	empty := b.path + "-empty"
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := b.judge(nil, b.path+"-absent", empty, b.path, filepath.Join(b.path+"-none", "test.db"))
	for i, j := range got[:3] {
		if j.Transaction != -1 || j.Error != "" || j.Unwritable != "" || j.Digest == "" {
			t.Errorf("database %d: %+v", i, j)
		}
	}
	if j := got[3]; j.Transaction != -1 || j.Error == "" {
		t.Errorf("a database in a directory that does not exist: %+v", j)
	}
}

// hotJournal checks that the job "judge" rolls back a transaction that was under way when the process
// ended. SQLite's cache is so small that some changed pages of the transaction are in the database.
func hotJournal(t *testing.T, b *base) {
	s := driver.Settings{"journal_mode": "delete", "pool_size": "1"}
	p := transfers()
	set := p.DataSet("entries")
	set.Count, set.Total = 300, 300
	p.Phases[2].Insert.Transaction = "one"
	c := b.must(s, protocol.Job{Commit: &protocol.Commit{Plan: p, Transactions: 1, Attempts: 1, Digests: true}}).Commit
	before, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	db := b.open(s)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Script(t.Context(), "PRAGMA cache_size=3; BEGIN; UPDATE entries SET amount = 0, photo = memo; UPDATE "+protocol.CommitsTable+" SET number = 2; INSERT INTO entries(amount, photo) SELECT amount, zeroblob(5000) FROM entries")
	if err != nil {
		t.Fatal(err)
	}
	copied := b.copyTo(b.path + "-hot")
	if err := errors.Join(conn.Script(t.Context(), "ROLLBACK"), conn.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadFile(copied)
	if err != nil || bytes.Equal(left, before) {
		t.Fatalf("the transaction has not changed the database yet, so this test proves nothing (%v)", err)
	}
	if info, err := os.Stat(copied + "-journal"); err != nil || info.Size() == 0 {
		t.Fatalf("no journal: %v", err)
	}
	want := protocol.JudgedState{Others: -1, Transaction: 1, Digest: c.Digests[1]}
	if got := b.judge(s, copied)[0]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
