package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

func TestReleaseLines(t *testing.T) {
	k := build.Known{Manifest: build.Manifest{
		Release:     &build.Release{Version: "v1.2.3", Date: "2026-01-02"},
		Maintenance: &build.Maintenance{Source: "https://example.com/README.md", LookedUp: "2026-03-04"},
	}}
	for version, want := range map[string][]string{
		"v1.2.3": {"released 2026-01-02", "maintenance: its repository does not say whether it is maintained (https://example.com/README.md, read 2026-03-04)"},
		"v1.2.2": {"maintenance: its repository does not say whether it is maintained (https://example.com/README.md, read 2026-03-04)"},
	} {
		d := JSONDriver{Version: version}
		d.describe(k)
		if diff := cmp.Diff(want, releaseLines(d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
	k.Maintenance.Statement = "maintained by volunteers"
	d := JSONDriver{}
	d.describe(k)
	if diff := cmp.Diff([]string{"maintenance: maintained by volunteers (https://example.com/README.md, read 2026-03-04)"}, releaseLines(d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
