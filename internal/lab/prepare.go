package lab

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// Building is notified of the progress of building workers. i is the number of the worker, counted from 1,
// and n is the number of all workers. Two workers can be built at the same time, but only one call of
// Building runs at a time.
type Building interface {
	Building(i, n int, driver string)
	Built(i, n int, driver string, err error)
}

// Prepare finds or builds the worker of every case. If a driver's worker cannot be built,
// its cases become unavailable. Other errors are returned.
func Prepare(ctx context.Context, cases []*Case, b *build.Builder, progress Building) error {
	var names []string
	var refs []build.Ref
	byName := map[string][]*Case{}
	for _, c := range cases {
		if byName[c.Driver] == nil {
			names, refs = append(names, c.Driver), append(refs, c.Ref)
		}
		byName[c.Driver] = append(byName[c.Driver], c)
	}
	defer b.Download(ctx, refs)()
	group, ctx := errgroup.WithContext(ctx) // no limit is set here, because the builder itself limits how many workers it builds at the same time
	var mu sync.Mutex
	for i, name := range names {
		group.Go(func() error {
			tell := func(ended bool, err error) {
				mu.Lock()
				defer mu.Unlock()
				if ended {
					progress.Built(i+1, len(names), name, err)
				} else {
					progress.Building(i+1, len(names), name)
				}
			}
			return prepare(ctx, byName[name], b, tell)
		})
	}
	return group.Wait()
}

// prepare finds or builds the worker of the cases of one driver. It calls the function "tell" when a build
// begins, and once more, with the argument "ended" set to true, when the build has ended or the worker is not
// available.
func prepare(ctx context.Context, cases []*Case, b *build.Builder, tell func(ended bool, err error)) error {
	ref := cases[0].Ref
	built := false
	path, with, err := b.Worker(ctx, ref, func() {
		built = true
		tell(false, nil)
	})
	info := cases[0].Info
	if err == nil && ref.Path != "" {
		info, _, err = build.DescribeRef(ctx, path, ref)
	}
	var modules map[string]string
	if err == nil {
		modules, _ = build.Modules(path) // no error: a worker in another language has no modules
	}
	unavailable, ok := errors.AsType[*build.BuildError](err)
	if err != nil && !ok {
		return err
	}
	if built || err != nil {
		tell(true, err)
	}
	for _, c := range cases {
		c.Worker, c.Build, c.Linked, c.Info = path, with, modules, info
		if err != nil {
			c.Unavailable = &unavailable.Reason
		}
	}
	return nil
}
