package stacks

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pprof "github.com/google/pprof/profile"

	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

const perfScript = "21092   100.500000: \n" +
	"\tffffffff815a337b folio_batch ([kernel.kallsyms])\n" +
	"\t           5f928 runtime.malg (/w/mattn (deleted))\n" +
	"\n" +
	"21092   100.700000001: \n" +
	"\t           91a60 runtime.goexit.abi0 (/w/mattn)\n" +
	"\n" +
	"21092   100.700000001: \n" +
	"\t           91a60 runtime.goexit.abi0 (/w/mattn)\n" +
	"\n" +
	"21093   100.600000: \n" +
	"\t           91a60 runtime.sigprof (/w/mattn)\n" +
	"\n" +
	"21093   102.000000: \n" +
	"\t           91a60 too.late (/w/mattn)\n"

// TestSymbolVersion checks that function names do not include the version of a symbol. Otherwise
// a narrow box of a flame graph would show only the version.
func TestSymbolVersion(t *testing.T) {
	for printed, want := range map[string]string{
		"pthread_mutex_lock@@GLIBC_2.2.5": "pthread_mutex_lock",
		"memcpy@GLIBC_2.14":               "memcpy",
		"malloc@plt":                      "malloc@plt",
		"database/sql.(*Rows).Next":       "database/sql.(*Rows).Next",
	} {
		got := perfFrame("\t7f00 " + printed + " (/usr/lib/libc.so.6)")
		if got.Function != want || Short(got.Function) != nil && !strings.HasPrefix(printed, "database") {
			t.Errorf("%s: %+v, shortened to %q", printed, got, Short(got.Function))
		}
	}
}

func TestReadPerf(t *testing.T) {
	const second = 1_000_000_000
	got, err := ReadPerf(strings.NewReader(perfScript), []protocol.Stretch{{BeginNS: 100 * second, EndNS: 101 * second}})
	if err != nil {
		t.Fatal(err)
	}
	period := int64(second / PerfFrequency)
	want := []Stack{
		{[]Frame{{"folio_batch", "[kernel.kallsyms]"}, {"runtime.malg", "/w/mattn"}}, 1, period},
		{[]Frame{{"runtime.goexit", "/w/mattn"}}, 2, 2 * period},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"nonsense\n", "1 2\n", "1 x.y:\n"} {
		if _, err := ReadPerf(strings.NewReader(bad), nil); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// goProfile returns a profile of functions. The parameter "values" has, by the function's name, the
// number of samples and the nanoseconds. Each function has its own stack.
func goProfile(t *testing.T, values map[string][]int64) []byte {
	t.Helper()
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	for name, v := range values {
		f := &pprof.Function{ID: uint64(len(p.Function) + 1), Name: name}
		l := &pprof.Location{ID: f.ID, Line: []pprof.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		p.Sample = append(p.Sample, &pprof.Sample{Location: []*pprof.Location{l}, Value: v})
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRecording checks that the profiles of a worker are added up over trials and, within a trial,
// over the stretches of time during which the worker's clock ran. Memory that was allocated before
// a stretch and CPU time of the profiler must be left out.
func TestRecording(t *testing.T) {
	dir := t.TempDir()
	if _, written, err := new(Recording).Add(dir); err != nil || written {
		t.Errorf("an empty directory: %v, %v", written, err)
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clock, err := json.Marshal([]protocol.Stretch{{BeginNS: 1, EndNS: 2}, {BeginNS: 3, EndNS: 4}})
	if err != nil {
		t.Fatal(err)
	}
	put(protocol.StretchesFile, clock)
	for _, i := range []string{"0", "1"} {
		put("cpu-"+i+".pprof", goProfile(t, map[string][]int64{"database/sql.Open": {3, 30}, "runtime/pprof.profileWriter": {1, 10}}))
		put("allocs-before-"+i+".pprof", goProfile(t, map[string][]int64{"main.a": {5, 500}}))
		put("allocs-after-"+i+".pprof", goProfile(t, map[string][]int64{"main.a": {5, 500}, "main.b": {2, 64}}))
	}
	r := &Recording{}
	for range 2 {
		got, written, err := r.Add(dir)
		if err != nil || !written || len(got) != 2 {
			t.Fatalf("%v, %v, %v", got, written, err)
		}
		r.EndTrial(100)
	}
	if diff := cmp.Diff([]int64{60, 60}, r.CPUNS); diff != "" || r.Trials != 2 || r.WallNS != 200 {
		t.Errorf("%d trials, %d ns by the clock: %s", r.Trials, r.WallNS, diff)
	}
	want := []Stack{{[]Frame{{Function: "database/sql.Open"}}, 12, 120}}
	if diff := cmp.Diff(want, r.Stacks()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Stack{{[]Frame{{Function: "main.b"}}, 8, 256}}, r.Allocations()); diff != "" {
		t.Error(diff)
	}
	kept := r.Keep()
	s := Summarize(&kept, Grouper{})
	if s.Samples != 12 || s.CPUNS != 120 || s.PerTrialNS() != 60 || len(s.Groups) != 1 || s.Groups[0].Group != DatabaseSQL || s.Groups[0].Share != 1 {
		t.Errorf("%+v", s)
	}
	put("cpu-1.pprof", []byte("nonsense"))
	if _, _, err := r.Add(dir); err == nil || !strings.Contains(err.Error(), "cpu-1.pprof") {
		t.Errorf("a damaged profile: %v", err)
	}
}

func TestCompare(t *testing.T) {
	first := &Summary{Samples: 100, Trials: 10, CPUNS: 1000, TrialNS: slices.Repeat([]int64{100}, 10), Groups: []Part{{Group: SQLite, Samples: 100, PerTrial: 100}}}
	second := &Summary{Samples: 300, Trials: 10, CPUNS: 3000, TrialNS: slices.Repeat([]int64{300}, 10), Groups: []Part{{Group: SQLite, Samples: 290, PerTrial: 290}, {Group: Driver, Samples: 10, PerTrial: 10}}}
	got := Compare(first, second)
	if len(got) != 2 || got[0].Group != SQLite || got[0].Difference != 190 || got[1].Difference != 10 || got[0].Margin < 30 || got[0].Margin > 45 {
		t.Errorf("%+v", got)
	}
}
