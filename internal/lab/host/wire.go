package host

import (
	"encoding/json"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// protocolVersion is the version of what both sides say to each other. Usually both are the
// same executable, or built from the same sources.
const protocolVersion = 2

// hello is the first line that an agent writes.
type hello struct {
	Agent    int    `json:"sqlite3perf_agent"` // the version of the protocol
	Version  string `json:"version"`           // of sqlite3perf
	SHA256   string `json:"sha256"`            // of its executable
	Platform string `json:"platform"`          // GOOS/GOARCH
	Boot     string `json:"boot,omitempty"`    // what package machine's Boot returns
}

// request asks the agent to do something. It answers each with a reply, in their order.
type request struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// reply answers a request, if Event is "". Otherwise it tells of progress, or answers a ping.
type reply struct {
	ID     int             `json:"id"`
	Event  string          `json:"event,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// The methods, and the types of what they are given and what they return.
const (
	methodPing    = "ping"    // nothing; the reply is an event that answers no request
	methodOpen    = "open"    // opening: result.Machine
	methodInUse   = "in-use"  // a directory for databases: bool
	methodPrepare = "prepare" // []wireCase: []preparation; events are of type building
	methodSend    = "send"    // sending: sent
	methodNeeds   = "needs"   // []preparation: []preparation
	methodNoise   = "noise"   // a moment: []result.Warning
	methodSteal   = "steal"   // nothing: *float64
	methodTrials  = "trials"  // trials: []*result.Trial
)

// opening is what a run needs to know before anything is measured.
type opening struct {
	Dir     string `json:"dir,omitempty"` // for databases; "": in the user's cache directory
	LimitNS int64  `json:"limit_ns"`      // of one trial
	Hint    string `json:"hint,omitempty"`

	Elsewhere string `json:"elsewhere,omitempty"` // what else to do if there is no room in Dir
}

// wireCase is a [lab.Case] as it travels.
type wireCase struct {
	result.Case
	Plan   *plan.Plan                 `json:"plan"`
	Expect map[string]lab.Expectation `json:"expect"`
	Given  driver.Settings            `json:"given,omitempty"`
	Needs  []string                   `json:"needs,omitempty"` // features
}

// preparation is what is known of a case when its worker has been built.
type preparation struct {
	ID          int               `json:"id"`
	Worker      string            `json:"worker,omitempty"`
	Build       map[string]string `json:"build,omitempty"`
	Linked      map[string]string `json:"linked,omitempty"`
	Info        driver.Info       `json:"info"`
	Unavailable *protocol.Reason  `json:"unavailable,omitempty"`
}

// building is an event while workers are prepared.
type building struct {
	I      int              `json:"i"`
	N      int              `json:"n"`
	Driver string           `json:"driver"`
	Done   bool             `json:"done,omitempty"`
	Reason *protocol.Reason `json:"reason,omitempty"` // why it could not be built
}

// sending is a part of a worker that was built on the other side.
type sending struct {
	SHA256 string `json:"sha256"` // of the whole
	Data   []byte `json:"data,omitempty"`
	Last   bool   `json:"last,omitempty"`
}

// sent says where a worker is that was sent, or "" if more parts of it are wanted.
type sent struct {
	Path string `json:"path,omitempty"`
}

// The moments at which the machine's noise is observed.
const (
	beforeRun   = "before-run"
	beforeRound = "before-round"
	afterRun    = "after-run"
)

type trials struct {
	Cases []int  `json:"cases"` // IDs
	Seed  uint64 `json:"seed"`
}
