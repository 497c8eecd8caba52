package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"github.com/sqlite3perf/sqlite3perf/internal/conditions"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// writeBenchfmt writes one line per sample of the cases that are OK. It writes comments for other cases,
// because the format cannot represent them in another way.
func writeBenchfmt(w io.Writer, a *stats.Analysis, _ Options) error {
	run := a.Run
	comments := []string{fmt.Sprintf("sqlite3perf %s, run %d, seed %d, %s", run.Version, run.ID, run.Seed, conditions.Stopped(a))}
	for g, o := range a.OutcomesByGroup() {
		if o.Status != result.OK {
			comments = append(comments, fmt.Sprintf("%s: %s: %s: %s", o.Status, strings.TrimSpace(g.Workload+" "+g.Variant()), conditions.Name(o), conditions.Reason(o)))
		}
	}
	for _, line := range append(comments, libraries(a)...) {
		if _, err := fmt.Fprintf(w, "# %s\n", document.Line(line)); err != nil {
			return err
		}
	}
	out := benchfmt.NewWriter(w)
	type unit struct{ unit, better string }
	units := []unit{
		{"ns/op", "lower"}, {"rows/s", "higher"}, {"op/s", "higher"}, {"req/s", "higher"}, {"user-ns/op", "lower"}, {"system-ns/op", "lower"}, {"failed/op", "lower"},
	}
	costs := benchCosts(a)
	for _, m := range costs {
		units = append(units, unit{m.Bench, "lower"})
	}
	for _, u := range units {
		if err := out.Write(&benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: u.unit, Key: "better"}, OrigUnit: u.unit, Value: u.better}); err != nil {
			return err
		}
	}
	for g, t := range a.Tables() {
		for _, c := range t.Measured() {
			for _, s := range c.Samples {
				if err := out.Write(benchResult(run, costs, g, t, c, s)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// benchCosts returns the metrics that have a unit in the benchmark format, sorted by unit. It
// leaves out metrics that are measured only on request if no sample has them.
func benchCosts(a *stats.Analysis) []result.Metric {
	counted := func(m *result.Metric) bool {
		return slices.ContainsFunc(a.Run.Trials, func(t result.Trial) bool {
			return slices.ContainsFunc(t.Samples, func(s result.Sample) bool { _, known := m.Value(&s); return known })
		})
	}
	list := slices.DeleteFunc(slices.Clone(result.Metrics), func(m result.Metric) bool { return m.Bench == "" || m.Asked && !counted(&m) })
	slices.SortFunc(list, func(a, b result.Metric) int { return strings.Compare(a.Bench, b.Bench) })
	return list
}

// libraries returns comment lines that describe each driver's library. If they were configuration
// lines, benchstat would put drivers and versions into different tables.
func libraries(a *stats.Analysis) (lines []string) {
	for _, o := range a.Outcomes() {
		words := []string{document.Line(o.Case.Driver) + ":", "kind=" + string(o.Case.Info.Kind), "interface=" + string(o.Case.Info.Interface)}
		if p := o.Proof(); p != nil {
			words = append(words, "module="+p.Module, "module-version="+p.ModuleVersion, "sqlite="+p.SQLiteVersion, "runtime="+p.Runtime)
		}
		if line := document.Line(strings.Join(words, " ")); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func benchResult(run *result.Run, costs []result.Metric, g *stats.Group, t *stats.Table, c *stats.Cell, s stats.Sample) *benchfmt.Result {
	r := &benchfmt.Result{Iters: int(max(s.Operations, 1))}
	config := func(key, value string) {
		if v := document.Line(value); v != "" {
			r.Config = append(r.Config, benchfmt.Config{Key: key, Value: []byte(v), File: true})
		}
	}
	config("goos", run.Machine.OS)
	config("goarch", run.Machine.Arch)
	config("cpu", run.Machine.CPU)
	config("pkg", "github.com/sqlite3perf/sqlite3perf")
	config("filesystem", run.Machine.FileSystem)
	config("scale", c.Case.Scale)
	config("workload-sha256", c.Case.WorkloadSHA256)
	if s, ok := c.Case.InForce[t.Phase]; ok {
		config("in-force", stats.SettingWords(s))
	}
	var b strings.Builder
	b.WriteString(camel(c.Case.Workload) + "/" + benchWord(t.Phase))
	for _, v := range g.Varied {
		b.WriteString("/" + benchWord(v.Name) + "=" + benchWord(cmp.Or(v.Value, "unset")))
	}
	// The number of cores is always written. Otherwise benchstat would take a number at the end of
	// a driver's name for the number of cores.
	fmt.Fprintf(&b, "/driver=%s-%d", benchWord(c.Case.Driver), max(run.Machine.Cores, 1))
	r.Name = benchfmt.Name(b.String())

	value := func(v float64, unit string) {
		r.Values = append(r.Values, benchfmt.Value{Value: v, Unit: unit})
	}
	n := float64(max(s.Operations, 1))
	value(float64(s.WallNS)/n, "ns/op")
	perSecond, unit := Rate(s.Sample)
	value(perSecond, unit)
	if len(s.Latency) > 0 && s.Metric != result.MetricTime {
		value(float64(s.Failed)/n, "failed/op")
	}
	value(float64(s.UserNS)/n, "user-ns/op")
	value(float64(s.SystemNS)/n, "system-ns/op")
	for _, m := range costs {
		if v, known := m.Value(s.Sample); known {
			value(v, m.Bench)
		}
	}
	if s.CheckpointNS > 0 {
		value(float64(s.CheckpointNS), "checkpoint-ns")
	}
	for _, l := range s.Latency {
		op := benchWord(l.Operation)
		value(float64(l.P50NS), op+"-p50-ns")
		value(float64(l.P99NS), op+"-p99-ns")
		value(float64(l.MaxNS), op+"-max-ns")
		if s.Failed > 0 {
			value(float64(l.Failed)/float64(max(l.Count, 1)), op+"-failed/op")
		}
	}
	for _, e := range s.Errors {
		value(float64(e.Count), benchWord(cmp.Or(e.Name, fmt.Sprintf("code-%d", e.Code))))
	}
	for _, e := range s.Results {
		value(float64(e.Count), "result-"+benchWord(cmp.Or(e.Name, fmt.Sprintf("code-%d", e.Code))))
	}
	return r
}

// camel converts a workload's name to a benchmark's name: point-read to PointRead.
func camel(name string) string {
	var b strings.Builder
	upper := true
	for _, r := range benchWord(name) {
		if r == '-' || r == '_' {
			upper = true
			continue
		}
		if upper {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		upper = false
	}
	return b.String()
}

// benchWord converts a text to a word that may be part of a benchmark's name.
func benchWord(s string) string {
	return cmp.Or(strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, s), "_")
}
