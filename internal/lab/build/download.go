package build

import (
	"context"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// Download downloads what the workers of these drivers are built from, as far as they are not built
// already. It returns at once, so that the network works while the processors compile. The function stop
// ends it. An error shows when the worker is built, so Download reports none.
func (b *Builder) Download(ctx context.Context, refs []Ref) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group errgroup.Group
	group.SetLimit(1 + 2) // more would keep the first driver's modules waiting; the first place is that of the loop
	downloads := b.downloads(ctx, refs)
	group.Go(func() error {
		for _, download := range downloads {
			group.Go(func() error {
				if ctx.Err() == nil {
					download()
				}
				return nil
			})
		}
		return nil
	})
	return func() {
		cancel()
		_ = group.Wait()
	}
}

// downloads returns a function for each worker that is not built. The function lists the packages of the
// worker, so that the go command downloads their modules.
func (b *Builder) downloads(ctx context.Context, refs []Ref) (list []func()) {
	for _, ref := range refs {
		if ref.Path != "" || len(ref.Known.Command) > 0 {
			continue
		}
		path, env, err := b.path(ctx, ref)
		if err != nil {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			continue
		}
		list = append(list, func() {
			scratch, err := process.NewTemporary()
			if err != nil {
				return
			}
			defer scratch.Remove()
			flags, err := modFlags(ref, scratch.Dir)
			if err != nil {
				return
			}
			cmd := b.command(ctx, slices.Concat([]string{"list", "-deps"}, flags, tagFlags(ref, env), []string{"./worker"})...)
			cmd.Dir = ref.Known.Dir
			cmd.Env = append(cmd.Env, env.environment(ref)...)
			temporaryIn(cmd, scratch.Dir)
			_ = cmd.Run()
		})
	}
	return list
}
