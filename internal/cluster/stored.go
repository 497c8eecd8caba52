package cluster

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/worker/driver"
	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// keptVersion is the version of [kept].
const keptVersion = 1

// kept is what a run keeps of clusters beside its machine and warnings.
type kept struct {
	Trials []keptTrial `json:"trials"`
}

type keptTrial struct {
	Driver   string              `json:"driver"`
	Version  string              `json:"version,omitempty"`
	Nodes    int                 `json:"nodes"`
	DelayNS  time.Duration       `json:"delay_ns"`
	Settings driver.Settings     `json:"settings"`
	Result   *protocol.Clustered `json:"result,omitempty"`
	Rates    [][]*float64        `json:"rates,omitempty"` // null: the round has failed
	Reason   string              `json:"reason,omitempty"`
}

// Keep returns what is stored of clusters, with a run that has nothing else but their machine
// and its warnings.
func (c *Clusters) Keep() (*result.Answer, error) {
	var k kept
	for _, t := range c.Trials {
		x := keptTrial{t.Driver, t.Version, t.Nodes, t.Delay, t.Settings, t.Result, nil, t.Reason}
		for _, rates := range t.Rates {
			list := make([]*float64, len(rates))
			for i := range rates {
				if !math.IsNaN(rates[i]) {
					list[i] = &rates[i]
				}
			}
			x.Rates = append(x.Rates, list)
		}
		k.Trials = append(k.Trials, x)
	}
	if err := k.check(); err != nil {
		return nil, err
	}
	return result.NewAnswer(result.QuestionCluster, keptVersion, k)
}

// Stored returns the clusters that a run has.
func Stored(run *result.Run) (*Clusters, error) {
	var k kept
	if err := run.Answer.Decode(result.QuestionCluster, keptVersion, &k); err != nil {
		return nil, err
	}
	if err := k.check(); err != nil {
		return nil, fmt.Errorf("its answer: %w", err)
	}
	c := &Clusters{Machine: run.Machine, Warnings: run.Warnings}
	for i := range k.Trials {
		x := &k.Trials[i]
		t := ClusterTrial{Driver: x.Driver, Version: x.Version, Nodes: x.Nodes, Delay: x.DelayNS, Settings: x.Settings, Result: x.Result, Reason: x.Reason}
		for _, list := range x.Rates {
			rates := make([]float64, len(list))
			for i, r := range list {
				if rates[i] = math.NaN(); r != nil {
					rates[i] = *r
				}
			}
			t.Rates = append(t.Rates, rates)
		}
		c.Trials = append(c.Trials, t)
	}
	return c, nil
}

// The most that stored clusters have, so that those of others are written in a moment.
const (
	mostLoads  = 1000 // of all trials
	mostRounds = 1000
	fastest    = 1e12 // rows per second
)

// check returns an error if what is kept contradicts itself or is too large. It may have been
// made by others.
func (k *kept) check() error {
	loads := len(k.Trials)
	for i := range k.Trials {
		t := &k.Trials[i]
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
func (t *keptTrial) check() error {
	if t.Nodes < 0 || t.DelayNS < 0 {
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
			if r != nil && (*r <= 0 || *r > fastest) {
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
