package crash

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/crash/disk"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/record"
	"github.com/sqlite3perf/sqlite3perf/internal/crash/trace"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

var update = flag.Bool("update", false, "write the recorded answers")

// TestGrade checks the verdicts on what is found in a database after a fault.
func TestGrade(t *testing.T) {
	x := expectation{"zero", "one", "two", "three"}
	good := protocol.JudgedState{Transaction: 2, Digest: "two", Others: -1}
	change := func(f func(*protocol.JudgedState)) protocol.JudgedState {
		s := good
		f(&s)
		return s
	}
	for _, c := range []struct {
		name         string
		state        protocol.JudgedState
		acknowledged int
		others       []int64
		want         Grade
		why          string
	}{
		{"the last acknowledged", good, 2, nil, Kept, ""},
		{"one that was not acknowledged yet", good, 1, nil, Kept, ""},
		{"one before the last acknowledged", good, 3, nil, Lost, "it is after transaction 2, and 3 was acknowledged"},
		{"one that had not begun", good, 0, nil, Broken, "after transaction 2, which had not begun"},
		{"another content", change(func(s *protocol.JudgedState) { s.Digest = "one" }), 2, nil, Broken, "a part of a transaction"},
		{"a number that never was", change(func(s *protocol.JudgedState) { s.Transaction = 9 }), 3, nil, Broken, "had not begun"},
		{"no tables", protocol.JudgedState{Transaction: -1}, 0, nil, Lost, "no tables"},
		{"unreadable", protocol.JudgedState{Transaction: -1, Error: "disk I/O error"}, 0, nil, Broken, "cannot be read: disk I/O error"},
		{"damaged", change(func(s *protocol.JudgedState) { s.Integrity = []string{"row missing"} }), 2, nil, Broken, "integrity_check: row missing"},
		{"a missing parent", change(func(s *protocol.JudgedState) { s.ForeignKeys = 1 }), 2, nil, Broken, "foreign_key_check"},
		{"unwritable", change(func(s *protocol.JudgedState) { s.Unwritable = "readonly" }), 2, nil, Broken, "cannot be written: readonly"},
		{"rows of the other process", change(func(s *protocol.JudgedState) { s.Others = 7 }), 2, []int64{7, 8}, Kept, ""},
		{"a row of the other process is lost", change(func(s *protocol.JudgedState) { s.Others = 6 }), 2, []int64{7, 8}, Broken, "inserted 7 rows, and 6 are there"},
	} {
		if got, why := x.grade(c.acknowledged, c.others, &c.state); got != c.want || !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, got, why, c.want, c.why)
		}
	}
}

// TestDocumented checks which grades are possible according to SQLite's documentation.
func TestDocumented(t *testing.T) {
	for _, c := range []struct {
		journal, synchronous string
		kill, ordered        Grade
	}{
		{"delete", "extra", Kept, Kept},
		{"delete", "full", Kept, Lost},
		{"delete", "normal", Kept, Broken},
		{"delete", "off", Kept, Broken},
		{"truncate", "full", Kept, Kept},
		{"persist", "normal", Kept, Broken},
		{"wal", "extra", Kept, Kept},
		{"wal", "full", Kept, Kept},
		{"wal", "normal", Kept, Lost},
		{"wal", "off", Kept, Broken},
		{"memory", "full", Broken, Broken},
		{"off", "full", Broken, Broken},
	} {
		s := driver.Settings{"journal_mode": c.journal, "synchronous": c.synchronous}
		if got := documentedFor(s, Kill); got != c.kill {
			t.Errorf("%s %s, kill: %s, want %s", c.journal, c.synchronous, got, c.kill)
		}
		if documentedFor(s, Errors) != Broken {
			t.Errorf("%s %s, errors: want broken, because nothing is promised for a disk that reports errors", c.journal, c.synchronous)
		}
		for _, f := range []Fault{Ordered, Posix} {
			if got := documentedFor(s, f); got != c.ordered {
				t.Errorf("%s %s, %s: %s, want %s", c.journal, c.synchronous, f, got, c.ordered)
			}
		}
		for _, f := range []Fault{Shared, Cancel} {
			if got := documentedFor(s, f); got != Kept {
				t.Errorf("%s %s, %s: %s, want kept", c.journal, c.synchronous, f, got)
			}
		}
	}
}

// TestDocumentedAttached checks which grades are possible, according to the documentation, if
// tables are in a second file.
func TestDocumentedAttached(t *testing.T) {
	for mode, want := range map[string]Grade{"delete": Kept, "truncate": Kept, "persist": Kept, "wal": Broken, "memory": Broken, "off": Broken} {
		c := &Cell{InForce: driver.Settings{"journal_mode": mode, "synchronous": "extra"}, Attached: true}
		for _, f := range []Fault{Kill, Ordered, Posix} {
			if got := c.documented(f); got != want {
				t.Errorf("%s, %s: %s, want %s", mode, f, got, want)
			}
		}
		if got := c.documented(Shared); got != Kept {
			t.Errorf("%s, shared: %s", mode, got)
		}
	}
}

// TestFaultsFor checks that each class of calls on each kind of file is made to fail.
func TestFaultsFor(t *testing.T) {
	tr := &trace.Trace{Ops: []trace.Op{
		{Kind: trace.Write, Name: "before.db"},
		{Kind: trace.Acknowledge},
		{Kind: trace.Write, Name: "test.db-journal"}, {Kind: trace.Sync, Name: "test.db-journal"}, {Kind: trace.Write, Name: "test.db-journal"},
		{Kind: trace.Write, Name: "test.db"}, {Kind: trace.Remove, Name: "test.db-journal"}, {Kind: trace.Write, Name: "test.db-shm"},
	}}
	got := map[string]int{}
	for _, f := range faultsFor(tr, rand.New(rand.NewPCG(1, 1))) {
		got[string(f.Class)+" "+f.File+" "+f.Error]++
		if most := map[string]int{"write journal": 2}[string(f.Class)+" "+f.File]; f.At < 1 || f.At > max(most, 1) {
			t.Errorf("%v: there is no such call", &f)
		}
	}
	want := map[string]int{
		"write journal EIO": 1, "write journal ENOSPC": 2, "write database EIO": 1, "write database ENOSPC": 2, "sync journal EIO": 2, "remove journal EIO": 1,
	}
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s: %d, want %d", k, got[k], n)
		}
	}
}

// TestRepeat checks how long a fault is repeated, and with which seeds.
func TestRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for budget, want := range map[time.Duration][]uint64{0: {7}, time.Minute: {7, 8, 9}} {
			var seeds []uint64
			x := &Explorer{Seed: 7, Budget: budget}
			err := x.repeat(func(seed uint64) error {
				seeds = append(seeds, seed)
				time.Sleep(25 * time.Second)
				return nil
			})
			if err != nil || !slices.Equal(seeds, want) {
				t.Errorf("%v: seeds %v, error %v, want %v", budget, seeds, err, want)
			}
		}
	})
}

// some returns an answer about two drivers with four combinations of settings. One of the combinations is
// the drivers' own defaults.
func some() *Crashes {
	c := &Crashes{Workload: "ledger", Transactions: 24, States: 200, Seed: 1, Faults: Faults, Judges: []string{"native"},
		Proofs:  []Proof{{Name: "synchronous=off loses or breaks", Want: Lost, AtBest: true, Found: Broken, States: 150}},
		Machine: result.Machine{OS: "linux", Arch: "amd64", CPU: "some CPU", Cores: 2}}
	for _, name := range []string{"mattn", "modernc"} {
		for _, s := range []struct {
			journal, synchronous string
			own                  bool
			lost, broken         int
		}{{"delete", "full", true, 1, 0}, {"wal", "full", false, 0, 0}, {"wal", "normal", false, 5, 0}, {"delete", "off", false, 3, 9}} {
			settings := driver.Settings{"journal_mode": s.journal, "synchronous": s.synchronous}
			cell := Cell{Driver: name, ModuleVersion: "v1", SQLiteVersion: "3.50.4", InForce: settings, Settings: settings.With(driver.Settings{"wal_autocheckpoint": "20"}),
				Own: s.own, CommitNS: 500_000, Cost: trace.Cost{Transactions: 24, Syncs: 24, DirSyncs: 12, Writes: 240, Bytes: 1 << 20,
					Files: map[string]trace.FileCost{"database": {Writes: 60, Bytes: 1 << 19}, "wal": {Syncs: 24, Writes: 180, Bytes: 1 << 19}}}, Results: map[Fault]*Outcome{}}
			if s.own {
				cell.Settings = driver.Settings{"pool_size": "1"}
			}
			for _, f := range Faults {
				o := &Outcome{States: 100}
				if f == Kill {
					o.Runs = 5
				}
				if f == Ordered || f == Posix {
					o.Lost, o.MostLost, o.Broken = s.lost, s.lost, s.broken
				}
				if o.Lost > 0 {
					o.Failing = []Failure{{Grade: o.Grade(), Judge: "native", Why: "it is after transaction 5, and 6 was acknowledged", Fault: f, Model: disk.Ordered,
						Boundary: 7, Operation: "before the fsync of test.db-journal", Persisted: "no waiting change", Acknowledged: 6, Found: 5}}
				}
				cell.Results[f] = o
			}
			c.Cells = append(c.Cells, cell)
		}
	}
	c.Cells[1].CommitNS = 400_000
	return c
}

// TestAnswer checks the sentences of the answer.
func TestAnswer(t *testing.T) {
	c := some()
	want := "No acknowledged transaction of 2 drivers was lost, and no database damaged, with wal full. " +
		"The last transactions were lost, but no database was damaged, with wal normal (up to 5). " +
		"Databases were damaged with delete off. Nothing was worse than SQLite's documentation says. " +
		"By default, mattn and modernc have delete full. " +
		"The least time per transaction with nothing lost was 400 µs, with 1 sync, by mattn and wal full. It was measured in one process and has no interval; sqlite3perf run compares times."
	if got := c.Answer(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if !c.AsDocumented() {
		t.Error("AsDocumented is false, want true")
	}
	c.Cells[1].Results[Kill].Broken = 1
	if got := c.Answer(); !strings.Contains(got, "No acknowledged transaction of 2 drivers was lost, and no database damaged, with wal full (except mattn).") ||
		!strings.Contains(got, "Worse than SQLite's documentation says: mattn with wal full (kill).") || c.AsDocumented() {
		t.Error(got)
	}
	c = some()
	for _, i := range []int{3, 7} { // as if, by chance, no state showed a loss with journal_mode=delete and synchronous=off
		for _, o := range c.Cells[i].Results {
			*o = Outcome{States: 1}
		}
		c.Cells[i].CommitNS = 1
	}
	if got := c.Answer(); !strings.Contains(got, "Nothing was lost with delete off in these states, but SQLite's documentation says that it can be.") ||
		!strings.Contains(got, "damaged, with wal full.") || !strings.Contains(got, "was 400 µs") {
		t.Error(got)
	}
	for i := range c.Cells { // now all cells are worse than documented, and the answer must still name them
		c.Cells[i].InForce = driver.Settings{"journal_mode": "wal", "synchronous": "full"}
		c.Cells[i].Results[Posix].Broken = 50
		c.Cells[i].Module, c.Cells[i].ModuleVersion = "github.com/ncruces/go-sqlite3", "v0.35.6"
	}
	if got := c.Answer(); !strings.Contains(got, "Databases were damaged with ") || !strings.Contains(got, "mattn (known defect: ncruces-dirsync) with ") || strings.Contains(got, "nothing lost") {
		t.Error(got)
	}
	c = some()
	c.Cells[1].Results[Errors].Broken = 1
	if got := c.Answer(); !strings.Contains(got, "damaged, with wal full.") || !strings.Contains(got, "If the disk reports errors, for which SQLite promises nothing, databases were also damaged with wal full.") || !c.AsDocumented() {
		t.Error(got)
	}
	c = some()
	c.Cells[1].Results[Shared].Trouble = "database is locked"
	if got := c.Answer(); !strings.Contains(got, "something else went wrong with mattn after shared: see") || !strings.Contains(got, "with wal full.") || !strings.Contains(got, "Nothing was worse") || c.AsDocumented() {
		t.Error(got)
	}
	c = some()
	c.Cells[0].Module = "github.com/tailscale/sqlite"
	c.Cells[0].Results[Cancel] = &Outcome{Trouble: "the database cannot be closed"}
	c.Faults = append(c.Faults, Cancel)
	if got := c.Answer(); !strings.Contains(got, "after cancel (known defect: tailscale-close): see") {
		t.Error(got)
	}
	c = some()
	c.Cells[0].Reason = "the recording is incomplete"
	if c.AsDocumented() {
		t.Error("AsDocumented is true although a cell has no result")
	}
}

// TestNeverCheckpointed checks that the answer names drivers with WAL that ran no checkpoint with any settings.
func TestNeverCheckpointed(t *testing.T) {
	cell := func(name string, wal, database int64) Cell {
		return Cell{Driver: name, Cost: trace.Cost{Files: map[string]trace.FileCost{"wal": {Writes: wal}, "database": {Writes: database}}}}
	}
	c := &Crashes{Cells: []Cell{cell("modernc", 5, 0), cell("mattn", 5, 0), cell("mattn", 5, 3), cell("native", 0, 0)}}
	if got := c.neverCheckpointed(); !strings.HasPrefix(got, "With WAL, modernc ran no checkpoint, ") {
		t.Errorf("%q", got)
	}
	if c.Cells = c.Cells[1:]; c.neverCheckpointed() != "" {
		t.Errorf("%q", c.neverCheckpointed())
	}
}

// TestAnswerAfterKill checks an answer about the fault Kill only, which destroys no data even with some
// unsafe settings. The answer must not call these settings safe, and it must name the fault.
func TestAnswerAfterKill(t *testing.T) {
	c := some()
	c.Faults = []Fault{Kill}
	for i := range c.Cells {
		c.Cells[i].Results = map[Fault]*Outcome{Kill: {States: 100}}
	}
	got := c.Answer()
	for _, want := range []string{
		"was lost after kill, and no database damaged, with wal full. Nothing was lost with wal normal or delete off in these states, but SQLite's documentation says that it can be.",
		"by mattn and wal full",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// TestFormats compares the answer with golden files, in all formats but HTML.
func TestFormats(t *testing.T) {
	for _, format := range []string{"table", "json"} {
		var got bytes.Buffer
		if err := Formats.Write(&got, format, some(), document.Options{Width: 120}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "crash."+format)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s: differs from %s; go test ./internal/crash -update writes it:\n%s", format, path, got.String())
		}
	}
}

// TestStored checks that a stored answer is read back, and that an answer that contradicts itself
// is refused.
func TestStored(t *testing.T) {
	kept, err := some().Keep()
	if err != nil {
		t.Fatal(err)
	}
	run := &result.Run{Answer: kept, Machine: some().Machine}
	c, err := Stored(run)
	if err != nil || c.Answer() != some().Answer() {
		t.Fatalf("%v", err)
	}
	for what, harm := range map[string]func(*Crashes){
		"no cells":            func(c *Crashes) { c.Cells = nil },
		"no judge":            func(c *Crashes) { c.Judges = nil },
		"an unknown fault":    func(c *Crashes) { c.Faults = append(c.Faults, "fire") },
		"an unknown setting":  func(c *Crashes) { c.Cells[0].Settings["x"] = "y" },
		"a negative number":   func(c *Crashes) { c.Cells[0].Cost.Writes = -1 },
		"too few states":      func(c *Crashes) { c.Cells[0].Results[Kill].Broken = 101 },
		"a missing outcome":   func(c *Crashes) { c.Cells[0].Results[Kill] = nil },
		"a result of no kind": func(c *Crashes) { c.Cells[0].Results["fire"] = &Outcome{} },
	} {
		bad := some()
		harm(bad)
		if _, err := bad.Keep(); err == nil {
			t.Errorf("%s: Keep returned no error", what)
		}
		text, err := json.Marshal(bad)
		if err != nil {
			t.Fatal(err)
		}
		run.Answer.Value = text
		if _, err := Stored(run); err == nil {
			t.Errorf("%s: Stored returned no error", what)
		}
	}
}

// TestArtifact checks that the description of a kept state can be read, and that other directories
// are refused.
func TestArtifact(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadArtifact(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	x := &Explorer{Keep: dir}
	r := &recorded{plan: &Planned{Settings: driver.Settings{"journal_mode": "wal"}}, expect: expectation{"zero"}}
	r.plan.Ref.Name = "mattn"
	f := &Failure{Grade: Lost, Fault: Errors, Model: disk.Ordered, Operation: "at the end", Persisted: "everything", Acknowledged: 3, Injected: &record.Fault{Class: record.Syncs, File: "wal", At: 2, Error: record.EIO}}
	for range 2 { // the second directory gets another name
		if err := x.keep(r, &candidate{State: &disk.State{Image: disk.Image{"test.db": []byte("content"), "test.db-wal": []byte("log")}}}, f); err != nil {
			t.Fatal(err)
		}
	}
	a, err := ReadArtifact(f.Kept)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.Describe(), "mattn with wal, errors, at the end, with everything. Before that, a call failed: sync of wal 2: EIO. Transaction 3 was acknowledged."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, bad := range []string{`{"driver": "./evil"}`, `{"driver": "mattn=../evil"}`, `{"driver": "mattn:tags=x"}`, `{"driver": "mattn", "settings": {"journal_mode": "x"}}`, `[`} {
		if err := os.WriteFile(filepath.Join(dir, artifactFile), []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadArtifact(dir); err == nil {
			t.Errorf("%s: ReadArtifact returned no error", bad)
		}
	}
	if err := os.Remove(filepath.Join(dir, artifactFile)); err != nil {
		t.Fatal(err)
	}
	image, err := disk.Read(f.Kept)
	if err != nil || len(image) != 3 || string(image["test.db-wal"]) != "log" { // the third file is the description
		t.Errorf("%v: %q", err, image)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("%v: %v", list, err)
	}
}
