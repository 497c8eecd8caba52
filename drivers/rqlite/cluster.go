package rqlite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rqlite/gorqlite"

	"github.com/sqlite3perf/sqlite3perf/drivers/rqlite/nodes"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type cluster struct {
	path  string // path of the database, as passed to Open
	urls  []string
	nodes *nodes.Cluster // the nodes if this process has started them, otherwise nil
	lines *lines         // proxies between the nodes; nil if there are none
	users int            // number of open databases
	kept  bool           // the nodes' data is kept when the cluster ends
	given *given         // set if the cluster was already running and the user named its addresses, otherwise nil
}

var (
	attachedMu sync.Mutex              // protects the variable "attached", and the field "users" of each cluster
	attached   = map[string]*cluster{} // clusters by the path of the database
)

// The function "beside" returns the directory in which the nodes of a database keep their data, and the
// path of the file with the addresses at which other processes find the nodes. The directory's name is
// a hash, because rqlited reads some characters of a database's name as options.
func beside(path string) (dir, addresses string) {
	h := fnv.New64a()
	h.Write([]byte(filepath.Base(path)))
	dir = filepath.Join(filepath.Dir(path), fmt.Sprintf("rqlite-%016x", h.Sum64()))
	return dir, filepath.Join(dir, "addresses.json")
}

// attach returns the cluster for the database at path. If this process already uses that cluster,
// attach only counts another user of it. If RQLITE_ADDRESSES is set, attach uses the running
// cluster at these addresses. Otherwise attach joins the nodes that another process has started for
// path or, if there are none, starts nodes. Unless it joins nodes, it loads the file at path into
// the cluster.
func attach(ctx context.Context, path string, s driver.Settings) (*cluster, error) {
	attachedMu.Lock()
	defer attachedMu.Unlock()
	if c := attached[path]; c != nil {
		c.users++
		return c, nil
	}
	c := &cluster{path: path, users: 1}
	data, err := contents(path, s["mode"])
	if err != nil {
		return nil, err
	}
	if list := os.Getenv(addressesVariable); list != "" {
		err = c.take(ctx, list, s)
	} else if joined, jerr := c.join(ctx); joined || jerr != nil {
		err = jerr
		data = nil
	} else {
		err = c.start(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	if len(data) > 0 {
		if err := c.load(ctx, data); err != nil {
			return nil, errors.Join(err, c.end())
		}
	}
	if err := c.place(); err != nil {
		return nil, errors.Join(err, c.end())
	}
	attached[path] = c
	return c, nil
}

const header = "SQLite format 3\x00"

// contents returns the bytes of the file at path. If there is no file yet, contents normally returns nil.
// But if the parameter "mode" is "rw", or the directory for the file does not exist, it returns an error. A
// file that is not a database is an error too.
func contents(path, mode string) ([]byte, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && mode != "rw":
		if _, err = os.Stat(filepath.Dir(path)); err == nil {
			return nil, nil
		}
		fallthrough
	case err != nil:
		return nil, &driver.Error{Code: driver.CodeCantOpen, Err: fmt.Errorf("unable to open database file: %w", err)}
	case len(data) > 0 && !bytes.HasPrefix(data, []byte(header)):
		return nil, &driver.Error{Code: driver.CodeNotADB, Err: fmt.Errorf("%s: file is not a database", path)}
	}
	return data, nil
}

func (c *cluster) start(ctx context.Context, s driver.Settings) error {
	dir, addresses := beside(c.path)
	if strings.ContainsAny(dir, "?%#") {
		return fmt.Errorf("rqlited cannot keep its data in %s: it takes ?, %% and # in a name for something else: use a directory without them", filepath.Dir(dir))
	}
	if err := os.Mkdir(dir, 0o755); err != nil && (!c.kept || !errors.Is(err, fs.ErrExist)) {
		return fmt.Errorf("a directory for the nodes: %w", err)
	}
	config := nodes.Config{Dir: dir, Nodes: 1, Recover: c.kept}
	if v := s["nodes"]; v != "" {
		config.Nodes, _ = strconv.Atoi(v) // no error: settings are checked before Open
	}
	if s["foreign_keys"] == "on" {
		config.Flags = append(config.Flags, "-fk")
	}
	if s["queued_writes"] == "on" {
		config.Flags = append(config.Flags, "-write-queue-tx") // makes each queued request a transaction, like requests that are not queued
	}
	if c.kept {
		config.RaftAddress = func(int, string) (string, error) { return steady, nil }
	} else if v := s["node_delay"]; v != "" {
		ms, _ := strconv.ParseInt(v, 10, 64) // no error: settings are checked before Open
		c.lines = &lines{delay: time.Duration(ms) * time.Millisecond}
		config.RaftAddress = c.lines.between
	}
	var err error
	if c.nodes, err = nodes.Start(ctx, config); err != nil {
		c.lines.close()
		return errors.Join(err, c.removeData())
	}
	if c.lines != nil {
		c.lines.nodes.Store(c.nodes)
	}
	for _, n := range c.nodes.Nodes {
		c.urls = append(c.urls, "http://"+n.HTTP)
	}
	data, err := json.Marshal(c.urls)
	if err == nil {
		err = os.WriteFile(addresses, data, 0o600)
	}
	if err != nil {
		return errors.Join(err, c.end())
	}
	return nil
}

// join reports whether nodes that another process has started still answer. It sets c.urls to their
// addresses. If the nodes no longer run, it removes their data.
func (c *cluster) join(ctx context.Context) (joined bool, err error) {
	dir, addresses := beside(c.path)
	data, err := os.ReadFile(addresses)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &c.urls)
	}
	if err != nil {
		return false, fmt.Errorf("the nodes of %s: %w", c.path, err)
	}
	for _, u := range c.urls {
		if _, err := nodes.StatusOf(ctx, u); err == nil {
			return true, nil
		}
	}
	c.urls = nil // the nodes have died with the process that started them
	return false, os.RemoveAll(dir)
}

// place creates an empty file at path if there is none, so that other programs see that there
// is a database.
func (c *cluster) place() error {
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = f.Close()
	}
	return err
}

// detach ends the use of a cluster by one database. The last user saves the database as a file at
// path and ends the cluster, unless another process has started the nodes.
func (c *cluster) detach(ctx context.Context) error {
	attachedMu.Lock()
	defer attachedMu.Unlock()
	if c.users--; c.users > 0 {
		return nil
	}
	delete(attached, c.path)
	if c.nodes == nil && c.given == nil {
		return nil // the process that started the cluster saves and ends it
	}
	if c.kept {
		return c.end()
	}
	saved, ended := c.save(ctx), c.end()
	if left, ok := errors.AsType[*driver.LeftError](ended); ok && saved != nil {
		return fmt.Errorf("%w; %w", saved, left)
	}
	return cmp.Or(saved, ended) // if saving fails because the nodes are gone, ending fails for the same reason
}

// end kills the nodes that this process has started, and removes their data. If the user named a
// running cluster, end only drops the tables and views that this process has created in it.
func (c *cluster) end() error {
	if c.given != nil {
		return c.given.leave(c)
	}
	if c.nodes == nil {
		return nil
	}
	// The nodes need not shut down cleanly: their data is removed next, unless Recover started them.
	// Recover promises that closing the database kills the node.
	err := c.nodes.Kill()
	c.lines.close()
	return errors.Join(err, c.removeData())
}

func (c *cluster) removeData() error {
	if c.kept {
		return nil
	}
	dir, _ := beside(c.path)
	return os.RemoveAll(dir)
}

type leaver struct{ driver.Driver }

func (leaver) Leave() error {
	attachedMu.Lock()
	defer attachedMu.Unlock()
	var errs []error
	for _, c := range attached {
		if c.given != nil {
			errs = append(errs, c.given.leave(c))
		}
	}
	return errors.Join(errs...)
}

// writeVersion and readVersion are the offsets of two bytes in a database file's header. Each byte
// is 2 if the database uses a write-ahead log, and 1 otherwise.
const writeVersion, readVersion = 18, 19

func (c *cluster) save(ctx context.Context) error {
	data, err := c.call(ctx, http.MethodGet, "/db/backup", nil)
	if err == nil && len(data) > readVersion {
		// The nodes' databases have a write-ahead log, but rqlite marks the backup as a database
		// without a log.
		data[writeVersion], data[readVersion] = 2, 2
	}
	if err == nil {
		err = writeFile(c.path+"-saved", data)
	}
	if err == nil {
		err = os.Rename(c.path+"-saved", c.path)
	}
	if err != nil {
		return fmt.Errorf("saving the database of the cluster: %s", reason(err))
	}
	return nil
}

// writeFile writes a file and waits until it is on the disk.
func writeFile(path string, data []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func (c *cluster) load(ctx context.Context, data []byte) error {
	if c.given != nil {
		if err := c.given.alone(ctx, c); err != nil {
			return err
		}
	}
	if len(data) > readVersion {
		data[writeVersion], data[readVersion] = 1, 1 // rqlite loads only files without a write-ahead log
	}
	err := c.given.create(ctx, nil, func(ctx context.Context) error {
		if _, err := c.call(ctx, http.MethodPost, "/db/load", data); err != nil {
			return fmt.Errorf("loading %s into the cluster: %s", c.path, reason(err))
		}
		if c.given == nil {
			return nil
		}
		return c.given.noteLoaded(ctx, c)
	})
	if err != nil {
		return err
	}
	// rqlite only checks the first bytes of the file. Without this check, detach would later
	// overwrite a file that is not a database.
	if err := c.check(ctx); err != nil {
		return &driver.Error{Code: driver.CodeNotADB, Err: fmt.Errorf("%s cannot be loaded into the cluster: %w", c.path, err)}
	}
	return nil
}

func (c *cluster) check(ctx context.Context) error {
	found, err := column[string](ctx, c, "weak", "PRAGMA quick_check(1)")
	switch {
	case err != nil:
		return errors.New(reason(err))
	case !slices.Equal(found, []string{"ok"}):
		return fmt.Errorf("quick_check: %.200q", found)
	}
	return nil
}

// flush waits until all queued writes are in the database. The library cannot wait for them.
func (c *cluster) flush(ctx context.Context) error {
	// Every node has its own queue.
	for _, u := range c.urls {
		if _, err := nodes.Call(ctx, nodes.Client, http.MethodPost, u, "/db/execute?queue&wait&timeout=10m", []byte("[]")); err != nil {
			return err
		}
	}
	return nil
}

func firstAnswer[T any](c *cluster, ask func(address string) (T, error)) (answer T, err error) {
	for _, u := range c.urls {
		if answer, err = ask(u); err == nil {
			break
		}
	}
	return answer, err
}

// call sends an HTTP request to one node after another until a node answers. The library has no
// method that sends a request to an arbitrary path.
func (c *cluster) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	return firstAnswer(c, func(u string) ([]byte, error) {
		// Sending a whole database may take long, so first make sure that the node is not stopped.
		if path == "/db/backup" || path == "/db/load" {
			if _, err := nodes.StatusOf(ctx, u); err != nil {
				return nil, err
			}
		}
		return nodes.Call(ctx, nodes.Client, method, u, path, body)
	})
}

func (c *cluster) status(ctx context.Context) (*nodes.Status, error) {
	s, err := firstAnswer(c, func(u string) (*nodes.Status, error) { return nodes.StatusOf(ctx, u) })
	if err != nil {
		return nil, fmt.Errorf("asking a node for its status: %s", reason(err))
	}
	return s, nil
}

// named returns an error if RQLITE_ADDRESSES is set and the parameter "host" is not one of its nodes.
// Without this check, the library would send requests, with the password, to all hosts that a node lists.
func (c *cluster) named(host string) error {
	if c.given == nil || slices.ContainsFunc(c.urls, func(u string) bool { return bare(u) == host }) {
		return nil
	}
	return fmt.Errorf("the cluster has a node %.200s that %[2]s does not name, so nothing is sent to it: add it to %[2]s", host, addressesVariable)
}

func (c *cluster) client(h *http.Client) (*gorqlite.Connection, error) {
	return firstAnswer(c, func(u string) (*gorqlite.Connection, error) { return gorqlite.OpenWithClient(u, h) })
}
