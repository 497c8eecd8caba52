package result

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// Run is a measurement: its cases, their trials in all rounds, and everything needed to judge them.
type Run struct {
	ID        int64     `json:"id"`
	Version   string    `json:"version"` // the version of sqlite3perf
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`
	Command   []string  `json:"command" jsonschema:"nullable"`
	Seed      uint64    `json:"seed"`
	Scale     string    `json:"scale"`
	Rounds    int       `json:"rounds"` // number of complete rounds
	Precision float64   `json:"precision"`
	Stopped   string    `json:"stopped" jsonschema:"enum=,constants=Stopped"` // why the run stopped, such as [StoppedRounds]; "" while it runs
	LeftOut   []LeftOut `json:"left_out,omitempty"`
	Asked     *Asked    `json:"asked,omitempty"`    // settings and parameters that the user gave; nil if none, and in older runs
	Study     *Study    `json:"study,omitempty"`    // the study that the run measures; nil if none
	Compares  *Compares `json:"compares,omitempty"` // the comparison that the run was made for; nil if none
	Search    *Search   `json:"search,omitempty"`   // the search for settings that the run is part of; nil if none
	Profiles  *Profiles `json:"profiles,omitempty"` // profiles instead of samples; nil if the run has samples
	Baseline  string    `json:"baseline,omitempty"` // name under which the run is a baseline: later runs can be compared with it; "" if none
	Hooks     *Hooks    `json:"hooks,omitempty"`    // commands that the user ran around each trial; nil if none
	Machine   Machine   `json:"machine"`
	Host      *Host     `json:"host,omitempty"` // the remote machine that the run was measured on; nil if it is the machine that ran the command

	// Resumed lists each time at which the run was resumed, after an interruption or after trials
	// had failed.
	Resumed []Resumption `json:"resumed,omitempty"`

	// Merged is the path of the store from which a merge copied the run, as the user gave it.
	// It is "" if the run was measured into its present store. A merged run may have been
	// measured by somebody else.
	Merged string `json:"merged,omitempty"`

	// Schedule says how long the run was to last. It is nil in older runs.
	Schedule *Schedule `json:"schedule,omitempty"`

	// TrialLimitNS is the time limit of a trial. A trial that takes longer is ended, and has
	// failed. It is 0 in older runs.
	TrialLimitNS int64 `json:"trial_limit_ns,omitempty"`

	// Steal is the share of the CPUs' working time that the hypervisor gave to other machines
	// during the rounds. It is nil if it is not known, and in older runs.
	Steal *float64 `json:"steal,omitempty"`

	// Workloads has the text of each workload. Older runs have none.
	Workloads []Workload `json:"workloads,omitempty"`

	// Answer has the results, other than samples, of the command for which the run was made, such
	// as `sqlite3perf tune`. It is nil for commands that store no such results, and in older runs.
	// It is not part of the JSON forms of a run.
	Answer *Answer `json:"-"`

	Cases    []Case    `json:"cases"`
	Trials   []Trial   `json:"trials"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// Resumption describes how a run was resumed, after it was interrupted or after trials had failed.
type Resumption struct {
	At      time.Time `json:"at"`
	PauseNS int64     `json:"pause_ns"` // time until At, from the end of the last earlier trial or, if that is later, from the end of the run
}

// Drivers lists the drivers of the run, in the order in which the user named them.
func (r *Run) Drivers() (names []string) {
	for i := range r.Cases {
		names = distinct.Append(names, r.Cases[i].Driver)
	}
	return names
}

// Took returns how long the run took, without the pauses between an end and a resumption.
func (r *Run) Took() time.Duration {
	took := r.Ended.Sub(r.Started)
	for _, again := range r.Resumed {
		took -= time.Duration(again.PauseNS)
	}
	return max(0, took)
}

// Resumable returns the trials that are measured again if the run is resumed: the trials that
// failed, and the trials that did not take place because their driver had no worker.
func (r *Run) Resumable() (trials []*Trial) {
	for i := range r.Trials {
		if t := &r.Trials[i]; !t.Repeated && (t.Status == Failed || t.Status == Unavailable) {
			trials = append(trials, t)
		}
	}
	return trials
}

// Machine describes the machine that a run was measured on.
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
	Virtual     string `json:"virtual,omitempty"` // name of the hypervisor; "" if none is seen
	Directory   string `json:"directory"`         // directory in which databases are created
	FileSystem  string `json:"file_system"`
	Device      string `json:"device"`
	SyncFree    bool   `json:"sync_free"` // true if fsync does not reach a device
}

// Host is a remote machine that a run was measured on.
type Host struct {
	Name string `json:"name"` // the host name as given to the SSH client, such as pi or user@nvme
}

// LeftOut is a workload or a driver that was not measured, with the reason. In older runs the
// reason for leaving out a driver is only in Message.
type LeftOut struct {
	Workload string `json:"workload,omitempty"`
	Driver   string `json:"driver,omitempty"`
	Code     string `json:"code,omitempty"`    // code of the reason, such as [LeftOutTime]
	Message  string `json:"message,omitempty"` // message of the reason, if a driver has no worker
}

// UnmarshalJSON also accepts the string that older versions stored: the name of a workload, or
// a sentence about a driver.
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

// Asked has the settings and parameters that the user gave for all workloads of a run. They replace the
// workloads' own settings and parameters. If a setting or parameter has several values, they are in the
// order in which the user gave them.
type Asked struct {
	Settings   map[string][]string `json:"settings,omitempty"`
	Parameters map[string][]int64  `json:"parameters,omitempty" jsonschema:"signed"`
}

// Hooks are commands that the user ran around each trial, by the shell. The hooks of a stored run are never run
// again, because the run may be somebody else's.
type Hooks struct {
	Prepare string `json:"prepare,omitempty"`
	Cleanup string `json:"cleanup,omitempty"`
}

// Schedule says how long a run was to last. The run ends earlier if all figures are precise enough
// or all verdicts are clear.
type Schedule struct {
	Rounds int   `json:"rounds,omitempty"`  // exact number of rounds; 0: the run lasts until TimeNS is over
	TimeNS int64 `json:"time_ns,omitempty"` // time limit: after six rounds, a round that would end later is not started; 0 if Rounds is given
}

// Study is the published study that a run repeats.
type Study struct {
	Name        string `json:"name"`
	AsPublished bool   `json:"as_published,omitempty"` // the run repeats the study with its known faults
	Looks       bool   `json:"looks,omitempty"`        // the study's claims were judged repeatedly during the run; a case was no longer measured when the verdicts on its claims were clear
}

// Factor is the kind of difference between the two sides of a comparison.
type Factor string

// The kinds of difference between the two sides of a comparison.
const (
	FactorDriver    Factor = "driver"
	FactorSetting   Factor = "setting"
	FactorParameter Factor = "parameter"
)

// Compares describes the two sides that a run was made to compare. The question is whether the
// second side takes longer than the first.
type Compares struct {
	Factor Factor  `json:"factor"`
	Name   string  `json:"name,omitempty"` // name of the setting or parameter; "" for drivers
	First  string  `json:"first"`          // value of the factor on the first side
	Second string  `json:"second"`
	Margin float64 `json:"margin"` // greatest difference that does not matter, as a share: 0.02 is 2 %

	// Looks says that the run was to end as soon as the verdicts were clear. So the verdicts were
	// judged repeatedly during the run.
	Looks bool `json:"looks,omitempty"`
}

// Search describes a run that is part of a search for settings of a driver.
type Search struct {
	Race string `json:"race"` // a description of this part of the search, such as "each setting by itself"

	// Confirms says that the run only confirms the settings that the search chose, and measured all
	// its cases in all rounds. The search's other runs dropped cases with worse settings before the
	// end.
	Confirms bool `json:"confirms,omitempty"`
}

// Side returns the name of the side that has the given value of the factor (what the comparison
// varies). For a driver, that is the value alone. For a setting or parameter, it is name=value.
func (s *Compares) Side(value string) string {
	if s.Factor == FactorDriver {
		return value
	}
	return s.Name + "=" + value
}

// Value returns a case's value of the factor (what the comparison varies), or "" if the case has
// none.
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

// Beside reports whether two cases are the two sides of the same comparison. They must have
// different values of the factor, and be equal in everything else. There is one exception: if the
// factor is a parameter, the size of the pool may differ too.
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
			delete(settings, "pool_size") // the number of clients determines the pool size
		}
		return settings, parameters, c.Driver
	}
	firstSet, firstParameters, first := rest(a)
	secondSet, secondParameters, second := rest(b)
	return a.Workload == b.Workload && s.Value(a) != s.Value(b) && first == second &&
		maps.Equal(firstSet, secondSet) && maps.Equal(firstParameters, secondParameters)
}

// Workload is the text of a workload that a run measured.
type Workload struct {
	Name     string     `json:"name"`
	Text     string     `json:"text"`               // text of the YAML file
	Includes []TextFile `json:"includes,omitempty"` // SQL files that the YAML file names, ordered by name
	SHA256   string     `json:"sha256"`             // hash of the YAML file and the SQL files, in hex
}

// TextFile is a text file that a workload includes.
type TextFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}
