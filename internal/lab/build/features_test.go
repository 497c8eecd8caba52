package build_test

import (
	"testing"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// TestTags checks that an older version of a library is built with the tags for all later versions listed in
// Manifest.Before.
func TestTags(t *testing.T) {
	ref := build.Ref{Name: "x", Known: &build.Known{Version: "v0.35.6", Manifest: build.Manifest{Before: []string{"v0.35.0", "v1.2.3"}}}}
	for version, want := range map[string]string{
		"": "before_v1_2_3", "v0.34.4": "before_v0_35_0,before_v1_2_3", "v0.35.0": "before_v1_2_3", "v1.2.3": "",
	} {
		ref.Version = version
		if got := build.Tags(ref); got != want {
			t.Errorf("%q: tags %q, want %q", version, got, want)
		}
	}
}
