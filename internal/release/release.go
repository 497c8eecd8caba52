package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// release is one version of the repository's modules.
type release struct {
	root    string // directory of the repository
	version string
	notes   string // section of CHANGELOG.md for the version
	module  string // path of the root module
	parts   []part // other modules that are released
	out     io.Writer

	proxy string // directory that serves as a module proxy
	cache string // module cache of the go command; removed at the end, because its copy of the release may never be published
	tree  string // directory of the released commit's files
}

// part is a module below the root that the root's go.mod replaces by its directory.
type part struct{ path, dir string }

// tags returns the release's tags. The tag of the root module comes first.
func (r *release) tags() []string {
	list := []string{r.version}
	for _, p := range r.parts {
		list = append(list, p.dir+"/"+r.version)
	}
	return list
}

// commit makes the commit to be tagged, and checks that it can be installed. No branch and no tag
// refers to the commit yet.
func (r *release) commit(ctx context.Context) (commit string, err error) {
	if err := r.vet(ctx); err != nil {
		return "", err
	}
	if _, err := git(ctx, r.root, "worktree", "add", "--detach", r.tree, "HEAD"); err != nil {
		return "", err
	}
	for _, p := range r.parts { // their go.mod has no replace directives, so their files will be the same in the tagged commit
		if err := r.publish(ctx, p.path, p.dir, "HEAD"); err != nil {
			return "", err
		}
	}
	if err := errors.Join(r.writeMod(), r.writeDocuments(ctx)); err != nil {
		return "", err
	}
	if err := r.command(ctx, r.tree, "go", "mod", "tidy"); err != nil {
		return "", err
	}
	if _, err := git(ctx, r.tree, "add", "--all"); err != nil {
		return "", err
	}
	if changed, err := git(ctx, r.tree, "diff", "--cached", "--name-only", "--", ":!*.md"); err != nil || changed != "go.mod\ngo.sum" {
		return "", errors.Join(fmt.Errorf("beside documents, the commit must change go.mod and go.sum, but would change %q: go mod tidy on main, and commit", changed), err)
	}
	if err := r.command(ctx, r.tree, "go", "mod", "verify"); err != nil {
		return "", err
	}
	if _, err := git(ctx, r.tree, "commit", "--message=Release "+r.version); err != nil {
		return "", err
	}
	if commit, err = git(ctx, r.tree, "rev-parse", "HEAD"); err != nil {
		return "", err
	}
	if err := r.publish(ctx, r.module, "", commit); err != nil {
		return "", err
	}
	// Install the release as a user does, outside of any module.
	return commit, r.command(ctx, filepath.Dir(r.tree), "go", "install", "-trimpath", r.module+"/cmd/"+path.Base(r.module)+"@"+r.version)
}

// vet vets the modules as they are on main, because the release will have the same code. This also
// compiles their tests.
func (r *release) vet(ctx context.Context) error {
	for _, m := range append([]part{{r.module, "."}}, r.parts...) {
		fmt.Fprintf(r.out, "go -C %s vet ./...\n", m.dir)
		cmd := exec.CommandContext(ctx, "go", "vet", "./...")
		cmd.Dir, cmd.Env = filepath.Join(r.root, m.dir), append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go -C %s vet ./...: %w\n%s", m.dir, errors.Join(ctx.Err(), err), bytes.TrimSpace(out))
		}
	}
	return nil
}

// writeMod writes the root's go.mod with the release's versions instead of replace directives.
func (r *release) writeMod() error {
	f, err := readMod(r.tree, ".")
	if err != nil {
		return err
	}
	for _, p := range r.parts {
		if err := errors.Join(f.DropReplace(p.path, ""), f.AddRequire(p.path, r.version)); err != nil {
			return err
		}
	}
	f.Cleanup()
	data, err := f.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.tree, "go.mod"), data, 0o644)
}

// inClone matches a text of a document for users with a clone, together with the text that replaces
// it in a release.
var inClone = regexp.MustCompile(`(?s)<!-- in a clone -->\n.*?<!-- in a release:\n(.*?)-->\n`)

// writeDocuments replaces the texts that [inClone] matches by the texts for a release, with its
// version.
func (r *release) writeDocuments(ctx context.Context) error {
	list, err := git(ctx, r.tree, "ls-files", "*.md")
	if err != nil {
		return err
	}
	for name := range strings.Lines(list) {
		file := filepath.Join(r.tree, strings.TrimSpace(name))
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text := inClone.ReplaceAllFunc(data, func(block []byte) []byte {
			return bytes.ReplaceAll(inClone.FindSubmatch(block)[1], []byte("VERSION"), []byte(r.version))
		})
		if bytes.Equal(text, data) {
			continue
		}
		text = bytes.ReplaceAll(text, []byte("/"+path.Base(r.module)+"@main"), []byte("/"+path.Base(r.module)+"@"+r.version))
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// tag tags the commit, for each module. If it fails, no tag remains.
func (r *release) tag(ctx context.Context, commit string) error {
	for i, tag := range r.tags() {
		cmd := exec.CommandContext(ctx, "git", "tag", "--annotate", "--cleanup=whitespace", "--file=-", tag, commit)
		cmd.Dir, cmd.Stdin = r.root, strings.NewReader(fmt.Sprintf("%s %s\n\n%s", path.Base(r.module), r.version, r.notes))
		if out, err := cmd.CombinedOutput(); err != nil {
			for _, made := range r.tags()[:i] {
				_, undo := git(context.WithoutCancel(ctx), r.root, "tag", "-d", made)
				err = errors.Join(err, undo)
			}
			return fmt.Errorf("nothing was tagged: git tag %s: %w: %s", tag, err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// command runs a command that looks for modules first in the directory r.proxy, which serves as a module
// proxy, and then in the user's proxies. The command uses a separate module cache, because the user's cache
// must not keep a release that is never published. Other modules are copied from the user's cache, so they
// need not be downloaded.
func (r *release) command(ctx context.Context, dir, name string, args ...string) error {
	fmt.Fprintf(r.out, "%s %s\n", name, strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, "go", "env", "GOPROXY", "GOMODCACHE", "GOFLAGS", "GONOSUMDB")
	cmd.Dir = r.root
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	user := strings.Split(string(out), "\n")
	cmd = exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOMODCACHE="+r.cache, "GOBIN="+filepath.Join(filepath.Dir(r.tree), "bin"),
		"GOPROXY="+fileURL(r.proxy)+","+fileURL(filepath.Join(user[1], "cache", "download"))+","+user[0],
		"GOFLAGS="+strings.TrimSpace(user[2]+" -modcacherw"), // keeps the directories of the cache writable, so that the cache can be removed
		"GONOPROXY=none", "GONOSUMDB="+strings.Trim(r.module+","+user[3], ","))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), errors.Join(ctx.Err(), err), bytes.TrimSpace(out))
	}
	return nil
}

// git runs a git command, and returns its standard output without white space at both ends.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(errs.Bytes()))
	}
	return strings.TrimSpace(out.String()), nil
}
