package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Manifest is a driver.json. It describes the driver, and has further fields that only
// sqlite3perf itself uses.
type Manifest struct {
	driver.Info

	// Optional is set for drivers that are measured only if the user names them.
	Optional bool `json:"optional"`

	// Command starts the worker of a driver that is not built with Go: an executable in
	// PATH, and its arguments. A path that begins with ./ or ../ is relative to the
	// directory of driver.json.
	Command []string `json:"command"`

	Needs *Need `json:"needs"` // program that the driver needs; nil: none

	// Variants maps the key of a feature (driver.Features) to the options of the variant
	// that has the feature, such as "tags=sqlite_fts5". Every machine that can build the
	// driver can build these variants.
	Variants map[string]string `json:"variants"`

	// Obtain has advice about features that the driver's SQLite lacks. It maps the key of a feature to a text
	// that says how else the user can get the feature.
	Obtain map[string]string `json:"obtain"`

	// Opening shows readers how the library's users open a database.
	Opening *Opening `json:"opening"`

	// Release says when the pinned version of the library was made; nil: not known. The program
	// internal/bump writes it.
	Release *Release `json:"release"`

	// Maintenance says whether the library is maintained, as its repository says; nil: not looked up.
	Maintenance *Maintenance `json:"maintenance"`

	// Before lists versions of the library for which the adapter had to change. For a
	// library older than v1.2.3, for example, the worker is built with the tag
	// before_v1_2_3.
	Before []string `json:"before"`
}

// Release is a version of a library, and the day on which it was made.
type Release struct {
	Version string `json:"version"`
	Date    string `json:"date"` // such as 2026-11-05
}

// Maintenance is what a library's repository says about its maintenance.
type Maintenance struct {
	Statement string `json:"statement"` // "": the repository says nothing about it
	Source    string `json:"source"`    // address of the page with the statement, or of the page that was searched for a statement
	LookedUp  string `json:"looked_up"` // day, such as 2026-11-28
}

// badDates says what is wrong with Release or Maintenance. It returns "" if both are right.
func (m *Manifest) badDates() string {
	if r := m.Release; r != nil && (!versionSyntax.MatchString(r.Version) || !isDate(r.Date)) {
		return "release: want version and date, such as v1.2.3 and 2026-11-05"
	}
	if s := m.Maintenance; s != nil && (s.Source == "" || !isDate(s.LookedUp)) {
		return "maintenance: want source, and looked_up, such as 2026-11-28"
	}
	return ""
}

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// Opening describes how a library's users open a database.
type Opening struct {
	Call           string `json:"call"`            // Go call that opens a database, with dsn as the data source name
	EachConnection string `json:"each_connection"` // how to run statements on each new connection
}

// Need is a program that a driver uses but does not include.
type Need struct {
	Executable string `json:"executable"` // name of the program in PATH
	Env        string `json:"env"`        // environment variable that can hold the program's absolute path instead
	Unless     string `json:"unless"`     // environment variable; if it is set, the program is not needed
	Hint       string `json:"hint"`       // how to get the program

	// Version is the argument that makes the program print its version. Answers is a regular
	// expression that the first line of the output must match. If Version is "", the program
	// is not checked.
	Version string `json:"version"`
	Answers string `json:"answers"`

	// Status is the path of a page that the user's servers must serve. The environment variable named in
	// Unless lists their addresses, separated by commas. If Status is "", servers are not checked.
	Status string `json:"status"`

	// Has is a key that the JSON object served at Status must have. If Has is "", any page
	// is accepted.
	Has string `json:"has"`

	// Ready is the path of a page that tells whether a running server can be used. While the server cannot
	// be used (for example, a cluster node without a leader), the page has the HTTP status 503. If Ready is
	// "", this is not checked.
	Ready string `json:"ready"`
}

// Time limits for checks that are made before anything is built. They are long because a machine may be
// busy. A server or program that needs more time would be too slow in a trial, too.
var (
	statusLimit  = 15 * time.Second // for a server: how long it may take to answer a status request
	versionLimit = 30 * time.Second // for a program: how long it may take to print its version
)

// maxStatus is the limit in bytes for reading a page.
const maxStatus = 1 << 20

// addresses returns the servers listed in the environment variable n.Unless. If the list is invalid, the
// result "bad" says why.
func (n *Need) addresses() (list []*url.URL, bad string) {
	for address := range strings.SplitSeq(os.Getenv(n.Unless), ",") {
		if address = strings.TrimSpace(address); address == "" {
			continue
		}
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
		u, err := url.Parse(address)
		// A typo such as http//user@host would otherwise be parsed as a host named http.
		if err != nil || slices.Contains([]string{"", "http", "https"}, u.Hostname()) || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Sprintf("%s has an invalid address: want addresses such as http://user:password@10.0.0.1:4001,10.0.0.2:4001", n.Unless)
		}
		list = append(list, u)
	}
	if list == nil {
		return nil, fmt.Sprintf("%s has no address: want such as http://user:password@10.0.0.1:4001", n.Unless)
	}
	return list, ""
}

// CheckServers returns an error if the user has given an invalid list of servers for the
// driver. It contacts no server.
func (r Ref) CheckServers() error {
	if r.Known == nil || !r.Known.Needs.given() || r.Known.Needs.Status == "" {
		return nil
	}
	if _, bad := r.Known.Needs.addresses(); bad != "" {
		return fmt.Errorf("driver %s: %s", r.Name, bad)
	}
	return nil
}

// unreached says why the servers listed in n.Unless cannot be used. It returns "" if they can be used. One
// usable server is enough. But a wrong password is always a mistake, so it is an error if any server
// refuses the password.
func (n *Need) unreached(ctx context.Context) string {
	list, why := n.addresses()
	if why != "" {
		return why
	}
	bad, refuses := make([]string, len(list)), make([]bool, len(list))
	var asked sync.WaitGroup
	for i, u := range list {
		asked.Go(func() { bad[i], refuses[i] = n.unusable(ctx, u) })
	}
	asked.Wait()
	var refused []string
	for i, why := range bad {
		if refuses[i] {
			refused = append(refused, why)
		}
	}
	if slices.Contains(bad, "") {
		bad = refused
	}
	return strings.Join(bad, "; ")
}

// unusable says why a server cannot be used. It returns "" if the server can be used. The result "refuses" is
// true if the server refuses the password. Internal errors (5xx) of the server are ignored, because they may
// be temporary.
func (n *Need) unusable(ctx context.Context, u *url.URL) (why string, refuses bool) {
	client := &http.Client{Timeout: statusLimit, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // a redirect must not send the request to another address
	ask := func(page string) (status int, body []byte, err error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(u.String(), "/")+page, nil)
		if err != nil {
			return 0, nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return 0, nil, err
		}
		defer resp.Body.Close()
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxStatus))
		return resp.StatusCode, body, err
	}
	status, body, err := ask(n.Status)
	failed, _ := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s: start %s there, or correct %s", u.Host, n.Executable, n.Unless), false
	case failed != nil && failed.Timeout():
		return fmt.Sprintf("%s has not answered within %v: see whether %s runs there, or correct %s", u.Host, statusLimit, n.Executable, n.Unless), false
	case err != nil:
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err // without the address, which may contain a password
		}
		return fmt.Sprintf("%s cannot be asked (%s): start %s there, or correct %s", u.Host, strings.Join(strings.Fields(err.Error()), " "), n.Executable, n.Unless), false
	case status == http.StatusUnauthorized:
		return fmt.Sprintf("%s refuses the user and the password (401): correct them in %s", u.Host, n.Unless), true
	case status >= http.StatusInternalServerError:
		return "", false
	case status != http.StatusOK || !n.hasKey(body):
		return fmt.Sprintf("the program that answers at %s is not %s: correct %s", u.Host, n.Executable, n.Unless), false
	case n.Ready != "":
		if status, _, err := ask(n.Ready); err == nil && status == http.StatusServiceUnavailable { // other statuses are ignored, because the user may lack permission for that page
			return fmt.Sprintf("%s is not ready, as without a leader: more than half of the nodes must run: start the others", u.Host), false
		}
	}
	return "", false
}

// hasKey reports whether a page is a JSON object with the key n.Has.
func (n *Need) hasKey(page []byte) bool {
	var object map[string]json.RawMessage
	return n.Has == "" || json.Unmarshal(page, &object) == nil && object[n.Has] != nil
}

// otherProgram checks that the program at path prints the expected version. It says what the program does
// instead, or returns "" if the version is right or is not checked.
func (n *Need) otherProgram(ctx context.Context, path string) string {
	if n.Version == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, n.Version)
	process.Isolate(cmd)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		process.EndGroup(cmd.Process.Pid)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	first = strings.Join(strings.Fields(strings.ToValidUTF8(first, "?")), " ")
	switch {
	case regexp.MustCompile(n.Answers).MatchString(first):
		return ""
	case ctx.Err() != nil:
		return fmt.Sprintf("does not answer within %v", versionLimit)
	case first != "":
		return fmt.Sprintf("answers %.80q", first)
	case err != nil:
		return fmt.Sprintf("fails (%v)", err)
	}
	return "says nothing"
}

func readManifest(dir string) (Manifest, error) {
	file := filepath.Join(dir, "driver.json")
	data, err := directory.ReadRegular(file, maxModule)
	if err != nil {
		return Manifest{}, err
	}
	m, err := parseManifest(data, dir)
	if err != nil {
		return m, fmt.Errorf("%s: %w", file, err)
	}
	return m, nil
}

func parseManifest(data []byte, dir string) (m Manifest, err error) {
	if _, err := driver.ParseInfo(data); err != nil {
		return m, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("driver.json: %w", err)
	}
	if m.Needs != nil && (m.Needs.Executable == "" || m.Needs.Hint == "") {
		return m, fmt.Errorf("driver.json: needs: executable and hint are required")
	}
	if n := m.Needs; n != nil {
		if _, err := regexp.Compile(n.Answers); err != nil || (n.Version == "") != (n.Answers == "") {
			return m, fmt.Errorf("driver.json: needs: want version with an expression that matches its answer (answers), or neither")
		}
	}
	if m.Opening != nil && (m.Opening.Call == "" || m.Opening.EachConnection == "") {
		return m, fmt.Errorf("driver.json: opening: call and each_connection are required")
	}
	if bad := m.badDates(); bad != "" {
		return m, fmt.Errorf("driver.json: %s", bad)
	}
	for key := range m.Obtain {
		if !slices.Contains(driver.FeatureKeys(), key) {
			return m, fmt.Errorf("driver.json: obtain: unknown feature %q", key)
		}
	}
	for key, options := range m.Variants {
		if !slices.Contains(driver.FeatureKeys(), key) {
			return m, fmt.Errorf("driver.json: variants: unknown feature %q", key)
		}
		if err := buildOptions(options, &Known{Manifest: m}); err != nil {
			return m, fmt.Errorf("driver.json: variants: %s: %w", key, err)
		}
	}
	for _, v := range m.Before {
		if !versionSyntax.MatchString(v) {
			return m, fmt.Errorf("driver.json: before: bad version %q: want one such as v1.2.3", v)
		}
	}
	for i, arg := range m.Command {
		if strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../") {
			m.Command[i] = filepath.Join(dir, filepath.FromSlash(arg))
		}
	}
	return m, nil
}

// besideExecutable reads the driver.json in an executable's directory. It returns nil if there is no such
// file, or if the field "command" in it names another executable.
func besideExecutable(path string) (*driver.Info, error) {
	m, err := readManifest(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(m.Command) > 0 && !slices.Contains(m.Command, path) {
		return nil, nil
	}
	return &m.Info, nil
}

// Elsewhere reports whether the driver's databases are on servers that the user named. Such
// databases remain if the worker is killed.
func (r Ref) Elsewhere() bool {
	return r.Known != nil && r.Known.Needs.given()
}

// given reports whether the user has set the environment variable n.Unless. If so, the program is not
// needed.
func (n *Need) given() bool {
	return n != nil && n.Unless != "" && os.Getenv(n.Unless) != ""
}

// lack says why a program or server that the driver needs cannot be used. It returns "" if
// nothing is missing.
func (n *Need) lack(ctx context.Context) string {
	if n == nil {
		return ""
	}
	if n.given() {
		if n.Status != "" {
			return n.unreached(ctx)
		}
		return ""
	}
	path, named := "", n.Executable+" in PATH"
	if n.Env != "" {
		path = os.Getenv(n.Env)
	}
	if path == "" {
		var err error
		if path, err = exec.LookPath(n.Executable); err != nil {
			return fmt.Sprintf("it needs %s, which is not in PATH: %s", n.Executable, n.Hint)
		}
	} else {
		named = n.Env + "=" + path
		if !filepath.IsAbs(path) {
			return fmt.Sprintf("%s is not an absolute path: a worker runs in its own directory", named)
		}
		if fi, err := os.Stat(path); err == nil && fi.IsDir() {
			return fmt.Sprintf("%s is a directory: want the path of %s itself, or %s", named, n.Executable, n.Hint)
		}
		if _, err := exec.LookPath(path); err != nil {
			return fmt.Sprintf("%s is not an executable: %s", named, n.Hint)
		}
	}
	if why := n.otherProgram(ctx, path); why != "" {
		return fmt.Sprintf("%s is not the %s that it needs: with %s it %s: %s", named, n.Executable, n.Version, why, n.Hint)
	}
	return ""
}

// Ready returns a [*BuildError] if the driver's worker could not run here because a program or server is
// missing. Ready can be called before the worker is built.
func (r Ref) Ready(ctx context.Context) error {
	if r.Known == nil {
		return nil
	}
	if why := r.Known.Needs.lack(ctx); why != "" {
		return &BuildError{Reason: protocol.Reason{Code: protocol.CodeNoExecutable, Message: why}, Driver: r.Known.Name}
	}
	return nil
}

// foundWorker finds the worker of a driver that is not built, and checks that the worker can describe itself.
func foundWorker(ctx context.Context, ref Ref) (path string, with map[string]string, err error) {
	k := ref.Known
	if path, err = exec.LookPath(k.Command[0]); err != nil {
		return "", nil, &BuildError{Reason: protocol.Reason{Code: protocol.CodeNoExecutable, Message: err.Error()}, Driver: k.Name}
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", nil, err
	}
	_, proof, err := Describe(ctx, path, ref.Args()...)
	if err != nil {
		return "", nil, err
	}
	return path, map[string]string{
		"command": strings.Join(append([]string{path}, ref.Args()...), " "), "module_version": proof.ModuleVersion,
	}, nil
}
