package main

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestAction checks that the GitHub action (action.yml) passes each of its inputs to its script. The
// workflows in docs/ci.md and in this repository must use only inputs that the action has.
func TestAction(t *testing.T) {
	read := func(file string) string {
		data, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	text := read("action.yml")
	var action struct {
		Inputs map[string]struct{ Description, Default string }
		Runs   struct {
			Steps []struct {
				ID  string
				Env map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &action); err != nil {
		t.Fatal(err)
	}
	handed := map[string]bool{}
	for _, s := range action.Runs.Steps {
		for name, value := range s.Env {
			if input := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "GATE_"), "_", "-")); value != "${{ inputs."+input+" }}" {
				t.Errorf("%s is %s", name, value)
			}
			handed[name] = true
		}
	}
	reads := map[string]bool{}
	for _, name := range regexp.MustCompile(`GATE_[A-Z_]+`).FindAllString(read(".ci/gate"), -1) {
		reads[name] = true
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(reads)), slices.Sorted(maps.Keys(handed))); d != "" {
		t.Errorf("the script reads other variables than the action sets (-read +set):\n%s", d)
	}
	for input := range action.Inputs {
		if !strings.Contains(text, "${{ inputs."+input+" }}") {
			t.Errorf("the input %s is not used", input)
		}
	}
	for _, file := range []string{"docs/ci.md", ".github/workflows/test.yml"} {
		uses := regexp.MustCompile(`uses: (?:sqlite3perf/sqlite3perf@main|\./)\n +with: (\{.*\})`).FindStringSubmatch(read(file))
		var with map[string]string
		if uses == nil || yaml.Unmarshal([]byte(uses[1]), &with) != nil {
			t.Fatalf("%s does not use the action: %q", file, uses)
		}
		for name := range with {
			if _, ok := action.Inputs[name]; !ok {
				t.Errorf("%s gives the action %s, which is not an input", file, name)
			}
		}
	}
}
