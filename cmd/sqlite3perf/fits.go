package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sqlite3perf/sqlite3perf/cmd/sqlite3perf/internal/cli"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
)

// tryingShare limits the time of trials that do not count to one twentieth of the run's time. One case
// of each workload is tried in any case.
const tryingShare = 20

// fits returns an error if the least number of rounds does not fit into the --time that the user
// typed, or the shortest search into any --time. It judges by what is known before the first trial:
// phases say how long they last, and fits tries the beginning of a long recording. If r.keepsTime is
// set, it tries a trial of each workload.
func (r *request) fits(ctx context.Context, o *runOptions, p *site, show *cli.Progress) error {
	if r.resumed != nil || r.study != nil || r.told || r.fitted {
		return nil
	}
	r.fitted = true
	f := forecast{All: r.keepsTime, Budget: r.schedule.Time / tryingShare, Now: time.Now, Begins: func(c *lab.Case, tried, events int) {
		if tried < events {
			show.Note("estimating how long a trial takes, from %d of the %s events of %s", tried, document.Thousands(int64(events)), c.Workload)
		} else {
			show.Note("estimating how long a trial takes, from two of each workload that do not count")
		}
	}}
	if p.processes != nil {
		f.Try = func(ctx context.Context, c *lab.Case) (*result.Trial, error) {
			return p.processes.Trial(ctx, c, r.matrix.Seed)
		}
	}
	err := f.Of(ctx, r.cases)
	if err != nil || f.Round == 0 {
		return err
	}
	rounds := r.schedule.Rounds
	if rounds == 0 {
		rounds = lab.MinRounds
	}
	l := limited{
		what: fmt.Sprintf("%s of %s", document.Counted(rounds, "round"), document.Counted(len(r.cases), "case")), takes: "take",
		fewer: "fewer drivers or settings", more: fmt.Sprintf(" or --rounds %d", lab.MinRounds),
		limit: r.schedule.Time, least: time.Duration(rounds)*f.Round + f.Once,
	}
	kept := r.schedule.Rounds > 0 || !cli.Typed(o.flags.Lookup("time"))
	if r.called != "" {
		l.what, l.takes, l.fewer = r.called, "takes", "fewer drivers (--drivers) or fewer choices (such as --set journal_mode=wal)"
	}
	if r.search != nil {
		l.what, l.takes, l.fewer, l.more = "a search that tries one value", "takes", "fewer workloads", ""
		l.least, l.limit, kept = tune.Least(f.Round), o.time, false
	}
	if f.Longest != nil && !o.quiet {
		show.Say("a trial of %s on %s takes about %s; %s %s at least %s", f.Longest.Workload, f.Longest.Driver, cli.Roughly(f.Takes), l.what, l.takes, cli.Roughly(l.least))
		l.more += ", or replay only the first events: --events 500"
	}
	if r.search == nil {
		show.Least = l.least
	}
	if kept || l.least <= l.limit {
		return nil
	}
	return l.refusal()
}

// limited describes something that is to end within --time.
type limited struct {
	what, takes  string // what is measured, and the verb: take or takes
	fewer, more  string // what to name fewer of, and what to give instead of more --time
	limit, least time.Duration
}

func (l limited) refusal() error {
	return cli.Usagef("--time %v: %s %s at least %s: name %s, or give --time %s%s", l.limit, l.what, l.takes, cli.Roughly(l.least), l.fewer, enough(l.least), l.more)
}

// enough returns a round time that is a little longer than least, to type as a flag.
func enough(least time.Duration) string {
	t := least + least/10
	unit := time.Minute
	switch {
	case t < 10*time.Second:
		unit = time.Second
	case t < 2*time.Minute:
		unit = 10 * time.Second
	case t < 10*time.Minute:
		unit = 30 * time.Second
	}
	text := (t + unit - 1).Truncate(unit).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// triedEvents is the number of events of a recording in the trial that estimates the time of all
// events. Recordings with fewer than longReplay events are tried only if all cases are.
const (
	triedEvents = 500
	longReplay  = 4 * triedEvents
)

// A forecast estimates how long cases take, before anything is measured.
type forecast struct {
	Try    func(context.Context, *lab.Case) (*result.Trial, error) // runs a trial that does not count; nil if that is not possible
	All    bool                                                    // try every workload, not only long recordings
	Budget time.Duration                                           // time for trials beyond the first of each workload
	Now    func() time.Time

	// Begins is called before the first trial, with its case and, for a long recording, with the
	// number of events that are tried and of all.
	Begins func(c *lab.Case, tried, events int)

	Round time.Duration // estimated time of a round
	Once  time.Duration // time of trials that fail, so that later rounds leave them out

	Longest *lab.Case     // the longest recording that was tried; nil if none was
	Takes   time.Duration // estimated time of its trial

	above  map[string]time.Duration   // how much longer a trial takes than its phases of fixed duration, by workload and driver
	known  map[string][]time.Duration // values of above, by workload
	failed map[*lab.Case]bool         // cases whose trial failed
	begun  map[string]bool            // workloads of which a case was tried
}

// Of estimates the time of cases.
func (f *forecast) Of(ctx context.Context, cases []*lab.Case) error {
	f.above, f.known, f.failed = map[string]time.Duration{}, map[string][]time.Duration{}, map[*lab.Case]bool{}
	f.begun = map[string]bool{}
	began := f.Now()
	for _, c := range cases {
		key := c.Workload + "\x00" + c.Ref.Name
		_, tried := f.above[key]
		if !f.tries(c) || tried || f.begun[c.Workload] && f.Now().Sub(began) > f.Budget {
			continue
		}
		if err := f.measure(ctx, c, key); err != nil {
			return err
		}
	}
	for _, c := range cases {
		if c.Unavailable != nil || f.failed[c] {
			continue
		}
		f.Round += c.Lasts()
		if !f.tries(c) {
			continue
		}
		above, tried := f.above[c.Workload+"\x00"+c.Ref.Name]
		if !tried {
			above = f.typical(c.Workload)
		}
		f.Round += above
	}
	return nil
}

// tries reports whether a trial of the case says more about its time than its phases do.
func (f *forecast) tries(c *lab.Case) bool {
	_, events := c.Beginning(triedEvents)
	return c.Unavailable == nil && f.Try != nil && (f.All || events >= longReplay)
}

// measure tries a case. Unless it replays a long recording, it is tried twice, because the first
// trial may also load the database.
func (f *forecast) measure(ctx context.Context, c *lab.Case, key string) error {
	cut, events := c.Beginning(triedEvents)
	long := events >= longReplay
	if len(f.begun) == 0 {
		tried, of := 0, 0
		if long {
			tried, of = triedEvents, events
		}
		f.Begins(c, tried, of)
	}
	f.begun[c.Workload] = true
	t, err := f.Try(ctx, cut)
	if err != nil {
		return err
	}
	takes := lab.TakesWhole(t, cut, c)
	if takes > 0 && !long {
		if t, err = f.Try(ctx, cut); err != nil {
			return err
		}
		if again := lab.TakesWhole(t, cut, c); again > 0 {
			takes = min(takes, again)
		}
	}
	if t.Status != result.OK && !long {
		f.failed[c] = true
		f.Once += time.Duration(t.TookNS)
		return nil
	}
	f.above[key] = max(takes-c.Lasts(), 0)
	f.known[c.Workload] = append(f.known[c.Workload], f.above[key])
	if long && takes > f.Takes {
		f.Takes, f.Longest = takes, c
	}
	return nil
}

// typical returns the mean of what is known about a workload or, if nothing is, about all workloads.
func (f *forecast) typical(workload string) time.Duration {
	list := f.known[workload]
	if list == nil {
		for _, other := range f.known {
			list = append(list, other...)
		}
	}
	sum := time.Duration(0)
	for _, d := range list {
		sum += d
	}
	return sum / time.Duration(max(1, len(list)))
}
