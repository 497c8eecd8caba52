package addedcost

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

func TestCompare(t *testing.T) {
	sides := func(wall, cpu int64) side {
		s := side{}
		for _, p := range []string{insertPhase, queryPhase, mixPhase, txPhase} {
			s[p] = &protocol.Sample{WallNS: wall, UserNS: cpu - 10, SystemNS: 10}
		}
		return s
	}
	engine := []side{sides(1100, 1300), sides(1200, 1400), sides(1300, 1500)}
	hand := []side{sides(1000, 1000), sides(1000, 1000), sides(1000, 1000)}
	for i, p := range compareAll(size{10, 10, 10}, engine, hand) {
		if want := []string{"insert", "query", "mix", "tx"}[i]; p.Phase != want {
			t.Errorf("phase %s, want %s", p.Phase, want)
		}
		if p.Hand != 100 || p.WallRatio.Median != 1.2 || p.CPURatio.High != 1.5 || p.WallAdded.Low != 10 || p.CPUAdded.Median != 40 {
			t.Errorf("%+v", p)
		}
	}
}

// TestWrite checks that write replaces the old figures in the file and keeps the field Causes.
func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), driver.AddedCostFile)
	if err := write(file, driver.AddedCost{Pairs: 1}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"pairs": 1, "causes": {"tx": "four statements"}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(file, driver.AddedCost{Pairs: 2}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c driver.AddedCost
	if err := json.Unmarshal(data, &c); err != nil || c.Pairs != 2 || c.Causes["tx"] != "four statements" {
		t.Errorf("%s (%v)", data, err)
	}
}
