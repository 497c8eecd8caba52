// Package byhandtest tests that a program written by hand gives the same results as the engine
// (package worker) with the driver of the same library.
package byhandtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker"
	"github.com/sqlite3perf/sqlite3perf/worker/byhand"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/plan"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// plans is the directory with small plans of the built-in workloads, relative to
// drivers/NAME/byhand.
const plans = "../../../worker/plan/testdata"

// Run runs small versions of the workloads simple and complex with the program and with the engine
// (package worker). It checks that settings, inserted rows, answers and database files are equal.
func Run(t *testing.T, p byhand.Program, d driver.Driver) {
	for _, name := range []string{"simple", "complex"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(plans, name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			req := protocol.Request{Type: protocol.TypeTrial, Protocol: protocol.Version, Seed: 1}
			if err := json.Unmarshal(data, &req); err != nil {
				t.Fatal(err)
			}
			in := req.Plan.Phases[0].Insert
			for _, set := range in.Sets {
				stored := plan.Stored{Table: set}
				for _, c := range req.Plan.DataSet(set).Columns {
					stored.Columns = append(stored.Columns, c.Name)
					stored.Types = append(stored.Types, driver.ColumnType{Type: c.Type, Nullable: true})
				}
				in.Verify = append(in.Verify, stored)
			}
			engine, left := serve(t, d, req)
			hand, leftByHand := serve(t, p.Driver(), req)
			if len(engine) != len(hand) {
				t.Fatalf("%d answers of the engine, %d of the program", len(engine), len(hand))
			}
			for i := range engine {
				if engine[i] != hand[i] {
					t.Errorf("the engine answers\n%s\nand the program\n%s", engine[i], hand[i])
				}
			}
			if !bytes.Equal(left, leftByHand) {
				t.Errorf("the engine and the program leave different databases, of %d and %d bytes", len(left), len(leftByHand))
			}
		})
	}
}

// serve runs a trial. It returns the results that must be equal for the program and for the driver:
// the worker's messages without times, and the bytes of the database file, without the counters of
// transactions in its header.
func serve(t *testing.T, d driver.Driver, req protocol.Request) (answers []string, left []byte) {
	t.Helper()
	req.Path = filepath.Join(t.TempDir(), "test.db")
	list, err := worker.Exchange(t.Context(), d, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if a.Reason != nil {
			t.Fatalf("phase %q: %s", a.Reason.Phase, a.Reason.Message)
		}
		if p := a.Proof; p != nil {
			for _, c := range p.Connections {
				delete(c, "txlock") // only the engine observes txlock and cache
				delete(c, "cache")
			}
			p.Environment, p.Build = nil, nil
		}
		if s := a.Sample; s != nil {
			if s.WallNS <= 0 {
				t.Errorf("phase %s is not timed", s.Phase)
			}
			a.Sample = &protocol.Sample{Phase: s.Phase, Operations: s.Operations, Rows: s.Rows, Checksum: s.Checksum, Costs: protocol.Costs{DatabaseBytes: s.DatabaseBytes}}
		}
		line, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(line))
	}
	left, err = os.ReadFile(req.Path)
	if err != nil {
		t.Fatal(err)
	}
	// Clear the numbers in the header that depend on the number of transactions: the change
	// counter, the schema cookie, and the change counter for which the version number is valid. See
	// https://www.sqlite.org/fileformat2.html#the_database_header
	for _, at := range []int{24, 40, 92} {
		clear(left[at : at+4])
	}
	return answers, left
}
