package protocol

import (
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
)

// Cluster is a job that writes rows to a new database. It measures the time until a write is
// acknowledged, and the time until every member of the cluster has the rows of that write. A
// database that is not a cluster counts as one member. If Harm is set, the job then kills members
// of the cluster or cuts their connections under load, and counts the lost rows.
type Cluster struct {
	Loads      []ClusterLoad `json:"loads,omitempty"`
	DurationMS int64         `json:"duration_ms,omitempty"` // duration of each load; every load runs twice, once for the latency Acknowledged and once for Visible
	Patience   int64         `json:"patience_ms,omitempty"` // longest time for a write, and for the wait until every member has the rows; 0: a minute
	Harm       *ClusterHarm  `json:"harm,omitempty"`
}

// ClusterLoad describes clients that write, each as fast as it can.
type ClusterLoad struct {
	Clients int `json:"clients" jsonschema:"minimum=1"`
	Batch   int `json:"batch" jsonschema:"minimum=1"` // rows per INSERT; each INSERT is its own transaction
}

// ClusterHarm says how a cluster is harmed while clients write single rows, and other clients read
// with each level in Levels.
type ClusterHarm struct {
	Clients  int      `json:"clients" jsonschema:"minimum=1"`
	Kills    int      `json:"kills,omitempty"`                                                                         // number of times that the leader is killed and restarted with its data
	Cuts     int      `json:"cuts,omitempty"`                                                                          // number of times that the leader's connections to the other members are cut and restored
	LoadMS   int64    `json:"load_ms" jsonschema:"minimum=1"`                                                          // how long the load runs before each kill or cut, and again after the cluster has recovered, before the member is restarted or reconnected
	LimitMS  int64    `json:"limit_ms" jsonschema:"minimum=1"`                                                         // longest time for an operation of a client
	Patience int64    `json:"patience_ms" jsonschema:"minimum=1"`                                                      // longest time for the cluster to recover
	Levels   []string `json:"levels" jsonschema:"optional,nullable,enum=none,enum=weak,enum=linearizable,enum=strong"` // levels of consistency with which clients read
}

// Clustered is the result of Cluster.
type Clustered struct {
	Members      []ClusterMember `json:"members" jsonschema:"minItems=1"`
	Loads        []LoadResult    `json:"loads,omitempty"`
	Harmed       *Harmed         `json:"harmed,omitempty"`
	Rows         int64           `json:"rows"`                     // acknowledged rows of all writes
	DiskBytes    int64           `json:"disk_bytes"`               // disk space that all members use at the end
	PeakRSSBytes int64           `json:"peak_rss_bytes,omitempty"` // peak memory of all members, or of this process if the database is not a cluster
}

// ClusterMember is a member of the cluster and its configuration.
type ClusterMember struct {
	ID        string `json:"id"`
	Address   string `json:"address,omitempty"` // address at which the other members reach this member
	DelayNS   int64  `json:"delay_ns,omitempty"`
	Version   string `json:"version,omitempty"`
	DiskBytes int64  `json:"disk_bytes"`
}

// LoadResult is the result of one load.
type LoadResult struct {
	ClusterLoad
	WallNS       int64           `json:"wall_ns"`
	Failed       int64           `json:"failed,omitempty"` // writes that failed
	Error        string          `json:"error,omitempty"`  // first error of a write
	Acknowledged latency.Summary `json:"acknowledged"`     // latency until a write is acknowledged, without writes that failed
	Visible      latency.Summary `json:"visible"`          // latency until every member has the row, for the writes of one client when the load runs a second time
	MemberCPUNS  int64           `json:"member_cpu_ns"`    // CPU time of the members' own processes when the load runs the first time
	CPUNS        int64           `json:"cpu_ns"`           // MemberCPUNS plus the CPU time of this process, which has the clients
}

// Harmed is the effect of all kills and cuts.
type Harmed struct {
	Harms        []Harm       `json:"harms"`
	Acknowledged int64        `json:"acknowledged"`     // acknowledged writes
	Failed       int64        `json:"failed,omitempty"` // failed writes; each may have taken effect or not
	Found        int64        `json:"found"`            // rows read at the end with the strongest level of consistency
	Lost         int64        `json:"lost"`             // acknowledged rows that were not found
	LostIDs      []int64      `json:"lost_ids,omitempty" jsonschema:"signed"`
	Missing      []Missing    `json:"missing"` // one entry for each member
	Reads        []LevelReads `json:"reads" jsonschema:"nullable"`
}

// Harm is one kill or cut.
type Harm struct {
	Kind        string `json:"kind" jsonschema:"constants=Harm"` // kill or cut
	Member      string `json:"member"`
	SilentNS    int64  `json:"silent_ns"`    // the longest time without an acknowledged write
	RecoveredNS int64  `json:"recovered_ns"` // time from the kill or cut until the acknowledgment of a write that began after the kill or cut
}

// The kinds of harm.
const (
	HarmKill = "kill"
	HarmCut  = "cut"
)

// Missing counts the rows that one member's own copy of the database lacks at the end.
type Missing struct {
	Member string `json:"member"`
	Rows   int64  `json:"rows"` // rows that were read at the end with the strongest level, but are not in the member's copy
	Lost   int64  `json:"lost"` // acknowledged rows that are not in the member's copy
}

// LevelReads counts reads with a level of consistency. A read is stale if it does not return a
// row whose write was acknowledged before the read began.
type LevelReads struct {
	Level  string `json:"level" jsonschema:"enum=none,enum=weak,enum=linearizable,enum=strong"`
	Reads  int64  `json:"reads"`
	Failed int64  `json:"failed,omitempty"`
	Stale  int64  `json:"stale"`
}

// mostBatch is the maximum number of rows per INSERT. Each row has two parameters, and SQLite
// limits the parameters of a statement.
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
