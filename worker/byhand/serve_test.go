package byhand_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// request returns a trial of a workload, on a database that does not exist.
func request(t *testing.T, workload string) *protocol.Request {
	t.Helper()
	data, err := os.ReadFile("../plan/testdata/" + workload + ".json")
	if err != nil {
		t.Fatal(err)
	}
	req := &protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Path: filepath.Join(t.TempDir(), "test.db")}
	if err := json.Unmarshal(data, req); err != nil {
		t.Fatal(err)
	}
	return req
}

// serve has a program serve a request. It returns the last answer's reason. open may close
// lab, and then the lab is gone.
func serve(t *testing.T, req *protocol.Request, open func(path string, lab io.Closer) (byhand.Database, error), abandon func()) *protocol.Reason {
	t.Helper()
	line, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	in, lab := io.Pipe()
	defer lab.Close()
	go func() { _, _ = lab.Write(append(line, '\n')) }()
	program := byhand.Program{Open: func(path string) (byhand.Database, error) { return open(path, lab) }}
	var out bytes.Buffer
	if err := byhand.Serve(program, in, &out, abandon); err != nil {
		t.Fatal(err)
	}
	var last protocol.Response
	for dec := json.NewDecoder(&out); dec.More(); {
		if err := dec.Decode(&last); err != nil {
			t.Fatal(err)
		}
	}
	if last.Type != protocol.TypeFailed {
		t.Fatalf("the last answer is %s", last.Type)
	}
	return last.Reason
}

// TestOnlyItsWork changes the plans in ways that a program written by hand ignores. It
// must refuse them.
func TestOnlyItsWork(t *testing.T) {
	for name, change := range map[string]func(*protocol.Request){
		"synchronous": func(r *protocol.Request) { r.Settings["synchronous"] = "off" },
		"ad hoc":      func(r *protocol.Request) { r.Plan.Phases[0].Insert.AdHoc = true },
		"one":         func(r *protocol.Request) { r.Plan.Phases[0].Insert.Transaction = "one" },
		"query":       func(r *protocol.Request) { r.Plan.Phases[1].Query.SQL += " LIMIT 1" },
		"repeat":      func(r *protocol.Request) { r.Plan.Phases[1].Query.Repeat = 2 },
		"cancellable": func(r *protocol.Request) { r.Plan.Phases[1].Context = "cancellable" },
		"loaded":      func(r *protocol.Request) { r.Loaded = 1 },
		"real":        func(r *protocol.Request) { *r = *request(t, "real") },
	} {
		req := request(t, "complex")
		change(req)
		reason := serve(t, req, func(string, io.Closer) (byhand.Database, error) {
			t.Errorf("%s: a database is opened", name)
			return nil, errors.New("not to be opened")
		}, func() {})
		if reason.Code != protocol.CodePlan {
			t.Errorf("%s: %+v", name, reason)
		}
	}
}

// TestLabGone has the lab go during a trial: the database must not stay.
func TestLabGone(t *testing.T) {
	req := request(t, "simple")
	gone := make(chan struct{})
	serve(t, req, func(path string, lab io.Closer) (byhand.Database, error) {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Error(err)
		}
		lab.Close()
		<-gone
		return nil, errors.New("the lab has gone")
	}, func() {
		if _, err := os.Stat(req.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the database is left: %v", err)
		}
		close(gone)
	})
}
