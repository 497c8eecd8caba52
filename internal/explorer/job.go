package explorer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Launcher starts runs for the page. Each run is a separate process, so it is measured as if it had
// been started in a terminal. The run ends when the server ends, because nobody else could stop it.
type Launcher struct {
	Drivers   []Choice // drivers that may be measured
	Workloads []Choice

	// Command returns a command that measures a run into the store. Its process ends by itself,
	// or after the current trials if it is interrupted or its standard input ends. It prints
	// messages on its standard error.
	Command func(*Wanted) *exec.Cmd
}

// Choice is a driver or a workload that a run can measure.
type Choice struct {
	Name     string `json:"name"`
	About    string `json:"about,omitempty"`
	Versions bool   `json:"versions,omitempty"` // whether other versions of the driver can be measured: NAME@v1.2.3
	Usual    bool   `json:"usual,omitempty"`    // whether the driver or workload is measured unless the user chooses other drivers or workloads

	Known      []string    `json:"known_versions,omitempty"` // versions of the driver to suggest
	Parameters []Parameter `json:"parameters,omitempty"`     // parameters of a workload
}

// Parameter is a parameter of a workload with its default values.
type Parameter struct {
	Name  string  `json:"name"`
	Quick []int64 `json:"quick"` // values at the scale quick
	Full  []int64 `json:"full"`
}

// Wanted is a run that the page requests. Empty fields mean the defaults.
type Wanted struct {
	Drivers    []string            `json:"drivers"`
	Workloads  []string            `json:"workloads"`
	Settings   map[string][]string `json:"settings,omitempty"`
	Parameters map[string][]int64  `json:"parameters,omitempty"`
	Scale      string              `json:"scale,omitempty"`        // quick, full, or a factor of full
	Rounds     int                 `json:"rounds,omitempty"`       // exact number of rounds; 0: until all figures are precise enough or the time is over
	Time       int                 `json:"time_seconds,omitempty"` // time limit of the run in seconds
}

// These are the limits of a requested run.
const (
	maxFactors = 10    // number of settings, and number of parameters
	maxLevels  = 10    // values of each setting or parameter
	maxTime    = 86400 // duration in seconds
	maxVersion = 60    // characters of a version
)

// check returns an error if a wanted run names choices that do not exist. The measuring process
// checks everything else.
func (l *Launcher) check(w *Wanted) error {
	bad := func(format string, args ...any) error { return failf(http.StatusBadRequest, format, args...) }
	for _, name := range w.Drivers {
		base, version, versioned := strings.Cut(name, "@")
		i := slices.IndexFunc(l.Drivers, func(c Choice) bool { return c.Name == name || versioned && c.Versions && c.Name == base })
		if i < 0 {
			return bad("drivers: %q: %s", clip(name), driver.Suggest(name, choiceNames(l.Drivers)))
		}
		if l.Drivers[i].Name != name && !isVersion(version) {
			return bad("drivers: %q: want a version such as %s@v1.2.3 or %[2]s@latest", clip(name), base)
		}
	}
	for _, name := range w.Workloads {
		if !slices.Contains(choiceNames(l.Workloads), name) {
			return bad("workloads: %q: %s", clip(name), driver.Suggest(name, choiceNames(l.Workloads)))
		}
	}
	if len(w.Settings) > maxFactors || len(w.Parameters) > maxFactors {
		return bad("settings and parameters: at most %d of each", maxFactors)
	}
	for name, values := range w.Settings {
		if len(values) == 0 || len(values) > maxLevels {
			return bad("settings: %s has %d values: want 1 to %d", clip(name), len(values), maxLevels)
		}
		for _, v := range values {
			if _, err := driver.ParseSetting(name, v); err != nil {
				return bad("settings: %s", clip(err.Error()))
			}
		}
	}
	for name, values := range w.Parameters {
		if !isName(name) || len(values) == 0 || len(values) > maxLevels {
			return bad("parameters: %q with %d values: want a name, and 1 to %d whole numbers", clip(name), len(values), maxLevels)
		}
	}
	if f, err := strconv.ParseFloat(w.Scale, 64); w.Scale != "" && w.Scale != "quick" && w.Scale != "full" && (err != nil || !(f > 0 && f <= 100)) {
		return bad("scale: %q: want quick, full, or a factor of full such as 0.1", clip(w.Scale))
	}
	if w.Rounds != 0 && (w.Rounds < 6 || w.Rounds > 100_000) {
		return bad("rounds: %d: want 6 to 100000, or none", w.Rounds)
	}
	if w.Time < 0 || w.Time > maxTime {
		return bad("time_seconds: %d: want 1 to %d, or none", w.Time, maxTime)
	}
	return nil
}

func choiceNames(list []Choice) []string {
	return document.Map(list, func(c Choice) string { return c.Name })
}

func isVersion(s string) bool { return isWord(s, ".+-") }

func isName(s string) bool { return isWord(s, "_-") }

// isWord reports whether s consists of letters, digits and the characters in the parameter
// "others", and does not begin with a hyphen.
func isWord(s, others string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return s != "" && len(s) <= maxVersion && strings.Trim(s, letters+others) == "" && s[0] != '-'
}

// The states of a run that the page started.
const (
	jobPreparing = "preparing" // workers are being built; there is no run in the store yet
	jobMeasuring = "measuring"
	jobStopping  = "stopping" // the run ends after the current trials
	jobEnded     = "ended"
)

// Job is a run that the page has started.
type Job struct {
	State    string    `json:"state"`
	Wanted   Wanted    `json:"wanted"`
	Started  time.Time `json:"started"`
	Run      int64     `json:"run,omitempty"`     // number of the run; 0 if there is no run yet, or nothing was measured
	Messages []string  `json:"messages"`          // last messages of the process
	Status   *int      `json:"status,omitempty"`  // exit status of the process, once it has ended; -1: it was killed
	Command  []string  `json:"command,omitempty"` // command that repeats the run
}

const maxMessages = 50

// job is a [Job] with its process.
type job struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
	after int64         // largest run number before the job; the job's run has a greater number

	mu sync.Mutex
	Job
	news int // number of changes to the job so far
}

func start(cmd *exec.Cmd, w Wanted, after int64) (*job, error) {
	j := &job{cmd: cmd, ended: make(chan struct{}), after: after,
		Job: Job{State: jobPreparing, Wanted: w, Started: time.Now().UTC(), Messages: []string{}, Command: cmd.Args}}
	said, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	// When the server's process ends in any way, the pipe closes and the measuring process notices.
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go j.follow(said)
	return j, nil
}

// follow reads the messages of the process from the reader "said", and keeps the last messages. When
// the process has ended, follow sets the exit status and closes j.ended.
func (j *job) follow(said io.Reader) {
	lines := bufio.NewReaderSize(said, maxBody)
	for {
		line, _, err := lines.ReadLine() // a line that is too long comes in pieces
		if err != nil {
			break
		}
		j.change(func() {
			if j.Messages = append(j.Messages, clip(strings.ToValidUTF8(string(line), "\uFFFD"))); len(j.Messages) > maxMessages {
				j.Messages = slices.Delete(j.Messages, 0, 1)
			}
		})
	}
	_ = j.cmd.Wait() // ProcessState has the exit status
	j.change(func() {
		status := j.cmd.ProcessState.ExitCode()
		j.State, j.Status = jobEnded, &status
	})
	close(j.ended)
}

func (j *job) change(do func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	do()
	j.news++
}

// now returns a copy of the job, and the number of its changes so far.
func (j *job) now() (Job, int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.Job
	now.Messages = slices.Clone(j.Messages)
	return now, j.news
}

func (j *job) over() bool {
	select {
	case <-j.ended:
		return true
	default:
		return false
	}
}

// stop interrupts the process, which then ends after its current trials. If stop is called a
// second time, the process ends at once. On Windows, stop kills the process.
func (j *job) stop() {
	if j.over() {
		return
	}
	if err := j.cmd.Process.Signal(os.Interrupt); err != nil { // Windows has no interrupt signal for other processes
		_ = j.cmd.Process.Kill() // fails if the process has just ended
	}
	j.change(func() { j.State = jobStopping })
}

// Measuring reports whether a run that the page started is still in progress.
func (s *Server) Measuring() bool {
	s.launch.Lock()
	defer s.launch.Unlock()
	return s.job != nil && !s.job.over()
}

const endGrace = 15 * time.Second

// StopRun stops the run that the page started: the run ends after its current trials, and StopRun
// waits for that. When ctx ends, the run ends at once.
func (s *Server) StopRun(ctx context.Context) {
	s.launch.Lock()
	j := s.job
	s.launch.Unlock()
	if j == nil {
		return
	}
	j.stop()
	select {
	case <-j.ended:
		return
	case <-ctx.Done():
	}
	j.stop()
	select {
	case <-j.ended:
	case <-time.After(s.grace):
		_ = j.cmd.Process.Kill() // fails if the process has just ended
		<-j.ended
	}
}

func (s *Server) startRun(r *http.Request, q *query) (*Current, error) {
	if err := q.end(); err != nil {
		return nil, err
	}
	if s.options.Launcher == nil {
		return nil, failf(http.StatusForbidden, "%s", notLocal)
	}
	var asked *Wanted
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(&asked)
	if _, more := d.Token(); err == nil && (asked == nil || !errors.Is(more, io.EOF)) {
		err = errors.New("want one object, and nothing after it")
	}
	if err != nil {
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			return nil, failf(http.StatusRequestEntityTooLarge, "the request has more than %d bytes", tooLarge.Limit)
		}
		return nil, failf(http.StatusBadRequest, "the request is malformed: %s", clip(err.Error()))
	}
	w := *asked
	if err := s.options.Launcher.check(&w); err != nil {
		return nil, err
	}
	s.launch.Lock()
	defer s.launch.Unlock()
	if s.job != nil && !s.job.over() {
		return nil, failf(http.StatusConflict, "a run is being measured: stop it first, since two at once would disturb each other")
	}
	now, err := s.current(r.Context())
	if err != nil {
		return nil, err
	}
	if len(now.Runs) > 0 {
		return nil, failf(http.StatusConflict, "run %d is being measured: two at once would disturb each other", now.Runs[0].Run)
	}
	entries, err := s.shelf.latest(r.Context())
	if err != nil {
		return nil, err
	}
	after := int64(0)
	for i := range entries {
		after = max(after, entries[i].ID)
	}
	if s.job, err = start(s.options.Launcher.Command(&w), w, after); err != nil {
		return nil, err
	}
	return s.current(r.Context())
}

func (s *Server) stopRun(r *http.Request, q *query) (*Current, error) {
	if err := q.end(); err != nil {
		return nil, err
	}
	s.launch.Lock()
	defer s.launch.Unlock()
	if s.job == nil || s.job.over() {
		return nil, failf(http.StatusConflict, "no run that this server started is being measured: stop a run that was started in a terminal with Ctrl-C there; a run whose server has ended stops after its current trials")
	}
	s.job.stop()
	return s.current(r.Context())
}

// Choices is the answer to /api/v1/choices: what a new run can measure, and how.
type Choices struct {
	CanStart  bool      `json:"can_start"` // whether this client may start a run
	WhyNot    string    `json:"why_not,omitempty"`
	Scales    []string  `json:"scales"` // suggested scales; other factors are allowed
	Drivers   []Choice  `json:"drivers"`
	Workloads []Choice  `json:"workloads"`
	Settings  []Setting `json:"settings"`
}

// Setting is a setting that a run can vary.
type Setting struct {
	Name   string   `json:"name"`
	About  string   `json:"about"`
	Want   string   `json:"want"`             // the values that the setting accepts, in words
	Values []string `json:"values,omitempty"` // all values, if there are few
	Tried  []string `json:"tried,omitempty"`  // if Values is empty: some example values, if any are known
}

const notLocal = "no run can be started here: the server does not listen on a loopback address"

// scales are the suggested scales. Any other factor is allowed too.
var scales = []string{workload.Quick, workload.Full, "0.01", "0.1", "0.5", "2"}

func (s *Server) choices(r *http.Request, q *query) (*Choices, error) {
	if err := q.end(); err != nil {
		return nil, err
	}
	c := &Choices{Scales: scales, Drivers: []Choice{}, Workloads: []Choice{}, Settings: []Setting{}}
	for _, d := range driver.Vocabulary {
		c.Settings = append(c.Settings, Setting{d.Name, d.About, d.Want(), d.Values, d.Tried})
	}
	l := s.options.Launcher
	if l == nil {
		c.WhyNot = notLocal
		return c, nil
	}
	c.WhyNot = s.noToken(r)
	c.CanStart = c.WhyNot == ""
	entries, err := s.shelf.list(r.Context())
	if err != nil {
		return nil, err
	}
	measured := distinct(entries, func(e *store.Entry) []string { return e.Drivers })
	c.Drivers, c.Workloads = slices.Clone(l.Drivers), l.Workloads
	for i := range c.Drivers {
		c.Drivers[i].Known = known(c.Drivers[i], measured)
	}
	return c, nil
}

// known lists versions of a driver: the version in use, the latest version, and the releases that runs
// in the store measured. It leaves out commits, because a commit may be from a fork, and the store may
// come from somebody else.
func known(d Choice, measured []string) []string {
	if !d.Versions {
		return nil
	}
	list := append(slices.Clone(d.Known), "latest")
	for _, name := range measured {
		if base, version, ok := strings.Cut(name, "@"); ok && base == d.Name && isVersion(version) && semver.IsValid(version) && !module.IsPseudoVersion(version) && !slices.Contains(list, version) {
			list = append(list, version)
		}
	}
	return list
}
