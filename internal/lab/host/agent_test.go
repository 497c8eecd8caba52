package host

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// talk starts an agent. The function "ask" sends the agent a request and returns the reply. The function
// "end" closes the agent's input.
func talk(t *testing.T) (ask func(request) reply, end func() error) {
	t.Helper()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME"} {
		t.Setenv(name, t.TempDir())
	}
	in, write := io.Pipe()
	read, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- (&Agent{Version: "v1", DirectoryPrefix: "run-"}).Serve(context.Background(), in, out)
		out.Close()
	}()
	lines := bufio.NewReader(read)
	var h hello
	if line, err := lines.ReadBytes('\n'); err != nil || json.Unmarshal(line, &h) != nil || h.Agent != protocolVersion || h.Version != "v1" || len(h.SHA256) != 64 {
		t.Fatalf("the agent's first line is %s: %v", line, err)
	}
	ask = func(r request) (answer reply) {
		t.Helper()
		if err := json.NewEncoder(write).Encode(r); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &answer)
		}
		if err != nil || answer.ID != r.ID {
			t.Fatalf("%s: the agent answers %s: %v", r.Method, line, err)
		}
		return answer
	}
	return ask, func() error {
		write.Close()
		return <-ended
	}
}

// TestAgent checks that an agent refuses requests that it cannot fulfill, and continues. When
// its input ends, it removes its directory.
func TestAgent(t *testing.T) {
	ask, end := talk(t)
	dir := t.TempDir()
	params := func(v any) json.RawMessage {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for i, x := range []struct {
		method string
		params any
		want   string // part of the error
	}{
		{methodNoise, beforeRun, "nothing has been opened"},
		{methodSteal, nil, "nothing has been opened"},
		{methodPrepare, []wireCase{}, "nothing has been opened"},
		{methodSend, sending{}, "nothing has been opened"},
		{methodTrials, trials{}, "nothing has been opened"},
		{methodNeeds, []preparation{}, "nothing has been opened"},
		{methodOpen, 7, "cannot unmarshal"},
		{methodOpen, Place{Dir: filepath.Join(dir, "none")}, "it has no directory"},
		{methodOpen, Place{Dir: dir, Limit: time.Minute}, ""},
		{"whatever", nil, "unknown method"},
		{methodTrials, trials{Cases: []int{1}}, "no case 1"},
		{methodNeeds, []preparation{{ID: 1}}, "no case 1"},
		{methodNoise, beforeRound, ""},
		{methodNoise, "whenever", "unknown moment"},
		{methodSend, sending{SHA256: "../../x"}, "bad SHA-256"},
	} {
		got := ask(request{i + 1, x.method, params(x.params)})
		if x.want == "" && got.Error != "" || !strings.Contains(got.Error, x.want) {
			t.Errorf("%s %v: error %q, want %q", x.method, x.params, got.Error, x.want)
		}
	}
	// No other process uses the agent's directory.
	for place, want := range map[string]string{dir: "false", filepath.Join(dir, "none"): "false"} {
		if got := ask(request{100, methodInUse, params(place)}); string(got.Result) != want {
			t.Errorf("in use: %s, want %s; error %q", got.Result, want, got.Error)
		}
	}
	if made, err := filepath.Glob(filepath.Join(dir, "run-*")); err != nil || len(made) == 0 {
		t.Errorf("made: %v, %v", made, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestReceive checks that a worker sent in parts arrives complete, and that a damaged worker is
// refused.
func TestReceive(t *testing.T) {
	ask, end := talk(t)
	text := strings.Repeat("worker ", 1000)
	file := filepath.Join(t.TempDir(), "worker")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := build.SHA256Of(file)
	if err != nil {
		t.Fatal(err)
	}
	id := 0
	send := func(method string, v any) reply {
		id++
		params, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return ask(request{id, method, params})
	}
	send(methodOpen, Place{Limit: time.Minute})
	send(methodSend, sending{SHA256: sum, Data: []byte(text[:100])})
	if r := send(methodSend, sending{SHA256: sum, Data: []byte("other"), Last: true}); !strings.Contains(r.Error, "damaged") {
		t.Errorf("damaged: %+v", r)
	}
	send(methodSend, sending{SHA256: sum, Data: []byte(text[:100])})
	var there sent
	if r := send(methodSend, sending{SHA256: sum, Data: []byte(text[100:]), Last: true}); json.Unmarshal(r.Result, &there) != nil || there.Path == "" {
		t.Fatalf("complete: %+v", r)
	}
	if got, err := build.SHA256Of(there.Path); err != nil || got != sum {
		t.Errorf("%s has the sum %s: %v", there.Path, got, err)
	}
	if r := send(methodSend, sending{SHA256: sum}); !strings.Contains(string(r.Result), there.Path) {
		t.Errorf("the worker is already there, but the answer is %s", r.Result)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(there.Path), "receiving-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// TestPrune checks that only the executables of other versions that have not been used for a long time are
// removed.
func TestPrune(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "sqlite3perf", "hosts")
	now := time.Now()
	for name, age := range map[string]time.Duration{"own": 2 * unusedTime, "old": 2 * unusedTime, "recent": unusedTime / 2} {
		file := filepath.Join(hosts, name, "sqlite3perf")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	prune(filepath.Join(hosts, "own", "sqlite3perf"), now)
	left, err := filepath.Glob(filepath.Join(hosts, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "own" || filepath.Base(left[1]) != "recent" {
		t.Errorf("left: %v, %v", left, err)
	}
	if fi, err := os.Stat(filepath.Join(hosts, "own", "sqlite3perf")); err != nil || fi.ModTime().Before(now.Add(-time.Minute)) {
		t.Errorf("the executable of this version is not marked as used: %v", err)
	}
}

// TestExplain checks that errors of the SSH client become one line with advice.
func TestExplain(t *testing.T) {
	for said, want := range map[string]string{
		"ssh: connect to host pi port 22: Connection timed out": "it cannot be reached: ",
		"ssh: connect to host pi port 22: No route to host":     "it cannot be reached: ",
		"client_loop: send disconnect: Broken pipe":             "the connection ended: client_loop: send disconnect: Broken pipe",
		"Connection to pi closed by remote host.":               "the connection ended: Connection to pi closed by remote host.",
		"": "the connection ended",
		"ssh: Could not resolve hostname jump: Name or service not known\r\nConnection closed by UNKNOWN port 65535":                                                                          "there is no such machine: ssh: Could not resolve hostname jump: Name or service not known: ",
		"kex_exchange_identification: Connection closed by remote host\r\nConnection closed by 1.2.3.4 port 80":                                                                               "no SSH server answers there, or it does not let you in: Connection closed by 1.2.3.4 port 80: ",
		"no such identity: /none: No such file or directory\nroot@pi: Permission denied (publickey).":                                                                                         "there is no such key here: no such identity: /none: ",
		"Permissions 0644 for '/k' are too open.\nLoad key \"/k\": bad permissions\nroot@pi: Permission denied (publickey).":                                                                  "your key is not used, because others may read its file: Load key \"/k\": bad permissions: ",
		"@@@\nWARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\nOffending ED25519 key in /k/known:7\n  remove with:\n  ssh-keygen -f '/k/known' -R '[::1]:29'\nHost key verification failed.": "its key is not the one that is known here, so it may be another machine: find out why before you remove the old key with: ssh-keygen -f '/k/known' -R '[::1]:29'",
		"@@@\nWARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\r\nOffending ED25519 key in /k/known:7\r\nHost key verification failed.":                                                       "its key is not the one that is known here, so it may be another machine: find out why before you remove the old key, which is line 7 of /k/known",
		"Can't open user config file /none: No such file or directory":                                                                                                                        "Can't open user config file /none: No such file or directory: name a file that exists after -F",
		"/c: line 1: Bad configuration option: nosuch\r\n/c: terminating, 1 bad configuration options":                                                                                        "the client does not accept its configuration: /c: line 1: Bad configuration option: nosuch: correct ~/.ssh/config",
		"@@@\nWARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\nHost key verification failed.":                                                                                                "its key is not the one that is known here",
	} {
		if got := explain("pi", []string{"ssh"}, said); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%q becomes %q, want %q", said, got, want)
		}
	}
}

// TestConnectionLost checks that there are different messages for a connection that was lost and for a
// connection that could not be made.
func TestConnectionLost(t *testing.T) {
	client, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	said := "client_loop: send disconnect: Connection reset by peer"
	script := `echo '{"sqlite3perf_agent": 1}'; echo '` + said + `' >&2; exit 255`
	m, _, err := (&Options{SSH: []string{client, "-c", script}}).launch(t.Context(), "pi", "true")
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	if err := m.call(t.Context(), methodSteal, nil, new(*float64), nil); err == nil || err.Error() != "host pi: the connection ended: "+said {
		t.Errorf("it says %v", err)
	}
	m.Close()
}

// TestExplainOptions checks that commands in the advice contain the user's options for the
// SSH client.
func TestExplainOptions(t *testing.T) {
	client := []string{"ssh", "-F", "my.config"}
	for said, want := range map[string]string{
		"Host key verification failed.":                             "connect once with: ssh -F my.config pi,",
		"ssh: connect to host 127.0.0.1 port 1: Connection refused": "set its Port in the configuration of ssh -F my.config",
	} {
		if got := explain("pi", client, said); !strings.Contains(got, want) {
			t.Errorf("%q becomes %q, want %q in it", said, got, want)
		}
	}
}

func TestPlatformOf(t *testing.T) {
	for uname, want := range map[string]string{"Linux x86_64": "linux/amd64", "Linux aarch64": "linux/arm64", "Darwin arm64": "darwin/arm64",
		"Linux armv7l": "linux/arm", "Linux i686": "linux/386", "FreeBSD amd64": "freebsd/amd64", "Linux riscv64": "linux/riscv64", "Linux": ""} {
		if got := platformOf(strings.Fields(uname)); got != want {
			t.Errorf("%s is %s, want %s", uname, got, want)
		}
	}
}

// TestAgentSilence checks that an agent ends if it receives nothing for long, although its
// input is still open.
func TestAgentSilence(t *testing.T) {
	in, write := io.Pipe()
	defer write.Close()
	if err := (&Agent{quiet: time.Millisecond}).Serve(context.Background(), in, io.Discard); err != nil {
		t.Error(err)
	}
}
