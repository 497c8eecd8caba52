package stats

import "slices"

// Machines compares runs of the same work on several machines. First each run is judged separately.
// Then the verdicts of the runs are compared.
type Machines struct {
	Runs []*Analysis

	// Pairs has the pairs of drivers that at least two runs compare in the same table. Pairs with the floor,
	// the driver that ratios are relative to, are left out. If the runs were made to compare two sides, each
	// cell is one pair: the two sides.
	Pairs []MachinesPair
}

// MachinesPair has the verdicts of the runs on two drivers, or two sides, in one table.
type MachinesPair struct {
	TableName
	First, Second string
	Said          []SaidOn // one for each of Runs, in the same order
	Agreement     Agreement
}

// SaidOn is the verdict of one run on a pair.
type SaidOn struct {
	Verdict Verdict // about the second driver or side: Slower, Faster, Same (sides only) or Unclear; "" if the run does not compare the pair
	Ratio   Summary // the second driver's (or side's) time divided by the first's
}

// Agreement says whether machines agree on a pair.
type Agreement string

// The values of [Agreement]. They summarize the verdicts of all runs that compare a pair.
const (
	Everywhere Agreement = "everywhere" // all runs say slower, or all say faster, or all say that the sides take the same time
	Reversed   Agreement = "reversed"   // some runs say slower, others faster
	Partly     Agreement = "partly"     // any other combination, such as slower on some machines and unclear on others
	Nowhere    Agreement = "nowhere"    // the verdicts of all runs are unclear
)

// OnMachines compares the verdicts of runs. A nil run has no verdicts.
func OnMachines(runs []*Analysis) *Machines {
	m := &Machines{Runs: runs}
	for i, a := range runs {
		if a == nil {
			continue
		}
		if a.Run.Compares != nil {
			m.addSides(i, CompareRun(a))
			continue
		}
		for g, t := range a.Tables() {
			m.addTable(i, a.Floor, g.Named(t), t)
		}
	}
	m.Pairs = slices.DeleteFunc(m.Pairs, func(p MachinesPair) bool {
		return countIf(p.Said, func(s SaidOn) bool { return s.Verdict != "" }) < 2
	})
	for i := range m.Pairs {
		m.Pairs[i].agree()
	}
	return m
}

func (m *Machines) addSides(i int, c *Comparison) {
	for _, x := range c.Cells {
		if x.Measured() {
			p, _ := m.pair(x.TableName, c.First, c.Second)
			p.Said[i] = SaidOn{x.Verdict, x.Ratio}
		}
	}
}

func (m *Machines) addTable(i int, floor string, name TableName, t *Table) {
	for _, x := range t.Pairs {
		first, second := t.Cells[x.First].Case.Driver, t.Cells[x.Second].Case.Driver
		if first == floor || second == floor || first == second {
			continue
		}
		s := SaidOn{Unclear, t.Ratio(Pair{First: x.Second, Second: x.First})}
		if x.Significant() {
			s.Verdict = Slower
			if x.Sign() > 0 { // the first driver takes longer
				s.Verdict = Faster
			}
		}
		p, turned := m.pair(name, first, second)
		if turned {
			s = s.turned()
		}
		p.Said[i] = s
	}
}

// pair returns the pair of two drivers in a table, and adds it if it is missing. The result
// "turned" is true if the pair has the drivers in the opposite order: its field First has the
// parameter "second".
func (m *Machines) pair(name TableName, first, second string) (p *MachinesPair, turned bool) {
	for i := range m.Pairs {
		switch p := &m.Pairs[i]; {
		case p.TableName != name:
		case p.First == first && p.Second == second:
			return p, false
		case p.First == second && p.Second == first:
			return p, true
		}
	}
	m.Pairs = append(m.Pairs, MachinesPair{TableName: name, First: first, Second: second, Said: make([]SaidOn, len(m.Runs))})
	return &m.Pairs[len(m.Pairs)-1], false
}

func (s SaidOn) turned() SaidOn {
	switch s.Verdict {
	case Slower:
		s.Verdict = Faster
	case Faster:
		s.Verdict = Slower
	}
	s.Ratio = s.Ratio.Inverse()
	return s
}

func (p *MachinesPair) agree() {
	count := map[Verdict]int{}
	for _, s := range p.Said {
		count[s.Verdict]++
	}
	said := len(p.Said) - count[""]
	switch {
	case count[Slower] > 0 && count[Faster] > 0:
		p.Agreement = Reversed
	case count[Slower] == said, count[Faster] == said, count[Same] == said:
		p.Agreement = Everywhere
	case count[Unclear] == said:
		p.Agreement = Nowhere
	default:
		p.Agreement = Partly
	}
}

// SlowerSecond returns the pair with the slower driver as the second. The first machine whose
// verdict is slower or faster decides which driver is the slower one.
func (p MachinesPair) SlowerSecond() MachinesPair {
	first := slices.IndexFunc(p.Said, func(s SaidOn) bool { return s.Verdict == Slower || s.Verdict == Faster })
	if first < 0 || p.Said[first].Verdict == Slower {
		return p
	}
	p.First, p.Second, p.Said = p.Second, p.First, slices.Clone(p.Said)
	for i, s := range p.Said {
		p.Said[i] = s.turned()
	}
	return p
}

// Count returns the number of pairs with agreement a.
func (m *Machines) Count(a Agreement) int {
	return countIf(m.Pairs, func(p MachinesPair) bool { return p.Agreement == a })
}
