package lab_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
)

// clusterCases returns the cases of the built-in workload with this name, on the given drivers and with the
// given settings.
func clusterCases(t *testing.T, name string, settings map[string][]string, drivers ...string) []*lab.Case {
	t.Helper()
	w, err := workload.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	m := lab.Matrix{
		Workloads: []*workload.Workload{w}, Scale: workload.Quick, Seed: 5, Settings: settings,
		Parameters: map[string][]int64{"users": {20}},
	}
	for _, d := range drivers {
		m.Drivers = append(m.Drivers, find(t, d))
	}
	cases, err := m.Cases()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func unasked(c *lab.Case) string {
	for _, w := range c.Beforehand {
		if w.Code == result.WarningUnasked {
			return w.Message
		}
	}
	return ""
}

// TestUnasked checks that a cluster is not asked for settings that it decides itself, and that other drivers
// are not asked for settings of clusters. A warning must list the settings that were not asked for.
func TestUnasked(t *testing.T) {
	for _, c := range []struct {
		driver   string
		settings map[string][]string
		want     string
	}{
		{"rqlite", nil, "rqlite is measured without busy_timeout=5000, journal_mode=wal, synchronous=normal: it decides that itself"},
		{"rqlite", map[string][]string{"nodes": {"3"}, "foreign_keys": {"off"}, "synchronous": {"full"}}, "rqlite is measured without busy_timeout=5000, journal_mode=wal: it decides that itself"},
		{"mattn", nil, ""},
		{"mattn", map[string][]string{"nodes": {"3"}, "read_consistency": {"none"}}, "mattn is measured without nodes=3, read_consistency=none: it is no cluster"},
	} {
		if got := unasked(clusterCases(t, "read-write", c.settings, c.driver)[0]); got != c.want {
			t.Errorf("%s with %v: got %q, want %q", c.driver, c.settings, got, c.want)
		}
	}
}

// TestMeasuredOnce checks a local driver next to a cluster. The local driver must be measured once for all
// settings of clusters. Without a cluster, each requested combination of settings must be a case.
func TestMeasuredOnce(t *testing.T) {
	crossed := map[string][]string{"nodes": {"1", "3"}, "read_consistency": {"none"}, "foreign_keys": {"on", "off"}}
	for _, c := range []struct{ drivers, want string }{
		{"mattn,rqlite", "mattn on, rqlite 1 on, rqlite 3 on, mattn off, rqlite 1 off, rqlite 3 off"},
		{"rqlite", "rqlite 1 on, rqlite 3 on, rqlite 1 off, rqlite 3 off"},
		{"mattn", "mattn 1 on, mattn 3 on, mattn 1 off, mattn 3 off"},
	} {
		drivers := strings.Split(c.drivers, ",")
		cases := clusterCases(t, "simple", crossed, drivers...)
		var got []string
		for i, x := range cases {
			words := []string{x.Driver, x.Settings["nodes"], x.Settings["foreign_keys"]}
			if x.Driver == "mattn" && len(drivers) > 1 {
				words = slices.Delete(words, 1, 2)
				if want := "mattn is measured once, and without nodes, read_consistency: it is no cluster"; unasked(x) != want {
					t.Errorf("warning %q, want %q", unasked(x), want)
				}
			}
			if x.ID != i+1 {
				t.Errorf("case %d has the ID %d", i+1, x.ID)
			}
			got = append(got, strings.Join(words, " "))
		}
		slices.Sort(got)
		want := strings.Split(c.want, ", ")
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.drivers, got, want)
		}
	}
}

// TestRqlite measures a cluster of rqlited, in the version that the driver's module pins. Without
// rqlited in PATH, the driver must be unavailable.
func TestRqlite(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a worker and rqlited")
	}
	b := &build.Builder{Source: source(t), Cache: t.TempDir()}
	t.Setenv("RQLITED_PATH", "")
	t.Setenv("RQLITE_ADDRESSES", "")
	path := os.Getenv("PATH")
	t.Setenv("PATH", goOnly(t))
	_, _, err := b.Worker(t.Context(), find(t, "rqlite"), func() { t.Error("the worker is built, although it could not run") })
	var unavailable *build.BuildError
	if !errors.As(err, &unavailable) || unavailable.Reason.Code != "no-executable" ||
		!strings.Contains(err.Error(), "rqlite cannot be measured: it needs rqlited, which is not in PATH: type make rqlited in a clone") {
		t.Errorf("without the executable: %v", err)
	}
	t.Setenv("PATH", path)

	tool := exec.CommandContext(t.Context(), "go", "tool", "-n", "rqlited")
	tool.Dir = filepath.Join(find(t, "rqlite").Known.Dir, "rqlited")
	tool.Env = append(os.Environ(), "GOWORK=off")
	out, err := tool.Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("RQLITED_PATH", strings.TrimSpace(string(out)))
	cases := clusterCases(t, "simple", map[string][]string{"nodes": {"3"}}, "rqlite")
	refused := clusterCases(t, "simple", map[string][]string{"synchronous": {"full"}}, "rqlite")
	if err := lab.Prepare(t.Context(), append(cases, refused...), b, &builds{}); err != nil {
		t.Fatal(err)
	}
	if cases[0].Unavailable != nil {
		t.Fatalf("%+v", cases[0].Unavailable)
	}
	got := runTrial(t, cases[0], 5)
	checkSamples(t, cases[0], got)
	if c := got.Proof.Connections[0]; c["nodes"] != "3" || c["synchronous"] != "off" {
		t.Errorf("proven: %v, want 3 nodes that do not wait for the disk with their databases", c)
	}
	got, err = (&lab.Processes{Dir: t.TempDir(), Limit: time.Minute}).Trial(t.Context(), refused[0], 5)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != result.Refused || !strings.Contains(got.Reason.Message, "synchronous: wanted full, got off (a node does not wait for the disk with its database") {
		t.Errorf("with a setting that the user gave: %s, %+v", got.Status, got.Reason)
	}
}
