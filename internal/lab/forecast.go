package lab

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
)

// triedEvents is how many events of a recording a trial replays to estimate the time of all events.
// Recordings with fewer than longReplay events are tried only if [Forecast.All] is set.
const (
	triedEvents = 500
	longReplay  = 4 * triedEvents
)

// A Forecast estimates how long cases take, before anything is measured.
type Forecast struct {
	Try    func(context.Context, *Case) (*result.Trial, error) // runs a trial whose measurements are not kept; nil if no trial can be run
	All    bool                                                // try every workload, not only long recordings
	Budget time.Duration                                       // after this time, a trial runs only if no case of its workload was tried before
	Now    func() time.Time

	// Begins is called once, before the first trial, with the case of that trial. If the case replays a
	// long recording, the argument "events" is the number of events in the recording, and "tried" is how
	// many of them the trial replays. Otherwise both are 0.
	Begins func(c *Case, tried, events int)

	Round time.Duration // estimated time of a round
	Once  time.Duration // total time of the trials that failed; the cases of these trials run only in the first round

	Longest *Case         // the case with the longest recording that was tried; nil if no recording was tried
	Takes   time.Duration // estimated time of a trial of Longest

	above  map[string]time.Duration   // by workload and driver: time of a trial without its phases of fixed duration
	known  map[string][]time.Duration // values of the field "above", by workload
	failed map[*Case]bool             // cases whose trial failed
	begun  map[string]bool            // workloads for which a case was tried
}

// Of estimates how long the cases take, and sets Round, Once, Longest and Takes.
func (f *Forecast) Of(ctx context.Context, cases []*Case) error {
	f.above, f.known, f.failed = map[string]time.Duration{}, map[string][]time.Duration{}, map[*Case]bool{}
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

// tries reports whether the forecast runs a trial of the case to estimate the time of its trials.
func (f *Forecast) tries(c *Case) bool {
	_, events := c.Beginning(triedEvents)
	return c.Unavailable == nil && f.Try != nil && (f.All || events >= longReplay)
}

// measure runs a trial of a case to estimate its time. The first trial may also load the database, so measure
// runs a second one. It runs only one trial if the trial failed or if the case replays a long recording.
func (f *Forecast) measure(ctx context.Context, c *Case, key string) error {
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
	takes := TakesWhole(t, cut, c)
	if takes > 0 && !long {
		if t, err = f.Try(ctx, cut); err != nil {
			return err
		}
		if again := TakesWhole(t, cut, c); again > 0 {
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

// typical returns the mean of the values of f.known for a workload. If there are none for this workload, it
// returns the mean over all workloads.
func (f *Forecast) typical(workload string) time.Duration {
	list := f.known[workload]
	if list == nil {
		list = slices.Concat(slices.Collect(maps.Values(f.known))...)
	}
	return mean(list)
}
