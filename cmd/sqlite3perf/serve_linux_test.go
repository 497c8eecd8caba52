package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// served is a running serve.
type served struct {
	*session
	url    string // ends in /
	stdout *bufio.Reader
}

// serve starts serve on a free port and waits until it listens.
func (p *place) serve(args ...string) *served {
	p.t.Helper()
	cmd := p.command(append([]string{"serve", "--port", "0"}, args...)...)
	r, w, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { r.Close() })
	cmd.Stdout = w
	s := &served{session: p.started(cmd), stdout: bufio.NewReader(r)}
	w.Close()
	line, err := s.stdout.ReadString('\n')
	if s.url = strings.TrimSpace(line); err != nil || !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		p.t.Fatalf("%q, %v", line, err)
	}
	return s
}

// get returns the body of an answer.
func (s *served) get(path string) string {
	s.t.Helper()
	a, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: status %d, %v: %s", path, a.StatusCode, err, body)
	}
	return string(body)
}

// TestServe serves a store that begins to exist while it is served, and ends by Ctrl-C.
func TestServe(t *testing.T) {
	p := newPlace(t)
	s := p.serve("--store", "results.db")
	s.until("no runs yet at results.db")
	if body := s.get(""); !strings.Contains(body, "<title>Runs · sqlite3perf</title>") {
		t.Error(body)
	}
	_, port, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/"), ":")
	if out, err := p.command("serve", "--port", port).CombinedOutput(); err == nil || !strings.Contains(string(out), "--port "+port+" is in use") {
		t.Errorf("the port of another serve: %v\n%s", err, out)
	}
	if out, err := p.command("run", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--rounds", "6", "--quiet", "--store", "results.db").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var list struct {
		Runs []struct {
			ID     int64
			State  string
			Trials int
		}
	}
	if body := s.get("api/v1/runs"); json.Unmarshal([]byte(body), &list) != nil || len(list.Runs) != 1 || list.Runs[0].State != "complete" || list.Runs[0].Trials != 12 {
		t.Error(body)
	}
	if body := s.get("api/v1/runs/1/cells?phase=mix"); !strings.Contains(body, "./better") {
		t.Error(body)
	}
	s.signal(os.Interrupt)
	s.until("stopping")
	if code := s.wait(); code != exitOK {
		t.Errorf("exit status %d", code)
	}
}
