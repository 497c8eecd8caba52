package rqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// addressesVariable may name a running cluster: the addresses of its nodes, separated by
// commas, such as http://user:password@10.0.0.1:4001.
const addressesVariable = "RQLITE_ADDRESSES"

// given is a cluster that was running. It had no table, so all that it has is the trial's,
// unless somebody else uses it at the same time: only what this process has created is
// dropped.
type given struct {
	mu      sync.Mutex
	created []string // tables and views, in order, each as DROP takes it
}

// patience is how long a cluster that was running may take to answer a question.
const patience = 20 * time.Second

// take uses the cluster whose addresses are in list.
func (c *cluster) take(ctx context.Context, list string) error {
	for a := range strings.SplitSeq(list, ",") {
		a = strings.TrimSpace(a)
		if a == "" {
			continue
		}
		if !strings.Contains(a, "://") {
			a = "http://" + a
		}
		u, err := url.Parse(a)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("%s: not an address: want such as http://user:password@10.0.0.1:4001,10.0.0.2:4001", addressesVariable)
		}
		c.urls = append(c.urls, u.String())
	}
	if len(c.urls) == 0 {
		return fmt.Errorf("%s: no address: want such as http://user:password@10.0.0.1:4001", addressesVariable)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reached := ""
	var errs []string
	for _, u := range c.urls {
		s, err := nodes.StatusOf(ctx, u)
		if err == nil && s.Leader != "" {
			reached = u
			break
		}
		if err == nil {
			err = errors.New("it knows no leader")
		}
		errs = append(errs, fmt.Sprintf("%s: %s", bare(u), reason(err)))
	}
	if reached == "" {
		return fmt.Errorf("%s: no node can be used: %s", addressesVariable, strings.Join(errs, "; "))
	}
	n, err := c.count(ctx, "SELECT count(*) FROM sqlite_schema")
	if e, ok := errors.AsType[*nodes.HTTPError](err); ok && e.Code == http.StatusUnauthorized {
		return fmt.Errorf("%s: %s: %s", addressesVariable, bare(reached), reason(err))
	}
	if err != nil {
		return fmt.Errorf("%s: the cluster of %s answers no query: %s: are more than half of its nodes running?", addressesVariable, bare(reached), reason(err))
	}
	if n > 0 {
		return fmt.Errorf("%s: the database of the cluster is not empty: it has %d tables, indexes or views, which sqlite3perf neither uses nor drops: use a cluster that is empty", addressesVariable, n)
	}
	c.given = &given{}
	return nil
}

// count returns the number that a query returns, as more than half of the nodes know it.
func (c *cluster) count(ctx context.Context, sql string) (int, error) {
	data, err := c.call(ctx, http.MethodGet, "/db/query?level=strong&q="+url.QueryEscape(sql), nil)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Results []struct{ Values [][]int }
		Error   string
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return 0, err
	}
	if answer.Error != "" || len(answer.Results) != 1 || len(answer.Results[0].Values) != 1 {
		return 0, fmt.Errorf("%.200s", data)
	}
	return answer.Results[0].Values[0][0], nil
}

// bare returns an address without the password.
func bare(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// reason says in one line why a node did not answer.
func reason(err error) string {
	if e, ok := errors.AsType[*nodes.HTTPError](err); ok && e.Code == http.StatusUnauthorized {
		return "it refuses the user and the password (401)"
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which may have a password
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// call sends a request of our own to a node.
func call(ctx context.Context, method, address, path string, body []byte) ([]byte, error) {
	return callWith(ctx, http.DefaultClient, method, address, path, body)
}

// callWith is call with a client.
func callWith(ctx context.Context, with *http.Client, method, address, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(address, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if path == "/db/load" {
		req.Header.Set("Content-Type", "application/octet-stream")
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := with.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = &nodes.HTTPError{Code: resp.StatusCode, Text: strings.TrimSpace(string(data))}
	}
	return data, err
}

// creation matches a statement that creates a table or a view.
var creation = regexp.MustCompile("(?i)^CREATE\\s+(?:VIRTUAL\\s+)?(TABLE|VIEW)\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?(?:main\\s*\\.\\s*)?(\"(?:[^\"]|\"\")+\"|`[^`]+`|\\[[^]]+\\]|[\\w$\\x80-\\x{10ffff}]+)")

// note remembers what a statement creates.
func (g *given) note(sql string) {
	if m := creation.FindStringSubmatch(driver.TrimScript(sql)); m != nil {
		g.mu.Lock()
		g.created = append(g.created, strings.ToUpper(m[1])+" IF EXISTS "+m[2])
		g.mu.Unlock()
	}
}

// noteLoaded remembers what a file had that was loaded into the empty cluster.
func (g *given) noteLoaded(ctx context.Context, c *cluster) error {
	data, err := c.call(ctx, http.MethodGet, "/db/query?q="+url.QueryEscape("SELECT sql FROM sqlite_schema WHERE sql LIKE 'CREATE%' ORDER BY rowid"), nil)
	if err != nil {
		return err
	}
	var answer struct{ Results []struct{ Values [][]string } }
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	for _, r := range answer.Results {
		for _, row := range r.Values {
			g.note(row[0])
		}
	}
	return nil
}

// alone returns an error if the cluster has a table or view that this process has not
// created: what is loaded takes the place of everything.
func (g *given) alone(ctx context.Context, c *cluster) error {
	n, err := c.count(ctx, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%' OR sql LIKE 'CREATE VIEW%'")
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil && n > len(g.created) {
		err = fmt.Errorf("somebody else has created tables in the cluster: %d are there, %d are the trial's", n, len(g.created))
	}
	return err
}

// leave drops what was created.
func (g *given) leave(ctx context.Context, c *cluster) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.created) == 0 {
		return nil
	}
	var drops []string
	for _, what := range slices.Backward(g.created) {
		drops = append(drops, "DROP "+what)
	}
	body, err := json.Marshal(drops)
	if err == nil {
		_, err = c.call(ctx, http.MethodPost, "/db/execute", body)
	}
	if err != nil {
		return fmt.Errorf("dropping what the trial has created: %s", reason(err))
	}
	return nil
}
