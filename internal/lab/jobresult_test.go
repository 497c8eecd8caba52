package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// jobsOfAll returns, by name, a job of each type with the result of a correct worker.
func jobsOfAll() map[string]struct {
	job protocol.Job
	got protocol.JobResult
} {
	group := func(n int) protocol.Group {
		return protocol.Group{Operations: int64(n), Failed: 1, Rows: int64(n), Errors: []protocol.ErrorCount{{Code: 5, Count: 1}},
			Latency: latency.Summary{Operation: "x", Count: int64(n), Histogram: histogram(n, time.Millisecond)}}
	}
	value := "wal"
	load := protocol.ClusterLoad{Clients: 2, Batch: 10}
	times := func(n int) latency.Summary {
		return latency.Summary{Operation: "x", Count: int64(n), Histogram: histogram(n, time.Millisecond)}
	}
	type kind = struct {
		job protocol.Job
		got protocol.JobResult
	}
	return map[string]kind{
		"generate": {protocol.Job{Generate: &protocol.Generate{Rows: 100}}, protocol.JobResult{Generate: &protocol.Generated{Rows: 100, WallNS: 5e6}}},
		"bench": {protocol.Job{Bench: &protocol.Bench{}}, protocol.JobResult{Bench: &protocol.Benched{Rows: 100, AfterQueryNS: 10, FirstRowNS: 20, WallNS: 5e6, Mismatches: 1,
			First: []protocol.Mismatch{{Row: 5, ID: "5", Why: "x"}}}}},
		"pragma": {protocol.Job{Pragma: &protocol.Pragma{Pragmas: []protocol.PragmaArgument{{Name: "journal_mode", Value: &value}, {Name: "page_size"}}}},
			protocol.JobResult{Pragma: []protocol.PragmaRead{{Name: "journal_mode", Set: &value, Got: []string{"wal"}, Took: true}, {Name: "page_size"}}}},
		"concurrent": {protocol.Job{Concurrent: &protocol.Concurrent{Readers: 2, Writers: 1, DurationMS: 5}},
			protocol.JobResult{Concurrent: &protocol.Concurred{WallNS: 6e6, Readers: group(10), Writers: group(3)}}},
		"paginate": {protocol.Job{Paginate: &protocol.Paginate{Repetitions: 2}},
			protocol.JobResult{Paginate: &protocol.Paginated{Rows: 50, Depths: []protocol.Page{{Depth: 10, OffsetNS: []int64{1, 2}, KeysetNS: []int64{3, 4}}}}}},
		"cluster": {protocol.Job{Cluster: &protocol.Cluster{Loads: []protocol.ClusterLoad{load}, DurationMS: 5, Harm: &protocol.ClusterHarm{Kills: 1, Cuts: 1, Levels: []string{"none"}}}},
			protocol.JobResult{Cluster: &protocol.Clustered{Members: []protocol.ClusterMember{{ID: "1"}}, Rows: 200, DiskBytes: 1,
				Loads: []protocol.LoadResult{{ClusterLoad: load, WallNS: 6e6, CPUNS: 10, MemberCPUNS: 5, Acknowledged: times(10), Visible: times(3)}},
				Harmed: &protocol.Harmed{Harms: []protocol.Harm{{Kind: "kill", SilentNS: 1e6, RecoveredNS: 1e6}, {Kind: "cut"}}, Acknowledged: 100, Found: 99, Lost: 1,
					Missing: []protocol.Missing{{Member: "1", Rows: 1, Lost: 2}}, Reads: []protocol.LevelReads{{Level: "none", Reads: 10, Failed: 1, Stale: 2}}},
			}}},
		"commit": {protocol.Job{Commit: &protocol.Commit{Transactions: 3, Attempts: 2, Digests: true}},
			protocol.JobResult{Commit: &protocol.Committed{Acknowledged: 2, CommitNS: []int64{1e6}, Digests: []string{"a", "b", "c"}, GaveUp: true,
				Failures: []protocol.CommitFailure{{Transaction: 1, Message: "x"}, {Transaction: 3, Message: "x"}, {Transaction: 3, Message: "x"}}}}},
		"commit, all": {protocol.Job{Commit: &protocol.Commit{Transactions: 3, Attempts: 2}}, protocol.JobResult{Commit: &protocol.Committed{Acknowledged: 3, CommitNS: []int64{1, 2, 3}}}},
		"judge": {protocol.Job{Judge: &protocol.Judge{Paths: []string{"/1", "/2"}}},
			protocol.JobResult{Judge: []protocol.JudgedState{{Transaction: 3, Digest: "a"}, {Transaction: -1, Error: "x"}}}},
	}
}

func TestHonestJobs(t *testing.T) {
	for name, k := range jobsOfAll() {
		if faults := lab.CheckJob(&k.job, &k.got, 10*time.Millisecond); len(faults) > 0 {
			t.Errorf("%s: %+v", name, faults)
		}
		if c := k.got.Concurrent; c != nil && (c.Readers.Latency.P99NS < 1e6 || c.Readers.Errors[0].Name != "SQLITE_BUSY") {
			t.Errorf("CheckJob computed the latencies %+v and the errors %+v", c.Readers.Latency, c.Readers.Errors)
		}
	}
}

func TestJobLies(t *testing.T) {
	for _, c := range []struct {
		kind string
		lie  func(*protocol.JobResult)
		want string
	}{
		{"generate", func(r *protocol.JobResult) { r.Generate.Rows = 99 }, "generate.rows is 99: want 100"},
		{"generate", func(r *protocol.JobResult) { r.Generate.WallNS = 1 }, "generate.wall_ns is 1: want at least 5000"},
		{"generate", func(r *protocol.JobResult) { r.Generate.WallNS = 1e9 }, "generate.wall_ns is 1000000000, 1s: want at most 10ms"},
		{"generate", func(r *protocol.JobResult) { r.Generate.VacuumNS = 5 }, "generate.vacuum_ns is 5: want 0"},
		{"bench", func(r *protocol.JobResult) { r.Bench.Rows = -1 }, "bench.rows is -1"},
		{"bench", func(r *protocol.JobResult) { r.Bench.WallNS = 50 }, "bench.wall_ns is 50: want at least 100"},
		{"bench", func(r *protocol.JobResult) { r.Bench.AfterQueryNS = 6e6 }, "bench.after_query_ns is 6000000: want a number from 0 to 5000000"},
		{"bench", func(r *protocol.JobResult) { r.Bench.FirstRowNS = -1 }, "bench.first_row_ns is -1"},
		{"bench", func(r *protocol.JobResult) { r.Bench.Mismatches = 101 }, "bench.mismatches is 101: want at most 100"},
		{"bench", func(r *protocol.JobResult) { r.Bench.First = nil }, "bench.first_mismatches has 0 entries: want 1"},
		{"bench", func(r *protocol.JobResult) { r.Bench.First[0].Row = 100 }, "bench.first_mismatches[0].row is 100: want less than 100"},
		{"pragma", func(r *protocol.JobResult) { r.Pragma[0].Name = "synchronous" }, `pragma[0].name is "synchronous": want "journal_mode"`},
		{"pragma", func(r *protocol.JobResult) { r.Pragma[0].Set = nil }, "pragma[0].set is not the value"},
		{"pragma", func(r *protocol.JobResult) { r.Pragma[0].Got = nil }, "pragma[0].took is true, but nothing was read back"},
		{"pragma", func(r *protocol.JobResult) { r.Pragma[1].Took = true }, "pragma[1].took is true: want false"},
		{"concurrent", func(r *protocol.JobResult) { r.Concurrent.WallNS = 4e6 }, "concurrent.wall_ns is 4000000: want at least 5000000"},
		{"concurrent", func(r *protocol.JobResult) { r.Concurrent.Readers.Operations = 1000 }, "concurrent.readers.latency.histogram holds 10 latencies: want 1000"},
		{"concurrent", func(r *protocol.JobResult) { r.Concurrent.Writers.Latency.Histogram = "" }, "concurrent.writers.latency.histogram cannot be read"},
		{"concurrent", func(r *protocol.JobResult) { r.Concurrent.Writers.Failed = 0 }, "concurrent.writers.errors counts 1 in all: want 0"},
		{"concurrent", func(r *protocol.JobResult) { r.Concurrent.Writers.Failed = 9 }, "concurrent.writers.failed is 9: want at most 3"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Members = nil }, "cluster.members is empty"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Loads = nil }, "cluster.loads has 0 loads: want 1"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Loads[0].Clients = 3 }, "cluster.loads[0] has 3 clients and batches of 10: want 2 and 10"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Loads[0].WallNS = 4e6 }, "cluster.loads[0].wall_ns is 4000000: want at least 5000000"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Loads[0].MemberCPUNS = 11 }, "cluster.loads[0].member_cpu_ns is 11: want at most 10"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Loads[0].Acknowledged.Count = 1000 }, "cluster.loads[0].acknowledged.histogram holds 10 latencies: want 1000"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Loads[0].Visible.Histogram = "" }, "cluster.loads[0].visible.histogram cannot be read"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Harmed = nil }, "cluster.harmed is there or not"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Harmed.Harms[1].Kind = "kill" }, "cluster.harmed.harms has 2 kills and 0 cuts: want 1 and 1"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Harmed.Harms[0].SilentNS = 1e9 }, "cluster.harmed.harms[0].silent_ns is 1000000000, 1s: want at most 10ms"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Harmed.Lost = 101 }, "cluster.harmed.lost is 101: want at most 100"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Harmed.Found = -1 }, "cluster.harmed.found is -1"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Harmed.Failed = -1 }, "cluster.harmed.failed is -1"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Harmed.Acknowledged = -1 }, "cluster.harmed.acknowledged is -1"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Harmed.Missing = nil }, "cluster.harmed.missing has 0 members: want 1"},
		{"cluster", func(r *protocol.JobResult) { r.Cluster.Harmed.Reads[0].Stale = 11 }, "cluster.harmed.reads[0].stale is 11: want at most 10"},
		{"commit", func(r *protocol.JobResult) { r.Commit = nil }, "the worker's result is not of the job"},
		{"commit", func(r *protocol.JobResult) { r.Commit.Acknowledged = -1 }, "commit.acknowledged is -1: want 0 to 3"},
		{"commit", func(r *protocol.JobResult) { r.Commit.Acknowledged = 4 }, "commit.acknowledged is 4: want 0 to 3"},
		{"commit, all", func(r *protocol.JobResult) { r.Commit.Acknowledged = 0 }, "commit.acknowledged is 0: want 1 to 3"},
		{"commit", func(r *protocol.JobResult) { r.Commit.Digests = r.Commit.Digests[1:] }, "commit.digests has 2 hashes: want 3"},
		{"commit, all", func(r *protocol.JobResult) { r.Commit.CommitNS = []int64{1, 2, 3, 4} }, "commit.commit_ns has 4 times of 3 transactions"},
		{"commit", func(r *protocol.JobResult) { r.Commit.CommitNS[0] = 0 }, "commit.commit_ns is 0: want at least 1"},
		{"commit", func(r *protocol.JobResult) { r.Commit.CommitNS[0] = 1e9 }, "commit.commit_ns is 1000000000, 1s: want at most 10ms"},
		{"commit", func(r *protocol.JobResult) { r.Commit.Failures = nil }, "commit.failures is empty"},
		{"commit", func(r *protocol.JobResult) { r.Commit.Failures[1].Transaction = 4 }, "commit.failures[1].transaction is 4: want 1 to 3"},
		{"commit", func(r *protocol.JobResult) { r.Commit.Failures[0].Transaction = 0 }, "commit.failures[0].transaction is 0: want 1 to 3"},
		{"judge", func(r *protocol.JobResult) { r.Judge = r.Judge[:1] }, "the worker's result is not of the job"},
		{"judge", func(r *protocol.JobResult) { r.Judge = append(r.Judge, r.Judge[0]) }, "the worker's result is not of the job"},
		{"judge", func(r *protocol.JobResult) { r.Judge[0].Transaction = -2 }, "judge[0].transaction is -2: want -1 or more"},
		{"judge", func(r *protocol.JobResult) { r.Judge[1].ForeignKeys = -1 }, "judge[1].foreign_keys is -1"},
		{"judge", func(r *protocol.JobResult) { r.Judge[0].Digest = "" }, "judge[0].digest is empty"},
		{"paginate", func(r *protocol.JobResult) { r.Paginate.Depths[0].OffsetNS = []int64{1} }, "paginate.depths[0].offset_ns has 1 times: want 2"},
		{"paginate", func(r *protocol.JobResult) { r.Paginate.Depths[0].KeysetNS[1] = -3 }, "paginate.depths[0].keyset_ns has a time of -3"},
		{"paginate", func(r *protocol.JobResult) { r.Paginate.Depths[0].KeysetNS[1] = 1e9 }, "paginate.depths is 1000000006, 1.000000006s: want at most 10ms"},
		{"paginate", func(r *protocol.JobResult) { r.Paginate.Depths[0].Depth = 51 }, "paginate.depths[0].depth is 51: want at most 50"},
		{"paginate", func(r *protocol.JobResult) { r.Paginate.Depths = nil }, "paginate.depths is empty"},
	} {
		k := jobsOfAll()[c.kind]
		c.lie(&k.got)
		found := false
		faults := lab.CheckJob(&k.job, &k.got, 10*time.Millisecond)
		for _, f := range faults {
			found = found || strings.HasPrefix(strings.TrimPrefix(f.Message, "result: "), c.want) && strings.HasPrefix(c.want, f.Key)
		}
		if !found {
			t.Errorf("got %+v, want %q", faults, c.want)
		}
	}
}
