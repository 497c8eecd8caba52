// Package nodes runs a cluster of rqlite on the loopback interface of this machine. Each node is
// a child process, rqlited, with its own data directory.
package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config describes the cluster to start.
type Config struct {
	Executable string   // path of rqlited; if it is "", Start calls [Find]
	Nodes      int      // number of nodes, at least 1
	Dir        string   // directory for the data directories and logs of all nodes
	Flags      []string // more flags for each rqlited
	Recover    bool     // the nodes begin with the data that earlier nodes have left in Dir

	// RaftAddress, if not nil, returns the address at which the other nodes reach node i, counted from 0.
	// The parameter "real" is the address on which the node itself listens. Start calls RaftAddress before
	// it starts the node. If another program has taken the port of that address, Start calls RaftAddress
	// again with another address.
	RaftAddress func(i int, real string) (advertised string, err error)
}

// Cluster is a running cluster.
type Cluster struct {
	Nodes []*Node // the first node is the leader when Start returns
}

// Node is a node of a cluster. Many goroutines may call its methods at the same time.
type Node struct {
	ID         string // ID in the cluster: 1, 2, …
	HTTP       string // address of the API, such as 127.0.0.1:34567
	Raft       string // address on which the node listens for other nodes
	Advertised string // address at which other nodes reach this node
	Dir        string // directory of the node's data

	executable string
	args       []string
	log        string // path of the node's log

	mu     sync.Mutex
	cmd    *exec.Cmd     // the node's last process; nil if the node was never started
	exited chan struct{} // closed when the process has exited
}

// Env is the environment variable for the path of rqlited.
const Env = "RQLITED_PATH"

// Find returns the path of rqlited. If the environment variable RQLITED_PATH is set, Find returns
// its value. Otherwise Find looks for rqlited in PATH. It returns an error if there is no such
// program.
func Find() (string, error) {
	if path := os.Getenv(Env); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("%s names no program that runs: %w", Env, err)
		}
		return path, nil
	}
	path, err := exec.LookPath("rqlited")
	if err != nil {
		return "", fmt.Errorf("there is no rqlited in PATH: type make rqlited, and set %s to bin/rqlited", Env)
	}
	return path, nil
}

// attempts is how many times the start of a cluster is attempted if another program takes one of
// its ports.
const attempts = 5

// inUse is part of rqlited's message when it cannot listen.
const inUse = "address already in use"

var errInUse = errors.New(inUse)

// Start starts the nodes of a cluster. It returns when there is a leader and all nodes are
// ready. If it fails, or ctx ends first, it leaves no process.
func Start(ctx context.Context, c Config) (*Cluster, error) {
	if c.Executable == "" {
		var err error
		if c.Executable, err = Find(); err != nil {
			return nil, err
		}
	}
	if c.Nodes < 1 {
		return nil, fmt.Errorf("a cluster of %d nodes: want at least 1", c.Nodes)
	}
	var err error
	for range attempts {
		var cluster *Cluster
		if cluster, err = start(ctx, c); err == nil {
			return cluster, nil
		}
		if !errors.Is(err, errInUse) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("other programs have taken the ports of the nodes %d times, after they were chosen: try again: %w", attempts, err)
}

func start(ctx context.Context, c Config) (*Cluster, error) {
	cluster := &Cluster{}
	addresses, err := free(2 * c.Nodes)
	if err != nil {
		return nil, err
	}
	for i := range c.Nodes {
		n := &Node{
			ID: strconv.Itoa(i + 1), HTTP: addresses[2*i], Raft: addresses[2*i+1],
			Dir: filepath.Join(c.Dir, "node"+strconv.Itoa(i+1)), log: filepath.Join(c.Dir, "node"+strconv.Itoa(i+1)+".log"), executable: c.Executable,
		}
		n.Advertised = n.Raft
		if c.RaftAddress != nil {
			if n.Advertised, err = c.RaftAddress(i, n.Raft); err != nil {
				return nil, fmt.Errorf("address of node %s for the others: %w", n.ID, err)
			}
		}
		cluster.Nodes = append(cluster.Nodes, n)
		n.args = []string{"-node-id", n.ID, "-http-addr", n.HTTP, "-raft-addr", n.Raft, "-raft-adv-addr", n.Advertised}
		if i > 0 {
			n.args = append(n.args, "-join", cluster.Nodes[0].Advertised, "-join-interval", "100ms", "-join-attempts", "1000")
		}
		if c.Nodes == 1 {
			// A single node waits for this time before it elects itself. The time has no other
			// effect.
			n.args = append(n.args, "-raft-timeout", "50ms", "-raft-election-timeout", "50ms", "-raft-leader-lease-timeout", "50ms")
		}
		n.args = append(append(n.args, c.Flags...), n.Dir)
		// Unless c.Recover is set, the data of an earlier cluster is removed, because rqlited would
		// join that cluster.
		if c.Recover {
			continue
		}
		if err := os.RemoveAll(n.Dir); err != nil {
			return nil, err
		}
	}
	for _, n := range cluster.Nodes {
		if err := n.launch(); err != nil {
			return nil, errors.Join(err, cluster.Kill())
		}
	}
	if err := ready(ctx, cluster.Nodes, c.Nodes); err != nil {
		return nil, errors.Join(err, cluster.Kill())
	}
	return cluster, nil
}

// free returns addresses of the loopback interface on which no process listens.
func free(n int) (list []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		defer l.Close() // keeps the port until all addresses are found
		list = append(list, l.Addr().String())
	}
	return list, nil
}

const poll = 10 * time.Millisecond

// Ready waits until the node knows a leader and the given number of voting nodes, and has applied
// the leader's log. It returns an error if the process exits or ctx ends first.
func (n *Node) Ready(ctx context.Context, voters int) error {
	return ready(ctx, []*Node{n}, voters)
}

// ready is like [Node.Ready], but waits for several nodes. It returns an error if any of them exits,
// because the others would wait for that node forever.
func ready(ctx context.Context, list []*Node, voters int) error {
	for {
		var waiting *Node
		var err error
		for _, n := range list {
			if err = n.isReady(ctx, voters); err != nil {
				waiting = n
				break
			}
		}
		if waiting == nil {
			return nil
		}
		for _, n := range list {
			if !n.Alive() {
				cmd, _ := n.running()
				return n.died(cmd.ProcessState)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s at %s is not ready: %w: %w", waiting.ID, waiting.HTTP, err, ctx.Err())
		case <-time.After(poll):
		}
	}
}

func (n *Node) isReady(ctx context.Context, voters int) error {
	if _, err := Call(ctx, Client, http.MethodGet, n.HTTP, "/readyz", nil); err != nil {
		return err
	}
	s, err := n.Status(ctx)
	if err != nil {
		return err
	}
	if s.Leader == "" || s.Voters != voters {
		return fmt.Errorf("leader %q, %d of %d voting nodes", s.Leader, s.Voters, voters)
	}
	return nil
}

func (n *Node) launch() error {
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(n.executable, n.args...)
	cmd.Stdout, cmd.Stderr = log, log
	exited := make(chan struct{})
	if err := begin(cmd); err != nil {
		return fmt.Errorf("starting rqlited: %w", err)
	}
	n.mu.Lock()
	n.cmd, n.exited = cmd, exited
	n.mu.Unlock()
	go func() {
		_ = cmd.Wait() // the error is in cmd.ProcessState
		close(exited)
	}()
	return nil
}

// running returns the node's last process, and a channel that is closed when it has exited.
func (n *Node) running() (*exec.Cmd, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd, n.exited
}

// PID returns the ID of the node's last process.
func (n *Node) PID() int {
	cmd, _ := n.running()
	return cmd.Process.Pid
}

// Alive reports whether the node's process runs.
func (n *Node) Alive() bool {
	_, exited := n.running()
	select {
	case <-exited:
		return false
	default:
		return true
	}
}

// stamp matches the beginning of a line of rqlited's log.
var stamp = regexp.MustCompile(`^(\[[\w-]+\] )?[\d/]+ [\d:]+ |^fatal: `)

// died returns an error that says why the node's process has exited, with the last line of its log.
// The error wraps errInUse if the process could not listen on a port.
func (n *Node) died(state *os.ProcessState) error {
	text, _ := os.ReadFile(n.log) // empty if it cannot be read
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := strings.TrimSpace(stamp.ReplaceAllString(lines[len(lines)-1], ""))
	if slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, inUse) }) {
		return fmt.Errorf("node %s: %w: %s", n.ID, errInUse, last)
	}
	if last == "" {
		return fmt.Errorf("node %s: %s ended (%v) without a word: is it an rqlited?", n.ID, n.executable, state)
	}
	return fmt.Errorf("node %s: rqlited ended (%v): %s", n.ID, state, last)
}

// Kill kills the process with SIGKILL and waits until it has exited. The node's data is kept.
func (n *Node) Kill() error {
	cmd, exited := n.running()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending node %s: %w", n.ID, err)
	}
	<-exited
	return nil
}

// Restart starts the process of a node that has exited, with the same data and addresses. It
// returns when the node is ready.
func (n *Node) Restart(ctx context.Context, voters int) error {
	if n.Alive() {
		return fmt.Errorf("node %s still runs", n.ID)
	}
	if err := n.launch(); err != nil {
		return err
	}
	return n.Ready(ctx, voters)
}

// Kill kills all nodes, at the same time.
func (c *Cluster) Kill() error {
	errs := make([]error, len(c.Nodes))
	var all sync.WaitGroup
	for i, n := range c.Nodes {
		all.Go(func() { errs[i] = n.Kill() })
	}
	all.Wait()
	return errors.Join(errs...)
}
