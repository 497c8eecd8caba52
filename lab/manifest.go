package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Manifest is a driver.json. It says what the driver is, and what only the lab needs
// to know about it.
type Manifest struct {
	driver.Info

	// Optional drivers are measured only if they are named.
	Optional bool `json:"optional"`

	// Command runs the worker of a driver that is not built with Go: an
	// executable in PATH and its arguments. A path that begins with ./ or ../ is
	// relative to the directory of the driver.json.
	Command []string `json:"command"`

	Needs *Need `json:"needs"` // nil: nothing

	// Variants has the options of the variant of the driver that has a feature that
	// its SQLite lacks otherwise, such as "tags=sqlite_fts5", by the feature's key
	// (driver.Features). They can be built wherever the driver can.
	Variants map[string]string `json:"variants"`

	// Obtain says how else to get a feature that the driver's SQLite lacks, by the
	// feature's key.
	Obtain map[string]string `json:"obtain"`

	// Opening says how the library's users open a database, for those who read it.
	Opening *Opening `json:"opening"`

	// Before lists versions of the library for which the adapter had to change. A
	// worker with a version before v1.2.3, for example, is built with the tag
	// before_v1_2_3.
	Before []string `json:"before"`
}

// Opening is how a library's users open a database.
type Opening struct {
	Call           string `json:"call"`            // with dsn as the data source name
	EachConnection string `json:"each_connection"` // where statements are run on each new connection
}

// Need is a program that a driver uses but that does not come with it.
type Need struct {
	Executable string `json:"executable"` // its name in PATH
	Env        string `json:"env"`        // environment variable that may have its absolute path instead
	Unless     string `json:"unless"`     // environment variable with which it is not needed
	Hint       string `json:"hint"`       // how to get it

	// Status is the path of a page that a server answers which Unless names, as a list of
	// addresses with a comma between them. If it is "", nobody is asked.
	Status string `json:"status"`

	// Ready is another page, with the status 503 if the server runs and cannot be used yet,
	// as a node of a cluster that has no leader. If it is "", nobody is asked.
	Ready string `json:"ready"`
}

// statusLimit is how long a server may take to answer. A slower one is left to the trials.
const statusLimit = 5 * time.Second

// unreached says why none of the servers can be used that the user names, or "". Errors
// that may pass are left to the trials.
func (n *Need) unreached() string {
	var bad []string
	client := &http.Client{Timeout: statusLimit, Transport: &http.Transport{DisableKeepAlives: true}}
	for address := range strings.SplitSeq(os.Getenv(n.Unless), ",") {
		if address = strings.TrimSpace(address); address == "" {
			continue
		}
		if !strings.Contains(address, "://") {
			address = "http://" + address
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Sprintf("%s has what is no address: want such as http://user:password@10.0.0.1:4001,10.0.0.2:4001", n.Unless)
		}
		ask := func(page string) (status int, err error) {
			resp, err := client.Get(strings.TrimSuffix(u.String(), "/") + page)
			if err != nil {
				return 0, err
			}
			return resp.StatusCode, resp.Body.Close()
		}
		status, err := ask(n.Status)
		ready := 0
		if n.Ready != "" && err == nil && status == http.StatusOK {
			ready, _ = ask(n.Ready) // whether the user may see that page is another matter
		}
		switch {
		case ready == http.StatusServiceUnavailable:
			bad = append(bad, fmt.Sprintf("%s is not ready, as without a leader: more than half of the nodes must run: start the others", u.Host))
		case err == nil && status == http.StatusUnauthorized:
			bad = append(bad, fmt.Sprintf("%s refuses the user and the password (401): correct them in %s", u.Host, n.Unless))
		case errors.Is(err, syscall.ECONNREFUSED):
			bad = append(bad, fmt.Sprintf("nothing listens at %s: start %s there, or correct %s", u.Host, n.Executable, n.Unless))
		default:
			return "" // the trials use it, or say what is wrong
		}
	}
	if bad == nil {
		return fmt.Sprintf("%s has no address: want such as http://user:password@10.0.0.1:4001", n.Unless)
	}
	return strings.Join(bad, "; ")
}

// readManifest reads the driver.json in a directory.
func readManifest(dir string) (Manifest, error) {
	file := filepath.Join(dir, "driver.json")
	data, err := os.ReadFile(file)
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
	if m.Opening != nil && (m.Opening.Call == "" || m.Opening.EachConnection == "") {
		return m, fmt.Errorf("driver.json: opening: call and each_connection are required")
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

// besideExecutable reads the driver.json in an executable's directory. It returns nil
// if there is none, or if it is another executable's.
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

// elsewhere reports whether a driver's databases are not its worker's alone, so that they
// stay when the worker is killed.
func (r Ref) elsewhere() bool {
	return r.Known != nil && r.Known.Needs.given()
}

// given reports whether what the program would do is done by something that the user names.
func (n *Need) given() bool {
	return n != nil && n.Unless != "" && os.Getenv(n.Unless) != ""
}

// lack says why the program that a driver needs cannot be used. It returns "" if
// nothing is missing.
func (n *Need) lack() string {
	if n == nil {
		return ""
	}
	if n.given() {
		if n.Status != "" {
			return n.unreached()
		}
		return ""
	}
	if path := os.Getenv(n.Env); n.Env != "" && path != "" {
		if !filepath.IsAbs(path) {
			return fmt.Sprintf("%s=%s is not an absolute path: a worker runs in its own directory", n.Env, path)
		}
		if _, err := exec.LookPath(path); err != nil {
			return fmt.Sprintf("%s=%s is not an executable: %s", n.Env, path, n.Hint)
		}
		return ""
	}
	if _, err := exec.LookPath(n.Executable); err != nil {
		return fmt.Sprintf("it needs %s, which is not in PATH: %s", n.Executable, n.Hint)
	}
	return ""
}

// ready returns a [*BuildError] that says why a driver's worker could not run here, or
// nil if it could.
func (k *Known) ready() error {
	if why := k.Needs.lack(); why != "" {
		return &BuildError{Reason: protocol.Reason{Code: protocol.CodeNoExecutable, Message: why}, Driver: k.Name}
	}
	return nil
}

// foundWorker finds the worker of a driver that is not built, and asks it to describe
// itself.
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
