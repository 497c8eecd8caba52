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

// tryingShare limits the trials that only serve to estimate how long a run takes. Together, they may
// take one twentieth of the run's time. One case of each workload is tried even if that takes longer.
const tryingShare = 20

// fits returns an error if --time is too short. If the user typed --time without --rounds, it must be enough for
// the least number of rounds ([lab.MinRounds]). In a search for settings, --time must be enough to try one value,
// even if the user did not type --time. fits estimates the time of a trial from the durations of phases and, for
// a long recording, from replaying the recording's beginning. If r.keepsTime is set, it also runs trials of each
// workload. It does not check resumed runs and studies.
func (r *request) fits(ctx context.Context, o *runOptions, p *location, show *cli.Progress) error {
	if r.resumed != nil || r.study != nil || r.told || r.fitted {
		return nil
	}
	r.fitted = true
	f := lab.Forecast{All: r.keepsTime, Budget: r.schedule.Time / tryingShare, Now: time.Now, Begins: func(c *lab.Case, tried, events int) {
		if tried < events {
			show.Note("estimating how long a trial takes, from %d of the %s events of %s", tried, document.Thousands(int64(events)), c.Workload)
		} else {
			show.Note("estimating how long a trial takes, from two extra trials of each workload")
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
		show.Say("a trial of %s on %s takes about %s; %s %s at least %s", f.Longest.Workload, f.Longest.Driver, document.Roughly(f.Takes), l.what, l.takes, document.Roughly(l.least))
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
	what, takes  string // what is measured, and the verb after it: "take" or "takes"
	fewer, more  string // advice in the error: what to reduce, such as "fewer drivers", and alternatives to a longer --time, such as " or --rounds 6"
	limit, least time.Duration
}

func (l limited) refusal() error {
	return cli.Usagef("--time %v: %s %s at least %s: name %s, or give --time %s%s", l.limit, l.what, l.takes, document.Roughly(l.least), l.fewer, enough(l.least), l.more)
}

// enough returns a time that is about a tenth longer than the parameter "least". The time is
// rounded so that it is easy to type as the value of a flag.
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
