package report_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
)

// fulfilled checks that the output of write matches a schema.
func fulfilled(t *testing.T, schema string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	validate(t, compiled(t, schema), b.String())
}

func TestDSNFulfilsSchema(t *testing.T) {
	fulfilled(t, "dsn", func(w io.Writer) error { return dsn.Formats.Write(w, "json", dsnFixture(t), document.Options{}) })
}

func TestDiffFulfilsSchema(t *testing.T) {
	fulfilled(t, "diff", func(w io.Writer) error {
		return diff.Formats.Write(w, "json", diffed(noted("a", "3.53.4", "a\x00b", int64(1)), noted("b", "3.53.4", "a", int64(1))), diff.Options{})
	})
	fulfilled(t, "diff", func(w io.Writer) error {
		return diff.Formats.Write(w, "json", diffed(noted("a", "3.53.4", "a"), noted("b", "3.53.4", "a")), diff.Options{}) // the two drivers give the same answers
	})
}

func TestMachinesFulfilSchema(t *testing.T) {
	s := compiled(t, "machines", "report", "comparison")
	validate(t, s, writeMachines(t, "json", onMachines(onMachine("pi", 3, 1), onMachine("vm1", 4, 4)), document.Options{}))
	validate(t, s, writeMachines(t, "json", onMachines(comparedOnMachine(1, 1), comparedOnMachine(2, 9)), document.Options{}))
	validate(t, s, writeMachines(t, "json", []machines.OnMachine{{Name: "pi", Failure: "it went away"}}, document.Options{}))
}

func TestGatesFulfilSchema(t *testing.T) {
	s := compiled(t, "gates", "gate")
	var b bytes.Buffer
	if err := machines.GateFormats.Write(&b, "json", []machines.GatedOn{{Name: "pi", Gated: gate.Gated{Gate: stats.NewGate(0.05)}}, {Name: "vm1", Gated: gatedRun()}}, document.Options{}); err != nil {
		t.Fatal(err)
	}
	validate(t, s, b.String())
}

func TestAdviceFulfilsSchema(t *testing.T) {
	for name := range fixtures {
		t.Run(name, func(t *testing.T) {
			fulfilled(t, "advice", func(w io.Writer) error {
				return advise.Formats.Write(w, "json", advised(fixtures[name]()), document.Options{})
			})
		})
	}
}
