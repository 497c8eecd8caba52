package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
)

// served is a running server of the command serve.
type served struct {
	*session
	url    string // address; ends in "/"
	token  string // token that is needed to start a run
	stdout *bufio.Reader
}

// serve starts the command serve on a free port and waits until it listens.
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
	var secret bool
	if s.url, s.token, secret = strings.Cut(strings.TrimSpace(line), "#token="); err != nil || !secret || !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		p.t.Fatalf("%q, %v", line, err)
	}
	return s
}

// get returns the body of the response to a GET request.
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

// TestServe serves a store that is created later, and ends the server with Ctrl-C.
func TestServe(t *testing.T) {
	t.Parallel()
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
	if code := s.wait(); code != cli.ExitOK {
		t.Errorf("exit status %d", code)
	}
}

// current is the response to /api/v1/current.
type current struct {
	Job struct {
		State    string
		Run      int64
		Status   int
		Messages []string
	}
	Runs []struct {
		Run, Trials int64
		Here        bool
	}
}

// ask sends a request that changes something, with the token that the page has.
func (s *served) ask(method, body string) (status int, c current) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+"api/v1/current", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("X-Sqlite3perf-Token", s.token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || json.Unmarshal(text, &c) != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return a.StatusCode, c
}

// events reads the stream of events about the current run until is(event) returns true, and returns
// that event. The parameter "what" describes the event in errors.
func (s *served) events(what string, is func(current) bool) (c current) {
	s.t.Helper()
	a, err := http.Get(s.url + "api/v1/current/events")
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		c = current{}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			s.t.Fatal(err)
		}
		if is(c) {
			return c
		}
		if c.Job.State == "ended" {
			break
		}
	}
	s.t.Fatalf("never %s: %+v, %v", what, c, lines.Err())
	return c
}

// TestServeToken checks that the server refuses requests that lack the required token or have a wrong
// token, and that nobody can get the token from the server. Only the address that the server printed
// contains the token.
func TestServeToken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve("--store", "results.db", "--drivers", "./good", "--workloads", "./tiny.yaml")
	s.until("everybody who has the complete address can start runs")
	token := s.token
	for _, path := range []string{"", "measure", "assets/api.js", "api/v1/choices", "api/v1/current"} {
		if body := s.get(path); token == "" || strings.Contains(body, token) {
			t.Errorf("%s has the token %q", path, token)
		}
	}
	for _, c := range []struct {
		token  string
		status int
	}{{"", http.StatusForbidden}, {"guess", http.StatusForbidden}, {token, http.StatusBadRequest}} {
		s.token = c.token
		if status, _ := s.ask("POST", `{"rounds": 1}`); status != c.status {
			t.Errorf("token %q: status %d, want %d", c.token, status, c.status)
		}
	}
}

// TestServeRuns starts runs with real workers through the server. They end in three ways: by
// themselves, by a request to stop, and by the end of the server.
func TestServeRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serve("--store", "results.db", "--drivers", "./good,./better", "--workloads", "./tiny.yaml", "--dir", "databases")
	if status, c := s.ask("POST", `{"rounds": 6, "settings": {"synchronous": ["off"]}}`); status != http.StatusOK {
		t.Fatalf("status %d: %+v", status, c)
	}
	c := s.events("ended", func(c current) bool { return c.Job.State == "ended" })
	if c.Job.Run != 1 || c.Job.Status != cli.ExitOK || len(c.Runs) != 0 {
		t.Errorf("%+v", c)
	}
	if run := p.head(s, 1); run.Stopped != "rounds" || run.Trials != 12 || fmt.Sprint(run.Asked.Settings) != "map[synchronous:[off]]" || run.Cases[0].Driver != "./good" {
		t.Errorf("%+v", run)
	}

	endless := `{"drivers": ["./good"], "rounds": 100000}`
	measuring := func(run int64) func(current) bool {
		return func(c current) bool {
			return c.Job.State == "measuring" && c.Job.Run == run && len(c.Runs) == 1 && c.Runs[0].Run == run && c.Runs[0].Here && c.Runs[0].Trials > 2
		}
	}
	if status, c := s.ask("POST", endless); status != http.StatusOK {
		t.Fatalf("status %d: %+v", status, c)
	}
	s.events("measures", measuring(2))
	if status, _ := s.ask("POST", endless); status != http.StatusConflict {
		t.Errorf("a second run at the same time: status %d", status)
	}
	if status, c := s.ask("DELETE", ""); status != http.StatusOK {
		t.Errorf("status %d: %+v", status, c)
	}
	c = s.events("ended", func(c current) bool { return c.Job.State == "ended" })
	if run := p.head(s, 2); c.Job.Status != cli.ExitInterrupted || run.Stopped != "interrupted" || run.Trials < 3 {
		t.Errorf("%+v: %+v", c, run)
	}

	if status, c := s.ask("POST", endless); status != http.StatusOK {
		t.Fatalf("status %d: %+v", status, c)
	}
	s.events("measures", measuring(3))
	s.signal(os.Interrupt)
	s.until("stopping when the current trials have ended")
	if code := s.wait(); code != cli.ExitOK {
		t.Errorf("exit status %d", code)
	}
	s = p.serve("--store", "results.db")
	if run := p.head(s, 3); run.Stopped != "interrupted" || run.Trials < 3 {
		t.Errorf("%+v", run)
	}
	p.alone()
}

// runHead is the response to /api/v1/runs/{id}.
type runHead struct {
	Stopped string
	Trials  int
	Asked   struct{ Settings map[string][]string }
	Cases   []struct{ Driver string }
}

func (p *place) head(s *served, id int64) (r runHead) {
	p.t.Helper()
	if body := s.get(fmt.Sprintf("api/v1/runs/%d", id)); json.Unmarshal([]byte(body), &r) != nil {
		p.t.Fatal(body)
	}
	return r
}

// TestServeKilled kills the server. The run that the server started must end after the current trial.
// Then the test kills another run. After that, it must be possible to start the next run.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	args := []string{"--store", "results.db", "--drivers", "./good", "--workloads", "./tiny.yaml", "--dir", "databases"}
	endless := `{"drivers": ["./good"], "rounds": 100000}`
	s := p.serve(args...)
	if status, c := s.ask("POST", endless); status != http.StatusOK {
		t.Fatalf("status %d: %+v", status, c)
	}
	s.events("measures", func(c current) bool { return len(c.Runs) == 1 && c.Runs[0].Trials > 1 })
	s.signal(os.Kill)
	s.wait()
	p.alone()

	s = p.serve(args...)
	run := p.head(s, 1)
	for end := time.Now().Add(patience); run.Stopped == "" && time.Now().Before(end); run = p.head(s, 1) {
		time.Sleep(20 * time.Millisecond) // the run's databases are removed before its end is stored
	}
	if run.Stopped != "interrupted" || run.Trials < 2 {
		t.Errorf("%+v", run)
	}
	other := p.start("run", "--drivers", "./good", "--workloads", "./tiny.yaml", "--rounds", "100000", "--store", "results.db", "--dir", "databases")
	other.until("round 1")
	if status, _ := s.ask("POST", endless); status != http.StatusConflict {
		t.Errorf("while another run is measured: status %d", status)
	}
	other.signal(os.Kill)
	other.wait()
	p.alone()
	if status, c := s.ask("POST", `{"rounds": 6}`); status != http.StatusOK {
		t.Errorf("after the other run was killed: status %d: %+v", status, c)
	}
	s.events("ended", func(c current) bool { return c.Job.State == "ended" && len(c.Runs) == 0 })
}
