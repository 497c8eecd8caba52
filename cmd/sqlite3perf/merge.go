package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
)

type mergeOptions struct {
	store, format string
	quiet         bool
}

var mergeFormats = []string{cli.TableFormat, "json"}

func mergeCommand(env *cli.Environment) *cobra.Command {
	o := &mergeOptions{}
	cmd := &cobra.Command{
		Use:   "merge STORE...",
		Short: "Put the runs of other stores into one",
		Long: `Merge adds the runs of other stores to your store, or to the one that --store names,
which is created if necessary. A run that is already there is not added again, so you
may repeat a merge. If a run has continued since an earlier merge, the rest is added. A
run or a store that cannot be read is left out, with a message that says what to do. If
nothing can be read, no store is created.

The other stores may be from somebody else. They are only read, through a copy next to
the store, and nothing that their schemas define is executed. A merged run keeps the
name of its file.

Exit status: 0 everything is in the store; 1 a run or a store was left out; 2 a store
was not found, or named twice: nothing is merged.`,
		Example: "  sqlite3perf merge pi.db vm1.db\n  sqlite3perf merge results-*.db --store all.db",
		Args:    cli.Arguments(1, -1, "a store to merge"),
		RunE:    func(cmd *cobra.Command, args []string) error { return merge(cmd.Context(), env, o, args) },
	}
	f := cmd.Flags()
	cli.AddStoreFlag(f, &o.store)
	cli.AddQuietFlag(f, &o.quiet)
	f.StringVar(&o.format, "format", cli.TableFormat, "how it is printed: "+strings.Join(mergeFormats, ", "))
	return cmd
}

type mergeReport struct {
	Command   string         `json:"command"` // always "merge"
	Store     string         `json:"store"`
	New       int            `json:"new"`                // number of runs that were added
	There     int            `json:"there"`              // number of runs that the destination already had
	Continued int            `json:"continued"`          // number of runs to which missing trials were added
	LeftOut   int            `json:"left_out,omitempty"` // number of runs that were not merged
	Trials    int            `json:"trials,omitempty"`   // number of trials that were added
	Runs      []store.Merged `json:"runs"`
	Unread    []unreadStore  `json:"unread,omitempty"` // stores that could not be read

	made bool // the destination exists
}

type unreadStore struct {
	Store  string `json:"store"`
	Reason string `json:"reason"`
}

func merge(ctx context.Context, env *cli.Environment, o *mergeOptions, names []string) error {
	to, err := o.check(names)
	if err != nil {
		return err
	}
	show := cli.NewProgress(env, o.quiet)
	show.Told = env.Now() // a merge that takes less than the interval between lines prints no progress
	defer show.Finish()
	ctx, stop, release := env.Interruptible(ctx, show.Say, cli.Stopping)
	defer release()
	ctx = cli.Until(ctx, stop)
	d := &destination{path: to}
	defer d.close()
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		if err := d.open(ctx); err != nil {
			return cli.UnlessInterrupted(stop, err)
		}
	}
	out := &mergeReport{Command: "merge", Store: to, Runs: []store.Merged{}}
	var failure error
	for _, name := range names {
		var unread error
		if unread, failure = mergeOne(ctx, d, name, out, show); failure != nil || ctx.Err() != nil {
			break
		}
		if unread != nil {
			out.Unread = append(out.Unread, unreadStore{name, strings.Join(strings.Fields(whyUnread(unread)), " ")})
		}
	}
	show.Finish()
	out.count()
	out.made = d.st != nil
	if err := out.print(env, o.format); err != nil {
		return err
	}
	switch {
	case cli.Interrupted(stop):
		return cli.StatusError(cli.ExitInterrupted)
	case failure != nil && d.st == nil:
		return failure
	case failure != nil:
		return fmt.Errorf("%w; what is listed is in the store, and merging again adds the rest", failure)
	case out.LeftOut > 0 || len(out.Unread) > 0:
		return cli.StatusError(cli.ExitFailed)
	}
	return nil
}

func (o *mergeOptions) check(names []string) (to string, err error) {
	if !slices.Contains(mergeFormats, o.format) {
		return "", cli.Usagef("unknown format %q: %s", o.format, driver.Suggest(o.format, mergeFormats))
	}
	if to, err = cli.StorePath(o.store); err != nil {
		return "", err
	}
	if dir := filepath.Dir(o.store); directory.Missing(dir) != nil {
		return "", cli.NoDirectory("--store "+o.store, dir)
	}
	for i, name := range names {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return "", cli.Usagef("store %s: there is no such file: name a store", name)
		}
		if cli.SameFile(name, to) {
			return "", cli.Usagef("%s is the store that the others are merged into: leave it out", name)
		}
		for _, other := range names[:i] {
			if cli.SameFile(name, other) {
				return "", cli.Usagef("%s and %s are the same file: name it once", other, name)
			}
		}
	}
	return to, nil
}

// mergeOne merges the store in the file with the given name into the destination. It does so
// through a copy of the store next to the destination, and adds the runs to out. unread is the
// reason if the store cannot be read. failure is an error in the destination.
func mergeOne(ctx context.Context, d *destination, name string, out *mergeReport, show *cli.Progress) (unread, failure error) {
	if err := readable(name); err != nil {
		return err, nil
	}
	show.Merging(name, 0, 0)
	scratch, err := process.Beside(d.path)
	if err != nil {
		return nil, fmt.Errorf("a copy of %s: %w", name, err)
	}
	defer scratch.Remove()
	copied, err := snapshot.Take(ctx, name, scratch.Dir)
	if err != nil {
		return cmp.Or(errors.Unwrap(err), err), nil // without the store's name, which the report prints anyway
	}
	defer copied.Close()
	from, err := store.OpenForeign(ctx, copied.File(), name)
	if err != nil {
		return err, nil
	}
	defer from.Close()
	list, err := d.merge(ctx, from, func(done, of int) { show.Merging(name, done, of) })
	out.Runs = append(out.Runs, list...)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return nil, err
}

// destination is the store into which other stores are merged. It is created when the first run is
// added.
type destination struct {
	path string
	st   *store.Store // the open store; nil before it is created
}

func (d *destination) open(ctx context.Context) (err error) {
	d.st, err = store.Open(ctx, d.path)
	return err
}

func (d *destination) close() {
	if d.st != nil {
		d.st.Close()
	}
}

func (d *destination) merge(ctx context.Context, from *store.Store, told func(done, of int)) ([]store.Merged, error) {
	if d.st == nil {
		if some, leftOut, err := from.Mergeable(ctx); !some {
			return leftOut, err
		}
		if err := d.open(ctx); err != nil {
			return nil, err
		}
	}
	return d.st.Merge(ctx, from, told)
}

// aStore completes an error message about a file that is not a store.
const aStore = ": name a store, as sqlite3perf run makes them"

// readable returns an error if the file obviously is not a store. It is called before anything is
// copied.
func readable(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("%w: make it readable", directory.Reason(err))
	case info.IsDir():
		return errors.New("it is a directory" + aStore)
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file" + aStore)
	case info.Size() == 0:
		return errors.New("it is empty, 0 bytes long" + aStore)
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%w: make it readable", directory.Reason(err))
	}
	f.Close()
	if err = snapshot.Check(name); err != nil {
		return fmt.Errorf("%w"+aStore, err)
	}
	return nil
}

// whyUnread returns why a store could not be read, and what the user can do.
func whyUnread(err error) string {
	refused, ok := errors.AsType[*store.UnusableError](err)
	switch {
	case errors.Is(err, snapshot.ErrUnreadable):
		return "SQLite cannot read it, for it is damaged or encrypted: ask for another copy"
	case errors.Is(err, store.ErrDamaged):
		return "it is damaged: ask for another copy"
	case errors.Is(err, store.ErrNewer):
		return refused.Why.Error() + ": update sqlite3perf"
	case ok && refused.Why != nil:
		return refused.Why.Error() + aStore
	}
	return err.Error()
}

func (r *mergeReport) count() {
	for _, m := range r.Runs {
		r.Trials += m.Trials
		switch m.What {
		case store.MergedNew:
			r.New++
		case store.MergedThere:
			r.There++
		case store.MergedContinued:
			r.Continued++
		default:
			r.LeftOut++
		}
	}
}

func (r *mergeReport) print(env *cli.Environment, format string) error {
	if format == "json" {
		return document.EncodeEscaped(env.RawOut, r)
	}
	var b strings.Builder
	if r.made {
		fmt.Fprintf(&b, "%s merged into %s", document.Counted(r.New, "run"), r.Store)
		if r.Trials > 0 {
			fmt.Fprintf(&b, " (%s)", document.Counted(r.Trials, "trial"))
		}
	} else {
		fmt.Fprintf(&b, "nothing to merge: %s was not made", r.Store)
	}
	for _, x := range []struct {
		runs int
		what string
	}{{r.Continued, "continued"}, {r.There, "there already"}, {r.LeftOut, "left out"}} {
		if x.runs > 0 {
			fmt.Fprintf(&b, ", %d %s", x.runs, x.what)
		}
	}
	if n := len(r.Unread); n > 0 {
		fmt.Fprintf(&b, ", %s not read", document.Counted(n, "store"))
	}
	b.WriteString("\n")
	for i := 0; i < len(r.Runs); {
		m, n := r.Runs[i], 1
		for i+n < len(r.Runs) && follows(r.Runs[i+n], m, int64(n)) {
			n++
		}
		i += n
		fmt.Fprintf(&b, "%s: %s\n", document.Line(m.Store), became(m, int64(n)))
	}
	for _, u := range r.Unread {
		fmt.Fprintf(&b, "%s: %s\n", document.Line(u.Store), document.Line(u.Reason))
	}
	_, err := fmt.Fprint(env.Stdout, b.String())
	return err
}

// follows reports whether the run "next" comes n runs after the run "first", in the source and in
// the destination. It also requires that both runs were added, or that both were there already.
func follows(next, first store.Merged, n int64) bool {
	return (first.What == store.MergedNew || first.What == store.MergedThere) && next.What == first.What && next.Store == first.Store && next.Run == first.Run+n && next.Is == first.Is+n
}

func became(m store.Merged, n int64) string {
	here := fmt.Sprintf("run %d is %d here", m.Run, m.Is)
	if n > 1 {
		here = fmt.Sprintf("runs %d to %d are %d to %d here", m.Run, m.Run+n-1, m.Is, m.Is+n-1)
	}
	switch m.What {
	case store.MergedNew:
		return here
	case store.MergedThere:
		return here + ", already"
	case store.MergedContinued:
		return fmt.Sprintf("%s, which has %s more", here, document.Counted(m.Trials, "trial"))
	}
	return fmt.Sprintf("run %d left out: %s", m.Run, document.Line(m.Reason))
}
