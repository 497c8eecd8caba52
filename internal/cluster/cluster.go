// Package cluster says what a cluster costs beside a local database, and which acknowledged
// writes it loses if its leader is killed.
package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/chart"
	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Clusters is what clusters and a local driver have done under the same loads, or what came
// of harm to them.
type Clusters struct {
	Trials   []ClusterTrial // that of the local driver first, if there is one
	Machine  result.Machine
	Warnings []result.Warning // about the machine
}

// ClusterTrial is what one database has done.
type ClusterTrial struct {
	Driver   string
	Version  string              // of the library
	Nodes    int                 // 0 if the driver is local
	Delay    time.Duration       // of each byte between the nodes, in each direction
	Settings driver.Settings     // that were asked for
	Result   *protocol.Clustered // of all rounds together
	Rates    [][]float64         // rows acknowledged per second under each load, in each round; NaN if that has failed
	Reason   string              // why a round has failed, the last one if several have; "" if none has
}

// Name says which database it is.
func (t *ClusterTrial) Name() string {
	switch {
	case t.Nodes == 0:
		return document.Line(t.Driver) + ", local"
	case t.Delay > 0:
		return fmt.Sprintf("%s, %s, %v", document.Line(t.Driver), document.Counted(int64(t.Nodes), "node"), t.Delay)
	}
	return fmt.Sprintf("%s, %s", document.Line(t.Driver), document.Counted(int64(t.Nodes), "node"))
}

// Queued reports whether writes were acknowledged before they were in the log.
func (t *ClusterTrial) Queued() bool { return t.Settings["queued_writes"] == "on" }

// Lost returns how many acknowledged writes are gone, on any node.
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

// Formats are those of a cluster.
var Formats = document.FormatsOf[*Clusters, document.Options]{What: "cluster", List: []document.Format[*Clusters, document.Options]{
	{Name: "table", To: func(w io.Writer, c *Clusters, o document.Options) error {
		return document.RenderText(w, clusters(c), o)
	}},
	{Name: "markdown", To: func(w io.Writer, c *Clusters, _ document.Options) error {
		return document.RenderMarkdown(w, clusters(c))
	}},
	{Name: "html", To: func(w io.Writer, c *Clusters, o document.Options) error {
		return document.RenderHTML(w, clusters(c), "Cluster", o)
	}},
	{Name: "svg", To: writeClusterSVG},
	{Name: "json", To: writeClusterJSON},
}}

// RowsPerSecond returns how many rows were acknowledged per second under a load.
func RowsPerSecond(l *protocol.LoadResult) float64 {
	return float64(l.Acknowledged.Count) * float64(l.Batch) / (float64(l.WallNS) / 1e9)
}

// rates returns the rows per second of all rounds under a load of the result.
func (t *ClusterTrial) rates(load int) []float64 {
	if load < len(t.Rates) {
		return t.Rates[load]
	}
	return []float64{RowsPerSecond(&t.Result.Loads[load])}
}

// rate sums them up.
func (t *ClusterTrial) rate(load int) stats.Summary {
	return stats.Summarize(slices.DeleteFunc(slices.Clone(t.rates(load)), math.IsNaN))
}

// failed returns how many rounds have failed, if any has a result.
func (t *ClusterTrial) failed() (n int) {
	if len(t.Rates) > 0 {
		for _, r := range t.Rates[0] {
			if math.IsNaN(r) {
				n++
			}
		}
	}
	return n
}

// rounds returns in how many rounds the loads were measured.
func (c *Clusters) rounds() int {
	n := 1
	for _, t := range c.Trials {
		if len(t.Rates) > 0 {
			n = max(n, len(t.Rates[0]))
		}
	}
	return n
}

// done returns the trials that have a result.
func (c *Clusters) done() (list []*ClusterTrial) {
	for i := range c.Trials {
		if c.Trials[i].Result != nil {
			list = append(list, &c.Trials[i])
		}
	}
	return list
}

// ClustersAnswer says in a few sentences what a cluster costs, or what harm did to it.
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

// hardest returns the load that writes the most rows at once, of those that all trials have. It
// is not the one under which most was done: what is chosen by being large is too large.
func hardest(trials ...*ClusterTrial) (load protocol.ClusterLoad, ok bool) {
	for _, l := range trials[0].Result.Loads {
		shared := !slices.ContainsFunc(trials, func(t *ClusterTrial) bool { return t.index(l.ClusterLoad) < 0 })
		if shared && (!ok || l.Clients*l.Batch >= load.Clients*load.Batch) {
			load, ok = l.ClusterLoad, true
		}
	}
	return load, ok
}

// lostVerb is the same for one node and for several.
const lostVerb = "lost"

// nodes names the cluster of a trial as the subject of a sentence, with its verb.
func (t *ClusterTrial) nodes(verb string) string {
	if t.Nodes == 1 && verb != lostVerb {
		verb += "s"
	}
	name := fmt.Sprintf("%s of %s", document.Counted(int64(t.Nodes), "node"), document.Line(t.Driver))
	if t.Delay > 0 {
		name += fmt.Sprintf(", %v apart,", t.Delay)
	}
	return name + " " + verb
}

// priceAnswer compares the largest cluster without a delay with the local driver.
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
	s := fmt.Sprintf("With %s, %s %s rows per second", loadWords(load), large.nodes("acknowledge"), document.Human(large.rate(i).Median))
	if local != nil {
		j := local.index(load)
		s += fmt.Sprintf(" where %s does %s, that is %s as many", document.Line(local.Driver), document.Human(local.rate(j).Median), ofLocal(large.rates(i), local.rates(j), false))
		instead = " instead of " + document.Nanoseconds(local.Result.Loads[0].Acknowledged.P50NS)
	}
	return fmt.Sprintf("%s. %s takes %s until it is acknowledged%s, and %s until it is visible on all nodes (medians).%s",
		s, one(first), document.Nanoseconds(first.Acknowledged.P50NS), instead, document.Nanoseconds(first.Visible.P50NS), distance(large, far))
}

// distance says what the longest delay makes of the first load.
func distance(near, far *ClusterTrial) string {
	if far == nil || far.Delay == near.Delay {
		return ""
	}
	l := &far.Result.Loads[0]
	return fmt.Sprintf(" With %v between the nodes it is %s and %s.", far.Delay, document.Nanoseconds(l.Acknowledged.P50NS), document.Nanoseconds(l.Visible.P50NS))
}

// one says what a load writes at once.
func one(l *protocol.LoadResult) string {
	if l.Batch == 1 {
		return "A row"
	}
	return fmt.Sprintf("An INSERT of %d rows", l.Batch)
}

func loadWords(l protocol.ClusterLoad) string {
	return fmt.Sprintf("%s, %s per INSERT", document.Counted(int64(l.Clients), "client"), document.Counted(int64(l.Batch), "row"))
}

// harmAnswer says what was lost, and for how long writes failed.
func harmAnswer(t *ClusterTrial) string {
	h := t.Result.Harmed
	var kills, cuts int64
	for _, one := range h.Harms {
		if one.Kind == protocol.HarmKill {
			kills++
		} else {
			cuts++
		}
	}
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
	switch n := t.Lost(); {
	case n > 0 && t.Queued():
		lost = document.Thousands(n)
	case n > 0:
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
	return fmt.Sprintf("%s %s of %s writes that were %s, by %s. No write was acknowledged for %s.%s",
		t.nodes(lostVerb), lost, document.Thousands(h.Acknowledged), how, document.And(what), silence, staleWords(h.Reads))
}

// silent returns the longest and the median time without an acknowledged write.
func silent(harms []protocol.Harm) (longest, median int64) {
	var list []int64
	for _, h := range harms {
		list = append(list, h.SilentNS)
	}
	if list == nil {
		return 0, 0
	}
	slices.Sort(list)
	n := len(list)
	return list[n-1], (list[(n-1)/2] + list[n/2]) / 2
}

// staleWords says which levels have answered with a state that was over.
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
		return fmt.Sprintf(" Stale were %s.", document.And(stale))
	}
	return fmt.Sprintf(" Stale were %s; none was with level %s.", document.And(stale), document.Or(never))
}

// clusters is the whole of it for people.
func clusters(c *Clusters) document.Document {
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
			notes.Note(document.Item{Label: "failed", Text: fmt.Sprintf("%s, %d of %s: %s", t.Name(), t.failed(), document.Counted(int64(len(t.Rates[0])), "round"), document.Line(t.Reason)), Alarm: true})
		case t.Reason != "":
			notes.Note(document.Item{Label: "no result", Text: t.Name() + ": " + document.Line(t.Reason), Alarm: true})
		}
	}
	for _, t := range c.done() {
		notes.Note(document.Item{Label: "settings", Text: t.Name() + ": " + settingsOf(t)})
	}
	return append(d, document.Space{}, notes)
}

// settingsOf says with what a trial was done.
func settingsOf(t *ClusterTrial) string {
	words := []string{cmp.Or(document.Line(t.Version), "version not known")}
	for _, m := range t.Result.Members {
		if t.Nodes > 0 && m.Version != "" {
			words = append(words, "nodes of version "+document.Line(m.Version))
			break
		}
	}
	var set []string
	for name, v := range t.Settings {
		set = append(set, document.Line(name+"="+v))
	}
	slices.Sort(set)
	if set != nil {
		words = append(words, strings.Join(set, " "))
	}
	return strings.Join(words, "; ")
}

// loads returns the loads that were measured, in order.
func (c *Clusters) loads() (list []protocol.ClusterLoad) {
	for _, t := range c.done() {
		for _, l := range t.Result.Loads {
			if !slices.Contains(list, l.ClusterLoad) {
				list = append(list, l.ClusterLoad)
			}
		}
	}
	return list
}

// index returns which of a trial's loads is this one, or -1.
func (t *ClusterTrial) index(load protocol.ClusterLoad) int {
	return slices.IndexFunc(t.Result.Loads, func(l protocol.LoadResult) bool { return l.ClusterLoad == load })
}

// priceTable has every database under every load, load by load.
func priceTable(c *Clusters) document.Document {
	g := document.Grid{Columns: []document.Column{
		{Title: "clients"}, {Title: "batch"}, {Title: "database"}, {Title: "writes/s", Right: true, Drop: 3}, {Title: "rows/s", Right: true}, {Title: "of local", Right: true},
		{Title: "acked p50", Right: true}, {Title: "p99", Right: true, Drop: 1}, {Title: "visible p50", Right: true}, {Title: "p99", Right: true, Drop: 2},
		{Title: "CPU/row", Right: true}, {Title: "nodes' share", Right: true, Drop: 4},
	}}
	failed := ""
	for _, load := range c.loads() {
		var local []float64
		for _, t := range c.done() {
			i := t.index(load)
			if i < 0 {
				continue
			}
			l, rate := &t.Result.Loads[i], t.rate(i)
			nodes, of, cpu := document.Absent, document.Absent, document.Absent
			if t.Nodes == 0 {
				local = t.rates(i)
			} else if l.CPUNS > 0 {
				nodes = document.Percent(float64(l.MemberCPUNS) / float64(l.CPUNS))
			}
			if len(local) > 0 {
				of = ofLocal(t.rates(i), local, t.Nodes == 0)
			}
			if l.CPUNS > 0 {
				cpu = document.Nanoseconds(int64(float64(l.CPUNS) / (float64(l.Acknowledged.Count) * float64(l.Batch))))
			}
			g.Rows = append(g.Rows, []string{document.Thousands(int64(load.Clients)), document.Thousands(int64(load.Batch)), t.Name(), document.Human(rate.Median / float64(l.Batch)), withInterval(document.Human(rate.Median), rate), of,
				document.Nanoseconds(l.Acknowledged.P50NS), document.Nanoseconds(l.Acknowledged.P99NS), document.Nanoseconds(l.Visible.P50NS), document.Nanoseconds(l.Visible.P99NS), cpu, nodes})
			if l.Failed > 0 {
				failed += fmt.Sprintf(" %s, %s: %s failed, the first with: %s.", t.Name(), loadWords(load), document.Counted(l.Failed, "write"), document.Line(l.Error))
			}
		}
	}
	if g.Rows == nil {
		return nil
	}
	return document.Document{document.Heading{Level: 2, Text: "What it costs"}, g,
		document.Paragraph{Text: "Clients write as fast as they can, each INSERT in its own transaction; batch: its rows. acked: until a write was acknowledged; visible: until a read with level none found it on every node. CPU is that of the clients and of all nodes. " + roundsWords(c.rounds()) + failed, Quiet: true}}
}

// withInterval adds the interval of a figure, if it has one.
func withInterval(figure string, s stats.Summary) string {
	if s.Interval == nil {
		return figure
	}
	return figure + " " + document.Ends(s)
}

// ofLocal says how many times as many rows as the local driver has, round by round.
func ofLocal(rates, local []float64, itself bool) string {
	var ratios []float64
	for i := range min(len(rates), len(local)) {
		if r := rates[i] / local[i]; !math.IsNaN(r) {
			ratios = append(ratios, r)
		}
	}
	if ratios == nil {
		return document.Absent
	}
	s := stats.SummarizeRatios(ratios)
	if itself {
		return document.Times(1)
	}
	return withInterval(document.Times(s.Median), s)
}

// roundsWords says how sure the rates are.
func roundsWords(n int) string {
	switch {
	case n == 1:
		return "Each line is one trial, so nothing says how much it would differ the next time."
	case n < stats.MinSamples:
		return fmt.Sprintf("Rates are medians of %d rounds, which are too few for an interval (%d).", n, stats.MinSamples)
	}
	return fmt.Sprintf("Rates are medians of %d rounds, with 95 %% intervals, which are too narrow if the machine drifts meanwhile. Ratios are formed within rounds. Latencies are those of all rounds.", n)
}

// costTable says what the databases take besides.
func costTable(c *Clusters) document.Document {
	g := document.Grid{Columns: []document.Column{{Title: "database"}, {Title: "rows written", Right: true}, {Title: "disk", Right: true}, {Title: "disk per row", Right: true}, {Title: "memory", Right: true}}}
	for _, t := range c.done() {
		r := t.Result
		memory := document.Absent
		if r.PeakRSSBytes > 0 {
			memory = document.Bytes(r.PeakRSSBytes)
		}
		perRow := document.Absent
		if r.Rows > 0 {
			perRow = document.Bytes(r.DiskBytes / r.Rows)
		}
		g.Rows = append(g.Rows, []string{t.Name(), document.Thousands(r.Rows), document.Bytes(r.DiskBytes), perRow, memory})
	}
	if g.Rows == nil {
		return nil
	}
	return document.Document{document.Heading{Level: 2, Text: "Disk and memory"}, g,
		document.Paragraph{Text: "Disk is what all nodes use in the end, with their logs and snapshots. Memory is the most that the processes of all nodes have held, each at its own peak; of a local driver it is that of the process with the clients.", Quiet: true}}
}

// harmTables says what harm has done.
func harmTables(t *ClusterTrial) document.Document {
	h := t.Result.Harmed
	harms := document.Grid{Columns: []document.Column{{Title: "harm"}, {Title: "times", Right: true}, {Title: "longest without a write", Right: true}, {Title: "median", Right: true}}}
	for _, kind := range []struct{ kind, words string }{{protocol.HarmKill, "leader killed and restarted"}, {protocol.HarmCut, "leader isolated and healed"}} {
		var of []protocol.Harm
		for _, one := range h.Harms {
			if one.Kind == kind.kind {
				of = append(of, one)
			}
		}
		if of != nil {
			longest, median := silent(of)
			harms.Rows = append(harms.Rows, []string{kind.words, document.Thousands(int64(len(of))), document.Nanoseconds(longest), document.Nanoseconds(median)})
		}
	}
	writes := document.Grid{Columns: []document.Column{{Title: "writes"}, {Title: "number", Right: true}}}
	add := func(what string, n int64) { writes.Rows = append(writes.Rows, []string{what, document.Thousands(n)}) }
	add("acknowledged", h.Acknowledged)
	add("failed, of which some may have taken effect", h.Failed)
	add("found in the end, with level strong", h.Found)
	add("acknowledged, but lost", h.Lost)
	for _, m := range h.Missing {
		add(fmt.Sprintf("acknowledged, but not in the copy of node %s", document.Line(m.Member)), m.Lost)
	}
	reads := document.Grid{Columns: []document.Column{{Title: "level"}, {Title: "reads", Right: true}, {Title: "failed", Right: true}, {Title: "stale", Right: true}, {Title: "of the answered", Right: true}}}
	for _, r := range h.Reads {
		share := document.Absent
		if n := r.Reads - r.Failed; n > 0 {
			share = document.Percent(float64(r.Stale) / float64(n))
		}
		reads.Rows = append(reads.Rows, []string{r.Level, document.Thousands(r.Reads), document.Thousands(r.Failed), document.Thousands(r.Stale), share})
	}
	d := document.Document{document.Heading{Level: 2, Text: "Harm: " + t.Name()}, harms, document.Space{}, writes}
	if len(reads.Rows) > 0 {
		d = append(d, document.Space{}, reads, document.Paragraph{Text: "A read is stale if it does not see a write that was acknowledged before the read began. Reads go to one node after the other, those that are cut off included.", Quiet: true})
	}
	if len(h.LostIDs) > 0 {
		var ids []string
		for _, id := range h.LostIDs {
			ids = append(ids, document.Thousands(id))
		}
		d = append(d, document.Paragraph{Text: "The first rows that are lost have the IDs " + strings.Join(ids, ", ") + "."})
	}
	return d
}

// pricePicture has the throughput of all databases under all loads.
func pricePicture(c *Clusters) (document.Picture, bool) {
	loads := c.loads()
	if len(loads) == 0 {
		return document.Picture{}, false
	}
	draw := func(width int, title string) chart.Chart {
		g := &chart.Grouped{Title: title, Width: width, Axis: chart.Axis{Label: "rows per second, higher is better", Format: document.Human}}
		for _, load := range loads {
			group := chart.Group{Name: loadWords(load)}
			for _, t := range c.done() {
				b := chart.Bar{Name: t.Name(), Reason: "not measured"}
				if i := t.index(load); i >= 0 {
					l, rate := &t.Result.Loads[i], t.rate(i)
					b.Reason, b.Value, b.Low, b.High = "", rate.Median, rate.Median, rate.Median
					if rate.Interval != nil {
						b.Low, b.High = rate.Interval.Low, rate.Interval.High
					}
					b.Tip = fmt.Sprintf("acknowledged after %s, on every node after %s (medians)", document.Nanoseconds(l.Acknowledged.P50NS), document.Nanoseconds(l.Visible.P50NS))
				}
				group.Bars = append(group.Bars, b)
			}
			g.Groups = append(g.Groups, group)
		}
		return g
	}
	return document.Picture{Name: "price", Title: "What a cluster costs: rows acknowledged per second", Draw: draw}, true
}

// latencyPicture has both latencies of all databases under the first load.
func latencyPicture(c *Clusters) document.Picture {
	load := c.loads()[0]
	draw := func(width int, title string) chart.Chart {
		g := &chart.Grouped{Title: title, Width: width, Axis: chart.Axis{Label: "median latency, lower is better", Format: func(v float64) string { return document.Nanoseconds(int64(v)) }}}
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
		return g
	}
	return document.Picture{Name: "latency", Title: "Until a write is acknowledged, and visible on all nodes: " + loadWords(load), Draw: draw}
}

func writeClusterSVG(w io.Writer, c *Clusters, _ document.Options) error {
	p, ok := pricePicture(c)
	if !ok {
		return errors.New("there is a picture of loads only, and none was measured")
	}
	return chart.WriteSVG(w, p.Chart(0))
}

// JSONClusters is the JSON form of clusters.
type JSONClusters struct {
	Version  int              `json:"version"`
	Answer   string           `json:"answer"`
	Machine  result.Machine   `json:"machine"`
	Warnings []result.Warning `json:"warnings,omitempty"` // about the machine
	Trials   []JSONCluster    `json:"trials"`
}

// JSONCluster is what one database has done.
type JSONCluster struct {
	Driver        string              `json:"driver"`
	ModuleVersion string              `json:"module_version,omitempty"`
	Nodes         int                 `json:"nodes"` // 0: the driver is local
	DelayNS       int64               `json:"delay_ns"`
	Settings      driver.Settings     `json:"settings" jsonschema:"nullable"`
	Result        *protocol.Clustered `json:"result,omitempty"` // of all rounds together
	Rates         []stats.Summary     `json:"rates,omitempty"`  // rows acknowledged per second under each load
	Reason        string              `json:"reason,omitempty"` // why there is no result, or why a round has failed
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
