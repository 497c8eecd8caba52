package workload_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

// TestSchemaKeys compares the keys of the JSON Schema with the keys that the loader knows.
func TestSchemaKeys(t *testing.T) {
	type object struct {
		Properties map[string]any `json:"properties"`
	}
	var schema struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(workload.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	schema.Defs["workload"] = schema.object
	want := workload.Keys()
	for name, def := range schema.Defs {
		if strings.HasPrefix(name, "generator ") && want[name] == nil {
			t.Errorf("the schema has %s, but the loader does not", name)
		}
		if name == "settings" {
			var names []string
			for _, d := range driver.Vocabulary {
				names = append(names, d.Name)
			}
			want[name] = names
		}
		if want[name] == nil {
			continue
		}
		got := slices.Sorted(maps.Keys(def.Properties))
		if diff := cmp.Diff(slices.Sorted(slices.Values(want[name])), got); diff != "" {
			t.Errorf("keys of %s (-loader +schema):\n%s", name, diff)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("the loader has %s, but the schema does not", name)
	}
}
