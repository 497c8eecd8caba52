// Package host makes another machine a place to measure on. It starts an agent there over
// the system's own SSH client: the same executable, which builds the workers there and runs
// the trials that this side asks for, one after another. What is measured when, what is
// stored and how it is judged stays on this side.
//
// Nothing is left behind on the other machine, apart from its cache: the agent ends when
// its input does, with the workers that it started.
package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// AgentCommand is the subcommand that runs an [Agent] on its standard input and output.
const AgentCommand = "host-agent"

// Options say how machines are reached.
type Options struct {
	SSH        []string // the SSH client with its options; nil: ssh
	Version    string   // of this sqlite3perf
	Executable string   // of this process

	// Build builds sqlite3perf for another platform, and returns the path of the
	// executable, which remove removes. If it is nil, or path is "", it cannot be built
	// here.
	Build func(ctx context.Context, goos, goarch string) (path string, remove func(), err error)

	Say func(format string, args ...any) // tells of progress; may be nil

	hasty *patience // nil: as long as usual
}

func (o *Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(format, args...)
	}
}

// Error says what is wrong with a machine, and what to do about it.
type Error struct{ Host, Message string }

func (e *Error) Error() string { return "host " + e.Host + ": " + e.Message }

// Parse checks names as a user typed them: what ssh connects to, such as pi or user@nvme.
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
