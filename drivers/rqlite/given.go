package rqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// addressesVariable is the environment variable with the addresses of the nodes of a running
// cluster, separated by commas, such as http://user:password@10.0.0.1:4001.
const addressesVariable = "RQLITE_ADDRESSES"

// given is a cluster that was running before this process used it. Its database was empty. Other
// programs may use the cluster at the same time, so this process drops only tables and views that
// it has created.
type given struct {
	mu      sync.Mutex
	created []string // tables and views in order of creation, such as "TABLE IF EXISTS t"
	left    bool     // set when the method "leave" begins; then nothing more may be created
}

// patience is how long a running cluster may take to answer a question.
var patience = 20 * time.Second

// leaveTimeout is how long dropping the tables may take. sqlite3perf waits longer than this before
// it kills a worker.
const leaveTimeout = 10 * time.Second

// suits returns an error if settings cannot take effect in the cluster of a node with status
// s. The error says what to do.
func suits(s *nodes.Status, wanted driver.Settings) error {
	var bad []string
	if got := strconv.Itoa(s.Voters); wanted["nodes"] != "" && wanted["nodes"] != got {
		bad = append(bad, fmt.Sprintf("nodes: wanted %s, got %s: the cluster that %s names has that many: leave nodes out", wanted["nodes"], got, addressesVariable))
	}
	got, flag := "off", "with -fk"
	if s.Pragmas["foreign_keys"] == "1" {
		got, flag = "on", "without -fk"
	}
	if w := wanted["foreign_keys"]; w != "" && w != got {
		bad = append(bad, fmt.Sprintf("foreign_keys: wanted %s, got %s: start each rqlited %s, or set foreign_keys=%s", w, got, flag, got))
	}
	if bad == nil {
		return nil
	}
	return &driver.SettingError{Err: errors.New(strings.Join(bad, "; "))}
}

// take uses the cluster whose addresses are in the parameter "list". It returns an error if the
// cluster's database is not empty, or if the settings cannot take effect in this cluster.
func (c *cluster) take(ctx context.Context, list string, settings driver.Settings) error {
	for a := range strings.SplitSeq(list, ",") {
		a = strings.TrimSpace(a)
		if a == "" {
			continue
		}
		if !strings.Contains(a, "://") {
			a = "http://" + a
		}
		u, err := url.Parse(a)
		// An address that lacks its colon, such as http//user@host, would be read as a page of a
		// host named http.
		if err != nil || slices.Contains([]string{"", "http", "https"}, u.Hostname()) || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("%s: not an address: want such as http://user:password@10.0.0.1:4001,10.0.0.2:4001", addressesVariable)
		}
		c.urls = append(c.urls, u.String())
	}
	if len(c.urls) == 0 {
		return fmt.Errorf("%s: no address: want such as http://user:password@10.0.0.1:4001", addressesVariable)
	}
	var status *nodes.Status
	var errs []string
	for i, u := range c.urls {
		s, err := statusWithin(ctx, patience, u)
		if err == nil && s.Leader != "" {
			status = s
			c.urls[0], c.urls[i] = c.urls[i], c.urls[0] // this node is asked first, because the nodes before it in the list may not answer
			break
		}
		if err == nil {
			err = errors.New("it knows no leader: more than half of the nodes must run: start the others")
		}
		errs = append(errs, fmt.Sprintf("%s: %s", bare(u), reason(err)))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if status == nil {
		return fmt.Errorf("%s: no node can be used: %s", addressesVariable, strings.Join(errs, "; "))
	}
	n, err := c.count(ctx, "SELECT count(*) FROM sqlite_schema")
	if e, ok := errors.AsType[*nodes.HTTPError](err); ok && e.Code == http.StatusUnauthorized {
		return fmt.Errorf("%s: %s: %s", addressesVariable, bare(c.urls[0]), reason(err))
	}
	if err != nil {
		return fmt.Errorf("%s: the cluster of %s answers no query: %s: more than half of its nodes must run: start the others", addressesVariable, bare(c.urls[0]), reason(err))
	}
	if n > 0 {
		return fmt.Errorf("%s: the database of the cluster is not empty: it has %d tables, indexes or views, which sqlite3perf neither uses nor drops: use a cluster that is empty%s", addressesVariable, n, c.drops(ctx))
	}
	if err := suits(status, settings); err != nil {
		return err
	}
	c.given = &given{}
	return nil
}

// statusWithin asks a node for its status. The node must answer within the given limit.
func statusWithin(ctx context.Context, limit time.Duration, address string) (*nodes.Status, error) {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := nodes.StatusOf(within, address)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it has not answered within %v: see whether rqlited runs there, or correct %s", limit, addressesVariable)
	}
	return s, err
}

// mostDropped is the greatest number of statements that a message lists.
const mostDropped = 5

// drops returns the end of a message, with the DROP statements for all tables and views of the
// cluster. It returns "" if there are none or more than mostDropped.
func (c *cluster) drops(ctx context.Context) string {
	var g given
	if err := g.noteLoaded(ctx, c); err != nil || len(g.created) == 0 || len(g.created) > mostDropped {
		return ""
	}
	return ", or, only if they are what a killed trial has left, type in rqlite's shell: " + g.statements()
}

func (g *given) statements() string {
	var list []string
	for _, what := range slices.Backward(g.created) {
		list = append(list, "DROP "+what)
	}
	return strings.Join(list, "; ")
}

// column returns the values of a query's only column. T is their type. If the parameter "level" is
// "strong", more than half of the nodes have agreed on the values.
func column[T any](ctx context.Context, c *cluster, level, sql string) ([]T, error) {
	data, err := c.call(ctx, http.MethodGet, "/db/query?level="+level+"&q="+url.QueryEscape(sql), nil)
	if err != nil {
		return nil, err
	}
	return columnOf[T](data)
}

// columnOf returns the values of the only column in the answer of a node to one statement. T is
// their type.
func columnOf[T any](data []byte) ([]T, error) {
	var answer struct {
		Results []struct {
			Values [][]T
			Error  string
		}
		Error    string
		Sequence *int64 `json:"sequence_number"` // number of a queued write, which has no result
	}
	err := json.Unmarshal(data, &answer)
	switch {
	case err != nil:
		return nil, err
	case answer.Error != "":
		return nil, errors.New(answer.Error)
	case len(answer.Results) == 0 && answer.Sequence != nil:
		return nil, nil
	case len(answer.Results) != 1:
		return nil, fmt.Errorf("%.200s", data)
	case answer.Results[0].Error != "":
		return nil, errors.New(answer.Results[0].Error)
	}
	list := make([]T, len(answer.Results[0].Values))
	for i, r := range answer.Results[0].Values {
		if len(r) != 1 {
			return nil, fmt.Errorf("%d columns: want one", len(r))
		}
		list[i] = r[0]
	}
	return list, nil
}

// count returns the number that a query returns.
func (c *cluster) count(ctx context.Context, sql string) (int, error) {
	n, err := column[int](ctx, c, "strong", sql)
	if err == nil && len(n) != 1 {
		err = fmt.Errorf("%d rows: want one", len(n))
	}
	if err != nil {
		return 0, err
	}
	return n[0], nil
}

func bare(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// reason describes in one line why a node did not answer.
func reason(err error) string {
	if e, ok := errors.AsType[*nodes.HTTPError](err); ok && e.Code == http.StatusUnauthorized {
		return "it refuses the user and the password (401)"
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "nothing listens there: start rqlited, or correct " + addressesVariable
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // leaves out the address, which may have a password
	}
	return oneLine(err)
}

// maxMessage is the greatest number of bytes of a node's error that a message repeats.
const maxMessage = 2 << 10

func oneLine(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "?") + " …"
	}
	return text
}

var creation = regexp.MustCompile("(?i)^CREATE\\s+(?:VIRTUAL\\s+)?(TABLE|VIEW)\\s+(?:IF\\s+NOT\\s+EXISTS\\s+)?(?:main\\s*\\.\\s*)?(\"(?:[^\"]|\"\")+\"|`[^`]+`|\\[[^]]+\\]|[\\w$\\x80-\\x{10ffff}]+)")

// createdBy returns the table or view that a statement creates, such as "TABLE IF EXISTS t", or ""
// if the statement creates none.
func createdBy(sql string) string {
	m := creation.FindStringSubmatch(driver.TrimScript(sql))
	if m == nil {
		return ""
	}
	return strings.ToUpper(m[1]) + " IF EXISTS " + m[2]
}

// note adds a table or view to g.created, which lists what must be dropped. The caller holds g.mu.
func (g *given) note(what string) {
	if !slices.Contains(g.created, what) {
		g.created = append(g.created, what)
	}
}

// create notes the tables and views in the parameter "list", and then calls the function "send", which
// creates them. If g is nil, create only calls "send". The method "leave" waits until "send" has returned.
// The nodes complete a request even if its client gives up, so the context for "send" ends later than ctx.
func (g *given) create(ctx context.Context, list []string, send func(context.Context) error) error {
	if g == nil {
		return send(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left {
		return errors.New("the trial has been given up: nothing more is created")
	}
	for _, what := range list {
		g.note(what)
	}
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-longer.Done():
		case <-time.After(leaveTimeout / 2):
			cancel()
		}
	})()
	return send(longer)
}

// noteLoaded notes the tables and views of a file that was loaded into the empty cluster. The
// caller holds g.mu if another goroutine may use g.
func (g *given) noteLoaded(ctx context.Context, c *cluster) error {
	list, err := column[string](ctx, c, "weak", "SELECT sql FROM sqlite_schema WHERE sql LIKE 'CREATE%' ORDER BY rowid")
	for _, sql := range list {
		if what := createdBy(sql); what != "" {
			g.note(what)
		}
	}
	return err
}

// The method "alone" returns an error if the cluster has a table or view that this process has not
// created. Loading a file would replace that table or view too.
func (g *given) alone(ctx context.Context, c *cluster) error {
	n, err := c.count(ctx, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%' OR sql LIKE 'CREATE VIEW%'")
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil && n > len(g.created) {
		err = fmt.Errorf("another program has created tables in the cluster: %d are there, %d are the trial's", n, len(g.created))
	}
	return err
}

// leave drops the tables and views that this process has created, and prevents the creation of further
// tables and views. It returns a [driver.LeftError] if some of them cannot be dropped.
func (g *given) leave(c *cluster) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left = true
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	var err error
	// Tables that were created later are dropped first, because they may refer to earlier tables.
	// If foreign keys still prevent a drop, the table is dropped in the next round.
	for n := 0; len(g.created) > 0 && n != len(g.created); {
		n = len(g.created)
		err = g.drop(ctx, c)
	}
	if len(g.created) == 0 {
		return nil
	}
	return &driver.LeftError{Err: fmt.Errorf("dropping what the trial has created failed: %s: when the cluster of %s runs, type in rqlite's shell: %s", reason(err), bare(c.urls[0]), g.statements())}
}

// drop tries once to drop each table and view in g.created. It removes from g.created the tables
// and views that it has dropped.
func (g *given) drop(ctx context.Context, c *cluster) (failed error) {
	for i, what := range slices.Backward(slices.Clone(g.created)) {
		body, err := json.Marshal([]string{"DROP " + what})
		var data []byte
		if err == nil {
			data, err = c.call(ctx, http.MethodPost, "/db/execute", body)
		}
		if err == nil {
			_, err = columnOf[any](data)
		}
		if err != nil {
			failed = err
			continue
		}
		g.created = slices.Delete(g.created, i, i+1)
	}
	return failed
}
