package build

import (
	"context"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
)

// Download begins to download the modules that the workers of these drivers need, in this order. It
// skips workers that are already built. It returns at once, so that workers can be built while other
// modules are downloaded. If a driver's library is not downloaded yet, [Builder.Worker] waits for the
// download. The function "stop" ends all downloads. Download reports no errors, because an error of a
// download occurs again when the worker is built.
func (b *Builder) Download(ctx context.Context, refs []Ref) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group errgroup.Group
	group.SetLimit(1 + 2) // 1 for the loop below, and 2 downloads; more downloads would delay the first driver's modules
	downloads := b.missing(ctx, refs)
	group.Go(func() error {
		for _, download := range downloads {
			group.Go(func() error {
				download()
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

// missing returns a function for each worker that must be built. The function downloads the worker's
// modules, unless ctx has ended. A worker is skipped if another call of Download already downloads its
// modules.
func (b *Builder) missing(ctx context.Context, refs []Ref) (list []func()) {
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
		b.mu.Lock()
		_, twice := b.downloads[path]
		if !twice {
			if b.downloads == nil {
				b.downloads = map[string]chan struct{}{}
			}
			b.downloads[path] = nil
			if !b.inModuleCache(ref) {
				b.downloads[path] = make(chan struct{})
			}
		}
		b.mu.Unlock()
		if twice {
			continue
		}
		list = append(list, func() {
			defer b.downloaded(path)
			if ctx.Err() == nil {
				defer b.working.begin()()
				b.download(ctx, ref, env)
			}
		})
	}
	return list
}

// downloaded wakes the builds that wait for the modules of the worker at path.
func (b *Builder) downloaded(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if wait := b.downloads[path]; wait != nil {
		close(wait)
	}
	delete(b.downloads, path)
}

// download lists the packages of a worker, so that the go command downloads their modules.
func (b *Builder) download(ctx context.Context, ref Ref, env *toolchain) {
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
}
