package cluster

import (
	"errors"
	"fmt"
	"io"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func pricePicture(c *Clusters) (document.Picture, bool) {
	loads := c.loads()
	if len(loads) == 0 {
		return document.Picture{}, false
	}
	g := &chart.Grouped{Axis: chart.Axis{Label: "rows per second, higher is better", Format: document.Human}}
	for _, load := range loads {
		group := chart.Group{Name: loadWords(load)}
		for _, t := range c.done() {
			b := chart.Bar{Name: t.Name(), Reason: "not measured"}
			if i := t.index(load); i >= 0 {
				l, rate := &t.Result.Loads[i], t.rate(i)
				b.Reason = ""
				b.Value, b.Low, b.High = document.OfSummary(rate)
				b.Tip = fmt.Sprintf("acknowledged after %s, on every node after %s (medians)", document.Nanoseconds(l.Acknowledged.P50NS), document.Nanoseconds(l.Visible.P50NS))
			}
			group.Bars = append(group.Bars, b)
		}
		g.Groups = append(g.Groups, group)
	}
	return document.Picture{Name: "price", Title: "What a cluster costs: rows acknowledged per second", Plot: g}, true
}

func latencyPicture(c *Clusters) document.Picture {
	load := c.loads()[0]
	g := &chart.Grouped{Axis: chart.Axis{Label: "median latency, lower is better", Format: func(v float64) string { return document.Nanoseconds(int64(v)) }}}
	for _, t := range c.done() {
		i := t.index(load)
		if i < 0 {
			continue
		}
		l := &t.Result.Loads[i]
		group := chart.Group{Name: t.Name()}
		for _, of := range []struct {
			name string
			s    *latency.Summary
		}{{"acknowledged", &l.Acknowledged}, {"visible on all nodes", &l.Visible}} {
			v := float64(of.s.P50NS)
			group.Bars = append(group.Bars, chart.Bar{Name: of.name, Value: v, Low: v, High: v, Tip: "p99 " + document.Nanoseconds(of.s.P99NS)})
		}
		g.Groups = append(g.Groups, group)
	}
	return document.Picture{Name: "latency", Title: "Until a write is acknowledged, and visible on all nodes: " + loadWords(load), Plot: g}
}

func writeClusterSVG(w io.Writer, c *Clusters, _ document.Options) error {
	p, ok := pricePicture(c)
	if !ok {
		return errors.New("there is a picture of loads only, and none was measured")
	}
	return chart.WriteSVG(w, p.Chart(0))
}

// JSONClusters is the JSON form of the results of clusters.
type JSONClusters struct {
	Version  int              `json:"version"`
	Answer   string           `json:"answer"`
	Machine  result.Machine   `json:"machine"`
	Warnings []result.Warning `json:"warnings,omitempty"` // warnings about the machine
	Trials   []JSONCluster    `json:"trials"`
}

// JSONCluster is the JSON form of the result of one cluster, or of the local database.
type JSONCluster struct {
	Driver        string              `json:"driver"`
	ModuleVersion string              `json:"module_version,omitempty"`
	Nodes         int                 `json:"nodes"` // number of nodes; 0 if the driver is local
	DelayNS       int64               `json:"delay_ns"`
	Settings      driver.Settings     `json:"settings" jsonschema:"nullable"`
	Result        *protocol.Clustered `json:"result,omitempty"` // result of all rounds together
	Rates         []stats.Summary     `json:"rates,omitempty"`  // rows acknowledged per second under each load
	Reason        string              `json:"reason,omitempty"` // why there is no result, or why a round failed
}

func writeClusterJSON(w io.Writer, c *Clusters, _ document.Options) error {
	out := JSONClusters{Version: 1, Answer: ClustersAnswer(c), Machine: c.Machine, Warnings: c.Warnings, Trials: []JSONCluster{}}
	for _, t := range c.Trials {
		j := JSONCluster{Driver: t.Driver, ModuleVersion: t.Version, Nodes: t.Nodes, DelayNS: int64(t.Delay), Settings: t.Settings, Result: t.Result, Reason: t.Reason}
		if t.Result != nil {
			for i := range t.Result.Loads {
				j.Rates = append(j.Rates, t.rate(i))
			}
		}
		out.Trials = append(out.Trials, j)
	}
	return document.Encode(w, out)
}
