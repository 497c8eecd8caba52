// Package schemas has the JSON Schemas (draft 2020-12) of the JSON that sqlite3perf writes. The
// schemas are generated from the Go types that are written: from fields, tags, comments and
// constants.
//
//	go test ./docs/schemas -update
package schemas

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sqlite3perf/sqlite3perf/internal/advise"
	"github.com/sqlite3perf/sqlite3perf/internal/bisect"
	"github.com/sqlite3perf/sqlite3perf/internal/catalog"
	"github.com/sqlite3perf/sqlite3perf/internal/cluster"
	sides "github.com/sqlite3perf/sqlite3perf/internal/compare"
	"github.com/sqlite3perf/sqlite3perf/internal/crash"
	"github.com/sqlite3perf/sqlite3perf/internal/diff"
	"github.com/sqlite3perf/sqlite3perf/internal/doctor"
	"github.com/sqlite3perf/sqlite3perf/internal/dsn"
	"github.com/sqlite3perf/sqlite3perf/internal/gate"
	"github.com/sqlite3perf/sqlite3perf/internal/locks"
	"github.com/sqlite3perf/sqlite3perf/internal/machines"
	"github.com/sqlite3perf/sqlite3perf/internal/profile"
	"github.com/sqlite3perf/sqlite3perf/internal/report"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
	"github.com/sqlite3perf/sqlite3perf/internal/website"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

var update = flag.Bool("update", false, "write the schemas")

// base is the beginning of every schema's address.
const base = "https://github.com/sqlite3perf/sqlite3perf/report/"

// written lists the JSON documents that subcommands write.
var written = []struct {
	name        string // name of the schema's file, without .schema.json
	title       string
	description string
	of          any // a value of the Go type, with its version if the document has versions
}{
	{"report", "sqlite3perf report", "What sqlite3perf writes with --format json: a run, and what was made of it.", report.JSON{Version: report.JSONVersion}},
	{"advice", "sqlite3perf recommendation of a driver", "What sqlite3perf advise writes with --format json.", advise.JSONAdvice{Version: advise.AdviceVersion}},
	{"bisection", "sqlite3perf bisection", "What sqlite3perf bisect writes with --format json.", bisect.JSONBisection{Version: bisect.BisectionVersion}},
	{"crash", "sqlite3perf crashes", "What sqlite3perf crash writes with --format json.", crash.JSONCrashes{Version: 1}},
	{"cluster", "sqlite3perf clusters", "What sqlite3perf cluster writes with --format json.", cluster.JSONClusters{Version: 1}},
	{"comparison", "sqlite3perf comparison", "What sqlite3perf compare writes with --format json.", sides.JSONSides{Version: sides.ComparisonVersion}},
	{"diff", "sqlite3perf comparison of answers", "What sqlite3perf diff writes with --format json.", diff.JSONDiff{}},
	{"checkup", "sqlite3perf checkup", "What sqlite3perf doctor writes with --format json.", doctor.JSONCheckup{Version: doctor.CheckupVersion}},
	{"drivers", "sqlite3perf list of drivers", "What sqlite3perf drivers writes with --format json.", catalog.JSONDrivers{Version: catalog.ListVersion}},
	{"dsn", "sqlite3perf data source names", "What sqlite3perf dsn writes with --format json. Secrets are replaced by ***.", dsn.JSONDSN{Version: 1}},
	{"figures", "sqlite3perf figures of a run in a site", "What sqlite3perf site writes as runs/N.json.", website.JSONRun{Version: website.FiguresVersion}},
	{"gate", "sqlite3perf gate", "What sqlite3perf gate writes with --format json.", gate.JSONGate{Version: gate.GateVersion}},
	{"locks", "sqlite3perf locks", "What sqlite3perf locks writes with --format json.", locks.JSONLocks{Version: locks.LocksVersion}},
	{"machines", "sqlite3perf on several machines", "What sqlite3perf run, compare and reproduce write with --format json and several --hosts, and show with several runs.", machines.JSONMachines{Version: machines.MachinesVersion}},
	{"gates", "sqlite3perf gate on several machines", "What sqlite3perf gate writes with --format json and several --hosts.", machines.JSONGates{Version: gate.GateVersion}},
	{"profile", "sqlite3perf profile", "What sqlite3perf profile writes with --format json.", profile.Profiled{Version: profile.ProfileVersion}},
	{"runs", "sqlite3perf list of runs", "What sqlite3perf runs writes with --format json.", store.JSONRuns{Version: store.RunsVersion}},
	{"tuning", "sqlite3perf search for settings", "What sqlite3perf tune writes with --format json.", tune.JSONTuning{Version: tune.TuningVersion}},
}

// ofWritten has JSON to add to definitions, by name, for rules that the Go types cannot express.
var ofWritten = map[string]string{
	"machines.JSONGateOfIt": `{"properties": {"gate": {"$ref": "gate.schema.json"}}}`,
	"machines.JSONMachine":  `{"properties": {"report": {"oneOf": [{"$ref": "report.schema.json"}, {"$ref": "comparison.schema.json"}]}}}`,
	"report.JSONCell": `{"if": {"properties": {"status": {"const": "ok"}}},
		"then": {"required": ["metric", "unit", "n", "median", "rate"]},
		"else": {"not": {"anyOf": [{"required": ["metric"]}, {"required": ["median"]}, {"required": ["n"]}, {"required": ["interval"]}, {"required": ["rank"]}, {"required": ["ratio"]}, {"required": ["rate"]}]}}}`,
}

// TestSchemas compares the schema files with schemas generated from the types.
func TestSchemas(t *testing.T) {
	g := newGenerator(t)
	g.further = ofWritten
	g.open = map[reflect.Type]bool{reflect.TypeFor[driver.Kind](): true, reflect.TypeFor[driver.Interface](): true} // other values are allowed too, because workers that others have written may report them
	for _, w := range written {
		s := g.schema(reflect.TypeOf(w.of))
		s.Version, s.ID = jsonschema.Version, jsonschema.ID(base+w.name+".schema.json")
		s.Title, s.Description = w.title, w.description
		if v := reflect.ValueOf(w.of).FieldByName("Version"); v.IsValid() {
			s.Properties.Set("version", &jsonschema.Schema{Const: v.Int()})
		}
		compare(t, w.name+".schema.json", layout(t, s))
	}
}

// TestFixtures validates the JSON files that other tests expect as output, against the schemas.
func TestFixtures(t *testing.T) {
	files, err := filepath.Glob("../../internal/report/testdata/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	compiler := validator.NewCompiler()
	compiler.AssertFormat()
	for _, w := range written {
		data, err := os.ReadFile(w.name + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		doc, err := validator.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(base+w.name+".schema.json", doc); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".firefox.json") { // the format is the Firefox Profiler's
			continue
		}
		name := "report"
		for _, w := range written {
			if strings.HasPrefix(filepath.Base(file), w.name) {
				name = w.name
			}
		}
		schema, err := compiler.Compile(base + name + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := validator.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
