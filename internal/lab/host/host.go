// Package host runs trials on another machine. It starts an agent there with the system's SSH client. The
// agent is a copy of this executable. It builds the workers on its machine, and runs the trials that this
// machine requests, one after another. This machine schedules the trials, stores their results and judges
// them.
//
// The agent leaves nothing on its machine except its cache. When its input ends, it kills its workers and
// ends.
package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// AgentCommand is the subcommand that runs an [Agent] on its standard input and output.
const AgentCommand = "host-agent"

// Options describes how to reach other machines.
type Options struct {
	SSH        []string // the SSH client with its options; nil: ssh
	Version    string   // version of this sqlite3perf
	Executable string   // path of this process's executable

	// Build builds sqlite3perf for another platform. It returns the path of the executable, and a function that
	// removes it. If Build is nil or the returned path is "", sqlite3perf cannot be built here.
	Build func(ctx context.Context, goos, goarch string) (path string, remove func(), err error)

	Say func(format string, args ...any) // reports progress to the user; may be nil

	hasty *patience // timeouts for tests; nil: the usual ones
}

func (o *Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(format, args...)
	}
}

// Error says what is wrong with a machine, and what the user can do about it.
type Error struct{ Host, Message string }

func (e *Error) Error() string { return "host " + e.Host + ": " + e.Message }

// Parse checks host names that a user typed, such as pi or user@nvme. These names are passed to ssh as they
// are.
func Parse(names []string) ([]string, error) {
	var list []string
	for _, name := range names {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return nil, fmt.Errorf("a host without a name: want names as for ssh, such as pi,user@nvme")
		case strings.HasPrefix(name, "-"), strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			return nil, fmt.Errorf("%q is not the name of a host: want one as for ssh, such as pi or user@nvme", name)
		case slices.Contains(list, name):
			return nil, fmt.Errorf("host %s is named twice: name it once", name)
		}
		list = append(list, name)
	}
	return list, nil
}
