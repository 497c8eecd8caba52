package build_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// scripted creates a source tree with one driver, toy. Its worker is a script for sh, which
// must be in PATH.
func scripted(t *testing.T, needs, script string) (build.Source, build.Ref) {
	t.Helper()
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod": "module github.com/sqlite3perf/sqlite3perf\n",
		"drivers/toy/driver.json": `{"name": "toy", "kind": "other language", "interface": "direct", "optional": true,
			"command": ["sh", "./worker.sh", "--loud"], "needs": ` + needs + `}`,
		"drivers/toy/worker.sh": script,
	})
	s := build.Source{Root: root}
	list, err := s.Drivers()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := build.ParseRef(t.Context(), "toy", list)
	if err != nil {
		t.Fatal(err)
	}
	return s, ref
}

const toyAnswer = `read request
if [ "$1" != --loud ]; then exit 3; fi
echo '{"type":"info","protocol":2,"info":{"name":"toy","kind":"other language","interface":"direct"},"proof":{"module_version":"7.8"}}'
`

func TestScriptedDriver(t *testing.T) {
	s, ref := scripted(t, `null`, toyAnswer)
	if !ref.Known.Optional {
		t.Error("it is not optional")
	}
	script := filepath.Join(s.Root, "drivers", "toy", "worker.sh")
	if diff := cmp.Diff([]string{script, "--loud"}, ref.Args()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	b := &build.Builder{Source: s, Cache: filepath.Join(t.TempDir(), "cache")}
	path, with, err := b.Worker(t.Context(), ref, func() { t.Error("something is built") })
	if err != nil {
		t.Fatal(err)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	if path != sh || with["module_version"] != "7.8" || with["command"] != sh+" "+script+" --loud" {
		t.Errorf("%s, %v", path, with)
	}
	if found, err := b.Built(t.Context(), ref); !found || err != nil {
		t.Errorf("Built: %v, %v", found, err)
	}
	if _, err := os.Stat(b.Cache); err == nil {
		t.Error("a cache was made")
	}
}

// TestDriverLacks checks drivers whose program is missing or wrong. The message must say what to do, and
// nothing may be built.
func TestDriverLacks(t *testing.T) {
	here := t.TempDir()
	programs := map[string]string{
		"tool": "#!/bin/sh\n", "fails": "#!/bin/sh\nexit 3\n", "right": "#!/bin/sh\n[ \"$1\" = -v ] && echo tool 8.1\n",
		"wrong": "#!/bin/sh\necho 'tool 9 of \"x\"'\necho tool 8.1\n",
	}
	write(t, here, programs)
	write(t, here, map[string]string{"text": ""})
	for name := range programs {
		if err := os.Chmod(filepath.Join(here, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const tool = `{"executable": "tool", "env": "TOY_TOOL", "hint": "get it from example.com"}`
	const asked = `{"executable": "tool", "env": "TOY_TOOL", "version": "-v", "answers": "^tool 8\\b", "hint": "get it from example.com"}`
	for name, c := range map[string]struct {
		needs, env, path string
		script           string
		want             string // the expected message; "": nothing is missing
	}{
		"not in PATH":      {needs: tool, want: "toy cannot be measured: it needs tool, which is not in PATH: get it from example.com"},
		"in PATH":          {needs: tool, path: here},
		"named":            {needs: tool, env: filepath.Join(here, "tool")},
		"named, not there": {needs: tool, env: filepath.Join(here, "absent"), path: here, want: "/absent is not an executable: get it from example.com"},
		"named, text":      {needs: tool, env: filepath.Join(here, "text"), want: "/text is not an executable: get it from example.com"},
		"named, relative":  {needs: tool, env: "tool", want: "TOY_TOOL=tool is not an absolute path"},
		"named, directory": {needs: tool, env: here, want: "is a directory: want the path of tool itself, or get it from example.com"},
		"asked":            {needs: asked, env: filepath.Join(here, "right")},
		"another":          {needs: asked, env: filepath.Join(here, "wrong"), want: `/wrong is not the tool that it needs: with -v it answers "tool 9 of \"x\"": get it from example.com`},
		"another in PATH":  {needs: asked, path: here, want: "tool in PATH is not the tool that it needs: with -v it says nothing: get it from example.com"},
		"fails":            {needs: asked, env: filepath.Join(here, "fails"), want: "with -v it fails (exit status 3)"},
		"no interpreter":   {needs: "null", path: "/nonexistent", want: `toy cannot be measured: exec: "sh": executable file not found`},
		"too old": {needs: "null", script: `echo '{"type":"failed","reason":{"code":"unsupported","message":"sh 9 or newer is needed"}}'`,
			want: "worker.sh --loud does not answer as a worker: sh 9 or newer is needed"},
		"silent": {needs: "null", script: "exit 7\n", want: "does not answer as a worker: exit status 7"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.script == "" {
				c.script = toyAnswer
			}
			s, ref := scripted(t, c.needs, c.script)
			switch c.path {
			case "/nonexistent":
				t.Setenv("PATH", c.path)
			case "":
			default:
				t.Setenv("PATH", c.path+string(os.PathListSeparator)+os.Getenv("PATH"))
			}
			t.Setenv("TOY_TOOL", c.env)
			b := &build.Builder{Source: s, Cache: t.TempDir()}
			found, err := b.Built(t.Context(), ref)
			_, _, werr := b.Worker(t.Context(), ref, nil)
			if c.want == "" {
				if !found || err != nil || werr != nil {
					t.Errorf("%v, %v, %v", found, err, werr)
				}
				return
			}
			var unavailable *build.BuildError
			if found || !errors.As(err, &unavailable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Built: %v, %v; want %s", found, err, c.want)
			}
			if werr == nil || werr.Error() != err.Error() {
				t.Errorf("Worker: %v; Built: %v", werr, err)
			}
		})
	}
}

// TestServerUnreached checks that the user's servers are asked before anything is built, and that no
// message contains the password.
func TestServerUnreached(t *testing.T) {
	guard := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch user, password, _ := r.BasicAuth(); {
		case r.URL.Path == "/readyz" && user == "alone":
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/readyz":
		case r.URL.Path == "/status" && password == "secret":
			fmt.Fprint(w, `{"store": {}}`)
		case r.URL.Path != "/status" || password != "secret":
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer guard.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json/status":
			fmt.Fprint(w, `{"shop": {}}`)
		case "/ill/status":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.NotFound(w, r)
		}
	}))
	defer page.Close()
	other := page.Listener.Addr().String()
	greets := listening(t, func(c net.Conn) { _, _ = c.Write([]byte("220 mail.example.com\r\n")); c.Close() })
	host := guard.Listener.Addr().String()
	for addresses, want := range map[string]string{
		"bob:secret2@" + host:             host + " refuses the user and the password (401): correct them in TOY_SERVERS",
		"alone:secret@" + host:            host + " is not ready, as without a leader: more than half of the nodes must run: start the others",
		"127.0.0.1:1,":                    "nothing listens at 127.0.0.1:1: start tool there, or correct TOY_SERVERS",
		other:                             "the program that answers at " + other + " is not tool: correct TOY_SERVERS",
		"http://" + other + "/json/":      "the program that answers at " + other + " is not tool: correct TOY_SERVERS",
		"http://" + other + "/ill":        "", // no message, because an internal error may be temporary
		greets:                            greets + " cannot be asked (",
		" , ":                             "TOY_SERVERS has no address: want such as",
		"ftp://secret2@x":                 "TOY_SERVERS has an invalid address: want addresses such as",
		"127.0.0.1:1, bob:secret@" + host: "",
		"127.0.0.1:1, bob:secret@" + host + ", http://bob:secret2@" + host + "/": host + " refuses the user and the password (401): correct them in TOY_SERVERS",
	} {
		t.Setenv("TOY_SERVERS", addresses)
		_, ref := scripted(t, `{"executable": "tool", "hint": "get it", "unless": "TOY_SERVERS", "status": "/status", "has": "store", "ready": "/readyz"}`, toyAnswer)
		_, _, err := (&build.Builder{Cache: t.TempDir()}).Worker(t.Context(), ref, nil)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", addresses, err)
			}
			continue
		}
		unavailable, ok := errors.AsType[*build.BuildError](err)
		if !ok || !strings.HasPrefix(unavailable.Reason.Message, want) || !strings.HasPrefix(err.Error(), "toy cannot be measured: "+want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", addresses, err, want)
		}
	}
}

// listening accepts connections on loopback until the test ends, and passes each to serve.
// It returns the address.
func listening(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// TestNeedIsSilent checks that a server or program that never answers is given up after the
// time limit.
func TestNeedIsSilent(t *testing.T) {
	build.ShortLimits(t, 100*time.Millisecond)
	silent := listening(t, func(net.Conn) {})
	program := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nsleep 3600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for variable, c := range map[string]struct{ value, want string }{
		"TOY_SERVERS": {silent, silent + " has not answered within 100ms: see whether tool runs there, or correct TOY_SERVERS"},
		"TOY_TOOL":    {program, "with -v it does not answer within 100ms: get it"},
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, c.value)
			_, ref := scripted(t, `{"executable": "tool", "env": "TOY_TOOL", "version": "-v", "answers": "^tool", "hint": "get it", "unless": "TOY_SERVERS", "status": "/status"}`, toyAnswer)
			if _, _, err := (&build.Builder{Cache: t.TempDir()}).Worker(t.Context(), ref, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestCheckServers checks that invalid addresses are found without contacting a server.
func TestCheckServers(t *testing.T) {
	for addresses, want := range map[string]string{
		"":                   "",
		"127.0.0.1:1,[::1]":  "",
		"ftp://secret@x":     "driver toy: TOY_SERVERS has an invalid address: want addresses such as",
		"http://:4001":       "driver toy: TOY_SERVERS has an invalid address: want addresses such as",
		"http//u:secret@x:1": "driver toy: TOY_SERVERS has an invalid address: want addresses such as",
		"http:/u:secret@x:1": "driver toy: TOY_SERVERS has an invalid address: want addresses such as",
		"http://x:port":      "driver toy: TOY_SERVERS has an invalid address: want addresses such as",
		",":                  "driver toy: TOY_SERVERS has no address: want such as",
	} {
		t.Setenv("TOY_SERVERS", addresses)
		_, ref := scripted(t, `{"executable": "tool", "hint": "get it", "unless": "TOY_SERVERS", "status": "/status"}`, toyAnswer)
		if err := ref.CheckServers(); (err == nil) != (want == "") || err != nil && (!strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v, want %q", addresses, err, want)
		}
	}
}
