package stats

import "iter"

// OutcomesByGroup yields each outcome with its group.
func (a *Analysis) OutcomesByGroup() iter.Seq2[*Group, *Outcome] {
	return func(yield func(*Group, *Outcome) bool) {
		for _, g := range a.Groups {
			for _, o := range g.Outcomes {
				if !yield(g, o) {
					return
				}
			}
		}
	}
}

// Tables yields the tables of each group.
func (a *Analysis) Tables() iter.Seq2[*Group, *Table] {
	return func(yield func(*Group, *Table) bool) {
		for _, g := range a.Groups {
			for _, t := range g.Tables {
				if !yield(g, t) {
					return
				}
			}
		}
	}
}

// Named returns the name of a table of the group.
func (g *Group) Named(t *Table) TableName { return TableName{g.Workload, g.Variant(), t.Phase} }
