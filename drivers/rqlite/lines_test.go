package rqlite

import (
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/delay"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestNodeDelayIsProven checks that Shown returns the setting node_delay if the nodes know each other
// by the addresses of the proxies. Shown must leave the setting out if a proxy has another address,
// delay or target.
func TestNodeDelayIsProven(t *testing.T) {
	db, err := open(t.Context(), filepath.Join(t.TempDir(), "test.db"), driver.Settings{"nodes": "1", "pool_size": "1", "node_delay": "3"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	d := db.(*database)
	shown := func() string {
		s, err := d.Shown(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s["node_delay"]
	}
	if got := shown(); got != "3" {
		t.Errorf("the delay is %q ms, want 3", got)
	}
	l := d.cluster.lines
	right := l.proxies[0]
	defer func() { l.proxies[0] = right }()
	for what, c := range map[string]delay.Config{
		"the nodes have the address of another proxy": {Target: right.Target(), Delay: right.Delay()},
		"the proxy has another delay":                 {Target: right.Target(), Delay: 2 * right.Delay()},
		"the proxy leads elsewhere":                   {Target: "127.0.0.1:1", Delay: right.Delay()},
	} {
		p, err := delay.Start(c)
		if err != nil {
			t.Fatal(err)
		}
		l.proxies[0] = p
		if got := shown(); got != "" {
			t.Errorf("%s, but a delay of %s ms is shown", what, got)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}
