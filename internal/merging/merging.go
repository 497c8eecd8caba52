// Package merging puts the runs of other stores (files with results) into one store. The other
// stores may be from somebody else.
package merging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/sqlite3perf/sqlite3perf/internal/directory"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/store"
	"github.com/sqlite3perf/sqlite3perf/internal/workload/snapshot"
)

// Report says what became of the runs of other stores.
type Report struct {
	Command   string         `json:"command"` // always "merge"
	Store     string         `json:"store"`
	New       int            `json:"new"`                // number of runs that were added
	There     int            `json:"there"`              // number of runs that the destination already had
	Continued int            `json:"continued"`          // number of runs to which missing trials were added
	LeftOut   int            `json:"left_out,omitempty"` // number of runs that were not merged
	Trials    int            `json:"trials,omitempty"`   // number of trials that were added
	Runs      []store.Merged `json:"runs"`
	Unread    []Unread       `json:"unread,omitempty"` // stores that could not be read

	st *store.Store // the open destination; nil before the first run is added, which creates it
}

// Unread is a store that could not be read.
type Unread struct {
	Store  string `json:"store"`
	Reason string `json:"reason"`
}

// Into merges stores into the store at path, which is created when the first run is added. It calls
// the function "told" with the number of a store's runs that have been merged, and the number of
// all its runs. The second number is 0 while the store is copied and checked. If using the
// destination fails, Into returns an error, and the report has what was merged before. The report
// is nil if the destination cannot be opened. If ctx ends, Into returns no error.
func Into(ctx context.Context, path string, names []string, told func(name string, done, of int)) (r *Report, err error) {
	r = &Report{Command: "merge", Store: path, Runs: []store.Merged{}}
	defer func() {
		if r != nil && r.st != nil {
			r.st.Close()
		}
	}()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err := r.open(ctx); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		var unread error
		if unread, err = r.add(ctx, name, told); err != nil || ctx.Err() != nil {
			break
		}
		if unread != nil {
			r.Unread = append(r.Unread, Unread{name, strings.Join(strings.Fields(whyUnread(unread)), " ")})
		}
	}
	r.count()
	return r, err
}

func (r *Report) open(ctx context.Context) (err error) {
	r.st, err = store.Open(ctx, r.Store)
	return err
}

// Made reports whether the destination exists.
func (r *Report) Made() bool { return r.st != nil }

// Whole reports whether all runs of all stores are in the destination.
func (r *Report) Whole() bool { return r.LeftOut == 0 && len(r.Unread) == 0 }

// add merges the store in the file with the given name. It merges from a copy of the store, which
// it creates next to the destination. The result "unread" is the reason why the store cannot be
// read. The result "failure" is an error in the destination.
func (r *Report) add(ctx context.Context, name string, told func(name string, done, of int)) (unread, failure error) {
	if err := readable(name); err != nil {
		return err, nil
	}
	told(name, 0, 0)
	scratch, err := process.Beside(r.Store)
	if err != nil {
		return nil, fmt.Errorf("a copy of %s: %w", name, err)
	}
	defer scratch.Remove()
	copied, err := snapshot.Take(ctx, name, scratch.Dir)
	if err != nil {
		return cmp.Or(errors.Unwrap(err), err), nil // the error without the store's name, because the report prints the name anyway
	}
	defer copied.Close()
	from, err := store.OpenForeign(ctx, copied.File(), name)
	if err != nil {
		return err, nil
	}
	defer from.Close()
	list, err := r.merge(ctx, from, func(done, of int) { told(name, done, of) })
	r.Runs = append(r.Runs, list...)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return nil, err
}

func (r *Report) merge(ctx context.Context, from *store.Store, told func(done, of int)) ([]store.Merged, error) {
	if r.st == nil {
		if some, leftOut, err := from.Mergeable(ctx); !some {
			return leftOut, err
		}
		if err := r.open(ctx); err != nil {
			return nil, err
		}
	}
	return r.st.Merge(ctx, from, told)
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

func (r *Report) count() {
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

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(out io.Writer) error { return document.EncodeEscaped(out, r) }

// WriteText writes the report as text: a line about all runs, and a line about each sequence of consecutive
// runs.
func (r *Report) WriteText(out io.Writer) error {
	var b strings.Builder
	if r.Made() {
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
	_, err := io.WriteString(out, b.String())
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
