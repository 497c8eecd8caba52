package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/build"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/machine"
	"github.com/sqlite3perf/sqlite3perf/internal/lab/process"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/workload"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Agent runs trials on this machine. A sqlite3perf that runs on another machine requests them.
type Agent struct {
	Version string // version of this sqlite3perf

	// DirectoryPrefix is the prefix of the name of the agent's directory for databases.
	DirectoryPrefix string

	quiet   time.Duration // the agent ends if it receives nothing for this long; 0 means the constant Silence
	out     sync.Mutex
	replies *json.Encoder
	over    <-chan struct{} // closed when the connection to the other machine has ended

	builder  *build.Builder
	known    []build.Known
	scratch  *process.Scratch
	observer *machine.Observer
	trials   *lab.Processes
	cases    map[int]*lab.Case
	incoming *incoming

	elsewhere string // advice to the user if the directory for databases is unusable or full
}

// Silence is how long the agent waits without receiving anything before it ends. Usually the
// agent ends sooner, because its input ends. But if the other machine loses power, the input
// does not end.
const Silence = 5 * time.Minute

// errEnded is the cause with which the current work is canceled when the other machine has gone.
var errEnded = errors.New("the other side has gone")

// Serve answers requests until its input ends, or until it has received nothing for the time [Silence]. After
// that, it stops the current work, and removes the directories that it created, except the cache.
func (a *Agent) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	a.replies, a.over = json.NewEncoder(out), ctx.Done()
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	sum, err := build.SHA256Of(executable)
	if err != nil {
		return err
	}
	if err := a.send(hello{protocolVersion, a.Version, sum, platform(), machine.Boot()}); err != nil {
		return err
	}
	defer a.remove()
	prune(executable, time.Now())
	requests := make(chan request)
	go func() {
		defer close(requests)
		most := cmp.Or(a.quiet, Silence)
		watchdog := time.AfterFunc(most, func() { end(errEnded) })
		defer watchdog.Stop()
		for lines := json.NewDecoder(in); ; {
			var r request
			if err := lines.Decode(&r); err != nil {
				end(errEnded)
				return
			}
			watchdog.Reset(most)
			if r.Method == methodPing {
				go func() { _ = a.send(reply{Event: methodPing}) }() // an error does not matter: if the other machine has gone, decoding the next request fails, too
				continue
			}
			select {
			case requests <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return nil
		case r, more := <-requests:
			if !more {
				return nil
			}
			if err := a.send(a.answer(ctx, r)); err != nil {
				return nil // the other machine has gone
			}
		}
	}
}

// send writes v to the other machine. It returns early if that machine has gone, because a hanging connection
// would block the write forever, and the agent could not clean up.
func (a *Agent) send(v any) error {
	sent := make(chan error, 1)
	go func() {
		a.out.Lock()
		defer a.out.Unlock()
		sent <- a.replies.Encode(v)
	}()
	select {
	case err := <-sent:
		return err
	case <-a.over:
		return errEnded
	}
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// remove removes the directories that the agent created.
func (a *Agent) remove() {
	if a.scratch != nil {
		a.scratch.Remove()
	}
	a.incoming.discard()
}

func (a *Agent) answer(ctx context.Context, r request) reply {
	v, err := a.do(ctx, r)
	out := reply{ID: r.ID}
	if err == nil {
		out.Result, err = json.Marshal(v)
	}
	if err != nil {
		out.Result, out.Error = nil, err.Error()
		switch _, ok := errors.AsType[*placeError](err); {
		case ok && a.elsewhere != "":
			out.Error += ", " + a.elsewhere
		case !ok && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)):
			out.Error += ": make room there"
		}
	}
	return out
}

// do carries out a request and returns its result.
func (a *Agent) do(ctx context.Context, r request) (any, error) {
	if a.trials == nil && r.Method != methodOpen && r.Method != methodInUse {
		return nil, errors.New("nothing has been opened")
	}
	switch r.Method {
	case methodOpen:
		return with(r, func(p Place) (any, error) { return a.open(p) })
	case methodInUse:
		return with(r, func(given string) (any, error) {
			dir, err := databases(given)
			return err == nil && process.InUse(dir, a.DirectoryPrefix), nil // if the function "databases" failed, the method methodOpen reports the error
		})
	case methodPrepare:
		return with(r, func(list []wireCase) (any, error) { return a.prepare(ctx, r.ID, list) })
	case methodSend:
		return with(r, func(s sending) (any, error) { return a.receive(s) })
	case methodNeeds:
		return with(r, func(list []preparation) (any, error) { return a.needs(ctx, list) })
	case methodNoise:
		return with(r, func(moment string) (any, error) { return a.noise(moment) })
	case methodSteal:
		return a.observer.Steal(), nil
	case methodTrials:
		return with(r, func(t trials) (any, error) { return a.run(ctx, t) })
	}
	return nil, fmt.Errorf("unknown method %q", r.Method)
}

// The function "with" decodes the parameters of a request and passes them to the function "do".
func with[T any](r request, do func(T) (any, error)) (any, error) {
	var v T
	if err := json.Unmarshal(r.Params, &v); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Method, err)
	}
	return do(v)
}

func (a *Agent) open(p Place) (any, error) {
	source, err := build.Unpacked() // not a clone at the same path on this machine, because it may have another version
	if err != nil {
		return nil, err
	}
	if a.known, err = source.Drivers(); err != nil {
		return nil, err
	}
	a.builder = &build.Builder{Source: source}
	if a.builder.Cache, err = build.DefaultCache(); err != nil {
		return nil, err
	}
	a.elsewhere = p.Elsewhere
	dir, err := databases(p.Dir)
	if err != nil {
		return nil, err
	}
	if a.scratch, err = process.NewScratch(dir, a.DirectoryPrefix); err != nil {
		return nil, &placeError{fmt.Errorf("directory for databases: %w: make room there", err)}
	}
	if a.observer, err = machine.Observe(a.scratch.Dir); err != nil {
		return nil, &placeError{fmt.Errorf("%w: make room there", err)}
	}
	a.trials = &lab.Processes{Dir: a.scratch.Dir, Limit: p.Limit, Hint: p.Hint, Elsewhere: p.Elsewhere}
	m := a.observer.Machine
	m.Directory = dir
	return m, nil
}

// placeError is an error about the directory for databases. Choosing another directory may help.
type placeError struct{ error }

// databases returns the directory for databases: the parameter "given", which must be an existing directory.
// If "given" is "", it returns a directory in the user's cache directory, which need not exist yet.
func databases(given string) (string, error) {
	cache, err := os.UserCacheDir()
	if usual := filepath.Join(cache, "sqlite3perf", "databases"); err == nil && (given == "" || given == usual) {
		return usual, nil
	}
	if given == "" {
		return "", err
	}
	if fi, err := os.Stat(given); err != nil || !fi.IsDir() {
		return "", &placeError{fmt.Errorf("it has no directory %s: create it there", given)}
	}
	return given, nil
}

// prepare finds or builds the workers of the given cases.
func (a *Agent) prepare(ctx context.Context, id int, list []wireCase) ([]preparation, error) {
	a.cases = map[int]*lab.Case{}
	var cases []*lab.Case
	for _, w := range list {
		ref, err := build.ParseRef(ctx, w.Driver, a.known)
		if err != nil {
			return nil, err
		}
		c := &lab.Case{Case: w.Case, Ref: ref, Plan: w.Plan, Expect: w.Expect, Given: w.Given, Source: &workload.Workload{Name: w.Workload, Needs: w.Needs}}
		cases, a.cases[c.ID] = append(cases, c), c
	}
	if err := lab.Prepare(ctx, cases, a.builder, &teller{a, id}); err != nil {
		return nil, err
	}
	return prepared(cases), nil
}

func prepared(cases []*lab.Case) []preparation {
	var list []preparation
	for _, c := range cases {
		list = append(list, preparation{c.ID, c.Worker, c.Build, c.Linked, c.Info, c.Unavailable})
	}
	return list
}

// teller reports the progress of building workers to the other machine.
type teller struct {
	*Agent
	id int // ID of the request to which the events belong
}

func (t *teller) Building(i, n int, name string) { t.event(building{I: i, N: n, Driver: name}) }

func (t *teller) Built(i, n int, name string, err error) {
	b := building{I: i, N: n, Driver: name, Done: true}
	if e, ok := errors.AsType[*build.BuildError](err); ok {
		b.Reason = &e.Reason
	} else if err != nil {
		b.Reason = &protocol.Reason{Code: protocol.CodeBuild, Message: err.Error()}
	}
	t.event(b)
}

func (t *teller) event(b building) {
	if text, err := json.Marshal(b); err == nil {
		_ = t.send(reply{ID: t.id, Event: methodPrepare, Result: text}) // if the other machine has gone, sending the reply fails too
	}
}

// The method "needs" stores the descriptions of the cases' workers that the other machine sends. Some of these
// workers may have been built on the other machine. Then "needs" asks all workers for the features that their
// workloads need.
func (a *Agent) needs(ctx context.Context, list []preparation) ([]preparation, error) {
	var cases []*lab.Case
	for _, p := range list {
		c := a.cases[p.ID]
		if c == nil {
			return nil, fmt.Errorf("no case %d", p.ID)
		}
		p.applyTo(c)
		cases = append(cases, c)
	}
	if err := a.trials.CheckNeeds(ctx, cases); err != nil {
		return nil, err
	}
	return prepared(cases), nil
}

func (p *preparation) applyTo(c *lab.Case) {
	c.Worker, c.Build, c.Linked, c.Info, c.Unavailable = p.Worker, p.Build, p.Linked, p.Info, p.Unavailable
}

func (a *Agent) noise(moment string) ([]result.Warning, error) {
	switch moment {
	case beforeRun:
		return a.observer.BeforeRun(), nil
	case beforeRound:
		a.observer.BeforeRound(0)
		return nil, nil
	case afterRun:
		return a.observer.AfterRun(), nil
	}
	return nil, fmt.Errorf("unknown moment %q", moment)
}

func (a *Agent) run(ctx context.Context, t trials) ([]*result.Trial, error) {
	var cases []*lab.Case
	for _, id := range t.Cases {
		c := a.cases[id]
		if c == nil {
			return nil, fmt.Errorf("no case %d", id)
		}
		cases = append(cases, c)
	}
	return a.trials.Trials(ctx, cases, t.Seed)
}

// unusedTime is how long a copied executable stays on another machine after its last use.
const unusedTime = 90 * 24 * time.Hour

// prune marks an executable at .../sqlite3perf/hosts/HASH/sqlite3perf as used now. It removes the other
// executables in the directory "hosts" that have not been used for the time unusedTime. If the path has another
// form, prune does nothing.
func prune(path string, now time.Time) {
	own := filepath.Dir(path)
	all := filepath.Dir(own)
	if filepath.Base(all) != "hosts" || filepath.Base(filepath.Dir(all)) != "sqlite3perf" {
		return
	}
	_ = os.Chtimes(path, now, now)
	others, _ := filepath.Glob(filepath.Join(all, "*", "sqlite3perf"))
	for _, other := range others {
		if fi, err := os.Lstat(other); err == nil && other != path && fi.ModTime().Before(now.Add(-unusedTime)) {
			_ = os.Remove(other)
			_ = os.Remove(filepath.Dir(other)) // fails, as intended, if the directory contains other files
		}
	}
}
