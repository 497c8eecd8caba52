// Package locks explains lock errors: which operations fail under which settings, which change
// ends the errors, and what the change costs.
package locks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
	"github.com/sqlite3perf/sqlite3perf/internal/document"
	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Locks explains how operations of mixes and replays blocked each other, and which changes of
// settings prevent it.
type Locks struct {
	Analysis *stats.Analysis
	Mixes    []*LockedMix
}

// LockedMix is a mix or a replay of a workload that ran with several choices of settings in a given number of
// processes. The number of processes is not a choice, because an application cannot change it. A mix is paced
// if its operations are due at fixed times.
//
// Choices are compared by their rate of operations or, if the mix is paced, by the 99th percentile of their
// latency. Both are geometric means over the drivers. Best is nil if every choice had lock errors or endless
// waits on some driver. Gain and Calmer are comparisons with Today, the workload's own settings. They are nil
// if Today is nil, or had lock errors or endless waits on some driver. Gain is also nil if Best is Today, and
// Calmer if Calm is Today.
type LockedMix struct {
	stats.TableName
	Processes   int            `json:"processes"`         // number of processes over which the clients are spread
	Paced       bool           `json:"paced,omitempty"`   // the rate of operations is fixed, so choices are compared by latency
	Best        *LockChoice    `json:"best,omitempty"`    // the fastest choice without lock errors on any driver
	Equal       []LockChoice   `json:"equal,omitempty"`   // choices without lock errors that are not measurably slower than Best
	Nearest     *LockChoice    `json:"nearest,omitempty"` // the choice among Best and Equal with the fewest changes from Today
	Calm        *LockChoice    `json:"calm,omitempty"`    // the choice without lock errors with the lowest 99.9th percentile of the latency
	EquallyCalm []LockChoice   `json:"as_calm,omitempty"` // choices not measurably worse than Calm
	Today       *LockChoice    `json:"today,omitempty"`   // the workload's own settings; nil if they were not measured, or if the workload has several variants of them
	Gain        *stats.Summary `json:"gain,omitempty"`    // speed with Best divided by speed with Today
	Calmer      *stats.Summary `json:"calmer,omitempty"`  // 99.9th percentile of the latency with Today divided by the same percentile with Calm
	Cells       []*LockCell    `json:"cells"`             // cells in the order of the run
}

// String returns the name of the mix and the number of its processes, if there are several.
func (m *LockedMix) String() string {
	if m.Processes > 1 {
		return fmt.Sprintf("%s in %d processes", m.TableName.String(), m.Processes)
	}
	return m.TableName.String()
}

// Choices returns how many choices have a cell with figures and without lock errors.
func (m *LockedMix) Choices() int {
	seen := map[LockChoice]bool{}
	for _, c := range m.Cells {
		if c.Clean() {
			seen[c.Choice] = true
		}
	}
	return len(seen)
}

// ExplainLocks explains the mixes and replays of a run. It leaves out all other phases.
func ExplainLocks(a *stats.Analysis) *Locks {
	l := &Locks{Analysis: a, Mixes: []*LockedMix{}}
	byKey := map[string]*LockedMix{}
	for g, t := range a.Tables() {
		if !mixed(a, g.Workload, t.Phase) {
			continue
		}
		for _, c := range t.Cells {
			name := stats.TableName{Workload: c.Case.Workload, Phase: t.Phase}
			processes := c.Case.Settings.Processes()
			key := fmt.Sprintf("%q %q %q %v %d", name.Workload, c.Case.WorkloadSHA256, name.Phase, c.Case.Parameters, processes)
			m := byKey[key]
			if m == nil {
				m = &LockedMix{TableName: name, Processes: processes}
				byKey[key] = m
				l.Mixes = append(l.Mixes, m)
			}
			cell := lockCell(c, t.Phase)
			m.Paced = m.Paced || cell.paced
			m.Cells = append(m.Cells, cell)
		}
	}
	ratings := make([]rating, len(l.Mixes))
	var families [][][]stats.Point
	for i, m := range l.Mixes {
		slices.SortStableFunc(m.Cells, func(a, b *LockCell) int { return cmp.Compare(a.Case.ID, b.Case.ID) })
		for _, c := range m.Cells {
			if c.Trouble() {
				c.Remedies = m.remedies(c)
			}
		}
		ratings[i] = m.rate()
		families = append(families, ratings[i].speeds, ratings[i].calms)
	}
	pairs := a.CompareFamilies(families...)
	for i, m := range l.Mixes {
		m.setBest(ratings[i], pairs[2*i], pairs[2*i+1])
	}
	return l
}

// Complete reports whether there is a mix, and every cell has figures or waited without end.
func (l *Locks) Complete() bool {
	for _, m := range l.Mixes {
		if slices.ContainsFunc(m.Cells, func(c *LockCell) bool { return c.Rate.N == 0 && !c.Endless }) {
			return false
		}
	}
	return len(l.Mixes) > 0
}

// mixed reports whether the given phase is a mix or a replay, judging by the trials of the workload.
func mixed(a *stats.Analysis, workload, phase string) bool {
	for _, g := range a.Groups {
		if g.Workload != workload {
			continue
		}
		for _, o := range g.Outcomes {
			for _, t := range o.Trials {
				if t.Reason != nil && t.Reason.Code == protocol.CodeEndless && t.Reason.Phase == phase {
					return true
				}
				if slices.ContainsFunc(t.Samples, func(s result.Sample) bool {
					return s.Phase == phase && s.Load == nil && s.Metric != result.MetricTime && len(s.Latency) > 0
				}) {
					return true
				}
			}
		}
	}
	return false
}

// Cell returns the cell of a driver with a choice, or nil if there is none.
func (m *LockedMix) Cell(driver string, choice LockChoice) *LockCell {
	for _, c := range m.Cells {
		if c.Driver == driver && c.Choice == choice {
			return c
		}
	}
	return nil
}

// Drivers returns the drivers of the mix, in the order of the run.
func (m *LockedMix) Drivers() []string { return driversOf(m.Cells) }

func driversOf(cells []*LockCell) []string {
	return distinct.Append(nil, document.Map(cells, func(c *LockCell) string { return c.Driver })...)
}
