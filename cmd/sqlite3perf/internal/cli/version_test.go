package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersionAndCommit(t *testing.T) {
	vcs := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "-trimpath", Value: "true"}, {Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
	}
	for _, c := range []struct {
		module          string
		settings        []debug.BuildSetting
		version, commit string
	}{
		{"v0.1.0", nil, "v0.1.0", "that of the tag v0.1.0"},
		{"v0.1.0", vcs("0123456789abcdef", "false"), "v0.1.0", "0123456789abcdef"},
		{"v0.1.1-0.20261128001106-62ab111e0000", nil, "v0.1.1-0.20261128001106-62ab111e0000", "62ab111e0000"},
		{"v0.1.1-0.20261128001106-62ab111e0000+dirty", vcs("62ab111e00001111", "true"), "v0.1.1-0.20261128001106-62ab111e0000+dirty", "62ab111e00001111, with changes"},
		{"(devel)", vcs("0123456789abcdef", "true"), "devel-0123456789ab", "0123456789abcdef, with changes"},
		{"(devel)", nil, "devel", "unknown: the build recorded none"},
		{"", nil, "devel", "unknown: the build recorded none"},
		{"unknown", nil, "unknown", "unknown: the build recorded none"},
	} {
		bi := &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}
		if version, commit := versionOf(bi), commitOf(bi); version != c.version || commit != c.commit {
			t.Errorf("%s, %v: got version %s, commit %s", c.module, c.settings, version, commit)
		}
	}
}
