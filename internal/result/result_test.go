package result_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// TestLeftOut checks that a LeftOut survives encoding to JSON and decoding, and that the strings
// that older versions wrote are decoded too.
func TestLeftOut(t *testing.T) {
	want := []result.LeftOut{
		{Workload: "large", Code: result.LeftOutTime},
		{Driver: "sqinn", Code: "no-executable", Message: "sqinn cannot be measured: it is not installed"},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	older := `["large", "sqinn cannot be measured: it is not installed"]`
	var got, old []result.LeftOut
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := json.Unmarshal([]byte(older), &old); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]result.LeftOut{want[0], {Message: want[1].Message}}, old); d != "" {
		t.Error(d)
	}
	if err := json.Unmarshal([]byte(`[1]`), &got); err == nil {
		t.Error("no error for a number in place of a LeftOut")
	}
}

// TestDocumentedWarnings checks that docs/report-formats.md lists the code of every warning, and no
// other codes.
func TestDocumentedWarnings(t *testing.T) {
	codes := func(file, section, code string) map[string]bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set := map[string]bool{}
		for _, m := range regexp.MustCompile(code).FindAllSubmatch(regexp.MustCompile(section).Find(text), -1) {
			set[string(m[1])] = true
		}
		return set
	}
	listed := codes("../../docs/report-formats.md", `(?s)\n### Warnings\n.*?\n## `, "(?m)^\\| `([a-z-]+)` \\|")
	if d := cmp.Diff(codes("codes.go", `(?s).*`, `(?m)^\tWarning\w+ += "([a-z-]+)"`), listed); d != "" || !listed[result.WarningLoad] {
		t.Errorf("codes (-constants +document):\n%s", d)
	}
}
