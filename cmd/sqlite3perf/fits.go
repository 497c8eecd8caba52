package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/lab"
	"github.com/sqlite3perf/sqlite3perf/internal/tune"
)

const (
	// triedEvents is of how many events of a recording a trial is made to estimate how long all
	// of them take. Replays with fewer than longReplay are not worth it.
	triedEvents = 500
	longReplay  = 4 * triedEvents

	// tryingShare is how much of the time of a run is spent on it: a twentieth.
	tryingShare = 20
)

// fits returns an error if the least number of rounds does not fit into a --time that was
// typed, or the least search into any, as far as that is known before the first trial: phases
// say how long they last, and of a long recording a trial of its beginning is made.
func (r *request) fits(ctx context.Context, o *runOptions, p *site, show *progress) error {
	if r.resumed != nil || r.study != nil || r.told || r.fitted {
		return nil
	}
	r.fitted = true
	round, about, err := r.estimate(ctx, p, show)
	if err != nil || round == 0 {
		return err
	}
	rounds := r.schedule.Rounds
	if rounds == 0 {
		rounds = lab.MinRounds
	}
	what, takes := fmt.Sprintf("%s of %s", document.Counted(rounds, "round"), document.Counted(len(r.cases), "case")), "they take"
	least, limit := time.Duration(rounds)*round, r.schedule.Time
	kept := r.schedule.Rounds > 0 || !typed(o.flags.Lookup("time"))
	remedy := "give as much, fewer drivers or settings, or --rounds"
	if r.search != nil {
		what, takes = "a search that tries one value", "it takes"
		least, limit, kept = tune.Least(round), o.time, false
		remedy = "give as much, or fewer workloads"
	}
	if about != "" && !o.quiet {
		show.say("%s; %s: %s about %s", about, what, takes, roughly(least))
	}
	if kept || least <= limit {
		return nil
	}
	if about != "" {
		remedy += "; or replay only the first events: --events 500"
	}
	return usagef("--time %v is not enough for %s: %s about %s: %s", limit, what, takes, roughly(least), remedy)
}

// estimate returns how long a round takes, as far as it is known before the first trial, and
// what is known of a trial of the longest recording; "" if there is none.
func (r *request) estimate(ctx context.Context, p *site, show *progress) (round time.Duration, about string, err error) {
	began, longest := time.Now(), time.Duration(0)
	known := map[string][]time.Duration{} // by workload: how long trials of its drivers take
	took := map[string]time.Duration{}    // by workload and driver
	var pending []string                  // the workloads of cases that were not tried
	for _, c := range r.cases {
		cut, whole := c.Beginning(triedEvents)
		if c.Unavailable != nil || whole < longReplay || p.processes == nil {
			round += c.Lasts()
			continue
		}
		key := c.Workload + "\x00" + c.Ref.Name
		if _, tried := took[key]; !tried {
			if len(known[c.Workload]) > 0 && time.Since(began) > r.schedule.Time/tryingShare {
				pending = append(pending, c.Workload)
				continue
			}
			if len(known) == 0 {
				show.say("estimating how long a trial takes, from %d of the %s events of %s", triedEvents, document.Thousands(int64(whole)), c.Workload)
			}
			t, err := p.processes.Trial(ctx, cut, r.matrix.Seed)
			if err != nil {
				return 0, "", err
			}
			took[key] = max(lab.TakesWhole(t, cut, c), c.Lasts())
			known[c.Workload] = append(known[c.Workload], took[key])
		}
		round += took[key]
		if took[key] > longest {
			longest, about = took[key], "a trial of "+c.Workload+" on "+c.Driver+" takes about "+roughly(took[key])
		}
	}
	for _, w := range pending {
		sum := time.Duration(0)
		for _, d := range known[w] {
			sum += d
		}
		round += sum / time.Duration(len(known[w]))
	}
	return round, about, nil
}
