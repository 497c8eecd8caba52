package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"reflect"
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

// csvRow is the data of one line of the CSV. The field "sample" is nil for a trial without samples. The line of
// a sample is followed by one line for each of its latencies. The field "latency" is set only in these lines.
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

// csvColumns are the first columns; the columns of parameters and settings follow them.
// docs/report-formats.md explains each column.
var csvColumns = slices.Concat(
	fields(func(r csvRow) *result.Run { return r.run }, "id=run", "seed"),
	fields(func(r csvRow) *result.Machine { return &r.run.Machine }, "hostname"),
	fields(csvRow.ofCase, "id=case", "workload", "workload_sha256", "scale"),
	[]csvColumn{{"variant", func(r csvRow) string { return r.variant }}},
	fields(csvRow.ofCase, "driver"),
	fields(csvRow.proof, "module", "module_version", "sqlite_version"),
	fields(func(r csvRow) *driver.Info { return &r.outcome.Case.Info }, "kind", "interface"),
	fields(csvRow.proof, "runtime"),
	[]csvColumn{{"case_status", func(r csvRow) string { return string(r.outcome.Status) }}},
	fields(func(r csvRow) *protocol.Reason { return r.outcome.Reason }, "message=case_reason"),
	fields(csvRow.ofTrial, "round", "order"),
	[]csvColumn{{"started", func(r csvRow) string { return r.trial.Started.UTC().Format(time.RFC3339Nano) }}},
	fields(csvRow.ofTrial, "took_ns"),
	fields(func(r csvRow) *result.CPU { return r.trial.CPU }, "involuntary_switches", "waited_ns", "stolen_ns", "others_ns"),
	fields(csvRow.ofTrial, "status=trial_status"),
	fields(func(r csvRow) *protocol.Reason { return r.trial.Reason }, "code=reason_code", "phase=reason_phase", "message=reason"),
	[]csvColumn{{"warnings", warningCodes}},
	fields(func(r csvRow) *result.Sample { return r.sample }, "phase"),
	fields(csvRow.operation, "operation"),
	fields(csvRow.own, "metric"),
	[]csvColumn{{"value_s", csvRow.value}},
	fields(csvRow.own, "wall_ns", "user_ns", "system_ns", "operations", "failed", "rows"),
	costColumns(),
	fields(csvRow.own, "checksum"),
	[]csvColumn{
		{"errors", errorColumn(func(s *result.Sample) []protocol.ErrorCount { return s.Errors })},
		{"results", errorColumn(func(s *result.Sample) []protocol.ErrorCount { return s.Results })},
	},
	fields(csvRow.own, "retries"),
	fields(csvRow.load, "clients=load_clients", "rate=load_rate_per_s", "late_p99_ns=load_late_p99_ns", "ceiling_per_s=load_ceiling_per_s"),
	fields(csvRow.operation, "count=latency_count", "failed=latency_failed", "ended_early=latency_ended_early",
		"mean_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"),
)

func costColumns() (list []csvColumn) {
	for _, m := range result.Metrics {
		list = append(list, csvColumn{m.Key, func(r csvRow) string {
			s := r.own()
			if s == nil || m.Never0 && *m.Of(&s.Costs) == 0 {
				return ""
			}
			return integer(*m.Of(&s.Costs))
		}})
	}
	return list
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// fields returns columns for one part of a line, such as its case or trial. The parameter "names"
// has the JSON names of the part's fields. In a name such as "id=run", the part after "=" is the
// name of the column; otherwise the column has the field's name. The column is empty in lines that
// do not have the part.
func fields[T any](part func(csvRow) *T, names ...string) (list []csvColumn) {
	for _, n := range names {
		name, column, _ := strings.Cut(n, "=")
		index := -1
		for i := range reflect.TypeFor[T]().NumField() {
			if tag, _, _ := strings.Cut(reflect.TypeFor[T]().Field(i).Tag.Get("json"), ","); tag == name {
				index = i
			}
		}
		list = append(list, csvColumn{cmp.Or(column, name), func(r csvRow) string {
			p := part(r)
			if p == nil {
				return ""
			}
			v := reflect.ValueOf(p).Elem().Field(index)
			if v.Kind() == reflect.Pointer && v.IsNil() {
				return ""
			}
			switch v = reflect.Indirect(v); v.Kind() {
			case reflect.String:
				return v.String()
			case reflect.Float64:
				return strconv.FormatFloat(v.Float(), 'f', -1, 64)
			}
			return fmt.Sprint(v)
		}})
	}
	return list
}

// The functions below return the parts of a csvRow, or nil if the row does not have the part. The
// function "own" returns nil for a row about the latency of one operation. Otherwise that row would
// repeat the phase's figures, and programs would count them twice.

func (r csvRow) ofCase() *result.Case        { return r.outcome.Case }
func (r csvRow) ofTrial() *result.Trial      { return r.trial }
func (r csvRow) proof() *protocol.Proof      { return r.trial.Proof }
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

func (r csvRow) value() string {
	if s := r.own(); s != nil {
		return strconv.FormatFloat(s.Value(), 'g', -1, 64)
	}
	return ""
}

// errorColumn returns a column that lists errors, with how often each error occurred and how long
// operations waited because of it.
func errorColumn(of func(*result.Sample) []protocol.ErrorCount) func(csvRow) string {
	return func(r csvRow) string {
		var words []string
		if s := r.own(); s != nil {
			for _, e := range of(s) {
				words = append(words, fmt.Sprintf("%s=%d/%dns", e.Name, e.Count, e.WaitNS))
			}
		}
		return strings.Join(words, ";")
	}
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
	head := document.Map(csvColumns, func(c csvColumn) string { return c.name })
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
		fields := document.Map(csvColumns, func(c csvColumn) string { return c.value(r) })
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
	for g, o := range a.OutcomesByGroup() {
		for _, t := range o.Trials {
			if t.Repeated {
				continue
			}
			if err := trialLines(csvRow{run: a.Run, variant: g.Variant(), outcome: o, trial: t}, line); err != nil {
				return err
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
