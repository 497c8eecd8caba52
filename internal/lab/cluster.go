package lab

import (
	"fmt"

	"github.com/sqlite3perf/sqlite3perf/worker/latency"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// SumClustered combines the results of several trials with the same loads. For each load, it adds
// up times and failures, merges latencies, and keeps the first error. PeakRSSBytes is the largest
// of all trials. Everything else comes from the last trial. The caller must have checked the
// trials. SumClustered does not change them.
func SumClustered(trials []*protocol.Clustered) (*protocol.Clustered, error) {
	last := trials[len(trials)-1]
	sum := *last
	sum.Loads = make([]protocol.LoadResult, len(last.Loads))
	for i := range sum.Loads {
		l := protocol.LoadResult{ClusterLoad: last.Loads[i].ClusterLoad}
		var acknowledged, visible []latency.Summary
		for _, t := range trials {
			one := t.Loads[i]
			l.WallNS += one.WallNS
			l.Failed += one.Failed
			l.CPUNS += one.CPUNS
			l.MemberCPUNS += one.MemberCPUNS
			if l.Error == "" {
				l.Error = one.Error
			}
			acknowledged, visible = append(acknowledged, one.Acknowledged), append(visible, one.Visible)
		}
		var err error
		if l.Acknowledged, err = sumLatencies(acknowledged); err != nil {
			return nil, err
		}
		if l.Visible, err = sumLatencies(visible); err != nil {
			return nil, err
		}
		sum.Loads[i] = l
	}
	for _, t := range trials {
		sum.PeakRSSBytes = max(sum.PeakRSSBytes, t.PeakRSSBytes)
	}
	return &sum, nil
}

func sumLatencies(list []latency.Summary) (latency.Summary, error) {
	all := latency.New()
	for _, s := range list {
		h, err := latency.Decode(s.Histogram)
		if err != nil {
			return latency.Summary{}, fmt.Errorf("latencies of %s: %w", s.Operation, err)
		}
		all.Merge(h)
	}
	return all.Summary(list[0].Operation), nil
}
