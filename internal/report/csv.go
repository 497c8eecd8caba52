package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// csvRow is the data of one line. sample is nil for a trial without samples. latency is set only
// in the lines of a mix's operations.
type csvRow struct {
	run     *result.Run
	variant string
	outcome *stats.Outcome
	trial   *result.Trial
	sample  *result.Sample
	latency *latency.Summary
}

type csvColumn struct {
	name  string
	value func(csvRow) string
}

// csvColumns are the columns before those of parameters and settings. docs/report-formats.md
// explains each.
var csvColumns = slices.Concat([]csvColumn{
	{"run", func(r csvRow) string { return integer(r.run.ID) }},
	{"seed", func(r csvRow) string { return strconv.FormatUint(r.run.Seed, 10) }},
	{"hostname", func(r csvRow) string { return r.run.Machine.Hostname }},
	{"case", func(r csvRow) string { return strconv.Itoa(r.outcome.Case.ID) }},
	{"workload", func(r csvRow) string { return r.outcome.Case.Workload }},
	{"workload_sha256", func(r csvRow) string { return r.outcome.Case.WorkloadSHA256 }},
	{"scale", func(r csvRow) string { return r.outcome.Case.Scale }},
	{"variant", func(r csvRow) string { return r.variant }},
	{"driver", func(r csvRow) string { return r.outcome.Case.Driver }},
	{"module", of(csvRow.proof, func(p *protocol.Proof) string { return p.Module })},
	{"module_version", of(csvRow.proof, func(p *protocol.Proof) string { return p.ModuleVersion })},
	{"sqlite_version", of(csvRow.proof, func(p *protocol.Proof) string { return p.SQLiteVersion })},
	{"kind", func(r csvRow) string { return string(r.outcome.Case.Info.Kind) }},
	{"interface", func(r csvRow) string { return string(r.outcome.Case.Info.Interface) }},
	{"runtime", of(csvRow.proof, func(p *protocol.Proof) string { return p.Runtime })},
	{"case_status", func(r csvRow) string { return string(r.outcome.Status) }},
	{"case_reason", of(func(r csvRow) *protocol.Reason { return r.outcome.Reason }, func(x *protocol.Reason) string { return x.Message })},
	{"round", func(r csvRow) string { return strconv.Itoa(r.trial.Round) }},
	{"order", func(r csvRow) string { return strconv.Itoa(r.trial.Order) }},
	{"started", func(r csvRow) string { return r.trial.Started.UTC().Format(time.RFC3339Nano) }},
	{"took_ns", func(r csvRow) string { return integer(r.trial.TookNS) }},
	{"involuntary_switches", cpu(func(c *result.CPU) *int64 { return c.Switches })},
	{"waited_ns", cpu(func(c *result.CPU) *int64 { return c.WaitedNS })},
	{"stolen_ns", cpu(func(c *result.CPU) *int64 { return c.StolenNS })},
	{"others_ns", cpu(func(c *result.CPU) *int64 { return c.OthersNS })},
	{"trial_status", func(r csvRow) string { return string(r.trial.Status) }},
	{"reason_code", of(csvRow.reason, func(x *protocol.Reason) string { return x.Code })},
	{"reason_phase", of(csvRow.reason, func(x *protocol.Reason) string { return x.Phase })},
	{"reason", of(csvRow.reason, func(x *protocol.Reason) string { return x.Message })},
	{"warnings", warningCodes},
	{"phase", of(func(r csvRow) *result.Sample { return r.sample }, func(s *result.Sample) string { return s.Phase })},
	{"operation", of(csvRow.operation, func(l *latency.Summary) string { return l.Operation })},
	{"metric", of(csvRow.own, func(s *result.Sample) string { return s.Metric })},
	{"value_s", of(csvRow.own, func(s *result.Sample) string { return strconv.FormatFloat(s.Value(), 'g', -1, 64) })},
	{"wall_ns", of(csvRow.own, func(s *result.Sample) string { return integer(s.WallNS) })},
	{"user_ns", of(csvRow.own, func(s *result.Sample) string { return integer(s.UserNS) })},
	{"system_ns", of(csvRow.own, func(s *result.Sample) string { return integer(s.SystemNS) })},
	{"operations", of(csvRow.own, func(s *result.Sample) string { return integer(s.Operations) })},
	{"failed", of(csvRow.own, func(s *result.Sample) string { return integer(s.Failed) })},
	{"rows", of(csvRow.own, func(s *result.Sample) string { return integer(s.Rows) })},
}, costColumns(), []csvColumn{
	{"checksum", of(csvRow.own, func(s *result.Sample) string { return s.Checksum })},
	{"errors", of(csvRow.own, func(s *result.Sample) string { return errorList(s.Errors) })},
	{"results", of(csvRow.own, func(s *result.Sample) string { return errorList(s.Results) })},
	{"retries", of(csvRow.own, func(s *result.Sample) string { return integer(s.Retries) })},
	{"load_clients", of(csvRow.load, func(l *result.Load) string { return strconv.Itoa(l.Clients) })},
	{"load_rate_per_s", of(csvRow.load, func(l *result.Load) string { return perSecond(l.Rate) })},
	{"load_late_p99_ns", of(csvRow.load, func(l *result.Load) string { return integer(l.LateP99NS) })},
	{"load_ceiling_per_s", of(csvRow.load, func(l *result.Load) string { return perSecond(l.Ceiling) })},
	{"latency_count", of(csvRow.operation, func(l *latency.Summary) string { return integer(l.Count) })},
	{"latency_failed", of(csvRow.operation, func(l *latency.Summary) string { return integer(l.Failed) })},
	{"latency_ended_early", of(csvRow.operation, func(l *latency.Summary) string { return integer(l.EndedEarly) })},
	{"mean_ns", of(csvRow.operation, func(l *latency.Summary) string { return integer(l.MeanNS) })},
	{"p50_ns", of(csvRow.operation, func(l *latency.Summary) string { return integer(l.P50NS) })},
	{"p90_ns", of(csvRow.operation, func(l *latency.Summary) string { return integer(l.P90NS) })},
	{"p99_ns", of(csvRow.operation, func(l *latency.Summary) string { return integer(l.P99NS) })},
	{"p99_9_ns", of(csvRow.operation, func(l *latency.Summary) string { return integer(l.P999NS) })},
	{"p99_99_ns", of(csvRow.operation, func(l *latency.Summary) string { return integer(l.P9999NS) })},
	{"max_ns", of(csvRow.operation, func(l *latency.Summary) string { return integer(l.MaxNS) })},
})

func costColumns() (list []csvColumn) {
	for _, m := range result.Metrics {
		format := integer
		if m.Never0 {
			format = known
		}
		list = append(list, csvColumn{m.Key, of(csvRow.own, func(s *result.Sample) string { return format(*m.Of(&s.Costs)) })})
	}
	return list
}

// known formats a number whose 0 means that it is not known.
func known(n int64) string {
	if n == 0 {
		return ""
	}
	return integer(n)
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// of returns a column of a part of the line. It is empty in lines without that part.
func of[T any](part func(csvRow) *T, text func(*T) string) func(csvRow) string {
	return func(r csvRow) string {
		if p := part(r); p != nil {
			return text(p)
		}
		return ""
	}
}

// cpu returns a column of a trial's CPU time. It is empty if the time is not known.
func cpu(figure func(*result.CPU) *int64) func(csvRow) string {
	return func(r csvRow) string {
		if c := r.trial.CPU; c != nil {
			if n := figure(c); n != nil {
				return integer(*n)
			}
		}
		return ""
	}
}

// The parts of a line, nil in the lines that do not have them. Those of operations do not
// have the sample as their own, so that no figure of a phase is counted twice.

func (r csvRow) proof() *protocol.Proof      { return r.trial.Proof }
func (r csvRow) reason() *protocol.Reason    { return r.trial.Reason }
func (r csvRow) operation() *latency.Summary { return r.latency }

func (r csvRow) own() *result.Sample {
	if r.latency != nil {
		return nil
	}
	return r.sample
}

func (r csvRow) load() *result.Load {
	if s := r.own(); s != nil {
		return s.Load
	}
	return nil
}

func perSecond(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func errorList(list []protocol.ErrorCount) string {
	var words []string
	for _, e := range list {
		words = append(words, fmt.Sprintf("%s=%d/%dns", e.Name, e.Count, e.WaitNS))
	}
	return strings.Join(words, ";")
}

func warningCodes(r csvRow) string {
	var codes []string
	add := func(w result.Warning) {
		if (w.Round == 0 || w.Round == r.trial.Round) && (w.Phase == "" || r.sample != nil && w.Phase == r.sample.Phase) && !slices.Contains(codes, w.Code) {
			codes = append(codes, w.Code)
		}
	}
	for _, w := range r.outcome.Warnings {
		add(w)
	}
	for _, w := range r.run.Warnings {
		if w.Case == 0 {
			add(w)
		}
	}
	return strings.Join(codes, ";")
}

func writeCSV(w io.Writer, a *stats.Analysis, _ Options) error {
	parameters, settings := map[string]int64{}, driver.Settings{}
	for _, c := range a.Run.Cases {
		maps.Copy(parameters, c.Parameters)
		maps.Copy(settings, c.Settings)
		for _, s := range c.InForce {
			maps.Copy(settings, s)
		}
	}
	var head []string
	for _, c := range csvColumns {
		head = append(head, c.name)
	}
	parameterNames, settingNames := slices.Sorted(maps.Keys(parameters)), stats.SettingNames(settings)
	for _, n := range parameterNames {
		head = append(head, "parameter."+n)
	}
	for _, n := range settingNames {
		head = append(head, "setting."+n)
	}
	out := csv.NewWriter(w)
	if err := out.Write(document.CSVFields(head)); err != nil {
		return err
	}
	line := func(r csvRow) error {
		var fields []string
		for _, c := range csvColumns {
			fields = append(fields, c.value(r))
		}
		for _, n := range parameterNames {
			field := ""
			if v, ok := r.outcome.Case.Parameters[n]; ok {
				field = integer(v)
			}
			fields = append(fields, field)
		}
		inForce := r.outcome.Case.Settings
		if r.sample != nil {
			inForce = r.outcome.Case.SettingsIn(r.sample.Phase)
		}
		for _, n := range settingNames {
			fields = append(fields, inForce[n])
		}
		return out.Write(document.CSVFields(fields))
	}
	for _, g := range a.Groups {
		for _, o := range g.Outcomes {
			for _, t := range o.Trials {
				if t.Repeated {
					continue
				}
				if err := trialLines(csvRow{run: a.Run, variant: g.Variant(), outcome: o, trial: t}, line); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

func trialLines(r csvRow, line func(csvRow) error) error {
	if len(r.trial.Samples) == 0 {
		return line(r)
	}
	for i := range r.trial.Samples {
		r.sample, r.latency = &r.trial.Samples[i], nil
		if err := line(r); err != nil {
			return err
		}
		for j := range r.sample.Latency {
			l := r
			l.sample = &result.Sample{Phase: r.sample.Phase}
			l.latency = &r.sample.Latency[j]
			if err := line(l); err != nil {
				return err
			}
		}
	}
	return nil
}
