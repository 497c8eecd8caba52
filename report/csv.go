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

	"github.com/sqlite3perf/sqlite3perf/result"
	"github.com/sqlite3perf/sqlite3perf/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// csvRow is what one line of CSV is about. Sample is nil for a trial that measured
// nothing. latency is nil except in the lines of a mix's operations.
type csvRow struct {
	run     *result.Run
	variant string
	outcome *stats.Outcome
	trial   *result.Trial
	sample  *result.Sample
	latency *latency.Summary
}

// csvColumns are the columns except those of the parameters and settings.
// docs/report-formats.md says what each means.
var csvColumns = []struct {
	name  string
	value func(csvRow) string
}{
	{"run", func(r csvRow) string { return integer(r.run.ID) }},
	{"seed", func(r csvRow) string { return strconv.FormatUint(r.run.Seed, 10) }},
	{"hostname", func(r csvRow) string { return r.run.Machine.Hostname }},
	{"case", func(r csvRow) string { return strconv.Itoa(r.outcome.Case.ID) }},
	{"workload", func(r csvRow) string { return r.outcome.Case.Workload }},
	{"workload_sha256", func(r csvRow) string { return r.outcome.Case.WorkloadSHA256 }},
	{"scale", func(r csvRow) string { return r.outcome.Case.Scale }},
	{"variant", func(r csvRow) string { return r.variant }},
	{"driver", func(r csvRow) string { return r.outcome.Case.Driver }},
	{"module", ofProof(func(p *protocol.Proof) string { return p.Module })},
	{"module_version", ofProof(func(p *protocol.Proof) string { return p.ModuleVersion })},
	{"sqlite_version", ofProof(func(p *protocol.Proof) string { return p.SQLiteVersion })},
	{"kind", func(r csvRow) string { return string(r.outcome.Case.Info.Kind) }},
	{"interface", func(r csvRow) string { return string(r.outcome.Case.Info.Interface) }},
	{"runtime", ofProof(func(p *protocol.Proof) string { return p.Runtime })},
	{"case_status", func(r csvRow) string { return string(r.outcome.Status) }},
	{"case_reason", func(r csvRow) string {
		if r.outcome.Reason == nil {
			return ""
		}
		return r.outcome.Reason.Message
	}},
	{"round", func(r csvRow) string { return strconv.Itoa(r.trial.Round) }},
	{"order", func(r csvRow) string { return strconv.Itoa(r.trial.Order) }},
	{"started", func(r csvRow) string { return r.trial.Started.UTC().Format(time.RFC3339Nano) }},
	{"took_ns", func(r csvRow) string { return integer(r.trial.TookNS) }},
	{"trial_status", func(r csvRow) string { return string(r.trial.Status) }},
	{"reason_code", ofReason(func(x *protocol.Reason) string { return x.Code })},
	{"reason_phase", ofReason(func(x *protocol.Reason) string { return x.Phase })},
	{"reason", ofReason(func(x *protocol.Reason) string { return x.Message })},
	{"warnings", warningCodes},
	{"phase", func(r csvRow) string {
		if r.sample == nil {
			return ""
		}
		return r.sample.Phase
	}},
	{"operation", ofLatency(func(l *latency.Summary) string { return l.Operation })},
	{"metric", ofSample(func(s *result.Sample) string { return s.Metric })},
	{"value_s", ofSample(func(s *result.Sample) string { return strconv.FormatFloat(s.Value(), 'g', -1, 64) })},
	{"wall_ns", ofSample(func(s *result.Sample) string { return integer(s.WallNS) })},
	{"user_ns", ofSample(func(s *result.Sample) string { return integer(s.UserNS) })},
	{"system_ns", ofSample(func(s *result.Sample) string { return integer(s.SystemNS) })},
	{"operations", ofSample(func(s *result.Sample) string { return integer(s.Operations) })},
	{"failed", ofSample(func(s *result.Sample) string { return integer(s.Failed) })},
	{"rows", ofSample(func(s *result.Sample) string { return integer(s.Rows) })},
	{"allocs", ofSample(func(s *result.Sample) string { return integer(s.Allocs) })},
	{"alloc_bytes", ofSample(func(s *result.Sample) string { return integer(s.AllocBytes) })},
	{"peak_rss_bytes", ofSample(func(s *result.Sample) string { return integer(s.PeakRSSBytes) })},
	{"database_bytes", ofSample(func(s *result.Sample) string { return integer(s.DatabaseBytes) })},
	{"wal_bytes", ofSample(func(s *result.Sample) string { return integer(s.WALBytes) })},
	{"checkpoint_ns", ofSample(func(s *result.Sample) string { return integer(s.CheckpointNS) })},
	{"checksum", ofSample(func(s *result.Sample) string { return s.Checksum })},
	{"errors", ofSample(func(s *result.Sample) string { return errorList(s.Errors) })},
	{"results", ofSample(func(s *result.Sample) string { return errorList(s.Results) })},
	{"retries", ofSample(func(s *result.Sample) string { return integer(s.Retries) })},
	{"load_clients", ofLoad(func(l *result.Load) string { return strconv.Itoa(l.Clients) })},
	{"load_rate_per_s", ofLoad(func(l *result.Load) string { return perSecond(l.Rate) })},
	{"load_late_p99_ns", ofLoad(func(l *result.Load) string { return integer(l.LateP99NS) })},
	{"load_ceiling_per_s", ofLoad(func(l *result.Load) string { return perSecond(l.Ceiling) })},
	{"latency_count", ofLatency(func(l *latency.Summary) string { return integer(l.Count) })},
	{"latency_failed", ofLatency(func(l *latency.Summary) string { return integer(l.Failed) })},
	{"latency_ended_early", ofLatency(func(l *latency.Summary) string { return integer(l.EndedEarly) })},
	{"mean_ns", ofLatency(func(l *latency.Summary) string { return integer(l.MeanNS) })},
	{"p50_ns", ofLatency(func(l *latency.Summary) string { return integer(l.P50NS) })},
	{"p90_ns", ofLatency(func(l *latency.Summary) string { return integer(l.P90NS) })},
	{"p99_ns", ofLatency(func(l *latency.Summary) string { return integer(l.P99NS) })},
	{"p99_9_ns", ofLatency(func(l *latency.Summary) string { return integer(l.P999NS) })},
	{"p99_99_ns", ofLatency(func(l *latency.Summary) string { return integer(l.P9999NS) })},
	{"max_ns", ofLatency(func(l *latency.Summary) string { return integer(l.MaxNS) })},
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

func ofProof(f func(*protocol.Proof) string) func(csvRow) string {
	return func(r csvRow) string {
		if r.trial.Proof == nil {
			return ""
		}
		return f(r.trial.Proof)
	}
}

func ofReason(f func(*protocol.Reason) string) func(csvRow) string {
	return func(r csvRow) string {
		if r.trial.Reason == nil {
			return ""
		}
		return f(r.trial.Reason)
	}
}

// ofSample returns a column that is empty in the lines of operations, so that no figure
// of a phase is counted twice.
func ofSample(f func(*result.Sample) string) func(csvRow) string {
	return func(r csvRow) string {
		if r.sample == nil || r.latency != nil {
			return ""
		}
		return f(r.sample)
	}
}

// ofLoad returns a column that is empty except in the lines of http phases.
func ofLoad(f func(*result.Load) string) func(csvRow) string {
	return ofSample(func(s *result.Sample) string {
		if s.Load == nil {
			return ""
		}
		return f(s.Load)
	})
}

func perSecond(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func ofLatency(f func(*latency.Summary) string) func(csvRow) string {
	return func(r csvRow) string {
		if r.latency == nil {
			return ""
		}
		return f(r.latency)
	}
}

func errorList(list []protocol.ErrorCount) string {
	var words []string
	for _, e := range list {
		words = append(words, fmt.Sprintf("%s=%d/%dns", e.Name, e.Count, e.WaitNS))
	}
	return strings.Join(words, ";")
}

// warningCodes lists the codes of the warnings that concern the row.
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
	parameters, settings := map[string]bool{}, driver.Settings{}
	for _, c := range a.Run.Cases {
		for n := range c.Parameters {
			parameters[n] = true
		}
		for _, s := range append(slices.Collect(maps.Values(c.InForce)), c.Settings) {
			settings = settings.With(s)
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
	if err := out.Write(csvFields(head)); err != nil {
		return err
	}
	line := func(r csvRow) error {
		var fields []string
		for _, c := range csvColumns {
			fields = append(fields, c.value(r))
		}
		for _, n := range parameterNames {
			v, ok := r.outcome.Case.Parameters[n]
			if ok {
				fields = append(fields, integer(v))
			} else {
				fields = append(fields, "")
			}
		}
		inForce := r.outcome.Case.Settings
		if r.sample != nil {
			inForce = r.outcome.Case.SettingsIn(r.sample.Phase)
		}
		for _, n := range settingNames {
			fields = append(fields, inForce[n])
		}
		return out.Write(csvFields(fields))
	}
	for _, g := range a.Groups {
		for _, o := range g.Outcomes {
			for _, t := range o.Trials {
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
