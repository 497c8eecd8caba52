package driver

import (
	"context"
	"time"
)

// ClusterDB is a [DB] that several processes on this machine keep together, each with its own
// copy. A job harms it to see which data is lost then. Its members are numbered from 0.
type ClusterDB interface {
	DB

	Members() []Member

	// Leader waits until most members agree on which of them leads, and returns it.
	Leader(ctx context.Context) (int, error)

	// ExecAt sends a statement that writes to a member. It returns nil only if the cluster has
	// acknowledged the write. Arguments are of type int64 or string.
	ExecAt(ctx context.Context, member int, sql string, args ...any) error

	// IntsAt sends a query of one column of integers to a member. The level of consistency is
	// one of [ReadLevels].
	IntsAt(ctx context.Context, member int, level, sql string, args ...any) ([]int64, error)

	// Kill ends a member's process as SIGKILL does. Restart starts it again on its data, and
	// returns when it is a working member again.
	Kill(member int) error
	Restart(ctx context.Context, member int) error

	// Isolate cuts a member off from the others, but not from its clients, until Heal.
	Isolate(member int) error
	Heal(member int) error
}

// Member is a member of a [ClusterDB].
type Member struct {
	ID      string
	Address string        // address at which the other members reach it
	Delay   time.Duration // delay of each byte between it and another member
	Dir     string        // directory of all its data
	Version string        // version of the member's program
}

// ReadLevels lists the levels of consistency of a read in a [ClusterDB], the weakest first.
// With the level none a member answers from its own copy.
var ReadLevels = []string{"none", "weak", "linearizable", "strong"}
