package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// check checks everything that can be checked without building. It also finds the modules and the
// release's notes.
func (r *release) check(ctx context.Context) error {
	if semver.Canonical(r.version) != r.version {
		return fmt.Errorf("%q is not a version: type one such as v0.1.0 or v0.1.0-rc.1", r.version)
	}
	if m := semver.Major(r.version); m != "v0" && m != "v1" {
		return fmt.Errorf("%s needs module paths that end in /%s: type a version of v0 or v1, or change the paths first", r.version, m)
	}
	branch, err := git(ctx, r.root, "rev-parse", "--abbrev-ref", "HEAD")
	if err != nil {
		return err
	}
	if branch != "main" {
		return fmt.Errorf("this is %s, but releases are made of main: git switch main", branch)
	}
	changed, err := git(ctx, r.root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("files are not committed, such as %s: git commit them, or git stash -u", strings.Fields(changed)[1])
	}
	if err := r.findModules(); err != nil {
		return err
	}
	if err := r.checkTags(ctx); err != nil {
		return err
	}
	log, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	r.notes = section(string(log), r.version)
	if r.notes == "" {
		return fmt.Errorf("CHANGELOG.md has no section for %s, or an empty one: add the line %q below %q, and commit", r.version, "## "+r.version, "## Unreleased")
	}
	return nil
}

// section returns the text of the changelog below the heading of a version. The heading may have
// more words, such as a date.
func section(log, version string) string {
	var text strings.Builder
	in := false
	for line := range strings.Lines(log) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			words := strings.Fields(heading)
			in = len(words) > 0 && words[0] == version
			continue
		}
		if in {
			text.WriteString(line)
		}
	}
	return strings.TrimSpace(text.String())
}

// checkTags checks that no tag of the release exists, and that the version is greater than every
// version that was released.
func (r *release) checkTags(ctx context.Context) error {
	list, err := git(ctx, r.root, "tag", "--list")
	if err != nil {
		return err
	}
	newest := ""
	for _, tag := range strings.Fields(list) {
		dir, version := path.Split(tag)
		if !semver.IsValid(version) || dir != "" && !slices.ContainsFunc(r.parts, func(p part) bool { return p.dir+"/" == dir }) {
			continue
		}
		if version == r.version {
			return fmt.Errorf("the tag %s exists: type a greater version, or, if it was never pushed: git tag -d %s", tag, strings.Join(r.tags(), " "))
		}
		if semver.Compare(version, newest) > 0 {
			newest = version
		}
	}
	if semver.Compare(r.version, newest) < 0 {
		return fmt.Errorf("%s is not greater than %s, the newest release: type a greater version", r.version, newest)
	}
	return nil
}

// findModules finds the modules to be released: the root, and the modules that its go.mod replaces by
// directories. It checks that go.mod has no other directive with which go install would refuse the module.
func (r *release) findModules() error {
	f, err := readMod(r.root, ".")
	if err != nil {
		return err
	}
	r.module = f.Module.Mod.Path
	if len(f.Exclude) > 0 {
		return fmt.Errorf("go.mod excludes %s, which go install refuses: go mod edit -dropexclude %[1]s", f.Exclude[0].Mod)
	}
	for _, p := range f.Replace {
		dir := path.Clean(filepath.ToSlash(p.New.Path))
		if p.Old.Path != r.module+"/"+dir {
			return fmt.Errorf("go.mod replaces %s, which go install refuses: go mod edit -dropreplace %[1]s", p.Old)
		}
		r.parts = append(r.parts, part{p.Old.Path, dir})
	}
	for _, p := range r.parts {
		f, err := readMod(r.root, p.dir)
		if err != nil {
			return err
		}
		if len(f.Replace) > 0 {
			return fmt.Errorf("%s/go.mod replaces %s, but its users would get what it requires: go -C %[1]s mod edit -dropreplace %[2]s", p.dir, f.Replace[0].Old)
		}
	}
	return nil
}

func readMod(root, dir string) (*modfile.File, error) {
	file := filepath.Join(root, filepath.FromSlash(dir), "go.mod")
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(file, data, nil)
}
