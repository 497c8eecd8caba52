package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

const ms = time.Millisecond

// seen is the short form of a warning: its code, and its round if it has one.
type seen struct {
	Code  string
	Round int
}

func codes(t *testing.T, list []result.Warning, parts ...string) []seen {
	t.Helper()
	var got []seen
	all := ""
	for _, w := range list {
		got = append(got, seen{w.Code, w.Round})
		all += w.Message + "\n"
		if w.Message == "" || strings.Contains(w.Message, "\n") || strings.Contains(w.Message, "%!") {
			t.Errorf("message %q", w.Message)
		}
	}
	for _, p := range parts {
		if !strings.Contains(all, p) {
			t.Errorf("messages lack %q:\n%s", p, all)
		}
	}
	return got
}

func TestWarningsBefore(t *testing.T) {
	quiet := result.Machine{Cores: 4, Governor: "performance", FileSystem: "ext4", Directory: "/data"}
	for _, c := range []struct {
		name   string
		change func(*result.Machine)
		look   machine.Reading
		want   []seen
		parts  []string
	}{
		{"quiet", nil, machine.Reading{Load: 2.0, Fsync: 10 * time.Microsecond}, nil, nil},
		{"nothing known", func(m *result.Machine) { *m = result.Machine{} }, machine.Reading{Load: -1}, nil, nil},
		{"load", nil, machine.Reading{Load: 2.01}, []seen{{"load", 0}}, []string{"2.01", "4 cores"}},
		{"governor", func(m *result.Machine) { m.Governor = "powersave" }, machine.Reading{}, []seen{{"governor", 0}}, []string{"powersave"}},
		{"mixed governors", func(m *result.Machine) { m.Governor = "performance, powersave" }, machine.Reading{}, []seen{{"governor", 0}}, nil},
		{"virtual", func(m *result.Machine) { m.Virtual = "QEMU" }, machine.Reading{}, []seen{{"virtual", 0}}, []string{"(QEMU)"}},
		{"tmpfs", func(m *result.Machine) { m.FileSystem, m.SyncFree = "tmpfs", true }, machine.Reading{Fsync: 1000}, []seen{{"sync", 0}}, []string{"on tmpfs"}},
		{"fsync that does nothing", nil, machine.Reading{Fsync: 9 * time.Microsecond}, []seen{{"sync", 0}}, []string{"/data", "9µs"}},
		{"all", func(m *result.Machine) { m.Governor, m.Virtual, m.SyncFree = "ondemand", "KVM", true }, machine.Reading{Load: 99},
			[]seen{{"load", 0}, {"governor", 0}, {"virtual", 0}, {"sync", 0}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := quiet
			if c.change != nil {
				c.change(&m)
			}
			if d := cmp.Diff(c.want, codes(t, machine.WarningsBefore(m, c.look), c.parts...)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestWarningsAfter(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after time.Duration // fsync times before and after the run
		rounds        []time.Duration
		want          []seen
		parts         []string
	}{
		{"quiet", 100, 150, []time.Duration{10 * ms, 11 * ms, 9 * ms, 10 * ms}, nil, nil},
		{"nothing known", 0, 0, nil, nil, nil},
		{"fsync known once", 100, 0, nil, nil, nil},
		{"fsync slower", 200 * time.Microsecond, 412345, nil, []seen{{"fsync", 0}}, []string{"200µs before", "412µs after", "2.1 times"}},
		{"fsync quicker", 151, 100, nil, []seen{{"fsync", 0}}, []string{"1.5 times"}},
		{"a slow round", 0, 0, []time.Duration{10 * ms, 10 * ms, 12 * ms, 10 * ms}, []seen{{"calibration", 3}}, []string{"12ms in round 3", "+20%", "median of 10ms"}},
		{"a quick round", 0, 0, []time.Duration{8 * ms, 10 * ms, 10 * ms}, []seen{{"calibration", 1}}, []string{"-20%"}},
		{"a round without", 0, 0, []time.Duration{10 * ms, 0, 10 * ms, 10 * ms, 20 * ms}, []seen{{"calibration", 5}}, nil},
		{"too few rounds", 0, 0, []time.Duration{10 * ms, 0, 20 * ms}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := machine.WarningsAfter(machine.Reading{Fsync: c.before}, machine.Reading{Fsync: c.after}, c.rounds)
			if d := cmp.Diff(c.want, codes(t, list, c.parts...)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 7: "7ns", 12345: "12.3µs", 123456789: "123ms", 1234567890: "1.23s", 999999: "1ms"} {
		if got := machine.Short(d).String(); got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
}

func TestStealWarning(t *testing.T) {
	if list := machine.StealWarning(0.01); list != nil {
		t.Errorf("a share of 1 %% causes warnings: %v", list)
	}
	list := machine.StealWarning(0.025)
	if d := cmp.Diff([]seen{{"steal", 0}}, codes(t, list, "2.5%")); d != "" || list[0].Share != 0.025 {
		t.Errorf("-want +got:\n%s", d)
	}
}
