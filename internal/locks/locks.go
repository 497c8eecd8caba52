// Package locks explains errors of locks: which operations fail under which settings, and which
// change ends the errors at which price.
package locks

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sqlite3perf/sqlite3perf/internal/result"
	"github.com/sqlite3perf/sqlite3perf/internal/stats"
	"github.com/sqlite3perf/sqlite3perf/worker/protocol"
)

// Locks explains how operations of mixes and replays blocked each other, and what ends that.
type Locks struct {
	Analysis *stats.Analysis
	Mixes    []*LockedMix
}

// LockedMix is a mix or a replay of a workload, done with several choices in a number of
// processes. The number of processes is part of the mix and not a choice, because an
// application cannot change it. A mix is paced if its operations are due at fixed times.
//
// Choices are compared by the geometric mean over the drivers: of the rate or, if the mix is
// paced, of the 99th percentile. Best is nil if every choice had errors of locks or endless waits
// on some driver. Gain and Calmer are nil if the best choice is that of Today, or if Today had
// such errors.
type LockedMix struct {
	stats.TableName
	Processes   int            `json:"processes"`         // the clients are spread over so many
	Paced       bool           `json:"paced,omitempty"`   // the rate is given: choices are compared by latency
	Best        *LockChoice    `json:"best,omitempty"`    // the fastest choice without errors on any driver
	Equal       []LockChoice   `json:"equal,omitempty"`   // without errors, and not measurably slower than best
	Nearest     *LockChoice    `json:"nearest,omitempty"` // of best and equal, the one with the fewest changes from today
	Calm        *LockChoice    `json:"calm,omitempty"`    // without errors, with the lowest 99.9th percentile
	EquallyCalm []LockChoice   `json:"as_calm,omitempty"` // not measurably worse than calm
	Today       *LockChoice    `json:"today,omitempty"`   // the workload's own settings; absent if there are several or none
	Gain        *stats.Summary `json:"gain,omitempty"`    // speed of best divided by that of today
	Calmer      *stats.Summary `json:"calmer,omitempty"`  // percentile of today divided by that of calm
	Cells       []*LockCell    `json:"cells"`             // in the order of the run
}

// String names the mix.
func (m *LockedMix) String() string {
	if m.Processes > 1 {
		return fmt.Sprintf("%s in %d processes", m.TableName.String(), m.Processes)
	}
	return m.TableName.String()
}

// Choices returns how many choices have a cell with figures and without errors of locks.
func (m *LockedMix) Choices() int {
	seen := map[LockChoice]bool{}
	for _, c := range m.Cells {
		if c.Clean() {
			seen[c.Choice] = true
		}
	}
	return len(seen)
}

// ExplainLocks explains the mixes and replays of a run. Cells of other phases are left out.
func ExplainLocks(a *stats.Analysis) *Locks {
	l := &Locks{Analysis: a, Mixes: []*LockedMix{}}
	byKey := map[string]*LockedMix{}
	for _, g := range a.Groups {
		for _, t := range g.Tables {
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

// Complete reports whether every cell has figures, or waited without an end.
func (l *Locks) Complete() bool {
	for _, m := range l.Mixes {
		if slices.ContainsFunc(m.Cells, func(c *LockCell) bool { return c.Rate.N == 0 && !c.Endless }) {
			return false
		}
	}
	return len(l.Mixes) > 0
}

// mixed reports whether the trials of a workload show that a phase is a mix or a replay.
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

// Cell returns the cell of a driver with a choice, or nil.
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

func driversOf(cells []*LockCell) (names []string) {
	for _, c := range cells {
		if !slices.Contains(names, c.Driver) {
			names = append(names, c.Driver)
		}
	}
	return names
}
