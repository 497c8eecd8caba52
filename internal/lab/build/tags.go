package build

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// checkTags returns a [*BuildError] if a variant has a build tag that is used neither by its library nor by
// the library's dependencies, because such a tag changes nothing. The parameter "flags" has those flags of
// the build that decide which files are compiled.
func (b *Builder) checkTags(ctx context.Context, ref Ref, env *toolchain, flags []string) error {
	tags := ref.words("tags")
	if len(tags) == 0 {
		return nil
	}
	args := append([]string{"list", "-deps", "-f", "{{if not .Standard}}{{.Dir}}{{end}}"}, flags...)
	cmd := b.command(ctx, append(args, "./worker")...)
	cmd.Dir = ref.Known.Dir
	cmd.Env = append(cmd.Env, env.environment(ref)...)
	out, err := output(cmd)
	if err != nil {
		return ctx.Err() // other errors are reported when the worker is built
	}
	known := map[string]bool{}
	for dir := range strings.FieldsFuncSeq(string(out), func(r rune) bool { return r == '\n' || r == '\r' }) {
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, f := range files {
			if filepath.Ext(f.Name()) != ".go" || !f.Type().IsRegular() {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				return err
			}
			for _, line := range tagLine.FindAllString(string(text), -1) {
				for _, word := range tagWord.FindAllString(line, -1) {
					known[word] = true
				}
			}
		}
	}
	for _, tag := range tags {
		if !known[tag] {
			hint := cmp.Or(driver.DidYouMean(tag, slices.Sorted(maps.Keys(known))), "leave it out")
			return unbuildable(protocol.CodeBuild, "cannot be built: no file of %s or of what it depends on has the build tag %s: %s", ref.Known.Module, tag, hint)
		}
	}
	return nil
}

// tagLine matches the lines of a Go file that can contain build tags: build constraints, and #cgo lines, in
// which constraints can come before the flags. tagWord matches a word in such a line, which may be a tag.
var (
	tagLine = regexp.MustCompile(`(?m)^(//go:build|//\s*\+build|.*#cgo)\s.*$`)
	tagWord = regexp.MustCompile(`[\w.]+`)
)
