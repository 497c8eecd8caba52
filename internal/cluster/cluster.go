// Package cluster says what a cluster costs compared with a local database, and which acknowledged
// writes it loses if its leader is killed.
package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Clusters has the results of clusters and of a local driver. All were measured under the same loads. If
// there is no local driver, the clusters were measured while their leaders were killed or cut off.
type Clusters struct {
	Trials   []ClusterTrial   `json:"trials"` // the local driver's trial is first, if there is one
	Machine  result.Machine   `json:"-"`
	Warnings []result.Warning `json:"-"` // warnings about the machine
}

// ClusterTrial is the result of one cluster or of one local database.
type ClusterTrial struct {
	Driver   string              `json:"driver"`
	Version  string              `json:"version,omitempty"` // version of the library
	Nodes    int                 `json:"nodes"`             // 0 if the driver is local
	Delay    time.Duration       `json:"delay_ns"`          // delay of each byte between two nodes, in each direction
	Settings driver.Settings     `json:"settings"`          // settings as the user asked for them
	Result   *protocol.Clustered `json:"result,omitempty"`  // result of all rounds together
	Rates    [][]float64         `json:"rates,omitempty"`   // rows acknowledged per second, by load and then by round; 0 if the round failed (development versions stored null instead)
	Reason   string              `json:"reason,omitempty"`  // error of the last round that failed; "" if no round failed
}

// Name returns the driver, the number of nodes and the delay of the trial.
func (t *ClusterTrial) Name() string {
	switch {
	case t.Nodes == 0:
		return document.Line(t.Driver) + ", local"
	case t.Delay > 0:
		return fmt.Sprintf("%s, %s, %v", document.Line(t.Driver), document.Counted(int64(t.Nodes), "node"), t.Delay)
	}
	return fmt.Sprintf("%s, %s", document.Line(t.Driver), document.Counted(int64(t.Nodes), "node"))
}

// Queued reports whether writes were acknowledged before they were in the cluster's log.
func (t *ClusterTrial) Queued() bool { return t.Settings["queued_writes"] == "on" }

// Lost returns the number of acknowledged writes that are missing. This number is counted in the final
// reads and in the copy of each node. Lost returns the greatest count.
func (t *ClusterTrial) Lost() int64 {
	if t.Result == nil || t.Result.Harmed == nil {
		return 0
	}
	lost := t.Result.Harmed.Lost
	for _, m := range t.Result.Harmed.Missing {
		lost = max(lost, m.Lost)
	}
	return lost
}

// Formats are the output formats of a cluster's results.
var Formats = document.Question[*Clusters]{Name: "cluster", Document: clusters, Title: "Cluster", Fits: true}.Formats(
	document.Format[*Clusters, document.Options]{Name: "svg", To: writeClusterSVG},
	document.Format[*Clusters, document.Options]{Name: "json", To: writeClusterJSON})

// RowsPerSecond returns how many rows were acknowledged per second under the load l.
func RowsPerSecond(l *protocol.LoadResult) float64 {
	return float64(l.Acknowledged.Count) * float64(l.Batch) / (float64(l.WallNS) / 1e9)
}

// rates returns the rows per second of each round under a load. The parameter "load" is the index of that
// load. The rate of a round that failed is 0.
func (t *ClusterTrial) rates(load int) []float64 {
	if load < len(t.Rates) {
		return t.Rates[load]
	}
	return []float64{RowsPerSecond(&t.Result.Loads[load])}
}

func (t *ClusterTrial) rate(load int) stats.Summary {
	return stats.Summarize(slices.DeleteFunc(slices.Clone(t.rates(load)), func(rate float64) bool { return rate == 0 }))
}

func (c *Clusters) rounds() int {
	n := 1
	for _, t := range c.Trials {
		if len(t.Rates) > 0 {
			n = max(n, len(t.Rates[0]))
		}
	}
	return n
}

func (c *Clusters) done() (list []*ClusterTrial) {
	for i := range c.Trials {
		if c.Trials[i].Result != nil {
			list = append(list, &c.Trials[i])
		}
	}
	return list
}

// ClustersAnswer says in a few sentences what a cluster costs, or what happened when leaders were
// killed or cut off.
func ClustersAnswer(c *Clusters) string {
	var words []string
	if s := priceAnswer(c.done()); s != "" {
		words = append(words, s)
		if n := c.rounds(); n < stats.MinSamples {
			words = append(words, fmt.Sprintf("These figures have no intervals: they are of %s, and an interval takes %d.", document.Counted(int64(n), "round"), stats.MinSamples))
		}
	}
	for _, t := range c.done() {
		if t.Result.Harmed != nil {
			words = append(words, harmAnswer(t))
		}
	}
	if words == nil {
		return "Nothing was measured."
	}
	return strings.Join(words, " ")
}

// hardest returns the load with the most rows in flight (clients times rows per INSERT), among the loads
// that all trials have. It does not return the load with the highest rate, because that rate may be the
// highest only by chance.
func hardest(trials ...*ClusterTrial) (load protocol.ClusterLoad, ok bool) {
	for _, l := range trials[0].Result.Loads {
		shared := !slices.ContainsFunc(trials, func(t *ClusterTrial) bool { return t.index(l.ClusterLoad) < 0 })
		if shared && (!ok || l.Clients*l.Batch >= load.Clients*load.Batch) {
			load, ok = l.ClusterLoad, true
		}
	}
	return load, ok
}

// nodes returns the subject of a sentence about a trial's cluster, such as "3 nodes of rqlite".
func (t *ClusterTrial) nodes() string {
	name := fmt.Sprintf("%s of %s", document.Counted(int64(t.Nodes), "node"), document.Line(t.Driver))
	if t.Delay > 0 {
		name += fmt.Sprintf(", %v apart,", t.Delay)
	}
	return name
}

// priceAnswer compares one cluster with the local driver. It chooses the cluster with the most
// nodes among those with the smallest delay.
func priceAnswer(list []*ClusterTrial) string {
	var local, large, far *ClusterTrial
	for _, t := range list {
		if len(t.Result.Loads) == 0 {
			continue
		}
		if t.Nodes == 0 {
			local = t
			continue
		}
		if large == nil || t.Delay < large.Delay || t.Delay == large.Delay && t.Nodes > large.Nodes {
			large = t
		}
		if t.Nodes > 1 && (far == nil || t.Delay > far.Delay) {
			far = t
		}
	}
	if large == nil && local == nil {
		return ""
	}
	if large == nil {
		load, _ := hardest(local)
		return fmt.Sprintf("With %s, %s acknowledges %s rows per second; no cluster was measured.", loadWords(load), document.Line(local.Driver), document.Human(local.rate(local.index(load)).Median))
	}
	first := &large.Result.Loads[0]
	load, _ := hardest(large)
	instead := ""
	if local != nil {
		if both, ok := hardest(large, local); ok {
			load = both
		} else {
			local = nil
		}
	}
	i := large.index(load)
	s := fmt.Sprintf("With %s, %s %s %s rows per second", loadWords(load), large.nodes(), document.Verb(large.Nodes, "acknowledges", "acknowledge"), document.Human(large.rate(i).Median))
	if local != nil {
		j := local.index(load)
		s += fmt.Sprintf(" where %s does %s, that is %s as many", document.Line(local.Driver), document.Human(local.rate(j).Median), ofLocal(large.rates(i), local.rates(j), false))
		instead = " instead of " + document.Nanoseconds(local.Result.Loads[0].Acknowledged.P50NS)
	}
	return fmt.Sprintf("%s. %s takes %s until it is acknowledged%s, and %s until it is visible on all nodes (medians).%s",
		s, insertWords(first), document.Nanoseconds(first.Acknowledged.P50NS), instead, document.Nanoseconds(first.Visible.P50NS), distance(large, far))
}

func distance(near, far *ClusterTrial) string {
	if far == nil || far.Delay == near.Delay {
		return ""
	}
	l := &far.Result.Loads[0]
	return fmt.Sprintf(" With %v between the nodes it is %s and %s.", far.Delay, document.Nanoseconds(l.Acknowledged.P50NS), document.Nanoseconds(l.Visible.P50NS))
}

func insertWords(l *protocol.LoadResult) string {
	if l.Batch == 1 {
		return "A row"
	}
	return fmt.Sprintf("An INSERT of %d rows", l.Batch)
}

func loadWords(l protocol.ClusterLoad) string {
	return fmt.Sprintf("%s, %s per INSERT", document.Counted(int64(l.Clients), "client"), document.Counted(int64(l.Batch), "row"))
}

func harmAnswer(t *ClusterTrial) string {
	h := t.Result.Harmed
	count := map[string]int64{}
	for _, harm := range h.Harms {
		count[harm.Kind]++
	}
	kills, cuts := count[protocol.HarmKill], count[protocol.HarmCut]
	var what []string
	if kills > 0 {
		what = append(what, document.Counted(kills, "kill")+" of the leader")
	}
	if cuts > 0 {
		what = append(what, document.Counted(cuts, "isolation")+" of the leader")
	}
	if kills > 0 {
		what = append(what, "a kill of all nodes at once")
	}
	lost := "none"
	if n := t.Lost(); n > 0 {
		lost = document.Thousands(n)
	}
	how := "acknowledged"
	if t.Queued() {
		how = "acknowledged when they were queued"
	}
	longest, median := silent(h.Harms)
	silence := document.Nanoseconds(longest)
	if len(h.Harms) > 1 {
		silence += fmt.Sprintf(" at the longest, and %s in the median", document.Nanoseconds(median))
	}
	return fmt.Sprintf("%s lost %s of %s writes that were %s, by %s. No write was acknowledged for %s.%s",
		t.nodes(), lost, document.Thousands(h.Acknowledged), how, document.And(what), silence, staleWords(h.Reads))
}

// silent returns the longest and the median time without an acknowledged write, in nanoseconds.
func silent(harms []protocol.Harm) (longest, median int64) {
	list := document.Map(harms, func(h protocol.Harm) int64 { return h.SilentNS })
	if list == nil {
		return 0, 0
	}
	slices.Sort(list)
	n := len(list)
	return list[n-1], (list[(n-1)/2] + list[n/2]) / 2
}

// staleWords says with which consistency levels reads missed acknowledged writes.
func staleWords(reads []protocol.LevelReads) string {
	var stale, never []string
	for _, r := range reads {
		switch {
		case r.Stale > 0:
			stale = append(stale, fmt.Sprintf("%s of the reads with level %s", document.Percent(float64(r.Stale)/float64(r.Reads-r.Failed)), r.Level))
		case r.Reads > r.Failed:
			never = append(never, r.Level)
		}
	}
	switch {
	case len(reads) == 0:
		return ""
	case stale == nil:
		return fmt.Sprintf(" No read was stale with level %s.", document.Or(never))
	case never == nil:
		return fmt.Sprintf(" Stale reads: %s.", document.And(stale))
	}
	return fmt.Sprintf(" Stale reads: %s; none with level %s.", document.And(stale), document.Or(never))
}

func clusters(c *Clusters, _ document.Options) document.Document {
	d := document.Document{document.Paragraph{Text: ClustersAnswer(c)}, document.Space{}, append(conditions.MachineItems(c.Machine), conditions.MachineWarnings(c.Warnings, c.rounds())...)}
	if pic, ok := pricePicture(c); ok {
		d = append(d, document.PictureBlock{Picture: pic}, document.PictureBlock{Picture: latencyPicture(c)})
	}
	d = append(d, priceTable(c)...)
	for _, t := range c.done() {
		if t.Result.Harmed != nil {
			d = append(d, harmTables(t)...)
		}
	}
	d = append(d, costTable(c)...)
	var notes document.List
	for i := range c.Trials {
		switch t := &c.Trials[i]; {
		case t.Reason != "" && t.Result != nil:
			rounds := len(t.Rates[0])
			notes.Note(document.Item{Label: "failed", Text: fmt.Sprintf("%s, %d of %s: %s", t.Name(), rounds-t.rate(0).N, document.Counted(rounds, "round"), document.Line(t.Reason)), Alarm: true})
		case t.Reason != "":
			notes.Note(document.Item{Label: "no result", Text: t.Name() + ": " + document.Line(t.Reason), Alarm: true})
		}
	}
	for _, t := range c.done() {
		notes.Note(document.Item{Label: "settings", Text: t.Name() + ": " + settingsOf(t)})
	}
	return append(d, document.Space{}, notes)
}

func settingsOf(t *ClusterTrial) string {
	words := []string{cmp.Or(document.Line(t.Version), "version not known")}
	for _, m := range t.Result.Members {
		if t.Nodes > 0 && m.Version != "" {
			words = append(words, "nodes of version "+document.Line(m.Version))
			break
		}
	}
	if len(t.Settings) > 0 {
		words = append(words, document.Line(document.Assigned(t.Settings)))
	}
	return strings.Join(words, "; ")
}
