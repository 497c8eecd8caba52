package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Status is what a node says of itself and its cluster.
type Status struct {
	Version string // of rqlite: "8", or more precisely if it was built so
	SQLite  string // version

	State  string // Leader, Follower or Candidate
	Leader string // ID of the node that it holds for the leader, or ""
	Term   uint64
	Voters int // nodes that vote

	LastLogIndex uint64
	CommitIndex  uint64
	AppliedIndex uint64
	DBApplied    uint64 // index of the last log entry that changed the node's database

	Pragmas map[string]string // of the connection with which the node writes

	Heartbeat string // timeout, such as 1s
	DataBytes int64  // what its directory holds
	WALBytes  int64  // of that, the write-ahead log of its database
}

// Status asks the node for its state.
func (n *Node) Status(ctx context.Context) (*Status, error) { return StatusOf(ctx, n.HTTP) }

// StatusOf asks the node whose API is at address. The address may begin with a scheme, and
// have a user and a password.
func StatusOf(ctx context.Context, address string) (*Status, error) {
	data, err := get(ctx, address, "/status")
	if err != nil {
		return nil, err
	}
	var a struct {
		Build struct{ Version string }
		Store struct {
			Leader struct {
				NodeID string `json:"node_id"`
			}
			Nodes     []struct{ Suffrage string }
			DBApplied uint64 `json:"db_applied_index"`
			DirSize   int64  `json:"dir_size"`
			Heartbeat string `json:"heartbeat_timeout"`
			Raft      struct {
				State        string
				Term         uint64
				LastLogIndex uint64 `json:"last_log_index"`
				CommitIndex  uint64 `json:"commit_index"`
				AppliedIndex uint64 `json:"applied_index"`
			}
			SQLite struct {
				Version string
				WALSize int64 `json:"wal_size"`
				Pragmas struct{ RW map[string]string }
			} `json:"sqlite3"`
		}
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("its status is not rqlite's: %w", err)
	}
	s := &Status{
		Version: a.Build.Version, SQLite: a.Store.SQLite.Version, State: a.Store.Raft.State, Leader: a.Store.Leader.NodeID, Term: a.Store.Raft.Term,
		LastLogIndex: a.Store.Raft.LastLogIndex, CommitIndex: a.Store.Raft.CommitIndex, AppliedIndex: a.Store.Raft.AppliedIndex, DBApplied: a.Store.DBApplied,
		Pragmas: a.Store.SQLite.Pragmas.RW, Heartbeat: a.Store.Heartbeat, DataBytes: a.Store.DirSize, WALBytes: a.Store.SQLite.WALSize,
	}
	for _, n := range a.Store.Nodes {
		if n.Suffrage == "Voter" {
			s.Voters++
		}
	}
	return s, nil
}

// get gets a page of a node's API. Any status but 200 is an error.
func get(ctx context.Context, address, path string) ([]byte, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = &HTTPError{resp.StatusCode, strings.TrimSpace(string(data))}
	}
	return data, err
}

// HTTPError is an answer of a node that is not 200 OK.
type HTTPError struct {
	Code int
	Text string // what the node says to it
}

func (e *HTTPError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s: %.500s", e.Code, http.StatusText(e.Code), e.Text))
}
