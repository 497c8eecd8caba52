package cluster

import (
	"errors"
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// keptVersion is the version of the JSON form in which a run stores the trials.
const keptVersion = 1

// Keep returns the clusters in the form in which a run stores them. The machine and warnings are
// not included, because the run has them.
func (c *Clusters) Keep() (*result.Answer, error) {
	return result.NewAnswer(result.QuestionCluster, keptVersion, c)
}

// Stored returns the clusters that are stored with a run.
func Stored(run *result.Run) (*Clusters, error) {
	c := &Clusters{}
	if err := run.Answer.Decode(result.QuestionCluster, keptVersion, c); err != nil {
		return nil, err
	}
	c.Machine, c.Warnings = run.Machine, run.Warnings
	return c, nil
}

// Limits of stored clusters. A store from somebody else may contain larger clusters, which would take
// too long to show.
const (
	mostLoads  = 1000 // loads of all trials together
	mostRounds = 1000
	fastest    = 1e12 // greatest rate in rows per second
)

// Check returns an error if the clusters contradict themselves or exceed the limits.
func (c *Clusters) Check() error {
	loads := len(c.Trials)
	for i := range c.Trials {
		t := &c.Trials[i]
		if t.Result != nil {
			loads += len(t.Result.Loads)
		}
		err := t.check()
		if err == nil && loads > mostLoads {
			err = fmt.Errorf("there are more than %d loads", mostLoads)
		}
		if err != nil {
			return fmt.Errorf("trial %d: %w", i+1, err)
		}
	}
	return nil
}

// check returns an error if a trial contradicts itself.
func (t *ClusterTrial) check() error {
	if t.Nodes < 0 || t.Delay < 0 {
		return errNegative
	}
	for name, value := range t.Settings {
		if canonical, err := driver.ParseSetting(name, value); err != nil || canonical != value {
			return fmt.Errorf("%s=%s is not a setting", document.Line(name), document.Line(value))
		}
	}
	for _, list := range t.Rates {
		if len(list) == 0 || len(list) > mostRounds || len(list) != len(t.Rates[0]) {
			return fmt.Errorf("its loads have not been measured in the same 1 to %d rounds", mostRounds)
		}
		for _, r := range list {
			if r < 0 || r > fastest {
				return errors.New("a rate is not one of rows per second")
			}
		}
	}
	r := t.Result
	switch {
	case r == nil && t.Reason == "":
		return errors.New("it has neither a result nor a reason")
	case r == nil:
		return nil
	case len(t.Rates) > 0 && len(t.Rates) != len(r.Loads):
		return fmt.Errorf("it has the rates of %d loads, and %d loads", len(t.Rates), len(r.Loads))
	case t.Reason != "" && len(t.Rates) == 0:
		return errors.New("it has a result, and a reason why there is none")
	}
	return checkResult(r)
}

var errNegative = errors.New("a number is below 0")

func checkResult(r *protocol.Clustered) error {
	numbers := []int64{r.Rows, r.DiskBytes, r.PeakRSSBytes}
	for i := range r.Loads {
		l := &r.Loads[i]
		const most = 1_000_000
		if l.Clients < 1 || l.Clients > most || l.Batch < 1 || l.Batch > most || l.WallNS < 1 || l.Acknowledged.Count < 1 || RowsPerSecond(l) > fastest {
			return fmt.Errorf("%d clients with %d rows per INSERT are not a load that was measured", l.Clients, l.Batch)
		}
		numbers = append(numbers, l.Failed, l.CPUNS, l.MemberCPUNS)
		for _, s := range []*latency.Summary{&l.Acknowledged, &l.Visible} {
			numbers = append(numbers, s.P50NS, s.P99NS)
		}
	}
	if h := r.Harmed; h != nil {
		numbers = append(numbers, h.Acknowledged, h.Failed, h.Found, h.Lost)
		for _, one := range h.Harms {
			numbers = append(numbers, one.SilentNS, one.RecoveredNS)
		}
		for _, m := range h.Missing {
			numbers = append(numbers, m.Rows, m.Lost)
		}
		for _, l := range h.Reads {
			numbers = append(numbers, l.Reads-l.Failed, l.Failed, l.Stale)
		}
	}
	for _, n := range numbers {
		if n < 0 {
			return errNegative
		}
	}
	return nil
}
