package result

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Run consists of rounds of trials of cases, with everything needed to judge them.
type Run struct {
	ID        int64     `json:"id"`
	Version   string    `json:"version"` // the version of sqlite3perf
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`
	Command   []string  `json:"command" jsonschema:"nullable"`
	Seed      uint64    `json:"seed"`
	Scale     string    `json:"scale"`
	Rounds    int       `json:"rounds"` // how many are complete
	Precision float64   `json:"precision"`
	Stopped   string    `json:"stopped" jsonschema:"enum=,constants=Stopped"` // such as [StoppedRounds]; "" while it runs
	LeftOut   []LeftOut `json:"left_out,omitempty"`
	Asked     *Asked    `json:"asked,omitempty"`    // nil if nothing was asked for, and in older runs
	Study     *Study    `json:"study,omitempty"`    // nil if it is not of a study
	Compares  *Compares `json:"compares,omitempty"` // nil if it was not made to compare two sides
	Search    *Search   `json:"search,omitempty"`   // nil if it is not part of a search
	Profiles  *Profiles `json:"profiles,omitempty"` // nil if it has samples
	Machine   Machine   `json:"machine"`
	Host      *Host     `json:"host,omitempty"` // nil if the run was measured where the command ran

	// Resumed has each time at which the run was resumed after it had been interrupted, or
	// had lost cells.
	Resumed []Resumption `json:"resumed,omitempty"`

	// Merged is the store that a merge took the run from, as the user named it. It is "" if
	// the run was measured into the store that it is in. A merged run may be somebody else's.
	Merged string `json:"merged,omitempty"`

	// Schedule is nil in older runs.
	Schedule *Schedule `json:"schedule,omitempty"`

	// TrialLimitNS is how long a trial may take before it is ended and has failed. It is 0 in
	// older runs.
	TrialLimitNS int64 `json:"trial_limit_ns,omitempty"`

	// Steal is the share of the CPUs' working time that the hypervisor gave to others
	// during the rounds. It is nil if it is not known, and in older runs.
	Steal *float64 `json:"steal,omitempty"`

	// Workloads has the text of each workload. Older runs have none.
	Workloads []Workload `json:"workloads,omitempty"`

	// Answer is nil if the run was not made for a question whose answers are stored, and in
	// older runs. It is no part of the JSON forms of a run.
	Answer *Answer `json:"-"`

	Cases    []Case    `json:"cases"`
	Trials   []Trial   `json:"trials"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// Resumption is the moment at which a run went on.
type Resumption struct {
	At      time.Time `json:"at"`
	PauseNS int64     `json:"pause_ns"` // since the last trial before it ended
}

// Resumable returns the trials that are measured again if the run is resumed: those that
// failed, or did not take place because their driver had no worker.
func (r *Run) Resumable() (trials []*Trial) {
	for i := range r.Trials {
		if t := &r.Trials[i]; !t.Repeated && (t.Status == Failed || t.Status == Unavailable) {
			trials = append(trials, t)
		}
	}
	return trials
}

// Machine describes the machine of a run.
type Machine struct {
	Hostname    string `json:"hostname"`
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Kernel      string `json:"kernel,omitempty"`
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes"`
	Governor    string `json:"governor,omitempty"`
	Turbo       string `json:"turbo,omitempty"`   // whether the clock rate may be boosted: [On], [Off], or "" if not known
	SMT         string `json:"smt,omitempty"`     // whether cores run several threads: [On], [Off], or "" if not known
	Virtual     string `json:"virtual,omitempty"` // hypervisor, or "" if none is seen
	Directory   string `json:"directory"`         // where databases are created
	FileSystem  string `json:"file_system"`
	Device      string `json:"device"`
	SyncFree    bool   `json:"sync_free"` // fsync does not reach a device
}

// Host is another machine that a run was measured on, over a connection.
type Host struct {
	Name string `json:"name"` // the host that the SSH client connects to, such as pi or user@nvme
}

// LeftOut is a workload or a driver that was not measured, and why. In older runs the
// reason for leaving out a driver is only in the message.
type LeftOut struct {
	Workload string `json:"workload,omitempty"`
	Driver   string `json:"driver,omitempty"`
	Code     string `json:"code,omitempty"`    // such as [LeftOutTime]
	Message  string `json:"message,omitempty"` // of the reason why a driver has no worker
}

// UnmarshalJSON also reads the text that older versions stored, which is the name of a
// workload or a sentence about a driver.
func (l *LeftOut) UnmarshalJSON(b []byte) error {
	var text string
	switch err := json.Unmarshal(b, &text); {
	case err != nil:
		type fields LeftOut
		return json.Unmarshal(b, (*fields)(l))
	case strings.Contains(text, " "):
		*l = LeftOut{Message: text}
	default:
		*l = LeftOut{Workload: text, Code: LeftOutTime}
	}
	return nil
}

// Asked has the settings and parameters that the user gave for all workloads of a run, in place
// of the workloads' own. The values are in the order in which they were given.
type Asked struct {
	Settings   map[string][]string `json:"settings,omitempty"`
	Parameters map[string][]int64  `json:"parameters,omitempty" jsonschema:"signed"`
}

// Schedule says how long a run was to last. It ends before if everything is settled.
type Schedule struct {
	Rounds int   `json:"rounds,omitempty"`  // exactly this many; 0: until TimeNS is over
	TimeNS int64 `json:"time_ns,omitempty"` // after the first six rounds, a round that would not end within it is not started; 0 if Rounds is given
}

// Study is the published study that a run measures again.
type Study struct {
	Name        string `json:"name"`
	AsPublished bool   `json:"as_published,omitempty"` // with its known faults
	Looks       bool   `json:"looks,omitempty"`        // claims were judged during the run, and those that were clear were no longer measured
}

// Factor is the kind of difference between the two sides of a comparison.
type Factor string

// The factors.
const (
	FactorDriver    Factor = "driver"
	FactorSetting   Factor = "setting"
	FactorParameter Factor = "parameter"
)

// Compares is the question that a run was made to answer: does the second side take longer
// than the first?
type Compares struct {
	Factor Factor  `json:"factor"`
	Name   string  `json:"name,omitempty"` // of the setting or parameter
	First  string  `json:"first"`          // value of the factor
	Second string  `json:"second"`
	Margin float64 `json:"margin"` // 0.02: a difference of 2 % does not matter

	// Looks says that the run was to end when the answer was clear.
	Looks bool `json:"looks,omitempty"`
}

// Search says that a run is part of a search for settings on a driver.
type Search struct {
	Race string `json:"race"` // a description of this part, such as "each setting by itself"

	// Confirms says that the search chose nothing by the run's trials: all choices were
	// measured in all rounds. In other races the worse ones were left out before the end.
	Confirms bool `json:"confirms,omitempty"`
}

// Side returns the name of the side with the given value: the value, after the name of the
// setting or parameter.
func (s *Compares) Side(value string) string {
	if s.Factor == FactorDriver {
		return value
	}
	return s.Name + "=" + value
}

// Value returns the value that a case has of the factor, or "" if it has none.
func (s *Compares) Value(c *Case) string {
	switch s.Factor {
	case FactorDriver:
		return c.Driver
	case FactorSetting:
		return c.Settings[s.Name]
	case FactorParameter:
		if v, ok := c.Parameters[s.Name]; ok {
			return strconv.FormatInt(v, 10)
		}
	}
	return ""
}

// Beside reports whether two cases are sides of the same comparison: they differ in nothing
// but the factor and its consequences.
func (s *Compares) Beside(a, b *Case) bool {
	rest := func(c *Case) (driver.Settings, map[string]int64, string) {
		settings, parameters := maps.Clone(c.Settings), maps.Clone(c.Parameters)
		switch s.Factor {
		case FactorDriver:
			return settings, parameters, ""
		case FactorSetting:
			delete(settings, s.Name)
		case FactorParameter:
			delete(parameters, s.Name)
			delete(settings, "pool_size") // a workload's clients decide it
		}
		return settings, parameters, c.Driver
	}
	firstSet, firstParameters, first := rest(a)
	secondSet, secondParameters, second := rest(b)
	return a.Workload == b.Workload && s.Value(a) != s.Value(b) && first == second &&
		maps.Equal(firstSet, secondSet) && maps.Equal(firstParameters, secondParameters)
}

// Workload is the text of a workload of a run.
type Workload struct {
	Name     string     `json:"name"`
	Text     string     `json:"text"`               // of the YAML file
	Includes []TextFile `json:"includes,omitempty"` // SQL files that it names, by name
	SHA256   string     `json:"sha256"`             // hex, of all of it
}

// TextFile is a file with its name.
type TextFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}
