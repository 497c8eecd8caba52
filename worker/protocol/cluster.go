package protocol

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// Cluster writes rows to a new database and measures when they are acknowledged, and when
// every member of the cluster has them. If the database is not a cluster, it is taken for
// one member. Then the job harms the cluster under load, and counts what was lost.
type Cluster struct {
	Loads      []ClusterLoad `json:"loads,omitempty"`
	DurationMS int64         `json:"duration_ms,omitempty"` // of each load, twice: for acknowledged and for visible
	Patience   int64         `json:"patience_ms,omitempty"` // how long a write may take, and then until every member has it; 0: a minute
	Harm       *ClusterHarm  `json:"harm,omitempty"`
}

// ClusterLoad is clients that write, each as fast as it can.
type ClusterLoad struct {
	Clients int `json:"clients" jsonschema:"minimum=1"`
	Batch   int `json:"batch" jsonschema:"minimum=1"` // rows per INSERT, which is its own transaction
}

// ClusterHarm says how a cluster is harmed while clients write single rows, and read with
// every level of consistency.
type ClusterHarm struct {
	Clients  int      `json:"clients" jsonschema:"minimum=1"`
	Kills    int      `json:"kills,omitempty"`                                                                         // of the leader, which is restarted on its data
	Cuts     int      `json:"cuts,omitempty"`                                                                          // of the leader's connections to the other members, which are healed
	LoadMS   int64    `json:"load_ms" jsonschema:"minimum=1"`                                                          // how long load goes on before each, and after it until it is undone
	LimitMS  int64    `json:"limit_ms" jsonschema:"minimum=1"`                                                         // of an operation of a client
	Patience int64    `json:"patience_ms" jsonschema:"minimum=1"`                                                      // how long the cluster may take to recover
	Levels   []string `json:"levels" jsonschema:"optional,nullable,enum=none,enum=weak,enum=linearizable,enum=strong"` // of reads
}

// Clustered is the result of Cluster.
type Clustered struct {
	Members      []ClusterMember `json:"members" jsonschema:"minItems=1"`
	Loads        []LoadResult    `json:"loads,omitempty"`
	Harmed       *Harmed         `json:"harmed,omitempty"`
	Rows         int64           `json:"rows"`                     // acknowledged in all
	DiskBytes    int64           `json:"disk_bytes"`               // that all members use at the end
	PeakRSSBytes int64           `json:"peak_rss_bytes,omitempty"` // of all members, or of this process if it has the database
}

// ClusterMember is a member of the cluster, as it is configured.
type ClusterMember struct {
	ID        string `json:"id"`
	Address   string `json:"address,omitempty"` // where the others reach it
	DelayNS   int64  `json:"delay_ns,omitempty"`
	Version   string `json:"version,omitempty"`
	DiskBytes int64  `json:"disk_bytes"`
}

// LoadResult is what clients have done under a load.
type LoadResult struct {
	ClusterLoad
	WallNS       int64           `json:"wall_ns"`
	Failed       int64           `json:"failed,omitempty"` // of the writes
	Error        string          `json:"error,omitempty"`  // the first
	Acknowledged latency.Summary `json:"acknowledged"`     // of each write that did not fail
	Visible      latency.Summary `json:"visible"`          // at every member; of the writes of one client, in a second part of the load
	MemberCPUNS  int64           `json:"member_cpu_ns"`    // of the members' own processes, in the first part
	CPUNS        int64           `json:"cpu_ns"`           // of all processes, with the clients'
}

// Harmed is what came of the harm.
type Harmed struct {
	Harms        []Harm       `json:"harms"`
	Acknowledged int64        `json:"acknowledged"`     // writes
	Failed       int64        `json:"failed,omitempty"` // writes that may have taken effect or not
	Found        int64        `json:"found"`            // rows in the end, read with the strongest level
	Lost         int64        `json:"lost"`             // of those acknowledged, not found
	LostIDs      []int64      `json:"lost_ids,omitempty" jsonschema:"signed"`
	Missing      []Missing    `json:"missing"` // member by member
	Reads        []LevelReads `json:"reads" jsonschema:"nullable"`
}

// Harm is one kill or cut.
type Harm struct {
	Kind        string `json:"kind" jsonschema:"constants=Harm"` // kill or cut
	Member      string `json:"member"`
	SilentNS    int64  `json:"silent_ns"`    // the longest time without an acknowledged write
	RecoveredNS int64  `json:"recovered_ns"` // until a write was acknowledged that began afterwards
}

// The kinds of harm.
const (
	HarmKill = "kill"
	HarmCut  = "cut"
)

// Missing says what a member does not have in the end.
type Missing struct {
	Member string `json:"member"`
	Rows   int64  `json:"rows"` // found, but not in its own copy
	Lost   int64  `json:"lost"` // acknowledged, but not in its own copy
}

// LevelReads counts reads with a level of consistency. A read is stale if it does not see a
// write that was acknowledged before it began.
type LevelReads struct {
	Level  string `json:"level" jsonschema:"enum=none,enum=weak,enum=linearizable,enum=strong"`
	Reads  int64  `json:"reads"`
	Failed int64  `json:"failed,omitempty"`
	Stale  int64  `json:"stale"`
}

// mostBatch rows of two parameters are the most that a statement can have.
const mostBatch = 16_000

func (c *Cluster) check() error {
	if len(c.Loads) == 0 && c.Harm == nil {
		return fmt.Errorf("a job cluster has neither loads nor harm: want one of them")
	}
	for _, l := range c.Loads {
		switch {
		case l.Clients < 1 || l.Clients > maxMembers:
			return BadField("clients", l.Clients, "want 1 to %d", maxMembers)
		case l.Batch < 1 || l.Batch > mostBatch:
			return BadField("batch", l.Batch, "want 1 to %d rows per INSERT", mostBatch)
		case c.DurationMS < 1:
			return BadField("duration_ms", c.DurationMS, "want a duration above 0, such as 2000")
		}
	}
	h := c.Harm
	if h == nil {
		return nil
	}
	switch {
	case h.Clients < 1 || h.Clients > maxMembers:
		return BadField("clients", h.Clients, "want 1 to %d", maxMembers)
	case h.Kills < 0 || h.Cuts < 0 || h.Kills+h.Cuts == 0:
		return fmt.Errorf("%d kills and %d cuts: want at least one", h.Kills, h.Cuts)
	case h.LoadMS < 1 || h.LimitMS < 1 || h.Patience < 1:
		return fmt.Errorf("load_ms %d, limit_ms %d, patience_ms %d: want all above 0", h.LoadMS, h.LimitMS, h.Patience)
	}
	for _, l := range h.Levels {
		if !slices.Contains(driver.ReadLevels, l) {
			return BadField("levels", l, "%s", driver.Suggest(l, driver.ReadLevels))
		}
	}
	return nil
}
