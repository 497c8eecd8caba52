package nodes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Status is the state of a node and of its cluster, as the node reports it.
type Status struct {
	Version   string            // version of rqlite: "8", or longer if the build says more
	State     string            // Leader, Follower or Candidate
	Leader    string            // ID of the leader, as far as the node knows, or ""
	Voters    int               // number of nodes that vote
	Pragmas   map[string]string // PRAGMAs of the connection with which the node writes
	DataBytes int64             // size of the node's directory in bytes
	WALBytes  int64             // size in bytes of SQLite's write-ahead log, which is in the node's directory
}

// Status asks the node for its state.
func (n *Node) Status(ctx context.Context) (*Status, error) { return StatusOf(ctx, n.HTTP) }

// StatusOf asks a node for its state. The address of the node's API has the form that [Call]
// expects.
func StatusOf(ctx context.Context, address string) (*Status, error) {
	data, err := Call(ctx, Client, http.MethodGet, address, "/status", nil)
	if err != nil {
		return nil, err
	}
	var a struct {
		Build struct{ Version string }
		Store struct {
			Leader struct {
				NodeID string `json:"node_id"`
			}
			Nodes   []struct{ Suffrage string }
			DirSize int64 `json:"dir_size"`
			Raft    struct{ State string }
			SQLite  struct {
				WALSize int64 `json:"wal_size"`
				Pragmas struct{ RW map[string]string }
			} `json:"sqlite3"`
		}
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("its status is not rqlite's: %w", err)
	}
	s := &Status{
		Version: a.Build.Version, State: a.Store.Raft.State, Leader: a.Store.Leader.NodeID,
		Pragmas: a.Store.SQLite.Pragmas.RW, DataBytes: a.Store.DirSize, WALBytes: a.Store.SQLite.WALSize,
	}
	for _, n := range a.Store.Nodes {
		if n.Suffrage == "Voter" {
			s.Voters++
		}
	}
	return s, nil
}

// Call sends a request to the API of a node. The address may begin with a scheme, and have a
// user and a password. Any status but 200 is an [*HTTPError].
func Call(ctx context.Context, client *http.Client, method, address, path string, body []byte) ([]byte, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(address, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if path == "/db/load" {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	resp, err := client.Do(req)
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
	Text string // text of the answer
}

func (e *HTTPError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s: %.500s", e.Code, http.StatusText(e.Code), e.Text))
}
