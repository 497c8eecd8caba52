// Command release makes a release of this repository that go install and go get can use: a commit
// whose go.mod has real versions in place of the replace directives, and a tag for each module. It
// pushes nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

const usage = "type the version: go run ./internal/release v0.1.0"

// run makes the release of the repository in the working directory.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	proxy := flags.String("proxy", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		return errors.New(usage + ", or, to keep the modules as a proxy of files: go run ./internal/release -proxy DIR v0.1.0")
	}
	root, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	r := &release{root: root, version: flags.Arg(0), out: out}
	if err := r.check(ctx); err != nil {
		return err
	}
	scratch, err := process.NewTemporary()
	if err != nil {
		return err
	}
	defer scratch.Remove()
	if r.proxy = *proxy; r.proxy == "" {
		r.proxy = filepath.Join(scratch.Dir, "proxy")
	}
	if r.proxy, err = filepath.Abs(r.proxy); err != nil {
		return err
	}
	r.cache = filepath.Join(scratch.Dir, "modules")
	r.tree = filepath.Join(scratch.Dir, "tree")
	// The tree is always removed. If the commit was tagged, Git keeps the commit without the tree.
	defer func() { _, _ = git(context.WithoutCancel(ctx), r.root, "worktree", "remove", "--force", r.tree) }()
	commit, err := r.commit(ctx)
	if err != nil {
		return fmt.Errorf("nothing was tagged: %w", err)
	}
	if err := r.tag(ctx, commit); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is commit %.12s, without replace directives. To publish it:\n\n  git push --atomic origin main %s\n\nTo take it back: git tag -d %[3]s\n",
		r.version, commit, strings.Join(r.tags(), " "))
	return nil
}
