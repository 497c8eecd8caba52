package rqlite_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite"
	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// running starts a cluster of n nodes, as a user would, without opening a database.
func running(t *testing.T, n int, flags ...string) *nodes.Cluster {
	t.Helper()
	c, err := nodes.Start(t.Context(), nodes.Config{Nodes: n, Dir: t.TempDir(), Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// ask sends a statement to the first node, without the driver, and returns the node's answer.
func ask(t *testing.T, c *nodes.Cluster, path, sql string) string {
	t.Helper()
	body, err := json.Marshal([]string{sql})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post("http://"+c.Nodes[0].HTTP+path, "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s (%v)", sql, resp.Status, data, err)
	}
	return string(data)
}

// TestRunningCluster checks that the driver uses a running cluster, and that afterward the cluster
// has only the tables that other programs have created in the meantime.
func TestRunningCluster(t *testing.T) {
	c := running(t, 3)
	t.Setenv("RQLITE_ADDRESSES", " "+c.Nodes[2].HTTP+", http://"+c.Nodes[0].HTTP+"/")
	t.Setenv(nodes.Env, "/nonexistent") // a running cluster needs no rqlited
	path := filepath.Join(t.TempDir(), "test.db")
	db := open(t, path, driver.Settings{"pool_size": "2"}, table+`; CREATE TABLE "a ""b" (n REFERENCES t (id)); CREATE VIEW v AS SELECT * FROM t; INSERT INTO t VALUES (1, 1)`)
	shown, err := db.(driver.Shower).Shown(t.Context())
	if err != nil || shown["nodes"] != "3" {
		t.Errorf("shown %v (%v), want 3 nodes", shown, err)
	}
	ask(t, c, "/db/execute", "CREATE TABLE others (a)")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c, "/db/query?level=strong", "SELECT group_concat(name) FROM sqlite_schema"); !strings.Contains(got, `[["others"]]`) {
		t.Errorf("left in the cluster: %s", got)
	}
	onlyDatabase(t, path)

	_, err = rqlite.New().Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	wantLine(t, "a cluster with a table", err, "is not empty: it has 1 tables, indexes or views")
	if got := ask(t, c, "/db/query", "SELECT count(*) FROM others"); !strings.Contains(got, `[[0]]`) {
		t.Errorf("after the refusal: %s", got)
	}

	// A file that the driver has saved is loaded into an empty cluster, and its tables are dropped
	// again at the end.
	ask(t, c, "/db/execute", "DROP TABLE others")
	db = open(t, path, nil, "INSERT INTO t VALUES (2, 2)")
	wantRows(t, db, 2)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, c, "/db/query?level=strong", "SELECT count(*) FROM sqlite_schema"); !strings.Contains(got, `[[0]]`) {
		t.Errorf("left in the cluster: %s", got)
	}
}

// wantLine expects an error whose message is one line. The line must contain the text in the
// parameter "want", and no password.
func wantLine(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%s: got %v, want one line with %q and no password", what, err, want)
	}
}

func TestRunningClusterFails(t *testing.T) {
	auth := filepath.Join(t.TempDir(), "auth.json")
	users := `[{"username": "*", "perms": ["status", "ready"]}, {"username": "bob", "password": "secret1", "perms": ["all"]}]`
	if err := os.WriteFile(auth, []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	guarded := running(t, 1, "-auth", auth).Nodes[0].HTTP
	three := running(t, 3)
	for _, n := range three.Nodes[:2] {
		if err := n.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, addresses, want string }{
		{"nobody there", "127.0.0.1:1", "RQLITE_ADDRESSES: no node can be used: 127.0.0.1:1: nothing listens there: start rqlited, or correct RQLITE_ADDRESSES"},
		{"a wrong password", "http://bob:secret2@" + guarded, guarded + ": it refuses the user and the password (401)"},
		{"no user", guarded, guarded + ": it refuses the user and the password (401)"},
		{"no quorum", three.Nodes[2].HTTP, "more than half of its nodes must run: start the others"},
		{"no address", "ftp://secret@x", "not an address: want such as http://user:password@10.0.0.1:4001"},
		{"no colon", "http//bob:secret@" + guarded, "not an address: want such as http://user:password@10.0.0.1:4001"},
		{"nothing", " , ", "RQLITE_ADDRESSES: no address"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("RQLITE_ADDRESSES", c.addresses)
			path := filepath.Join(t.TempDir(), "test.db")
			db, err := rqlite.New().Open(t.Context(), path, nil)
			if err == nil {
				_ = db.Close() // if there is no error, wantLine reports that below
			}
			if c.name == "no quorum" && err != nil && strings.Contains(err.Error(), "it knows no leader: more than half of the nodes must run: start the others") {
				return // the remaining node already knows that there is no leader
			}
			wantLine(t, c.name, err, c.want)
			if left, rerr := os.ReadDir(filepath.Dir(path)); rerr != nil || len(left) > 0 {
				t.Errorf("%v is left (%v)", left, rerr)
			}
		})
	}
	u := url.URL{Scheme: "http", Host: guarded, User: url.UserPassword("bob", "secret1")}
	t.Setenv("RQLITE_ADDRESSES", u.String())
	db := open(t, filepath.Join(t.TempDir(), "test.db"), nil, table)
	wantRows(t, db, 0)
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestRunningClusterIsNone checks that the error is one line if the program at an address never
// answers, or is not rqlited.
func TestRunningClusterIsNone(t *testing.T) {
	rqlite.Impatient(t, 100*time.Millisecond)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections, but never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for address, want := range map[string]string{
		silent.Addr().String():         silent.Addr().String() + ": it has not answered within 100ms: see whether rqlited runs there, or correct RQLITE_ADDRESSES",
		other.Listener.Addr().String(): other.Listener.Addr().String() + ": ",
	} {
		t.Setenv("RQLITE_ADDRESSES", address)
		db, err := rqlite.New().Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
		if err == nil {
			_ = db.Close() // if there is no error, that is reported below
		}
		wantLine(t, address, err, "RQLITE_ADDRESSES: no node can be used: "+want)
	}
}

// TestQuorumLost checks that the error is one line if a cluster loses its quorum while it is used.
func TestQuorumLost(t *testing.T) {
	c := running(t, 3)
	t.Setenv("RQLITE_ADDRESSES", c.Nodes[0].HTTP+","+c.Nodes[1].HTTP+","+c.Nodes[2].HTTP)
	db := open(t, filepath.Join(t.TempDir(), "test.db"), nil, table)
	for _, n := range c.Nodes[1:] {
		if err := n.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	wantLine(t, "a write", db.Script(t.Context(), "INSERT INTO t VALUES (1, 1)"), "")
	wantLine(t, "closing", db.Close(), "saving the database of the cluster: ")
}

const names = "SELECT group_concat(name) FROM sqlite_schema"

// wantNothing expects that a cluster has no tables, indexes or views.
func wantNothing(t *testing.T, what string, c *nodes.Cluster) {
	t.Helper()
	if got := ask(t, c, "/db/query?level=strong", names); !strings.Contains(got, `[[null]]`) {
		t.Errorf("%s: left in the cluster: %s", what, got)
	}
}

// TestRunningClusterRefused checks that a trial leaves nothing in a running cluster if the trial's
// settings cannot take effect there, or if the trial fails.
func TestRunningClusterRefused(t *testing.T) {
	c := running(t, 1)
	t.Setenv("RQLITE_ADDRESSES", c.Nodes[0].HTTP)
	simple := builtin(t, "simple")
	bad := builtin(t, "simple")
	bad.Schema += "; CREATE TABLE again (a); CREATE INDEX by_a ON nowhere (a)"
	for _, r := range []struct {
		name     string
		plan     *plan.Plan
		settings driver.Settings
		code     string
		want     string
	}{
		{"refused", simple, driver.Settings{"nodes": "3", "foreign_keys": "on"}, protocol.CodeSetting, "nodes: wanted 3, got 1: the cluster that RQLITE_ADDRESSES names has that many: leave nodes out; foreign_keys: wanted on, got off: start each rqlited with -fk, or set foreign_keys=off"},
		{"another setting", simple, driver.Settings{"synchronous": "full"}, protocol.CodeSetting, "synchronous: wanted full, got off (a node does not wait"},
		{"failed", bad, nil, protocol.CodeSQLite, "nowhere"},
	} {
		answers := request(t, protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 3, Path: filepath.Join(t.TempDir(), "test.db"), Settings: r.settings, Plan: r.plan})
		last := answers[len(answers)-1]
		if last.Type != protocol.TypeFailed || last.Reason.Code != r.code || !strings.Contains(last.Reason.Message, r.want) {
			t.Errorf("%s: %s, %+v, want %s with %q", r.name, last.Type, last.Reason, r.code, r.want)
		}
		for _, a := range answers {
			if r.code == protocol.CodeSetting && a.Type == protocol.TypeSettings {
				t.Errorf("%s: the schema was made", r.name)
			}
		}
		wantNothing(t, r.name, c)
	}
}

// TestLeave checks that Leave drops all tables that the process has created, and that the process
// cannot create tables after that. A worker calls Leave before it exits without closing its
// databases.
func TestLeave(t *testing.T) {
	c := running(t, 1)
	t.Setenv("RQLITE_ADDRESSES", c.Nodes[0].HTTP)
	d := rqlite.New()
	db := open(t, filepath.Join(t.TempDir(), "test.db"), nil, table)
	if err := d.(driver.Leaver).Leave(); err != nil {
		t.Fatal(err)
	}
	wantNothing(t, "after leaving", c)
	wantLine(t, "creating", db.Script(t.Context(), "CREATE TABLE late (a)"), "the trial has been given up")
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	wantNothing(t, "after closing", c)
}

// TestNotDropped checks that the error names the tables that cannot be dropped and the command to
// type, and that all other tables are dropped.
func TestNotDropped(t *testing.T) {
	c := running(t, 1, "-fk")
	t.Setenv("RQLITE_ADDRESSES", c.Nodes[0].HTTP)
	db := open(t, filepath.Join(t.TempDir(), "test.db"), nil, "CREATE TABLE first (a); "+table+"; CREATE TABLE last (a); INSERT INTO t VALUES (1, 1)")
	ask(t, c, "/db/execute", "CREATE TABLE others (n REFERENCES t (id))")
	ask(t, c, "/db/execute", "INSERT INTO others VALUES (1)")
	err := db.Close()
	wantLine(t, "closing", err, "FOREIGN KEY constraint failed: when the cluster of "+c.Nodes[0].HTTP+" runs, type in rqlite's shell: DROP TABLE IF EXISTS t")
	if _, ok := errors.AsType[*driver.LeftError](err); !ok {
		t.Errorf("%T, want a LeftError", err)
	}
	if got := ask(t, c, "/db/query?level=strong", names); !strings.Contains(got, `[["t,others"]]`) {
		t.Errorf("left in the cluster: %s", got)
	}
	_, err = rqlite.New().Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), nil)
	wantLine(t, "the next trial", err, "only if they are what a killed trial has left, type in rqlite's shell: DROP TABLE IF EXISTS others; DROP TABLE IF EXISTS t")
}
