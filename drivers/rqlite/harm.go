package rqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes"
	"github.com/sqlite3perf/sqlite3perf/worker/delay"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// lines are the proxies in front of the nodes. Each node advertises the address of its proxy,
// so everything that nodes send to each other goes through a proxy.
type lines struct {
	delay   time.Duration
	proxies []*delay.Proxy
	nodes   atomic.Pointer[nodes.Cluster] // set when all nodes have been started
}

// The method "between" starts the proxy of node i and returns the proxy's address. Node i already has a
// proxy if the node's own address has changed. In this case, the new proxy replaces the old one.
func (l *lines) between(i int, real string) (advertised string, err error) {
	p, err := delay.Start(delay.Config{Target: real, Delay: l.delay, From: l.dialer})
	if err != nil {
		return "", err
	}
	if i < len(l.proxies) {
		_ = l.proxies[i].Close() // an error does no harm: no node uses the proxy any more
		l.proxies[i] = p
	} else {
		l.proxies = append(l.proxies, p)
	}
	return p.Addr(), nil
}

// dialer returns the ID of the node that has dialed from an address, or "" if none has.
func (l *lines) dialer(from net.Addr) string {
	c := l.nodes.Load()
	if c == nil {
		return ""
	}
	var pids []int
	for _, n := range c.Nodes {
		pids = append(pids, n.PID())
	}
	pid, ok := delay.Dialer(from, pids)
	if !ok {
		return ""
	}
	return c.Nodes[slices.Index(pids, pid)].ID
}

func (l *lines) close() {
	if l == nil {
		return
	}
	for _, p := range l.proxies {
		_ = p.Close() // an error does no harm: no node uses the proxy any more
	}
}

// shown returns the delay between all nodes. ok is false if the nodes do not know each other by the
// addresses of the proxies, if a proxy has another delay or another target, or if some traffic
// between nodes does not go through the proxies.
func (l *lines) shown(ctx context.Context, c *cluster) (d time.Duration, ok bool, err error) {
	data, err := c.call(ctx, http.MethodGet, "/nodes?ver=2", nil)
	if err != nil {
		return 0, false, err
	}
	var a struct {
		Nodes []struct{ Addr string }
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return 0, false, fmt.Errorf("the nodes of the cluster: %w", err)
	}
	var known, ours []string
	for _, n := range a.Nodes {
		known = append(known, n.Addr)
	}
	for i, p := range l.proxies {
		ours = append(ours, p.Addr())
		if p.Delay() != l.delay || p.Target() != c.nodes.Nodes[i].Raft {
			return 0, false, nil
		}
		// Of two connected nodes, only one has dialed the other. So the traffic between them goes through
		// only one of their two proxies.
		if i > 0 && l.proxies[0].Passed()+p.Passed() == 0 {
			return 0, false, nil
		}
	}
	slices.Sort(known)
	slices.Sort(ours)
	return l.delay, slices.Equal(known, ours), nil
}

var (
	_ driver.ClusterDB = (*database)(nil)

	errNotOurs = &driver.UnsupportedError{Reason: "the cluster was running before: its nodes are not harmed"}
	errNoLines = &driver.UnsupportedError{Reason: "nothing is between the nodes that could be cut: set node_delay, to 0 for no delay"}
	errNoPIDs  = &driver.UnsupportedError{Reason: "a node can be isolated on Linux only, where it is known who has dialed a connection"}
)

func (d *database) Members() (list []driver.Member) {
	if d.cluster.nodes == nil {
		for i, u := range d.cluster.urls {
			list = append(list, driver.Member{ID: fmt.Sprint(i + 1), Address: bare(u)})
		}
		return list
	}
	for _, n := range d.cluster.nodes.Nodes {
		m := driver.Member{ID: n.ID, Address: n.Advertised, Dir: n.Dir}
		if l := d.cluster.lines; l != nil {
			m.Delay = l.delay
		}
		if s, err := n.Status(context.Background()); err == nil {
			m.Version = s.Version
		}
		list = append(list, m)
	}
	return list
}

const askAgain = 10 * time.Millisecond

func (d *database) Leader(ctx context.Context) (int, error) {
	for {
		votes := map[string]int{}
		leads := map[string]int{} // index of each node that reports to be the leader, by the ID of the node
		for i, u := range d.cluster.urls {
			if s, err := nodes.StatusOf(ctx, u); err == nil {
				votes[s.Leader]++
				if s.State == "Leader" {
					leads[s.Leader] = i
				}
			}
		}
		for id, i := range leads {
			if id != "" && votes[id] > len(d.cluster.urls)/2 {
				return i, nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("the %d nodes of the cluster have not agreed on a leader: are more than half of them running?", len(d.cluster.urls))
		case <-time.After(askAgain):
		}
	}
}

// ExecAt queues the write if the setting queued_writes is on.
func (d *database) ExecAt(ctx context.Context, member int, sql string, args ...any) error {
	path := "/db/execute"
	if d.settings["queued_writes"] == "on" {
		path += "?queue"
	}
	_, err := d.at(ctx, member, path, sql, args)
	return err
}

func (d *database) IntsAt(ctx context.Context, member int, level, sql string, args ...any) ([]int64, error) {
	return d.at(ctx, member, "/db/query?level="+level, sql, args)
}

// The method "at" sends a statement to one node, and returns the values of its only column. If that
// fails, it does not try another node.
func (d *database) at(ctx context.Context, member int, path, sql string, args []any) ([]int64, error) {
	body, err := json.Marshal([][]any{append([]any{sql}, args...)})
	if err != nil {
		return nil, err
	}
	data, err := nodes.Call(ctx, d.plain, http.MethodPost, d.cluster.urls[member], path, body)
	if err != nil {
		return nil, errors.New(reason(err))
	}
	list, err := columnOf[int64](data)
	if err != nil {
		return nil, fmt.Errorf("the answer of node %d: %s", member+1, oneLine(err))
	}
	return list, nil
}

// node returns a node that this process has started, or an error if it has started none.
func (d *database) node(member int) (*nodes.Node, error) {
	if d.cluster.nodes == nil {
		return nil, errNotOurs
	}
	return d.cluster.nodes.Nodes[member], nil
}

func (d *database) Kill(member int) error {
	n, err := d.node(member)
	if err != nil {
		return err
	}
	return n.Kill()
}

func (d *database) Restart(ctx context.Context, member int) error {
	n, err := d.node(member)
	if err != nil {
		return err
	}
	return n.Restart(ctx, len(d.cluster.nodes.Nodes))
}

// Isolate cuts connections at all proxies, in both directions. The node's own proxy would not be
// enough, because it carries only connections that other nodes have dialed.
func (d *database) Isolate(member int) error {
	n, err := d.node(member)
	switch {
	case err != nil:
		return err
	case d.cluster.lines == nil:
		return errNoLines
	case !delay.CanTellDialers:
		return errNoPIDs
	}
	for i, p := range d.cluster.lines.proxies {
		if i == member {
			p.Cut()
		} else {
			p.CutFrom(n.ID)
		}
	}
	return nil
}

func (d *database) Heal(member int) error {
	if _, err := d.node(member); err != nil {
		return err
	}
	if d.cluster.lines == nil {
		return errNoLines
	}
	for _, p := range d.cluster.lines.proxies {
		p.Heal()
	}
	return nil
}
