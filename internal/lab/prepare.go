package lab

import (
	"context"
	"errors"

	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
)

// Building is notified of the progress of building workers. i is the number of the worker, counted from 1, and
// n the number of workers.
type Building interface {
	Building(i, n int, driver string)
	Built(i, n int, driver string, err error)
}

// Prepare finds or builds the worker of every case. If a driver's worker cannot be built,
// its cases become unavailable. Other errors are returned.
func Prepare(ctx context.Context, cases []*Case, b *build.Builder, progress Building) error {
	var names []string
	byName := map[string][]*Case{}
	for _, c := range cases {
		if byName[c.Driver] == nil {
			names = append(names, c.Driver)
		}
		byName[c.Driver] = append(byName[c.Driver], c)
	}
	for i, name := range names {
		ref := byName[name][0].Ref
		built := false
		path, with, err := b.Worker(ctx, ref, func() {
			built = true
			progress.Building(i+1, len(names), name)
		})
		info := byName[name][0].Info
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
			progress.Built(i+1, len(names), name, err)
		}
		for _, c := range byName[name] {
			c.Worker, c.Build, c.Linked, c.Info = path, with, modules, info
			if err != nil {
				c.Unavailable = &unavailable.Reason
			}
		}
	}
	return nil
}
