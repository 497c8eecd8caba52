package driver

import (
	"context"
	"time"
)

// ClusterDB is a [DB] that several processes on this machine keep together. Each process, called
// a member, has its own copy of the data. A job kills or isolates members to see whether data is
// lost. Members are numbered from 0.
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
	Address string        // address where the other members reach this member
	Delay   time.Duration // how long each byte between this member and another one is delayed
	Dir     string        // directory with all data of the member
	Version string        // version of the member's program
}

// ReadLevels lists the levels of consistency of a read in a [ClusterDB], the weakest first.
// With the level none a member answers from its own copy.
var ReadLevels = []string{"none", "weak", "linearizable", "strong"}
