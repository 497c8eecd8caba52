package driver

import (
	"context"
	"time"
)

// ClusterDB is a [DB] whose data is kept by several processes on this machine. Each process, called
// a member, has its own copy of the data. The command `sqlite3perf cluster` kills or isolates
// members to see whether data is lost. Members are numbered from 0.
type ClusterDB interface {
	DB

	Members() []Member

	// Leader waits until most members agree on a leader, and returns the leader's number.
	Leader(ctx context.Context) (int, error)

	// ExecAt sends a member a statement that changes data. It returns nil only if the cluster has
	// acknowledged the change. Arguments are of type int64 or string.
	ExecAt(ctx context.Context, member int, sql string, args ...any) error

	// IntsAt sends a member a query whose result is one column of integers. The parameter "level" is
	// the level of consistency, one of [ReadLevels].
	IntsAt(ctx context.Context, member int, level, sql string, args ...any) ([]int64, error)

	// Kill ends a member's process as SIGKILL does. Restart starts the member again with its
	// data, and returns when it is working again.
	Kill(member int) error
	Restart(ctx context.Context, member int) error

	// Isolate cuts a member off from the other members, but not from its clients, until Heal is
	// called.
	Isolate(member int) error
	Heal(member int) error
}

// Member is a member of a [ClusterDB].
type Member struct {
	ID      string
	Address string        // address where the other members reach this member
	Delay   time.Duration // how long each byte between this member and another member is delayed
	Dir     string        // directory with all data of the member
	Version string        // version of the member's program
}

// ReadLevels lists the levels of consistency of a read in a [ClusterDB], the weakest first. With
// the level "none", a member reads only its own copy.
var ReadLevels = []string{"none", "weak", "linearizable", "strong"}
