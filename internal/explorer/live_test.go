package explorer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// TestProgress checks that the progress of a run is shown while another process writes the run
// into the store.
func TestProgress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.db")
	server := serving(t, Options{Store: path, Floor: "native"})
	if c := get[*Current](t, server, "/api/v1/current"); c.Job != nil || len(c.Runs) != 0 {
		t.Errorf("%+v", c)
	}
	st, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := aRun(1, 1)
	all := r.Trials
	r.Trials, r.Ended, r.Stopped, r.Precision = nil, time.Time{}, "", 0.5
	r.Schedule = &result.Schedule{Rounds: 10}
	r.Started = time.Now().Add(-time.Minute)
	if err := st.Begin(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for i := range all { // each trial takes 2 s
		all[i].Started = r.Started.Add(time.Duration(i) * 2 * time.Second)
		all[i].TookNS = 2e9
	}
	add := func(n int) *Progress {
		t.Helper()
		for len(r.Trials) < n {
			trial := &all[len(r.Trials)]
			r.Trials = append(r.Trials, *trial)
			if err := st.AddTrial(t.Context(), r.ID, trial); err != nil {
				t.Fatal(err)
			}
		}
		c := get[*Current](t, server, "/api/v1/current")
		if len(c.Runs) != 1 {
			t.Fatalf("%d trials: %+v", n, c)
		}
		return &c.Runs[0]
	}
	if p := add(0); p.Run != 1 || p.Rounds != 0 || p.Left != 0 || p.Of.Rounds != 10 || p.Here {
		t.Errorf("%+v", p)
	}
	if p := add(3); p.Rounds != 1 || p.Trials != 3 || p.Left != 54e9 || p.Elapsed != 6e9 || p.Settled != 0 || len(p.Figures) != 4 || p.Figures[0].Spread != nil {
		t.Errorf("%+v", p)
	}
	p := add(19)
	if p.Rounds != 6 || p.Trials != 19 || p.Left < 21e9 || p.Left > 23e9 || p.Settled != 4 {
		t.Errorf("%+v", p)
	}
	if f := p.Figures[0]; f.Driver != "mattn" || f.Base != "native" || f.Median < 1.9 || f.Spread == nil || *f.Spread > 0.1 || !f.Settled || f.Summary.N != 6 {
		t.Errorf("%+v", f)
	}
	r.Stopped, r.Ended = result.StoppedRounds, time.Now()
	if err := st.Finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if c := get[*Current](t, server, "/api/v1/current"); len(c.Runs) != 0 {
		t.Errorf("after the run has ended: %+v", c)
	}
}

// TestProgressIsLimited checks that progress lists at most maxBad failed cases.
func TestProgressIsLimited(t *testing.T) {
	r := aRun(1, 1)
	c, trial := r.Cases[2], r.Trials[0]
	trial.Status, trial.Samples, trial.Reason = result.Refused, nil, &protocol.Reason{Code: "settings", Message: "no"}
	r.Cases, r.Trials = nil, nil
	for i := range maxBad + 1 {
		c.ID, c.Parameters, trial.Case = i+1, map[string]int64{"n": int64(i)}, i+1
		r.Cases, r.Trials = append(r.Cases, c), append(r.Trials, trial)
	}
	if n := len(progress(stats.Analyze(r, ""), true).Bad); n != maxBad {
		t.Errorf("%d cases, want %d", n, maxBad)
	}
}

func TestAlive(t *testing.T) {
	start := time.Now()
	at := func(d time.Duration, took ...time.Duration) bool {
		r := &result.Run{Started: start}
		end := start
		for _, d := range took {
			r.Trials = append(r.Trials, result.Trial{Started: end, TookNS: int64(d)})
			end = end.Add(d)
		}
		return alive(r, end.Add(d))
	}
	for _, c := range []struct {
		is   bool
		want bool
	}{
		{at(59 * time.Minute), true}, {at(61 * time.Minute), false},
		{at(time.Minute, time.Second), true}, {at(3*time.Minute, time.Second), false},
		{at(4*time.Minute, time.Minute), true}, {at(6*time.Minute, time.Minute, time.Second), false},
		{at(61*time.Minute, 20*time.Minute), false},
	} {
		if c.is != c.want {
			t.Errorf("%v, want %v", c.is, c.want)
		}
	}
}

// TestAliveByLock checks a run whose process has ended, while another run is measured in the same
// directory. If the server can know that the process has ended, it must not show the run as in
// progress.
func TestAliveByLock(t *testing.T) {
	here := result.Machine{Hostname: "here", Directory: "/databases"}
	other := result.Machine{Hostname: "here", Directory: "/other"}
	now := time.Now()
	for name, c := range map[string]struct {
		runs  []*result.Run
		here  int64
		users map[string]int
		want  []int64
	}{
		"no process":           {[]*result.Run{{ID: 1, Machine: here, Started: now}}, 0, nil, nil},
		"a process":            {[]*result.Run{{ID: 1, Machine: here, Started: now.Add(-48 * time.Hour)}}, 0, map[string]int{"/databases": 1}, []int64{1}},
		"on another machine":   {[]*result.Run{{ID: 1, Machine: result.Machine{Hostname: "elsewhere"}, Started: now}}, 0, nil, []int64{1}},
		"on a host":            {[]*result.Run{{ID: 1, Machine: here, Host: &result.Host{Name: "pi"}, Started: now}}, 0, nil, []int64{1}},
		"one process of two":   {[]*result.Run{{ID: 2, Machine: here, Started: now}, {ID: 1, Machine: here, Started: now.Add(-time.Minute)}}, 0, map[string]int{"/databases": 1}, []int64{2}},
		"the older is resumed": {[]*result.Run{{ID: 2, Machine: here, Started: now.Add(-time.Minute)}, {ID: 1, Machine: here, Started: now.Add(-time.Hour), Trials: []result.Trial{{Started: now}}}}, 0, map[string]int{"/databases": 1}, []int64{1}},
		"two processes":        {[]*result.Run{{ID: 2, Machine: here, Started: now}, {ID: 1, Machine: here, Started: now}}, 0, map[string]int{"/databases": 2}, []int64{1, 2}},
		"that of this server":  {[]*result.Run{{ID: 2, Machine: here, Started: now}, {ID: 1, Machine: here, Started: now.Add(-time.Minute)}}, 1, map[string]int{"/databases": 1}, []int64{1}},
		"in two directories":   {[]*result.Run{{ID: 2, Machine: here, Started: now}, {ID: 1, Machine: other, Started: now}}, 0, map[string]int{"/databases": 1, "/other": 1}, []int64{1, 2}},
		"in another directory": {[]*result.Run{{ID: 2, Machine: here, Started: now}, {ID: 1, Machine: other, Started: now}}, 0, map[string]int{"/other": 1}, []int64{1}},
	} {
		s := New(Options{Users: func(m result.Machine) (int, bool) { return c.users[m.Directory], m.Hostname == "here" }})
		var got []int64
		for id, living := range s.living(c.runs, c.here, now) {
			if living {
				got = append(got, id)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %d are measured, want %d", name, got, c.want)
		}
	}
}

// launching serves a store. Instead of runs, its pages start a shell script, which prints the
// drivers that the page asked for. The script ends by itself or when it is interrupted.
func launching(t *testing.T) (*Server, *httptest.Server) {
	path := filepath.Join(t.TempDir(), "results.db")
	site := New(Options{Store: path, Floor: "native", Launcher: &Launcher{
		Drivers:   []Choice{{Name: "mattn", Versions: true, Usual: true}, {Name: "./good", Usual: true}},
		Workloads: []Choice{{Name: "simple", Usual: true}},
		Command: func(w *Wanted) *exec.Cmd {
			return exec.Command("sh", "-c", `trap 'echo stopping >&2; exit 130' INT; printf '\033[31m%s\377\n' "$0" >&2; if [ "$1" = full ]; then exit 4; fi; while :; do sleep 0.05; done`,
				strings.Join(w.Drivers, ","), w.Scale)
		},
	}})
	server := httptest.NewServer(site.Handler())
	t.Cleanup(func() {
		site.StopRun(t.Context())
		if err := site.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return site, server
}

// post sends a request to start or stop a run, with the token.
func post(t *testing.T, site *Server, server *httptest.Server, method, body string) (int, string) {
	status, _, text := request(t, server, method, "/api/v1/current", body, tokenHeader, site.token, "Origin", server.URL)
	return status, text
}

// until waits for the job to be in a state for which is(job) is true, and returns the job. The
// parameter "what" describes that state in the error message.
func until(t *testing.T, server *httptest.Server, what string, is func(*Job) bool) *Job {
	t.Helper()
	for range 1000 {
		if j := get[*Current](t, server, "/api/v1/current").Job; j != nil && is(j) {
			return j
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the job never %s: %+v", what, get[*Current](t, server, "/api/v1/current").Job)
	return nil
}

func TestJob(t *testing.T) {
	site, server := launching(t)
	for _, body := range []string{"null", "", "[]", "7", `"x"`, "{} {}", "{}null", "{", `{"nothing": 1}`} {
		if status, text := post(t, site, server, "POST", body); status != http.StatusBadRequest || site.Measuring() {
			t.Errorf("%s: status %d, measuring: %v: %s", body, status, site.Measuring(), text)
		}
	}
	if status, body := post(t, site, server, "DELETE", ""); status != http.StatusConflict {
		t.Errorf("nothing to stop: status %d: %s", status, body)
	}
	if status, body := post(t, site, server, "POST", `{"drivers": ["mattn@v1.14.22"], "scale": "quick"}`); status != http.StatusOK || !site.Measuring() {
		t.Fatalf("status %d: %s", status, body)
	}
	until(t, server, "says something", func(j *Job) bool {
		return j.State == jobPreparing && len(j.Messages) == 1 && j.Messages[0] == "\x1b[31mmattn@v1.14.22\uFFFD" && j.Wanted.Scale == "quick"
	})
	if status, body := post(t, site, server, "POST", `{}`); status != http.StatusConflict || !strings.Contains(body, "would disturb each other") {
		t.Errorf("a second run: status %d: %s", status, body)
	}
	if status, body := post(t, site, server, "DELETE", ""); status != http.StatusOK || !strings.Contains(body, jobStopping) && !strings.Contains(body, jobEnded) {
		t.Errorf("status %d: %s", status, body)
	}
	j := until(t, server, "ends", func(j *Job) bool { return j.State == jobEnded })
	if *j.Status != 130 || j.Run != 0 {
		t.Errorf("%+v", j)
	}
	// The second run ends by itself.
	if status, body := post(t, site, server, "POST", `{"scale": "full"}`); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	until(t, server, "ends with status 4", func(j *Job) bool { return j.State == jobEnded && *j.Status == 4 })
	// The server ends during the third run.
	if status, body := post(t, site, server, "POST", `{}`); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	until(t, server, "says something", func(j *Job) bool { return len(j.Messages) == 1 })
	site.StopRun(t.Context())
	if site.Measuring() {
		t.Error("the run outlives the server")
	}
}

// TestStopAtOnce checks that a process that ignores interrupts is killed.
func TestStopAtOnce(t *testing.T) {
	site, server := launching(t)
	site.grace = 10 * time.Millisecond
	site.options.Launcher.Command = func(*Wanted) *exec.Cmd {
		return exec.Command("sh", "-c", `trap '' INT; echo ready >&2; while :; do sleep 0.05; done`)
	}
	if status, body := post(t, site, server, "POST", `{}`); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	until(t, server, "says something", func(j *Job) bool { return len(j.Messages) == 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	site.StopRun(ctx)
	if j := until(t, server, "ends", func(j *Job) bool { return j.State == jobEnded }); *j.Status != -1 {
		t.Errorf("%+v", j)
	}
}

func TestWanted(t *testing.T) {
	site, server := launching(t)
	many := func(n int, format string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return strings.Join(list, ",")
	}
	for body, says := range map[string]string{
		`{"drivers": ["matn"]}`:                                `did you mean \"mattn\"`,
		`{"drivers": ["mattn=../evil"]}`:                       `known are`,
		`{"drivers": ["mattn:CGO_CFLAGS=-fplugin=x"]}`:         `known are mattn, ./good`,
		`{"drivers": ["./good@v1.0.0"]}`:                       `known are`,
		`{"drivers": ["mattn@v1,--output=x"]}`:                 `want a version`,
		`{"drivers": ["mattn@../../evil"]}`:                    `want a version`,
		`{"drivers": ["mattn@"]}`:                              `want a version`,
		`{"drivers": ["/bin/sh"]}`:                             `known are`,
		`{"workloads": ["../../etc/passwd"]}`:                  `known are simple`,
		`{"settings": {"synchronus": ["off"]}}`:                `did you mean \"synchronous\"`,
		`{"settings": {"synchronous": ["sometimes"]}}`:         `bad value`,
		`{"settings": {"synchronous": []}}`:                    `0 values`,
		`{"settings": {` + many(11, `"s%d": ["1"]`) + `}}`:     `at most 10`,
		`{"parameters": {"--output": [1]}}`:                    `want a name`,
		`{"parameters": {"n": [` + many(11, "%d") + `]}}`:      `11 values`,
		`{"parameters": {"n": [1.5]}}`:                         `the request is malformed`,
		`{"scale": "huge"}`:                                    `want quick, full`,
		`{"scale": "NaN"}`:                                     `want quick, full`,
		`{"scale": "-1"}`:                                      `want quick, full`,
		`{"rounds": 5}`:                                        `want 6 to 100000`,
		`{"rounds": 1e99}`:                                     `the request is malformed`,
		`{"time_seconds": 100000}`:                             `want 1 to 86400`,
		`{"output": "/tmp/x"}`:                                 `unknown field`,
		`[]`:                                                   `the request is malformed`,
		``:                                                     `the request is malformed`,
		`{"drivers": ["` + strings.Repeat("x", 70<<10) + `"]}`: `more than 65536 bytes`,
	} {
		status, text := post(t, site, server, "POST", body)
		if status < 400 || status >= 500 || !strings.Contains(text, says) {
			t.Errorf("%.80s: status %d, want %q: %s", body, status, says, text)
		}
	}
	if site.Measuring() {
		t.Error("a run was started")
	}
	if status, _, body := request(t, server, "POST", "/api/v1/current", "{}", "Origin", server.URL); status != http.StatusForbidden {
		t.Errorf("without the token: status %d: %s", status, body)
	}
	if status, _, body := request(t, server, "POST", "/api/v1/current", "{}", tokenHeader, site.token, "Origin", "http://evil.example"); status != http.StatusForbidden {
		t.Errorf("from elsewhere: status %d: %s", status, body)
	}
	if status, header, _ := request(t, server, "PUT", "/api/v1/current", "{}", tokenHeader, site.token); status != http.StatusMethodNotAllowed || header.Get("Allow") != "DELETE, GET, POST" {
		t.Errorf("PUT: status %d, %v", status, header)
	}
}

// TestChoices checks that only a client with the token learns that it can start runs. The answer
// must offer the versions that the launcher knows and the versions in the store.
func TestChoices(t *testing.T) {
	site, server := launching(t)
	st, err := store.Open(t.Context(), site.options.Store)
	if err != nil {
		t.Fatal(err)
	}
	r := aRun(1, 1)
	r.Cases[0].Driver, r.Cases[1].Driver = "mattn@v1.14.22", "./good@v1.2.3"
	if err := errors.Join(st.Begin(t.Context(), r), st.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		token string
		can   bool
		why   string
	}{{"", false, "the token is missing: open the address"}, {"guess", false, "of an earlier start of this one: open the address"}, {site.Token(), true, ""}} {
		_, _, body := request(t, server, "GET", "/api/v1/choices", "", tokenHeader, c.token)
		var got Choices
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		if got.CanStart != c.can || !strings.Contains(got.WhyNot, c.why) || c.can && got.WhyNot != "" {
			t.Errorf("token %q: %v, %q", c.token, got.CanStart, got.WhyNot)
		}
		if v := got.Drivers[0].Known; !slices.Equal(v, []string{"latest", "v1.14.22"}) || got.Drivers[1].Known != nil || !slices.Contains(got.Scales, "quick") {
			t.Errorf("versions %v and %v, scales %v", v, got.Drivers[1].Known, got.Scales)
		}
	}
	if c := get[*Choices](t, serveRuns(t), "/api/v1/choices"); c.CanStart || !strings.Contains(c.WhyNot, "loopback") {
		t.Errorf("%+v", c)
	}
}

// TestEvents checks that a stream of events reports changes, and that the number of streams is
// limited.
func TestEvents(t *testing.T) {
	site, server := launching(t)
	open := func() (status int, kind string, body io.Reader) {
		a, err := http.Get(server.URL + "/api/v1/current/events")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Body.Close() })
		return a.StatusCode, a.Header.Get("Content-Type"), a.Body
	}
	_, kind, body := open()
	if kind != "text/event-stream" {
		t.Fatal(kind)
	}
	lines := bufio.NewScanner(body)
	next := func() (c Current) {
		t.Helper()
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &c); err != nil {
					t.Fatal(err)
				}
				return c
			}
		}
		t.Fatal("the events end")
		return c
	}
	if c := next(); c.Job != nil {
		t.Errorf("%+v", c)
	}
	if status, body := post(t, site, server, "POST", `{"scale": "full"}`); status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	for next().Job.State != jobEnded {
	}
	for range maxStreams - 1 {
		open()
	}
	if status, _, _ := open(); status != http.StatusServiceUnavailable {
		t.Errorf("one stream more than maxStreams: status %d", status)
	}
	// A new stream replaces a stream that has been open for [keepStream], so that no client can
	// occupy all streams.
	site.streams.mu.Lock()
	for _, x := range site.streams.open {
		x.began = x.began.Add(-keepStream)
	}
	site.streams.mu.Unlock()
	if status, _, _ := open(); status != http.StatusOK {
		t.Errorf("a new stream, although the others are older than keepStream: status %d", status)
	}
	for lines.Scan() { // the stream that was replaced ends
	}
}
