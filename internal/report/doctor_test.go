package report_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/doctor"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func pointer[T any](v T) *T { return &v }

// busyCheckup is the checkup (result of the command doctor) of a virtual machine whose CPUs also
// work for other machines.
func busyCheckup() *result.Checkup {
	return &result.Checkup{
		Version: "v1.0.0", Taken: start, Fitness: result.Measurable, Difference: pointer(0.0184), DifferenceRange: &result.Range{Low: 0.0121, High: 0.0253}, WithinNS: 300e9,
		Machine: result.Machine{Hostname: "lab", OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "EPYC", Cores: 4, MemoryBytes: 16 << 30,
			Governor: "powersave", Turbo: result.On, SMT: result.On, Virtual: "KVM", Directory: "/data", FileSystem: "ext4", Device: "/dev/vda1"},
		UsableCores: 4, Quota: pointer(0.0), OnBattery: pointer(false), Steal: pointer(0.031),
		Load: pointer(3.5), CPUPressure: pointer(0.22), IOPressure: pointer(0.0), MemoryPressure: pointer(0.0004),
		AvailableBytes: pointer[int64](12 << 30), SwapUsedBytes: pointer[int64](0), FreeBytes: pointer[int64](43 << 30),
		Fsync: result.Fsync{Count: 25, MedianNS: 3_950_000, SlowestNS: 28_300_000, Writes: pointer[int64](143), Flushes: pointer[int64](47), Reaches: pointer(true)},
		Clock: result.Clock{Source: "tsc", ResolutionNS: 20, ReadNS: 28}, Counters: result.CountersDenied,
		Tools: result.Tools{Go: "go1.26.8", CC: "gcc 12.2.0"},
		Drivers: []result.DriverState{{Name: "mattn"}, {Name: "modernc"},
			{Name: "python", Optional: true, Reason: &protocol.Reason{Code: protocol.CodeNoExecutable, Message: "it needs python3\x1b[2J"}}},
		Noise: &result.Noise{Driver: "modernc", Version: "v1.61.1", Workload: "simple", Scale: "quick", Rounds: 21, RoundNS: 700e6, Speeds: []float64{1, 1.02, 0.99},
			Phases: []result.NoisePhase{
				{Phase: "insert", Median: 0.1766, Least: 0.91, Most: 1.44, Ratios: []float64{1, 1.1}, Half: 0.031, Widest: 0.162,
					Smallest: []result.SmallestDifference{{Rounds: 6, TookNS: 4_200e6, Difference: 0.21, Range: result.Range{Low: 0.14, High: 0.3}}, {Rounds: 30, TookNS: 21e9, Difference: 0.061, Range: result.Range{Low: 0.041, High: 0.084}}, {Rounds: 428, TookNS: 299_600e6, Difference: 0.0184, Range: result.Range{Low: 0.0121, High: 0.0253}}}},
				{Phase: "query", Median: 0.0395, Least: 0.97, Most: 1.08, Ratios: []float64{1, 1.02}, Half: 0.012, Widest: 0.07,
					Smallest: []result.SmallestDifference{{Rounds: 6, TookNS: 4_200e6, Difference: 0.1, Range: result.Range{Low: 0.07, High: 0.13}}, {Rounds: 30, TookNS: 21e9, Difference: 0.02, Range: result.Range{Low: 0.015, High: 0.027}}, {Rounds: 428, TookNS: 299_600e6, Difference: 0.006, Range: result.Range{Low: 0.0041, High: 0.0079}}}},
			}},
		Findings: []result.Finding{
			{Code: result.WarningLoad, Fitness: result.Measurable, Value: 3.5, Limit: 2},
			{Code: result.WarningSteal, Fitness: result.Measurable, Value: 0.031, Limit: 0.01},
			{Code: result.WarningGovernor, Fitness: result.Measurable},
			{Code: result.WarningVirtual, Fitness: result.Fit}, {Code: result.FindingTurbo, Fitness: result.Fit}, {Code: result.FindingSMT, Fitness: result.Fit},
			{Code: result.FindingSlow, Fitness: result.Fit, Value: 3_950_000, Limit: 2_000_000},
		},
	}
}

// unknownCheckup is the checkup of a system that reports almost no facts.
func unknownCheckup() *result.Checkup {
	return &result.Checkup{
		Version: "v1.0.0", Taken: start, Fitness: result.Fit, WithinNS: 300e9, UsableCores: 2,
		Machine: result.Machine{OS: "plan9", Arch: "arm64", Cores: 2, Directory: "/data"},
		Fsync:   result.Fsync{Count: 25, MedianNS: 1_000_000, SlowestNS: 2_000_000}, Drivers: []result.DriverState{},
	}
}

func writeCheckup(t *testing.T, format string, c *result.Checkup, opts document.Options) string {
	t.Helper()
	var buf bytes.Buffer
	if err := doctor.Formats.Write(&buf, format, c, opts); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestCheckup(t *testing.T) {
	for name, c := range map[string]func() *result.Checkup{"busy": busyCheckup, "unknown": unknownCheckup} {
		for _, format := range doctor.Formats.Names() {
			t.Run(name+" "+format, func(t *testing.T) {
				golden(t, "checkup-"+name+"."+extension[format], writeCheckup(t, format, c(), document.Options{}))
			})
		}
	}
	if err := doctor.Formats.Write(&bytes.Buffer{}, "csv", unknownCheckup(), document.Options{}); err == nil || !strings.Contains(err.Error(), "json") {
		t.Errorf("csv: %v", err)
	}
}

func TestFitnessAnswer(t *testing.T) {
	finding := func(code string, f result.Fitness) result.Finding { return result.Finding{Code: code, Fitness: f} }
	for want, c := range map[string]result.Checkup{
		"Fit to measure: differences of about 1.2% and more can be measured in 5 minutes.": {Difference: pointer(0.012), Fitness: result.Fit,
			Findings: []result.Finding{finding(result.FindingTurbo, result.Fit)}},
		"Fit to measure, but the noise was not measured.": {Fitness: result.Fit},
		"Measurable, but it runs on battery.":             {Fitness: result.Measurable, Findings: []result.Finding{finding(result.FindingBattery, result.Measurable)}},
		"Measurable, but it runs on battery and there is only one core: differences of about 4.0% and more can be measured in 5 minutes.": {
			Fitness: result.Measurable, Difference: pointer(0.04),
			Findings: []result.Finding{finding(result.FindingBattery, result.Measurable), finding(result.FindingCores, result.Measurable), finding(result.FindingSMT, result.Fit)}},
		"Measurable, but it runs on battery, there is only one core (and 2 more): differences of about 4.0% and more can be measured in 5 minutes.": {
			Fitness: result.Measurable, Difference: pointer(0.04),
			Findings: []result.Finding{finding(result.FindingBattery, result.Measurable), finding(result.FindingCores, result.Measurable),
				finding(result.FindingBusy, result.Measurable), finding(result.FindingQuota, result.Measurable)}},
		"Not fit to measure: only differences of about 11% and more can be measured in 5 minutes.": {
			Fitness: result.Unfit, Difference: pointer(0.11), Findings: []result.Finding{finding(result.FindingNoise, result.Unfit), finding(result.FindingSMT, result.Fit)}},
		"Not fit to measure: there is no room for databases.": {
			Fitness: result.Unfit, Difference: pointer(0.11), Findings: []result.Finding{finding(result.FindingSpace, result.Unfit), finding(result.FindingNoise, result.Unfit)}},
		"Not fit to measure: only differences of about 12% and more can be measured in 5 minutes; other processes take CPU time.": {
			Fitness: result.Unfit, Difference: pointer(0.12), Findings: []result.Finding{finding(result.FindingNoise, result.Unfit), finding(result.FindingBusy, result.Measurable)}},
		"Measurable, but it runs on battery: differences of about 5.0% and more can be measured in 5 minutes.": {
			Fitness: result.Measurable, Difference: pointer(0.05), Findings: []result.Finding{finding(result.FindingBattery, result.Measurable), finding(result.FindingNoise, result.Measurable)}},
		"Measurable, but the times vary: differences of about 5.1% and more can be measured in 5 minutes.": {
			Fitness: result.Measurable, Difference: pointer(0.051), Findings: []result.Finding{finding(result.FindingNoise, result.Measurable)}},
		"Fit to measure: differences of about 2.0% and more can be measured in 5 minutes (1.4% to 3.1% over all phases: estimated from 21 rounds of a driver compared with itself).": {
			Difference: pointer(0.02), DifferenceRange: &result.Range{Low: 0.014, High: 0.031}, Fitness: result.Fit, Noise: &result.Noise{Rounds: 21}},
		"Not fit to measure: no driver can be built without a new enough Go.": {Fitness: result.Unfit, Findings: []result.Finding{finding(result.FindingNoGo, result.Unfit)}},
	} {
		c.WithinNS = 300e9
		if got := doctor.FitnessAnswer(&c); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestFindingWords checks that there are texts for the codes of all findings: those declared in
// result/checkup.go, and the warnings that are also findings.
func TestFindingWords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../result/checkup.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := []string{result.WarningLoad, result.WarningSteal, result.WarningCalibration, result.WarningGovernor, result.WarningSync, result.WarningVirtual}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Finding") {
			code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	c := busyCheckup()
	c.NoNoise = &protocol.Reason{Code: protocol.CodeCrash, Message: "it crashed"}
	c.Findings = nil
	for _, code := range codes {
		c.Findings = append(c.Findings, result.Finding{Code: code, Fitness: result.Measurable, Value: 0.5, Limit: 0.1})
	}
	var got doctor.JSONCheckup
	if err := json.Unmarshal([]byte(writeCheckup(t, "json", c, document.Options{})), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != len(codes) || len(codes) < 25 {
		t.Fatalf("%d findings of %d codes", len(got.Findings), len(codes))
	}
	for i, f := range got.Findings {
		for _, text := range []string{f.Found, f.Effect, f.Do} {
			if text == "" || text == "unknown" || strings.HasSuffix(text, ".") || strings.Contains(text, "%!") {
				t.Errorf("%s: %q", codes[i], text)
			}
		}
	}
}

// TestMachineFacts checks that a run's report shows facts about the machine that doctor also
// shows.
func TestMachineFacts(t *testing.T) {
	run := newRun(6)
	run.Machine.Turbo, run.Machine.SMT, run.Steal = result.On, result.Off, pointer(0.004)
	if got := write(t, "table", run, "native", document.Options{Width: 200}); !strings.Contains(got, "turbo on, SMT off, virtual: kvm, steal time 0.4%\n") {
		t.Errorf("got:\n%s", got)
	}
}

func TestCheckupFulfilsSchema(t *testing.T) {
	s := compiled(t, "checkup")
	for name, c := range map[string]*result.Checkup{"busy": busyCheckup(), "unknown": unknownCheckup()} {
		t.Run(name, func(t *testing.T) { validate(t, s, writeCheckup(t, "json", c, document.Options{})) })
	}
}
