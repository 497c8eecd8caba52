package host

import (
	"encoding/json"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// protocolVersion is the version of the messages between this machine and the agent. Usually both run the same
// executable, or executables built from the same sources.
const protocolVersion = 2

// hello is the first line that an agent (a sqlite3perf that runs on another machine) writes.
type hello struct {
	Agent    int    `json:"sqlite3perf_agent"` // protocolVersion of the agent
	Version  string `json:"version"`           // version of sqlite3perf
	SHA256   string `json:"sha256"`            // SHA-256 of the agent's executable
	Platform string `json:"platform"`          // GOOS/GOARCH of the agent's executable
	Boot     string `json:"boot,omitempty"`    // result of Boot in package machine, on the agent's machine
}

// request asks the agent on another machine to do something. The agent answers requests in the order received.
type request struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// reply is a message of the agent. If Event is "", it is the answer to the request with the same ID.
// Otherwise it reports progress of that request, or answers a ping.
type reply struct {
	ID     int             `json:"id"`
	Event  string          `json:"event,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// Methods of requests. Each comment gives the types of the parameters and of the result.
const (
	methodPing    = "ping"    // no parameters; the reply is an event without ID
	methodOpen    = "open"    // parameters: Place; result: result.Machine
	methodInUse   = "in-use"  // parameters: string with a directory for databases; result: bool
	methodPrepare = "prepare" // parameters: []wireCase; result: []preparation; events are of type building
	methodSend    = "send"    // parameters: sending; result: sent
	methodNeeds   = "needs"   // parameters: []preparation; result: []preparation
	methodNoise   = "noise"   // parameters: string with a moment, such as beforeRun; result: []result.Warning
	methodSteal   = "steal"   // no parameters; result: *float64
	methodTrials  = "trials"  // parameters: trials; result: []*result.Trial
)

// wireCase is a [lab.Case] in the form in which it is sent to the agent.
type wireCase struct {
	result.Case
	Plan   *plan.Plan                 `json:"plan"`
	Expect map[string]lab.Expectation `json:"expect"`
	Given  driver.Settings            `json:"given,omitempty"`
	Needs  []string                   `json:"needs,omitempty"` // features that the workload needs
}

// preparation describes the prepared worker of a case.
type preparation struct {
	ID          int               `json:"id"`
	Worker      string            `json:"worker,omitempty"`
	Build       map[string]string `json:"build,omitempty"`
	Linked      map[string]string `json:"linked,omitempty"`
	Info        driver.Info       `json:"info"`
	Unavailable *protocol.Reason  `json:"unavailable,omitempty"`
}

// building reports that a worker's build has begun or ended.
type building struct {
	I      int              `json:"i"`
	N      int              `json:"n"`
	Driver string           `json:"driver"`
	Done   bool             `json:"done,omitempty"`
	Reason *protocol.Reason `json:"reason,omitempty"` // why the worker could not be built; nil: no error
}

// sending is a part of a worker. It is sent to the agent by the machine that has built the worker.
type sending struct {
	SHA256 string `json:"sha256"` // SHA-256 of the complete worker
	Data   []byte `json:"data,omitempty"`
	Last   bool   `json:"last,omitempty"`
}

// sent has the path of a worker on the agent's machine, or "" if the agent needs more parts of the worker.
type sent struct {
	Path string `json:"path,omitempty"`
}

// The moments at which the agent observes the machine's noise.
const (
	beforeRun   = "before-run"
	beforeRound = "before-round"
	afterRun    = "after-run"
)

type trials struct {
	Cases []int  `json:"cases"` // IDs of the cases
	Seed  uint64 `json:"seed"`
}
