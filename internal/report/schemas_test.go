package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// fulfilled validates what write writes.
func fulfilled(t *testing.T, schema []byte, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	validate(t, compiled(t, schema), b.String())
}

// TestDSNFulfilsSchema checks that the schema names every field that what drivers make of a
// data source name can have, and no others. The tests below check the same of theirs.
func TestDSNFulfilsSchema(t *testing.T) {
	fulfilled(t, dsn.DSNSchema, func(w io.Writer) error { return dsn.WriteDSN(w, "json", dsnFixture(t), document.Options{}) })
	var all dsn.JSONDSN
	fill(reflect.ValueOf(&all).Elem())
	all.Version, all.Drivers[0].Options[0].Outcome = 1, dsn.Void
	validateFields(t, compiled(t, dsn.DSNSchema), all)
}

func TestDiffFulfilsSchema(t *testing.T) {
	fulfilled(t, diff.DiffSchema, func(w io.Writer) error {
		return diff.WriteDiffJSON(w, diffed(noted("a", "3.53.4", "a\x00b", int64(1)), noted("b", "3.53.4", "a", int64(1))))
	})
	fulfilled(t, diff.DiffSchema, func(w io.Writer) error {
		return diff.WriteDiffJSON(w, diffed(noted("a", "3.53.4", "a"), noted("b", "3.53.4", "a"))) // no difference
	})
	var all diff.JSONDiff
	fill(reflect.ValueOf(&all).Elem())
	all.Command = "diff"
	validateFields(t, compiled(t, diff.DiffSchema), all)
}

func TestMachinesFulfilSchema(t *testing.T) {
	s := compiled(t, machines.MachinesSchema, report.Schema, compare.ComparisonSchema)
	validate(t, s, writeMachines(t, "json", onMachines(onMachine("pi", 3, 1), onMachine("vm1", 4, 4)), document.Options{}))
	validate(t, s, writeMachines(t, "json", onMachines(comparedOnMachine(1, 1), comparedOnMachine(2, 9)), document.Options{}))
	validate(t, s, writeMachines(t, "json", []machines.OnMachine{{Name: "pi", Failure: "it went away"}}, document.Options{}))
	var all machines.JSONMachines
	fill(reflect.ValueOf(&all).Elem())
	all.Machines[0].Report = json.RawMessage(write(t, "json", onMachine("pi", 3, 1), "native", document.Options{}))
	all.Pairs[0].Agreement, all.Pairs[0].Said[0].Verdict = stats.Reversed, stats.Same
	validateFields(t, s, all)
}

func TestGatesFulfilSchema(t *testing.T) {
	s := compiled(t, machines.GatesSchema, gate.GateSchema)
	var b bytes.Buffer
	if err := machines.WriteGates(&b, "json", []machines.GatedOn{{Name: "pi", Gated: gate.Gated{Gate: stats.NewGate(0.05)}}, {Name: "vm1", Gated: gatedRun()}}, document.Options{}); err != nil {
		t.Fatal(err)
	}
	validate(t, s, b.String())
	var all machines.JSONGates
	fill(reflect.ValueOf(&all).Elem())
	all.Machines[0].Gate = json.RawMessage(writeGated(t, "json", gatedRun()))
	validateFields(t, s, all)
}

func TestAdviceFulfilsSchema(t *testing.T) {
	for name := range fixtures {
		t.Run(name, func(t *testing.T) {
			fulfilled(t, advise.AdviceSchema, func(w io.Writer) error {
				return advise.WriteAdvice(w, "json", advised(fixtures[name]()), document.Options{})
			})
		})
	}
	var all advise.JSONAdvice
	fill(reflect.ValueOf(&all).Elem())
	all.Version, all.Verdict = advise.AdviceVersion, advise.Take
	all.Rejected[0].Cause, all.Overturn[0].Change = advise.CauseSlower, advise.ChangeCell
	validateFields(t, compiled(t, advise.AdviceSchema), all)
}
