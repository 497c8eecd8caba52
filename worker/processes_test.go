package worker_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// sharing returns a driver and a request for one of two processes that share a mix of 3 clients.
// The parameter "process" is the number of this process, 0 or 1.
func sharing(t *testing.T, process int) (*fake, protocol.Request) {
	t.Helper()
	f := newFake()
	f.answer = one
	req := trialOf(t, blog(1, mixOf(plan.Mix{Clients: 3, Count: 90})), driver.Settings{"pool_size": "2", "processes": "2"})
	if req.Process = process; process > 0 {
		req.Plan.Schema = ""
	}
	return f, req
}

// share runs a process with its share of the mix, and returns its sample.
func share(t *testing.T, f *fake, req protocol.Request) *protocol.Sample {
	t.Helper()
	x := converse(t, f, req)
	proof := x.hear(protocol.TypeReady).Proof
	if got := proof.Connections[0]["processes"]; got != "2" {
		t.Errorf("the proof has processes=%q, want 2", got)
	}
	x.hear(protocol.TypeSettings)
	x.hear(protocol.TypePhase)
	x.hear(protocol.TypePrepared)
	x.order(protocol.TypeBegin)
	x.hear(protocol.TypeShared)
	if f.checks > 0 {
		t.Error("the database was checked while other processes may still write")
	}
	x.order(protocol.TypeStop)
	x.hear(protocol.TypeSettings)
	s := x.hear(protocol.TypeSample).Sample
	x.hear(protocol.TypeDone)
	if err := <-x.ended; err != nil {
		t.Error(err)
	}
	return s
}

// TestSharesOfMix checks that the processes together do the same operations as a single process
// would.
func TestSharesOfMix(t *testing.T) {
	f, req := sharing(t, 0)
	first := share(t, f, req)
	if f.checks != 1 {
		t.Errorf("the first process checked the database %d times, want once", f.checks)
	}
	f, req = sharing(t, 1)
	if err := os.WriteFile(req.Path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	second := share(t, f, req)
	if f.checks != 0 {
		t.Error("the second process checked the database")
	}
	if first.Operations != 30 || second.Operations != 60 || first.Checksum == "" || second.Checksum != "" {
		t.Errorf("%d and %d operations, want 30 and 60; checksums %q and %q, want one from the first process only", first.Operations, second.Operations, first.Checksum, second.Checksum)
	}
	f, req = sharing(t, 0)
	delete(req.Settings, "processes")
	alone := mixSample(t, serve(t, f, req))
	for i, l := range alone.Latency {
		if got := first.Latency[i].Count + second.Latency[i].Count; got != l.Count {
			t.Errorf("two processes ran %d operations %s, want %d, as one process runs", got, l.Operation, l.Count)
		}
	}
}

// TestShareOfNothing checks that the second process of a trial fails if the first process has
// created no database. If there is a database, the second process must not remove it, even if the
// lab (the program that started the process) has exited.
func TestShareOfNothing(t *testing.T) {
	f, req := sharing(t, 1)
	x := converse(t, f, req)
	if r := x.hear(protocol.TypeFailed).Reason; r.Code != protocol.CodePath || !strings.Contains(r.Message, "a further process of a trial opens the database that the first has made") {
		t.Errorf("failed with %+v", r)
	}
	if err := os.WriteFile(req.Path, []byte("the first one's"), 0o644); err != nil {
		t.Fatal(err)
	}
	x = converse(t, f, req)
	for _, typ := range []string{protocol.TypeReady, protocol.TypeSettings, protocol.TypePhase, protocol.TypePrepared} {
		x.hear(typ)
	}
	x.in.Close()
	if err := <-x.ended; err == nil {
		t.Error("Serve returned no error although its input ended")
	}
	if _, err := os.Stat(req.Path); err != nil {
		t.Errorf("the second process removed the database of the first process: %v", err)
	}
}

// TestShare checks that the clients are divided evenly, and that each client belongs to one
// process.
func TestShare(t *testing.T) {
	m := plan.Mix{Clients: 7}
	var got [][2]int
	for p := range 3 {
		first, end := m.Share(p, 3)
		got = append(got, [2]int{first, end})
	}
	if diff := cmp.Diff([][2]int{{0, 2}, {2, 4}, {4, 7}}, got); diff != "" {
		t.Error(diff)
	}
	if n := m.MostShared(3); n != 3 {
		t.Errorf("the process with the most clients has %d, want 3", n)
	}
}
